"""New shapes from views, copies and joins: diagonals, padding, grids, stacks."""

from __future__ import annotations

import math
from typing import Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import int64, result_dtype
from ..base.errors import ArgumentError, DimError, ModeError, RangeError, ShapeError
from ..base.grad_mode import mode
from ..creation import factories
from ..creation.constants import numbered
from ..dispatch.arguments import require_tensors
from ..graph.edges import requires_grad
from ..ops.core import composite
from ..ops.kinds import counted
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of
from ..tensors.layout import broadcast_shapes
from ..tensors.tensor import Tensor

__all__: list[str] = []


def as_list(tensors: tuple) -> list:
    """Tensors given one by one, or in one sequence."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)


def broadcast_tensors(*tensors):
    """Views of one shape, to which all operands broadcast."""
    tensors = as_list(tensors)
    require_tensors("broadcast_tensors", *tensors)
    shape, expand = broadcast_shapes("broadcast_tensors", [x.layout.shape for x in tensors]), CALLS["expand_shape"]
    return tuple([expand(x, shape) for x in tensors])


# ---- diagonals, rotations, blocks -------------------------------------------------------------------------------------


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension as a diagonal of two new ones, zeros elsewhere."""
    if not input.ndim:
        raise DimError("diag_embed: input has no dimensions, expected at least one. Hint: x.reshape(1).")
    try:
        size, ndim = input.shape[-1] + abs(offset), input.ndim + 1
    except TypeError:
        raise ArgumentError(f"diag_embed: offset must be an int, got {type(offset).__name__}.") from None
    dim1, dim2 = wrap("diag_embed", dim1, ndim), wrap("diag_embed", dim2, ndim)
    if dim1 == dim2:
        raise ShapeError(f"diag_embed: dim1 and dim2 are both {dim1}.")
    shape = list(input.shape[:-1])
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, size)
    return input.diagonal_backward(tuple(shape), offset, dim1, dim2)


def diag(input, diagonal=0):
    """The diagonal of a matrix; of a vector the matrix with that diagonal."""
    if input.ndim not in (1, 2):
        raise ShapeError(f"diag: expected a vector or a matrix, got {input.ndim} dimensions. Hint: diagonal, diag_embed.")
    return diag_embed(input, diagonal) if input.ndim == 1 else input.diagonal(diagonal).clone()


def diagflat(input, offset=0):
    """The matrix whose diagonal has all elements."""
    return diag_embed(input.reshape((-1,)), offset)


def rot90(input, k=1, dims=(0, 1)):
    """Turned ``k`` times by 90 degrees, from the first dimension towards the second."""
    if len(dims) != 2:
        raise RangeError(f"rot90: dims are {list(dims)}, expected two.")
    first, second = (wrap("rot90", d, input.ndim) for d in dims)
    if first == second:
        raise RangeError(f"rot90: dims are {list(dims)}, expected two different ones.")
    turned = (
        input.clone,
        lambda: input.flip_dims((second,)).transpose(first, second),
        lambda: input.flip_dims((first, second)),
        lambda: input.flip_dims((first,)).transpose(first, second),
    )
    try:
        quarter = turned[k % 4]
    except TypeError:
        raise ArgumentError(f"rot90: k must be an int, got {type(k).__name__}.") from None
    return quarter()


def block_diag(*tensors):
    """Matrices along the diagonal of one, zeros elsewhere; vectors are rows, numbers matrices of one element."""
    if not tensors:
        return factories.empty((1, 0))
    require_tensors("block_diag", *tensors)
    if len({x.dtype for x in tensors}) > 1:
        dtype = result_dtype([(x.dtype, x.ndim) for x in tensors])
        tensors = tuple(x.to(dtype) for x in tensors)
    return CALLS["blocks"](tensors)


# ---- padding ----------------------------------------------------------------------------------------------------------


PAD_MODES = "constant", "reflect", "replicate", "circular"


def pad(input, pad, mode="constant", value=None):
    """With elements before and after along the last dimensions: ``pad`` is (before last, after last, before the one before, ...).

    Args:
        mode: "constant" writes ``value`` (0); "reflect", "replicate" and "circular" repeat elements.

    Raises:
        ModeError: an unknown mode. RangeError: a ``value`` for another than "constant", or pairs that do not fit.
        ArgumentError: no pairs.
    """
    if mode not in PAD_MODES:
        raise ModeError(f"pad: mode is {mode!r}, expected {', '.join(map(repr, PAD_MODES[:-1]))} or {PAD_MODES[-1]!r}.")
    if isinstance(pad, int):
        raise ArgumentError(f"pad: pad is {pad}, expected numbers in pairs, such as ({pad}, {pad}) for the last dimension.")
    if value and mode != "constant":
        raise RangeError(f"pad: value is {value}, which mode {mode!r} does not take.")
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise RangeError(f"pad: got {len(pad)} numbers for {input.ndim} dimensions, expected up to {2 * input.ndim}, in pairs.")
    if mode == "constant" and is_plain_zero(value) and type(pad) is tuple:
        return input.zero_pad(pad)
    for k in range(0, len(pad), 2):
        input = padded_along(input, input.ndim - 1 - k // 2, pad[k], pad[k + 1], mode, 0 if value is None else value)
    return input


def is_plain_zero(value) -> bool:
    """Whether a number to pad with is 0 of any type, and not -0.0."""
    return value is None or type(value) in (int, float) and value == 0 and math.copysign(1, value) > 0


def padded_along(x, dim: int, before: int, after: int, mode: str, value):
    """One dimension with ``before`` and ``after`` further elements; negative numbers take elements away."""
    if mode in ("reflect", "replicate") and (before > 0 or after > 0):  # elements that are taken away are still repeated
        return repeated_along(x, dim, before, after, mode == "reflect")
    size = x.shape[dim]
    if mode == "replicate" and size + before + after > 0 and min(size + before, size + after) <= 0:
        # All is cut away and elements are added on the other side: those of the end that was nearest.
        places = np.arange(-before, size + after).clip(0, size - 1)
        return x.index_select(dim, tensor_of(places.astype(np.int64), x))
    x = x.narrow(dim, max(-before, 0), size - max(-before, 0) - max(-after, 0)) if before < 0 or after < 0 else x
    before, after, size = max(before, 0), max(after, 0), x.shape[dim]
    if not before and not after:
        return x
    if mode == "constant":
        shape, parts = tuple(x.shape), [x]
        if before:
            parts.insert(0, x.new_full((*shape[:dim], before, *shape[dim + 1 :]), value))
        if after:
            parts.append(x.new_full((*shape[:dim], after, *shape[dim + 1 :]), value))
        return CALLS["cat"](parts, dim)
    if not size:
        raise ShapeError(f"pad: dimension {dim} has no elements to repeat.")
    return x.index_select(dim, tensor_of(np.arange(-before, size + after) % size, x))


def repeated_along(x, dim: int, before: int, after: int, reflect: bool):
    """One dimension, reflected at its ends or continued with its first and last elements.

    Raises:
        ShapeError: there are not so many elements.
    """
    size = x.shape[dim]
    places = np.arange(-before, size + after)
    if not size or (reflect and (before >= size or after >= size)):
        raise ShapeError(
            f"pad: cannot {'reflect' if reflect else 'repeat'} {before} and {after} elements of dimension {dim} of size {size}."
        )
    places = size - 1 - np.abs(size - 1 - np.abs(places)) if reflect else places.clip(0, size - 1)
    return x.index_select(dim, tensor_of(places.astype(np.int64), x))


# ---- grids, combinations, powers --------------------------------------------------------------------------------------


def meshgrid(*tensors, indexing="ij"):
    """Vectors as coordinates of a grid: one tensor of the grid's shape each."""
    if indexing not in ("ij", "xy"):
        raise RangeError(f"meshgrid: indexing is {indexing!r}, expected 'ij' or 'xy'.")
    vectors = [x if x.ndim == 1 else x.reshape((-1,)) for x in as_list(tensors)]
    swapped = indexing == "xy" and len(vectors) > 1
    order = [1, 0, *range(2, len(vectors))] if swapped else list(range(len(vectors)))
    shape = tuple(vectors[k].numel() for k in order)
    return tuple(
        x.reshape(tuple(-1 if order[d] == k else 1 for d in range(len(vectors)))).expand(shape) for k, x in enumerate(vectors)
    )


def cartesian_prod(*tensors):
    """All combinations of the elements of several vectors, one a row."""
    grids = meshgrid(*tensors)
    if len(grids) == 1:
        return grids[0]
    if mode.enabled and any(map(requires_grad, grids)):  # the node is a stack's, as in torch
        return CALLS["stack"]([x.reshape((-1,)) for x in grids], 1)
    return CALLS["stack"](grids, -1).reshape((-1, len(grids)))


def combinations(input, r=2, with_replacement=False):
    """All ways to choose r elements of a vector, one a row.

    Raises:
        RangeError: r is negative.
    """
    import itertools

    if r < 0:
        raise RangeError(f"combinations: r is {r}, expected a number >= 0.")
    if not r:
        return input[:0]
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    size = input.numel()
    if r == 2 and size > 16:  # below, Python is quicker
        rows = np.stack(np.triu_indices(size, 0 if with_replacement else 1), 1)
    else:
        rows = np.fromiter(itertools.chain.from_iterable(choose(range(size), r)), np.int64).reshape(-1, r)
    return input.index_select(0, tensor_of(rows.reshape(-1), input)).reshape(rows.shape)


def vander(x, N=None, increasing=False):
    """Powers of the elements of a vector, one a column: from the highest to 1.

    Raises:
        ShapeError: no vector. RangeError: N is negative.
    """
    require_tensors("vander", x)
    if x.ndim != 1:
        raise ShapeError(f"vander: x has shape {list(x.shape)}, expected a vector. Hint: linalg.vander takes batches.")
    return columns_of_powers("vander", x, x.numel() if N is None else N, not increasing)


def columns_of_powers(name: str, x, count: int, descending: bool):
    """The powers 0 to count - 1, side by side; of integers in int64."""
    x = x if x.dtype.differentiable else x.to(int64)
    if count < 0:
        raise RangeError(f"{name}: N is {count}, expected a number >= 0.")
    if not count:
        return x.new_empty((*x.shape, 0))
    return CALLS["stack"]([x**k for k in (reversed(range(count)) if descending else range(count))], -1)


# ---- joins by the number of dimensions --------------------------------------------------------------------------------


def at_least(x: Tensor, ndim: int) -> Tensor:
    """``x`` with dimensions of size 1 added as NumPy does: a row, a row of a matrix, a matrix of depth 1."""
    while x.layout.ndim < ndim:
        x = CALLS["unsqueeze"](x, 0 if x.layout.ndim != 2 else 2)
    return x


def joined(tensors, ndim: int, dim: int):
    """Tensors of at least so many dimensions, one after the other along ``dim``; those that have them as they are given."""
    if type(tensors) is tuple or type(tensors) is list:
        for x in tensors:
            if x.layout.ndim < ndim:
                break
        else:
            return CALLS["cat"](tensors, dim)
    return CALLS["cat"](tuple([at_least(x, ndim) for x in tensors]), dim)


def hstack(tensors):
    """Tensors side by side: along the second dimension, or the first of rows."""
    tensors = tensors if type(tensors) is tuple or type(tensors) is list else tuple(tensors)
    return joined(tensors, 1, 0 if tensors and tensors[0].layout.ndim < 2 else 1)


def vstack(tensors):
    """Tensors below one another; rows become matrices of one row."""
    return joined(tensors, 2, 0)


def dstack(tensors):
    """Tensors behind one another, along the third dimension."""
    if type(tensors) is tuple or type(tensors) is list:  # matrices of one layout, of which nothing is recorded, are stacked
        first = tensors[0].layout if tensors else None
        for x in tensors:
            if x.layout is not first or first.ndim != 2 or x._needs_grad_:
                break
        else:
            if tensors:
                return CALLS["stack"](tensors, 2)
    unsqueeze = CALLS["unsqueeze"]
    return CALLS["cat"](tuple([unsqueeze(x, 2) if x.layout.ndim == 2 else at_least(x, 3) for x in tensors]), 2)


# ---- indices of triangles ---------------------------------------------------------------------------------------------


def tril_indices(row, col, offset=0, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Rows and columns of the lower triangle of a matrix, (2, n)."""
    row, col = counted("tril_indices", "row", row), counted("tril_indices", "col", col)
    return triangle(np.tril_indices(row, offset, col), dtype, device, requires_grad, pin_memory)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Rows and columns of the upper triangle of a matrix, (2, n)."""
    row, col = counted("triu_indices", "row", row), counted("triu_indices", "col", col)
    return triangle(np.triu_indices(row, offset, col), dtype, device, requires_grad, pin_memory)


def triangle(places, dtype, device, requires_grad, pin_memory):
    """Indices by dimension as one tensor."""
    return factories.tensor(
        np.stack(places), dtype=dtype or int64, device=device, requires_grad=requires_grad, pin_memory=pin_memory
    )


_function: Callable
for _function in (diag, diag_embed, diagflat, rot90):
    composite(_function.__name__, _function, out=_function is diag, spelling=True, doc=_function.__doc__)
for _function in (broadcast_tensors, pad, block_diag, combinations, cartesian_prod):
    composite(_function.__name__, _function, method=False, doc=str(_function.__doc__))
composite("vander", vander, method=False, arguments={"x": "x"}, doc=str(vander.__doc__))
composite("meshgrid", meshgrid, method=False, spelling="steps", doc=meshgrid.__doc__)
for _function in (hstack, dstack):
    composite(_function.__name__, _function, method=False, out=True, doc=_function.__doc__)
composite("vstack", vstack, method=False, out=True, aliases=("row_stack",), doc=vstack.__doc__)
for _function in (tril_indices, triu_indices):
    composite(_function.__name__, numbered(_function), method=False, doc=_function.__doc__)
