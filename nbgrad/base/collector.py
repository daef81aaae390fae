"""Pauses of the cyclic garbage collector, while many objects are made that will stay."""

from __future__ import annotations

import gc

__all__ = ["CollectorPause"]


class CollectorPause:
    """No cyclic collection from here to ``end()``, to the end of a ``with`` block, or until the pause itself is dropped.

    An import of nbgrad makes 100,000 objects and no garbage, and a compilation provokes collections (benchmarks/test_startup.py).
    """

    __slots__ = ("enabled",)

    def __init__(self) -> None:
        self.enabled = gc.isenabled()
        gc.disable()

    def end(self) -> None:
        """Collect again, if that was so before."""
        if self.enabled:
            gc.enable()
        self.enabled = False

    def __enter__(self) -> CollectorPause:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    __del__ = end
