"""Functions beneath ``nn.functional``: the same numbers, with arguments in the order of torch's own library."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn import functional as F

X = nbgrad.arange(24.0).reshape(2, 3, 4)


def same(found: nbgrad.Tensor, expected: nbgrad.Tensor) -> None:
    assert found.shape == expected.shape
    assert nbgrad.equal(found, expected)


def test_norms_take_weights_before_running_values() -> None:
    weight, bias, mean, var = nbgrad.tensor([1.0, 2, 3]), nbgrad.ones(3), nbgrad.zeros(3), nbgrad.ones(3)
    found = nbgrad.batch_norm(X, weight, bias, mean, var, False, 0.1, 1e-5, True)
    same(found, F.batch_norm(X, mean, var, weight, bias))
    found = nbgrad.instance_norm(X, weight, bias, None, None, True, 0.1, 1e-5, False)
    same(found, F.instance_norm(X, None, None, weight, bias))
    same(nbgrad.layer_norm(X, (4,), None, None, 0.5, True), F.layer_norm(X, (4,), eps=0.5))
    same(nbgrad.group_norm(X, 3, weight, bias), F.group_norm(X, 3, weight, bias))


@pytest.mark.parametrize(
    ("parts", "mean"),
    [
        (lambda: nbgrad.native_layer_norm(X, (4,), None, None, 0.0), X.mean(-1, True)),
        (lambda: nbgrad.native_group_norm(X, None, None, 2, 3, 4, 3, 0.0), X.mean(-1)),
        (lambda: nbgrad.native_batch_norm(X, None, None, None, None, True, 0.1, 0.0), X.mean((0, 2))),
    ],
)
def test_native_norms_say_what_they_subtracted(parts, mean) -> None:
    normed, subtracted, factor = parts()
    same(subtracted, mean)
    assert factor.shape == mean.shape
    like = (1, 3, 1) if mean.ndim == 1 else (2, 3, 1)
    nbgrad.testing.assert_close(normed, (X - subtracted.reshape(like)) * factor.reshape(like))


def test_batch_norm_out_of_training_has_no_moments() -> None:
    _, mean, factor = nbgrad.native_batch_norm(X, None, None, nbgrad.zeros(3), nbgrad.ones(3), False, 0.1, 1e-5)
    assert mean.shape == factor.shape == (0,)


def test_native_group_norm_refuses_other_sizes() -> None:
    with pytest.raises(ValueError, match=r"native_group_norm: input is \[2, 3, 4\], expected 2 \* 3 \* 5 elements"):
        nbgrad.native_group_norm(X, None, None, 2, 3, 5, 3, 1e-5)


@pytest.mark.parametrize("dim", [-1, 0, 1, 2])
def test_norm_except_dim(dim: int) -> None:
    kept = {-1: (), 0: (2, 1, 1), 1: (1, 3, 1), 2: (1, 1, 4)}[dim]
    found = nbgrad.norm_except_dim(X, 2, dim)
    assert tuple(found.shape) == kept
    others = tuple(k for k in range(3) if k != dim)
    nbgrad.testing.assert_close(found.reshape(-1), (X * X).sum(others).sqrt().reshape(-1))


def test_frobenius_norm() -> None:
    nbgrad.testing.assert_close(nbgrad.frobenius_norm(X, (1, 2)), (X * X).sum((1, 2)).sqrt())
    assert nbgrad.frobenius_norm(X, 1, True).shape == (2, 1, 4)


def test_embedding_takes_the_table_first() -> None:
    table = nbgrad.arange(6.0).reshape(3, 2).requires_grad_()
    nbgrad.embedding(table, nbgrad.tensor([0, 2, 1, 1]), 1).sum().backward()
    assert table.grad.tolist() == [[1, 1], [0, 0], [1, 1]]
    same(nbgrad.embedding(table, nbgrad.tensor([2])), table[2:])
    shortened = nbgrad.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert nbgrad.embedding_renorm_(shortened, nbgrad.tensor([[1]]), 5.0, 2.0) is shortened
    nbgrad.testing.assert_close(shortened, nbgrad.tensor([[3.0, 4.0], [3.0, 4.0]]))


LOSSES = {
    "cosine_embedding_loss": (X[0], X[1], nbgrad.tensor([1, -1, 1]), 0.1),
    "hinge_embedding_loss": (X, nbgrad.ones(2, 3, 4), 2.0),
    "margin_ranking_loss": (X[0], X[1], nbgrad.ones(3, 4), 0.1),
    "triplet_margin_loss": (X[0], X[1], 2 * X[0], 2.0, 1.0, 1e-6, True),
}


@pytest.mark.parametrize(("number", "word"), list(enumerate(("none", "mean", "sum"))))
@pytest.mark.parametrize("name", LOSSES)
def test_reductions_are_numbers(name: str, number: int, word: str) -> None:
    same(getattr(nbgrad, name)(*LOSSES[name], number), getattr(F, name)(*LOSSES[name], reduction=word))


def test_reductions_of_other_losses() -> None:
    found = nbgrad.poisson_nll_loss(X, X, False, True, 1e-8, 2)
    same(found, F.poisson_nll_loss(X, X, log_input=False, full=True, reduction="sum"))
    scores = nbgrad.zeros(5, 2, 4).log_softmax(2)
    found = nbgrad.ctc_loss(scores, nbgrad.tensor([[1, 2], [1, 1]]), (5, 5), (2, 2), 0, 2)
    nbgrad.testing.assert_close(found, nbgrad.tensor(7.5995), atol=1e-4, rtol=0)


@pytest.mark.parametrize("reduction", [3, -1, "average"])
def test_other_reductions_are_refused(reduction) -> None:
    with pytest.raises(ValueError, match="hinge_embedding_loss: reduction is .*, expected 0 to 2"):
        nbgrad.hinge_embedding_loss(X, X, 1.0, reduction)


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_dropouts_in_place(name: str) -> None:
    x = nbgrad.ones(20, 30)
    nbgrad.manual_seed(3)
    expected = getattr(nbgrad, name)(x, 0.5, True)
    nbgrad.manual_seed(3)
    assert getattr(nbgrad, f"{name}_")(x, 0.5, True) is x
    same(x, expected)


def test_native_dropout_says_what_it_kept() -> None:
    x = nbgrad.ones(200, requires_grad=True)
    y, kept = nbgrad.native_dropout(x, 0.5, True)
    assert kept.dtype is nbgrad.bool
    assert 0 < int(kept.sum()) < 200
    y.sum().backward()
    same(x.grad, kept * 2.0)
    assert bool(nbgrad.native_dropout(x, 0.5, False)[1].all())


def test_rrelu() -> None:
    x = nbgrad.tensor([-1.0, 2.0])
    assert nbgrad.rrelu(x, 0.25, 0.75).tolist() == [-0.5, 2.0]
    assert nbgrad.rrelu_(x, 0.25, 0.75) is x


def test_images() -> None:
    image = nbgrad.arange(16.0).reshape(1, 1, 4, 4)
    theta = nbgrad.tensor([[[1.0, 0.0, 0.1], [0.0, 0.5, 0.0]]])
    grid = nbgrad.affine_grid_generator(theta, [1, 1, 3, 3], False)
    same(grid, F.affine_grid(theta, [1, 1, 3, 3], align_corners=False))
    for k, mode in enumerate(("bilinear", "nearest", "bicubic")):
        for j, padding in enumerate(("zeros", "border", "reflection")):
            found = nbgrad.grid_sampler(image, grid, k, j, True)
            same(found, F.grid_sample(image, grid, mode, padding, True))
    same(nbgrad.constant_pad_nd(image, (1, 0, 0, 1), 3), F.pad(image, (1, 0, 0, 1), value=3))
    values, places = nbgrad.max_pool1d_with_indices(image[0], 2)
    assert values.tolist() == [[[1, 3], [5, 7], [9, 11], [13, 15]]]
    assert places.tolist() == [[[1, 3]] * 4]


def test_conv_tbc_has_steps_in_front() -> None:
    x, w, b = nbgrad.arange(24.0).reshape(4, 2, 3), nbgrad.arange(24.0).reshape(2, 3, 4), nbgrad.ones(4)
    found = nbgrad.conv_tbc(x, w, b, 1)
    same(found, F.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=1).permute(2, 0, 1))


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_layers_of_given_weights(name: str, packed: bool) -> None:
    model = getattr(nn, name)(3, 2, num_layers=2, bidirectional=True, batch_first=True)
    function = {"LSTM": nbgrad.lstm, "GRU": nbgrad.gru, "RNN": nbgrad.rnn_tanh}[name]
    x = nbgrad.linspace(-1, 1, 24).reshape(2, 4, 3)
    first = nbgrad.linspace(-1, 1, 16).reshape(4, 2, 2)
    states = (first, 2 * first) if name == "LSTM" else first
    if packed:
        data = nn.utils.rnn.pack_padded_sequence(x, nbgrad.tensor([4, 2]), batch_first=True)
        found = function(data.data, data.batch_sizes, states, model._flat_weights, True, 2, 0.0, False, True)
        out, last = model(data, states)
        out = out.data
    else:
        found = function(x, states, model._flat_weights, True, 2, 0.0, False, True, True)
        by_name = function(
            x,
            hx=states,
            params=model._flat_weights,
            has_biases=True,
            num_layers=2,
            dropout=0.0,
            train=False,
            bidirectional=True,
            batch_first=True,
        )
        same(by_name[0], found[0])
        out, last = model(x, states)
    same(found[0], out)
    for mine, theirs in zip(found[1:], last if name == "LSTM" else [last], strict=True):
        same(mine, theirs)


def test_projections_are_seen_by_the_number_of_weights() -> None:
    model = nn.LSTM(3, 4, proj_size=2)
    x = nbgrad.ones(2, 2, 3)
    states = nbgrad.zeros(1, 2, 2), nbgrad.zeros(1, 2, 4)
    same(nbgrad.lstm(x, states, model._flat_weights, True, 1, 0.0, False, False, False)[0], model(x)[0])
    with pytest.raises(ValueError, match="lstm: got 3 weights, expected 4: weight_ih, weight_hh, bias_ih, bias_hh a layer"):
        nbgrad.lstm(x, states, model._flat_weights[:3], True, 1, 0.0, False, False, False)


@pytest.mark.parametrize(
    ("function", "cell"),
    [("lstm_cell", "LSTMCell"), ("gru_cell", "GRUCell"), ("rnn_tanh_cell", "RNNCell"), ("rnn_relu_cell", None)],
)
def test_cells_of_given_weights(function: str, cell: str | None) -> None:
    model = nn.RNNCell(3, 2, nonlinearity="relu") if cell is None else getattr(nn, cell)(3, 2)
    x, h = nbgrad.linspace(-1, 1, 12).reshape(4, 3), nbgrad.ones(4, 2)
    states = (h, h * 2) if cell == "LSTMCell" else h
    found, expected = getattr(nbgrad, function)(x, states, *model.parameters()), model(x, states)
    for mine, theirs in zip(found, expected, strict=True):
        same(mine, theirs)
