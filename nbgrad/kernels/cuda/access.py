"""How a kernel touches memory: one named access for every (direction, storage dtype, lanes).

A template's source says ``load_float16x8(x0, i)``; each target binds that name to its own implementation, which
converts between the dtype in memory and the dtype in which the kernel computes. So the loops and the scalar functions
never see a half, a byte of truth or a narrow integer:

    in memory                        in the kernel
    float16, bfloat16, float32       float32 (float64 if the kernel computes in float64)
    uint8, int8, ..., int64          int64, narrowed (it wraps) where the source says ``wrap``, and when it is stored
    uint64                           itself
    bool                             a truth value; as a number, name the same bytes ``uint8``
    float64, complex64, complex128   itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...base.dtypes import BOOL, COMPLEX, dtype_of
from ...base.errors import KernelError

__all__ = [
    "Access",
    "Function",
    "VECTOR_BYTES",
    "compute_dtype",
    "conversion_dtype",
    "value_dtype",
    "check_load",
    "vector_lanes",
    "itemsize",
    "prims_dtype",
]

Function = Callable[..., Any]  # a plain Python function, before ``instantiate``
VECTOR_BYTES = 16  # the widest access of one thread up to Hopper


class Access(NamedTuple):
    """A load or a store of ``lanes`` neighbouring elements, aligned to all of them.

    Attributes:
        direction: ``"load"`` or ``"store"``; or what several threads may do to one element at once, in any order with the same
            end: ``"add"`` and ``"max"`` of integers, ``"put"`` of what is the same element in all of them.
        dtype: name of the dtype in memory.
        lanes: elements; an access of one takes and gives bare scalars, a wider one tuples.
        exact: no conversion to the kernel's compute dtype: accumulators of a reduction, say an index beside a float.
    """

    direction: str
    dtype: str
    lanes: int = 1
    exact: bool = False

    @property
    def name(self) -> str:
        """The name that template sources use: ``load_float32x4``, ``store_bool``, ``load_exact_int64``."""
        return f"{self.direction}{'_exact' * self.exact}_{self.dtype}{f'x{self.lanes}' if self.lanes > 1 else ''}"

    def compute(self, dtype: str) -> str:
        """What the access converts to or from, in a kernel that computes in ``dtype``."""
        return compute_dtype(self.dtype) if self.exact else dtype

    @property
    def nbytes(self) -> int:
        """Bytes of one access: all its lanes."""
        return itemsize(self.dtype) * self.lanes


def itemsize(dtype: str) -> int:
    """Bytes of an element of the dtype named ``dtype``."""
    return dtype_of(dtype).itemsize


def compute_dtype(dtype: str) -> str:
    """The dtype in which a kernel computes on elements stored as ``dtype``.

    >>> compute_dtype("bfloat16"), compute_dtype("int8"), compute_dtype("complex64")
    ('float32', 'int64', 'complex64')
    """
    found = dtype_of(dtype)
    if dtype == "uint64":
        return dtype
    if found.category < dtype_of("float32").category:
        return "int64"  # the one integer type that Numba's arithmetic has anyway
    return found.compute


def conversion_dtype(source: str, target: str) -> str:
    """Where a conversion computes: in the kind of number that is the richer of the two, then as wide as its operand.

    >>> conversion_dtype("int64", "float16"), conversion_dtype("float64", "int8")
    ('float32', 'float64')
    """
    richer = source if dtype_of(source).category >= dtype_of(target).category else target
    return compute_dtype(richer)


def value_dtype(dtype: str) -> str:
    """The dtype of operands by value in a kernel that computes on ``dtype``: real in a complex kernel.

    >>> value_dtype("bfloat16"), value_dtype("complex128")
    ('float32', 'float64')
    """
    return dtype_of(compute_dtype(dtype)).to_real().name


def check_load(dtype: str, compute: str) -> None:
    """Refuse an operand that would lose its kind of number on the way into a kernel.

    Raises:
        KernelError: a complex or floating operand in a kernel that computes in a lower kind of number.
    """
    if BOOL < dtype_of(compute).category < dtype_of(dtype).category:
        raise KernelError(
            f"load: {dtype} operand in a kernel that computes in {compute}. "
            f"Hint: compute in {compute_dtype(dtype)} and convert on the store."
        )


def vector_lanes(dtypes: Iterable[str]) -> int:
    """Elements a thread takes at once: the widest dtype fills 16 bytes, narrower ones less.

    >>> vector_lanes(["float32", "bool"]), vector_lanes(["bfloat16"])
    (4, 8)
    """
    return VECTOR_BYTES // max(map(itemsize, dtypes), default=VECTOR_BYTES)


def prims_dtype(dtype: str) -> str:
    """The dtype of a kernel's primitives: real for a complex kernel, float32 for a half one, else ``dtype``."""
    found = dtype_of(dtype)
    if found.category == COMPLEX:
        return found.to_real().name
    return found.compute if found.is_floating_point else dtype
