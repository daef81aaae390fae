"""From the steps of a graph to the words that native code walks: NOTE [Sequence words] of native/sequences.py."""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple, Sequence as Row

import numpy as np

from ...base.calls import CALLS
from ...base.grad_mode import mode, special
from ...kernels.cpu.build import prepare
from ...native.objects import pack_words
from ...native.plans import NUMBER_CODES
from ...native.sequences import DEVICE, FILL, GUARD, HOST, LAUNCH, REPEAT
from ...tensors.layout import Layout, memory_on
from ...tensors.storage import Device, wrap_array
from ...tensors.tensor import Tensor, native
from ..ir.devices import is_gpu, storage_on
from ..ir.graph import Graph
from ..ir.ir import Control, Node, Value
from ..ir.replay import run_node
from ..ir.steps import DeviceLaunch, Guard, Host, Launch, Place, Repeat, Schedule, Step, Words
from ..nodes.values import Changed
from ..state.implicit_inputs import number_tensor
from .memory import Plan, device_of, plan_memory

__all__ = ["Assembled", "Expected", "assemble"]

CODES: dict[type, str] = {float: "float64", int: "int64"}
BLOCK, RESULTS, OPERANDS, CONSTANTS, WORDS, ROOMS, RETURNED = range(7)  # whose addresses are numbered, in this order


class Assembled:
    """A graph that runs.

    Attributes:
        call: ``call(*inputs)``, a native function: the results, one or a tuple of several, or what ``slow`` and ``recorded`` say.
        run: the same, where inputs are known to fit and nothing is recorded; None where a guard has stopped the steps.
        again: ``again(slow, recorded)``, another ``call``, which says these, and which no mode keeps from running.
        steps, bytes: how many there are, and how much memory they share.
        code: NOTE [Sequence words] of native/sequences.py; ``launches``: whether all steps are launches, or loops.
        addresses: how many the steps know; ``room``: bytes of a block.
    """

    __slots__ = ("call", "run", "again", "steps", "bytes", "code", "launches", "addresses", "room")

    def __init__(
        self,
        call: Callable,
        run: Callable,
        again: Callable,
        steps: int,
        size: int,
        code: bytes,
        launches: bool,
        addresses: int,
        room: int,
    ):
        self.call, self.run, self.again, self.steps, self.bytes = call, run, again, steps, size
        self.code, self.launches, self.addresses, self.room = code, launches, addresses, room


NO_WORDS = np.zeros(1, np.int64)


class Expected(NamedTuple):
    """What must be as it was when a graph was captured: see ``Sequence`` of native/sequences.py.

    Attributes:
        names, cells: what the program's names hold.
        records: whether the thread records.
        flags: which inputs and constants need a gradient: see ``flags`` there.
        words: see ``objects`` there; ``checked``: those of calls that Python looks at first.
    """

    names: list
    cells: list
    records: bool
    flags: tuple[int, ...]
    words: np.ndarray = NO_WORDS
    checked: np.ndarray = NO_WORDS


class Addresses:
    """The numbers of addresses.

    Attributes:
        owners: for each number whose it is, and which of theirs.
        offsets: of the values in the block, and in the rooms on GPUs.
    """

    def __init__(self, outs: Row[Value], inputs: Row[Value], constants: Row[Value], schedule: Schedule, plan: Plan):
        self.numbers: dict[Any, int] = {}
        self.owners: list[tuple[int, int]] = [(BLOCK, 0)]
        returned = [value for step in schedule.steps if isinstance(step, Host) for value in step.writes]
        seen: list[tuple[int, Row[Any]]] = [(RESULTS, outs), (OPERANDS, inputs), (CONSTANTS, constants), (WORDS, [None])]
        for kind, values in (*seen, (ROOMS, [*plan.rooms]), (RETURNED, returned)):
            for k, value in enumerate(values):
                self.numbers.setdefault(value, len(self.owners))
                self.owners.append((kind, k))
        self.offsets = plan.offsets

    def of(self, place: Place) -> tuple[int, int]:
        """Number of an address, and bytes from there."""
        number = self.numbers.get(place.value)
        if number is not None:
            return number, place.offset
        device = device_of(place.value)
        return self.numbers[device] if is_gpu(device) else 0, self.offsets[place.value] + place.offset

    def of_reads(self, reads: Row[Place | bytes], begin: int) -> tuple[list[tuple[int, int]], bytes]:
        """Addresses of what a launch reads; numbers lie one behind the other from ``begin`` on among the bytes of the words."""
        pairs, numbers = list[tuple[int, int]](), b""
        for read in reads:
            if isinstance(read, Place):
                pairs.append(self.of(read))
            else:
                pairs.append((self.numbers[None], begin + len(numbers)))
                numbers += read
        return pairs, numbers


def assemble(
    graph: Graph,
    *,
    data: Row[Tensor],
    outs: Row[Value],
    templates: Row[Tensor],
    schedule: Schedule,
    expected: Expected,
    slow: Callable,
    recorded: Callable | None,
    given: int | None = None,
    failed: Callable | None = None,
    kinds: Row[type] = (),
) -> Assembled:
    """Make the native function of a schedule.

    Args:
        graph: of which inputs and constants are looked at; ``data``: the tensors of the constants.
        outs: values that steps write and that are returned; ``templates``: what they are copies of.
        expected: when it may be called.
        slow, recorded: as of ``Sequence``.
        given: how many of the inputs a call has; None: all.
        kinds: classes of the first of the inputs, as a call has them; the others are plain tensors.
        failed: ``failed(error, node)`` raises the error of a step in Python again, with more about where.
    """
    inputs, constants = graph.inputs, graph.constants
    prepare(find for step in schedule.steps if isinstance(step, Launch) for find in step.finders())
    plan = plan_memory(schedule, (*outs, *inputs, *constants), 8 * len(inputs))
    addresses = Addresses(outs, inputs, constants, schedule, plan)
    table, known = 8 * len(addresses.owners), len(addresses.owners)
    sheet = Sheet(addresses, 5 + sum(map(size_of, schedule.steps)))
    for step in schedule.steps:
        sheet.write(step)
    gives_lock = sheet.gives_lock or bool(plan.rooms)
    layouts, kinds = [value.layout for value in inputs], (*kinds, *[Tensor] * (len(inputs) - len(kinds)))
    head = (plan.size, len(schedule.steps), known, int(gives_lock), len(inputs) if given is None else given)
    code = pack_words(*head, *sheet.words) + sheet.tail
    room = ALIGNED + table + plan.size
    counts = len(outs), len(inputs), len(data)

    def taken(step: Host | Words | DeviceLaunch) -> Any:
        """What native code takes of a step that is not words alone."""
        if isinstance(step, Host):
            return host_of(step, addresses, table, counts, tuple(data), failed)
        return step.source if isinstance(step, Words) else step.plan

    what = (
        code,
        tuple(templates),
        tuple([NUMBER_CODES[CODES[kind]] if kind in CODES else layout for layout, kind in zip(layouts, kinds)]),
        tuple(kinds),
        tuple(data),
        tuple(map(taken, sheet.hosts)),
        room,
    )
    flags = int(expected.records), *map(int, expected.flags)
    sources = [step.source for step in sheet.hosts if isinstance(step, Words)]
    where = stopped_of(sources), tuple([memory_on(device) for device in plan.rooms]), tuple(plan.rooms.values())

    def made(words: np.ndarray, modes: list, slow: Callable, recorded: Callable | None) -> tuple[Callable, Callable]:
        return native.sequence(*what, expected.names, expected.cells, words, flags, modes, slow, recorded, mode, *where)

    call, run = made(expected.words, special, slow, recorded)

    def again(slow: Callable, recorded: Callable | None) -> Callable:
        return made(expected.checked, [], slow, recorded)[0]

    launches = all(isinstance(step, (Launch, Repeat)) for step in schedule.steps)
    return Assembled(call, run, again, len(schedule.steps), plan.size + sum(plan.rooms.values()), code, launches, known, room)


class Sheet:
    """The words of steps, as they are written one behind the other.

    Attributes:
        words: of the steps; ``tail``: bytes behind all words: numbers that launches read, parameters, code of loops.
        hosts: steps of which native code takes an object, in their order.
        gives_lock: whether a step takes so long, or may wait, that others run meanwhile.
    """

    def __init__(self, addresses: Addresses, size: int) -> None:
        self.addresses, self.size = addresses, size
        self.words, self.tail, self.gives_lock = list[int](), b"", False
        self.hosts = list[Host | Words | DeviceLaunch]()

    def write(self, step: Step) -> None:
        """Write a step."""
        if isinstance(step, Launch):
            self.write_launch(step)
        elif isinstance(step, DeviceLaunch):
            pairs = [self.addresses.of(Place(value)) for value in step.writes]
            self.write_host(step, DEVICE, [*pairs, *self.pairs_of_reads(step.reads)])
        elif isinstance(step, Repeat):
            self.words += repeat_words(step, self.addresses, self.end)
            self.tail += step.code
            self.gives_lock |= step.shared
        elif isinstance(step, Guard):
            self.words += [GUARD, size_of(step), *self.addresses.of(step.reads[0]), step.mask, step.expected]
        elif isinstance(step, Words):
            self.write_host(step, FILL, [self.addresses.of(Place(value)) for value in step.writes])
            self.gives_lock = True
        else:
            self.write_host(step, HOST, [(self.addresses.numbers[value],) for value in step.writes])
            self.gives_lock = True

    def write_launch(self, step: Launch) -> None:
        """Write the launch of a kernel on the CPU."""
        starts = step.starts or (0,) * len(step.writes)
        pairs = [self.addresses.of(Place(value, begin)) for value, begin in zip(step.writes, starts)]
        pairs += self.pairs_of_reads(step.reads)
        self.words += [LAUNCH, size_of(step), int(step.address), step.units, step.grain, int(step.shared), self.end, len(pairs)]
        self.words += [word for pair in pairs for word in pair]
        self.tail += step.packed()
        self.gives_lock |= step.shared

    def write_host(self, step: Host | Words | DeviceLaunch, kind: int, places: Row[tuple[int, ...]]) -> None:
        """Write a step of which native code takes an object."""
        self.words += [kind, size_of(step), len(self.hosts), len(places), *(word for place in places for word in place)]
        self.hosts.append(step)

    @property
    def end(self) -> int:
        """Where the tail ends now, in words from the beginning of the code."""
        return self.size + len(self.tail) // 8

    def pairs_of_reads(self, reads: Row[Place | bytes]) -> list[tuple[int, int]]:
        """The addresses of what a launch reads; numbers among it go into the tail."""
        pairs, numbers = self.addresses.of_reads(reads, 8 * self.size + len(self.tail))
        self.tail += numbers
        return pairs


ALIGNED = 64


def size_of(step: Step) -> int:
    """Words of a step."""
    if isinstance(step, Repeat):
        return 10 + 9 * len(step.moves)
    if isinstance(step, (Launch, DeviceLaunch)):
        return (8 if isinstance(step, Launch) else 4) + 2 * (len(step.writes) + len(step.reads))
    return 6 if isinstance(step, Guard) else 4 + (2 if isinstance(step, Words) else 1) * len(step.writes)


def repeat_words(step: Repeat, addresses: Addresses, at: int) -> list[int]:
    """The words of a loop, whose body's lie at ``at``."""
    words = [REPEAT, size_of(step), at, step.trips, step.begin, step.end, len(step.moves), step.kept]
    words += addresses.of(Place(step.room))
    for places, bytes_a_trip in step.moves:
        for place in places:
            words += (-1, 0) if place is None else addresses.of(place)
        words.append(bytes_a_trip)
    return words


def stopped_of(sources: Row[Any]) -> Callable[[], None]:
    """What is called where a run has stopped: what it has taken is given back."""

    def stopped() -> None:
        for source in sources:
            source.give_back()

    return stopped


def host_of(
    step: Host, addresses: Addresses, table: int, counts: tuple[int, int, int], constants: tuple, failed: Callable | None
) -> Callable:
    """``host(block, results, held, operands)``: the call of an operation in the middle of a sequence.

    Args:
        table: bytes in front of the shared values.
        counts: numbers of results, operands and constants, whose arrays lie in ``held`` first.
    """
    node, rooms = step.node, sum(counts)
    devices = [device for device in addresses.numbers if isinstance(device, Device)]
    arrays = rooms + len(devices)
    found = [(addresses.of(read.place), read.layout) for read in step.reads]
    places = [(*addresses.owners[number], offset, layout.template) for (number, offset), layout in found]
    targets = [addresses.owners[addresses.numbers[value]] for value in step.writes]
    written = [(value, value.layout, k if kind == RESULTS else None) for value, (kind, k) in zip(step.writes, targets)]
    layouts = [value.layout for value in node.outs]
    call, reads_block = caller_of(node), any(kind == BLOCK for kind, *_ in places)

    def host(block: Any, results: tuple, held: list, operands: tuple) -> tuple | None:
        shared = wrap_array(block) if reads_block else None
        begin = -block.ctypes.data % ALIGNED + table if reads_block else 0
        given: list[Tensor] = []
        for kind, k, offset, template in places:
            if kind == BLOCK:
                given.append(native.tensor(template, shared, begin + offset, False, None))
                continue
            if kind == ROOMS:
                given.append(native.tensor(template, storage_on(held[rooms + k], devices[k]), offset, False, None))
                continue
            if kind == RETURNED:
                owner = [x for made in held[arrays:] for x in made][k]
            else:
                owner = (results if kind == RESULTS else operands if kind == OPERANDS else constants)[k]
            if type(owner) in CODES:  # a number among the operands
                given.append(number_tensor(owner))
                continue
            given.append(native.tensor(template, owner._storage_, owner._offset_ + offset, False, None))
        try:
            outs = call(given)
        except Changed:
            return None
        except Exception as error:
            if failed is not None:
                failed(error, node)
            raise
        for x, layout in zip(outs, layouts):
            if x.layout is not layout and layout is not None and x.layout.shape != layout.shape:
                return None  # which depends on values
        own = {id(block), *map(id, held[rooms:arrays])}
        return tuple([placed(x, layout, own, None if k is None else results[k]) for x, (_, layout, k) in zip(outs, written)])

    return host


def caller_of(node: Node) -> Callable[[list[Tensor]], tuple]:
    """What calls a node's operation on tensors, which stand for its values in their order; its results, in a tuple.

    Most nodes are calls of the table whose operands are values: of those nothing is looked at in a run.
    """
    op, ins, attributes, values = node.op, node.ins, node.attributes, node.values()
    plain, name = getattr(op, "plain", None), op.name
    if plain is not None:
        return lambda given: plain(node, given[: len(ins)])
    if isinstance(op, Control):
        return lambda given: run_node(node, dict(zip(values, given)), False)
    plainly = len(ins) == len(values) and all(type(x) is Value for x in ins)

    def call(given: list[Tensor]) -> tuple:
        if plainly:
            out = CALLS[name](*given, **attributes)
        else:
            rest = iter(given)
            operands = filled(ins, rest)
            out = CALLS[name](*operands, **{key: filled(x, rest) for key, x in attributes.items()})
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    return call


def filled(x: Any, given: Iterator[Tensor]) -> Any:
    """Nested tuples and lists with the next tensor in the place of every value."""
    if type(x) is Value:
        return next(given)
    return type(x)([filled(each, given) for each in x]) if type(x) in (tuple, list) else x


def placed(x: Tensor, layout: Layout | None, shared: set[int], target: Tensor | None) -> Tensor:
    """A result in the layout that the graph knows, on memory that stays; written into ``target`` if there is one.

    Args:
        shared: identities of the memory that steps share.
    """
    if target is not None:
        assert layout is not None
        return CALLS["copy_"](native.tensor(layout.template, target._storage_, target._offset_, False, None), x)
    if x.layout is not layout or id(x._storage_.array) in shared:
        return CALLS["clone_like"](x, layout)
    return x
