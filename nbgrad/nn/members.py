"""The attributes of a Module that are registered, by kind: what may take their places, and how they are named from above."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from ..base.errors import NbgradError
from ..graph.node import Hooks

__all__ = [
    "BUFFER",
    "BUFFERS",
    "MODULE",
    "PARAMETER",
    "TRANSIENT",
    "MemberError",
    "Members",
    "first_seen",
    "join",
    "registered",
    "when_registered",
]

# The kinds of registered attribute. A transient buffer moves with the module but is not in its state_dict.
PARAMETER, BUFFER, TRANSIENT, MODULE = "parameter", "buffer", "transient buffer", "module"
BUFFERS = (BUFFER, TRANSIENT)

# Hooks of all modules, by kind, that are called with what is registered and may put something else in its place.
_buffer_hooks = Hooks()
when_registered = {PARAMETER: Hooks(), MODULE: Hooks(), BUFFER: _buffer_hooks, TRANSIENT: _buffer_hooks}


class MemberError(NbgradError, AttributeError):
    """A part of a module that is not there."""


class Members(MutableMapping):
    """The attributes of a module that are of some kinds, by name, also those that are None; writing to it writes to the module."""

    def __init__(self, owner: Any, *kinds: str) -> None:
        self.owner, self.kinds = owner, kinds

    def __getitem__(self, name: str) -> Any:
        if self.owner._kinds_.get(name) not in self.kinds:
            raise KeyError(name)
        return self.owner.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        present = self.owner._kinds_.get(name)
        if present in self.kinds:
            self.owner._replace_own(name, value)
        else:
            self.owner._register(name, value, self.kinds[0])

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self.owner, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, kind in self.owner._kinds_.items() if kind in self.kinds])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def join(prefix: str, name: str) -> str:
    """A dotted name."""
    return f"{prefix}.{name}" if prefix else name


def first_seen(members: Any, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
    """``(name, object)`` pairs, without those whose object came before."""
    seen: set[int] = set()
    for name, member in members:
        if not (remove_duplicate and id(member) in seen):
            seen.add(id(member))
            yield name, member


def registered(module: Any, name: str, value: Any, kind: str) -> Any:
    """What becomes the attribute ``name``: ``value``, unless a hook of all modules returned something else."""
    if value is None and kind == PARAMETER:  # as in torch, which asks the hooks of the other kinds about None
        return value
    for hook in list(when_registered[kind].values()):
        new = hook(module, name, value)
        value = value if new is None else new
    return value
