"""Dimensions, parts and concatenations of sparse tensors."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.dtypes import bool_
from ..base.errors import DimError, NotSupportedError, ShapeError
from ..ops.shapes import wrap
from .conversions import coordinates
from .coordinates import found_among, keys, stretches
from .elements import in_layout_of
from .layouts import HANDLERS, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .tensors import SparseTensor, handles, made, require_matrix, require_sparse

__all__ = ["cat", "sparse_mask", "transpose"]

TURNED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


def told_by_places(name: str, x: SparseTensor, dim: int) -> int:
    """A dimension counted from the front.

    Raises:
        NotSupportedError: it is one of the values'.
    """
    dim = wrap(name, dim, x.dim())
    if dim >= x.sparse_dim():
        raise NotSupportedError(f"{name}: dim {dim} is one of the values'. Hint: x.to_dense().")
    return dim


# ---- order -----------------------------------------------------------------------------------------------------------


@handles("permute_dims")
def permute(input: SparseTensor, dims: Any) -> SparseTensor:
    """Dimensions in another order; those of the values stay where they are.

    Raises:
        ShapeError: not every dimension once. NotSupportedError: one of the values' is moved.
    """
    order = [wrap("permute", d, input.dim()) for d in dims]
    count = input.sparse_dim()
    if sorted(order) != list(range(input.dim())):
        raise ShapeError(f"permute: dims are {list(order)}, expected each of {input.dim()} once.")
    if order == sorted(order):
        return input
    if order[count:] != list(range(count, input.dim())):
        raise NotSupportedError(f"permute: dims {order} move those of values. Hint: x.to_dense().")
    shape = [input.shape[d] for d in order]
    if not input.is_sparse:
        values = input._given_.transpose(1, 2) if input._format_.blocked else input._given_
        return made(TURNED[input._format_], input._places_, values, shape, input._settled_)
    return made(sparse_coo, (input._at[order[:count]],), input._given_, shape, input._at.shape[1] < 2)


@handles("transpose", "swapaxes", "swapdims")
def transpose(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Two dimensions exchanged, of those that places tell; rows become columns, of the layout too."""
    order = [*range(input.dim())]
    first, second = told_by_places("transpose", input, dim0), told_by_places("transpose", input, dim1)
    order[first], order[second] = second, first
    return permute(input, order)


@handles("t")
def t(input: SparseTensor) -> SparseTensor:
    """The transpose of a matrix."""
    if input.dim() < 2:
        return input
    require_matrix("t", input)
    return transpose(input, 0, 1)


@handles("unsqueeze")
def unsqueeze(input: SparseTensor, dim: int) -> SparseTensor:
    """With a dimension of size 1 more, among those that places tell or those of the values."""
    dim, x = wrap("unsqueeze", dim, input.dim() + 1), coordinates(input)
    count, shape = x.sparse_dim(), [*x.shape[:dim], 1, *x.shape[dim:]]
    if dim > count:
        return made(sparse_coo, x._places_, x._given_.unsqueeze(dim - count + 1), shape, x._settled_)
    at = nbgrad.cat((x._at[:dim], x._at.new_zeros(1, x._at.shape[1]), x._at[dim:]))
    return made(sparse_coo, (at,), x._given_, shape, x._settled_)


@handles("squeeze_all", "squeeze_dim", "squeeze_dims")
def squeeze(input: SparseTensor, dim: Any = None) -> SparseTensor:
    """Without the dimensions of size 1 that places tell, or without some of them."""
    x = coordinates(input)
    dims = (
        range(x.sparse_dim()) if dim is None else [wrap("squeeze", d, x.dim()) for d in (dim if isinstance(dim, tuple) else (dim,))]
    )
    gone = {d for d in dims if x.shape[d] == 1 and d < x.sparse_dim()}
    kept = [d for d in range(x.sparse_dim()) if d not in gone]
    return made(sparse_coo, (x._at[kept],), x._given_, [n for d, n in enumerate(x.shape) if d not in gone], x._settled_)


# ---- parts -----------------------------------------------------------------------------------------------------------


@handles("index_select")
def index_select(input: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    """Slices by their numbers, in that order; what is stored of a slice that comes twice is stored twice.

    Raises:
        DimError: a number that is no slice. NotSupportedError: the index is sparse.
    """
    if isinstance(index, SparseTensor):
        raise NotSupportedError("index_select: the index is sparse, expected a dense one. Hint: index.to_dense().")
    x, dim = coordinates(input), wrap("index_select", dim, input.dim())
    index = index.reshape(-1)
    size, shape = x.shape[dim], [*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]]
    if dim >= x.sparse_dim():
        return made(sparse_coo, x._places_, x._given_.index_select(dim - x.sparse_dim() + 1, index), shape, x._settled_)
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < size:
        raise DimError(f"index_select: numbers are from {int(index.min())} to {int(index.max())}, expected 0 to {size - 1}.")
    # Each stored place meets the positions of the index that name its slice, which lie side by side in the sorted index.
    sorted_index, order = index.sort(stable=True)
    own = x._at[dim].contiguous()
    first = nbgrad.searchsorted(sorted_index, own)
    stored, positions = stretches(first, nbgrad.searchsorted(sorted_index, own, right=True) - first)
    at = x._at.index_select(1, stored)
    at = nbgrad.cat((at[:dim], order[positions].unsqueeze(0), at[dim + 1 :]))
    return in_layout_of(input, made(sparse_coo, (at,), x._given_.index_select(0, stored), shape, at.shape[1] < 2))


@handles("narrow", "narrow_copy")
def narrow(input: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """Neighbouring slices.

    Raises:
        DimError: they are not there.
    """
    x, dim = coordinates(input), wrap("narrow", dim, input.dim())
    size = x.shape[dim]
    start = start + size if start < 0 else start
    if not 0 <= start <= start + length <= size:
        raise DimError(f"narrow: start is {start}, length {length}, expected them within {size}.")
    shape = [*x.shape[:dim], length, *x.shape[dim + 1 :]]
    if dim >= x.sparse_dim():
        return made(sparse_coo, x._places_, x._given_.narrow(dim - x.sparse_dim() + 1, start, length), shape, x._settled_)
    own = x._at[dim]
    there = ((own >= start) & (own < start + length)).nonzero().squeeze(1)
    at = x._at.index_select(1, there)
    at = nbgrad.cat((at[:dim], at[dim : dim + 1] - start, at[dim + 1 :]))
    return in_layout_of(input, made(sparse_coo, (at,), x._given_.index_select(0, there), shape, x._settled_))


@handles("slice")
def slice_of(input: SparseTensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> SparseTensor:
    """Neighbouring slices, as Python counts them.

    Raises:
        NotSupportedError: a step.
    """
    if step != 1:
        raise NotSupportedError(f"slice: step is {step}, expected 1 for sparse tensors. Hint: index_select.")
    first, last, _ = slice(start, end).indices(input.shape[wrap("slice", dim, input.dim())])
    return input if (first, last) == (0, input.shape[dim]) else narrow(input, dim, first, max(last - first, 0))


@handles("select", "select_copy")
def select(input: SparseTensor, dim: int, index: int) -> Any:
    """One slice: as coordinates; where no dimension is left that places tell, a dense value.

    Raises:
        DimError: it is not there.
    """
    dim = wrap("select", dim, input.dim())
    size = input.shape[dim]
    if not -size <= index < size:
        raise DimError(f"select: index is {index}, expected {-size} to {size - 1}.")
    x = coordinates(input)
    shape = [n for d, n in enumerate(x.shape) if d != dim]
    if dim >= x.sparse_dim():
        return made(sparse_coo, x._places_, x._given_.select(dim - x.sparse_dim() + 1, index), shape, x._settled_)
    there = (x._at[dim] == index % size).nonzero().squeeze(1)
    values = x._given_.index_select(0, there)
    if x.sparse_dim() == 1:
        return values.sum(0)
    at = x._at.index_select(1, there)
    return made(sparse_coo, (nbgrad.cat((at[:dim], at[dim + 1 :])),), values, shape, x._settled_ or at.shape[1] < 2)


def part(x: SparseTensor, index: Any) -> Any:
    """``x[index]`` of whole numbers, slices of step 1, and one tensor of numbers.

    Raises:
        NotSupportedError: another index.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [each for each in parts if not isinstance(each, Tensor)]:
        place = next(k for k, each in enumerate(parts) if each is Ellipsis)
        parts[place : place + 1] = [slice(None)] * (x.dim() - len(parts) + 1)
    dim, found = 0, x
    for each in parts:
        if isinstance(each, bool) or isinstance(found, Tensor) and not isinstance(found, SparseTensor):
            break
        if isinstance(each, int):
            found = select(found, dim, each)
            continue
        if isinstance(each, slice):
            found = slice_of(found, dim, each.start, each.stop, each.step or 1)
        elif isinstance(each, (list, Tensor)):
            numbers = nbgrad.as_tensor(each, device=x.device)
            numbers = numbers.nonzero().squeeze(1) if numbers.dtype is bool_ else numbers
            found = index_select(found, dim, numbers)
        else:
            break
        dim += 1
    else:
        return found
    raise NotSupportedError(
        f"index: {index!r} of a sparse tensor; expected numbers, slices or a tensor. Hint: x.to_dense()[index]."
    )


def rows_of(x: SparseTensor) -> Any:
    """The slices along the first dimension, one after the other."""
    return iter([select(x, 0, k) for k in range(len(x))])


SparseTensor.__getitem__ = part  # type: ignore[method-assign, assignment]
SparseTensor.__iter__ = rows_of  # type: ignore[method-assign, assignment]


def require_all_sparse(name: str, tensors: Any) -> None:
    """Refuse dense tensors among sparse ones.

    Raises:
        NotSupportedError: there is one.
    """
    if not all(isinstance(x, SparseTensor) for x in tensors):
        raise NotSupportedError(f"{name}: some tensors are sparse, others dense, expected all to be sparse. Hint: x.to_dense().")


@handles("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> SparseTensor:
    """Sparse tensors one after the other.

    Raises:
        ShapeError: their other sizes differ. NotSupportedError: some are dense.
    """
    require_all_sparse("cat", tensors)
    parts = [coordinates(x) for x in tensors]
    first, dim = parts[0], wrap("cat", dim, parts[0].dim())
    others = [d for d in range(first.dim()) if d != dim]
    for x in parts:
        if x.sparse_dim() != first.sparse_dim() or x.dim() != first.dim() or any(x.shape[d] != first.shape[d] for d in others):
            raise ShapeError(f"cat: shapes {[list(x.shape) for x in parts]} differ elsewhere than in dim {dim}.")
    if dim >= first.sparse_dim():
        raise NotSupportedError(f"cat: dim {dim} is one of the values'. Hint: x.to_dense().")
    begins, at = 0, []
    for x in parts:
        at.append(nbgrad.cat((x._at[:dim], x._at[dim : dim + 1] + begins, x._at[dim + 1 :])))
        begins += x.shape[dim]
    shape = [*first.shape[:dim], begins, *first.shape[dim + 1 :]]
    settled = dim == 0 and all(x._settled_ for x in parts)
    found = made(sparse_coo, (nbgrad.cat(at, 1),), nbgrad.cat([x._given_ for x in parts]), shape, settled)
    return in_layout_of(tensors[0], found)


@handles("stack")
def stack(tensors: Any, dim: int = 0) -> SparseTensor:
    """Sparse tensors side by side in a new dimension.

    Raises:
        ShapeError: their sizes differ. NotSupportedError: some are dense.
    """
    require_all_sparse("stack", tensors)
    return cat([unsqueeze(x, dim) for x in tensors], dim)


# ---- other places ----------------------------------------------------------------------------------------------------


@handles("sparse_mask")
def sparse_mask(input: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements of a tensor at the places of a sparse one.

    Raises:
        ShapeError: other shapes. NotSupportedError: ``mask`` is dense.

    >>> import nbgrad
    >>> mask = nbgrad.tensor([0.0, 1.0, 1.0]).to_sparse()
    >>> nbgrad.sparse.sparse_mask(nbgrad.tensor([5.0, 6.0, 7.0]), mask).to_dense()
    tensor([0., 6., 7.])
    """
    require_sparse("sparse_mask", "mask", mask)
    if tuple(input.shape) != tuple(mask.shape):
        raise ShapeError(f"sparse_mask: x is {list(input.shape)}, mask is {list(mask.shape)}.")
    if not isinstance(input, SparseTensor):
        return mask._map(lambda values: input[tuple(mask._at)].reshape(values.shape))
    x = coordinates(input).coalesce()
    if not x._nnz():
        return mask._map(lambda values: values.new_zeros(values.shape, dtype=input.dtype))
    place, there = found_among(keys(x._at, x.shape), keys(mask._at, mask.shape))
    found = nbgrad.where(there.reshape(-1, *[1] * x.dense_dim()), x._given_.index_select(0, place), 0)
    return mask._map(lambda values: found.reshape(values.shape))


def sparse_resize_(x: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Another shape, in place: at least as large where something is stored.

    Raises:
        ShapeError: sizes shrink, or numbers of dimensions change, while something is stored.
    """
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise ShapeError(f"sparse_resize_: size is {list(size)}, expected {sparse_dim} + {dense_dim} sizes.")
    same = sparse_dim == x.sparse_dim() and len(size) == x.dim()
    if x._nnz() and (not same or any(n < old for n, old in zip(size, x.shape)) or size[sparse_dim:] != tuple(x.shape[sparse_dim:])):
        raise ShapeError(f"sparse_resize_: {list(x.shape)} cannot become {list(size)} while something is stored.")
    values = x._given_ if x._nnz() else x._given_.new_empty(0, *size[sparse_dim:])
    at = x._at if x._nnz() else x._at.new_empty(sparse_dim, 0)
    return x._become(made(sparse_coo, (at,), values, size, x._settled_))


def sparse_resize_and_clear_(x: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Another shape, in place, with nothing stored."""
    return sparse_resize_(HANDLERS["zero_"](x), size, sparse_dim, dense_dim)


def resize_as_sparse_(x: SparseTensor, the_template: SparseTensor) -> SparseTensor:
    """The shape of another sparse tensor, in place."""
    return sparse_resize_(x, the_template.shape, the_template.sparse_dim(), the_template.dense_dim())


SparseTensor.resize_as_sparse_ = resize_as_sparse_  # type: ignore[attr-defined]
SparseTensor.sparse_resize_ = sparse_resize_  # type: ignore[attr-defined]
SparseTensor.sparse_resize_and_clear_ = sparse_resize_and_clear_  # type: ignore[attr-defined]
