"""Initial values: moments of the distributions, by the formulas of their papers."""

from __future__ import annotations

import math

import pytest

import nbgrad
from nbgrad.base.errors import RangeError, ShapeError
from nbgrad.nn import init

SHAPE = (300, 200)
SIZE = math.prod(SHAPE)
# What remains of the standard deviation of a normal variable between -1.5 and 1.5 of them: sqrt(1 - 2 x f(x) / F(-x, x)).
TRUNCATED = math.sqrt(1 - 3 * math.exp(-1.125) / math.sqrt(2 * math.pi) / math.erf(1.5 / math.sqrt(2)))


def weight():
    """An uninitialised parameter."""
    return nbgrad.Parameter(nbgrad.empty(*SHAPE, dtype=nbgrad.float64))


def moments(tensor):
    """Mean, standard deviation, and largest magnitude."""
    values = tensor.detach().numpy()
    return values.mean(), values.std(), abs(values).max()


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda w, **k: init.xavier_uniform_(w, gain=2.0, **k), 2 * math.sqrt(2 / 500)),
        (lambda w, **k: init.xavier_normal_(w, **k), math.sqrt(2 / 500)),
        (lambda w, **k: init.kaiming_uniform_(w, nonlinearity="relu", **k), math.sqrt(2 / 200)),
        (lambda w, **k: init.kaiming_normal_(w, a=1.0, mode="fan_out", **k), math.sqrt(1 / 300)),
        (lambda w, **k: init.normal_(w, 0.0, 3.0, **k), 3.0),
        (lambda w, **k: init.uniform_(w, -1.0, 1.0, **k), math.sqrt(1 / 3)),
        (lambda w, **k: init.trunc_normal_(w, 0.0, 2.0, -3.0, 3.0, **k), 2 * TRUNCATED),
    ],
    ids=["xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "normal_", "uniform_", "trunc_normal_"],
)
def test_standard_deviation(fill, std):
    """Mean and standard deviation are the intended ones within five standard errors; the same seed fills the same."""
    w = weight()
    assert fill(w, generator=nbgrad.Generator().manual_seed(7)) is w
    mean, measured, _ = moments(w)
    assert abs(mean) < 5 * std / math.sqrt(SIZE) and abs(measured - std) < 5 * std / math.sqrt(2 * SIZE)
    assert fill(weight(), generator=nbgrad.Generator().manual_seed(7)).tolist() == w.tolist()


def test_uniform_stays_within_its_bounds():
    """A uniform distribution of standard deviation s ends at s * sqrt(3)."""
    bound = math.sqrt(3) * math.sqrt(2 / 200)
    assert 0.99 * bound < moments(init.kaiming_uniform_(weight(), nonlinearity="relu"))[2] <= bound


def test_truncated_normal_numbers_stay_within_their_bounds():
    """Also where the bounds lie on one side of the mean."""
    values = init.trunc_normal_(weight(), 0.0, 1.0, 1.0, 2.5).detach()
    assert values.min().item() >= 1.0 and values.max().item() <= 2.5 and values.mean().item() < 1.75


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (3, 2, 2)])
def test_orthogonal(shape):
    """The shorter sides are orthogonal and as long as the gain; the same seed gives the same, the next number another."""
    generator = nbgrad.Generator().manual_seed(3)
    w = init.orthogonal_(nbgrad.empty(*shape, dtype=nbgrad.float64), gain=2.0, generator=generator).reshape(shape[0], -1)
    product = w @ w.mT if w.shape[0] <= w.shape[1] else w.mT @ w
    assert product.allclose(4 * nbgrad.eye(min(w.shape), dtype=nbgrad.float64))
    assert not init.orthogonal_(nbgrad.empty(*shape), gain=2.0, generator=generator).reshape(shape[0], -1).allclose(w.float())


def test_identity():
    """Ones on the diagonal of any matrix; other tensors have none."""
    assert init.eye_(nbgrad.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(ShapeError, match=r"eye_: expected two dimensions, got shape \(2,\)"):
        init.eye_(nbgrad.empty(2))


def test_constants():
    """Constant fills are exact, and nothing is recorded."""
    assert (init.constant_(weight(), 2.5).detach().numpy() == 2.5).all()
    w = init.ones_(weight())
    assert w.is_leaf and w.requires_grad and w.sum().item() == SIZE
    assert init.zeros_(weight()).abs().max().item() == 0


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [("tanh", None, 5 / 3), ("relu", None, math.sqrt(2)), ("leaky_relu", 0.5, math.sqrt(1.6)), ("linear", None, 1.0)],
)
def test_gains(name, param, gain):
    """The recommended gain of each activation."""
    assert init.calculate_gain(name, param) == pytest.approx(gain)


def test_fans_count_the_kernel():
    """Dimensions after the second multiply both fans."""
    assert init.fans(nbgrad.empty(8, 3, 5, 5)) == (75, 200)


def test_errors():
    """A vector has no fans; modes and activations are checked by name."""
    with pytest.raises(ShapeError, match=r"two or more dimensions, got shape \(3,\)"):
        init.xavier_normal_(nbgrad.empty(3))
    with pytest.raises(RangeError, match="mode is 'fan'"):
        init.kaiming_normal_(weight(), mode="fan")
    with pytest.raises(RangeError, match="nonlinearity is 'swish'"):
        init.calculate_gain("swish")
    with pytest.raises(RangeError, match="param is 'a'"):
        init.calculate_gain("leaky_relu", "a")
    with pytest.raises(RangeError, match="a is 2, b 1"):
        init.uniform_(weight(), 2, 1)
    with pytest.raises(RangeError, match="std is -1"):
        init.normal_(weight(), std=-1)
