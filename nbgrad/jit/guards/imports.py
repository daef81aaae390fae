"""Modules that functions import when they run."""

from __future__ import annotations

import functools
from dis import get_instructions
from importlib.util import resolve_name
from types import CodeType, FunctionType

from ...func.captures import has_any, inner_codes

__all__ = ["imported_by"]


def imported_by(function: FunctionType) -> list[str]:
    """The names of the modules that a function and those defined in it import, with the packages that these are in.

    >>> def fn():
    ...     import os.path
    >>> imported_by(fn)
    ['os', 'os.path']
    """
    package, found = function.__globals__.get("__package__"), list[str]()
    for level, name in imports_in(function.__code__):
        if level and not package:
            continue
        words = (resolve_name("." * level + name, package) if level else name).split(".")
        found += [".".join(words[: k + 1]) for k in range(len(words))]
    return found


@functools.lru_cache(maxsize=1024)
def imports_in(code: CodeType) -> tuple[tuple[int, str], ...]:
    """Levels and names of a code's imports."""
    found, constants = list[tuple[int, str]](), list[object]()
    for each in get_instructions(code) if has_any(code, "IMPORT_NAME") else ():
        if each.opname == "IMPORT_NAME":
            found.append((constants[-2] if len(constants) > 1 and isinstance(constants[-2], int) else 0, each.argval))
        constants.append(each.argval)
    return (*found, *(pair for inner in inner_codes(code) for pair in imports_in(inner)))
