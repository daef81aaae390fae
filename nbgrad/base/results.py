"""What operations with several results return: named tuples, of a class for each operation, which print their names.

``nbgrad.return_types`` finds the classes here by torch's names of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["TYPES", "result_type"]

PLACE = "nbgrad.return_types"
TYPES: dict[str, type] = {}


def told(result: Any) -> str:
    """A result by its names, a line each."""
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(result._fields, result))
    return f"{PLACE}.{type(result).__name__}(\n{parts})"


def result_type(operation: str, *also: str) -> Callable[[type], type]:
    """A decorator: a named tuple becomes the class of what an operation returns, by its name in ``return_types``.

    Args:
        also: other names that the class is found by there.
    """

    def make(fields: type) -> type:
        count = len(fields._fields)  # type: ignore[attr-defined]
        members: dict[str, Any] = {"__slots__": (), "__module__": PLACE, "__doc__": fields.__doc__, "__repr__": told}
        members |= {"n_fields": count, "n_sequence_fields": count, "n_unnamed_fields": 0}
        made = type(operation, (fields,), members)
        TYPES.update(dict.fromkeys((operation, *also), made))
        return made

    return make
