"""Locks that a forked process finds open.

A lock that another thread holds at a fork stays locked in the child, where nobody will ever open it: a data loader that forks while
a thread draws random numbers or trains would wait for ever. What these locks guard is short, and at worst half done in the child.

The interpreter's own lock around the import of a module is such a lock too, and a module that is half imported at the fork stays so
in the child. Much here is imported by the first call that needs it, so a fork waits until nothing of that is under way and lets
nothing begin: ``no_imports``, then ``allow_imports``.
"""

from __future__ import annotations

import _imp
import importlib
import os
import sys
import threading
from functools import update_wrapper
from typing import Any, Callable, Generic, TypeVar
from weakref import WeakSet

__all__ = ["allow_imports", "cached_once", "made_once", "new_lock", "new_rlock", "no_imports"]

PACKAGES = {"nbgrad", "numba", "llvmlite", "numpy", "scipy", "ml_dtypes"} | sys.stdlib_module_names  # what calls import

T = TypeVar("T")

_locks: WeakSet = WeakSet()


def new_lock():
    """A ``threading.Lock`` that is open in children."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def new_rlock():
    """A ``threading.RLock`` that is open in children."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


_making = new_rlock()


def made_once(owner: Any, slot: str, make: Callable[[], Any]):
    """The value of a slot of ``owner``, made at the first request; threads that ask at the same time get the same one."""
    value = getattr(owner, slot)
    if value is None:
        made = make()
        with _making:
            value = getattr(owner, slot)
            if value is None:
                setattr(owner, slot, made)
                value = made
    return value


class cached_once(Generic[T]):
    """``functools.cache`` for what must not be made twice: threads that ask at the same time wait for the one that makes it."""

    def __init__(self, make: Callable[..., T]):
        self.make, self.values, self.making = make, dict[tuple, T](), new_rlock()
        update_wrapper(self, make)

    def __call__(self, *args: Any) -> T:
        try:
            return self.values[args]
        except KeyError:
            with self.making:
                if args not in self.values:
                    self.values[args] = self.make(*args)
                return self.values[args]

    def cache_clear(self) -> None:
        """Forget all values."""
        self.values.clear()


def open_all() -> None:
    """Open every lock; for a child, which has one thread."""
    for lock in tuple(_locks):
        lock._at_fork_reinit()  # as the standard library does with its own


def imports_of_others() -> bool:
    """Whether another thread imports one of ``PACKAGES``: its modules' locks exist only meanwhile."""
    held = getattr(importlib._bootstrap, "_module_locks", {})
    this = threading.get_ident()
    locks = [ref() for name, ref in tuple(held.items()) if name.partition(".")[0] in PACKAGES]
    return any(lock is not None and lock.owner != this for lock in locks)


def no_imports() -> bool:
    """Let no thread begin an import, if none is under way now; returns whether that is so."""
    _imp.acquire_lock()
    if imports_of_others():
        _imp.release_lock()
        return False
    return True


def allow_imports() -> None:
    """The end of what ``no_imports`` began, in the parent of a fork or in its child."""
    if _imp.lock_held():
        _imp.release_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=open_all)
