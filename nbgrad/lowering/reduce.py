"""Reductions on any layout: by one of the walks of fold_walks.py, or of a copy in an order that has one.

NOTE [Several steps]: a lowering that cannot do with one launch returns a function instead of a plan: half types
(widened first, narrowed last), layouts that have no walk, and results of so many elements each that threads should
share one.
"""

from __future__ import annotations

import struct
from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import WIDTHS, DType, bool_, complex128, float32, float64, int32, int64, uint8
from ..base.errors import DimError, DTypeError, RangeError, ShapeError
from ..dispatch.lowerings import FOLD, GeneralPlan, lowering
from ..kernels.monoids import MONOIDS
from ..kernels.templates.folds import Fold
from ..native.plans import PARALLEL, pack_record
from ..ops.core import OPS, General
from ..ops.reduce import kept_shape, names_none, reduced_dims
from ..ops.shapes import diagonal_of
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native
from .fold_walks import PIECE, SHARED_FROM, folds_of, kernel, reduce_plan, whole_record, whole_records

__all__ = ["folded", "reduction", "summed_over", "traced_sum"]


def reduction(op: Any, layout: Layout, dims: tuple[int, ...], out: Layout):
    """A plan for one launch, or a function of several steps: see NOTE [Several steps].

    Args:
        op: the operation, declared with a monoid.
        out: the result's layout.
    """
    if layout.dtype.compute == "float32" and layout.dtype is not float32:
        return widened(op, dims, out)
    result = float32 if out.dtype.compute == "float32" else out.dtype
    folds = folds_of(op, layout.dtype, result)
    if layout.dense and len(dims) == layout.ndim and result is out.dtype and layout.numel < SHARED_FROM and not layout.special:
        sized = whole_records(folds.fold) if not out.ndim and layout.contiguous else None
        return GeneralPlan(whole_record(folds.fold, layout.numel), (out.template,), (layout,), sized)
    shared = folds.piece is not None and layout.dense and layout.numel >= SHARED_FROM and out.numel == 1
    if result is out.dtype and not shared:
        plan = reduce_plan(folds.fold, layout, dims, out, folds.multiplies)
        if plan is not None:
            return plan
    if shared and result is out.dtype and folds.piece and folds.merge:
        return in_pieces(folds.piece, folds.merge, layout, out)
    return stepwise(op, dims, out)


def widened(folded: General, dims, out):
    """Half types: convert, reduce, convert back."""
    reduced = stepwise(folded, dims, out)
    return lambda op, tensors, attributes: reduced(op, (CALLS["to_dtype"](tensors[0], float32),), attributes)


def stepwise(folded: General, dims: tuple[int, ...], out: Layout) -> Callable:
    """``run(op, tensors, attributes)``: reduce through a copy that has a walk, convert the result; planned once for a layout."""
    target = out.like(float32) if out.dtype.compute == "float32" else out
    known: dict[Layout, tuple[GeneralPlan, bool]] = {}

    def planned(x: Tensor) -> tuple[GeneralPlan, bool]:
        folds = folds_of(folded, x.layout.dtype, target.dtype)
        plan = reduce_plan(folds.fold, x.layout, dims, target, folds.multiplies)
        if plan is not None:
            return plan, False
        layout = kept_first(x, dims).layout.like()
        plan = reduce_plan(folds.fold, layout, tuple(range(layout.ndim - len(dims), layout.ndim)), target)
        assert plan is not None
        return plan, True

    def run(op, tensors, attributes):
        (x,) = tensors
        plan, copied = known.get(x.layout) or keep(known, x.layout, planned(x))
        result = native.fresh(plan, CALLS["contiguous_copy"](kept_first(x, dims)) if copied else x)
        return result if target is out else CALLS["to_dtype"](result, out.dtype)

    return run


def kept_first(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """A view with the dimensions to be reduced last."""
    return CALLS["permute_dims"](x, (*(d for d in range(x.layout.ndim) if d not in dims), *dims))


def in_pieces(piece: Fold, merge: Fold, layout: Layout, out: Layout) -> Callable:
    """One result of many elements: blocks of ``PIECE`` in parallel, then the merge of their accumulators."""
    pieces = -(-layout.numel // PIECE)
    size = WIDTHS[piece.memory]
    words = struct.pack("7q", PIECE, PIECE * size, 1, 0, layout.numel, 1, 1)
    partial = layout_of(layout.dtype if piece.out == layout.dtype.name else _DTYPES[piece.out], (pieces,), None, layout.device)
    record = pack_record(kernel(piece, False), pieces, 1, 1, (0,), PARALLEL, words)
    first = GeneralPlan(record, (partial.template,), (layout,))
    words = struct.pack("7q", pieces, 0, 1, 0, 1 << 62, 1, merge.over(layout.numel))
    record = pack_record(kernel(merge, False), 1, 1, 1, (0,), 0, words)
    second = GeneralPlan(record, (out.template,), (partial,))
    return lambda op, tensors, attributes: native.fresh(second, native.fresh(first, tensors[0]))


_DTYPES = {d.name: d for d in (float32, float64, int32, int64, complex128)}


# ---- what follows from a declaration ---------------------------------------------------------------------------------


def in_dtype(x: Layout, dtype: DType | None) -> Callable | None:
    """The steps of a sum or product in a given dtype; None where it is what the operand has without one.

    Integers are added up in int64, and then become the dtype that was asked for, modulo 2**width.
    """
    if dtype is None or dtype is (x.dtype if x.dtype.differentiable else int64):
        return None

    def steps(op, tensors, attributes):
        converted = tensors[0] if x.dtype is dtype else CALLS["to_dtype"](tensors[0], dtype)
        out = CALLS[op.name](converted, **{**attributes, "dtype": None})
        return out if out.layout.dtype is dtype else CALLS["to_dtype"](out, dtype)

    return steps


def converted_first(dtype: DType):
    """Convert the operand, then call the operation again."""

    def steps(op, tensors, attributes):
        return CALLS[op.name](CALLS["to_dtype"](tensors[0], dtype), **{**attributes, "dtype": None})

    return steps


def folded(op: General, layouts: tuple, attributes: dict, reduce: Callable) -> Any:
    """The lowering of an operation that is declared with a monoid: see NOTE [Folds] in ops/core.py.

    Args:
        reduce: ``reduce(op, x, dims, out)``, what folds on a device, as ``reduction`` is.
    """
    x, dtype = layouts[0], attributes.get("dtype")
    if op.gives == "total" and (steps := in_dtype(x, dtype)) is not None:
        return steps
    if op.gives == "floating" and dtype is not None and dtype is not x.dtype:
        return converted_first(dtype)
    if op.gives == "floating" and not x.dtype.differentiable:
        raise DTypeError(f"{op.name}: expected a floating or complex tensor, got {x.dtype}. Hint: pass dtype=nbgrad.float32.")
    if names_none(op, attributes["dim"]) and x.ndim:
        return lambda op, tensors, attributes: CALLS["to_dtype"](CALLS["ne"](tensors[0], 0), RESULTS["truth"](x.dtype))
    dims = reduced_dims(op.name, x.ndim, attributes["dim"])
    if MONOIDS[op.monoid].order:
        require_order(op.name, x, dims)
    elif x.dtype.is_complex and not (MONOIDS[op.monoid].operator and op.finishes_parts()):
        raise DTypeError(f"{op.name}: x is {x.dtype}, expected real numbers. Hint: x.abs(), or x.real.")
    return reduce(op, x, dims, x.like(RESULTS[op.gives](x.dtype), kept_shape(x.shape, dims, attributes["keepdim"])))


@lowering(FOLD)
def _fold(op: General, layouts, attributes):
    return folded(op, layouts, attributes, reduction)


# The dtype of a result from the operand's.
RESULTS: dict[str, Callable[[DType], DType | None]] = {
    "same": lambda dtype: None,
    "floating": lambda dtype: None,
    "total": lambda dtype: dtype if dtype.differentiable else int64,
    "truth": lambda dtype: dtype if dtype is uint8 else bool_,
    "count": lambda dtype: int64,
}


def traced_sum(x: Layout, reduce: Callable) -> Any:
    """The sum of a matrix's diagonal, which begins where the matrix does."""
    if x.ndim != 2:
        raise ShapeError(f"trace: expected a matrix, got {list(x.shape)}. Hint: x.diagonal(0, -2, -1).sum(-1).")
    shape, strides, _ = diagonal_of(x, 0, 0, 1)
    layout = layout_of(x.dtype, shape, strides, x.device)
    return reduce(OPS["sum"], layout, (0,), x.like(x.dtype if x.dtype.differentiable else int64, ()))


@lowering("trace")
def _trace(op, layouts, attributes):
    plan = traced_sum(layouts[0], reduction)
    if isinstance(plan, GeneralPlan):
        return GeneralPlan(plan.record, plan.outs, layouts)
    return lambda op, tensors, attributes: plan(op, (CALLS["diagonal"](tensors[0]),), attributes)


def summed_over(x: Layout, shape: tuple[int, ...], reduce: Callable) -> Any:
    """The sum over all dimensions that broadcasting a shape to ``x``'s added or stretched."""
    lead = x.ndim - len(shape)
    wrong = lead < 0 or any(s not in (1, size) for s, size in zip(shape, x.shape[lead:]))
    if wrong:
        raise RangeError(f"sum_to: {list(shape)} does not broadcast to {list(x.shape)}.")
    dims = (*range(lead), *(d for d in range(lead, x.ndim) if shape[d - lead] != x.shape[d]))
    return reduce(OPS["sum"], x, dims, x.like(None, shape))


@lowering("sum_over")
def _sum_over(op, layouts, attributes):
    return summed_over(layouts[0], attributes["shape"], reduction)


def require_order(op: str, x: Layout, dims: tuple[int, ...]) -> None:
    """Refuse what has no extremum."""
    if x.dtype.is_complex:
        raise DTypeError(f"{op}: complex numbers have no order, got {x.dtype}.")
    for d in dims:
        if x.shape[d] == 0:
            raise DimError(f"{op}: dimension {d} of {list(x.shape)} has no elements, so there is no extremum.")


@lowering("power_norm", style="run", device=None)
def _power_norm(op, tensors, attributes):
    x, p = tensors[0], attributes["p"]
    total = CALLS["sum"](CALLS["pow"](CALLS["abs"](x), p), attributes["dim"], attributes["keepdim"])
    return CALLS["pow"](total, 1 / p)


@lowering("halved_ends_sum", style="run", device=None)
def _halved_ends_sum(op, tensors, attributes):
    x, dim = tensors[0], attributes["dim"]
    size = x.layout.shape[dim]
    ends = CALLS["add"](CALLS["select"](x, dim, 0), CALLS["select"](x, dim, size - 1))
    return CALLS["add"](CALLS["sum"](CALLS["slice"](x, dim, 1, size - 1), dim), CALLS["mul"](ends, 0.5))
