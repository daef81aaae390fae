"""Constructors by dtype, as old programs use them: ``sparse.FloatTensor(indices, values, size)`` and its like."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import Size
from ..methods.typed_constructors import TensorType, dtype_called
from .making import sparse_coo_tensor
from .tensors import SparseTensor

__all__ = ["constructor"]


class SparseType(TensorType):
    """Of the old constructors: coordinates with values of its dtype are an instance."""

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if not args or isinstance(args[0], (int, Size)):
            size = args if args and isinstance(args[0], int) else args[0] if args else (0,)
            return sparse_coo_tensor(size=size, dtype=cls.dtype, device=device)
        return sparse_coo_tensor(*args, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, SparseTensor) and x.is_sparse and x.dtype is cls.dtype


@cache
def constructor(name: str) -> type | None:
    """The constructor of that name; None where there is none."""
    dtype = dtype_called(name)
    if dtype is None:
        return None
    doc = f"The old form of ``sparse_coo_tensor(indices, values, size, dtype=nbgrad.{dtype.name})``."
    return SparseType(name, (), {"dtype": dtype, "place": "", "__doc__": doc, "__module__": "nbgrad.sparse"})
