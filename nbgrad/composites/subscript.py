"""``x[...]`` and ``x[...] = value``.

NOTE [Subscript]: an index is read from left to right. Ints, slices, None and ``...`` make a view; index tensors
(lists, arrays, masks) are noted with the dimension they meet and applied to that view afterwards. Where they meet
adjacent dimensions, their shape takes the place of those; else it comes first. A mask of n dimensions stands for n
index tensors, True and False for a dimension of size 1 or 0. These are torch's rules; NumPy's differ where an int
stands among index tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import bool_, int64, uint8
from ..base.errors import ArgumentError, DimError, DTypeError, ShapeError, SubscriptError
from ..base.grad_mode import capture_of_thread, mode, special, traces
from ..base.user_stack import warn_user
from ..graph.edges import requires_grad
from ..lowering.index_checks import array_of
from ..lowering.index_forms import points_shape, positions_tensor
from ..lowering.index_writers import scalar_values
from ..lowering.masks import positions_finder
from ..modes.traced import is_watched
from ..ops.core import OPS, composite
from ..ops.shapes import view_strides
from ..tensors.batch_levels import BATCHED
from ..tensors.layout import Layout, layout_of
from ..tensors.overlap import overlapping
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, new_tensor

__all__ = ["getitem", "setitem"]


# ---- reading an index ----------------------------------------------------------------------------------------------


def getitem(x, key):
    """``x[key]``: a view for ints, slices, None and ``...``; a copy for index tensors, lists and masks."""
    # The two commonest keys first.
    kind = type(key)
    if kind is slice:
        return SLICE(x, 0, key.start, key.stop, key.step)
    if kind is int:
        return SELECT(x, 0, key)
    if kind is tuple:
        view = plain_view(x, key)
        if view is not x:
            return view
        if 0 < len(key) <= x.layout.ndim:
            for part in key:
                if not is_points(x, part):
                    break
            else:
                return CALLS["index"](x, key)
    elif kind is Tensor and key.layout.dtype is bool_ and is_whole_mask(x.layout, key.layout):
        if not (x._needs_grad_ and mode.enabled):
            return CALLS["masked_select"](x, key)
        row = x if key.layout.ndim == 1 else CALLS["view_shape"](x, (x.layout.numel,))
        return CALLS["index"](row, (true_positions(key),))
    view, indices = (x, (key,)) if is_points(x, key) else place(x, key)
    if not indices:
        return CALLS["alias"](view) if view is x else view
    found = CALLS["index"](view, indices)
    if traces and (trace := capture_of_thread()) is not None and any(map(is_followed_place, parts_of(key))):
        trace.variables.selections.note(x, found)
    return found


def true_positions(mask: Tensor) -> Tensor:
    """Where a mask is true, seen as one row."""
    if mask.layout.memory is not None or traces and is_watched(mask):
        row = CALLS["reshape"](mask, (-1,)) if mask.layout.numel else mask
        return CALLS["select"](CALLS["nonzero_places"](row), 1, 0)
    find = positions_finder(mask.layout, True, True)
    return positions_tensor(np.flatnonzero(array_of(mask))) if find is None else find(mask)


def is_whole_mask(layout: Layout, mask: Layout) -> bool:
    """Whether a mask has a truth value for every element of a row-major tensor."""
    return (
        mask.shape == layout.shape
        and layout.contiguous
        and mask.contiguous
        and mask.ndim > 0
        and layout.memory is mask.memory
        and not (layout.special or mask.special or special)
    )


def is_points(x: Tensor, key: Any) -> bool:
    """Whether a key is one int64 index tensor of one dimension or more, for the first dimension as it lies."""
    if not isinstance(key, Tensor):
        return False
    layout = key.layout
    own = x.layout
    return layout.dtype is int64 and layout.ndim > 0 and not layout.special and own.ndim > 0 and layout.memory is own.memory


def plain_view(x: Tensor, key: tuple) -> Tensor:
    """The view of a tuple of ints and slices; ``x`` itself where there is more to it."""
    view, dim = x, 0
    for item in key:
        kind = type(item)
        if kind is int:
            view = SELECT(view, dim, item)
        elif kind is slice:
            if item.start is not None or item.stop is not None or item.step is not None:
                view = SLICE(view, dim, item.start, item.stop, item.step)
            dim += 1
        else:
            return x
    return view if dim <= view.layout.ndim else x


def SLICE(x, dim, start, end, step):
    """The view of a slice; replaced by the operation's own call when it is installed."""
    call = globals()["SLICE"] = CALLS["slice"]
    return call(x, dim, start, end, step)


def SELECT(x, dim, index):
    """The view of an int; replaced by the operation's own call when it is installed."""
    call = globals()["SELECT"] = CALLS["select"]
    return call(x, dim, index)


def place(x: Tensor, key: Any) -> tuple[Tensor, tuple]:
    """The view that a key's basic parts make, and the index tensor that meets each of its dimensions (None: none).

    Raises:
        DimError: too many indices, or one out of range. ArgumentError, DTypeError: something that is no index.
    """
    items, consumed, dots, ndim = [], 0, 0, x.layout.ndim
    parts = parts_of(key)
    follows = bool(traces) and selects_by_tensors(parts)
    for part in parts:
        item = part if follows and isinstance(part, Tensor) else as_item(part)
        items.append(item)
        consumed += dimensions_of(item)
        dots += item is Ellipsis
    if consumed > ndim:
        raise DimError(f"index: {consumed} indices for {ndim} dimensions.")
    if dots > 1:
        raise DimError("index: '...' may occur once.")
    dim, indices = 0, {}
    for item in items:
        if item is Ellipsis:
            dim += ndim - consumed
        elif item is None:
            x = CALLS["unsqueeze"](x, dim)
            dim += 1
        elif type(item) is slice:
            if len(items) == 1 or not (item.start is item.stop is item.step is None):
                x = CALLS["slice"](x, dim, item.start, item.stop, item.step)
            dim += 1
        elif type(item) is int:
            x = CALLS["select"](x, dim, item)
        elif type(item) is bool:
            x = CALLS["unsqueeze"](x, dim)
            indices[dim] = positions_tensor(np.zeros(int(item), np.int64))
            dim += 1
        else:
            x, found = index_tensors(item, x, dim)
            for index in found:
                indices[dim] = index
                dim += 1
    return x, tuple([beside(x, indices.get(d)) for d in range(max(indices) + 1)]) if indices else ()


def beside(x: Tensor, index: Tensor | None) -> Tensor | None:
    """An index or a mask, on the GPU of the tensor that it is for if the CPU has it."""
    if index is None or x.layout.memory is None or index.layout.memory is not None:
        return index
    there: Tensor = CALLS["to_device"](index, x.layout.device)
    return there


def parts_of(key: Any) -> tuple:
    """The parts of a key: the items of a tuple, or of a list that holds more than numbers; else the key itself.

    Lists as tuples are torch's rule, which NumPy has given up: ``x[[[0, 1], [1, 0]]]`` is ``x[[0, 1], [1, 0]]``.
    """
    if isinstance(key, tuple):
        return key
    if not isinstance(key, list) or len(key) >= 32:
        return (key,)
    if not any(part is None or part is Ellipsis or isinstance(part, INDEX_PARTS) for part in key):
        return (key,)
    warn_user(
        "index: a list that holds more than numbers is read as a tuple, unlike in NumPy. Hint: x[tuple(key)], or "
        "x[nbgrad.tensor(key)] for one index tensor."
    )
    return tuple(key)


INDEX_PARTS = (Tensor, slice, list, tuple, range)


def as_item(item: Any):
    """One part of a key: None, ``...``, an int, a bool, a slice of ints, or an index tensor."""
    kind = type(item)
    if kind is int or item is None or item is Ellipsis or kind is bool:
        return item
    if isinstance(item, slice):
        if item.start is item.stop is item.step is None:
            return item
        return slice(*(None if end is None else as_int(end) for end in (item.start, item.stop, item.step)))
    if isinstance(item, Tensor):
        return scalar_item(item) if not item.layout.ndim and item.layout.special is not BATCHED else item
    if isinstance(item, np.ndarray) and not item.ndim:
        item = item[()]
    if isinstance(item, (np.bool_, np.integer)):
        return item.item()
    if isinstance(item, (list, tuple, range, np.ndarray)):
        return array_index(item)
    return as_int(item)


def is_followed_place(part: Any) -> bool:
    """Whether a part of a key is an integer that a capture of a loop's body follows, where every trip may have another one."""
    if not isinstance(part, Tensor) or part.layout.ndim or part.layout.dtype.numpy.kind not in "iu" or is_mask(part):
        return False
    trace = capture_of_thread()
    return trace is not None and trace.of_body and is_watched(part)


def selects_by_tensors(parts: tuple) -> bool:
    """Whether all tensors in a key are integers, some of which a body follows: they choose as an int does, but give a copy.

    NOTE [Places that are followed]: such a copy stands for a view. Writes to it have to be put back (``x[i] += 1`` does so), and it
    is read before ``x`` is written to: the capture refuses anything else.
    """
    if not any(map(is_followed_place, parts)):
        return False
    plain = all(part is None or part is Ellipsis or isinstance(part, (slice, int, np.integer, Tensor)) for part in parts)
    tensors = [part for part in parts if isinstance(part, Tensor)]
    return plain and not any(isinstance(part, (bool, np.bool_)) for part in parts) and all(not x.layout.ndim for x in tensors)


def as_int(value) -> int:
    """An int, or what has ``__index__``.

    Raises:
        SubscriptError: anything else.
    """
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise SubscriptError(
            f"index: {type(value).__name__} is no index; expected ints, slices, None, '...', or tensors, arrays and "
            "lists of ints or bools."
        ) from None


def scalar_item(x: Tensor):
    """A 0-d index: an int, or a truth value."""
    value = array_of(x)[()].item()
    if is_mask(x):
        return bool(value)
    if not isinstance(value, (int, bool)):
        raise DimError(f"index: index tensors must be of ints or bools, got {x.layout.dtype.name}.")
    return value


def array_index(value) -> Tensor:
    """A list or an array as an index tensor."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        value = [array_of(v) if isinstance(v, Tensor) else v for v in value]
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"index: a {type(value).__name__} that is no array of ints: {error}.") from None
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind == "b":
        return new_tensor(wrap_array(np.ascontiguousarray(array).reshape(-1).copy()), layout_of(bool_, array.shape, None, CPU))
    if array.dtype.kind not in "iu":
        raise DimError(f"index: a {type(value).__name__} of {array.dtype} is no index; expected ints or bools.")
    return positions_tensor(array.copy())


def dimensions_of(item) -> int:
    """How many dimensions of the tensor a part of a key uses up."""
    if item is None or item is Ellipsis or type(item) is bool:
        return 0
    if isinstance(item, Tensor) and is_mask(item):
        return item.layout.ndim
    return 1


def is_mask(x: Tensor) -> bool:
    """Whether an index tensor selects by truth values."""
    return x.layout.dtype in (bool_, uint8)


def index_tensors(item: Tensor, x: Tensor, dim: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The int64 indices that an index tensor stands for: itself, or where a mask is true.

    Returns:
        ``x`` and one index for each dimension that ``item`` meets from ``dim`` on; where strides allow, the dimensions
        under a mask are made one first, which then has one index.

    Raises:
        DimError: a mask of another shape than what it meets, or an index of floats.
    """
    if not is_mask(item):
        if item.layout.dtype.differentiable:
            raise DimError(f"index: index tensors must be of ints or bools, got {item.layout.dtype.name}.")
        return x, (item,)
    check_mask(item, x, dim)
    ndim, shape = item.layout.ndim, x.layout.shape
    if ndim > 1:
        flat = (*shape[:dim], item.layout.numel, *shape[dim + ndim :])
        if view_strides(shape, x.layout.strides, flat) is not None:
            return CALLS["view_shape"](x, flat), (true_positions(item),)
    return x, mask_indices(item, x, dim)


def mask_indices(mask: Tensor, x: Tensor, dim: int) -> tuple[Tensor, ...]:
    """Where a mask is true: an index for each dimension that it meets from ``dim`` on."""
    check_mask(mask, x, dim)
    if mask.layout.memory is not None or traces and is_watched(mask):
        return CALLS["unbind"](CALLS["nonzero_places"](mask), 1)
    find = positions_finder(mask.layout, True)
    if find is None:
        return tuple(map(positions_tensor, np.nonzero(array_of(mask))))
    return find(mask) if mask.layout.ndim > 1 else (find(mask),)


def check_mask(mask: Tensor, x: Tensor, dim: int) -> None:
    """Refuse a mask whose shape is not that of the dimensions it selects from."""
    if mask.layout.dtype is uint8:
        warn_user("indexing with uint8 masks is deprecated. Hint: mask.to(nbgrad.bool).")
    met = x.layout.shape[dim : dim + mask.layout.ndim]
    if mask.layout.shape != met:
        shape = list(mask.layout.shape)
        raise DimError(f"index: a mask of shape {shape} meets dimensions of sizes {list(met)} at dimension {dim}.")


# ---- writing -------------------------------------------------------------------------------------------------------


def setitem(x, key, value):
    """``x[key] = value``: a recorded in-place write of a number or of a tensor that broadcasts."""
    if traces and isinstance(value, Tensor) and (trace := capture_of_thread()) is not None:
        trace.variables.selections.note_put_back(x, value)
    if (
        isinstance(key, Tensor)
        and key.layout.dtype is bool_
        and key.layout.ndim
        and not isinstance(value, (Tensor, np.ndarray, list, tuple))
    ):
        fill_mask(x, key, value)
        return
    if key is Ellipsis and isinstance(value, Tensor) and value.layout.shape == x.layout.shape:
        if not (mode.enabled and (requires_grad(x) or requires_grad(value))):  # recorded, it is a write to a view
            CALLS["copy_"](x, value)
            return
    view, indices = written_place(x, key)
    value = as_value(x, value)
    if not indices:
        view = CALLS["alias"](view) if view is x else view
        if isinstance(value, Tensor):
            value = trimmed(value, view.layout.shape)
            if value.layout.shape != view.layout.shape and overlapping(view, value):
                value = CALLS["clone"](value)  # one row of the place, to all its rows
            CALLS["copy_"](view, value)
        else:
            CALLS["fill_"](view, value)
        return
    if isinstance(value, Tensor):
        value = trimmed(value, result_shape(view, indices))
    else:
        value = scalar_values(OPS["index_write"], view, value)
    if value.layout.dtype is not view.layout.dtype:
        if value.layout.dtype.is_complex and view.layout.dtype is not bool_:
            raise DTypeError(f"index: complex values cannot be written into a {view.layout.dtype.name} tensor. Hint: value.real.")
        value = CALLS["to_dtype"](value, view.layout.dtype)
    CALLS["index_write_"](view, value, indices, False)


def written_place(x: Tensor, key: Any) -> tuple[Tensor, tuple]:
    """The result of ``place``, found at once for the commonest keys."""
    if is_points(x, key):
        return x, (key,)
    view = plain_view(x, key if type(key) is tuple else (key,))
    return (view, ()) if view is not x else place(x, key)


def fill_mask(x: Tensor, mask: Tensor, value) -> None:
    """``x[mask] = number`` without finding the positions."""
    shape, ndim = mask.layout.shape, mask.layout.ndim
    if shape != x.layout.shape[:ndim]:
        raise DimError(f"index: a mask of shape {list(shape)} for a tensor of shape {list(x.layout.shape)}.")
    if ndim < x.layout.ndim:
        mask = CALLS["reshape"](mask, shape + (1,) * (x.layout.ndim - ndim))
    CALLS["masked_fill_"](x, beside(x, mask), value)


def as_value(x: Tensor, value):
    """The value to write, as a number or a tensor."""
    if isinstance(value, Tensor) or type(value) in (int, float, bool, complex):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (np.ndarray, list, tuple)):
        from ..creation.from_data import tensor

        return tensor(value, dtype=None if isinstance(value, np.ndarray) else x.layout.dtype, device=x.layout.device)
    raise ArgumentError(f"index: cannot write a {type(value).__name__}; expected a number, a tensor or an array.")


def trimmed(value: Tensor, shape: tuple) -> Tensor:
    """``value`` without dimensions of size 1 in front that the place has not.

    Raises:
        ShapeError: it does not broadcast to the place.
    """
    own = value.layout.shape
    if own == shape:
        return value
    extra = len(own) - len(shape)
    if extra > 0 and all(size == 1 for size in own[:extra]):
        value = CALLS["reshape"](value, own[extra:])
        own = own[extra:]
    if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(reversed(own), reversed(shape))):
        raise ShapeError(f"index: a value of shape {list(value.layout.shape)} does not broadcast to {list(shape)}.")
    return value


def result_shape(view: Tensor, indices: tuple) -> tuple:
    """The shape of ``index``."""
    return points_shape(view.layout.shape, indices)


composite("getitem", getitem, function=False, aliases=("__getitem__",), doc=getitem.__doc__)
composite("setitem", setitem, function=False, aliases=("__setitem__",), doc=setitem.__doc__)
