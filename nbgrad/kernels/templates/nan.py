"""The search for NaN that anomaly mode makes after every node, as source text for the CPU.

It looks at every element, so that the loop vectorises. The result is an int64, 0 if there is none.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import fill_template

__all__ = ["nan_loop"]

# The only number that is not equal to itself.
SEARCH = """
def kernel(start, stop, args):
    found, x = at_int64(pointer_word(args, 1), 0), at_IN(pointer_word(args, 2), 0)
    bad = False
    for i in range(start, stop):
        bad |= x[i] != x[i]
    found[0] = int64(bad)
"""


@cache
def nan_loop(dtype: str) -> Callable:
    """``kernel(start, stop, args)`` over numbers that lie side by side."""
    return fill_template(SEARCH, f"nan {dtype}", {"at_IN": f"at_{dtype}"})
