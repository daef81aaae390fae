"""Sparse tensors: places and values, products, gradients by the values, and what is refused."""

from __future__ import annotations

import copy
import pickle

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
    assert not DENSE.is_sparse and repr(rows).endswith("nnz=4,\n       dtype=nbgrad.float64, layout=nbgrad.sparse_csr)")


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
    assert nbgrad.gradcheck(g, (values, y), check_forward_ad=True) and nbgrad.gradgradcheck(g, (values, y))
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
        (nbgrad.NotSupportedError, "softmax: not defined", lambda: nbgrad.softmax(matrix(), 1)),
        (nbgrad.NotSupportedError, "one after the other", lambda: matrix().numpy()),
        (nbgrad.NotSupportedError, "one after the other", lambda: matrix().nonzero()),
        (nbgrad.NotSupportedError, "layout is nbgrad.sparse_csr", lambda: matrix().to_sparse_csr().indices()),
        (nbgrad.NotSupportedError, "Adam: the gradient of a parameter", lambda: step(nbgrad.optim.Adam)),
        (nbgrad.NotSupportedError, "weight_decay of a parameter", lambda: step(nbgrad.optim.SGD, weight_decay=0.1)),
        (nbgrad.ShapeError, "do not divide", lambda: matrix().to_sparse_bsr((3, 1))),
        (nbgrad.ArgumentError, "blocksize is None", lambda: matrix().to_sparse(layout=nbgrad.sparse_bsr)),
        (nbgrad.RangeError, "exponent must be a positive number", lambda: matrix() ** 0),
        (nbgrad.NotSupportedError, "coalesce", lambda: matrix().indices()),
        (nbgrad.NotSupportedError, "to_sparse_csr", lambda: matrix().crow_indices()),
        (nbgrad.NotSupportedError, "by a number", lambda: matrix() / Y),
        (nbgrad.NotSupportedError, "div: .* by a number", lambda: DENSE / matrix()),
        (nbgrad.NotSupportedError, "index is sparse", lambda: DENSE.index_select(0, nbgrad.ones(1).long().to_sparse())),
        (nbgrad.NotSupportedError, "stack: some tensors are sparse", lambda: nbgrad.stack([DENSE, matrix()])),
        (nbgrad.NotSupportedError, "mat1 is dense", lambda: nbgrad.hspmm(DENSE, matrix().t())),
        (nbgrad.NotSupportedError, "mat2 is sparse", lambda: nbgrad.smm(matrix(), matrix().t())),
        (nbgrad.NotSupportedError, "softmax: x is dense", lambda: sparse.softmax(DENSE, 0)),
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


def step(kind, **options):
    """A step of an optimizer by a sparse gradient."""
    table = nbgrad.nn.Embedding(3, 2, sparse=True)
    table(nbgrad.tensor([1])).sum().backward()
    kind(table.parameters(), **options).step()


BLOCKED = nbgrad.tensor([[0, 0, 5.0, 1], [-2, 0, 3, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=nbgrad.float64)


@pytest.mark.parametrize("name", ["coo", "csr", "csc", "bsr", "bsc"])
def test_every_layout_leads_to_every_other(name, tmp_path):
    """Conversions, transposes, products, copies, files: of the matrix that the dense one is; places as torch has them."""
    kind = getattr(nbgrad, f"sparse_{name}")
    blocks = {"blocksize": (2, 2)} if kind.blocked else {}
    a = BLOCKED.to_sparse(layout=kind, **blocks)
    assert (
        a.layout == kind
        and a.layout != nbgrad.strided
        and isinstance(a, nbgrad.Tensor)
        and repr(a.layout) == f"nbgrad.{kind.__name__}"
    )
    for other in ("coo", "csr", "csc", "bsr", "bsc"):
        found = a.to_sparse(layout=getattr(nbgrad, f"sparse_{other}"), blocksize=(2, 2) if other[0] == "b" else None)
        assert found.layout == getattr(nbgrad, f"sparse_{other}") and same(found, BLOCKED)
    turned = {"csr": nbgrad.sparse_csc, "csc": nbgrad.sparse_csr, "bsr": nbgrad.sparse_bsc, "bsc": nbgrad.sparse_bsr}
    assert same(a.t(), BLOCKED.t()) and a.t().layout == turned.get(name, nbgrad.sparse_coo)
    assert same(a @ BLOCKED, BLOCKED @ BLOCKED) and same(BLOCKED @ a, BLOCKED @ BLOCKED) and same(a + a, 2 * BLOCKED)
    sampled = sparse.sampled_addmm(a, BLOCKED, BLOCKED, beta=2)
    stored = a.with_values(nbgrad.ones_like(a.values() if name != "coo" else a._values())).to_dense()
    assert same(a * BLOCKED, BLOCKED**2) and same(sampled, stored * (2 * BLOCKED + BLOCKED @ BLOCKED))
    nbgrad.save(a, tmp_path / "a.pt")
    for copied in (
        nbgrad.load(tmp_path / "a.pt"),
        pickle.loads(pickle.dumps(a)),
        copy.deepcopy(a),
        a.clone(),
        a.to(nbgrad.float64),
    ):
        assert copied.layout == kind and same(copied, BLOCKED)


def test_places_and_values_of_compressed_layouts():
    """As torch gives them for the same matrix."""
    by_columns, by_blocks = BLOCKED.to_sparse_csc(), BLOCKED.to_sparse_bsr((2, 2))
    assert by_columns.ccol_indices().tolist() == [0, 1, 1, 3, 4] and by_columns.row_indices().tolist() == [1, 0, 1, 0]
    assert by_columns.values().tolist() == [-2.0, 5.0, 3.0, 1.0]
    assert by_blocks.crow_indices().tolist() == [0, 2, 2] and by_blocks.col_indices().tolist() == [0, 1]
    assert by_blocks.values().tolist() == [[[0.0, 0.0], [-2.0, 0.0]], [[5.0, 1.0], [3.0, 0.0]]]
    made = nbgrad.sparse_compressed_tensor(*by_columns._places_, by_columns.values(), layout=nbgrad.sparse_csc)
    assert same(made, BLOCKED[:2]) and same(nbgrad.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0]]]), nbgrad.tensor([[1.0, 2.0]]))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x[1],
        lambda x: x[:, 2],
        lambda x: x[1:3],
        lambda x: x[nbgrad.tensor([3, 1, 1])],
        lambda x: x.index_select(1, nbgrad.tensor([2, 0, 2])),
        lambda x: nbgrad.cat([x, x], 1),
        lambda x: nbgrad.stack([x, x], 1),
        lambda x: x.unsqueeze(1).transpose(0, 1),
        lambda x: x.sum(1, keepdim=True),
        lambda x: x.norm(),
        lambda x: x**2,
        lambda x: x // 5,
        lambda x: x.nan_to_num(),
        lambda x: nbgrad.nn.functional.linear(x, Y.t(), nbgrad.ones(2).double()),
        lambda x: nbgrad.bmm(nbgrad.stack([x, x]), nbgrad.stack([Y, Y])),
        lambda x: x.clone().mul_(3).add_(x),
        lambda x: x.clone().zero_(),
        lambda x: nbgrad.ones(4, 3).double().add_(x, alpha=2),
    ],
)
def test_parts_and_functions_are_those_of_the_dense_matrix(compute):
    """Slices, concatenations, dimensions, writes in place; of places that come twice, too."""
    assert compute(matrix()).to_dense().allclose(compute(DENSE))


def test_gradients_of_sparse_leaves_are_sparse():
    """By ``backward`` and ``grad``, of sparse results, of parameters, by ``gradcheck``; softmax along either dimension."""
    a = matrix().coalesce().requires_grad_()
    for compute in (
        lambda x: x @ Y,
        lambda x: sparse.softmax(x, 1).to_dense(),
        lambda x: (x * x).t(),
        lambda x: x.to_sparse_csr() @ Y,
    ):
        assert nbgrad.gradcheck(compute, (a,), masked=True)
    (found,) = nbgrad.grad((a * 3).to_dense().sum(), a)
    assert found.is_sparse and found.values().tolist() == [3.0] * 4
    (2 * a).backward(DENSE.to_sparse())
    assert same(a.grad, 2 * DENSE) and a.is_leaf and not (2 * a).is_leaf
    p = nbgrad.nn.Parameter(matrix().coalesce())
    (p @ Y).sum().backward()
    nbgrad.optim.SGD([p], lr=1.0).step()
    assert p.requires_grad and same(p.detach(), DENSE - (DENSE != 0) * Y.sum(1)) and p.grad.is_sparse


def test_indices_of_rows_and_of_where_they_begin():
    """Each is made of the other, as int64 or int32."""
    begins = nbgrad._convert_indices_from_coo_to_csr(nbgrad.tensor([0, 0, 2, 3]), 5)
    assert begins.tolist() == [0, 2, 2, 3, 4, 4] and begins.dtype is nbgrad.int64
    columns = nbgrad.tensor([1, 2, 0, 4])
    assert nbgrad._convert_indices_from_csr_to_coo(begins, columns).tolist() == [[0, 0, 2, 3], [1, 2, 0, 4]]
    turned = nbgrad._convert_indices_from_csr_to_coo(begins, columns, transpose=True, out_int32=True)
    assert turned.tolist() == [[1, 2, 0, 4], [0, 0, 2, 3]] and turned.dtype is nbgrad.int32
    assert nbgrad._convert_indices_from_coo_to_csr(nbgrad.tensor([0]), 1, out_int32=True).dtype is nbgrad.int32


def test_older_names_of_products():
    """``dsmm``, ``hsmm`` and ``saddmm`` are the products that have other names now, of dense tensors, too."""
    x, y = nbgrad.eye(2).to_sparse(), nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert nbgrad.dsmm(x, y).equal(y) and nbgrad.dsmm(y, y).equal(y @ y)
    assert nbgrad.hsmm(x, y).to_dense().equal(y)
    assert nbgrad.saddmm(x, x, y).to_dense().equal(y + nbgrad.eye(2))
