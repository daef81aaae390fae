"""torch.fx.subgraph_rewriter: parts of a graph that compute the same as a pattern are exchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..base.errors import ArgumentError
from ..nn.module import Module
from .graph import Graph, has_path
from .graph_module import GraphModule, _copy_attr
from .matching import PatternMatch, SubgraphMatcher
from .node import Node
from .tracing import symbolic_trace

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the node that computes its result, and the nodes that are the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A ``Match``, and the nodes that stand there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node] = field(default_factory=list)


def replace_pattern(gm: GraphModule, pattern: Callable | GraphModule, replacement: Callable | GraphModule) -> list[Match]:
    """Exchange each part of a module's graph that computes what ``pattern`` computes; parts that overlap only once.

    Args:
        gm: is changed, and recompiled.
        pattern: a function or module that is traced. Its arguments match anything.
        replacement: with the same arguments.

    Returns:
        Where the pattern was found.

    >>> import nbgrad
    >>> traced = nbgrad.fx.symbolic_trace(lambda x, w: nbgrad.exp(x + w) * 2)
    >>> len(nbgrad.fx.replace_pattern(traced, lambda a, b: nbgrad.exp(a + b), lambda a, b: a.exp() * b.exp()))
    1
    >>> print(traced.code.strip())
    def forward(self, x, w):
        exp_1 = x.exp();  x = None
        exp_2 = w.exp();  w = None
        mul_1 = exp_1 * exp_2;  exp_1 = exp_2 = None
        mul = mul_1 * 2;  mul_1 = None
        return mul
    """
    found = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(each.anchor, each.nodes_map) for each in found]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable | Graph | GraphModule,
    replacement: Callable | Graph | GraphModule | None = None,
    match_filters: list[Callable[[PatternMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[PatternMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """``replace_pattern`` of those matches that every filter, called with the match and both graphs, lets pass.

    Args:
        ignore_literals: whether constants of the pattern match any constant.
        replacement_callback: gives the replacement for a match, where ``replacement`` is None.
    """
    searched = graph_of(pattern)
    matches = SubgraphMatcher(searched, ignore_literals=ignore_literals).match(gm.graph)
    filters = match_filters or []
    matches = [each for each in matches if all(passes(each, gm.graph, searched) for passes in filters)]
    if replacement is not None:
        common = graph_of(replacement)
    elif replacement_callback is None:
        raise ArgumentError("replace_pattern: expected a replacement, or a replacement_callback.")
    exchanged: dict[Node, Node] = {}  # what stands for results of earlier matches
    done = []
    for each in matches:
        new = common if replacement is not None else replacement_callback(each, gm.graph, searched)  # type: ignore[misc]
        done.append(replace_match(gm, each, searched, new, exchanged))
    gm.recompile()
    if isinstance(replacement, Module):
        bring_modules(gm, replacement)
    return done


def graph_of(program: Any) -> Graph:
    """The graph of a pattern or replacement."""
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def replace_match(
    gm: GraphModule, match: PatternMatch, pattern: Graph, replacement: Graph, exchanged: dict[Node, Node]
) -> ReplacedPatterns:
    """Put a replacement in the place of a match."""
    outside = [node for node in pattern.nodes if node.op == "placeholder"]
    parameters = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(outside) != len(parameters):
        raise ArgumentError(
            f"replace_pattern: replacement takes {len(parameters)} arguments, expected {len(outside)}, as the pattern."
        )
    found = {old: exchanged.get(node, node) if isinstance(node, Node) else node for old, node in match.nodes_map.items()}
    copies: dict[Node, Any] = {new: found[old] for old, new in zip(outside, parameters) if old in found}
    known = set(copies)
    inner = [match.nodes_map[node] for node in pattern.nodes if node.op not in ("placeholder", "output")]
    inputs = [x for x in copies.values() if isinstance(x, Node)]
    with gm.graph.inserting_before(place_of(gm.graph, inputs, inner, match.returning_nodes)):
        result = gm.graph.graph_copy(replacement, copies)
    results = (result,) if isinstance(result, Node) else tuple(result)
    if len(results) != len(match.returning_nodes):
        raise ArgumentError(f"replace_pattern: replacement has {len(results)} results, expected {len(match.returning_nodes)}.")
    for old, new in zip(match.returning_nodes, results):
        old.replace_all_uses_with(new)
        exchanged[old] = new
    for node in reversed(inner):
        if not node.users and not node._erased:
            gm.graph.erase_node(node)
    made = [node for old, node in copies.items() if old not in known]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def place_of(graph: Graph, inputs: list[Node], inner: list[Node], results: list[Node]) -> Node:
    """Before which node a replacement stands: the first user of a result, else one of the match that has all inputs before it."""
    places = {node: place for place, node in enumerate(graph.nodes)}
    last = max((places[node] for node in inputs), default=-1)
    users = sorted({user for node in results for user in node.users} - {*inner}, key=places.__getitem__)
    ordered = sorted(inner, key=places.__getitem__)
    return next((node for node in (*users[:1], *ordered) if places[node] > last), ordered[-1])


def bring_modules(gm: GraphModule, replacement: Module) -> None:
    """Give the module what the replacement's nodes refer to, and drop what is no longer used."""
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and not has_path(gm, str(node.target)):
            _copy_attr(replacement, gm, str(node.target))
    gm.delete_all_unused_submodules()
    gm.graph.lint()
