"""Samples of views, of their transposes, and of what joins and rearranges."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row, through

ShapeError, DimError = nbgrad.ShapeError, nbgrad.DimError
# Their meaning depends on the memory of the operand.
MEMORY = {"layout": "it speaks of memory, or refuses memory that it cannot view"}


def strided(x, size, stride, offset=0):
    """``as_strided`` of a row-major array; the offset is None for its own start."""
    flat = np.ascontiguousarray(x).ravel()
    picked = (offset or 0) + sum(np.indices(size)[d] * stride[d] for d in range(len(size)))
    return flat[picked]


def zeros_with(x, shape, place):
    """Zeros of ``shape`` to which ``place(zeros, x)`` adds ``x``."""
    out = np.zeros(shape, x.dtype)
    place(out, x)
    return out


def unfold(x, dimension, size, step):
    """All windows of a dimension, as a last one."""
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dimension)
    return windows[(slice(None),) * dimension + (slice(None, None, step),)]


def unfold_backward(x, shape, dimension, size, step):
    """The transpose of ``unfold``."""
    out = np.zeros(shape, x.dtype)
    for k in range(x.shape[dimension]):
        window = np.moveaxis(np.take(x, k, dimension), -1, dimension)
        out[(slice(None),) * dimension + (slice(k * step, k * step + size),)] += window
    return out


def pieces(x, split_sizes, dim=0):
    """Pieces of the given sizes."""
    return tuple(np.split(x, np.cumsum(split_sizes)[:-1], dim))


def equal_pieces(x, size, dim=0):
    """Pieces of one size, the last may be smaller."""
    return tuple(np.split(x, range(size, x.shape[dim], size), dim))


# ---- the movements ---------------------------------------------------------------------------------------------------

row("alias", lambda x: x, REAL, case((2, 3)), case(()), case((0, 3)))
row("primal", lambda x: x, REAL, case((2, 3)))
row(
    "view_shape",
    np.reshape,
    REAL,
    case((2, 3), shape=(3, 2)),
    case((2, 3), shape=(-1,)),
    unlike=MEMORY,
    errors=[fails(ShapeError, "6 elements|6", (2, 3), shape=(4,))],
)
row("reshape_alias", np.reshape, REAL, case((2, 3), shape=(3, 2)), unlike=MEMORY)
row(
    "permute_dims",
    lambda x, dims: x.transpose(dims),
    REAL,
    case((2, 3, 4), dims=(2, 0, 1)),
    case((2, 3), dims=(1, 0)),
    errors=[fails(nbgrad.NbgradError, "permute", (2, 3), dims=(0, 0))],
)
row(
    "transpose",
    np.swapaxes,
    REAL,
    case((2, 3), 0, 1),
    case((2, 3, 4), -1, 0),
    errors=[fails(DimError, "^transpose: .*2", (2, 3), 0, 2)],
)
row("t", np.transpose, REAL, case((2, 3)), case((3,)), errors=[fails(ShapeError, "^t: ", (2, 3, 4))])
row("T", np.transpose, REAL, case((2, 3)), case((2, 3, 4)))
row(
    "expand_shape",
    lambda x, shape: np.broadcast_to(x, shape),
    REAL,
    case((2, 1), shape=(4, 2, 3)),
    case((), shape=(2,)),
    errors=[fails(ShapeError, "expand", (2, 3), shape=(2, 4))],
)
row("squeeze_all", np.squeeze, REAL, case((1, 3, 1)), case((2, 3)))
row("squeeze_dim", np.squeeze, REAL, case((1, 3, 1), -1), case((1, 3), 0))
row("squeeze_dims", lambda x, dims: np.squeeze(x, dims), REAL, case((1, 3, 1), dims=(0, 2)))
row(
    "unsqueeze",
    np.expand_dims,
    REAL,
    case((2, 3), 1),
    case((2, 3), -1),
    case((), 0),
    errors=[fails(DimError, "^unsqueeze: ", (2, 3), 4)],
)
row(
    "slice",
    lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * dim + (slice(start, end, step),)],
    REAL,
    case((5, 3), 0, 1, 5, 2),
    case((2, 4), 1, -2, None, 1),
    case((2, 4), 1, 3, 2, 1),
)
row(
    "select",
    lambda x, dim, index: np.take(x, index, dim),
    REAL,
    case((2, 3), 1, 2),
    case((2, 3), 0, -1),
    errors=[fails(DimError, "^select: ", (2, 3), 0, 5)],
)
row("diagonal", np.diagonal, REAL, case((3, 4)), case((2, 3, 3), 1, 1, 2), case((3, 3), -1))
row("unfold", unfold, REAL, case((7,), 0, 3, 2), case((2, 5), 1, 2, 1))
row("as_strided_from", strided, REAL, case((2, 3), size=(2, 2), stride=(1, 2), offset=1), unlike=MEMORY)
row("split_size", equal_pieces, REAL, case((5, 2), 2), case((2, 3), 2, 1))
row(
    "split_with_sizes",
    pieces,
    REAL,
    case((5, 2), split_sizes=(2, 3)),
    case((2, 3), split_sizes=(1, 2), dim=1),
    errors=[fails((ShapeError, nbgrad.RangeError), "^split_with_sizes: ", (5, 2), split_sizes=(2, 2))],
)
row("unsafe_split", equal_pieces, REAL, case((5, 2), 2), case((2, 3), 2, 1))
row("unbind", lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)), REAL, case((2, 3)), case((2, 3), 1))

# ---- their transposes ------------------------------------------------------------------------------------------------

row(
    "slice_backward",
    lambda x, shape, dim, start, end, step: zeros_with(
        x, shape, lambda out, x: out[(slice(None),) * dim + (slice(start, end, step),)].__iadd__(x)
    ),
    REAL,
    case((2, 3), shape=(5, 3), dim=0, start=1, end=5, step=2),
)
row(
    "select_backward",
    lambda x, shape, dim, index: zeros_with(x, shape, lambda out, x: np.moveaxis(out, dim, 0)[index].__iadd__(x)),
    REAL,
    case((2,), shape=(2, 3), dim=1, index=2),
)
row(
    "diagonal_backward",
    lambda x, shape, offset, dim1, dim2: zeros_with(
        x, shape, lambda out, x: np.lib.stride_tricks.as_strided(out, x.shape, (out.strides[0] + out.strides[1],)).__iadd__(x)
    ),
    REAL,
    case((3,), shape=(3, 4), offset=0, dim1=0, dim2=1),
)
row("unfold_backward", unfold_backward, REAL, case((3, 3), shape=(7,), dimension=0, size=3, step=2))
through("as_strided_backward", "as_strided_from")
through("as_strided_within", "as_strided_from")
through("clone_like", "as_strided_from")
row("reshape_copy", np.reshape, REAL, case((2, 3), shape=(3, 2)))
row("contiguous_copy", np.copy, REAL, case((2, 3)), case(()))
row("to_device", lambda x, device: x, REAL, case((2, 3), device=nbgrad.device("cpu")))
row("to_dtype", lambda x, dtype: x, REAL, case((2, 3), dtype=nbgrad.float64))

# ---- spellings -------------------------------------------------------------------------------------------------------

for _name in ("view_as", "reshape_as"):
    row(_name, lambda x, other: x.reshape(other.shape), REAL, case((2, 3), (3, 2)), unlike=MEMORY)
row("expand_as", lambda x, other: np.broadcast_to(x, other.shape), REAL, case((2, 1), (2, 3)))
row("view", lambda x, *shape: x.reshape(shape), REAL, case((2, 3), 3, 2), unlike=MEMORY)
row(
    "expand", lambda x, *shape: np.broadcast_to(x, [n if s == -1 else s for s, n in zip(shape, x.shape)]), REAL, case((2, 1), -1, 3)
)
row("contiguous", lambda x: x, REAL, case((2, 3)))
row("reshape", lambda x, *shape: x.reshape(shape), REAL, case((2, 3), 3, -1), errors=[fails(ShapeError, "6", (2, 3), 4, 2)])
row("permute", lambda x, *dims: x.transpose(dims), REAL, case((2, 3, 4), 2, 0, 1))
row("broadcast_to", lambda x, shape: np.broadcast_to(x, shape), REAL, case((2, 1), shape=(2, 3)))
row("squeeze", lambda x, dim=None: np.squeeze(x, dim), REAL, case((1, 3, 1)), case((1, 3), 0), case((1, 3, 1), dim=(0, 2)))
row(
    "flatten",
    lambda x, start_dim=0, end_dim=-1: x.reshape(-1) if start_dim == 0 else x.reshape(x.shape[0], -1),
    REAL,
    case((2, 3, 2)),
    case((2, 3, 2), 1),
)
row("ravel", np.ravel, REAL, case((2, 3)), case(()))
row("unflatten", lambda x, dim, sizes: x.reshape(2, 3), REAL, case((6,), 0, sizes=(2, -1)))
row(
    "narrow",
    lambda x, dim, start, length: np.take(x, range(start, start + length), dim),
    REAL,
    case((2, 5), 1, 1, 3),
    errors=[fails(ShapeError, "^narrow: ", (2, 5), 1, 3, 3)],
)
row(
    "as_strided",
    lambda x, size, stride, storage_offset=0: strided(x, size, stride, storage_offset),
    REAL,
    case((2, 3), size=(2, 2), stride=(1, 2)),
    case((2, 3), size=(2,), stride=(2,), storage_offset=1),
    unlike=MEMORY,
    errors=[fails(ShapeError, "^as_strided: ", (2, 3), size=(4,), stride=(2,))],
)
row("split", equal_pieces, REAL, case((5, 2), 2), case((2, 3), 2, dim=1))
for _name in ("chunk", "unsafe_chunk"):
    row(_name, lambda x, chunks, dim=0: equal_pieces(x, -(-x.shape[dim] // chunks), dim), REAL, case((5, 2), 2), case((2, 7), 3, 1))
row("tensor_split", lambda x, parts, dim=0: tuple(np.array_split(x, parts, dim)), REAL, case((5, 2), 3), case((2, 7), 3, 1))
for _name in ("adjoint", "mH"):
    row(
        _name,
        lambda x: np.conj(np.swapaxes(x, -1, -2)),
        REAL,
        case((2, 3)),
        case((2, 2, 3)),
        errors=[fails(ShapeError, "mH|mT|adjoint", (3,))],
    )
row("mT", lambda x: np.swapaxes(x, -1, -2), REAL, case((2, 3)), case((2, 2, 3)), errors=[fails(ShapeError, "mT", (3,))])
row("movedim", np.moveaxis, REAL, case((2, 3, 4), 0, 2), case((2, 3, 4), source=(0, 1), destination=(1, 2)))
row("iterate", lambda x: tuple(x), REAL, case((2, 3)))

# ---- joining and rearranging -----------------------------------------------------------------------------------------

row(
    "cat",
    lambda tensors, dim=0: np.concatenate(tensors, dim),
    REAL,
    case([(2, 3), (1, 3)]),
    case([(2, 3), (2, 1), (2, 2)], dim=1),
    errors=[fails(ShapeError, "^cat: ", [(2, 3), (2, 2)])],
)
row(
    "stack",
    lambda tensors, dim=0: np.stack(tensors, dim),
    REAL,
    case([(2, 3), (2, 3)]),
    case([(2,), (2,)], dim=-1),
    errors=[fails(ShapeError, "^stack: ", [(2, 3), (2, 2)])],
)
for _name, _function in (("hstack", np.hstack), ("dstack", np.dstack), ("vstack", np.vstack)):
    row(_name, _function, REAL, case([(2, 3), (2, 3)]), case([(3,), (3,)]))
row("flip_dims", lambda x, dims: np.flip(x, dims), REAL, case((2, 3), dims=(0,)), case((2, 3), dims=(0, 1)))
row("flip", lambda x, *dims: np.flip(x, dims), REAL, case((2, 3), 1))
row("fliplr", np.fliplr, REAL, case((2, 3)))
row("flipud", np.flipud, REAL, case((2, 3)))
row("roll", lambda x, shifts, dims=None: np.roll(x, shifts, dims), REAL, case((2, 3), 2), case((2, 3), shifts=(1, -1), dims=(0, 1)))
row("repeat_sizes", lambda x, repeats: np.tile(x, repeats), REAL, case((2, 3), repeats=(2, 1, 2)))
row("repeat", lambda x, *repeats: np.tile(x, repeats), REAL, case((2, 3), 2, 2))
row("tile", lambda x, *dims: np.tile(x, dims), REAL, case((2, 3), 2, 1, 2))
row("tril", np.tril, REAL, case((3, 4)), case((2, 3, 3), -1))
row("triu", np.triu, REAL, case((3, 4)), case((2, 3, 3), 1))
