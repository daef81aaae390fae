"""Which functions only compute, told by their instructions."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.jit.live_graphs.computing import key_of

LOG = []


def doubled(g):
    """A function that hooks call."""
    return 2 * g


def logged(g):
    """One that does more than compute."""
    LOG.append(g)


@pytest.mark.parametrize(
    ("hook", "pure"),
    [
        (lambda g: -g * 2 + g.exp(), True),
        (lambda g: g, True),
        (lambda g: g.clone(), True),
        (lambda g: print(g), False),
        (lambda g: g.add_(1), False),
        (lambda g: g.numpy(), False),
        (lambda g: g if g.ndim > 0 else -g, True),
        (lambda g: nbgrad.exp(g) + nbgrad.nn.functional.relu(g), True),
        (lambda g: doubled(g), True),
        (lambda g: logged(g), False),
        (lambda g: [-x for x in g], False),
        (lambda g: LOG.append(g), False),
        (lambda g: g.register_hook(print), False),
        (lambda g: nbgrad.no_grad(), False),
        (print, False),
    ],
)
def test_which_hooks_only_compute(hook, pure):
    """Expressions of the gradient, numbers and operations."""
    assert (key_of(hook) is not None) is pure


@pytest.mark.parametrize(
    ("backward", "pure"),
    [
        (lambda ctx, g: g * ctx.factor, True),
        (lambda ctx, g: (g * ctx.saved_tensors[0], None), True),
        (lambda ctx, g: g if ctx.needs_input_grad[0] else None, True),
        (lambda ctx, g: ctx.calls.append(g), False),
        (lambda ctx, g: ctx.maybe_clear_saved_tensors(), False),
        (lambda ctx, g: g.factor, False),
    ],
)
def test_which_backwards_only_compute(backward, pure):
    """Any attribute of a ctx may be read; what is called of it must be told of by its node."""
    assert (key_of(backward, context=True) is not None) is pure


def test_writes_are_seen():
    """Attributes, elements, names outside, and operations in place."""

    def attribute(ctx, g):
        ctx.g = g

    def element(ctx, g):
        g[0] = 1

    def augmented(ctx, g):
        g += 1
        return g

    def name(ctx, g):
        global LOG
        LOG = g

    def context(ctx, g):
        ctx = g
        return ctx.anything

    assert [key_of(f, context=True) for f in (attribute, element, augmented, name, context)] == [None] * 5


def test_names_are_part_of_the_key():
    """Of functions that are called, too."""
    table = {}
    exec("factor = 2.0\ndef inner(g): return g * factor\ndef outer(g): return inner(g)", table)
    first = key_of(table["outer"])
    table["factor"] = 3.0
    assert first is not None and key_of(table["outer"]) != first
