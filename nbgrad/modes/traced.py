"""The mark of tensors that a capture follows, and the captures that run: see jit/capture/capture.py, their interpreter.

NOTE [Traced]: a traced tensor is a tensor whose layout is marked TRACED. It has memory, a version and a history like any other; the
mark sends every call of it to the interpreters, the last of which is that of captures. Beneath it the call runs on the tensors
themselves, whose marks are taken off meanwhile.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import get_ident
from typing import Any, Iterator

from ..base.grad_mode import capture_of_thread, traces
from ..tensors.batch_levels import BATCHED
from ..tensors.layout import TRACED, marked_layout
from ..tensors.tensor import Tensor, put_layout

__all__ = [
    "TRACED",
    "Unfit",
    "capture_of_thread",
    "is_traced",
    "is_watched",
    "mark",
    "note_alias",
    "note_detached",
    "note_flag_set",
    "note_gradient_read",
    "note_gradient_set",
    "note_history_asked",
    "note_moved",
    "refuse_in_graph",
    "unmark",
    "unseen",
]


class Unfit(Exception):
    """A captured program does not hold for a call, of which nothing has been done yet."""


def is_traced(x: Any) -> bool:
    """Whether a capture follows the tensor, beneath whatever else is marked of it."""
    return isinstance(x, Tensor) and x.layout.is_traced()


def is_watched(x: Tensor) -> bool:
    """Whether a capture of this thread follows the elements of a tensor, which is no batch: they may be others in another run."""
    trace = capture_of_thread() if traces else None
    return trace is not None and x.layout.special is not BATCHED and trace.variables.is_watched(x)


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


def note_gradient_read(x: Tensor) -> None:
    """A program looks at the gradient of a tensor."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_gradient_read(x)


def note_history_asked(x: Tensor) -> None:
    """A program asks whether a tensor was computed, and by what."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_history_asked(x)


def note_moved(x: Tensor, name: str) -> None:
    """A program gives a tensor another shape, in place."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_moved(x, name)


def note_detached(x: Tensor) -> None:
    """A program cuts a tensor off its history."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_detached(x)


def note_alias(x: Tensor) -> Tensor:
    """A program has made a tensor without a history, on the memory of another one; it."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_alias(x)
    return x


def note_flag_set(x: Tensor) -> None:
    """A program says anew whether a tensor needs a gradient."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_flag_set(x)


def note_gradient_set(x: Tensor) -> None:
    """A program exchanges the gradient of a tensor, whatever it was."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_gradient_set(x)


@contextmanager
def unseen() -> Iterator[None]:
    """Inside, this thread's captures write nothing down: for what is known before a graph runs."""
    found = [trace for trace in tuple(traces) if trace.thread == get_ident()]
    for trace in found:
        trace.depth += 1
    try:
        yield
    finally:
        for trace in found:
            trace.depth -= 1


def note_data(x: Tensor, value: Tensor) -> bool:
    """A program is about to put a tensor on the memory of another one; whether it is captured, and holds that."""
    capture = capture_of_thread()
    if capture is not None:
        capture.note_data(x, value)
    return capture is not None


def refuse_in_graph(what: str, hint: str) -> None:
    """Refuse what no graph holds, in a thread that captures one.

    Raises:
        GraphError: it captures.
    """
    for trace in tuple(traces):
        trace.refuse(what, hint)
