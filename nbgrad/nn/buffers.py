"""``Buffer``: a tensor that becomes a buffer of the module it is assigned to."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError

__all__ = ["Buffer", "UninitializedBuffer"]


class _Marked(type):
    """The type of ``Buffer``, whose instances are tensors with a mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and vars(instance).get("_is_buffer", False)


class Buffer(metaclass=_Marked):
    """A tensor on the memory of ``data`` that a module takes for a buffer, when it is assigned to an attribute.

    Args:
        data: the tensor; none is empty.
        persistent: whether it is part of the module's state.

    Raises:
        ArgumentError: no tensor.

    >>> import nbgrad
    >>> module = nbgrad.nn.Module()
    >>> module.mean = Buffer(nbgrad.zeros(2))
    >>> list(module.state_dict()), isinstance(module.mean, Buffer)
    (['mean'], True)
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        """The marked tensor."""
        if data is not None and not isinstance(data, Tensor):
            raise ArgumentError(f"Buffer: expected a Tensor, got {type(data).__name__}. Hint: nbgrad.tensor(data).")
        made: Any = nbgrad.empty(0) if data is None else data.detach().requires_grad_(data.requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made


class _Waiting(type):
    """The type of ``UninitializedBuffer``, whose instances are buffers that wait for a shape."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and "materialize" in vars(instance)


class UninitializedBuffer(metaclass=_Waiting):
    """A ``Buffer`` of which only dtype and device are known, until ``materialize`` says its shape.

    Args:
        requires_grad, device, dtype: of the tensor.
        persistent: whether it is part of the module's state.

    >>> mean = UninitializedBuffer()
    >>> mean.materialize((2,))
    >>> tuple(mean.shape), isinstance(mean, UninitializedBuffer), isinstance(mean, Buffer)
    ((2,), False, True)
    """

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        """The waiting buffer."""
        made: Any = Buffer(nbgrad.empty(0, device=device, dtype=dtype, requires_grad=requires_grad), persistent=persistent)

        def materialize(shape: Any, device: Any = None, dtype: Any = None) -> None:
            """Become a buffer of a shape, with undefined elements."""
            made.data = nbgrad.empty(tuple(shape), device=device or made.device, dtype=dtype or made.dtype)
            del made.materialize

        made.materialize = materialize
        return made
