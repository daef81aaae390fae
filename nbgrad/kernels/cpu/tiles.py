"""Sums of rows times numbers that stay in registers until all terms are added: intrinsics of CPU kernels.

LLVM makes vectors of innermost loops, which for products of matrices go over the elements of a row, so that every sum is read and
written once for few terms: 27 to 34 multiply-adds a nanosecond on a Zen 3, 39 to 43 in registers (benchmarks/test_recurrent.py).
"""

from __future__ import annotations

from typing import Any, Callable

from llvmlite import ir

from .emit import lanes, widest_vectors

__all__ = ["make_outer_tile", "make_tile", "most_rows", "most_vectors"]

I64 = ir.IntType(64)


class Tile:
    """What writes the instructions of one tile: sums of some rows, in vectors.

    Args:
        builder: writes at the end of a block.
        element: LLVM's type of a number.
        count: numbers of a vector.
    """

    def __init__(self, builder: Any, element: Any, size: int, count: int):
        self.builder, self.element, self.size = builder, element, size
        self.vector, self.count = ir.VectorType(element, count), count

    def moved(self, address: Any, distance: int) -> Any:
        """An address so many bytes on."""
        return self.builder.add(address, ir.Constant(I64, distance)) if distance else address

    def pointers(self, address: Any, vectors: int) -> list[Any]:
        """Of vectors side by side."""
        step = self.count * self.size
        return [self.builder.inttoptr(self.moved(address, k * step), self.vector.as_pointer()) for k in range(vectors)]

    def loaded(self, pointers: list[Any]) -> list[Any]:
        """Vectors that begin at any element."""
        return [self.builder.load(pointer, align=self.size) for pointer in pointers]

    def number(self, address: Any) -> Any:
        """A number of memory in all places of a vector."""
        value = self.builder.load(self.builder.inttoptr(address, self.element.as_pointer()))
        nothing = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), self.count), [0] * self.count)
        return self.builder.shuffle_vector(first, nothing, order)

    def fused(self, x: Any, y: Any, z: Any) -> Any:
        """``x * y + z``, rounded once."""
        name = f"llvm.fma.v{self.count}f{self.size * 8}"
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        return self.builder.call(self.builder.module.declare_intrinsic(name, (), kind), [x, y, z])


def make_tile(intrinsic: Callable, types: Any, name: str, listed: bool) -> Any:
    """``tile_T`` or ``listed_tile_T`` for a dtype: see ``intrinsics``."""
    element, size = (ir.FloatType(), 4) if name == "float32" else (ir.DoubleType(), 8)
    count = lanes(size)

    def tile(typing, rows, vectors, out, down, base, lead, weights, across, terms):
        if not (isinstance(rows, types.IntegerLiteral) and isinstance(vectors, types.IntegerLiteral)):
            return None  # Numba asks again, with the literals
        many, wide = rows.literal_value, vectors.literal_value

        def generate(context, builder, signature, values):
            _, _, out, down, base, lead, weights, across, terms = values
            write = Tile(builder, element, size, count)
            places, factors = [out], [weights]
            for _ in range(many - 1):
                places.append(builder.add(places[-1], down))
                factors.append(builder.add(factors[-1], across))
            pointers = [write.pointers(place, wide) for place in places]
            first = [write.loaded(each) for each in pointers]
            before, loop, behind = builder.block, builder.append_basic_block("terms"), builder.append_basic_block("summed")
            builder.branch(loop)
            builder.position_at_end(loop)
            t = builder.phi(I64)
            sums = [[builder.phi(write.vector) for _ in range(wide)] for _ in range(many)]
            if listed:
                words = builder.gep(builder.inttoptr(lead, I64.as_pointer()), [builder.shl(t, ir.Constant(I64, 1))])
                row = builder.add(base, builder.load(words))
                index = builder.load(builder.gep(words, [ir.Constant(I64, 1)]))
            else:
                row, index = builder.add(base, builder.mul(t, lead)), t
            line = write.loaded(write.pointers(row, wide))
            skip = builder.mul(index, ir.Constant(I64, size))
            numbers = [write.number(builder.add(factor, skip)) for factor in factors]
            added = [[write.fused(w, x, total) for x, total in zip(line, each)] for w, each in zip(numbers, sums)]
            trips = builder.add(t, ir.Constant(I64, 1))
            builder.cbranch(builder.icmp_signed("<", trips, terms), loop, behind)
            t.add_incoming(ir.Constant(I64, 0), before)
            t.add_incoming(trips, loop)
            for each, old, new in zip(sums, first, added):
                for total, start, made in zip(each, old, new):
                    total.add_incoming(start, before)
                    total.add_incoming(made, loop)
            builder.position_at_end(behind)
            for each, to in zip(added, pointers):
                for value, pointer in zip(each, to):
                    builder.store(value, pointer, align=size)
            return context.get_dummy_value()

        word = types.int64
        return types.void(rows, vectors, *[word] * 7), generate

    return intrinsic(tile)


def most_vectors() -> int:
    """How many vectors of four rows a tile may have: their sums, a line of vectors and a number are in registers."""
    return 4 if widest_vectors() == "AVX512" else 3


def most_rows() -> int:
    """How many rows of two vectors an outer tile may have: their sums, two vectors and a number are in registers."""
    return 14 if widest_vectors() == "AVX512" else 6


def make_outer_tile(intrinsic: Callable, types: Any, name: str) -> Any:
    """``outer_tile_T`` for a dtype: see ``intrinsics``."""
    element, size = (ir.FloatType(), 4) if name == "float32" else (ir.DoubleType(), 8)
    count = lanes(size)

    def outer_tile(typing, rows, vectors, out, down, base, table, weights, terms):
        if not (isinstance(rows, types.IntegerLiteral) and isinstance(vectors, types.IntegerLiteral)):
            return None  # Numba asks again, with the literals
        many, wide = rows.literal_value, vectors.literal_value

        def generate(context, builder, signature, values):
            _, _, out, down, base, table, weights, terms = values
            write = Tile(builder, element, size, count)
            nothing = ir.Constant(write.vector, [0.0] * count)
            before, loop, behind = builder.block, builder.append_basic_block("terms"), builder.append_basic_block("summed")
            builder.branch(loop)
            builder.position_at_end(loop)
            t = builder.phi(I64)
            sums = [[builder.phi(write.vector) for _ in range(wide)] for _ in range(many)]
            words = builder.gep(builder.inttoptr(table, I64.as_pointer()), [builder.shl(t, ir.Constant(I64, 1))])
            numbers = builder.add(base, builder.load(words))
            line = builder.add(weights, builder.load(builder.gep(words, [ir.Constant(I64, 1)])))
            vector = write.loaded(write.pointers(line, wide))
            added = []
            for row, each in enumerate(sums):
                number = write.number(write.moved(numbers, row * size))
                added.append([write.fused(number, x, total) for x, total in zip(vector, each)])
            trips = builder.add(t, ir.Constant(I64, 1))
            builder.cbranch(builder.icmp_signed("<", trips, terms), loop, behind)
            t.add_incoming(ir.Constant(I64, 0), before)
            t.add_incoming(trips, loop)
            for each, new in zip(sums, added):
                for total, made in zip(each, new):
                    total.add_incoming(nothing, before)
                    total.add_incoming(made, loop)
            builder.position_at_end(behind)
            for each in added:
                pointers = write.pointers(out, wide)
                for value, old, pointer in zip(each, write.loaded(pointers), pointers):
                    builder.store(builder.fadd(old, value), pointer, align=size)
                out = builder.add(out, down)
            return context.get_dummy_value()

        word = types.int64
        return types.void(rows, vectors, *[word] * 6), generate

    return intrinsic(outer_tile)
