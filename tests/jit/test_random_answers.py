"""Random programs that draw, ask for values, write, and leave the graph: compiled they do what they do as they are."""

from __future__ import annotations

import random

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compile
from tests.functions import SquareByNumPy

pytestmark = pytest.mark.filterwarnings("ignore:.*were others 3 times")

N = 4
OTHER = nbgrad.Generator()


def written(a, b, r):
    y = a.clone()
    y[:, r.randrange(N)] = b[0].detach() if r.random() < 0.5 else b[0]
    return y


def in_place(a, b, r):
    y = (a * 1).t() if r.random() < 0.5 else a.clone()
    y[r.randrange(N)].add_(b[1])
    return y.mul_(0.5)


def unrecorded(a, b, r):
    with nbgrad.no_grad():
        c = a * 0.5
    return b - c


def chosen(a, b, r):
    count = int((a[:, 0] > 0).sum())
    return b + (a[:count].sum() if count else 1.0)


def looped(a, b, r):
    for k in range(3):
        if a.mean() > 0.3 * k:
            b = b * 0.9
    return b


def counted(a, b, r):
    STATE.add_(a.detach().mean())
    return b * STATE if STATE > 0.5 else b


STATE = nbgrad.zeros((), dtype=nbgrad.float64)
PURE = [
    lambda a, b, r: a * b,
    lambda a, b, r: a.tanh() + b.t(),
    lambda a, b, r: (a @ b) * 0.3,
    lambda a, b, r: a.t(),
    lambda a, b, r: a + nbgrad.rand(N, N, dtype=nbgrad.float64),
    lambda a, b, r: nbgrad.dropout(a, 0.3),
    lambda a, b, r: a[nbgrad.randperm(N)],
    lambda a, b, r: a.detach().clone().normal_(generator=OTHER) * 0.1 + b,
    lambda a, b, r: a * 2 if a.sum() > b.sum() else b.sin(),
    lambda a, b, r: a * (0.5 if float(b.detach().abs().max()) > 1 else 0.25),
    lambda a, b, r: b + a[a > 0].sum(),
    lambda a, b, r: b[a.detach().argmax(0)],
    chosen,
    looped,
    written,
    in_place,
    unrecorded,
]
INSIDE = [*PURE, counted, lambda a, b, r: SquareByNumPy.apply(a)]  # what results with a history may not depend on


def program(seed: int):
    """A program of two tensors, one like any other of its kind."""
    inside = seed % 3 != 0

    def run(x, w):
        r = random.Random(seed)
        values, outs = [x * 1, w * 1, (x @ w.t()) @ w], []
        for _ in range(r.randint(4, 10)):
            step, a, b = r.choice(INSIDE if inside else PURE), r.choice(values), r.choice(values)
            y = step(a, b, r)
            values.append(y.clamp(-3, 3) if r.random() < 0.3 else y * 0.7)
            if r.random() < 0.3:
                outs.append(values[-1].detach())
        total = sum((y * y).mean() for y in values[-3:])
        if inside:
            return total.detach(), outs, nbgrad.grad(total, (x, w), allow_unused=True)
        return total, outs

    return run


def results(fn, arguments) -> list[np.ndarray]:
    """What a program gives for some arguments, in calls that change, its gradients, and what it leaves behind."""
    nbgrad.manual_seed(1)
    OTHER.manual_seed(2)
    STATE.zero_()
    found = []
    for x, w in arguments * 2:
        x, w = nbgrad.tensor(x).requires_grad_(), nbgrad.tensor(w).requires_grad_()
        outs = [y for y in nbgrad.utils._pytree.tree_flatten(fn(x, w))[0] if y is not None]
        live = [y for y in outs if y.requires_grad]
        outs += [g for g in nbgrad.grad(live, (x, w), allow_unused=True) if g is not None] if live else []
        found += [y.detach().numpy().copy() for y in outs] + [STATE.numpy().copy(), np.array(STATE._version)]
    return [*found, *(np.array(each.get_state().tolist()) for each in (nbgrad.random.default_generator, OTHER))]


@pytest.mark.parametrize("seed", range(15))
def test_programs(seed):
    """Values, gradients, generators, versions, of arguments that take several ways through the program."""
    rng = np.random.default_rng(seed)
    arguments = [(rng.normal(size=(N, N)), rng.normal(size=(N, N))) for _ in range(3)]
    fn = program(seed)
    start = STATE._version
    want = results(fn, arguments)
    moved = STATE._version - start
    found = results(compile(fn, fullgraph=True, limit=20), arguments)
    assert len(found) == len(want)
    for a, b in zip(found, want):
        if a.dtype.kind == "i" and not a.shape:
            a = a - moved  # versions go on
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)
