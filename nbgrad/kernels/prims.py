"""The primitives that scalar functions are made of: one name, one meaning, one implementation per target.

A scalar function (``scalars/``) uses Python arithmetic, comparisons, ``&`` and ``|`` of truth values, and these names:

    where(c, x, y)     select, both sides evaluated      fma(x, y, z)     x * y + z, rounded once
    rint(x)            round half to even                floor, ceil, trunc, sqrt
    fabs(x)            clears the sign bit               copysign(x, y)   magnitude of x, sign bit of y
    ibits(x)           float -> integer of the same bits fbits(i)         the inverse
    to_int(x)          float -> integer, truncated       to_float(i)      integer -> float
    iadd isub imul     integers of the dtype's width,    iand ior ixor    bitwise
    ishl ishr          shifts; ishr copies the sign      widen(i)         to int64
    wrap(i)            to the width of an integer dtype, modulo 2**width

Integer steps of a float function are primitives, not ``+`` and ``>>``, because Numba widens every integer expression to
64 bits: half the lanes of a float32 loop. In functions that must vectorise a magic-number addition (``ROUND`` in
``scalars/constants.py``) replaces ``to_int`` and ``to_float``: AVX2 converts no 64-bit integers.

``numpy_prims`` work on scalars and whole arrays (the oracle and the interpreter); ``llvm_prims`` are Numba intrinsics
whose LLVM bodies the CPU and the CUDA target share, so that the two compilers cannot drift apart.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..base.errors import DTypeError

__all__ = ["PRIMS", "FLOAT_PRIMS", "POINTER_TYPES", "numpy_prims", "llvm_prims", "cpu_prims", "declare"]

ROUNDINGS = ("rint", "floor", "ceil", "trunc", "sqrt")  # one operand, a function of the target's library each
INT_ARITHMETIC = {
    "iadd": "add",
    "isub": "sub",
    "imul": "mul",
    "iand": "and_",
    "ior": "or_",
    "ixor": "xor",
    "ishl": "shl",
    "ishr": "ashr",
}
FLOAT_PRIMS = ("where", "fma", *ROUNDINGS, "fabs", "copysign", "ibits", "fbits", "to_int", "to_float", "widen", *INT_ARITHMETIC)
PRIMS = (*FLOAT_PRIMS, "wrap")
# What a kernel's arguments may point to.
POINTER_TYPES = (
    *("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float32", "float64", "complex64", "complex128"),
)

_INTEGERS: dict[str, np.dtype[Any]] = {"float32": np.dtype("int32"), "float64": np.dtype("int64")}
_WHOLE = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")


def numpy_prims(dtype) -> dict[str, Callable]:
    """The primitives on NumPy scalars and arrays.

    Args:
        dtype: float32 or float64 (all of ``FLOAT_PRIMS``), or bool or an integer dtype (``where`` and ``wrap``).

    Returns:
        ``{name: function}``. Results are bit for bit those of ``llvm_prims``, ``fma`` included.

    Raises:
        DTypeError: no scalar function computes in ``dtype``.
    """
    dtype = _checked(dtype)
    if dtype.name in _WHOLE:
        return {"where": _numpy_where, "wrap": lambda i: np.asarray(i).astype(dtype)[()]}
    integer = _INTEGERS[dtype.name]

    def narrow(i):
        return np.asarray(i).astype(integer)

    def binary(ufunc):
        return lambda i, j: ufunc(narrow(i), narrow(j))

    ufuncs = {
        "iadd": np.add,
        "isub": np.subtract,
        "imul": np.multiply,
        "iand": np.bitwise_and,
        "ior": np.bitwise_or,
        "ixor": np.bitwise_xor,
        "ishl": np.left_shift,
        "ishr": np.right_shift,
    }
    return {
        "where": _numpy_where,
        "fma": {"float32": _fma_float32, "float64": _fma_float64}[dtype.name],
        **{name: getattr(np, name) for name in ROUNDINGS},
        "fabs": np.abs,
        "copysign": np.copysign,
        "ibits": lambda x: np.asarray(x, dtype).view(integer)[()],
        "fbits": lambda i: narrow(i).view(dtype)[()],
        "to_int": lambda x: narrow(x)[()],
        "to_float": lambda i: np.asarray(i).astype(dtype)[()],
        "widen": lambda i: np.asarray(i).astype(np.int64)[()],
        **{name: binary(ufunc) for name, ufunc in ufuncs.items()},
    }


def _checked(dtype) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.name not in _INTEGERS and dtype.name not in _WHOLE:
        raise DTypeError(
            f"prims: {dtype}, expected one of {', '.join((*_INTEGERS, *_WHOLE))}. Hint: half types compute in float32."
        )
    return dtype


def _numpy_where(c, x, y):
    return np.where(c, x, y)[()]


def _fma_float32(x, y, z):
    """Exact: the product is exact in float64, and a sum rounded to odd survives the second rounding, to float32."""
    with np.errstate(all="ignore"):
        product = np.multiply(x, y, dtype=np.float64)
        total = np.asarray(np.add(product, z, dtype=np.float64))
        # Two-sum: what the addition lost. Where it lost something and the last bit is even, step towards the loss.
        shadow = total - product
        lost = (product - (total - shadow)) + (z - shadow)
        even = (total.view(np.int64) & 1) == 0
        odd = np.where(even & (lost != 0) & np.isfinite(total), np.nextafter(total, np.copysign(np.inf, lost)), total)
        return odd.astype(np.float32)[()]


def _libm_fma() -> Any:
    """libm's fma: NumPy has none, and Python's comes with 3.13."""
    import ctypes.util

    function = ctypes.CDLL(ctypes.util.find_library("m")).fma
    function.argtypes, function.restype = [ctypes.c_double] * 3, ctypes.c_double
    return np.frompyfunc(function, 3, 1)


def _fma_float64(x, y, z):
    """One element at a time: no wider type is at hand in which the product is exact."""
    global _element_fma
    if _element_fma is None:
        _element_fma = _libm_fma()
    return np.asarray(_element_fma(x, y, z)).astype(np.float64)[()]


_element_fma: Any = None  # bound at the first use: a warm process needs no oracle


def llvm_prims(intrinsic, types, dtype, rint_symbol: str) -> dict[str, Any]:
    """The primitives as Numba intrinsics.

    Args:
        intrinsic: what makes one of a rule: ``numba.extending``'s decorator, or the compiler's own.
        types: that target's module of Numba types.
        dtype: as in ``numpy_prims``.
        rint_symbol: the target's function behind ``rint``; those behind floor, ceil, trunc and sqrt follow its pattern
            (``llvm.rint.f32``, ``llvm.floor.f32``).

    Returns:
        ``{name: intrinsic}``. Operations are single LLVM instructions without fast-math flags: nothing is contracted,
        reordered or assumed away.
    """
    dtype = _checked(dtype)
    if dtype.name in _WHOLE:
        return _whole_prims(intrinsic, types, dtype)
    from llvmlite import ir

    real, integer = getattr(types, dtype.name), getattr(types, _INTEGERS[dtype.name].name)
    bits = ir.IntType(real.bitwidth)
    llvm_real = {32: ir.FloatType(), 64: ir.DoubleType()}[real.bitwidth]
    sign = ir.Constant(bits, 1 << (real.bitwidth - 1))

    def where(typing, c, x, y):
        common = _common_type(types, real, integer, x, y)
        return common(types.boolean, common, common), lambda cx, b, s, a: b.select(*a)

    def fma(typing, x, y, z):
        return real(real, real, real), lambda cx, b, s, a: b.fma(*a)

    def library(name):
        symbol = rint_symbol.replace("rint", name)

        def rounding(typing, x):
            return real(real), lambda cx, b, s, a: b.call(declare(b.module, ir.FunctionType(llvm_real, [llvm_real]), symbol), a)

        return rounding

    def magnitude(b, x):
        return b.and_(b.bitcast(x, bits), b.not_(sign))

    def fabs(typing, x):
        return real(real), lambda cx, b, s, a: b.bitcast(magnitude(b, a[0]), llvm_real)

    def copysign(typing, x, y):
        return real(real, real), lambda cx, b, s, a: b.bitcast(
            b.or_(magnitude(b, a[0]), b.and_(b.bitcast(a[1], bits), sign)), llvm_real
        )

    def convert(result, operand, method, llvm_type):
        def conversion(typing, x):
            return result(operand), lambda cx, b, s, a: getattr(b, method)(a[0], llvm_type)

        return conversion

    def arithmetic(method):
        # Numba has widened a constant to 64 bits by now; the signature narrows it back, and LLVM folds that.
        def operation(typing, i, j):
            return integer(integer, integer), lambda cx, b, s, a: getattr(b, method)(*a)

        return operation

    rules = {
        "where": where,
        "fma": fma,
        "fabs": fabs,
        "copysign": copysign,
        **{name: library(name) for name in ROUNDINGS},
        "ibits": convert(integer, real, "bitcast", bits),
        "fbits": convert(real, integer, "bitcast", llvm_real),
        "to_int": convert(integer, real, "fptosi", bits),
        "to_float": convert(real, integer, "sitofp", llvm_real),
        "widen": lambda typing, i: (types.int64(types.int64), lambda cx, b, s, a: a[0]),
        **{name: arithmetic(method) for name, method in INT_ARITHMETIC.items()},
    }
    return {name: _named(intrinsic, name, rule) for name, rule in rules.items()}


def _named(intrinsic, name, rule):
    rule.__name__ = name
    return intrinsic(rule)


def _common_type(types, real, integer, x, y):
    """The type of ``where``; a float64 that crept into a float32 function is refused, never converted."""
    if all(isinstance(v, types.Boolean) for v in (x, y)):
        return types.boolean
    if all(isinstance(v, (types.Integer, types.Boolean)) for v in (x, y)):
        return integer
    for v in (x, y):
        if isinstance(v, types.Float) and v != real:
            raise TypeError(f"where: {x} and {y}, expected {real}. Hint: a constant was not narrowed by instantiate.")
    return real


def _whole_prims(intrinsic, types, dtype):
    """``where`` and ``wrap`` for bool and the integers."""
    target = getattr(types, "boolean" if dtype.name == "bool" else dtype.name)

    def where(typing, c, x, y):
        return target(types.boolean, target, target), lambda cx, b, s, a: b.select(*a)

    def wrap(typing, i):
        return target(target), lambda cx, b, s, a: a[0]

    return {"where": intrinsic(where), "wrap": intrinsic(wrap)}


def cpu_prims(dtype) -> dict[str, Any]:
    """The primitives for Numba's CPU target. Imports Numba."""
    from numba import types
    from numba.extending import intrinsic

    return llvm_prims(intrinsic, types, dtype, f"llvm.rint.f{8 * np.dtype(dtype).itemsize}")


def declare(module, function_type, name: str):
    """The function ``name`` of an LLVM module, declared at its first use."""
    from llvmlite import ir

    return module.globals.get(name) or ir.Function(module, function_type, name)


# The bare names mean NumPy float64, so that a scalar function can be called, and debugged, as it stands.
(
    where,
    fma,
    rint,
    floor,
    ceil,
    trunc,
    sqrt,
    fabs,
    copysign,
    ibits,
    fbits,
    to_int,
    to_float,
    widen,
    iadd,
    isub,
    imul,
    iand,
    ior,
    ixor,
    ishl,
    ishr,
) = numpy_prims(np.float64).values()


def wrap(i):
    """An integer modulo 2**64, as int64."""
    return np.asarray(i).astype(np.int64)[()]
