"""What functions and methods that draw share: floating numbers of a layout, the integers that a dtype holds."""

from __future__ import annotations

import operator
from functools import cache

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import BOOL, INTEGER, DType, require_floating
from ..base.errors import ArgumentError, RangeError
from ..creation.generators import WORD, signed
from ..lowering.random import draw
from ..modes.traced import is_traced
from ..tensors.batch_levels import open_levels
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import wrap_array
from ..tensors.tensor import Tensor, native, new_tensor

# ---- drawing -------------------------------------------------------------------------------------------------------


def draw_floating(op: str, distribution: str, layout: Layout, generator, a: float, b: float) -> Tensor:
    """``draw`` for a floating layout; real and imaginary part apart for a complex one."""
    require_floating(op, layout.dtype)
    if not layout.dtype.is_complex:
        return draw(distribution, layout, generator, a, b)
    pairs = draw(distribution, layout_of(layout.dtype.to_real(), (*layout.shape, 2), None, layout.device), generator, a, b)
    if open_levels or is_traced(pairs):
        return CALLS["view_as_complex"](pairs)
    if layout.memory is not None:
        out = native.alias(CALLS["view_as_complex"](pairs))
    else:
        out = new_tensor(wrap_array(pairs._storage_.array.view(layout.descr)), layout.like())
    return out if layout.contiguous else CALLS["clone_like"](out, layout)


def uniform_numbers(op: str, layout: Layout, generator) -> Tensor:
    """Uniform on [0, 1)."""
    return draw_floating(op, "uniform", layout, generator, 0.0, 1.0)


def normal_numbers(op: str, layout: Layout, generator) -> Tensor:
    """Normal with mean 0 and variance 1, which real and imaginary part share."""
    return draw_floating(op, "normal", layout, generator, 0.0, 0.5**0.5 if layout.dtype.is_complex else 1.0)


def integers(op: str, layout: Layout, generator, low, high) -> Tensor:
    """Integers from ``low`` to ``high - 1``."""
    return draw("integers", layout, generator, *integer_range(op, layout.dtype, low, high))


def integer_range(op: str, dtype: DType, low, high) -> tuple[int, int]:
    """``low`` and the number of integers up to ``high``, as the int64 words of a kernel.

    Raises:
        ArgumentError: no integers. RangeError: an empty range, or one that the dtype does not hold.
    """
    try:
        low, high = operator.index(low), operator.index(high)
    except TypeError:
        raise ArgumentError(f"{op}: the bounds must be integers, got {low!r} and {high!r}.") from None
    if low >= high:
        raise RangeError(f"{op}: there is no integer from {low} to {high} - 1.")
    least, most = whole_numbers(dtype)
    if low < least or high - 1 > most:
        raise RangeError(f"{op}: integers from {low} to {high} - 1 do not fit {dtype}, which holds {least} to {most}.")
    return low, signed((high - low) % WORD)


@cache
def whole_numbers(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer of a dtype that ``draw`` can give; of a floating one, finite."""
    if dtype.category == BOOL:
        return 0, 1
    limits = np.iinfo(dtype.numpy if dtype.category == INTEGER else np.int64)
    return int(limits.min), int(limits.max)
