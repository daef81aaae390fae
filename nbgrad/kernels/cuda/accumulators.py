"""How CUDA holds what a reduction has folded so far: accumulators, and what starts, extends, merges and finishes them.

All of it follows from an operation's declaration and its monoid; NOTE [Carried sums] of ``kernels/monoids.py`` says why sums have
two accumulators here.

NOTE [Complex accumulators]: a complex reduction folds real and imaginary parts in accumulators of their own: threads
shuffle words, and a carry is dropped beside the part that is infinite, not beside both.
"""

# ruff: noqa: F821  (combine, finished and where_index are bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ...base.dtypes import dtype_of
from ...base.errors import KernelError
from ...ops.core import OPS, General
from ..codegen import scalar_function
from ..monoids import MONOIDS, add_carried, carried_total, greater_float, merge_carried, smaller_float
from ..texts import ready
from .access import Function

__all__ = ["Accumulator", "Around", "accumulator", "folded_operations", "folds"]


class Around(NamedTuple):
    """How several elements become a state at once: what they have in common, then a sum of terms relative to that.

    NOTE [Elements at once]: a thread that has loaded several elements needs no accumulator that takes any number at any time. It
    finds their greatest, or their mean, from the registers they lie in, and adds up what is left around that: an exponential an
    element where there were two, a division a dozen elements where there was one an element. Terms are added in pairs.

    Attributes:
        halves: ``(x, y) -> x``: folds two halves of a power of two of elements to what they have in common.
        part: ``(x, origin, share) -> part``: what an element gives to what all of a row have in common, ``origin`` being the first
            of them, ``share`` 1 over their number; ``join``: ``(x, y) -> x`` folds these parts, beginning with ``start``, and
            ``whole``: ``(part, origin) -> common``.
        pivot: ``(common) -> pivot``: what terms are relative to.
        term: ``(x, pivot) -> terms``: of an element; a tuple if there are several.
        terms: how many they are.
        state: ``(common, pivot, count, *sums) -> state``.
    """

    halves: Function
    part: Function
    join: Function
    start: float
    whole: Function
    pivot: Function
    term: Function
    terms: int
    state: Function

    def source(self) -> dict:
        """The names that templates take."""
        own = {"halves_of": self.halves, "part_of": self.part, "join": self.join, "START": self.start, "whole_of": self.whole}
        own |= {"pivot_of": self.pivot, "term_of": self.term, "state_of": self.state}
        return {**own, "add_carried": add_carried, "merge_carried": merge_carried, "carried_total": carried_total}


class Accumulator(NamedTuple):
    """What a reduction folds with; its functions are scalar functions over the accumulators ``state``.

    Attributes:
        name: of the operation.
        dtype: in which the kernel computes.
        term: what an element counts as, the kernel's scalar function.
        state: dtypes of the accumulators, each a compute dtype.
        identity: their values before the first element.
        absorb: ``(*state, x) -> state``; with ``indexed``, ``(*state, i, x)``.
        merge: ``(*state, *state) -> state``; the second operand is the later one.
        finish: ``(*state, *values) -> result``.
        names: what these functions mention.
        indexed: whether ``absorb`` is told the element's index along the reduced dimension.
        pairs: whether ``absorb`` is given all operands of an element, not the term that they make.
        around: how several elements are folded at once; None: one by one.
        values: how many operands by value ``finish`` takes: the count of the elements, where something becomes of the total.
    """

    name: str
    dtype: str
    term: Function
    state: tuple[str, ...]
    identity: tuple
    absorb: Function
    merge: Function
    finish: Function
    names: tuple[tuple[str, Any], ...] = ()
    indexed: bool = False
    values: int = 0
    pairs: bool = False
    around: Around | None = None

    def source(self) -> dict:
        """The names that a reduction template takes from its accumulator."""
        identities = {f"IDENTITY{s}": start for s, start in enumerate(self.identity)}
        around = self.around.source() if self.around else {}
        return {"absorb": self.absorb, "merge": self.merge, "finish": self.finish, **identities, **around, **dict(self.names)}


def finish_carried(total, carry, count):
    """What becomes of a carried sum."""
    return finished(carried_total(total, carry), count)


def finish_plain(total, count):
    """What becomes of a total."""
    return finished(total, count)


def add_complex(re, im, re_carry, im_carry, z):
    """A complex sum, by parts."""
    re, re_carry = add_carried(re, re_carry, z.real)
    im, im_carry = add_carried(im, im_carry, z.imag)
    return re, im, re_carry, im_carry


def merge_complex(re, im, re_carry, im_carry, later_re, later_im, later_re_carry, later_im_carry):
    """The sum of two complex sums."""
    re, re_carry = merge_carried(re, re_carry, later_re, later_re_carry)
    im, im_carry = merge_carried(im, im_carry, later_im, later_im_carry)
    return re, im, re_carry, im_carry


def complex_total(re, im, re_carry, im_carry):
    """A complex sum."""
    return complex(carried_total(re, re_carry), carried_total(im, im_carry))


def finish_complex(re, im, re_carry, im_carry, count):
    """What becomes of a complex sum, by parts."""
    return complex(finish_carried(re, re_carry, count), finish_carried(im, im_carry, count))


def multiply_parts(re, im, later_re, later_im):
    """A complex product, by parts."""
    return re * later_re - im * later_im, re * later_im + im * later_re


def multiply_complex(re, im, z):
    """A complex product with another number."""
    return multiply_parts(re, im, z.real, z.imag)


def complex_parts(re, im):
    """The number of two parts."""
    return complex(re, im)


def identity(x):
    """An element counts as itself."""
    return x


def same(x):
    """The accumulator itself."""
    return x


def absorb_truth(total, x):
    """A truth value counts as 1 or 0."""
    return where_index(x, combine(total, 1), combine(total, 0))


def truth(x):
    """A count as a truth value."""
    return x != 0


def absorb_indexed(x, i, j, y):
    """An element and its position."""
    return combine(x, i, y, j)


def position(x, i):
    """The position of an extremum."""
    return i


def folded_operations() -> tuple[General, ...]:
    """The operations that are declared with a monoid."""
    return tuple(op for op in OPS.values() if isinstance(op, General) and op.monoid)


def folds(op: General, dtype: str) -> bool:
    """Whether there is the reduction in a compute dtype: integers have no mean, complex numbers no order and no computed terms.

    >>> folds(OPS["sum"], "complex64"), folds(OPS["amax"], "complex64"), folds(OPS["mean"], "int64")
    (True, False, False)
    """
    term, kind = op.term_expression(), dtype_of(dtype)
    if kind.is_complex:
        return bool(MONOIDS[op.monoid].operator) and (term is None or term.boolean)
    if not kind.is_floating_point:
        return term.boolean or op.near if term is not None else op.gives != "floating"
    return True


def term_function(op: General, dtype: str) -> Function:
    """What an element counts as, computed in a dtype."""
    term = op.term_expression()
    if term is None:
        return identity
    function = ready(scalar_function(f"{op.name}_term", ("x",), (term,), dtype))
    function.__name__ = "nonzero" if term.boolean else f"{op.name}_term"
    return function


@cache
def accumulator(op: General, dtype: str) -> Accumulator:
    """The accumulators of a reduction of elements in compute dtype ``dtype``, which is none of half types, nor a narrow integer.

    Where something becomes of the total, the count of elements is a value. An empty row gives the identity.

    Raises:
        KernelError: no such reduction, or not in that dtype.
    """
    if not op.monoid or not folds(op, dtype):
        raise KernelError(
            f"reduce: no {op.name} in {dtype}. Hint: integers are summed, and divided elementwise; the moduli of "
            f"complex numbers have an order."
        )
    monoid, term = MONOIDS[op.monoid], op.term_expression()
    combine = monoid.combine
    if monoid.order and not monoid.indexed and dtype_of(dtype).is_floating_point:
        combine = {"greatest": greater_float, "smallest": smaller_float}[monoid.order]
    near = term is None or term.boolean or op.near
    dtype = dtype if near else "float64"  # where terms are computed, as squares are
    kind, start = dtype_of(dtype), monoid.start(dtype)
    real = kind.to_real().name
    made = Accumulator(
        op.name, dtype, term_function(op, dtype), (dtype,), (start,), combine, combine, same, (("combine", combine),)
    )
    if term is not None and term.boolean:
        return made._replace(
            state=("int64",), identity=(monoid.start("int64"),), absorb=absorb_truth, finish=truth if op.gives == "truth" else same
        )
    if monoid.indexed:
        # The index of no element at all is the largest, so that any element, even one equal to the identity, comes before it.
        return made._replace(
            state=(dtype, "int64"), identity=(start, 2**63 - 1), absorb=absorb_indexed, finish=position, indexed=True
        )
    if kind.is_complex and not monoid.carries:
        return made._replace(
            state=(real, real), identity=(1.0, 0.0), absorb=multiply_complex, merge=multiply_parts, finish=complex_parts
        )
    functions: tuple[Function, Function] = (same, finish_plain)
    if kind.is_complex:
        made = made._replace(state=(real,) * 4, identity=(0.0,) * 4, absorb=add_complex, merge=merge_complex)
        functions = complex_total, finish_complex
    elif monoid.carries and kind.is_floating_point and near:
        made = made._replace(state=(dtype, dtype), identity=(start, 0.0), absorb=add_carried, merge=merge_carried)
        functions = carried_total, finish_carried
    total = op.finish_expression()
    if total is None:
        return made._replace(finish=functions[0])
    finished = ready(scalar_function(f"{op.name}_finish", ("total", "count"), (total,), real))
    return made._replace(finish=functions[1], names=(("finished", finished),), values=1)
