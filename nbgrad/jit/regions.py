"""Compiled functions and bodies of loops inside of ``autocast``: each region has variants of its own, of the function with the region
within it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator

from ..base.grad_mode import special
from .rehearsals import active_modes, is_observed

if TYPE_CHECKING:
    from ..modes.autocast import Region
    from .compile import Compiled

__all__ = ["call_in_region", "in_region", "in_region_alone", "outside_of_regions", "region_of_thread"]


def region_of_thread() -> Region | None:
    """The region of this thread, where one converts anything; nothing is imported where there is none."""
    if not any(getattr(mode, "rank", None) == "casting" for mode in special):
        return None
    from ..graph.task import state
    from ..modes.autocast import casting

    region = casting.region
    return region if region.is_on and region.task is state.task else None


@contextmanager
def outside_of_regions() -> Iterator[None]:
    """Inside, nothing is converted, whatever region this thread is in."""
    if region_of_thread() is None:
        yield
        return
    from ..modes.autocast import OUTSIDE, casting

    before = casting.enter(OUTSIDE)
    try:
        yield
    finally:
        casting.enter(before)


def in_region(fn: Callable, region: Region) -> Callable:
    """A function that is called in a region."""
    from ..modes.autocast import casting

    def within(*args: Any) -> Any:
        before = casting.enter(region)
        try:
            return fn(*args)
        finally:
            casting.enter(before)

    return within


def in_region_alone() -> bool:
    """Whether a region of mixed precision, this thread's, is all that lets calls mean something else than usual."""
    modes = active_modes()
    if len(modes) != 1 or getattr(modes[0], "rank", None) != "casting" or is_observed():
        return False
    from ..graph.task import state
    from ..modes.autocast import casting, presence

    return casting.region.is_on and casting.region.task is state.task and presence.count == 1


def call_in_region(compiled: Compiled, args: tuple, kwargs: dict) -> Any:
    """A call of what a compiled function is in the region of this thread: a function that is called in no region."""
    from ..modes.autocast import OUTSIDE, casting, kept

    region = casting.region
    key = region.key()
    inner = compiled._regions_.get(key)
    if inner is None:
        within: Any = kept(compiled.fn)
        within.__name__ = within.__qualname__ = getattr(compiled.fn, "__name__", "function")
        inner = compiled._regions_[key] = compiled._made_of_(within)
    casting.enter(OUTSIDE)
    try:
        return inner(*args, **kwargs)
    finally:
        casting.enter(region)
