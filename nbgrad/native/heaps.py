"""Native code: memory of GPUs, kept in lists, and launches there.

NOTE [Device memory]: where a storage on the CPU has an ndarray, one on a GPU has a ``DeviceMemory``: an object with its address at
the place where an ndarray has it, and with no base where that has one. Whatever reads those two words works for both; NumPy, which
asks for a buffer, gets none. It is a type of its own (``device_memory.py``), and what frees it is native: the block goes back into
the list from which the next request takes it, and no driver is called.

NOTE [Heap words]: a GPU has a ``Heap``, whose words all threads share under the interpreter's lock: 0 the thread for which the next
two stand, 1 where the lists of its current stream are (one a size class, the head of a chain of blocks), 2 the stream; 3 the
context; 4 bytes in use, 5 the most that ever were, 6 blocks in use, 7 requests, 8 requests that no list could meet; 9 blocks that
other streams have used, a chain that waits; 10 address of ``cuLaunchKernel``, 11 of ``cuCtxSetCurrent``, or 0 where there is one
context; 12 address of the error words (NOTE [Errors on the device] of kernels/cuda/steps.py); 13 launches; 14 bytes asked for that
are in use; 15 the bit of the current stream, 0 while the process has used no stream but default ones; 16 the most bytes asked for
that ever were in use at once, 17 all that ever were asked for; 18 the plan for which memory is asked, for errors, or 0;
19 whether the thread captures its work.

A block has words of its own, on the host: 0 the next of its chain, 1 its address, 2 its bytes, 3 the head of the list to which it
goes, 4 the heap's words, 5 the bits of other streams than the list's that have used it, 6 bytes asked for.

NOTE [Blocks of other streams]: memory is reused by the stream whose list it lies in, which needs to wait for nothing. What another
stream does with it is noted, by each launch as by ``record_stream``; at its end such a block goes into a chain of its own. The next
request that no list can meet records an event on each of those streams, one for all blocks of the chain; a later one that finds it
reached puts the blocks into their lists (tensors/stream_blocks.py). So nothing is called where memory ends, which may be anywhere.

NOTE [Device records]: a record (NOTE [Plan record]) with the flag ON_DEVICE has these parameters: 0 bytes of workspace, 1 number of
steps, then the steps. A step: 0 words that it takes, 1 kernel, 2 to 4 blocks (0 along x: as many as ``tile`` needs for the elements
of the first result), 5 threads of a block, 6 shared memory, 7 tile, 8 the bits of addresses that must be 0, 9 how many parameters,
then three words for each: what it is (``TENSOR`` and its like), which, how many bytes behind. A table, one parameter of many words,
is written like these: words are one behind the other. Where addresses are not aligned the call ends with ``MISALIGNED``, before
anything was launched. A step of ``CALL`` blocks calls a function of a library, which stands in the place of the kernel, with its
parameters as words; those that it does not take hold anything. What it gives, if it is not 0, is taken from ``REFUSED``.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_native_id
from typing import TYPE_CHECKING, Any, cast

from .language import Row, Words, bound, c_entry, c_function, entry, native, raw
from .plans import Plan
from .primitives import (
    address_of,
    address_of_bytes,
    address_of_object,
    allocate,
    array_data,
    call_eleven,
    call_one,
    call_sixteen,
    get_int64,
    put_int64,
    thread_number,
    words,
    words_of,
)

if TYPE_CHECKING:
    from ..tensors.layout import Layout
    from ..tensors.tensor import Tensor

__all__ = [
    "CLASSES",
    "HEAP_WORDS",
    "MISALIGNED",
    "Heap",
    "adopt",
    "choose_stream",
    "class_bytes",
    "device_array",
    "entered",
    "launch_steps",
    "note_tensor",
    "note_use",
    "note_uses",
    "take",
]

LARGEST = 1 << 47  # bytes, which no GPU has: what is larger is asked of the driver, whatever the lists hold
SMALL, STEP = 4096, 512  # bytes up to which size classes are so far apart; above there are eight an octave
CLASSES = 8 + 8 * 36
HEAP_WORDS = 24
THREAD, LISTS, STREAM, CONTEXT, USED, PEAK, BLOCKS, REQUESTS, MISSES = 0, 1, 2, 3, 4, 5, 6, 7, 8
WAITING, LAUNCH, SET_CONTEXT, ERRORS, LAUNCHES, ASKED, MINE = 9, 10, 11, 12, 13, 14, 15
PEAK_ASKED, ASKED_EVER, ASKER, CAPTURING = 16, 17, 18, 19
NEXT, ADDRESS, BYTES, LIST, OF_HEAP, SHARED, ASKED_FOR = 0, 8, 16, 24, 32, 40, 48  # of a block, in bytes
BLOCK_BYTES = 56
DATA, OF_BLOCK, SIZE, OWNER = 16, 24, 32, 40  # of a DeviceMemory, in bytes
STEP_WORDS = 10  # in front of the parameters
MOST_PARAMETERS = 512  # those of 8 bytes that CUDA takes: 4,096 bytes
# What a parameter may be; HELD: where the address of a tensor's memory stands.
TENSOR, NUMBER, WORK, WORD, UNITS, ERROR, STREAM_OF_CALL, HELD = 0, 1, 2, 3, 4, 5, 6, 7
MISALIGNED, REFUSED = -1, -1000
CALL = -1
TOO_MANY = "launch: a kernel takes too many parameters."

malloc, free = c_function("malloc", 1, "i64"), c_function("free", 1, "void")
PyObject_Free, Py_DecRef = c_function("PyObject_Free", 1, "void"), c_function("Py_DecRef", 1, "void")


@bound
class Heap:
    """The memory of a GPU.

    Attributes:
        words: NOTE [Heap words].
        kind: the type DeviceMemory.
        ask: ``ask(bytes)``: memory that no list could give.
        enter: ``enter()``: write down the current stream of this thread.
        seen: ``seen(tensor, written)``: a launch of a capture uses it.
    """

    __slots__ = ("words", "kind", "ask", "enter", "seen")
    words: bytes
    kind: type
    ask: Callable
    enter: Callable
    seen: Callable

    def __init__(self, words, kind, ask, enter, seen):
        self.words, self.kind, self.ask, self.enter, self.seen = words, kind, ask, enter, seen

    def request(self, size) -> object:
        """Memory of so many bytes."""
        return device_array(self, int(size))


# ---- size classes --------------------------------------------------------------------------------------------------------


@raw
def class_of(size: int) -> int:
    """The size class of a request."""
    if size <= SMALL:
        return 0 if size <= STEP else (size - 1) // STEP
    if size > LARGEST:
        return CLASSES - 1
    eighth, number = SMALL // 8, 0
    while size > 16 * eighth:
        eighth = eighth * 2
        number = number + 8
    return number + (size - 1) // eighth


@c_entry
def class_bytes(size: int) -> int:
    """Bytes of the blocks that a request of this size gets."""
    if size <= SMALL:
        return STEP if size <= STEP else (size + STEP - 1) // STEP * STEP
    if size > LARGEST:
        return size
    eighth = SMALL // 8
    while size > 16 * eighth:
        eighth = eighth * 2
    return (size + eighth - 1) // eighth * eighth


# ---- blocks --------------------------------------------------------------------------------------------------------------


@c_entry
def device_memory_free(memory: int) -> None:
    """Take leave of a DeviceMemory: its block goes back to its list. Errors that are on their way stay."""
    block, owner, kind = get_int64(memory + OF_BLOCK), get_int64(memory + OWNER), get_int64(memory + 8)
    if block != 0:
        heap = get_int64(block + OF_HEAP)
        put_int64(heap + 8 * USED, get_int64(heap + 8 * USED) - get_int64(block + BYTES))
        put_int64(heap + 8 * ASKED, get_int64(heap + 8 * ASKED) - get_int64(block + ASKED_FOR))
        put_int64(heap + 8 * BLOCKS, get_int64(heap + 8 * BLOCKS) - 1)
        head = get_int64(block + LIST)
        if get_int64(block + SHARED) != 0:
            head = heap + 8 * WAITING
        put_int64(block + NEXT, get_int64(head))
        put_int64(head, block)
    PyObject_Free(memory)
    Py_DecRef(kind)
    if owner != 0:
        Py_DecRef(owner)


@native(inline=True)
def memory_of(heap: Heap, block: int, size: int) -> object:
    """The object for a block that is in no list."""
    facts = words_of(heap.words)
    used = facts[USED] + get_int64(block + BYTES)
    facts[USED] = used
    if used > facts[PEAK]:
        facts[PEAK] = used
    asked = facts[ASKED] + size
    facts[ASKED], facts[ASKED_EVER] = asked, facts[ASKED_EVER] + size
    if asked > facts[PEAK_ASKED]:
        facts[PEAK_ASKED] = asked
    facts[BLOCKS] = facts[BLOCKS] + 1
    put_int64(block + ASKED_FOR, size)
    made = allocate(heap.kind)
    at = address_of_object(made)
    put_int64(at + DATA, get_int64(block + ADDRESS))
    put_int64(at + OF_BLOCK, block)
    put_int64(at + SIZE, size)
    return made


@native(inline=True, python=lambda heap: heap.enter())
def entered(heap: Heap) -> None:
    """See that the heap's words are this thread's."""
    if thread_number() != words_of(heap.words)[THREAD]:
        heap.enter()


@native(python=lambda heap, size: heap.ask(size))
def device_array(heap: Heap, size: int) -> object:
    """Memory of so many bytes for the current stream."""
    entered(heap)
    facts = words_of(heap.words)
    facts[REQUESTS] = facts[REQUESTS] + 1
    head = facts[LISTS] + 8 * class_of(size)
    block = get_int64(head)
    if block == 0:
        facts[MISSES] = facts[MISSES] + 1
        return heap.ask(size)
    put_int64(head, get_int64(block))
    return memory_of(heap, block, size)


@native(cold=True)
def device_array_for(heap: Heap, size: int, plan) -> object:
    """Memory for a plan, which the error names if there is none."""
    facts = words_of(heap.words)
    facts[ASKER] = address_of_object(plan)
    memory = device_array(heap, size)
    facts[ASKER] = 0
    return memory


@entry
def take(heap: Heap, address, size, asked, lists) -> object:
    """Memory that the driver has given.

    Args:
        address, size: of the block; ``asked``: bytes that were asked for.
        lists: where the lists of its stream are.
    """
    block = malloc(BLOCK_BYTES)
    put_int64(block + ADDRESS, int(address))
    put_int64(block + BYTES, int(size))
    put_int64(block + LIST, int(lists) + 8 * class_of(int(size)))
    put_int64(block + OF_HEAP, address_of_bytes(heap.words))
    put_int64(block + SHARED, 0)
    return memory_of(heap, block, int(asked))


@entry
def take_waiting(heap: Heap) -> int:
    """The blocks that other streams have used, as a chain: NOTE [Blocks of other streams]; the address of the first, or 0."""
    facts = words_of(heap.words)
    block = facts[WAITING]
    facts[WAITING] = 0
    return block


@entry
def free_block(block) -> int:
    """Put a block of a chain into its list; the address of the next one in the chain, or 0."""
    at = int(block)
    following, head = get_int64(at + NEXT), get_int64(at + LIST)
    put_int64(at + SHARED, 0)
    put_int64(at + NEXT, get_int64(head))
    put_int64(head, at)
    return following


@entry
def drop_block(head) -> int:
    """Take the first block out of a list; its address, 0 where there is none."""
    block = get_int64(int(head))
    if block == 0:
        return 0
    put_int64(int(head), get_int64(block + NEXT))
    address = get_int64(block + ADDRESS)
    free(block)
    return address


@entry
def adopt(kind: type, address, size) -> object:
    """Memory that somebody else has given, and takes back."""
    made = allocate(kind)
    at = address_of_object(made)
    put_int64(at + DATA, int(address))
    put_int64(at + SIZE, int(size))
    return made


# ---- streams -------------------------------------------------------------------------------------------------------------


@entry(python=lambda heap, stream, lists, mine, capturing: write_words(heap, stream, lists, mine, capturing, get_native_id()))
def choose_stream(heap: Heap, stream, lists, mine, capturing) -> None:
    """Write down the current stream of this thread, the lists of it, its bit, and whether there is a capture: NOTE [Heap words]."""
    facts = words_of(heap.words)
    facts[STREAM] = int(stream)
    facts[LISTS] = int(lists)
    facts[MINE] = int(mine)
    facts[CAPTURING] = int(capturing)
    facts[THREAD] = thread_number()


def write_words(heap: Heap, stream: int, lists: int, mine: int, capturing: int, thread: int) -> None:
    """``choose_stream`` in Python."""
    facts: Any = heap.words
    facts[STREAM], facts[LISTS], facts[MINE], facts[CAPTURING], facts[THREAD] = stream, lists, mine, capturing, thread


@entry(python=lambda memory, lists, bit: memory.use(lists, bit))
def note_use(memory, lists, bit) -> None:
    """Note that a stream uses memory, a ``DeviceMemory``: NOTE [Blocks of other streams].

    Args:
        lists, bit: of the stream.
    """
    use(address_of_object(memory), int(lists), int(bit))


@raw
def use(memory: int, lists: int, bit: int) -> None:
    """``note_use`` by the memory's address."""
    block = get_int64(memory + OF_BLOCK)
    if block != 0:
        behind = get_int64(block + LIST) - lists
        if behind < 0 or behind >= 8 * CLASSES:
            put_int64(block + SHARED, get_int64(block + SHARED) | bit)


def use_plainly(heap: Heap, x: Any, written: bool) -> None:
    """``note_tensor`` in Python."""
    facts: Any = heap.words
    if getattr(x, "_storage_", None) is not None and x.layout.memory is heap:
        x._storage_.array.use(facts[LISTS], facts[MINE])
        if facts[CAPTURING]:
            heap.seen(x, written)


@native(cold=True, python=use_plainly)
def note_tensor(heap: Heap, x, written: bool) -> None:
    """Note that the current stream of a GPU uses the memory of what is a tensor there, or writes to it."""
    facts = words_of(heap.words)
    if isinstance(x, Tensor) and x.layout.memory is heap:
        use(address_of_object(x._storage_.array), facts[LISTS], facts[MINE])
        if facts[CAPTURING] != 0:
            heap.seen(x, written)


@native(cold=True)
def note_uses(heap: Heap, tensors: Row, written: bool) -> None:
    """``note_tensor`` of several."""
    for x in tensors:
        note_tensor(heap, x, written)


# ---- launches ------------------------------------------------------------------------------------------------------------


@native
def launch_steps(plan: Plan, pointers: Words, outs: Row, operands: Row) -> int:
    """Launch the kernels of a device record: NOTE [Device records]. What the driver says, 0 if all is well; ``MISALIGNED``.

    Args:
        outs, operands: as of ``launch``.
    """
    record, first = words_of(plan.record), 8
    first = first + record[4]
    template: Tensor = plan.outs[0]
    layout: Layout = template.layout
    heap = cast(Heap, layout.memory)
    entered(heap)
    facts, units = words_of(heap.words), words_of(layout.record)[0]
    base = 0
    workspace = device_array_for(heap, record[first], plan) if record[first] != 0 else None
    if workspace is not None:
        base = array_data(workspace)
        entered(heap)  # another thread may have had its turn meanwhile
    if facts[MINE] != 0:
        note_uses(heap, outs, True)
        note_uses(heap, operands, False)
        entered(heap)
    stream = facts[STREAM]
    cells, places = words(512), words(512)
    at, steps = first + 2, record[first + 1]
    for _step in range(steps):
        count, low = record[at + 9], 0
        if count > MOST_PARAMETERS:
            raise RuntimeError(TOO_MANY)
        for k in range(count):
            word = at + STEP_WORDS + 3 * k
            kind, value, more = record[word], record[word + 1], record[word + 2]
            places[k] = address_of(cells) + 8 * k
            if kind == TENSOR:
                cells[k] = pointers[value] + more
                low = low | cells[k]
            elif kind == NUMBER:
                places[k] = pointers[value] + more
            elif kind == WORK:
                cells[k] = base + more
            elif kind == UNITS:
                cells[k] = units
            elif kind == ERROR:
                cells[k] = facts[ERRORS]
            elif kind == STREAM_OF_CALL:
                cells[k] = stream
            elif kind == HELD:
                cells[k] = address_of(pointers) + 8 * value
                low = low | pointers[value]
            else:
                cells[k] = value
        if low & record[at + 8] != 0:
            return MISALIGNED
        blocks = record[at + 2]
        if blocks == 0:
            tile = record[at + 7]
            blocks = (units + tile - 1) // tile
        if facts[SET_CONTEXT] != 0:
            call_one(facts[SET_CONTEXT], facts[CONTEXT])
        if blocks == CALL:
            facts[LAUNCHES] = facts[LAUNCHES] + 1
            said = call_sixteen(record[at + 1], cells)
            if said != 0:
                return REFUSED - said
        elif blocks != 0:
            code = call_eleven(
                facts[LAUNCH],
                record[at + 1],
                blocks,
                record[at + 3],
                record[at + 4],
                record[at + 5],
                1,
                1,
                record[at + 6],
                stream,
                address_of(places),
                0,
            )
            facts[LAUNCHES] = facts[LAUNCHES] + 1
            if code != 0:
                return code
        at = at + record[at]
    return 0
