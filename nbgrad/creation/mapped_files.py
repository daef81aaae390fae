"""Tensors whose memory is a file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..base.dtypes import DTypeLike, dtype_of, get_default_dtype, uint8
from ..base.errors import DeviceError, FileError, RangeError
from ..tensors.storage import Device, device as as_device
from ..tensors.tensor import Tensor
from ..tensors.untyped import UntypedStorage
from .allocation import leaf
from .numpy_exchange import from_numpy

__all__ = ["from_file", "storage_from_file"]


def from_file(
    filename: str | os.PathLike,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor whose elements are those of a file, read when they are first looked at.

    Args:
        filename: of plain numbers in the processor's byte order, as NumPy's ``tofile`` writes them.
        shared: whether writes to the tensor change the file, which is made, or made longer, if need be; without, they stay here.
        size: how many elements are taken, from the file's beginning.
        dtype: of the elements; the default dtype if None.
        layout: torch's argument; strided.
        device: the CPU.
        requires_grad: whether gradients are recorded.
        pin_memory: must be False: the memory is the file's.

    Returns:
        [size], on the CPU.

    Raises:
        FileError: the file cannot be read, or is too short.
        RangeError: ``size`` is negative. DeviceError: another device, or pinned memory.

    >>> import numpy, nbgrad, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> numpy.arange(4.0).tofile(path)
    >>> nbgrad.from_file(path, size=3, dtype=nbgrad.float64)
    tensor([0., 1., 2.], dtype=nbgrad.float64)
    """
    kind = get_default_dtype() if dtype is None else dtype_of(dtype)
    if size < 0:
        raise RangeError(f"from_file: size is {size}, expected a number from 0.")
    if pin_memory or (device is not None and as_device(device).type != "cpu"):
        where = "pinned memory" if pin_memory else device
        raise DeviceError(f"from_file: a file is no part of {where}. Hint: from_file(...).to(device), or .pin_memory(), copies.")
    needed = size * kind.itemsize
    try:
        if shared:
            with open(filename, "ab") as file:
                if file.tell() < needed:
                    file.truncate(needed)
        held = os.path.getsize(filename)
        if held < needed:
            raise FileError(
                f"from_file: {filename} has {held} bytes, {size} elements of {kind} are {needed}. "
                "Hint: shared=True makes it longer."
            )
        mode: Any = "r+" if shared else "c"
        array = np.memmap(filename, kind.numpy, mode, shape=(size,)) if size else np.empty(0, kind.numpy)
    except OSError as error:
        raise FileError(f"from_file: {filename} cannot be read: {error.strerror}.") from error
    return leaf("from_file", from_numpy(array), requires_grad)


def storage_from_file(filename: str | os.PathLike, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """Memory that is a file: ``UntypedStorage.from_file``.

    Args:
        filename, shared: as of ``from_file``.
        nbytes: how many bytes are taken, from the file's beginning.

    Raises:
        As ``from_file``.
    """
    return UntypedStorage(from_file(filename, shared, nbytes, dtype=uint8)._storage_)
