"""Memory behind tensors, as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.dtypes import uint8
from ..base.errors import DeviceError
from ..native.primitives import array_data
from .layout import layout_of
from .storage import CPU, META, Storage, wrap_array
from .tensor import native

__all__ = ["UntypedStorage"]


class UntypedStorage:
    """The memory behind a tensor, as bytes: shared by its views and aliases. Two of the same memory are equal.

    >>> import nbgrad
    >>> x = nbgrad.zeros(4)
    >>> x[1:].untyped_storage() == x.untyped_storage(), x[1:].untyped_storage().nbytes()
    (True, 16)
    """

    __slots__ = ("storage",)

    def __init__(self, storage: Storage):
        self.storage = storage

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self.storage.array.nbytes

    size = __len__ = nbytes

    def __sizeof__(self) -> int:
        """What ``sys.getsizeof`` says: the object and the memory that it stands for."""
        return object.__sizeof__(self) + self.nbytes()

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return array_data(self.storage.array)

    @property
    def device(self) -> Any:
        """Where it is."""
        return self.storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return self.storage.device.type == "cuda"

    def cpu(self) -> UntypedStorage:
        """Itself, or a copy on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Itself, or a copy on a GPU, by default the current one.

        Raises:
            DeviceError: there is none.
        """
        return self.to("cuda" if device is None else device, non_blocking)

    def to(self, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """Itself, or a copy on another device."""
        x: Any = native.tensor(layout_of(uint8, (self.nbytes(),), None, self.device).template, self.storage, 0, False, None)
        there = x.to(device, non_blocking=non_blocking)
        return self if there is x else UntypedStorage(there._storage_)

    @property
    def _cdata(self) -> int:
        return id(self.storage)

    def tolist(self) -> list[int]:
        """The bytes."""
        if self.storage.device is not CPU:
            from .gpu import bytes_of

            return bytes_of(self.storage).tolist()
        return self.storage.array.view(np.uint8).tolist()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and self.storage.device is CPU:
            part = self.storage.array.view(np.uint8)[index]
            return UntypedStorage(wrap_array(part, self.storage.writable))  # type: ignore[arg-type]
        return self.tolist()[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.storage.device is not CPU:
            raise DeviceError(f"UntypedStorage: NumPy reads no memory on {self.device}. Hint: storage.cpu().")
        return np.array(self.storage.array.view(np.uint8), dtype, copy=copy)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def _place(self) -> int:
        """What tells this memory from other memory: where it begins, or which object stands for it, if it is nowhere."""
        return id(self.storage.array) if self.storage.device is META else self.data_ptr()

    def __repr__(self) -> str:
        return f"<UntypedStorage of {self.nbytes()} bytes on {self.device}>"
