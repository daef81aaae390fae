"""Views whose shape, base or memory changes behind their back: their gradients, and what their attributes say."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import no_grad
from tests.helpers import leaf


def stale_view():
    """One of two views that an operation returned, after the memory of its base was written to."""
    base = leaf([1.0, 2.0]) * 1
    first, _ = base.unbind()
    base.mul_(2)
    return first


@pytest.mark.parametrize(
    ("make", "change", "expected"),
    [
        (lambda b: b[0], lambda v: v.unsqueeze_(0), [[2.0, 4.0], [0.0, 0.0]]),
        (lambda b: b.t(), lambda v: v.t_(), [[2.0, 4.0], [6.0, 8.0]]),
        (lambda b: b.view(-1), lambda v: v.unsqueeze_(0), [[2.0, 4.0], [6.0, 8.0]]),
        (lambda b: b.t(), lambda v: v.transpose_(0, 1), [[2.0, 4.0], [6.0, 8.0]]),
    ],
    ids=["unsqueeze", "t", "flat", "transpose"],
)
@pytest.mark.parametrize("base", [lambda x: x * 1, lambda x: x], ids=["computed", "leaf"])
def test_a_view_reshaped_in_place_under_no_grad_keeps_its_history(base, make, change, expected):
    """d sum(v²) = 2v at the elements that the view shows, though its own shape was changed while nothing was recorded."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    v = make(base(x))
    with no_grad():
        change(v)
    assert v.requires_grad and not v.is_leaf
    (g,) = nbgrad.grad((v * v).sum(), x)
    assert g.tolist() == expected


def test_a_view_of_a_function_reshaped_under_no_grad_has_no_gradient_any_more():
    """A view that a custom Function returned cannot be replayed: using it afterwards is an error, not a missing gradient."""

    class Same(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    v = Same.apply(leaf([1.0, 2.0]) * 1)
    with no_grad():
        v.unsqueeze_(0)
    with pytest.raises(RuntimeError, match="custom Function"):
        v * 2


def test_a_view_outlives_the_history_of_its_base():
    """``detach_()`` of the base leaves views that were made before on the graph."""
    x = leaf([1.0, 2.0])
    y = x.exp()
    v = y.view(-1)
    y.detach_()
    assert v.requires_grad and not y.requires_grad
    (g,) = nbgrad.grad((v * 3).sum(), x)
    np.testing.assert_allclose(g.numpy(), 3 * np.exp([1.0, 2.0]))


def test_a_view_of_a_leaf_that_was_frozen_afterwards():
    """``requires_grad_(False)`` on a leaf leaves its views on the graph: passes run, and the leaf keeps nothing."""
    x = leaf([1.0, 2.0])
    v = x.view(-1)
    x.requires_grad_(False)
    assert v.requires_grad
    (v * 2).sum().backward()
    assert x.grad is None
    assert nbgrad.grad((v * 2).sum(), v)[0].tolist() == [2.0, 2.0]


def test_a_view_becomes_a_leaf_beside_its_base():
    """A view of what was no leaf then is a leaf of its own after ``requires_grad_()``, also if its base has become one."""
    x = nbgrad.ones(2)
    v = x.view(-1)
    x.requires_grad_()
    v.requires_grad_()
    (v * x * 3).sum().backward()
    assert v.grad.tolist() == [3.0, 3.0] and x.grad.tolist() == [3.0, 3.0]
    assert not x.view(-1).requires_grad_().is_leaf


def test_a_view_gives_back_its_own_leaf():
    """``requires_grad_(False)`` makes such a view what it was; its base decides again."""
    x = nbgrad.ones(2)
    v = x.view(-1).requires_grad_()
    assert v.requires_grad and not v.requires_grad_(False).requires_grad
    x.requires_grad_()
    assert v.requires_grad


def test_attributes_of_a_view_without_a_gradient():
    """Reading ``grad`` and ``output_nr`` of a view that lost its history answers; its ``grad_fn`` raises."""
    v = stale_view()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert v.grad is None and v.output_nr == 0
    with pytest.raises(RuntimeError, match="several of"):
        _ = v.grad_fn


@pytest.mark.parametrize(
    "f", [lambda y: y.sin(), lambda y: y * y * y, lambda y: y.prod(), lambda y: y @ y], ids=["sin", "mul", "prod", "dot"]
)
def test_second_derivative_through_a_tensor_detached_in_place(f):
    """A saved operand that lost its history would silently take its part of the second derivative with it."""
    x = leaf([1.0, 2.0])
    y = x * 2
    z = f(y).sum()
    (first,) = nbgrad.grad(z, x, retain_graph=True)
    y.detach_()
    (again,) = nbgrad.grad(z, x, retain_graph=True)
    assert again.tolist() == first.tolist()
    with pytest.raises(RuntimeError, match="detached in place"):
        nbgrad.grad(z, x, create_graph=True)


@pytest.mark.parametrize(
    "f", [lambda w, y: w * y, lambda w, y: nbgrad.lerp(y, 2 * y, w), lambda w, y: w @ y], ids=["mul", "lerp", "dot"]
)
def test_one_gradient_beside_a_tensor_detached_in_place(f):
    """So would the gradient of the other operand, asked for alone."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * 2
    z = f(w, y).sum()
    (first,) = nbgrad.grad(z, w, retain_graph=True)
    y.detach_()
    (again,) = nbgrad.grad(z, w, retain_graph=True)
    assert again.tolist() == first.tolist()
    with pytest.raises(RuntimeError, match="detached in place"):
        nbgrad.grad(z, w, create_graph=True)


def test_elements_cannot_be_deleted():
    """``del x[0]`` is a TypeError."""
    x = nbgrad.ones(2)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]


def test_a_write_through_a_view_to_a_base_without_history():
    """The base became a leaf by ``detach_()``: a recorded write through a view that still has a history is refused."""
    y = leaf([1.0, 2.0]) * 2
    v = y.view(-1)
    y.detach_()
    with pytest.raises(RuntimeError, match="leaf"):
        v.mul_(2)
    assert y.tolist() == [2.0, 4.0]
    y.mul_(3)
    assert y.tolist() == [6.0, 12.0] and not y.requires_grad


@pytest.mark.parametrize(
    ("change", "weights"),
    [(lambda y: y.t_(), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), (lambda y: y.unsqueeze_(0), [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])],
    ids=["t", "unsqueeze"],
)
def test_gradients_have_the_shape_of_their_leaf(change, weights):
    """A result reshaped under ``no_grad`` takes its history along: the gradient is 2w in the leaf's shape."""
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x * 2
    with no_grad():
        change(y)
    w = nbgrad.tensor(weights, dtype=nbgrad.float64)
    (y * w).sum().backward()
    back = np.array(weights).T if y.ndim == 2 else np.array(weights)[0]
    np.testing.assert_array_equal(x.grad.numpy(), 2 * back)
