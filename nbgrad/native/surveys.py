"""Native code: what a live graph is, spelled so that two passes that do the same are spelled alike (jit/live.py).

NOTE [Spelling]: ``words`` is a list of objects that are compared by ``==``. For every node, in the order of finding: for every
edge the number of what it leads to (nodes and leaves count in the order of finding; -1: nowhere; below: a leaf that is found
here, without which ``a * b.exp()`` and ``b.exp() * a`` were one), its hooks, its rule, plan and ``backward``, its other
arguments, and for every slot what kind of value it keeps: the layout of a tensor, a spelling of anything else. Nodes of other
classes than Node say themselves what they are: NOTE [Nodes in programs] of graph/collecting.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from .language import bound, native
from .steps import free_saved, stands_for_itself

if TYPE_CHECKING:
    from ..graph.node import Node
    from ..tensors.tensor import Tensor

__all__ = ["Speller"]


@bound
class Speller:
    """``spell(seen, nodes, leaves, words, values, callbacks) -> bool``: the spelling of the graph below ``nodes``, which grows by
    what it leads to. ``callbacks`` gets the nodes that Python runs in every pass.

    False: there is something that no program can stand for; ``words`` and ``values`` are of no use then.

    Attributes:
        accumulator: the class of leaves' nodes.
        parts: ``parts(edge)``: what an edge leads to that is not that itself, and what is behind it is told by.
        freed: the ``backward`` of nodes that were freed.
        hooks: ``hooks(meta) -> key`` of a node's hooks.
        other: ``other(node, words, values) -> bool`` for nodes of other classes, which say themselves what they are.
        callback: ``callback(node, words, values, words before, values before, callbacks) -> bool`` for a node that could not be
            told of: takes back what was said of it.
        attributes: ``attributes(value, words, values) -> bool`` for a node's other arguments.
        spelled: ``spelled(value) -> key`` for what is neither tensor nor None; None where there is no key.
        nowhere: what stands for an edge that leads nowhere.
    """

    __slots__ = ("accumulator", "parts", "freed", "hooks", "other", "callback", "attributes", "spelled", "nowhere")
    accumulator: type
    parts: Callable
    freed: Callable
    hooks: Callable
    other: Callable
    callback: Callable
    attributes: Callable
    spelled: Callable
    nowhere: Any

    def __init__(self, accumulator, parts, freed, hooks, other, callback, attributes, spelled, nowhere):
        self.accumulator, self.parts, self.freed, self.hooks, self.other = accumulator, parts, freed, hooks, other
        self.callback, self.attributes, self.spelled, self.nowhere = callback, attributes, spelled, nowhere

    def __call__(self, seen: dict, nodes: list, leaves: list, words: list, values: list, callbacks: list) -> bool:
        for found in nodes:  # grows meanwhile
            node = cast(Node, found)
            if node._backward_ is self.freed:
                return False
            self.spell_edges(node, seen, nodes, leaves, words)
            if node._meta_ is not None:
                words.append(self.hooks(node._meta_))
            said, kept = len(words), len(values)
            if type(node) is not Node:
                whole = self.other(node, words, values) is True
            else:
                whole = self.spell_node(node, words, values)
            if not whole and self.callback(node, words, values, said, kept, callbacks) is not True:
                return False
        return True

    def free(self, nodes: list) -> None:
        """Let go of what nodes saved, where their rules say so."""
        for found in nodes:
            free_saved(cast(Node, found), self.freed)

    @native(inline=True)
    def spell_node(self, node: Node, words: list, values: list) -> bool:
        """What a node of the class Node itself computes; False where no two are alike."""
        words.append(node._rule_)
        words.append(node._plan_)
        words.append(node._backward_)
        if node._attrs_ is not None and self.attributes(node._attrs_, words, values) is not True:
            return False
        if not self.spell_value(node._s0_, node._v0_, words, values):
            return False
        if not self.spell_value(node._s1_, node._v1_, words, values):
            return False
        return self.spell_value(node._s2_, node._v2_, words, values)

    @native(inline=True)
    def spell_edges(self, node: Node, seen: dict, nodes: list, leaves: list, words: list) -> None:
        """Where the edges of a node lead."""
        edges = node._edges_
        for k in range(len(edges)):
            edge = edges[k]
            if edge is None:
                words.append(self.nowhere)
                continue
            if not stands_for_itself(edge, self.accumulator):
                pair = cast(tuple, self.parts(edge))
                edge = pair[0]
                words.append(pair[1])
            number: int | None = seen.get(edge)
            if number is None:
                count = len(nodes) + len(leaves)
                seen[edge] = count
                if isinstance(edge, Tensor):
                    words.append(-1 - count)
                    leaves.append(edge)
                else:
                    words.append(count)
                    nodes.append(edge)
            else:
                words.append(int(number))

    @native(inline=True)
    def spell_value(self, value, version, words: list, values: list) -> bool:
        """What a node keeps in a slot; False for a tensor that was written to, is marked, or is behind hooks."""
        if value is None:
            words.append(None)
            return True
        if isinstance(value, Tensor):
            if value.layout.special is not False or value._storage_.version is not version:
                return False
            words.append(value.layout)
            values.append(value)
            return True
        spelled = self.spelled(value)
        if spelled is None:
            return False
        words.append(spelled)
        return True
