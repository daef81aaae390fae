"""Which GPU and which streams a thread has chosen. It knows no driver: programs without a GPU load no more than this.

NOTE [Choices]: a thread's choice, one stream for each GPU, is one object that never changes, the same for the same streams. Whoever
remembers it, as nodes do, remembers all streams by one reference, and ``is`` tells whether two are alike. GPUs of which a choice
says nothing are on their default stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "DEFAULT",
    "Choice",
    "StreamOfCard",
    "Streams",
    "begin_streams",
    "captures",
    "choose",
    "chosen",
    "current",
    "opened",
    "put_back",
    "when_used",
]


class StreamOfCard(NamedTuple):
    """A stream as the driver knows it; each is one object.

    Attributes:
        device: the number of its GPU.
        handle: the driver's.
        bit: which stands for it in words: NOTE [Heap words] of native/heaps.py.
        lists: where its lists are.
        default: whether it is the one on which everything runs that no other is chosen for.
    """

    device: int
    handle: int
    bit: int
    lists: int
    default: bool


class Choice:
    """One stream for each GPU; see NOTE [Choices].

    Attributes:
        of: by GPU, the stream that is not the default one.
    """

    __slots__ = ("of", "note")

    def __init__(self, of: dict[int, StreamOfCard]):
        self.of = of
        self.note: Any = None  # what nodes keep that are recorded meanwhile: graph/noting.py

    def with_stream(self, stream: StreamOfCard) -> Choice:
        """The choice with another stream on its GPU."""
        of = {device: kept for device, kept in self.of.items() if device != stream.device}
        if not stream.default:
            of[stream.device] = stream
        key = tuple(sorted(of.items()))
        return _choices.setdefault(key, Choice(of))


DEFAULT = Choice({})
_choices: dict[tuple, Choice] = {(): DEFAULT}


class Streams(threading.local):
    """What a thread has chosen."""

    index = 0  # the current GPU
    choice = DEFAULT
    capture: Any = None  # the ``Capture`` that this thread is in: tensors/cuda_graphs.py


current = Streams()

# Called once, when the process first chooses another stream than a default one.
when_used: list[Callable[[], None]] = []
_begun: list[None] = []

captures: list[Any] = []  # those of all threads
opened: list[Any] = []  # the heaps of all GPUs that are in use: ``HeapOfCard``


def choose(choice: Choice) -> None:
    """Make a choice of streams this thread's."""
    current.choice = choice
    for heap in opened:
        heap.enter()


def chosen() -> tuple[Choice, int]:
    """This thread's streams and GPU, for ``put_back``."""
    return current.choice, current.index


def put_back(before: tuple[Choice, int]) -> None:
    """Undo what a user's code has chosen meanwhile."""
    choice, current.index = before
    if choice is not current.choice:
        choose(choice)


def begin_streams() -> None:
    """See that several streams are reckoned with, from now on: NOTE [One stream] of tensors/streams.py."""
    if not _begun:
        _begun.append(None)
        for begin in tuple(when_used):
            begin()


def begun() -> bool:
    """Whether the process has used other streams than default ones."""
    return bool(_begun)
