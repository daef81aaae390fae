"""Views: the same memory under another layout, each with the movement that undoes it; and copies that rearrange.

A formula gets the operand's Layout and returns ``(shape, strides, offset)`` in elements, or a list of those. Functions
that take sizes or dimensions in several spellings are composites that call these with tuples.
"""

from __future__ import annotations

from typing import Callable

from ..base.dtypes import DType
from ..base.errors import ArgumentError, ShapeError
from . import shapes
from .core import composite, general, movement
from .spellings import as_list, as_several, chosen, or_one

# ---- the movements -------------------------------------------------------------------------------------------------

INTERNAL = {"function": False}

movement("alias", lambda x: (x.shape, x.strides, 0), lambda g: g, **INTERNAL, doc="The tensor itself, as a view.")
movement(
    "primal",
    lambda x: (x.shape, x.strides, 0),
    lambda g: g,
    **INTERNAL,
    method=False,
    node="ViewBackward0",
    doc="The tensor itself, as a view that gets none of the tangents that it has later.",
    severs=True,
)
movement(
    "view_shape",
    shapes.viewed,
    lambda g, x_shape: g.reshape(x_shape),
    **INTERNAL,
    public="view",
    node="ViewBackward0",
    doc="The same elements in the same order under another shape.",
)
movement(
    "reshape_alias",
    shapes.viewed,
    lambda g, x_shape: g.reshape(x_shape),
    **INTERNAL,
    doc="What reshape gives where the operand is not row-major and yet needs no copy.",
)
movement(
    "permute_dims",
    shapes.permuted,
    lambda g, dims: g.permute_dims(shapes.inverse_permutation(dims)),
    **INTERNAL,
    public="permute",
    node="PermuteBackward0",
    doc="Dimensions in another order.",
)
movement(
    "transpose",
    shapes.transposed,
    lambda g, dim0, dim1: g.transpose(dim0, dim1),
    aliases=("swapaxes", "swapdims"),
    numpy=("swapaxes",),
    inplace="view",
    doc="Two dimensions exchanged.",
)
movement(
    "t",
    shapes.matrix_transposed,
    lambda g: g.t(),
    node="TBackward0",
    inplace="view",
    doc="The transpose of a matrix; fewer dimensions stay as they are.",
)
movement(
    "T",
    lambda x: (x.shape[::-1], x.strides[::-1], 0),
    lambda g: g.T,
    function=False,
    node="PermuteBackward0",
    doc="All dimensions in reverse order.",
    is_property=True,
)
movement(
    "expand_shape",
    shapes.expanded,
    lambda g, x_shape: g.sum_to(x_shape),
    **INTERNAL,
    public="expand",
    node="ExpandBackward0",
    doc="Dimensions of size 1 repeated, without memory.",
)
movement(
    "squeeze_all",
    lambda x: shapes.squeezed(x, None),
    lambda g, x_shape: g.view_shape(x_shape),
    **INTERNAL,
    node="SqueezeBackward0",
    doc="Without dimensions of size 1.",
)
movement(
    "squeeze_dim",
    lambda x, dim: shapes.squeezed(x, (dim,)),
    lambda g, x_shape: g.view_shape(x_shape),
    **INTERNAL,
    node="SqueezeBackward1",
    doc="Without one dimension, if its size is 1.",
)
movement(
    "squeeze_dims",
    shapes.squeezed,
    lambda g, x_shape: g.view_shape(x_shape),
    **INTERNAL,
    node="SqueezeBackward2",
    doc="Without those of some dimensions whose size is 1.",
)
movement(
    "unsqueeze", shapes.unsqueezed, lambda g, dim: g.squeeze_dim(dim), inplace="view", doc="With a dimension of size 1 at ``dim``."
)
movement(
    "slice",
    lambda x, dim=0, start=None, end=None, step=1: shapes.sliced(x, dim, start, end, step),
    lambda g, x_shape, dim, start, end, step: g.slice_backward(x_shape, dim, start, end, step),
    **INTERNAL,
    forms={"step": or_one},
    doc="Every step-th element of a range of one dimension.",
)
movement(
    "select",
    shapes.selected,
    lambda g, x_shape, dim, index: g.select_backward(x_shape, dim, index),
    doc="One element of one dimension, which goes.",
)
movement(
    "diagonal",
    lambda x, offset=0, dim1=0, dim2=1: shapes.diagonal_of(x, offset, dim1, dim2),
    lambda g, x_shape, offset, dim1, dim2: g.diagonal_backward(x_shape, offset, dim1, dim2),
    doc="The diagonals of two dimensions, as a last one.",
)
movement(
    "unfold",
    shapes.unfolded,
    lambda g, x_shape, dimension, size, step: g.unfold_backward(x_shape, dimension, size, step),
    doc="All windows of ``size`` elements, ``step`` apart, as a last dimension.",
)
movement(
    "as_strided_from",
    lambda x, size, stride, offset: (tuple(size), tuple(stride), offset),
    lambda g, x_layout, size, stride, offset: g.as_strided_backward(x_layout, size, stride, offset),
    **INTERNAL,
    node="AsStridedBackward0",
    saved_as={"storage_offset": "offset"},
    unbounded=True,
    doc="Any shape and strides, from so many elements after the tensor's first one.",
)
movement(
    "split_size",
    lambda x, size, dim=0: shapes.split_of("split", x, shapes.chunk_sizes("split", x, size, dim), dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    **INTERNAL,
    public="split",
    node="SplitBackward0",
    saved_as={"split_size": "size"},
    doc="Pieces of one size.",
)
movement(
    "split_with_sizes",
    lambda x, split_sizes, dim=0: shapes.split_of("split_with_sizes", x, split_sizes, dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    doc="Pieces of the given sizes.",
)
movement(
    "unsafe_split",
    lambda x, split_size, dim=0: shapes.split_of("unsafe_split", x, shapes.chunk_sizes("unsafe_split", x, split_size, dim), dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    doc="Pieces that autograd takes for tensors of their own, each with its own count of writes: only for use where the input, "
    "which learns of none of them, is not used again.",
    untracked=True,
)
movement(
    "unsafe_split_with_sizes",
    lambda x, split_sizes, dim=0: shapes.split_of("unsafe_split_with_sizes", x, split_sizes, dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    doc="Pieces of the given sizes that autograd takes for tensors of their own: see unsafe_split.",
    untracked=True,
)
movement(
    "unbind",
    lambda x, dim=0: shapes.unbound(x, dim),
    lambda g, dim: g.stack(dim),
    multiple=True,
    doc="All elements of one dimension, as a tuple.",
)

# ---- their transposes: a cotangent placed among zeros --------------------------------------------------------------

general(
    "slice_backward",
    lambda x, shape, dim, start, end, step: x,
    {"x": lambda g, dim, start, end, step: g.slice(dim, start, end, step)},
    **INTERNAL,
    part=shapes.sliced,
    doc="The transpose of slice.",
)
general(
    "select_backward",
    lambda x, shape, dim, index: x,
    {"x": lambda g, dim, index: g.select(dim, index)},
    **INTERNAL,
    part=shapes.selected,
    doc="The transpose of select.",
)
general(
    "diagonal_backward",
    lambda x, shape, offset, dim1, dim2: x,
    {"x": lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2)},
    **INTERNAL,
    part=shapes.diagonal_of,
    doc="The transpose of diagonal.",
)
general(
    "unfold_backward",
    lambda x, shape, dimension, size, step: x,
    {"x": lambda g, dimension, size, step: g.unfold(dimension, size, step)},
    **INTERNAL,
    part=shapes.unfolded,
    doc="The transpose of unfold: overlapping windows add up.",
    total=True,
)
general(
    "as_strided_backward",
    lambda x, layout, size, stride, offset: x,
    {"x": lambda g, layout, size, stride, offset: g.as_strided_within(layout, size, stride, offset)},
    **INTERNAL,
    batched="looped",
    doc="The transpose of as_strided: what overlaps adds up, in the geometry of the operand's memory.",
    total=True,
)
general(
    "as_strided_within",
    lambda x, layout, size, stride, offset: x,
    {"x": lambda g, layout, size, stride, offset: g.as_strided_backward(layout, size, stride, offset)},
    **INTERNAL,
    batched="looped",
    doc="What as_strided would show of a tensor with that layout, copied: zeros where the tensor has no element.",
    total=True,
)
general(
    "reshape_copy",
    lambda x, shape: x,
    {"x": lambda g, x_shape: g.reshape(x_shape)},
    **INTERNAL,
    node="UnsafeViewBackward0",
    doc="A row-major copy under another shape.",
)

# ---- spellings -----------------------------------------------------------------------------------------------------


def view(x, *shape, size=None, dtype=None):
    """The same memory under another shape, ``x.view(2, -1)`` or ``x.view((2, -1))``, or as another dtype. Never copies.

    Raises:
        ShapeError: the elements cannot be reached by strides. Hint: reshape.
    """
    if dtype is not None or size is not None:
        shape = (size if dtype is None else dtype,)
    if len(shape) == 1 and isinstance(shape[0], DType):
        return x._apply("view_dtype", (x, shape[0]))
    return x.view_shape(shapes.sizes(shape))


def reshape(x, *each, shape=None):
    """The same elements under another shape: a view where strides allow, else a copy."""
    shape = shapes.sizes(each if shape is None else as_several(shape))
    layout = x.layout
    if layout.contiguous:
        return x.view_shape(shape)
    shape = shapes.infer_shape("reshape", shape, layout.numel)
    if shapes.view_strides(layout.shape, layout.strides, shape) is None:
        return x.reshape_copy(shape)
    return x.reshape_alias(shape)


def no_tensor(op: str, other) -> ArgumentError:
    """The error for an ``other`` without a shape."""
    return ArgumentError(f"{op}: other must be a Tensor, got {type(other).__name__}.")


def view_as(x, other):
    """``x.view(other.shape)``."""
    try:
        shape = other.shape
    except AttributeError:
        raise no_tensor("view_as", other) from None
    return x.view_shape(shape)


def reshape_as(x, other):
    """``x.reshape(other.shape)``."""
    try:
        shape = other.shape
    except AttributeError:
        raise no_tensor("reshape_as", other) from None
    return reshape(x, shape)


def permute(x, *each, dims=None):
    """Dimensions in another order; ``x.permute(1, 0)`` or ``x.permute((1, 0))``."""
    return x.permute_dims(shapes.sizes(each if dims is None else as_several(dims)))


def movedim(x, source, destination):
    """Dimensions moved to other places; the rest keep their order."""
    return x.permute_dims(shapes.moved(x.ndim, source, destination))


def expand(x, *each, size=None):
    """Dimensions of size 1 repeated without memory; -1 keeps a size."""
    return x.expand_shape(shapes.sizes(each if size is None else as_several(size)))


def expand_as(x, other):
    """``x.expand(other.shape)``."""
    try:
        shape = other.shape
    except AttributeError:
        raise no_tensor("expand_as", other) from None
    return x.expand_shape(shape)


def broadcast_to(x, shape):
    """``x.expand(shape)``."""
    try:
        shape = tuple(shape)
    except TypeError:
        raise ArgumentError(f"broadcast_to: shape must be a tuple of ints, got {type(shape).__name__}.") from None
    return x.expand_shape(shape)


def squeeze(x, dim=None, axis=None):
    """Without dimensions of size 1: all, one, or some of them."""
    if axis is not None:
        dim = chosen("squeeze", "dim", dim, "axis", axis)
    if dim is None:
        return x.squeeze_all()
    return x.squeeze_dims(tuple(dim)) if isinstance(dim, (tuple, list)) else x.squeeze_dim(dim)


def flatten(x, start_dim=0, end_dim=-1):
    """A range of dimensions as one; the tensor itself if that changes nothing."""
    shape = shapes.flattened(x.shape, start_dim, end_dim)
    return x if shape == x.shape else reshape(x, shape)


def ravel(x):
    """One dimension of neighbours in memory, copied only where it must be."""
    return reshape(x.contiguous(), (-1,) if x.numel() else (0,))


def unflatten(x, dim, sizes):
    """One dimension as several; one of their sizes may be -1."""
    try:
        return x.view_shape(shapes.unflattened(x.shape, dim, sizes))
    except TypeError:
        if isinstance(sizes, (tuple, list)) and all(hasattr(size, "__index__") for size in sizes):
            raise
        raise ArgumentError(f"unflatten: sizes must be a tuple of ints, got {sizes!r}.") from None


def narrow(x, dim, start, length):
    """``length`` elements of a dimension from ``start`` on.

    Raises:
        DimError, ShapeError: they are not there. ArgumentError: no ints.
    """
    dim = shapes.wrap("narrow", dim, x.ndim)
    size = x.shape[dim] if x.ndim else 0
    try:
        start, length = shapes.as_int(start), shapes.as_int(length)
    except TypeError:
        raise ArgumentError(f"narrow: start and length must be ints, got {start!r} and {length!r}.") from None
    if not -size <= start <= size:
        raise shapes.DimError(f"narrow: start {start} is out of range for dimension {dim} of size {size}.")
    start += size if start < 0 else 0
    if length < 0 or start + length > size:
        raise ShapeError(f"narrow: {length} elements from {start} on do not fit dimension {dim} of size {size}.")
    return x.slice(dim, start, start + length, 1)


def as_strided(x, size, stride, storage_offset=None):
    """Any shape and strides over the memory; ``storage_offset`` from the storage's start, None for the tensor's own.

    Raises:
        ShapeError: it would reach outside the storage.
    """
    try:
        size, stride, own = tuple(map(shapes.as_int, size)), tuple(map(shapes.as_int, stride)), x.storage_offset()
    except TypeError:
        raise ArgumentError(f"as_strided: size and stride must be tuples of ints, got {size!r} and {stride!r}.") from None
    first = own if storage_offset is None else storage_offset
    if len(size) != len(stride) or any(s < 0 for s in size) or any(s < 0 for s in stride) or first < 0:
        raise ShapeError(f"as_strided: size {list(size)}, stride {list(stride)} and offset {first} must be of one length and >= 0.")
    last = first + sum((s - 1) * t for s, t in zip(size, stride))
    available = x._storage_.array.nbytes // x.itemsize
    if 0 not in size and last >= available:
        raise ShapeError(
            f"as_strided: size {list(size)} with stride {list(stride)} from {first} on reaches element {last} of a "
            f"storage of {available}."
        )
    return x.as_strided_from(size, stride, first - own)


def split(x, split_size_or_sections, dim=0):
    """Pieces along a dimension: of one size (the last may be smaller), or of the given sizes."""
    if isinstance(split_size_or_sections, (tuple, list)):
        return x.split_with_sizes(tuple(split_size_or_sections), dim)
    return x.split_size(split_size_or_sections, dim)


def piece_size(x, chunks, dim) -> int:
    """The size of ``chunks`` pieces."""
    try:
        if chunks <= 0:
            raise ShapeError(f"chunk: the number of chunks must be positive, got {chunks}.")
    except TypeError:
        raise ArgumentError(f"chunk: chunks must be an int, got {type(chunks).__name__}.") from None
    extent = x.shape[shapes.wrap("chunk", dim, x.ndim)] if x.ndim else 0
    return -(-extent // chunks)


def chunk(x, chunks, dim=0):
    """At most ``chunks`` pieces of one size along a dimension; the last may be smaller."""
    size = piece_size(x, chunks, dim)
    return x.split_size(size, dim) if size or not x.ndim else x.split_with_sizes((0,) * chunks, dim)


def unsafe_chunk(x, chunks, dim=0):
    """``chunk`` whose pieces autograd takes for tensors of their own."""
    return x.unsafe_split(piece_size(x, chunks, dim), dim)


def tensor_split(x, indices_or_sections, dim=0):
    """So many pieces of nearly equal size, or the pieces between the given indices."""
    if not x.ndim:
        raise shapes.DimError("tensor_split: a 0-d tensor cannot be split.")
    bounds = shapes.tensor_split_bounds(x.shape[shapes.wrap("tensor_split", dim, x.ndim)], indices_or_sections)
    return tuple(x.slice(dim, start, end, 1) for start, end in bounds)


def split_evenly(name: str, x, indices_or_sections, least: int, dim: int):
    """``tensor_split`` along a dimension, into equal pieces if their number is given.

    Raises:
        DimError: fewer than ``least`` dimensions. ShapeError: the pieces would not be equal.
    """
    if x.ndim < least:
        raise shapes.DimError(f"{name}: expected at least {least} dimensions, got {x.ndim}.")
    if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or x.shape[dim] % indices_or_sections):
        raise ShapeError(
            f"{name}: dimension {dim} of size {x.shape[dim]} cannot be split into {indices_or_sections} equal pieces. "
            "Hint: tensor_split."
        )
    return tensor_split(x, indices_or_sections, dim)


def hsplit(x, indices_or_sections):
    """Pieces side by side: along the second dimension, of vectors the first; equal ones, or those between the given indices."""
    return split_evenly("hsplit", x, indices_or_sections, 1, 0 if x.ndim == 1 else 1)


def vsplit(x, indices_or_sections):
    """Pieces below one another: along the first dimension; equal ones, or those between the given indices."""
    return split_evenly("vsplit", x, indices_or_sections, 2, 0)


def dsplit(x, indices_or_sections):
    """Pieces behind one another: along the third dimension; equal ones, or those between the given indices."""
    return split_evenly("dsplit", x, indices_or_sections, 3, 2)


def contiguous(x):
    """The tensor itself if it is row-major, else a row-major copy."""
    return x if x.layout.contiguous else x.contiguous_copy()


def matrix_transpose(x):
    """The last two dimensions exchanged; of no dimensions the tensor itself."""
    if x.ndim < 2:
        if not x.ndim:
            return x.alias()
        raise ShapeError(f"mT: expected a matrix or a batch of them, got {x.ndim} dimensions.")
    return x.transpose(-2, -1)


def adjoint(x):
    """The last two dimensions exchanged, and the elements conjugated."""
    transposed = matrix_transpose(x)
    return transposed.conj() if x.is_complex() else transposed


def iterate(x):
    """Iterate over the first dimension, as ``unbind`` does.

    Raises:
        ArgumentError: a 0-d tensor has none.
    """
    if not x.shape:
        raise ArgumentError("iter: a 0-d tensor cannot be iterated over. Hint: x.item().")
    return iter(x.unbind(0))


function: Callable
for function in (view_as, reshape_as, expand_as, view, expand, contiguous):
    composite(function.__name__, function, function=False, doc=function.__doc__)
composite("squeeze", squeeze, inplace="view", doc=str(squeeze.__doc__))
for function in (reshape, permute):
    composite(function.__name__, function, doc=str(function.__doc__))
composite(
    "split",
    split,
    doc=str(split.__doc__),
    arguments={"tensor": "x", "split_size": "split_size_or_sections", "split_sizes": "split_size_or_sections"},
)
composite("as_strided", as_strided, spelling="memory", doc=str(as_strided.__doc__))
# Of these the arithmetic of shapes takes longer than a look-up.
for function in (flatten, ravel, unflatten, narrow, adjoint, chunk, unsafe_chunk):
    composite(function.__name__, function, spelling=True, doc=str(function.__doc__))
for function in (tensor_split, hsplit, vsplit, dsplit):
    composite(
        function.__name__,
        function,
        spelling=True,
        doc=str(function.__doc__),
        arguments=dict.fromkeys(("indices", "sections", "tensor_indices_or_sections"), "indices_or_sections"),
    )
composite("broadcast_to", broadcast_to, spelling=True, arguments={"size": "shape"}, doc=str(broadcast_to.__doc__))
composite("movedim", movedim, aliases=("moveaxis",), spelling=True, doc=movedim.__doc__)
composite("iterate", iterate, aliases=("__iter__",), function=False, doc=iterate.__doc__)
for name, function in (("mT", matrix_transpose), ("mH", adjoint)):
    composite(name, function, function=False, spelling=True, is_property=True, doc=function.__doc__)


# ---- copies --------------------------------------------------------------------------------------------------------


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
