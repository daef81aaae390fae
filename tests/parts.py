"""Which cases a run takes, where all of them would take longer than anybody waits.

NOTE [Parts of a run]: tests over the whole table of operations, in each of many modes.
  1. ``@pytest.mark.part(of, *which)``: a run takes those cases whose hash modulo ``of`` is among ``which``; with ``--slow`` all
  2. the hash is of the operation (the parameter ``name``), else of the case's id: equal in every run, on every machine; what is
     added to the table moves nothing else
  3. tests, or values of a parameter (``alternating``), that are marked with every ``which`` share the operations out: each is seen
     in one of the modes
  4. an operation whose row says ``seldom``: none of its cases, unless somebody asks for all or names it; what decides about it in
     every run is a test of its own
  5. who names cases, by an id or by ``-k``, gets them all: ``pytest tests -k softsign`` is every test of that operation
  6. a case that the run does not take, or that is ``slow``, is never made: making it takes as long in each process as a small test
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest

__all__ = ["SELDOM", "alternating", "in_part", "take_part", "whole_tests_are_asked_for"]

# Names of operations, see NOTE [Parts of a run]; their rows enter them.
SELDOM: set[str] = set()


def alternating(*values: Any) -> list[Any]:
    """Values of a parameter between which the operations alternate: a run takes every other one."""
    return [pytest.param(value, marks=pytest.mark.part(2, k % 2)) for k, value in enumerate(values)]


def in_part(marks: list[tuple[int, ...]], name: str) -> bool:
    """Whether a run takes the case of that name.

    Args:
        marks: ``(of, *which)`` of each mark.
    """
    seen = zlib.crc32(name.encode())
    return all(seen % of in which for of, *which in marks)


def is_taken(marks: list[tuple[int, ...]], call: Any) -> bool:
    """Whether a run takes this case of a test with such marks."""
    if call.params.get("name") in SELDOM:
        return False
    marks = [*marks, *(mark.args for mark in call.marks if mark.name == "part")]
    return in_part(marks, str(call.params.get("name", call.id)))


def whole_tests_are_asked_for(config: Any) -> bool:
    """Whether nobody named cases, nor asked for all."""
    return not (config.getoption("--slow") or config.getoption("keyword") or any("[" in argument for argument in config.args))


def take_part(test: Any, calls: list[Any]) -> list[Any]:
    """The cases of a test that a run takes; of cases that would all be skipped, the first one, which says why.

    Args:
        test: has ``nodeid`` and ``iter_markers``.
        calls: have ``params``, ``id`` and ``marks``.

    Raises:
        UsageError: nothing is left of the test.
    """
    marks = [mark.args for mark in test.iter_markers("part")]
    found = [call for call in calls if is_taken(marks, call)]
    if calls and not found:
        raise pytest.UsageError(f"part: no case of {test.nodeid} is left. Hint: fewer parts, or another one.")
    if any(mark.args[:1] == (True,) for mark in test.iter_markers("skipif")) or any(test.iter_markers("slow")):
        return found[:1]
    return [call for call in found if not any(mark.name == "slow" for mark in call.marks)] or found[:1]
