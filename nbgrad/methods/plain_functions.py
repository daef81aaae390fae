"""Functions of the package that are no operations of the table: a few calls each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import INTEGER, DTypeLike, dtype_of, float64, get_default_dtype, int64
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import special
from ..composites.shapes import as_list
from ..creation.allocation import leaf
from ..creation.factories import empty_like
from ..creation.sequences import arange, python_number
from ..dispatch.out import write_out
from ..tensors.tensor import Tensor
from .tensor_info import require_tensor

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "column_stack", "detach", "fill", "range", "unravel_index"]


def reshaped(op: str, tensors: tuple, shape: Any) -> Any:
    """``shape(sizes)`` for one tensor, or for each of several."""
    made = tuple(
        CALLS["view_shape"](x, shape(x.layout.shape)) if shape(x.layout.shape) != x.layout.shape else x
        for x in (require_tensor(op, x) for x in as_list(tensors))
    )
    return made[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else made


def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensor, or a tuple of several, with at least one dimension: a view of a 0-d tensor, else the tensor itself.

    >>> import nbgrad
    >>> nbgrad.atleast_1d(nbgrad.tensor(2.0))
    tensor([2.])
    """
    return reshaped("atleast_1d", tensors, lambda shape: shape or (1,))


def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensor, or a tuple of several, with at least two dimensions: new ones of size 1 come in front.

    >>> import nbgrad
    >>> nbgrad.atleast_2d(nbgrad.ones(3)).shape
    nbgrad.Size([1, 3])
    """
    return reshaped("atleast_2d", tensors, lambda shape: (1,) * (2 - len(shape)) + shape)


def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensor, or a tuple of several, with at least three dimensions: a vector becomes ``(1, n, 1)``, a matrix ``(m, n, 1)``.

    >>> import nbgrad
    >>> nbgrad.atleast_3d(nbgrad.ones(3), nbgrad.ones(2, 3))[1].shape
    nbgrad.Size([2, 3, 1])
    """
    return reshaped("atleast_3d", tensors, lambda shape: (1, *shape, 1) if len(shape) == 1 else (*shape, *(1,) * (3 - len(shape))))


def column_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """The tensors beside each other as columns; a vector is one column.

    >>> import nbgrad
    >>> nbgrad.column_stack([nbgrad.tensor([1, 2]), nbgrad.tensor([[3, 4], [5, 6]])])
    tensor([[1, 3, 4],
            [2, 5, 6]])
    """
    columns = [x.reshape(-1, 1) if require_tensor("column_stack", x).layout.ndim <= 1 else x for x in tensors]
    if out is None:
        return CALLS["cat"](columns, 1)
    return write_out("column_stack", lambda: CALLS["cat"](columns, 1), out)


def detach(input: Tensor) -> Tensor:
    """The same memory and version without history: ``input.detach()``.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> nbgrad.detach(x)
    tensor([1., 1.])
    """
    return require_tensor("detach", input).detach()


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` with one value everywhere; no gradient flows into ``input``.

    >>> import nbgrad
    >>> nbgrad.fill(nbgrad.ones(2), 3)
    tensor([3., 3.])
    """
    x = require_tensor("fill", input)
    if x.layout.numel < 4096 or special or type(x) is not Tensor or x.layout.special or x._needs_grad_:
        return x.clone().fill_(value)  # of few elements the quicker way
    return empty_like(x).fill_(value)  # no history, so nothing of it is copied


def range(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, ...`` up to and with ``end``, of the default dtype: the old form of ``arange``.

    Raises:
        ArgumentError: no ``end``. RangeError: no such sequence: a step of 0 or away from ``end``, or infinite bounds.

    >>> import nbgrad
    >>> nbgrad.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if end is None:
        raise ArgumentError("range: end is missing. Hint: nbgrad.arange(end) counts from 0, without end.")
    numbers = [python_number("range", *each) for each in (("start", start), ("end", end), ("step", step))]
    first, last, by = numbers
    if any(isinstance(each, complex) or not math.isfinite(each) for each in numbers):
        raise RangeError(f"range: cannot count from {first} to {last} by {by}.")
    if by == 0 or (last - first) * by < 0:
        raise RangeError(f"range: step {by} does not lead from {first} to {last}.")
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype() if out is None else out.layout.dtype
    count = math.floor((last - first) / by) + 1
    if kind.category == INTEGER:
        first, by = int(first), int(by)
    made = (arange(count, dtype=int64 if kind.category == INTEGER else float64, device=device) * by + first).to(kind)
    return leaf("range", made, requires_grad, pin_memory) if out is None else write_out("range", lambda: made, out)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The position along each dimension of elements that are counted row by row: a tensor a dimension, of the shape of ``indices``.

    Args:
        indices: integers; negative ones count from the end.
        shape: sizes of the dimensions, or the size of one.

    Raises:
        DTypeError: no integers. ShapeError: a negative size. RangeError: an index is beyond the elements.

    >>> import nbgrad
    >>> nbgrad.unravel_index(nbgrad.tensor([4, -1]), (2, 3))
    (tensor([1, 1]), tensor([1, 2]))
    """
    left = require_tensor("unravel_index", indices)
    if left.layout.dtype.category != INTEGER:
        raise DTypeError(f"unravel_index: indices must be integers, got {left.layout.dtype}.")
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if any(size < 0 for size in sizes):
        raise ShapeError(f"unravel_index: sizes must be >= 0, got {list(sizes)}.")
    count = math.prod(sizes)
    if not left.is_meta and ((left >= count) | (left < -count)).any():
        raise RangeError(f"unravel_index: an index is beyond the {count} elements of {list(sizes)}.")
    found = []
    for size in reversed(sizes):
        step = max(size, 1)  # of nothing there is no index to divide
        found.append(left % step)
        left = left // step  # rounds down, so that negative indices wrap
    return tuple(reversed(found))
