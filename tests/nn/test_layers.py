"""Layers, activations and losses: values and gradients against NumPy in float64."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import RangeError, ShapeError
from nbgrad.nn import functional as F
from tests.helpers import leaf

RNG = np.random.default_rng(0)
# Positive, negative, zero, and large enough for a careless exponential to overflow.
POINTS = np.concatenate([np.linspace(-6.0, 6.0, 25), [-800.0, 800.0]])


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
    np.testing.assert_allclose(module(leaf(POINTS)).detach().numpy(), reference(POINTS), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "module",
    [nn.GELU("tanh"), nn.Softplus(2.0, 10.0), nn.LeakyReLU(0.2), nn.ELU(0.5), nn.Softmax(1), nn.LogSoftmax(0), nn.Flatten(0, 1)],
    ids=repr,
)
def test_settings_are_shown(module):
    """The text of a module evaluates to a module with the same text."""
    assert repr(eval(repr(module), vars(nn))) == repr(module)


def test_linear_is_an_affine_map():
    """Values and all three gradients are those of ``x @ W.T + b``."""
    layer, x = nn.Linear(3, 2, dtype=nbgrad.float64), leaf(RNG.normal(size=(5, 3)))
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
    np.testing.assert_allclose(layer(leaf(x)).detach().numpy(), expected, rtol=1e-12, atol=1e-13)


def test_layer_norm_gradient():
    """The gradient for the input is the finite difference of a weighted sum of the output."""
    x, w, step = RNG.normal(size=(2, 4)), RNG.normal(size=(2, 4)), 1e-6
    layer, moving = nn.LayerNorm(4, dtype=nbgrad.float64), leaf(x)
    (layer(moving) * nbgrad.tensor(w)).sum().backward()

    def loss(moved):
        return (layer(nbgrad.tensor(moved)).detach().numpy() * w).sum()

    moves = np.eye(8).reshape(8, 2, 4) * step
    numeric = np.array([loss(x + move) - loss(x - move) for move in moves]).reshape(2, 4) / (2 * step)
    np.testing.assert_allclose(moving.grad.numpy(), numeric, rtol=1e-6, atol=1e-8)


def test_layer_norm_without_parameters():
    """Without affine parts the module has none; without a bias it has a weight alone."""
    assert list(nn.LayerNorm(3, elementwise_affine=False).parameters()) == []
    assert [name for name, _ in nn.LayerNorm(3, bias=False).named_parameters()] == ["weight"]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda n: nn.LayerNorm(n), (2, 3)),
        (lambda n: nn.RMSNorm(n), (2, 3)),
        (lambda n: nn.ConstantPad1d(n, 0.0), (2, 9)),
        (lambda n: nn.ReplicationPad2d(n), (8, 9)),
    ],
    ids=["LayerNorm", "RMSNorm", "ConstantPad1d", "ReplicationPad2d"],
)
def test_one_size_may_be_a_number_of_numpy(make, shape):
    """What is one number is meant for all dimensions or sides, of whatever class of integers."""
    x = nbgrad.ones(1, 2, 3)
    assert make(np.int64(3))(x).shape == make(3)(x).shape == (1, *shape)


def test_layer_norm_of_another_shape():
    """The error gives both shapes."""
    with pytest.raises(ShapeError, match=r"layer_norm: input is \(2, 4\), expected .* \(3,\)"):
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


@pytest.mark.parametrize("layer", [nn.AlphaDropout, nn.FeatureAlphaDropout])
def test_alpha_dropout_keeps_mean_and_variance(layer):
    """Two values of each element are possible, and inputs of mean 0 and variance 1 keep both, within five standard deviations."""
    nbgrad.manual_seed(0)
    x = nbgrad.randn(300, 300, dtype=nbgrad.float64, requires_grad=True)
    out = layer(0.2)(x)
    assert abs(out.mean().item()) < 0.02 and abs(out.var().item() - 1) < 0.03
    (slope,) = nbgrad.grad(out.sum(), x)
    dropped = (slope == 0).numpy()
    low, factor = -1.7580993408473766, np.sqrt(1 / (0.8 + 0.8 * 0.2 * 1.7580993408473766**2))
    expected = factor * (np.where(dropped, low, x.detach().numpy()) - 0.2 * low)
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-6)
    assert abs(dropped.mean() - 0.2) < 0.01
    assert layer().eval()(x) is x


CHANNELS = {
    "dropout1d": (50, 40, 3),
    "dropout2d": (50, 40, 2, 3),
    "dropout3d": (50, 40, 2, 1, 3),
    "feature_alpha_dropout": (50, 40, 2),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_channels_are_dropped_as_a_whole(name):
    """All elements of a channel go or stay; of one sample too, where there is such a form; in place the same."""
    nbgrad.manual_seed(0)
    function, shape = getattr(F, name), CHANNELS[name]
    for x in (nbgrad.ones(shape), nbgrad.ones(shape[1:])):
        if name in ("dropout2d", "feature_alpha_dropout") and x.ndim == 3 - (name != "dropout2d"):
            continue
        samples = x.numpy().reshape(-1, *shape[1:]).shape[:2]
        for inplace in (False, True):
            out = function(x.clone(), 0.3, True, inplace).numpy().reshape(*samples, -1)
            assert (out == out[:, :, :1]).all() and len(np.unique(out)) == 2
            assert abs((out == out.min()).mean() - 0.3) < 0.3
    y = nbgrad.ones(shape)
    assert function(y, 0.3, True, True) is y and y.min() < y.max()
    assert function(y, 0.3, False) is y


@pytest.mark.parametrize("name, ndim", [("dropout2d", 2), ("dropout2d", 5), ("dropout3d", 2), ("dropout3d", 3)])
def test_dropout_of_channels_of_unusual_shapes(name, ndim):
    """The first two dimensions are samples and channels, which are kept or zeroed as a whole, and there is a warning."""
    with pytest.warns(UserWarning, match=rf"{name}: input has shape .*Hint: dropout takes any shape"):
        out = getattr(nbgrad.nn.functional, name)(nbgrad.ones([4] * ndim), 0.5)
    assert {len(set(channel)) for channel in out.reshape(16, -1).tolist()} == {1}
    with pytest.raises(nbgrad.ShapeError, match=f"{name}: input has shape"):
        getattr(nbgrad.nn.functional, name)(nbgrad.ones(3), 0.5)


def test_channels_of_other_shapes():
    """What has no channels is refused; three dimensions are samples, channels and places to ``dropout2d``, which says so."""
    with pytest.raises(ShapeError, match=r"dropout1d: input has shape \[3\], expected 3 dimensions, or 2"):
        F.dropout1d(nbgrad.ones(3))
    with pytest.raises(ShapeError, match="feature_alpha_dropout: input has shape .* at least 2 dimensions"):
        F.feature_alpha_dropout(nbgrad.ones(3), 0.5, True)
    with pytest.warns(UserWarning, match="(N, C, L)"):
        out = F.dropout2d(nbgrad.ones(30, 20, 4)).numpy()
    assert (out == out[:, :, :1]).all() and (out != out[:1]).any()


@pytest.mark.parametrize("name", ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_"])
def test_activations_in_place(name):
    """The function without the underscore, written into its operand."""
    x, numbers = nbgrad.tensor([-2.0, 0.5, 3.0]), (0.1, 7.0) if name == "threshold_" else ()
    expected = getattr(F, name[:-1])(x, *numbers).tolist()
    assert getattr(F, name)(x, *numbers) is x and x.tolist() == expected


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
@pytest.mark.parametrize(
    ("module", "x", "target", "each"),
    [
        (nn.MSELoss, X, Y, (X - Y) ** 2),
        (nn.L1Loss, X, Y, abs(X - Y)),
        (nn.CrossEntropyLoss, X, CLASSES, NLL),
        (nn.NLLLoss, log_softmax(X), CLASSES, NLL),
        (nn.BCEWithLogitsLoss, X, (Y > 0).astype(float), BCE),
    ],
)
def test_loss_values(module, x, target, each, reduction):
    """Every loss is the reduction of its formula."""
    out = module(reduction=reduction)(leaf(x), nbgrad.tensor(target))
    np.testing.assert_allclose(out.detach().numpy(), REDUCE[reduction](each), rtol=1e-12)


def test_class_weights_make_a_weighted_mean():
    """Cross-entropy with class weights divides by the weights of the samples' classes."""
    weights = WEIGHT[CLASSES]
    out = nn.CrossEntropyLoss(weight=nbgrad.tensor(WEIGHT))(leaf(X), nbgrad.tensor(CLASSES))
    np.testing.assert_allclose(out.item(), (weights * NLL).sum() / weights.sum(), rtol=1e-12)


def test_ignored_samples_do_not_count():
    """The mean is over the samples whose target is not ``ignore_index``."""
    out = nn.NLLLoss(ignore_index=1)(leaf(log_softmax(X)), nbgrad.tensor(CLASSES))
    np.testing.assert_allclose(out.item(), NLL[CLASSES != 1].mean(), rtol=1e-12)


def test_label_smoothing_mixes_in_the_uniform_distribution():
    """A part of the loss is the mean over all classes."""
    out = nn.CrossEntropyLoss(label_smoothing=0.2)(leaf(X), nbgrad.tensor(CLASSES))
    np.testing.assert_allclose(out.item(), (0.8 * NLL - 0.2 * log_softmax(X).mean(1)).mean(), rtol=1e-12)


def test_positive_weight():
    """``pos_weight`` multiplies the positive part of the binary cross-entropy."""
    target = (Y > 0).astype(float)
    out = nn.BCEWithLogitsLoss(pos_weight=nbgrad.tensor(3.0, dtype=nbgrad.float64))(leaf(X), nbgrad.tensor(target))
    expected = -(3 * target * log_sigmoid(X) + (1 - target) * log_sigmoid(-X)).mean()
    np.testing.assert_allclose(out.item(), expected, rtol=1e-12)


def test_cross_entropy_gradient():
    """The gradient is the probability minus the target, over the number of samples."""
    x = leaf(X)
    nn.CrossEntropyLoss()(x, nbgrad.tensor(CLASSES)).backward()
    expected = (np.exp(log_softmax(X)) - np.eye(4)[CLASSES]) / 6
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12, atol=1e-15)


def test_unknown_reduction():
    """The error gives what came and the three that there are."""
    with pytest.raises(RangeError, match="MSELoss: reduction is 'max'"):
        nn.MSELoss(reduction="max")


# ---- settings, flags and places of arguments -------------------------------------------------------------------------

INPLACE = ("relu", "relu6", "elu", "celu", "selu", "silu", "mish", "leaky_relu", "hardtanh", "hardsigmoid", "hardswish")


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_by_place_and_by_name(name):
    """``inplace`` is an activation's last argument; the result is then the operand itself, with the gradient of the function."""
    function = getattr(F, name)
    settings = [p.default for p in list(inspect.signature(function).parameters.values())[1:-1]]
    x = nbgrad.tensor([-2.0, -0.3, 0.7, 4.0], dtype=nbgrad.float64, requires_grad=True)
    expected = function(x)
    (due,) = nbgrad.grad(expected.sum(), x)
    for call in (lambda y: function(y, *settings, True), lambda y: function(y, inplace=True)):
        y = x.clone()
        assert call(y) is y
        np.testing.assert_array_equal(y.detach().numpy(), expected.detach().numpy())
        np.testing.assert_array_equal(nbgrad.grad(y.sum(), x)[0].numpy(), due.numpy())
    y = x.detach().clone()
    assert function(y, *settings, False) is not y and y.tolist() == x.tolist()


def test_threshold_in_place():
    """Its settings have no defaults."""
    x = nbgrad.tensor([-1.0, 0.5])
    assert F.threshold(x, 0.0, 20.0).tolist() == [20.0, 0.5] and F.threshold(x, 0.0, 20.0, True) is x
    assert x.tolist() == [20.0, 0.5] and F.threshold(x, threshold=1.0, value=0.0).tolist() == [20.0, 0.0]


MODULES = {
    nn.ReLU: (),
    nn.ReLU6: (),
    nn.SELU: (),
    nn.SiLU: (),
    nn.Mish: (),
    nn.Hardsigmoid: (),
    nn.Hardswish: (),
    nn.ELU: (0.5,),
    nn.CELU: (0.5,),
    nn.LeakyReLU: (0.2,),
    nn.Hardtanh: (-0.5, 2.0),
    nn.Threshold: (0.1, 20.0),
}


@pytest.mark.parametrize("kind", MODULES, ids=lambda kind: kind.__name__)
def test_modules_of_activations_in_place(kind):
    """``inplace`` by place and by name; settings are attributes, are read in every call, are shown, and are pickled."""
    settings, x = MODULES[kind], nbgrad.tensor([-2.0, -0.3, 0.7, 4.0])
    plain = kind(*settings)
    expected = plain(x).tolist()
    for module in (kind(*settings, True), kind(*settings, inplace=True), copy.deepcopy(kind(*settings, True))):
        y = x.clone()
        assert module(y) is y and y.tolist() == expected and module.inplace and "inplace=True" in repr(module)
    assert not plain.inplace and "inplace" not in repr(plain) and plain(x) is not x
    plain.inplace = True
    assert plain(x) is x


def test_settings_of_activations():
    """Names, order and defaults are those of the functions; others are refused."""
    assert repr(nn.ELU(2.0)) == "ELU(alpha=2.0)"
    assert str(inspect.signature(nn.Hardtanh)) == "(min_val=-1.0, max_val=1.0, inplace=False)"
    assert repr(nn.Softmax(1)) == "Softmax(dim=1)" and nn.Hardshrink(0.3).lambd == 0.3 and nn.GLU().dim == -1
    for wrong in (lambda: nn.ReLU(False, 1), lambda: nn.ELU(beta=1.0), lambda: nn.Threshold(1.0)):
        with pytest.raises(TypeError, match="expected (ReLU|ELU|Threshold)[(]"):
            wrong()


@pytest.mark.parametrize(
    ("module", "reference"),
    [
        (nn.Softsign(), lambda x: x / (1 + np.abs(x))),
        (nn.Tanhshrink(), lambda x: x - np.tanh(x)),
        (nn.Hardshrink(0.4), lambda x: np.where(np.abs(x) > 0.4, x, 0)),
        (nn.Softmin(0), lambda x: np.exp(log_softmax(-x))),
        (nn.Softshrink(0.4), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.4, 0)),
        (nn.PReLU(init=0.3, dtype=nbgrad.float64), lambda x: np.where(x > 0, x, 0.3 * x)),
        (nn.GLU(0), lambda x: x[:2] / (1 + np.exp(-x[2:]))),
    ],
    ids=lambda value: repr(value) if isinstance(value, nn.Module) else None,
)
def test_more_activation_values(module, reference):
    """Modules of functions without a flag."""
    x = np.array([-2.0, -0.3, 0.7, 4.0])
    np.testing.assert_allclose(module(nbgrad.tensor(x)).detach().numpy(), reference(x), rtol=1e-12)


def test_dropout_in_place():
    """The mask is written into the operand; nothing is written in evaluation."""
    for call in (lambda x: F.dropout(x, 0.5, True, True), nn.Dropout(0.5, True), nn.Dropout(inplace=True)):
        x = nbgrad.ones(100)
        assert call(x) is x and set(x.tolist()) == {0.0, 2.0}
    x = nbgrad.ones(3)
    assert F.dropout(x, 0.5, False, True) is x and x.tolist() == [1.0] * 3


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
def test_dimension_that_is_not_given(name):
    """It is chosen as in torch's early versions, with a warning."""
    function = getattr(F, name)
    for shape, dim in (((2,), 0), ((2, 3), 1), ((2, 3, 2), 0), ((1, 2, 2, 2), 1)):
        x = nbgrad.tensor(RNG.normal(size=shape))
        with pytest.warns(UserWarning, match=f"{name}: dim is not given, {dim} is taken"):
            found = function(x)
        assert found.tolist() == function(x, dim, dtype=nbgrad.float64).tolist()


FLAGS = [
    ((None, None), "mean"),
    ((True, None), "mean"),
    ((False, None), "sum"),
    ((None, False), "none"),
    ((True, False), "none"),
    ((False, True), "sum"),
]
LOSSES = {
    "mse_loss": 0,
    "l1_loss": 0,
    "smooth_l1_loss": 0,
    "kl_div": 0,
    "binary_cross_entropy": 1,
    "binary_cross_entropy_with_logits": 1,
    "soft_margin_loss": 0,
    "multilabel_soft_margin_loss": 1,
    "hinge_embedding_loss": 1,
}


@pytest.mark.parametrize("flags, reduction", FLAGS)
@pytest.mark.parametrize("name", LOSSES)
def test_old_flags_of_losses(name, flags, reduction):
    """``size_average`` and ``reduce``, by name and at their places, are the reduction that they name."""
    loss, (x, y) = getattr(F, name), nbgrad.tensor([[[0.2, 0.7]], [[0.0, 1.0]]], dtype=nbgrad.float64)
    between = (None,) if LOSSES[name] else ()
    between = (1.0,) if name == "hinge_embedding_loss" else between
    expected = loss(x, y, reduction=reduction).tolist()
    with contextlib.nullcontext() if flags == (None, None) else pytest.warns(UserWarning, match=f"reduction='{reduction}'"):
        assert loss(x, y, *between, *flags).tolist() == expected
        assert loss(x, y, size_average=flags[0], reduce=flags[1]).tolist() == expected


@pytest.mark.parametrize("loss", [nn.MSELoss, nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.TripletMarginLoss, nn.SoftMarginLoss])
def test_old_flags_of_modules(loss):
    """The module has the reduction that they name."""
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert loss(size_average=False).reduction == "sum"


def test_places_of_settings_of_losses():
    """The flags have places of their own, as in torch; a word there is refused rather than taken for true."""
    assert nn.CrossEntropyLoss(None, None, 2).ignore_index == 2 == nn.NLLLoss(None, None, 2).ignore_index
    found = F.cross_entropy(nbgrad.zeros(2, 3), nbgrad.tensor([0, 2]), None, None, 2, None, "sum", 0.0)
    assert found.item() == pytest.approx(math.log(3))
    for wrong in (lambda: F.mse_loss(nbgrad.ones(2), nbgrad.ones(2), "sum"), lambda: nn.L1Loss("none")):
        with pytest.raises(TypeError, match="Hint: reduction='(sum|none)', by name"):
            wrong()


@pytest.mark.parametrize(
    "name, each",
    [
        ("mse_loss", lambda d: d * d),
        ("l1_loss", np.abs),
        ("huber_loss", lambda d: np.where(np.abs(d) < 1, d * d / 2, np.abs(d) - 0.5)),
    ],
)
def test_weights_of_each_loss(name, each):
    """Losses of elements are weighted; a mean is divided by the sum of the weights. Weights do not broadcast."""
    x, w, loss = np.array([[1.0, 2.0], [0.5, 5.0]]), np.array([[1.0, 2.0], [0.0, 1.0]]), getattr(F, name)
    y, weight = nbgrad.zeros(2, 2, dtype=nbgrad.float64), nbgrad.tensor(w)
    for reduction, expected in (("none", each(x) * w), ("sum", (each(x) * w).sum()), ("mean", (each(x) * w).sum() / w.sum())):
        np.testing.assert_allclose(loss(nbgrad.tensor(x), y, reduction=reduction, weight=weight).numpy(), expected)
    with pytest.raises(RuntimeError, match=f"{name}: weight .* must have the shape"):
        loss(nbgrad.tensor(x), y, weight=weight[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: nn.Linear(2, 3, **o),
        lambda **o: nn.LayerNorm(2, **o),
        lambda **o: nn.BatchNorm1d(2, **o),
        lambda **o: nn.PReLU(**o),
        lambda **o: nn.GroupNorm(1, 2, **o),
        lambda **o: nn.RMSNorm(2, **o),
        lambda **o: nn.Embedding(3, 2, **o),
    ],
)
def test_modules_take_a_device(make):
    """It stands before the dtype; other devices than the CPU are refused."""
    assert make(device="cpu", dtype=nbgrad.float64).weight.dtype is nbgrad.float64
    with pytest.raises(RuntimeError, match="cuda"):
        make(device="cuda")


def test_places_of_devices():
    """Device and dtype have torch's places among the arguments of layers."""
    assert nn.Linear(2, 3, True, "cpu", nbgrad.float64).bias.dtype is nbgrad.float64
    assert nn.BatchNorm1d(2, bias=False).bias is None is nn.GroupNorm(1, 2, bias=False).bias
    table = nbgrad.ones(3, 2)
    module = nn.Embedding(3, 2, _weight=table, _freeze=True)
    assert not module.weight.requires_grad and module.weight.tolist() == table.tolist()
    with pytest.raises(nbgrad.SettingError, match="_weight"):
        nn.Embedding(2, 2, _weight=table)


def test_random_slopes():
    """While training each negative element has a slope of its own between the ends, elsewhere all have the mean."""
    x = nbgrad.tensor([-2.0] * 500 + [3.0], requires_grad=True)
    module = nn.RReLU(0.2, 0.4)
    y = module(x)
    (slopes,) = nbgrad.grad(y.sum(), x)
    np.testing.assert_allclose((x * slopes).detach().numpy(), y.detach().numpy(), rtol=1e-6)
    drawn = slopes.numpy()[:-1]
    assert slopes[-1] == 1 and (drawn >= 0.2).all() and (drawn <= 0.4).all() and len(set(drawn.tolist())) > 400
    np.testing.assert_allclose(module.eval()(x).detach().numpy(), F.leaky_relu(x, 0.3).detach().numpy(), rtol=1e-6)
    for training in (True, False):
        y = x.detach().clone()
        assert F.rrelu(y, 0.2, 0.4, training, True) is y and (y[:-1] < 0).all() and y[-1] == 3
    with pytest.raises(RangeError, match="rrelu"):
        F.rrelu(x, 0.5, 0.2)


@pytest.mark.parametrize(
    "module, operands, expected",
    [
        (nn.KLDivLoss(reduction="batchmean"), 2, lambda x, y: F.kl_div(x, y, reduction="batchmean")),
        (nn.KLDivLoss(log_target=True), 2, lambda x, y: F.kl_div(x, y, log_target=True)),
        (nn.PoissonNLLLoss(full=True), 2, lambda x, y: F.poisson_nll_loss(x, y, full=True)),
        (nn.GaussianNLLLoss(reduction="sum"), 3, lambda x, y, v: F.gaussian_nll_loss(x, y, v, reduction="sum")),
        (nn.MultiLabelSoftMarginLoss(), 2, lambda x, y: F.multilabel_soft_margin_loss(x, y)),
        (nn.TripletMarginWithDistanceLoss(swap=True), 3, lambda *xs: F.triplet_margin_with_distance_loss(*xs, swap=True)),
        (nn.PairwiseDistance(1.0), 2, lambda x, y: F.pairwise_distance(x, y, 1.0)),
        (nn.CosineSimilarity(0), 2, lambda x, y: F.cosine_similarity(x, y, 0)),
    ],
    ids=lambda case: type(case).__name__,
)
def test_losses_as_modules(module, operands, expected):
    """Each is its function with the module's settings."""
    xs = [nbgrad.tensor(RNG.random((3, 4)) + 0.1) for _ in range(operands)]
    assert module(*xs).tolist() == expected(*xs).tolist()


def test_multi_margin_as_a_module():
    """Its targets are classes; other reductions are refused."""
    x, classes = nbgrad.tensor(RNG.random((3, 4))), nbgrad.tensor([0, 2, 3])
    found = nn.MultiMarginLoss(2, 0.5, weight=nbgrad.ones(4, dtype=nbgrad.float64))(x, classes)
    assert found.item() == pytest.approx(F.multi_margin_loss(x, classes, 2, 0.5).item())
    for wrong in (lambda: nn.KLDivLoss(reduction="rows"), lambda: nn.MSELoss(reduction="batchmean")):
        with pytest.raises(ValueError, match="reduction is"):
            wrong()
