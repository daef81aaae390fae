"""What a function does in Python happens once in every call, whether a graph holds it or not."""

from __future__ import annotations

import os
import random
import threading
import warnings
from array import array
from collections import deque
from contextvars import ContextVar

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import GraphError
from nbgrad.jit.guards.guards import Guards
from nbgrad.jit.state.snapshots import Snapshot

count = 0
VARIABLE, LOCAL = ContextVar("variable"), threading.local()


class Holder:
    """An object with attributes."""


class Slotted:
    """An object with slots."""

    __slots__ = ("n", "more")


class Counted:
    """A class that counts."""

    calls = 0


def appends():
    held = []
    return lambda k: held.append(k), lambda: held


def adds():
    held = {1}
    return lambda k: held.add(k), lambda: held


def pushes():
    held = deque([1], maxlen=3)
    return lambda k: held.append(k), lambda: list(held)


def extends():
    held, more = bytearray(b"a"), array("d", [1.0])

    def act(k):
        held.append(k)
        more.append(k)

    return act, lambda: (held, more)


def enters():
    held = {"a": 1, "b": [1]}

    def act(k):
        held.pop("a", None)
        held[k] = k
        held["b"].append(k)

    return act, lambda: held


def sets_attributes():
    held = Holder()
    held.n = held.gone = 0

    def act(k):
        held.n += 1
        if hasattr(held, "gone"):
            del held.gone
        held.new = k

    return act, lambda: vars(held)


def sets_slots():
    held = Slotted()
    held.n = 0

    def act(k):
        held.n += 1
        held.more = k

    return act, lambda: (held.n, getattr(held, "more", None))


def sets_classes():
    Counted.calls = 0

    def act(k):
        Counted.calls += 1

    return act, lambda: Counted.calls


def sets_globals():
    global count
    count = 0

    def act(k):
        global count
        count += 1

    return act, lambda: count


def sets_cells():
    n = 0

    def act(k):
        nonlocal n
        n += 1

    return act, lambda: n


def writes_arrays():
    held = np.zeros((3, 2))

    def act(k):
        held[k % 3] += 1

    return act, lambda: held.tolist()


def draws():
    one, two, three = random.Random(0), np.random.default_rng(0), np.random.RandomState(0)
    held = []
    return lambda k: held.append((one.random(), one.gauss(0, 1), two.random(), three.rand(), three.standard_normal())), lambda: held


def draws_from_modules():
    random.seed(3)
    np.random.seed(3)
    held = []
    return lambda k: held.append((random.random(), random.gauss(0, 1), np.random.rand(), np.random.normal())), lambda: held


def takes():
    held, more, last = iter([*range(20)]), iter(range(20)), []
    return lambda k: last.append((next(held), next(more))), lambda: last


def sets_the_environment():
    os.environ.pop("NBGRAD_TEST_BEFORE", None)

    def act(k):
        os.environ["NBGRAD_TEST_BEFORE"] = os.environ.get("NBGRAD_TEST_BEFORE", "") + "x"

    return act, lambda: os.environ["NBGRAD_TEST_BEFORE"]


def sets_variables():
    VARIABLE.set(0)
    LOCAL.n = 0

    def act(k):
        VARIABLE.set(VARIABLE.get() + 1)
        LOCAL.n += 1

    return act, lambda: (VARIABLE.get(), LOCAL.n)


ACTS = [appends, adds, pushes, extends, enters, sets_attributes, sets_slots, sets_classes, sets_globals, sets_cells]
ACTS += [writes_arrays, draws, draws_from_modules, takes, sets_the_environment, sets_variables]


def whole(x):
    """A graph holds it."""
    return x * 2


def broken(x):
    """No graph holds it."""
    return nbgrad.tensor((x * 2).numpy())


def asking(x):
    """Python reads a value."""
    return x * 2 if x.sum() > 4 else x / 2


ENDS = [whole, broken, asking]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("make", ACTS)
def test_effects_happen_once_in_every_call(make, end):
    """The first one too, whatever becomes of it."""
    act, state = make()
    calls = []

    def fn(x):
        act(len(calls))
        return end(x)

    def run(call):
        found = []
        for k in range(4):
            found.append((call(nbgrad.arange(3.0) + k).tolist(), repr(state())))
            calls.append(k)
        return found

    want = run(fn)
    act, state = make()
    calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(nbgrad.compile(fn)) == want


@pytest.mark.parametrize("make", ACTS)
def test_everything_is_put_back(make):
    """What guards know, after any change."""
    act, state = make()

    def fn():
        act(1)

    before, was = Snapshot(Guards(fn)), None if make is sets_the_environment else repr(state())
    act(5)
    assert was is None or repr(state()) != was or make in (draws, draws_from_modules, takes)
    first = repr(state())
    before.put_back()
    if was is not None:
        assert repr(state()) == was
    act(5)
    assert repr(state()) == first


def keeps_in_a_list():
    held = []
    return lambda x: held.append(x.sum()), lambda: [x.item() for x in held]


def keeps_in_an_attribute():
    held = Holder()
    held.mean = nbgrad.zeros(3)

    def act(x):
        held.mean = held.mean * 0.5 + x

    return act, lambda: held.mean.tolist()


def keeps_in_a_buffer():
    net = nn.Module()
    net.register_buffer("mean", nbgrad.zeros(3))

    def act(x):
        net.mean = net.mean * 0.5 + x.detach()

    return act, lambda: net.mean.tolist()


def keeps_what_it_makes_once():
    held = Holder()
    held.made = None

    def act(x):
        if held.made is None:
            held.made = (x.shape[0], [x * 0 + 7])

    return act, lambda: held.made[1][0].tolist()


KEEPS = [keeps_in_a_list, keeps_in_an_attribute, keeps_in_a_buffer, keeps_what_it_makes_once]


@pytest.mark.parametrize("make", KEEPS)
def test_what_is_kept_is_the_callers(make):
    """No tensor of a capture is ever seen outside; with gradients neither."""
    for grad in (False, True):
        found = []
        for compiled in (False, True):
            act, state = make()

            def fn(x):
                act(x)  # noqa: B023
                return (x * x).sum()

            call = nbgrad.compile(fn) if compiled else fn
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found.append([(call((nbgrad.arange(3.0) + k).requires_grad_(grad)).item(), state()) for k in range(5)])
        assert found[0] == found[1]
        history = grad and make in (keeps_in_a_list, keeps_in_an_attribute)  # other state is the program's: test_rebound.py
        assert ["beyond the call" in str(each.message) for each in said] == [True] * history
        assert not compiled or len(call.variants) == (not history)


def test_fullgraph_says_what_is_kept():
    """After two calls that run as they are: what is made once is there then."""
    held = []
    call = nbgrad.compile(lambda x: held.append(x * 2), fullgraph=True)
    for _ in range(2):
        call(nbgrad.ones(2, requires_grad=True))
    with pytest.raises(
        GraphError,
        match=r"keeps a tensor of shape \[2\], with its history, computed at .*, in a list beyond the call. Hint: return it",
    ):
        call(nbgrad.ones(2, requires_grad=True))
    assert [x.tolist() for x in held] == [[2.0, 2.0]] * 2


def test_errors_of_the_function_end_it_as_anywhere():
    """What it has done before is done once, and what it has kept is whole."""

    def run(call):
        held = []

        def fn(x):
            held.append(x * 2)
            if len(held) == 2:
                raise LookupError
            return x + 1

        made, log = call(fn), []
        for k in range(4):
            try:
                log.append(made(nbgrad.ones(2) * k).tolist())
            except LookupError:
                log.append("error")
            log.append([x.tolist() for x in held])
        return log

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(nbgrad.compile) == run(lambda fn: fn)


def test_numbers_that_are_kept():
    """A float among the arguments is kept as such."""

    def run(call):
        held = []

        def fn(x, a):
            held.append(a)
            return x * a

        made = call(fn)
        return [(made(nbgrad.ones(2), a).tolist(), list(held)) for a in (0.5, 0.25, 2.0)], [type(a) for a in held]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(nbgrad.compile) == run(lambda fn: fn)


def test_functions_of_users_that_read_arrays_run_once():
    """A custom Function that uses NumPy begins the capture again."""

    class Doubled(nbgrad.autograd.Function):
        """Twice, by NumPy."""

        @staticmethod
        def forward(ctx, x):
            return nbgrad.tensor(x.numpy() * 2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    held = []

    def fn(x):
        held.append(1)
        return Doubled.apply(x) + 1

    call = nbgrad.compile(fn)
    assert call(nbgrad.ones(2)).tolist() == [3.0, 3.0] and held == [1]
