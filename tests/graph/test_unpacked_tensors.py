"""Saved-tensor hooks that bring back another dtype or layout than was saved."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.graph import saved_tensors_hooks
from tests.helpers import same

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.2]])

OPERATIONS = {
    "mul": lambda x: x * x,
    "sin": lambda x: x.sin(),
    "exp": lambda x: x.exp(),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "cumprod": lambda x: x.cumprod(1),
    "prod": lambda x: x.prod(),
    "norm": lambda x: x.norm(),
    "std": lambda x: x.std(),
    "amax": lambda x: x.amax(1),
    "matmul": lambda x: x @ x.t(),
    "gather": lambda x: x.gather(1, nbgrad.tensor([[0], [2]])),
}


def gradient_behind(f, pack, unpack):
    """The gradient of ``sum(f(x) * weights)`` with what ``f`` saves behind hooks."""
    x = nbgrad.tensor(X, requires_grad=True)
    with saved_tensors_hooks(pack, unpack):
        y = f(x)
    weights = nbgrad.arange(1, y.numel() + 1, dtype=nbgrad.float64).reshape(y.shape)
    (g,) = nbgrad.grad((y * weights).sum(), x)
    return g.numpy()


@pytest.mark.parametrize("name", OPERATIONS)
def test_saved_in_single_precision(name):
    """A hook that keeps float32 and brings that back costs precision, nothing else."""
    exact = gradient_behind(OPERATIONS[name], same, same)
    rough = gradient_behind(OPERATIONS[name], lambda t: t.float() if t.is_floating_point() else t, same)
    np.testing.assert_allclose(rough, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", OPERATIONS)
def test_saved_with_other_strides(name):
    """Strides of what a hook brings back do not matter, also where the same kernel served a usual pass before."""
    exact = gradient_behind(OPERATIONS[name], same, same)
    strided = gradient_behind(OPERATIONS[name], same, lambda t: nbgrad.stack([t, t + 7], -1)[..., 0])
    np.testing.assert_array_equal(strided, exact)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "cumprod", "std"])
def test_another_shape_is_refused(name):
    """Kernels never read beyond the end of what a hook brought back."""
    with pytest.raises(RuntimeError, match="unpack_hook returned a tensor"):
        gradient_behind(OPERATIONS[name], same, lambda t: t.reshape(-1)[:1])


def test_a_single_element_is_broadcast():
    """cos(x[0]) for every element: elementwise operations broadcast what a hook brings back."""
    g = gradient_behind(lambda x: x.sin(), same, lambda t: t[:1])
    weights = np.arange(1.0, 7.0).reshape(2, 3)
    np.testing.assert_allclose(g, weights * np.cos(X[:1]))


def test_an_operand_that_another_gradient_would_need():
    """``x * c`` saves ``c`` alone: ``_saved_self`` is None then, and what no subset saves is no attribute."""
    x, c = nbgrad.ones(2, requires_grad=True), nbgrad.full((2,), 3.0)
    node = (x * c).grad_fn
    assert node._saved_self is None and node._saved_other.tolist() == [3.0, 3.0]
    assert (c * x).grad_fn._saved_other is None
    with pytest.raises(AttributeError):
        _ = (x + c).grad_fn._saved_self


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.max(1)[0],
        lambda x: x.sort(1)[0],
        lambda x: x.topk(1, 1)[0],
        lambda x: nbgrad.cross_entropy(x, nbgrad.tensor([0, 1])),
    ],
    ids=["max", "sort", "topk", "cross_entropy"],
)
def test_unpacked_positions_stay_within_those_that_were_saved(function):
    """A hook that brings back larger integers is refused with an IndexError: backward would write beyond the memory."""
    x = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with nbgrad.graph.saved_tensors_hooks(lambda t: t, lambda t: t if t.is_floating_point() else t + 1000):
        y = function(x)
    with pytest.raises(IndexError, match="unpack_hook returned integers from 100"):
        y.sum().backward()
