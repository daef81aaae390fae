"""Where a graph computes what a pattern computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ArgumentError
from ..methods.pytree import tree_flatten
from .graph import Graph
from .node import Node

__all__ = ["PatternMatch", "SubgraphMatcher"]


@dataclass
class PatternMatch:
    """Where a pattern was found.

    Attributes:
        anchors: the pattern's nodes that give its results.
        nodes_map: for every node of the pattern what it is in the graph.
        placeholder_nodes: what the pattern's arguments are.
        returning_nodes: what its results are.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)


class SubgraphMatcher:
    """Looks for a pattern in graphs.

    Args:
        pattern: its arguments match anything.
        match_output: whether its results are those of the graph, too.
        match_placeholder: whether its arguments match arguments alone.
        remove_overlapping_matches: whether matches that share nodes with an earlier one are left out.
        ignore_literals: whether its constants match any constant.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ):
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        output = pattern.output_node()
        if len(pattern.nodes) < 2 or not output.all_input_nodes:
            raise ArgumentError("SubgraphMatcher: the pattern computes nothing.")
        # Results that other results are computed of are met on the way.
        self.results = output.all_input_nodes
        used = {node for result in self.results for node in ancestors(result) if node is not result}
        self.anchors = [output] if match_output else [node for node in self.results if node not in used]

    def match(self, graph: Graph) -> list[PatternMatch]:
        """The places of the pattern in a graph, from its beginning."""
        found: list[PatternMatch] = []
        starts = [[node for node in graph.nodes if self._alike(anchor, node)] for anchor in self.anchors]

        def choose(place: int, nodes_map: dict[Node, Any]) -> None:
            if place == len(self.anchors):
                found.append(self._match_of(nodes_map))
                return
            for node in starts[place]:
                extended = dict(nodes_map)
                if self._same(self.anchors[place], node, extended):
                    choose(place + 1, extended)

        choose(0, {})
        found = [each for each in found if self._is_closed(each)]
        return without_overlaps(found) if self.remove_overlapping_matches else found

    def _match_of(self, nodes_map: dict[Node, Any]) -> PatternMatch:
        arguments = [nodes_map[node] for node in self.pattern.nodes if node.op == "placeholder" and node in nodes_map]
        return PatternMatch(self.anchors, nodes_map, arguments, [nodes_map[node] for node in self.results])

    def _is_closed(self, match: PatternMatch) -> bool:
        """Whether nothing outside of the match uses what is inside of it, but its results."""
        inside = {x for node, x in match.nodes_map.items() if node.op not in ("placeholder", "output")}
        free = {*match.returning_nodes, *(x for node, x in match.nodes_map.items() if node.op == "get_attr")}
        return all(user in inside for node in inside - free for user in node.users)

    def _alike(self, pattern: Node, node: Node) -> bool:
        """Whether two nodes do the same to their arguments."""
        if pattern.op == "placeholder":
            return not self.match_placeholder or node.op == "placeholder"
        if pattern.op != node.op:
            return False
        if pattern.op in ("call_module", "get_attr"):
            return same_kind(pattern, node)
        return pattern.op == "output" or pattern.target == node.target

    def _same(self, pattern: Node, node: Any, nodes_map: dict[Node, Any]) -> bool:
        """Whether a value of the graph is that of a pattern's node; ``nodes_map`` says what others are, and takes what is found."""
        if pattern in nodes_map:
            return nodes_map[pattern] is node or not isinstance(node, Node) and nodes_map[pattern] == node
        if pattern.op == "placeholder" and not self.match_placeholder:
            nodes_map[pattern] = node
            return True
        if not isinstance(node, Node) or not self._alike(pattern, node) or node in nodes_map.values():
            return False
        nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        (left, kind), (right, other) = leaves_of(pattern), leaves_of(node)
        return kind == other and all(self._same_argument(x, y, nodes_map) for x, y in zip(left, right))

    def _same_argument(self, x: Any, y: Any, nodes_map: dict[Node, Any]) -> bool:
        if isinstance(x, Node):
            return self._same(x, y, nodes_map)
        return not isinstance(y, Node) and (self.ignore_literals or type(x) is type(y) and x == y)


def leaves_of(node: Node) -> tuple[list, Any]:
    """The arguments of a node, and how they are nested; what is given by name in the names' order."""
    return tree_flatten((list(node.args), [(name, node.kwargs[name]) for name in sorted(node.kwargs)]))


def same_kind(pattern: Node, node: Node) -> bool:
    """Whether two nodes call modules of one class, or read attributes of one type."""
    left, right = referred(pattern), referred(node)
    if left is None or right is None:
        return pattern.target == node.target
    return type(left) is type(right)


def referred(node: Node) -> Any:
    """The module or attribute that a node refers to; None if its graph belongs to no module."""
    found: Any = node.graph.owning_module
    for name in str(node.target).split(".") if found is not None else ():
        found = getattr(found, name, None)
    return found


def ancestors(node: Node) -> set[Node]:
    """A node and all that it is computed of."""
    found: set[Node] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(each.all_input_nodes)
    return found


def without_overlaps(matches: list[PatternMatch]) -> list[PatternMatch]:
    """Those matches that share no node with an earlier one."""
    taken: set[Node] = set()
    kept = []
    for match in matches:
        inside = {x for node, x in match.nodes_map.items() if node.op not in ("placeholder", "output")}
        if not inside & taken:
            taken |= inside
            kept.append(match)
    return kept
