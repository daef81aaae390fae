"""Packages whose public names are imported when they are first used, so that nobody waits for what he does not use
(benchmarks/test_startup.py)."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Callable

__all__ = ["late_names"]


def late_names(package: str, names: dict[str, tuple[str, ...]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Args:
        names: by module, relative to the package, what is public of it. The package's own modules are found too.
    """
    places = {name: module for module, public in names.items() for name in public}

    def get(name: str) -> Any:
        """What is public, and modules of the package, imported now."""
        scope = vars(sys.modules[package])
        if name in places:
            scope[name] = getattr(import_module(places[name], package), name)
            return scope[name]
        if not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}.")

    def listed() -> list[str]:
        """The names there are, imported or not."""
        return sorted({*vars(sys.modules[package]), *places})

    return get, listed
