"""Shape arithmetic of views: pure functions of a layout (anything with ``shape``, ``strides``, ``numel``)."""
from __future__ import annotations

from ..errors import DimError, RangeError, ShapeError

__all__ = ["viewed", "permuted", "inverse_permutation", "transposed", "expanded", "sliced", "selected", "infer_shape",
           "wrap", "view_strides"]


def wrap(op: str, dim: int, ndim: int) -> int:
    """``dim`` counted from the front."""
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise DimError(f"{op}: dim {dim} is out of range for {ndim} dimensions; expected {-limit} to {limit - 1}.")
    return dim + limit if dim < 0 else dim


def infer_shape(op: str, shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """``shape`` with its one -1 replaced.

    Raises:
        ShapeError: the sizes do not give ``numel`` elements.
    """
    shape = tuple(int(s) for s in shape)
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


def view_strides(shape, strides, new_shape):
    """Strides of ``new_shape`` over the same memory, or None where the elements are not reachable by strides."""
    if 0 in new_shape:
        return contiguous(new_shape)
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
    left, step = (runs[0] if runs else (1, 1))
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


def contiguous(shape) -> tuple[int, ...]:
    """Row-major strides."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size or 1
    return tuple(reversed(strides))


def viewed(x, shape):
    """The layout of ``view``."""
    shape = infer_shape("view", shape, x.numel)
    strides = contiguous(shape) if x.contiguous else view_strides(x.shape, x.strides, shape)
    if strides is None:
        raise ShapeError(f"view: shape {list(shape)} cannot be laid over strides {list(x.strides)} of {list(x.shape)} without a copy. "
                         "Hint: reshape copies where it must.")
    return shape, strides, 0


def permuted(x, dims):
    """The layout of ``permute``."""
    ndim = len(x.shape)
    order = tuple(wrap("permute", d, ndim) for d in dims)
    if sorted(order) != list(range(ndim)):
        raise RangeError(f"permute: {list(dims)} is no permutation of {ndim} dimensions.") if len(dims) == ndim else ShapeError(
            f"permute: {len(dims)} dims given for {ndim} dimensions.")
    return tuple(x.shape[d] for d in order), tuple(x.strides[d] for d in order), 0


def inverse_permutation(dims) -> tuple[int, ...]:
    """The permutation that undoes ``dims``."""
    ndim = len(dims)
    result = [0] * ndim
    for k, d in enumerate(dims):
        result[d % ndim] = k
    return tuple(result)


def transposed(x, dim0, dim1):
    """The layout of ``transpose``."""
    ndim = len(x.shape)
    a, b = wrap("transpose", dim0, ndim), wrap("transpose", dim1, ndim)
    shape, strides = list(x.shape), list(x.strides)
    if ndim:
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
    return tuple(shape), tuple(strides), 0


def expanded(x, shape):
    """The layout of ``expand``; -1 keeps a size."""
    lead = len(shape) - len(x.shape)
    if lead < 0:
        raise ShapeError(f"expand: {list(shape)} has fewer dimensions than {list(x.shape)}.")
    sizes, strides = [], []
    for d, size in enumerate(shape):
        old = x.shape[d - lead] if d >= lead else None
        if size == -1 and old is not None:
            size = old
        if size < 0 or (old is not None and old not in (1, size)):
            raise ShapeError(f"expand: {list(x.shape)} does not expand to {list(shape)}: size {old} at dimension {d} must be 1 "
                             f"or {size}.")
        sizes.append(size)
        strides.append(x.strides[d - lead] if old is not None and old == size else 0)
    return tuple(sizes), tuple(strides), 0


def sliced(x, dim, start, end, step):
    """The layout of a slice of one dimension; negative steps are refused, as torch does."""
    if not x.shape:
        raise DimError("slice: a 0-d tensor cannot be sliced.")
    dim = wrap("slice", dim, len(x.shape))
    if step is not None and step <= 0:
        raise RangeError(f"slice: step must be positive, got {step}. Hint: flip() reverses.")
    size = x.shape[dim]
    start, stop, step = slice(start, end, step).indices(size)
    length = max(0, -(-(stop - start) // step))
    shape = (*x.shape[:dim], length, *x.shape[dim + 1:])
    strides = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1:])
    return shape, strides, start * x.strides[dim] if length or start < size else 0


def selected(x, dim, index):
    """The layout of ``select``."""
    if not x.shape:
        raise DimError("select: a 0-d tensor has no elements to select. Hint: x.item().")
    dim = wrap("select", dim, len(x.shape))
    size = x.shape[dim]
    if not -size <= index < size:
        raise DimError(f"select: index {index} is out of range for dimension {dim} of size {size}.")
    index = index + size if index < 0 else index
    return (*x.shape[:dim], *x.shape[dim + 1:]), (*x.strides[:dim], *x.strides[dim + 1:]), index * x.strides[dim]
