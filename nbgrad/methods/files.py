"""``nbgrad.save`` and ``nbgrad.load``: objects with tensors in files.

A file is a pickle, as ``pickle.dump`` writes it; tensors in it know their devices. ``load`` puts them elsewhere if it is told to,
and unless asked otherwise makes nothing but tensors and Python's own plain objects: a pickle can call any function.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from typing import Any, Callable

from ..base.errors import ArgumentError, FileError, NotSupportedError
from ..creation.casting import on_device
from ..tensors.storage import CPU, STORAGE_TEMPLATE, Device, device as device_of, reading
from ..tensors.untyped import UntypedStorage

__all__ = ["load", "save"]

# What a file that is not trusted may call, by module.
HARMLESS: dict[str, tuple[str, ...]] = {
    "builtins": ("bytearray", "complex", "frozenset", "set", "slice", "range"),
    "collections": ("OrderedDict", "defaultdict", "deque"),
    "numpy": ("dtype", "ndarray"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "numpy.core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.numeric": ("_frombuffer",),
    "numpy.core.numeric": ("_frombuffer",),
    "_codecs": ("encode",),
    "nbgrad.base.dtypes": ("dtype_of",),
    "nbgrad.base.size": ("Size",),
    "nbgrad.creation.generators": ("generator_in_state",),
    "nbgrad.methods.pickling": ("storage_of", "tensor_of"),
    "nbgrad.tensors.layout": ("layout_of", "layout_where"),
    "nbgrad.tensors.storage": ("Device", "device"),
    "nbgrad.tensors.tensor": ("Parameter", "Tensor"),
}


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
    """Write an object with the tensors in it, for ``load``.

    Args:
        obj: whatever can be pickled: a ``state_dict()``, a list, a module.
        f: a path, or a file that is open for writing bytes.
        pickle_module: Python's ``pickle``, or what has its functions; ``pickle_protocol``: as ``pickle.dump`` takes it.

    Raises:
        ArgumentError: neither.

    >>> import io, nbgrad
    >>> file = io.BytesIO()
    >>> nbgrad.save({"weight": nbgrad.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> nbgrad.load(file)
    {'weight': tensor([1., 1.])}
    """
    if hasattr(f, "write"):
        pickle_module.dump(obj, f, pickle_protocol)
        return
    with open(path_of("save", f), "wb") as file:
        pickle_module.dump(obj, file, pickle_protocol)


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True, mmap: bool | None = None
) -> Any:
    """What ``save`` has written.

    Args:
        f: a path, or a file that is open for reading bytes.
        map_location: where tensors go: a device for all of them, a dict by the names of the devices that they were on, or torch's
            ``function(storage, name)``, which returns a device, or the storage for the CPU; None leaves each where it was.
        pickle_module: Python's ``pickle``, or None.
        weights_only: make tensors, numbers, strings and Python's containers alone. Without it a file can run any code.
        mmap: False, or None: the file is read at once.

    Raises:
        FileError: no such file, or something in it that ``weights_only`` does not make. DeviceError: a tensor was on a GPU that is
            not here. ArgumentError: another ``f`` or ``map_location``. NotSupportedError: another ``pickle_module``, ``mmap=True``.

    >>> import io, nbgrad
    >>> file = io.BytesIO()
    >>> nbgrad.save(nbgrad.ones(2), file)
    >>> _ = file.seek(0)
    >>> nbgrad.load(file, map_location="cpu")
    tensor([1., 1.])
    """
    if pickle_module not in (None, pickle) or mmap:
        what = "mmap=True" if mmap else f"pickle_module={pickle_module!r}"
        raise NotSupportedError(f"load: {what} is not supported; files are read at once, by Python's pickle. Hint: leave it out.")
    kind = Harmless if weights_only else pickle.Unpickler
    before, reading.place = reading.place, placing(map_location)
    try:
        if hasattr(f, "read"):
            return read(kind, f)
        with open(path_of("load", f), "rb") as file:
            return read(kind, file)
    finally:
        reading.place = before


def read(kind: Callable, file: Any) -> Any:
    """The object in a file."""
    try:
        return kind(file).load()
    except (pickle.UnpicklingError, EOFError, UnicodeDecodeError) as error:
        raise FileError(
            f"load: the file holds no pickle, or a part of one: {error}. Hint: nbgrad.save writes such files."
        ) from None


class Harmless(pickle.Unpickler):
    """What makes tensors and plain objects alone."""

    def find_class(self, module: str, name: str) -> Any:
        if name in HARMLESS.get(module, ()):
            return super().find_class(module, name)
        raise FileError(
            f"load: the file names {module}.{name}, which is no tensor and no plain object. "
            "Hint: weights_only=False runs whatever a file says; only for files that you trust."
        )


def path_of(op: str, f: Any) -> Any:
    """A path.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(f, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{op}: expected a path or an open file, got {type(f).__name__}.")
    return f


def placing(map_location: Any) -> Callable[[Device], Device] | None:
    """``place(device)``: where what was on a device goes; None: nowhere else.

    Raises:
        ArgumentError: no such rule. DeviceError: a device that is not there.
    """
    if map_location is None:
        return None
    if isinstance(map_location, Mapping):
        by_name = {device_of(name): on_device("load", there) for name, there in map_location.items()}
        return lambda device: by_name.get(device, device)
    if callable(map_location):
        storage = UntypedStorage(STORAGE_TEMPLATE)

        def place(device: Device) -> Device:
            there = map_location(storage, str(device))
            return CPU if there is storage else device if there is None else on_device("load", there)

        return place
    there = on_device("load", map_location)
    return lambda device: there
