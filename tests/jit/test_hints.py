"""Hints of compiled functions: where a loop is unrolled, and where answers are always new."""

from __future__ import annotations

import warnings

import pytest

import nbgrad
from nbgrad.jit import compile


def told(fn, *calls):
    """What a compiled function says in some calls."""
    compiled = compile(fn)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for x in calls:
            assert compiled(x).tolist() == fn(x).tolist()
    assert all(each.filename == __file__ for each in found)
    return [str(each.message) for each in found]


def line_of(fn, behind=1):
    """The line of a function that lies so far behind its first."""
    return f"{__file__}:{fn.__code__.co_firstlineno + behind}"


def halved(x):
    return x * 2 if int(x) % 2 else x


def branching(x):
    positive = x > 0
    return x if positive else -x


def masked(x):
    return x[x > 0]


@pytest.mark.parametrize("fn, make", [(halved, lambda k: nbgrad.tensor(1.0 + k)), (masked, lambda k: nbgrad.arange(9.0) - k)])
def test_answers_that_are_new_three_times(fn, make):
    """Are named with the line that asks, once."""
    assert told(fn, *map(make, range(3))) == []
    (message,) = told(fn, *map(make, [*range(6), *range(6)]))
    assert f"were others 3 times, at {line_of(fn)}. Hint: nbgrad.cond, nbgrad.where and nbgrad.while_loop" in message


def test_answers_that_come_again():
    """A branch has two answers, which are two variants, and nothing is said."""
    assert told(branching, *[nbgrad.tensor(1.0 - 2 * (k % 2)) for k in range(12)]) == []


def test_answers_behind_others():
    """The place that is named is the one whose answers are new."""

    def fn(x):
        y = x + 1 if x[0] > 0 else x
        return y * int(x[1])

    calls = [nbgrad.tensor([1.0 - 2 * (k % 2), 1.0 + k]) for k in range(5)]
    (message,) = told(fn, *calls)
    assert line_of(fn, 2) in message


def looping(x, trips=1100):
    for _ in range(trips):
        x = (x * 0.5 + 1).sin()
        x = x - 1
    return x


def test_a_loop_that_is_unrolled():
    """Into more than 4,000 calls, is named with a line of it."""
    (message,) = told(looping, nbgrad.ones(2), nbgrad.ones(2))
    assert "looping: a loop was unrolled into 4400 calls" in message and "Hint: nbgrad.scan" in message
    assert line_of(looping, 2) in message
    assert told(lambda x: looping(x, 900), nbgrad.ones(2)) == []
