"""torch's names in files, for which no torch is needed."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...base.dtypes import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

__all__ = ["STORAGES", "Name", "named"]


class Name:
    """A name in a module that need not be there."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *args: Any) -> Any:
        """Pickles contain calls of names; who writes them calls nothing."""
        raise TypeError(f"{self.module}.{self.name} is a name alone.")


@cache
def named(module: str, name: str) -> Name:
    """The name, as one object: a pickle spells it once."""
    return Name(module, name)


# What torch calls the storages of a dtype.
STORAGES: dict[DType, str] = {
    bool_: "BoolStorage",
    uint8: "ByteStorage",
    int8: "CharStorage",
    int16: "ShortStorage",
    int32: "IntStorage",
    int64: "LongStorage",
    float16: "HalfStorage",
    bfloat16: "BFloat16Storage",
    float32: "FloatStorage",
    float64: "DoubleStorage",
    complex64: "ComplexFloatStorage",
    complex128: "ComplexDoubleStorage",
}
