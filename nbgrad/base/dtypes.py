"""Element types and torch's promotion rules.

A ``DType`` is one of fifteen singletons. ``compute`` names the type in which kernels calculate: half types are
widened to float32 when they are loaded and narrowed when they are stored; bool is calculated as uint8.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias, TypeVar

import ml_dtypes
import numpy as np

from .errors import ArgumentError, DTypeError

__all__ = [
    "DType",
    "DTYPES",
    "UNSIGNED",
    "WIDTHS",
    "bool_",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex64",
    "complex128",
    "promote_types",
    "can_cast",
    "dtype_of",
    "get_default_dtype",
    "set_default_dtype",
    "finfo",
    "iinfo",
]

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


class DType:
    """An element type.

    Attributes:
        name: ``"float32"`` and so on.
        numpy: the NumPy dtype of the storage.
        itemsize: bytes an element.
        category: 0 bool, 1 integer, 2 floating, 3 complex; promotion goes by it.
        compute: name of the type in which kernels calculate.
        is_floating_point, is_complex, is_signed: as torch's.
        differentiable: floating or complex.

    >>> nbgrad.float16.itemsize, nbgrad.float16.compute, nbgrad.complex64.is_complex
    (2, 'float32', True)
    """

    __slots__ = (
        "name",
        "numpy",
        "itemsize",
        "category",
        "compute",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "differentiable",
        "__weakref__",
    )

    def __init__(self, name: str, numpy: np.dtype, category: int, compute: str | None = None):
        self.name, self.numpy, self.itemsize, self.category = name, numpy, numpy.itemsize, category
        self.compute = compute or name
        self.is_floating_point, self.is_complex = category == FLOATING, category == COMPLEX
        self.is_signed = numpy.kind not in "bu"
        self.differentiable = category >= FLOATING

    def __repr__(self) -> str:
        return f"nbgrad.{self.name}"

    def __reduce__(self):
        return dtype_of, (self.name,)

    @property
    def char(self) -> str:
        """NumPy's letter, by which SciPy chooses the function for an operand."""
        return self.numpy.char

    def to_real(self) -> DType:
        """The real type of the same precision."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> DType:
        """The complex type of the same precision."""
        return {"float64": complex128, "complex128": complex128}.get(self.name, complex64)


bool_ = DType("bool", np.dtype(np.bool_), BOOL, "uint8")
uint8 = DType("uint8", np.dtype(np.uint8), INTEGER)
uint16 = DType("uint16", np.dtype(np.uint16), INTEGER)
uint32 = DType("uint32", np.dtype(np.uint32), INTEGER)
uint64 = DType("uint64", np.dtype(np.uint64), INTEGER)
int8 = DType("int8", np.dtype(np.int8), INTEGER)
int16 = DType("int16", np.dtype(np.int16), INTEGER)
int32 = DType("int32", np.dtype(np.int32), INTEGER)
int64 = DType("int64", np.dtype(np.int64), INTEGER)
float16 = DType("float16", np.dtype(np.float16), FLOATING, "float32")
bfloat16 = DType("bfloat16", np.dtype(ml_dtypes.bfloat16), FLOATING, "float32")
float32 = DType("float32", np.dtype(np.float32), FLOATING)
float64 = DType("float64", np.dtype(np.float64), FLOATING)
complex64 = DType("complex64", np.dtype(np.complex64), COMPLEX)
complex128 = DType("complex128", np.dtype(np.complex128), COMPLEX)


class AbsentDType:
    """An element type of torch that no tensor has here: a name, which programs compare with tensors' dtypes, and its limits."""

    is_floating_point, is_complex, itemsize = True, False, 1

    def __init__(self, name: str):
        self.name, self.numpy = name, np.dtype(getattr(ml_dtypes, name))

    def __repr__(self) -> str:
        return f"nbgrad.{self.name}"

    def __reduce__(self) -> str:
        return self.name


float8_e4m3fn, float8_e5m2 = AbsentDType("float8_e4m3fn"), AbsentDType("float8_e5m2")
float8_e4m3fnuz, float8_e5m2fnuz = AbsentDType("float8_e4m3fnuz"), AbsentDType("float8_e5m2fnuz")
float8_e8m0fnu = AbsentDType("float8_e8m0fnu")

UNSIGNED = (uint16, uint32, uint64)  # of which no release has kernels made before they are asked for
DTYPES = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128, *UNSIGNED)
_BY_NAME = {d.name: d for d in DTYPES}
# Bytes of an element, of the dtypes that kernels compute in.
WIDTHS = {d.name: d.itemsize for d in DTYPES if d.compute == d.name}
_BY_NUMPY = {d.numpy: d for d in DTYPES}
_BY_PYTHON = {bool: bool_, int: int64}
_ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "cfloat": complex64,
    "cdouble": complex128,
}
_default = float32
_dependent: list[Any] = []


# What ``dtype_of`` takes: a dtype, NumPy's or Python's type of the same kind, a name.
DTypeLike: TypeAlias = "DType | np.dtype | type | str"


T = TypeVar("T")


def of_default_dtype(table: T) -> T:
    """A table or list of plans in which the default dtype may be contained: emptied when another one is set."""
    _dependent.append(table)
    return table


def get_default_dtype() -> DType:
    """The floating dtype of new tensors made from Python numbers: float32 unless changed.

    >>> import nbgrad
    >>> nbgrad.get_default_dtype()
    nbgrad.float32
    """
    return _default


def set_default_dtype(d: DType) -> None:
    """Set the dtype that ``get_default_dtype`` returns; it must be floating.

    >>> nbgrad.set_default_dtype(nbgrad.float64)
    >>> nbgrad.tensor(1.5).dtype
    nbgrad.float64
    >>> nbgrad.set_default_dtype(nbgrad.float32)
    """
    global _default
    dtype = dtype_of(d)
    if not dtype.is_floating_point:
        raise ArgumentError(f"set_default_dtype: {dtype} is not a floating dtype.")
    _default = dtype
    for table in _dependent:
        table.clear()


def dtype_of(spec: DTypeLike) -> DType:
    """The DType that ``spec`` names: a DType, a name, a NumPy dtype or scalar type, or a Python number type.

    Raises:
        ArgumentError: no dtype of nbgrad has that name or layout.

    >>> nbgrad.dtype_of("float32"), nbgrad.dtype_of(int)
    (nbgrad.float32, nbgrad.int64)
    """
    if type(spec) is DType:
        return spec
    if isinstance(spec, str) and (found := _BY_NAME.get(spec) or _ALIASES.get(spec)):
        return found
    if spec is float or spec is complex:
        return float64 if spec is float else complex128
    if isinstance(spec, type) and spec in _BY_PYTHON:
        return _BY_PYTHON[spec]
    try:
        other: Any = spec
        found = _BY_NUMPY.get(np.dtype(other).newbyteorder("="))
    except TypeError:
        found = None
    if found is None:
        raise ArgumentError(f"dtype: {spec!r} is none of nbgrad's dtypes: {', '.join(_BY_NAME)}.")
    return found


@cache
def promote_types(x: DType, y: DType) -> DType:
    """The smallest dtype that both convert to, by torch's lattice (uint8 with int8 is int16, half with bfloat16 float32).

    Unsigned integers beside others, which torch refuses, go by the Array API standard.

    Raises:
        DTypeError: uint64 beside a signed integer, which no integer dtype holds both of.

    >>> promote_types(int32, float16), promote_types(nbgrad.uint32, int32)
    (nbgrad.float16, nbgrad.int64)
    """
    if x is y:
        return x
    if x.category != y.category:
        low, high = sorted((x, y), key=lambda d: d.category)
        if high is complex64 and low is float64:
            return complex128
        return high
    if {x, y} == {float16, bfloat16}:
        return float32
    if x.category == INTEGER and x.is_signed != y.is_signed:
        return promoted_integer(*((x, y) if x.is_signed else (y, x)))
    if x.itemsize == y.itemsize:
        return x
    return x if x.itemsize > y.itemsize else y


def promoted_integer(signed: DType, unsigned: DType) -> DType:
    """The smallest signed dtype that holds what both hold."""
    if unsigned is uint64:
        raise DTypeError(f"promote_types: no integer dtype holds both {signed} and {unsigned}. Hint: convert one of them.")
    return signed if signed.itemsize > unsigned.itemsize else {1: int16, 2: int32, 4: int64}[unsigned.itemsize]


def can_cast(source: DType, target: DType) -> bool:
    """Whether a result of ``source`` may be stored into ``target`` without losing its kind (float into int may not).

    >>> import nbgrad
    >>> nbgrad.can_cast(nbgrad.int64, nbgrad.float16), nbgrad.can_cast(nbgrad.float32, nbgrad.int64)
    (True, False)
    """
    return source.category <= target.category


def category_default(category: int, like: DType) -> DType:
    """The dtype that a Python number of ``category`` takes beside a tensor of the lower-category dtype ``like``."""
    if category == BOOL:
        return bool_
    if category == INTEGER:
        return int64
    if category == FLOATING:
        return _default
    return like.to_complex() if like.is_floating_point else _default.to_complex()


def as_word(number: int) -> int:
    """An int of uint64 as the int64 of the same bits, which native code takes in its place; other ints as they are."""
    return number - (1 << 64) if number >= 1 << 63 else number


def number_category(value) -> int:
    """The category of a Python number, or of a type of numbers."""
    kind = value if isinstance(value, type) else value.__class__  # what stands for a float says so
    if issubclass(kind, (bool, np.bool_)):
        return BOOL
    if issubclass(kind, (int, np.integer)):
        return INTEGER
    return FLOATING if issubclass(kind, (float, np.floating)) else COMPLEX


def result_dtype(tensors, numbers=()) -> DType:
    """The dtype of an operation on ``(dtype, ndim)`` pairs and Python ``numbers``, or types of them, by torch's three tiers.

    Tensors with dimensions decide; zero-dim tensors, then Python numbers, only raise the category.
    """
    full: Any = None
    zero: Any = None
    for dtype, ndim in tensors:
        if ndim:
            full = dtype if full is None else promote_types(full, dtype)
        else:
            zero = dtype if zero is None else promote_types(zero, dtype)
    if full is None:
        result = zero
    elif zero is not None and zero.category > full.category:
        # A complex one makes a floating tensor complex, and keeps its precision.
        result = full.to_complex() if full.category == FLOATING else zero
    else:
        result = full
    for value in numbers:
        category = number_category(value)
        if result is None or category > result.category:
            result = category_default(category, result or _default)
    return result


class finfo:
    """Limits of a floating dtype: ``eps, max, min, tiny, smallest_normal, resolution, bits, dtype``.

    >>> import nbgrad
    >>> nbgrad.finfo(nbgrad.float32).max
    3.4028234663852886e+38
    """

    def __init__(self, dtype: DType | AbsentDType | None = None):
        if not isinstance(dtype, AbsentDType):
            dtype = (dtype_of(dtype) if dtype is not None else _default).to_real()
        if not dtype.is_floating_point:
            raise ArgumentError(f"finfo: {dtype} is not a floating dtype. Hint: use iinfo.")
        info = ml_dtypes.finfo(dtype.numpy)
        self.dtype, self.bits = dtype.name, info.bits
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 1.0 if info.bits == 8 else 10.0**-info.precision

    def __repr__(self) -> str:
        limits = ", ".join(
            f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        )
        return f"finfo({limits}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer dtype: ``max, min, bits, dtype``.

    >>> import nbgrad
    >>> nbgrad.iinfo(nbgrad.int8).min
    -128
    """

    def __init__(self, dtype: DType):
        dtype = dtype_of(dtype)
        if dtype.category != INTEGER:
            raise ArgumentError(f"iinfo: {dtype} is not an integer dtype. Hint: use finfo.")
        info = np.iinfo(dtype.numpy)
        self.dtype, self.bits, self.max, self.min = dtype.name, info.bits, int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def require_floating(op: str, dtype: DType) -> None:
    """Refuse what only floating and complex numbers can do."""
    if not dtype.differentiable:
        raise DTypeError(f"{op}: expected a floating or complex tensor, got {dtype}. Hint: x.to(nbgrad.float32).")


def require_real_floating(op: str, dtype: DType) -> None:
    """Refuse integers, truth values and complex numbers."""
    if not dtype.is_floating_point:
        raise DTypeError(f"{op}: expected a floating tensor, got {dtype}.")
