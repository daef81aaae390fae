"""The order of rows that are exchanged step by step, as elimination by pivots does."""

from __future__ import annotations

from functools import cache

from .access import Access
from .templates import BLOCK, Template, compile_template

__all__ = ["order_of_exchanges"]


@cache
def order_of_exchanges(back: bool) -> Template:
    """order[line, :] = 0 .. n - 1 after exchanging element i with element pivots[line, i], for i from 0 on: a thread for each line.

    Args:
        back: from the last exchange on, which undoes them.

    A pivot that names no element exchanges nothing, and is noted, counted from 1. Pointers: order, pivots, ``ERRORS``. Integer
    parameters: ``lines``, ``n``, ``steps``, pivots of a line, and the number of the fault.
    """
    load, store = Access("load", "int64", exact=True), Access("store", "int64", exact=True)
    name = f"order_of_exchanges{'_back' * back}"
    function = compile_template(
        name,
        f"""
def NAME(order, pivots, errors, lines, n, steps, fault):
    line = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if line < lines:
        first = line * n
        for i in range(n):
            {store.name}(order, first + i, i)
        for step in range(steps):
            i = {"steps - 1 - step" if back else "step"}
            j = {load.name}(pivots, line * steps + i)
            if (j < 0) | (j >= n):
                note_error(errors, fault, j + 1)
            else:
                one = {load.name}(order, first + i)
                other = {load.name}(order, first + j)
                {store.name}(order, first + i, other)
                {store.name}(order, first + j, one)
""",
    )
    return Template(name, function, ("int64", "int64", "int64"), 0, frozenset((load, store)), index_bits=64)
