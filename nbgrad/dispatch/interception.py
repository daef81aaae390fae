"""Calls that the fast path leaves, with attributes that may be odd."""

from __future__ import annotations

from ..base.calls import CALLS
from ..modes.interpreters import Call, intercept, interpret
from ..ops.core import Op
from ..ops.kinds import odd_test, refuse_odd
from .arguments import hashable

__all__ = ["intercept_odd"]


def intercept_odd(op: Op, tensors: tuple, attributes: dict):
    """``intercept`` of a call whose attributes may be odd: NOTE [Whole numbers]."""
    odd = odd_test(op)
    if odd is not None and odd(attributes):
        attributes = {name: hashable(value) for name, value in attributes.items()}
        refuse_odd(op, attributes.items())
        if odd(attributes):  # what only equals something finds no plan of that
            return interpret(Call(op, tensors, attributes, CALLS[op.name].plain))
    return intercept(op, tensors, attributes)
