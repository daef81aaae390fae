"""Distances between points, by the kernels of ``templates/distances``; on a GPU by differences, of some rows at a time."""

from __future__ import annotations

import math
from functools import lru_cache

from ..base.bounded import MOST_PLANS
from ..base.calls import CALLS
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..kernels.cpu.build import Program, address
from ..kernels.templates.distances import distance_kernel
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import native

__all__ = ["serves"]

# Columns up to which sums of squares in the operands' dtype have its digits.
MOST_COLUMNS = 512
LARGE = 1 << 20
# Differences that there are at a time on a GPU.
AT_ONCE = 1 << 24


def serves(x: Layout, y: Layout) -> bool:
    """Whether the kernel takes points of these layouts."""
    return x.dtype is y.dtype and x.dtype.name in ("float32", "float64") and 0 < x.shape[-1] <= MOST_COLUMNS


@lru_cache(maxsize=MOST_PLANS)
def plan_of(name: str, layouts: tuple[Layout, ...]) -> GeneralPlan | None:
    """The launch for points that lie row by row; weights by rows or by columns. None for others, and for none at all."""
    x, y = layouts[-2:]
    if any(each.conj or each.neg or not each.numel for each in layouts) or not (x.contiguous and y.contiguous):
        return None
    (m, k), n, batch = x.shape[-2:], y.shape[-2], x.shape[:-2]
    down, across = (n, 1) if len(layouts) == 2 else layouts[0].strides[-2:]
    if len(layouts) == 3 and not layouts[0].contiguous and (batch or (down, across) != (1, m)):
        return None
    out = layout_of(x.dtype, (*batch, m, n if name == "distances" else k), None, x.device)
    memory = layout_of(x.dtype, (n * k + m * n,), None, x.device)
    kernel, bindings = distance_kernel("distances" if name == "distances" else "pull", x.dtype.name)
    code = address(Program(name, kernel, x.dtype.name, bindings, name != "distances"))
    units = math.prod(batch)
    record = pack_record(code, units, units, 2, (0,) * len(layouts), PARALLEL if m * n * k >= LARGE else 0, (m, n, k, down, across))
    return GeneralPlan(record, (out.template, memory.template), layouts)


@lowering("distances", "distances_pull", style="run")
def _distances(op, tensors, attributes):
    plan = plan_of(op.name, tuple([x.layout for x in tensors]))
    if plan is None:
        tensors = tuple([CALLS["contiguous_copy"](x) for x in tensors])
        plan = plan_of(op.name, tuple([x.layout for x in tensors]))
    if plan is None:  # nothing to compute
        return CALLS["new_full"](of_none(op, *tensors[-2:]), 0)
    return native.fresh(plan, *tensors)[0]


@prepared("distances", "distances_pull")
def _quick_distances(op, layouts, attributes):
    plan, fresh = plan_of(op.name, layouts), native.fresh
    return None if plan is None else lambda *values: fresh(plan, *values)[0]


@lowering("distances", "distances_pull", style="run", device="cuda")
def _distances_on_gpu(op, tensors, attributes):
    *weights, x, y = tensors
    (m, k), n = x.layout.shape[-2:], y.layout.shape[-2]
    rows = max(1, AT_ONCE // max(1, math.prod(x.layout.shape[:-2]) * n * k))
    parts = [of_differences(*(each[..., at : at + rows, :] for each in (*weights, x)), y) for at in range(0, m, rows)]
    return parts[0] if len(parts) == 1 else CALLS["cat"](parts, -2) if parts else CALLS["new_full"](of_none(op, x, y), 0)


def of_differences(*tensors):
    """The lengths of the differences of all rows of x and y; with weights, the sums of their multiples over the rows of y."""
    *weights, x, y = tensors
    apart = CALLS["unsqueeze"](x, -2) - CALLS["unsqueeze"](y, -3)
    return (CALLS["unsqueeze"](weights[0], -1) * apart).sum(-2) if weights else apart.norm(2, -1)


def of_none(op, x, y) -> Layout:
    """The layout of the result for no rows of x."""
    return x.layout.like(shape=(*x.layout.shape[:-1], y.layout.shape[-2]) if op.name == "distances" else x.layout.shape)
