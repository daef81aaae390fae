"""Files that torch wrote before it wrote zips: pickles one after the other, and the memory of storages behind them."""

from __future__ import annotations

import io
from typing import Any, Callable

import numpy as np

from ...base.dtypes import DType
from ...base.errors import NotSupportedError
from ...tensors.storage import Storage, located
from .archive import damaged
from .storage_bytes import blank_storage, put
from .torch_makers import TypedStorage, dtype_of_kind, storage_id

__all__ = ["MAGIC", "read_legacy"]

# The number with which such files begin, as a pickle.
MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
VERSION = 1001


def read_legacy(file: io.BytesIO, load: Callable[..., Any]) -> Any:
    """The object; ``load``: reads a pickle of the file.

    Raises:
        LoadError: the file is not whole.
        NotSupportedError: it is of a big-endian machine, or has storages that are parts of others.
    """
    load(file)
    if load(file) != VERSION:
        raise damaged("the file is of another version")
    if not load(file).get("little_endian", True):
        raise NotSupportedError("load: the file is of a machine with another byte order, and no zip. Hint: save it as a zip.")
    storages: dict[Any, TypedStorage] = {}
    left = len(file.getbuffer())

    def storage_of(pid: Any) -> TypedStorage:
        nonlocal left
        kind, key, location, count, part = storage_id(pid, 6)
        if part is not None:
            raise NotSupportedError("load: the file has storages that are parts of others. Hint: save it as a zip.")
        if key not in storages:
            dtype = dtype_of_kind(kind)
            if type(count) is not int or not 0 <= count * dtype.itemsize <= left:
                raise damaged(f"storage {key} shall have {count} elements of {dtype}, of which the file has {left} bytes")
            left -= count * dtype.itemsize
            storages[key] = TypedStorage(blank_storage(count * dtype.itemsize, dtype, located(location)), dtype)
        return storages[key]

    found = load(file, storage_of)
    for key in load(file):
        if key not in storages:
            raise damaged(f"the file has a storage {key!r} that no tensor is on")
        fill(file, *storages.pop(key))
    if storages:
        raise damaged(f"the file lacks the storages {sorted(storages)}")
    return found


def fill(file: io.BytesIO, storage: Storage, dtype: DType) -> None:
    """Read the next storage of the file: the number of its elements, and they."""
    count, nbytes = int.from_bytes(file.read(8), "little"), storage.array.nbytes
    data = np.frombuffer(file.read(nbytes), np.uint8)
    if count * dtype.itemsize != nbytes or len(data) != nbytes:
        raise damaged(f"a storage of {nbytes} bytes is not there")
    put(data, storage)
