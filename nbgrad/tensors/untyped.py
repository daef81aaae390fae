"""Memory behind tensors, as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..native.primitives import array_data
from .storage import CPU, Storage

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

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return array_data(self.storage.array)

    @property
    def device(self) -> Any:
        """Where it is."""
        return self.storage.device

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
        return self.tolist()[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def __repr__(self) -> str:
        return f"<UntypedStorage of {self.nbytes()} bytes on {self.device}>"
