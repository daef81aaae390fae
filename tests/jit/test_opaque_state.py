"""What compiled functions take from iterators and from others' random numbers is taken in every call."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compile

X = nbgrad.ones(2)
generator = np.random.default_rng


def numbers():
    """0, 1, 2."""
    k = 0
    while True:
        yield k
        k += 1


@pytest.mark.filterwarnings("ignore:compile.*an iterator, which cannot be put back")
@pytest.mark.parametrize(
    "make",
    [
        numbers,
        itertools.count,
        lambda: iter(range(9)),
        lambda: iter([*range(9)]),
        lambda: map(int, range(9)),
        lambda: zip(range(9)),
    ],
)
def test_iterators(make):
    """Each call gets the next member."""
    members = make()

    def fn(x):
        found = next(members)
        return x * (found[0] if isinstance(found, tuple) else found)

    compiled = compile(fn)
    assert [compiled(X).tolist()[0] for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("ignore:compile.*runs as it is")
@pytest.mark.parametrize(
    "make",
    [
        numbers,
        itertools.count,
        lambda: zip(range(9)),
        lambda: iter([*range(9)]),
        lambda: reversed([*range(9, -1, -1)]),
        lambda: iter(dict.fromkeys(range(9))),
        lambda: iter(bytes(range(9))),
    ],
)
@pytest.mark.parametrize("take", [next, lambda members: next(itertools.islice(members, 1)), lambda members: first(members)])
def test_iterators_beside_state(make, take):
    """A call that is captured again takes no more than the function."""
    members, held = make(), {"n": 0}

    def fn(x):
        held["n"] += 1
        found = take(members)
        return x * (found[0] if isinstance(found, tuple) else found) + held["n"]

    compiled = compile(fn)
    assert [compiled(X).tolist()[0] for _ in range(4)] == [1.0, 3.0, 5.0, 7.0]


def first(members):
    """The first that a loop comes to."""
    for x in members:
        return x


def test_iterators_of_which_the_program_does_not_speak():
    """A loop elsewhere takes nothing from them."""
    held = {"data": numbers(), "scale": 2.0}

    def fn(x):
        for _ in range(2):
            x = x * held["scale"]
        return x

    compiled = compile(fn, fullgraph=True)
    compiled(X), compiled(X)
    assert len(compiled.variants) == 1


def test_an_iterator_that_nobody_takes_from():
    """A program that only names it holds."""
    members = itertools.count()
    compiled = compile(lambda x: x * (2 if members is not None else 1))
    compiled(X), compiled(X)
    assert len(compiled.variants) == 1


@pytest.mark.parametrize("name", ["random", "numpy", "gauss", "normal", "Random", "Generator", "RandomState", "PCG64"])
def test_random_numbers_of_others(name):
    """Each call draws its own: those that the function draws."""

    def draws(wrap):
        random.seed(3)
        np.random.seed(3)
        own, rng, old, other, gauss, normal = (
            random.Random(3),
            np.random.default_rng(3),
            np.random.RandomState(3),
            np.random.RandomState(np.random.PCG64(3)),
            random.gauss,
            np.random.normal,
        )
        functions = {
            "random": lambda x: x * random.random(),
            "numpy": lambda x: x * float(np.random.rand()),
            "gauss": lambda x: x * gauss(0, 1),
            "normal": lambda x: x * normal(),
            "Random": lambda x: x * own.random(),
            "Generator": lambda x: x * rng.normal(),
            "RandomState": lambda x: x * old.normal(),
            "PCG64": lambda x: x * other.normal(),
        }
        fn = wrap(functions[name])
        return [fn(X).tolist() for _ in range(5)]

    assert draws(compile) == draws(lambda fn: fn)


def test_random_numbers_that_others_draw_do_not_matter():
    """Only a program that draws depends on the generator."""
    compiled = compile(lambda x: x * (random.random() if x.ndim > 1 else 2.0))
    for _ in range(3):
        compiled(X)
        random.random()
        np.random.rand()
    assert len(compiled.variants) == 1
