"""In-place forms of elementwise operations: the same declaration, written over an operand.

NOTE [In-place order]: check; take the old edges; keep a copy of the old value if the rule needs it; record; write (the native
call bumps the version first); then give the tensor its new history. Operands are saved at their version *before* the write,
so an operand that shares the memory is found stale in backward; the result is saved at its version after it.
"""

from __future__ import annotations

from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import bool_, can_cast, of_default_dtype
from ..base.errors import ArgumentError, DTypeError, ShapeError
from ..base.functions import attach
from ..base.grad_mode import mode, special
from ..graph.edges import edge_of, requires_grad
from ..graph.saved import active_hooks
from ..modes.inference import write_in_mode
from ..modes.interpreters import Call, interpret, is_marked, quick_write
from ..native.plans import ElementwisePlan
from ..ops.core import Elementwise
from ..ops.spellings import public_signature
from ..tensors.layout import broadcast_shapes
from ..tensors.overlap import unchanged
from ..tensors.tensor import ASK, Tensor, native
from ..views import check_inplace, rebase
from .elementwise_plans import finish_plan, forward_formula
from .elementwise_rules import rule_of
from .operands import (
    any_complex,
    bind,
    check_operands,
    compute_dtype,
    gradient_mask,
    looks_at_values,
    misfit,
    require_divisor,
    stored_numbers,
    unwrap_number,
)
from .out import store_complex_form, wants_gradient
from .plans import elementwise_plan

__all__ = ["inplace_call", "inplace_plan"]


class InplaceCall:
    """What the method ``op_`` of an elementwise operation does where the native write finds no plan.

    Attributes:
        plans: by layouts of operands and types of numbers.
        stored: of those whose operands need no conversion before they are stored, for operations that store numbers.
        beneath, into: ``plan_and_write``, for interpreters, and the native write; looked up once.
    """

    __slots__ = ("op", "plans", "stored", "beneath", "into")

    def __init__(self, op: Elementwise):
        self.op = op
        self.plans: dict[tuple, Any] = of_default_dtype({})
        self.stored: dict[tuple, Any] = of_default_dtype({})
        self.beneath, self.into = self.plan_and_write, native.into

    def check(self, x, *others):
        """A call that the native write leaves: quick writes are asked, operands that the write would change are copied."""
        op = self.op
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{op.public}_: expected a Tensor, got {type(x).__name__}.")
        if special and not mode.inference:
            out = quick_write(op, (x, *others), self.beneath)
            if out is not None:
                return out
        operands = (
            x,
            *[
                y if type(y) in PLAIN else unchanged(op.public + "_", x, unwrap_number(y), copied=name == "value")
                for name, y in zip(op.operands[1:], others)
            ],
        )
        if op.policy == "first":
            operands = stored_numbers(op, operands)
        if special:
            return self.intercept(operands)
        plan = self.plans.get(tuple([t.layout if isinstance(t, Tensor) else type(t) for t in operands]))  # key_of, at once
        return self.intercept(operands) if plan is None else self.write(plan, x, operands)

    def check_and_store(self, x, *others):
        """The same of an operation that stores numbers: next time the native write knows the call, if no value decides about it."""
        self.check(x, *others)
        if not special and not looks_at_values((x, *others)):
            key = key_of((x, *others))
            if key in self.plans:
                keep(self.stored, key, self.plans[key])
        return x

    def intercept(self, operands: tuple):
        """A call without a plan, or while some special mode is active."""
        op = self.op
        if op.complex_form is not None and any_complex(operands):
            return overwrite_complex(op, operands)
        if mode.inference:
            return write_in_mode(op, operands, self.plans, self.beneath, check_inplace)
        return interpret(Call(op, operands, {}, self.beneath, "_"))

    def plan_and_write(self, *operands):
        """The call beneath the interpreters: its plan is found or made, its node is made, the elements are written."""
        op, x = self.op, operands[0]
        if mode.enabled and active_hooks() is not None:  # they see what is saved after the write, and no version is compared
            operands = (x, *[old_value(y) if shares_memory(x, y) else y for y in operands[1:]])
        key = key_of(operands)
        plan = self.plans.get(key)
        if plan is None:
            check_inplace(op.name + "_", x, mode.enabled and bool(gradient_mask(op, operands)))
            plan = keep(self.plans, key, inplace_plan(op, operands))
        return self.write(plan, x, operands)

    def write(self, plan: ElementwisePlan, x: Tensor, operands: tuple) -> Tensor:
        """Record and write: NOTE [In-place order]."""
        op = self.op
        mask = gradient_mask(op, operands) if mode.enabled else 0
        check_inplace(op.name + "_", x, bool(mask))
        if op.integer_divisor:
            require_divisor(op, plan.compute, operands)
        passed = operands if len(plan.layouts) == len(operands) else operands[1:]
        if not mask:
            self.into(plan, x, *passed)
            return x
        complete = record_before(op, plan, mask, x, operands)
        self.into(plan, x, *passed)
        complete()
        return x


def key_of(operands: tuple) -> tuple:
    """Layouts of tensors, types of numbers."""
    return tuple([t.layout if isinstance(t, Tensor) else type(t) for t in operands])


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
            raise misfit(op, others, error) from None

    # What numbers are divided by is looked at in every call, and what is stored where that may have to be converted.
    if op.policy == "first":
        run = native.writer(inplace.stored, special, inplace.check_and_store, mode)
    else:
        run = inplace.check if op.integer_divisor else native.writer(inplace.plans, special, inplace.check, mode)
    call.__name__ = call.__qualname__ = op.name + "_"
    attach(call, __signature__=public_signature(op))
    CALLS[op.name + "_"] = call
    return call


PLAIN = (float, int)  # numbers that are taken as they are


def overwrite_complex(op: Elementwise, operands: tuple) -> Tensor:
    """An in-place call on complex operands by what stands for the operation, which may save the old value: then a copy of it."""
    x, *others = operands
    recorded = mode.enabled and wants_gradient(operands)
    if not is_marked(operands):
        check_inplace(op.public + "_", x, recorded)
    return store_complex_form(op, (CALLS["clone"](x) if recorded else x, *others), x)


def record_before(op: Elementwise, plan: ElementwisePlan, mask: int, x: Tensor, operands: tuple) -> Callable[[], None]:
    """Make the node of an in-place call, before the write; the function returned completes it after the write."""
    is_view = x._needs_grad_ is ASK
    old_edge = None
    if is_view and x._meta_.base._needs_grad_:
        old_edge = edge_of(x._meta_.base)
    before = native.alias(x)
    if mask & 1:
        before._edge_, before._needs_grad_ = edge_of(x), True
    holder = native.alias(x)
    rule_saved = saved_names(op, plan, mask)
    if op.operands[0] in rule_saved:
        kept = CALLS["clone"](holder)  # an alias without history: nothing is recorded
        kept._edge_, kept._needs_grad_ = before._edge_, before._needs_grad_
        before = kept
    plan.records[mask](plan, holder, before, *operands[1:])
    node = holder._edge_

    def finish():
        for k, name in enumerate(node._rule_.saved_names):
            if name == "out":
                setattr(node, f"_v{k}_", x._storage_.version)
        rebase(x, node, 0 if mask & 1 else None, old_edge)

    return finish


def shares_memory(x: Tensor, y) -> bool:
    """Whether ``y`` is a tensor on the storage of ``x``."""
    return isinstance(y, Tensor) and y._storage_ is x._storage_


def old_value(y: Tensor) -> Tensor:
    """A copy of an operand in the memory that is about to be written, with the operand's place in the graph."""
    kept = CALLS["clone"](native.alias(y))
    if y._needs_grad_ and requires_grad(y):
        kept._edge_, kept._needs_grad_ = edge_of(y), True
    return kept


def saved_names(op: Elementwise, plan: ElementwisePlan, mask: int) -> tuple[str, ...]:
    """What the rule of this subset saves."""
    numbers = tuple(layout is None for layout in plan.operands)
    return rule_of(op, mask, numbers, plan.compute.is_complex).saved_names


def inplace_plan(op: Elementwise, operands: tuple) -> ElementwisePlan:
    """Plan a call over its first operand.

    Raises:
        ShapeError: the result would be larger than the tensor. DTypeError: of a higher category.
    """
    x = operands[0]
    check_operands(op, operands)
    dtype = compute_dtype(op, operands)
    result = bool_ if op.predicate else dtype
    own = x.layout
    if not can_cast(result, own.dtype):
        raise DTypeError(
            f"{op.public}_: the result is {result.name} and cannot be stored in a {own.dtype.name} tensor. "
            "Hint: use the out-of-place form."
        )
    layouts = tuple(t.layout if isinstance(t, Tensor) else None for t in operands)
    shape = broadcast_shapes(op.name + "_", [layout.shape for layout in layouts if layout is not None])
    if shape != own.shape:
        raise ShapeError(
            f"{op.public}_: the operands broadcast to {list(shape)}, the tensor has {list(own.shape)}; in-place "
            "operations cannot change a shape. Hint: use the out-of-place form."
        )
    plan = elementwise_plan(
        forward_formula(op, dtype), dtype, layouts, (own,), inplace=1, plan_type=ElementwisePlan, exact=op.exact
    )
    return finish_plan(plan, op, layouts, dtype, own)
