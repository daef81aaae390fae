"""The tensors that a function captures: those that its body uses without receiving them as arguments."""

from __future__ import annotations

import functools
import os
from dis import EXTENDED_ARG, opmap
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Iterator

from ..modes.numbers import Number
from ..tensors.tensor import Tensor

__all__ = ["captured"]

MOST_MEMBERS = 64  # of a collection that is looked through
PACKAGE = str(Path(__file__).parents[1]) + os.sep


def captured(func: Any, modules: bool = False) -> list[Tensor]:
    """The tensors in the closure of a function, among its defaults and the globals that it names.

    Those in tuples, lists and dicts, too, and those that are attributes of an object there.

    Functions that it captures are followed; of those of this package, which hold arguments, only the functions that they wrap.

    Args:
        modules: whether the tensors of all modules in a module there are among them: what their ``_registered_values_`` gives.

    >>> import nbgrad
    >>> y = nbgrad.ones(2)
    >>> [x is y for x in captured(lambda x: x * y)]
    [True]
    """
    found: list[Tensor] = []
    seen: set[int] = set()
    waiting = [func]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Tensor):
            found.append(value)
            continue
        if isinstance(value, Number):  # of a capture: its arithmetic in the function is written down too
            found.append(value.tensor)
            continue
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) in (tuple, list, dict) and len(value) <= MOST_MEMBERS:
            waiting += value.values() if type(value) is dict else value
        elif isinstance(value, MethodType):
            waiting += (value.__func__, value.__self__)
        elif isinstance(value, functools.partial):
            waiting.append(value.func)
        elif isinstance(value, FunctionType):
            waiting += named_by(value)
        elif not isinstance(value, NO_HOLDERS):
            held = getattr(value, "__dict__", {})
            waiting += [x for x in held.values() if isinstance(x, Tensor)] if len(held) <= MOST_MEMBERS else ()
            registered = getattr(type(value), "_registered_values_", None) if modules else None
            waiting += () if registered is None else registered(value)
    return found


def named_by(function: FunctionType) -> list:
    """The values of a function's closure, defaults and globals that may be, hold or capture tensors."""
    ours = function.__code__.co_filename.startswith(PACKAGE)  # as the wrappers that transforms return
    values = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if not ours or callable(value):
            values.append(value)
    if ours:
        return values
    values += (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    known = function.__globals__
    for name in global_names(function.__code__):
        value = known.get(name)
        if value is not None and not isinstance(value, NO_HOLDERS):
            values.append(value)
    return values


# Functions are followed from closures alone: those that globals name may be all of a program.
NO_HOLDERS = (FunctionType, BuiltinFunctionType, ModuleType, type)


@functools.lru_cache(maxsize=1024)
def global_names(code: CodeType) -> tuple[str, ...]:
    """The global names that a code and the functions defined in it look up."""
    looked_up = (*(k >> 1 for k in arguments_of(code, LOAD_GLOBAL)), *arguments_of(code, LOAD_NAME))
    own = (code.co_names[k] for k in looked_up)
    return tuple(dict.fromkeys((*own, *(name for each in inner_codes(code) for name in global_names(each)))))


LOAD_GLOBAL, LOAD_NAME = opmap["LOAD_GLOBAL"], opmap["LOAD_NAME"]


@functools.lru_cache(maxsize=1024)
def instructions(code: CodeType) -> bytes:
    """The numbers of a code's instructions: to look for some of them takes a hundredth of what ``dis`` takes to tell all."""
    return code.co_code[::2]


def has_any(code: CodeType, *names: str) -> bool:
    """Whether a code has instructions of some names."""
    found = instructions(code)
    return any(0 < (number := opmap.get(name, 0)) < 256 and number in found for name in names)


def arguments_of(code: CodeType, number: int) -> Iterator[int]:
    """The arguments of all instructions of a number."""
    found, given = instructions(code), code.co_code[1::2]
    k = found.find(number)
    while k >= 0:
        argument, shift, before = given[k], 8, k - 1
        while before >= 0 and found[before] == EXTENDED_ARG:
            argument |= given[before] << shift
            shift, before = shift + 8, before - 1
        yield argument
        k = found.find(number, k + 1)


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """The codes of functions that are defined in a code."""
    return (each for each in code.co_consts if isinstance(each, CodeType))


@functools.lru_cache(maxsize=1024)
def has_loops(code: CodeType) -> bool:
    """Whether a code or a function defined in it takes from iterators."""
    return has_any(code, "FOR_ITER") or any(map(has_loops, inner_codes(code)))


@functools.lru_cache(maxsize=1024)
def all_names(code: CodeType) -> frozenset[str]:
    """All names but those of variables in a code and the functions defined in it, attributes among them."""
    return frozenset(code.co_names).union(*map(all_names, inner_codes(code)))
