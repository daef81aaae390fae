"""Recurrent layers and cells: against the formulas of torch's documentation in NumPy, and against each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.lowering import recurrent as lowering
from nbgrad.nn.utils import rnn
from tests.samples.recurrent import stepped

RNG = np.random.default_rng(3)
DOUBLE = nbgrad.float64
NAMES = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
# A layer's class, its options, and the cell of tests/samples that it has.
KINDS = {
    "tanh": (nn.RNN, {}, nn.RNNCell),
    "relu": (nn.RNN, {"nonlinearity": "relu"}, nn.RNNCell),
    "lstm": (nn.LSTM, {}, nn.LSTMCell),
    "gru": (nn.GRU, {}, nn.GRUCell),
}


def drawn(*shape: int) -> nbgrad.Tensor:
    """Numbers of no symmetry."""
    return nbgrad.tensor(RNG.uniform(-1, 1, shape))


def numbers(x: nbgrad.Tensor) -> np.ndarray:
    """A tensor as an array."""
    return x.detach().numpy()


def check(got: nbgrad.Tensor, want: np.ndarray) -> None:
    """Assert equal numbers."""
    np.testing.assert_allclose(numbers(got), want, rtol=1e-11, atol=1e-12)


def listed(states) -> list:
    """One state, or a pair, as a list."""
    return list(states) if isinstance(states, tuple) else [states]


def by_hand(cell: str, layer, x: np.ndarray, states: list[np.ndarray]) -> tuple[np.ndarray, list[list]]:
    """Outputs and last states of all layers and directions, step by step."""
    ends = []
    for k in range(layer.num_layers):
        outs = []
        for ending in ("", "_reverse")[: layer.directions]:
            w, u, b, c = (
                numbers(getattr(layer, f"{name}_l{k}{ending}")) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            s, found = np.stack([state[len(ends)] for state in states]), [None] * len(x)
            for t in range(len(x))[:: -1 if ending else 1]:
                s = stepped(cell, x[t] @ w.T + b, s[0] @ u.T + c, s)
                found[t] = s[0]
            outs.append(np.stack(found))
            ends.append(s)
        x = np.concatenate(outs, -1)
    return x, [np.stack(each) for each in zip(*ends)]


@pytest.mark.parametrize("cell", KINDS)
def test_layers_take_the_steps_of_the_formulas(cell):
    """Two layers in both directions, from given states; ``batch_first`` turns input and output, one sequence needs no batch."""
    make, options, _ = KINDS[cell]
    layer = make(2, 3, num_layers=2, bidirectional=True, dtype=DOUBLE, **options)
    x, states = drawn(4, 2, 2), [drawn(4, 2, 3) for _ in range(2 if cell == "lstm" else 1)]
    out, last = layer(x, tuple(states) if cell == "lstm" else states[0])
    want, ends = by_hand(cell, layer, numbers(x), [numbers(state) for state in states])
    check(out, want)
    for got, end in zip(listed(last), ends):
        check(got, end)
    zeros = [np.zeros((4, 2, 3))] * len(states)
    want, _ = by_hand(cell, layer, numbers(x), zeros)
    layer.batch_first = True
    check(layer(x.transpose(0, 1))[0], want.swapaxes(0, 1))
    alone, last = layer(x[:, 1])
    check(alone, want[:, 1])
    assert [tuple(each.shape) for each in listed(last)] == [(4, 3)] * len(states)


@pytest.mark.parametrize(("units", "near"), [(3, None), (10, None), (23, None), (44, None), (24, 0)])
def test_several_blocks_of_sequences(monkeypatch, units, near):
    """Tiles of all widths, what is left over of vectors and blocks, and what BLAS multiplies (``near``), are the formulas.

    Gradients are those of sequences alone.
    """
    if near is not None:
        monkeypatch.setattr(lowering, "NEAR", near)
    layer, x = nn.LSTM(2, units, dtype=DOUBLE), drawn(2, 35, 2).requires_grad_()
    out, last = layer(x)
    want, ends = by_hand("lstm", layer, numbers(x), [np.zeros((1, 35, units))] * 2)
    check(out, want)
    check(last[1], ends[1])
    out.square().sum().backward()
    got = x.grad.clone()
    for k in range(0, 35, 7):
        x.grad = None
        layer(x[:, k : k + 1])[0].square().sum().backward()
        check(x.grad[:, k : k + 1], numbers(got[:, k : k + 1]))


@pytest.mark.parametrize("cell", KINDS)
def test_cells_take_one_step(cell):
    """A cell's step is that of the formulas, of a batch or of one sequence, and its gradients are those of a layer of one step."""
    make, options, of_cell = KINDS[cell]
    layer, single = make(2, 3, dtype=DOUBLE, **options), of_cell(2, 3, dtype=DOUBLE, **options)
    single.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x, states = drawn(2, 2), [drawn(2, 3) for _ in range(2 if cell == "lstm" else 1)]
    found = listed(single(x, tuple(states) if cell == "lstm" else states[0]))
    w, u, b, c = map(numbers, single.parameters())
    for got, want in zip(
        found, stepped(cell, numbers(x) @ w.T + b, numbers(states[0]) @ u.T + c, np.stack([*map(numbers, states)]))
    ):
        check(got, want)
    firsts = [state.unsqueeze(0) for state in states]
    out, _ = layer(x.unsqueeze(0), tuple(firsts) if cell == "lstm" else firsts[0])
    found[0].square().sum().backward()
    out.square().sum().backward()
    for one, other in zip(single.parameters(), layer.parameters()):
        check(one.grad, numbers(other.grad))
    check(listed(single(x[0]))[0], numbers(listed(single(x))[0])[0])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_packed_sequences_are_each_sequence_alone(cell):
    """Outputs, last states and the gradients of weights are those of the sequences one by one, whatever their order."""
    layer = KINDS[cell][0](2, 3, bidirectional=True, dtype=DOUBLE)
    sequences = [drawn(length, 2).requires_grad_() for length in (2, 4, 1)]
    packed, last = layer(rnn.pack_sequence(sequences, enforce_sorted=False))
    outs, lengths = rnn.pad_packed_sequence(packed, padding_value=7.0, total_length=5)
    assert lengths.tolist() == [2, 4, 1] and (numbers(outs)[2:, 0] == 7).all()
    weights = drawn(5, 3, 6)
    (unpad_all(outs, lengths, weights) + sum(each.square().sum() for each in listed(last))).backward()
    got = [x.grad.clone() for x in (*layer.parameters(), *sequences)]
    layer.zero_grad()
    for k, x in enumerate(sequences):
        x.grad = None
        alone, ends = layer(x)
        check(outs[: len(x), k], numbers(alone))
        for one, other in zip(listed(last), listed(ends)):
            check(one[:, k], numbers(other))
        ((alone * weights[: len(x), k]).sum() + sum(each.square().sum() for each in listed(ends))).backward()
    for one, other in zip(got, (*layer.parameters(), *sequences)):
        check(one, numbers(other.grad))


def unpad_all(outs, lengths, weights):
    """The weighted sum of what is no padding."""
    return sum((each * weights[: len(each), k]).sum() for k, each in enumerate(rnn.unpad_sequence(outs, lengths)))


def test_projections():
    """With ``proj_size`` an output is the state times a matrix, and that is what the next step gets."""
    layer = nn.LSTM(2, 4, proj_size=3, bidirectional=True, dtype=DOUBLE)
    assert [(name, tuple(p.shape)) for name, p in layer.named_parameters()][4:6] == [
        ("weight_hr_l0", (3, 4)),
        ("weight_ih_l0_reverse", (16, 2)),
    ]
    x, h, c = drawn(3, 2, 2), np.zeros((2, 3)), np.zeros((2, 4))
    out, (h_n, c_n) = layer(x)
    w, u, b, v, r = (
        numbers(getattr(layer, f"{name}_l0")) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
    )
    for t in range(3):
        state, c = stepped("lstm", numbers(x)[t] @ w.T + b, h @ u.T + v, np.stack([c, c]))
        h = state @ r.T
        check(out[t, :, :3], h)
    check(h_n[0], h)
    check(c_n[0], c)
    two = layer(rnn.pack_padded_sequence(x, [3, 1]))[0]
    check(rnn.pad_packed_sequence(two)[0][0, 1], numbers(layer(x[:1, 1])[0])[0])


def test_names_printed_form_and_first_values():
    """Parameters have torch's names and order, the printed form names what is not usual, first values lie within the bound."""
    layer = nn.GRU(5, 16, num_layers=2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)
    assert list(layer.state_dict())[2:6] == ["weight_ih_l0_reverse", "weight_hh_l0_reverse", "weight_ih_l1", "weight_hh_l1"]
    assert repr(layer) == "GRU(5, 16, num_layers=2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)"
    assert (
        repr(nn.LSTM(2, 4, proj_size=1)) == "LSTM(2, 4, proj_size=1)"
        and repr(nn.RNNCell(2, 3, False)) == "RNNCell(2, 3, bias=False)"
    )
    assert repr(nn.RNNCell(2, 3, nonlinearity="relu")) == "RNNCell(2, 3, nonlinearity=relu)"
    assert [len(each) for each in layer.all_weights] == [2, 2, 2, 2] and layer.flatten_parameters() is None
    values = np.concatenate([numbers(p).reshape(-1) for p in layer.parameters()])
    assert abs(values).max() <= 0.25 and abs(values.var() - 0.25**2 / 3) < 2e-3
    again = pickle.loads(pickle.dumps(layer))
    assert (again.weight_hh_l1 == layer.weight_hh_l1).all()


def test_weights_that_are_no_parameters():
    """Recipes that drop or clone weights set all of them at once."""
    layer, x = nn.GRU(2, 3), drawn(4, 1, 2).float()
    weight = layer.weight_hh_l0
    layer._flat_weights = [2 * each for each in layer._flat_weights]
    other = nn.GRU(2, 3)
    other.load_state_dict(layer.state_dict())
    result = layer(x)[0]
    check(result, numbers(other(x)[0]))
    assert nbgrad.grad(result.sum(), weight)[0].abs().sum() > 0


def test_dropout_comes_between_layers():
    """While training, elements between layers are dropped; afterwards nothing is; one layer has nothing between."""
    layer, x = nn.RNN(2, 3, num_layers=2, dropout=1.0, dtype=DOUBLE), drawn(2, 1, 2)
    one, other = layer(x)[0], layer(-x)[0]
    check(one, numbers(other))
    assert not np.allclose(numbers(layer.eval()(x)[0]), numbers(layer(-x)[0]))
    with pytest.warns(UserWarning, match="one layer"):
        nn.RNN(2, 3, dropout=0.5)


def test_compiled_batched_and_half():
    """A compiled training step is the eager one; a batch of sequences more is more sequences; halves stay halves."""
    layer = nn.GRU(2, 3, dtype=DOUBLE)
    x = drawn(3, 2, 2)

    def loss(x):
        return layer(x)[0].square().sum()

    want = nbgrad.grad(loss(x), tuple(layer.parameters()))
    for got, each in zip(nbgrad.compile(lambda x: nbgrad.grad(loss(x), tuple(layer.parameters())))(x), want):
        check(got, numbers(each))
    check(nbgrad.vmap(lambda x: layer(x)[0])(nbgrad.stack([x, -x]))[1], numbers(layer(-x)[0]))
    half = layer.bfloat16()
    out, last = half(x.bfloat16())
    assert out.dtype is last.dtype is nbgrad.bfloat16
    assert layer(nbgrad.zeros(3, 0, 2, dtype=nbgrad.bfloat16))[0].shape == (3, 0, 3)


def test_sequences_are_packed_and_padded():
    """Step by step, the longest first; padded on either side; views without padding; back in the order they came in."""
    sequences = [nbgrad.tensor([1, 2]), nbgrad.tensor([3, 4, 5]), nbgrad.tensor([6])]
    assert rnn.pad_sequence(sequences, padding_value=-1).tolist() == [[1, 3, 6], [2, 4, -1], [-1, 5, -1]]
    left = rnn.pad_sequence(sequences, batch_first=True, padding_side="left")
    assert left.tolist() == [[0, 1, 2], [3, 4, 5], [0, 0, 6]]
    x, y = nbgrad.ones(2, 1, requires_grad=True), nbgrad.ones(1, 1, requires_grad=True)
    for first, side in ((True, "left"), (False, "right")):
        padded = rnn.pad_sequence([x, y], first, 5.0, side)
        scale = nbgrad.tensor([1.0, 2.0, 3.0, 4.0]).reshape(padded.shape)
        found = {"left": ([[1.0], [2.0]], [[4.0]]), "right": ([[1.0], [3.0]], [[2.0]])}[side]
        assert tuple(g.tolist() for g in nbgrad.grad((padded * scale).sum(), (x, y))) == found
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    assert [each.tolist() for each in rnn.unpack_sequence(packed)] == [each.tolist() for each in sequences]
    assert packed.to(nbgrad.float64).data.dtype is DOUBLE and packed.to(nbgrad.int64) is packed


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ValueError, "RNN: hidden_size is 0", lambda: nn.RNN(2, 0)),
        (ValueError, "LSTM: num_layers is 0", lambda: nn.LSTM(2, 3, 0)),
        (ValueError, "GRU: dropout is 2", lambda: nn.GRU(2, 3, 2, dropout=2)),
        (ValueError, "proj_size is 3", lambda: nn.LSTM(2, 3, proj_size=3)),
        (ValueError, "nonlinearity is 'sin'", lambda: nn.RNN(2, 3, nonlinearity="sin")),
        (ValueError, r"GRU: input is \[1, 2, 4\], expected input_size = 2", lambda: nn.GRU(2, 3)(nbgrad.ones(1, 2, 4))),
        (ValueError, r"RNN: input is \[0, 1, 2\], expected at least one step", lambda: nn.RNN(2, 3)(nbgrad.ones(0, 1, 2))),
        (
            ValueError,
            r"RNN: h_0 is \[1, 1, 3\], expected \[1, 2, 3\]",
            lambda: nn.RNN(2, 3)(nbgrad.ones(4, 2, 2), nbgrad.ones(1, 1, 3)),
        ),
        (TypeError, "LSTM: hx is Tensor, expected a pair", lambda: nn.LSTM(2, 3)(nbgrad.ones(4, 2, 2), nbgrad.ones(1, 2, 3))),
        (nbgrad.DTypeError, "input is nbgrad.float64, the weights are", lambda: nn.GRU(2, 3)(drawn(4, 2, 2))),
        (ValueError, r"LSTMCell: a state is \[2, 2\]", lambda: nn.LSTMCell(2, 3)(nbgrad.ones(2, 2), (nbgrad.ones(2, 2),) * 2)),
        (ValueError, r"lengths \[1, 2\] do not fall", lambda: rnn.pack_padded_sequence(nbgrad.ones(2, 2), [1, 2])),
        (ValueError, "a length is 0", lambda: rnn.pack_padded_sequence(nbgrad.ones(2, 2), [2, 0])),
        (ValueError, "a length is 3, expected at most", lambda: rnn.pack_padded_sequence(nbgrad.ones(2, 2), [3, 1])),
        (ValueError, "total_length is 1", lambda: rnn.pad_packed_sequence(rnn.pack_sequence([nbgrad.ones(2)]), total_length=1)),
    ],
)
def test_what_does_not_fit_is_refused(error, match, call):
    """The message names the argument, what came and what was expected."""
    with pytest.raises(error, match=match):
        call()
