"""Turns of Python in passes that run as programs: hooks are called as the engine calls them, or captured if they only compute."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.jit import compiled_autograd
from nbgrad.jit.live import programs
from tests.helpers import wave

CHAIN = 30  # nodes: enough for a hook to be worth a program


@pytest.fixture(autouse=True)
def forgotten(unchecked):
    """No programs of other tests, and no check, under which passes are the engine's."""
    programs.found.clear()


def captured():
    """Of every kind of pass, whether it runs as a program."""
    return [live.program is not None for alike in programs.found.values() for live in alike]


def chain(x, hook):
    """A result with a hook in its middle."""
    y = x
    for k in range(CHAIN):
        y = y * x.sin()
        if k == CHAIN // 2:
            hook(y)
    return (y * 1e3).sum()


def passes(hook, calls=4):
    """Gradients of several passes; other numbers in each."""
    found = []
    for k in range(calls):
        x = (wave(3) + 1.2 + 0.01 * k).requires_grad_()
        chain(x, hook).backward()
        found.append(x.grad.numpy().tobytes())
    return found


def both(make):
    """What passes give and log by the engine, and compiled; ``make(log)`` gives a function that hangs hooks on a tensor."""
    logs = [], []
    want = passes(make(logs[0]))
    with compiled_autograd():
        got = passes(make(logs[1]))
    return (got, logs[1]), (want, logs[0])


def bits(x):
    """A tensor for a log."""
    return None if x is None else x.numpy().tobytes()


HOOKS = {
    "logs": lambda log: lambda y: y.register_hook(lambda g: log.append(bits(g))),
    "replaces and logs": lambda log: lambda y: y.register_hook(lambda g: log.append(bits(g)) or g * 2),
    "computes": lambda log: lambda y: y.register_hook(lambda g: (g * 0.5).clamp(-1.0, 1.0) + g.abs().sqrt()),
    "writes": lambda log: lambda y: y.register_hook(lambda g: g.mul_(2)),
    "several": lambda log: lambda y: [y.register_hook(lambda g: g * 2), y.register_hook(lambda g: log.append(bits(g)))],
    "retains": lambda log: lambda y: (y.retain_grad(), log.append(y)),
    "before": lambda log: lambda y: y.grad_fn.register_prehook(lambda gs: log.append(bits(gs[0])) or (gs[0] * 3,)),
    "behind": lambda log: lambda y: y.grad_fn.register_hook(lambda i, o: log.append([bits(x) for x in (*i, *o)])),
    "behind, replaces": lambda log: lambda y: y.grad_fn.register_hook(lambda i, o: tuple(None if x is None else x * 2 for x in i)),
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_see_what_they_see_in_the_engine(name):
    """And what they return is taken."""
    (got, log), (want, wanted) = both(HOOKS[name])
    assert got == want
    if name == "retains":
        log, wanted = ([bits(y.grad) for y in each] for each in (log, wanted))
    assert log == wanted
    assert captured() == [True]


def test_what_a_hook_keeps_stays():
    """Gradients that hooks keep are theirs, not memory that the program goes on with."""
    kept = []
    with compiled_autograd():
        passes(lambda y: y.register_hook(kept.append))
    first = [bits(g) for g in kept]
    with compiled_autograd():
        passes(lambda y: y.register_hook(kept.append))
    assert [bits(g) for g in kept] == first * 2


def partial_of(k):
    """A hook that multiplies by a variable of its closure."""
    return lambda g: g * k


def with_default(k):
    """One that has its number as a default."""
    return lambda g, k=k: g * k


def test_numbers_of_hooks_are_noticed():
    """Closures, globals and defaults of hooks that only compute."""
    for hooks in ([with_default(1.0), with_default(2.0)], [partial_of(1.0), partial_of(2.0)]):
        programs.found.clear()
        for hook in hooks * 2:
            want = passes(lambda y, hook=hook: y.register_hook(hook))
            with compiled_autograd():
                assert passes(lambda y, hook=hook: y.register_hook(hook)) == want
        assert captured() == [True, True]


def test_an_error_in_a_hook_is_the_programs():
    """It is raised as it is, and the next pass runs."""

    def fails(g):
        raise ValueError("mine")

    with compiled_autograd():
        passes(lambda y: y.register_hook(lambda g: log.append(1)) if (log := []) is not None else None)
        with pytest.raises(ValueError, match="mine"):
            passes(lambda y: y.register_hook(fails))
        assert passes(lambda y: y.register_hook(lambda g: g * 1)) == passes(lambda y: None)


def test_a_hook_may_run_a_pass_of_its_own():
    """Which may be a program too."""

    def nested(g):
        with nbgrad.enable_grad():
            x = (wave(2) + 1.5).requires_grad_()
            chain(x, lambda y: None).backward()
        return g * x.grad.sum()

    want = passes(lambda y: y.register_hook(nested))
    with compiled_autograd():
        assert passes(lambda y: y.register_hook(nested)) == want


def test_too_many_calls_are_left_to_the_engine():
    """Where the calls of hooks take longer than what the program saves."""
    log = []
    with compiled_autograd():
        for _ in range(3):
            x = (wave(3) + 1).requires_grad_()
            y = x
            for _ in range(5):
                y = y * x
                y.register_hook(lambda g: log.append(1))
            y.sum().backward()
    assert len(log) == 15 and captured() == [False]
