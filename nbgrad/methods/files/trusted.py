"""Classes and functions that a program lets files name: ``nbgrad.serialization``, as ``torch.serialization``.

>>> import argparse, io, nbgrad
>>> file = io.BytesIO()
>>> nbgrad.save({"args": argparse.Namespace(lr=0.1)}, file)
>>> _ = file.seek(0)
>>> with safe_globals([argparse.Namespace]):
...     nbgrad.load(file)
{'args': Namespace(lr=0.1)}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...base.errors import ArgumentError

__all__ = ["TRUSTED", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "is_trusted", "safe_globals", "set_state"]

Entry = Callable | tuple[Callable, str]

# By module and name, as files spell them.
TRUSTED: dict[tuple[str, str], Any] = {}


def spelled(entry: Entry) -> tuple[tuple[str, str], Any]:
    """A class or function, and how files spell it: as it is called, or as the pair says.

    Raises:
        ArgumentError: neither.
    """
    found, name = entry if isinstance(entry, tuple) else (entry, None)
    if not callable(found) or not hasattr(found, "__qualname__"):
        raise ArgumentError(f"add_safe_globals: expected classes and functions, or pairs of one and a name, got {entry!r}.")
    module, _, own = name.rpartition(".") if name else (found.__module__, ".", found.__qualname__)
    return (module, own), found


def add_safe_globals(safe_globals: Iterable[Entry]) -> None:
    """Let ``load(weights_only=True)`` make what files name so. Whatever the classes and functions do, a file can have done.

    Args:
        safe_globals: classes and functions, or pairs of one and the full name under which files have it.

    Raises:
        ArgumentError: something else.
    """
    TRUSTED.update(dict(map(spelled, list(safe_globals))))


def get_safe_globals() -> list[Any]:
    """What was added; with another name than its own, in a pair with that."""
    return [found if spelled(found)[0] == place else (found, ".".join(place)) for place, found in TRUSTED.items()]


def clear_safe_globals() -> None:
    """Let files name nothing of what was added."""
    TRUSTED.clear()


class safe_globals:  # torch's name
    """Let files name classes and functions inside of a block: see ``add_safe_globals``."""

    def __init__(self, safe_globals: Iterable[Entry]) -> None:
        self.given, self.before = list(safe_globals), dict(TRUSTED)

    def __enter__(self) -> None:
        self.before = dict(TRUSTED)
        add_safe_globals(self.given)

    def __exit__(self, *error: object) -> None:
        TRUSTED.clear()
        TRUSTED.update(self.before)


def is_trusted(kind: Any) -> bool:
    """Whether files may name a class."""
    return isinstance(kind, type) and any(kind is each for each in TRUSTED.values())


def set_state(x: Any, state: Any) -> None:
    """Give an object of such a class its state, as pickles do."""
    if hasattr(x, "__setstate__"):
        x.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        x.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(x, name, value)
