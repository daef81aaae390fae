"""The steps of a recurrent layer: a loop that calls two kernels in every step, one of products and one of the cell; CPU.

Blocks of the batch go through all steps on their own: they are the units of work, and depend on the shape alone.

NOTE [Record of steps]: int64 words.
   0 steps   1 sequences   2 sequences a block   3 whether the last step comes first
   4 of how many states cotangents are taken back, which begin with 0: then the steps are in the other order, and products come
     behind the cell; 0: forward
   5 the argument with lengths, or 0: all sequences have all steps
   6, 7 kernels of the cell: for sequences that have this step, and for those that have ended   8 how many pointers they take
   9 kernel of products (``products``)   10, 11 arguments with weights and with what is added to the products (0: the products are)
  12 words of that kernel's parameters; then those of the cell's kernels, a count of elements and for each pointer bytes a row;
     then for each pointer, after those of the results and the rows of the products, what NOTE [Places in time] says.

NOTE [Places in time]: seven words. 0 the argument   1 bytes from its beginning   2 bytes a step   3 bytes a sequence   4 whether it
is of the step before   5 the argument, and 6 the bytes from its beginning, where there is none.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import late_text

__all__ = ["place_of", "products_loop", "steps_loop"]


def steps_loop(start, stop, args):
    """The kernel: see NOTE [Record of steps]."""
    record = pointer_word(args, 0)
    steps, batch, block, count = word(record, 0), word(record, 1), word(record, 2), word(record, 8)
    backward = word(record, 4)
    cells = record + 8 * (13 + word(record, 12))
    places = cells + 8 * (1 + count)
    of_cell, of_products = stack(512), stack(64)
    set_word(of_cell, 0, cells)
    set_word(of_products, 0, record + 104)
    set_word(of_products, 3, pointer_word(args, word(record, 10)))
    if word(record, 11) != 0:
        set_word(of_products, 4, pointer_word(args, word(record, 11)))
    for unit in range(start, stop):
        first = unit * block
        rows = min(block, batch - first)
        for k in one_by_one(backward):
            place = places + 56 * (2 + k)
            carried = at_uint8(place_of(place, args, 0, 0, first), 0)
            for byte in range(rows * word(place, 3)):
                carried[byte] = 0
        for trip in range(steps):
            i = steps - 1 - trip if backward != 0 else trip
            now = steps - 1 - i if word(record, 3) != 0 else i
            before = now + 1 if word(record, 3) != 0 else now - 1
            if i == 0:
                before = -1
            set_word(of_products, 1, place_of(places, args, now, before, first))
            set_word(of_products, 2, place_of(places + 56, args, now, before, first))
            for k in one_by_one(count):
                set_word(of_cell, 1 + k, place_of(places + 56 * (2 + k), args, now, before, first))
            if backward == 0:
                run_kernel(word(record, 9), 0, rows, of_products)
            if word(record, 5) == 0:
                run_kernel(word(record, 6), 0, rows, of_cell)
            else:
                lengths = at_int64(pointer_word(args, word(record, 5)), first * 8)
                for row in one_by_one(rows):
                    kernel = 6 if now < lengths[row] else 7
                    run_kernel(word(record, kernel), row, row + 1, of_cell)
            if backward != 0:
                run_kernel(word(record, 9), 0, rows, of_products)


def place_of(place, args, now, before, first):
    """Where a pointer leads in a step: NOTE [Places in time]."""
    moved = first * word(place, 3)
    if word(place, 4) == 0:
        return pointer_word(args, word(place, 0)) + word(place, 1) + now * word(place, 2) + moved
    if before < 0:
        return pointer_word(args, word(place, 5)) + word(place, 6) + moved
    return pointer_word(args, word(place, 0)) + word(place, 1) + before * word(place, 2) + moved


# Its words: columns, terms of a sum, elements from row to row of result, factor and weights, whether there is an addend, and the
# address of cblas_?gemm.
# Eight rows of weights stay in the cache while all rows of the block go by. A row is reached through one pointer alone: the kernel
# promises that (``Program.apart``), or every loop would compare addresses first.
PRODUCTS = '''
def products(start, stop, args):
    """Rows times weights, added to a row of numbers, or to what is there."""
    record = pointer_word(args, 0)
    columns, terms = word(record, 0), word(record, 1)
    down, across, lead, added = word(record, 2) * SIZE, word(record, 3) * SIZE, word(record, 4) * SIZE, word(record, 5)
    out, x, w = pointer_word(args, 1), pointer_word(args, 2), pointer_word(args, 3)
    for low in range(0, max(terms, 1), 8):
        high = min(low + 8, terms)
        row = start
        while row + 2 <= stop:
            o0, o1 = at_T(out, row * down), at_T(out, (row + 1) * down)
            x0, x1 = at_T(x, row * across), at_T(x, (row + 1) * across)
            if low == 0 and added != 0:
                b = at_T(pointer_word(args, 4), 0)
                for j in range(columns):
                    o0[j] = b[j]
                for j in range(columns):
                    o1[j] = b[j]
            l = low
            while l + 4 <= high:
                w0, w1 = at_T(w, l * lead), at_T(w, (l + 1) * lead)
                w2, w3 = at_T(w, (l + 2) * lead), at_T(w, (l + 3) * lead)
                a0, a1, a2, a3 = x0[l], x0[l + 1], x0[l + 2], x0[l + 3]
                c0, c1, c2, c3 = x1[l], x1[l + 1], x1[l + 2], x1[l + 3]
                for j in range(columns):
                    o0[j] = fma(a3, w3[j], fma(a2, w2[j], fma(a1, w1[j], fma(a0, w0[j], o0[j]))))
                    o1[j] = fma(c3, w3[j], fma(c2, w2[j], fma(c1, w1[j], fma(c0, w0[j], o1[j]))))
                l += 4
            while l < high:
                w0 = at_T(w, l * lead)
                a0, c0 = x0[l], x1[l]
                for j in few(columns):
                    o0[j] = fma(a0, w0[j], o0[j])
                    o1[j] = fma(c0, w0[j], o1[j])
                l += 1
            row += 2
        while row < stop:
            o, xs = at_T(out, row * down), at_T(x, row * across)
            if low == 0 and added != 0:
                b = at_T(pointer_word(args, 4), 0)
                for j in range(columns):
                    o[j] = b[j]
            l = low
            while l + 4 <= high:
                w0, w1 = at_T(w, l * lead), at_T(w, (l + 1) * lead)
                w2, w3 = at_T(w, (l + 2) * lead), at_T(w, (l + 3) * lead)
                a0, a1, a2, a3 = xs[l], xs[l + 1], xs[l + 2], xs[l + 3]
                for j in range(columns):
                    o[j] = fma(a3, w3[j], fma(a2, w2[j], fma(a1, w1[j], fma(a0, w0[j], o[j]))))
                l += 4
            while l < high:
                w0 = at_T(w, l * lead)
                a0 = xs[l]
                for j in few(columns):
                    o[j] = fma(a0, w0[j], o[j])
                l += 1
            row += 1
'''


# The same for weights that do not stay near a core, which BLAS reads in a better order.
PRODUCTS_BY_BLAS = '''
def products(start, stop, args):
    """Rows times weights, added to a row of numbers, or to what is there."""
    record = pointer_word(args, 0)
    columns, down, across = word(record, 0), word(record, 2), word(record, 3)
    out, x = pointer_word(args, 1) + start * down * SIZE, pointer_word(args, 2) + start * across * SIZE
    if word(record, 5) != 0:
        b = at_T(pointer_word(args, 4), 0)
        for row in range(stop - start):
            to = at_T(out, row * down * SIZE)
            for j in range(columns):
                to[j] = b[j]
    call_c(word(record, 6), (101, 111, 111, stop - start, columns, word(record, 1), 1.0, x, across,
                             pointer_word(args, 3), word(record, 4), 1.0, out, down))
'''


@cache
def products_loop(dtype: str, by_blas: bool) -> Callable:
    """The kernel of products for a dtype."""
    text = (PRODUCTS_BY_BLAS if by_blas else PRODUCTS).replace("_T(", f"_{dtype}(").replace("SIZE", str(WIDTHS[dtype]))
    return late_text(text, f"products of steps {dtype}" + " by BLAS" * by_blas, {}, "products")[0]
