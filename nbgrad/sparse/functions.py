"""What functions mean on sparse tensors, and the functions of ``nbgrad.sparse``."""

from __future__ import annotations

from typing import Any, Callable

import nbgrad

from .. import Tensor
from ..base.errors import NotSupportedError, ShapeError
from ..ops.shapes import wrap
from .tensors import SparseTensor, handles, keys, require_matrix, summed

__all__ = ["addmm", "log_softmax", "mm", "softmax", "spdiags", "sum"]

# ---- products --------------------------------------------------------------------------------------------------------


def product(a: SparseTensor, y: Tensor) -> Tensor:
    """A sparse matrix times a dense one: rows of y, times values, added up."""
    rows, columns = a._indices()
    terms = y.index_select(0, columns) * a._values().unsqueeze(1)
    return terms.new_zeros(a.shape[0], y.shape[1]).index_add(0, rows, terms)


def sparse_product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Two sparse matrices: every value of a meets the values of a row of b."""
    first, b = a.to_sparse_coo(), b.to_sparse_csr()
    begins, rows, columns = b.crow_indices(), first._indices()[0], first._indices()[1]
    counts = begins.diff()[columns]
    left = nbgrad.arange(counts.shape[0], device=a.device).repeat_interleave(counts)  # type: ignore[arg-type]
    within = nbgrad.arange(left.shape[0], device=a.device) - (counts.cumsum(0) - counts)[left]
    right = begins[columns][left] + within
    at = nbgrad.stack((rows[left], b.col_indices()[right]))
    found = summed(at, first._values()[left] * b.values()[right], (a.shape[0], b.shape[1]))
    return found.to_sparse(layout=a.layout)


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


@handles("mm", "smm", "hspmm")
def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices, one of which is sparse, or both.

    Returns:
        A dense matrix; of two sparse ones a sparse one.

    Raises:
        ShapeError: sizes that do not fit, or no matrices.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> nbgrad.sparse.mm(a, nbgrad.tensor([[1.0], [10.0]]))
    tensor([[20.],
            [ 3.]])
    """
    require_product("mm", input, mat2)
    if isinstance(input, SparseTensor):
        return sparse_product(input, mat2) if isinstance(mat2, SparseTensor) else product(input, mat2)
    return product(mat2.t(), input.t()).t() if isinstance(mat2, SparseTensor) else nbgrad.mm(input, mat2)


spmm = mm  # torch's older name


@handles("matmul", "mv")
def matmul(input: Any, other: Any) -> Any:
    """``mm``, and products with a vector."""
    if other.dim() == 1:
        return mm(input, other.unsqueeze(1)).squeeze(1)
    if input.dim() == 1:
        return mm(input.unsqueeze(0), other).squeeze(0)
    return mm(input, other)


@handles("addmm", "sspaddmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta input + alpha mat1 mat2, where mat1 is sparse.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> nbgrad.sparse.addmm(nbgrad.ones(2, 2), a, nbgrad.ones(2, 2))
    tensor([[3., 3.],
            [1., 1.]])
    """
    return add(input * beta, mm(mat1, mat2) * alpha)


# ---- sums and products of elements -----------------------------------------------------------------------------------


@handles("add")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha other; dense, unless both are sparse.

    Raises:
        ShapeError: other shapes. NotSupportedError: a number, which would fill the zeros.
    """
    for x in (input, other):
        if not isinstance(x, (Tensor, SparseTensor)):
            raise NotSupportedError(f"add: {x!r} would be added to every zero of a sparse tensor. Hint: x.to_dense().")
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        require_like("add", input, other)
        at = nbgrad.cat((input._indices(), other._indices()), 1)
        found = summed(at, nbgrad.cat((input._values(), other._values() * alpha)), input.shape)
        return found.to_sparse(layout=input.layout)
    dense = [x.to_dense() if isinstance(x, SparseTensor) else x for x in (input, other)]
    return nbgrad.add(dense[0], dense[1], alpha=alpha)


@handles("sub", "subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha other."""
    return add(input, other, alpha=-alpha)


@handles("mul", "multiply")
def mul(input: Any, other: Any) -> SparseTensor:
    """Element by element: of a sparse tensor and a number, a dense tensor of its shape, or another sparse one.

    Raises:
        ShapeError: other shapes.
    """
    x, y = (input, other) if isinstance(input, SparseTensor) else (other, input)
    if not isinstance(y, (Tensor, SparseTensor)) or isinstance(y, Tensor) and y.dim() == 0:
        return x.with_values(x._values() * y)
    require_like("mul", x, y)
    if isinstance(y, Tensor):
        return x.with_values(x._values() * y[tuple(x._indices())])
    x, y, layout = x.to_sparse_coo().coalesce(), y.to_sparse_coo().coalesce(), x.layout
    own, others = keys(x.indices(), x.shape), keys(y.indices(), y.shape)
    place = nbgrad.searchsorted(others, own).clamp(max=max(others.shape[0] - 1, 0))
    both = (others[place] == own).nonzero().squeeze(1) if others.shape[0] else own[:0]
    at = x.indices().index_select(1, both)
    return SparseTensor(at, x.values()[both] * y.values()[place[both]], x.shape, True).to_sparse(layout=layout)


@handles("div", "divide", "true_divide")
def div(input: SparseTensor, other: Any) -> SparseTensor:
    """A sparse tensor divided by a number.

    Raises:
        NotSupportedError: by anything else: the zeros would be 0 / 0.
    """
    if not isinstance(input, SparseTensor) or isinstance(other, SparseTensor) or isinstance(other, Tensor) and other.dim():
        raise NotSupportedError("div: a sparse tensor can be divided by a number alone. Hint: x * (1 / y), or x.to_dense().")
    return input.with_values(input._values() / other)


def require_like(name: str, x: Any, y: Any) -> None:
    """Refuse other shapes.

    Raises:
        ShapeError: they differ.
    """
    if tuple(x.shape) != tuple(y.shape):
        raise ShapeError(f"{name}: x is {list(x.shape)}, y is {list(y.shape)}; sparse tensors do not broadcast.")


def of_values(name: str) -> None:
    """A function that is 0 at 0, of every value; values of one place are added up before."""

    @handles(name)
    def function(input: SparseTensor) -> SparseTensor:
        x = input.coalesce()
        values: Callable = getattr(nbgrad, name)
        return x.with_values(values(x._values()))

    function.__doc__ = f"``nbgrad.{name}`` of the values; of the zeros it is 0."


for _name in (
    *("neg", "abs", "sqrt", "square", "sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "relu", "sign"),
    *("erf", "expm1", "log1p", "floor", "ceil", "round", "trunc"),
):
    of_values(_name)


# ---- dimensions ------------------------------------------------------------------------------------------------------


@handles("transpose", "swapaxes")
def transpose(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Two dimensions exchanged, of those that places tell; the layout stays."""
    first, second = wrap("transpose", dim0, input.dim()), wrap("transpose", dim1, input.dim())
    if max(first, second) >= input.sparse_dim():
        raise NotSupportedError(f"transpose: dim {max(first, second)} is one of the values'. Hint: x.to_dense().")
    order, shape = [*range(input.sparse_dim())], list(input.shape)
    order[first], order[second] = second, first
    shape[first], shape[second] = shape[second], shape[first]
    turned = SparseTensor(input._indices()[order], input._values(), shape, first == second and input.is_coalesced())
    return turned.to_sparse(layout=input.layout)


@handles("t")
def t(input: SparseTensor) -> SparseTensor:
    """The transpose of a matrix."""
    require_matrix("t", input)
    return transpose(input, 0, 1)


@handles("sum")
def sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all values, or over dimensions.

    Returns:
        Of all values a dense number; over dimensions that places tell, a sparse tensor of the others, or a dense one where no such
        dimension is left.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> nbgrad.sparse.sum(a), nbgrad.sparse.sum(a, 0).to_dense()
    (tensor(12.), tensor([4., 0., 8.]))
    """
    x = input if dtype is None else input.to(dtype)
    if dim is None:
        return x._values().sum()
    if keepdim:
        raise NotSupportedError("sum: keepdim is not there for sparse tensors. Hint: x.to_dense().sum(dim, keepdim=True).")
    gone = {wrap("sum", d, x.dim()) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    count = x.sparse_dim()
    values = x._values()
    inner = [d - count + 1 for d in gone if d >= count]
    values = values.sum(inner) if inner else values
    left = [d for d in range(count) if d not in gone]
    if not left:
        return values.sum(0)
    return summed(x._indices()[left], values, [size for d, size in enumerate(x.shape) if d not in gone])


@handles("softmax")
def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Shares of the stored values along a dimension: what is not stored has none, as if it were -inf.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [0.0, 0.0, 7.0], (2, 3))
    >>> nbgrad.sparse.softmax(a, 1).values()
    tensor([0.5000, 0.5000, 1.0000])
    """
    return log_softmax(input, dim, dtype=dtype)._map(nbgrad.exp)


@handles("log_softmax")
def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithm of ``softmax``.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> nbgrad.sparse.log_softmax(a, 1).values()
    tensor([-0.6931, -0.6931])
    """
    x = (input if dtype is None else input.to(dtype)).coalesce()
    dim = wrap("softmax", dim, x.dim())
    if dim >= x.sparse_dim():
        return x._map(lambda values: nbgrad.log_softmax(values, dim - x.sparse_dim() + 1))
    others = [d for d in range(x.sparse_dim()) if d != dim]
    line = keys(x._indices()[others], [x.shape[d] for d in others])
    line = line.unique(return_inverse=True)[1]
    values = x._values()
    count = int(line.max()) + 1 if line.numel() else 0
    greatest = values.detach().new_full((count, *values.shape[1:]), -nbgrad.inf).index_reduce(0, line, values.detach(), "amax")
    moved = values - greatest[line]
    totals = values.new_zeros(count, *values.shape[1:]).index_add(0, line, moved.exp())
    return x.with_values(moved - totals.log()[line])


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> SparseTensor:
    """A sparse matrix of diagonals.

    Args:
        diagonals: one a row; element j of a row stands in column j.
        offsets: which diagonals they are: 0 the main one, positive numbers above it.
        shape: of the matrix.
        layout: ``nbgrad.sparse_csr`` for compressed rows.

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
