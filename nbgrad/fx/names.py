"""Names: of nodes within a graph, and of functions, classes and annotations in its text."""

from __future__ import annotations

import builtins
import keyword
import re
from functools import lru_cache
from importlib import import_module
from types import FunctionType, GenericAlias, ModuleType
from typing import Any, get_origin

import nbgrad

__all__ = ["Names", "identifier", "is_own", "path_of", "snake_case", "type_text"]

PACKAGE = "nbgrad"
# Where public names are looked for, of functions and classes that say that they lie elsewhere.
PUBLIC = ("", "nn.functional", "nn", "linalg", "fft", "special", "Tensor", "nn.init", "signal.windows")
TAKEN = {*dir(builtins), "inf", "nan", "NoneType", "nbgrad", "device", "fx_pytree", "pytree"}


class Names:
    """The names that are taken in one graph, or in its text.

    >>> names = Names()
    >>> names.create_name("a.b", None), names.create_name("a_b", None), names.create_name("len", None)
    ('a_b', 'a_b_1', 'len_1')
    """

    def __init__(self) -> None:
        self._owners: dict[str, Any] = {}
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name that is free, ``candidate`` or one that begins with it, which from now on is that of ``obj``."""
        name = identifier(candidate)
        found = re.fullmatch(r"(.+)_(\d+)", name)
        stem, number = (found[1], int(found[2])) if found else (name, 0)
        number = number or self._counts.get(stem, 0)
        while self._is_taken(name):
            number += 1
            name = f"{stem}_{number}"
        self._owners[name] = obj
        self._counts[stem] = number
        return name

    def associate(self, name: str, obj: Any) -> None:
        """Let a name that is no other object's be that of ``obj``."""
        self._owners[name] = obj

    def _is_taken(self, name: str) -> bool:
        return name in TAKEN or keyword.iskeyword(name) or name in self._owners

    def __contains__(self, name: str) -> bool:
        return name in self._owners


def identifier(text: str) -> str:
    """A text as a name of Python: other characters become underscores."""
    name = re.sub(r"[^0-9a-zA-Z_]+", "_", text) or "_unnamed"
    return f"_{name}" if name[0].isdigit() else name


def snake_case(text: str) -> str:
    """The name of a class as that of a variable.

    >>> snake_case("LayerNorm")
    'layer_norm'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


def is_own(obj: Any) -> bool:
    """Whether a function, class or constant is found by its path below ``nbgrad``, which all texts of graphs know."""
    module = getattr(obj if callable(obj) else type(obj), "__module__", None) or ""
    return bool(module.partition(".")[0] == PACKAGE and found_at(path_of(obj)) is obj)


@lru_cache(maxsize=4096)
def path_of(obj: Any) -> str:
    """Where a function or class is found: by its public name if it is one of nbgrad's, else by what it says itself.

    >>> import nbgrad
    >>> path_of(nbgrad.relu), path_of(nbgrad.nn.functional.interpolate), path_of(nbgrad.Tensor), path_of(len)
    ('nbgrad.relu', 'nbgrad.nn.functional.interpolate', 'nbgrad.Tensor', 'len')
    """
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or type(obj).__name__
    if getattr(builtins, name, None) is obj:
        return name
    module = getattr(obj, "__module__", None) or ""
    if module.partition(".")[0] == PACKAGE:
        for space in PUBLIC:
            path = f"{PACKAGE}.{space}.{name}" if space else f"{PACKAGE}.{name}"
            if found_at(path) is obj:
                return path
        if found_at(f"{module}.{name}") is obj:
            return f"{module}.{name}"
    if isinstance(obj, FunctionType) and "<" in name:
        name = name.rpartition(".")[2]
    return f"{module or 'unknown'}.{name}"


def found_at(path: str) -> Any:
    """What a dotted path below the package leads to; None if nothing."""
    found: Any = nbgrad
    for part in path.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError:
            if not isinstance(found, ModuleType):
                return None
            try:
                found = import_module(f"{found.__name__}.{part}")
            except ImportError:
                return None
    return found


def type_text(kind: Any) -> str:
    """An annotation in prints."""
    if isinstance(kind, type) and not isinstance(kind, GenericAlias) and get_origin(kind) is None:
        return kind.__qualname__ if kind.__module__ == "builtins" else path_of(kind)
    if kind is ...:
        return "..."
    return path_of(kind) if isinstance(kind, FunctionType) else repr(kind)
