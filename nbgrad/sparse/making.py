"""How sparse tensors are made: of places and values, and of dense tensors."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.dtypes import INTEGER
from ..base.errors import DimError, DTypeError, ShapeError
from .tensors import SparseTensor, keys, require_matrix, sparse_csr

__all__ = ["sparse_coo_tensor", "sparse_csr_tensor", "to_sparse", "to_sparse_csr"]


def whole(name: str, what: str, numbers: Any, device: Any) -> Tensor:
    """Places as a tensor of int64.

    Raises:
        DTypeError: no integers.
    """
    found = nbgrad.as_tensor(numbers, device=device)
    if found.numel() and found.dtype.category != INTEGER:
        raise DTypeError(f"{name}: {what} are {found.dtype.name}, expected integers.")
    return found.detach().to(nbgrad.int64)


def settled_values(values: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """Values as a tensor: one that is given keeps its history."""
    found = nbgrad.as_tensor(values, dtype=dtype, device=device)
    return found.detach().clone().requires_grad_() if requires_grad and not found.requires_grad else found


def require_within(name: str, what: str, numbers: Tensor, size: int) -> None:
    """Refuse places outside.

    Raises:
        DimError: there is one.
    """
    if numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) < size:
        raise DimError(f"{name}: {what} are from {int(numbers.min())} to {int(numbers.max())}, expected 0 to {size - 1}.")


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A tensor of values at places, zero elsewhere; values of one place add up.

    Args:
        indices: places, one a column: shape ``(sparse dimensions, n)``; ``sparse_coo_tensor(2, 3)`` alone is an empty tensor.
        values: ``n`` numbers, or tensors of one shape, whose dimensions come last. A tensor keeps its history.
        size: the shape; unless given, it ends with the last places.
        dtype, device: of the values; theirs unless given.
        is_coalesced: a promise that places are in order, none twice.
        pin_memory, check_invariants: places are always looked at, memory is never pinned.

    Raises:
        ShapeError: other numbers of places and values, or dimensions. DimError: a place outside of ``size``.
        DTypeError: places that are no integers.

    >>> import nbgrad
    >>> nbgrad.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    name = "sparse_coo_tensor"
    if values is None:
        shape = tuple(indices)
        at = nbgrad.empty(len(shape), 0, dtype=nbgrad.int64, device=device)
        return SparseTensor(at, nbgrad.empty(0, dtype=dtype, device=device, requires_grad=requires_grad), shape, True)
    given = settled_values(values, dtype, device, requires_grad)
    at = whole(name, "indices", indices, given.device)
    at = at.reshape(1, -1) if at.ndim == 1 and at.numel() else at
    given = given.expand(at.shape[-1]) if given.ndim == 0 else given
    if at.ndim != 2 or at.shape[1] != given.shape[0]:
        raise ShapeError(f"{name}: indices are {list(at.shape)}, values {list(given.shape)}, expected a column for each value.")
    if size is None:
        size = (*(int(row.max()) + 1 if row.numel() else 0 for row in at), *given.shape[1:])
    if len(size) != at.shape[0] + given.ndim - 1 or tuple(size[at.shape[0] :]) != tuple(given.shape[1:]):
        raise ShapeError(
            f"{name}: size is {list(size)}, indices are {list(at.shape)}, values {list(given.shape)}: "
            "expected a size for each row of indices, then those of a value."
        )
    for k, row in enumerate(at):
        require_within(name, f"indices[{k}]", row, size[k])
    return SparseTensor(at, given, size, bool(is_coalesced) or at.shape[1] < 2)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """A matrix by its rows.

    Args:
        crow_indices: where in ``values`` each row begins, and where the last ends: shape ``(rows + 1,)``.
        col_indices, values: the columns and values, row by row; within a row in any order, values of one place add up.
        size: the shape; unless given, it ends with the last column.
        dtype, device, pin_memory, check_invariants: see ``sparse_coo_tensor``.

    Raises:
        ShapeError: lengths that do not fit. DimError: places outside, or beginnings that fall.
        DTypeError: places that are no integers.

    >>> import nbgrad
    >>> nbgrad.sparse_csr_tensor([0, 1, 3], [1, 0, 1], [5.0, 6.0, 7.0]).to_dense()
    tensor([[0., 5.],
            [6., 7.]])
    """
    name = "sparse_csr_tensor"
    given = settled_values(values, dtype, device, requires_grad)
    crow, columns = whole(name, "crow_indices", crow_indices, given.device), whole(name, "col_indices", col_indices, given.device)
    if crow.ndim != 1 or columns.ndim != 1 or columns.shape != given.shape or not crow.numel():
        shapes = f"crow_indices are {list(crow.shape)}, col_indices {list(columns.shape)}, values {list(given.shape)}"
        raise ShapeError(f"{name}: {shapes}, expected vectors, with a column for each value.")
    steps = crow.diff()
    if int(crow[0]) or int(crow[-1]) != given.shape[0] or (steps.numel() and int(steps.min()) < 0):
        raise DimError(f"{name}: crow_indices are {crow.tolist()[:8]}, expected to rise from 0 to {given.shape[0]}.")
    if size is None:
        size = (crow.shape[0] - 1, int(columns.max()) + 1 if columns.numel() else 0)
    if len(size) != 2 or size[0] != crow.shape[0] - 1:
        raise ShapeError(f"{name}: size is {list(size)}, expected {crow.shape[0] - 1} rows, as crow_indices say, and columns.")
    require_within(name, "col_indices", columns, size[1])
    rows = nbgrad.arange(size[0], device=given.device).repeat_interleave(steps)  # type: ignore[arg-type]
    at = nbgrad.stack((rows, columns))
    return SparseTensor(at, given, size, bool((keys(at, size).diff() > 0).all()), crow)


def to_sparse(x: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> SparseTensor:
    """The elements that are not zero, and where they are.

    Args:
        sparse_dim: how many dimensions places tell; all unless given. Of fewer, a value is whatever is not all zero.
        layout: ``nbgrad.sparse_csr`` for compressed rows.

    Returns:
        A ``SparseTensor`` whose values have the tensor's history.

    Raises:
        DimError: ``sparse_dim`` is not from 1 to the tensor's dimensions. ShapeError: compressed rows of what is no matrix.

    >>> import nbgrad
    >>> nbgrad.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    if layout is sparse_csr:
        return to_sparse_csr(x)
    count = x.dim() if sparse_dim is None else sparse_dim
    if not 0 < count <= x.dim():
        raise DimError(f"to_sparse: sparse_dim is {count}, expected 1 to {x.dim()}.")
    there = x.detach() != 0
    if count < x.dim():
        there = there.flatten(count).any(-1)
    at = there.nonzero().t().contiguous()
    return SparseTensor(at, x[tuple(at)], x.shape, True)


def to_sparse_csr(x: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """The elements of a matrix that are not zero, by rows.

    Raises:
        ShapeError: it is no matrix.

    >>> import nbgrad
    >>> nbgrad.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 3])
    """
    require_matrix("to_sparse_csr", x)
    return to_sparse(x).to_sparse_csr()
