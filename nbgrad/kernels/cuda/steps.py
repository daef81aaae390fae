"""What an operation does on a GPU: kernels one after the other, said without addresses.

A lowering for CUDA says by layouts and attributes which kernels run, on how many blocks, over which memory. Nothing is compiled
here, and no address known: both come with the first launch.
"""

from __future__ import annotations

from typing import NamedTuple

from .build import Recipe

__all__ = ["ELEMENTS", "ERRORS", "Elements", "Number", "Place", "Step", "Steps", "Workspace", "operand", "out", "work"]


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


class Steps(NamedTuple):
    """The launches of one call.

    Attributes:
        steps: one after the other; later ones see what earlier ones wrote.
        workspace: bytes that ``work`` may reach.
    """

    steps: tuple[Step, ...]
    workspace: int = 0
