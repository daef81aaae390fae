"""What the names in a template mean to Numba's CUDA target. With ``build.py``, the only file that knows numba-cuda."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Iterable

import numpy as np

if not hasattr(np, "row_stack"):  # removed in NumPy 2.5; numba-cuda 0.30 reads it when it first compiles
    np.row_stack = np.vstack

with warnings.catch_warnings():  # numba-cuda 0.30 does, on import, what NumPy 2.5 warns of
    warnings.simplefilter("ignore", DeprecationWarning)
    from numba import cuda as numba_cuda
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

from llvmlite import ir

from ...base.dtypes import COMPLEX, dtype_of
from ...base.errors import KernelError
from ..prims import declare, llvm_prims
from .access import Access, check_load, compute_dtype, itemsize, prims_dtype, value_dtype

__all__ = ["cuda", "types", "cuda_prims", "pointer_type"]

# The CUDA target inside numba itself is frozen and lacks CUDA 13. numba-cuda replaces it through a .pth file,
# which `pip install --target` does not run.
cuda: Any = numba_cuda
if "numba_cuda" not in cuda.__file__:
    raise KernelError(
        f"cuda: numba.cuda is {cuda.__file__}, expected numba-cuda. Hint: pip install 'nbgrad[cuda]'; "
        f"where it is installed already, import _numba_cuda_redirector before numba."
    )

_I1, _I8, _I16, _I32 = map(ir.IntType, (1, 8, 16, 32))
_HALVES = ("float16", "bfloat16")
_REALS = {"float16": ir.HalfType(), "float32": ir.FloatType(), "float64": ir.DoubleType()}


def cuda_prims(dtype: str, accesses: Iterable[Access], state: tuple[str, ...] = ()) -> dict:
    """All names of a template that computes in ``dtype``: primitives, memory, index arithmetic, ``cuda`` itself."""
    compute, makers = compute_dtype(dtype), {"load": _load, "store": _store}
    rint = "__nv_rintf" if prims_dtype(dtype) == "float32" else "__nv_rint"  # libdevice; NVVM turns it into cvt.rni
    return {
        **llvm_prims(intrinsic, types, prims_dtype(dtype), rint),
        "cuda": cuda,
        "where_index": where_index,
        "divide_by_magic": divide_by_magic,
        "multiply_add_i32": multiply_add_i32,
        **{a.name: makers[a.direction](a, a.compute(compute)) for a in accesses},
        **{f"STATE{s}": getattr(types, name) for s, name in enumerate(state)},
    }


def pointer_type(dtype: str):
    """The type of a kernel's pointer parameter. Accesses cast it: all that counts is that it is a pointer."""
    return types.CPointer(getattr(types, f"uint{8 * min(itemsize(dtype), 8)}"))


# A plain LLVM access with its alignment stated: NVVM infers the global address space from the kernel's parameters and
# emits ld.global.v4. Inline assembly would do the same, but the optimiser could not move it. Elements narrower than a
# word are shifted out of words: as vectors of halves or bytes, NVVM would load them four at a time.


def _load(access: Access, compute: str) -> Callable:
    check_load(access.dtype, compute)
    element = types.boolean if access.dtype == "bool" else getattr(types, compute)

    @intrinsic
    def load(typing, pointer, index):
        result = element if access.lanes == 1 else types.UniTuple(element, access.lanes)

        def generate(context, builder, signature, args):
            words = builder.load(_address(builder, *args, access), align=access.nbytes)
            elements = _split(builder, words, access)
            values = [_decode(context, builder, parts, access.dtype, element) for parts in elements]
            return values[0] if access.lanes == 1 else context.make_tuple(builder, result, values)

        return result(pointer, index), generate

    return load


def _store(access: Access, compute: str) -> Callable:
    @intrinsic
    def store(typing, pointer, index, value):
        kinds = list(value) if isinstance(value, types.BaseTuple) else [value]
        if len(kinds) != access.lanes or not all(_storable(kind, compute) for kind in kinds):
            return None  # Numba's "no match" error, in place of a silent conversion

        def generate(context, builder, signature, args):
            *place, value = args
            values = [value] if access.lanes == 1 else [builder.extract_value(value, k) for k in range(access.lanes)]
            parts = [_encode(context, builder, v, kind, access.dtype) for v, kind in zip(values, kinds)]
            builder.store(_join(builder, parts, access), _address(builder, *place, access), align=access.nbytes)
            return context.get_dummy_value()

        return types.void(pointer, index, value), generate

    return store


def _storable(kind, compute: str) -> bool:
    """A result is of the compute dtype, an index or a truth value, in a complex kernel also a real number (a constant); a
    float64 in a float32 kernel was not narrowed.
    """
    numbers = [getattr(types, name) for name in (compute, value_dtype(compute))]
    return kind in numbers or isinstance(kind, (types.Boolean, types.Integer))


def _address(builder, pointer, index, access):
    """``pointer`` as one to the access's words, moved by ``index`` accesses."""
    return builder.gep(builder.bitcast(pointer, _words(access).as_pointer()), [index])


def _words(access):
    """The LLVM type that moves all of an access at once."""
    if access.nbytes <= 4:
        return ir.IntType(8 * access.nbytes)
    return ir.VectorType(_I32, access.nbytes // 4)


def _element(dtype: str):
    """``(LLVM type, how many)`` of the parts of an element in memory."""
    found = dtype_of(dtype)
    if found.category == COMPLEX:
        return _REALS[found.to_real().name], 2
    return _REALS.get(dtype) or ir.IntType(8 * found.itemsize), 1


def _split(builder, words, access):
    """The words of an access as a list of elements, each a list of parts."""
    part, width = _element(access.dtype)
    count = access.lanes * width
    if itemsize(access.dtype) < 4:
        parts = [_unpack(builder, words, k, part, itemsize(access.dtype)) for k in range(count)]
    else:
        vector = builder.bitcast(words, ir.VectorType(part, count))
        parts = [builder.extract_element(vector, ir.Constant(_I32, k)) for k in range(count)]
    return [parts[k : k + width] for k in range(0, count, width)]


def _unpack(builder, words, k, part, size):
    """Element ``k`` of ``size`` bytes out of one word, or a vector of them."""
    word, shift = words, 8 * size * k
    if isinstance(words.type, ir.VectorType):
        word, shift = builder.extract_element(words, ir.Constant(_I32, shift // 32)), shift % 32
    bits = builder.trunc(builder.lshr(word, ir.Constant(word.type, shift)), ir.IntType(8 * size))
    return builder.bitcast(bits, part)


def _join(builder, elements, access):
    """The inverse of ``_split``."""
    parts = [part for element in elements for part in element]
    if itemsize(access.dtype) < 4:
        return _pack(builder, parts, itemsize(access.dtype), _words(access))
    vector = ir.Constant(ir.VectorType(parts[0].type, len(parts)), ir.Undefined)
    for k, part in enumerate(parts):
        vector = builder.insert_element(vector, part, ir.Constant(_I32, k))
    return builder.bitcast(vector, _words(access))


def _pack(builder, parts, size, words):
    """Elements of ``size`` bytes as one word, or a vector of them."""
    count = words.count if isinstance(words, ir.VectorType) else 1
    word_type = words.element if isinstance(words, ir.VectorType) else words
    packed = []
    for word_parts in (parts[k : k + len(parts) // count] for k in range(0, len(parts), len(parts) // count)):
        word = ir.Constant(word_type, 0)
        for k, part in enumerate(word_parts):
            bits = builder.zext(builder.bitcast(part, ir.IntType(8 * size)), word_type)
            word = builder.or_(word, builder.shl(bits, ir.Constant(word_type, 8 * size * k)))
        packed.append(word)
    if not isinstance(words, ir.VectorType):
        return packed[0]
    vector = ir.Constant(words, ir.Undefined)
    for k, word in enumerate(packed):
        vector = builder.insert_element(vector, word, ir.Constant(_I32, k))
    return vector


def _decode(context, builder, parts, dtype: str, target):
    """An element's parts as a Numba value of type ``target``."""
    if len(parts) == 2:
        number = context.make_complex(builder, getattr(types, dtype))
        number.real, number.imag = parts
        return context.cast(builder, number._getvalue(), getattr(types, dtype), target)
    if dtype == "bool":
        return builder.icmp_unsigned("!=", parts[0], ir.Constant(_I8, 0))
    if dtype in _HALVES:
        widen = _widen_float16 if dtype == "float16" else _widen_bfloat16
        return context.cast(builder, widen(builder, parts[0]), types.float32, target)
    return context.cast(builder, parts[0], getattr(types, dtype), target)


def _encode(context, builder, value, kind, dtype: str) -> list:
    """A value of Numba type ``kind`` as the parts of an element in memory. A real dtype takes a complex's real part."""
    if dtype == "bool":
        return [builder.zext(context.cast(builder, value, kind, types.boolean), _I8)]
    if isinstance(kind, types.Complex) and dtype_of(dtype).category != COMPLEX:
        value, kind = context.make_complex(builder, kind, value).real, kind.underlying_float
    if dtype in _HALVES:
        narrow = _narrow_float16 if dtype == "float16" else _narrow_bfloat16
        return [narrow(builder, context.cast(builder, value, kind, types.float32))]
    target = getattr(types, dtype)
    value = context.cast(builder, value, kind, target)
    if dtype_of(dtype).category == COMPLEX:
        number = context.make_complex(builder, target, value)
        return [number.real, number.imag]
    return [value]


def _widen_float16(builder, half):
    return builder.fpext(half, ir.FloatType())


def _narrow_float16(builder, real):
    return builder.fptrunc(real, ir.HalfType())  # cvt.rn.f16.f32


def _widen_bfloat16(builder, bits):
    return builder.bitcast(builder.shl(builder.zext(bits, _I32), ir.Constant(_I32, 16)), ir.FloatType())


def _narrow_bfloat16(builder, real):
    """One instruction from sm_80 on; NVVM's LLVM has no bfloat type. No side effect: the optimiser may move it."""
    convert = ir.InlineAsm(ir.FunctionType(_I16, [ir.FloatType()]), "cvt.rn.bf16.f32 $0, $1;", "=h,f")
    return builder.call(convert, [real])


# Numba widens every integer operation to 64 bits, and LLVM does not always find its way back. Index arithmetic
# that must stay in 32 bits is therefore spelled in 32-bit instructions.


@intrinsic
def where_index(typing, c, i, j):
    """``where`` for indices, which are int64 in a kernel of any dtype."""
    return types.int64(types.boolean, types.int64, types.int64), lambda context, builder, s, args: builder.select(*args)


@intrinsic
def divide_by_magic(typing, i, magic, shift):
    """The high word of i * magic, shifted: mul.hi.u32 and shr, in place of a division."""

    def generate(context, builder, signature, args):
        i, magic, shift = (_low_word(builder, value) for value in args)
        mul_high = declare(builder.module, ir.FunctionType(_I32, [_I32, _I32]), "__nv_umulhi")
        return builder.lshr(builder.call(mul_high, [i, magic]), shift)

    return types.int32(i, types.int64, types.int64), generate


@intrinsic
def multiply_add_i32(typing, x, y, z):
    """x * y + z in 32 bits."""

    def generate(context, builder, signature, args):
        x, y, z = (_low_word(builder, value) for value in args)
        return builder.add(builder.mul(x, y), z)

    return types.int32(x, y, z), generate


def _low_word(builder, value):
    return value if value.type == _I32 else builder.trunc(value, _I32)
