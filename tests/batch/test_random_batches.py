"""Random programs of views, writes and products, mapped and differentiated in every order; the oracle is a loop over the batch."""

from __future__ import annotations

import random

import numpy as np
import pytest

import nbgrad
from nbgrad.func import grad, jvp, vmap
from tests.samples.checking import agree

SIZE, STEPS, MOST = 3, 8, 300


def phased(*shape, phase=0.0):
    """Numbers of no symmetry, which the phase shifts."""
    return nbgrad.tensor(np.sin(1.7 * np.arange(int(np.prod(shape))).reshape(shape) + phase))


def fill_first(x, y):
    """A write of another tensor through a view."""
    x[0] = y


# Each takes two tensors and returns new ones, or None for a write to the first.
STEP_KINDS = {
    "scale": lambda x, y: x * 2,
    "sin": lambda x, y: x.sin(),
    "transpose": lambda x, y: x.t(),
    "row": lambda x, y: x[0],
    "slice": lambda x, y: x[1:],
    "columns": lambda x, y: x[:, ::2],
    "flatten": lambda x, y: x.reshape(-1),
    "sum": lambda x, y: x.sum(0),
    "keep": lambda x, y: x.sum(-1, keepdim=True),
    "unsqueeze": lambda x, y: x.unsqueeze(1),
    "flip": lambda x, y: x.flip(0),
    "softmax": lambda x, y: x.softmax(-1),
    "cumsum": lambda x, y: x.cumsum(0),
    "square": lambda x, y: x @ x.t(),
    "diagonal": lambda x, y: x.diagonal(),
    "expand": lambda x, y: x.expand(2, *x.shape),
    "max": lambda x, y: x.max(0)[0],
    "unbind": lambda x, y: x.unbind(0),
    "split": lambda x, y: x.split(2, 0),
    "cat": lambda x, y: nbgrad.cat([x, x], -1),
    "points": lambda x, y: x[nbgrad.tensor([0, -1])],
    "where": lambda x, y: nbgrad.where(x > 0, x, x * 0.1),
    "detach": lambda x, y: x.detach(),
    "variance": lambda x, y: x.var(0),
    "product": lambda x, y: x.prod(0),
    "sort": lambda x, y: x.sort(0)[0],
    "norm": lambda x, y: x.norm(dim=0),
    "tril": lambda x, y: x.tril(),
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "matmul": lambda x, y: x @ y,
    "outer": lambda x, y: nbgrad.outer(x, y),
    "add_": lambda x, y: (x.add_(y), None)[1],
    "mul_": lambda x, y: (x.mul_(1.5), None)[1],
    "sin_": lambda x, y: (x.sin_(), None)[1],
    "copy_": lambda x, y: (x.copy_(y), None)[1],
    "first": lambda x, y: (fill_first(x, y), None)[1],
    "index_add_": lambda x, y: (x.index_add_(0, nbgrad.tensor([0, 1]), x[:2] * 0.5), None)[1],
    "masked_": lambda x, y: (x.masked_fill_(x > 1, 0.3), None)[1],
    "t_": lambda x, y: (x.t_(), None)[1],
}


def outcome(steps, x, w):
    """One number of all tensors that a program made of two."""
    tensors = [x * 1.0, w * 1.0 + x.sum() * 0.1]
    for name, first, second in steps:
        made = STEP_KINDS[name](tensors[first % len(tensors)], tensors[second % len(tensors)])
        tensors += [each for each in (made if isinstance(made, tuple) else () if made is None else (made,)) if each.numel() <= MOST]
    return sum((each * phased(*each.shape, phase=k)).sum() for k, each in enumerate(tensors))


def program(seed):
    """A program that runs, can be differentiated, and gives finite numbers."""
    rng, steps = random.Random(seed), []
    x, w = phased(4, 4, phase=seed), phased(4, 4, phase=seed + 1)
    while len(steps) < STEPS:
        longer = [*steps, (rng.choice(list(STEP_KINDS)), rng.randrange(50), rng.randrange(50))]
        try:
            made = [outcome(longer, x, w), *grad(lambda *xs, longer=longer: outcome(longer, *xs), (0, 1))(x, w)]
        except (RuntimeError, IndexError, TypeError):
            continue
        if all(bool((each.abs() < 1e6).all()) for each in made):
            steps = longer
    return steps


def all_agree(got, want, what):
    """Assert that several tensors are equal."""
    for a, b in zip(got, want):
        agree(a, b, 1e-7, what)


@pytest.mark.parametrize("seed", range(40))
def test_random_program(seed):
    """Values, gradients inside and around the map, products with tangents, batched cotangents: as of the single elements."""
    steps = program(seed)
    function, slope = lambda x, w: outcome(steps, x, w), grad(lambda x, w: outcome(steps, x, w), (0, 1))
    x, w, t = phased(SIZE, 4, 4, phase=seed), phased(4, 4, phase=seed + 1), phased(4, 4, phase=9)
    slopes = [slope(each, w) for each in x]
    all_agree([vmap(function, (0, None))(x, w)], [nbgrad.stack([function(each, w) for each in x])], f"vmap, {steps}")
    stacked = [nbgrad.stack(column) for column in zip(*slopes)]
    all_agree(vmap(slope, (0, None))(x, w), stacked, f"vmap(grad), {steps}")
    outside = grad(lambda x, w: vmap(function, (0, None))(x, w).sum(), (0, 1))(x, w)
    all_agree(outside, (stacked[0], stacked[1].sum(0)), f"grad(vmap), {steps}")
    products = nbgrad.stack([(a * t).sum() + (b * t).sum() for a, b in slopes])
    all_agree([vmap(lambda each: jvp(function, (each, w), (t, t))[1])(x)], [products], f"vmap(jvp), {steps}")
    leaves = [x[0].clone().requires_grad_(), w.clone().requires_grad_()]
    out = function(*leaves) * phased(2)
    cotangents = phased(5, 2)
    batched = nbgrad.grad(out, leaves, cotangents, is_grads_batched=True)
    all_agree(batched, [(cotangents @ phased(2)).reshape(5, 1, 1) * each for each in slopes[0]], f"batched cotangents, {steps}")
