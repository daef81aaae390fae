"""What ``nbgrad.save`` writes: a pickle in which tensors are named as torch names them, and their memory."""

from __future__ import annotations

import io
import os
import pickle
import stat
from collections import OrderedDict
from typing import Any, Callable, NamedTuple

from ...base.dtypes import DType, uint8
from ...base.errors import ArgumentError
from ...base.grad_mode import traces
from ...base.size import Size
from ...graph.edges import requires_grad
from ...kernels.cpu.disk import replacing
from ...tensors.batch_levels import leave_graph
from ...tensors.storage import META, Device, Storage
from ...tensors.tensor import Parameter, Tensor, is_sparse
from ..pickled_hooks import warn_if_has_hooks
from .archive import ArchiveWriter
from .errors import DirectoryPathError, MissingFolderError, SaveError
from .names import STORAGES, Name, named
from .storage_bytes import address_of, bytes_of

__all__ = ["Contents", "pickled", "replace", "write"]


class Contents(NamedTuple):
    """A file, before it is written: a pickle, and storages by their numbers."""

    pickle: bytes
    storages: list[Storage]


class Entry(NamedTuple):
    """A storage in a pickle: its dtype is that of the first tensor on it."""

    number: int
    dtype: DType
    storage: Storage


class Writer(pickle._Pickler):
    """Python's pickler in Python, since the one in C imports what it names."""

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.entries: dict[Any, Entry] = {}

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not Entry:
            return None
        number = obj.storage.array.nbytes // obj.dtype.itemsize
        return "storage", named("torch", STORAGES[obj.dtype]), str(obj.number), str(obj.storage.device), number

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if issubclass(kind, Tensor):
            return self.reduced(obj)
        if kind is Device:
            return named("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if kind is Size:
            return named("torch", "Size"), (tuple(obj),)
        return NotImplemented

    def reduced(self, x: Tensor) -> Any:
        """How a tensor is made, as torch says it."""
        if traces:
            leave_graph("save", x)
        warn_if_has_hooks(x)
        kind, attributes, needs_grad = type(x), vars(x), bool(requires_grad(x))
        if is_sparse(x):
            data = rebuilt_sparse(x)
            if not isinstance(x, Parameter):
                return data
            return named("torch._utils", "_rebuild_parameter"), (Made(*data), needs_grad, OrderedDict())
        if kind is Parameter:
            data = self.rebuilt(x, False)
            name = "_rebuild_parameter_with_state" if attributes else "_rebuild_parameter"
            return named("torch._utils", name), (Made(*data), needs_grad, OrderedDict(), *([attributes] if attributes else []))
        function, args = self.rebuilt(x, needs_grad)
        if kind is Tensor and not attributes:
            return function, args
        named_kind = named("torch", "Tensor") if kind is Tensor else kind
        return named("torch._tensor", "_rebuild_from_type_v2"), (function, named_kind, args, attributes)

    def rebuilt(self, x: Tensor, needs_grad: bool) -> tuple[Name, tuple]:
        """torch's function that makes a tensor on a storage, and its arguments."""
        layout = x.layout.plain()
        if layout.device is META:  # which has nothing to store
            return named("torch._utils", "_rebuild_meta_tensor_no_storage"), (
                layout.dtype,
                layout.shape,
                layout.strides,
                needs_grad,
            )
        entry = self.entry(x._storage_, layout.dtype)
        args: tuple = (entry, x._offset_ // layout.dtype.itemsize, layout.shape, layout.strides, needs_grad, OrderedDict())
        lazy = {name: True for name in ("conj", "neg") if getattr(layout, name)}
        if layout.dtype is entry.dtype:
            return named("torch._utils", "_rebuild_tensor_v2"), (*args, lazy) if lazy else args
        return named("torch._utils", "_rebuild_tensor_v3"), (*args, layout.dtype, *([lazy] if lazy else []))

    def entry(self, storage: Storage, dtype: DType) -> Entry:
        """The storage's place in the file: one for all that share its memory."""
        nbytes = storage.array.nbytes
        key = (storage.device, address_of(storage), nbytes) if nbytes else id(storage)
        found = self.entries.get(key)
        if found is None:
            fits = nbytes % dtype.itemsize == 0 and dtype in STORAGES  # torch has no storages of the other dtypes
            found = self.entries[key] = Entry(len(self.entries), dtype if fits else uint8, storage)
        return found


class Made(NamedTuple):
    """What a function makes of arguments when the pickle is read."""

    function: Name
    args: tuple


def rebuilt_sparse(x: Any) -> tuple[Name, tuple]:
    """torch's function that makes a sparse tensor, and its arguments: layout, places, values and shape."""
    layout = Made(named("torch.serialization", "_get_layout"), (f"torch.{x._format_.__name__}",))
    told = (x.is_coalesced(),) if x.is_sparse else ()
    return named("torch._utils", "_rebuild_sparse_tensor"), (layout, (*x._places_, x._given_.detach(), x.shape, *told))


def save_name(writer: Any, name: Name) -> None:
    """A name of a module that need not be there."""
    writer.write(pickle.GLOBAL + f"{name.module}\n{name.name}\n".encode())
    writer.memoize(name)


def save_dtype(writer: Any, dtype: DType) -> None:
    """torch's dtype of that name."""
    writer.save(named("torch", dtype.name))


def save_made(writer: Any, made: Made) -> None:
    """A call."""
    writer.save_reduce(*made, obj=made)


dispatch: dict[type, Callable] = {**pickle._Pickler.dispatch, Name: save_name, DType: save_dtype, Made: save_made}
Writer.dispatch = dispatch


def pickled(obj: Any, protocol: int) -> Contents:
    """An object as the contents of a file.

    Raises:
        SaveError: it cannot be pickled.
    """
    file = io.BytesIO()
    writer = Writer(file, protocol)
    try:
        writer.dump(obj)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise SaveError(f"save: the object cannot be pickled: {error}. Hint: save its state_dict().") from error
    return Contents(file.getvalue(), [entry.storage for entry in writer.entries.values()])


def write(file: Any, contents: Contents) -> None:
    """Write a file's contents."""
    with ArchiveWriter(file) as archive:
        archive.put("data.pkl", contents.pickle)
        archive.put("byteorder", b"little")
        for number, storage in enumerate(contents.storages):
            archive.put(f"data/{number}", bytes_of(storage))
        archive.put("version", b"3\n")


def replace(path: Any, write: Callable[[Any], None]) -> None:
    """Let ``write(file)`` make the file that takes the place of what is at a path, when it is whole.

    What is no regular file (a pipe) is written to.

    Raises:
        MissingFolderError: the path's folder is not there. DirectoryPathError: the path is a folder.
    """
    path = os.path.realpath(os.fsdecode(path))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise MissingFolderError(f"save: there is no folder {folder}. Hint: os.makedirs makes it.")
    if os.path.isdir(path):
        raise DirectoryPathError(f"save: {path} is a folder, expected the path of a file.")
    try:
        mode: int | None = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            return write(file)
    chosen = stat.S_IMODE(mode) if mode is not None else 0o666 & ~umask()
    with replacing(path, chosen, prefix=f".{os.path.basename(path)}.") as file:
        write(file)


def umask() -> int:
    """What new files of this process may not be: read by setting it, as there is no other way."""
    found = os.umask(0o077)
    os.umask(found)
    return found
