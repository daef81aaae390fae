"""Memory of the emulated device, and launches on it."""

from __future__ import annotations

import ctypes
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ....base.dtypes import dtype_of
from ....base.errors import KernelError
from ...cpu.build import loader
from ..access import Function, itemsize, value_dtype
from ..build import Recipe, kernel_name, text_for
from ..steps import Elements, Number, Place, Steps
from ..templates import BLOCK, Template, arguments_of
from . import check, schedule, switch, words
from .limits import GRID_LIMITS, SHARED_LIMIT, THREAD_LIMIT
from .timeline import History
from .words import ALIVE, ALLOCATION_WORDS, FAULTS, FIBER_WORDS, FREED, MACHINE_WORDS, STACK

__all__ = ["Allocation", "Device", "Kernel", "emulate", "image_of", "kernel_of", "kernel_of_image", "run_steps"]

APART = 256  # bytes between allocations, which belong to none
GARBAGE = 0xFB  # what fresh and freed memory holds: as bytes, integers and numbers nothing that a program would have
RESERVED = 1 << 20  # bytes that the device takes of this process's memory at once


class Allocation:
    """Memory of the device.

    Attributes:
        address, nbytes: where it is; ``name``: what messages call it.
        alive: whether it has not been freed.
        shadow: NOTE [Stamps] of check.py, of every byte; ``history``: NOTE [Clocks] of timeline.py.
    """

    def __init__(self, address: int, nbytes: int, name: str):
        self.address, self.nbytes, self.name, self.alive = address, nbytes, name, True
        self.shadow = np.zeros((nbytes, 2), np.int64)
        self.history = History()


class Device:
    """A device whose memory lies in this process.

    Args:
        checked: whether each access of a kernel is looked at.
        seed: of the order in which the threads of a block take turns.
    """

    def __init__(self, checked: bool = True, seed: int = 0):
        self.checked, self.random = checked, random.Random(seed)
        self.allocations: list[Allocation] = []  # by rising addresses, freed ones too: their addresses are not used again
        self.regions: list[np.ndarray] = []
        self.free, self.end = 0, 0
        self.machine = np.zeros(MACHINE_WORDS, np.int64)
        self.scratch = np.zeros(8, np.int64)
        self.shared: Allocation | None = None
        self.fibers = self.stacks = np.zeros(0, np.int64)

    # ---- memory --------------------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int, name: str = "") -> Allocation:
        """Memory that nobody has written to."""
        taken = -(-nbytes // APART) * APART + APART
        if self.free + taken > self.end:
            region = np.full(max(taken, RESERVED) + APART, GARBAGE, np.uint8)
            self.regions.append(region)
            self.free = -(-region.ctypes.data // APART) * APART
            self.end = region.ctypes.data + region.nbytes
        made = Allocation(self.free, nbytes, name)
        self.free += taken
        self.allocations.insert(bisect_right([each.address for each in self.allocations], made.address), made)
        return made

    def release(self, allocation: Allocation) -> None:
        """Give memory back; whoever touches it later is told."""
        if not allocation.alive:
            raise KernelError(f"emulated device: {named(allocation)} is freed twice.")
        allocation.alive = False
        ctypes.memset(allocation.address, GARBAGE, allocation.nbytes)

    def upload(self, array: np.ndarray, name: str = "") -> Allocation:
        """Memory with a copy of an array, in C order."""
        array = np.ascontiguousarray(array)
        made = self.allocate(array.nbytes, name)
        ctypes.memmove(made.address, array.ctypes.data, array.nbytes)
        made.shadow[:, 0] = 1  # somebody has written to it, before all epochs
        return made

    def download(self, allocation: Allocation, like: np.ndarray) -> None:
        """Copy memory into an array."""
        ctypes.memmove(like.ctypes.data, allocation.address, allocation.nbytes)

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
        self._prepare(kernel, grid, block, values)
        fault = functions()["launch"](self.machine.ctypes.data)
        if fault:
            raise KernelError(self._told(kernel, fault))

    def touched(self, allocation: Allocation) -> tuple[bool, bool]:
        """Whether the last launch read an allocation, and wrote to it; of kernels that are not checked: both."""
        if not self.checked:
            return True, True
        first = int(self.machine[words.FIRST_OF_LAUNCH]) << words.THREAD_BITS
        written, read = (bool((allocation.shadow[:, k] >= first).any()) for k in (0, 1))
        return read, written

    def _prepare(self, kernel: Kernel, grid: Sequence[int], block: int, values: np.ndarray) -> None:
        """Fill in the machine's words."""
        machine = self.machine
        if self.shared is None:
            self.shared = self.allocate(SHARED_LIMIT, "shared memory")
        if len(self.fibers) < block * FIBER_WORDS:
            self.fibers, self.stacks = np.zeros(block * FIBER_WORDS, np.int64), np.zeros((block * STACK) // 8 + 2, np.int64)
        self.table = np.zeros((len(self.allocations), ALLOCATION_WORDS), np.int64)
        for row, each in zip(self.table, self.allocations):
            row[:] = each.address, each.nbytes, each.shadow.ctypes.data, ALIVE if each.alive else FREED
        machine[words.THREADS] = block
        machine[words.GRID : words.GRID + 3] = grid
        machine[words.KERNEL] = kernel.address
        machine[words.PARAMETERS] = values.ctypes.data
        machine[words.SHARED] = self.shared.address
        machine[words.SHARED_SHADOW] = self.shared.shadow.ctypes.data
        machine[words.SHARED_BYTES], machine[words.MEETS] = kernel.shared, kernel.meets
        machine[words.TABLE], machine[words.COUNT] = self.table.ctypes.data, len(self.table)
        machine[words.FIBERS] = self.fibers.ctypes.data
        machine[words.STACKS] = -(-self.stacks.ctypes.data // 16) * 16
        machine[words.SCRATCH] = self.scratch.ctypes.data
        machine[words.ORDER], machine[words.SHIFT] = 2 * self.random.randrange(block) + 1, self.random.randrange(block)
        machine[words.FAULT] = 0
        self.scratch[:] = 0
        for place, name in PLACES.items():
            machine[place] = addresses()[name]

    def _told(self, kernel: Kernel, fault: int) -> str:
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

    def place(self, address: int) -> str:
        """An address in words: the allocation in which it lies, or that is next to it."""
        before = [each for each in self.allocations if each.address <= address]
        if not before:
            return f"address {address:#x}"
        near = before[-1]
        return f"byte {address - near.address} of {named(near)}"


def named(allocation: Allocation) -> str:
    """An allocation in words."""
    return f"{allocation.name or 'an allocation'} of {allocation.nbytes} bytes"


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
    return Kernel(name, loader().module(text, [name], opt=1)[name], needs.used, needs.meets, widths)


_compiled: dict[tuple, Kernel] = {}
IMAGE = b"nbgrad emulated\0"  # in the place of a cubin: this, and the number of a kernel
_images: list[Kernel] = []


def kernel_of(template: Template, scalar: Function, dtype: str, source: Mapping, checked: bool = True) -> Kernel:
    """A kernel for this processor, made once a process."""
    key = Recipe(template, scalar, dtype, source).key("emulated"), checked
    if key not in _compiled:
        _compiled[key] = compiled(template, scalar, dtype, source, checked)
    return _compiled[key]


def image_of(kernel: Kernel) -> bytes:
    """What the emulated driver loads in the place of a cubin."""
    if kernel not in _images:
        _images.append(kernel)
    return IMAGE + _images.index(kernel).to_bytes(16, "little")


def kernel_of_image(image: bytes) -> Kernel | None:
    """The kernel that an image stands for; None if it is no such image."""
    number = int.from_bytes(image[len(IMAGE) : 32], "little")
    return _images[number] if image.startswith(IMAGE) and number < len(_images) else None


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
        for step in steps.steps:
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
