"""Which memory a tensor stands on, unwatched by autograd: ``data``, ``set_``, ``resize_``; and memory that is kept for later."""
from __future__ import annotations

import numpy as np

from .creation import shape_of
from .errors import ArgumentError, DTypeError, GradError, InplaceError
from .grad_mode import mode
from .graph import requires_grad
from .inference import is_inference
from .kernels.cpu import release_blocks
from .layout import layout_of
from .saved import count_write
from .storage import GUARDED, Storage, guards, wrap_array
from .tensor import Tensor, native, put_layout
from .views import check_inplace

__all__ = ["get_data", "release_memory", "resize_", "resize_as_", "set_", "set_data"]


def unwatched(storage: Storage, version: int = 0) -> Storage:
    """A Storage of its own, with a version of its own, on the same memory; who guards that is told of writes through it too."""
    new = Storage()
    new.array, new.version, new.device, new.writable = storage.array, version, storage.device, storage.writable
    if storage.writable is GUARDED:
        guards[new] = lambda written: storage.tell_guard()
    return new


def get_data(x: Tensor) -> Tensor:
    """The same memory without history, with a version of its own: autograd does not notice writes to it."""
    return native.tensor(x.layout.template, unwatched(x._storage_), x._offset_, False, None)


def set_data(x: Tensor, value: Tensor) -> None:
    """Exchange the contents, shape and dtype; version, history and gradient stay.

    Raises:
        ArgumentError: no Tensor. DTypeError: no gradients exist for its dtype, and ``x`` requires grad.
    """
    if not isinstance(value, Tensor):
        raise ArgumentError(f"data: expected a Tensor, got {type(value).__name__}.")
    if requires_grad(x) and not value.layout.dtype.differentiable:
        raise DTypeError(f"data: the tensor requires grad and cannot become {value.layout.dtype}; "
                         "expected a floating or complex tensor.")
    x._storage_, x._offset_ = unwatched(value._storage_, x._storage_.version), value._offset_
    put_layout(x, value.layout)


def set_(x: Tensor, source: Tensor | None = None) -> Tensor:
    """Let ``x`` stand on the memory of ``source``, with its shape and strides; counts as a write to ``x``.

    Args:
        source: a tensor of the dtype of ``x``; None: no elements.

    Raises:
        InplaceError: ``x`` requires grad, and recording is on. DTypeError: of another dtype. ArgumentError: no tensor.
    """
    if source is None:
        source = native.tensor(x.layout.like(None, (0,)).template, wrap_array(np.empty(0, x.layout.descr)), 0, False, None)
    if not isinstance(source, Tensor):
        raise ArgumentError(f"set_: expected a Tensor, got {type(source).__name__}. Hint: nbgrad.asarray(array).")
    if source.layout.dtype is not x.layout.dtype:
        raise DTypeError(f"set_: the source is {source.layout.dtype.name}, expected {x.layout.dtype.name}. "
                         "Hint: source.to(x.dtype).")
    if mode.enabled and requires_grad(x):
        check_inplace("set_", x, True)
        raise InplaceError("set_: the tensor has a history that would not belong to its new memory. "
                           "Hint: x.detach(), or no_grad().")
    if is_inference(x):
        x._storage_.require_writable("set_")
    leave_base(x)
    x._storage_.tell_guard()
    x._storage_, x._offset_ = unwatched(source._storage_, x._storage_.version + 1), source._offset_
    put_layout(x, source.layout)
    return x


def resize_(x: Tensor, *sizes) -> Tensor:
    """Give ``x`` another shape, row by row from its first element on; counts as a write.

    Elements keep their places in memory; where there is not enough of it the storage grows, for all tensors on it, by elements of
    no particular value.

    Raises:
        GradError: ``x`` requires grad. InplaceError: the memory is not nbgrad's own and would have to grow.
    """
    if requires_grad(x):
        raise GradError("resize_: the tensor requires grad, and elements that come or go have no gradient. Hint: x.detach().")
    shape = shape_of("resize_", sizes)
    layout = layout_of(x.layout.dtype, shape, None, x.layout.device, x.layout.conj, x.layout.neg)
    size, storage = layout.dtype.itemsize, x._storage_
    storage.require_writable("resize_")
    needed = x._offset_ + layout.numel * size
    if needed > storage.array.nbytes:
        grow(storage, needed)
    leave_base(x)
    count_write(storage)
    put_layout(x, layout)
    return x


def leave_base(x: Tensor) -> None:
    """A view that gets another place is no view of its base any more: no movement leads to it."""
    if x._meta_ is not None and x._meta_.base is not None:
        x._needs_grad_, x._meta_ = x._needs_grad_ is True, None


def grow(storage: Storage, nbytes: int) -> None:
    """Exchange the memory of a storage for more of it."""
    array = storage.array
    if not array.flags.owndata:
        raise InplaceError(f"resize_: {nbytes} bytes are needed, the tensor shares {array.nbytes} with a NumPy array. "
                           "Hint: clone it first.")
    larger = np.empty(-(-nbytes // array.itemsize), array.dtype)
    larger[:array.size] = array
    storage.array = larger


def resize_as_(x: Tensor, other: Tensor) -> Tensor:
    """Give ``x`` the shape of ``other``: see ``resize_``.

    >>> nbgrad.zeros(4).resize_as_(nbgrad.zeros(2, 2)).shape
    nbgrad.Size([2, 2])
    """
    if not isinstance(other, Tensor):
        raise ArgumentError(f"resize_as_: expected a Tensor, got {type(other).__name__}.")
    return resize_(x, other.layout.shape)


def release_memory() -> int:
    """Give memory of large tensors that are gone back to the system; ``NBGRAD_KEPT_MEMORY`` bounds how much is kept for new ones.

    Returns:
        how many bytes that were.

    >>> import nbgrad
    >>> x = nbgrad.ones(1000, 1000)
    >>> del x
    >>> freed = nbgrad.release_memory()
    >>> nbgrad.release_memory()
    0
    """
    return release_blocks()
