"""A square of elements transposed in registers, eight by eight, or four by four of 16 bytes: an intrinsic of CPU kernels.

LLVM makes no such thing of loops: what it writes of them moves one element at a time.
"""

from __future__ import annotations

from typing import Any, Callable

from llvmlite import ir

__all__ = ["make_turn"]

I32 = ir.IntType(32)


def make_turn(intrinsic: Callable, types: Any, size: int) -> Any:
    """``turn_SIZE`` for elements of so many bytes: see ``intrinsics``."""
    side, parts = (8, 1) if size < 16 else (4, 2)
    vector = ir.VectorType(ir.IntType(8 * size // parts), side * parts)

    def turn(typing, target, down, source, across):
        def generate(context, builder, signature, values):
            target, down, source, across = values
            lines = []
            for _ in range(side):
                lines.append(builder.load(builder.inttoptr(source, vector.as_pointer()), align=size // parts))
                source = builder.add(source, across)
            for line in transposed(builder, lines, parts):
                builder.store(line, builder.inttoptr(target, vector.as_pointer()), align=size // parts)
                target = builder.add(target, down)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return intrinsic(turn)


def transposed(builder: Any, lines: list[Any], parts: int) -> list[Any]:
    """The columns of as many vectors as each has elements: pairs of lines exchange halves, quarters and single elements.

    Args:
        parts: of which an element is made.
    """
    side = len(lines)
    distance = side // 2
    while distance:
        for k in range(side):
            if not k & distance:
                first, second = lines[k], lines[k + distance]
                lower = [p if not p & distance else side + p - distance for p in range(side)]
                upper = [p + distance if not p & distance else side + p for p in range(side)]
                lines[k], lines[k + distance] = (chosen(builder, first, second, order, parts) for order in (lower, upper))
        distance //= 2
    return lines


def chosen(builder: Any, first: Any, second: Any, order: list[int], parts: int) -> Any:
    """Elements of two vectors by their places, those of the second behind those of the first."""
    places = [place * parts + k for place in order for k in range(parts)]
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, len(places)), places))
