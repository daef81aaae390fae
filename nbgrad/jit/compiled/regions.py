"""Compiled functions inside of ``autocast``: each region has variants of its own, of the function with the region within it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .special_modes import active_modes, is_observed

if TYPE_CHECKING:
    from ..compile import Compiled

__all__ = ["call_in_region", "in_region_alone"]


def in_region_alone() -> bool:
    """Whether a region of mixed precision, this thread's, is all that lets calls mean something else than usual."""
    modes = active_modes()
    if len(modes) != 1 or getattr(modes[0], "rank", None) != "casting" or is_observed():
        return False
    from ...graph.task import state
    from ...modes.autocast import casting, presence

    return casting.region.is_on and casting.region.task is state.task and presence.count == 1


def call_in_region(compiled: Compiled, args: tuple, kwargs: dict) -> Any:
    """A call of what a compiled function is in the region of this thread: a function that is called in no region."""
    from ...modes.autocast import OUTSIDE, casting, kept

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
