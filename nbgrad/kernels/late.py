"""Addresses of machine code that are found when somebody needs the number.

A plan is known before its kernel is: most plans of a captured program are never launched, and their kernels are neither compiled
nor read from the disk.
"""

from __future__ import annotations

from functools import cache, partial, update_wrapper
from threading import local
from typing import Any, Callable, Iterable

__all__ = ["Code", "Wanted", "late", "note_wanted", "wanted_of"]


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


class Wanted(Exception):
    """What machine code would be compiled of, where somebody asks for that only.

    Attributes:
        program: what ``cpu.build.address`` was asked for.
    """

    def __init__(self, program: Any):
        self.program = program


asking = local()


def note_wanted(program: Any) -> None:
    """A program has no machine code in this process.

    Raises:
        Wanted: this thread only asks which ones there are.
    """
    if asking.__dict__:
        raise Wanted(program)


def wanted_of(finders: Iterable[Callable[[], Any]]) -> list[Any]:
    """The programs, each once, that these would have compiled or read from the disk; each tells the first that it meets."""
    found = dict[Any, None]()
    asking.on = True
    try:
        for find in finders:
            try:
                find()
            except Wanted as wanted:
                found[wanted.program] = None
    finally:
        asking.__dict__.clear()
    return list(found)
