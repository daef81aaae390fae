"""Products of a sparse matrix by rows, by the kernels of ``templates/sparse``."""

from __future__ import annotations

from ..base.dtypes import int64
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering, result_of
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.sparse import STRIP, sparse_kernel
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout
from .losses import arranged_call, run_as_they_lie

# Products from which rows are shared out, and about how many a share has.
PARALLEL_FROM, SHARE = 1 << 16, 1 << 15


@late
def kernel(name: str, dtype: str) -> int:
    """The address of one of the kernels."""
    return address(Program(name, sparse_kernel(name, dtype), dtype, (), True))


def check(name: str, first: Layout, dense: Layout, begins: Layout, others: Layout) -> None:
    """Floating factors of one dtype, and places that are vectors of int64.

    Raises:
        DTypeError, ShapeError: others.
    """
    if first.dtype is not dense.dtype or not first.dtype.is_floating_point:
        raise DTypeError(f"{name}: expected floating factors of one dtype, got {first.dtype.name} and {dense.dtype.name}.")
    if begins.dtype is not int64 or others.dtype is not int64:
        raise DTypeError(f"{name}: expected places of int64, got {begins.dtype.name} and {others.dtype.name}.")
    if begins.ndim != 1 or others.ndim != 1 or dense.ndim != 2 or not begins.numel:
        raise ShapeError(f"{name}: expected a matrix and places as vectors, got {list(dense.shape)} and {list(begins.shape)}.")


def plan_of(name: str, layouts: tuple[Layout, ...], out: Layout, columns: int, units: int) -> GeneralPlan:
    """The launch: ``units`` rows, or strips of columns."""
    _, dense, begins, others = layouts
    width, rows = dense.shape[1], begins.numel - 1
    work = others.numel * max(width, 1)
    grain = max(1, units * SHARE // max(work, 1))
    flags = PARALLEL if work >= PARALLEL_FROM else 0
    params = width, rows, columns
    record = pack_record(kernel(name, out.dtype.name), units, grain, 1, (0,) * 4, flags, params)
    return GeneralPlan(record, (out.template,), layouts)


@result_of("sparse_rows")
def rows_layout(op, layouts, attributes):
    """The layout of the result."""
    check(op.name, *layouts)
    _, y, begins, _ = layouts
    return y.like(None, (begins.numel - 1, y.shape[1]))


@result_of("sparse_columns")
def columns_layout(op, layouts, attributes):
    """The layout of the result."""
    check(op.name, *layouts)
    return layouts[1].like(None, (attributes["count"], layouts[1].shape[1]))


@result_of("sparse_dots")
def dots_layout(op, layouts, attributes):
    """The layout of the result."""
    check(op.name, *layouts)
    return layouts[0].like(None, layouts[3].shape)


@lowering("sparse_rows")
def _sparse_rows(op, layouts, attributes):
    out = rows_layout(op, layouts, attributes)
    return plan_of(op.name, layouts, out, layouts[1].shape[0], out.shape[0]) if run_as_they_lie(*layouts) else arranged_call


@lowering("sparse_columns")
def _sparse_columns(op, layouts, attributes):
    out = columns_layout(op, layouts, attributes)
    count, width = out.shape
    return plan_of(op.name, layouts, out, count, -(-width // STRIP)) if run_as_they_lie(*layouts) else arranged_call


@lowering("sparse_dots")
def _sparse_dots(op, layouts, attributes):
    out = dots_layout(op, layouts, attributes)
    _, y, begins, _ = layouts
    return plan_of(op.name, layouts, out, y.shape[0], begins.numel - 1) if run_as_they_lie(*layouts) else arranged_call
