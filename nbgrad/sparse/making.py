"""How sparse tensors are made of places and values."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import nbgrad

from .. import Tensor
from ..base.calls import CALLS
from ..base.dtypes import INTEGER
from ..base.errors import ArgumentError, DimError, DTypeError, ShapeError
from .layouts import SparseLayout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .tensors import SparseTensor, made

__all__ = [
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]


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
    """Values as a tensor of their own on the same memory: one that is given keeps its history."""
    found = nbgrad.as_tensor(values, dtype=dtype, device=device)
    if found.requires_grad or not requires_grad:
        return CALLS["alias"](found)  # with its tangents, too
    return found.detach().requires_grad_()


def require_within(name: str, what: str, numbers: Tensor, size: int) -> None:
    """Refuse places outside.

    Raises:
        DimError: there is one.
    """
    if not numbers.numel():
        return
    least, most = int(numbers.min()), int(numbers.max())
    if not 0 <= least <= most < size:
        raise outside(name, what, least, most, size)


def outside(name: str, what: str, least: int, most: int, size: int) -> DimError:
    """What is said of places that are outside."""
    return DimError(f"{name}: {what} are from {least} to {most}, expected 0 to {size - 1}.")


def sparse_coo_tensor(
    indices: Any = None,
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
        shape = tuple(indices if size is None else size)
        at = nbgrad.empty(len(shape), 0, dtype=nbgrad.int64, device=device)
        return made(sparse_coo, (at,), nbgrad.empty(0, dtype=dtype, device=device, requires_grad=requires_grad), shape, True)
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
    if at.numel():
        for k, (least, most) in enumerate(zip(at.amin(1).tolist(), at.amax(1).tolist())):
            if not 0 <= least <= most < size[k]:
                raise outside(name, f"indices[{k}]", least, most, size[k])
    return made(sparse_coo, (at,), given, size, bool(is_coalesced) or at.shape[1] < 2)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """A matrix by its rows or columns, of numbers or of blocks.

    Args:
        compressed_indices: where in ``values`` each row begins, and where the last ends: shape ``(rows + 1,)``; of ``sparse_csc``
            and ``sparse_bsc`` each column. Rows and columns of blocks where values are blocks.
        plain_indices: the column, or the row, of each value.
        values: numbers, shape ``(n,)``; of ``sparse_bsr`` and ``sparse_bsc`` blocks, shape ``(n, height, width)``. Those
            of a row may be in any order; values of one place add up.
        size: the shape; unless given, it ends with the last place.
        layout: how it is stored: one of ``nbgrad.sparse_csr``, ``sparse_csc``, ``sparse_bsr``, ``sparse_bsc``.
        dtype, device, requires_grad, pin_memory, check_invariants: see ``sparse_coo_tensor``.

    Raises:
        ShapeError: lengths that do not fit. DimError: places outside, or beginnings that fall.
        DTypeError: places that are no integers. ArgumentError: another layout.

    >>> import nbgrad
    >>> nbgrad.sparse_compressed_tensor([0, 1, 3], [1, 0, 1], [5.0, 6.0, 7.0], layout=nbgrad.sparse_csr).to_dense()
    tensor([[0., 5.],
            [6., 7.]])
    """
    if not isinstance(layout, SparseLayout) or layout.compressed is None:
        raise ArgumentError(f"sparse_compressed_tensor: layout is {layout!r}, expected one like nbgrad.sparse_csr.")
    name = f"{layout.__name__}_tensor"
    given = settled_values(values, dtype, device, requires_grad)
    begins, others = (whole(name, *each, given.device) for each in zip(layout.names, (compressed_indices, plain_indices)))
    first, second = layout.names
    if (
        begins.ndim != 1
        or others.ndim != 1
        or given.ndim != 1 + 2 * layout.blocked
        or others.shape != given.shape[:1]
        or not len(begins)
    ):
        shapes = f"{first} are {list(begins.shape)}, {second} {list(others.shape)}, values {list(given.shape)}"
        raise ShapeError(f"{name}: {shapes}, expected vectors, with a number for each {'block' if layout.blocked else 'value'}.")
    steps = begins.diff()
    if int(begins[0]) or int(begins[-1]) != given.shape[0] or (steps.numel() and int(steps.min()) < 0):
        raise DimError(f"{name}: {first} are {begins.tolist()[:8]}, expected to rise from 0 to {given.shape[0]}.")
    block = tuple(given.shape[1:]) if layout.blocked else (1, 1)
    line, other = (0, 1) if layout.compressed == 0 else (1, 0)
    lines = (begins.shape[0] - 1) * block[line]
    if size is None:
        count = (int(others.max()) + 1 if others.numel() else 0) * block[other]
        size = (lines, count) if line == 0 else (count, lines)
    if len(size) != 2 or size[line] != lines or size[other] % block[other]:
        what = f"{lines} {('rows', 'columns')[line]}, as {first} say, and whole blocks"
        raise ShapeError(f"{name}: size is {list(size)}, expected {what}.")
    require_within(name, second, others, size[other] // block[other])
    return made(layout, (begins, others), given, tuple(size))


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> SparseTensor:
    """A matrix by its rows: ``sparse_compressed_tensor`` of the layout ``sparse_csr``.

    >>> import nbgrad
    >>> nbgrad.sparse_csr_tensor([0, 1, 3], [1, 0, 1], [5.0, 6.0, 7.0]).to_dense()
    tensor([[0., 5.],
            [6., 7.]])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{**options, "layout": sparse_csr})


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> SparseTensor:
    """A matrix by its columns: ``sparse_compressed_tensor`` of the layout ``sparse_csc``.

    >>> import nbgrad
    >>> nbgrad.sparse_csc_tensor([0, 1, 3], [1, 0, 1], [5.0, 6.0, 7.0]).to_dense()
    tensor([[0., 6.],
            [5., 7.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{**options, "layout": sparse_csc})


def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> SparseTensor:
    """A matrix by rows of blocks: ``sparse_compressed_tensor`` of the layout ``sparse_bsr``.

    >>> import nbgrad
    >>> nbgrad.sparse_bsr_tensor([0, 1], [1], [[[5.0, 6.0]]]).to_dense()
    tensor([[0., 0., 5., 6.]])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{**options, "layout": sparse_bsr})


def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> SparseTensor:
    """A matrix by columns of blocks: ``sparse_compressed_tensor`` of the layout ``sparse_bsc``.

    >>> import nbgrad
    >>> nbgrad.sparse_bsc_tensor([0, 1], [1], [[[5.0, 6.0]]]).to_dense()
    tensor([[0., 0.],
            [5., 6.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{**options, "layout": sparse_bsc})


def as_sparse_gradcheck(gradcheck: Callable) -> Callable:
    """``gradcheck`` itself, which takes sparse tensors: torch's is made to by this decorator.

    >>> import nbgrad
    >>> check = nbgrad.sparse.as_sparse_gradcheck(nbgrad.gradcheck)
    >>> check(lambda x: x.to_dense(), nbgrad.eye(2).double().to_sparse().requires_grad_())
    True
    """
    return gradcheck


class check_sparse_tensor_invariants:  # torch's name
    """Whether places are looked at when a sparse tensor is made, as torch has it. They always are: only the answer changes.

    >>> import nbgrad
    >>> with nbgrad.sparse.check_sparse_tensor_invariants():
    ...     nbgrad.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.wanted = enable

    @classmethod
    def is_enabled(cls) -> bool:
        """What was said last."""
        return cls._enabled

    @classmethod
    def enable(cls) -> None:
        """Say that places are looked at."""
        cls._enabled = True

    @classmethod
    def disable(cls) -> None:
        """Say that they are not."""
        cls._enabled = False

    def __enter__(self) -> None:
        self.before = self._enabled
        type(self)._enabled = self.wanted

    def __exit__(self, *error: object) -> None:
        type(self)._enabled = self.before

    def __call__(self, function: Callable) -> Callable:
        @wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.wanted):
                return function(*args, **kwargs)

        return within


def new_like(x: SparseTensor, *args: Any, device: Any = None) -> SparseTensor:
    """``x.new``: a sparse tensor of the dtype of ``x``, of places, values and sizes, or of sizes alone, without elements.

    >>> import nbgrad
    >>> x = nbgrad.sparse_coo_tensor([[0, 1]], [3.0, 4.0], (3,))
    >>> x.new(x._indices(), 2 * x._values(), x.shape).to_dense(), x.new(2, 3).shape
    (tensor([6., 8., 0.]), nbgrad.Size([2, 3]))
    """
    place = x.device if device is None else device
    if args and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, dtype=x.dtype, device=place)
    sizes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
    return sparse_coo_tensor(size=sizes, dtype=x.dtype, device=place)


SparseTensor.new = new_like  # type: ignore[method-assign, assignment]
