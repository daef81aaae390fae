"""Memory behind tensors as numbers of their dtype, for programs from before ``untyped_storage``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from ..base.dtypes import dtype_of, get_default_dtype
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor, native
from ..tensors.untyped import UntypedStorage
from .typed_constructors import constructed

__all__ = ["TypedStorage", "UntypedStorage", "storage"]


class TypedStorage:
    """The memory behind a tensor, as a row of numbers: what is written here shows in all tensors that share it.

    Args:
        args: a size, or numbers, of new memory.
        wrap_storage: the memory, as bytes, in the place of a new one.
        dtype, device: of the numbers; the default ones. ``_internal`` is torch's, without effect.

    >>> import nbgrad, warnings
    >>> x = nbgrad.tensor([1.0, 2.0, 3.0])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     numbers = x[1:].storage()
    >>> numbers[0] = 5.0
    >>> len(numbers), x[0].item()
    (3, 5.0)
    """

    __slots__ = ("_elements",)

    def __init__(
        self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False
    ) -> None:
        dtype = get_default_dtype() if dtype is None else dtype_of(dtype)
        if wrap_storage is None:
            wrap_storage = constructed("TypedStorage", dtype, args, device, {}).untyped_storage()
        memory = wrap_storage.storage
        layout = layout_of(dtype, (wrap_storage.nbytes() // dtype.itemsize,), None, memory.device)
        self._elements: Tensor = native.tensor(layout.template, memory, 0, False, None)

    @property
    def dtype(self) -> Any:
        """That of the tensor."""
        return self._elements.dtype

    @property
    def device(self) -> Any:
        """Where it is."""
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return self.untyped().is_cuda

    def untyped(self) -> UntypedStorage:
        """The memory as bytes."""
        return UntypedStorage(self._elements._storage_)

    _untyped_storage = property(untyped)

    def size(self) -> int:
        """How many numbers there are."""
        return self._elements.numel()

    __len__ = size

    def element_size(self) -> int:
        """Bytes of a number."""
        return self._elements.element_size()

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self.untyped().nbytes()

    def data_ptr(self) -> int:
        """Address of the first number."""
        return self.untyped().data_ptr()

    def is_shared(self) -> bool:
        """Whether other processes may share it."""
        return self._elements.is_shared()

    def tolist(self) -> list:
        """The numbers."""
        return self._elements.tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Write a number everywhere."""
        self._elements.fill_(value)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        return self._elements[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.dtype is other.dtype and self.untyped() == other.untyped()

    def __hash__(self) -> int:
        return hash(self.untyped())

    def __repr__(self) -> str:
        return f"<TypedStorage of {self.size()} numbers of {self.dtype} on {self.device}>"


def storage(x: Tensor) -> TypedStorage:
    """The memory behind the tensor as numbers of its dtype, with a warning: ``untyped_storage`` is what will stay."""
    warnings.warn("storage(): typed storages are old and will go. Hint: x.untyped_storage().", UserWarning, stacklevel=2)
    return TypedStorage(wrap_storage=x.untyped_storage(), dtype=x.dtype)
