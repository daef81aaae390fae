"""Hooks of gradients: who has some, and where a graph cannot hold them."""

from __future__ import annotations

from typing import Any, Sequence

from ...base.errors import GraphError
from ...graph.edges import Edge, Node as GraphNode, edge_of, requires_grad
from ...graph.task import target
from ...tensors.tensor import Tensor
from ...views import is_grad_leaf

__all__ = ["has_hooks", "has_hooks_behind", "refuse_hooks", "refuse_hooks_of"]


def has_hooks(leaf: Tensor) -> bool:
    """Whether a pass that reaches a leaf calls functions of the program."""
    meta = leaf._meta_
    if meta is None:
        return False
    node = None if meta.accumulator is None else meta.accumulator()
    return bool(meta.hooks or meta.post_hooks) or node is not None and node._meta_ is not None


def has_hooks_behind(x: Tensor) -> bool:
    """Whether a pass that reaches a tensor, which may have been computed, calls functions of the program."""
    if is_grad_leaf(x):
        return has_hooks(x)
    if not requires_grad(x):
        return False
    edge = edge_of(x)
    node = edge.node if type(edge) is Edge else edge
    return getattr(node, "_meta_", None) is not None


def refuse_hooks_of(node: GraphNode) -> None:
    """Refuse hooks of a node of the engine's.

    Raises:
        GraphError: there are some.
    """
    meta = node._meta_
    if meta is not None and (any(meta.tensor_hooks.values()) or meta.pre_hooks or meta.post_hooks or meta.retains):
        raise GraphError(f"{node.name()}: a graph cannot hold hooks of a gradient that is taken outside of it.")


def refuse_hooks(results: Sequence[Any], leaves: Sequence[Tensor]) -> None:
    """Refuse hooks in the histories of results, and of leaves, where these passes are no part of a graph.

    Raises:
        GraphError: there are some.
    """
    if any(map(has_hooks, leaves)):
        raise GraphError("hooks of an argument of a loop or a branch: a graph cannot hold them. Hint: register them outside.")
    waiting, seen = [edge_of(x) for x in results if isinstance(x, Tensor)], set[GraphNode]()
    while waiting:
        edge = waiting.pop()
        node = None if edge is None else target(edge)
        if isinstance(node, GraphNode) and node not in seen:
            refuse_hooks_of(node)
            seen.add(node)
            waiting += node._edges_
