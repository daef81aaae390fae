"""DLPack: memory shared with other array libraries, in both directions.

NumPy makes and reads the capsules, with their lifetimes, flags and versions. It does not know bfloat16; such memory
crosses as int16, and the element type in the capsule is relabelled.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..base.dtypes import bfloat16
from ..base.errors import ArgumentError, DeviceError, GradError, GraphError, NotSupportedError
from ..base.grad_mode import traces
from ..graph.edges import requires_grad
from ..tensors.arrays import array_of
from ..tensors.batch_levels import leave_graph
from ..tensors.layout import layout_of
from ..tensors.storage import CPU, META, Device
from ..tensors.tensor import Tensor, new_tensor
from .capsules import BFLOAT, PLAIN, VERSIONED, is_valid, pointer_of
from .casting import moved, on_device
from .numpy_exchange import from_numpy

__all__ = ["from_dlpack", "install_dlpack"]

CPU_DEVICE, GPU = (1, 0), 2  # kDLCPU, number 0; kDLCUDA
INT = 0  # kDLInt, the code of an element type
# Where they lie: in DLTensor after data, and after device and ndim; a versioned capsule has version, context, deleter and flags
# before.
DEVICE_AT, CODE_AT, VERSIONED_AT = 8, 20, 32


def element_code(capsule) -> ctypes.c_uint8:
    """The code of the element type in an unused capsule, to be read or written."""
    return ctypes.c_uint8.from_address(described_at(capsule) + CODE_AT)


def device_address(capsule) -> int:
    """Where an unused capsule has the kind of its device, and behind it the number."""
    return described_at(capsule) + DEVICE_AT


def described_at(capsule) -> int:
    """Where an unused capsule has its DLTensor.

    Raises:
        ArgumentError: it is none.
    """
    for name, at in ((PLAIN, 0), (VERSIONED, VERSIONED_AT)):
        if is_valid(capsule, name):
            return pointer_of(capsule, name) + at
    raise ArgumentError("from_dlpack: the capsule is no DLPack capsule, or was used before.")


def to_dlpack(
    x: Tensor,
    *,
    stream=None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The capsule of the DLPack protocol; a consumer that knows version 1 is told if the memory is read-only.

    Raises:
        GradError: the tensor requires grad. BufferError: lazy conjugation, which the protocol cannot say, or read-only
            memory for a consumer that could not know.
    """
    if x._needs_grad_ and requires_grad(x):
        raise GradError("__dlpack__: the tensor requires grad, and a capsule has no history. Hint: x.detach().")
    if x.layout.conj or x.layout.neg:
        raise BufferError("__dlpack__: the tensor is lazily conjugated or negated. Hint: x.resolve_conj().resolve_neg().")
    if x.layout.memory is not None:
        own = dlpack_device(x)
        if dl_device not in (None, own):
            raise BufferError(f"__dlpack__: the memory is on {x.layout.device}, asked for {dl_device}. Hint: x.cpu().")
        from .gpu_exchange import gpu_capsule

        return gpu_capsule(x, stream, max_version, copy)
    if stream not in (None, -1):  # -1 asks for no synchronisation, and there is none
        raise BufferError(f"__dlpack__: a tensor on the CPU has no stream, got {stream!r}.")
    if traces:
        leave_graph("__dlpack__", x)
    array, narrow = array_of(x), x.layout.dtype is bfloat16
    capsule = export(array.view(np.int16) if narrow else array, max_version, dl_device, copy)
    if narrow:
        element_code(capsule).value = BFLOAT
    return capsule


def export(array: np.ndarray, max_version, dl_device, copy):
    """NumPy's capsule, with those of the arguments that it must be told."""
    asked = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    return array.__dlpack__(**{name: value for name, value in asked.items() if value is not None})


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """Kind and number of the device.

    Raises:
        BufferError: it is meta, which the protocol does not know.
    """
    device = x.layout.device
    if device is META:
        raise BufferError("__dlpack__: a tensor on meta has no elements to exchange. Hint: nbgrad.empty_like(x, device='cpu').")
    return CPU_DEVICE if device is CPU else (GPU, device.index or 0)


class Relabelled:
    """An exporter of bfloat16 memory that says int16, which NumPy knows."""

    def __init__(self, exporter):
        self.exporter, self.relabelled = exporter, False

    def __dlpack_device__(self):
        return self.exporter.__dlpack_device__()

    def __dlpack__(self, **asked):
        capsule = self.exporter.__dlpack__(**asked)
        code = element_code(capsule)
        if code.value == BFLOAT:
            code.value, self.relabelled = INT, True
        return capsule


class OfCapsule:
    """A capsule that a program took out of an exporter, as an exporter that has it to give once."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        at = device_address(self.capsule)
        return ctypes.c_int32.from_address(at).value, ctypes.c_int32.from_address(at + 4).value

    def __dlpack__(self, **asked: Any) -> Any:
        return self.capsule


class Writable:
    """The memory of an array for an array that may be written to; it lives as long."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False), "strides": array.strides}


def from_dlpack(ext_tensor: Any, *, device: Device | str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array.

    Args:
        ext_tensor: an object with ``__dlpack__`` and ``__dlpack_device__``; a NumPy array, a tensor of another library; or the
            capsule of such an object, which is used up.
        device: where the tensor is to be; by default where the memory is. Another one takes a copy.
        copy: True copies; otherwise the memory is shared.

    Raises:
        ArgumentError: no exporter. DeviceError: memory that is neither the CPU's nor a GPU's.

    >>> import nbgrad, numpy
    >>> nbgrad.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    shared = shared_memory(ext_tensor)
    to = shared.layout.device if device is None else on_device("from_dlpack", device)
    if to is not shared.layout.device and copy is False:
        raise BufferError(f"from_dlpack: the memory is on {shared.layout.device}, and copy=False keeps it from going to {to}.")
    return moved(shared, to, copy=bool(copy))


def shared_memory(x) -> Tensor:
    """The tensor on the exporter's memory: see ``from_dlpack``."""
    if type(x).__name__ == "PyCapsule":
        x = OfCapsule(x)
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise ArgumentError(f"from_dlpack: expected an object with __dlpack__ and __dlpack_device__, got {type(x).__name__}.")
    kind = int(x.__dlpack_device__()[0])
    if kind == GPU:
        from .gpu_exchange import from_gpu_capsule

        return from_gpu_capsule(x)
    if kind != CPU_DEVICE[0]:
        raise DeviceError(
            f"from_dlpack: the memory is on a device of kind {kind}, expected the CPU's, {CPU_DEVICE[0]}, or a GPU's, {GPU}."
        )
    exporter, plain = Relabelled(x), isinstance(x, OfCapsule) and is_valid(x.capsule, PLAIN)
    try:
        array = np.from_dlpack(exporter)
        if plain and not array.flags.writeable:  # NumPy's caution: such capsules cannot say that memory is read-only
            array = np.asarray(Writable(array))
    except GraphError:
        raise
    except (RuntimeError, TypeError) as error:
        raise NotSupportedError(f"from_dlpack: {error} Hint: hand over a copy in another dtype.") from error
    out = from_numpy(array)
    if not exporter.relabelled:
        return out
    layout = layout_of(bfloat16, out.layout.shape, out.layout.strides, CPU)
    out._storage_.array = out._storage_.array.view(bfloat16.numpy)
    return new_tensor(out._storage_, layout)


def array_interface(x: Tensor) -> dict[str, Any]:
    """The CUDA Array Interface, of a tensor on a GPU.

    Raises:
        AttributeError: it is elsewhere.
    """
    if x.layout.memory is None:
        raise AttributeError(f"__cuda_array_interface__: the tensor is on {x.layout.device}. Hint: x.cuda().")
    from .gpu_exchange import interface_of

    return interface_of(x)


def install_dlpack() -> dict:
    """Hang the protocol on Tensor; return the public functions by name."""
    for name, method in {
        "__dlpack__": to_dlpack,
        "__dlpack_device__": dlpack_device,
        "__cuda_array_interface__": property(array_interface),
    }.items():
        setattr(Tensor, name, method)
    return {"from_dlpack": from_dlpack}
