"""Changes of a tensor's memory that autograd does not see: ``data``, ``set_``, ``resize_``; and ``release_memory``."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError, DeviceError, DTypeError, GradError, InplaceError, ShapeError
from ..base.grad_mode import dual_levels, mode, traces
from ..creation.allocation import empty_of, shape_of
from ..forward.tangents import below_level, fitted, hold, sees_tangent, tangent_of, visible_levels
from ..graph.edges import edge_of, is_leaf_edge, requires_grad
from ..graph.writes import count_write
from ..modes.inference import is_inference, mark_inference
from ..modes.overrides import converted
from ..modes.traced import note_alias, note_data, refuse_in_graph
from ..native.handle import release_blocks
from ..tensors.batch_levels import require_values
from ..tensors.layout import DispatchMark, Layout, contiguous_strides, layout_of, marked_layout
from ..tensors.memory_format import FORMATS, contiguous_format, order_of, preserve_format, strides_agree, strides_of
from ..tensors.storage import CPU, IN_INFERENCE_MODE, Exchanged, Storage, unwatched
from ..tensors.tensor import ASK, Tensor, native, put_layout
from ..tensors.untyped import UntypedStorage
from ..views import check_inplace, is_view

__all__ = ["get_data", "release_memory", "resize_", "resize_as_", "set_", "set_data"]


def get_data(x: Tensor) -> Tensor:
    """The same memory without history, with a version of its own: autograd does not notice writes to it.

    Nor does it of an inference tensor's, which may be written to through it, in inference mode and outside of it. A subclass's
    tensor gives one of that subclass; of a class that says what operations mean what it makes of ``detach``.
    """
    if isinstance(x.layout.special, DispatchMark):
        detached: Tensor = CALLS["detach"](x)
        return detached
    storage = unwatched(x._storage_)
    if storage.writable is IN_INFERENCE_MODE:
        storage.writable = True
    made: Tensor = native.tensor(x.layout.template, storage, x._offset_, False, None)
    if isinstance(x.layout.special, type):
        converted(made, x.layout.special)
    return note_alias(made) if traces else made


def set_data(x: Tensor, value: Tensor) -> None:
    """Exchange the contents, shape and dtype; version, history and gradient stay. Backward refuses other memory than was saved.

    Raises:
        ArgumentError: no Tensor. DTypeError: no gradients exist for its dtype, and ``x`` requires grad. ShapeError: another shape,
            and ``x`` was computed.
    """
    if not isinstance(value, Tensor):
        raise ArgumentError(f"data: expected a Tensor, got {type(value).__name__}.")
    if requires_grad(x) and not value.layout.dtype.differentiable:
        raise DTypeError(
            f"data: the tensor requires grad and cannot become {value.layout.dtype}; expected a floating or complex tensor."
        )
    require_shape_of_history("data", x, value)
    tangents = tangents_for(x, value)
    if not (traces and note_data(x, value)):
        require_values("data", value.layout)
    if not stays(x, value):
        exchange(x, value)
    put_layout(x, of_same_class(x, value.layout))
    for level, tangent in tangents.items():
        hold(x, level, below_level(level, fitted, tangent, x))


def require_shape_of_history(op: str, x: Tensor, value: Tensor) -> None:
    """Refuse another shape for a tensor that was computed: its gradients have the shape that it had.

    Raises:
        ShapeError: ``value`` has another.
    """
    if (
        value.layout.shape != x.layout.shape
        and requires_grad(x)
        and not is_leaf_edge(edge_of(x) if x._needs_grad_ is ASK else x._edge_)
    ):
        raise ShapeError(
            f"{op}: the tensor was computed with the shape {list(x.layout.shape)}, which its gradient has, and cannot "
            f"become {list(value.layout.shape)}. Hint: x.detach()."
        )


def tangents_for(x: Tensor, value: Tensor) -> dict[int, Tensor]:
    """The tangents that a dual tensor has and keeps on the memory of ``value``, by level, in its dtype.

    Raises:
        GradError: they do not fit ``value``, which has another shape or device, or a dtype without derivatives.
    """
    if not dual_levels:
        return {}
    own, new = x.layout, value.layout
    tangents = {level: t for level in visible_levels() if (t := tangent_of(x, level)) is not None}
    if tangents and not (new.shape == own.shape and new.device is own.device and new.dtype.differentiable):
        raise GradError(
            f"data: the tensor has a tangent, {own.dtype.name} {list(own.shape)} on {own.device}, and cannot become "
            f"{new.dtype.name} {list(new.shape)} on {new.device}. Hint: assign to x.detach()."
        )
    if new.dtype is own.dtype:
        return tangents
    return {level: below_level(level, CALLS["to_dtype"], t, new.dtype) for level, t in tangents.items()}


def require_no_tangent(op: str, x: Tensor) -> None:
    """Refuse to take a dual tensor to elements of which its tangent knows nothing.

    Raises:
        GradError: ``x`` has a tangent.
    """
    if dual_levels and sees_tangent(x):
        raise GradError(f"{op}: the tensor has a tangent, which other elements would not have. Hint: x.detach().")


def of_same_class(x: Tensor, layout: Layout) -> Layout:
    """A layout for ``x``, which has the mark of its subclass, whosever memory it is."""
    own = x.layout.special
    if isinstance(layout.special, type):
        layout = layout.unmarked()
    return marked_layout(layout, own) if isinstance(own, type) else layout


def require_own(op: str, value: Tensor) -> None:
    """Refuse to put a tensor on other memory where a graph is captured, which knows what lies in memory, or in a batch.

    Raises:
        GraphError, BatchingError: it is.
    """
    if traces:
        refuse_in_graph(f"{op}: puts a tensor on other memory", "copy_, under no_grad, writes to the memory that it has")
    require_values(op, value.layout)


# The storages that the tensor on this one had before, latest first, while somebody else holds them.
_former: WeakKeyDictionary[Storage, list[ref[Storage]]] = WeakKeyDictionary()
MOST_FORMER = 4


def exchange(x: Tensor, value: Tensor) -> None:
    """Put ``x`` on the memory of ``value``: on a storage that it had before, if this is its memory.

    Its views and what nodes keep watch that one for writes. Storages that nobody else holds are not remembered.
    """
    earlier = [old for each in _former.get(x._storage_, ()) if (old := each()) is not None] if _former else []
    for new in earlier:
        if new.array is value._storage_.array:
            break
    else:
        new = unwatched(value._storage_, Exchanged(x._storage_.version))
    left = ref(x._storage_)
    x._storage_, x._offset_ = new, value._offset_
    if earlier or left() is not None:
        _former[new] = [each for each in (left, *map(ref, earlier)) if each() is not None and each() is not new][:MOST_FORMER]


def stays(x: Tensor, value: Tensor) -> bool:
    """Whether ``value`` begins where ``x`` does: writes to ``x`` go on to be those that its views and detached aliases see.

    A view that is to show other elements leaves: its movements do not lead to them.
    """
    return (
        x._storage_.array is value._storage_.array
        and x._offset_ == value._offset_
        and x.layout.dtype is value.layout.dtype
        and (x.layout is value.layout or not is_view(x))
    )


def set_(x: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Let ``x`` stand on other memory; counts as a write to ``x``.

    Args:
        source: a tensor of the dtype of ``x``, or the ``untyped_storage()`` of one; None: no elements.
        storage_offset, size, stride: of what ``x`` shows of it, in elements; where they are not given those of the tensor, or
            all of the storage.

    Raises:
        InplaceError: ``x`` requires grad, and recording is on. GradError: it has a tangent. DTypeError: of another dtype.
        ArgumentError: no tensor. ShapeError: it would reach outside of the memory, or ``x`` was computed with another shape.
        DeviceError: of another device.

    >>> import nbgrad
    >>> nbgrad.zeros(2).set_(nbgrad.arange(6.0), 1, (2, 2), (2, 1))
    tensor([[1., 2.],
            [3., 4.]])
    """
    source = memory_of(x, source)
    if source.layout.dtype is not x.layout.dtype:
        raise DTypeError(
            f"set_: the source is {source.layout.dtype.name}, expected {x.layout.dtype.name}. Hint: source.to(x.dtype)."
        )
    require_own("set_", source)
    if source.layout.device is not x.layout.device:
        raise DeviceError(
            f"set_: the source is on {source.layout.device}, the tensor on {x.layout.device}; expected one device. "
            "Hint: source.to(x.device)."
        )
    if size is not None:
        source = part_of(source, storage_offset, size, stride)
    elif storage_offset or stride is not None:
        raise ArgumentError("set_: storage_offset and stride go with a size. Hint: set_(source, storage_offset, size, stride).")
    if mode.enabled and requires_grad(x):
        check_inplace("set_", x, True)
        raise InplaceError(
            "set_: the tensor has a history that would not belong to its new memory. Hint: x.detach(), or no_grad()."
        )
    require_shape_of_history("set_", x, source)
    require_no_tangent("set_", x)
    inferred = is_inference(x)
    if inferred:
        x._storage_.require_writable("set_")
    leave_base(x)
    x._storage_.tell_guard()
    if stays(x, source):
        x._storage_.version += 1
    else:
        x._storage_, x._offset_ = unwatched(source._storage_, x._storage_.version + 1), source._offset_
    put_layout(x, of_same_class(x, source.layout))
    return mark_inference(x) if inferred else x


def memory_of(x: Tensor, source: Any) -> Tensor:
    """The memory that ``set_`` was given, as a tensor.

    Raises:
        ArgumentError: it is none.
    """
    if isinstance(source, Tensor):
        return source
    if source is None:
        storage = empty_of(x.layout.like(None, (0,)))._storage_
    elif isinstance(source, UntypedStorage):
        storage = source.storage
    else:
        raise ArgumentError(f"set_: expected a Tensor, got {type(source).__name__}. Hint: nbgrad.asarray(array).")
    layout = x.layout.like(None, (storage.array.nbytes // x.layout.dtype.itemsize,))
    return native.tensor(layout.template, storage, 0, False, None)


def part_of(source: Tensor, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """A part of the memory of a tensor, by sizes and strides in elements.

    Raises:
        ShapeError: it would reach outside.
    """
    size = shape_of("set_", (size,))
    strides = contiguous_strides(size) if stride is None else stride
    try:
        return CALLS["as_strided"](native.alias(source), size, strides, storage_offset)
    except ShapeError as error:
        raise ShapeError(str(error).replace("as_strided", "set_", 1)) from None


def resize_(x: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Give ``x`` another shape, row by row from its first element on; counts as a write. One of that shape stays as it is.

    Elements keep their places in memory; where there is not enough of it the storage grows, for all tensors on it, by elements of
    no particular value. A view stays one of its base, of whose elements it shows others.

    Args:
        sizes: the shape; or ``size``, by name.
        memory_format: the order of the elements, if not row by row; not ``preserve_format``.

    Raises:
        GradError: ``x`` requires grad, outside of inference mode, or has a tangent. InplaceError: the memory is not nbgrad's own
            and would have to grow. ArgumentError: no memory format.

    >>> import nbgrad
    >>> nbgrad.arange(6.0).resize_(2, 2)
    tensor([[0., 1.],
            [2., 3.]])
    """
    if requires_grad(x) and not mode.inference:
        raise GradError("resize_: the tensor requires grad, and elements that come or go have no gradient. Hint: x.detach().")
    shape = shape_of("resize_", sizes if size is None else (size,))
    order = None if memory_format is None else order_of("resize_", memory_format, len(shape))
    if memory_format is not None and order is None:
        raise ArgumentError("resize_: preserve_format says nothing of a new shape. Hint: contiguous_format.")
    strides = None if order is None else strides_of(shape, order)
    if shape == x.layout.shape and (strides is None or strides_agree(x.layout, strides)):
        return x
    layout = layout_of(x.layout.dtype, shape, strides, x.layout.device, x.layout.conj, x.layout.neg)
    size, storage = layout.dtype.itemsize, x._storage_
    storage.require_writable("resize_")
    require_no_tangent("resize_", x)
    needed = x._offset_ + layout.numel * size
    if needed > storage.array.nbytes:
        grow(storage, needed)
    if is_view(x):
        moved: Tensor = CALLS["as_strided_"](x, shape, layout.strides)
        return moved
    count_write(storage)
    put_layout(x, marked_layout(layout, x.layout.special) if is_inference(x) else of_same_class(x, layout))
    return x


def leave_base(x: Tensor) -> None:
    """A view that gets other memory is none any more: no movement leads there. Its history, gradient and hooks stay.

    Raises:
        InplaceError: its memory was changed in place so that it has no gradient.
    """
    meta = x._meta_
    if meta is None or meta.base is None:
        return
    if x._needs_grad_ is ASK:
        edge = edge_of(x)
        x._edge_, x._needs_grad_ = edge, edge is not None
    meta.base = meta.chain = meta.creation = meta.version = meta.node = None


def grow(storage: Storage, nbytes: int) -> None:
    """Exchange the memory of a storage for more of it."""
    array = storage.array
    if storage.device is not CPU:
        from ..tensors.gpu import larger as larger_there

        storage.array = larger_there(storage, nbytes)
        return
    if not array.flags.owndata:
        raise InplaceError(
            f"resize_: {nbytes} bytes are needed, the tensor shares {array.nbytes} with a NumPy array. Hint: clone it first."
        )
    larger = np.empty(-(-nbytes // array.itemsize), array.dtype)
    larger[: array.size] = array
    storage.array = larger


def resize_as_(x: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give ``x`` the shape of ``the_template``: see ``resize_``. With ``memory_format=preserve_format`` its order of elements too.

    >>> nbgrad.zeros(4).resize_as_(nbgrad.zeros(2, 2)).shape
    nbgrad.Size([2, 2])
    """
    if not isinstance(the_template, Tensor):
        raise ArgumentError(f"resize_as_: expected a Tensor, got {type(the_template).__name__}.")
    if memory_format is preserve_format:
        memory_format = format_of(the_template)
    return resize_(x, the_template.layout.shape, memory_format=memory_format)


def format_of(x: Tensor) -> Any:
    """The memory format in which a tensor lies; row by row if in none."""
    return next((each for each in FORMATS if x.is_contiguous(each)), contiguous_format)


def release_memory() -> int:
    """Give memory of large tensors that are gone back to the system; ``NBGRAD_KEPT_MEMORY`` bounds how much is kept for new ones.

    Returns:
        how many bytes that were; 0 where none are kept, on systems other than Linux and with ``NBGRAD_NATIVE=0``.

    >>> import nbgrad
    >>> x = nbgrad.ones(1000, 1000)
    >>> del x
    >>> freed = nbgrad.release_memory()
    >>> nbgrad.release_memory()
    0
    """
    return release_blocks()


CALLS["resize_"] = resize_
