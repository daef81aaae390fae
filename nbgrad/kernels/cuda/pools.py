"""Kernels of pools: a thread for every window, or, of a cotangent, for every element, which looks at the windows that it lies in.

NOTE [Windows] of ops/pooling.py. Nothing is written twice, so results depend on no order of threads.

Dimensions are ``rows`` and one to three pooled ones. The integer parameters are ``n`` elements of the result; a divisor for each
pooled size of the result (``strided_parameters``); then for each pooled dimension ``long`` elements and ``short`` windows, and of
windows that are not adaptive ``kernel``, ``stride``, ``padding``, ``dilation`` and the divisor of the stride.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from ...ops.core import OPS
from .access import Access, compute_dtype
from .accumulators import Accumulator, accumulator
from .build import Recipe
from .moves import identity
from .templates import BLOCK, Template, compile_template, indent, index_source, strided_args

__all__ = ["fold_windows", "greatest_places", "pool_arguments", "pool_recipe", "spread_greatest", "spread_means"]

SETTINGS = ("kernel", "stride", "padding", "dilation", "stride_magic", "stride_shift")


def parameters(ndim: int, adaptive: bool) -> list[str]:
    """Names of the integer parameters."""
    divisors = [f"{part}{d}" for d in range(1, ndim + 1) for part in ("size", "magic", "shift")]
    each = ("long", "short", *(() if adaptive else SETTINGS))
    return ["n", *divisors, *(f"{part}{d}" for d in range(ndim) for part in each)]


def pool_arguments(rows: int, result: Sequence[int], long: Sequence[int], short: Sequence[int], settings: Sequence[Sequence[int]]):
    """Their values, for a result of ``rows`` of these sizes; ``settings`` of each dimension, empty of adaptive windows."""
    counts, n = list[int](), rows
    for d, size in enumerate(result):
        n *= size
        counts += [long[d], short[d]]
        if settings:
            stride = settings[d][1]
            counts += [*settings[d], *strided_args((1, stride), ())[1:]]
    return (n, *strided_args((rows, *result), ()), *counts)


def coordinates(ndim: int, letter: str) -> list[str]:
    """Lines that give the place of element ``i``, as ``c0``, ``c1``, .. for the letter "c", and its ``row``."""
    lines = ["row = i"]
    for d in reversed(range(ndim)):
        k = d + 1  # of the divisor; a size of 1 has none
        lines += [
            f"q = where_index(size{k} == 1, row, divide(row, size{k}, magic{k}, shift{k}))",
            f"{letter}{d} = multiply_add(q, -size{k}, row)",
            "row = q",
        ]
    return lines


# ---- windows -----------------------------------------------------------------------------------------------------------


def taps(ndim: int, adaptive: bool, each: Iterable[str]) -> list[str]:
    """Loops over the elements of the window at ``c0``, ``c1``, ..; ``each`` is done for the one at offset ``at`` of the operand."""
    lines, pad, before = list[str](), "", "row"
    for d in range(ndim):
        if adaptive:
            span = f"c{d} * long{d} // short{d}, ((c{d} + 1) * long{d} + short{d} - 1) // short{d}"
            lines += [f"{pad}for p{d} in range({span}):"]
        else:
            lines += [
                f"{pad}for k{d} in range(kernel{d}):",
                f"{pad}    p{d} = c{d} * stride{d} - padding{d} + k{d} * dilation{d}",
                f"{pad}    if (p{d} >= 0) & (p{d} < long{d}):",
            ]
        pad += "    " if adaptive else "        "
        lines.append(f"{pad}at{d} = {before} * long{d} + p{d}")
        before = f"at{d}"
    return [*lines, f"{pad}at = {before}", *(f"{pad}{line}" for line in each)]


def counted(ndim: int, adaptive: bool, padded: bool) -> list[str]:
    """Lines that say by how many elements a window's sum is divided, unless by ``divisor``: ``over``."""
    lines = ["count = 1"]
    for d in range(ndim):
        if adaptive:
            size = f"((c{d} + 1) * long{d} + short{d} - 1) // short{d} - c{d} * long{d} // short{d}"
        else:
            start = f"c{d} * stride{d} - padding{d}"
            low, high = (start, f"long{d} + padding{d}") if padded else (f"max({start}, 0)", f"long{d}")
            size = f"min({start} + kernel{d}, {high}) - ({low})"
        lines.append(f"count = count * ({size})")
    return [*lines, "over = float_of_word(count) if divisor == 0.0 else divisor"]


@cache
def fold_windows(of: Accumulator, dtype: str, ndim: int, adaptive: bool, mean: bool, padded: bool, bits: int) -> Template:
    """out[window] = the elements folded; a ``mean`` divides the sum by their number, with those ``padded``, or by a divisor
    that is not 0, a value. Pointers: result, operand.
    """
    load, store = Access("load", dtype), Access("store", dtype)
    state = ", ".join(f"a{k}" for k in range(len(of.state)))
    starts = [f"a{k} = IDENTITY{k}" for k in range(len(of.state))]
    divided = counted(ndim, adaptive, padded) if mean else []
    function = compile_template(
        f"{'mean' if mean else of.name}_of_windows{bits}_{dtype}_{ndim}d{'_adaptive' * adaptive}{'_padded' * padded}",
        f"""
def NAME(out0, x0, {"divisor, " * mean}{", ".join(parameters(ndim, adaptive))}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    if i < n:
        {indent(8, coordinates(ndim, "c"))}
        {indent(8, starts)}
        {indent(8, taps(ndim, adaptive, [f"{state} = absorb({state}, scalar({load.name}(x0, at)))"]))}
        {indent(8, divided) or "pass"}
        {store.name}(out0, i, finish({state}){" / over" * mean})
""",
    )
    accesses = frozenset((load, store))
    return Template(function.__name__, function, (dtype, dtype), int(mean), accesses, Counter(), bits, of.state)


@cache
def greatest_places(dtype: str, place: str, ndim: int, adaptive: bool, least: int, bits: int) -> Template:
    """out[window] = where its greatest element is, counted along the pooled dimensions: the first of equal ones; of a window of
    padding alone ``least``. Pointers: result, operand.
    """
    load, store = Access("load", dtype), Access("store", place, exact=True)
    each = [
        f"x = scalar({load.name}(x0, at))",
        "if (found < 0) | (x > best) | ((x != x) & (best == best)):",
        "    best = x",
        "    found = at - first",
    ]
    function = compile_template(
        f"greatest_of_windows{bits}_{dtype}_{place}_{ndim}d{'_adaptive' * adaptive}{'_or_none' * (least < 0)}",
        f"""
def NAME(out0, x0, {", ".join(parameters(ndim, adaptive))}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    if i < n:
        {indent(8, coordinates(ndim, "c"))}
        first = row * {" * ".join(f"long{d}" for d in range(ndim))}
        found = -1
        best = IDENTITY0
        {indent(8, taps(ndim, adaptive, each))}
        {store.name}(out0, i, max(found, {least}))
""",
    )
    return Template(function.__name__, function, (place, dtype), 0, frozenset((load, store)), Counter(), bits)


# ---- elements ----------------------------------------------------------------------------------------------------------


def meetings(ndim: int, adaptive: bool, each: Iterable[str]) -> list[str]:
    """Loops over the windows that the element at ``e0``, ``e1``, .. lies in, or between whose elements it lies; ``each`` is done
    for the one at offset ``at``.
    """
    lines, pad, before = list[str](), "", "row"
    for d in range(ndim):
        if adaptive:
            span = f"e{d} * short{d} // long{d}, ((e{d} + 1) * short{d} + long{d} - 1) // long{d}"
        else:
            ends = f"max(e{d} + padding{d} - (kernel{d} - 1) * dilation{d} + stride{d} - 1, 0)", f"(e{d} + padding{d})"
            low, high = (
                f"where_index(stride{d} == 1, {x}, divide({x}, stride{d}, stride_magic{d}, stride_shift{d}))" for x in ends
            )
            span = f"{low}, min({high} + 1, short{d})"
        lines += [f"{pad}for c{d} in range({span}):", f"{pad}    at{d} = {before} * short{d} + c{d}"]
        pad, before = pad + "    ", f"at{d}"
    return [*lines, f"{pad}at = {before}", *(f"{pad}{line}" for line in each)]


def spread(of: Accumulator, name: str, operands: Sequence[str], value: str, dtype: str, ndim: int, adaptive: bool, each: list[str]):
    """The function of a kernel that folds, for every element, what the windows around it have for it."""
    state = ", ".join(f"a{k}" for k in range(len(of.state)))
    starts = [f"a{k} = IDENTITY{k}" for k in range(len(of.state))]
    store = Access("store", dtype)
    return compile_template(
        name,
        f"""
def NAME({", ".join(("out0", *operands))}, {value}{", ".join(parameters(ndim, adaptive))}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    if i < n:
        {indent(8, coordinates(ndim, "e"))}
        own = i - row * {" * ".join(f"long{d}" for d in range(ndim))}
        {indent(8, starts)}
        {indent(8, meetings(ndim, adaptive, [line.replace("STATE", state) for line in each]))}
        {store.name}(out0, i, finish({state}))
""",
    )


@cache
def spread_greatest(of: Accumulator, dtype: str, place: str, ndim: int, adaptive: bool, bits: int) -> Template:
    """out[element] = the sum of what is given to windows whose greatest it is. Pointers: result, what is given, places."""
    load, where = Access("load", dtype), Access("load", place, exact=True)
    each = [f"if {where.name}(places, at) == own:", f"    STATE = absorb(STATE, scalar({load.name}(x0, at)))"]
    name = f"spread_greatest{bits}_{dtype}_{place}_{ndim}d{'_adaptive' * adaptive}"
    function = spread(of, name, ("x0", "places"), "", dtype, ndim, adaptive, each)
    accesses = frozenset((load, where, Access("store", dtype)))
    return Template(name, function, (dtype, dtype, place), 0, accesses, Counter(), bits, of.state)


@cache
def spread_means(of: Accumulator, dtype: str, ndim: int, adaptive: bool, padded: bool, bits: int) -> Template:
    """out[element] = the sum of what is given to windows that it lies in, each divided as in ``fold_windows``."""
    load = Access("load", dtype)
    each = [*counted(ndim, adaptive, padded), f"STATE = absorb(STATE, scalar({load.name}(x0, at)) / over)"]
    name = f"spread_means{bits}_{dtype}_{ndim}d{'_adaptive' * adaptive}{'_padded' * padded}"
    function = spread(of, name, ("x0",), "divisor, ", dtype, ndim, adaptive, each)
    return Template(name, function, (dtype, dtype), 1, frozenset((load, Access("store", dtype))), Counter(), bits, of.state)


def pool_recipe(make: Callable[..., Template], fold: str, dtype: str, *settings: Any) -> Recipe:
    """The kernel of one of these templates; the last of the ``settings`` is its bits."""
    of, bits = accumulator(OPS[fold], compute_dtype(dtype)), settings[-1]
    made = make(dtype, *settings) if make is greatest_places else make(of, dtype, *settings)
    return Recipe(made, identity, of.dtype, {**of.source(), **index_source(bits)})
