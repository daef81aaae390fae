"""Calls that the fast path leaves: some special mode is active, or an operand needs an interpreter."""

from __future__ import annotations

from ..base.calls import CALLS
from ..base.grad_mode import mode
from ..modes.inference import general_in_mode
from ..modes.interpreters import Call, interpret, quick_call
from ..ops.core import Op
from ..ops.kinds import odd_test, refuse_odd
from .arguments import hashable

__all__ = ["intercept", "intercept_odd"]


def intercept(op: Op, tensors: tuple, attributes: dict):
    """A call while some special mode is active, or of an operand that needs an interpreter."""
    if mode.inference:
        return general_in_mode(op, tensors, attributes)
    out = quick_call(op, tensors, attributes)
    return interpret(Call(op, tensors, attributes, CALLS[op.name].plain)) if out is None else out


def intercept_odd(op: Op, tensors: tuple, attributes: dict):
    """The same of a call whose attributes may be odd: NOTE [Whole numbers]."""
    odd = odd_test(op)
    if odd is not None and odd(attributes):
        attributes = {name: hashable(value) for name, value in attributes.items()}
        refuse_odd(op, attributes.items())
    return intercept(op, tensors, attributes)
