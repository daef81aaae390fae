"""Static types of what kernels compute, under the names that Numba's have: primitives are declared once, for both compilers.

A kind called with others is the signature of a function that returns it, as in Numba.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir

__all__ = ["Boolean", "Complex", "Float", "Integer", "IntegerLiteral", "Kind", "Pointer", "Refused", "Signature", "Tuple"]


class Refused(Exception):
    """The kernel contains what this compiler does not know."""


class Signature(NamedTuple):
    """Of a function: what it returns, and of what."""

    return_type: Kind
    args: tuple[Kind, ...]


class Kind:
    """A static type.

    Attributes:
        name: as of the dtype.
        llvm: LLVM's type.
    """

    def __init__(self, name: str, llvm: Any):
        self.name, self.llvm = name, llvm

    def __call__(self, *args: Kind) -> Signature:
        return Signature(self, args)

    def __repr__(self) -> str:
        return self.name


class Boolean(Kind):
    """A truth value, one bit."""

    bitwidth = 1


class Integer(Kind):
    """An integer of ``bitwidth`` bits."""

    def __init__(self, name: str, bitwidth: int, signed: bool):
        super().__init__(name, ir.IntType(bitwidth))
        self.bitwidth, self.signed = bitwidth, signed


class IntegerLiteral(Integer):
    """An int64 that the compiler knows."""

    def __init__(self, value: int):
        super().__init__("int64", 64, True)
        self.literal_value = value


class Float(Kind):
    """A number of ``bitwidth`` bits."""

    def __init__(self, name: str, bitwidth: int, llvm: Any):
        super().__init__(name, llvm)
        self.bitwidth = bitwidth


class Complex(Kind):
    """Two of ``underlying_float``."""

    def __init__(self, name: str, part: Float):
        super().__init__(name, ir.LiteralStructType([part.llvm, part.llvm]))
        self.underlying_float = part


class Pointer(Kind):
    """The address of elements of ``dtype``, in one of the target's memories: LLVM's address space."""

    def __init__(self, dtype: Kind, space: int = 0):
        super().__init__(f"{dtype}*{space or ''}", dtype.llvm.as_pointer(space))
        self.dtype = dtype

    def reached(self, b: Any, address: Any, writes: bool) -> Any:
        """The address to use in the place of that of an element which is about to be read or written."""
        return address


class Tuple(Kind):
    """Several values."""

    def __init__(self, kinds: tuple[Kind, ...]):
        super().__init__(f"({', '.join(map(str, kinds))})", ir.LiteralStructType([kind.llvm for kind in kinds]))
        self.kinds = kinds

    def __len__(self) -> int:
        return len(self.kinds)


CPointer = cache(Pointer)
boolean = bool_ = Boolean("bool", ir.IntType(1))
int8, int16, int32, int64 = (Integer(f"int{bits}", bits, True) for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Integer(f"uint{bits}", bits, False) for bits in (8, 16, 32, 64))
float32, float64 = Float("float32", 32, ir.FloatType()), Float("float64", 64, ir.DoubleType())
complex64, complex128 = Complex("complex64", float32), Complex("complex128", float64)
void, voidptr = Kind("void", ir.VoidType()), Kind("void*", ir.IntType(8).as_pointer())
