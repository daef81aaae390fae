"""Launches on the emulated device."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from math import gcd
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ....base.dtypes import dtype_of
from ....base.errors import KernelError
from ...cpu.build import loader
from ...cpu.emit import Emitter
from ...cpu.store import content_key
from ..access import Function, itemsize, value_dtype
from ..build import Recipe, kernel_name, text_for
from ..steps import Elements, Number, Place, Steps
from ..templates import BLOCK, Template, arguments_of
from . import check, schedule, switch, words
from .guard import opened
from .limits import GRID_LIMITS, SHARED_LIMIT, THREAD_LIMIT
from .memory import Allocation, Memory
from .words import FAULTS, FIBER_WORDS, MACHINE_WORDS, STACK

__all__ = ["Allocation", "Device", "Kernel", "emulate", "image_of", "kernel_of", "kernel_of_image", "run_steps"]


class Device:
    """A device whose memory lies in this process.

    Args:
        checked: whether each access of a kernel is looked at.
        seed: of the order in which the threads of a block take turns.
        memory: that it shares with other devices; ``number``: its own among them.
    """

    def __init__(self, checked: bool = True, seed: int = 0, memory: Memory | None = None, number: int = 0):
        self.checked, self.random, self.number = checked, random.Random(seed), number
        self.memory = Memory() if memory is None else memory
        self.machine = np.zeros(MACHINE_WORDS, np.int64)
        self.words = self.machine.data  # five times as fast as NumPy where a word is read or set
        self.scratch = np.zeros(8, np.int64)
        self.fibers = self.stacks = np.zeros(0, np.int64)
        self.run: Callable[[int], int] | None = None

    # ---- memory --------------------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int, name: str = "") -> Allocation:
        """Memory that nobody has written to."""
        return self.memory.allocate(nbytes, name, self.number, 1 << self.number)

    def release(self, allocation: Allocation) -> None:
        """Give memory back; whoever touches it later is told."""
        self.memory.release(allocation)

    def upload(self, array: np.ndarray, name: str = "") -> Allocation:
        """Memory with a copy of an array, in C order."""
        array = np.ascontiguousarray(array)
        made = self.allocate(array.nbytes, name)
        with opened():
            ctypes.memmove(made.address, array.ctypes.data, array.nbytes)
        made.note_written()
        return made

    def download(self, allocation: Allocation, like: np.ndarray) -> None:
        """Copy memory into an array."""
        with opened():
            ctypes.memmove(like.ctypes.data, allocation.address, allocation.nbytes)

    def place(self, address: int) -> str:
        """An address in words."""
        return self.memory.place(address)

    # ---- launches ------------------------------------------------------------------------------------------------------

    def launch(self, kernel: Kernel, grid: Sequence[int], block: int, parameters: Sequence[Any]) -> None:
        """Run a kernel to its end.

        Args:
            parameters: allocations or addresses, numbers of the kernel's dtype, counts.

        Raises:
            KernelError: a limit is exceeded, or a thread did what it must not do.
        """
        grid = (*grid, 1, 1)[:3]
        for size, limit, axis in zip(grid, GRID_LIMITS, "xyz"):
            if not 0 <= size <= limit:
                raise KernelError(f"{kernel.name}: {size} blocks along {axis}, expected 0 to {limit}.")
        if not 1 <= block <= THREAD_LIMIT:
            raise KernelError(f"{kernel.name}: {block} threads in a block, expected 1 to {THREAD_LIMIT}.")
        values = np.zeros(max(len(parameters), 1), np.int64)
        for k, each in enumerate(parameters):
            if isinstance(each, np.generic) and each.dtype.itemsize == 4:
                values[k : k + 1].view(each.dtype)[0] = each
            elif isinstance(each, np.generic):
                values[k : k + 1] = np.asarray([each]).view(np.int64)
            else:
                values[k] = each.address if isinstance(each, Allocation) else each
        self.launch_words(kernel, grid, block, values.ctypes.data)

    def launch_words(self, kernel: Kernel, grid: Sequence[int], block: int, parameters: int) -> None:
        """Run a kernel within the limits; ``parameters``: the address of a word for each."""
        if self.run is None or len(self.fibers) < block * FIBER_WORDS:
            self.prepare(block)
        memory, machine = self.memory, self.words
        turns, shift = divmod(self.random.getrandbits(32), THREAD_LIMIT)
        order = 2 * (turns % block) + 1
        while gcd(order, block) != 1:  # each thread has a turn
            order += 2
        machine[words.THREADS] = block
        machine[words.GRID], machine[words.GRID + 1], machine[words.GRID + 2] = grid
        machine[words.KERNEL], machine[words.PARAMETERS] = kernel.address, parameters
        machine[words.SHARED_BYTES], machine[words.MEETS] = kernel.shared, kernel.meets
        machine[words.TABLE], machine[words.COUNT] = memory.start, memory.count
        machine[words.TOUCHED] = memory.touched_start
        machine[words.ORDER], machine[words.SHIFT] = order, shift % block
        machine[words.EPOCH] = memory.epoch
        with opened():
            fault = self.run(self.machine_address)  # type: ignore[misc]  # made by prepare
        memory.epoch = machine[words.EPOCH]
        if fault:
            self.scratch[:], machine[words.FAULT] = 0, 0
            raise KernelError(self.told(kernel, fault))

    def touched(self) -> Iterator[tuple[Allocation, bool, bool]]:
        """The memory that the last launch touched, with whether it wrote to it, and whether it changed it as several threads may at
        once; only checked kernels leave traces.
        """
        table, first = self.memory.table, self.words[words.FIRST_OF_LAUNCH]
        for row in self.memory.touched[: self.words[words.TOUCHED_COUNT]].tolist():
            found = self.memory.entries[row]
            if found is not None:
                yield found, table[row, words.WRITTEN_IN] == first, table[row, words.CHANGED_IN] == first

    def prepare(self, block: int) -> None:
        """Fill in the words that stay; room for the threads of a block."""
        machine = self.machine
        if self.run is None:
            self.run, self.machine_address = functions()["launch"], machine.ctypes.data
            self.shared = self.allocate(SHARED_LIMIT, "shared memory")
            self.shared.history = None  # of one block after the other
            machine[words.SHARED] = self.shared.address
            machine[words.SHARED_SHADOW] = self.shared.shadow.ctypes.data
            machine[words.SCRATCH] = self.scratch.ctypes.data
            machine[words.DEVICE] = 1 << self.number
            for place, name in PLACES.items():
                machine[place] = addresses()[name]
        self.fibers, self.stacks = np.zeros(block * FIBER_WORDS, np.int64), np.zeros((block * STACK) // 8 + 2, np.int64)
        machine[words.FIBERS] = self.fibers.ctypes.data
        machine[words.STACKS] = -(-self.stacks.ctypes.data // 16) * 16

    def told(self, kernel: Kernel, fault: int) -> str:
        """What was wrong, and where."""
        machine = self.machine
        address, nbytes = int(machine[words.FAULT_ADDRESS]), int(machine[words.FAULT_BYTES])
        block = tuple(map(int, machine[words.FAULT_BLOCK : words.FAULT_BLOCK + 3]))
        where = f"thread {machine[words.FAULT_THREAD]} of block {block}"
        told = f"{kernel.name}: {FAULTS[fault]}: {where}"
        if not nbytes:
            return f"{told}."
        other = int(machine[words.FAULT_OTHER])
        if fault in (words.WRITE_WRITE, words.READ_WRITE):
            told += " and several others" if other >= THREAD_LIMIT else f" and thread {other}"
        return f"{told}, {nbytes} bytes at {self.place(address)}."


# ---- machine code --------------------------------------------------------------------------------------------------------


class Kernel:
    """A kernel compiled for this processor.

    Attributes:
        name: template, scalar function and dtype.
        address: of ``thread(machine, parameters)``.
        shared: bytes of shared memory that a block takes; ``meets``: whether its threads wait for each other.
        widths: bytes of each parameter.
    """

    __slots__ = ("name", "address", "shared", "meets", "widths")

    def __init__(self, name: str, address: int, shared: int, meets: bool, widths: tuple[int, ...]):
        self.name, self.address, self.shared, self.meets, self.widths = name, address, shared, meets, widths


PLACES = {
    words.SWITCH: "nbgrad_switch",
    words.TRAMPOLINE: "nbgrad_trampoline",
    words.BEGIN: "begin",
    words.BARRIER: "wait",
    words.SHUFFLE: "shuffle",
    words.CHECK: "check",
}
FUNCTIONS: tuple[Function, ...] = (schedule.begin, schedule.wait, schedule.shuffle, schedule.launch, check.check)


@cache
def addresses() -> dict[str, int]:
    """The functions that machines call."""
    llvm.initialize_native_asmparser()
    found = loader().module(switch.text(), switch.NAMES)
    return {**found, **{function.__name__: address_of_words(function) for function in FUNCTIONS}}


@cache
def functions() -> dict[str, Callable]:
    """Those that Python calls."""
    return {"launch": ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses()["launch"])}


def address_of_words(function: Function) -> int:
    """Machine code of a function of words."""
    from ...compiler import functions as compiler, kinds
    from ...compiler.expressions import Scope
    from ...cpu.intrinsics import intrinsics
    from .entry import WordsEntry

    name, layout = f"nbgrad_{function.__name__}", str(loader().emitter.machine.target_data)
    scope = Scope(intrinsics(compiler.Rule, kinds), {}, None, {}, layout)
    text = compiler.kernel_text(function, name, scope, entry=WordsEntry(function.__code__.co_argcount))
    return loader().module(text, [name])[name]


def compiled(template: Template, scalar: Function, dtype: str, source: Mapping, checked: bool) -> Kernel:
    """A kernel for this processor: from the cache of compiled kernels, if it is there."""
    from .entry import ThreadEntry
    from .names import Needs, emulated_names

    name, needs = kernel_name(template, scalar, dtype), Needs()
    names = emulated_names(dtype, template.accesses, template.state, needs, checked)
    layout = str(loader().emitter.machine.target_data)
    text = text_for(names, ThreadEntry(template, dtype), layout, template, scalar, dtype, source)
    widths = (8,) * len(template.pointers) + (itemsize(value_dtype(dtype)),) * template.values + (8,) * template.integers
    widths += (8 * template.table,) * (template.table > 0)
    found = loader().load(content_key("emulated", text), lambda: (quick_emitter().emit(text, opt=0), [name]))
    return Kernel(name, found[name], needs.used, needs.meets, widths)


@cache
def quick_emitter() -> Emitter:
    """Of code that runs a few times on a few elements: it is made in a sixth of the time of optimised code."""
    return Emitter(opt=0)


_compiled: dict[tuple, Kernel] = {}
IMAGE = b"nbgrad emulated\0"  # in the place of a cubin: this, and the number of a kernel
_images: dict[Kernel, int] = {}


def kernel_of(template: Template, scalar: Function, dtype: str, source: Mapping, checked: bool = True) -> Kernel:
    """A kernel for this processor, made once a process."""
    key = Recipe(template, scalar, dtype, source).key("emulated"), checked
    if key not in _compiled:
        _compiled[key] = compiled(template, scalar, dtype, source, checked)
    return _compiled[key]


def image_of(kernel: Kernel) -> bytes:
    """What the emulated driver loads in the place of a cubin."""
    return IMAGE + _images.setdefault(kernel, len(_images)).to_bytes(16, "little")


def kernel_of_image(image: bytes) -> Kernel | None:
    """The kernel that an image stands for; None if it is no such image."""
    number = int.from_bytes(image[len(IMAGE) : 32], "little")
    return next(islice(_images, number, None), None) if image.startswith(IMAGE) and number < len(_images) else None


def emulate(
    template: Template, scalar: Function, dtype: str, grid: Sequence[int], *args: Any, device: Device | None = None, **source: Any
) -> None:
    """Run on this processor what ``build`` with the same arguments compiles for a GPU.

    Args:
        grid: blocks, in up to three dimensions.
        args: the kernel's parameters: NumPy arrays for pointers, which are copied to the device and back; values; counts.
        device: with the memory and the order of threads; a new one that looks at each access otherwise.

    Raises:
        KernelError: arguments that do not fit the parameters, or anything that a thread must not do.
    """
    device = Device() if device is None else device
    kernel = kernel_of(template, scalar, dtype, source, device.checked)
    arrays, numbers, counts = arguments_of(template, dtype, args)
    held = dict[int, Allocation]()
    for k, array in enumerate(arrays):
        if id(array) not in held:
            held[id(array)] = device.upload(array, f"operand {k}")
    pointers = [held[id(array)] for array in arrays]
    try:
        device.launch(kernel, grid, BLOCK, [*pointers, *numbers, *counts])
        for array, memory in zip(arrays, pointers):
            if array.flags.writeable:
                device.download(memory, array)
    finally:
        for memory in held.values():
            device.release(memory)


def run_steps(steps: Steps, outs: Sequence[np.ndarray], operands: Sequence[Any], device: Device | None = None) -> tuple[int, int]:
    """Run the launches of one call on arrays, which are copied to the device and back.

    Args:
        outs: the results' arrays; ``operands``: arrays (what lies in memory, from the first element on), or Python numbers.

    Returns:
        What the kernels wrote at ``ERRORS``.

    Raises:
        KernelError: as ``emulate``.
    """
    device = Device() if device is None else device
    errors = np.zeros(2, np.int64)
    held: dict[str, list[Allocation | None]] = {
        "out": [device.allocate(a.nbytes, f"result {k}") for k, a in enumerate(outs)],
        "operand": [device.upload(a, f"operand {k}") if isinstance(a, np.ndarray) else None for k, a in enumerate(operands)],
        "work": [device.allocate(steps.workspace, "the workspace")],
        "errors": [device.upload(errors, "errors")],
    }

    def address(place: Place) -> int:
        memory = held[place.kind][place.at]
        assert memory is not None  # a number has no place
        return memory.address + place.offset

    try:
        for step in steps.kernels:
            recipe = step.recipe
            kernel = kernel_of(recipe.template, recipe.scalar, recipe.dtype, recipe.source, device.checked)
            pointers = [address(place) for place in step.pointers]
            numbers = [number_of(operands, v) if isinstance(v, Number) else v for v in step.values]
            kind = dtype_of(value_dtype(recipe.dtype)).numpy.type
            counts = [outs[0].size if isinstance(n, Elements) else n for n in step.counts]
            grid = step.grid or (-(-outs[0].size // step.tile),)
            device.launch(kernel, grid, BLOCK, [*pointers, *map(kind, numbers), *counts])
        for array, memory in (*zip(outs, held["out"]), (errors, held["errors"][0])):
            if memory is not None:
                device.download(memory, array)
    finally:
        for group in held.values():
            for memory in group:
                if memory is not None:
                    device.release(memory)
    return int(errors[0]), int(errors[1])


def number_of(operands: Sequence[Any], number: Number) -> Any:
    """A number among the operands of a call; of a complex one a part."""
    value = operands[number.at]
    return (value.imag if number.offset else value.real) if isinstance(value, complex) else value
