"""Loads and stores of kernels as instructions: what an element in memory is in the kernel, and back.

An access is one instruction of all its bytes with its alignment stated, on a pointer to the device's memory, of which ptxas makes
``ld.global.v4``. Elements narrower than a word are shifted out of words: as vectors of halves or bytes, LLVM would move them one
at a time.
"""

from __future__ import annotations

from typing import Any, Callable

from llvmlite import ir

from ...base.dtypes import COMPLEX, dtype_of
from ...base.errors import KernelError
from ..compiler import kinds
from ..compiler.arithmetic import Builder, Value, complex_of, convert, ir_of, kind_of, part
from ..compiler.expressions import Primitive
from ..compiler.kinds import Boolean, Complex, Integer, Kind
from .access import Access, check_load, itemsize, value_dtype

__all__ = ["change_of", "load_of", "note_first", "store_of"]

I8, I32, I64 = map(ir.IntType, (8, 32, 64))
HALVES = ("float16", "bfloat16")
REALS: dict[str, Any] = {"float16": ir.HalfType(), "float32": ir.FloatType(), "float64": ir.DoubleType()}


def load_of(access: Access, compute: str, hold: Callable[[Builder, Any], Any] | None = None) -> Primitive:
    """``load(pointer, index)``: the elements in the dtype in which the kernel computes, or truth values.

    Args:
        hold: ``hold(builder, words)``, the same words, of which the optimiser does not know that: it would load only the bytes
            that are read of them, one by one.
    """
    check_load(access.dtype, compute)
    kind = kinds.boolean if access.dtype == "bool" else getattr(kinds, compute)

    def load(b: Builder, pointer: Value, index: Any) -> Any:
        words = b.load(address(b, pointer, index, access), align=access.nbytes)
        if hold is not None and isinstance(words.type, ir.VectorType):
            words = hold(b, words)
        values = [decoded(b, parts, access.dtype, kind) for parts in split(b, words, access)]
        return values[0] if access.lanes == 1 else tuple(values)

    return Primitive(load)


def store_of(access: Access, compute: str, narrow: Callable[[Builder, Any], Any]) -> Primitive:
    """``store(pointer, index, elements)``.

    Args:
        narrow: ``narrow(builder, float32)``, the bits of the nearest bfloat16.
    """

    def store(b: Builder, pointer: Value, index: Any, elements: Any) -> None:
        values = elements if isinstance(elements, tuple) else (elements,)
        for value in values:
            if len(values) != access.lanes or not is_storable(kind_of(value), compute):
                raise KernelError(
                    f"store: {', '.join(str(kind_of(each)) for each in values)} into {access.lanes} of {access.dtype} of a kernel "
                    f"that computes in {compute}. Hint: a constant was not narrowed, or the scalar function has other results."
                )
        parts = [encoded(b, value, access.dtype, narrow) for value in values]
        b.store(joined(b, parts, access), address(b, pointer, index, access), align=access.nbytes)

    return Primitive(store)


def change_of(access: Access, compute: str, narrow: Callable[[Builder, Any], Any]) -> Primitive:
    """``add(pointer, index, element)``, ``max(...)``: of an integer in memory, as one step; ``put``: a store."""
    if access.direction == "put":
        return store_of(access, compute, narrow)
    kind = getattr(kinds, access.dtype)

    def change(b: Builder, pointer: Value, index: Any, element: Any) -> None:
        place = b.bitcast(address(b, pointer, index, access), kind.llvm.as_pointer(pointer.ir.type.addrspace))
        b.atomic_rmw(access.direction, place, ir_of(convert(b, element, kind), kind), "monotonic")

    return Primitive(change)


def note_first(b: Builder, errors: Value, number: Any, element: Any) -> None:
    """What is wrong, and with which element, unless something was noted before: NOTE [Errors on the device] of ``steps.py``."""
    words = b.bitcast(errors.ir, I64.as_pointer(errors.ir.type.addrspace))
    number, element = (ir_of(convert(b, each, kinds.int64), kinds.int64) for each in (number, element))
    swapped = b.cmpxchg(words, ir.Constant(I64, 0), number, "monotonic", "monotonic")
    with b.if_then(b.extract_value(swapped, 1)):
        b.store(element, b.gep(words, [ir.Constant(I64, 1)]), align=8)


def is_storable(kind: Kind, compute: str) -> bool:
    """A result is of the compute dtype, an index or a truth value, in a complex kernel also a real number (a constant); a
    float64 in a float32 kernel was not narrowed.
    """
    return kind.name in (compute, value_dtype(compute)) or isinstance(kind, (Boolean, Integer))


def address(b: Builder, pointer: Value, index: Any, access: Access) -> Any:
    """``pointer`` as one to the access's words, moved by ``index`` accesses."""
    space = pointer.ir.type.addrspace
    moved = ir_of(convert(b, index, kinds.int64), kinds.int64)
    return b.gep(b.bitcast(pointer.ir, words_of(access).as_pointer(space)), [moved])


def words_of(access: Access) -> Any:
    """The LLVM type that moves all of an access at once."""
    if access.nbytes <= 4:
        return ir.IntType(8 * access.nbytes)
    return ir.VectorType(I32, access.nbytes // 4)


def element_of(dtype: str) -> tuple[Any, int]:
    """LLVM's type of the parts of an element in memory, and how many these are."""
    found = dtype_of(dtype)
    if found.category == COMPLEX:
        return REALS[found.to_real().name], 2
    return REALS.get(dtype) or ir.IntType(8 * found.itemsize), 1


# ---- words and elements ------------------------------------------------------------------------------------------------


def split(b: Builder, words: Any, access: Access) -> list[list[Any]]:
    """The words of an access as elements, each a list of parts."""
    one, width = element_of(access.dtype)
    count = access.lanes * width
    if itemsize(access.dtype) < 4:
        parts = [unpacked(b, words, k, one, itemsize(access.dtype)) for k in range(count)]
    else:
        vector = b.bitcast(words, ir.VectorType(one, count))
        parts = [b.extract_element(vector, ir.Constant(I32, k)) for k in range(count)]
    return [parts[k : k + width] for k in range(0, count, width)]


def unpacked(b: Builder, words: Any, k: int, one: Any, size: int) -> Any:
    """Element ``k`` of ``size`` bytes out of one word, or a vector of them."""
    word, shift = words, 8 * size * k
    if isinstance(words.type, ir.VectorType):
        word, shift = b.extract_element(words, ir.Constant(I32, shift // 32)), shift % 32
    bits = b.trunc(b.lshr(word, ir.Constant(word.type, shift)), ir.IntType(8 * size))
    return b.bitcast(bits, one)


def joined(b: Builder, elements: list[list[Any]], access: Access) -> Any:
    """The inverse of ``split``."""
    parts = [each for element in elements for each in element]
    if itemsize(access.dtype) < 4:
        return packed(b, parts, itemsize(access.dtype), words_of(access))
    vector = ir.Constant(ir.VectorType(parts[0].type, len(parts)), ir.Undefined)
    for k, each in enumerate(parts):
        vector = b.insert_element(vector, each, ir.Constant(I32, k))
    return b.bitcast(vector, words_of(access))


def packed(b: Builder, parts: list[Any], size: int, words: Any) -> Any:
    """Elements of ``size`` bytes as one word, or a vector of them."""
    count = words.count if isinstance(words, ir.VectorType) else 1
    kind = words.element if isinstance(words, ir.VectorType) else words
    found = list[Any]()
    for some in (parts[k : k + len(parts) // count] for k in range(0, len(parts), len(parts) // count)):
        word = ir.Constant(kind, 0)
        for k, each in enumerate(some):
            bits = b.zext(b.bitcast(each, ir.IntType(8 * size)), kind)
            word = b.or_(word, b.shl(bits, ir.Constant(kind, 8 * size * k)))
        found.append(word)
    if not isinstance(words, ir.VectorType):
        return found[0]
    vector = ir.Constant(words, ir.Undefined)
    for k, word in enumerate(found):
        vector = b.insert_element(vector, word, ir.Constant(I32, k))
    return vector


# ---- elements and numbers ----------------------------------------------------------------------------------------------


def decoded(b: Builder, parts: list[Any], dtype: str, kind: Kind) -> Any:
    """An element's parts as a value of the kind in which the kernel computes."""
    if len(parts) == 2:
        real = getattr(kinds, dtype_of(dtype).to_real().name)
        return convert(b, complex_of(b, *(Value(real, each) for each in parts)), kind)
    if dtype == "bool":
        return Value(kind, b.icmp_unsigned("!=", parts[0], ir.Constant(I8, 0)))
    if dtype in HALVES:
        return convert(b, Value(kinds.float32, widened(b, parts[0], dtype)), kind)
    return convert(b, Value(getattr(kinds, dtype), parts[0]), kind)


def encoded(b: Builder, value: Any, dtype: str, narrow: Callable[[Builder, Any], Any]) -> list[Any]:
    """A value as the parts of an element in memory. A real dtype takes a complex number's real part."""
    if dtype == "bool":
        return [b.zext(ir_of(convert(b, value, kinds.boolean), kinds.boolean), I8)]
    if isinstance(kind_of(value), Complex) and dtype_of(dtype).category != COMPLEX:
        value = part(b, value, 0)
    if dtype in HALVES:
        real = ir_of(convert(b, value, kinds.float32), kinds.float32)
        return [b.fptrunc(real, ir.HalfType()) if dtype == "float16" else narrow(b, real)]
    kind = getattr(kinds, dtype)
    value = convert(b, value, kind)
    if isinstance(kind, Complex):
        return [ir_of(part(b, value, k), kind.underlying_float) for k in (0, 1)]
    return [ir_of(value, kind)]


def widened(b: Builder, half: Any, dtype: str) -> Any:
    """A half as float32."""
    if dtype == "float16":
        return b.fpext(half, ir.FloatType())
    return b.bitcast(b.shl(b.zext(half, I32), ir.Constant(I32, 16)), ir.FloatType())
