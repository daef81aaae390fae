"""``nbgrad.testing``: what is close, what is not, and what the message says."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.testing import assert_allclose, assert_close, make_tensor


@pytest.mark.parametrize("dtype, step", [("float16", 6e-4), ("float32", 1.2e-6), ("float64", 9e-8), ("complex64", 1.2e-6)])
def test_tolerances_by_dtype(dtype, step):
    """A relative step within the dtype's tolerance passes, one of ten times that does not."""
    x = nbgrad.full((3,), 100.0, dtype=getattr(nbgrad, dtype))
    assert_close(x, x * (1 + step))
    with pytest.raises(AssertionError, match="not close"):
        assert_close(x, x * (1 + 10 * step))


def test_message_counts_and_places():
    """How many elements differ, and where most."""
    with pytest.raises(AssertionError) as caught:
        assert_close(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]), nbgrad.tensor([[1.0, 2.5], [3.0, 8.0]]))
    text = str(caught.value)
    assert "Mismatched elements: 2 / 4 (50.0%)" in text
    assert "absolute difference: 4.0 at index (1, 1)" in text and "relative difference: 0.5 at index (1, 1)" in text


@pytest.mark.parametrize(
    "x, y, words",
    [
        (nbgrad.ones(2), nbgrad.ones(3), "'shape' do not match"),
        (nbgrad.ones(2), nbgrad.ones(2).double(), "'dtype' do not match"),
        (nbgrad.tensor(1.0), nbgrad.tensor(2.0), "Expected 2.0 but got 1.0"),
        (nbgrad.tensor([1, 2]), nbgrad.tensor([1, 3]), "not equal"),
        (1.0, 1.1, "Scalars"),
        (1, 1.0, "types do not match"),
        (True, False, "Booleans"),
        (None, 1, "None"),
        ([1.0, 2.0], [1.0], "length of the sequences"),
        ({"a": 1}, {"b": 1}, "keys of the mappings"),
        ([1.0, {"k": (2.0,)}], [1.0, {"k": (3.0,)}], r"item \[1\]\['k'\]\[0\]"),
        (np.ones(2), np.zeros(2), "not close"),
        (nbgrad.tensor([nbgrad.nan]), nbgrad.tensor([nbgrad.nan]), "not close"),
    ],
)
def test_differences(x, y, words):
    """Each kind says what it is, and where in nested values."""
    with pytest.raises(AssertionError, match=words):
        assert_close(x, y)


def test_what_is_close():
    """Equal infinities, NaN on request, other dtypes on request, nested values, tensors with a graph."""
    assert_close(nbgrad.tensor([nbgrad.inf]), nbgrad.tensor([nbgrad.inf]))
    assert_close(nbgrad.tensor([nbgrad.nan]), nbgrad.tensor([nbgrad.nan]), equal_nan=True)
    assert_close(nbgrad.ones(2), nbgrad.ones(2).double(), check_dtype=False)
    assert_close({"a": [nbgrad.ones(2), None, True]}, {"a": [nbgrad.ones(2, requires_grad=True) * 1, None, True]})
    assert_close(nbgrad.Parameter(nbgrad.ones(2)), nbgrad.ones(2))
    assert_close(nbgrad.ones(2), nbgrad.ones(2) * 1.05, rtol=0.1, atol=0)
    assert_allclose([1.0, 2.0], nbgrad.tensor([1.0, 2.0], dtype=nbgrad.float64))


def test_what_cannot_be_compared():
    """Wrong types are TypeErrors, half a tolerance a ValueError."""
    for x, y in (("a", "a"), (nbgrad.ones(1), 1.0), (object(), object())):
        with pytest.raises(TypeError, match="cannot compare"):
            assert_close(x, y)
    with pytest.raises(TypeError):
        assert_close(nbgrad.Parameter(nbgrad.ones(2)), nbgrad.ones(2), allow_subclasses=False)
    with pytest.raises(ValueError, match="both or none"):
        assert_close(1.0, 1.0, rtol=0.1)


def test_own_messages():
    """A text in the message's place, or a function of it."""
    for msg in ("mine", lambda text: f"mine: {text}"):
        with pytest.raises(AssertionError, match="^mine"):
            assert_close(1.0, 2.0, msg=msg)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
def test_make_tensor(dtype):
    """Of the dtype, in the range, with gaps in memory if asked for."""
    kind = nbgrad.bool_ if dtype == "bool" else getattr(nbgrad, dtype)
    x = make_tensor(40, 2, dtype=kind, noncontiguous=True)
    assert x.dtype is kind and x.shape == (40, 2) and not x.is_contiguous()
    if dtype in ("uint8", "int64", "float64"):
        y = make_tensor((200,), dtype=kind, low=2, high=5, exclude_zero=True).numpy()
        assert y.min() >= 2 and y.max() < 5
    with pytest.raises(ValueError, match="below high"):
        make_tensor(2, dtype=kind, low=2, high=1)
    last = make_tensor((2, 3, 4, 5), dtype=kind, memory_format=nbgrad.channels_last)
    assert last.stride() == (60, 1, 15, 3)
    with pytest.raises(ValueError, match="exclude each other"):
        make_tensor((2, 3, 4, 5), dtype=kind, memory_format=nbgrad.channels_last, noncontiguous=True)
