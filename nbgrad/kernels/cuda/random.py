"""Kernel templates that fill memory with random numbers: Philox, by the CPU's own source, hence the CPU's numbers."""

from __future__ import annotations

from collections import Counter
from functools import cache

from ..templates import philox
from .access import Access
from .templates import BLOCK, Template, ceil_div, compile_template, indent

__all__ = ["random_fill", "random_source", "random_grid"]


def unroll(dtype: str) -> int:
    """Blocks that a thread makes: they share the rounds' keys."""
    return 4 if philox.numbers_of_block(dtype) == 4 else 1


@cache
def random_fill(distribution: str, dtype: str) -> Template:
    """out[i] = the i-th number of a call: a thread makes some blocks of Philox, each of which fills one vector store.

    Values: the distribution's two parameters. Integer parameters: ``n``, the number of elements; ``seed`` and ``call``,
    as in NOTE [Counter] of ``templates/philox.py``; ``base``: 0, or where two words are that are the seed, and added to the call.
    Bind ``**random_source(...)``; launch ``random_grid`` blocks.
    """
    lanes, name = philox.numbers_of_block(dtype), f"random_{distribution}"
    vector, element, word = Access("store", dtype, lanes), Access("store", dtype), Access("load", "int64", 1, True)
    tail = [
        f"if block * {lanes} + {k} < n:\n                {element.name}(out0, block * {lanes} + {k}, numbers[{k}])"
        for k in range(lanes)
    ]
    words = [", ".join(f"r{k}_{u}" for k in range(4)) for u in range(unroll(dtype))]
    whole = [f"at_{u} = i + {u * BLOCK}" for u in range(unroll(dtype))] + ["k0, k1 = seed & WORD, (seed >> 32) & WORD"]
    whole += [f"{words[u]} = at_{u} & WORD, (at_{u} >> 32) & WORD, call & WORD, (call >> 32) & WORD" for u in range(unroll(dtype))]
    for _ in range(philox.ROUNDS):
        whole += [*(f"{each} = mixed({each}, k0, k1)" for each in words), "k0, k1 = next_key(k0, k1)"]
    whole += [f"{vector.name}(out0, at_{u}, distribution({words[u]}, a, b))" for u in range(unroll(dtype))]
    function = compile_template(
        f"{name}_{dtype}",
        f"""
def NAME(out0, a, b, n, seed, call, base):
    i = cuda.blockIdx.x * {BLOCK * unroll(dtype)} + cuda.threadIdx.x
    if base != 0:
        words = pointer_of(base)
        seed = {word.name}(words, 0)
        call = call + {word.name}(words, 1)
    if (cuda.blockIdx.x + 1) * {BLOCK * unroll(dtype) * lanes} <= n:
        {indent(8, whole)}
    else:
        for block in range(i, (n + {lanes - 1}) // {lanes}, {BLOCK}):
            r0, r1, r2, r3 = philox(block, call, seed)
            numbers = distribution(r0, r1, r2, r3, a, b)
            {indent(12, tail)}
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
        "mixed": philox.mixed,
        "next_key": philox.next_key,
        "WORD": philox.WORD,
        "distribution": philox.DISTRIBUTIONS[distribution, dtype],
        "SHIFT": 32 - bits,
        "UNIT": 2.0**-bits,
    }


def random_grid(n: int, dtype: str) -> tuple[int, ...]:
    """The blocks that make ``n`` numbers."""
    return (ceil_div(n, BLOCK * unroll(dtype) * philox.numbers_of_block(dtype)),)
