"""Bounded tables: they keep what was made for one kind of call, and never grow beyond a limit, as new kinds may come for ever."""

from __future__ import annotations

from typing import Any, Callable

__all__ = ["MOST_PLANS", "Plans", "keep", "keep_plan"]

MOST_PLANS = 4096
# Hides a container from the cyclic collector; set once native code is loaded: NOTE [Collector] in native/launches.py.
conceal: Callable[[Any], None] = lambda x: None


def keep(table: dict, key: Any, value: Any, most: int = MOST_PLANS) -> Any:
    """Put a value into a table that never outgrows ``most`` entries; returns the value."""
    if len(table) >= most:
        table.clear()
    table[key] = value
    return value


def keep_plan(table: dict, key: Any, plan: Any, most: int = MOST_PLANS) -> Any:
    """``keep`` of a plan in a table that lives as long as the program, so that the collector need not see the key."""
    conceal(key)
    if len(table) >= most:
        table.clear()
    table[key] = plan
    return plan


class Plans(dict):
    """Plans by layouts and attributes; ``plans[key]`` makes the plan that is missing.

    A subscript of this class takes hardly longer than one of a dict; a KeyError and what catches it would take much longer.

    Args:
        make: ``make(key)`` -> plan; None where the call must look closer, which then sees a KeyError.
        most: how many entries it may have.
    """

    __slots__ = ("make", "most")

    def __init__(self, make: Callable[[Any], Any], most: int = MOST_PLANS):
        self.make, self.most = make, most

    def __missing__(self, key):
        plan = self.make(key)
        if plan is None:
            raise KeyError(key)
        # ``keep_plan`` without its frame (benchmarks/test_overhead.py: a shape never seen before).
        conceal(key)
        if len(self) >= self.most:
            self.clear()
        self[key] = plan
        return plan

    def made(self, key: Any, kept_as: Any = None) -> Any:
        """The plan that is missing, made and kept; None where the call must look closer.

        Args:
            kept_as: the key under which it is kept, if that is not ``key``.
        """
        plan = self.make(key)
        return None if plan is None else keep_plan(self, key if kept_as is None else kept_as, plan, self.most)
