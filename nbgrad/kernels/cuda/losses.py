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
from .folds import Fold
from .reductions import MAX_PARTIALS
from .templates import BLOCK, WARPS, Template, ceil_div, compile_template, indent

__all__ = ["blocks_of", "counted", "nll_rows", "nll_rows_backward", "valid_counts", "valid_mean", "valid_share"]

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


def blocks_of(n: int) -> tuple[int, int]:
    """``(blocks, share)``: how many blocks look at ``n`` targets, and how many targets each has.

    >>> blocks_of(1000), blocks_of(65536), blocks_of(10**7)
    ((1, 1024), (64, 1024), (1002, 9984))
    """
    share = max(4 * BLOCK, ceil_div(ceil_div(n, MAX_PARTIALS), BLOCK) * BLOCK)
    return max(1, ceil_div(n, share)), share


@cache
def valid_mean(dtype: str, stage: str = "whole") -> Template:
    """out = the sum, or mean, of the losses whose targets count; a target that is no class goes to ``errors``.

    Integer parameters: ``n``, ``classes``, ``ignore``, ``divide``, ``fault`` (0: targets are not looked at), ``share`` of a block.
    A block; or several, stage "partial", which store what they have added up, and for that one of stage "merge", whose ``n`` is
    their number: NOTE [Reduction stages] of reductions.py.
    """
    fold = Fold(counted(compute_dtype(dtype)), (dtype,), dtype, stage)
    state = fold.of.state
    load, store = Access("load", dtype), Access("store", dtype)
    given = ["x0", "target", "errors"]
    each = f"""
        t = {TARGET.name}(target, i)
        x = {load.name}(x0, i)
        if t != ignore:
            if (fault != 0) & ((t < 0) | (t >= classes)):
                note_error(errors, fault, t)
            a_0, a_1 = add_carried(a_0, a_1, x)
            a_2 += 1
"""
    if fold.joins:
        given = [f"x{k}" for k in fold.width]
        each = f"""
        {indent(8, [*fold.load("i"), fold.absorb("a", "i")])}
"""
    ends = f"""
        total = carried_total(a_0, a_1)
        if divide != 0:
            total = total / to_float(a_2)
        {store.name}(out0, 0, total)
"""
    if fold.parts:
        ends = f"""
        {indent(8, fold.store("a", "cuda.blockIdx.x"))}
"""
    name = f"valid_mean_{dtype}_{stage}"
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*(f"out{k}" for k in range(len(fold.outputs))), *given])}, n, classes, ignore, divide, fault, share):
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * share
    {indent(4, fold.shared(WARPS) + fold.start("a"))}
    for i in range(first + thread, min(first + share, n), {BLOCK}):{each}
    {indent(4, fold.meet(["a"]))}
    if thread == 0:{ends}
""",
    )
    accesses = {load, store, TARGET, *(Access(way, kind, exact=True) for way in ("load", "store") for kind in state)}
    pointers = (*fold.outputs, *(state if fold.joins else (dtype, "int64", "int64")))
    return Template(name, function, pointers, 0, frozenset(accesses), Counter(), 64, state)


@cache
def valid_counts(dtype: str) -> Template:
    """out[block] = how many targets of the block's ``share`` count. Integer parameters: ``n``, ``ignore``, ``share``."""
    fold, store = Fold(counted(compute_dtype(dtype)), (dtype,), dtype, "whole"), Access("store", "int64", exact=True)
    function = compile_template(
        "valid_counts",
        f"""
def NAME(out0, target, n, ignore, share):
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * share
    {indent(4, fold.shared(WARPS) + fold.start("a"))}
    for i in range(first + thread, min(first + share, n), {BLOCK}):
        a_2 += where_index({TARGET.name}(target, i) != ignore, 1, 0)
    {indent(4, fold.meet(["a"]))}
    if thread == 0:
        {store.name}(out0, cuda.blockIdx.x, a_2)
""",
    )
    return Template("valid_counts", function, ("int64", "int64"), 0, frozenset((store, TARGET)), Counter(), 64, fold.of.state)


@cache
def valid_share(dtype: str) -> Template:
    """out[i] = g, or g over how many targets count, where target i does; 0 elsewhere.

    Integer parameters: ``n``, ``ignore``, ``divide``, ``share_of_block``, ``parts``: how many counts of blocks there are; 0 if one
    block is to count itself.
    """
    fold = Fold(counted(compute_dtype(dtype)), (dtype,), dtype, "whole")
    load, store = Access("load", dtype), Access("store", dtype)
    function = compile_template(
        f"valid_share_{dtype}",
        f"""
def NAME(out0, g, target, parts_at, n, ignore, divide, share_of_block, parts):
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * share_of_block
    counts = cuda.shared.array(1, STATE2)
    {indent(4, fold.shared(WARPS) + fold.start("a"))}
    if parts > 0:
        for i in range(thread, parts, {BLOCK}):
            a_2 += {TARGET.name}(parts_at, i)
    else:
        for i in range(thread, n, {BLOCK}):
            a_2 += where_index({TARGET.name}(target, i) != ignore, 1, 0)
    {indent(4, fold.meet(["a"]))}
    if thread == 0:
        counts[0] = a_2
    cuda.syncthreads()
    share = {load.name}(g, 0)
    if divide != 0:
        share = share / to_float(counts[0])
    for i in range(first + thread, min(first + share_of_block, n), {BLOCK}):
        {store.name}(out0, i, where({TARGET.name}(target, i) != ignore, share, 0.0))
""",
    )
    accesses, pointers = frozenset((load, store, TARGET)), (dtype, dtype, "int64", "int64")
    return Template(f"valid_share_{dtype}", function, pointers, 0, accesses, Counter(), 64, fold.of.state)
