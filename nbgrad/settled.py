"""Composites that only spell another operation: what they come to is found once for a kind of call.

NOTE [Settled spellings]: ``x.flatten(1)`` is ``x.view_shape(...)`` with a shape that follows from the layout of ``x`` and from the
arguments. The formula of such a composite is run on a ``Stand``, which knows a layout and notes the methods that are called on it;
the next call of that layout and those arguments takes them from a table. Formulas that ask for anything else are run as ever.
"""
from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from .layout import Layout
from .ops.core import Composite
from .size import Size
from .tables import keep
from .tensor import Tensor

__all__ = ["settled"]


class Stand:
    """What stands for a tensor of a layout: it answers questions about that and notes what is done to it."""

    __slots__ = ("layout", "steps")

    def __init__(self, layout: Any, steps: tuple = ()):
        self.layout, self.steps = layout, steps     # of a result no layout is known

    shape = property(lambda self: self.layout.shape)
    ndim = property(lambda self: self.layout.ndim)
    dtype = property(lambda self: self.layout.dtype)

    def numel(self) -> int:
        """How many elements."""
        return self.layout.numel

    def is_complex(self) -> bool:
        """Whether the elements are complex."""
        return self.layout.dtype.is_complex

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **named: Stand(None, (*self.steps, (name, args, named)))


def found(op: Composite, layout: Layout, args: tuple) -> tuple | None:
    """``(function, arguments)`` that the call comes to, or several of them; None where it is more than that."""
    try:
        made = op.formula(Stand(layout), *args)
    except Exception:           # of another kind of formula, or of wrong arguments: their own call says so
        return None
    each = [step_of(one) for one in made] if type(made) is tuple else [step_of(made)]
    if not each or None in each:
        return None
    return several(each) if type(made) is tuple else each[0]


def several(each: list) -> tuple:
    """The function that gives a tuple of results."""
    return (lambda x, *steps: tuple([function(x, *rest) for function, rest in steps])), each


def step_of(made: Any) -> tuple | None:
    """The only method that was called."""
    if type(made) is not Stand or len(made.steps) != 1:
        return None
    name, args, named = made.steps[0]
    function = vars(Tensor).get(name)
    return None if named or not callable(function) else (function, args)


def settled(op: Composite) -> Callable:
    """The call of a composite, quicker where it has been settled."""
    formula = op.formula
    table: dict = {}
    missing: tuple = (None, ())

    @wraps(formula)
    def call(x, *args, **named):
        for value in args:          # True and 1.0 equal 1, and would find what that has left
            kind = type(value)
            if kind is tuple or kind is Size:
                for size in value:
                    if type(size) is not int:
                        return formula(x, *args, **named)
            elif kind is not int and value is not None:
                return formula(x, *args, **named)
        if named:
            return formula(x, *args, **named)
        try:
            function, rest = table.get((x.layout, *args), missing)
        except AttributeError:
            return formula(x, *args)
        if function is not None:
            return function(x, *rest)
        out = formula(x, *args)
        if isinstance(x, Tensor) and not x.layout.special and (x.layout, *args) not in table:
            keep(table, (x.layout, *args), found(op, x.layout, args) or missing)
        return out
    return call
