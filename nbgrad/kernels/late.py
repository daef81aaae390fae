"""Addresses of machine code that are found when somebody needs the number.

A plan is known before its kernel is: most plans of a captured program are never launched, and their kernels are neither compiled
nor read from the disk.
"""

from __future__ import annotations

from functools import cache, partial, update_wrapper
from typing import Any, Callable

__all__ = ["Code", "late"]


class Code:
    """Where machine code is; as a number (``struct`` asks for it) it is found now.

    Attributes:
        find: ``find() -> address``, which writes, compiles or loads what it takes.
        found: the address, once somebody has asked.
    """

    __slots__ = ("find", "found")

    def __init__(self, find: Callable[[], int]):
        self.find = find
        self.found: int | None = None

    def __index__(self) -> int:
        if self.found is None:
            self.found = self.find()
        return self.found


def late(address: Callable[..., int]) -> Callable[..., Code]:
    """A function that gives the ``Code`` of what ``address(*args)`` is the address of, one for the same arguments."""

    @cache
    def code(*args: Any) -> Code:
        return Code(partial(address, *args))

    update_wrapper(code, address)
    return code
