"""Ways back through loops that kept some carries: as few trips and carries as can be, and native steps of compiled functions."""

from __future__ import annotations

from math import isqrt

import numpy as np
import pytest

import nbgrad
from nbgrad.func import grad
from nbgrad.jit.loops.checkpoints import Every, policy_of
from nbgrad.jit.loops.stretches import Ahead, Back, depth_of, stretches
from nbgrad.recomputing.revolve import fewest_steps


def planned(checkpoint, n):
    """The stretches of a way back, trips that run again, and carries that the loop keeps."""
    policy = policy_of(checkpoint, n, ())
    stops = tuple(policy.stops(0, n, None))
    found = list(stretches(policy, n, stops))
    return found, sum(each.trips for each in found if type(each) is Ahead), len(stops)


@pytest.mark.parametrize("checkpoint", [1, 3, 7, 1000, "sqrt", "binomial", ("binomial", 1), ("binomial", 3)])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 100])
def test_every_trip_is_gone_back_through_once(n, checkpoint):
    """In falling order, with carries that were stored for that trip and not written over."""
    found, _, _ = planned(checkpoint, n)
    policy = policy_of(checkpoint, n, ())
    rows = {("first", 0): 0, **{("kept", k): trip for k, trip in enumerate(policy.stops(0, n, None))}}
    gone = []
    for each in found:
        assert each.trips > 0 and rows[each.source] == each.trip
        if type(each) is Back:
            for k in range(each.trips):
                last = each.last is not None and k == each.trips - 1
                assert rows[each.last if last else (each.source.rows, each.source.k - k)] == each.trip - k
                gone.append(each.trip - k)
        elif each.every:
            rows.update({(each.target.rows, each.target.k + k): each.trip + 1 + k for k in range(each.trips)})
        else:
            rows[each.target] = each.trip + each.trips
    assert gone == list(range(n - 1, -1, -1))


@pytest.mark.parametrize("n", [1, 2, 10, 100, 10_000])
def test_root_schedules_keep_two_roots_and_run_each_trip_once_more(n):
    """What lies at the ends of stretches and within one, and no trip twice."""
    found, again, kept = planned("sqrt", n)
    k = isqrt(max(n - 1, 0)) + 1
    assert kept == -(-n // k) - 1 and depth_of(found) == min(k, n) - 1
    assert again == n - (kept + 1)  # carries at the beginnings of stretches are there
    assert kept + depth_of(found) <= 2 * k


@pytest.mark.parametrize("n, slots", [(10, 1), (10, 3), (100, 3), (100, 5), (1000, 20), (10_000, 20)])
def test_binomial_schedules_run_the_fewest_trips(n, slots):
    """As the theory says, with no more carries than slots; that of the last trip is kept beside."""
    found, again, kept = planned(("binomial", slots), n)
    assert again + n - 1 == fewest_steps(n, slots)  # which counts the first run, but for the last trip
    assert depth_of(found) <= slots - 1 and kept <= slots


@pytest.mark.parametrize("checkpoint, rows", [("all", 10_000), ("sqrt", 99), (("binomial", 20), None)])
def test_memory_of_long_scans(checkpoint, rows):
    """The carries that the node of a loop of 10,000 trips saves are those of its schedule."""
    x = nbgrad.ones(16, requires_grad=True)
    y, _ = nbgrad.scan(lambda c, _: (c.sin(), None), x, length=10_000, checkpoint=checkpoint)
    first, kept = y.grad_fn.saved_tensors
    assert kept.shape == (planned(checkpoint, 10_000)[2] if rows is None else rows, 16)
    assert kept.shape[0] <= 21 or checkpoint in ("all", "sqrt")
    y.sum().backward()
    assert x.grad.isfinite().all()


def loss(step, checkpoint, reverse):
    """Of carries, slices, and a captured tensor."""

    def value(c, xs, w):
        c, ys = nbgrad.scan(lambda c, x: step(c, x, w), c, xs, checkpoint=checkpoint, reverse=reverse)
        return (c * c).sum() + (ys * 0.3).sin().sum()

    return grad(value, (0, 1, 2))


STEPS = {
    "elements": lambda c, x, w: ((c * w + x).sin(), c * x),
    "sums": lambda c, x, w: (c * w + x * c.sum(), (c * x).sum()),
    "products": lambda c, x, w: ((w.outer(c) @ x).tanh(), x @ c),
    "choices": lambda c, x, w: (nbgrad.where(c > 0.1, c * w, x.clamp(min=-0.5)), c.cumsum(0) @ x),
    "parts": lambda c, x, w: (nbgrad.cat([c[1:] * w[0], x[:1]]), c[0] * x),
}


@pytest.mark.parametrize("checkpoint", [1, 4, "sqrt", "binomial", ("binomial", 2)])
@pytest.mark.parametrize("name", STEPS)
def test_compiled_ways_back_are_those_of_all_carries(name, checkpoint):
    """To the bit, from either end, for one trip and for many."""
    draw = np.random.default_rng(1)
    for n, reverse in ((1, False), (2, True), (23, False), (23, True)):
        args = [nbgrad.tensor(draw.normal(size=shape) * 0.5) for shape in ((3,), (n, 3), (3,))]
        compiled = nbgrad.compile(loss(STEPS[name], checkpoint, reverse), fullgraph=True)
        expected = loss(STEPS[name], "all", reverse)(*args)
        for found in (compiled(*args), compiled(*args), loss(STEPS[name], checkpoint, reverse)(*args)):
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(x.numpy(), y.numpy())


@pytest.mark.parametrize("checkpoint", [10, "sqrt", "binomial"])
def test_compiled_ways_back_are_native(checkpoint):
    """No step is a call, and the memory is that of the carries which the schedule keeps."""
    n, m = 400, 64
    c, xs, w = nbgrad.randn(m), nbgrad.randn(n, m), nbgrad.rand(m)
    told = {}
    for each in (checkpoint, "all"):
        compiled = nbgrad.compile(loss(STEPS["elements"], each, False), fullgraph=True)
        compiled(c, xs, w)
        (told[each],) = compiled.explain().variants
        assert "call" not in [step.kind for step in told[each].steps]
    found, _, kept = planned(checkpoint, n)
    less = told["all"].arena_bytes - told[checkpoint].arena_bytes
    assert less >= 4 * m * (n - kept - depth_of(found)) - 16 * 1024  # the rest: addresses, scratch


def test_every_is_a_number_of_trips():
    """``checkpoint=k`` keeps every k-th carry."""
    assert policy_of(7, 100, ()) == Every(7) and planned(7, 100)[2] == 14
