"""Kernel templates that fill memory with random numbers: Philox, by the CPU's own source, hence the CPU's numbers."""

from __future__ import annotations

from collections import Counter
from functools import cache

from ..templates import philox
from .access import Access, vector_lanes
from .templates import BLOCK, Template, ceil_div, compile_template, indent

__all__ = ["random_fill", "random_source", "random_grid"]


@cache
def random_fill(distribution: str, dtype: str) -> Template:
    """out[i] = the i-th number of a call: a thread makes one block of Philox, which fills one vector store.

    Values: the distribution's two parameters. Integer parameters: ``n``, the number of elements; ``seed`` and ``call``,
    as in NOTE [Counter] of ``templates/philox.py``; ``base``: 0, or where two words are that are the seed, and added to the call.
    Bind ``**random_source(...)``; launch ``random_grid`` blocks.
    """
    lanes, name = vector_lanes([dtype]), f"random_{distribution}"
    vector, element, word = Access("store", dtype, lanes), Access("store", dtype), Access("load", "int64", 1, True)
    tail = [
        f"if i * {lanes} + {k} < n:\n            {element.name}(out0, i * {lanes} + {k}, numbers[{k}])" for k in range(lanes - 1)
    ]
    function = compile_template(
        f"{name}_{dtype}",
        f"""
def NAME(out0, a, b, n, seed, call, base):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if base != 0:
        words = pointer_of(base)
        seed = {word.name}(words, 0)
        call = call + {word.name}(words, 1)
    r0, r1, r2, r3 = philox(i, call, seed)
    numbers = distribution(r0, r1, r2, r3, a, b)
    if (i + 1) * {lanes} <= n:
        {vector.name}(out0, i, numbers)
    else:
        {indent(8, tail)}
""",
    )
    return Template(f"{name}_{dtype}", function, (dtype,), 2, frozenset((vector, element, word)), Counter([vector]))


def random_source(distribution: str, dtype: str, bits: int = 24) -> dict:
    """The names that ``random_fill`` takes.

    Args:
        bits: of a uniform float32; 11 and 8 leave none that rounds to 1 in float16 and bfloat16.
    """
    return {
        "philox": philox.philox,
        "distribution": philox.DISTRIBUTIONS[distribution, dtype],
        "SHIFT": 32 - bits,
        "UNIT": 2.0**-bits,
    }


def random_grid(n: int, dtype: str) -> tuple[int, ...]:
    """The blocks that make ``n`` numbers."""
    return (ceil_div(n, BLOCK * vector_lanes([dtype])),)
