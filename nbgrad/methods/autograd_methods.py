"""The autograd side of a Tensor: properties and methods over graph/edges.py, views.py and autograd/entry.py.

``install`` puts them on the class, which cannot import the modules that they need. It does the same for conversions, NumPy's
exchange, printing and pickling, which are in modules beside this one.
"""

from __future__ import annotations

from typing import Any, Callable

from ..autograd.entry import backward as run_backward
from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.errors import ArgumentError, DeviceError, DTypeError, GradError, InplaceError, ShapeError
from ..base.grad_mode import note_leaf, refuse_in_transform, traces, unusual
from ..base.user_stack import warn_user
from ..creation import casting, dlpack, factories as creation, numpy_exchange as interop
from ..creation.wrappers import install_wrappers
from ..dispatch import beneath as _beneath, inference as _inference_calls, passing as _passing_calls  # noqa: F401  (they register themselves)
from ..graph import edges as graph
from ..graph.edges import AccumulateGrad, Edge, RemovableHandle, edge_of, is_leaf_edge, requires_grad
from ..graph.node import Node, node_meta, visible_node
from ..graph.task import target
from ..modes import inference, overrides
from ..modes.subclass_calls import install_subclass_calls
from ..modes.traced import note_detached, note_flag_set, note_gradient_read, note_gradient_set, note_history_asked
from ..tensors.tensor import ASK, Tensor, meta_of, native, require_differentiable
from ..views import base_of, is_view, note_view_made_leaf
from . import pickling, printing, random
from .memory import get_data, resize_, resize_as_, set_, set_data

__all__ = ["install"]


# ---- place in the graph --------------------------------------------------------------------------------------------


def grad_fn_of(x: Tensor) -> Node | None:
    """The node that computed the tensor; None for a leaf."""
    edge = x._edge_
    if edge is None:
        if x._needs_grad_ is not ASK or not requires_grad(x):
            return None
        edge = edge_of(x)
    return edge.node if type(edge) is Edge else None if type(edge) is AccumulateGrad else edge


def grad_fn(x: Tensor) -> Node | None:
    """The node that computed the tensor, of a class named after the operation; None for a leaf."""
    if traces:
        note_history_asked(x)
    return visible_node(grad_fn_of(x))


def is_leaf(x: Tensor) -> bool:
    """Whether the tensor was not computed from tensors that require grad."""
    if traces:
        note_history_asked(x)
    return grad_fn_of(x) is None


def has_history(x: Tensor) -> bool:
    """Whether the tensor was computed; also of a view whose history cannot be told any more."""
    return not is_leaf_edge(x._edge_) or x._needs_grad_ is ASK and x._meta_.node is not None and requires_grad(x)


def output_nr(x: Tensor) -> int:
    """Which result of its ``grad_fn`` the tensor is."""
    edge = x._edge_ if x._needs_grad_ is not ASK else x._meta_.node
    return edge.nr if type(edge) is Edge else 0


def set_requires_grad(x: Tensor, value: bool) -> None:
    """Make a leaf require grad or not.

    Raises:
        GradError: ``x`` is not a leaf. DTypeError: its dtype has no gradients.
    """
    if not isinstance(value, bool):
        raise GradError(f"requires_grad: expected a bool, got {type(value).__name__}.")
    if not is_leaf(x):
        raise GradError("requires_grad: only a leaf's can be assigned. Hint: y = x.detach() is a leaf on the same memory.")
    if value:
        require_differentiable("requires_grad", x.layout.dtype)
        inference.require_ordinary("requires_grad", x)
        if unusual:
            note_leaf(x)
    if traces and requires_grad(x) is not value:
        note_flag_set(x)
    if value:
        x._needs_grad_ = True  # a view becomes a leaf of its own, even if its base makes it require grad already
        if is_view(x):
            note_view_made_leaf(x)
    elif x._needs_grad_ is True:
        x._needs_grad_ = ASK if is_view(x) else False


def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Make a leaf require grad, or not; True is granted to a non-leaf too, which does already.

    Raises:
        GradError: False for a non-leaf; inside of a transformed function. ArgumentError: no bool. DTypeError: the dtype has no
            gradients.
    """
    if not isinstance(requires_grad, bool):
        raise ArgumentError(f"requires_grad_: expected a bool, got {type(requires_grad).__name__}.")
    if unusual:
        refuse_in_transform("requires_grad_", "transforms differentiate by their arguments; make x one of them")
    if not (requires_grad and not is_leaf(x)):
        set_requires_grad(x, requires_grad)
    return x


def detach(x: Tensor) -> Tensor:
    """The same memory and version without history: nothing that is computed from it reaches ``x``'s graph."""
    return native.alias(x)


def detach_(x: Tensor) -> Tensor:
    """Cut the tensor off its history: it becomes a leaf that does not require grad.

    Raises:
        InplaceError: ``x`` is a view, whose history its base would restore.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> y = (x * 2).detach_()
    >>> y.is_leaf, y.requires_grad
    (True, False)
    """
    if traces:
        note_detached(x)
    if is_view(x):
        raise InplaceError("detach_: a view cannot be detached in place. Hint: y = x.detach().")
    node = grad_fn_of(x)
    if node is not None:
        meta_of(x).version = node._seq_
    x._edge_, x._needs_grad_ = None, False
    if x._meta_ is not None:
        x._meta_.retains, x._meta_.tangent = False, None
    return x


# ---- gradients -----------------------------------------------------------------------------------------------------


def get_grad(x: Tensor) -> Tensor | None:
    """The gradient accumulated so far; of leaves, and of tensors that retain it."""
    if traces:
        note_gradient_read(x)
    meta = x._meta_
    grad = None if meta is None else meta.grad
    if grad is None and not (meta is not None and meta.retains) and has_history(x):
        warn_user(
            "grad: the tensor is not a leaf, its gradient is not kept. Hint: call retain_grad() on it before "
            "backward(), or look at the leaf's."
        )
    return grad


def kept_grad(x: Tensor) -> Tensor | None:
    """The gradient accumulated so far, without a word where there can be none."""
    if traces:
        note_gradient_read(x)
    return None if x._meta_ is None else x._meta_.grad


def set_grad(x: Tensor, grad: Tensor | None) -> None:
    """Assign the gradient; it must look like the tensor.

    Raises:
        ArgumentError: neither Tensor nor None. ShapeError, DTypeError, DeviceError: it does not look like ``x``.
        GradError: it is ``x``.
    """
    if grad is not None:
        check_grad(x, grad)
    if traces:
        note_gradient_set(x)
    (x._meta_ or meta_of(x)).grad = grad


def check_grad(x: Tensor, grad: Tensor) -> None:
    """What ``set_grad`` refuses."""
    if not isinstance(grad, Tensor):
        raise ArgumentError(f"grad: expected a Tensor or None, got {type(grad).__name__}.")
    if grad is x:
        raise GradError("grad: a tensor cannot be its own gradient. Hint: clone it.")
    if grad.layout.shape != x.layout.shape:
        raise ShapeError(f"grad: got shape {list(grad.layout.shape)}, the tensor has {list(x.layout.shape)}.")
    expected = graph.grad_dtype_of(x)
    if expected is not None and grad.layout.dtype is not expected:
        raise DTypeError(
            f"grad: got {grad.layout.dtype.name}, expected {expected.name}. Hint: x.grad = g.to(x.dtype), or another x.grad_dtype."
        )
    if grad.layout.device is not x.layout.device:
        raise DeviceError(f"grad: got a tensor on {grad.layout.device}, expected one on {x.layout.device}.")


def get_grad_dtype(x: Tensor) -> DType | None:
    """The dtype that a leaf's gradients are cast to before hooks see them; None: they come as they are.

    The tensor's own unless set.
    """
    if not is_leaf(x):
        raise GradError("grad_dtype: only leaves have one.")
    return graph.grad_dtype_of(x)


def set_grad_dtype(x: Tensor, dtype: DType | None) -> None:
    """Say to which dtype the gradients of a leaf are cast.

    Raises:
        GradError: ``x`` is not a leaf; no dtype; there is a gradient of another one.
    """
    if not is_leaf(x):
        raise GradError("grad_dtype: only a leaf's can be set.")
    if dtype is not None and not isinstance(dtype, DType):
        raise GradError(f"grad_dtype: expected a dtype or None, got {type(dtype).__name__}.")
    held = None if x._meta_ is None else x._meta_.grad
    if held is not None and dtype is not None and held.layout.dtype is not dtype:
        raise GradError(
            f"grad_dtype: the tensor has a gradient of {held.layout.dtype.name}, expected none or one of {dtype.name}. "
            "Hint: set .grad = None first."
        )
    graph.leaf_hooks(x).grad_dtype = dtype


def undeletable(name: str, instead: str) -> Callable[[Tensor], None]:
    """The deleter of a property that can be set and not deleted."""

    def delete(x: Tensor) -> None:
        raise ArgumentError(f"del: {name} of a tensor cannot be deleted. Hint: {instead}.")

    return delete


def get_backward_hooks(x: Tensor) -> Any:
    """The tensor's hooks, ``{id: hook}``, or None."""
    edge: Any = edge_of(x) if requires_grad(x) else None
    if edge is x or is_leaf_edge(edge):
        leaf = x if edge is None else target(edge)
        return leaf._meta_.hooks or None if leaf._meta_ is not None else None
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    return node._meta_.tensor_hooks.get(nr) if node._meta_ is not None else None


def set_backward_hooks(x: Tensor, hooks: dict | None) -> None:
    """Replace the tensor's hooks.

    Raises:
        ArgumentError: neither dict nor None.
    """
    if hooks is not None and not isinstance(hooks, dict):
        raise ArgumentError(f"_backward_hooks: expected a dict or None, got {type(hooks).__name__}.")
    edge: Any = edge_of(x) if requires_grad(x) else None
    if edge is x or is_leaf_edge(edge):
        own = graph.leaf_hooks(x if edge is None else target(edge))
        own.clear()
        own.update(hooks or {})
    else:
        node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
        node_meta(node).tensor_hooks[nr] = {} if hooks is None else hooks


def delete_grad(x: Tensor) -> None:
    """Forget the gradient."""
    set_grad(x, None)


def retains_grad(x: Tensor) -> bool:
    """Whether a non-leaf keeps its gradient."""
    return x._meta_ is not None and bool(x._meta_.retains)


def backward(
    x: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs=None,
    *,
    compiled: bool = False,
) -> None:
    """Add to ``.grad`` of the leaves the gradient of this tensor, weighted by ``gradient``: see ``nbgrad.backward``."""
    run_backward(x, gradient, retain_graph, create_graph, inputs=inputs, compiled=compiled)


# ---- installation --------------------------------------------------------------------------------------------------


def register_hook(x: Tensor, hook: Callable) -> RemovableHandle:
    """Call ``hook(g)`` with the gradient of the tensor in every pass; a tensor returned replaces it.

    Raises:
        GradError: the tensor does not require grad.
    """
    return graph.register_tensor_hook(x, hook)


def as_operand(value, like: Tensor):
    """An assigned value as a tensor."""
    return value if isinstance(value, Tensor) else creation.tensor(value, dtype=like.layout.dtype.to_real())


def flipped(x: Tensor) -> Tensor:
    """``reversed(x)``: the tensor with its first dimension reversed, recorded; a 0-d tensor itself."""
    return CALLS["flip"](x, 0) if x.layout.ndim else x


PROPERTIES = {
    "grad": property(get_grad, set_grad, delete_grad, get_grad.__doc__),
    "requires_grad": property(
        requires_grad,
        set_requires_grad,
        undeletable("requires_grad", "x.requires_grad = False"),
        doc="Whether gradients flow into the tensor; of leaves assignable.",
    ),
    "data": property(get_data, set_data, undeletable("data", "del x"), doc=get_data.__doc__),
    "grad_fn": property(grad_fn),
    "is_leaf": property(is_leaf),
    "output_nr": property(output_nr),
    "_grad": property(kept_grad, set_grad),
    "_grad_fn": property(grad_fn),
    "grad_dtype": property(get_grad_dtype, set_grad_dtype, doc=get_grad_dtype.__doc__),
    "_backward_hooks": property(get_backward_hooks, set_backward_hooks, undeletable("_backward_hooks", "x._backward_hooks = None")),
    "retains_grad": property(retains_grad),
    "_base": property(base_of),
    "real": property(
        lambda x: CALLS["real"](x),
        lambda x, value: CALLS["copy_"](CALLS["real"](x), as_operand(value, x)),
        doc="The real parts: a view of a complex tensor, a real tensor itself.",
    ),
    "imag": property(
        lambda x: CALLS["imag"](x),
        lambda x, value: CALLS["copy_"](CALLS["imag"](x), as_operand(value, x)),
        doc="The imaginary parts of a complex tensor, as a view.",
    ),
}
METHODS = {
    "requires_grad_": requires_grad_,
    "detach": detach,
    "detach_": detach_,
    "backward": backward,
    "register_hook": register_hook,
    "set_": set_,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "register_post_accumulate_grad_hook": graph.register_post_accumulate_grad_hook,
    "retain_grad": graph.retain_grad,
    "_is_view": is_view,
    "__reversed__": flipped,
}


def install() -> dict:
    """Complete the Tensor class; return the public functions that go with it, by name."""
    for name, member in {**PROPERTIES, **METHODS}.items():
        setattr(Tensor, name, member)
    interop.install_doors()
    casting.install_casts()
    printing.install_printing()
    pickling.install_pickling()
    overrides.install_overrides()
    install_subclass_calls()
    inference.install_inference()
    install_wrappers()
    public = dict(casting.DTYPE_NAMES)
    public.update(creation.install_creation())
    public.update(random.install_random())
    public.update(dlpack.install_dlpack())
    public.update({name: getattr(printing, name) for name in ("get_printoptions", "printoptions", "set_printoptions")})
    return public
