"""Gradients of compiled functions lie in memory as the engine's do, whatever order operands have, and have their bits."""

from __future__ import annotations

import itertools

import pytest

import nbgrad
from nbgrad.nn import functional as F

# Orders of three dimensions in memory.
ORDERS = {
    "rows": lambda x: x,
    "matrices side by side": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "columns": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "turned": lambda x: x.permute(2, 0, 1).contiguous().permute(1, 2, 0),
    "with gaps": lambda x: nbgrad.stack([x, x], -1)[..., 0],
}
FUNCTIONS = {
    "sum of a broadcast": lambda a, b, c: (a * b + c).exp().sum(0),
    "quotient": lambda a, b, c: ((a * b).tanh() / (c * c + 1)).mean((1, 2)),
    "of transposes": lambda a, b, c: (a.transpose(0, 1) * c.transpose(0, 1)).sigmoid().sum(1) * b.sum(),
    "softmax": lambda a, b, c: (F.gelu(a) * b).permute(2, 0, 1).reshape(5, -1).softmax(0) * c[0, 0].unsqueeze(1),
    "norm": lambda a, b, c: F.layer_norm((a + c).transpose(1, 2), (4,)) * b.sum(),
    "choice": lambda a, b, c: nbgrad.where(a > 0, a * b, c * c * a).transpose(0, 2).cumsum(0),
    "product": lambda a, b, c: ((a @ c.transpose(1, 2)) * b.sum()).relu().transpose(1, 2) @ a,
    "there and back": lambda a, b, c: F.silu(a.transpose(1, 2)).transpose(1, 2) * c - b,
}


def same(found: tuple, expected: tuple) -> bool:
    return all(x.equal(y) and x.stride() == y.stride() for x, y in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_lie_as_the_engines(name):
    """For all orders of two operands, and of the cotangent; by a program, never call by call."""
    fn, draw = FUNCTIONS[name], nbgrad.Generator().manual_seed(1)
    a, b, c = (nbgrad.randn(*shape, generator=draw) for shape in ((3, 4, 5), (5,), (3, 4, 5)))
    for first, second in itertools.product(ORDERS, ORDERS):
        leaves = [x.detach().requires_grad_() for x in (ORDERS[first](a), b, ORDERS[second](c))]
        compiled = nbgrad.compile(fn, fullgraph=True)
        w = nbgrad.randn(fn(*leaves).shape, generator=draw)
        for given in (w, ORDERS["columns"](w) if w.ndim == 3 else w):
            expected = nbgrad.grad(fn(*leaves), leaves, given)
            assert same(nbgrad.grad(compiled(*leaves), leaves, given), expected), (first, second)
        backward = compiled.variants[0].backward
        assert backward is not None and None not in backward.programs.values(), (first, second)
