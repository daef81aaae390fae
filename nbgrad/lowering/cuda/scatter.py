"""Copies that are written into on a GPU: through an index, with a reduction; or through a view."""

from __future__ import annotations

from ...base.errors import DTypeError, ShapeError
from ...dispatch.device_copies import copy_step, move_of, move_step
from ...kernels.cuda.steps import Steps, operand, out
from ...ops.shapes import wrap
from ...tensors.layout import Layout, layout_of
from ...tensors.overlap import overlaps_itself
from ..index_checks import check_index_dtype
from ..index_forms import along_walk
from ..scatter import scatter_to_view, walk_to
from .index_walks import one_index
from .index_writers import Write, copied_and_written, target_of
from .registry import lowering

__all__: list[str] = []


@lowering("scatter_extremum", tensors=("index",))
def _scatter_extremum(op, layouts, attributes):
    x = layouts[0]
    if x.dtype.is_complex:
        raise DTypeError(f"scatter_reduce: complex numbers have no order, got {x.dtype}.")
    return combined(op, layouts, attributes, "amax" if attributes["largest"] else "amin")


@lowering("scatter_product", tensors=("index",))
def _scatter_product(op, layouts, attributes):
    return combined(op, layouts, attributes, "prod")


def combined(op, layouts: tuple[Layout, ...], attributes: dict, reduction: str):
    """A copy with elements, or slices, combined along an index: with the tensor's own, or in their place."""
    (x, src), index = layouts, attributes["index"]
    target, dim = target_of(op, x), wrap("scatter_reduce", attributes["dim"], x.ndim)
    check_index_dtype("scatter_reduce", index, True)
    walk_of = walk_to(x, index)
    walk = one_index("scatter_reduce", walk_of("scatter_reduce", target, index, dim), index, operand(2))
    if walk_of is along_walk and src.shape != index.shape and src.ndim == index.ndim:  # what the index covers
        src = layout_of(src.dtype, index.shape, src.strides, src.device, src.conj, src.neg)
    return copied_and_written(x, target, [Write(walk, src, operand(1), reduction, attributes["include_self"])])


@lowering("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter")
def _scatter_to_part(op, layouts, attributes):
    x, src = layouts
    target = x.like() if op.name == "as_strided_scatter" or x.conj or x.neg or not x.dense else x
    if not x.dense and op.name == "as_strided_scatter":
        return scatter_to_view
    shape, strides, offset = op.part(target, *attributes.values())
    if overlaps_itself(shape, strides):
        return scatter_to_view
    if shape != src.shape:
        raise ShapeError(f"{op.name}: src has shape {list(src.shape)}, expected {list(shape)}.")
    part = layout_of(target.dtype, shape, strides, target.device)
    move = move_of(src, part)
    steps = (copy_step(x, target), move_step(move, shape, strides, src.strides, operand(1), out(0, offset * target.dtype.itemsize)))
    return (target,), Steps(tuple(step for step in steps if step is not None))
