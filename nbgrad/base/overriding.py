"""Whether a type says itself what functions mean on it: by ``__nbgrad_function__``, or by torch's name for it."""

from __future__ import annotations

import inspect
from typing import Iterable

__all__ = ["OWN", "TORCHS", "adopt_torch_name", "asked_in_order", "overrides_functions"]

OWN, TORCHS = "__nbgrad_function__", "__torch_function__"


def overrides_functions(kind: type) -> bool:
    """Whether calls with an argument of this type go to the type; what it says under torch's name counts as said here.

    >>> from nbgrad.base.overriding import overrides_functions
    >>> overrides_functions(float)
    False
    """
    return hasattr(kind, OWN) or hasattr(kind, TORCHS) and adopt_torch_name(kind)


def adopt_torch_name(kind: type) -> bool:
    """Have a class's ``__torch_function__`` as its ``__nbgrad_function__``, so that it ports as it is; torch's own are no such."""
    if any(base.__module__.partition(".")[0] == "torch" for base in kind.__mro__):
        return False
    setattr(kind, OWN, inspect.getattr_static(kind, TORCHS))
    return True


def asked_in_order(kinds: Iterable[type]) -> tuple[type, ...]:
    """Types of arguments in the order in which they are asked what a call means: theirs, each once, a subclass before its base.

    >>> from nbgrad.base.overriding import asked_in_order
    >>> asked_in_order([int, float, bool, int])
    (<class 'bool'>, <class 'int'>, <class 'float'>)
    """
    found: list[type] = []
    for kind in kinds:
        if kind not in found:
            found.insert(next((k for k, other in enumerate(found) if issubclass(kind, other)), len(found)), kind)
    return tuple(found)
