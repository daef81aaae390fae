"""Sparse tensors: places and values, products, gradients by the values, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import sparse

AT = [[0, 1, 1, 3, 3, 0], [2, 0, 2, 1, 1, 2]]  # two places come twice
VALUES = nbgrad.tensor([1.0, -2.0, 3.0, 0.5, 0.25, 4.0], dtype=nbgrad.float64)
DENSE = nbgrad.tensor([[0, 0, 5.0], [-2, 0, 3], [0, 0, 0], [0, 0.75, 0]], dtype=nbgrad.float64)
Y = nbgrad.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]], dtype=nbgrad.float64)


def matrix(values=VALUES):
    """The matrix of these tests."""
    return nbgrad.sparse_coo_tensor(AT, values, (4, 3))


def same(x, y):
    """Whether a sparse or dense result is a dense one."""
    return nbgrad.equal(x.to_dense(), y)


def test_layouts_hold_the_same_matrix():
    """Coordinates, in order or not, compressed rows and the dense matrix lead to one another."""
    a = matrix()
    assert same(a, DENSE) and same(a.coalesce(), DENSE) and same(a.to_sparse_csr(), DENSE) and same(DENSE.to_sparse(), DENSE)
    assert not a.is_coalesced() and a.coalesce().indices().tolist() == [[0, 1, 1, 3], [2, 0, 2, 1]]
    rows = DENSE.to_sparse_csr()
    assert rows.crow_indices().tolist() == [0, 1, 3, 3, 4] and rows.col_indices().tolist() == [2, 0, 2, 1]
    assert same(nbgrad.sparse_csr_tensor(rows.crow_indices(), rows.col_indices(), rows.values(), (4, 3)), DENSE)
    assert (a.layout, rows.layout, a.is_sparse, rows.is_sparse_csr) == (nbgrad.sparse_coo, nbgrad.sparse_csr, True, True)
    assert not DENSE.is_sparse and "nnz=4, layout=nbgrad.sparse_csr" in repr(rows)


@pytest.mark.parametrize("layout", [nbgrad.sparse_coo, nbgrad.sparse_csr])
def test_what_is_computed_is_what_dense_matrices_give(layout):
    """Products from both sides, with vectors and with sparse matrices, sums, scalars, transposes."""
    a = matrix().to_sparse(layout=layout)
    assert same(a @ Y, DENSE @ Y) and same(nbgrad.mm(a, Y), DENSE @ Y) and same(Y.t() @ a.t(), Y.t() @ DENSE.t())
    assert same(a @ Y[:, 0], DENSE @ Y[:, 0]) and same(a @ a.t(), DENSE @ DENSE.t())
    ones = nbgrad.ones(4, 2, dtype=nbgrad.float64)
    assert same(nbgrad.addmm(ones, a, Y, beta=2, alpha=3), nbgrad.addmm(ones, DENSE, Y, beta=2, alpha=3))
    assert same(a + a, 2 * DENSE) and same(a - 3 * a, -2 * DENSE) and same(a + DENSE, 2 * DENSE) and same(DENSE + a, 2 * DENSE)
    assert same(a * a, DENSE * DENSE) and same(a * DENSE, DENSE * DENSE) and same(a / 2, DENSE / 2)
    assert same(a.t(), DENSE.t()) and same(nbgrad.tanh(a), DENSE.tanh()) and same(a.abs(), DENSE.abs())
    assert same(sparse.sum(a), DENSE.sum()) and same(sparse.sum(a, 0), DENSE.sum(0)) and same(sparse.sum(a, (0, 1)), DENSE.sum())


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_is_of_what_is_stored(dim):
    """As if the zeros were -inf; the logarithm likewise."""
    hidden = nbgrad.where(DENSE == 0, -nbgrad.inf, DENSE)
    expected = hidden.softmax(dim).nan_to_num()
    assert sparse.softmax(matrix(), dim).to_dense().allclose(expected)
    assert sparse.log_softmax(matrix(), dim)._values().exp().allclose(expected[DENSE != 0])


def test_rows_whose_columns_are_in_any_order_are_the_same_matrix():
    """Columns out of order, or twice: functions, products and other layouts are those of the dense matrix."""
    a = nbgrad.sparse_csr_tensor([0, 3, 4], [2, 0, 2, 1], [1.0, 2.0, 4.0, 3.0], (2, 3))
    dense, rows = nbgrad.tensor([[2.0, 0, 5], [0, 3, 0]]), a.coalesce()
    assert same(a, dense) and same(a * a, dense * dense) and same(dense.to_sparse() * a, dense * dense)
    assert same(nbgrad.square(a), dense.square()) and sparse.log_softmax(a, 0, dtype=nbgrad.float64).dtype is nbgrad.float64
    assert a.to_sparse().indices().tolist() == [[0, 0, 1], [0, 2, 1]]
    assert (rows.layout, rows.col_indices().tolist()) == (nbgrad.sparse_csr, [0, 2, 1])


def test_gradients_by_values_and_by_the_dense_operand():
    """Of first and second order; a leaf's are sparse, at its places."""

    def g(values, y):
        return (matrix(values) @ y).square()

    values, y = VALUES.clone().requires_grad_(), Y.clone().requires_grad_()
    assert nbgrad.gradcheck(g, (values, y)) and nbgrad.gradgradcheck(g, (values, y))
    a = matrix(VALUES.clone()).requires_grad_()
    (a @ Y).sum().backward()
    assert same(a.grad, nbgrad.ones(4, 2).double() @ Y.t() * nbgrad.tensor([[0, 0, 2.0], [1, 0, 1], [0, 0, 0], [0, 2, 0]]))


def test_values_of_several_numbers_empty_tensors_and_compiled_calls():
    """Hybrid tensors add up as dense ones, matrices of nothing give zeros, and compiled functions take sparse arguments."""
    hybrid = nbgrad.sparse_coo_tensor([[1, 1]], nbgrad.ones(2, 3), (3, 3))
    assert hybrid.to_dense().tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3] and hybrid.dense_dim() == 1
    assert nbgrad.sparse_coo_tensor((4, 3)).to_dense().tolist() == np.zeros((4, 3)).tolist()
    assert (nbgrad.zeros(4, 3).to_sparse() @ nbgrad.ones(3, 2)).tolist() == np.zeros((4, 2)).tolist()
    compiled = nbgrad.compile(lambda a, y: (a @ y).sum(0), fullgraph=True)
    assert nbgrad.equal(compiled(matrix(), Y), (DENSE @ Y).sum(0))
    assert nbgrad.vmap(lambda y: matrix() @ y)(Y.t()).allclose((DENSE @ Y).t())


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (nbgrad.NotSupportedError, "exp: not defined for sparse", lambda: nbgrad.exp(matrix())),
        (nbgrad.NotSupportedError, "every zero", lambda: matrix() + 1),
        (nbgrad.NotSupportedError, "a sparse tensor came", lambda: nbgrad.nn.functional.linear(Y.t(), matrix())),
        (nbgrad.NotSupportedError, "no elements by index", lambda: matrix()[0]),
        (nbgrad.NotSupportedError, "coalesce", lambda: matrix().indices()),
        (nbgrad.NotSupportedError, "to_sparse_csr", lambda: matrix().crow_indices()),
        (nbgrad.NotSupportedError, "by a number", lambda: matrix() / Y),
        (nbgrad.ShapeError, r"cannot multiply x \(4, 3\)", lambda: matrix() @ DENSE),
        (nbgrad.ShapeError, "do not broadcast", lambda: matrix() * Y),
        (nbgrad.ShapeError, "a column for each value", lambda: nbgrad.sparse_coo_tensor([[0, 1]], [1.0])),
        (nbgrad.DimError, "from 5 to 5, expected 0 to 2", lambda: nbgrad.sparse_coo_tensor([[5]], [1.0], (3,))),
        (nbgrad.DimError, "expected to rise", lambda: nbgrad.sparse_csr_tensor([0, 2, 1], [0], [1.0])),
        (nbgrad.DTypeError, "expected integers", lambda: nbgrad.sparse_coo_tensor([[0.5]], [1.0], (3,))),
    ],
)
def test_what_is_refused(error, match, call):
    """An operation that does not know sparse tensors, places outside, shapes that do not fit."""
    with pytest.raises(error, match=match):
        call()
