"""Every second element of a row, in vectors that overlap: an intrinsic of CPU kernels.

LLVM takes what is left behind the last whole vector element by element, which for rows of 14 is all of it. Here the last vector
ends where the row ends, and begins within what is written already; rows of less than a vector take a half, a quarter, one.
"""

from __future__ import annotations

from typing import Any, Callable

from llvmlite import ir

from .emit import lanes

__all__ = ["make_every_second"]

I32, I64 = ir.IntType(32), ir.IntType(64)


def make_every_second(intrinsic: Callable, types: Any, name: str) -> Any:
    """``every_second_T`` for a dtype: see ``intrinsics``."""
    element, size = (ir.FloatType(), 4) if name == "float32" else (ir.DoubleType(), 8)

    def every_second(typing, to, source, count):
        def generate(context, builder, signature, values):
            behind, width = builder.append_basic_block("written"), lanes(size)
            while width:
                enough, less = builder.append_basic_block("enough"), builder.append_basic_block("less")
                builder.cbranch(builder.icmp_signed(">=", values[2], ir.Constant(I64, width)), enough, less)
                builder.position_at_end(enough)
                write_row(builder, values, ir.VectorType(element, width), size, behind)
                builder.position_at_end(less)
                width //= 2
            builder.branch(behind)
            builder.position_at_end(behind)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return intrinsic(every_second)


def write_row(builder: Any, values: list[Any], kind: Any, size: int, behind: Any) -> None:
    """Vectors from the first element on, then, if elements are left, one that ends with the row."""
    to, source, count = values
    before, loop, end, last = builder.block, *(builder.append_basic_block(label) for label in ("vector", "end", "last"))
    final = builder.sub(count, ir.Constant(I64, kind.count))

    def write(first: Any) -> None:
        value = even_elements(builder, builder.add(source, builder.mul(first, ir.Constant(I64, 2 * size))), kind, size)
        place = builder.add(to, builder.mul(first, ir.Constant(I64, size)))
        builder.store(value, builder.inttoptr(place, kind.as_pointer()), align=size)

    builder.branch(loop)
    builder.position_at_end(loop)
    first = builder.phi(I64)
    write(first)
    following = builder.add(first, ir.Constant(I64, kind.count))
    first.add_incoming(ir.Constant(I64, 0), before)
    first.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<=", following, final), loop, end)
    builder.position_at_end(end)
    builder.cbranch(builder.icmp_signed("<", following, count), last, behind)
    builder.position_at_end(last)
    write(final)
    builder.branch(behind)


def even_elements(builder: Any, address: Any, kind: Any, size: int) -> Any:
    """Elements 0, 2, 4, ... in a vector; none behind the last of them is read, as memory may end there."""
    wide = kind.count

    def loaded(first: int) -> Any:
        place = builder.add(address, ir.Constant(I64, first * size))
        return builder.load(builder.inttoptr(place, kind.as_pointer()), align=size)

    if wide == 1:
        return loaded(0)
    # of elements 0 to wide - 1 those at even places, of wide - 1 to 2 wide - 2 those at odd ones
    order = [*range(0, wide, 2), *range(wide + 1, 2 * wide, 2)]
    return builder.shuffle_vector(loaded(0), loaded(wide - 1), ir.Constant(ir.VectorType(I32, wide), order))
