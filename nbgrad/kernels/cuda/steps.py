"""What an operation does on a GPU: kernels one after the other, said without addresses.

A lowering for CUDA says by layouts and attributes which kernels run, on how many blocks, over which memory. Nothing is compiled
here, and no address known: both come with the first launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...base.errors import NbgradError
from .build import Recipe

__all__ = [
    "ELEMENTS",
    "ERRORS",
    "STREAM",
    "Call",
    "Elements",
    "Held",
    "Lacking",
    "Made",
    "Number",
    "Place",
    "Step",
    "Steps",
    "Workspace",
    "operand",
    "out",
    "work",
]


class Place(NamedTuple):
    """Memory that a kernel is given: made by ``out``, ``operand`` and ``work``; or ``ERRORS``.

    Attributes:
        kind: ``"out"``, ``"operand"``, ``"work"`` or ``"errors"``.
        at: which result, or operand of the call; 0 of others.
        offset: in bytes from its first element.
    """

    kind: str
    at: int = 0
    offset: int = 0


class Number(NamedTuple):
    """A number that the kernel is given by value: the call's operand ``at``, which is a Python number.

    Attributes:
        offset: in bytes: the imaginary part of a complex number is behind the real one.
    """

    at: int
    offset: int = 0


class Elements:
    """The number of elements of the call's first result."""


ELEMENTS = Elements()


def out(at: int = 0, offset: int = 0) -> Place:
    """A result's memory."""
    return Place("out", at, offset)


def operand(at: int = 0, offset: int = 0) -> Place:
    """An operand's memory."""
    return Place("operand", at, offset)


def work(offset: int = 0) -> Place:
    """Memory that lives as long as the steps of one call; multiples of 256 bytes are aligned to as much."""
    return Place("work", 0, offset)


ALIGNED = 256  # bytes between parts of a workspace


class Workspace:
    """Parts of a workspace, as they are taken.

    Attributes:
        size: bytes taken so far.
    """

    def __init__(self) -> None:
        self.size = 0

    def take(self, nbytes: int) -> Place:
        """A part of so many bytes."""
        place = work(self.size)
        self.size += -(-nbytes // ALIGNED) * ALIGNED
        return place


# NOTE [Errors on the device]: two int64s of pinned memory that the device reaches. A thread that meets a wrong element writes
# there, if 0 is there: what is wrong (a number of faults.py, never 0), then the element. A kernel that reads gives 0 in its place,
# one that writes has looked at all elements before, and changes nothing. The program is told when it next waits for the device.
ERRORS = Place("errors")


class Step(NamedTuple):
    """One launch.

    Attributes:
        recipe: of the kernel.
        grid: blocks, in up to three dimensions.
        tile: where ``grid`` is empty, elements of the first result that a block does.
        pointers: what the kernel's pointers point to, in their order.
        values: its numbers: constants, or ``Number``.
        counts: its integers; ``ELEMENTS`` among them, ``Number``, and places, for their addresses.
        table: words of its table: integers, and where memory is.
        single: the same step by single elements, for memory that is not aligned to vectors; None where there are no vectors.
    """

    recipe: Recipe
    grid: tuple[int, ...]
    pointers: tuple[Place, ...]
    values: tuple[float | Number, ...] = ()
    counts: tuple[int | Elements | Number | Place, ...] = ()
    single: Step | None = None
    tile: int = 0
    table: tuple[int | Place, ...] = ()

    @property
    def name(self) -> str:
        """For errors."""
        return self.recipe.name

    @property
    def alignment(self) -> int:
        """Bytes that divide the addresses of tensors."""
        return max((access.nbytes for access in self.recipe.template.accesses), default=1) if self.single else 1


class Held(NamedTuple):
    """Where the address of an operand's memory stands, for a function that reads it there."""

    at: int


class Made(NamedTuple):
    """One of the words that a ``Call`` makes before it is called first."""

    at: int


class StreamOfCall:
    """The stream on which the call is made."""


STREAM = StreamOfCall()


class Lacking(Exception):
    """A library has nothing for what is asked of it."""


class Call(NamedTuple):
    """A call of a library's function, which queues work on a stream.

    Attributes:
        name: of the library, for errors.
        make: ``make(gpu)``, which opens the library and gives words, the same ones each time: the address of the function, then
            those that ``Made`` counts. Raises ``Lacking``.
        arguments: of the function, sixteen at most.
        error_of: ``error_of(code)``, the error that a code means.
        alignment: bytes that divide the addresses of tensors.
        single: the same call for memory that is not aligned so.
    """

    name: str
    make: Callable[[int], tuple[int, ...]]
    arguments: tuple[Place | Held | Made | StreamOfCall | int, ...]
    error_of: Callable[[int], NbgradError]
    alignment: int = 1
    single: Call | None = None


class Steps(NamedTuple):
    """The launches of one call.

    Attributes:
        steps: one after the other; later ones see what earlier ones wrote.
        workspace: bytes that ``work`` may reach.
        instead: what does the same where a library has nothing for it.
    """

    steps: tuple[Step | Call, ...]
    workspace: int = 0
    instead: Steps | None = None

    @property
    def kernels(self) -> tuple[Step, ...]:
        """The steps where no library is called."""
        found = tuple([step for step in self.steps if isinstance(step, Step)])
        assert len(found) == len(self.steps)
        return found
