"""The attributes of a Module that are registered, by kind: what may take their places, and how they are named from above."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ..base.errors import NbgradError
from ..graph.hooks import Hooks

__all__ = [
    "BUFFER",
    "BUFFERS",
    "MODULE",
    "PARAMETER",
    "TRANSIENT",
    "MemberError",
    "MemberTable",
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
    """The attributes of a module that are of some kinds, by name, also those that are None; writing to it writes to the module.

    What is written is taken as it is, whatever it is and without hooks: a step of meta-learning puts computed tensors in the places
    of parameters. ``setattr`` and ``register_parameter`` are where values are checked.
    """

    def __init__(self, owner: Any, *kinds: str) -> None:
        self.owner, self.kinds = owner, kinds

    def __getitem__(self, name: str) -> Any:
        if self.owner._kinds_.get(name) not in self.kinds:
            raise KeyError(name)
        return self.owner.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if self.owner._kinds_.get(name) not in self.kinds:
            self.owner._kinds_[name] = self.kinds[0]
        self.owner.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        self[name]
        del self.owner.__dict__[name], self.owner._kinds_[name]  # past a __delattr__ of a subclass, which may come from there

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, kind in self.owner._kinds_.items() if kind in self.kinds])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(self.copy())

    def copy(self) -> dict[str, Any]:
        """A dict of them."""
        return {name: self.owner.__dict__[name] for name in self}

    # Those of a dict can be gone through in reverse; the mapping's cannot.

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.copy())

    def keys(self) -> Any:
        """Their names."""
        return self.copy().keys()

    def values(self) -> Any:
        """The members themselves."""
        return self.copy().values()

    def items(self) -> Any:
        """Names and members."""
        return self.copy().items()


class MemberTable:
    """An attribute of Module: its members of some kinds, to be looked at, written to or set anew."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def __get__(self, module: Any, owner: Any = None) -> Any:
        return self if module is None else Members(module, *self.kinds)

    def __set__(self, module: Any, members: Mapping[str, Any]) -> None:
        values, kinds, members = module.__dict__, module._kinds_, dict(members)
        for name in [name for name, kind in kinds.items() if kind in self.kinds and name not in members]:
            del values[name]
        # A new dict: a module whose ``__dict__`` was copied from another one's shares its kinds until here.
        others = {name: kind for name, kind in kinds.items() if kind not in self.kinds}
        own = {name: kind if (kind := kinds.get(name)) in self.kinds else self.kinds[0] for name in members}
        values["_kinds_"] = others | own
        values.update(members)


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
