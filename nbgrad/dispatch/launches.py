"""Launches in Python, which a capture may put off: it wants layouts, and the elements of few results (jit/capture/pending.py)."""

from __future__ import annotations

from threading import get_ident
from typing import Any, Callable, Sequence

from ..base.grad_mode import traces
from ..graph.saved import tensors_in
from ..native.plans import Plan
from ..tensors.tensor import native

__all__ = ["capture", "fresh", "into", "need", "truly"]


def capture() -> Any:
    """The innermost capture of this thread, also beneath a call that it writes down; None: there is none."""
    this = get_ident()
    return next((trace for trace in traces[::-1] if trace.thread == this), None)


def fresh(plan: Plan, *operands: Any) -> Any:
    """Launch and return the new result, or a tuple of several."""
    found = capture() if traces else None
    if found is not None:
        if found.lazy:
            return found.pending.fresh(plan, operands)
        need(operands)
    return native.fresh(plan, *operands)


def into(plan: Plan, *tensors: Any) -> None:
    """Launch with outputs that exist; their versions move."""
    found = capture() if traces else None
    if found is not None:
        if found.lazy:
            found.pending.into(plan, tensors)
            return
        need(tensors)
        overwrite(tensors[: len(plan.outs)])
    native.into(plan, *tensors)


def need(values: Sequence[Any]) -> None:
    """The elements of tensors, those in nested sequences too, are about to be read."""
    this = get_ident()
    for trace in tuple(traces):
        if trace.thread == this and trace.pending.unknown:
            trace.pending.need(tensors_in(values))


def overwrite(values: Sequence[Any]) -> None:
    """Memory is about to be written to by something else than such a launch."""
    this = get_ident()
    for trace in tuple(traces):
        if trace.thread == this:
            for x in values:
                trace.pending.overwrite(x)


def truly(run: Callable[..., Any], op: Any, tensors: tuple, attributes: dict) -> Any:
    """``run(op, tensors, attributes)``, which may look at elements."""
    found = capture() if traces else None
    if found is None:
        return run(op, tensors, attributes)
    need((*tensors, *attributes.values()))
    lazy, found.lazy = found.lazy, False
    try:
        return run(op, tensors, attributes)
    finally:
        found.lazy = lazy
