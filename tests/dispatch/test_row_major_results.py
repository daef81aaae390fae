"""Results that are contiguous whatever order an operand has in memory, so that ``view`` works on them as it does in torch."""

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn import functional
from nbgrad.nn.utils import rnn

X = nbgrad.arange(24.0).reshape(4, 3, 2).permute(2, 0, 1)  # (2, 4, 3) with strides (1, 6, 2)
FIRST = nbgrad.tensor([0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.masked_fill(x > 5, 0.0),
        lambda x: x.scatter(0, nbgrad.zeros(2, 4, 3, dtype=nbgrad.int64), 1.0),
        lambda x: x.scatter(0, nbgrad.zeros(2, 4, 3, dtype=nbgrad.int64), x),
        lambda x: x.scatter_add(0, nbgrad.zeros(2, 4, 3, dtype=nbgrad.int64), x),
        lambda x: x.scatter_reduce(0, nbgrad.zeros(2, 4, 3, dtype=nbgrad.int64), x, "amax"),
        lambda x: x.scatter_reduce(0, nbgrad.zeros(2, 4, 3, dtype=nbgrad.int64), x, "amax", include_self=False),
        lambda x: x.index_add(0, FIRST, x[:1]),
        lambda x: x.index_copy(0, FIRST, x[:1]),
        lambda x: x.masked_scatter(x > 5, nbgrad.zeros(24)),
        lambda x: functional.logsigmoid(x),
        lambda x: functional.one_hot(x.long(), 24),
        lambda x: nn.BatchNorm1d(4)(x),
        lambda x: nn.BatchNorm1d(4).eval()(x),
    ],
)
def test_a_result_is_contiguous(call):
    """And is what the operand gives that is contiguous itself."""
    assert not X.is_contiguous()
    out = call(X)
    assert out.is_contiguous() and out.equal(call(X.contiguous()))


def test_batch_norm_keeps_channels_last():
    """The one other order that its results may have."""
    x = nbgrad.rand(2, 3, 4, 5).contiguous(memory_format=nbgrad.channels_last)
    assert functional.batch_norm(x, None, None, training=True).stride() == x.stride()


def test_index_fill_keeps_the_order():
    """As torch's does, of all writes through an index along a dimension."""
    assert X.index_fill(0, FIRST, 1.0).stride() == X.stride()


@pytest.mark.parametrize(
    "equation",
    [
        "aef,bf->bae",  # rows of the second operand before those of the first
        "dac,efb->cdefb",  # a sum of one operand alone; nothing else is summed
        "f,cbf->cbf",
        "bc,eafb->fe",
        "abc->ca",
    ],
)
def test_einsum_is_contiguous(equation):
    """Where products and sums can come in the order of the result."""
    sizes = dict(zip("abcdef", (2, 3, 4, 5, 6, 7)))
    operands = [nbgrad.ones([sizes[name] for name in names]) for names in equation.split("->")[0].split(",")]
    assert nbgrad.einsum(equation, *operands).is_contiguous()


def test_padded_sequences_in_their_own_order_are_contiguous():
    """``pad_packed_sequence(batch_first=True)`` of sequences that were packed in another order."""
    sequences = [nbgrad.ones(2, 3), nbgrad.ones(4, 3)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True)
    assert padded.is_contiguous() and padded.sum((1, 2)).tolist() == [6.0, 12.0] and lengths.tolist() == [2, 4]
