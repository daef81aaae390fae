"""Memory formats of tensors: ``clone`` and ``contiguous`` with a given order of dimensions, and ``dim_order``."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import ArgumentError
from ..base.function_attributes import attach
from ..tensors.memory_format import FORMATS, MemoryFormat, order_of, preserve_format
from ..tensors.tensor import Tensor

__all__ = ["clone_function", "clone_method", "contiguous", "dim_order"]


def dim_order(x: Tensor, *, ambiguity_check: bool | list[MemoryFormat] = False) -> tuple[int, ...]:
    """The dimensions from the one with the largest stride to that with the smallest.

    That of a contiguous tensor is the order of its shape, whatever the strides of dimensions of size 1 say, unless it is
    ``channels_last``, too.

    Args:
        ambiguity_check: True refuses a tensor whose strides fit another order, too, such as one with a dimension of size 1; a list
            of memory formats does so unless it has just one of them.

    Raises:
        ArgumentError: such a tensor, or neither a bool nor memory formats.
    """
    shape, strides, count = x.layout.shape, x.layout.strides, x.layout.ndim
    if ambiguity_check and (len(set(strides)) < count or 1 in shape) and not has_one_format(x, ambiguity_check):
        raise ArgumentError(f"dim_order: sizes {list(shape)} with strides {list(strides)} have more than one order.")
    found = [each for each in FORMATS if x.is_contiguous(memory_format=each)]
    if len(found) == 1:
        return order_of("dim_order", found[0], count) or ()
    return tuple(sorted(range(count), key=lambda d: (-strides[d], -shape[d], d)))


def has_one_format(x: Tensor, formats: bool | list[MemoryFormat]) -> bool:
    """Whether a tensor has just one of the memory formats; True stands for none of them.

    Raises:
        ArgumentError: these are no memory formats.
    """
    if formats is True:
        return False
    if not isinstance(formats, (tuple, list)) or not all(isinstance(each, MemoryFormat) for each in formats):
        raise ArgumentError(f"dim_order: ambiguity_check is {formats!r}, expected a bool or a list of memory formats.")
    return sum(each in FORMATS and x.is_contiguous(memory_format=each) for each in formats) == 1


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
