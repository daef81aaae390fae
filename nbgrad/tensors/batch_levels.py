"""The open levels of ``vmap``: the batch dimensions that it hides from the function that it maps.

A level is one mapped dimension. It is open while the function runs; a tensor that depends on it must not be used afterwards.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Iterator, TypeGuard, cast

from ..base.errors import GraphError, NotSupportedError
from ..base.grad_mode import capture_of_thread, traces, transforming, unusual
from .layout import WRAPPER, Layout, sparse_marks

if TYPE_CHECKING:
    from ..modes.batched import Batched

__all__ = [
    "BATCHED",
    "BatchingError",
    "Level",
    "LevelState",
    "ask_values",
    "leave_graph",
    "open_levels",
    "state",
    "opened",
    "hidden_levels",
    "is_batched",
    "noted",
    "random_levels",
    "require_values",
    "whole",
]

# Marks the layouts of batched tensors: see layout.marked_layout.
BATCHED = "batched"

_numbers = count(1)

# All levels that are open anywhere in the process: while it is empty, which is one load to see, nothing is batched.
open_levels: list[Level] = []


class BatchingError(NotSupportedError, RuntimeError):
    """Something that has no meaning for all elements of a batch at once."""


def require_values(op: str, layout: Layout) -> None:
    """Refuse to read the elements of a batched tensor, or of one that a capture follows.

    Raises:
        BatchingError: it is batched. GraphError: a graph would hold what they are now. NotSupportedError: it is sparse.
    """
    if layout.special in sparse_marks:
        raise NotSupportedError(f"{op}: a sparse tensor's elements do not lie one after the other. Hint: x.to_dense().")
    if layout.special is WRAPPER:
        raise NotSupportedError(
            f"{op}: the tensor is a wrapper, whose class has __torch_dispatch__, and has no elements. Hint: ask the tensors that "
            "it wraps."
        )
    if layout.special and layout.is_traced():
        raise GraphError(
            f"{op}: it would read values of a tensor while a graph is captured, which knows only what is computed from them. "
            "Hint: nbgrad.where chooses by values; or call it outside."
        )
    if layout.special is BATCHED:
        raise BatchingError(
            f"{op}: vmap: it would read values, and the batch has others for each of its elements. Results whose "
            "shape depends on values cannot be batched. Hint: nbgrad.where keeps shapes; or call it outside."
        )


def ask_values(op: str, x: Any) -> None:
    """Python is about to read the elements of a tensor: in a capture of this thread what follows depends on them.

    Raises:
        BatchingError: it is batched. GraphError: a capture cannot follow.
    """
    trace = capture_of_thread() if traces and x.layout.special is not BATCHED else None
    if trace is None:
        if x.layout.special:
            require_values(op, x.layout)
    else:
        trace.ask(op, x)


def leave_graph(op: str, x: Any) -> None:
    """The program gets hold of the memory of a tensor, which no capture can follow.

    Raises:
        GraphError: in a capture, where the memory is not made of constants.
    """
    trace = capture_of_thread() if traces else None
    if trace is None:
        if x.layout.special:
            require_values(op, x.layout)
    else:
        trace.leave(op, x)


class Level:
    """One mapped dimension.

    Attributes:
        number: inner levels have higher ones.
        size: of the dimension.
        randomness: what random operations do: "error", "different" for every element of the batch, or "same" for all.
        directions: the batch is one of tangents, of the same values; gradients need not be told apart by it.
        open: whether tensors that depend on it may be used.
    """

    __slots__ = ("number", "size", "randomness", "directions", "open")

    def __init__(self, size: int, randomness: str = "error", directions: bool = False):
        self.number, self.size, self.randomness, self.directions, self.open = next(_numbers), size, randomness, directions, True

    def __repr__(self) -> str:
        return f"Level({self.number}, size={self.size})"


class LevelState(threading.local):
    """The open levels of a thread, outermost first."""

    levels: tuple[Level, ...] = ()


state = LevelState()


class opened(transforming):
    """A new innermost level for the extent of the block. A class: a generator takes longer (benchmarks/test_vmap.py)."""

    __slots__ = ("before",)
    transform: Level
    before: tuple[Level, ...]

    def __init__(self, size: int, randomness: str = "error", directions: bool = False):
        super().__init__(Level(size, randomness, directions))

    def __enter__(self) -> Level:
        level, self.before = self.transform, state.levels
        state.levels = (*self.before, level)
        open_levels.append(level)
        return cast(Level, super().__enter__())

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.transform.open = False
        open_levels.remove(self.transform)
        state.levels = self.before


@contextmanager
def noted(levels: tuple[Level, ...]) -> Iterator[None]:
    """While user code may meet tensors of levels that no ``vmap`` of its own has opened: in a backward pass."""
    open_levels.extend(levels)
    unusual.extend(levels)
    try:
        yield
    finally:
        for level in levels:
            open_levels.remove(level)
            unusual.remove(level)


def hidden_levels(sizes: tuple[int, ...]) -> tuple[Level, ...]:
    """Levels that only the tensors made with them know: inner to all that are open."""
    return tuple(map(Level, sizes))


def random_levels() -> tuple[Level, ...]:
    """The open levels of this thread for which random operations draw different numbers.

    Raises:
        BatchingError: one does not allow random operations.
    """
    if any(level.randomness == "error" for level in state.levels):
        raise BatchingError(
            "vmap: a random operation is called, and it is not said whether it draws the same numbers for all "
            "elements of the batch. Hint: vmap(..., randomness='different') or 'same', or draw outside."
        )
    return tuple(level for level in state.levels if level.randomness == "different")


def is_batched(x: Any) -> TypeGuard[Batched]:
    """Whether ``x`` is a batched tensor."""
    return getattr(getattr(x, "layout", None), "special", None) is BATCHED


def whole(x: Any) -> Any:
    """The tensor that holds the batch of a batched one; any other itself."""
    return x._value_ if x.layout.special is BATCHED else x
