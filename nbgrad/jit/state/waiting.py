"""Threads that call one compiled function: while one captures, the others wait.

NOTE [One captures]: a capture puts other things where names hold state, runs the function, and puts back what was there. Another
thread that calls the function meanwhile would see that, and what it changes would be lost: so it waits, and a capture waits for
those that run the function as it is. Nobody waits for longer than ``MOST_WAITED``, for threads may also wait for each other in the
function itself. Native calls look for nothing: while a function is captured, it has none. Calls that exchange state in names hold a
lock from where they read it to where they have written it.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from threading import Condition, get_ident
from time import monotonic
from typing import Any, Callable, Iterator

__all__ = ["MOST_WAITED", "Room"]

MOST_WAITED = 10.0  # seconds


class Room:
    """Where a compiled function, or all that one makes as a method, is captured and run.

    Attributes:
        captor: the thread that captures, or 0. runs: how often threads run it as it is.
    """

    def __init__(self) -> None:
        self.condition = Condition()
        self.captor = 0
        self.runs = Counter[int]()

    def wait(self, runs: bool = False) -> bool:
        """Until no other thread captures, and with ``runs`` none runs it as it is; whether there was one. The lock is held."""

        def free() -> bool:
            mine = get_ident()
            return self.captor in (0, mine) and not (runs and any(count and each != mine for each, count in self.runs.items()))

        if free():
            return False
        end = monotonic() + MOST_WAITED
        while not free() and (left := end - monotonic()) > 0:
            self.condition.wait(left)
        return True

    def await_capture(self) -> None:
        """Wait until no other thread captures."""
        if self.captor not in (0, get_ident()):
            with self.condition:
                self.wait()

    @contextmanager
    def capturing(self) -> Iterator[bool]:
        """Within, this thread captures; whether there was another one before."""
        with self.condition:
            waited = self.wait(runs=True)
            before, self.captor = self.captor, get_ident()
        try:
            yield waited
        finally:
            with self.condition:
                self.captor = before
                self.condition.notify_all()

    def run(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        """The function as it is."""
        mine = get_ident()
        with self.condition:
            self.wait()
            self.runs[mine] += 1
        try:
            return fn(*args, **kwargs)
        finally:
            with self.condition:
                self.runs[mine] -= 1
                if not self.runs[mine]:
                    del self.runs[mine]
                    self.condition.notify_all()
