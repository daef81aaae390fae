"""``nbgrad.utils._python_dispatch``: modes, and classes of tensors, that are asked about operations beneath the gradients.

>>> from nbgrad.utils._python_dispatch import TorchDispatchMode
>>> class Count(TorchDispatchMode):
...     calls = 0
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         self.calls += 1
...         return func(*args, **(kwargs or {}))
>>> with Count() as count:
...     y = nbgrad.nn.functional.relu(nbgrad.ones(2))
>>> count.calls
2
"""

from __future__ import annotations

from typing import Any, Callable

from .. import Tensor
from ..modes.dispatch_modes import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    current_dispatch_mode as _get_current_dispatch_mode,
    disabled_dispatch_modes as _disable_current_modes,
    dispatch_state,
    is_dispatching as is_in_torch_dispatch_mode,
    pop_mode_temporarily as _pop_mode_temporarily,
)

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "_disable_current_modes",
    "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack",
    "_len_torch_dispatch_stack",
    "_pop_mode_temporarily",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]

_FLATTENING = ("__tensor_flatten__", "__tensor_unflatten__")


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes of this thread, outermost first.

    >>> _get_current_dispatch_mode_stack()
    []
    """
    return list(dispatch_state.modes)


def _len_torch_dispatch_stack() -> int:
    """How many modes of this thread there are.

    >>> _len_torch_dispatch_stack()
    0
    """
    return len(dispatch_state.modes)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor's class says which tensors it wraps: by ``__tensor_flatten__`` and ``__tensor_unflatten__``.

    >>> is_traceable_wrapper_subclass(nbgrad.ones(2))
    False
    """
    return isinstance(t, Tensor) and type(t) is not Tensor and all(hasattr(t, name) for name in _FLATTENING)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class.

    >>> is_traceable_wrapper_subclass_type(nbgrad.Tensor)
    False
    """
    return issubclass(t, Tensor) and t is not Tensor and all(hasattr(t, name) for name in _FLATTENING)


def transform_subclass(t: Any, callback: Callable, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """A wrapper like ``t`` of other tensors: ``callback(name, tensor)`` of each that it wraps.

    >>> class Doubled(nbgrad.Tensor):
    ...     def __new__(cls, half):
    ...         return nbgrad.Tensor._make_wrapper_subclass(cls, half.shape)
    ...     def __init__(self, half):
    ...         self.half = half
    ...     def __tensor_flatten__(self):
    ...         return ["half"], None
    ...     @classmethod
    ...     def __tensor_unflatten__(cls, inner, context, size, stride):
    ...         return cls(inner["half"])
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    >>> transform_subclass(Doubled(nbgrad.ones(2)), lambda name, x: x * 3).half
    tensor([3., 3.])
    """
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    size, stride = t.size() if outer_size is None else outer_size, t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(parts, context, size, stride)


def return_and_correct_aliasing(func: Any, args: tuple, kwargs: dict | None, out: Any) -> Any:
    """What ``__torch_dispatch__`` of a wrapper returns: the tensor that was written to, of a write; of other operations ``out``.

    Args:
        func, args, kwargs: of the operation.
        out: what was made.

    >>> x = nbgrad.ones(2)
    >>> return_and_correct_aliasing(nbgrad.ops.aten.add_.Tensor, (x, 1), {}, nbgrad.zeros(2)) is x
    True
    """
    if func._overloadname == "out":
        return (kwargs or {})["out"]
    name = func.overloadpacket.__name__
    writes = name.endswith("_") and not name.endswith("__")
    return args[0] if writes else out
