"""From one sparse layout to another, from dense tensors, and to them."""

from __future__ import annotations

from math import prod
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, DimError, ShapeError
from ..tensors.memory_format import strided
from .coordinates import compressed, keys
from .layouts import SparseLayout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .tensors import SparseTensor, handles, made, require_matrix, summed

__all__ = ["coordinates", "dense", "to_sparse", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc", "to_sparse_csr"]


def coordinates(x: SparseTensor) -> SparseTensor:
    """The same tensor as coordinates; of another layout they are in order."""
    if x.is_sparse:
        return x
    if x._format_ is sparse_csr and x.is_coalesced():
        return made(sparse_coo, (x._at,), x._given_, x.shape, True)
    return summed(x._at, x._elements, x.shape)


@handles("to_dense")
def dense(x: Any, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The tensor with its zeros; one that is dense as it is.

    Args:
        dtype: of the result; the tensor's own unless given.
        masked_grad: the gradient is that of what is stored in either case.

    >>> import nbgrad
    >>> nbgrad.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).to_dense()
    tensor([2., 4.])
    """
    x = x if dtype is None else x.to(dtype)
    if not isinstance(x, SparseTensor):
        return x
    count = x.sparse_dim()
    flat = x._given_.new_zeros(prod(x.shape[:count]), *x.shape[count:])
    return flat.index_add(0, keys(x._at, x.shape), x._elements).reshape(x.shape)


@handles("to_sparse", "to_sparse_coo")
def to_sparse(
    x: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Any:
    """The elements that are not zero, and where they are; of a sparse tensor what is stored.

    Args:
        sparse_dim: how many dimensions places tell; all unless given. Of fewer, a value is whatever is not all zero.
        layout: ``nbgrad.sparse_coo`` unless given.
        blocksize: rows and columns of a block, of ``sparse_bsr`` and ``sparse_bsc``.
        dense_dim: how many dimensions a value has: the other way to say ``sparse_dim``.

    Returns:
        A ``SparseTensor`` whose values have the tensor's history.

    Raises:
        DimError: ``sparse_dim`` is not from 1 to the tensor's dimensions. ShapeError: another layout of what is no matrix, blocks
        that do not divide it. ArgumentError: no layout, or no ``blocksize`` where one is needed.

    >>> import nbgrad
    >>> nbgrad.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    kind = sparse_coo if layout is None else layout
    if kind is strided:
        return dense(x)
    if not isinstance(kind, SparseLayout):
        raise ArgumentError(f"to_sparse: layout is {layout!r}, expected one of nbgrad's, like nbgrad.sparse_csr.")
    if isinstance(x, SparseTensor):
        blocks = tuple(x._given_.shape[1:]) if x._format_.blocked else None
        return x if x._format_ is kind and blocksize in (None, blocks) else stored(coordinates(x), kind, blocksize)
    count = x.dim() - dense_dim if dense_dim else x.dim() if sparse_dim is None else sparse_dim
    if not 0 < count <= x.dim():
        raise DimError(f"to_sparse: sparse_dim is {count}, expected 1 to {x.dim()}.")
    there = x.detach() != 0
    if count < x.dim():
        there = there.flatten(count).any(-1)
    at = there.nonzero().t().contiguous()
    return stored(made(sparse_coo, (at,), x[tuple(at)], x.shape, True), kind, blocksize)


def stored(x: SparseTensor, kind: SparseLayout, blocksize: Any) -> SparseTensor:
    """Coordinates in a layout."""
    if kind is sparse_coo:
        return x
    require_matrix(f"to_{kind.__name__}", x)
    if kind.blocked:
        return in_blocks(x, kind, blocksize)
    x = x.coalesce()
    at, values = x._at, x._given_
    if kind.compressed == 1:
        order = at[1].argsort(stable=True)
        at, values = at[:, order], values[order]
    lines, others = (at[0], at[1]) if kind.compressed == 0 else (at[1], at[0])
    found = {"at": at} if kind.compressed == 0 else None
    return made(kind, (compressed(lines, x.shape[kind.compressed or 0]), others), values, x.shape, True, found)


def in_blocks(x: SparseTensor, kind: SparseLayout, blocksize: Any) -> SparseTensor:
    """Coordinates in blocks.

    Raises:
        ArgumentError: no ``blocksize``. ShapeError: blocks do not divide the matrix.
    """
    name = f"to_{kind.__name__}"
    if not isinstance(blocksize, (tuple, list)) or len(blocksize) != 2 or min(blocksize) < 1:
        raise ArgumentError(f"{name}: blocksize is {blocksize!r}, expected two positive numbers.")
    height, width = blocksize
    if x.shape[0] % height or x.shape[1] % width:
        raise ShapeError(f"{name}: blocks of {list(blocksize)} do not divide a matrix of {list(x.shape)}.")
    grid = x.shape[0] // height, x.shape[1] // width
    rows, columns = x._at
    at = nbgrad.stack((rows // height, columns // width))
    order = (0, 1) if kind.compressed == 0 else (1, 0)
    key, block = keys(at[list(order)], [grid[d] for d in order]).unique(return_inverse=True)
    within = (rows % height) * width + columns % width
    flat = x._given_.new_zeros(key.shape[0] * height * width)
    values = flat.index_add(0, block * (height * width) + within, x._given_).reshape(-1, height, width)
    others = grid[order[1]]
    return made(kind, (compressed(key // max(others, 1), grid[order[0]]), key % max(others, 1)), values, x.shape, True)


def to_sparse_coo(x: Tensor, *args: Any, **options: Any) -> Any:
    """``to_sparse``: as coordinates unless ``layout`` is another one.

    >>> import nbgrad
    >>> nbgrad.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_coo().values()
    tensor([2., 3.])
    """
    return to_sparse(x, *args, **options)


@handles("to_sparse_csr")
def to_sparse_csr(x: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """The elements of a matrix that are not zero, by rows.

    Raises:
        ShapeError: it is no matrix.

    >>> import nbgrad
    >>> nbgrad.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 3])
    """
    return of_matrix(x, sparse_csr, None, dense_dim)


@handles("to_sparse_csc")
def to_sparse_csc(x: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """The elements of a matrix that are not zero, by columns.

    Raises:
        ShapeError: it is no matrix.

    >>> import nbgrad
    >>> nbgrad.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse_csc().row_indices()
    tensor([1, 0, 1])
    """
    return of_matrix(x, sparse_csc, None, dense_dim)


@handles("to_sparse_bsr")
def to_sparse_bsr(x: Tensor, blocksize: Any, dense_dim: int | None = None) -> SparseTensor:
    """The blocks of a matrix that are not all zero, by rows.

    Raises:
        ShapeError: it is no matrix, or blocks do not divide it.

    >>> import nbgrad
    >>> nbgrad.eye(4).to_sparse_bsr((2, 2)).col_indices()
    tensor([0, 1])
    """
    return of_matrix(x, sparse_bsr, blocksize, dense_dim)


@handles("to_sparse_bsc")
def to_sparse_bsc(x: Tensor, blocksize: Any, dense_dim: int | None = None) -> SparseTensor:
    """The blocks of a matrix that are not all zero, by columns.

    Raises:
        ShapeError: it is no matrix, or blocks do not divide it.

    >>> import nbgrad
    >>> nbgrad.eye(4).to_sparse_bsc((2, 2)).row_indices()
    tensor([0, 1])
    """
    return of_matrix(x, sparse_bsc, blocksize, dense_dim)


def of_matrix(x: Tensor, kind: SparseLayout, blocksize: Any, dense_dim: int | None) -> Any:
    """A matrix in a compressed layout, whose values are numbers or blocks.

    Raises:
        ShapeError: it is no matrix.
    """
    if dense_dim:
        raise ShapeError(f"to_{kind.__name__}: dense_dim is {dense_dim}, expected 0: values are numbers.")
    require_matrix(f"to_{kind.__name__}", x)
    return to_sparse(x, layout=kind, blocksize=blocksize)
