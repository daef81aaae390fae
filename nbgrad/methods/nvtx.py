"""``torch.cuda.nvtx``: ranges and marks that NVIDIA's profilers show.

They go to the package ``nvtx`` where it is installed; elsewhere nothing is done but counting how deep ranges are nested.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


class Depth(threading.local):
    """How many ranges this thread has pushed."""

    count = 0


_depth = Depth()


@cache
def package() -> Any:
    """The package; None where it is not installed."""
    try:
        import nvtx
    except ImportError:
        return None
    return nvtx


def range_push(msg: str) -> int:
    """Begin a range of this thread; how many are around it.

    >>> import nbgrad
    >>> nbgrad.cuda.nvtx.range_push("forward"), nbgrad.cuda.nvtx.range_push("attention")
    (0, 1)
    >>> nbgrad.cuda.nvtx.range_pop(), nbgrad.cuda.nvtx.range_pop()
    (1, 0)
    """
    if (found := package()) is not None:
        found.push_range(msg)
    _depth.count += 1
    return _depth.count - 1


def range_pop() -> int:
    """End the innermost range of this thread; how many are around it. Without one nothing is done, and -1 returned.

    >>> import nbgrad
    >>> nbgrad.cuda.nvtx.range_pop()
    -1
    """
    if not _depth.count:
        return -1
    if (found := package()) is not None:
        found.pop_range()
    _depth.count -= 1
    return _depth.count


def range_start(msg: str) -> Any:
    """Begin a range that may end in another thread: what ``range_end`` takes.

    >>> import nbgrad
    >>> nbgrad.cuda.nvtx.range_end(nbgrad.cuda.nvtx.range_start("load"))
    """
    found = package()
    return None if found is None else found.start_range(msg)


def range_end(range_id: Any) -> None:
    """End a range that ``range_start`` has begun; None is none.

    >>> import nbgrad
    >>> nbgrad.cuda.nvtx.range_end(None)
    """
    if (found := package()) is not None and range_id is not None:
        found.end_range(range_id)


def mark(msg: str) -> None:
    """Mark this moment.

    >>> import nbgrad
    >>> nbgrad.cuda.nvtx.mark("epoch 3")
    """
    if (found := package()) is not None:
        found.mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range for the block, or as a decorator for calls of the function; ``msg.format(*args, **kwargs)`` is its name.

    >>> import nbgrad
    >>> with nbgrad.cuda.nvtx.range("step {}", 3):
    ...     y = nbgrad.ones(2).exp()
    """
    range_push(msg.format(*args, **kwargs) if args or kwargs else msg)
    try:
        yield
    finally:
        range_pop()
