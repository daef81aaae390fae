"""How entry points of the driver are declared, and how a call gives an error number."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from ...libraries import KINDS

__all__ = ["ENTRIES", "KINDS", "Entry", "Refused", "entry", "put", "put_handle"]


class Entry(NamedTuple):
    """An entry point.

    Attributes:
        kinds: of its parameters, as ctypes has them.
        function: what it does, of the driver and them.
        harmless: whether it succeeds on a device on which something went wrong.
        frees: whether it does what it is for even then, and fails afterwards.
        unsafe: whether captures keep their threads from calling it: see ``State.check_unsafe``.
    """

    kinds: tuple[Any, ...]
    function: Callable[..., None]
    harmless: bool = False
    frees: bool = False
    unsafe: bool = False


ENTRIES: dict[str, Entry] = {}


def entry(kinds: str, *names: str, harmless: bool = False, frees: bool = False, unsafe: bool = False) -> Callable:
    """A method that is an entry point, under its own name or others; ``kinds``: a letter for each parameter."""

    def note(function: Callable) -> Callable:
        for name in names or (function.__name__,):
            ENTRIES[name] = Entry(tuple(KINDS[kind] for kind in kinds), function, harmless, frees, unsafe)
        return function

    return note


class Refused(Exception):
    """A call that gives an error number; ``reason``: what a driver does not tell."""

    def __init__(self, number: int, reason: str = ""):
        self.number, self.reason = number, reason


def put(kind: Any, address: int | None, value: Any) -> None:
    """A result, into the memory that the caller names."""
    if address:
        kind.from_address(address).value = value


def put_handle(address: int | None, value: int) -> None:
    put(ctypes.c_uint64, address, value)
