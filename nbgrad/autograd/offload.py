"""What is saved on a GPU, kept in pinned memory: copied there beside the program's work, and fetched back ahead of its use.

NOTE [Offloading]: both copies are work of a stream of their own, one for each GPU. It waits for the program's stream as that was
when the copy was asked for, and the program's stream waits for it where the tensor is used. Memory that such a copy reads or writes
is held until it is done, so that nothing else needs to know of the stream. Backward wants first what was saved last: with each
tensor the one before it is fetched, too.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from weakref import ref

from ..base.calls import CALLS
from ..base.errors import OutOfMemoryError
from ..base.locks import new_rlock
from ..tensors.tensor import Tensor, new_tensor

__all__ = ["Offloaded"]

_running: list[Copy] = []
_lock = new_rlock()


class Copy:
    """A copy that may still run.

    Attributes:
        card, event: which is behind it; ``held``: memory that it uses.
    """

    __slots__ = ("card", "event", "held")

    def __init__(self, card: Any, event: int, held: Any):
        self.card, self.event, self.held = card, event, held


@cache
def copying_stream(index: int) -> int:
    """The stream of a GPU's copies."""
    from ..tensors.heaps import heap_on

    return heap_on(index).card.new_stream(0)


def settle() -> None:
    """Let go of what copies that are done have held."""
    with _lock:
        for _ in range(len(_running)):
            copy = _running.pop(0)
            if copy.card.is_reached(copy.event):
                copy.card.give_event(copy.event)
                copy.event = 0
            else:
                _running.append(copy)


class Offloaded:
    """A tensor of a GPU in pinned memory.

    Args:
        x: the tensor.
        before: what was saved before it, if anything.
    """

    __slots__ = ("heap", "layout", "array", "before", "fetched", "__weakref__")

    def __init__(self, x: Tensor, before: Offloaded | None):
        from ..tensors.heaps import heap_on
        from ..tensors.pinned import pinned_array

        settle()
        if not x.layout.dense or x.layout.conj or x.layout.neg:
            x = CALLS["contiguous_copy"](x.detach())
        index = x.layout.device.index
        assert index is not None
        self.heap, self.layout = heap_on(index), x.layout
        self.array = pinned_array(x.layout.numel * x.layout.dtype.itemsize)
        self.before = None if before is None else ref(before)
        self.fetched: tuple[Any, Copy | None] | None = None
        if self.array.nbytes:
            stream = self.begin()
            self.heap.card.download(self.array, x._storage_.array.address + x._offset_, stream)
            self.end(stream, x._storage_.array)

    def begin(self) -> int:
        """The stream of copies, which waits for what the current one has got so far."""
        card, stream = self.heap.card, copying_stream(self.heap.index)
        event = card.take_event()
        card.record(event, self.heap.stream())
        card.let_wait(stream, event)
        card.give_event(event)
        return stream

    def end(self, stream: int, held: Any) -> Copy:
        """A copy was asked for, which uses memory."""
        from ..tensors.pinned import owner_of

        owner = owner_of(self.array)
        assert owner is not None
        owner.use(self.heap.card, stream)
        event = self.heap.card.take_event()
        self.heap.card.record(event, stream)
        made = Copy(self.heap.card, event, held)
        with _lock:
            _running.append(made)
        return made

    def fetch(self) -> None:
        """Begin to copy it back."""
        from ..tensors.gpu import storage_of

        if self.fetched is None:
            storage, copy = storage_of(self.layout.device, self.array.nbytes, "save_on_cpu"), None
            if self.array.nbytes:
                stream = self.begin()
                self.heap.card.upload(storage.array.address, self.array, stream)
                copy = self.end(stream, storage.array)
            self.fetched = storage, copy

    def get(self) -> Tensor:
        """The tensor on its GPU, for the current stream."""
        self.fetch()
        assert self.fetched is not None
        (storage, copy), self.fetched = self.fetched, None
        with _lock:
            if copy is not None and copy.event:  # else it is done
                self.heap.card.let_wait(self.heap.stream(), copy.event)
        before = None if self.before is None else self.before()
        if before is not None:
            try:
                before.fetch()
            except OutOfMemoryError:
                pass  # it is fetched when it is wanted
        settle()
        return new_tensor(storage, self.layout)
