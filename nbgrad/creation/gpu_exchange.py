"""Memory of GPUs shared with other libraries: DLPack's capsules and ``__cuda_array_interface__``, in both directions.

NumPy, which makes the capsules of the CPU's memory, cannot describe a GPU's: these are of our own.

Source: DLPack 1.1 (dlpack.h), the array API standard 2024.12 for streams, CUDA Array Interface 3.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..base.dtypes import BOOL, DTYPES, DType, bfloat16, dtype_of
from ..base.errors import ArgumentError, DeviceError, GradError, NotSupportedError, RangeError
from ..graph.edges import requires_grad
from ..kernels.cuda.driver import bindings, check
from ..native.device_memory import PlainMemory
from ..native.heaps import OWNER
from ..native.lent import OWNER_BYTES
from ..tensors.heap_words import memory_type
from ..tensors.heaps import heap_on
from ..tensors.layout import layout_of
from ..tensors.storage import META, Storage, device as device_of, note_made
from ..tensors.tensor import Tensor, native, new_tensor
from .capsules import BFLOAT, NAMES, PLAIN, VERSIONED, is_valid, pointer_of

__all__ = ["from_array_interface", "from_gpu_capsule", "gpu_capsule", "interface_of"]

CUDA, VERSION = 2, (1, 0)
READ_ONLY, COPIED = 1, 2  # flags of a versioned capsule
USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # by NumPy's kinds


class DLTensor(ctypes.Structure):
    """DLPack's description of memory."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """What a capsule of before version 1 points to."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    """What a capsule of version 1 points to."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# The same of a capsule that is about to die, whose address is all that may be touched.
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

_take = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_drop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("Py_DecRef", ctypes.pythonapi))


@Deleter
def _let_go(managed: int) -> None:
    """``let_go`` of native/lent.py where native code is off."""
    _drop(ctypes.c_size_t.from_address(managed - OWNER_BYTES).value)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end_capsule(capsule: int) -> None:
    """The same for ``end_capsule``; an error that is on its way is lost."""
    for name in NAMES:
        if _dying_is_valid(capsule, name):
            _let_go(_dying_pointer(capsule, name))


def address_of(function: Any) -> int:
    """The address at which C calls a function of Python."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def enders() -> tuple[int, int]:
    """The addresses of what ends memory that was taken, and of what ends a capsule."""
    if native.entries is not None:
        return native.entries["let_go"], native.entries["end_capsule"]
    return address_of(_let_go), address_of(_end_capsule)


def lend(kind: type[Managed] | type[Versioned], *owned: Any) -> Any:
    """A description with a reference to itself and to what else it needs, which lasts until ``let_go``."""
    room = (ctypes.c_int64 * ((OWNER_BYTES + ctypes.sizeof(kind)) // 8))()
    owner = room, *owned
    _take(owner)
    room[0] = id(owner)
    return kind.from_buffer(room, OWNER_BYTES)


# ---- out --------------------------------------------------------------------------------------------------------------


def gpu_capsule(x: Tensor, stream: Any, max_version: tuple[int, int] | None, copy: bool | None) -> Any:
    """The capsule of a tensor on a GPU, without history and lazy bits.

    Args:
        stream: on which the consumer uses the memory: 1 or None for the legacy default stream, 2 for the thread's default one,
            -1 if it waits by itself, else a handle.

    Raises:
        BufferError: a stream that is none.
    """
    layout, storage = x.layout, x._storage_
    if stream is not None and (type(stream) is not int or stream == 0 or stream < -1):
        raise BufferError(f"__dlpack__: stream must be -1, 1, 2 or a handle, got {stream!r}.")
    if copy:
        x = native.alias(x).clone()
        layout, storage = x.layout, x._storage_
    if stream != -1:
        order(layout.device, 1 if stream is None else stream, False)
    versioned = max_version is not None and max_version[0] >= 1
    if storage.writable is False and not versioned:
        raise BufferError("__dlpack__: the memory is read-only, which a consumer of a version before 1 is not told.")
    shape, strides = ((ctypes.c_int64 * max(layout.ndim, 1))(*sizes) for sizes in (layout.shape, layout.strides))
    managed = lend(Versioned if versioned else Managed, shape, strides, storage.array)
    if versioned:
        managed.major, managed.minor = VERSION
        managed.flags = (READ_ONLY if storage.writable is False else 0) | (COPIED if copy else 0)
    described = managed.tensor
    described.data, described.device_type, described.device_id = x.data_ptr(), CUDA, layout.device.index
    described.ndim, described.lanes, described.bits = layout.ndim, 1, 8 * layout.dtype.itemsize
    described.code = BFLOAT if layout.dtype is bfloat16 else CODES[layout.descr.kind]
    described.shape, described.strides = shape, strides
    managed.deleter, destructor = enders()
    return _new(ctypes.addressof(managed), VERSIONED if versioned else PLAIN, destructor)


def interface_of(x: Tensor) -> dict[str, Any]:
    """``__cuda_array_interface__``, version 3.

    Raises:
        AttributeError: the tensor is not on a GPU. GradError: it requires grad. BufferError: no dtype of NumPy's, or lazy bits.
    """
    layout, storage = x.layout, x._storage_
    if layout.memory is None or layout.device is META:
        raise AttributeError(f"__cuda_array_interface__: the tensor is on {layout.device}. Hint: x.cuda().")
    if x._needs_grad_ and requires_grad(x):
        raise GradError("__cuda_array_interface__: the tensor requires grad, and others keep no history. Hint: x.detach().")
    if layout.conj or layout.neg:
        raise BufferError(
            "__cuda_array_interface__: the tensor is lazily conjugated or negated. Hint: x.resolve_conj().resolve_neg()."
        )
    if layout.dtype is bfloat16:
        raise BufferError("__cuda_array_interface__: NumPy has no bfloat16. Hint: x.view(nbgrad.int16), or DLPack.")
    size = layout.dtype.itemsize
    return {
        "shape": layout.shape,
        "typestr": layout.descr.str,
        "data": (x.data_ptr() if layout.numel else 0, storage.writable is False),
        "strides": None if layout.contiguous else tuple([step * size for step in layout.strides]),
        "stream": heap_on(layout.device.index or 0).stream(),
        "version": 3,
    }


# ---- in ---------------------------------------------------------------------------------------------------------------


class Taken:
    """Memory of another library, for as long as this lives: ``release`` tells that library."""

    __slots__ = ("source", "managed", "deleter")

    def __init__(self, source: Any, managed: int = 0, deleter: int | None = None):
        self.source, self.managed, self.deleter = source, managed, deleter

    def __del__(self) -> None:
        if self.deleter:
            Deleter(self.deleter)(self.managed)
            self.deleter = None


def from_gpu_capsule(exporter: Any) -> Tensor:
    """A tensor on the memory that an object with ``__dlpack__`` has on a GPU.

    Raises:
        DeviceError: a GPU that is not there. NotSupportedError: elements that tensors do not have. RangeError: negative strides.
    """
    kind, index = map(int, exporter.__dlpack_device__())
    device = gpu_of("from_dlpack", index)
    stream = heap_on(index).stream()
    try:
        capsule = exporter.__dlpack__(stream=stream, max_version=VERSION)
    except TypeError:  # a library from before version 1
        capsule = exporter.__dlpack__(stream=stream)
    name = next((each for each in NAMES if is_valid(capsule, each)), None)
    if name is None:
        raise ArgumentError("from_dlpack: the capsule is no DLPack capsule, or was used before.")
    address = pointer_of(capsule, name)
    managed: Any = (Versioned if name == VERSIONED else Managed).from_address(address)
    described = managed.tensor
    dtype = dtype_in(described.code, described.bits, described.lanes)
    shape = tuple(described.shape[: described.ndim])
    strides = tuple(described.strides[: described.ndim]) if described.strides else None
    read_only = name == VERSIONED and bool(managed.flags & READ_ONLY)
    _rename(capsule, USED[name])
    owner = Taken(None, address, managed.deleter)
    return over(owner, (described.data or 0) + described.byte_offset, dtype, shape, strides, device, read_only)


def from_array_interface(x: Any) -> Tensor:
    """A tensor on the memory that an object with ``__cuda_array_interface__`` has.

    Raises:
        NotSupportedError: elements that tensors do not have, or a mask. RangeError: negative strides, or none of whole elements.
        DeviceError: memory that is not a GPU's.
    """
    said = x.__cuda_array_interface__
    if said.get("mask") is not None:
        raise NotSupportedError("as_tensor: the array has a mask, tensors have none. Hint: fill it first.")
    described = np.dtype(said["typestr"])
    if not described.isnative:
        raise NotSupportedError(f"as_tensor: elements of a foreign byte order, {said['typestr']}. Hint: convert them first.")
    dtype, (address, read_only), shape = dtype_of(described), said["data"], tuple(said["shape"])
    strides = said.get("strides")
    if strides is not None:
        if any(step % dtype.itemsize for step in strides):
            raise RangeError(
                f"as_tensor: strides {tuple(strides)} are no multiples of {dtype.itemsize} bytes. Hint: copy the array."
            )
        strides = tuple([step // dtype.itemsize for step in strides])
    index = card_of(address) if address else 0
    device = gpu_of("as_tensor", index)
    stream = said.get("stream")
    if stream is not None:
        order(device, stream, True)
    return over(Taken(x), address, dtype, shape, strides, device, bool(read_only))


def over(owner: Taken, address: int, dtype: DType, shape: tuple, strides: tuple | None, device: Any, read_only: bool) -> Tensor:
    """A tensor on memory that somebody else has."""
    if strides is not None and any(step < 0 for step, size in zip(strides, shape) if size > 1):
        raise RangeError(f"from_dlpack: the array has negative strides {strides}, tensors have none. Hint: copy it.")
    layout = layout_of(dtype, shape, strides, device)
    extent = 1 + sum((size - 1) * step for size, step in zip(shape, layout.strides)) if layout.numel else 0
    storage = Storage()
    storage.array, storage.version = adopted(address, extent * dtype.itemsize, owner), 0
    storage.device, storage.writable = device, not read_only
    note_made(storage)
    return new_tensor(storage, layout)


def dtype_in(code: int, bits: int, lanes: int) -> DType:
    """The dtype of elements that DLPack describes."""
    for dtype in DTYPES:
        own = BFLOAT if dtype is bfloat16 else CODES[dtype.numpy.kind]
        if lanes == 1 and own == code and (8 * dtype.itemsize == bits or dtype.category == BOOL and bits in (1, 8)):
            return dtype
    raise NotSupportedError(f"from_dlpack: elements of code {code}, {bits} bits and {lanes} lanes. Hint: hand over another dtype.")


def gpu_of(op: str, index: int) -> Any:
    """A GPU as a device.

    Raises:
        DeviceError: it is not there.
    """
    try:
        heap_on(index)
    except DeviceError as error:
        raise DeviceError(f"{op}: the memory is on GPU {index}: {str(error).removeprefix('cuda: ')}") from None
    return device_of("cuda", index)


def adopted(address: int, nbytes: int, owner: Any) -> Any:
    """Memory that another library has, as a storage holds it; ``owner`` lives as long."""
    if native.entries is None:
        return PlainMemory(address, nbytes, owner=owner)
    memory = native.adopt(memory_type(), address, nbytes)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    ctypes.c_size_t.from_address(id(memory) + OWNER).value = id(owner)
    return memory


def order(device: Any, theirs: int, first: bool) -> None:
    """Let the current stream and another library's wait for one another.

    Args:
        theirs: 1 the legacy default stream, 2 the thread's default one, else a handle; ``first``: whether ours waits.
    """
    found = heap_on(device.index)
    card, ours = found.card, found.stream()
    waits, runs = (ours, theirs) if first else (theirs, ours)
    if waits == runs:
        return
    event = card.take_event()
    card.record(event, runs)
    card.let_wait(waits, event)
    card.give_event(event)


def card_of(address: int) -> int:
    """The number of the GPU on which memory is."""
    driver = bindings()
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(check("as_tensor", driver.cuPointerGetAttribute(attribute, address)))
