"""Namespaces of switches: what programs set about the libraries that compute for torch, checked and remembered."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ..base.errors import ArgumentError, NamingError

__all__ = ["Switches"]


class Switches(ModuleType):
    """A module whose variables are switches: of the type that they begin with, and no others.

    Args:
        name: below ``nbgrad.backends``.
        doc: what it is about.
        switches: their names and first values.
        functions: what else there is.

    Raises:
        ArgumentError: a switch is set to a value of another type. AttributeError: there is no such switch.
    """

    def __init__(self, name: str, doc: str, switches: Mapping[str, Any], functions: Mapping[str, Callable]):
        super().__init__(f"nbgrad.backends.{name}", doc)
        self.__dict__.update(functions, __switches__={name: type(value) for name, value in switches.items()}, **switches)
        self.__dict__["__all__"] = sorted([*switches, *functions, "flags"])
        sys.modules[self.__name__] = self

    def __setattr__(self, name: str, value: Any) -> None:
        kinds = self.__dict__["__switches__"]
        if name not in kinds:
            if name.startswith("__"):
                super().__setattr__(name, value)
                return
            raise AttributeError(f"{self.__name__[7:]}: there is no switch {name!r}, expected one of {sorted(kinds)}.")
        if not isinstance(value, kinds[name]) or isinstance(value, bool) is not (kinds[name] is bool):
            expected = kinds[name].__name__
            raise ArgumentError(f"{self.__name__[7:]}.{name}: expected {expected}, got {type(value).__name__}.")
        self.__dict__[name] = value

    @contextmanager
    def flags(self, **switches: Any) -> Iterator[None]:
        """Set switches until the end of the block.

        Raises:
            NamingError: there is no such switch.
        """
        kinds = self.__dict__["__switches__"]
        unknown = [name for name in switches if name not in kinds]
        if unknown:
            raise NamingError(f"{self.__name__[7:]}.flags: there are no switches {unknown}, expected some of {sorted(kinds)}.")
        before = {name: self.__dict__[name] for name in switches}
        try:
            for name, value in switches.items():
                setattr(self, name, value)
            yield
        finally:
            self.__dict__.update(before)
