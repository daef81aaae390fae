"""Scans along one dimension, and elements picked from it or put into it."""

from __future__ import annotations

import math

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import float32, float64, int64
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering, prepared, result_of
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.keys import KEY_CONSTANTS
from ..kernels.templates.scan import pick_loop, place_loop, running_logsumexp_loop, scan_loop, shift_loop
from ..kernels.templates.select import rank_of, running_loop
from ..native.plans import PARALLEL, pack_record
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of, values_of
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from .arranged import arranged, arranged_call, runs_as_it_lies
from .lines import split_at, split_launch
from .reduce import in_dtype

LONG = 32  # elements of a line from which groups of them are quicker: benchmarks/test_forward.py
_BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}
_ACCUMULATORS = {"float32": "float64", "float64": "float64", "complex64": "complex128", "complex128": "complex128"}


@late
def scan_kernel(name: str, source: str, out: str, by_columns: bool, is_long: bool) -> int:
    """Address of a scan: floats accumulate in float64, integers in int64."""
    loop = scan_loop(name, source, _ACCUMULATORS.get(source, "int64"), out, by_columns, is_long)
    return address(Program(f"scan_{name}", loop, None))


def scan_split(name: str, x: Layout, dim: int) -> tuple[int, int, int]:
    """``[outer, length, width]`` of an operand that is scanned."""
    return split_at(x.shape, wrap({"sum": "cumsum", "product": "cumprod"}.get(name, name), dim, x.ndim))


def scan_plan(name: str, layouts: tuple[Layout, ...], dim: int, out: Layout, reverse: bool) -> GeneralPlan:
    """The launch of a scan over contiguous operands."""
    x = layouts[0]
    split = scan_split(name, x, dim)
    by_columns = split[2] > 1
    code = scan_kernel(name, x.dtype.compute, out.dtype.compute, by_columns, not by_columns and split[1] >= LONG)
    return GeneralPlan(split_launch(code, split, len(layouts), by_columns, int(reverse)), (out.template,), layouts)


def scan_call(op, x: Layout, attributes: dict) -> tuple[str, tuple[Layout], int, Layout]:
    """The kernel of a running sum or product, its operands, dimension and result."""
    name = op.name.removeprefix("scan_") + ("_before" if attributes.get("exclusive") else "")
    return name, (x,), attributes["dim"], x.like(x.dtype if x.dtype.differentiable else int64)


@lowering("scan_sum", "scan_product")
def _scan(op, layouts, attributes):
    x, dtype = layouts[0], attributes["dtype"]
    if (steps := in_dtype(x, dtype)) is not None:
        return steps
    if not runs_as_it_lies(x):
        return arranged_call
    return scan_plan(*scan_call(op, x, attributes), attributes["reverse"])


@lowering("recurrence")
def _recurrence(op, layouts, attributes):
    if not all(map(runs_as_it_lies, layouts)):
        return arranged_call
    name = "recurrence_lagged" if attributes["lagged"] else "recurrence"
    return scan_plan(name, layouts, attributes["dim"], layouts[0].like(), attributes["reverse"])


@late
def running_kernel(dtype: str, largest: bool, by_columns: bool, values: bool) -> int:
    """Address of the search for the greatest, or smallest, element up to each."""
    memory, ranks, rank = rank_of(dtype, largest, nan_first=True)
    bindings = (("rank", rank), *KEY_CONSTANTS.get(dtype, ()))
    return address(Program("running", running_loop(memory, ranks, by_columns, values), dtype, bindings))


def running_plan(x: Layout, dim: int, largest: bool, values: bool) -> GeneralPlan:
    """The launch of that search: the indices, and before them the elements themselves if ``values``."""
    split = split_at(x.shape, wrap("cummax", dim, x.ndim))
    code = running_kernel(x.dtype.name, largest, split[2] > 1, values)
    outs = (x.like().template, x.like(int64).template)[1 - values :]
    return GeneralPlan(split_launch(code, split, 1, split[2] > 1, outs=len(outs)), outs, (x,))


def require_running_order(x: Layout) -> None:
    """Refuse what has no extremum."""
    if x.dtype.is_complex:
        raise DTypeError(f"cummax: complex numbers have no order, got {x.dtype}.")


@lowering("running_indices")
def _running_indices(op, layouts, attributes):
    (x,) = layouts
    require_running_order(x)
    return running_plan(x, attributes["dim"], attributes["largest"], False) if runs_as_it_lies(x) else arranged_call


@late
def mover(name: str, bits: str) -> int:
    """Address of ``pick``, ``place`` or ``shift`` for elements of so many bytes."""
    loop = {"pick": pick_loop, "place": place_loop, "shift": shift_loop}[name](bits)
    return address(Program(name, loop, None))


@lowering("shift_along")
def _shift(op, layouts, attributes):
    x = layouts[0]
    if not x.contiguous:
        return arranged_call
    split = split_at(x.shape, wrap("shift", attributes["dim"], x.ndim))
    record = split_launch(mover("shift", _BITS[x.dtype.itemsize]), split, 1, False, 0, attributes["by"])
    return GeneralPlan(record, (x.like().template,), layouts)


def pick_split(op, x: Layout, index: Layout, attributes: dict) -> tuple[tuple[int, int, int], int, Layout]:
    """``([outer, length, width], count, result)`` of ``pick`` or ``place``: so many indices along the dimension."""
    dim = wrap(op.name, attributes["dim"], x.ndim)
    if op.name == "place" and x.shape != index.shape:
        raise ShapeError(f"place: values {list(x.shape)} and index {list(index.shape)} must have one shape.")
    shape = index.shape
    if op.name == "place" and shape:
        shape = (*shape[:dim], attributes["size"], *shape[dim + 1 :])
    outer, count, width = split_at(index.shape, dim)
    length = split_at(x.shape if op.name == "pick" else shape, dim)[1]
    if op.name == "pick" and not attributes["keepdim"]:
        shape = (*shape[:dim], *shape[dim + 1 :])
    return (outer, length, width), count, x.like(None, shape)


@lowering("pick", "place")
def _pick(op, layouts, attributes):
    x, index = layouts
    if not (x.contiguous and index.contiguous):
        return arranged_call
    split, count, out = pick_split(op, x, index, attributes)
    record = split_launch(mover(op.name, _BITS[x.dtype.itemsize]), split, 2, False, 0, count)
    return GeneralPlan(record, (out.template,), layouts)


@lowering("shared_pick", style="run", device=None)
def _shared_pick(op, tensors, attributes):
    return CALLS["pick"](*tensors, attributes["dim"], False)


# ---- running logarithms of sums ---------------------------------------------------------------------------------------


def running_dim(x: Layout, dim: int) -> int:
    """The dimension along which logarithms of sums run."""
    if not x.dtype.is_floating_point:
        raise DTypeError(f"logcumsumexp: x is {x.dtype}, expected a floating dtype.")
    return wrap("logcumsumexp", dim, x.ndim)


@lowering("running_logsumexp", style="run")
def _running_logsumexp(op, tensors, attributes):
    (x,) = tensors
    if x.layout.dtype.is_complex:
        return complex_running_logsumexp(x, attributes["dim"])
    dim, dtype = running_dim(x.layout, attributes["dim"]), x.layout.dtype
    (x,) = arranged((x,))
    out = native.fresh(running_logsumexp_plan(x.layout, dim), x)
    return out if out.layout.dtype is dtype else CALLS["to_dtype"](out, dtype)


@result_of("running_logsumexp")
def running_logsumexp_layout(op, layouts, attributes):
    """The layout of the result."""
    wrap("logcumsumexp", attributes["dim"], layouts[0].ndim)
    return layouts[0].like()


@late
def running_logsumexp_kernel(dtype: str) -> int:
    """Address of the loop."""
    from ..kernels.scalars import FUNCTIONS  # needed by kernels, not by an import

    bindings = (("exp", FUNCTIONS["exp"]), ("log", FUNCTIONS["log"]), ("LOWEST", -math.inf))
    return address(Program("running_logsumexp", running_logsumexp_loop(dtype), "float64", bindings))


def running_logsumexp_plan(x: Layout, dim: int) -> GeneralPlan:
    """The launch over a contiguous tensor of float32 or float64."""
    outer, length, width = split_at(x.shape, dim)
    record = pack_record(
        running_logsumexp_kernel(x.dtype.name),
        outer * width,
        max(1, 2048 // max(length, 1)),
        1,
        (0,),
        PARALLEL if x.numel >= 4096 else 0,
        (length, max(width, 1)),
    )
    return GeneralPlan(record, (x.like().template,), (x,))


@prepared("running_logsumexp")
def _quick_running_logsumexp(op, layouts, attributes):
    (x,) = layouts
    if x.dtype not in (float32, float64) or not runs_as_it_lies(x):
        return None
    plan, fresh = running_logsumexp_plan(x, wrap("logcumsumexp", attributes["dim"], x.ndim)), native.fresh
    return lambda x, dim: fresh(plan, x)


def complex_running_logsumexp(x: Tensor, dim: int) -> Tensor:
    """Of complex numbers, one step after another: the one of greater real part is taken out."""
    at = wrap("logcumsumexp", dim, x.layout.ndim)
    out = values_of(x).astype(np.complex128)
    steps = np.moveaxis(out, at, 0) if out.ndim else out[None]
    with np.errstate(all="ignore"):
        for k in range(1, len(steps)):
            before, here = steps[k - 1], steps[k]
            first = before.real >= here.real
            top, other = np.where(first, before, here), np.where(first, here, before)
            steps[k] = np.where(np.isneginf(top.real), top, top + np.log1p(np.exp(other - top)))
    return tensor_of(out.astype(x.layout.descr), x, x.layout.dtype)
