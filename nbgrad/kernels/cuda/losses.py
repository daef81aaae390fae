"""Kernels of losses by class index that need no fold of scores: elements at the targets, and means over the rows that count.

A row whose target is ``ignore`` counts for nothing; one whose target is no class is NaN, and is told of by ``valid_mean``.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections import Counter
from functools import cache

from ..monoids import add_carried, carried_total, merge_carried
from .access import Access, compute_dtype
from .accumulators import Accumulator, identity
from .reductions import Fold
from .templates import BLOCK, WARP, WARPS, Template, compile_template, indent

__all__ = ["counted", "nll_rows", "nll_rows_backward", "valid_mean", "valid_share"]

TARGET = Access("load", "int64", exact=True)


@cache
def nll_rows(dtype: str) -> Template:
    """out[row] = -x[row, target[row]]. Integer parameters: ``rows``, ``classes``, ``ignore``. A thread a row."""
    load, store = Access("load", dtype), Access("store", dtype)
    function = compile_template(
        f"nll_rows_{dtype}",
        f"""
def NAME(out0, x0, target, rows, classes, ignore):
    row = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if row < rows:
        t = {TARGET.name}(target, row)
        inside = (t >= 0) & (t < classes) & (t != ignore)
        if inside:
            {store.name}(out0, row, -{load.name}(x0, row * classes + t))
        else:
            {store.name}(out0, row, where(t == ignore, 0.0, NAN))
""",
    )
    return Template(f"nll_rows_{dtype}", function, (dtype, dtype, "int64"), 0, frozenset((load, store, TARGET)), Counter(), 64)


@cache
def nll_rows_backward(dtype: str) -> Template:
    """out[row, target[row]] = -g[row], in memory that holds zeros.

    Integer parameters: ``rows``, ``classes``, ``ignore``, ``step`` between cotangents. A thread a row.
    """
    load, store = Access("load", dtype), Access("store", dtype)
    function = compile_template(
        f"nll_rows_backward_{dtype}",
        f"""
def NAME(out0, g, target, rows, classes, ignore, step):
    row = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if row < rows:
        t = {TARGET.name}(target, row)
        if (t >= 0) & (t < classes) & (t != ignore):
            {store.name}(out0, row * classes + t, -{load.name}(g, row * step))
""",
    )
    pointers, accesses = (dtype, dtype, "int64"), frozenset((load, store, TARGET))
    return Template(f"nll_rows_backward_{dtype}", function, pointers, 0, accesses, Counter(), 64)


def merge_counted(total, carry, count, later, later_carry, later_count):
    """The sums of both."""
    total, carry = merge_carried(total, carry, later, later_carry)
    return total, carry, count + later_count


@cache
def counted(dtype: str) -> Accumulator:
    """The accumulators of a sum and of how many elements it has."""
    state = (dtype, dtype, "int64")
    names = ("add_carried", add_carried), ("carried_total", carried_total)
    return Accumulator("counted", dtype, identity, state, (0.0, 0.0, 0), add_carried, merge_counted, carried_total, names)


@cache
def valid_mean(dtype: str) -> Template:
    """out = the sum, or mean, of the losses whose targets count; a target that is no class goes to ``errors``.

    Integer parameters: ``n``, ``classes``, ``ignore``, ``divide``, ``fault`` (0: targets are not looked at). One block.
    """
    fold = Fold(counted(compute_dtype(dtype)), (dtype,), dtype, "whole")
    load, store = Access("load", dtype), Access("store", dtype)
    function = compile_template(
        f"valid_mean_{dtype}",
        f"""
def NAME(out0, x0, target, errors, n, classes, ignore, divide, fault):
    thread = cuda.threadIdx.x
    {indent(4, fold.shared(WARPS) + fold.start("a"))}
    for i in range(thread, n, {BLOCK}):
        t = {TARGET.name}(target, i)
        if t != ignore:
            if (fault != 0) & ((t < 0) | (t >= classes)):
                note_error(errors, fault, t)
            a_0, a_1 = add_carried(a_0, a_1, {load.name}(x0, i))
            a_2 += 1
    {indent(4, block_fold(fold))}
    if thread == 0:
        total = carried_total(a_0, a_1)
        if divide != 0:
            total = total / to_float(a_2)
        {store.name}(out0, 0, total)
""",
    )
    accesses = frozenset((load, store, TARGET))
    return Template(f"valid_mean_{dtype}", function, (dtype, dtype, "int64", "int64"), 0, accesses, Counter(), 64, fold.of.state)


def block_fold(fold: Fold) -> list[str]:
    """Lines that fold group ``a`` of all threads of a block into thread 0."""
    return [
        *fold.shuffle("a", WARP),
        f"if thread % {WARP} == 0:",
        *(f"    {line}" for line in fold.put(f"thread // {WARP}", "a")),
        "cuda.syncthreads()",
        f"if thread < {WARP}:",
        *(f"    {line}" for line in fold.start("a")),
        f"    if thread < {WARPS}:",
        *(f"        {line}" for line in fold.get("a", "thread")),
        *(f"    {line}" for line in fold.shuffle("a", WARPS)),
    ]


@cache
def valid_share(dtype: str) -> Template:
    """out[i] = g, or g over how many targets count, where target i does; 0 elsewhere.

    Integer parameters: ``n``, ``ignore``, ``divide``. One block.
    """
    fold = Fold(counted(compute_dtype(dtype)), (dtype,), dtype, "whole")
    load, store = Access("load", dtype), Access("store", dtype)
    function = compile_template(
        f"valid_share_{dtype}",
        f"""
def NAME(out0, g, target, n, ignore, divide):
    thread = cuda.threadIdx.x
    counts = cuda.shared.array(1, STATE2)
    {indent(4, fold.shared(WARPS) + fold.start("a"))}
    for i in range(thread, n, {BLOCK}):
        a_2 += where_index({TARGET.name}(target, i) != ignore, 1, 0)
    {indent(4, block_fold(fold))}
    if thread == 0:
        counts[0] = a_2
    cuda.syncthreads()
    share = {load.name}(g, 0)
    if divide != 0:
        share = share / to_float(counts[0])
    for i in range(thread, n, {BLOCK}):
        {store.name}(out0, i, where({TARGET.name}(target, i) != ignore, share, 0.0))
""",
    )
    accesses = frozenset((load, store, TARGET))
    return Template(f"valid_share_{dtype}", function, (dtype, dtype, "int64"), 0, accesses, Counter(), 64, fold.of.state)
