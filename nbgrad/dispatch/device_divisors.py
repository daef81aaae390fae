"""Integers that are divided on a GPU: a divisor that is 0 is noted there, and the program told when it next waits.

NOTE [Errors on the device] of kernels/cuda/steps.py. Where a result is made, elements with such a divisor are 0; where one is
written over its operand, nothing is.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.bounded import MOST_PLANS
from ..base.calls import CALLS
from ..base.dtypes import DType, bool_
from ..base.errors import DivisionError, NbgradError
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.faults import fault_number
from ..kernels.cuda.masks import nonzero, note_zeros
from ..kernels.cuda.steps import ERRORS, Step, Steps, operand
from ..kernels.cuda.templates import strided_grid
from ..native.plans import Plan
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native
from .device_copies import copy_step, one_step
from .device_plans import device_plan

__all__ = ["divide_unless_zero", "note_zero_divisors", "note_zeros_as"]


def note_zero_divisors(divisor: Tensor, dtype: DType, text: str) -> None:
    """Have elements that are 0 in the dtype of a division noted, under the text of its error."""
    x = native.alias(divisor)
    note_zeros_as(DivisionError, text, x if x.layout.dtype is dtype else CALLS["to_dtype"](x, dtype))


def note_zeros_as(error: type[NbgradError], text: str, x: Tensor) -> None:
    """Have it noted, as an error, if an element is 0, or false."""
    if not x.layout.contiguous or x.layout.neg:
        x = CALLS["contiguous_copy"](x)
    if x.layout.numel:
        native.fresh(noting_plan(x.layout, fault_number(error, text)), x)


@lru_cache(maxsize=MOST_PLANS)
def noting_plan(x: Layout, fault: int) -> Plan:
    """The launch, whose result has no elements."""
    recipe = Recipe(note_zeros("uint8" if x.dtype is bool_ else x.dtype.name), nonzero, "int64")
    step = Step(recipe, strided_grid(x.numel), (operand(), ERRORS), (), (x.numel, fault))
    return device_plan((layout_of(bool_, (0,), None, x.device),), (x,), Steps((step,)))


def divide_unless_zero(name: str, x: Tensor, others: tuple) -> None:
    """Write the result of an operation over its first operand, unless a divisor, the second one, is 0, which is noted."""
    own = native.alias(x)
    found = CALLS["where"](CALLS["any"](CALLS["eq"](others[0], 0)), own, CALLS[name](own, *others))
    if x.layout.numel:
        native.into(writing_plan(found.layout, x.layout), x, found)


@lru_cache(maxsize=MOST_PLANS)
def writing_plan(source: Layout, target: Layout) -> Plan:
    """The launch of a copy over what is there."""
    return device_plan((target,), (source,), one_step(copy_step(source, target)))
