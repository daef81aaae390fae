"""Kernel templates that fill memory with random numbers: Philox, by the CPU's own source, hence the CPU's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

from ..templates import philox
from .access import Access
from .templates import BLOCK, Template, ceil_div, compile_template, indent

__all__ = ["random_fill", "random_grid", "random_keep", "random_source"]

WORDS = Access("load", "int64", 1, True)


def unroll(dtype: str) -> int:
    """Blocks that a thread makes: they share the rounds' keys."""
    return 4 if philox.numbers_of_block(dtype) == 4 else 1


@cache
def random_fill(distribution: str, dtype: str) -> Template:
    """out[i] = the i-th number of a call: a thread makes some blocks of Philox, each of which fills one vector store.

    Values: the distribution's two parameters. Integer parameters: ``n``, the number of elements; ``seed`` and ``call``,
    as in NOTE [Counter] of ``templates/philox.py``; ``base``: where two words are that are the seed, and added to the call; 0, or 1
    (what graphs take for an example of an integer): nowhere.
    Bind ``**random_source(...)``; launch ``random_grid`` blocks.
    """
    lanes, name = philox.numbers_of_block(dtype), f"random_{distribution}_{dtype}"
    vector, element = Access("store", dtype, lanes), Access("store", dtype)

    def whole(u: int, words: str) -> list[str]:
        return [f"{vector.name}(out0, at_{u}, distribution({words}, a, b))"]

    rest = ["numbers = distribution(r0, r1, r2, r3, a, b)"]
    for k in range(lanes):
        rest += [f"if block * {lanes} + {k} < n:", f"    {element.name}(out0, block * {lanes} + {k}, numbers[{k}])"]
    function = compile_template(name, drawing("out0, a, b", dtype, whole, rest))
    return Template(name, function, (dtype,), 2, frozenset((vector, element, WORDS)), Counter([vector]))


@cache
def random_keep(dtype: str, lanes: int) -> Template:
    """kept[i] = whether the i-th number of a call is below ``a``; out[i] = scalar(x[i], kept[i], b).

    Args:
        lanes: of the loads of x.

    Pointers: out, kept, x. Values and integer parameters: those of ``random_fill``, whose numbers of dtype bool these are. Bind
    ``**random_source("bernoulli", "bool")``; launch ``random_grid(n, "bool")`` blocks.
    """
    each, name = philox.numbers_of_block("bool"), f"random_keep_{dtype}_x{lanes}"
    load, vector, marks = Access("load", dtype, lanes), Access("store", dtype, each), Access("store", "bool", each)
    single, element, mark = Access("load", dtype), Access("store", dtype), Access("store", "bool")

    def whole(u: int, words: str) -> list[str]:
        xs = [f"x_{u}[{k}]" for k in range(each)] if lanes > 1 else [f"{load.name}(x0, at_{u} * {each} + {k})" for k in range(each)]
        results = ", ".join(f"scalar({x}, t_{u}[{k}] != 0, b)" for k, x in enumerate(xs))
        return [
            *[f"x_{u} = {load.name}(x0, at_{u})"] * (lanes > 1),
            f"t_{u} = distribution({words}, a, b)",
            f"{vector.name}(out0, at_{u}, ({results}))",
            f"{marks.name}(kept, at_{u}, t_{u})",
        ]

    rest = ["truths = distribution(r0, r1, r2, r3, a, b)"]
    for k in range(each):
        rest += [
            f"if block * {each} + {k} < n:",
            f"    {element.name}(out0, block * {each} + {k}, scalar({single.name}(x0, block * {each} + {k}), truths[{k}] != 0, b))",
            f"    {mark.name}(kept, block * {each} + {k}, truths[{k}])",
        ]
    function = compile_template(name, drawing("out0, kept, x0, a, b", "bool", whole, rest))
    accesses = frozenset((load, vector, marks, single, element, mark, WORDS))
    return Template(name, function, (dtype, "bool", dtype), 2, accesses, Counter([load, vector, marks]))


def drawing(parameters: str, dtype: str, whole: Callable[[int, str], list[str]], rest: list[str]) -> str:
    """The source of a kernel that draws numbers of a dtype.

    Args:
        whole: ``whole(u, words)``, lines that use the words of the block of numbers ``at_{u}``; ``rest``: of the last blocks, those
            that use ``r0`` to ``r3`` of ``block``.
    """
    each, lanes = unroll(dtype), philox.numbers_of_block(dtype)
    words = [", ".join(f"r{k}_{u}" for k in range(4)) for u in range(each)]
    lines = [f"at_{u} = i + {u * BLOCK}" for u in range(each)] + ["k0, k1 = seed & WORD, (seed >> 32) & WORD"]
    lines += [f"{words[u]} = at_{u} & WORD, (at_{u} >> 32) & WORD, call & WORD, (call >> 32) & WORD" for u in range(each)]
    for _ in range(philox.ROUNDS):
        lines += [*(f"{four} = mixed({four}, k0, k1)" for four in words), "k0, k1 = next_key(k0, k1)"]
    lines += [line for u in range(each) for line in whole(u, words[u])]
    return f"""
def NAME({parameters}, n, seed, call, base):
    i = cuda.blockIdx.x * {BLOCK * each} + cuda.threadIdx.x
    if base > 1:
        words = pointer_of(base)
        seed = {WORDS.name}(words, 0)
        call = call + {WORDS.name}(words, 1)
    if (cuda.blockIdx.x + 1) * {BLOCK * each * lanes} <= n:
        {indent(8, lines)}
    else:
        for block in range(i, (n + {lanes - 1}) // {lanes}, {BLOCK}):
            r0, r1, r2, r3 = philox(block, call, seed)
            {indent(12, rest)}
"""


def random_source(distribution: str, dtype: str) -> dict:
    """The names that ``random_fill`` takes."""
    return {
        "philox": philox.philox,
        "mixed": philox.mixed,
        "next_key": philox.next_key,
        "WORD": philox.WORD,
        "distribution": philox.DISTRIBUTIONS[distribution, dtype],
    }


def random_grid(n: int, dtype: str) -> tuple[int, ...]:
    """The blocks that make ``n`` numbers."""
    return (ceil_div(n, BLOCK * unroll(dtype) * philox.numbers_of_block(dtype)),)
