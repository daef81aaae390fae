"""Losses against their definitions in NumPy's float64, and their gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.nn import functional as F

RNG = np.random.default_rng(0)
REDUCTIONS = {"mean": np.mean, "sum": np.sum, "none": lambda losses: losses}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def xlogy(x, y):
    return np.where(x == 0, 0.0, x * np.log(np.where(x == 0, 1.0, y)))


ELEMENTWISE = {
    "mse_loss": (lambda x, y: (x - y) ** 2, {}),
    "l1_loss": (lambda x, y: np.abs(x - y), {}),
    "smooth_l1_loss": (lambda x, y: np.where(np.abs(x - y) < 0.5, (x - y) ** 2, np.abs(x - y) - 0.25), {"beta": 0.5}),
    "huber_loss": (lambda x, y: np.where(np.abs(x - y) <= 0.5, (x - y) ** 2 / 2, 0.5 * (np.abs(x - y) - 0.25)), {"delta": 0.5}),
    "binary_cross_entropy_with_logits": (lambda x, y: -y * np.log(sigmoid(x)) - (1 - y) * np.log(1 - sigmoid(x)), {}),
    "binary_cross_entropy": (lambda x, y: -y * np.log(x) - (1 - y) * np.log(1 - x), {}),
    "kl_div": (lambda x, y: xlogy(y, y) - y * x, {}),
}


def log_softmax(x, dim):
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def class_losses(log_p, target, weight, ignore):
    """``(losses, weights)`` of log-probabilities (n, classes, ...)."""
    counted = target != ignore
    safe = np.where(counted, target, 0)
    picked = np.take_along_axis(log_p, safe[:, None], 1)[:, 0]
    weights = weight[safe] * counted
    return -picked * weights, weights


def numeric_gradient(function, x, step=1e-6):
    """Central differences."""
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_loss(name, reduction):
    """Value and gradients of a loss of single elements."""
    reference, options = ELEMENTWISE[name]
    a, b = RNG.uniform(0.05, 0.95, (3, 4)), RNG.uniform(0.05, 0.95, (3, 4))
    x, y = nbgrad.tensor(a, requires_grad=True), nbgrad.tensor(b, requires_grad=True)
    loss = getattr(nbgrad, name)(x, y, reduction=reduction, **options)
    np.testing.assert_allclose(loss.detach().numpy(), REDUCTIONS[reduction](reference(a, b)), rtol=1e-12, atol=1e-14)
    loss.sum().backward()
    total = lambda p, q: REDUCTIONS[reduction](reference(p, q)).sum()
    np.testing.assert_allclose(x.grad.numpy(), numeric_gradient(lambda p: total(p, b), a), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(y.grad.numpy(), numeric_gradient(lambda q: total(a, q), b), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 2, 3), (40, 300)], ids=str)
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_loss_by_class(name, shape, weighted, reduction):
    """Value and gradient of a loss by class index, with ignored rows and class weights."""
    scores = RNG.standard_normal(shape)
    target = RNG.integers(0, shape[1], (shape[0], *shape[2:]))
    target[0] = -100
    weight = RNG.uniform(0.1, 2, shape[1]) if weighted else np.ones(shape[1])
    log_p = log_softmax(scores, 1) if name == "cross_entropy" else scores
    losses, weights = class_losses(log_p, target, weight, -100)
    expected = {"mean": losses.sum() / weights.sum(), "sum": losses.sum(), "none": losses}[reduction]
    x = nbgrad.tensor(scores, requires_grad=True)
    loss = getattr(nbgrad, name)(x, nbgrad.tensor(target), nbgrad.tensor(weight) if weighted else None, reduction=reduction)
    np.testing.assert_allclose(loss.detach().numpy(), expected, rtol=1e-12, atol=1e-13)
    loss.sum().backward()
    one_hot = np.moveaxis(np.eye(shape[1])[np.where(target == -100, 0, target)], -1, 1)
    slope = (np.exp(log_p) if name == "cross_entropy" else 0) - one_hot
    scale = weights / (weights.sum() if reduction == "mean" else 1)
    np.testing.assert_allclose(x.grad.numpy(), slope * scale[:, None], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_of_probabilities(smoothing, reduction):
    """A distribution as target; smoothing mixes it with the even one."""
    scores, target, weight = RNG.standard_normal((5, 4)), RNG.dirichlet(np.ones(4), 5), RNG.uniform(0.1, 2, 4)
    mixed = target * (1 - smoothing) + smoothing / 4
    losses = -(mixed * log_softmax(scores, 1) * weight).sum(1)
    loss = nbgrad.cross_entropy(*map(nbgrad.tensor, (scores, target, weight)), reduction=reduction, label_smoothing=smoothing)
    np.testing.assert_allclose(loss.numpy(), REDUCTIONS[reduction](losses), rtol=1e-12)


def test_smoothed_classes_are_a_distribution():
    """Smoothing a class index is the cross-entropy of the smoothed one-hot distribution."""
    scores, target = RNG.standard_normal((5, 4)), RNG.integers(0, 4, 5)
    by_class = nbgrad.cross_entropy(nbgrad.tensor(scores), nbgrad.tensor(target), label_smoothing=0.3)
    by_probability = nbgrad.cross_entropy(nbgrad.tensor(scores), nbgrad.tensor(np.eye(4)[target]), label_smoothing=0.3)
    np.testing.assert_allclose(by_class.numpy(), by_probability.numpy(), rtol=1e-12)


def test_cross_entropy_second_order():
    """The gradient of the squared gradient, against differences of the first one."""
    scores, target = RNG.standard_normal((4, 5)), nbgrad.tensor(np.array([1, -100, 4, 0]))

    def gradient(p):
        x = nbgrad.tensor(p, requires_grad=True)
        (g,) = nbgrad.grad(nbgrad.cross_entropy(x, target), x, create_graph=True)
        return x, (g * g).sum()

    x, total = gradient(scores)
    (second,) = nbgrad.grad(total, x)
    expected = numeric_gradient(lambda p: gradient(p)[1].item(), scores)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-5, atol=1e-9)


def test_logits_do_not_overflow():
    """Scores of +-1000 give the exact limit and a finite gradient."""
    x = nbgrad.tensor([1000.0, -1000.0, 1000.0], requires_grad=True)
    loss = nbgrad.binary_cross_entropy_with_logits(x, nbgrad.tensor([1.0, 0.0, 0.0]), reduction="none")
    loss.sum().backward()
    np.testing.assert_array_equal(loss.detach().numpy(), [0.0, 0.0, 1000.0])
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0, 1.0])


def test_positive_weight():
    """``pos_weight`` multiplies the term of the positive targets."""
    a, b, p = RNG.standard_normal((3, 4)), RNG.uniform(0, 1, (3, 4)), RNG.uniform(0.5, 3, 4)
    expected = -(p * b * np.log(sigmoid(a)) + (1 - b) * np.log(1 - sigmoid(a))).mean()
    loss = nbgrad.binary_cross_entropy_with_logits(nbgrad.tensor(a), nbgrad.tensor(b), pos_weight=nbgrad.tensor(p))
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-12)


def test_all_rows_ignored():
    """The mean of no rows is NaN, as torch's, and its gradient is 0."""
    x = nbgrad.tensor(RNG.standard_normal((2, 3)), requires_grad=True)
    loss = nbgrad.cross_entropy(x, nbgrad.tensor([-100, -100]))
    loss.backward()
    assert np.isnan(loss.item())
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: nbgrad.cross_entropy(x, nbgrad.tensor([0, 3])),
            nbgrad.DimError,
            "cross_entropy: a target is out of range: expected 0 to 2",
        ),
        (lambda x: nbgrad.nll_loss(x, nbgrad.tensor([0, -1])), nbgrad.DimError, "nll_loss: a target is out of range"),
        (lambda x: nbgrad.cross_entropy(x, nbgrad.tensor([0])), nbgrad.ShapeError, r"needs targets \[2\], got \[1\]"),
        (
            lambda x: nbgrad.cross_entropy(x, nbgrad.tensor([0, 1]), label_smoothing=2.0),
            nbgrad.RangeError,
            "label_smoothing is 2.0",
        ),
        (lambda x: nbgrad.mse_loss(x, x, reduction="max"), nbgrad.RangeError, "reduction is 'max'"),
        (lambda x: nbgrad.huber_loss(x, x, delta=0), nbgrad.RangeError, "delta is 0"),
        (lambda x: nbgrad.binary_cross_entropy_with_logits(x, x[0]), nbgrad.ShapeError, "must have the shape of input"),
    ],
)
def test_errors(call, error, message):
    """What is out of range or does not fit is named."""
    with pytest.raises(error, match=message):
        call(nbgrad.tensor(RNG.standard_normal((2, 3))))


def test_broadcast_targets_warn():
    """A target of another shape is broadcast, with a warning."""
    with pytest.warns(UserWarning, match=r"mse_loss: target \[3\] is broadcast"):
        nbgrad.mse_loss(nbgrad.zeros(2, 3), nbgrad.zeros(3))


@pytest.mark.parametrize(
    "x, y, which",
    [
        ([0.5, 1.5], [0.0, 1.0], "input"),
        ([-0.1, 0.5], [0.0, 1.0], "input"),
        ([0.5, np.nan], [0.0, 1.0], "input"),
        ([0.5, 0.5], [0.0, 2.0], "target"),
        ([0.5, 0.5], [np.nan, 1.0], "target"),
    ],
)
def test_what_is_no_probability_has_no_cross_entropy(x, y, which):
    """An input or target outside of [0, 1], or NaN, is an error, under vmap and in modules too; the ends are probabilities."""
    x, y = nbgrad.tensor(x, requires_grad=True), nbgrad.tensor(y)
    for loss in (
        nbgrad.binary_cross_entropy,
        nbgrad.nn.functional.binary_cross_entropy,
        nbgrad.nn.BCELoss(),
        nbgrad.vmap(nbgrad.binary_cross_entropy),
    ):
        with pytest.raises(nbgrad.RangeError, match=f"element of {which} is not from 0 to 1"):
            loss(x, y)
    ends = nbgrad.tensor([0.0, 1.0])
    assert nbgrad.binary_cross_entropy(ends, ends).item() == 0
    assert nbgrad.binary_cross_entropy(nbgrad.ones(0), nbgrad.ones(0), reduction="sum").item() == 0


@pytest.mark.filterwarnings("ignore:.*is broadcast against")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_loss_broadcasts_before_dtypes_meet(name, reduction):
    """An operand without dimensions counts as one with them; huber_loss has the dtype of its input."""
    loss = lambda x, y: getattr(F, name)(x, y, reduction=reduction)
    x, y = nbgrad.ones(2, 3, requires_grad=True), nbgrad.tensor(2.0, dtype=nbgrad.float64, requires_grad=True)
    first = nbgrad.float32 if name == "huber_loss" else nbgrad.float64
    assert loss(x, y).dtype is first and loss(y, x).dtype is nbgrad.float64
    assert loss(x, y.expand(2, 3)).dtype is first
    assert np.array_equal(loss(x, y).detach().numpy(), loss(x, y.expand(2, 3)).detach().numpy())
    g, h = nbgrad.grad(loss(x, y).sum(), (x, y))
    assert (g.dtype, h.dtype) == (nbgrad.float32, nbgrad.float64) and h.item() == pytest.approx(-g.sum().item()) != 0
