"""Intrinsics of CPU kernels beyond arithmetic: typed pointers, words of a parameter block, calls through addresses.

Imported only when something must be compiled. Everything is opaque-pointer LLVM: a "typed pointer" is Numba's way of
knowing the element type of a load.
"""

from __future__ import annotations

from typing import Any, Callable

from llvmlite import ir

from ..prims import POINTER_TYPES
from .depthwise import make_depthwise
from .emit import lanes
from .rows import make_every_second
from .tiles import make_outer_tile, make_tile
from .turns import make_turn

__all__ = ["intrinsics"]

I64 = ir.IntType(64)
# What writes the instructions of ``depthwise_T`` and its like.
DEPTHWISE = {"depthwise": "convolve", "depthwise_transposed": "transposed", "depthwise_weight": "weigh"}


def intrinsics(intrinsic: Callable, types: Any) -> dict[str, Any]:
    """``{name: intrinsic}``.

    Args:
        intrinsic: what makes one of a rule: Numba's decorator, or the compiler's own.
        types: the module of that one's types.

    p_T(args, i)            the i-th argument as pointer to T
    at_T(address, bytes)    the address (int64) moved by bytes, as pointer to T
    pointer_word(args, i)   the i-th argument as an int64 address
    word(address, i)        the i-th int64 at an address;  set_word(address, i, value)
    quotient(x, y)          ``x // y`` of numbers that are not negative, y not 0: an instruction, where ``//`` is fifteen
    stack(bytes)            the address of 64-byte aligned stack memory; the size is a literal
    run_kernel(kernel, start, stop, args)   call a kernel at an address with an argument array at an address
    call_c(function, *ints)                 call a C function of int64 arguments at an address
    tile_T(rows, vectors, out, down, base, lead, weights, across, terms)
        add to vectors of rows (``down`` bytes apart) so many terms: a number of each row's weights (``across`` bytes from row to
        row) times the vectors at ``base``, and ``lead`` bytes on for each term; both counts and 1 are literals, terms at least 1
    listed_tile_T                           the same with ``lead`` an address: for each term bytes from ``base``, and which number
    outer_tile_T(rows, vectors, out, down, base, table, weights, terms)
        add to vectors of rows (``down`` bytes apart) so many terms: of each row a number times the vectors of the term. For
        each ``table`` has where the numbers, which lie side by side, and the vectors begin, in bytes from ``base`` and ``weights``
    depthwise_T(rows, columns, stride, odd, out, x, weights, first, sizes...)
        the short side of one channel by one kernel, whose size, with the stride and whether the padding beside is odd (as only the
        transpose asks), are literals; sizes: height and width of the long and of the short side, then padding above and beside
    depthwise_transposed_T(..., out, y, weights, first, sizes...)                  the long side
    depthwise_weight_T(..., out, x, y, images, far, near, sizes...)
        the sums of weights over images that lie ``far`` bytes apart on the long side, and ``near`` on the short side
    every_second_T(to, source, count)       elements 0, 2, 4, ... of ``source``, side by side at ``to``
    turn_SIZE(target, down, source, across)
        eight lines of eight elements of so many bytes, ``across`` bytes apart, become columns of lines ``down`` apart; four by four
        of 16 bytes
    """
    void_pointer = ir.PointerType(ir.IntType(8))

    def element_pointer(name):
        return types.CPointer(getattr(types, name))

    def as_type(context, builder, pointer, numba_type):
        return builder.bitcast(pointer, context.get_value_type(numba_type))

    def make_p(name):
        result = element_pointer(name)

        def p(typing, args, i):
            def generate(context, builder, signature, values):
                slot = builder.gep(values[0], [values[1]])
                return as_type(context, builder, builder.load(slot), result)

            return result(args, types.int64), generate

        return intrinsic(p)

    def make_at(name):
        result = element_pointer(name)

        def at(typing, address, offset):
            def generate(context, builder, signature, values):
                moved = builder.add(*values)
                return builder.inttoptr(moved, context.get_value_type(result))

            return result(types.int64, types.int64), generate

        return intrinsic(at)

    @intrinsic
    def pointer_word(typing, args, i):
        def generate(context, builder, signature, values):
            return builder.ptrtoint(builder.load(builder.gep(values[0], [values[1]])), I64)

        return types.int64(args, types.int64), generate

    def word_at(builder, address, i):
        return builder.gep(builder.inttoptr(address, I64.as_pointer()), [i])

    @intrinsic
    def word(typing, address, i):
        def generate(context, builder, signature, values):
            return builder.load(word_at(builder, *values))

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def set_word(typing, address, i, value):
        def generate(context, builder, signature, values):
            builder.store(values[2], word_at(builder, values[0], values[1]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    @intrinsic
    def quotient(typing, x, y):
        def generate(context, builder, signature, values):
            return builder.udiv(*values)

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def stack(typing, size):
        if not isinstance(size, types.IntegerLiteral):
            return None  # Numba asks again, with the literal

        def generate(context, builder, signature, values):
            with builder.goto_entry_block():
                memory = builder.alloca(ir.ArrayType(ir.IntType(8), size.literal_value))
                memory.align = 64
            return builder.ptrtoint(memory, I64)

        return types.int64(size), generate

    @intrinsic
    def run_kernel(typing, kernel, start, stop, args):
        def generate(context, builder, signature, values):
            address, start, stop, args = values
            with builder.goto_entry_block():  # in a loop it would take more of the stack each time
                scratch = builder.alloca(ir.ArrayType(void_pointer, 2))
            kind = ir.FunctionType(ir.IntType(32), [void_pointer, void_pointer, I64, I64, void_pointer])
            function = builder.inttoptr(address, kind.as_pointer())
            first = builder.bitcast(scratch, void_pointer)
            second = builder.gep(first, [ir.Constant(I64, 8)])
            builder.call(function, [first, second, start, stop, builder.inttoptr(args, void_pointer)])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), generate

    @intrinsic
    def call_c(typing, function, arguments):
        def generate(context, builder, signature, values):
            parts = [builder.extract_value(values[1], k) for k in range(len(signature.args[1]))]
            kinds = [p.type for p in parts]
            target = builder.inttoptr(values[0], ir.FunctionType(ir.VoidType(), kinds).as_pointer())
            builder.call(target, parts)
            return context.get_dummy_value()

        return types.void(types.int64, arguments), generate

    return {
        **{f"p_{name}": make_p(name) for name in POINTER_TYPES},
        **{f"at_{name}": make_at(name) for name in POINTER_TYPES},
        "pointer_word": pointer_word,
        "word": word,
        "set_word": set_word,
        "quotient": quotient,
        "stack": stack,
        "run_kernel": run_kernel,
        "call_c": call_c,
        **{f"tile_{name}": make_tile(intrinsic, types, name, False) for name in ("float32", "float64")},
        **{f"listed_tile_{name}": make_tile(intrinsic, types, name, True) for name in ("float32", "float64")},
        **{f"outer_tile_{name}": make_outer_tile(intrinsic, types, name) for name in ("float32", "float64")},
        **{
            f"{called}_{name}": make_depthwise(intrinsic, types, name, which, lanes(size))
            for called, which in DEPTHWISE.items()
            for name, size in (("float32", 4), ("float64", 8))
        },
        **{f"every_second_{name}": make_every_second(intrinsic, types, name) for name in ("float32", "float64")},
        **{f"turn_{size}": make_turn(intrinsic, types, size) for size in (1, 2, 4, 8, 16)},
        "few": range,
        "abreast": range,
        "eight_wide": range,
        "one_by_one": range,
    }
