"""How tensors of classes are made that say what operations beneath the gradients mean: NOTE [Wrappers] of modes/wrappers.py."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import DTypeLike, dtype_of, get_default_dtype
from ..base.errors import ArgumentError
from ..modes.dispatch_modes import note_wrappers
from ..modes.overrides import make_subclass
from ..modes.wrappers import default_dispatch, says_what_operations_mean
from ..tensors.layout import DISPATCHED, WRAPPER, Layout, layout_of, marked_layout
from ..tensors.storage import CPU, META, Device
from ..tensors.tensor import Parameter, Tensor, put_layout, require_differentiable
from .allocation import empty_of
from .casting import on_device

__all__ = ["install_wrappers", "make_wrapper"]


def make_wrapper(
    cls: type,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Tensor:
    """A tensor of a class that has ``__torch_dispatch__``, without elements: NOTE [Wrappers].

    Args:
        size, strides, storage_offset, dtype, device: what it is to programs; strides are by default row-major.
        requires_grad: whether gradients are accumulated.

    Raises:
        ArgumentError: the class has no ``__torch_dispatch__``. DTypeError: the dtype has no gradients.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor) and says_what_operations_mean(cls)):
        raise ArgumentError(
            f"_make_wrapper_subclass: expected a subclass of Tensor with a __torch_dispatch__, got {cls!r}. Hint: define one as a "
            "class method, or use as_subclass."
        )
    kind = get_default_dtype() if dtype is None else dtype_of(dtype)
    where = CPU if device is None else on_device("_make_wrapper_subclass", device)
    shape = tuple(map(int, size))
    described = layout_of(kind, shape, None if strides is None else tuple(map(int, strides)), where)
    made: Tensor = empty_of(layout_of(kind, shape, described.strides, META))
    made._offset_ = (storage_offset or 0) * kind.itemsize
    put_layout(made, without_memory(described))
    made.__class__ = cls
    note_wrappers(cls)
    if requires_grad:
        require_differentiable("_make_wrapper_subclass", kind)
        made._needs_grad_ = True
    return made


def without_memory(layout: Layout) -> Layout:
    """A layout of wrappers, whose memory is none of its device's."""
    marked = marked_layout(layout, WRAPPER)
    marked.memory = layout_of(layout.dtype, layout.shape, None, META).memory
    return marked


def on_own_memory(data: Tensor, cls: type) -> Tensor:
    """A tensor of a class that has ``__torch_dispatch__`` on the memory of another one, without its history."""
    made: Tensor = data.detach()
    put_layout(made, marked_layout(made.layout, DISPATCHED))
    made.__class__ = cls
    return made


def make_dispatching_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of a subclass on the memory of ``data``: ``Tensor._make_subclass``."""
    if says_what_operations_mean(cls):
        return on_own_memory(data, cls).requires_grad_(require_grad)
    return make_subclass(cls, data, require_grad)


@cache
def parameter_class(cls: type) -> type:
    """The class of the parameters among a class's tensors: operations make none."""
    members = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__init__": lambda self, *args, **kwargs: None}
    made: type = type(cls.__name__, (cls, Parameter), {**members, "_class_of_parameter_": cls})
    return made


def parameter_of_class(data: Tensor, requires_grad: bool = True) -> Tensor:
    """``Parameter(data)`` of a tensor whose class says what operations mean: one of its class, that modules take for their own."""
    made: Tensor = data.detach()
    made.__class__ = parameter_class(type(data))  # type: ignore[arg-type]
    return made.requires_grad_(requires_grad)


def install_wrappers() -> None:
    """Hang on Tensor what classes override, and what makes their tensors."""
    members = {
        "__torch_dispatch__": classmethod(default_dispatch),
        "_make_wrapper_subclass": staticmethod(make_wrapper),
        "_make_subclass": staticmethod(make_dispatching_subclass),
    }
    CALLS["parameter_of_class"] = parameter_of_class
    for name, member in members.items():
        setattr(Tensor, name, member)
