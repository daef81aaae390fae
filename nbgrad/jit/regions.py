"""Compiled functions inside of ``autocast``: each region has variants of its own, of the function with the region within it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.grad_mode import special

if TYPE_CHECKING:
    from .compile import Compiled

__all__ = ["in_region_alone", "of_region"]


def in_region_alone() -> bool:
    """Whether a region of mixed precision is the only special mode, and this thread's."""
    if len(special) != 1 or getattr(special[0], "rank", None) != "casting":
        return False
    from ..graph.task import state
    from ..modes.autocast import casting, presence

    return casting.region.is_on and casting.region.task is state.task and presence.count == 1


@contextmanager
def as_region(region: Any) -> Iterator[None]:
    """That region, or none, until the end of the block."""
    from ..modes.autocast import casting

    before = casting.enter(region)
    try:
        yield
    finally:
        casting.enter(before)


def of_region(compiled: Compiled, make: Callable[[Callable], Compiled]) -> Callable:
    """What a compiled function is in the region of this thread: a function that is called in no region."""
    from ..modes.autocast import OUTSIDE, casting

    region = casting.region
    key = (*region.dtypes.values(), *region.enabled.values())
    inner = compiled._regions_.get(key)
    if inner is None:
        fn = compiled.fn

        def within(*args: Any, **kwargs: Any) -> Any:
            with as_region(region):
                return fn(*args, **kwargs)

        within.__name__ = within.__qualname__ = getattr(fn, "__name__", "function")
        inner = compiled._regions_[key] = make(within)

    def call(*args: Any, **kwargs: Any) -> Any:
        with as_region(OUTSIDE):
            return inner(*args, **kwargs)

    return call
