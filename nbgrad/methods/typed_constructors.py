"""Constructors by dtype, as old programs use them: ``FloatTensor`` and its like."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import DType
from ..base.errors import ArgumentError
from ..base.size import Size
from ..creation.casting import TYPE_NAMES, on_device
from ..creation.factories import empty, tensor
from ..tensors.tensor import Tensor

__all__ = ["CONSTRUCTOR_NAMES", "constructor", "dtype_called"]


class TensorType(type):
    """Of the old constructors: a tensor of its dtype is an instance."""

    dtype: DType
    place: str

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        device = on_device(cls.__name__, device or cls.place or None)
        if all(isinstance(size, int) for size in args):
            return empty(*(args or (0,)), dtype=cls.dtype, device=device)
        if len(args) != 1:
            raise ArgumentError(f"{cls.__name__}: expected sizes, or data; got {len(args)} arguments.")
        (data,) = args
        if isinstance(data, Size):
            return empty(*data, dtype=cls.dtype, device=device)
        return tensor(data, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and x.layout.dtype is cls.dtype and x.device.type == (cls.place or "cpu")


CONSTRUCTOR_NAMES = {dtype: f"{name}Tensor" for dtype, name in TYPE_NAMES.items() if not dtype.is_complex}


def dtype_called(name: str) -> DType | None:
    """The dtype of the old constructor of that name; None: there is no such constructor."""
    return next((dtype for dtype, known in CONSTRUCTOR_NAMES.items() if known == name), None)


def constructor(name: str, dtype: DType, place: str = "") -> type:
    """The class ``FloatTensor`` and its like; ``place``: a device, "" for the default one."""
    doc = f"The old form of ``tensor(data, dtype=nbgrad.{dtype.name})`` and of ``empty(*sizes, dtype=nbgrad.{dtype.name})``."
    return TensorType(name, (), {"dtype": dtype, "place": place, "__doc__": doc, "__module__": f"nbgrad.{place}".rstrip(".")})
