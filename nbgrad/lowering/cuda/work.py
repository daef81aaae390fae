"""The workspace of a call: what steps hand on to later ones."""

from __future__ import annotations

from ...kernels.cuda.steps import Place, work

__all__ = ["Workspace"]

ALIGNED = 256  # bytes between parts


class Workspace:
    """Parts of a workspace, as they are taken.

    Attributes:
        size: bytes taken so far.
    """

    def __init__(self) -> None:
        self.size = 0

    def take(self, nbytes: int) -> Place:
        """A part of so many bytes."""
        place = work(self.size)
        self.size += -(-nbytes // ALIGNED) * ALIGNED
        return place
