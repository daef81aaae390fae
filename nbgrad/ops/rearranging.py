"""Copies that rearrange, join or cut: ``cat`` and ``stack``, blocks, flips, shifts, repeats, triangles."""

from __future__ import annotations

from ..base.errors import ShapeError
from . import shapes
from .core import composite, general
from .movement import INTERNAL
from .spellings import as_list, as_several


def slices_of(g, shapes_of_parts, dim):
    """The parts of the cotangent of ``cat``. An operand of shape (0,) took part in any shape, and gets that back."""
    pieces, start = [], 0
    for shape in shapes_of_parts:
        length = 0 if shape == (0,) else shape[dim]
        piece = g.slice(dim, start, start + length, 1)
        pieces.append(piece.reshape(shape) if shape == (0,) else piece)
        start += length
    return pieces


def blocks_of(g, shapes_of_parts):
    """The parts of the cotangent of matrices along a diagonal."""
    pieces, row, column = [], 0, 0
    for shape in shapes_of_parts:
        height, width = shapes.as_block(shape)
        piece = g.slice(0, row, row + height, 1).slice(1, column, column + width, 1)
        pieces.append(piece if len(shape) == 2 else piece.reshape(shape))
        row, column = row + height, column + width
    return pieces


def cast(pieces, dtypes):
    """Cotangents in their operands' dtypes."""
    return [g if g.dtype is dtype else g.to_dtype(dtype) for g, dtype in zip(pieces, dtypes)]


general(
    "cat",
    lambda tensors, dim=0: tensors,
    {"tensors": lambda g, tensors_shapes, tensors_dtypes, dim: cast(slices_of(g, tensors_shapes, dim), tensors_dtypes)},
    operands=("tensors",),
    method=False,
    aliases=("concat", "concatenate"),
    doc="Tensors one after the other along a dimension.",
    variadic=True,
    total=True,
)
general(
    "stack",
    lambda tensors, dim=0: tensors,
    {"tensors": lambda g, tensors_dtypes, dim: cast([g.select(dim, k) for k in range(len(tensors_dtypes))], tensors_dtypes)},
    operands=("tensors",),
    method=False,
    doc="Tensors of one shape along a new dimension.",
    variadic=True,
    total=True,
)
general(
    "blocks",
    lambda tensors: tensors,
    {"tensors": lambda g, tensors_shapes, tensors_dtypes: cast(blocks_of(g, tensors_shapes), tensors_dtypes)},
    operands=("tensors",),
    method=False,
    **INTERNAL,
    public="block_diag",
    node="BlockDiagBackward0",
    doc="Matrices along the diagonal of one, zeros elsewhere.",
    variadic=True,
    total=True,
)
general(
    "zero_pad",
    lambda x, pad: x,
    {"x": lambda g, pad: g.zero_pad(negative(pad))},
    **INTERNAL,
    public="pad",
    node="ConstantPadNdBackward0",
    doc="Zeros before and after, in pairs from the last dimension on; negative numbers take elements away.",
)
general(
    "flip_dims",
    lambda x, dims: x,
    {"x": lambda g, dims: g.flip_dims(dims)},
    **INTERNAL,
    public="flip",
    node="FlipBackward0",
    doc="Dimensions in reverse, copied.",
)
general(
    "roll",
    lambda x, shifts, dims=None: x,
    {"x": lambda g, shifts, dims: g.roll(negative(shifts), dims)},
    forms={"shifts": as_list, "dims": as_list},
    batched="row",
    doc="Elements moved along dimensions; what leaves at one end comes back at the other.",
)
general(
    "repeat_sizes",
    lambda x, repeats: x,
    {
        "x": lambda g, x_shape, repeats: (
            g.reshape(repeated_shape(x_shape, repeats)).sum_to(repeated_shape(x_shape, (1,) * len(repeats))).reshape(x_shape)
        )
    },
    **INTERNAL,
    public="repeat",
    node="RepeatBackward0",
    doc="Copies of a tensor side by side.",
)
general(
    "tril",
    lambda x, diagonal=0: x,
    {"x": lambda g, diagonal: g.tril(diagonal)},
    inplace="result",
    doc="The lower triangle of matrices, zero above the diagonal.",
)
general(
    "triu",
    lambda x, diagonal=0: x,
    {"x": lambda g, diagonal: g.triu(diagonal)},
    inplace="result",
    doc="The upper triangle of matrices, zero below the diagonal.",
)


def negative(shifts):
    """The shifts that undo ``shifts``."""
    return tuple(-s for s in shifts) if isinstance(shifts, tuple) else -shifts


def repeated_shape(shape, repeats) -> tuple[int, ...]:
    """Repeats and sizes in turns: the shape in which repetition is expansion."""
    shape = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return tuple(size for pair in zip(repeats, shape) for size in pair)


def flip(x, *each, dims=None):
    """Dimensions in reverse order of their elements; copied."""
    return x.flip_dims(shapes.sizes(each if dims is None else as_several(dims)))


def fliplr(x):
    """The second dimension in reverse."""
    if x.ndim < 2:
        raise ShapeError(f"fliplr: expected at least 2 dimensions, got {x.ndim}.")
    return x.flip_dims((1,))


def flipud(x):
    """The first dimension in reverse."""
    if x.ndim < 1:
        raise ShapeError("flipud: expected at least 1 dimension, got 0.")
    return x.flip_dims((0,))


def repeat(x, *each, repeats=None):
    """``x`` copied so many times along every dimension; more repeats than dimensions add dimensions in front."""
    return x.repeat_sizes(shapes.sizes(each if repeats is None else as_several(repeats)))


def tile(x, *each, dims=None):
    """``repeat`` with missing repeats in front taken as 1."""
    dims = shapes.sizes(each if dims is None else as_several(dims))
    return x.repeat_sizes((1,) * (x.ndim - len(dims)) + tuple(dims))


composite("flip", flip, doc=flip.__doc__)
for function in (fliplr, flipud):
    composite(function.__name__, function, spelling=True, doc=function.__doc__)
composite("tile", tile, spelling=True, doc=tile.__doc__)
composite("repeat", repeat, function=False, doc=repeat.__doc__)
