"""Losses by class index: rows over the pool, then one pass that averages them and checks the targets."""

from __future__ import annotations

from ..base.calls import CALLS
from ..base.dtypes import float32, int64, uint8
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.losses import loss_loop
from ..kernels.templates.softmax import score_bindings
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout

# Scores from which rows are shared out, and about how many a share has.
PARALLEL_FROM, SHARE = 1 << 14, 1 << 13


@late
def kernel(name: str, dtype: str) -> int:
    """The address of one of the loops."""
    return address(Program(name, loss_loop(name, dtype), dtype, score_bindings(dtype), True))


def check_scores(name: str, x: Layout, target: Layout) -> None:
    """Floating ``[rows, classes]`` and int64 ``[rows]``."""
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{name}: expected floating scores, got {x.dtype.name}.")
    if target.dtype is not int64:
        raise DTypeError(f"{name}: expected int64 targets, got {target.dtype.name}. Hint: target.to(nbgrad.int64).")
    if target.shape != x.shape[:1]:
        raise ShapeError(f"{name}: scores {list(x.shape)} need targets [{x.shape[0]}], got {list(target.shape)}.")


def run_as_they_lie(*layouts: Layout) -> bool:
    """Whether the loops take operands of these layouts as they are."""
    return all(x.contiguous and not x.neg and x.dtype.name in ("float32", "float64", "int64") for x in layouts)


def arranged_call(op, tensors, attributes):
    """Several steps: contiguous operands, half types widened and the result narrowed."""
    dtype = tensors[0].layout.dtype
    tensors = tuple(x if x.layout.dtype.compute == x.layout.dtype.name else CALLS["to_dtype"](x, float32) for x in tensors)
    result = CALLS[op.name](*(CALLS["contiguous_copy"](x) for x in tensors), **attributes)
    if type(result) is tuple:
        return (narrowed(result[0], dtype), *result[1:])
    return narrowed(result, dtype)


def narrowed(x, dtype):
    """``x`` in ``dtype``."""
    return x if x.layout.dtype is dtype else CALLS["to_dtype"](x, dtype)


def rows_plan(name: str, layouts, x: Layout, outs: tuple[Layout, ...], ignore_index: int, step: int = 0) -> GeneralPlan:
    """The launch of a loop over rows."""
    rows, classes = x.shape
    flags = PARALLEL if rows * classes >= PARALLEL_FROM else 0
    params = (rows, classes, ignore_index, step, 0)
    grain, codes = max(1, SHARE // max(classes, 1)), (0,) * len(layouts)
    record = pack_record(kernel(name, x.dtype.name), rows, grain, len(outs), codes, flags, params)
    return GeneralPlan(record, tuple([out.template for out in outs]), layouts)


@lowering("cross_entropy_rows", "nll_rows")
def _rows(op, layouts, attributes):
    x, target = layouts
    check_scores(op.name, x, target)
    if not run_as_they_lie(x, target):
        return arranged_call
    return rows_plan(op.name, layouts, x, (x.like(None, x.shape[:1]),), attributes["ignore_index"])


@lowering("cross_entropy_rows_backward")
def _cross_entropy_backward(op, layouts, attributes):
    g, x, target = layouts
    check_scores(op.name, x, target)
    if not run_as_they_lie(x, target) or g.dtype is not x.dtype or g.neg:
        return arranged_call
    return rows_plan(op.name, layouts, x, (x.like(),), attributes["ignore_index"], g.strides[0])


def both_plan(g: Layout, x: Layout, target: Layout, ignore_index: int) -> GeneralPlan | None:
    """The launch that computes losses and cotangents; None where each takes several steps."""
    if not run_as_they_lie(x, target) or g.dtype is not x.dtype or g.neg:
        return None
    outs = x.like(None, x.shape[:1]), x.like()
    return rows_plan("cross_entropy_rows_both", (g, x, target), x, outs, ignore_index, g.strides[0])


@lowering("nll_rows_backward")
def _nll_backward(op, layouts, attributes):
    g, target = layouts
    if not run_as_they_lie(g, target):
        return arranged_call
    rows, classes = g.shape[0], attributes["classes"]
    flags = PARALLEL if rows * classes >= PARALLEL_FROM else 0
    params = (rows, classes, attributes["ignore_index"], 1, 0)
    record = pack_record(kernel(op.name, g.dtype.name), rows, max(1, SHARE // max(classes, 1)), 1, (0, 0), flags, params)
    return GeneralPlan(record, (g.like(None, (rows, classes)).template,), layouts)


@lowering("valid_mean")
def _valid_mean(op, layouts, attributes):
    losses, target = layouts
    if not run_as_they_lie(losses, target):
        return arranged_call
    params = (losses.numel, attributes["classes"], attributes["ignore_index"], 0, int(attributes["divide"]))
    record = pack_record(kernel(op.name, losses.dtype.name), 1, 1, 2, (0, 0), 0, params)
    return GeneralPlan(record, (losses.like(None, ()).template, losses.like(uint8, ()).template), layouts)


@lowering("valid_share")
def _valid_share(op, layouts, attributes):
    g, target = layouts
    if not run_as_they_lie(g, target):
        return arranged_call
    params = (target.numel, 0, attributes["ignore_index"], 0, int(attributes["divide"]))
    record = pack_record(kernel(op.name, g.dtype.name), 1, 1, 1, (0, 0), 0, params)
    return GeneralPlan(record, (g.like(None, target.shape).template,), layouts)


@prepared("nll_loss", "cross_entropy", tensors=("target", "weight"))
def _quick_loss(op, layouts, attributes):
    (x,), target, reduction, ignore_index = layouts, attributes["target"], attributes["reduction"], attributes["ignore_index"]
    given = attributes["weight"], attributes["size_average"], attributes["reduce"]
    if given != (None, None, None) or attributes.get("label_smoothing") or reduction not in ("mean", "sum"):
        return None
    if x.ndim != 2 or target.dtype is not int64:
        return None
    rows, mean = CALLS["nll_rows" if op.name == "nll_loss" else "cross_entropy_rows"], CALLS["valid_mean"]
    classes, divide = x.shape[1], reduction == "mean"

    def quick(x, target, *rest):
        result, wrong = mean(rows(x, target, ignore_index), target, classes, ignore_index, divide)
        return None if wrong._storage_.array[0] else result

    return quick
