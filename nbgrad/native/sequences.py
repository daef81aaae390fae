"""Native code: a list of launches, which is what a compiled graph is.

NOTE [Sequence words]: ``Sequence.words`` is a bytes object of int64 words: 0 bytes of memory that the steps share, 1 number of
steps, 2 number of addresses that the steps know, 3 whether a step gives the interpreter's lock away, 4 how many of the operands a
call has, then the steps, one behind the other. A step begins with what it is and how many words it has:
  LAUNCH  kernel, units, units that one thread claims at once, flags (1: the pool), place of its parameters, number of pointers;
          then for each the number of an address and bytes from there.
  HOST    which of ``hosts``, number of results; then for each the number of its address.
  FILL    which of ``hosts``, which gives so many integers; for each the number of an address and bytes from there.
  GUARD   address number and bytes of what was computed, which bits count, what they are expected to be.
  DEVICE  which of ``hosts``, a plan of a GPU's, number of pointers; for each the number of an address and bytes from there.
  REPEAT  place of the words of a body, trips of the loop, the first and the one behind the last that are run here, then what
          NOTE [Moves] of repeats.py says: the number of addresses, bytes to where they are kept, number and bytes of the memory
          for that; for each address the moves.
Behind the steps lie the parameters of launches; their places are counted in words from the beginning. Addresses are numbered: 0 the
shared memory, then those of the results, of the operands, of the constants, of the words, of the rooms, and of what hosts return.

NOTE [Values in one block]: values that nobody sees outside lie in one block, at places that no two values have at the same time. A
sequence keeps one block; a call takes it, and gives it back at the end. Where it is taken, by another thread or by a call within
the call, a new one is made. The block's first part holds the addresses, and numbers that are operands. A small one lies on the
stack. On each GPU there is a *room* for such values, which a run asks its heap for, and gives back at its end: the stream takes it
again when what this run has launched is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from .calls import recording
from .heaps import MINE, Heap, device_array, entered, note_tensor, note_uses
from .language import Row, Words, bound, entry, native
from .launches import CHANGED, array_of, data, launch_there, make, put_number
from .node_lines import note_write
from .plans import Plan
from .primitives import (
    address_of,
    address_of_bytes,
    array_data,
    get_int64,
    is_small,
    new_array,
    owns_memory,
    put_int64,
    words,
    words_of,
)
from .recording import flows
from .repeats import launch_step, repeat_step

if TYPE_CHECKING:
    from ..graph.node import Node
    from ..tensors.tensor import Meta, Tensor

__all__ = ["DEVICE", "FILL", "GUARD", "HOST", "LAUNCH", "Sequence", "are_bare", "count_writes", "may_write"]

LAUNCH, HOST, GUARD, FILL, REPEAT, DEVICE = 0, 1, 2, 3, 4, 5


@bound
class Sequence:
    """``call(*operands)``: a compiled graph, for operands of the layouts that it was made for.

    ``run`` may take more of them than a call does: what else the program reads, for example gradients of its parameters.

    Attributes:
        words: the steps: NOTE [Sequence words].
        outs: for every result the template of its layout.
        layouts: for every operand its layout; a number's code (``NUMBER_CODES``) for a Python number.
        kinds: for every operand its class; ints have at most 31 bits.
        constants: tensors that the steps read beside the operands.
        constant_layouts: their layouts.
        hosts: ``host(block, results, held, operands) -> tuple of tensors``, steps in Python; behind the arrays in ``held`` lie the
            rooms, and the results of the hosts before. ``host() -> tuple of integers`` of FILL; the plan of DEVICE.
        block: under 0 the memory that the steps share, while nobody uses it.
        size: how much of it there must be, as bytes of an int64; ``descr`` is NumPy's dtype of bytes.
        names: a dict or list of the program, a key, and the object that is expected there; the next three; and so on.
        cells: a cell of a closure, and what is expected in it; the next two; and so on.
        objects: an array of int64: how many pairs follow, of an address within an object and the word that is expected there.
        flags: 0 if this thread is expected not to record, 1 if it is; then of every operand, and every constant, 1 if it is
            expected to need a gradient, and 2 if it must be a leaf without hooks, for passes within the program end there: of
            these no two may share memory.
        special: while it is not empty, everything goes to ``slow``.
        slow: ``slow(*operands)`` for all that is not as expected, in a special mode, and where a guard has stopped the steps.
        recorded: None, or ``recorded(*operands)``, called in the place of the steps.
        mode: the thread's modes.
        stopped: ``stopped()`` where a guard has stopped the steps.
        heaps: those of the GPUs where steps are done; ``rooms``: bytes of the room on each, as int64 words.
    """

    MOST_OPERANDS = 1 << 20
    __slots__ = (
        "words",
        "outs",
        "layouts",
        "kinds",
        "constants",
        "constant_layouts",
        "hosts",
        "block",
        "size",
        "descr",
        "names",
        "cells",
        "objects",
        "flags",
        "special",
        "slow",
        "recorded",
        "mode",
        "stopped",
        "heaps",
        "rooms",
    )
    words: bytes
    outs: tuple
    layouts: tuple
    kinds: tuple
    constants: tuple
    constant_layouts: tuple
    hosts: tuple
    block: dict
    size: bytes
    descr: Any
    names: list
    cells: list
    objects: Any
    flags: bytes
    special: list
    slow: Callable
    recorded: Any
    mode: Any
    stopped: Callable
    heaps: tuple
    rooms: bytes

    def __init__(
        self,
        words,
        outs,
        layouts,
        kinds,
        constants,
        hosts,
        size,
        descr,
        names,
        cells,
        objects,
        flags,
        special,
        slow,
        recorded,
        mode,
        end,
        heaps,
        rooms,
    ):
        self.words, self.outs, self.layouts, self.kinds, self.constants, self.hosts = words, outs, layouts, kinds, constants, hosts
        self.constant_layouts = tuple([x.layout for x in constants])
        self.block, self.size, self.descr = {}, size, descr
        self.names, self.cells, self.objects, self.flags = names, cells, objects, flags
        self.special, self.slow, self.recorded, self.mode = special, slow, recorded, mode
        self.stopped = end
        self.heaps, self.rooms = heaps, rooms

    def __call__(self, *operands):
        code = words_of(self.words)
        if self.special or len(operands) != code[4]:
            return self.slow(*operands)
        flags, wrong = words_of(self.flags), 0
        for k in range(len(operands)):
            x = operands[k]
            if type(x) is not self.kinds[k]:
                return self.slow(*operands)
            if isinstance(x, Tensor):
                if not hasattr(x, "layout") or x.layout is not self.layouts[k]:
                    return self.slow(*operands)
                wrong = wrong | (flows(x) ^ (flags[1 + k] & 1))
                if flags[1 + k] & 2 != 0 and not is_bare(x):
                    return self.slow(*operands)
            elif type(x) is int and not is_small(x):
                return self.slow(*operands)
        for k in range(len(self.constants)):
            constant: Tensor = self.constants[k]
            if constant.layout is not self.constant_layouts[k]:
                return self.slow(*operands)
            wrong = wrong | (flows(constant) ^ (flags[1 + len(operands) + k] & 1))
            if flags[1 + len(operands) + k] & 2 != 0 and not is_bare(constant):
                return self.slow(*operands)
        if meets(self, operands, flags):
            return self.slow(*operands)
        if recording(self.mode):
            wrong = wrong | (flags[0] ^ 1)
        else:
            wrong = wrong | flags[0]
        if wrong != 0 or not self.as_expected():
            return self.slow(*operands)
        if self.recorded is not None:
            return self.recorded(*operands)
        made = self.run(*operands)
        if made is None:
            return self.slow(*operands)
        return made

    def as_expected(self) -> bool:
        """Whether the names and cells of the program hold what they held."""
        names: list = self.names
        for k in range(len(names) // 3):
            holder = names[3 * k]
            if isinstance(holder, dict):
                if holder.get(names[3 * k + 1]) is not names[3 * k + 2]:
                    return False
            elif isinstance(holder, list):
                if len(holder) <= int(names[3 * k + 1]) or holder[int(names[3 * k + 1])] is not names[3 * k + 2]:
                    return False
        cells: list = self.cells
        for k in range(len(cells) // 2):
            if cells[2 * k].cell_contents is not cells[2 * k + 1]:
                return False
        objects = array_data(self.objects)
        for k in range(get_int64(objects)):
            if get_int64(get_int64(objects + 16 * k + 8)) != get_int64(objects + 16 * k + 16):
                return False
        return True

    def run(self, *operands):
        """The results, of operands of the right layouts, where nothing is recorded; None where a guard stops the steps."""
        outs = tuple([make(cast(Tensor, self.outs[k]), None) for k in range(len(self.outs))])
        own = words(128)
        if words_of(self.size)[0] <= 1024 and len(self.hosts) == 0:  # benchmarks/test_graphs.py
            good = run_steps(self, None, address_of(own), outs, operands)
        else:
            block = self.block.get(0)
            if block is None:
                block = new_array(self.descr, self.size)
            else:
                self.block[0] = None
            good = run_steps(self, block, array_data(block), outs, operands)
            self.block[0] = block
        if not good:
            self.stopped()
            return None
        if len(outs) == 1:
            return outs[0]
        return outs


@native
def meets(sequence: Sequence, operands: Row, flags: Words) -> bool:
    """Whether an operand at which passes end lies on the memory of another one, or of a constant: their gradients may be one."""
    constants = sequence.constants
    for k in range(len(operands)):
        if flags[1 + k] & 2 != 0:
            mine = cast(Tensor, operands[k])._storage_.array
            for j in range(k):
                if flags[1 + j] & 2 != 0 and cast(Tensor, operands[j])._storage_.array is mine:
                    return True
            for j in range(len(constants)):
                if flags[1 + len(operands) + j] & 2 != 0 and cast(Tensor, constants[j])._storage_.array is mine:
                    return True
    return False


@native
def is_bare(x: Tensor) -> bool:
    """Whether a tensor is a leaf without hooks."""
    meta: Meta | None = x._meta_
    if x._edge_ is not None or x._needs_grad_ is not True:
        return False
    if meta is None:
        return True
    return meta.hooks is None and meta.post_hooks is None and (meta.accumulator is None or not has_node_hooks(meta))


@native(cold=True)
def has_node_hooks(meta: Meta) -> bool:
    """Whether a leaf's AccumulateGrad has hooks."""
    found = meta.accumulator()
    if found is None:
        return False
    node: Node = found
    return node._meta_ is not None


@entry
def are_bare(tensors: tuple) -> bool:
    """Whether all of some tensors are leaves without hooks."""
    for x in tensors:
        if not is_bare(cast(Tensor, x)):
            return False
    return True


@entry
def may_write(targets: tuple, places: tuple, operands: tuple) -> bool:
    """Whether all of some tensors can be written to, and surely no other operand lies on their memory.

    Args:
        places: which of the operands each of them is; -1: none.
    """
    for k in range(len(targets)):
        target: Tensor = targets[k]
        if target._storage_.writable is not True or not owns_memory(array_of(target)):
            return False
        for j in range(len(operands)):
            if not isinstance(operands[j], Tensor):
                continue
            x: Tensor = operands[j]
            if j != int(places[k]) and (array_of(x) is array_of(target) or not owns_memory(array_of(x))):
                return False
    return True


@entry
def count_writes(targets: tuple, times: tuple) -> None:
    """Move the versions of tensors, each by a number of writes."""
    for k in range(len(targets)):
        target: Tensor = targets[k]
        storage = target._storage_
        note_write(storage)
        storage.version = int(storage.version) + int(times[k])
        if target.layout.memory is not None:
            note_written(target)


@native(cold=True)
def note_written(target: Tensor) -> None:
    """Note that the steps have written to a tensor on a GPU: replays of a graph do so again."""
    heap = cast(Heap, target.layout.memory)
    entered(heap)
    if words_of(heap.words)[MINE] != 0:
        note_tensor(heap, target, True)


@native
def run_steps(sequence: Sequence, block, begin: int, outs: tuple, operands: Row) -> bool:
    """Run the steps; False where a guard finds something else than expected.

    Args:
        block: for steps in Python the memory that begins at ``begin``.
    """
    code = words_of(sequence.words)
    table = (begin + 63) & -64
    number = fill_table(sequence, table, outs, operands)
    held: list | None = None
    if code[3] != 0:  # other threads may exchange what the tensors have while the lock is away
        held = arrays_of(outs, operands, sequence.constants)
        if len(sequence.heaps) != 0:
            take_rooms(sequence, table, number, outs, operands, held)
    given: tuple | None = None
    pointers, at, start = words(128), 5, address_of_bytes(sequence.words)
    for _step in range(code[1]):
        kind, size = code[at], code[at + 1]
        if kind == 0:
            launch_step(code, at, table, start, pointers)
        elif kind == 1:
            host: Callable = sequence.hosts[code[at + 2]]
            if given is None:
                given = tuple([operands[k] for k in range(len(operands))])
            answer = host(block, outs, held, given)
            if answer is None:
                return False
            made = cast(tuple, answer)
            if held is not None:
                held.append(made)
            for k in range(code[at + 3]):
                value: Tensor = made[k]
                put_int64(table + 8 * code[at + 4 + k], data(value))
        elif kind == 4:
            repeat_step(code, at, table, start)
        elif kind == 5:
            device_step(sequence, code, at, table, operands[:0])
        elif kind == 3:
            source: Callable = sequence.hosts[code[at + 2]]
            numbers = cast(tuple, source())
            pair = at + 4
            for k in range(code[at + 3]):
                put_int64(get_int64(table + 8 * code[pair]) + code[pair + 1], int(numbers[k]))
                pair = pair + 2
        else:
            place = get_int64(table + 8 * code[at + 2]) + code[at + 3]
            found = get_int64(place & -8) >> (8 * (place & 7))  # words never cross a page
            if (found ^ code[at + 5]) & code[at + 4] != 0:
                return False
        at = at + size
    return number >= 0


@native(cold=True)
def device_step(sequence: Sequence, code: Words, at: int, table: int, others: Row) -> None:
    """A step that is a plan of a GPU's; ``others``: as of ``launch_there``."""
    pointers, pair = words(512), at + 4  # of tables, too
    for k in range(code[at + 3]):
        pointers[1 + k] = get_int64(table + 8 * code[pair]) + code[pair + 1]
        pair = pair + 2
    launch_there(cast(Plan, sequence.hosts[code[at + 2]]), pointers, others)


@native(cold=True)
def take_rooms(sequence: Sequence, table: int, number: int, outs: tuple, operands: Row, held) -> None:
    """Ask for the rooms on GPUs, whose addresses stand behind that of the words; note what the current streams use.

    Args:
        number: of the words' address.
        held: a list that holds the rooms while the run goes on.
    """
    rooms: list = held
    for k in range(len(sequence.heaps)):
        heap = cast(Heap, sequence.heaps[k])
        memory = device_array(heap, words_of(sequence.rooms)[k])
        rooms.append(memory)
        put_int64(table + 8 * (number + 1 + k), array_data(memory))
        entered(heap)  # another thread may have had its turn meanwhile
        if words_of(heap.words)[MINE] != 0:
            note_uses(heap, operands, False)
            for x in outs:
                note_tensor(heap, x, True)
            for x in sequence.constants:
                note_tensor(heap, x, False)


@native
def arrays_of(outs: tuple, operands: Row, constants: tuple) -> list:
    """The arrays behind tensors."""
    arrays: list = []
    for x in outs:
        arrays.append(array_of(x))
    for x in operands:
        arrays.append(array_of(x))
    for x in constants:
        arrays.append(array_of(x))
    return arrays


@native
def fill_table(sequence: Sequence, table: int, outs: tuple, operands: Row) -> int:
    """Fill in the table of addresses; how many there are before those of what hosts return."""
    code = words_of(sequence.words)
    put_int64(table, table + 8 * code[2])
    number = 1
    for k in range(len(outs)):
        out: Tensor = outs[k]
        put_int64(table + 8 * number, data(out))
        number = number + 1
    for k in range(len(operands)):
        x = operands[k]
        if isinstance(x, Tensor):
            if x.layout is not sequence.layouts[k]:
                raise RuntimeError(CHANGED)
            put_int64(table + 8 * number, data(x))
        else:
            cell = table + 8 * code[2] + 8 * k  # in front of the shared values
            put_number(cell, int(sequence.layouts[k]), x)
            put_int64(table + 8 * number, cell)
        number = number + 1
    for k in range(len(sequence.constants)):
        constant: Tensor = sequence.constants[k]
        put_int64(table + 8 * number, data(constant))
        number = number + 1
    put_int64(table + 8 * number, address_of_bytes(sequence.words))
    return number
