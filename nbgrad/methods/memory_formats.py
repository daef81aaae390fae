"""Memory formats of tensors: ``clone`` and ``contiguous`` with a given order of dimensions, and ``dim_order``."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.function_attributes import attach
from ..tensors.memory_format import order_of, preserve_format
from ..tensors.tensor import Tensor

__all__ = ["clone_function", "clone_method", "contiguous", "dim_order"]


def dim_order(x: Tensor) -> tuple[int, ...]:
    """The dimensions from the one with the largest stride to that with the smallest."""
    return tuple(sorted(range(x.layout.ndim), key=lambda d: (-x.layout.strides[d], d)))


def ordered_copy(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """A copy with the dimensions in that order in memory, recorded."""
    if order == tuple(range(len(order))):
        return CALLS["contiguous_copy"](x)
    back = tuple(order.index(d) for d in range(len(order)))
    return CALLS["permute_dims"](CALLS["contiguous_copy"](CALLS["permute_dims"](x, order)), back)


def clone_method(plain: Any) -> Callable:
    """The method ``clone`` with ``memory_format=``."""
    run: Callable = plain.run

    def clone(input: Tensor, memory_format: Any = None) -> Tensor:  # by position too: by keyword alone a call takes longer
        if memory_format is None:
            return run(input)
        order = order_of("clone", memory_format, input.layout.ndim)
        return run(input) if order is None else ordered_copy(input, order)

    clone.__doc__ = plain.__doc__
    return clone


def clone_function(plain: Callable) -> Callable:
    """The function ``clone`` with ``memory_format=``."""

    def clone(*operands: Any, memory_format: Any = None, **named: Any) -> Tensor:
        return plain(*operands, **named) if memory_format is None else operands[0].clone(memory_format=memory_format)

    clone.__doc__ = plain.__doc__
    option = inspect.Parameter("memory_format", inspect.Parameter.KEYWORD_ONLY, default=None)
    attach(clone, __signature__=inspect.Signature([*inspect.signature(plain).parameters.values(), option]))
    return clone


def contiguous(x: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in the order of the memory format, row by row by default, else a copy that has it."""
    order = None if memory_format is None else order_of("contiguous", memory_format, x.layout.ndim)
    if order is None:
        return x if x.layout.contiguous or memory_format is preserve_format else CALLS["contiguous_copy"](x)
    return x if x.is_contiguous(memory_format) else ordered_copy(x, order)
