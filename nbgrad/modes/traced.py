"""The mark of tensors that a capture follows, and the captures that run: see jit/capture.py, their interpreter.

NOTE [Traced]: a traced tensor is a tensor whose layout is marked TRACED. It has memory, a version and a history like any other; the
mark sends every call of it to the interpreters, the last of which is that of captures. Beneath it the call runs on the tensors
themselves, whose marks are taken off meanwhile.
"""

from __future__ import annotations

from typing import Any

from ..base.grad_mode import traces
from ..tensors.layout import TRACED, marked_layout
from ..tensors.tensor import Tensor, put_layout

__all__ = ["TRACED", "is_traced", "mark", "refuse_in_graph", "unmark"]


def is_traced(x: Any) -> bool:
    """Whether a capture follows the tensor, beneath whatever else is marked of it."""
    return isinstance(x, Tensor) and x.layout.is_traced()


def mark(x: Tensor) -> Tensor:
    """Have the captures follow a tensor."""
    if x.layout.special is not TRACED:
        put_layout(x, marked_layout(x.layout, TRACED))
    return x


def unmark(x: Tensor) -> Tensor:
    """The opposite."""
    if x.layout.special is TRACED:
        put_layout(x, x.layout.unmarked())
    return x


def refuse_in_graph(what: str, hint: str) -> None:
    """Refuse what no graph holds, in a thread that captures one.

    Raises:
        GraphError: it captures.
    """
    for trace in tuple(traces):
        trace.refuse(what, hint)
