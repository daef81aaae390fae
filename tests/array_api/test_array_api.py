"""The Array API namespace: names, and what the standard means otherwise than torch; gradients pass."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import array_api as xp

X = nbgrad.tensor([[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]])


def test_a_tensor_leads_to_its_namespace():
    """Of every version up to 2024.12; all names are there."""
    assert X.__array_namespace__() is xp is X.__array_namespace__(api_version="2022.12")
    assert all(hasattr(xp, name) for name in xp.__all__) and xp.__array_api_version__ == "2024.12"
    with pytest.raises(nbgrad.ArgumentError, match="expected '2024.12'"):
        X.__array_namespace__(api_version="1999.12")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("concat", lambda f, x: f.concat([x, x], axis=None)),
        ("permute_dims", lambda f, x: f.permute_dims(x, (1, 0))),
        ("expand_dims", lambda f, x: f.expand_dims(x, axis=1)),
        ("repeat", lambda f, x: f.repeat(x, 2, axis=1)),
        ("sum", lambda f, x: f.sum(x, axis=(), keepdims=True)),
        ("sum of integers", lambda f, x: f.sum(f.astype(x, f.uint8), axis=0, dtype=f.int64)),
        ("prod", lambda f, x: f.prod(x, axis=(0, 1))),
        ("var", lambda f, x: f.var(x, axis=1, correction=1)),
        ("max", lambda f, x: f.max(x, axis=0)),
        ("cumulative_sum", lambda f, x: f.cumulative_sum(x, axis=1, include_initial=True)),
        ("sort", lambda f, x: f.sort(x, axis=0)),
        ("take", lambda f, x: f.take(x, f.asarray([2, 0]), axis=1)),
        ("take_along_axis", lambda f, x: f.take_along_axis(x, f.asarray([[2], [0]]), axis=1)),
        ("unique", lambda f, x: f.unique_all(x).indices),
        ("unique inverse", lambda f, x: f.unique_inverse(x).inverse_indices),
        ("nonzero", lambda f, x: f.nonzero(x - 1)[1]),
        ("clip", lambda f, x: f.clip(x, 1.5, None)),
        ("floor of integers", lambda f, x: f.floor(f.astype(x, f.int32))),
        ("eye", lambda f, x: f.eye(2, 3, k=1)),
        ("linspace", lambda f, x: f.linspace(0.0, 1.0, 4, endpoint=False)),
        ("arange", lambda f, x: f.arange(5, 2)),
        ("meshgrid", lambda f, x: f.meshgrid(x[0, ...], x[1, :2])[0]),
        ("vecdot", lambda f, x: f.vecdot(x, x, axis=0)),
        ("equal", lambda f, x: f.equal(x, x - 0)),
        ("tril", lambda f, x: f.tril(x, k=-1)),
        ("roll", lambda f, x: f.roll(x, 1)),
        ("unstack", lambda f, x: f.unstack(x, axis=1)[2]),
        ("linalg.trace", lambda f, x: f.linalg.trace(x, offset=1)),
        ("linalg.vector_norm", lambda f, x: f.linalg.vector_norm(x, axis=1, ord=1)),
        ("fft.rfft", lambda f, x: f.fft.rfft(x, n=4, axis=1)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_functions_mean_what_numpy_s_do(name, call):
    """NumPy implements the standard in its main namespace."""
    expected, got = call(np, X.numpy()), call(xp, X)
    assert tuple(got.shape) == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5)


def test_dtypes_are_told_and_gradients_pass():
    """Kinds, promotion with numbers, limits, and the derivative of a function of the namespace."""
    assert xp.isdtype(xp.float32, "real floating") and not xp.isdtype(xp.bool, ("numeric", xp.int8))
    assert xp.result_type(xp.int8, xp.asarray([1.0]), 2.0) is xp.float32 and not xp.can_cast(xp.float64, xp.float32)
    assert xp.finfo(xp.complex64).bits == 32 and xp.iinfo(xp.int16).min == -(2**15)
    assert xp.__array_namespace_info__().default_dtypes()["integral"] is xp.int64
    x = X.clone().requires_grad_()
    xp.sum(xp.square(xp.permute_dims(x, (1, 0)))).backward()
    assert nbgrad.equal(x.grad, 2 * X)


def test_operands_without_dimensions_are_promoted():
    """The standard knows no difference; operators of tensors are torch's, which make it."""
    one, several = xp.asarray(65_536, dtype=xp.int32), xp.asarray([1], dtype=xp.uint8)
    assert xp.add(several, one).dtype is xp.int32 is xp.add(one, several).dtype
    assert xp.where(xp.asarray(True), one, several).tolist() == [65_536]
    assert xp.greater(xp.asarray(-1, dtype=xp.int32), several).tolist() == [False]
    assert xp.hypot(xp.asarray(1.0, dtype=xp.float64), xp.asarray([1.0])).dtype is xp.float64
    assert xp.add(several, 1).dtype is xp.uint8


def test_products_of_unsigned_integers():
    assert xp.prod(xp.asarray([[2, 3]], dtype=xp.uint8)).dtype is xp.uint64
    assert xp.prod(xp.asarray([[2, 3]], dtype=xp.uint8), axis=1).tolist() == [6]


def test_dtypes_that_have_none_in_common():
    """``can_cast`` is a question, and has an answer."""
    assert not xp.can_cast(xp.int8, xp.uint64)


def test_diagonals_far_away():
    assert xp.eye(2, k=2**70).tolist() == [[0, 0], [0, 0]] == xp.eye(2, k=-(2**70)).tolist()
