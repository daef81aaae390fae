"""What reduction loops accumulate, made of an operation's declaration: a ``Fold`` binds the names that the loops leave open."""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ...base.dtypes import WIDTHS, dtype_of
from ...ops.core import General
from ...ops.expr import symbol
from ..codegen import scalar_function
from ..instantiate import part_of_loop
from ..monoids import MONOIDS, Monoid, add_carried, carried_total
from .keys import KEY_TYPES, key_bindings, larger_key

__all__ = ["Fold", "RESULTS", "accumulator", "fold"]


class Fold(NamedTuple):
    """What the loops accumulate.

    Attributes:
        name: for symbols and people.
        memory: element type behind the operand's pointer (integers for keys).
        acc: element type of the accumulator.
        out: element type of the result.
        eights: whether eight elements are combined before the accumulator takes them.
        bindings: the names of the loops: ``IDENTITY``, the first number; ``wide``, the accumulator's type, to which everything is
            converted; ``taken(x)``, an element as the accumulator takes it; ``combine(x, y)``; ``absorb(hi, lo, s)``, which gives
            ``(hi, lo)`` and takes a block's accumulator; ``result(hi, lo, times, over)`` of elements that count ``times`` each, and
            are ``over`` in number; in eights ``near(x)``, an element as it joins others. And what these mention.
        dtype: dtype of float literals and primitives.
        counted: whether ``over`` is asked for; see ``over``.
        long_rows: what loops over long rows accumulate, where it is something else: sums and means have one kernel.
    """

    name: str
    memory: str
    acc: str
    out: str
    eights: bool
    bindings: tuple[tuple[str, Any], ...]
    dtype: str | None = None
    counted: bool = False
    long_rows: Any = None

    def over(self, count: int) -> int:
        """The word ``over`` of a record for results of ``count`` elements: 1 where only the total is wanted."""
        return count if self.counted else 1


# ---- a declaration's fold ----------------------------------------------------------------------------------------------


@cache
def fold(op: General, source: str, out: str, stage: str = "whole") -> Fold:
    """What the loops accumulate for an operation that has a monoid.

    Args:
        source, out: dtypes in memory, none of half precision; ``out`` is the accumulator's in stage "piece".
        stage: "whole"; "piece" folds elements into accumulators, without ``finish``; "merge" folds those, in dtype ``source``.
    """
    monoid = MONOIDS[op.monoid]
    if monoid.order:
        return extremum_fold(monoid, source, out, stage)
    term = None if stage == "merge" else op.term_expression()
    total = None if stage == "piece" else op.finish_expression()
    acc = accumulator(source) if term is None or not term.boolean else "int64"
    near = term is None or op.near or term.boolean
    eights = near and acc in monoid.eights
    carries = near and monoid.carries and source == acc == "float64"
    bindings: list[tuple[str, Any]] = [
        ("IDENTITY", monoid.start(acc)),
        ("combine", monoid.operator or part_of_loop(monoid.combine)),
        ("join", monoid.combine),
        ("absorb", add_carried if carries else absorb_joined),
        ("total", carried_total if carries else first_part),
        ("wide", acc),
    ]
    dtype, memory = None, dtype_of(source).compute
    if term is None:
        bindings += [("taken", acc), ("near", memory if monoid.narrow else acc)]
    else:
        computed = memory if near else acc
        bindings += [
            ("term", part_of_loop(scalar_function(f"{op.name}_term", ("x",), (term,), computed))),
            ("taken", wide_term if near else term_of_wide),
            ("near", near_term),
        ]
        dtype = computed if near and not term.boolean else None
    long_rows = None
    if term is None and monoid.repeats and acc in QUOTIENTS and (total is None or total is MEAN):
        shared = (*bindings, ("result", QUOTIENTS[acc]))
        long_rows = Fold(monoid.name, memory, acc, dtype_of(out).compute, eights, shared)
    if total is not None:
        real = dtype_of(acc).to_real().name
        bindings += [("finish", scalar_function(f"{op.name}_finish", ("total", "count"), (total,), real))]
    bindings += [("result", RESULTS[acc][total is not None] if monoid.repeats or total is not None else first_result)]
    name = op.name if term is not None or total is not None else monoid.name
    return Fold(name, memory, acc, dtype_of(out).compute, eights, tuple(bindings), dtype, total is not None, long_rows)


def extremum_fold(monoid: Monoid, source: str, out: str, stage: str) -> Fold:
    """Extrema, through integer keys: see NOTE [Keys]. In stage "merge" ``source`` is still the operand's dtype."""
    acc = accumulator(source, keys=True)
    memory = acc if stage == "merge" else KEY_TYPES.get(source, dtype_of(source).compute)
    keys = key_bindings(source, monoid.order == "greatest")
    bindings = (
        ("IDENTITY", -1 << (8 * WIDTHS[acc] - 1)),
        ("wide", acc),
        ("taken", acc if stage == "merge" else dict(keys)["key"]),
        ("combine", larger_key),
        ("join", larger_key),
        ("absorb", absorb_joined),
        ("result", first_result if stage == "piece" else decoded_result),
        *keys,
    )
    dtype = source if source in KEY_TYPES else None
    return Fold(monoid.name, memory, acc, acc if stage == "piece" else dtype_of(out).compute, False, bindings, dtype)


def accumulator(source: str, keys: bool = False) -> str:
    """The dtype in which elements of a dtype are accumulated; or their keys."""
    if keys:
        return KEY_TYPES.get(source, "int64")
    dtype = dtype_of(source)
    return "complex128" if dtype.is_complex else "float64" if dtype.is_floating_point else "int64"


@part_of_loop
def near_term(x):
    """The term, in the operand's precision."""
    return term(x)


@part_of_loop
def wide_term(x):
    """The term, computed in the operand's precision, in the accumulator's."""
    return wide(term(x))


@part_of_loop
def term_of_wide(x):
    """The term, computed in the accumulator's precision."""
    return term(wide(x))


def absorb_joined(hi, lo, s):
    """``absorb`` of what carries nothing."""
    return join(hi, s), lo


def first_part(hi, lo):
    """``total`` of what carries nothing."""
    return hi


def first_result(hi, lo, times, over):
    """The accumulator itself."""
    return hi


def decoded_result(hi, lo, times, over):
    """The number of the greatest key."""
    return decode(hi)


def plain_result(hi, lo, times, over):
    """The total; of integers modulo 2**64."""
    return total(hi, lo) * times


def finished_result(hi, lo, times, over):
    """What becomes of the total of ``over`` elements."""
    return finish(total(hi, lo) * float64(times), float64(over))


def finished_whole(hi, lo, times, over):
    """What becomes of an integer total."""
    return finish(total(hi, lo) * times, over)


def complex_result(hi, lo, times, over):
    """The total, by parts: an infinite real part is not to make NaN of the imaginary one."""
    z = total(hi, lo)
    return complex(z.real * float64(times), z.imag * float64(times))


def finished_complex(hi, lo, times, over):
    """What becomes of the total, by parts."""
    z = total(hi, lo)
    return complex(finish(z.real * float64(times), float64(over)), finish(z.imag * float64(times), float64(over)))


def quotient_result(hi, lo, times, over):
    """The total, divided where there is a number to divide by."""
    found = total(hi, lo) * float64(times)
    return found if over == 1 else found / float64(over)


def complex_quotient(hi, lo, times, over):
    """The same, by parts."""
    z = total(hi, lo)
    x, y = z.real * float64(times), z.imag * float64(times)
    return complex(x, y) if over == 1 else complex(x / float64(over), y / float64(over))


MEAN = symbol("total") / symbol("count")  # what becomes of a mean's total
QUOTIENTS = {"float64": quotient_result, "complex128": complex_quotient}
# Of a total, and of one that something becomes of.
RESULTS = {
    "float64": (plain_result, finished_result),
    "int64": (plain_result, finished_whole),
    "complex128": (complex_result, finished_complex),
}


@part_of_loop
def four(a, b, c, d):
    """Four elements in a tree."""
    return join(join(near(a), near(b)), join(near(c), near(d)))


@part_of_loop
def eight(a, b, c, d, e, f, g, h):
    """Eight elements in a tree."""
    return join(join(join(near(a), near(b)), join(near(c), near(d))), join(join(near(e), near(f)), join(near(g), near(h))))
