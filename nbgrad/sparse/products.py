"""Products of matrices, of which some are sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.calls import CALLS
from ..base.dtypes import float32, float64
from ..base.errors import NotSupportedError, ShapeError
from ..base.grad_mode import traces
from ..tensors.batch_levels import is_batched
from .conversions import coordinates, dense
from .coordinates import compressed, stretches
from .elements import add, in_layout_of
from .layouts import sparse_coo, sparse_csc, sparse_csr
from .tensors import SparseTensor, handles, made, require_matrix, require_sparse, summed

__all__ = ["addmm", "dsmm", "hsmm", "hspmm", "mm", "saddmm", "sampled_addmm", "smm", "spdiags", "spmm", "sspaddmm"]


class Lines(NamedTuple):
    """A matrix line by line: what the kernels of products take.

    Attributes:
        by_columns: whether lines are columns.
        values: line by line.
        begins: where in them each line begins, and where the last ends.
        others: the place of each within its line.
    """

    by_columns: bool
    values: Tensor
    begins: Tensor
    others: Tensor


def has_kernels(a: SparseTensor, *dense: Tensor) -> bool:
    """Whether products of these operands have kernels of their own."""
    if a.dtype not in (float32, float64) or a.device.type != "cpu" or is_batched(a._given_):
        return False
    return all(x.dtype is a.dtype and x.device is a.device and not is_batched(x) for x in dense)


def product(a: SparseTensor, y: Tensor) -> Tensor:
    """A sparse matrix times a dense one.

    By kernels of its own, where there are some; elsewhere rows of y, times values, are added up.
    """
    if has_kernels(a, y):
        by_columns, values, begins, others = in_lines(a)
        if by_columns:
            return CALLS["sparse_columns"](values, y, begins, others, a.shape[0])
        return CALLS["sparse_rows"](values, y, begins, others)
    rows, columns = a._at
    terms = y.index_select(0, columns) * a._elements.unsqueeze(1)
    return terms.new_zeros(a.shape[0], y.shape[1]).index_add(0, rows, terms)


def in_lines(a: SparseTensor) -> Lines:
    """A matrix line by line: as it lies, if it does; else sorted by rows."""
    by_columns = a._format_.compressed == 1
    if not a.is_sparse and not a._format_.blocked:
        return Lines(by_columns, a._given_, *a._places_)
    by_columns, order, begins, others = a.remembered("lines", lambda: lines_of_elements(a))
    return Lines(by_columns, a._elements if order is None else a._elements.index_select(0, order), begins, others)


def lines_of_elements(a: SparseTensor) -> tuple[bool, Tensor | None, Tensor, Tensor]:
    """Whether lines are columns, in which order the elements are to be taken (None: as they lie), and the places in that order."""
    rows, columns = a._at
    by_columns, order = False, None
    if not (a.is_sparse and a._settled_):
        sorted_already = [not traces and bool((lines.diff() >= 0).all()) for lines in (rows, columns)]
        by_columns = sorted_already == [False, True]
        order = None if any(sorted_already) else rows.argsort(stable=True)
    if order is not None:
        rows, columns = rows[order], columns[order]
    lines, others = (columns, rows) if by_columns else (rows, columns)
    return by_columns, order, compressed(lines, a.shape[int(by_columns)]), others.contiguous()


def sparse_product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Two sparse matrices: every value of a meets the values of a row of b."""
    first, second = coordinates(a), coordinates(b).coalesce()
    begins, (rows, columns) = compressed(second._at[0], b.shape[0]), first._at
    left, right = stretches(begins[columns], begins.diff()[columns])
    at = nbgrad.stack((rows[left], second._at[1][right]))
    return in_layout_of(a, summed(at, first._given_[left] * second._given_[right], (a.shape[0], b.shape[1])))


def require_product(name: str, x: Any, y: Any) -> None:
    """Refuse matrices that have no product.

    Raises:
        ShapeError: sizes that do not fit, or no matrices.
    """
    require_matrix(name, x)
    require_matrix(name, y)
    if x.shape[1] != y.shape[0]:
        raise ShapeError(
            f"{name}: cannot multiply x {tuple(x.shape)} by y {tuple(y.shape)}: "
            f"x.shape[1] = {x.shape[1]}, y.shape[0] = {y.shape[0]}."
        )


@handles("mm")
def mm(input: Any, mat2: Any, reduce: str = "sum") -> Any:
    """The product of two matrices, one of which is sparse, or both.

    Args:
        reduce: what is done with the terms of an element: "sum", "mean", "amax" or "amin" ("max", "min") of those of stored values;
            all but the sum are for a sparse matrix times a dense one.

    Returns:
        A dense matrix; of two sparse ones a sparse one. An element without terms is 0.

    Raises:
        ShapeError: sizes that do not fit, or no matrices. NotSupportedError: another ``reduce``, or one for other operands.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> nbgrad.sparse.mm(a, nbgrad.tensor([[1.0], [10.0]]))
    tensor([[20.],
            [ 3.]])
    """
    require_product("mm", input, mat2)
    if reduce != "sum":
        return reduced_product(input, mat2, reduce)
    if isinstance(input, SparseTensor):
        return sparse_product(input, mat2) if isinstance(mat2, SparseTensor) else product(input, mat2)
    if isinstance(mat2, SparseTensor):
        turned: Any = mat2.t()
        return product(turned, input.t()).t()
    return nbgrad.mm(input, mat2)


REDUCTIONS = {"mean": "mean", "amax": "amax", "max": "amax", "amin": "amin", "min": "amin"}


def reduced_product(a: Any, y: Any, reduce: str) -> Tensor:
    """A sparse matrix times a dense one, whose terms are not added up but reduced.

    Raises:
        NotSupportedError: another reduction, or other operands.
    """
    if reduce not in REDUCTIONS:
        raise NotSupportedError(f"mm: reduce is {reduce!r}, expected 'sum', 'mean', 'amax' or 'amin'.")
    if not isinstance(a, SparseTensor) or isinstance(y, SparseTensor):
        raise NotSupportedError(f"mm: reduce is {reduce!r}, expected 'sum' unless a sparse matrix is multiplied by a dense one.")
    a = coordinates(a).coalesce()
    rows, columns = a._at
    terms = y.index_select(0, columns) * a._elements.unsqueeze(1)
    return terms.new_zeros(a.shape[0], y.shape[1]).index_reduce(0, rows, terms, REDUCTIONS[reduce], include_self=False)


def spmm(input: Any, mat2: Any) -> Any:
    """``mm`` under its old name.

    >>> import nbgrad
    >>> nbgrad.spmm(nbgrad.eye(2).to_sparse(), nbgrad.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return mm(input, mat2)


@handles("hspmm")
def hspmm(mat1: Any, mat2: Tensor) -> SparseTensor:
    """A sparse matrix times a dense one, as the rows that are not zero.

    Raises:
        ShapeError: sizes that do not fit, or no matrices. NotSupportedError: ``mat1`` is dense, or ``mat2`` sparse.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[1], [0]], [2.0], (2, 2))
    >>> nbgrad.hspmm(a, nbgrad.ones(2, 3)).indices()
    tensor([[1]])
    """
    require_sparse("hspmm", "mat1", mat1)
    if isinstance(mat2, SparseTensor):
        raise NotSupportedError("hspmm: mat2 is sparse, expected a dense matrix. Hint: mat2.to_dense().")
    rows = mat1._at[0].unique()
    return made(sparse_coo, (rows.unsqueeze(0),), mm(mat1, mat2).index_select(0, rows), (mat1.shape[0], mat2.shape[1]), True)


@handles("smm")
def smm(input: Any, mat2: Tensor) -> SparseTensor:
    """A sparse matrix times a dense one, as a sparse one.

    Raises:
        See ``hspmm``.

    >>> import nbgrad
    >>> nbgrad.smm(nbgrad.eye(2).to_sparse(), nbgrad.eye(2)).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    rows = hspmm(input, mat2)
    count, width = rows._nnz(), mat2.shape[1]
    columns = nbgrad.arange(width, device=mat2.device).repeat(count)
    at = nbgrad.stack((rows._at[0].repeat_interleave(width), columns))
    return made(sparse_coo, (at,), rows._given_.reshape(-1), rows.shape, True)


@handles("sspaddmm")
def sspaddmm(input: SparseTensor, mat1: Any, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
    """beta input + alpha mat1 mat2 of a dense ``mat2``, as a sparse matrix.

    >>> import nbgrad
    >>> a = nbgrad.eye(2).to_sparse()
    >>> nbgrad.sspaddmm(a, a, nbgrad.eye(2), beta=2).to_dense()
    tensor([[3., 0.],
            [0., 3.]])
    """
    return add(input * beta, smm(mat1, mat2) * alpha)


dsmm, hsmm, saddmm = spmm, hspmm, sspaddmm  # older names


@handles("matmul", "mv", "dot")
def matmul(input: Any, other: Any) -> Any:
    """``mm``, and products with a vector."""
    if other.dim() == 1:
        return mm(input, other.unsqueeze(1)).squeeze(1) if input.dim() == 2 else dense(input) @ dense(other)
    if input.dim() == 1:
        return mm(input.unsqueeze(0), other).squeeze(0)
    if input.dim() == 3 and other.dim() == 3:
        return bmm(input, other)
    return mm(input, other)


@handles("bmm")
def bmm(input: Any, mat2: Any) -> Tensor:
    """The products of matrices in pairs, of which the first are sparse: they stand in one matrix, side by side along its diagonal.

    Raises:
        ShapeError: no two batches that fit. NotSupportedError: the second is sparse.
    """
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise NotSupportedError("bmm: the second operand is sparse, expected the first alone to be. Hint: y.to_dense().")
    if input.dim() != 3 or mat2.dim() != 3 or input.sparse_dim() != 3 or input.shape[::2] != (mat2.shape[0], mat2.shape[1]):
        raise ShapeError(f"bmm: cannot multiply x {tuple(input.shape)} by y {tuple(mat2.shape)}.")
    count, height, width = input.shape
    batch, rows, columns = input._at
    at = nbgrad.stack((batch * height + rows, batch * width + columns))
    wide = nbgrad.sparse_coo_tensor(at, input._given_, (count * height, count * width))
    return product(wide, mat2.reshape(count * width, -1)).reshape(count, height, -1)


@handles("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta input + alpha mat1 mat2, where mat1 is sparse.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> nbgrad.sparse.addmm(nbgrad.ones(2, 2), a, nbgrad.ones(2, 2))
    tensor([[3., 3.],
            [1., 1.]])
    """
    return add(input * beta, mm(mat1, mat2) * alpha)


@handles("addmv")
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta input + alpha mat vec, where mat is sparse."""
    return input * beta + matmul(mat, vec) * alpha


@handles("gemm")
def gemm(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
    """The product of two matrices, or of their transposes; rows of x may have several dimensions."""
    x, y = x.t() if transpose_x else x, y.t() if transpose_y else y
    if x.dim() == 2:
        return mm(x, y)
    return mm(x.reshape(-1, x.shape[-1]), y).reshape(*x.shape[:-1], y.shape[1])


@handles("gemm_bias")
def gemm_bias(x: Any, y: Any, bias: Any, transpose_y: bool = False) -> Any:
    """x y + bias: what a linear layer computes, of a sparse input or by a sparse matrix."""
    return gemm(x, y, False, transpose_y) + bias


def sampled_addmm(input: SparseTensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
    """beta input + alpha mat1 mat2, at the places of ``input`` alone.

    Raises:
        ShapeError: sizes that do not fit. NotSupportedError: ``input`` is no sparse matrix.

    >>> import nbgrad
    >>> a = nbgrad.eye(2).to_sparse_csr()
    >>> nbgrad.sparse.sampled_addmm(a, nbgrad.ones(2, 3), nbgrad.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if not isinstance(input, SparseTensor):
        raise NotSupportedError("sampled_addmm: input is dense, expected a sparse matrix. Hint: nbgrad.addmm.")
    require_product("sampled_addmm", mat1, mat2)
    if tuple(input.shape) != (mat1.shape[0], mat2.shape[1]):
        raise ShapeError(f"sampled_addmm: input is {list(input.shape)}, expected {[mat1.shape[0], mat2.shape[1]]}.")
    if input._format_ in (sparse_csr, sparse_csc) and has_kernels(input, mat1, mat2):
        by_columns, _, begins, others = in_lines(input)
        lines, across = (mat2.t(), mat1) if by_columns else (mat1, mat2.t())
        found = CALLS["sparse_dots"](lines, across, begins, others)
    else:
        rows, columns = input._at
        found = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    return input._map(lambda values: values * beta + found.reshape(values.shape) * alpha)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> SparseTensor:
    """A sparse matrix of diagonals.

    Args:
        diagonals: one a row; element j of a row stands in column j.
        offsets: which diagonals they are: 0 the main one, positive numbers above it.
        shape: of the matrix.
        layout: how it is stored; ``nbgrad.sparse_coo`` unless given.

    >>> import nbgrad
    >>> nbgrad.sparse.spdiags(nbgrad.ones(1, 3), nbgrad.tensor([-1]), (3, 3)).to_dense()
    tensor([[0., 0., 0.],
            [1., 0., 0.],
            [0., 1., 0.]])
    """
    columns = nbgrad.arange(diagonals.shape[-1], device=diagonals.device).expand(diagonals.reshape(offsets.numel(), -1).shape)
    rows = columns - offsets.reshape(-1, 1)
    there = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    at = nbgrad.stack((rows[there], columns[there]))
    return summed(at, diagonals.reshape(offsets.numel(), -1)[there], shape).to_sparse(layout=layout)
