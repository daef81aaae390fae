"""The public functions of operations by name, and functions that are an operation's native call where they can be."""

from __future__ import annotations

from typing import Any, Callable

from ..base.calls import CALLS
from ..dispatch.operands import refitted
from ..ops.core import Elementwise

__all__ = ["FUNCTIONS", "direct"]


# Public functions by name; the package's namespace is filled from it.
FUNCTIONS: dict[str, Callable] = {}


def direct(op: Elementwise, general_form: Callable[[tuple, dict], Any], with_options: Callable | None = None) -> Callable:
    """A function that is the native call of ``op`` where it is given operands and nothing else: one frame, as of an operator.

    Args:
        general_form: ``general_form(operands, named)`` for all other calls.
        with_options: called as the function is where it is given its operands, and anything more but ``out``.
    """
    caller = CALLS[op.name].caller
    run, count = caller.run, len(op.operands) if caller.simple else 0
    if count == 1:

        def function(x=MISSING, /, *more, **named):
            if x is not MISSING:
                if not named and not more:
                    return run(x)
                if with_options is not None and "out" not in named:
                    return with_options(x, *more, **named)
            return general_form(passed_operands(x, *more), named)

    elif count == 2:

        def function(x=MISSING, y=MISSING, /, *more, **named):
            if y is not MISSING:
                if not named and not more:
                    try:
                        return run(x, y)
                    except OverflowError as error:
                        return refitted(op, (x, y), error, run)
                if with_options is not None and "out" not in named:
                    return with_options(x, y, *more, **named)
            return general_form(passed_operands(x, y, *more), named)

    else:

        def function(*operands, **named):
            return general_form(operands, named)

    return function


MISSING = object()  # an operand that was not given


def passed_operands(*operands: Any) -> tuple:
    """The operands that were given."""
    return tuple([x for x in operands if x is not MISSING])
