"""What a graph asks of the device that memory is on: everything else in graphs is the same for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...lowering.copy import copy_plan
from ...native.plans import Plan
from ...tensors.arrays import strided_array
from ...tensors.layout import Layout
from ...tensors.storage import CPU, Device, Storage, note_made, wrap_array
from ...tensors.tensor import Tensor
from .ir import Node, Value

__all__ = [
    "copied",
    "copying_plan",
    "elements_there",
    "fresh_memory",
    "generator_attributes",
    "is_gpu",
    "is_on_gpu",
    "number_to_gpu",
    "on_gpu",
    "put_back",
    "storage_on",
]


def is_gpu(device: Device) -> bool:
    """Whether a device is a GPU."""
    return device is not CPU


def on_gpu(layout: Layout | None) -> bool:
    """Whether memory is on a GPU."""
    return layout is not None and layout.memory is not None


def is_on_gpu(node: Node) -> bool:
    """Whether a call reads or makes something on a GPU."""
    return any(on_gpu(value.layout) for value in (*node.values(), *node.outs))


# ---- memory ----------------------------------------------------------------------------------------------------------


def copied(storage: Storage) -> Storage:
    """A storage on a copy of the memory, of which captures are told. A GPU is not waited for."""
    if storage.device is CPU:
        return wrap_array(storage.array.copy())
    from ...tensors.gpu import copied as copied_there

    made = copied_there(storage)
    note_made(made)
    return made


def put_back(storage: Storage, copy: Storage) -> None:
    """Have memory hold again what a copy of it holds."""
    if storage.device is CPU:
        storage.array[:] = copy.array
        return
    from ...tensors.gpu import copy_bytes

    copy_bytes(copy, storage)


def fresh_memory(layout: Layout) -> Any:
    """Memory that nobody has written to."""
    if layout.memory is None:
        return np.empty(layout.numel, layout.descr)
    return layout.memory.request(layout.numel * layout.dtype.itemsize)


def storage_on(memory: Any, device: Device) -> Storage:
    """A storage on memory, of which no capture is told."""
    storage = Storage()
    storage.array, storage.version, storage.device, storage.writable = memory, 0, device, True
    return storage


def elements_there(x: Tensor) -> np.ndarray:
    """A copy of the elements of a tensor on a GPU, which is waited for, whatever marks it has."""
    from ...tensors.gpu import download

    return strided_array(x, download(x), 0)


# ---- plans -----------------------------------------------------------------------------------------------------------


def copying_plan(source: Layout, target: Layout) -> Plan:
    """The launch that writes the elements of one layout into another, of the same device."""
    if target.memory is None:
        return copy_plan(source, target)
    from ...lowering.cuda.copy import copy_plan as copy_plan_there

    return copy_plan_there(source, target)


def number_to_gpu(x: Value, out: Value) -> Plan | None:
    """The launch that writes a number of the host to a GPU; None of what is copied."""
    if x.layout is None or out.layout is None or on_gpu(x.layout) or not on_gpu(out.layout) or x.layout.shape:
        return None
    from ...dispatch.device_plans import number_plan

    return number_plan(out.layout) if x.layout.dtype.name in ("float32", "float64", "int64") else None


def generator_attributes(device: Device) -> dict[str, Any]:
    """What says in a node that random numbers are a GPU's."""
    return {} if device is CPU else {"device": str(device)}
