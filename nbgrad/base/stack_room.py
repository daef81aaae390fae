"""Room on Python's stack for calls that nest deeper than it allows, given back when they are done.

A limit that stays high lets other code that recurses without end, as a parser of hostile JSON does, overrun the thread's stack,
where it would have got a ``RecursionError``.
"""

from __future__ import annotations

import sys
from threading import Lock

__all__ = ["StackRoom"]

SPARE = 1000  # frames more than are asked for


class StackRoom:
    """Python's recursion limit, raised while somebody needs it.

    >>> room, before = StackRoom(), sys.getrecursionlimit()
    >>> room.take(before + 1), sys.getrecursionlimit() > before
    (True, True)
    >>> room.give_back()
    >>> sys.getrecursionlimit() == before
    True
    """

    def __init__(self) -> None:
        self.lock, self.takers, self.before, self.set = Lock(), 0, 0, 0

    def take(self, frames: int) -> bool:
        """Let calls nest so deep; whether the limit had to be raised, and is to be given back."""
        if sys.getrecursionlimit() >= frames:
            return False
        with self.lock:
            if not self.takers:
                self.before = sys.getrecursionlimit()
            self.takers += 1
            self.set = frames + SPARE
            sys.setrecursionlimit(self.set)
        return True

    def give_back(self) -> None:
        """Undo one ``take`` that raised the limit; the last one puts back what was there, unless somebody else has set it since."""
        with self.lock:
            self.takers -= 1
            if not self.takers and sys.getrecursionlimit() == self.set:
                sys.setrecursionlimit(self.before)
