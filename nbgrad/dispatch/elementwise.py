"""One call of one operation: find the plan, launch, record.

Every elementwise operation gets a closure specialised by arity. On the fast path it does: one test of the flag behind which
all special modes stand, one dict look-up from the operands' layouts to a plan, one native call that allocates the result and
launches the kernel, and, where a gradient is needed, one native call that makes the node. Whatever misses the plan table takes
``general``: check, promote, broadcast, plan; it leaves a plan behind, so the next call of its kind is fast.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import of_default_dtype
from ..base.functions import attach
from ..base.grad_mode import mode, special
from ..graph.saved import EnteredHooks
from ..modes.inference import NEVER, elementwise_caller
from ..modes.interpreters import Call, interpret, is_bystander, is_marked, known_call, quick_call, quick_calls
from ..ops.core import Elementwise
from ..ops.spellings import public_name
from ..tensors.tensor import Tensor, native
from .elementwise_plans import KINDS, PLANS, adopt, find_plan, plan_key
from .elementwise_rules import FEW
from .operands import NUMBERS, any_complex, bind, gradient_mask, looks_at_values, misfit, stored_numbers, unwrap_number

__all__ = ["call_of", "general", "launched"]

USUAL = frozenset((Tensor, float, int))  # operands that need no conversion


def general(op: Elementwise, operands: tuple) -> Tensor:
    """Any elementwise call that the fast path does not know: interpreters are asked, a plan is made if there is none."""
    operands = tuple([x if type(x) in USUAL else unwrap_number(x) for x in operands])
    if op.numbers and isinstance(operands[0], NUMBERS) and isinstance(operands[-1], NUMBERS):
        operands = (CALLS["asarray"](operands[0]), *operands[1:])
    if op.policy == "first" and isinstance(operands[0], Tensor):
        operands = stored_numbers(op, operands)
    if op.complex_form is not None and any_complex(operands):
        return op.complex_form(*operands)
    if special or is_marked(operands):
        out = quick_call(op, operands)
        return interpret(Call(op, operands, {}, lambda *below: launched(op, below))) if out is None else out
    return launched(op, operands)


def launched(op: Elementwise, operands: tuple) -> Tensor:
    """The call beneath all interpreters: plan, launch, record."""
    plan = find_plan(op, operands)
    try:
        out = native.fresh(plan, *operands)
    except OverflowError as error:
        raise misfit(op, operands, error) from None
    if mode.enabled:
        mask = gradient_mask(op, operands)
        if mask:
            plan.records[mask](plan, out, *operands)
    return out


def call_under_hooks(op: Elementwise, operands: tuple, attributes: dict | None) -> Tensor | None:
    """A quick call where saved-tensor hooks are the only mode: they see the node (benchmarks/test_checkpoint.py)."""
    for active in special:
        if type(active) is not EnteredHooks:
            return None
    if attributes is not None or is_marked(operands):
        return None
    out = launched(op, operands)
    if out._edge_ is not None:
        for active in tuple(special):
            active.recorded(out._edge_)
    return out


quick_calls[EnteredHooks] = call_under_hooks


def call_of(op: Elementwise) -> Callable:
    """The function of an elementwise operation."""
    plans = PLANS[op.name] = of_default_dtype({})
    KINDS[op.name] = of_default_dtype({})
    required = sum(default is op.signature.empty for default in op.defaults)
    usual = required == len(op.operands) and op.policy != "first" and not any(op.fixed)
    build = {1: unary, 2: binary}.get(len(op.operands)) if usual else None
    call = build(op, plans) if build else nary(op)
    call.__name__ = call.__qualname__ = op.name
    if op.backward_node:
        attach(call, cotangent=partial(cotangent_call, op))
    CALLS[op.name] = call
    return call


# The native calls that do not look at ``special``, by operation: made when a mode first lets one pass (3.1 -> 0.9 us).
BARE: dict[str, Callable] = {}


def bare_caller(op: Elementwise, plans: dict) -> Callable:
    """A native call for operands that no active mode concerns."""
    made = native.caller(plans, NEVER, lambda *operands: general(op, operands), refusing_recorder(op), mode, bits_of(op))
    return BARE.setdefault(op.name, made)


def bits_of(op: Elementwise) -> tuple[int, ...]:
    """For every operand its bit in the masks of subsets, 0 without a derivative by it, -1 where one is refused: see ``Caller``."""
    return tuple([-1 if fixed else able << k for k, (fixed, able) in enumerate(zip(op.fixed, op.differentiable))])


def refusing_recorder(op: Elementwise) -> Callable:
    """``record(plan, out, *operands)`` where an operand needs a gradient by which there is no derivative."""
    return lambda plan, out, *operands: gradient_mask(op, operands)


def unary(op: Elementwise, plans: dict) -> Callable:
    """The call of a one-operand operation."""

    def slow(x):
        if special:
            out = known_call(op, (x,))
            if out is not None:
                return out
            if is_bystander((x,)):
                return (BARE.get(op.name) or bare_caller(op, plans))(x)
        elif isinstance(x, Tensor) and adopt(plans, kinds, x.layout, x.layout):
            return run(x)
        return infer(x) if mode.inference else general(op, (x,))

    kinds = KINDS[op.name]
    infer = elementwise_caller(plans, lambda operands: general(op, operands))
    run = native.caller(plans, special, slow, refusing_recorder(op), mode, bits_of(op))

    # A Python function, because builtins do not bind as methods.
    def call(input):
        return run(input)

    attach(call, run=run)  # for functions that stand in its place: a frame costs 50 ns
    return call


def binary(op: Elementwise, plans: dict) -> Callable:
    """The call of a two-operand operation."""

    def slow(x, y):
        if special:
            out = known_call(op, (x, y))
            if out is not None:
                return out
            if is_bystander((x, y)):
                return (BARE.get(op.name) or bare_caller(op, plans))(x, y)
        elif adopt(plans, kinds, x.layout if isinstance(x, Tensor) else type(x), y.layout if isinstance(y, Tensor) else type(y)):
            return run(x, y)
        return infer(x, y) if mode.inference else general(op, (x, y))

    kinds = KINDS[op.name]
    infer = elementwise_caller(plans, lambda operands: general(op, operands))
    run = native.caller(plans, special, slow, refusing_recorder(op), mode, bits_of(op))

    # A Python function, because builtins do not bind as methods.
    def call(input, other):
        try:
            return run(input, other)
        except OverflowError as error:  # to try costs nothing
            raise misfit(op, (input, other), error) from None

    attach(call, run=run)
    names = ("input", public_name(op, op.operands[1]), *call.__code__.co_varnames[2:])
    call.__code__ = call.__code__.replace(co_varnames=names)  # x.clamp_min(min=0)
    return call


def nary(op: Elementwise) -> Callable:
    """The call of an operation of more operands, with defaults, or of one that stores numbers."""
    defaults, plans = op.defaults, PLANS[op.name]
    empty, count = op.signature.empty, len(op.operands)
    stores = op.policy == "first"
    # Where what is stored must be looked at in every call, nothing is found.
    quick = of_default_dtype({}) if stores else plans

    def slow(*operands):
        if special:
            out = known_call(op, operands)
            return general(op, operands) if out is None else out
        out = general(op, operands)
        if stores and not looks_at_values(operands):
            plan = plans.get(plan_key(operands))
            if plan is not None:
                keep(quick, plan_key(operands), plan)
        return out

    run = native.caller(quick, special, slow, refusing_recorder(op), mode, bits_of(op)) if count <= FEW else slow

    def call(*operands, **named):
        if named or len(operands) != count:
            operands = bind(op, operands, named, defaults, empty)
        try:
            return run(*operands)
        except OverflowError as error:
            raise misfit(op, operands, error) from None

    attach(call, __signature__=op.signature)
    return call


@cache
def cotangent_call(op: Elementwise) -> tuple[Callable, tuple[str, ...]]:
    """The call of an operation's cotangent that is an operation itself, and the names of its operands behind the first."""
    made, names = op.cotangent_operation(op.operands[0])
    return CALLS.get(made.name) or call_of(made), names
