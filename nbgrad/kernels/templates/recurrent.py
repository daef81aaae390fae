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

from ..texts import late_text
from .tiles import ADD_TERMS, in_lanes

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
# Few columns of weights stay in the cache while all rows of the block go by. What is behind the last whole vector is done in
# copies of the vectors that end with the rows.
PRODUCTS = '''
def products(start, stop, args):
    """Rows times weights, added to a row of numbers, or to what is there."""
    record = pointer_word(args, 0)
    columns, terms = word(record, 0), word(record, 1)
    down, across, lead = word(record, 2) * SIZE, word(record, 3) * SIZE, word(record, 4) * SIZE
    out, x, w = pointer_word(args, 1), pointer_word(args, 2), pointer_word(args, 3)
    if word(record, 5) != 0:
        b = at_T(pointer_word(args, 4), 0)
        for row in range(start, stop):
            to = at_T(out, row * down)
            for j in few(columns):
                to[j] = b[j]
    vectors = columns // LANES
    parts, tiled = max((vectors + MOST_VECTORS - 1) // MOST_VECTORS, 1), start + (stop - start) // 4 * 4
    wide = max((vectors + parts - 1) // parts, 1)
    for low in range(0, vectors, wide):
        line = w + low * LANES * SIZE
        for row in range(start, tiled, 4):
            to = out + row * down + low * LANES * SIZE
            add_terms(4, min(wide, vectors - low), to, down, line, lead, x + row * across, across, terms)
    for low in range(0, vectors, 8):
        for row in range(tiled, stop):
            to, line = out + row * down + low * LANES * SIZE, w + low * LANES * SIZE
            add_terms(1, min(8, vectors - low), to, down, line, lead, x + row * across, across, terms)
    first, rest = max(columns - LANES, 0), columns - vectors * LANES
    row = stop if rest == 0 else start
    while row < stop:
        to, factors = out + row * down + first * SIZE, x + row * across
        many = 4 if (vectors > 0) & (stop - row >= 4) else 1
        if vectors > 0:
            copied = stack(256)
            copy_vectors(many, LANES, copied, LANES * SIZE, to, down)
            add_terms(many, 1, copied, LANES * SIZE, w + first * SIZE, lead, factors, across, terms)
            copy_vectors(many, rest, to + (LANES - rest) * SIZE, down, copied + (LANES - rest) * SIZE, LANES * SIZE)
        else:
            end, factor = at_T(to, 0), at_T(factors, 0)
            for t in range(terms):
                line = at_T(w, t * lead)
                for j in few(rest):
                    end[j] = fma(factor[t], line[j], end[j])
        row += many


def copy_vectors(many, count, out, down, x, lead):
    """So many numbers of some rows, which are so many bytes apart."""
    for r in range(many):
        to, of = at_T(out, r * down), at_T(x, r * lead)
        for j in few(count):
            to[j] = of[j]
'''


# The same for many sequences and weights that do not stay near a core, which BLAS reads in a better order.
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
def products_loop(dtype: str, by_blas: bool) -> tuple[Callable, tuple]:
    """The kernel of products for a dtype, and what its Program binds."""
    if by_blas:
        return late_text(in_lanes(PRODUCTS_BY_BLAS, dtype), f"products of steps {dtype} by BLAS", {}, "products")[0], ()
    text = in_lanes(ADD_TERMS.replace("TILE", "tile") + PRODUCTS, dtype)
    names = ["add_terms", "copy_vectors"]
    kernel, *helpers = late_text(text, f"products of steps {dtype}", {}, "products", *names)
    return kernel, tuple(zip(names, helpers))
