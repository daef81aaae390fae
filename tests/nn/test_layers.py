"""Layers, activations and losses: values and gradients against NumPy in float64."""
from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.errors import RangeError, ShapeError
from nbgrad.nn import functional as F

RNG = np.random.default_rng(0)
# Positive, negative, zero, and large enough for a careless exponential to overflow.
POINTS = np.concatenate([np.linspace(-6.0, 6.0, 25), [-800.0, 800.0]])


def of(array):
    """A float64 tensor that requires grad."""
    return nbgrad.tensor(np.asarray(array, dtype=np.float64), requires_grad=True)


def log_sigmoid(x):
    """NumPy's stable form."""
    return -np.logaddexp(0.0, -x)


def log_softmax(x):
    """NumPy, over the last dimension."""
    return x - np.logaddexp.reduce(x, axis=-1, keepdims=True)


def normal_cdf(x):
    """The standard normal distribution function."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


ACTIVATIONS = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.Tanh(), np.tanh),
    (nn.Sigmoid(), lambda x: np.exp(log_sigmoid(x))),
    (nn.LogSigmoid(), log_sigmoid),
    (nn.SiLU(), lambda x: x * np.exp(log_sigmoid(x))),
    (nn.GELU(), lambda x: x * normal_cdf(x)),
    (nn.GELU("tanh"), lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    (nn.Softplus(), lambda x: np.logaddexp(0, x)),
    (nn.Softplus(beta=2.0), lambda x: np.logaddexp(0, 2 * x) / 2),
    (nn.LeakyReLU(0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
    (nn.ELU(alpha=1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))),
    (nn.Softmax(dim=-1), lambda x: np.exp(log_softmax(x))),
    (nn.LogSoftmax(dim=-1), log_softmax),
    (nn.Identity("ignored", also=True), lambda x: x),
]


@pytest.mark.parametrize(("module", "reference"), ACTIVATIONS, ids=[repr(module) for module, _ in ACTIVATIONS])
def test_activation_values(module, reference):
    """Every activation, with its settings, is what its formula says in NumPy."""
    # Beyond its threshold softplus is the identity: exp(-20) = 2e-9 away.
    np.testing.assert_allclose(module(of(POINTS)).detach().numpy(), reference(POINTS), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("module", [nn.GELU("tanh"), nn.Softplus(2.0, 10.0), nn.LeakyReLU(0.2), nn.ELU(0.5),
                                    nn.Softmax(1), nn.LogSoftmax(0), nn.Flatten(0, 1)], ids=repr)
def test_settings_are_shown(module):
    """The text of a module evaluates to a module with the same text."""
    assert repr(eval(repr(module), vars(nn))) == repr(module)


def test_linear_is_an_affine_map():
    """Values and all three gradients are those of ``x @ W.T + b``."""
    layer, x = nn.Linear(3, 2, dtype=nbgrad.float64), of(RNG.normal(size=(5, 3)))
    g = RNG.normal(size=(5, 2))
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    out = layer(x)
    out.backward(nbgrad.tensor(g))
    np.testing.assert_allclose(out.detach().numpy(), x.detach().numpy() @ weight.T + bias, rtol=1e-13)
    np.testing.assert_allclose(x.grad.numpy(), g @ weight, rtol=1e-13)
    np.testing.assert_allclose(layer.weight.grad.numpy(), g.T @ x.detach().numpy(), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(layer.bias.grad.numpy(), g.sum(0), rtol=1e-13)


def test_linear_starts_within_its_bound():
    """Initial weights and biases fill the interval of half-width ``1 / sqrt(in_features)``."""
    layer = nn.Linear(100, 200)
    values = np.concatenate([p.detach().numpy().ravel() for p in layer.parameters()])
    assert 0.099 < np.abs(values).max() <= 0.1 and abs(values.mean()) < 0.002


def test_layer_norm_values():
    """Each sample is normalised over its trailing dimensions, then scaled and shifted."""
    x = RNG.normal(2.0, 3.0, size=(4, 3, 5))
    layer = nn.LayerNorm((3, 5), dtype=nbgrad.float64)
    scale, shift = RNG.normal(size=(2, 3, 5))
    layer.load_state_dict({"weight": scale, "bias": shift})
    centred = x - x.mean((1, 2), keepdims=True)
    expected = centred / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5) * scale + shift
    np.testing.assert_allclose(layer(of(x)).detach().numpy(), expected, rtol=1e-12, atol=1e-13)


def test_layer_norm_gradient():
    """The gradient for the input is the finite difference of a weighted sum of the output."""
    x, w, step = RNG.normal(size=(2, 4)), RNG.normal(size=(2, 4)), 1e-6
    layer, leaf = nn.LayerNorm(4, dtype=nbgrad.float64), of(x)
    (layer(leaf) * nbgrad.tensor(w)).sum().backward()

    def loss(moved):
        return (layer(nbgrad.tensor(moved)).detach().numpy() * w).sum()

    moves = np.eye(8).reshape(8, 2, 4) * step
    numeric = np.array([loss(x + move) - loss(x - move) for move in moves]).reshape(2, 4) / (2 * step)
    np.testing.assert_allclose(leaf.grad.numpy(), numeric, rtol=1e-6, atol=1e-8)


def test_layer_norm_without_parameters():
    """Without affine parts the module has none; without a bias it has a weight alone."""
    assert list(nn.LayerNorm(3, elementwise_affine=False).parameters()) == []
    assert [name for name, _ in nn.LayerNorm(3, bias=False).named_parameters()] == ["weight"]


def test_layer_norm_of_another_shape():
    """The error gives both shapes."""
    with pytest.raises(ShapeError, match=r"layer_norm: x is \(2, 4\), expected .* \(3,\)"):
        F.layer_norm(nbgrad.zeros(2, 4), (3,))


def test_dropout_scales_what_it_keeps():
    """In training an element is 0 or 1 / (1 - p), and the mean is kept; in evaluation nothing happens."""
    nbgrad.manual_seed(0)
    layer, x = nn.Dropout(0.25), nbgrad.ones(20_000)
    out = layer(x).numpy()
    np.testing.assert_allclose(np.unique(out), [0.0, 1 / 0.75], rtol=1e-6)
    assert abs(out.mean() - 1) < 5 * math.sqrt(0.25 / 0.75 / out.size)
    assert layer.eval()(x) is x


def test_dropout_probability():
    """``p`` outside 0 to 1 is refused."""
    with pytest.raises(RangeError, match="Dropout: p is 1.5"):
        nn.Dropout(1.5)


def test_flatten_keeps_the_batch():
    """All dimensions but the first become one, or those that were asked for."""
    x = nbgrad.zeros(2, 3, 4)
    assert tuple(nn.Flatten()(x).shape) == (2, 12) and tuple(nn.Flatten(0, 1)(x).shape) == (6, 4)


X, Y = RNG.normal(size=(2, 6, 4))
CLASSES = np.array([0, 3, 1, 1, 2, 0])
WEIGHT = np.array([1.0, 2.0, 0.5, 3.0])
NLL = -log_softmax(X)[np.arange(6), CLASSES]
BCE = np.logaddexp(0, X) - X * (Y > 0)
REDUCE = {"mean": np.mean, "sum": np.sum, "none": np.asarray}


@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize(("module", "x", "target", "each"), [
    (nn.MSELoss, X, Y, (X - Y) ** 2),
    (nn.L1Loss, X, Y, abs(X - Y)),
    (nn.CrossEntropyLoss, X, CLASSES, NLL),
    (nn.NLLLoss, log_softmax(X), CLASSES, NLL),
    (nn.BCEWithLogitsLoss, X, (Y > 0).astype(float), BCE),
])
def test_loss_values(module, x, target, each, reduction):
    """Every loss is the reduction of its formula."""
    out = module(reduction=reduction)(of(x), nbgrad.tensor(target))
    np.testing.assert_allclose(out.detach().numpy(), REDUCE[reduction](each), rtol=1e-12)


def test_class_weights_make_a_weighted_mean():
    """Cross-entropy with class weights divides by the weights of the samples' classes."""
    weights = WEIGHT[CLASSES]
    out = nn.CrossEntropyLoss(weight=nbgrad.tensor(WEIGHT))(of(X), nbgrad.tensor(CLASSES))
    np.testing.assert_allclose(out.item(), (weights * NLL).sum() / weights.sum(), rtol=1e-12)


def test_ignored_samples_do_not_count():
    """The mean is over the samples whose target is not ``ignore_index``."""
    out = nn.NLLLoss(ignore_index=1)(of(log_softmax(X)), nbgrad.tensor(CLASSES))
    np.testing.assert_allclose(out.item(), NLL[CLASSES != 1].mean(), rtol=1e-12)


def test_label_smoothing_mixes_in_the_uniform_distribution():
    """A part of the loss is the mean over all classes."""
    out = nn.CrossEntropyLoss(label_smoothing=0.2)(of(X), nbgrad.tensor(CLASSES))
    np.testing.assert_allclose(out.item(), (0.8 * NLL - 0.2 * log_softmax(X).mean(1)).mean(), rtol=1e-12)


def test_positive_weight():
    """``pos_weight`` multiplies the positive part of the binary cross-entropy."""
    target = (Y > 0).astype(float)
    out = nn.BCEWithLogitsLoss(pos_weight=nbgrad.tensor(3.0, dtype=nbgrad.float64))(of(X), nbgrad.tensor(target))
    expected = -(3 * target * log_sigmoid(X) + (1 - target) * log_sigmoid(-X)).mean()
    np.testing.assert_allclose(out.item(), expected, rtol=1e-12)


def test_cross_entropy_gradient():
    """The gradient is the probability minus the target, over the number of samples."""
    x = of(X)
    nn.CrossEntropyLoss()(x, nbgrad.tensor(CLASSES)).backward()
    expected = (np.exp(log_softmax(X)) - np.eye(4)[CLASSES]) / 6
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12, atol=1e-15)


def test_unknown_reduction():
    """The error gives what came and the three that there are."""
    with pytest.raises(RangeError, match="MSELoss: reduction is 'max'"):
        nn.MSELoss(reduction="max")
