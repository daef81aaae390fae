"""Native code: what stands in for ``pool`` where there can be no workers."""

from __future__ import annotations

from .language import Words, c_entry, raw
from .primitives import run_chunk

__all__ = ["parallel", "pool_configure", "pool_counters", "pool_ensure", "pool_forget"]


@c_entry
def pool_configure(wanted: int, steps_aside: int) -> None:
    """Nothing to set."""


@c_entry
def pool_ensure() -> int:
    """How many workers there are."""
    return 0


@c_entry
def pool_forget() -> None:
    """Nothing to forget."""


@c_entry
def pool_counters(out: Words) -> None:
    """Nothing was counted."""


@raw
def parallel(kernel: int, units: int, grain: int, pointers: int) -> None:
    """Run a kernel over ``[0, units)``."""
    run_chunk(kernel, 0, units, pointers)
