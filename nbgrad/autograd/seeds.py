"""Where a pass begins: the cotangents of its roots, checked, made where there are none, and their edges."""

from __future__ import annotations

from typing import Any

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.errors import ArgumentError, DeviceError, DTypeError, GradError, RootError, ShapeError
from ..base.grad_mode import mode, special
from ..engine import describe
from ..graph.edges import AccumulateGrad, Edge, GradientEdge, edge_of, requires_grad
from ..graph.node import Node
from ..graph.rule import name_of
from ..modes.created import made_by_class
from ..modes.dispatch_modes import wrapper_classes
from ..modes.wrappers import is_wrapped
from ..tensors.choices import current
from ..tensors.layout import Layout, sparse_marks
from ..tensors.storage import LENT
from ..tensors.tensor import Tensor, is_sparse, values_if_sparse

__all__ = ["as_sequence", "make_seeds"]


# ---- what comes in -------------------------------------------------------------------------------------------------


def as_sequence(op: str, what: str, value) -> tuple:
    """One tensor or edge, or an iterable of them, as a tuple.

    Raises:
        ArgumentError: neither.
    """
    if isinstance(value, (Tensor, GradientEdge)):
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        raise ArgumentError(f"{op}: {what} must be a Tensor, or a sequence of them, got {type(value).__name__}.") from None


def cotangent_if_sparse(root: Any, g: Any) -> Any:
    """The cotangent of a sparse root's values; of another root as it is."""
    return g if g is None or not is_sparse(root) else g.sparse_mask(root)._given_


def make_seeds(op: str, roots, cotangents, recorded: bool) -> list[tuple[Any, Tensor | None]]:
    """``(edge, cotangent)`` of every root; ``recorded``: of a pass that is."""
    if sparse_marks:
        if isinstance(roots, Tensor):
            roots, cotangents = values_if_sparse(roots), cotangent_if_sparse(roots, cotangents)
        elif cotangents is not None:
            roots, cotangents = as_sequence(op, "roots", roots), as_sequence(op, "the cotangents", cotangents)
            cotangents = (*map(cotangent_if_sparse, roots, cotangents), *cotangents[len(roots) :])
            roots = tuple(map(values_if_sparse, roots))
    if isinstance(roots, Tensor):
        if cotangents is None:
            edge, seed = root_edge(op, roots), implicit_seed(op, roots.layout, recorded)
            return [(edge, seed_of(roots, seed) if wrapper_classes else seed)]
        if isinstance(cotangents, Tensor):
            return [(root_edge(op, roots), explicit_seed(op, cotangents, roots.layout, 0))]
    roots = as_sequence(op, "roots", roots)
    cotangents = (None,) * len(roots) if cotangents is None else as_sequence(op, "the cotangents", cotangents)
    if len(cotangents) < len(roots):
        raise GradError(f"{op}: {len(roots)} roots but {len(cotangents)} cotangents.")
    seeds: list[tuple[Any, Tensor | None]] = []
    for position, (root, g) in enumerate(zip(roots, cotangents)):
        edge = root_edge(op, root)
        layout = root.layout if isinstance(root, Tensor) else edge_layout(op, root)
        if g is None:
            g = implicit_seed(op, layout, recorded)
            g = seed_of(root, g) if wrapper_classes else g
        else:
            g = explicit_seed(op, g, layout, position)
        seeds.append((edge, g))
    return seeds


def checked_node(op: str, edge: GradientEdge) -> Node:
    """The node of a GradientEdge, which anybody may have put together.

    Raises:
        GradError: it is none.
    """
    if not isinstance(edge.node, Node):
        raise GradError(f"{op}: a GradientEdge must hold a node of the graph, got {type(edge.node).__name__}.")
    return edge.node


def edge_layout(op: str, edge: GradientEdge) -> Layout:
    """The layout of the gradient that arrives at an edge."""
    layouts = edge.node._input_metadata
    if not 0 <= edge.output_nr < len(layouts):
        raise GradError(f"{op}: a GradientEdge of output {edge.output_nr} of {name_of(edge.node)}, which has {len(layouts)}.")
    return layouts[edge.output_nr]


def root_edge(op: str, root):
    """Where the cotangent of a root goes in."""
    if isinstance(root, GradientEdge):
        node = checked_node(op, root)
        if type(node) is AccumulateGrad:
            return node._variable_
        return node if root.output_nr == 0 and node._outputs_ == 1 else Edge(node, root.output_nr)
    if not isinstance(root, Tensor):
        raise RootError(f"{op}: roots must be tensors or GradientEdges, got {type(root).__name__}.")
    if not root._needs_grad_ or not requires_grad(root):
        raise GradError(
            f"{op}: the root does not require grad and has no grad_fn. "
            "Hint: was it computed under no_grad(), or from tensors that do not require grad?"
        )
    edge = root._edge_ or edge_of(root)
    if edge is None:
        raise GradError(f"{op}: the root is a view without history (made under no_grad()).")
    return edge


# NOTE [Lent cotangents]: the cotangent 1 is made once for each layout. Its storage says ``LENT``: nothing
# is ever written to it, no leaf takes it over, and where users would see it, or a view of it, they get memory of their own
# (``owned`` in engine.py): hooks, custom Functions, what ``grad`` returns. What a recorded pass, or an interpreter, may keep is
# made anew for each.
def lent_one(layout: Layout) -> Tensor:
    """The cotangent 1 that is lent. What is captured for a graph reads it like what was there before: it outlives the graph."""
    if layout.memory is None:
        one = new_one(layout)
    elif current.capture is None:
        one = settled_one(layout)
    else:
        one = current.capture.beside(lambda: settled_one(layout))
    one._storage_.writable = LENT
    return one


def settled_one(layout: Layout) -> Tensor:
    """A 1 on a GPU that is there for all streams."""
    from ..tensors.heaps import heap_at

    one, found = new_one(layout), heap_at(layout.device)
    found.card.settle(found.stream())
    return one


_lent = Plans(lent_one, 256)


def seed_of(root: Any, seed: Tensor) -> Tensor:
    """The cotangent 1 of a root, as its class makes it if that says what operations mean."""
    return made_by_class("ones_like", root) if is_wrapped(root) else seed


def implicit_seed(op: str, layout: Layout, recorded: bool) -> Tensor:
    """The cotangent 1 of a real number: see NOTE [Lent cotangents]."""
    if layout.numel != 1:
        raise GradError(
            f"{op}: a cotangent can be left out for a root of one element only, this one is {describe(layout)}. "
            "Hint: x.sum().backward(), or pass gradient=."
        )
    if not layout.dtype.is_floating_point:
        raise GradError(f"{op}: a cotangent can be left out for real floating roots only, this one is {layout.dtype.name}.")
    layout = layout.unmarked() if layout.special else layout
    if special:
        return new_one(layout)
    return CALLS["clone"](_lent[layout]) if recorded else _lent[layout]


def new_one(layout: Layout) -> Tensor:
    """A 1 of that layout."""
    enabled, mode.enabled = mode.enabled, False
    try:
        return CALLS["new_full"](layout, 1.0)
    finally:
        mode.enabled = enabled


def explicit_seed(op: str, g, layout: Layout, position: int) -> Tensor:
    """A given cotangent, checked and cast to the root's dtype."""
    if isinstance(g, Tensor):
        if g.layout is layout:
            return g
    else:
        raise ArgumentError(f"{op}: the cotangent of root {position} must be a Tensor or None, got {type(g).__name__}.")
    if g.layout.shape != layout.shape:
        raise ShapeError(f"{op}: the cotangent of root {position} has shape {list(g.layout.shape)}, expected {list(layout.shape)}.")
    if g.layout.device is not layout.device:
        if g.layout.ndim:
            raise DeviceError(
                f"{op}: the cotangent of root {position} is on {g.layout.device}, the root on {layout.device}. "
                "Hint: g.to(root.device)."
            )
        g = CALLS["to_device"](g, layout.device)  # a number, as it is beside tensors of a GPU
    if g.layout.dtype.is_complex != layout.dtype.is_complex:
        raise DTypeError(
            f"{op}: the cotangent of root {position} is {g.layout.dtype.name}, the root {layout.dtype.name}: "
            "both must be real or both complex."
        )
    return g if g.layout.dtype is layout.dtype else CALLS["to_dtype"](g, layout.dtype)
