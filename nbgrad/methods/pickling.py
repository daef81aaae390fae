"""Copies of tensors: pickled, deep and shallow. Tensors that share memory share it afterwards, within one pickle or
deep copy.

A history cannot be copied. A result is pickled without it, as a leaf that requires grad if the result did: for a file, or another
process. A deep copy, which stays in the same program, is refused instead of losing it.
"""

from __future__ import annotations

import copy

import numpy as np

from ..base.dtypes import dtype_of, uint8
from ..base.errors import GradError
from ..base.grad_mode import traces
from ..graph.edges import requires_grad
from ..graph.rule import name_of
from ..modes.inference import newly_made
from ..tensors.batch_levels import leave_graph
from ..tensors.layout import Layout, marked_layout
from ..tensors.storage import CPU, META, Device, Storage, located, wrap_array
from ..tensors.tensor import Parameter, Tensor, native, new_meta, put_layout
from .files import storage_bytes
from .pickled_hooks import warn_if_has_hooks

__all__ = ["install_pickling"]


# ---- storages ------------------------------------------------------------------------------------------------------


def reduce_storage(storage: Storage):
    """A storage as bytes: they survive any protocol, and bfloat16 has no pickle of its own."""
    if storage.device is META:
        return storage_bytes.blank_storage, (storage.array.nbytes, uint8, META)
    on_cpu = storage.device is CPU
    name, where = (storage.array.dtype.name, ()) if on_cpu else ("uint8", (storage.device,))
    return storage_of, (storage_bytes.bytes_of(storage), name, storage.writable is not False, *where)


def storage_of(data: np.ndarray, name: str, writable: bool, device: Device = CPU) -> Storage:
    """The storage that ``reduce_storage`` describes, on memory of its own."""
    if (device := located(device)) is not CPU:
        return storage_bytes.storage_of(data, uint8, device)
    array = np.array(data).view(dtype_of(name).numpy)
    array.flags.writeable = writable
    return wrap_array(array, writable)


def deepcopy_storage(storage: Storage, memo: dict) -> Storage:
    """A storage on a copy of the memory, which may be written to."""
    new = memo[id(storage)] = wrap_array(storage.array.copy()) if storage.device is CPU else copied(storage)
    return new


def copied(storage: Storage) -> Storage:
    """A storage on a copy of a GPU's memory."""
    from ..tensors.gpu import copied

    return copied(storage)


# ---- tensors -------------------------------------------------------------------------------------------------------


def reduce_tensor(x: Tensor, protocol):
    """Storage, layout and the state that makes a leaf; hooks, gradient and history stay behind."""
    if traces:
        leave_graph("pickle", x)
    warn_if_has_hooks(x)
    return tensor_of, (type(x), x._storage_, x.layout, x._offset_, bool(requires_grad(x)), attributes_of(x))


def attributes_of(x: Tensor) -> dict | None:
    """What the user has set on the tensor."""
    return vars(x) or None


def tensor_of(
    kind: type[Tensor],
    storage: Storage,
    layout: Layout,
    offset: int,
    needs_grad: bool,
    attributes: dict | None,
    grad: Tensor | None = None,
) -> Tensor:
    """A leaf of type ``kind`` on a storage."""
    new: Tensor = object.__new__(kind)
    new._storage_, new._offset_ = storage, offset
    put_layout(new, layout if kind._mark_ is None else marked_layout(layout.unmarked(), kind._mark_))
    new._edge_, new._needs_grad_, new._meta_ = None, needs_grad, None
    if attributes:
        vars(new).update(attributes)
    if grad is not None:
        new._meta_ = new_meta()
        new._meta_.grad = grad
    return new


def deepcopy_tensor(x: Tensor, memo: dict) -> Tensor:
    """A leaf like ``x`` on a copy of its memory, with copies of its attributes; hooks stay behind.

    Its gradient is copied too, unless ``x`` is a Parameter: a copied model starts without gradients.

    Raises:
        GradError: ``x`` is no leaf.
    """
    if traces:
        leave_graph("deepcopy", x)
    found = memo.get(id(x))
    if found is not None:
        return found
    node = x.grad_fn
    if node is not None:
        raise GradError(
            f"deepcopy: only leaves can be copied, this tensor was computed by {name_of(node)}. "
            "Hint: x.detach(), or x.clone() to stay in the graph."
        )
    grad = None if x._meta_ is None or isinstance(x, Parameter) else x._meta_.grad
    new = tensor_of(
        type(x),
        copy.deepcopy(x._storage_, memo),
        x.layout.unmarked(),
        x._offset_,
        bool(requires_grad(x)),
        None,
        copy.deepcopy(grad, memo),
    )
    memo[id(x)] = newly_made(new)
    vars(new).update(copy.deepcopy(vars(x), memo))
    return new


def copy_tensor(x: Tensor) -> Tensor:
    """Another tensor on the same memory, version and history."""
    if type(x) is Tensor:
        new = native.alias(x)
    else:
        new = tensor_of(type(x), x._storage_, x.layout, x._offset_, False, None)
    new._edge_, new._needs_grad_ = x._edge_, x._needs_grad_
    if x._meta_ is not None and x._meta_.base is not None:
        new._meta_ = new_meta()
        for name in ("base", "chain", "creation", "version", "node"):
            setattr(new._meta_, name, getattr(x._meta_, name))
    vars(new).update(vars(x))
    return new


def install_pickling() -> None:
    """Hang the protocols on Tensor and Storage."""
    protocols: tuple[tuple[type, dict], ...] = (
        (Tensor, {"__reduce_ex__": reduce_tensor, "__deepcopy__": deepcopy_tensor, "__copy__": copy_tensor}),
        (Storage, {"__reduce__": reduce_storage, "__deepcopy__": deepcopy_storage}),
    )
    for kind, methods in protocols:
        for name, method in methods.items():
            setattr(kind, name, method)
