"""What the standard asks of dtypes and devices."""

from __future__ import annotations

from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.dtypes import UNSIGNED, DType, bool_, result_dtype
from ..base.errors import DTypeError, RangeError
from ..tensors.storage import Device

__all__ = ["__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (bool_,),
    "signed integer": (nbgrad.int8, nbgrad.int16, nbgrad.int32, nbgrad.int64),
    "unsigned integer": (nbgrad.uint8, *UNSIGNED),
    "real floating": (nbgrad.float32, nbgrad.float64),
    "complex floating": (nbgrad.complex64, nbgrad.complex128),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


def isdtype(dtype: DType, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, a word of the standard's, or a tuple of such.

    Raises:
        RangeError: there is no such word.

    >>> isdtype(nbgrad.float32, "real floating"), isdtype(nbgrad.int64, ("bool", nbgrad.int32))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise RangeError(f"isdtype: kind is {kind!r}, expected one of {', '.join(KINDS)}.")
        return dtype in KINDS[kind]
    return bool(dtype == kind)


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The tensor with elements of another dtype; a copy unless it may be the tensor itself.

    >>> astype(nbgrad.ones(2), nbgrad.int64)
    tensor([1, 1])
    """
    return x.to(device=device, dtype=dtype, copy=copy)


def can_cast(from_: Any, to: DType, /) -> bool:
    """Whether promotion leads from one dtype to another.

    >>> can_cast(nbgrad.int32, nbgrad.int64)
    True
    """
    try:
        return result_type(from_, to) == to
    except DTypeError:  # there is none for both
        return False


def own_dtype(x: Tensor | DType) -> DType:
    """The dtype, or that of the tensor."""
    return x.dtype if isinstance(x, Tensor) else x


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that tensors, dtypes and numbers are promoted to; of a tensor its dimensions do not count.

    Raises:
        RangeError: only numbers came. DTypeError: uint64 beside a signed integer.

    >>> result_type(nbgrad.int32, nbgrad.float32)
    nbgrad.float32
    """
    dtypes = [own_dtype(x) for x in arrays_and_dtypes if isinstance(x, (Tensor, DType))]
    if not dtypes:
        raise RangeError("result_type: only numbers came, expected a tensor or a dtype.")
    numbers = [x for x in arrays_and_dtypes if not isinstance(x, (Tensor, DType))]
    return result_dtype([(dtype, 1) for dtype in dtypes], numbers)


def together(*tensors: Tensor) -> list[Tensor]:
    """Tensors in the dtype that they are promoted to: torch's products refuse others than equal ones."""
    dtype = result_type(*tensors)
    return [x.to(dtype) for x in tensors]


class FloatInfo(NamedTuple):
    """What a floating dtype holds."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """What an integer dtype holds."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating dtype; of a complex one, those of its parts.

    >>> finfo(nbgrad.float32).bits
    32
    """
    real = own_dtype(type).to_real()
    info = nbgrad.finfo(real)
    return FloatInfo(int(info.bits), info.eps, info.max, info.min, info.smallest_normal, real)


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype.

    >>> iinfo(nbgrad.int8).max
    127
    """
    dtype = own_dtype(type)
    info = nbgrad.iinfo(dtype)
    return IntegerInfo(int(info.bits), info.max, info.min, dtype)


class Info:
    """What the namespace can: the standard's inspection."""

    def capabilities(self) -> dict[str, Any]:
        """Masks and sizes that depend on values are there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where tensors are made."""
        return nbgrad.empty(0).device

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of what is made without one."""
        real = nbgrad.get_default_dtype()
        whole = nbgrad.complex128 if real is nbgrad.float64 else nbgrad.complex64
        return {"real floating": real, "complex floating": whole, "integral": nbgrad.int64, "indexing": nbgrad.int64}

    def devices(self) -> list[Any]:
        """The CPU, and GPUs."""
        found = [Device("cpu")]
        return found + [Device("cuda", k) for k in range(nbgrad.cuda.device_count())]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The standard's dtypes that there are, of a kind."""
        every = (*KINDS["bool"], *KINDS["numeric"])
        return {x.name: x for x in every if kind is None or isdtype(x, kind)}


def __array_namespace_info__() -> Info:
    """What the namespace can.

    >>> sorted(__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return Info()
