"""Edges, which say where the cotangent of a tensor goes, and hooks on tensors.

A tensor that was computed has the edge to its node; a leaf stands for its own (NOTE [Edges] in node.py).
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple
from weakref import ref

from ..base.dtypes import DType
from ..base.errors import GradError
from ..base.grad_mode import refuse_in_transform
from ..base.locks import made_once
from ..native import recording
from ..native.handle import known
from ..tensors.tensor import Tensor, meta_of, native
from .hooks import OWN_DTYPE, Hooks, LeafHooks, RemovableHandle, add_hook
from .node import AccumulateGrad, Edge, Node, accumulator_of, node_meta, visible_node

__all__ = ["Node", "Edge", "AccumulateGrad", "GradientEdge", "RemovableHandle", "get_gradient_edge"]

# Where the cotangent of a view goes whose memory was written to since: views.py enters it, which knows how to replay views. Native
# functions are linked before that.
known["written_edge"] = lambda x: known["view_edge"](x)
# A batched or sparse tensor answers by properties, where native code reads slots: of marked tensors the same functions ask as
# Python does. Of a native function by itself the translator would make native code here, too.
known.update(flows_by_name=lambda x: recording.flows(x), edge_by_name=lambda x: recording.own_edge(x))

requires_grad = native.requires_grad
edge_of = native.edge_of
next_seq = native.next_seq  # one native call under the interpreter lock: atomic
number_node = native.number_node  # the same for a node made in Python, whose place in the program anomaly mode wants to know


class GradientEdge(NamedTuple):
    """A place in the graph, for ``grad`` and ``backward``: output ``output_nr`` of ``node``.

    >>> y = nbgrad.ones(2, requires_grad=True) * 2
    >>> nbgrad.graph.get_gradient_edge(y).output_nr
    0
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def is_leaf_edge(edge) -> bool:
    """Whether an ``_edge_`` is that of a leaf: None, or the AccumulateGrad of the leaf that this tensor is a copy of.

    Saved-tensor hooks bring such equals back: what is computed from them leads to the leaf, and so do they as inputs of passes.
    """
    return edge is None or type(edge) is AccumulateGrad


# ---- hooks ---------------------------------------------------------------------------------------------------------


def register_tensor_hook(x: Tensor, hook: Callable) -> RemovableHandle:
    """Call ``hook(g)`` with the cotangent of ``x`` before it is used; a tensor returned replaces it.

    Raises:
        GradError: ``x`` does not require grad.
    """
    if not requires_grad(x):
        raise GradError("register_hook: the tensor does not require grad, so no gradient will ever reach it.")
    edge = edge_of(x)
    if edge is None or edge is x:
        return add_hook(leaf_hooks(x), hook)
    if type(edge) is AccumulateGrad:
        return add_hook(leaf_hooks(edge._variable_), hook)
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    hooks = node_meta(node).tensor_hooks
    return add_hook(hooks.setdefault(nr, Hooks()), hook)


def leaf_hooks(leaf: Tensor) -> LeafHooks:
    """The leaf's hooks, made on first use. A leaf that has them, though they be empty, takes the engine's general path."""
    return made_once(meta_of(leaf), "hooks", LeafHooks)


def grad_dtype_of(leaf: Tensor) -> DType | None:
    """The dtype that the leaf's gradients have; None: any."""
    hooks = None if leaf._meta_ is None else leaf._meta_.hooks
    return leaf.layout.dtype if hooks is None or hooks.grad_dtype is OWN_DTYPE else hooks.grad_dtype


def register_post_accumulate_grad_hook(x: Tensor, hook: Callable) -> RemovableHandle:
    """Call ``hook(x)`` after a pass has added to ``x.grad``; for leaves that require grad."""
    if not requires_grad(x) or x.grad_fn is not None:
        raise GradError(
            "register_post_accumulate_grad_hook: expected a leaf that requires grad. Hint: register_hook works on other tensors."
        )
    leaf_hooks(x)  # the engine announces the leaf's node to hooks
    return add_hook(made_once(meta_of(x), "post_hooks", Hooks), hook)


def retain_grad(x: Tensor) -> None:
    """Keep the gradient of a non-leaf in ``x.grad`` (no effect on a leaf).

    Raises:
        GradError: ``x`` does not require grad; inside of a transformed function.
    """
    if not requires_grad(x):
        raise GradError("retain_grad: the tensor does not require grad.")
    refuse_in_transform("retain_grad", "return the tensor, or differentiate by it")
    edge = edge_of(x)
    if edge is x or is_leaf_edge(edge):
        return
    meta_of(x).retains = True
    note_retained(x, edge)


def note_retained(x: Tensor, edge, old_edge=None) -> None:
    """Tell the node behind ``edge`` that ``x`` keeps its gradient; the newest value's node alone does."""
    if old_edge is not None:
        node, nr = (old_edge.node, old_edge.nr) if type(old_edge) is Edge else (old_edge, 0)
        if isinstance(node, Node) and node._meta_ is not None:
            node._meta_.retains.pop(nr, None)
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    node_meta(node).retains[nr] = ref(x)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of ``tensor`` arrives.

    Raises:
        GradError: ``tensor`` does not require grad.

    >>> x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 2
    >>> edge = nbgrad.graph.get_gradient_edge(y)
    >>> nbgrad.grad(y.exp().sum(), edge)            # as by y, which need not be kept
    (tensor([ 7.3891, 54.5982]),)
    """
    edge = edge_of(tensor) if requires_grad(tensor) else None
    if edge is None:
        raise GradError("get_gradient_edge: the tensor does not require grad.")
    if edge is tensor:
        return GradientEdge(accumulator_of(tensor), 0)
    return GradientEdge(visible_node(edge.node), edge.nr) if type(edge) is Edge else GradientEdge(visible_node(edge), 0)
