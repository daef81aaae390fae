"""Storage: typed memory on a device, and the counter of the writes to it.

A storage is shared by a tensor, its views and its detached aliases, and with it their version. ``x.data`` gives a tensor
with a Storage of its own over the same array: the same memory, another counter.
"""

from __future__ import annotations

import threading
from typing import Any, Callable
from weakref import WeakKeyDictionary

import numpy as np

from ..base.errors import ArgumentError, DeviceError, InplaceError
from ..base.grad_mode import mode, traces
from .choices import current

__all__ = [
    "Storage",
    "IN_INFERENCE_MODE",
    "LENT",
    "Device",
    "device",
    "last_base",
    "CPU",
    "META",
    "STORAGE_TEMPLATE",
    "choose_default",
    "default_device",
    "defaults",
    "elsewhere",
    "last_base",
    "located",
    "reading",
    "note_made",
    "unwatched",
    "wrap_array",
]


class Device:
    """Where memory is: ``type`` is ``"cpu"``, ``"cuda"`` or ``"meta"``, ``index`` the GPU's number or None.

    Equal devices are one object.

    On ``"meta"`` tensors have no elements: shape, dtype and strides of every result are found, and nothing is computed.
    Other kinds of torch's (``"mps"``) are names, which programs compare; no tensor can be there.

    As a context manager it is where new tensors are made inside: the default device.

    Raises:
        DeviceError: another name, a negative index; entered, a GPU that is not there.

    >>> import nbgrad
    >>> nbgrad.device("cpu"), nbgrad.device("cuda", 1)
    (device(type='cpu'), device(type='cuda', index=1))
    """

    __slots__ = ("type", "index", "__weakref__")
    type: str
    index: int | None

    def __new__(cls, type: Any, index: int | None = None) -> Device:
        return device(type, index)

    def __enter__(self) -> Device:
        found = self.present("device")
        elsewhere.append(None)
        defaults.entered.append(found)
        return self

    def __exit__(self, *error: object) -> None:
        defaults.entered.pop()
        elsewhere.pop()

    def present(self, op: str) -> Device:
        """The device if it is there; a GPU without a number is the current one, and meta has no numbers.

        Raises:
            DeviceError: it is not.
        """
        return self if self is CPU else META if self.type == "meta" else gpu_by(op, self)

    def __repr__(self) -> str:
        return f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self):
        return device, (str(self),)


def gpu_by(op: str, device: Device) -> Device:
    """A GPU with its number."""
    if device.type != "cuda":
        raise DeviceError(f"{op}: no tensor can be on device {device}; expected 'cpu', 'cuda', 'cuda:N' or 'meta'.")
    found = device if device.index is not None else device_of("cuda", current.index)
    if found.index in _opened:
        return found
    from ..kernels.cuda.driver import card  # not by each call: an import within a function takes a microsecond

    try:
        card(found.index or 0)
    except DeviceError as error:
        raise DeviceError(f"{op}: device {device} is not available: {str(error).removeprefix('cuda: ')}") from None
    _opened.add(found.index)
    return found


_devices: dict[tuple, Device] = {}
# Kinds of torch's that programs name and tensors cannot be on.
ABSENT = frozenset("hpu ipu lazy maia mps mtia privateuseone vulkan xla xpu".split())
_opened = set[int | None]()  # numbers of GPUs that are there


def device(spec="cpu", index: int | None = None) -> Device:
    """The Device that ``spec`` names: ``"cpu"``, ``"cuda"``, ``"cuda:0"``, ``"meta"``, the number of a GPU, or a Device.

    Raises:
        DeviceError: any other name, a negative index. ArgumentError: no name.

    >>> device("cpu")
    device(type='cpu')
    """
    if isinstance(spec, Device):
        return spec
    if type(spec) is int and index is None:
        return device("cuda", spec)
    if not isinstance(spec, str):
        raise ArgumentError(f"device: expected a name as 'cpu' or 'cuda:0', or a GPU's number, got {type(spec).__name__}.")
    kind, colon, number = spec.partition(":")
    if index is not None and (type(index) is not int or index < 0 or colon):
        told = f" beside the name {spec!r}" if colon else ""
        raise DeviceError(f"device: index {index!r}{told} names no device; expected a number from 0 on, as in device('cuda', 0).")
    if kind not in ("cpu", "cuda", "meta", *ABSENT) or (colon and not (number.isascii() and number.isdigit())):
        raise DeviceError(f"device: {spec!r} is not a device; expected 'cpu', 'cuda', 'cuda:N' or 'meta'.")
    if kind == "cpu":
        index = None
    elif number:
        index = int(number)
    found = _devices.get((kind, index))
    if found is None:
        found = object.__new__(Device)
        found.type, found.index = kind, index
        found = _devices.setdefault((kind, index), found)
    return found


device_of = device
CPU, META = device("cpu"), device("meta")


class Defaults(threading.local):
    """Where a thread makes new tensors: the innermost device that it has entered, or the one that it has set."""

    chosen = CPU

    def __init__(self) -> None:
        self.entered: list[Device] = []


defaults = Defaults()
# For every choice in ``defaults`` of any thread an entry: while it is empty, which is one load to see, new tensors are the CPU's.
elsewhere: list[None] = []


def default_device() -> Device:
    """Where new tensors are."""
    if not elsewhere:
        return CPU
    return defaults.entered[-1] if defaults.entered else defaults.chosen


def choose_default(device: Device) -> None:
    """Let new tensors of this thread be on a device."""
    if defaults.chosen is not CPU:
        elsewhere.pop()
    defaults.chosen = device
    if device is not CPU:
        elsewhere.append(None)


class Reading(threading.local):
    """Where a thread puts what it unpickles."""

    place: Callable[[str], Device] | None = None


reading = Reading()


def located(name: Device | str) -> Device:
    """The device for what was written on the device of that name: the same, unless ``nbgrad.load`` says another; of meta the same.

    Raises:
        DeviceError: it is not there, or nbgrad knows no such device.
    """
    if str(name) == "meta":
        return META
    try:
        return (device(name) if reading.place is None else reading.place(str(name))).present("load")
    except DeviceError as error:
        raise DeviceError(f"{str(error).partition(' Hint: ')[0]} Hint: nbgrad.load(file, map_location='cpu').") from None


# ``Storage.writable`` of inference tensors: false, so that a write asks first.
IN_INFERENCE_MODE = None
# And of storages that somebody guards: also false, so that the guard is told before a write.
GUARDED = 0
# And of the cotangents 1 that passes share: false for good; whoever would show one to users makes a copy (engine.owned).
LENT = ""


class Storage:
    """A flat buffer.

    Attributes:
        array: 1-D ndarray, ours or one that the user shares; never handed out itself.
        version: number of in-place writes.
        device: where it is.
        writable: True, False, ``IN_INFERENCE_MODE``, ``GUARDED`` or ``LENT``: whether in-place operations may write to it without
            asking.
    """

    __slots__ = ("array", "version", "device", "writable", "__weakref__")
    array: Any
    version: int
    device: Device
    writable: bool | int | str | None

    def require_writable(self, op: str) -> None:
        """Refuse a write to memory that its owner made read-only; where somebody guards the memory, tell that before the write."""
        if self.writable is GUARDED:
            self.tell_guard()
        if self.writable or self.writable is IN_INFERENCE_MODE and (mode.inference or mode.inferring):
            return
        if self.writable is IN_INFERENCE_MODE:
            raise InplaceError(
                f"{op}: an inference tensor is changed in place outside of inference mode. Hint: clone it first; "
                "the clone is an ordinary tensor."
            )
        raise InplaceError(f"{op}: the tensor shares read-only memory (a NumPy array that is not writeable). Hint: clone it first.")

    def tell_guard(self) -> None:
        """Tell whoever guards the memory that it is about to be written to, or that a tensor leaves it; once."""
        if self.writable is GUARDED:
            self.writable = True
            guards.pop(self, ignored)(self)


# Called with a guarded storage before it is written to: NOTE [Copy before write] in autograd/graph_tools.py.
guards: WeakKeyDictionary[Storage, Callable[[Storage], None]] = WeakKeyDictionary()


def ignored(written: Storage) -> None:
    """The guard of a storage that shares a guarded one's memory and not its version."""


STORAGE_TEMPLATE = Storage()
STORAGE_TEMPLATE.version, STORAGE_TEMPLATE.device, STORAGE_TEMPLATE.writable = 0, CPU, True


def wrap_array(array: np.ndarray, writable: bool | str = True) -> Storage:
    """A Storage over a 1-D array; captures of graphs are told, for which its elements are constants."""
    storage = Storage()
    storage.array, storage.version, storage.device, storage.writable = array, 0, CPU, writable
    if traces:
        note_made(storage)
    return storage


def last_base(array: Any) -> Any:
    """What owns an array's memory, if it is no array; None if it is."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array


def note_made(storage: Storage) -> None:
    """Tell captures of graphs of memory that a creation function has made."""
    for trace in tuple(traces):
        trace.note_made(storage)


class Exchanged(int):
    """The version of memory that was exchanged for other memory. It prints as the same number, and equals none noted before."""

    __slots__ = ()
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __format__(self, spec: str) -> str:
        return f"{int(self)} of other memory"


def unwatched(storage: Storage, version: int = 0) -> Storage:
    """A Storage with a version of its own on the same memory. Whoever guards that is told of writes through this one too."""
    new = Storage()
    new.array, new.version, new.device, new.writable = storage.array, version, storage.device, storage.writable
    if storage.writable is GUARDED:
        guards[new] = lambda written: storage.tell_guard()
    return new
