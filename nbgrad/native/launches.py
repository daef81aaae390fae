"""Native code: tensors are made, kernels launched; and what is kept for each thread (its modes, its sequence numbers).

NOTE [Collector]: nodes, their tuples of edges and storages are hidden from Python's cyclic collector, which otherwise walks a
growing graph again and again. They die by reference count. A node on which users hang hooks or metadata is shown to the collector
then: a hook may hold its own node or tensor. Layouts and plans, with the tuples that they are made of and found by, are hidden as
well where calls with ever new sizes make ever more of them: tables have them, no cycle passes through them, and a full collection
looks at each that it sees (benchmarks/decisions.md). Other cycles that users close *through* the graph, as with
``backward(create_graph=True)``, must be broken by them, as in torch.

NOTE [Trust]: a plan was found by the operands' layouts. Another thread may have exchanged a tensor's memory since, so each
operand's type and layout are compared again before a pointer is read; and where the lock is dropped the arrays are held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ..kernels.cpu.pool import HAS_WORKERS
from .heaps import Heap, device_array_for, launch_steps
from .language import Row, Static, Words, bound, entry, native
from .node_lines import note_write
from .plans import LATE, ON_DEVICE, DeviceRecord, Plan
from .primitives import (
    address_of,
    address_of_bytes,
    array_data,
    get_int64,
    give_lock,
    hide,
    imag_part,
    keep,
    kept,
    new,
    new_array,
    new_word,
    put_float32,
    put_float64,
    put_int64,
    real_part,
    reraise,
    run_kernel,
    take_lock,
    thread_dict,
    thread_number,
    words,
    words_of,
)

if HAS_WORKERS:
    from .pool import parallel
else:
    from .serial import parallel

if TYPE_CHECKING:
    from ..base.dtypes import DType
    from ..tensors.layout import Layout
    from ..tensors.storage import CPU, Storage
    from ..tensors.tensor import Tensor

__all__ = [
    "CHANGED",
    "TableWriter",
    "alias",
    "data",
    "fresh",
    "into",
    "launch_there",
    "next_seq",
    "of_thread",
    "seq_to_come",
    "tensor",
]

CHANGED = "launch: an operand changed its type or layout during the call. Hint: another thread assigned its data."
MISCOUNTED = "launch: the plan expects other operand count"
NO_TENSOR = "launch: expected a Tensor."
COUNTER_KEY = "nbgrad.native: sequence number"  # in the dict of a thread's state


# ---- tensors -------------------------------------------------------------------------------------------------------


@native(inline=True)
def data(x: Tensor) -> int:
    """Address of a tensor's first element."""
    return array_data(x._storage_.array) + int(x._offset_)


@native
def make(template: Tensor, plan) -> Tensor:
    """An uninitialised Tensor like the template, with memory of its own; ``plan``: whose result it is."""
    layout = template.layout
    if layout.memory is None:
        storage = new(Storage, array=new_array(layout.descr, layout.record), version=0, device=CPU, writable=True)
    else:
        storage = made_there(layout, plan)
    hide(storage)  # NOTE [Collector]
    return tensor(template, storage, template._offset_, template._needs_grad_, template._meta_)


@native(cold=True)
def made_there(layout: Layout, plan) -> Storage:
    """A storage on a GPU: NOTE [Device memory]."""
    dtype: DType = layout.dtype
    memory = device_array_for(cast(Heap, layout.memory), int(layout.numel) * int(dtype.itemsize), plan)
    return new(Storage, array=memory, version=0, device=layout.device, writable=True)


@entry
def tensor(template: Tensor, storage: Storage, offset, needs_grad, meta) -> Tensor:
    """A Tensor on memory that exists."""
    return new(
        Tensor,
        layout=template.layout,
        _edge_=template._edge_,
        _storage_=storage,
        _offset_=offset,
        _needs_grad_=needs_grad,
        _meta_=meta,
    )


@entry
def alias(x) -> Tensor:
    """A Tensor on x's memory and version, without history."""
    if not isinstance(x, Tensor) or not hasattr(x, "layout"):  # object.__new__(Tensor) has none
        raise TypeError(NO_TENSOR)
    template = x.layout.template
    return tensor(template, x._storage_, x._offset_, template._needs_grad_, template._meta_)


@entry
def conceal(x) -> None:
    """Hide a container, or a layout and its template, from the cyclic collector: NOTE [Collector]. All else stays as it is."""
    if type(x) is tuple or type(x) is list or type(x) is dict:
        hide(x)
    elif type(x) is Layout:
        hide(x)
        hide(x.template)


# ---- launches ------------------------------------------------------------------------------------------------------


@native
def put_number(cell: int, code: int, x) -> None:
    """Store a Python number for the kernel: the code is one of NUMBER_CODES."""
    if code == 1:
        put_float32(cell, float(x))
    elif code == 2:
        put_float64(cell, float(x))
    elif code == 3:
        put_int64(cell, int(x))
    elif code == 4:
        put_float32(cell, real_part(x))
        put_float32(cell + 4, imag_part(x))
        reraise()
    else:
        put_float64(cell, real_part(x))
        put_float64(cell + 8, imag_part(x))
        reraise()


@native
def launch(plan: Plan, pointers: Words, outs: Row, operands: Row) -> None:
    """Fill in the inputs' pointers, behind those of the outputs, and run the kernel: see NOTE [Plan record].

    Args:
        outs: outputs that others know, too.
    """
    numbers = words(256)
    for _turn in range(3):  # the second one where the kernel is yet to be found: NOTE [Late records]; or another one
        record = words_of(plan.record)
        first, count = record[3] + 1, record[4]
        if count != len(operands):
            raise RuntimeError(MISCOUNTED)
        for k in range(count):
            x, code = operands[k], record[8 + k]
            if code == 0:
                if not isinstance(x, Tensor) or x.layout is not plan.layouts[k]:
                    raise RuntimeError(CHANGED)
                pointers[first + k] = data(x)
            else:
                put_number(address_of(numbers) + 16 * k, code, x)
                pointers[first + k] = address_of(numbers) + 16 * k
        pointers[0] = address_of_bytes(plan.record) + 64 + 8 * count
        units, shared = record[1], record[5]
        if units < 0:
            template: Tensor = plan.outs[0]
            units = words_of(template.layout.record)[0]
            if units >= record[6]:
                shared = 1
        if shared == 0:
            run_kernel(record[0], units, pointers)
            return
        if shared == 1:
            # The arrays live until the kernel is done, whatever other threads do to the tensors.
            arrays = []
            for out in outs:
                arrays.append(array_of(out))
            for operand in operands:
                arrays.append(array_of(operand))
            thread = give_lock()
            parallel(record[0], units, record[2], address_of(pointers))
            take_lock(thread)
            return
        if shared == ON_DEVICE:
            code = launch_steps(plan, pointers, outs, operands)
            if code == 0:
                return
            refuse(plan, code)
        else:
            find_kernel(plan, pointers, outs)


@native
def launch_there(plan: Plan, pointers: Words, others: Row) -> None:
    """Run the kernels of a plan of a GPU, whose pointers are filled in.

    Args:
        others: none: what they use is noted by whoever calls.
    """
    for _turn in range(3):  # as in ``launch``
        if words_of(plan.record)[5] == ON_DEVICE:
            code = launch_steps(plan, pointers, others, others)
            if code == 0:
                return
            refuse(plan, code)
        else:
            find_kernel(plan, pointers, others)


@native(cold=True)
def refuse(plan: Plan, code: int) -> None:
    """Make a launch of a GPU possible for which something lacks, or raise what the driver said of it."""
    said: object = plan.record
    cast(DeviceRecord, said).refused(plan, code)


@native(cold=True)
def find_kernel(plan: Plan, pointers: Words, outs: Row) -> None:
    """Complete the plan's record, unless another thread just did. Others may exchange what the tensors have meanwhile."""
    make: object = plan.record
    if words_of(cast(bytes, make))[5] == LATE:
        cast(Callable, make)(plan)
    for k in range(len(outs)):
        out = outs[k]
        template: Tensor = plan.outs[k]
        if not isinstance(out, Tensor) or out.layout is not template.layout:
            raise RuntimeError(CHANGED)
        pointers[1 + k] = data(out)


@native(borrows=True)
def array_of(x):
    """The array behind a tensor; a number itself."""
    if isinstance(x, Tensor):
        return x._storage_.array
    return x


@entry
def fresh(plan: Plan, *operands):
    """Launch and return the new result, or a tuple of several."""
    pointers = words(128)
    if len(plan.outs) == 1:
        single = make(cast(Tensor, plan.outs[0]), plan)
        pointers[1] = data(single)
        launch(plan, pointers, operands[:0], operands)
        return single
    outs = tuple([make(cast(Tensor, plan.outs[k]), plan) for k in range(len(plan.outs))])
    for k in range(len(outs)):
        out: Tensor = outs[k]
        pointers[1 + k] = data(out)
    launch(plan, pointers, operands[:0], operands)
    return outs


@native
def note_outputs(plan: Plan, pointers: Words, tensors: Row) -> None:
    """Fill in the pointers of outputs that exist, the first of some tensors; their versions move before the write."""
    count = len(plan.outs)
    if len(tensors) < count:
        raise RuntimeError(MISCOUNTED)
    for k in range(count):
        out = tensors[k]
        template: Tensor = plan.outs[k]
        if not isinstance(out, Tensor) or out.layout is not template.layout:
            raise RuntimeError(CHANGED)
        # An interrupted write leaves a spurious version error, never a silent change.
        note_write(out._storage_)
        storage = out._storage_
        storage.version = int(storage.version) + 1
        pointers[1 + k] = data(out)


@entry
def into(plan: Plan, *tensors) -> None:
    """Launch with outputs that exist; their versions move before the write."""
    pointers, count = words(128), len(plan.outs)
    note_outputs(plan, pointers, tensors)
    launch(plan, pointers, tensors[:count], tensors[count:])


@bound
class TableWriter:
    """``into`` of a plan with more tensors than that takes: where they are is a table among a GPU kernel's parameters.

    Numbers are the first of the operands.
    """

    MOST_OPERANDS = 512  # MOST_IN_TABLES
    __slots__ = ("plan",)
    plan: Plan

    def __init__(self, plan):
        self.plan = plan

    def __call__(self, *tensors):
        plan = self.plan
        pointers, count = words(512), len(plan.outs)
        note_outputs(plan, pointers, tensors)
        launch(plan, pointers, tensors[:count], tensors[count:])
        return None


# ---- what a thread has ---------------------------------------------------------------------------------------------

# NOTE [Sequence]: numbers are counted by thread, in eight bytes that the thread's dict holds. Kept at hand: the number (used once)
# of the thread that counted last, and where it counts.
counting = Static(-1, 0)
asking = Static(-1, 0)  # the thread that asked last, and its dict


class ThreadNumbers(threading.local):
    """Sequence numbers by thread, for Python."""

    to_come = 0

    def next(self) -> int:
        """The next one."""
        number = self.to_come
        self.to_come = number + 1
        return number


_numbers = ThreadNumbers()


@entry(python=lambda: _numbers.next())
def next_seq() -> int:
    """The next sequence number of this thread."""
    if thread_number() != counting[0]:
        find_counter()
    number = get_int64(counting[1])
    put_int64(counting[1], number + 1)
    return number


@entry(python=lambda: _numbers.to_come)
def seq_to_come() -> int:
    """The sequence number that this thread's next node gets; the collector may ask, in whichever thread it runs."""
    if thread_number() != counting[0]:
        find_counter()
    return get_int64(counting[1])


@native(cold=True)
def find_counter() -> None:
    """Make this thread's counter the one at hand: NOTE [Sequence]."""
    held = thread_dict()
    word: bytes | None = held.get(COUNTER_KEY)
    if word is None:
        word = new_word()
        held[COUNTER_KEY] = word
    counting[1] = address_of_bytes(word)
    counting[0] = thread_number()


@native(inline=True, python=lambda local: local.__dict__)
def of_thread(local) -> dict:
    """The dict in which a threading.local, always the same one, keeps what it holds for this thread.

    It is kept at hand for the thread that asked last.
    """
    if thread_number() != asking[0]:
        find_modes(local)
    return cast(dict, kept(asking, 1))


@native(cold=True)
def find_modes(local) -> None:
    """Make this thread's dict the one at hand. It may outlive its thread."""
    keep(asking, 1, local.__dict__)
    asking[0] = thread_number()
