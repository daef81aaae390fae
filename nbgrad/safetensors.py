"""Tensors by name in safetensors' format: a header of JSON and the elements, with nothing in it that could run.

Written and read here, without a library; other programs' files are read, and theirs read these (``safetensors.torch`` has these
names). What shares memory is written for each name, and shares none when it is read.

>>> import nbgrad
>>> from nbgrad import safetensors
>>> data = safetensors.save({"weight": nbgrad.ones(2)}, metadata={"format": "pt"})
>>> safetensors.load(data)
{'weight': tensor([1., 1.])}
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from os import SEEK_END, PathLike
from typing import Any, BinaryIO, NamedTuple

import numpy as np

import nbgrad

from . import Tensor
from .base.dtypes import DType, bool_
from .base.errors import ArgumentError, FileError, NamingError, NotSupportedError
from .methods.files.writing import replace

__all__ = ["load", "load_file", "load_model", "metadata_of", "save", "save_file", "save_model"]

# The format's names of dtypes.
NAMES: dict[str, DType] = {
    "BOOL": bool_,
    "U8": nbgrad.uint8,
    "U16": nbgrad.uint16,
    "U32": nbgrad.uint32,
    "U64": nbgrad.uint64,
    "I8": nbgrad.int8,
    "I16": nbgrad.int16,
    "I32": nbgrad.int32,
    "I64": nbgrad.int64,
    "F16": nbgrad.float16,
    "BF16": nbgrad.bfloat16,
    "F32": nbgrad.float32,
    "F64": nbgrad.float64,
}
DTYPES = {dtype: name for name, dtype in NAMES.items()}
MOST_HEADER = 100_000_000  # bytes, as the format has it
METADATA = "__metadata__"


class Entry(NamedTuple):
    """A tensor in a file: its bytes are those from ``begin`` on, behind the header."""

    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


# ---- writing -----------------------------------------------------------------------------------------------------------


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """A file's contents.

    Args:
        tensors: by name; strided ones are written row by row, those of a GPU from the host.
        metadata: texts by name.

    Raises:
        ArgumentError: no mapping of names to tensors, or metadata that are no texts. NotSupportedError: complex numbers.

    >>> sorted(load(save({"x": nbgrad.ones(2), "y": nbgrad.zeros(1)})))
    ['x', 'y']
    """
    file = io.BytesIO()
    write(file, *prepared("save", tensors, metadata))
    return file.getvalue()


def save_file(tensors: Mapping[str, Tensor], filename: str | PathLike, metadata: Mapping[str, str] | None = None) -> None:
    """Write a file, whole or not at all.

    Args:
        tensors, metadata: as of ``save``.

    Raises:
        As ``save``; OSError: the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"x": nbgrad.ones(2)}, f"{folder}/x.safetensors")
    ...     load_file(f"{folder}/x.safetensors")
    {'x': tensor([1., 1.])}
    """
    header, parts = prepared("save_file", tensors, metadata)
    replace(filename, lambda file: write(file, header, parts))


def save_model(model: Any, filename: str | PathLike, metadata: Mapping[str, str] | None = None) -> None:
    """``save_file`` of a module's ``state_dict()``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(nbgrad.nn.Linear(2, 1), f"{folder}/model.safetensors")
    ...     sorted(load_file(f"{folder}/model.safetensors"))
    ['bias', 'weight']
    """
    save_file(model.state_dict(), filename, metadata)


def prepared(op: str, tensors: Any, metadata: Any) -> tuple[bytes, list[Tensor]]:
    """The header, and the tensors in the order of their bytes.

    Raises:
        ArgumentError, NotSupportedError: as ``save``.
    """
    if not isinstance(tensors, Mapping) or not all(isinstance(x, Tensor) and isinstance(name, str) for name, x in tensors.items()):
        raise ArgumentError(f"{op}: expected tensors by name, got {type(tensors).__name__}. Hint: {{'weight': tensor}}.")
    if metadata is not None and not all(isinstance(each, str) for pair in metadata.items() for each in pair):
        raise ArgumentError(f"{op}: metadata is {metadata!r}, expected texts by name.")
    header: dict[str, Any] = {} if metadata is None else {METADATA: dict(metadata)}
    begin = 0
    # The widest first, so that all elements are aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    for name, x in ordered:
        if x.dtype not in DTYPES:
            raise NotSupportedError(f"{op}: {name!r} is {x.dtype.name}, which the format has not. Hint: view_as_real.")
        if name == METADATA:
            raise ArgumentError(f"{op}: {METADATA!r} is the name of the metadata, and no tensor's.")
        end = begin + x.numel() * x.element_size()
        header[name] = {"dtype": DTYPES[x.dtype], "shape": list(x.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8), [x for _, x in ordered]


def write(file: BinaryIO, header: bytes, tensors: list[Tensor]) -> None:
    """Write header and elements."""
    file.write(len(header).to_bytes(8, "little"))
    file.write(header)
    for x in tensors:
        file.write(bytes_in(x.detach().cpu().contiguous()))


def bytes_in(x: Tensor) -> memoryview:
    """The elements of a contiguous tensor."""
    if not x.numel():
        return memoryview(b"")
    data: Any = x.reshape(-1).view(nbgrad.uint8).numpy()  # type: ignore[arg-type]
    return memoryview(data)


# ---- reading -----------------------------------------------------------------------------------------------------------


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors of a file's contents.

    Raises:
        FileError: it is damaged, or no such file.

    >>> load(save({"x": nbgrad.ones(2)}))
    {'x': tensor([1., 1.])}
    """
    return read(io.BytesIO(data), "cpu")


def load_file(filename: str | PathLike, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file, on a device.

    Raises:
        FileError: it is damaged, or no such file; nothing is returned then. OSError: it cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"x": nbgrad.arange(2)}, f"{folder}/x.safetensors")
    ...     load_file(f"{folder}/x.safetensors")
    {'x': tensor([0, 1])}
    """
    with open(filename, "rb") as file:
        return read(file, device)


def load_model(model: Any, filename: str | PathLike, strict: bool = True, device: Any = "cpu") -> tuple[list[str], list[str]]:
    """Load a file into a module.

    Returns:
        The names that the file lacks, and those that the module has not.

    Raises:
        As ``load_file`` and ``Module.load_state_dict``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(nbgrad.nn.Linear(2, 1, bias=False), f"{folder}/model.safetensors")
    ...     load_model(nbgrad.nn.Linear(2, 1), f"{folder}/model.safetensors", strict=False)
    (['bias'], [])
    """
    found = model.load_state_dict(load_file(filename, device), strict=strict)
    return list(found.missing_keys), list(found.unexpected_keys)


def metadata_of(filename: str | PathLike) -> dict[str, str]:
    """The texts that a file was written with.

    Raises:
        FileError: it is damaged, or no such file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({}, f"{folder}/x.safetensors", {"by": "me"})
    ...     metadata_of(f"{folder}/x.safetensors")
    {'by': 'me'}
    """
    with open(filename, "rb") as file:
        return entries_of(file)[1]


def read(file: BinaryIO, device: Any) -> dict[str, Tensor]:
    """The tensors of an open file."""
    entries, _ = entries_of(file)
    start, found = file.tell(), {}
    reading: Any = file.readinto  # type: ignore[attr-defined]
    for name, entry in entries.items():
        file.seek(start + entry.begin)
        data: Any = np.empty(entry.end - entry.begin, np.uint8)
        if reading(memoryview(data)) != len(data):
            raise damaged(f"it ends within {name!r}")
        x: Any = nbgrad.empty(0, dtype=entry.dtype)
        if len(data):
            x = nbgrad.from_numpy(data).view(entry.dtype)  # type: ignore[arg-type]
        found[name] = x.reshape(entry.shape).to(device)
    return found


def entries_of(file: BinaryIO) -> tuple[dict[str, Entry], dict[str, str]]:
    """What the header names, and the metadata; the file is at the first element then.

    Raises:
        FileError: the header is none, or does not fit the file.
    """
    size = file.seek(0, SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, MOST_HEADER):
        raise damaged(f"its header would have {length} bytes, of {size}")
    try:
        header = json.loads(file.read(length), object_pairs_hook=distinct)
    except (ValueError, RecursionError) as error:
        raise damaged(f"its header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise damaged("its header is no object of JSON")
    texts = header.pop(METADATA, {})
    if not isinstance(texts, dict) or not all(isinstance(each, str) for each in texts.values()):
        raise damaged("its metadata are no texts")
    entries = {name: entry_of(name, value) for name, value in header.items()}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1][2:]):
        if entry.begin != end:
            raise damaged(f"{name!r} begins at {entry.begin}, expected {end}")
        end = entry.end
    if end != size - 8 - length:
        raise damaged(f"it has {size - 8 - length} bytes of elements, its header names {end}")
    return entries, texts


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose names are distinct.

    Raises:
        NamingError: they are not.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        raise NamingError("a name is there twice")
    return made


def entry_of(name: str, value: Any) -> Entry:
    """A tensor's entry.

    Raises:
        FileError: it is none, or its numbers do not fit.
    """
    match value:
        case {"dtype": str(word), "shape": list(shape), "data_offsets": [int(begin), int(end)]} if word in NAMES:
            dtype = NAMES[word]
        case _:
            raise damaged(f"the entry of {name!r} is {str(value)[:200]}")
    if not all(type(each) is int and each >= 0 for each in (*shape, begin, end)):
        raise damaged(f"the entry of {name!r} has sizes {shape} and places {[begin, end]}")
    needed = math.prod(shape) * dtype.itemsize
    if end - begin != needed:
        raise damaged(f"{name!r} has {end - begin} bytes, its shape {shape} and dtype {word} say {needed}")
    return Entry(dtype, tuple(shape), begin, end)


def damaged(what: str) -> FileError:
    """The error of a file that is not as it should be."""
    return FileError(f"safetensors: the file is damaged, or no such file: {what}.")
