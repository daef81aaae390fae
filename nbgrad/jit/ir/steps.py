"""What a graph is when it runs: launches of kernels, and calls of operations that no kernel alone can do."""

from __future__ import annotations

import struct
from typing import Any, Callable, NamedTuple, Protocol, Sequence

from ...kernels.late import Code
from ...native.plans import NUMBER_CODES, Plan
from ...tensors.layout import Layout
from .ir import Node, Value

__all__ = ["DeviceLaunch", "Guard", "Host", "Launch", "Place", "Repeat", "Schedule", "Step", "Window", "Words", "number"]


class Place(NamedTuple):
    """An address: so many bytes behind the first element of a value that has memory of its own."""

    value: Value
    offset: int = 0


class Window(NamedTuple):
    """Where a value is that is a view: a layout at a place."""

    place: Place
    layout: Layout


class Launch:
    """One launch of a kernel: see NOTE [Plan record] of native/plans.py.

    Attributes:
        address: of the kernel, which may be found later; its arguments are the parameters, what it writes, what it reads.
        units, grain: of work, in all and of one claim.
        shared: whether the pool may share it.
        parameters: the kernel's own, a multiple of 8 bytes; or a function that gives them, which finds addresses for that.
        writes: values that it fills, each dense, in its own layout, on memory of its own.
        reads: where its operands are; the bytes of a number.
        nodes: what it computes.
        starts: bytes from where the values begin to where it writes; None: none.
        codes: addresses among the parameters, as far as one knows.
    """

    __slots__ = ("address", "units", "grain", "shared", "parameters", "writes", "reads", "nodes", "starts", "codes")

    def __init__(
        self,
        address: int | Code,
        units: int,
        writes: tuple[Value, ...],
        reads: tuple[Place | bytes, ...],
        parameters: bytes | Callable[[], bytes] = b"",
        grain: int = 1,
        shared: bool = False,
        nodes: tuple[Node, ...] = (),
        codes: Sequence[int | Code] = (),
    ):
        self.codes = codes
        self.address, self.units, self.grain, self.shared, self.parameters = address, units, grain, shared, parameters
        self.writes, self.reads, self.nodes = writes, reads, nodes
        self.starts: tuple[int, ...] | None = None

    def finders(self) -> list[Callable[[], Any]]:
        """What finds the addresses that are not known yet."""
        found = [code.__index__ for code in (self.address, *self.codes) if type(code) is Code and code.found is None]
        return [*found, self.parameters] if callable(self.parameters) and not self.codes else found

    def packed(self) -> bytes:
        """The parameters."""
        if callable(self.parameters):
            self.parameters = self.parameters()
        return self.parameters


class DeviceLaunch:
    """The launches of a plan on a GPU.

    Attributes:
        plan: of an operation, or of a loop.
        writes: values that it fills, each in its own layout.
        reads: where its operands are; numbers lie in the host's memory: the bytes of one, or the place of a value.
        nodes: what it computes.
    """

    __slots__ = ("plan", "writes", "reads", "nodes")

    def __init__(self, plan: Plan, writes: tuple[Value, ...], reads: tuple[Place | bytes, ...], nodes: tuple[Node, ...]):
        self.plan, self.writes, self.reads, self.nodes = plan, writes, reads, nodes


class Repeated(Protocol):
    """What is repeated: see ``Repeated`` of repeats.py."""

    code: bytes
    shared: bool
    kept: int
    inside: int


class Repeat:
    """Trips of a loop: NOTE [Moves] of native/repeats.py.

    Attributes:
        code: of a trip; ``shared``: whether the pool may share one of its launches.
        trips: of the loop; from ``begin`` to before ``end`` they are run.
        inside: how many there are, those of loops within a trip counted.
        kept: where in ``room``, a value of bytes, the addresses are kept.
        moves: for each address its places in even and odd trips, in the first and in the last (None: as in the others), and bytes
            from trip to trip.
        writes: results, and memory that the trips need.
        reads: the operands, and all that it writes.
    """

    __slots__ = ("code", "shared", "trips", "begin", "end", "inside", "kept", "room", "moves", "writes", "reads")

    def __init__(
        self,
        plan: Repeated,
        trips: tuple[int, int, int],
        room: Value,
        moves: list[tuple[tuple[Place | None, ...], int]],
        writes: tuple[Value, ...],
        operands: list[Place],
    ):
        self.code, self.shared, self.kept, self.room, self.moves = plan.code, plan.shared, plan.kept, room, moves
        self.trips, self.begin, self.end = trips
        self.inside = plan.inside * (self.end - self.begin)
        self.writes = (*writes, room)
        self.reads = (*operands, *map(Place, self.writes))


class Host:
    """A call of an operation between launches.

    Attributes:
        node: what is called.
        writes: its results, each in its own layout, on memory that the call makes. Where the operation's results have shapes that
            depend on values, the run stops at others.
        reads: where its operands are, in the order of ``node.values()``.
    """

    __slots__ = ("node", "writes", "reads")

    def __init__(self, node: Node, writes: tuple[Value, ...], reads: tuple[Window, ...]):
        self.node, self.writes, self.reads = node, writes, reads


class Words:
    """Integers that change from run to run.

    Attributes:
        source: ``source() -> tuple of integers``; ``source.give_back()`` where the run has stopped.
        writes: values of one int64 each.
    """

    __slots__ = ("source", "writes")
    reads: tuple = ()

    def __init__(self, source: Any, writes: tuple[Value, ...]):
        self.source, self.writes = source, writes


class Guard:
    """A word that the run stops at if it is another one.

    Attributes:
        place: where it is.
        mask, expected: which bits count, and what they are.
    """

    __slots__ = ("reads", "mask", "expected")
    writes: tuple = ()

    def __init__(self, place: Place, mask: int, expected: int):
        self.reads, self.mask, self.expected = (place,), mask, expected


Step = Launch | DeviceLaunch | Host | Words | Guard | Repeat


class Schedule:
    """The steps of a graph, and where its values are.

    Attributes:
        windows: of values that have no memory of their own; ``wholes``: of others, once somebody has asked, which many do.
    """

    __slots__ = ("steps", "windows", "wholes")

    def __init__(self, steps: list[Step], windows: dict[Value, Window]):
        self.steps, self.windows = steps, windows
        self.wholes: dict[Value, Window] = {}

    def owner(self, value: Value) -> Value:
        """On whose memory a value is."""
        found = self.windows.get(value)
        return value if found is None else found.place.value

    def window(self, value: Value) -> Window:
        """Where a value is: on its own memory if it is no view."""
        found = self.windows.get(value) or self.wholes.get(value)
        if found is None:
            assert value.layout is not None
            found = self.wholes[value] = Window(Place(value), value.layout)
        return found


PACKED = {1: "f", 2: "d", 3: "q"}


def number(x: Any, code: int) -> bytes:
    """A Python number as a kernel reads it: see ``NUMBER_CODES``.

    Raises:
        OverflowError: it does not fit.
    """
    if code in PACKED:
        data = struct.pack(PACKED[code], x)
    else:
        data = struct.pack("2f" if code == NUMBER_CODES["complex64"] else "2d", x.real, x.imag)
    return data.ljust(-(-len(data) // 8) * 8, b"\0")
