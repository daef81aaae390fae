"""Integers of 16, 32 and 64 bits without sign: NumPy's values, where a sign bit would show."""

from __future__ import annotations

import io

import numpy as np
import pytest

import nbgrad

TOP = 2**64 - 1
X = np.array([0, 1, TOP, TOP - 1, TOP // 2, TOP // 2 + 1], np.uint64)
Y = np.array([1, 3, 2, TOP, 1, 7], np.uint64)

# Name: the call of nbgrad's function, and NumPy's result. All of 64 bits, of which an int64 shows the highest as a sign.
CALLS = {
    "floor_divide": (lambda x, y: x // y, np.floor_divide),
    "remainder": (lambda x, y: x % y, np.remainder),
    "power": (lambda x, y: x**3, lambda x, y: x * x * x),
    "less": (lambda x, y: x < y, np.less),
    "greatest of two": (nbgrad.maximum, np.maximum),
    "shift": (lambda x, y: x >> 1, lambda x, y: x >> np.uint64(1)),
    "shift of all bits": (lambda x, y: x >> 64, lambda x, y: 0 * x),
    "negative": (lambda x, y: -x, lambda x, y: np.negative(x)),
    "sign": (lambda x, y: x.sign(), lambda x, y: np.sign(x)),
    "greatest": (lambda x, y: x.amax(), lambda x, y: x.max()),
    "least": (lambda x, y: x.min(), lambda x, y: x.min()),
    "where greatest": (lambda x, y: x.argmax(), lambda x, y: x.argmax()),
    "order": (lambda x, y: x.argsort(), lambda x, y: x.argsort()),
    "falling order": (lambda x, y: x.sort(descending=True).values, lambda x, y: np.sort(x)[::-1]),
    "running greatest": (lambda x, y: x.cummax(0).values, lambda x, y: np.maximum.accumulate(x)),
    "place": (lambda x, y: nbgrad.searchsorted(x.sort().values, y), lambda x, y: np.searchsorted(np.sort(x), y)),
    "float": (lambda x, y: x.double(), lambda x, y: x.astype(np.float64)),
    "from floats": (lambda x, y: (x.double() / 3).to(nbgrad.uint64), lambda x, y: (x.astype(np.float64) / 3).astype(np.uint64)),
    "large number": (lambda x, y: (x == TOP) & (x + TOP == x - 1), lambda x, y: x == np.uint64(TOP)),
    "filled": (lambda x, y: x.masked_fill(x > 5, TOP), lambda x, y: np.where(x > 5, np.uint64(TOP), x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_sixty_four_bits_are_numpy_s(name):
    """Of numbers on both sides of 2**63."""
    ours, numpys = CALLS[name]
    got, expected = ours(nbgrad.tensor(X), nbgrad.tensor(Y)).numpy(), np.asarray(numpys(X, Y))
    assert got.shape == expected.shape and got.dtype == expected.dtype and (got == expected).all(), (got, expected)


@pytest.mark.parametrize("bits", [16, 32])
def test_narrower_ones_wrap_at_their_width(bits):
    """Sums, products and quotients, conversions of negative numbers, and what is printed."""
    kind, top = getattr(nbgrad, f"uint{bits}"), 2**bits - 1
    x = nbgrad.tensor([0, 1, top], dtype=kind)
    assert (x + 1).tolist() == [1, 2, 0] and (x * x).tolist() == [0, 1, 1] and (x // 2).tolist() == [0, 0, top // 2]
    assert (~x).tolist() == [top, top - 1, 0] and x.max().item() == top and (x > 1).tolist() == [False, False, True]
    assert nbgrad.tensor([-1, 5]).to(kind).tolist() == [top, 5] and nbgrad.tensor([-1.0]).to(kind).tolist() == [top]
    assert f"{x[2:]}" == f"tensor([{top}], dtype=nbgrad.uint{bits})" and x.type() == f"nbgrad.UInt{bits}Tensor"


def test_they_are_promoted_as_the_array_api_has_it():
    """Which torch refuses: to the wider one, to a signed one that holds both, to floats; uint64 beside a sign has no dtype."""
    kinds = (nbgrad.uint8, nbgrad.uint16, nbgrad.uint32, nbgrad.uint64)
    for k, kind in enumerate(kinds):
        assert nbgrad.promote_types(kind, kinds[max(k, 1)]) is kinds[max(k, 1)] and not kind.is_signed
        assert nbgrad.promote_types(nbgrad.float16, kind) is nbgrad.float16
    assert nbgrad.promote_types(nbgrad.int8, nbgrad.uint16) is nbgrad.int32
    assert nbgrad.promote_types(nbgrad.uint32, nbgrad.int64) is nbgrad.int64
    with pytest.raises(nbgrad.DTypeError, match="no integer dtype holds both nbgrad.int8 and nbgrad.uint64"):
        nbgrad.tensor(X) + nbgrad.tensor([1], dtype=nbgrad.int8)


def test_they_are_exchanged_and_kept():
    """With NumPy and by DLPack without a copy; in files of torch's format and of safetensors, and by pickle."""
    for kind in (np.uint16, np.uint32, np.uint64):
        array = np.array([1, np.iinfo(kind).max], kind)
        x = nbgrad.from_numpy(array)
        assert x.numpy().dtype == kind and np.shares_memory(np.from_dlpack(x), array) and nbgrad.from_dlpack(array).equal(x)
        file = io.BytesIO()
        nbgrad.save({"x": x, "row": x[1:]}, file)
        file.seek(0)
        found = nbgrad.load(file)
        assert found["x"].dtype is x.dtype and found["x"].equal(x) and found["row"].tolist() == [np.iinfo(kind).max]
        assert nbgrad.safetensors.load(nbgrad.safetensors.save({"x": x}))["x"].equal(x)


def test_differences_are_reported_without_a_sign():
    """Of which the one below the expected number would wrap."""
    x = nbgrad.tensor([1, 5], dtype=nbgrad.uint64)
    with pytest.raises(AssertionError, match="absolute difference: 2 at index \\(0,\\)\nGreatest relative difference: 0.66"):
        nbgrad.testing.assert_close(x, nbgrad.tensor([3, 5], dtype=nbgrad.uint64))


def test_signed_integers_are_written_as_their_bits():
    """A copy needs no dtype that holds both: into 64 bits without a sign, and out of them."""
    x = nbgrad.zeros(2, dtype=nbgrad.uint64)
    assert x.copy_(nbgrad.tensor([3, -1])).tolist() == [3, TOP]
    x[0] = nbgrad.tensor(7)
    assert x.tolist() == [7, TOP] and nbgrad.zeros(2, dtype=nbgrad.int64).copy_(x).tolist() == [7, -1]


def test_what_does_not_fit_is_refused():
    """Numbers beyond the dtype, and indices, for which torch takes none of them."""
    assert nbgrad.tensor([TOP, 0], dtype=nbgrad.uint64).tolist() == [TOP, 0]
    for refused in ([2**64], [TOP, 0.5, 2**70], [-(2**64)]):
        with pytest.raises(nbgrad.RangeError):
            nbgrad.tensor(refused, dtype=nbgrad.uint64)
    with pytest.raises(nbgrad.RangeError, match="does not fit nbgrad.int64"):
        nbgrad.tensor([TOP])
    with pytest.raises(nbgrad.NumberError, match="does not fit"):
        nbgrad.tensor([1, 2]) + TOP
    with pytest.raises(nbgrad.DTypeError, match="index must be int64 or int32, got uint16"):
        nbgrad.arange(3)[nbgrad.tensor([1], dtype=nbgrad.uint16)]
