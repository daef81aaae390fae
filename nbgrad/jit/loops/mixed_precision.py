"""Bodies inside of ``autocast``: each region has bodies of its own; what is derived of a body is converted by none."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator

from ...base.grad_mode import special

if TYPE_CHECKING:
    from ...modes.autocast import Region

__all__ = ["in_region", "outside_of_regions", "region_of_thread"]


def region_of_thread() -> Region | None:
    """The region of this thread, where one converts anything; nothing is imported where there is none."""
    if not any(getattr(mode, "rank", None) == "casting" for mode in special[:]):
        return None
    from ...graph.task import state
    from ...modes.autocast import casting

    region = casting.region
    return region if region.is_on and region.task is state.task else None


@contextmanager
def outside_of_regions() -> Iterator[None]:
    """Inside, nothing is converted, whatever region this thread is in."""
    if region_of_thread() is None:
        yield
        return
    from ...modes.autocast import OUTSIDE, casting

    before = casting.enter(OUTSIDE)
    try:
        yield
    finally:
        casting.enter(before)


def in_region(fn: Callable, region: Region) -> Callable:
    """A function that is called in a region."""
    from ...modes.autocast import casting

    def within(*args: Any) -> Any:
        before = casting.enter(region)
        try:
            return fn(*args)
        finally:
            casting.enter(before)

    return within
