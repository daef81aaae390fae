"""Compiled steps of optimizers that a program writes itself: what they keep is that of eager steps, call by call."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import nn, optim


class Own(optim.Optimizer):
    """All in ``step``, as torch's optimizers are written: state is made in the first one."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
        self.calls = 0

    @nbgrad.no_grad()
    def step(self, closure=None):
        self.calls += 1
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["n"], state["calls"] = nbgrad.tensor(0.0), 0
                state["n"] += 1
                state["calls"] += 1
                p.sub_(p.grad * state["n"] * group["lr"])


class Summed(optim.SGD):
    """A ``step`` in the place of that of a class of nbgrad."""

    @nbgrad.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "sum" not in state:
                    state["sum"] = nbgrad.zeros_like(p)
                p.sub_(state["sum"].add_(p.grad), alpha=group["lr"])


class Counting(optim.Adam):
    """A ``step`` that does something before that of its superclass."""

    calls = 0

    def step(self, closure=None):
        self.calls += 1
        return super().step(closure)


def trained(kind, call):
    """What six steps leave, the last two at another learning rate."""
    p = nn.Parameter(nbgrad.ones(3))
    optimizer = kind([p], lr=0.125)
    step = call(optimizer.step)
    values = []
    for k in range(6):
        p.grad = nbgrad.full((3,), 1.0 + k)
        step()
        values.append(p.tolist())
        if k == 3:
            optimizer.param_groups[0]["lr"] = 0.0625
    state = {name: value.tolist() if isinstance(value, nbgrad.Tensor) else value for name, value in optimizer.state[p].items()}
    return values, state, getattr(optimizer, "calls", None)


@pytest.mark.parametrize("kind", [Own, Summed, Counting])
def test_steps_of_a_programs_own_classes(kind):
    """Attributes, counts and state of a class with a ``step`` of its own are kept by each compiled call."""
    assert trained(kind, nbgrad.compile) == trained(kind, lambda step: step)


def test_steps_that_call_a_superclass_are_one_variant():
    """The numbers that the superclass counts are read anew in each call, and are no variants."""
    p = nn.Parameter(nbgrad.ones(3))
    step = nbgrad.compile(Counting([p], lr=0.125).step)
    for _ in range(6):
        p.grad = nbgrad.ones(3)
        step()
    assert len(step.variants) <= 2
