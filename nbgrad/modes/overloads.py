"""``aten.add.Tensor`` and its like: objects that stand for the operations beneath the gradients, as torch's operators do.

There is one object for each name, so programs compare them by ``is`` and keep them in dicts. Which call has which name is the
declarations' to say: NOTE [Operators] in ops/operators.py.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, NamedTuple

from ..base.calls import CALLS
from ..base.errors import NotSupportedError
from ..ops.operators import Operator, calls_of
from ..tensors.tensor import Tensor

__all__ = ["OpOverload", "OpOverloadPacket", "called_as", "overload_named", "packet_of"]


class Schema(NamedTuple):
    """What an overload is called, as torch's schemas say it."""

    name: str
    overload_name: str


class OpOverload:
    """One overload of an operator: what ``__torch_dispatch__`` is given.

    Called, it is the operation: inside of ``__torch_dispatch__`` the very one that is being handled, elsewhere the public function
    of that name.

    >>> import nbgrad
    >>> add = nbgrad.ops.aten.add.Tensor
    >>> str(add), add.__name__, add.overloadpacket is nbgrad.ops.aten.add, add.name()
    ('aten.add.Tensor', 'add.Tensor', True, 'aten::add.Tensor')
    """

    def __init__(self, packet: OpOverloadPacket, overload: str):
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname, self.namespace = overload, packet.namespace
        self.__name__ = self.__qualname__ = f"{packet.__name__}.{overload}"
        self.__module__ = packet.__module__
        self._schema = Schema(packet._qualified_op_name, "" if overload == "default" else overload)

    def name(self) -> str:
        """torch's name of it: ``aten::add.Tensor``."""
        return ".".join(filter(None, self._schema))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = handled.operations.get(self)
        return (self.overloadpacket.function() if own is None else own)(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An operator with all its overloads, which are attributes of it.

    >>> import nbgrad
    >>> nbgrad.ops.aten.mm, nbgrad.ops.aten.mm.default is nbgrad.ops.aten.mm.default
    (<OpOverloadPacket(op='aten.mm')>, True)
    """

    def __init__(self, namespace: str, name: str):
        self.namespace, self.__name__, self.__qualname__ = namespace, name, name
        self.__module__ = f"nbgrad.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._made: dict[str, OpOverload] = {}

    def function(self) -> Callable:
        """The public function, or method, of that name; else the operation that has it beneath the gradients.

        Raises:
            NotSupportedError: the name alone is known, to be compared with, as of what torch keeps for itself.
        """
        public = getattr(sys.modules["nbgrad"], self.__name__, None) or getattr(Tensor, self.__name__, None)
        if callable(public):
            return public
        own = () if self.__name__.startswith("_") else calls_of(self.namespace, self.__name__)
        if not own:
            raise NotSupportedError(f"{self}: there is no such operation. Hint: the public function it belongs to.")
        return CALLS[own[0]]

    def overloads(self) -> list[str]:
        """Those that somebody has named so far."""
        return list(self._made)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(f"{self} has no overload {overload!r}.")
        return self._made.setdefault(overload, OpOverload(self, overload))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function()(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


_packets: dict[tuple[str, str], OpOverloadPacket] = {}


def packet_of(namespace: str, name: str) -> OpOverloadPacket:
    """The one operator of that name."""
    key = namespace, name
    return _packets.get(key) or _packets.setdefault(key, OpOverloadPacket(namespace, name))


def overload_named(operator: Operator) -> OpOverload:
    """The one overload of that name."""
    made: OpOverload = getattr(packet_of(operator.namespace, operator.name), operator.overload)
    return made


class Handled(threading.local):
    """The operations that this thread's handlers are asked about, by overload: several of ours may be one of torch's."""

    def __init__(self) -> None:
        self.operations: dict[OpOverload, Callable] = {}


handled = Handled()


class called_as:
    """While a handler runs: calls of an overload are calls of the operation that it was asked about, a function."""

    __slots__ = ("overload", "operation", "before")

    def __init__(self, overload: OpOverload, operation: Callable):
        self.overload, self.operation = overload, operation

    def __enter__(self) -> None:
        self.before = handled.operations.get(self.overload)
        handled.operations[self.overload] = self.operation

    def __exit__(self, *error: object) -> None:
        if self.before is None:
            del handled.operations[self.overload]
        else:
            handled.operations[self.overload] = self.before
