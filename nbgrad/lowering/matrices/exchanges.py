"""Rows in another order, and systems by factors: launched, or in steps."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...base.bounded import MOST_PLANS
from ...base.calls import CALLS
from ...base.dtypes import int64
from ...base.errors import RangeError
from ...dispatch.lowerings import lowering, prepared, result_of
from ...ops.expr import scalar
from ...tensors.arrays import tensor_of, values_of
from ...tensors.tensor import native
from .elimination import order_of
from .launches import launch, went_well
from .operations import launched


@lru_cache(maxsize=MOST_PLANS)
def exchange_plan(x, pivots, back: bool):
    """The launch of an exchange of rows; None where NumPy does it."""
    fits = x.ndim > 1 and pivots.ndim == x.ndim - 1
    return launch("exchange", (x, pivots), {"back": back}) if fits else None


@prepared("exchange_rows", tensors=("pivots",))
def _quick_exchange_rows(op, layouts, attributes):
    plan = exchange_plan(layouts[0], attributes["pivots"], attributes["back"])
    return None if plan is None else launched(plan, 2)


@lowering("exchange_rows", style="run")
def _exchange_rows(op, tensors, attributes):
    (x,) = tensors
    plan = exchange_plan(x.layout, attributes["pivots"].layout, attributes["back"])
    if plan is not None:
        out = native.fresh(plan, x, attributes["pivots"])
        if went_well(out):
            return out[0]
    array, exchanged = values_of(x), values_of(attributes["pivots"])
    wrong = exchanged[(exchanged < 0) | (exchanged >= array.shape[-2])]
    if wrong.size:
        raise RangeError(f"{op.public}: a pivot names row {wrong[0] + 1}, expected one from 1 to {array.shape[-2]}.")
    batch = np.broadcast_shapes(array.shape[:-2], exchanged.shape[:-1])
    order = order_of(exchanged, array.shape[-2])
    order = np.broadcast_to(np.argsort(order, -1) if attributes["back"] else order, (*batch, array.shape[-2]))
    array = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    return tensor_of(np.take_along_axis(array, order[..., None], -2), x)


@lru_cache(maxsize=MOST_PLANS)
def factors_plan(x, y, pivots, adjoint: bool):
    """The launch of a solution by factors; None where it takes steps."""
    fits = x.ndim == y.ndim and pivots.ndim == x.ndim - 1
    return launch("lu_solve", (x, y, pivots), {"adjoint": adjoint}) if fits else None


@prepared("solve_by_factors", tensors=("pivots",))
def _quick_solve_by_factors(op, layouts, attributes):
    plan = factors_plan(*layouts[:2], attributes["pivots"], attributes["adjoint"])
    return None if plan is None else launched(plan, 3)


@result_of("solve_by_factors")
def _solution_layout(op, layouts, attributes):
    return layouts[1].like()


@lowering("solve_by_factors", style="run")
def _solve_by_factors(op, tensors, attributes):
    (LU, B), pivots, adjoint = tensors, attributes["pivots"], attributes["adjoint"]
    plan = factors_plan(LU.layout, B.layout, pivots.layout, adjoint)
    if plan is not None:
        out = native.fresh(plan, LU, B, pivots)
        if went_well(out):
            return out[0]
    pivots, solve = pivots.to(int64) - 1, CALLS["linalg_solve_triangular"]
    if adjoint:
        turned = LU.adjoint().resolve_conj()
        y = solve(turned, B, upper=False)
        return scalar.exchange_rows(solve(turned, y, upper=True, unitriangular=True), pivots, True)
    y = solve(LU, scalar.exchange_rows(B, pivots, False), upper=False, unitriangular=True)
    return solve(LU, y, upper=True)
