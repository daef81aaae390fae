"""torch.return_types: the classes of what operations with several results return, by the operations' names.

>>> import nbgrad
>>> isinstance(nbgrad.eye(2).max(0), nbgrad.return_types.max)
True
"""

from __future__ import annotations

from typing import Any

from ..base.results import TYPES

__all__ = sorted(TYPES)  # noqa: PLE0605  names of operations


def __getattr__(name: str) -> Any:
    """A class by the name of its operation."""
    if name == "all_return_types":
        return [*dict.fromkeys(TYPES.values())]
    try:
        return TYPES[name]
    except KeyError:
        raise AttributeError(f"module 'nbgrad.return_types' has no attribute {name!r}.") from None
