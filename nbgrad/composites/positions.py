"""The positions of elements that are not zero, and repeated elements."""

from __future__ import annotations

import math
from typing import Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import INTEGER, int32, int64
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import mode, traces
from ..creation.factories import full
from ..creation.sequences import arange
from ..dispatch.lowerings import prepared
from ..graph.edges import requires_grad
from ..lowering.copy import repeat_plan
from ..lowering.index_checks import array_of
from ..lowering.index_forms import positions_tensor
from ..lowering.masks import positions_finder
from ..modes.inference import newly_made
from ..modes.traced import is_watched
from ..ops.core import OPS, composite
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of, values_of
from ..tensors.tensor import Tensor, native

__all__: list[str] = []


def nonzero(x, *, as_tuple=False):
    """The indices of the elements that are not zero: a row each, or with ``as_tuple`` a tensor a dimension."""
    check_is_tensor("nonzero", x)
    if x.layout.memory is not None or traces and is_watched(x):
        places = CALLS["nonzero_places"](CALLS["unsqueeze"](x, 0) if as_tuple and not x.layout.ndim else x)
        return tuple([CALLS["contiguous_copy"](row) for row in CALLS["unbind"](places, 1)]) if as_tuple else places
    find = positions_finder(x.layout, bool(as_tuple))
    if find is not None:
        found = find(x)
        return tuple(map(newly_made, found)) if type(found) is tuple else (newly_made(found),) if as_tuple else newly_made(found)
    array = array_of(x)
    if as_tuple:
        return tuple(newly_made(positions_tensor(p)) for p in np.nonzero(array if array.ndim else array.reshape(1)))
    if not array.ndim:
        return newly_made(positions_tensor(np.zeros((int(bool(array)), 0), np.int64)))
    return newly_made(positions_tensor(np.array(array.nonzero()).T))


def nonzero_static(input, *, size, fill_value=-1):
    """The indices of the first ``size`` elements that are not zero, a row each; ``fill_value`` in the rows that are left over.

    Raises:
        RangeError: ``size`` is below 0.
    """
    check_is_tensor("nonzero_static", input)
    if size < 0:
        raise RangeError(f"nonzero_static: size is {size}, expected a number >= 0.")
    if input.is_meta:  # the one result of this file whose shape is known without elements
        return full((size, input.layout.ndim), fill_value, dtype=int64, device=input.layout.device)
    found = CALLS["nonzero"](input)
    lacking = size - found.layout.shape[0]
    if lacking <= 0:
        return CALLS["clone"](CALLS["slice"](found, 0, 0, size, 1))
    return CALLS["cat"]([found, full((lacking, input.layout.ndim), fill_value, dtype=int64, device=input.layout.device)])


def argwhere(x):
    """The indices of the elements that are not zero, a row each."""
    check_is_tensor("argwhere", x)
    return CALLS["nonzero_places"](x)


def where(condition, input=None, other=None, *, out=None):
    """``input`` where ``condition`` is true, else ``other``; of a condition alone, its positions."""
    if input is None and other is None:
        return CALLS["nonzero"](condition, as_tuple=True)
    if out is not None:
        from ..dispatch.out import write_result

        return write_result(OPS["where"], (condition, input, other), out)
    return CALLS["where"](condition, input, other)


def check_is_tensor(op: str, x) -> None:
    """Refuse anything but a tensor."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{op}: x must be a Tensor, got {type(x).__name__}. Hint: nbgrad.asarray(x).")


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Every element of a dimension repeated so many times in a row; without ``dim`` input is seen as one row.

    Args:
        repeats: one number, or one for each element; without it, ``input`` says how often each of 0, 1, 2, ... comes.
        output_size: the size of the result along the dimension, which is checked.

    Raises:
        DTypeError: repeats that are no integers. ShapeError: not one for each element, or another output_size.
    """
    check_is_tensor("repeat_interleave", input)
    out = numbers_repeated(input, output_size) if repeats is None else repeated(input, repeats, dim, output_size)
    at = 0 if dim is None else dim
    if output_size is not None and output_size != out.layout.shape[at]:
        raise ShapeError(f"repeat_interleave: output_size is {output_size}, the repeats give {out.layout.shape[at]}.")
    return out


@prepared("repeat_interleave")
def _quick_repeat(op, layouts, attributes):
    (x,), count, dim = layouts, attributes["repeats"], attributes["dim"]
    if type(count) is not int or count < 2 or not (x.ndim and x.numel and x.contiguous) or x.conj or x.neg:
        return None
    dim, shape = (0, (x.numel,)) if dim is None else (wrap(op.name, dim, x.ndim), x.shape)
    rows, width, fresh = math.prod(shape[: dim + 1]), math.prod(shape[dim + 1 :]), native.fresh
    plan = repeat_plan(x, rows, count, width, (*shape[:dim], shape[dim] * count, *shape[dim + 1 :]))

    def quick(x, *rest):
        return None if x._needs_grad_ and mode.enabled and requires_grad(x) else fresh(plan, x)

    return quick


def numbers_repeated(repeats: Tensor, output_size: int | None) -> Tensor:
    """0, 1, 2, ..., each so many times in a row."""
    if repeats.layout.ndim != 1:
        raise ShapeError(f"repeat_interleave: repeats is {list(repeats.layout.shape)}, expected a vector.")
    dtype = repeats.layout.dtype if repeats.layout.dtype is int32 else int64
    return repeated(arange(repeats.layout.numel, dtype=dtype, device=repeats.layout.device), repeats, 0, output_size)


def repeated(x: Tensor, repeats, dim, output_size: int | None):
    """``repeat_interleave`` by given repeats."""
    if dim is None:
        x, dim = CALLS["reshape"](x, (-1,) if x.layout.numel else (0,)), 0
    dim = wrap("repeat_interleave", dim, x.layout.ndim)
    if not x.layout.ndim:
        x = CALLS["unsqueeze"](x, 0)
    size = x.layout.shape[dim]
    if isinstance(repeats, Tensor) and repeats.layout.memory is not None and repeats.layout.dtype.category == INTEGER:
        if repeats.layout.ndim < 2 and repeats.layout.numel in (1, size):
            from .device_counts import places_of_repeats

            return CALLS["index_select"](x, dim, places_of_repeats(repeats.detach(), size, output_size))
    counts = values_of(repeats) if isinstance(repeats, Tensor) else np.asarray(repeats)
    if counts.dtype.kind not in "iu":
        raise DTypeError(f"repeat_interleave: repeats must be ints, got {counts.dtype}.")
    if counts.ndim > 1 or (counts.size not in (1, size)) or (counts < 0).any():
        raise ShapeError(f"repeat_interleave: repeats must be >= 0, and one or {size} of them; got shape {list(counts.shape)}.")
    if counts.size == 1:
        wide = CALLS["unsqueeze"](x, dim + 1)
        count = int(counts.reshape(-1)[0])
        shape = (*x.layout.shape[: dim + 1], count, *x.layout.shape[dim + 1 :])
        wide = CALLS["contiguous"](CALLS["expand_shape"](wide, shape))  # a copy, unless nothing is repeated
        return CALLS["flatten"](wide if count > 1 and x.layout.numel else CALLS["clone"](wide), dim, dim + 1)
    return CALLS["index_select"](x, dim, tensor_of(np.repeat(np.arange(size), counts), x))


_function: Callable
for _function in (nonzero, nonzero_static, argwhere, repeat_interleave):
    composite(_function.__name__, _function, out=_function in (nonzero, nonzero_static), doc=_function.__doc__)
# Declared after the elementwise operation of the same public name, and so published in its place.
composite("where_or_positions", where, method=False, aliases=("where",), public="where", doc=where.__doc__)
