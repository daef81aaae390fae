"""In-place forms of elementwise operations, ``x.mul_(y)`` and ``x *= y``: the same declaration, written over the first operand.

The order of the steps is that of every write, NOTE [In-place order] in writes.py. Here is what they are for an operation: which
plan is launched, which operands need a gradient, what records the node.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

from ..base.bounded import Plans, keep
from ..base.calls import CALLS
from ..base.dtypes import bool_, of_default_dtype
from ..base.errors import ArgumentError, DTypeError
from ..base.function_attributes import attach
from ..base.grad_mode import mode, special, traces
from ..graph.edges import edge_of, requires_grad
from ..graph.saved_hooks import active_hooks
from ..modes.interpreters import Call, fast_write, interpret, is_marked
from ..native.plans import ElementwisePlan
from ..ops.core import Elementwise
from ..ops.spellings import public_signature
from ..tensors.layout import broadcast_shapes
from ..tensors.overlap import overlapping, unchanged
from ..tensors.tensor import Tensor, native
from ..views import check_inplace
from .elementwise_plans import copies_of, finish_plan, forward_formula
from .elementwise_rules import rule_of
from .launches import into
from .operands import (
    answer_of_other,
    any_complex,
    bind,
    check_kinds,
    dtype_of_kinds,
    gradient_bits,
    gradient_mask,
    kinds_of,
    layouts_in,
    on_several_devices,
    refitted,
    require_divisor,
    stored_numbers,
    stores_with_care,
    unwrap_number,
    with_host_numbers,
    with_numbers,
)
from .patterns import Patterns
from .plans import elementwise_plan
from .writes import overwrite, require_fit, write

__all__ = ["inplace_call", "inplace_plan"]


class InplaceCall:
    """The method ``op_`` of an elementwise operation, where native code finds no plan for it.

    Attributes:
        name: of the form, for errors.
        plans: by layouts of operands and types of numbers.
        stored: of those whose operands need no conversion before they are stored, for operations that store numbers.
        plain: ``plan_and_write``, the call without interpreters; a bound method that is made once.
    """

    __slots__ = ("op", "name", "plans", "stored", "plain")

    def __init__(self, op: Elementwise):
        self.op, self.name = op, op.public + "_"
        self.plans = of_default_dtype(Plans(Patterns(lambda *kinds: inplace_plan(op, kinds), copies_of, self.name).plan_of))
        self.stored: dict[tuple, Any] = of_default_dtype({})
        self.plain = self.plan_and_write

    def check(self, x, *others):
        """A call without a plan for native code: special modes are asked, and operands that the write would change are copied."""
        op = self.op
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{self.name}: expected a Tensor, got {type(x).__name__}.")
        if special:
            out = fast_write(op, (x, *others), self.plain)
            if out is not None:
                return out
        if traces:
            x, *others = with_numbers(op, (x, *others))
        operands = (
            x,
            *[
                y if type(y) in PLAIN else unchanged(self.name, x, unwrap_number(y), copied=name == "value")
                for name, y in zip(op.operands[1:], others)
            ],
        )
        if on_several_devices(operands):
            operands = beside(op, operands)
        if op.policy == "first":
            operands = stored_numbers(op, operands)
        if special:
            return self.intercept(operands)
        plan = self.plans.get(kinds_of(operands))
        return self.intercept(operands) if plan is None else self.write(plan, mask_of(op, operands), *operands)

    def check_and_store(self, x, *others):
        """The same of an operation that stores numbers. If no value decides about the call, native code knows it next time."""
        self.check(x, *others)
        kinds = kinds_of((x, *others))
        if not special and not stores_with_care(kinds) and kinds in self.plans:
            keep(self.stored, kinds, self.plans[kinds])
        return x

    def intercept(self, operands: tuple):
        """A call without a plan, or while some special mode is active."""
        op = self.op
        if op.complex_form is not None and any_complex(operands):
            return overwrite_complex(op, operands)
        return interpret(Call(op, operands, {}, self.plain, "_"))

    def plan_and_write(self, *operands):
        """The call without interpreters: find or make the plan, make the node, write the elements."""
        op, x, key = self.op, operands[0], kinds_of(operands)
        mask = mask_of(op, operands)
        if key not in self.plans:  # what may not be written to is said first
            check_inplace(self.name, x, mask != 0)
        return self.write(self.plans[key], mask, *operands)

    def write(self, plan: ElementwisePlan, mask: int, x: Tensor, *others) -> Tensor:
        """Record and write: NOTE [In-place order].

        Args:
            mask: the operands that need a gradient, as bits.
        """
        op = self.op
        divided = op.integer_divisor and not plan.compute.differentiable
        there = divided and not traces and isinstance(others[0], Tensor) and others[0].layout.memory is not None
        if divided and not there:
            require_divisor(op, plan.compute, (x, *others))

        def record(before, out):
            operands = others if active_hooks() is None else [old_value(x, y) for y in others]
            recorder(plan, out, before, *operands)
            return slots

        def launch():  # a kernel reads all operands, or, if it has one pointer for result and first operand, the others
            if there:
                from .device_divisors import divide_unless_zero

                return divide_unless_zero(op.name, x, others)
            into(plan, x, *others) if len(plan.layouts) == len(others) else into(plan, x, x, *others)

        recorder, keeps, slots = plan.records[mask] if mask else NOT_RECORDED
        return write(self.name, x, mask != 0, record, launch, keeps)


def beside(op: Elementwise, operands: tuple) -> tuple:
    """Operands on several devices where the first one is: what is copied into it, and single numbers of the CPU. Recorded.

    Raises:
        DeviceError: tensors with dimensions on different devices, or single numbers of a GPU beside the CPU's.
    """
    x, *others = operands
    if op.name == "copy":
        return x, *[CALLS["to_device"](y, x.layout.device) if isinstance(y, Tensor) else y for y in others]
    return operands if x.layout.memory is None else with_host_numbers(op, operands)


NOT_RECORDED: Any = None, False, ()


def mask_of(op: Elementwise, operands: tuple) -> int:
    """The operands that need a gradient, as bits: also the first where there is no derivative by it, for its history ends."""
    if not mode.enabled:
        return 0
    return gradient_mask(op, operands) | requires_grad(operands[0])


def inplace_call(op: Elementwise) -> Callable:
    """The method ``op_``: ``x.op_(*others)`` writes the result into ``x`` and returns ``x``."""
    names, defaults, empty = op.operands, op.defaults, op.signature.empty
    inplace = InplaceCall(op)

    def call(input, *others, **named):
        if named or 1 + len(others) < len(names):
            others = bind(op, (input, *others), named, defaults, empty)[1:]
        try:
            return run(input, *others)
        except OverflowError as error:
            return refitted(op, (input, *others), error, run)
        except ArgumentError as error:
            return answer_of_other(op.name, (input, *others), error)

    # What numbers are divided by is looked at in every call, and what is stored where that may have to be converted.
    first, *rest = gradient_bits(op)
    bits = (first or 1, *rest)  # the history of what is written over ends in any case
    if op.policy == "first":
        run = native.writer(inplace.stored, special, inplace.check_and_store, inplace.write, mode, bits)
    else:
        writer = native.writer(inplace.plans, special, inplace.check, inplace.write, mode, bits)
        by_number = lambda x, y: writer(x, y) if type(y) is int and y & 255 else inplace.check(x, y)
        run = by_number if op.integer_divisor else writer
    call.__name__ = call.__qualname__ = op.name + "_"
    attach(call, __signature__=public_signature(op), caller=inplace)
    CALLS[op.name + "_"] = call
    return call


PLAIN = (float, int)  # numbers that are taken as they are


def overwrite_complex(op: Elementwise, operands: tuple) -> Tensor:
    """An in-place call on complex operands: the complex form is computed, then copied over the first operand.

    Raises:
        DTypeError: the result is real.
    """
    x, *others = operands
    assert op.complex_form is not None
    name, recorded = op.public + "_", mode.enabled and any(map(requires_grad, operands))
    if not is_marked(operands):
        check_inplace(name, x, recorded)
    result = op.complex_form(CALLS["clone"](x) if recorded else x, *others)
    if x.layout.dtype.is_complex and not result.layout.dtype.is_complex:
        raise DTypeError(f"{name}: the result is real, the tensor {x.layout.dtype.name}. Hint: use the out-of-place form.")
    return overwrite(name, x, recorded, result)


def old_value(x: Tensor, y: Any) -> Any:
    """An operand, or a copy of one in the memory of ``x``, which is about to be written, with the operand's place in the graph."""
    if not isinstance(y, Tensor) or not overlapping(x, y):
        return y
    kept = CALLS["clone"](native.alias(y))
    if requires_grad(y):
        kept._edge_, kept._needs_grad_ = edge_of(y), True
    return kept


@cache
def write_records(op: Elementwise, numbers: tuple[bool, ...], is_complex: bool) -> Plans:
    """By the bits of the operands that need a gradient: what records a write, whether it keeps the old value, and the slots of the
    node that hold the result.
    """

    def records_of(mask: int) -> tuple:
        rule = rule_of(op, mask, numbers, is_complex)
        slots = tuple([k for k, name in enumerate(rule.saved_names) if name == "out"])
        return rule.recorder(), op.operands[0] in rule.saved_names, slots

    return Plans(records_of)


def inplace_plan(op: Elementwise, kinds: tuple) -> ElementwisePlan:
    """Plan a call over its first operand; ``kinds`` of the operands, see ``kinds_of``.

    Raises:
        ShapeError: the result would be larger than the tensor. DTypeError: of a higher category.
    """
    check_kinds(op, kinds)
    own, dtype = kinds[0], dtype_of_kinds(op, kinds)
    result = bool_ if op.predicate else dtype
    layouts = layouts_in(kinds)
    shape = broadcast_shapes(op.public + "_", [layout.shape for layout in layouts if layout is not None])
    require_fit(op.public + "_", own, shape, result)
    plan = elementwise_plan(
        forward_formula(op, dtype), dtype, layouts, (own,), inplace=1, plan_type=ElementwisePlan, exact=op.exact
    )
    finish_plan(plan, op, layouts, dtype, own)
    plan.records = write_records(op, tuple([layout is None for layout in layouts]), dtype.is_complex)
    return plan
