"""Whether a graph is well formed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import GraphError
from .node import Node

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["lint"]


def lint(graph: Graph) -> None:
    """Raise an error if the graph is not well formed: see ``Graph.lint``."""
    names: set[str] = set()
    seen: set[Node] = set()
    for node in graph.nodes:
        if node._erased or node.graph is not graph:
            raise GraphError(f"lint: node {node} was erased, or belongs to another graph.")
        for x in node.all_input_nodes:
            require_before(x, node, seen)
        for user in node.users:
            if node not in user.all_input_nodes:
                raise GraphError(f"lint: {user} is a user of {node}, which is not among its arguments.")
        if node.name in names:
            raise GraphError(f"lint: two nodes are called {node.name!r}.")
        names.add(node.name)
        seen.add(node)
        if graph.owning_module is not None and node.op in ("call_module", "get_attr"):
            require_attribute(graph.owning_module, node)


def require_before(x: Node, user: Node, seen: set[Node]) -> None:
    """Refuse an argument that is not computed before its user."""
    if x.graph is not user.graph:
        raise GraphError(f"lint: argument {x} of {user} belongs to another graph. Hint: graph.node_copy.")
    if x not in seen:
        raise GraphError(
            f"lint: argument {x} of {user} was used before it has been defined. Hint: insert nodes before their users."
        )


def require_attribute(module: Any, node: Node) -> None:
    """Refuse the path of a module or attribute that is not there."""
    found = module
    for name in str(node.target).split("."):
        if not hasattr(found, name):
            raise GraphError(
                f"lint: node {node} has the target {node.target}, but {type(found).__name__} has no attribute {name!r}."
            )
        found = getattr(found, name)
