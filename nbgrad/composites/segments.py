"""Neighbouring slices folded into one, segment by segment: ``segment_reduce``."""

from __future__ import annotations

import math

from ..base.dtypes import INTEGER, int64
from ..base.errors import ArgumentError, DTypeError, NotSupportedError, RangeError, ShapeError
from ..creation.factories import full
from ..creation.sequences import arange
from ..dispatch.arguments import require_tensors
from ..ops.core import composite
from ..ops.expr import scalar
from ..ops.kinds import explained
from ..ops.shapes import wrap

__all__: list[str] = []

# What a segment starts with, and the reduction by index that takes the slices in.
REDUCTIONS = {"sum": (0, None), "mean": (0, None), "max": (-math.inf, "amax"), "min": (math.inf, "amin"), "prod": (1, "prod")}
REDUCTIONS |= {"amax": REDUCTIONS["max"], "amin": REDUCTIONS["min"]}


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Segments of neighbouring slices along a dimension, each reduced to one slice: sum, mean, max, min or prod.

    Args:
        lengths: how many slices each segment has, integers of shape ``(*data.shape[:axis], segments)``.
        indices: not there, nor in torch.
        offsets: instead of lengths where each segment begins, and where the last one ends.
        unsafe: does not ask whether the lengths add up to the size of the dimension. Slices behind the last segment are left out.
        initial: what each segment starts with; the mean divides by the number of slices all the same.

    Returns:
        Tensor of data's shape with ``segments`` along axis. Without ``initial`` an empty segment is 0, NaN (mean), -inf (max),
        inf (min) or 1 (prod).

    Raises:
        RangeError: another reduction, a length below 0, or lengths of another sum. ArgumentError: not one of lengths and offsets.
        ShapeError: they do not belong to data. DTypeError: they are no integers, or data has no floating dtype.
    """
    require_tensors("segment_reduce", data)
    if reduce not in REDUCTIONS:
        raise RangeError(f"segment_reduce: reduce is {reduce!r}, expected 'sum', 'mean', 'max', 'min' or 'prod'.")
    if indices is not None:
        raise NotSupportedError("segment_reduce: indices are not supported. Hint: lengths or offsets.")
    if not data.dtype.is_floating_point:
        raise DTypeError(f"segment_reduce: data is {data.dtype}, expected a floating dtype. Hint: data.float().")
    axis = wrap("segment_reduce", axis, data.ndim)
    lengths = lengths_of(data, axis, lengths, offsets)
    ends = lengths.cumsum(-1)
    size, count, rest = data.shape[axis], lengths.shape[-1], data.shape[axis + 1 :]
    if not unsafe:
        check_lengths(lengths, ends, size)
    batch = math.prod(data.shape[:axis])
    starts, way = REDUCTIONS[reduce]
    start = starts if initial is None else initial
    # One place more for each batch takes in what is behind the last segment.
    into = full((batch * (count + 1), *rest), start, dtype=data.dtype, device=data.device)
    where, rows = places_of(ends.reshape((batch, count)), size), data.reshape((batch * size, *rest))
    folded = scalar.index_add(into, 0, where, rows) if way is None else scalar.index_reduce(into, 0, where, rows, way)
    folded = folded.reshape((*data.shape[:axis], count + 1, *rest)).slice(axis, 0, count, 1)
    if reduce == "mean":
        counted = lengths if initial is None else lengths.clamp(1)
        return folded / counted.reshape((*lengths.shape, *(1 for _ in rest))).to(data.dtype)
    return folded.clone()


def lengths_of(data, axis: int, lengths, offsets):
    """The lengths of the segments, given or between offsets.

    Raises:
        ArgumentError, ShapeError, DTypeError: see ``segment_reduce``.
    """
    if (lengths is None) == (offsets is None):
        raise ArgumentError("segment_reduce: expected lengths or offsets, and not both.")
    given, name = (offsets, "offsets") if lengths is None else (lengths, "lengths")
    require_tensors("segment_reduce", given)
    if given.dtype.category != INTEGER:
        raise DTypeError(f"segment_reduce: {name} is {given.dtype}, expected integers.")
    if given.ndim != axis + 1 or given.shape[:-1] != data.shape[:axis] or lengths is None and not given.shape[-1]:
        raise ShapeError(
            f"segment_reduce: {name} is {list(given.shape)}, data {list(data.shape)} with axis {axis}; "
            f"expected {[*data.shape[:axis], '*']}."
        )
    given = given.to(int64)
    return given if lengths is not None else given.diff(1, -1)


def check_lengths(lengths, ends, size: int) -> None:
    """Refuse segments that do not cover the dimension.

    Raises:
        RangeError: they do not.
    """
    if lengths.is_meta:
        return
    covered = bool((ends.slice(-1, lengths.shape[-1] - 1, lengths.shape[-1], 1) == size).all()) if lengths.shape[-1] else not size
    if not covered or bool((lengths < 0).any()):
        raise RangeError(
            f"segment_reduce: the lengths are not >= 0 with a sum of {size} each. Hint: unsafe=True leaves the rest out."
        )


def places_of(ends, size: int):
    """The segment of every slice, in a row over all batches, each of which has one place more than segments."""
    batch, count = ends.shape
    slices = arange(size, device=ends.device).expand(batch, size)
    found = scalar.insertion_places(ends.contiguous(), slices.contiguous(), True)
    return (found + arange(0, batch * (count + 1), count + 1, device=ends.device).unsqueeze(-1)).reshape((-1,))


composite("segment_reduce", explained(segment_reduce), aliases=("_segment_reduce",), method=False, doc=str(segment_reduce.__doc__))
