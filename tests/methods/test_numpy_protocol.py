"""NumPy's functions called with tensors: they record, or compute on values, or refuse."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad

A = np.array([[0.5, 2.0, 1.5], [3.0, 0.25, 1.0]])

# Functions that nbgrad has: the result is recorded.
RECORDED = {
    "sqrt": lambda x: np.sqrt(x),
    "exp": lambda x: np.exp(x),
    "power": lambda x: np.power(x, 2.5),
    "add array": lambda x: np.add(A, x),
    "array times": lambda x: A * x,
    "scalar times": lambda x: np.float64(2.0) * x,
    "array minus": lambda x: A - x,
    "list": lambda x: np.add([[1.0], [2.0]], x),
    "arctan2": lambda x: np.arctan2(x, A),
    "maximum": lambda x: np.maximum(x, 1.2),
    "sum": lambda x: np.sum(x),
    "sum axis": lambda x: np.sum(x, axis=0),
    "sum keepdims": lambda x: np.sum(x, axis=1, keepdims=True),
    "mean": lambda x: np.mean(x, axis=(0, 1)),
    "var": lambda x: np.var(x),
    "std ddof": lambda x: np.std(x, axis=0, ddof=1),
    "prod": lambda x: np.prod(x, axis=1),
    "prod all": lambda x: np.prod(x),
    "max": lambda x: np.max(x, axis=1),
    "amin": lambda x: np.amin(x),
    "cumsum": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "reduce": lambda x: np.add.reduce(x),
    "reduce all": lambda x: np.multiply.reduce(x, axis=None),
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "concatenate": lambda x: np.concatenate([x, A], axis=1),
    "stack": lambda x: np.stack([x, x * 2], axis=-1),
    "vstack": lambda x: np.vstack([x, A]),
    "hstack": lambda x: np.hstack([A, x]),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "transpose": lambda x: np.transpose(x),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "expand_dims": lambda x: np.expand_dims(x, axis=1),
    "squeeze": lambda x: np.squeeze(x[:1], axis=0),
    "flip": lambda x: np.flip(x),
    "flip axis": lambda x: np.flip(x, axis=1),
    "roll": lambda x: np.roll(x, 1, axis=1),
    "where": lambda x: np.where(A > 1, x, 0.0),
    "clip": lambda x: np.clip(x, 0.4, 1.7),
    "matmul": lambda x: np.matmul(x, A.T),
    "array matmul": lambda x: A.T @ x,
    "dot": lambda x: np.dot(x[0], A[1]),
    "dot of matrices": lambda x: np.dot(x, A.T),
    "dot of a matrix and a vector": lambda x: np.dot(A, x[1]),
    "dot of a number": lambda x: np.dot(2.0, x),
    "dot of three dimensions": lambda x: np.dot(x, np.stack([A.T, A.T * 2])),
    "matmul of an array": lambda x: x @ A.T,
    "matmul of an array that is a vector": lambda x: x @ A[0],
    "outer": lambda x: np.outer(x[0], A[1]),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, A),
    "sort": lambda x: np.sort(x, axis=0),
    "norm": lambda x: np.linalg.norm(x),
    "norm axis": lambda x: np.linalg.norm(x, axis=1),
    "tril": lambda x: np.tril(x),
    "diagonal": lambda x: np.diagonal(x),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "ravel": lambda x: np.ravel(x),
    "trace": lambda x: np.trace(x),
    "tile": lambda x: np.tile(x, (2, 1)),
    "round": lambda x: np.round(x, 1),
    "copy": lambda x: np.copy(x),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_functions(name):
    """The values are NumPy's on arrays, and the result has a history."""
    function = RECORDED[name]
    x = nbgrad.tensor(A, requires_grad=True)
    result = function(x)
    assert isinstance(result, nbgrad.Tensor) and result.requires_grad
    expected = np.asarray(function(A.copy()))
    assert result.shape == expected.shape and np.allclose(result.detach().numpy(), expected, rtol=1e-12)


# Functions that nbgrad has not: NumPy computes them on the values.
COMPUTED = {
    "cbrt": lambda x: np.cbrt(x),
    "nextafter": lambda x: np.nextafter(x, -1.0),
    "median": lambda x: np.median(x),
    "svd": lambda x: np.linalg.svd(x, compute_uv=False),
    "where on dtype": lambda x: np.floor_divide(x, 2, dtype=np.float64),
    "outer": lambda x: np.multiply.outer(x[0], np.ones(2)),
    "modf": lambda x: np.modf(x)[0],
    "interp": lambda x: np.interp(x[0], [0, 4], [0, 1]),
    "percentile": lambda x: np.percentile(x, 30, axis=0),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_functions(name):
    """The values are NumPy's; a tensor that requires grad is refused with the remedy."""
    function = COMPUTED[name]
    result, expected = function(nbgrad.tensor(A)), function(A.copy())
    assert np.allclose(result.numpy() if isinstance(result, nbgrad.Tensor) else result, expected)
    with pytest.raises(nbgrad.GradError, match=r"numpy.*requires grad.*detach"):
        function(nbgrad.tensor(A, requires_grad=True))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.allclose(x, A),
        lambda x: np.array_equal(x, A),
        lambda x: np.isclose(x, A).all(),
        lambda x: np.count_nonzero(x) == 6,
        lambda x: np.shape(x) == (2, 3),
        lambda x: np.size(x) == 6,
        lambda x: np.ndim(x) == 2,
        lambda x: (x == A).all(),
        lambda x: (A == x).all(),
    ],
)
def test_questions(function):
    """What has no gradient is answered for tensors that require grad too."""
    assert function(nbgrad.tensor(A, requires_grad=True))


def test_add_to_an_array():
    """``array += tensor`` writes the array; a tensor that requires grad is refused and the array left alone."""
    array = A.copy()
    kept = array
    array += nbgrad.tensor(A)
    assert array is kept and np.array_equal(array, 2 * A)
    with pytest.raises(nbgrad.GradError, match="requires grad"):
        array += nbgrad.tensor(A, requires_grad=True)
    assert np.array_equal(array, 2 * A)


def test_out_is_a_tensor():
    """``out=`` of a tensor is nbgrad's own ``out=``."""
    out = nbgrad.zeros(2, 3, dtype=nbgrad.float64)
    np.exp(nbgrad.tensor(A), out=out)
    assert np.allclose(out.numpy(), np.exp(A))
    with pytest.raises(TypeError, match="cannot write to a Tensor"):
        np.add.reduce(A, axis=1, out=nbgrad.zeros(2, dtype=nbgrad.float64))


def test_out_is_an_array():
    """The result of a function goes into an array given as ``out=``."""
    out = np.zeros(3)
    assert np.sum(nbgrad.tensor(A), axis=0, out=out) is out and np.allclose(out, A.sum(0))


def test_writing_functions_refuse_tensors():
    """``np.add.at`` cannot write to a tensor that autograd watches."""
    with pytest.raises(TypeError, match="cannot write"):
        np.add.at(nbgrad.zeros(3), [0, 1], 1.0)


def test_order_of_reshape():
    """Column-major order is refused, not ignored."""
    with pytest.raises(TypeError, match="order"):
        np.reshape(nbgrad.tensor(A), (3, 2), order="F")


def test_matrix_norms_are_refused():
    """A matrix norm is not silently taken for a vector norm."""
    with pytest.raises(TypeError, match="matrix norms"):
        np.linalg.norm(nbgrad.tensor(A), ord=2)


@pytest.mark.parametrize("made", ["csr_array", "csc_array", "coo_array"])
def test_products_of_scipys_sparse_matrices(made):
    """SciPy multiplies the values; a vector that requires grad is refused."""
    sparse = pytest.importorskip("scipy.sparse")
    matrix = getattr(sparse, made)(A)
    x = nbgrad.tensor([1.0, 2.0, 3.0])
    assert np.allclose(matrix @ x, A @ x.numpy()) and np.allclose(matrix @ x.unsqueeze(1), A @ x.unsqueeze(1).numpy())
    with pytest.raises(nbgrad.GradError, match="detach"):
        matrix @ x.requires_grad_()
