"""Classes of torch that programs name and nothing is an instance of here: ``SymInt``, of sizes that stay open, and others.

Here sizes are ints, and what computes with them are Python's functions.

>>> import nbgrad
>>> isinstance(nbgrad.ones(2).shape[0], nbgrad.SymInt)
False
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from ..base.errors import NotSupportedError

__all__ = [
    "PyTorchFileReader",
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class SymInt:
    """Never made.

    Raises:
        NotSupportedError: always.
    """

    def __init__(self, node: Any):
        raise NotSupportedError(f"{type(self).__name__}: sizes are ints, numbers are Python's. Hint: nbgrad.compile follows them.")


class SymFloat(SymInt):
    """Never made: as ``SymInt``."""


class SymBool(SymInt):
    """Never made: as ``SymInt``."""


class PyTorchFileReader:
    """Never made.

    Raises:
        NotSupportedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotSupportedError("PyTorchFileReader: files are not read in parts. Hint: nbgrad.load(path, mmap=True).")


def sym_float(a: Any) -> builtins.float:
    """A number as a float.

    >>> sym_float(2)
    2.0
    """
    return builtins.float(a)


def sym_int(a: Any) -> builtins.int:
    """A number as an int, towards 0.

    >>> sym_int(-2.5)
    -2
    """
    return builtins.int(a)


def sym_sqrt(a: Any) -> float:
    """The square root of a number.

    >>> sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers, a float if one of them is.

    >>> sym_max(2, 1.0)
    2.0
    """
    return alike(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, a float if one of them is.

    >>> sym_min(2, 1)
    1
    """
    return alike(min(a, b), a, b)


def alike(x: Any, a: Any, b: Any) -> Any:
    """A number as a float, if one of two is."""
    return float(x) if isinstance(a, float) or isinstance(b, float) else x


def sym_not(a: Any) -> bool:
    """Whether it is false.

    >>> sym_not(2 > 1)
    False
    """
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t`` where ``b`` is true, else ``f``.

    >>> sym_ite(True, 1, 2)
    1
    """
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, or of those in one sequence.

    >>> sym_sum([1, 2]), sym_sum(1, 2)
    (3, 3)
    """
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)
