"""Functions of views that take sizes or dimensions in several spellings, and call the movements with tuples."""

from __future__ import annotations

from typing import Callable

from ..base.dtypes import DType
from ..base.errors import ArgumentError, ShapeError
from . import shapes
from .core import composite
from .spellings import as_several, chosen


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
