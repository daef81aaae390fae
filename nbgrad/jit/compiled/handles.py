"""Compiled modules and methods: what ``compile`` makes of a module is one, and every object has compiled methods of its own."""

from __future__ import annotations

import copy
import inspect
import sys
from types import new_class
from typing import Any, Callable

__all__ = ["Handle", "find_global", "handle_of"]


class Handle:
    """A module that is compiled where it is called: it has the attributes of the other one, in the same namespace.

    NOTE [Handles of modules]: the class is made for the module's class, which it inherits from, so that all that is done with the
    module can be done with its handle, and to both at once: parameters, ``train``, ``load_state_dict``, hooks. Its instances keep
    the compiled function in a slot, and what only that has is found there.
    """

    __slots__ = ()
    _compiled_: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Nothing of what subclasses of the module's class are there for."""

    def __getattr__(self, name: str) -> Any:
        compiled = object.__getattribute__(self, "_compiled_")
        if not name.startswith("_") and hasattr(compiled, name):
            return getattr(compiled, name)
        if name == "__signature__":
            return inspect.signature(compiled.fn)
        further: Any = super()
        if hasattr(further, "__getattr__"):
            return further.__getattr__(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @property
    def _orig_mod(self) -> Any:
        """The module itself, by torch's name."""
        return self._compiled_.fn

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return handle_of, (copy.copy(self._compiled_),)

    def __copy__(self) -> Any:
        return handle_of(copy.copy(self._compiled_))

    def __deepcopy__(self, memo: dict) -> Any:
        return handle_of(copy.deepcopy(self._compiled_, memo))


def handle_of(compiled: Any) -> Any:
    """The module that a compiled module is."""
    kind = type(compiled.fn)
    names = {
        "__slots__": ("_compiled_", "__call__"),
        "__module__": __name__,
        "__doc__": kind.__doc__,
        "__qualname__": kind.__qualname__,
    }
    made: Any = object.__new__(new_class(kind.__name__, (Handle, kind), exec_body=lambda space: space.update(names)))
    object.__setattr__(made, "__dict__", compiled.fn.__dict__)
    object.__setattr__(made, "_compiled_", compiled)
    object.__setattr__(made, "__call__", compiled)  # a slot: Python finds there what it calls, without a frame of ours
    return made


def find_global(fn: Callable) -> Any:
    """What is found by the name of a function."""
    found: Any = sys.modules.get(getattr(fn, "__module__", None) or "")
    for name in getattr(fn, "__qualname__", "<>").split("."):
        found = getattr(found, name, None)
    return found
