"""Convolutions of one channel by one kernel, from memory to memory in vectors of a row: intrinsics of CPU kernels.

Numbers beside a row are not loaded, by masks, so that no image is written with its padding first; rows above and below are passed
over. With a stride of 2 every second number of two vectors is taken, or two vectors are written in turns.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator

from llvmlite import ir

from .tiles import Tile

__all__ = ["make_depthwise"]

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)


def whole(value: int) -> Any:
    """A number of 64 bits."""
    return ir.Constant(I64, value)


class Writer(Tile):
    """What writes the instructions of one image, or of one channel of all images.

    Args:
        sizes: height and width of the long side and of the short side, and padding above and beside.
        literals: height and width of the kernel, the stride, and whether the padding beside is odd.
    """

    def __init__(self, builder: Any, element: Any, size: int, count: int, sizes: list[Any], literals: tuple[int, ...]):
        super().__init__(builder, element, size, count)
        self.high, self.wide, self.short_high, self.short_wide, self.above, self.beside = sizes
        self.rows, self.columns, self.stride, self.odd = literals
        self.places = ir.Constant(ir.VectorType(I32, count), list(range(count)))
        name = f"v{count}f{8 * size}.p0"
        mask, pointer = ir.VectorType(I1, count), self.vector.as_pointer()
        declare = builder.module.declare_intrinsic
        kind = ir.FunctionType(self.vector, [pointer, I32, mask, self.vector])
        self.masked_load = declare(f"llvm.masked.load.{name}", (), kind)
        kind = ir.FunctionType(ir.VoidType(), [self.vector, pointer, I32, mask])
        self.masked_store = declare(f"llvm.masked.store.{name}", (), kind)

    def variable(self, kind: Any, value: Any) -> Any:
        """A variable that begins with a value; LLVM keeps it in a register."""
        with self.builder.goto_entry_block():
            place = self.builder.alloca(kind)
        self.builder.store(value, place)
        return place

    @contextmanager
    def loop(self, end: Any, step: int = 1) -> Iterator[Any]:
        """What is written inside is done for 0, ``step``, ... below ``end``."""
        builder = self.builder
        place = self.variable(I64, whole(0))
        test, body, behind = (builder.append_basic_block(name) for name in ("test", "body", "behind"))
        builder.branch(test)
        builder.position_at_end(test)
        value = builder.load(place)
        builder.cbranch(builder.icmp_signed("<", value, end), body, behind)
        builder.position_at_end(body)
        yield value
        builder.store(builder.add(value, whole(step)), place)
        builder.branch(test)
        builder.position_at_end(behind)

    @contextmanager
    def only_if(self, condition: Any) -> Iterator[None]:
        """What is written inside is done where a condition holds."""
        inside, behind = self.builder.append_basic_block("inside"), self.builder.append_basic_block("beyond")
        self.builder.cbranch(condition, inside, behind)
        self.builder.position_at_end(inside)
        yield
        self.builder.branch(behind)
        self.builder.position_at_end(behind)

    def filled(self, value: Any, kind: Any) -> Any:
        """A number in all places of a vector."""
        nothing = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(I32, 0))
        return self.builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(I32, self.count), [0] * self.count))

    def within(self, first: Any, size: Any) -> Any:
        """Which places of a vector that begins at a position are in a row of that size."""
        kind = self.places.type
        at = self.builder.add(self.filled(self.builder.trunc(first, I32), kind), self.places)
        return self.builder.icmp_unsigned("<", at, self.filled(self.builder.trunc(size, I32), kind))

    def at(self, base: Any, index: Any) -> Any:
        """The pointer to a vector that begins at an element."""
        address = self.builder.add(base, self.builder.mul(index, whole(self.size)))
        return self.builder.inttoptr(address, self.vector.as_pointer())

    def load(self, base: Any, index: Any, mask: Any) -> Any:
        """A vector, with 0 where the mask has none."""
        nothing = ir.Constant(self.vector, [0.0] * self.count)
        return self.builder.call(self.masked_load, [self.at(base, index), ir.Constant(I32, self.size), mask, nothing])

    def store(self, value: Any, base: Any, index: Any, mask: Any) -> None:
        """Write a vector where the mask has places."""
        self.builder.call(self.masked_store, [value, self.at(base, index), ir.Constant(I32, self.size), mask])

    def shuffled(self, pair: list[Any], order: list[int]) -> Any:
        """Elements of two vectors by their numbers."""
        x, y = pair
        return self.builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, self.count), order))

    def masks_of(self, first: Any) -> list[list[Any]]:
        """For each column of the kernel which numbers of the long side there are, for the short side from ``first`` on."""
        begin = self.builder.sub(self.builder.mul(first, whole(self.stride)), self.beside)
        return [
            [self.within(self.builder.add(begin, whole(k + part * self.count)), self.wide) for part in range(self.stride)]
            for k in range(self.columns)
        ]

    def read(self, base: Any, index: Any, masks: list[Any]) -> Any:
        """A vector of the long side, one number for each place of the short side."""
        parts = [self.load(base, self.builder.add(index, whole(k * self.count)), mask) for k, mask in enumerate(masks)]
        return parts[0] if self.stride == 1 else self.shuffled(parts, [2 * k for k in range(self.count)])

    def long_row(self, y: Any, k: int) -> tuple[Any, Any]:
        """The row that a row of the kernel meets, and whether there is one."""
        row = self.builder.sub(self.builder.add(self.builder.mul(y, whole(self.stride)), whole(k)), self.above)
        return row, self.builder.icmp_unsigned("<", row, self.high)

    def add_to(self, place: Any, x: Any, y: Any) -> None:
        """Add a product to a variable."""
        self.builder.store(self.fused(x, y, self.builder.load(place)), place)

    def weights(self, address: Any) -> list[list[Any]]:
        """The kernel's numbers, each in all places of a vector."""
        at = [[(j * self.columns + k) * self.size for k in range(self.columns)] for j in range(self.rows)]
        return [[self.number(self.moved(address, distance)) for distance in line] for line in at]

    def convolve(self, out: Any, x: Any, weights: Any, first: Any) -> None:
        """The short side of one image; all sums begin with a number."""
        builder, numbers, begin = self.builder, self.weights(weights), self.filled(first, self.vector)
        with self.loop(self.short_wide, self.count) as left:
            masks, kept = self.masks_of(left), self.within(left, self.short_wide)
            column = builder.sub(builder.mul(left, whole(self.stride)), self.beside)
            with self.loop(self.short_high) as y:
                total = self.variable(self.vector, begin)
                for j in range(self.rows):
                    row, there = self.long_row(y, j)
                    with self.only_if(there):
                        index = builder.add(builder.mul(row, self.wide), column)
                        for k in range(self.columns):
                            self.add_to(total, numbers[j][k], self.read(x, builder.add(index, whole(k)), masks[k]))
                self.store(builder.load(total), out, builder.add(builder.mul(y, self.short_wide), left), kept)

    def transposed(self, out: Any, y: Any, weights: Any, first: Any) -> None:
        """The long side of one image; all sums begin with a number."""
        builder, numbers, begin = self.builder, self.weights(weights), self.filled(first, self.vector)
        shift, stride, count = whole(self.stride - 1), self.stride, self.count
        groups = builder.sdiv(builder.add(self.wide, shift), whole(stride))
        with self.loop(groups, count) as left:
            taps: list[list[tuple]] = []
            for remainder in range(stride):  # positions of the long side by their remainder
                own = [k for k in range(self.columns) if (remainder + self.odd - k) % stride == 0]
                starts = [builder.ashr(builder.add(self.beside, whole(remainder - k)), shift) for k in own]
                places = [builder.add(left, start) for start in starts]
                taps.append([(k, place, self.within(place, self.short_wide)) for k, place in zip(own, places)])
            firsts = [builder.add(builder.mul(left, whole(stride)), whole(k * count)) for k in range(stride)]
            kept = [self.within(each, self.wide) for each in firsts]
            with self.loop(self.high) as row:
                totals = [self.variable(self.vector, begin) for _ in range(stride)]
                for j in range(self.rows):
                    far = builder.sub(builder.add(row, self.above), whole(j))
                    source = builder.ashr(far, shift)
                    there = builder.icmp_unsigned("<", source, self.short_high)
                    if stride > 1:
                        even = builder.icmp_signed("==", builder.and_(far, shift), whole(0))
                        there = builder.and_(there, even)
                    with self.only_if(there):
                        index = builder.mul(source, self.short_wide)
                        for total, own_taps in zip(totals, taps):
                            for k, place, mask in own_taps:
                                self.add_to(total, numbers[j][k], self.load(y, builder.add(index, place), mask))
                values = [builder.load(total) for total in totals]
                if stride > 1:  # in turns
                    order = [k // 2 + k % 2 * count for k in range(2 * count)]
                    values = [self.shuffled(values, order[:count]), self.shuffled(values, order[count:])]
                line = builder.mul(row, self.wide)
                for value, place, mask in zip(values, firsts, kept):
                    self.store(value, out, builder.add(line, place), mask)

    def weigh(self, out: Any, x: Any, y: Any, images: Any, far: Any, near: Any) -> None:
        """The sums of a kernel's numbers over images, whose sides are so many bytes apart."""
        builder = self.builder
        nothing = ir.Constant(self.vector, [0.0] * self.count)
        totals = [[self.variable(self.vector, nothing) for _ in range(self.columns)] for _ in range(self.rows)]
        with self.loop(self.short_wide, self.count) as left:
            masks, kept = self.masks_of(left), self.within(left, self.short_wide)
            column = builder.sub(builder.mul(left, whole(self.stride)), self.beside)
            with self.loop(images) as image:
                long, short = (builder.add(side, builder.mul(image, step)) for side, step in ((x, far), (y, near)))
                with self.loop(self.short_high) as place:
                    given = self.load(short, builder.add(builder.mul(place, self.short_wide), left), kept)
                    for j in range(self.rows):
                        row, there = self.long_row(place, j)
                        with self.only_if(there):
                            index = builder.add(builder.mul(row, self.wide), column)
                            for k in range(self.columns):
                                self.add_to(totals[j][k], given, self.read(long, builder.add(index, whole(k)), masks[k]))
        for k, total in enumerate([each for line in totals for each in line]):
            pointer = builder.inttoptr(self.moved(out, k * self.size), self.element.as_pointer())
            builder.store(self.summed(builder.load(total)), pointer)

    def summed(self, value: Any) -> Any:
        """The sum of a vector's numbers, halves first."""
        half = self.count // 2
        while half:
            order = [(k + half) % self.count for k in range(self.count)]
            value = self.builder.fadd(value, self.shuffled([value, value], order))
            half //= 2
        return self.builder.extract_element(value, ir.Constant(I32, 0))


def make_depthwise(intrinsic: Callable, types: Any, name: str, which: str, count: int) -> Any:
    """``depthwise_T``, ``depthwise_transposed_T`` or ``depthwise_weight_T`` for a dtype: see ``intrinsics``."""
    element, size = (ir.FloatType(), 4) if name == "float32" else (ir.DoubleType(), 8)
    number, word = getattr(types, name), types.int64
    given = [word] * 6 if which == "weigh" else [word, word, word, number]

    def generator(*literals):
        def generate(context, builder, signature, values):
            operands, sizes = values[4 : 4 + len(given)], values[4 + len(given) :]
            write = Writer(builder, element, size, count, list(sizes), tuple(each.literal_value for each in literals))
            getattr(write, which)(*operands)
            return context.get_dummy_value()

        return types.void(*literals, *given, *[word] * 6), generate

    if which == "weigh":

        def depthwise_weight(typing, rows, columns, stride, odd, out, x, y, images, far, near, h, w, sh, sw, above, beside):
            literals = rows, columns, stride, odd
            return generator(*literals) if all(isinstance(each, types.IntegerLiteral) for each in literals) else None

        return intrinsic(depthwise_weight)

    def depthwise(typing, rows, columns, stride, odd, out, source, weights, first, h, w, sh, sw, above, beside):
        literals = rows, columns, stride, odd
        return generator(*literals) if all(isinstance(each, types.IntegerLiteral) for each in literals) else None

    return intrinsic(depthwise)
