"""Runs that are undone afterwards: nobody is to see what they print or warn of."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from threading import local
from typing import Any, Iterator

__all__ = ["rehearsal", "rehearsing"]

rehearsals = local()


def rehearsing() -> bool:
    """Whether what this thread runs is undone afterwards, and seen by nobody."""
    return bool(rehearsals.__dict__)


@contextmanager
def rehearsal() -> Iterator[None]:
    """Inside, this thread warns of nothing, and compiled functions run as they are."""
    show = warnings.showwarning

    def shown(*args: Any, **kwargs: Any) -> None:
        """Of other threads."""
        if not rehearsing():
            show(*args, **kwargs)

    rehearsals.on, warnings.showwarning = True, shown
    try:
        yield
    finally:
        rehearsals.__dict__.clear()
        if warnings.showwarning is shown:
            warnings.showwarning = show
