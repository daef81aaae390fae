"""Integers have no gradients, wherever they come from: written in place, cast from duals, or computed on a cached plan."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import forward_ad

pytestmark = pytest.mark.usefixtures("device")

X = nbgrad.tensor([1.5, 2.5], requires_grad=True)


def assigned(t):
    """``t[0] = number``."""
    t[0] = X[1]


WRITES = {
    "copy_": lambda t: t.copy_(X),
    "copy_ to a view": lambda t: t[:1].copy_(X[:1]),
    "assignment": assigned,
    "fill_": lambda t: t.fill_(X[0]),
    "masked_fill_": lambda t: t.masked_fill_(t == t, X[0].detach()),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("dtype", [nbgrad.int64, nbgrad.uint8, nbgrad.bool], ids=str)
def test_write_of_a_recorded_value(write, dtype):
    """The numbers are stored, their history is not; the tensor stays a leaf that can be written to again."""
    t = nbgrad.zeros(2, dtype=dtype)
    for _ in range(2):
        write(t)
    assert t.is_leaf and not t.requires_grad and t[0].item() in (1, 2, True) and t._version == 2


@pytest.mark.parametrize("dtype", [nbgrad.int64, nbgrad.int32, nbgrad.bool], ids=str)
def test_cast_of_a_dual(dtype):
    """A cast to integers drops the tangent, the first time and when its plan is known."""
    with forward_ad.dual_level():
        for _ in range(3):
            dual = forward_ad.make_dual(X.detach(), nbgrad.ones_like(X))
            assert forward_ad.unpack_dual(dual.to(dtype)).tangent is None


def test_write_of_a_batch_that_requires_grad():
    """Each element of the batch gets its own values."""
    x = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    written = nbgrad.vmap(lambda t, row: t.copy_(row))(nbgrad.zeros(2, 2, dtype=nbgrad.int64), x)
    assert written.tolist() == [[1, 2], [3, 4]] and not written.requires_grad


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logical_and_", [True, False, False, False]),
        ("logical_or_", [True, True, True, False]),
        ("logical_xor_", [False, True, True, False]),
        ("bitwise_and_", [True, False, False, False]),
        ("mul_", [True, False, False, False]),
        ("add_", [True, True, True, False]),
        ("eq_", [True, False, False, True]),
        ("masked_fill_", [True, True, True, False]),
        ("logical_not_", [False, False, True, True]),
    ],
)
def test_truth_values_are_written_over(name, expected):
    """By operations that read them as numbers, and as what they are; through views, too."""
    for step in (1, 2):
        memory = nbgrad.tensor([value for value in (True, True, False, False) for _ in range(step)])
        x, y = memory[::step], nbgrad.tensor([True, False, True, False])
        others = {"logical_not_": (), "masked_fill_": (y, True)}.get(name, (y,))
        assert getattr(x, name)(*others) is x and x.tolist() == expected
        assert memory[step - 1 :: step].tolist() == (expected if step == 1 else [True, True, False, False])
