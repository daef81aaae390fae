"""Normalisation, tables, losses of margins, vectors of parameters: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn import functional as F

RNG = np.random.default_rng(5)


TARGET = nbgrad.tensor(RNG.uniform(size=(2, 4, 3)))


def normal_leaf(*shape: int) -> nbgrad.Tensor:
    """Numbers of no symmetry in double precision that require grad."""
    return nbgrad.tensor(RNG.normal(size=shape), requires_grad=True)


def normal(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    """Mean 0 and variance 1 over axes."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def check(got: nbgrad.Tensor, want: np.ndarray) -> None:
    """Assert equal numbers."""
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12, atol=1e-12)


def test_batch_norm_and_its_running_statistics():
    """Over the batch while training, with running statistics moved towards the batch's; by those afterwards."""
    x, layer = normal_leaf(4, 3, 2), nn.BatchNorm1d(3, dtype=nbgrad.float64)
    a = x.detach().numpy()
    check(layer(x), normal(a, (0, 2)))
    check(layer.running_mean, 0.1 * a.mean((0, 2)))
    check(layer.running_var, 0.9 + 0.1 * a.var((0, 2), ddof=1))
    assert layer.num_batches_tracked.item() == 1
    mean, var = layer.running_mean.numpy(), layer.running_var.numpy()
    check(layer.eval()(x), (a - mean[:, None]) / np.sqrt(var[:, None] + 1e-5))
    assert set(layer.state_dict()) == {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}


def test_batch_norm_without_momentum_is_a_mean_of_all_batches():
    """With momentum None every batch counts the same."""
    layer, batches = nn.BatchNorm1d(2, momentum=None, dtype=nbgrad.float64), [normal_leaf(3, 2) for _ in range(3)]
    for x in batches:
        layer(x)
    check(layer.running_mean, np.mean([x.detach().numpy().mean(0) for x in batches], 0))


def test_ranks_and_single_values_are_refused():
    """A batch norm of images takes images; one value a channel has no variance."""
    with pytest.raises(nbgrad.ShapeError, match="BatchNorm2d"):
        nn.BatchNorm2d(3)(nbgrad.ones(2, 3))
    with pytest.raises(ValueError, match="more than 1 value"):
        nn.BatchNorm1d(3)(nbgrad.ones(1, 3))


def test_group_instance_and_root_mean_square_norms():
    """Each is the same formula over other dimensions."""
    x = normal_leaf(2, 4, 3)
    a = x.detach().numpy()
    check(nn.GroupNorm(2, 4, dtype=nbgrad.float64)(x), normal(a.reshape(2, 2, 6), (2,)).reshape(a.shape))
    check(F.instance_norm(x), normal(a, (2,)))
    check(nn.RMSNorm((4, 3), eps=1e-3, dtype=nbgrad.float64)(x), a / np.sqrt((a * a).mean((1, 2), keepdims=True) + 1e-3))
    with pytest.raises(nbgrad.ShapeError, match="group_norm"):
        F.group_norm(x, 3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.group_norm(x, 2),
        lambda x: F.instance_norm(x),
        lambda x: F.rms_norm(x, (3,)),
        lambda x: F.layer_norm(x, (4, 3)),
        lambda x: F.pdist(x.reshape((8, 3))),
        lambda x: F.triplet_margin_loss(x[0], x[1], x[1].flip(0), swap=True),
        lambda x: F.soft_margin_loss(x, x.detach().sign()),
        lambda x: F.cosine_embedding_loss(x[0], x[1], nbgrad.tensor([1, -1, 1, -1])),
        lambda x: F.multi_margin_loss(x[0], nbgrad.tensor([0, 2, 1, 1]), p=2),
        lambda x: F.gaussian_nll_loss(x[0], x[1], x[1].exp(), full=True),
        lambda x: F.poisson_nll_loss(x, TARGET * 3, full=True),
        lambda x: F.multilabel_soft_margin_loss(x[0], TARGET[0]),
    ],
)
def test_gradients(function):
    """Backward agrees with finite differences, and so does double backward."""
    x = normal_leaf(2, 4, 3)
    assert nbgrad.gradcheck(function, x)
    assert nbgrad.gradgradcheck(function, x)


def test_embedding_looks_up_rows():
    """Rows by number; each row's gradient is the sum over where it was looked up, without that of the padding."""
    layer = nn.Embedding(4, 3, padding_idx=-1)
    assert layer.weight[3].tolist() == [0.0, 0.0, 0.0]
    out = layer(nbgrad.tensor([[0, 2], [2, 3]]))
    assert out.shape == (2, 2, 3)
    out.sum().backward()
    assert layer.weight.grad.sum(1).tolist() == [3.0, 0.0, 6.0, 0.0]
    frequent = nn.Embedding.from_pretrained(nbgrad.ones(4, 3), freeze=False, scale_grad_by_freq=True)
    frequent(nbgrad.tensor([0, 2, 2])).sum().backward()
    assert frequent.weight.grad.sum(1).tolist() == [3.0, 0.0, 3.0, 0.0]


def test_embedding_shortens_rows_that_are_looked_up():
    """Rows longer than max_norm are scaled down in the table, the others left."""
    weight = nbgrad.tensor([[3.0, 4.0], [3.0, 4.0]])
    out = F.embedding(nbgrad.tensor([1, 1]), weight, max_norm=1.0)
    np.testing.assert_allclose(out.norm(2, 1).numpy(), 1.0, rtol=1e-6)
    assert weight[0].tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (nbgrad.DimError, lambda: F.embedding(nbgrad.tensor([4]), nbgrad.ones(3, 2))),
        (RuntimeError, lambda: F.embedding(nbgrad.tensor([1.0]), nbgrad.ones(3, 2))),
        (nbgrad.SettingError, lambda: nn.Embedding(3, 2, padding_idx=3)),
    ],
)
def test_embedding_refuses(error, call):
    """Numbers that are no rows, and what is not there."""
    with pytest.raises(error):
        call()


def test_losses_of_margins():
    """Values by their definitions; modules are the functions with their settings."""
    x, y, signs = normal_leaf(4), normal_leaf(4), nbgrad.tensor([1.0, -1.0, 1.0, -1.0], dtype=nbgrad.float64)
    a, b, t = x.detach().numpy(), y.detach().numpy(), signs.numpy()
    check(nn.HingeEmbeddingLoss(0.5)(x, signs), np.where(t == 1, a, np.maximum(0, 0.5 - a)).mean())
    check(nn.MarginRankingLoss(0.5)(x, y, signs), np.maximum(0, 0.5 - t * (a - b)).mean())
    check(nn.SoftMarginLoss(reduction="sum")(x, signs), np.log1p(np.exp(-t * a)).sum())
    check(nn.HuberLoss(delta=0.5)(x, y), np.where(abs(a - b) < 0.5, (a - b) ** 2 / 2, 0.5 * (abs(a - b) - 0.25)).mean())
    check(nn.SmoothL1Loss()(x, y), np.where(abs(a - b) < 1, (a - b) ** 2 / 2, abs(a - b) - 0.5).mean())
    p = 1 / (1 + np.exp(-a))
    check(nn.BCELoss()(x.sigmoid(), (signs + 1) / 2), -np.where(t == 1, np.log(p), np.log(1 - p)).mean())
    rows = [normal_leaf(3, 2) for _ in range(3)]
    near, far = (np.sqrt(((rows[0].detach().numpy() - r.detach().numpy() + 1e-6) ** 2).sum(1)) for r in rows[1:])
    check(nn.TripletMarginLoss()(*rows), np.maximum(0, near - far + 1).mean())
    assert abs(nn.CosineEmbeddingLoss()(rows[0], rows[0], nbgrad.ones(3)).item()) < 1e-9
    with pytest.raises(ValueError, match="reduction"):
        F.soft_margin_loss(x, signs, reduction="median")


def test_parameters_as_a_vector():
    """There and back; gradients flow through the vector, and clipping by value or norm works on what is there."""
    model = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.shape == (9,) and vector.requires_grad
    nn.utils.vector_to_parameters(nbgrad.arange(9.0), model.parameters())
    assert model.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]] and model.bias.tolist() == [6.0, 7.0, 8.0]
    model(nbgrad.ones(1, 2)).sum().backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters()])
    assert norm.item() == pytest.approx(3.0)
    nn.utils.clip_grads_with_norm_(model.parameters(), 1.5, norm)
    assert model.bias.grad.tolist() == pytest.approx([0.5] * 3, rel=1e-5)
    nn.utils.clip_grad_value_(model.parameters(), 0.25)
    assert model.weight.grad.tolist() == [[0.25, 0.25]] * 3


def test_one_hot_of_a_batch():
    """With the number of classes given, one_hot can be mapped."""
    classes = nbgrad.tensor([1, 3])
    assert nbgrad.vmap(lambda i: nbgrad.one_hot(i, 4))(classes).tolist() == nbgrad.one_hot(classes, 4).tolist()


def test_shapes_of_margin_losses():
    """Unreduced losses have the shape of the target; inputs of ``cosine_embedding_loss`` broadcast."""
    for shape, target in (((4,), ()), ((4,), (1,)), ((1, 4), (1,)), ((3, 4), (3,)), ((0, 4), (0,)), ((), ())):
        classes = nbgrad.zeros(target, dtype=nbgrad.int64)
        assert F.multi_margin_loss(nbgrad.ones(shape), classes, reduction="none").shape == target
    one, two = nbgrad.tensor([[1.0, 2.0]]), nbgrad.tensor([[1.0, 2.0], [-2.0, 1.0]])
    losses = F.cosine_embedding_loss(one, two, nbgrad.tensor([1.0, 1.0]), reduction="none")
    np.testing.assert_allclose(losses.numpy(), [0, 1], atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 2), (0, 2, 3), (2, 2, 0)], ids=str)
def test_norms_of_nothing(shape):
    """No values stay no values, and running statistics stay where they are."""
    x, mean, variance = nbgrad.ones(shape, requires_grad=True), nbgrad.zeros(2), nbgrad.ones(2)
    for out in (F.group_norm(x, 2), F.batch_norm(x, mean, variance, training=True)):
        assert out.shape == nbgrad.grad(out.sum(), x)[0].shape == shape
    assert mean.tolist() == [0, 0] and variance.tolist() == [1, 1]


@pytest.mark.parametrize("momentum", [0.5, None])
def test_a_failed_batch_leaves_running_statistics_alone(momentum):
    """Statistics cannot take a batch that ``vmap`` hides, nor one of a single value: nothing has moved afterwards."""
    module = nbgrad.nn.BatchNorm1d(2, momentum=momentum)
    module(nbgrad.tensor([[1.0, 2.0], [3.0, 5.0]]))
    before = {name: tensor.tolist() for name, tensor in module.state_dict().items()}
    for call in (lambda: module(nbgrad.ones(1, 2)), lambda: nbgrad.vmap(module)(nbgrad.randn(3, 2, 2))):
        with pytest.raises(RuntimeError):
            call()
    assert {name: tensor.tolist() for name, tensor in module.state_dict().items()} == before


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: nbgrad.nn.BatchNorm1d(2, **k),
        lambda **k: nbgrad.nn.GroupNorm(1, 2, **k),
        lambda **k: nbgrad.nn.LayerNorm(2, **k),
        lambda **k: nbgrad.nn.RMSNorm(2, **k),
    ],
)
def test_normalisations_begin_anew(make):
    """``reset_parameters`` gives what the constructor gave, of parameters and of running statistics; there may be none."""
    module = make()
    fresh = {name: tensor.tolist() for name, tensor in module.state_dict().items()}
    module(nbgrad.randn(4, 2))
    with nbgrad.no_grad():
        for p in module.parameters():
            p.fill_(7.0)
    module.reset_parameters()
    assert {name: tensor.tolist() for name, tensor in module.state_dict().items()} == fresh
    make(**({"elementwise_affine": False} if hasattr(module, "elementwise_affine") else {"affine": False})).reset_parameters()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements_of_a_row_are_rounded_once(dtype):
    """Where the mean square is exact, elements are within 0.9 ulp: no rounding of the root or its inverse is left in them."""
    x = np.random.default_rng(0).integers(-9, 10, (64, 64)).astype(dtype)
    wide = x.astype(np.longdouble)
    expected = wide / np.sqrt((wide * wide).mean(1, keepdims=True) + 2.0**-20)
    got = F.rms_norm(nbgrad.tensor(x), (64,), None, 2.0**-20).numpy()
    assert (np.abs(got - expected) <= 0.9 * np.spacing(np.abs(expected).astype(dtype))).all()


def written_out(x, rows):
    """Rows of a tensor with mean 0 and variance 1, by operations that know nothing of one another."""
    y = x.reshape(rows)
    centred = y - y.mean(-1, True)
    return (centred / ((centred * centred).mean(-1, True) + 1e-5).sqrt()).reshape(x.shape)


ROWS = {
    "group_norm": (lambda x: F.group_norm(x, 2), lambda x: written_out(x, (3, 2, 10))),
    "instance_norm": (F.instance_norm, lambda x: written_out(x, (3, 4, 5))),
    "batch_norm": (
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: written_out(x.transpose(0, 1), (4, 15)).transpose(0, 1),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_standardised_as_if_written_out(name):
    """Values and derivatives in both modes, of second order, in batches, of strided, half, infinite and absent numbers."""
    norm, expected = ROWS[name]
    x = (nbgrad.arange(60.0, dtype=nbgrad.float64) * 1.7).sin().reshape(5, 4, 3).transpose(0, 2)
    weight = nbgrad.arange(60.0, dtype=nbgrad.float64).cos().reshape(3, 4, 5)

    def loss(f):
        return lambda x: (f(x) * weight).sum()

    pairs = [(norm(x), expected(x))]
    for transform in (nbgrad.func.grad, lambda f: nbgrad.func.grad(lambda x: (nbgrad.func.grad(f)(x) ** 2).sum())):
        pairs.append((transform(loss(norm))(x), transform(loss(expected))(x)))
    pairs += zip(nbgrad.func.jvp(norm, (x,), (weight,)), nbgrad.func.jvp(expected, (x,), (weight,)))
    batch = nbgrad.stack([x, weight])
    pairs.append((nbgrad.vmap(norm)(batch), nbgrad.stack([norm(x), norm(weight)])))
    for made, other in pairs:
        assert made.allclose(other, rtol=1e-9, atol=1e-10)
    assert norm(x.half()).dtype is nbgrad.float16 and norm(x.half()).allclose(norm(x.half().float()).half())
    assert norm(x.clone().fill_(nbgrad.inf)).isnan().all() and norm(x[:0]).shape == (0, 4, 5)


def test_instance_norm_without_weights_says_that_channels_are_others():
    """The number of channels is not used then."""
    x = nbgrad.arange(12.0).reshape(1, 3, 4)
    with pytest.warns(UserWarning, match=r"InstanceNorm1d: input is \[1, 3, 4\], expected 5 channels. Without weights"):
        found = nn.InstanceNorm1d(5)(x)
    assert nbgrad.equal(found, nn.InstanceNorm1d(3)(x))
