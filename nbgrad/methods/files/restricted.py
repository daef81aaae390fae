"""An unpickler that makes what a list allows, and nothing else.

NOTE [Restricted pickles]: a pickle is a program, and an attacker writes it.
  1. Names are looked up in ``makers.MAKERS`` alone: no module is imported, and the functions found there are nbgrad's own, which
     look at their arguments. A name stands for a ``Maker``, not for what it is called, so that nothing can be set on it. What the
     program itself trusts is in ``trusted.TRUSTED``.
  2. Of the instructions those are left out that know other ways to objects (INST, OBJ, EXT1, buffers from outside), and those that
     write to an object ask what it is: lists, dicts, sets, or what ``makers.STATES`` lists.
  3. Keys are plain values, and not nested without end: the hash of tuples that share tuples takes exponential time.
  4. Nothing has the size that a pickle says before there are so many bytes.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections import deque
from typing import Any, Callable

from ...base.errors import NbgradError
from .archive import damaged
from .errors import LoadError
from .makers import MAKERS, STATES, Maker, guarded, made, plain_key
from .torch_makers import no_storage  # whose makers enter the table, too
from .trusted import TRUSTED, is_trusted, set_state as set_trusted_state

__all__ = ["restricted_load"]

MOST_DIGITS = 4096  # bytes of an integer


def require_kind(target: Any, *kinds: type) -> Any:
    """What an instruction writes to."""
    if not isinstance(target, kinds):
        raise damaged(f"the pickle writes to a {type(target).__name__} as to a {kinds[0].__name__}")
    return target


class Restricted(pickle._Unpickler):
    """See NOTE [Restricted pickles].

    Args:
        file: in memory, where the pickle begins.
        storage_of: the storage that a persistent id names.
    """

    def __init__(self, file: io.BytesIO, storage_of: Callable[[Any], Any]) -> None:
        super().__init__(file, encoding="utf-8")
        self.storage_of, self.length = storage_of, len(file.getbuffer())

    def find_class(self, module: str, name: str) -> Any:
        found = MAKERS.get((module, name))
        if found is None and (module, name) in TRUSTED:
            trusted = TRUSTED[module, name]
            return Maker(f"{module}.{name}", trusted, trusted if isinstance(trusted, type) else None)
        if found is None:
            raise LoadError(
                f"load: the file names {module}.{name}, which is no tensor and no plain object. "
                "Hint: serialization.add_safe_globals allows what you trust; weights_only=False runs whatever a file says."
            )
        return found

    def persistent_load(self, pid: Any) -> Any:
        return self.storage_of(pid)

    # Instructions

    stack: list[Any]
    pop_mark: Callable[[], list]
    read: Callable[[int], bytes]

    def load_reduce(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = made(self.stack[-1], args)

    def load_newobj(self) -> None:
        named, args = self.stack[-2:]
        if type(named) is Maker and is_trusted(named.kind) and type(args) is tuple:
            self.stack[-2:] = [guarded(named.name, named.kind.__new__, named.kind, *args)]
        else:
            self.load_reduce()

    def load_build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        set_state = STATES.get(type(target)) or (set_trusted_state if is_trusted(type(target)) else None)
        if set_state is None:
            raise LoadError(f"load: the file sets the state of a {type(target).__name__}, which has none that is allowed.")
        guarded(type(target).__name__, set_state, target, state)

    def load_append(self) -> None:
        value = self.stack.pop()
        require_kind(self.stack[-1], list, deque).append(value)

    def load_appends(self) -> None:
        values = self.pop_mark()
        require_kind(self.stack[-1], list, deque).extend(values)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), plain_key(self.stack.pop())
        require_kind(self.stack[-1], dict)[key] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        require_kind(self.stack[-1], dict).update(pairs(items))

    def load_dict(self) -> None:
        items = self.pop_mark()  # which exchanges the stack
        self.stack.append(pairs(items))

    def load_additems(self) -> None:
        items = self.pop_mark()
        require_kind(self.stack[-1], set).update(map(plain_key, items))

    def load_frozenset(self) -> None:
        items = self.pop_mark()
        self.stack.append(frozenset(map(plain_key, items)))

    def load_long4(self) -> None:
        (count,) = LENGTH.unpack(self.read(4))
        if count > MOST_DIGITS:
            raise damaged(f"the pickle has an integer of {count} bytes")
        self.stack.append(int.from_bytes(self.read(count), "little", signed=True))

    def load_bytearray8(self) -> None:
        (count,) = LENGTH8.unpack(self.read(8))
        if count > self.length:
            raise damaged(f"the pickle has {self.length} bytes, of which {count} are to follow")
        self.stack.append(bytearray(self.read(count)))


# Instructions that know other ways to objects, or to buffers that are not in the file.
LEFT_OUT = ("INST", "OBJ", "EXT1", "EXT2", "EXT4", "NEWOBJ_EX", "PERSID", "NEXT_BUFFER", "READONLY_BUFFER")
LENGTH, LENGTH8 = struct.Struct("<I"), struct.Struct("<Q")
refused = {getattr(pickle, name)[0] for name in LEFT_OUT}
instructions: dict[int, Callable] = {
    code: getattr(Restricted, load.__name__) for code, load in pickle._Unpickler.dispatch.items() if code not in refused
}
Restricted.dispatch = instructions


def pairs(items: list) -> dict:
    """Keys and values that follow one another."""
    return {plain_key(items[k]): items[k + 1] for k in range(0, len(items), 2)}


def restricted_load(file: io.BytesIO, storage_of: Callable[[Any], Any] = no_storage) -> Any:
    """The object of the pickle that begins where a file in memory stands.

    Raises:
        LoadError: it is none, or names what is not allowed.
    """
    try:
        return Restricted(file, storage_of).load()
    except NbgradError:
        raise
    except (
        pickle.UnpicklingError,
        EOFError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OverflowError,
        struct.error,
    ) as error:
        told = "it ends too early" if isinstance(error, EOFError) else f"{type(error).__name__}: {error}"
        raise damaged(f"the file holds no pickle, or a part of one: {told}") from None
