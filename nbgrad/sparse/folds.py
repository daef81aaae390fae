"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.calls import CALLS
from ..base.errors import NotSupportedError
from ..ops.shapes import wrap
from .conversions import coordinates
from .coordinates import keys
from .tensors import SparseTensor, handles, require_sparse, summed

__all__ = ["log_softmax", "softmax", "sum"]


@handles("sum")
def sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all values, or over dimensions.

    Returns:
        Of all values a dense number; over dimensions that places tell, a sparse tensor of the others, or a dense one where no such
        dimension is left.

    Raises:
        NotSupportedError: ``input`` is dense.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> nbgrad.sparse.sum(a), nbgrad.sparse.sum(a, 0).to_dense()
    (tensor(12.), tensor([4., 0., 8.]))
    """
    require_sparse("sum", "x", input)
    converted: Any = input if dtype is None else input.to(dtype)
    x = coordinates(converted)
    if dim is None or dim == () or dim == []:
        return x._given_.sum()
    gone = {wrap("sum", d, x.dim()) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    count = x.sparse_dim()
    values = x._given_
    inner = [d - count + 1 for d in gone if d >= count]
    values = values.sum(inner, keepdim=keepdim) if inner else values
    left = [d for d in range(count) if d not in gone]
    if keepdim:
        at = nbgrad.stack([x._at[d] if d in left else nbgrad.zeros_like(x._at[d]) for d in range(count)])
        return summed(at, values, [1 if d in gone else n for d, n in enumerate(x.shape)]).to_sparse(
            layout=None if input._format_.blocked else input._format_
        )
    if not left:
        return values.sum(0)
    return summed(x._at[left], values, [size for d, size in enumerate(x.shape) if d not in gone])


def of_all(name: str) -> None:
    """A norm of all elements, which the zeros add nothing to."""

    @handles(name)
    def norm(input: SparseTensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        dims = range(input.dim()) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        if keepdim or {wrap(name, d, input.dim()) for d in dims} != set(range(input.dim())):
            raise NotSupportedError("norm: of a sparse tensor it is of all elements together. Hint: x.to_dense().")
        values = coordinates(input).coalesce()._given_
        return CALLS[name](values, tuple(range(values.ndim)), False)


for _name in ("norm1", "norm2"):
    of_all(_name)


@handles("any")
def any(input: SparseTensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether a value is not zero.

    Raises:
        NotSupportedError: along a dimension.
    """
    if dim is not None:
        raise NotSupportedError("any: of a sparse tensor it is of all elements together. Hint: x.to_dense().")
    return input.coalesce()._given_.any()


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Shares of the stored values along a dimension: what is not stored has none, as if it were -inf.

    Raises:
        NotSupportedError: ``input`` is dense.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [0.0, 0.0, 7.0], (2, 3))
    >>> nbgrad.sparse.softmax(a, 1).values()
    tensor([0.5000, 0.5000, 1.0000])
    """
    return log_softmax(input, dim, dtype=dtype)._map(nbgrad.exp)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithm of ``softmax``.

    Raises:
        NotSupportedError: ``input`` is dense.

    >>> import nbgrad
    >>> a = nbgrad.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> nbgrad.sparse.log_softmax(a, 1).values()
    tensor([-0.6931, -0.6931])
    """
    require_sparse("softmax", "x", input)
    converted: Any = input if dtype is None else input.to(dtype)
    x = converted.coalesce()
    dim = wrap("softmax", dim, x.dim())
    if dim >= x.sparse_dim():
        return x._map(lambda values: nbgrad.log_softmax(values, dim - x.sparse_dim() + 1))
    others = [d for d in range(x.sparse_dim()) if d != dim]
    line = keys(x._at[others], [x.shape[d] for d in others])
    line = line.unique(return_inverse=True)[1]
    values = x._elements
    count = int(line.max()) + 1 if line.numel() else 0
    greatest = values.detach().new_full((count, *values.shape[1:]), -nbgrad.inf).index_reduce(0, line, values.detach(), "amax")
    moved = values - greatest[line]
    totals = values.new_zeros(count, *values.shape[1:]).index_add(0, line, moved.exp())
    return x._map(lambda given: (moved - totals.log()[line]).reshape(given.shape))
