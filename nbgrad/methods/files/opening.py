"""Which kind of file it is, and what is in it."""

from __future__ import annotations

import io
import pickle
from typing import Any, Callable

import numpy as np

from ...tensors.storage import located
from .archive import Archive, damaged
from .errors import LoadError
from .legacy import MAGIC, read_legacy
from .restricted import restricted_load
from .storage_bytes import storage_of
from .torch_makers import TypedStorage, dtype_of_kind, no_storage, storage_id

__all__ = ["read"]

ZIP = (b"PK\3\4", b"PK\5\6")


def read(file: Any, weights_only: bool, mmap: bool = False) -> Any:
    """The object in a file that is open, from where it stands."""
    try:
        at = file.tell()
        file.seek(at)
    except (AttributeError, OSError):  # a pipe
        file, at = io.BytesIO(file.read()), 0
    first = file.read(len(MAGIC))
    file.seek(at)
    if first[:4] in ZIP:
        return read_zip(file if not at else io.BytesIO(file.read()), weights_only, mmap)
    if mmap:
        raise LoadError(
            "load: mmap=True needs a zip as nbgrad.save and torch.save write it. Hint: load it without, and save it again."
        )
    load = restricted_load if weights_only else full_load
    data = io.BytesIO(file.read())
    if first == MAGIC:
        return read_legacy(data, load)
    found = load(data)
    file.seek(at + data.tell())
    return found


def read_zip(file: Any, weights_only: bool, mmap: bool) -> Any:
    """The object in a zip."""
    mapped = np.memmap(file, np.uint8, "c").view(np.ndarray) if mmap else None
    archive = Archive(file, mapped)
    load = restricted_load if weights_only else full_load
    return load(io.BytesIO(archive.read("data.pkl").tobytes()), Storages(archive))


class Storages:
    """The storages of a zip, each made once.

    Raises:
        LoadError: no persistent id of torch's, or a member of another size.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.made: dict[str, TypedStorage] = {}

    def __call__(self, pid: Any) -> TypedStorage:
        kind, key, location, count = storage_id(pid, 5)
        found = self.made.get(key)
        if found is None:
            dtype = dtype_of_kind(kind)
            data = self.archive.read(f"data/{key}")
            if type(count) is not int or count * dtype.itemsize != data.nbytes:
                raise damaged(f"storage {key} has {data.nbytes} bytes, and shall have {count} elements of {dtype}")
            if self.archive.is_foreign:
                width = dtype.to_real().itemsize
                data = data.view(f"u{width}").byteswap().view(np.uint8) if width > 1 else data
            found = self.made[key] = TypedStorage(storage_of(data, dtype, located(location)), dtype)
        return found


class Full(pickle.Unpickler):
    """What runs whatever a file says; torch's names are those that files without a doubt have."""

    def __init__(self, file: Any, storage_of: Callable[[Any], Any]) -> None:
        super().__init__(file)
        self.storage_of = storage_of

    def persistent_load(self, pid: Any) -> Any:
        return self.storage_of(pid)

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] != "torch":
            return super().find_class(module, name)
        from .makers import MAKERS

        found = MAKERS.get((module, name))
        if found is None:
            raise LoadError(f"load: the file names {module}.{name}, which is torch's own. Hint: save the state_dict() there.")
        return found


def full_load(file: io.BytesIO, storage_of: Callable[[Any], Any] = no_storage) -> Any:
    """The object of a pickle that may call anything.

    Raises:
        LoadError: it is no pickle.
    """
    try:
        return Full(file, storage_of).load()
    except (pickle.UnpicklingError, EOFError, UnicodeDecodeError) as error:
        raise damaged(f"the file holds no pickle, or a part of one: {error}") from None
