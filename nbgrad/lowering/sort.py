"""Orders: NumPy's sorts, which are as fast as sorts get."""
from __future__ import annotations

import numpy as np

from ..dtypes import int64
from ..errors import DTypeError, RangeError
from ..layout import layout_of
from ..ops.shapes import wrap
from ..rules import lowering
from ..storage import wrap_array
from ..tensor import Tensor, new_tensor
from .reduce import arranged


def rows_of(op: str, x: Tensor, dim: int) -> tuple[np.ndarray, int]:
    """The elements as an array with the dimension last, and that dimension.

    Raises:
        DTypeError: complex numbers have no order.
    """
    if x.layout.dtype.is_complex:
        raise DTypeError(f"{op}: complex numbers have no order, got {x.layout.dtype}.")
    dim = wrap(op, dim, x.layout.ndim)
    x, = arranged((x,))
    layout = x.layout
    first = x.offset // layout.dtype.itemsize
    array = x.storage.array[first:first + layout.numel].reshape(layout.shape or (1,))
    return np.moveaxis(array, dim, -1), dim


def indices_tensor(indices: np.ndarray, dim: int, x: Tensor) -> Tensor:
    """The order found, as a tensor with the dimension back in its place."""
    array = np.ascontiguousarray(np.moveaxis(indices, -1, dim), np.int64)
    shape = array.shape if x.layout.ndim else ()
    return new_tensor(wrap_array(array.reshape(-1)), layout_of(int64, shape, None, x.layout.device))


def ordered(rows: np.ndarray, descending: bool) -> np.ndarray:
    """A stable order of the last axis; NaN counts as the greatest number, as in torch."""
    if not descending:
        return np.argsort(rows, axis=-1, kind="stable")
    # Stable the other way round: equal elements, reversed twice, keep their order.
    last = rows.shape[-1] - 1
    return last - np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., ::-1]


@lowering("argsort", style="run")
def _argsort(op, tensors, attributes):
    x, = tensors
    rows, dim = rows_of("argsort", x, attributes["dim"])
    return indices_tensor(ordered(rows, attributes["descending"]), dim, x)


@lowering("top_indices", style="run")
def _top_indices(op, tensors, attributes):
    x, = tensors
    rows, dim = rows_of("topk", x, attributes["dim"])
    k, size = attributes["k"], rows.shape[-1]
    if not 0 <= k <= size:
        raise RangeError(f"topk: k = {k}, expected 0 to {size}, the size of dimension {dim}.")
    largest = attributes["largest"]
    if k * 8 < size:
        pivot = size - k if largest else max(k - 1, 0)
        parts = np.argpartition(rows, min(pivot, size - 1), axis=-1)
        chosen = np.sort(parts[..., size - k:] if largest else parts[..., :k], axis=-1)
        order = ordered(np.take_along_axis(rows, chosen, -1), largest)
        return indices_tensor(np.take_along_axis(chosen, order, -1), dim, x)
    return indices_tensor(ordered(rows, largest)[..., :k], dim, x)


