"""Distinct values, counts and repetitions on a GPU: sorts, sums before, searches, and one wait, for how long the result is."""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import bool_, float64, int64
from ..base.errors import ShapeError
from ..creation.factories import full, zeros
from ..creation.sequences import arange
from ..dispatch.device_divisors import note_zeros_as
from ..tensors.tensor import Tensor

__all__ = ["consecutive", "counted", "distinct", "ends_of", "places_of_repeats"]

MOST_COLUMNS = 64  # of slices that are sorted, a sort each


def ends_of(x: Tensor) -> tuple[int, int]:
    """The least and the greatest element of a tensor of integers; (0, -1) of none."""
    if not x.layout.numel:
        return 0, -1
    low, high = CALLS["stack"]((CALLS["amin"](x), CALLS["amax"](x))).tolist()
    return low, high


def distinct(x: Tensor, dim: int | None) -> tuple[Tensor, Tensor, Tensor] | None:
    """Values in their order, where each element is among them, and how often each occurs; with ``dim`` of slices.

    None of what no kernel sorts: complex numbers, slices of many elements, and no slices at all.
    """
    if x.layout.dtype.is_complex:
        return None
    rows = x.reshape(-1) if dim is None else x.movedim(dim, 0)
    if rows.layout.ndim == 1:
        ordered, order = rows.sort(0, stable=True)
    else:
        count = rows.layout.shape[0]
        if not rows.layout.numel or rows.layout.numel > count * MOST_COLUMNS:
            return None
        order, columns = arange(count, device=x.layout.device), rows.reshape(count, -1)
        for column in reversed(columns.unbind(1)):  # the last one first, each sort stable
            order = order.index_select(0, column.index_select(0, order).sort(0, stable=True)[1])
        ordered = rows.index_select(0, order)
    values, places, counts = runs(ordered)
    inverse = CALLS["scatter"](places, 0, order, places)
    return values if dim is None else values.movedim(0, dim), inverse, counts


def consecutive(x: Tensor, dim: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """The same of runs of equal neighbours."""
    values, places, counts = runs(x.reshape(-1) if dim is None else x.movedim(dim, 0))
    return values if dim is None else values.movedim(0, dim), places, counts


def runs(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first of each run of equal slices, the run of each, and the lengths of the runs."""
    device, count = rows.layout.device, rows.layout.shape[0]
    differ = CALLS["ne"](rows[1:], rows[:-1])
    differ = differ if differ.layout.ndim == 1 else differ.flatten(1).any(1)
    new = CALLS["cat"]((full((min(count, 1),), True, dtype=bool_, device=device), differ))
    starts = CALLS["nonzero"](new).reshape(-1)  # which waits for their number
    ends = CALLS["cat"]((starts[1:], full((min(count, 1),), count, dtype=int64, device=device)))
    return rows.index_select(0, starts), new.cumsum(0) - 1, ends - starts


def counted(x: Tensor, weights: Tensor | None, size: int) -> Tensor:
    """How often each whole number below ``size`` occurs, or the sums of weights, in float64."""
    if weights is None or not x.layout.numel:
        return zeros(size, dtype=int64, device=x.layout.device).index_add_(
            0, x.to(int64), full(x.layout.shape, 1, device=x.layout.device)
        )
    return zeros(size, dtype=float64, device=x.layout.device).index_add_(0, x.to(int64), weights.to(float64))


def places_of_repeats(repeats: Tensor, size: int, output_size: int | None) -> Tensor:
    """0, 1, ..., size - 1, each so often as ``repeats`` says. It waits for how many that are, unless that is known.

    Raises:
        ShapeError: a number of repeats is negative. Where ``output_size`` is given, this, and a wrong one, is told when the program
            next waits.
    """
    told: Any = f"repeat_interleave: repeats must be >= 0, and one or {size} of them; got shape {list(repeats.layout.shape)}."
    repeats = repeats.to(int64).reshape(-1).expand(size)
    ends = repeats.cumsum(0)
    if output_size is None:
        total, least = CALLS["stack"]((ends[-1], CALLS["amin"](repeats))).tolist() if size else (0, 0)
        if least < 0:
            raise ShapeError(told)
    else:
        total, wrong = output_size, f"repeat_interleave: output_size is {output_size}, the repeats give another number."
        note_zeros_as(ShapeError, told, CALLS["ge"](repeats, 0))
        note_zeros_as(ShapeError, wrong, CALLS["eq"](ends[-1:], output_size))
    return CALLS["searchsorted"](ends, arange(total, device=repeats.layout.device), right=True)
