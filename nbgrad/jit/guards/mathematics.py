"""Functions of ``math`` while a function is captured: of numbers that are followed they are part of the program.

NOTE [Functions of math]: ``math.sqrt`` asks a number for its float, and nothing of that is seen. So where a program names such a
function in a module (``math.cos``, or ``cos`` that a module has imported), something stands there for it while a capture runs that
takes numbers that are followed, and leaves everything else, other threads' calls too, to the function. Guards and copies of what
there was see through it, so that captures in other threads know the function alone.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any, Iterator

from ...modes.numbers import FOLLOWED, function_of

__all__ = ["MathFunction", "followed_functions", "named_functions", "original"]

# What of math gives no float, or takes other things than floats.
OTHERS = frozenset(
    "ceil comb dist factorial floor frexp fsum gcd isclose isfinite isinf isnan isqrt lcm ldexp modf perm prod sumprod trunc "
    "nextafter ulp fma".split()
)
KINDS = (float, int, bool, *FOLLOWED)


class MathFunction:
    """One of them."""

    __slots__ = ("plain",)

    def __init__(self, plain: Any):
        self.plain = plain

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not any(type(x) in FOLLOWED for x in args) or not all(type(x) in KINDS for x in args):
            return self.plain(*args, **kwargs)
        return function_of(self.plain.__name__, *args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


FUNCTIONS: dict[Any, MathFunction] = {
    function: MathFunction(function)
    for name, function in vars(math).items()
    if isinstance(function, BuiltinFunctionType) and name not in OTHERS and not name.startswith("_")
}


def original(x: Any) -> Any:
    """The function behind what stands there for one; everything else itself."""
    return x.plain if type(x) is MathFunction else x


def named_functions(names: list[Any]) -> list[tuple[dict[str, Any], str, Any]]:
    """Which names of modules hold one; ``names`` are those of guards."""
    found = zip(names[::3], names[1::3], names[2::3])
    return [
        (held, key, x)
        for held, key, x in found
        if isinstance(x, BuiltinFunctionType) and x in FUNCTIONS and isinstance(held, dict) and "__name__" in held
    ]


@contextmanager
def followed_functions(names: list[tuple[dict[str, Any], str, Any]]) -> Iterator[None]:
    """Inside, they take numbers that are followed."""
    try:
        for held, key, function in names:
            if held.get(key) is function:
                held[key] = FUNCTIONS[function]
        yield
    finally:
        for held, key, function in names:
            if held.get(key) is FUNCTIONS[function]:
                held[key] = function
