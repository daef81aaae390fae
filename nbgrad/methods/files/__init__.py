"""``nbgrad.save`` and ``nbgrad.load``: objects with tensors in files, in torch's format.

A file is a zip of a pickle and of the memory of tensors, uncompressed: ``archive.py``. ``writing.py`` makes the pickle, in which
tensors have torch's names; ``restricted.py`` reads it and makes nothing but what ``makers.py`` and ``torch_makers.py`` list;
``legacy.py`` reads what torch wrote before it wrote zips. Plain pickles, which nbgrad wrote before, are read as well.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from typing import Any, Callable

import numpy as np

from ...base.errors import ArgumentError, NbgradError, NotSupportedError
from ...creation.casting import on_device
from ...tensors.storage import Device, device as device_of, reading, wrap_array
from ...tensors.untyped import UntypedStorage

__all__ = ["load", "save"]


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True
) -> None:
    """Write an object with the tensors in it, as ``torch.save`` does: for ``load``, and for ``torch.load``.

    Tensors that share memory share it when they are read. What they have besides their elements is kept: strides, whether they
    require grad, attributes; not histories, gradients and hooks. A file of a path is written beside it and put in its place when it
    is whole, so that a program that stops leaves what was there.

    Args:
        obj: whatever can be pickled: a ``state_dict()``, a list, a module (which torch cannot read).
        f: a path, or a file that is open for writing bytes.
        pickle_module: Python's ``pickle``, or None.
        pickle_protocol: as ``pickle.dump`` takes it. Other programs may read 2 alone.
        _use_new_zipfile_serialization: not looked at: files are what it asks for.

    Raises:
        ArgumentError: another ``f``. SaveError: an object that cannot be pickled. MissingFolderError: the path's folder is not
        there. DirectoryPathError: the path is a folder. NotSupportedError: another ``pickle_module``.

    >>> import io, nbgrad
    >>> file = io.BytesIO()
    >>> nbgrad.save({"weight": nbgrad.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> nbgrad.load(file)
    {'weight': tensor([1., 1.])}
    """
    from . import writing

    require_pickle("save", pickle_module)
    if not hasattr(f, "write"):
        f = path_of("save", f)
    contents = writing.pickled(obj, pickle_protocol)  # before a file is touched
    if hasattr(f, "write"):
        writing.write(f, contents)
    else:
        writing.replace(f, lambda file: writing.write(file, contents))


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True, mmap: bool | None = None
) -> Any:
    """What ``save`` or ``torch.save`` has written.

    Args:
        f: a path, or a file that is open for reading bytes, from where it stands.
        map_location: where tensors go: a device for all of them, a dict by the names of the devices that they were on, or torch's
            ``function(storage, name)``, which returns a device, or the storage for the CPU; None leaves each where it was.
        pickle_module: Python's ``pickle``, or None.
        weights_only: make tensors, numbers, strings, NumPy's arrays and Python's containers alone. Without it a file can run any
            code.
        mmap: map the file, which must be a path, into memory: a tensor's part is read when it is looked at. Tensors may be written
            to, which the file does not see.

    Returns:
        The object. Nothing is returned of a file that is not whole.

    Raises:
        LoadError: no file of that kind, half of one, one where sizes do not fit, or something that ``weights_only`` does not make.
        DeviceError: a tensor was on a GPU that is not here.
        ArgumentError: another ``f`` or ``map_location``; ``mmap`` of what is no path.
        NotSupportedError: another ``pickle_module``; elements of a dtype that nbgrad lacks.

    >>> import io, nbgrad
    >>> file = io.BytesIO()
    >>> nbgrad.save(nbgrad.ones(2), file)
    >>> _ = file.seek(0)
    >>> nbgrad.load(file, map_location="cpu")
    tensor([1., 1.])
    """
    from .opening import read

    require_pickle("load", pickle_module)
    before, reading.place = reading.place, placing(map_location)
    try:
        if hasattr(f, "read"):
            if mmap:
                raise ArgumentError("load: mmap=True needs a path, got an open file. Hint: pass the name of the file.")
            return read(f, weights_only)
        with open(path_of("load", f), "rb") as file:
            return read(file, weights_only, mmap=bool(mmap))
    finally:
        reading.place = before


def require_pickle(op: str, pickle_module: Any) -> None:
    """Refuse other modules than Python's.

    Raises:
        NotSupportedError: it is another one.
    """
    if pickle_module not in (None, pickle):
        raise NotSupportedError(
            f"{op}: pickle_module={pickle_module!r} is not supported; expected Python's pickle. Hint: leave it out."
        )


def path_of(op: str, f: Any) -> Any:
    """A path.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(f, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{op}: expected a path or an open file, got {type(f).__name__}.")
    return f


def placing(map_location: Any) -> Callable[[str], Device] | None:
    """``place(name)``: where what was on the device of that name goes; None: nowhere else.

    Names are text, since a file may come from a machine with devices that nbgrad does not know.

    Raises:
        ArgumentError: no such rule. DeviceError: a device that is not there.
    """
    if map_location is None:
        return None
    if isinstance(map_location, Mapping):
        by_name = {str(name): on_device("load", there) for name, there in map_location.items()}
        return lambda name: by_name[name] if name in by_name else device_of(name)
    if callable(map_location):
        storage = UntypedStorage(wrap_array(np.empty(0, np.uint8)))  # where tensors go is asked before they are read

        def place(name: str) -> Device:
            try:
                there = map_location(storage, name)
            except NbgradError:
                raise
            except Exception as error:
                raise ArgumentError(f"load: map_location raises {type(error).__name__}: {error}") from error
            if isinstance(there, UntypedStorage):
                return there.device
            return device_of(name) if there is None else on_device("load", there)

        return place
    there = on_device("load", map_location)
    return lambda name: there
