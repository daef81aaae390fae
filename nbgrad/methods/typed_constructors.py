"""Constructors that take sizes or data: ``Tensor`` and its subclasses, and by dtype, ``FloatTensor`` and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, get_default_dtype
from ..base.errors import ArgumentError
from ..base.size import Size
from ..creation.casting import TYPE_NAMES, on_device
from ..creation.factories import empty
from ..creation.from_data import as_tensor, tensor
from ..tensors.tensor import Tensor
from ..tensors.untyped import UntypedStorage
from .memory import memory_of

__all__ = ["CONSTRUCTOR_NAMES", "constructor", "dtype_called"]


class TensorType(type):
    """Of the old constructors: a tensor of its dtype is an instance."""

    dtype: DType
    place: str

    def __call__(cls, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        return constructed(cls.__name__, cls.dtype, args, device or cls.place or None, kwargs)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and x.layout.dtype is cls.dtype and x.device.type == (cls.place or "cpu")


def constructed(name: str, dtype: DType, args: tuple, device: Any, named: dict[str, Any]) -> Tensor:
    """A tensor without values of the sizes that are given, or of the one argument's data.

    A tensor is shared, with its history, and so is the memory of an array of the dtype.

    Args:
        named: the one argument by its name, ``data`` or ``size``.
    """
    if named:
        if args or len(named) > 1 or not named.keys() <= {"data", "size"}:
            raise ArgumentError(
                f"{name}: got the argument {next(iter(named))!r} beside {len(args)} others; expected sizes, or data, and device. "
                f"Hint: nbgrad.tensor(data, dtype=..., requires_grad=...)."
            )
        args = (named["data"],) if "data" in named else tuple(named["size"])
    place = on_device(name, device)
    if all(is_size(each) for each in args):
        return empty(*(args or (0,)), dtype=dtype, device=place)
    if len(args) != 1:
        raise ArgumentError(f"{name}: expected sizes, or data; got {len(args)} arguments. Hint: nbgrad.tensor(data).")
    (data,) = args
    if isinstance(data, Size):
        return empty(data, dtype=dtype, device=place)
    if isinstance(data, UntypedStorage):
        return memory_of(empty(0, dtype=dtype, device=place), data)
    if isinstance(data, Tensor):
        if data.layout.dtype is not dtype:
            raise ArgumentError(f"{name}: the tensor is of {data.layout.dtype}, expected {dtype}. Hint: x.to(nbgrad.{dtype.name}).")
        return CALLS["alias"](data if device is None or data.layout.device == place else data.to(place))
    if data is None or isinstance(data, (bool, float, complex, np.generic)):
        raise ArgumentError(f"{name}: expected sizes, or data in a sequence; got {data!r}. Hint: nbgrad.tensor({data!r}).")
    return (as_tensor if isinstance(data, np.ndarray) else tensor)(data, dtype=dtype, device=place)


def is_size(each: Any) -> bool:
    """Whether an argument can be one of several sizes: an int of Python's or NumPy's."""
    return isinstance(each, (int, np.integer)) and not isinstance(each, bool)


def tensor_of_class(cls: type[Tensor], args: tuple, device: Any, named: dict[str, Any]) -> Tensor:
    """What ``Tensor(...)`` and its subclasses make: of the default dtype, unless it is a tensor that is shared."""
    given = args[0] if len(args) == 1 and not named else named.get("data")
    dtype = given.layout.dtype if isinstance(given, Tensor) else get_default_dtype()
    made = constructed(cls.__name__, dtype, args, device, named)
    return made if cls is Tensor else made.as_subclass(cls)


CALLS["tensor_of_class"] = tensor_of_class

CONSTRUCTOR_NAMES = {dtype: f"{name}Tensor" for dtype, name in TYPE_NAMES.items() if not dtype.is_complex}


def dtype_called(name: str) -> DType | None:
    """The dtype of the old constructor of that name; None: there is no such constructor."""
    return next((dtype for dtype, known in CONSTRUCTOR_NAMES.items() if known == name), None)


def constructor(name: str, dtype: DType, place: str = "") -> type:
    """The class ``FloatTensor`` and its like; ``place``: a device, "" for the default one."""
    doc = f"The old form of ``tensor(data, dtype=nbgrad.{dtype.name})`` and of ``empty(*sizes, dtype=nbgrad.{dtype.name})``."
    return TensorType(name, (), {"dtype": dtype, "place": place, "__doc__": doc, "__module__": f"nbgrad.{place}".rstrip(".")})
