"""Shape arithmetic of views: pure functions of a layout (anything with ``shape``, ``strides``, ``numel``).

Each gives the ``(shape, strides, offset)`` of a view, in elements, or a list of those.
"""

from __future__ import annotations

import sys
from operator import index
from typing import Any

from ..base.errors import ArgumentError, DimError, RangeError, ShapeError
from ..base.open_sizes import OPEN, OpenSize

__all__ = [
    "sizes",
    "wrap",
    "infer_shape",
    "view_strides",
    "contiguous",
    "viewed",
    "permuted",
    "inverse_permutation",
    "moved",
    "transposed",
    "matrix_transposed",
    "expanded",
    "squeezed",
    "unsqueezed",
    "sliced",
    "selected",
    "diagonal_of",
    "unfolded",
    "split_of",
    "chunk_sizes",
    "tensor_split_bounds",
    "unbound",
    "unflattened",
    "flattened",
]


def sizes(args: tuple) -> tuple:
    """Sizes or dimensions spelled ``f(2, 3)``, ``f((2, 3))`` or ``f([2, 3])``.

    Raises:
        ArgumentError: neither an int nor several things.
    """
    if len(args) == 1 and not hasattr(args[0], "__index__"):
        try:
            return tuple(args[0])
        except TypeError:
            caller = sys._getframe(1).f_code.co_name  # the operation, which would have to pass its name in every call
            raise ArgumentError(f"{caller}: expected ints, or a tuple of ints, got {type(args[0]).__name__}.") from None
    return args


def as_int(value) -> Any:
    """A dimension, a size or a number of elements; a truth value is none of them: ``sum(True)`` meant something else.

    Raises:
        TypeError: no int.
    """
    if value is True or value is False:
        raise TypeError
    return value if type(value) is OpenSize else index(value)


def wrap(op: str, dim: int, ndim: int) -> int:
    """``dim`` counted from the front; a 0-d tensor has the one dim that -1 and 0 name.

    Raises:
        DimError: out of range. ArgumentError: no int.
    """
    limit = ndim or 1
    try:
        if -limit <= (at := as_int(dim)) < limit:
            return at + limit if at < 0 else at
    except TypeError:
        raise ArgumentError(f"{op}: dim must be an int, got {type(dim).__name__}.") from None
    raise DimError(f"{op}: dim {dim} is out of range for {ndim} dimensions; expected {-limit} to {limit - 1}.")


def infer_shape(op: str, shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """``shape`` with its one -1 replaced.

    Raises:
        ShapeError: the sizes do not give ``numel`` elements.
    """
    shape = tuple(map(as_int, shape))
    known = 1
    for size in shape:
        if size != -1:
            known *= size
    unknown = shape.count(-1)
    if unknown > 1 or any(s < -1 for s in shape):
        raise ShapeError(f"{op}: {list(shape)} is no shape: sizes must be >= 0, and at most one may be -1.")
    if unknown:
        if known == 0 or numel % known:
            raise ShapeError(f"{op}: shape {list(shape)} does not fit {numel} elements.")
        return tuple(numel // known if s == -1 else s for s in shape)
    if known != numel:
        raise ShapeError(f"{op}: shape {list(shape)} has {known} elements, the tensor has {numel}.")
    return shape


def contiguous(shape) -> tuple[int, ...]:
    """Row-major strides."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size or 1
    return tuple(reversed(strides))


def view_strides(shape, strides, new_shape):
    """Strides of ``new_shape`` over the same memory, or None where the elements are not reachable by strides."""
    if 0 in new_shape:
        return tuple(strides) if tuple(shape) == tuple(new_shape) else contiguous(new_shape)
    # Runs of old dimensions that are contiguous among themselves, innermost first: (elements, stride of the innermost).
    runs: list[list[int]] = []
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 1:
            continue
        if runs and stride == runs[-1][1] * runs[-1][0]:
            runs[-1][0] *= size
        else:
            runs.append([size, stride])
    result, position = [], 0
    left, step = runs[0] if runs else (1, 1)
    for size in reversed(new_shape):
        if size == 1:
            result.append(step)
            continue
        if left == 1:
            position += 1
            if position >= len(runs):
                return None
            left, step = runs[position]
        if left % size:
            return None
        result.append(step)
        left //= size
        step *= size
    return tuple(reversed(result))


def viewed(x, shape):
    """The layout of ``view``."""
    shape = infer_shape("view", shape, x.numel)
    strides = contiguous(shape) if x.contiguous else view_strides(x.shape, x.strides, shape)
    if strides is None:
        raise ShapeError(
            f"view: shape {list(shape)} cannot be laid over strides {list(x.strides)} of {list(x.shape)} without a "
            "copy. Hint: reshape copies where it must."
        )
    return shape, strides, 0


def permuted(x, dims):
    """The layout of ``permute``."""
    ndim = len(x.shape)
    if len(dims) != ndim:
        raise ShapeError(f"permute: {len(dims)} dims given for {ndim} dimensions.")
    order = tuple(wrap("permute", d, ndim) for d in dims)
    if len(set(order)) != ndim:
        raise ShapeError(f"permute: {list(dims)} names a dimension twice.")
    return tuple(x.shape[d] for d in order), tuple(x.strides[d] for d in order), 0


def inverse_permutation(dims) -> tuple[int, ...]:
    """The permutation that undoes ``dims``."""
    ndim = len(dims)
    result = [0] * ndim
    for k, d in enumerate(dims):
        result[d % ndim] = k
    return tuple(result)


def moved(ndim: int, source, destination) -> tuple[int, ...]:
    """The permutation of ``movedim``."""
    source = (source,) if hasattr(source, "__index__") else tuple(source)
    destination = (destination,) if hasattr(destination, "__index__") else tuple(destination)
    if len(source) != len(destination):
        raise ShapeError(f"movedim: {len(source)} source and {len(destination)} destination dims; expected as many of each.")
    source = [wrap("movedim", d, ndim) for d in source]
    destination = [wrap("movedim", d, ndim) for d in destination]
    if len(set(source)) != len(source) or len(set(destination)) != len(destination):
        raise ShapeError(f"movedim: {source} to {destination} names a dimension twice.")
    if not ndim:
        return ()
    order = [-1] * ndim
    for s, d in zip(source, destination):
        order[d] = s
    rest = iter(d for d in range(ndim) if d not in source)
    return tuple(next(rest) if d < 0 else d for d in order)


def transposed(x, dim0, dim1):
    """The layout of ``transpose``."""
    ndim = len(x.shape)
    a, b = wrap("transpose", dim0, ndim), wrap("transpose", dim1, ndim)
    shape, strides = list(x.shape), list(x.strides)
    if ndim:
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
    return tuple(shape), tuple(strides), 0


def matrix_transposed(x):
    """The layout of ``t``."""
    if len(x.shape) > 2:
        raise ShapeError(f"t: expected at most 2 dimensions, got {len(x.shape)}. Hint: transpose(dim0, dim1) or mT.")
    return tuple(reversed(x.shape)), tuple(reversed(x.strides)), 0


def expanded(x, shape):
    """The layout of ``expand``; -1 keeps a size."""
    lead = len(shape) - len(x.shape)
    if lead < 0:
        raise ShapeError(f"expand: {list(shape)} has fewer dimensions than {list(x.shape)}.")
    result, strides = [0] * len(shape), [0] * len(shape)
    for d in reversed(range(len(shape))):
        size, old = as_int(shape[d]), x.shape[d - lead] if d >= lead else None
        if size == -1 and old is not None:
            size = old
        if size < 0 or (old is not None and old not in (1, size)):
            raise ShapeError(
                f"expand: {list(x.shape)} does not expand to {list(shape)}: size {old} at dimension {d} must be 1 or {size}."
            )
        result[d] = size
        if old == size:
            strides[d] = x.strides[d - lead]
        elif old is None and size == 1 and x.shape:
            strides[d] = result[d + 1] * strides[d + 1]
    return tuple(result), tuple(strides), 0


def squeezed(x, dims):
    """The layout without those dimensions among ``dims`` (None: all) that have size 1."""
    ndim = len(x.shape)
    named = range(ndim) if dims is None else [wrap("squeeze", d, ndim) for d in dims]
    if len(set(named)) != len(named):
        raise ShapeError(f"squeeze: {list(dims)} names a dimension twice.")
    kept = [d for d in range(ndim) if x.shape[d] != 1 or d not in named]
    return tuple(x.shape[d] for d in kept), tuple(x.strides[d] for d in kept), 0


def unsqueezed(x, dim):
    """The layout with a dimension of size 1 at ``dim``."""
    ndim = len(x.shape)
    dim = wrap("unsqueeze", dim, ndim + 1)
    stride = x.shape[dim] * x.strides[dim] if dim < ndim else 1
    return (*x.shape[:dim], 1, *x.shape[dim:]), (*x.strides[:dim], stride, *x.strides[dim:]), 0


def sliced(x, dim, start, end, step):
    """The layout of a slice of one dimension; negative steps are refused, as torch does."""
    if not x.shape:
        raise DimError("slice: a 0-d tensor cannot be sliced.")
    if dim:
        dim = wrap("slice", dim, len(x.shape))
    if step is not None and step <= 0:
        raise RangeError(f"slice: step must be positive, got {step}. Hint: flip() reverses.")
    shape, strides = x.shape, x.strides
    stride = strides[dim]
    if start is None and step is None and type(end) is int and 0 <= end <= shape[0] and len(shape) == 1:
        return (end,), strides, 0  # the first ones of a row
    start, stop, step = (open_bounds if OPEN else slice_bounds)(start, end, step, shape[dim])
    length = -(-(stop - start) // step) if stop > start else 0
    if len(shape) == 1:
        return (length,), (stride * step,), start * stride
    return ((*shape[:dim], length, *shape[dim + 1 :]), (*strides[:dim], stride * step, *strides[dim + 1 :]), start * stride)


def slice_bounds(start, end, step, size):
    """``(start, stop, step)`` of a slice of so many elements, by Python's rules."""
    return slice(start, end, step).indices(size)


def open_bounds(start, end, step, size):
    """The same for a positive step, of numbers that may be open: ``slice`` takes none."""

    def bound(at, usual):
        if at is None:
            return usual
        at = as_int(at)
        at = at + size if at < 0 else at
        return 0 if at < 0 else size if at > size else at

    return bound(start, 0), bound(end, size), 1 if step is None else as_int(step)


def selected(x, dim, index):
    """The layout of ``select``."""
    if not x.shape:
        raise DimError("select: no dimension is left to select from: too many indices. Hint: x.item() reads a 0-d tensor.")
    dim = wrap("select", dim, len(x.shape))
    size = x.shape[dim]
    try:
        index = as_int(index)
    except TypeError:
        raise ArgumentError(f"select: index must be an int, got {type(index).__name__}.") from None
    if not -size <= index < size:
        raise DimError(f"select: index {index} is out of range for dimension {dim} of size {size}.")
    index = index + size if index < 0 else index
    return (*x.shape[:dim], *x.shape[dim + 1 :]), (*x.strides[:dim], *x.strides[dim + 1 :]), index * x.strides[dim]


def diagonal_of(x, offset, dim1, dim2):
    """The layout of ``diagonal``: the two dimensions go, the diagonal comes last."""
    ndim = len(x.shape)
    a, b = wrap("diagonal", dim1, ndim), wrap("diagonal", dim2, ndim)
    if a == b:
        raise ShapeError(f"diagonal: dim1 and dim2 are both {a}; expected two dimensions.")
    rows, columns = x.shape[a] - max(-offset, 0), x.shape[b] - max(offset, 0)
    length = max(min(rows, columns), 0)
    first = (offset * x.strides[b] if offset >= 0 else -offset * x.strides[a]) if length else 0
    rest = [d for d in range(ndim) if d not in (a, b)]
    return ((*(x.shape[d] for d in rest), length), (*(x.strides[d] for d in rest), x.strides[a] + x.strides[b]), first)


def unfolded(x, dimension, size, step):
    """The layout of ``unfold``: windows of ``size`` elements, which come last, every ``step`` elements of a
    dimension."""
    dim = wrap("unfold", dimension, len(x.shape))
    extent, stride = (x.shape[dim], x.strides[dim]) if x.shape else (1, 1)
    if not 0 <= size <= extent or step <= 0:
        raise ShapeError(
            f"unfold: windows of size {size} with step {step} in a dimension of size {extent}; expected a size of at "
            "most that and a positive step."
        )
    if not x.shape:
        return (size,), (1,), 0
    count = (extent - size) // step + 1
    return ((*x.shape[:dim], count, *x.shape[dim + 1 :], size), (*x.strides[:dim], stride * step, *x.strides[dim + 1 :], stride), 0)


def split_of(op: str, x, lengths, dim):
    """The layouts of consecutive pieces of a dimension."""
    if not x.shape:
        raise DimError(f"{op}: a 0-d tensor cannot be split.")
    dim = wrap(op, dim, len(x.shape))
    if any(length < 0 for length in lengths) or sum(lengths) != x.shape[dim]:
        raise ShapeError(f"{op}: sizes {list(lengths)} do not sum to the size {x.shape[dim]} of dimension {dim}.")
    pieces, start = [], 0
    for length in lengths:
        pieces.append(((*x.shape[:dim], length, *x.shape[dim + 1 :]), x.strides, start * x.strides[dim]))
        start += length
    return pieces


def as_block(shape) -> tuple[int, int]:
    """The shape of a matrix; vectors are rows, and numbers matrices of one element.

    Raises:
        ShapeError: more dimensions.
    """
    if len(shape) > 2:
        raise ShapeError(f"block_diag: expected matrices, vectors or numbers, got {list(shape)}.")
    return (*(1,) * (2 - len(shape)), *shape)


def chunk_sizes(op: str, x, size, dim) -> list[int]:
    """Pieces of ``size``, the last one smaller."""
    if not x.shape:
        raise DimError(f"{op}: a 0-d tensor cannot be split.")
    extent = x.shape[wrap(op, dim, len(x.shape))]
    if size < 0 or (size == 0 and extent):
        raise ShapeError(f"{op}: pieces of size {size} do not cover a dimension of size {extent}.")
    if not extent:
        return [0]
    return [min(size, extent - start) for start in range(0, extent, size)]


def tensor_split_bounds(extent: int, sections) -> list[tuple[int, int | None]]:
    """The ``(start, end)`` of ``tensor_split``: so many sections of nearly equal size, or split at the given
    indices."""
    if getattr(sections, "ndim", 0):  # a tensor of indices
        sections = sections.tolist()
    if hasattr(sections, "__index__"):
        count = as_int(sections)
        if count <= 0:
            raise ShapeError(f"tensor_split: the number of sections must be positive, got {count}.")
        small, larger = divmod(extent, count)
        bounds = [k * small + min(k, larger) for k in range(count + 1)]
        return list(zip(bounds, bounds[1:]))
    try:
        cuts = [*map(as_int, sections)]
    except TypeError:
        raise ArgumentError(f"tensor_split: expected an int or a tuple of ints, got {sections!r}.") from None
    return list(zip([0, *cuts], [*cuts, None]))


def unbound(x, dim):
    """The layouts of ``unbind``."""
    if not x.shape:
        raise DimError("unbind: a 0-d tensor has no dimension to unbind.")
    dim = wrap("unbind", dim, len(x.shape))
    shape, strides = (*x.shape[:dim], *x.shape[dim + 1 :]), (*x.strides[:dim], *x.strides[dim + 1 :])
    return [(shape, strides, k * x.strides[dim]) for k in range(x.shape[dim])]


def flattened(shape, start_dim, end_dim) -> tuple[int, ...]:
    """The shape with a range of dimensions made one."""
    ndim = len(shape)
    start, end = wrap("flatten", start_dim, ndim), wrap("flatten", end_dim, ndim)
    if start > end:
        raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}.")
    if not ndim:
        return (1,)
    count = 1
    for size in shape[start : end + 1]:
        count *= size
    return (*shape[:start], count, *shape[end + 1 :])


def unflattened(shape, dim, lengths) -> tuple[int, ...]:
    """The shape with one dimension made several; one of the ``lengths`` may be -1."""
    dim = wrap("unflatten", dim, len(shape))
    if not shape:
        raise DimError("unflatten: x has no dimensions, expected at least one. Hint: x.reshape(sizes).")
    if not lengths:
        raise ShapeError("unflatten: sizes must not be empty.")
    return (*shape[:dim], *infer_shape("unflatten", tuple(lengths), shape[dim]), *shape[dim + 1 :])
