"""``torch.nn.parameter``: tensors that modules take for their own."""

from __future__ import annotations

from typing import Any

from .. import Parameter
from .buffers import Buffer, UninitializedBuffer
from .lazy import UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"]


def is_lazy(param: Any) -> bool:
    """Whether it is a parameter or a buffer that waits for its shape.

    >>> import nbgrad
    >>> is_lazy(nbgrad.nn.LazyLinear(2).weight), is_lazy(nbgrad.nn.Linear(3, 2).weight)
    (True, False)
    """
    return isinstance(param, (UninitializedParameter, UninitializedBuffer))


class _Waiting(type):
    """The type of ``UninitializedTensorMixin``, whose instances are the parameters and buffers that wait."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_lazy(instance)


class UninitializedTensorMixin(metaclass=_Waiting):
    """What ``UninitializedParameter`` and ``UninitializedBuffer`` are, for ``isinstance``."""
