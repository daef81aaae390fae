"""Operators and conversions of numbers, with Numba's rules: integers are computed in 64 bits, an integer beside a float in float64.

A value is a ``Value`` or a constant of Python or NumPy; constants are computed here and now, in their own precision. A tuple is a
tuple of such.
"""

from __future__ import annotations

import operator
from typing import Any, Callable

import numpy as np
from llvmlite import ir

from . import kinds
from .kinds import Boolean, Complex, Float, Integer, IntegerLiteral, Kind, Refused

__all__ = [
    "Builder",
    "Value",
    "binary",
    "common",
    "compare",
    "complex_of",
    "constant",
    "convert",
    "kind_of",
    "negative",
    "part",
    "same_kind",
]


class Value:
    """What is known when the kernel runs.

    Attributes:
        kind: its static type.
        ir: LLVM's value.
    """

    __slots__ = ("kind", "ir")

    def __init__(self, kind: Kind, ir: Any):
        self.kind, self.ir = kind, ir


class Builder(ir.IRBuilder):
    """Writes instructions; those of floats may be reordered while ``fast`` says so.

    Attributes:
        fast: LLVM's flags.
    """

    fast: tuple[str, ...] = ()

    def _insert(self, instruction) -> None:
        if self.fast:
            if instruction.opname in ("fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"):
                instruction.flags = [*instruction.flags, *self.fast]
            elif instruction.opname == "call" and isinstance(instruction.type, (ir.FloatType, ir.DoubleType)):
                instruction.fastmath.update(self.fast)
        super()._insert(instruction)


def kind_of(value: Any) -> Kind:
    """The kind of a value or constant."""
    if isinstance(value, Value):
        return value.kind
    if isinstance(value, (bool, np.bool_)):
        return kinds.boolean
    if isinstance(value, int):
        return IntegerLiteral(value)
    if isinstance(value, np.generic):
        return getattr(kinds, value.dtype.name)
    if isinstance(value, (float, complex)):
        return kinds.float64 if isinstance(value, float) else kinds.complex128
    if isinstance(value, tuple):
        return kinds.Tuple(tuple([kind_of(each) for each in value]))
    raise Refused(f"a {type(value).__name__}")


def same_kind(x: Kind, y: Kind) -> bool:
    """Whether two kinds are one; literals are int64."""
    return x is y or x.name == y.name


def constant(value: Any, kind: Kind) -> Any:
    """A constant as LLVM's value of its kind."""
    if isinstance(kind, Complex):
        return ir.Constant(kind.llvm, [ir.Constant(kind.underlying_float.llvm, float(part)) for part in (value.real, value.imag)])
    return ir.Constant(kind.llvm, float(value) if isinstance(kind, Float) else int(value))


def convert(b: Builder, value: Any, kind: Kind) -> Any:
    """A number as one of another kind."""
    if not isinstance(value, Value):
        return narrowed(value, kind)
    source, x = value.kind, value.ir
    if same_kind(source, kind):
        return value
    if isinstance(kind, Complex) and not isinstance(source, Complex):
        return complex_of(b, convert(b, value, kind.underlying_float), narrowed(0.0, kind.underlying_float))
    if isinstance(kind, Complex) and isinstance(source, Complex):
        return complex_of(b, *(convert(b, part(b, value, k), kind.underlying_float) for k in (0, 1)))
    if isinstance(kind, Boolean):
        return Value(kind, compare(b, "!=", value, narrowed(0, source)).ir)
    if isinstance(source, (Boolean, Integer)) and isinstance(kind, Integer):
        if source.bitwidth >= kind.bitwidth:
            return Value(kind, b.trunc(x, kind.llvm) if source.bitwidth > kind.bitwidth else x)
        signed = isinstance(source, Integer) and source.signed
        return Value(kind, (b.sext if signed else b.zext)(x, kind.llvm))
    if isinstance(source, (Boolean, Integer)) and isinstance(kind, Float):
        signed = isinstance(source, Integer) and source.signed
        return Value(kind, (b.sitofp if signed else b.uitofp)(x, kind.llvm))
    if isinstance(source, Float) and isinstance(kind, Integer):
        return Value(kind, truncated(b, value, kind))
    if isinstance(source, Float) and isinstance(kind, Float):
        return Value(kind, (b.fpext if source.bitwidth < kind.bitwidth else b.fptrunc)(x, kind.llvm))
    raise Refused(f"{source} as {kind}")


def truncated(b: Builder, value: Value, kind: Integer) -> ir.Value:
    """The whole part of a float. What a kind does not have wraps like int64 does: LLVM leaves it to the processor."""
    if kind.signed and kind.bitwidth == 64:
        return b.fptosi(value.ir, kind.llvm)
    if kind.bitwidth < 64:
        return b.trunc(b.fptosi(value.ir, kinds.int64.llvm), kind.llvm)
    limit = ir.Constant(value.kind.llvm, 2.0**63)
    is_large = b.fcmp_ordered(">=", value.ir, limit)
    rest = b.fptosi(b.select(is_large, b.fsub(value.ir, limit), value.ir), kind.llvm)
    return b.xor(rest, b.shl(b.zext(is_large, kind.llvm), ir.Constant(kind.llvm, 63)))


def narrowed(value: Any, kind: Kind) -> Any:
    """A constant of a kind."""
    if isinstance(kind, Boolean):
        return bool(value)
    if isinstance(kind, (Integer, Float, Complex)) and not isinstance(value, tuple):
        if isinstance(kind, Integer) and not isinstance(value, (int, np.integer, np.bool_)):
            raise Refused(f"{value!r} as {kind}")
        if isinstance(value, (int, np.integer)) and isinstance(kind, Integer):
            return np.array(int(value) & ((1 << kind.bitwidth) - 1), f"uint{kind.bitwidth}").astype(kind.name)[()]
        with np.errstate(all="ignore"):
            return np.dtype(kind.name).type(value)
    raise Refused(f"{value!r} as {kind}")


def ir_of(value: Any, kind: Kind | None = None) -> Any:
    """LLVM's value of a value or constant."""
    return value.ir if isinstance(value, Value) else constant(value, kind or kind_of(value))


# ---- complex numbers ---------------------------------------------------------------------------------------------------


def part(b: Builder, z: Any, k: int) -> Any:
    """The real or imaginary part."""
    if not isinstance(z, Value):
        return (z.real, z.imag)[k]
    if not isinstance(z.kind, Complex):
        raise Refused(f"a part of {z.kind}")
    return Value(z.kind.underlying_float, b.extract_value(z.ir, k))


def complex_of(b: Builder, x: Any, y: Any) -> Any:
    """A complex number of two parts."""
    both = x, y
    if not any(isinstance(each, Value) for each in both):
        return np.dtype("complex64" if all(isinstance(each, np.float32) for each in both) else "complex128").type(complex(x, y))
    narrow = all(same_kind(kind_of(each), kinds.float32) for each in both)
    kind = kinds.complex64 if narrow else kinds.complex128
    found = ir.Constant(kind.llvm, ir.Undefined)
    for k, each in enumerate(both):
        found = b.insert_value(found, ir_of(convert(b, each, kind.underlying_float)), k)
    return Value(kind, found)


def complex_binary(b: Builder, sign: str, x: Any, y: Any, kind: Complex) -> Any:
    """An operator of complex numbers, part by part."""
    x, y = convert(b, x, kind), convert(b, y, kind)
    a, c, d, e = part(b, x, 0), part(b, x, 1), part(b, y, 0), part(b, y, 1)
    if sign in ("+", "-"):
        return complex_of(b, binary(b, sign, a, d), binary(b, sign, c, e))
    if sign == "*":
        real = binary(b, "-", binary(b, "*", a, d), binary(b, "*", c, e))
        return complex_of(b, real, binary(b, "+", binary(b, "*", a, e), binary(b, "*", c, d)))
    raise Refused(f"{sign} of complex numbers")


NUMBERS = (Boolean, Integer, Float)

# ---- operators ---------------------------------------------------------------------------------------------------------

PYTHON: dict[str, Callable] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
OF_FLOATS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
OF_INTEGERS = {"+": "add", "-": "sub", "*": "mul", "<<": "shl", ">>": "ashr", "&": "and_", "|": "or_", "^": "xor"}


def common(x: Kind, y: Kind) -> Kind:
    """In which two numbers are computed."""
    if isinstance(x, Complex) or isinstance(y, Complex):
        parts = [kind.underlying_float if isinstance(kind, Complex) else kind for kind in (x, y)]
        return kinds.complex64 if common(*parts) is kinds.float32 else kinds.complex128
    if not isinstance(x, NUMBERS) or not isinstance(y, NUMBERS):
        raise Refused(f"{x} with {y}")
    if isinstance(x, Float) or isinstance(y, Float):
        return kinds.float32 if fits_float32(x) and fits_float32(y) else kinds.float64
    return kinds.uint64 if is_unsigned(x) and is_unsigned(y) else kinds.int64


def fits_float32(kind: Kind) -> bool:
    """Whether a number beside a float32 is one."""
    return kind is kinds.float32 or not isinstance(kind, Float) and (kind.llvm.width < 16 or kind.name == "int16")


def is_unsigned(kind: Kind) -> bool:
    """Whether it is an integer without sign."""
    return isinstance(kind, Integer) and not kind.signed


def binary(b: Builder, sign: str, x: Any, y: Any) -> Any:
    """``x sign y``."""
    if not isinstance(x, Value) and not isinstance(y, Value):
        return of_constants(sign, x, y)
    kind = computed_in(sign, kind_of(x), kind_of(y))
    if isinstance(kind, Complex):
        return complex_binary(b, sign, x, y, kind)
    left, right = ir_of(convert(b, x, kind), kind), ir_of(convert(b, y, kind), kind)
    if isinstance(kind, Float):
        if sign not in OF_FLOATS:
            raise Refused(f"{sign} of {kind}")
        return Value(kind, getattr(b, OF_FLOATS[sign])(left, right))
    signed = isinstance(kind, Integer) and kind.signed
    if sign in ("//", "%"):
        return Value(kind, divided(b, sign, left, right, y, signed))
    if sign not in OF_INTEGERS:
        raise Refused(f"{sign} of {kind}")
    if sign == ">>" and not signed:
        return Value(kind, b.lshr(left, right))
    flags = {"flags": ("nsw",)} if sign in "+-*" and signed else {}
    return Value(kind, getattr(b, OF_INTEGERS[sign])(left, right, **flags))


def computed_in(sign: str, x: Kind, y: Kind) -> Kind:
    """In which kind ``x sign y`` is computed."""
    if sign in ("<<", ">>") and isinstance(x, (Boolean, Integer)) and isinstance(y, (Boolean, Integer)):
        return kinds.uint64 if is_unsigned(x) else kinds.int64
    if sign in "&|^" and isinstance(x, Boolean) and isinstance(y, Boolean):
        return x
    kind = common(x, y)
    return kinds.float64 if sign == "/" and isinstance(kind, Integer) else kind


def of_constants(sign: str, x: Any, y: Any) -> Any:
    """An operator of two constants; NumPy's float32 beside an int would stay one."""
    if (
        isinstance(x, np.float32)
        and isinstance(y, (int, np.integer))
        or isinstance(y, np.float32)
        and isinstance(x, (int, np.integer))
    ):
        x, y = np.float64(x), np.float64(y)
    if sign == "**" and not (isinstance(x, (int, float)) and isinstance(y, int)):
        raise Refused("** of constants")
    with np.errstate(all="ignore"):
        found = PYTHON[sign](x, y)
    return bool(found) if isinstance(found, np.bool_) else found


def divided(b: Builder, sign: str, x: Any, y: Any, divisor: Any, signed: bool) -> Any:
    """A quotient rounded down, or the remainder with the divisor's sign; as Numba has it 0 where there is none."""
    zero, one, odd = ir.Constant(y.type, 0), ir.Constant(y.type, 1), None
    if isinstance(divisor, Value) or int(divisor) <= 0:
        odd = b.icmp_signed("==", y, zero)
        if signed:
            least = ir.Constant(y.type, -1 << (y.type.width - 1))
            over = b.and_(b.icmp_signed("==", x, least), b.icmp_signed("==", y, ir.Constant(y.type, -1)))
            odd = b.or_(odd, over)
        y = b.select(odd, one, y)
    if not signed:
        found = b.udiv(x, y) if sign == "//" else b.urem(x, y)
        return found if odd is None else b.select(odd, zero, found)
    rest = b.srem(x, y)
    apart = b.icmp_signed("<", b.xor(rest, y), zero)
    down = b.and_(apart, b.icmp_signed("!=", rest, zero))
    if sign == "%":
        found = b.add(rest, b.select(down, y, zero))
    else:
        found = b.sub(b.sdiv(x, y), b.zext(down, y.type))
    return found if odd is None else b.select(odd, zero, found)


def compare(b: Builder, sign: str, x: Any, y: Any) -> Any:
    """``x sign y``; NaN is unequal to everything, and nothing else."""
    if not isinstance(x, Value) and not isinstance(y, Value):
        return of_constants(sign, x, y)
    left, right = kind_of(x), kind_of(y)
    kind = left if same_kind(left, right) else common(left, right)
    if kind is kinds.int64 and any(is_unsigned(each) and each.llvm.width == 64 for each in (left, right)):
        kind = kinds.float64
    if isinstance(kind, Complex):
        if sign not in ("==", "!="):
            raise Refused(f"{sign} of complex numbers")
        x, y = convert(b, x, kind), convert(b, y, kind)
        real, imag = (compare(b, sign, part(b, x, k), part(b, y, k)) for k in (0, 1))
        return binary(b, "&" if sign == "==" else "|", real, imag)
    p, q = ir_of(convert(b, x, kind), kind), ir_of(convert(b, y, kind), kind)
    if isinstance(kind, Float):
        how = b.fcmp_unordered if sign == "!=" else b.fcmp_ordered
    else:
        how = b.icmp_signed if isinstance(kind, Integer) and kind.signed else b.icmp_unsigned
    return Value(kinds.boolean, how(sign, p, q))


def negative(b: Builder, x: Any) -> Any:
    """``-x``; of a float its sign changes."""
    if not isinstance(x, Value):
        return -x
    if isinstance(x.kind, Complex):
        return complex_of(b, negative(b, part(b, x, 0)), negative(b, part(b, x, 1)))
    if isinstance(x.kind, Float):
        return Value(x.kind, b.fsub(ir.Constant(x.kind.llvm, -0.0), x.ir))
    kind = kinds.uint64 if is_unsigned(x.kind) else kinds.int64
    return Value(kind, b.sub(ir.Constant(kind.llvm, 0), convert(b, x, kind).ir))
