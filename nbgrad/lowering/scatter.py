"""Copies that are written into: through an index, with a reduction; or through a view."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, bool_
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import lowering, prepared
from ..ops.shapes import wrap
from ..tensors.layout import Layout
from ..tensors.overlap import overlaps_itself
from ..tensors.tensor import native
from .index_checks import int64_index
from .index_forms import along_walk, copied_layout, rows_walk
from .index_walks import prepared_write, write_along
from .index_writers import scalar_values
from .placing import Part, place_plan

__all__: list[str] = []

# ---- by index, with a reduction --------------------------------------------------------------------------------------


def extremes(dtype: DType) -> tuple:
    """The least and the greatest number of a dtype."""
    if dtype.is_floating_point:
        return -np.inf, np.inf
    return (False, True) if dtype is bool_ else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)


def walk_to(layout: Layout, index: Layout) -> Callable:
    """How an index of elements, or of slices, leads."""
    return along_walk if index.ndim == layout.ndim or layout.ndim < 2 else rows_walk


def reduction_of(op, attributes: dict) -> str:
    """How elements that go to one place are combined."""
    return "prod" if op.name == "scatter_product" else "amax" if attributes["largest"] else "amin"


def neutral(reduction: str, dtype: DType):
    """The number that a reduction begins with where a place's own does not count."""
    return 1 if reduction == "prod" else extremes(dtype)[0 if reduction == "amax" else 1]


@lowering("scatter_extremum", "scatter_product", style="run")
def _scatter_reduced(op, tensors, attributes):
    x, src = tensors
    reduction, dim = reduction_of(op, attributes), wrap("scatter_reduce", attributes["dim"], x.layout.ndim)
    if x.layout.dtype.is_complex and reduction != "prod":
        raise DTypeError(f"scatter_reduce: complex numbers have no order, got {x.layout.dtype}.")
    index = int64_index("scatter_reduce", attributes["index"], strict=True)
    out, walk = CALLS["clone_like"](x, copied_layout(op, x.layout)), walk_to(x.layout, index.layout)
    if not attributes["include_self"]:
        nothing = scalar_values(op, x, neutral(reduction, x.layout.dtype))
        write_along("scatter_reduce", out, index, nothing, "set", True, walk, dim)
    write_along("scatter_reduce", out, index, src, reduction, True, walk, dim)
    return out


@prepared("scatter_extremum", "scatter_product", tensors=("index",))
def _quick_scatter_reduced(op, layouts, attributes):
    (x, src), index, dim = layouts, attributes["index"], attributes["dim"]
    if not attributes["include_self"] or type(index) is not Layout:
        return None
    dim = wrap("scatter_reduce", dim, x.ndim)
    launch = prepared_write(x, copied_layout(op, x), index, src, reduction_of(op, attributes), walk_to(x, index), dim)
    return launch and (lambda x, src, dim, index, *rest: launch(x, index, src))


# ---- into a part of a copy -------------------------------------------------------------------------------------------


@lowering("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter", style="run")
def scatter_to_view(op, tensors, attributes):
    """A copy, and a write into the view of it that the operation names."""
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
