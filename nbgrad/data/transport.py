"""Batches from one process to another.

NOTE [Memory without a name]: what is more than a few kilobytes goes through memory that the system gives without a name
(``memfd_create``), of which the worker sends the descriptor, and which the program reads into tensors of its own. Nothing of it
outlives the processes, however they end; no limit of /dev/shm counts; the worker never waits for a reader, and a program that keeps
its batches keeps no descriptors. Where the system has no such memory everything goes through the pipe.
"""

from __future__ import annotations

import io
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ..base.dtypes import dtype_of
from ..base.errors import NbgradError
from ..graph.edges import requires_grad
from ..methods.pickling import attributes_of, reduce_tensor, tensor_of
from ..tensors.storage import CPU, Storage, wrap_array
from ..tensors.tensor import Tensor

__all__ = ["Packed", "packed", "receive", "send"]

Packed = tuple[bytes, list[memoryview]]
INLINE = 16 << 10  # bytes that go through the pipe, which holds some of them before anybody reads


class Packer(pickle.Pickler):
    """Pickles a batch; the memory of arrays and tensors is left beside it, uncopied."""

    def reducer_override(self, x: Any) -> Any:
        if isinstance(x, Storage) and x.device is CPU:
            data: Any = np.ascontiguousarray(x.array).view(np.uint8)
            return storage_in, (pickle.PickleBuffer(data), x.array.dtype.name, x.writable is not False)
        if isinstance(x, Tensor) and x._storage_.device is CPU:
            needed = x.layout.numel * x.layout.dtype.itemsize
            if x._storage_.array.nbytes <= needed:
                return reduce_tensor(x, 5)
            part = x.detach().clone()  # a row of a dataset is not sent with all others
            return tensor_of, (type(x), part._storage_, part.layout, 0, bool(requires_grad(x)), attributes_of(x))
        return NotImplemented


def storage_in(data: Any, name: str, writable: bool) -> Storage:
    """The storage on memory that was received."""
    array = np.frombuffer(data, np.uint8).view(dtype_of(name).numpy)
    array.flags.writeable = writable
    return wrap_array(array, writable)


def packed(value: Any) -> Packed:
    """A value as a pickle and the memory that belongs to it."""
    buffers: list[pickle.PickleBuffer] = []
    text = io.BytesIO()
    Packer(text, 5, buffer_callback=buffers.append).dump(value)
    return text.getvalue(), [buffer.raw() for buffer in buffers]


def send(connection: Connection, head: tuple, value: Packed) -> None:
    """Send what ``packed`` gave, behind a few words."""
    text, buffers = value
    sizes = [len(text), *map(len, buffers)]
    unnamed = sum(sizes) > INLINE and hasattr(os, "memfd_create")
    connection.send_bytes(pickle.dumps((*head, sizes, unnamed)))
    if not unnamed:
        connection.send_bytes(b"".join((text, *buffers)))
        return
    memory = os.memfd_create("nbgrad batch")
    try:
        for part in (memoryview(text), *buffers):
            while len(part):
                part = part[os.write(memory, part) :]
        reduction.send_handle(connection, memory, None)
    finally:
        os.close(memory)


def receive(connection: Connection) -> tuple[tuple, Any]:
    """The words, and a function that gives the value, whose pickle is not read before.

    Raises:
        EOFError, OSError: the other side has ended.
    """
    *head, sizes, unnamed = pickle.loads(connection.recv_bytes())
    parts = [np.empty(size, np.uint8) for size in sizes]
    if unnamed:
        memory = reduction.recv_handle(connection)
        try:
            read_into(memory, parts)
        finally:
            os.close(memory)
    else:
        whole, begin = memoryview(connection.recv_bytes()), 0
        for part in parts:
            part[:] = np.frombuffer(whole[begin : begin + len(part)], np.uint8)
            begin += len(part)
    text: Any = parts[0]
    return tuple(head), lambda: pickle.loads(text, buffers=parts[1:])


def read_into(memory: int, parts: list[Any]) -> None:
    """Fill arrays from the beginning of a file."""
    offset = 0
    for part in parts:
        rest = memoryview(part)
        while len(rest):
            count = os.preadv(memory, [rest], offset)
            if not count:
                raise NbgradError("DataLoader: a worker's memory ends before its batch does.")
            rest, offset = rest[count:], offset + count
