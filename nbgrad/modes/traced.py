"""The mark of tensors that a capture follows, and the captures that run: see jit/capture.py, their interpreter.

NOTE [Traced]: a traced tensor is a tensor whose layout is marked TRACED. It has memory, a version and a history like any other; the
mark sends every call of it to the interpreters, the last of which is that of captures. Beneath it the call runs on the tensors
themselves, whose marks are taken off meanwhile.
"""

from __future__ import annotations

from typing import Any

from ..tensors.layout import marked_layout
from ..tensors.tensor import Tensor, put_layout

__all__ = ["TRACED", "is_traced", "mark", "unmark"]


class Mark:
    """See NOTE [Traced]."""

    def __repr__(self) -> str:
        return "TRACED"


TRACED = Mark()


def is_traced(x: Any) -> bool:
    """Whether a capture follows the tensor, beneath whatever else is marked of it."""
    layout = x.layout if isinstance(x, Tensor) else None
    while layout is not None and layout.special is not TRACED:
        layout = layout.beneath
    return layout is not None


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
