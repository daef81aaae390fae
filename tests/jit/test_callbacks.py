"""Callbacks in passes that run as programs: hooks are called as the engine calls them, or captured if they only compute."""

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


def test_writes_of_hooks_to_what_was_needed_before():
    """What was computed before a callback has read what the callback writes to: a leaf, as optimizers do, and a constant."""
    log = []

    def step(w):
        with nbgrad.no_grad():
            w.sub_(100 * w.grad)

    def program(k):
        x, w, v = ((wave(4) + shift + 0.1 * k).requires_grad_() for shift in (1.0, 2.0, 3.0))
        w.register_post_accumulate_grad_hook(step)
        factor, e = wave(4) + 4, x
        for _ in range(60):
            e = e.sin() * 1.01
        q = v.sin()
        q.register_hook(lambda g: log.append((bits(g), factor.zero_())[0]))
        (e * factor + q + w).backward(wave(4))
        return [bits(each) for each in (x.grad, w.grad, v.grad, w.detach())]

    want = [program(k) for k in range(4)]
    with compiled_autograd():
        assert [program(k) for k in range(4)] == want
    assert log[:4] == log[4:] and captured() == [True]


@pytest.mark.parametrize("two", [False, True])
def test_writes_of_hooks_to_what_is_needed_later(two):
    """The engine's error, in that pass alone: at the program's end, or where a later hook would see what is wrong."""
    calls = []

    def program(write):
        def hook(shared):
            calls.append("q")
            if write:
                with nbgrad.no_grad():
                    shared.add_(1)

        x = (wave(4) + 1).requires_grad_()
        shared = x * 1
        if two:
            shared.register_hook(lambda g: calls.append("shared"))
        y = x.exp() * shared * 1.01
        y.register_hook(lambda g: hook(shared))
        for _ in range(60):
            y = y * 1.01
        y.sum().backward()
        return bits(x.grad)

    want = program(False)
    with compiled_autograd():
        assert program(False) == program(False) == want
        with pytest.raises(nbgrad.VersionError, match="modified in place"):
            program(True)
        assert program(False) == want
    assert calls.count("q") == 5 and captured() == [True]
