"""Conversion between element types: one contiguous kernel for every pair, used by copies and by the iterator.

Half types are integers to the kernels: float16 and bfloat16 are read and written as uint16, by integer arithmetic of ours, so
that no helper function of the compiler's runtime is ever needed. Its steps are primitives, of 32 bits (see ``prims.py``). Loops
that keep a number which a half type would store round it without its bits: NOTE [Numbers of half types] in
kernels/scalars/rounding.py.
"""

# ruff: noqa: F821  (names bound by instantiate)
from __future__ import annotations

from .late import Code, late
from .templates.elementwise import elementwise_loop

__all__ = ["conversion", "rounding"]

HALVES = ("float16", "bfloat16")


def half_to_float(h):
    """float16 bits to float32: exponents shift by 112; subnormals are an integer scaled by 2^-24."""
    sign = ishl(iand(h, 0x8000), 16)
    magnitude = iand(h, 0x7FFF)
    normal = fbits(ior(iadd(ishl(magnitude, 13), 0x38000000), sign))
    special = fbits(ior(ior(ishl(magnitude, 13), 0x7F800000), sign))
    tiny = copysign(to_float(magnitude) * TWO_POW_MINUS_24, fbits(sign))
    return where(magnitude < 0x400, tiny, where(magnitude >= 0x7C00, special, normal))


def float_to_half(x):
    """float32 to float16 bits, to nearest, ties to even."""
    bits = ibits(x)
    sign = iand(ishr(bits, 16), 0x8000)
    magnitude = iand(bits, 0x7FFFFFFF)
    # Subnormal results: adding 0.5 aligns the last bit of the sum with the last bit of the half.
    tiny = isub(ibits(fbits(magnitude) + HALF), 0x3F000000)
    normal = ishr(isub(iadd(iadd(magnitude, 0xFFF), iand(ishr(magnitude, 13), 1)), 0x38000000), 13)
    result = where(magnitude < 0x38800000, tiny, normal)
    result = where(magnitude >= 0x477FF000, 0x7C00, result)
    result = where(magnitude > 0x7F800000, 0x7E00, result)
    return ior(result, sign)


def bfloat_to_float(h):
    """bfloat16 bits to float32: the upper half of it."""
    return fbits(ishl(h, 16))


def float_to_bfloat(x):
    """float32 to bfloat16 bits, to nearest, ties to even."""
    bits = ibits(x)
    rounded = iand(ishr(iadd(iadd(bits, 0x7FFF), iand(ishr(bits, 16), 1)), 16), 0xFFFF)
    return where(x != x, 0x7FC0, rounded)


WIDEN = {"float16": half_to_float, "bfloat16": bfloat_to_float}
NARROW = {"float16": float_to_half, "bfloat16": float_to_bfloat}


def same(x):
    """The value itself; the store converts."""
    return x


def real_part(z):
    """The real part."""
    return z.real


def truth(x):
    """Whether a number is not zero."""
    return x != 0


def through_int(x):
    """A float stored into an unsigned or narrow integer wraps like the wide integer does."""
    return int64(x)


def through_unsigned(x):
    """The same for 64 bits without sign: numbers from 2**63 on are converted without that bit."""
    top = x >= TWO_POW_63
    return int64(x - top * TWO_POW_63) ^ (int64(top) << 63)


def widen_then_truth(x):
    """Whether a half is not zero: all bits but the sign."""
    return (x & 0x7FFF) != 0


def negated(x):
    """-x, converted."""
    return -cast(x)


def conjugated(z):
    """The conjugate, converted."""
    return cast(z).conjugate()


def negated_conjugate(z):
    """The conjugate's negative, converted."""
    return -(cast(z).conjugate())


def cast_of_negated(x):
    """-x, converted: halves have no arithmetic, so the sign comes first."""
    return cast(-x)


def through_half(x):
    """A number rounded to a half type, converted."""
    return after(before(x))


LAZY = {"conj": conjugated, "neg": negated, "conjneg": negated_conjugate}


def conversion(source: str, target: str, bits: str = "") -> Code | int:
    """Address of ``kernel(start, stop, args)`` that converts contiguous ``source`` elements to ``target``; 0 if nothing changes.

    Args:
        bits: ``"conj"``, ``"neg"`` or ``"conjneg"``: one side is memory that is conjugated, negated, or both, when it is read.
    """
    if not (source.startswith("complex") and target.startswith("complex")):
        bits = bits.removeprefix("conj")  # the real part is the same
    if target == "bool":
        bits = ""
    if source == target and not bits:
        return 0
    return conversion_kernel(source, target, bits)


@late
def conversion_kernel(source: str, target: str, bits: str) -> int:
    """Address of that kernel."""
    from .cpu.build import Program, address

    scalar = _scalar(source, target)
    bindings = (
        (("scalar", scalar),) if not bits else (("scalar", cast_of_negated if target in HALVES else LAZY[bits]), ("cast", scalar))
    )
    stored = tuple("uint16" if name in HALVES else name for name in (target, source))
    loop = elementwise_loop((stored[0],), ((stored[1], False),))
    return address(Program(f"convert_{source}_{target}{bits}", loop, "float32", (*bindings, *_names(target))))


def rounding(source: str, half: str, target: str, bits: str = "") -> Code | int:
    """As ``conversion``, of numbers that become elements of a half type on the way."""
    if half in (source, target):
        return conversion(source, target, bits)
    return rounding_kernel(source, half, target, bits.removeprefix("conj"))


@late
def rounding_kernel(source: str, half: str, target: str, bits: str) -> int:
    """Address of that kernel."""
    from .cpu.build import Program, address

    before, after = _scalar(source, half), _scalar(half, target)
    bindings = (
        (("scalar", through_half), ("before", before), ("after", after))
        if not bits
        else (("scalar", cast_of_negated), ("cast", through_half), ("before", before), ("after", after))
    )
    stored = tuple("uint16" if name in HALVES else name for name in (target, source))
    loop = elementwise_loop((stored[0],), ((stored[1], False),))
    return address(Program(f"round_{source}_{half}_{target}{bits}", loop, "float32", (*bindings, *_names(target))))


_CONSTANTS = (("TWO_POW_MINUS_24", 2.0**-24), ("HALF", 0.5), ("TWO_POW_63", 2.0**63))


def _names(target: str) -> tuple:
    """What the functions of a conversion to that dtype mention."""
    return ("whole", through_unsigned if target == "uint64" else through_int), *_CONSTANTS


def _scalar(source: str, target: str):
    if source in HALVES:
        if target in HALVES:
            return _BETWEEN[source]
        if target == "bool":
            return widen_then_truth
        return WIDEN[source] if target in ("float32", "float64", "complex64", "complex128") else _WIDEN_INT[source]
    if target in HALVES:
        if source == "float32":
            return NARROW[target]
        return (_FROM_COMPLEX if source.startswith("complex") else _FROM_REAL)[target]
    if target == "bool":
        return truth
    if source.startswith("complex") and not target.startswith("complex"):
        return real_part if target.startswith("float") else _real_to_int
    if source.startswith("float") and target.startswith(("int", "uint")):
        return through_unsigned if target == "uint64" else through_int
    return same


def _real_to_int(z):
    return whole(z.real)


def _half_to_int(h):
    return whole(half_to_float(h))


def _bfloat_to_int(h):
    return whole(bfloat_to_float(h))


def _any_to_half(x):
    return float_to_half(float32(x))


def _any_to_bfloat(x):
    return float_to_bfloat(float32(x))


def _complex_to_half(z):
    return float_to_half(float32(z.real))


def _complex_to_bfloat(z):
    return float_to_bfloat(float32(z.real))


def _half_to_bfloat(h):
    return float_to_bfloat(half_to_float(h))


def _bfloat_to_half(h):
    return float_to_half(bfloat_to_float(h))


_WIDEN_INT = {"float16": _half_to_int, "bfloat16": _bfloat_to_int}
_FROM_REAL = {"float16": _any_to_half, "bfloat16": _any_to_bfloat}
_FROM_COMPLEX = {"float16": _complex_to_half, "bfloat16": _complex_to_bfloat}
_BETWEEN = {"float16": _half_to_bfloat, "bfloat16": _bfloat_to_half}
