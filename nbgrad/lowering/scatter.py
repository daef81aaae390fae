"""Copies that are written into: through an index, with a reduction; or through a view."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, bool_
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import lowering, prepared
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of, values_of
from ..tensors.layout import Layout
from ..tensors.overlap import overlaps_itself
from ..tensors.tensor import native
from .index_walks import along_walk, copied_layout, int64_index, prepared_write, rows_walk, write_along
from .index_writers import scalar_values
from .placing import Part, place_plan

__all__: list[str] = []

# ---- by index, with a reduction --------------------------------------------------------------------------------------


def places_along(dim: int, index: np.ndarray) -> tuple:
    """Where ``index`` sends elements along a dimension, as NumPy's index; of a 0-d array the whole."""
    places: list[np.ndarray] = list(np.indices(index.shape, sparse=True))
    if places:
        places[dim] = index
    return tuple(places)


def extremes(dtype: DType) -> tuple:
    """The least and the greatest number of a dtype."""
    if dtype.is_floating_point:
        return -np.inf, np.inf
    return (False, True) if dtype is bool_ else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)


def walk_to(layout: Layout, index: Layout) -> Callable:
    """How an index of elements, or of slices, leads."""
    return along_walk if index.ndim == layout.ndim or layout.ndim < 2 else rows_walk


@lowering("scatter_extremum", style="run")
def _scatter_extremum(op, tensors, attributes):
    x, src = tensors
    largest, dim = attributes["largest"], wrap("scatter_reduce", attributes["dim"], x.layout.ndim)
    if x.layout.dtype.is_complex:
        raise DTypeError(f"scatter_reduce: complex numbers have no order, got {x.layout.dtype}.")
    index = int64_index("scatter_reduce", attributes["index"], strict=True)
    out, walk = CALLS["clone_like"](x, copied_layout(x.layout)), walk_to(x.layout, index.layout)
    if not attributes["include_self"]:
        nothing = scalar_values(op, x, extremes(x.layout.dtype)[0 if largest else 1])
        write_along("scatter_reduce", out, index, nothing, "set", True, walk, dim)
    write_along("scatter_reduce", out, index, src, "amax" if largest else "amin", True, walk, dim)
    return out


@prepared("scatter_extremum", tensors=("index",))
def _quick_scatter_extremum(op, layouts, attributes):
    (x, src), index, dim = layouts, attributes["index"], attributes["dim"]
    if not attributes["include_self"] or type(index) is not Layout:
        return None
    reduction, dim = "amax" if attributes["largest"] else "amin", wrap("scatter_reduce", dim, x.ndim)
    launch = prepared_write(x, copied_layout(x), index, src, reduction, walk_to(x, index), dim)
    return launch and (lambda x, src, dim, index, *rest: launch(x, index, src))


@lowering("scatter_product", style="run")
def _scatter_product(op, tensors, attributes):
    x, src = map(values_of, tensors)
    places = places_along(wrap("scatter_reduce", attributes["dim"], x.ndim), values_of(attributes["index"]))
    out = x.astype(np.float64 if x.dtype.kind not in "iubc" else x.dtype)
    if not attributes["include_self"]:
        out[places] = 1
    np.multiply.at(out, places, src)
    return tensor_of(out.astype(x.dtype), tensors[0], tensors[0].layout.dtype)


# ---- into a part of a copy -------------------------------------------------------------------------------------------


@lowering("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter", style="run")
def _scatter_to_view(op, tensors, attributes):
    x, src = tensors
    out = CALLS["contiguous_copy" if op.name == "as_strided_scatter" else "clone"](x)
    part = CALLS[op.name.removesuffix("_scatter")](out, **attributes)
    if part.layout.shape != src.layout.shape:
        raise ShapeError(f"{op.name}: src has shape {list(src.layout.shape)}, expected {list(part.layout.shape)}.")
    CALLS["copy_"](part, src)
    return out


@prepared("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter")
def _quick_scatter_to_view(op, layouts, attributes):
    x, src = layouts
    out = x.like() if op.name == "as_strided_scatter" else x
    if not (x.dense and src.numel and x.dtype is src.dtype) or x.conj or x.neg or src.conj or src.neg:
        return None
    shape, strides, offset = op.part(out, *attributes.values())
    if overlaps_itself(shape, strides):
        return None
    plan = place_plan(out, [Part(x, x.shape, out.strides, 0), Part(src, shape, strides, offset)], zero=False)
    fresh = native.fresh
    return lambda x, src, *attributes: fresh(plan, x, src)
