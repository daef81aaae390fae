"""Composites of linear algebra all of whose results are one launch."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from ...base.bounded import keep
from ...base.grad_mode import mode, special
from ...dispatch.device_lowerings import are_on_gpu
from ...graph.edges import requires_grad
from ...tensors.tensor import Tensor, native
from .launches import launch, went_well


def key_of(args: tuple, named: dict) -> tuple:
    """By which a launch is found: layouts, and values with their types."""
    parts: list = [x.layout if isinstance(x, Tensor) else (x, type(x)) for x in args]
    if named:
        parts += [(name, x.layout if isinstance(x, Tensor) else (x, type(x))) for name, x in named.items()]
    return tuple(parts)


def at_once(choose: Callable) -> Callable:
    """A composite all of whose results are one launch, where nothing is recorded and no special mode is active.

    NOTE [At once]: with a gradient, the formula runs as it is written: an operation with all parts in a row, whose views are
    taken. Both are the same kernel, so the numbers are the same bits. What a launch reports (a singular matrix) is the formula's to
    say. ``choose`` takes the arguments: ``(routine, operands, attributes, finish)``, or None where it is more than a launch;
    ``finish`` makes of the results, the reports and the memory behind them what the function returns.
    """

    def decorate(formula: Callable) -> Callable:
        table: dict = {}
        fresh, found = native.fresh, table.get

        def prepare(args, named):
            key = key_of(args, named)
            if key in table:
                return table[key]
            ready = None
            args = [x.detach() if isinstance(x, Tensor) else x for x in args]  # which are told apart, also if they were one
            named = {name: x.detach() if isinstance(x, Tensor) else x for name, x in named.items()}
            chosen = choose(*args, **named)
            if chosen is not None and not are_on_gpu([x.layout for x in chosen[1]]):
                name, operands, attributes, finish = chosen
                plan = launch(name, tuple([x.layout for x in operands]), attributes)
                given = [*enumerate(args), *named.items()]
                order = tuple([next(place for place, value in given if value is x) for x in operands])
                if plan is not None:
                    ready = plan, None if order == tuple(range(len(args))) else order, finish
            keep(table, key, ready)
            if len(args) == 1 and not named:
                keep(table, args[0].layout, ready)
            return ready

        @wraps(formula)
        def call(*args, **named):
            if special:
                return formula(*args, **named)
            try:
                ready = found(args[0].layout if len(args) == 1 and not named else key_of(args, named), ABSENT)
            except (AttributeError, IndexError, TypeError):
                return formula(*args, **named)
            if ready is ABSENT:  # the formula checks the arguments; what it returns may differ in the last bits
                out = formula(*args, **named)
                ready = prepare(args, named)
                if ready is None:
                    return out
            if ready is None:
                return formula(*args, **named)
            plan, order, finish = ready
            operands = args if order is None else [named[k] if type(k) is str else args[k] for k in order]
            if mode.enabled:
                for x in operands:
                    if x._needs_grad_ and requires_grad(x):
                        return formula(*args, **named)
            out = fresh(plan, *operands)
            return finish(out) if went_well(out) else formula(*args, **named)

        return call

    return decorate


ABSENT: Any = object()
