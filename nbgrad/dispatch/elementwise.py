"""Calls of elementwise operations, out of place: find the plan, launch, record.

A call of ``mul(x, y)`` that is like an earlier one runs in native code (``Caller`` of native/calls.py): it looks up a plan by the
layouts of ``x`` and ``y``, allocates the result, runs the kernel, and makes the node if a gradient is needed. A call without a
plan, or in a special mode, comes to ``general``: numbers are converted, interpreters are asked, a plan is made, which the next call
finds.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Callable

from ..base.bounded import keep_plan
from ..base.calls import CALLS
from ..base.dtypes import of_default_dtype
from ..base.errors import ArgumentError
from ..base.function_attributes import attach
from ..base.grad_mode import mode, special, traces
from ..modes.interpreters import intercept, is_marked, known_call
from ..native.plans import ElementwisePlan
from ..ops.core import Elementwise
from ..ops.spellings import public_name
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from .elementwise_plans import PLANS, ElementwisePlans, find_plan, kinds_in, plan_key
from .elementwise_rules import FEW
from .launches import fresh
from .operands import (
    NUMBERS,
    answer_of_other,
    any_complex,
    bind,
    gradient_bits,
    gradient_mask,
    on_several_devices,
    refitted,
    stored_numbers,
    stores_with_care,
    unwrap_number,
    with_host_numbers,
    with_numbers,
)

__all__ = ["call_of", "general", "launched"]

NEVER: list = []  # what native calls test instead of ``special``
USUAL = frozenset((Tensor, float, int))  # operands that need no conversion


def general(op: Elementwise, operands: tuple) -> Tensor:
    """Any elementwise call that native code does not know. Interpreters are asked; a plan is made if there is none."""
    operands = tuple([x if type(x) in USUAL else unwrap_number(x) for x in operands])
    if traces:
        operands = with_numbers(op, operands)
    if op.numbers and isinstance(operands[0], NUMBERS) and isinstance(operands[-1], NUMBERS):
        operands = (CALLS["asarray"](operands[0]), *operands[1:])
    if op.policy == "first" and isinstance(operands[0], Tensor):
        operands = stored_numbers(op, operands)
    if on_several_devices(operands):
        operands = with_host_numbers(op, operands)
    if op.complex_form is not None and any_complex(operands):
        return op.complex_form(*operands)
    if special or is_marked(operands):
        return intercept(op, operands, None, lambda *below: launched(op, below))
    return launched(op, operands)


def launched(op: Elementwise, operands: tuple) -> Tensor:
    """The call without interpreters: plan, launch, record."""
    plan = find_plan(op, operands)
    try:
        out = fresh(plan, *operands)
    except OverflowError as error:
        return refitted(op, operands, error, lambda *fitted: launched(op, fitted))
    if mode.enabled:
        mask = gradient_mask(op, operands)
        if mask:
            plan.records[mask](plan, out, *operands)
    return out


def unknown(*operands: Any) -> None:
    """What native code calls where it has no plan."""


class ElementwiseCall:
    """The call of an elementwise operation: NOTE [The road] in calls.py, of which native code does what is usual.

    Attributes:
        plans: by the kinds of operands.
        found: those that native code finds: all, but of operations that must look at values only those of calls that need not.
        by_numbers: plans of integers that are divided by a number, which native code is asked for when it is none that is 0.
        run: the native call; what it has no plan for it gives to ``missed``.
        bare: a native call that no mode keeps from running; made when one first lets a call pass.
        stores: the operation stores numbers.
        simple: it takes one or two operands, and nothing about them is unusual.
    """

    __slots__ = ("op", "plans", "found", "by_numbers", "stores", "simple", "run", "bare")
    bare: Callable | None

    def __init__(self, op: Elementwise):
        self.op, self.stores, self.bare = op, op.policy == "first", None
        required = all(default is op.signature.empty for default in op.defaults)
        self.simple = len(op.operands) <= 2 and required and not self.stores and not any(op.fixed)
        self.plans = PLANS[op.name] = ElementwisePlans(op)
        self.found = of_default_dtype({}) if self.stores or op.integer_divisor else self.plans
        self.by_numbers = of_default_dtype({}) if op.integer_divisor else dict[Any, ElementwisePlan]()
        self.run = self.native_call(special, self.divided() if op.integer_divisor else self.missed)

    def plan_of(self, key: Any) -> ElementwisePlan | None:
        """A plan for native code. None where ``missed`` must look at the operands, in this call or in every one."""
        op, found = self.op, self.found
        if found is not self.plans:
            if key in self.by_numbers:
                return None
            kinds = kinds_in(key, len(op.operands))
            if must_ask(op, kinds) or self.stores and stores_with_care(kinds):
                return None
            plan = self.plans[key]
            return None if op.integer_divisor and not plan.compute.differentiable else keep_plan(found, key, plan)
        plan = self.plans.copied(key)
        if plan is not None:
            return keep_plan(found, key, plan)
        return None if must_ask(op, kinds_in(key, len(op.operands))) else self.plans[key]

    def planned(self, kinds: tuple) -> ElementwisePlan | None:
        """The plan for operands of these kinds; None as in ``plan_of``."""
        key = plan_key(kinds)
        return self.found.get(key) or self.plan_of(key)

    def divided(self) -> Callable:
        """``missed`` of an operation that divides: native code has plans for numbers that no integer dtype takes for 0."""
        found = self.by_numbers

        def plan_of(key: Any) -> ElementwisePlan | None:
            return None if must_ask(self.op, kinds_in(key, 2)) else keep_plan(found, key, self.plans[key])

        by_number, missed = self.native_call(special, self.missed, found, plan_of), self.missed
        return lambda x, y: by_number(x, y) if type(y) is int and y & 255 else missed(x, y)

    def native_call(self, modes: list, missed: Callable, found: dict | None = None, plan_of: Callable | None = None) -> Callable:
        """``call(*operands)``, see ``Caller``; ``modes``: while it is not empty, all goes to ``missed``.

        Args:
            found, plan_of: where plans are, and what makes them; by default those of the operation.
        """
        op = self.op
        if len(op.operands) > FEW:
            return missed  # what native code has of subsets of operands are lists
        bits = gradient_bits(op)
        refuse = lambda plan, out, *operands: gradient_mask(op, operands)  # an operand by which there is no derivative
        return native.caller(
            self.found if found is None else found, modes, missed, refuse, mode, tuple(bits), plan_of or self.plan_of
        )

    def missed(self, *operands: Any) -> Tensor:
        """A call for which native code has found no plan."""
        op = self.op
        out = known_call(op, operands)
        return general(op, operands) if out is None else out

    def past_modes(self, *operands: Any) -> Tensor:
        """The call of operands that no active mode concerns."""
        out = self.natively(operands)
        return general(self.op, operands) if out is None else out

    def natively(self, operands: tuple) -> Tensor | None:
        """The same, None where native code has no plan for it."""
        if self.bare is None:
            self.bare = self.native_call(NEVER, unknown)
        out: Tensor | None = self.bare(*operands)
        return out

    def function(self) -> Callable:
        """A Python function, because builtins do not bind as methods."""
        op, run, count = self.op, self.run, len(self.op.operands)
        if self.simple and count == 1:

            def call(input):
                return run(input)

        elif self.simple:

            def call(input, other):  # type: ignore[misc]
                try:
                    return run(input, other)
                except OverflowError as error:  # to try costs nothing
                    return refitted(op, (input, other), error, run)
                except ArgumentError as error:
                    return answer_of_other(op.name, (input, other), error)

            names = ("input", public_name(op, op.operands[1]), *call.__code__.co_varnames[2:])
            call.__code__ = call.__code__.replace(co_varnames=names)  # x.clamp_min(min=0)
        else:

            def call(*operands, **named):  # type: ignore[misc]
                if named or len(operands) != count:
                    operands = bind(op, operands, named, op.defaults, op.signature.empty)
                try:
                    return run(*operands)
                except OverflowError as error:
                    return refitted(op, operands, error, run)

            attach(call, __signature__=op.signature)
        attach(call, caller=self, run=run)  # ``run`` for functions that stand in its place, without its frame
        call.__name__ = call.__qualname__ = op.name
        return call


def must_ask(op: Elementwise, kinds: tuple) -> bool:
    """Whether native code must leave calls of such operands to ``general``.

    It must where there is no tensor, or a marked one, or a complex one that another form of the operation takes, or (None)
    something that is neither tensor nor number.
    """
    tensors = [x for x in kinds if type(x) is Layout]
    if not tensors or None in kinds or op.policy == "first" and tensors[0] is not kinds[0]:
        return True
    device, split = tensors[0].device, op.complex_form is not None
    return any(x.special or x.device is not device or x.dtype.is_complex and split for x in tensors)


def call_of(op: Elementwise) -> Callable:
    """The function of an elementwise operation."""
    CALLS[op.name] = call = ElementwiseCall(op).function()
    if op.backward_node:
        attach(call, cotangent=partial(cotangent_call, op))
    return call


@cache
def cotangent_call(op: Elementwise) -> tuple[Callable, tuple[str, ...]]:
    """For an operation whose cotangent is an operation itself: that one's call, and its operands behind the first."""
    made, names = op.cotangent_operation(op.operands[0])
    return CALLS.get(made.name) or call_of(made), names
