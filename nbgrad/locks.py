"""Locks that a forked process finds open.

A lock that another thread holds at a fork stays locked in the child, where nobody will ever open it: a data loader that forks while
a thread draws random numbers or trains would wait for ever. What these locks guard is short, and at worst half done in the child.
"""
from __future__ import annotations

import os
import threading
from weakref import WeakSet

__all__ = ["new_lock", "new_rlock"]

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


def open_all() -> None:
    """Open every lock; for a child, which has one thread."""
    for lock in tuple(_locks):
        lock._at_fork_reinit()          # as the standard library does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=open_all)
