"""Runs kernels on the CPU exactly as written, one greenlet a thread: barriers, shuffles, shared memory.

Stricter than a GPU where a GPU is silent: out-of-bounds and misaligned accesses, values of the wrong dtype, divergent
barriers and divergent shuffles raise ``KernelError``. Blocks run one after the other, threads of a block in order
between two meeting points; so it shows errors of logic, not data races. About 50,000 threads a second.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Iterable, Sequence

import numpy as np

from ...base.dtypes import BOOL, COMPLEX, FLOATING, dtype_of
from ...base.errors import KernelError
from ..instantiate import instantiate
from ..prims import numpy_prims
from .access import Access, Function, check_load, compute_dtype, prims_dtype, value_dtype
from .build import instantiate_for, narrowed_to, scalar_source
from .templates import BLOCK, WARP, Template, arguments_of

try:
    from greenlet import getcurrent, greenlet
except ImportError:  # a package of the tests; importing this file must not need it
    getcurrent, greenlet = None, object

__all__ = ["Pointer", "instantiate_scalar", "interpret", "launch", "simt_names"]


def interpret(template: Template, scalar: Function, dtype: str, grid: Sequence[int], *args, **source) -> None:
    """Launch on the CPU what ``build`` with the same arguments compiles.

    Args:
        template, scalar, dtype, source: as ``build``'s.
        grid: blocks, in up to three dimensions.
        args: the kernel's parameters: NumPy arrays or ``Pointer`` for pointers, then values, then counts.

    Raises:
        KernelError: arguments that do not fit the parameters, or anything that a thread must not do.
    """
    names = simt_names(dtype, template.accesses, template.state)
    launch(instantiate_for(names, template, scalar, dtype, source), grid, BLOCK, *bind_arguments(template, dtype, args))


def bind_arguments(template: Template, dtype: str, args: Sequence) -> list:
    """The arguments in the types that a launch would give them."""
    arrays, numbers, counts = arguments_of(template, dtype, args)
    return [*(a if isinstance(a, Pointer) else Pointer(a) for a in arrays), *numbers, *counts]


class Pointer:
    """A kernel's pointer: a flat NumPy array, every access checked. ``offset`` (elements) moves the address."""

    def __init__(self, array: np.ndarray, offset: int = 0):
        if not array.flags.c_contiguous:
            raise KernelError(f"simt: a pointer needs contiguous memory, got strides {array.strides}. Hint: pass the base.")
        self.array, self.offset, self.dtype = array.reshape(-1), offset, dtype_of(array.dtype.name).name

    def span(self, i: int, lanes: int) -> slice:
        """Where the ``i``-th access of ``lanes`` elements lies; it must be inside the array, and aligned."""
        at = int(i) * lanes + self.offset
        if not 0 <= at <= self.array.size - lanes:
            raise KernelError(f"simt: element {at} of {self.array.size}, {place()}.")
        if at % lanes:
            raise KernelError(f"simt: misaligned access of {lanes} at element {at}, {place()}.")
        return slice(at, at + lanes)


def load_access(access: Access, compute: str) -> Function:
    """The interpreter's ``load_float16x8`` and its like."""
    check_load(access.dtype, compute)
    scalar = np.bool_ if access.dtype == "bool" else dtype_of(compute).numpy.type

    def load(pointer, i):
        values = tuple(scalar(v) for v in pointer.array[pointer.span(i, access.lanes)])
        return values if access.lanes > 1 else values[0]

    return load


def store_access(access: Access, compute: str) -> Function:
    """The interpreter's ``store_float16x8`` and its like."""
    numbers = tuple(dtype_of(name).numpy.type for name in (compute, value_dtype(compute)))

    def store(pointer, i, values):
        values = values if access.lanes > 1 else (values,)
        for value in values:
            if not isinstance(value, (*numbers, bool, np.bool_, int, np.integer)):
                raise KernelError(
                    f"simt: store of {type(value).__name__}, expected {compute}, {place()}. "
                    f"Hint: a float constant was not narrowed."
                )
        pointer.array[pointer.span(i, access.lanes)] = [convert(value, access.dtype) for value in values]

    return store


def change_access(access: Access, compute: str) -> Function:
    """The interpreter's ``add_int64`` and ``max_int64``."""
    combine = np.add if access.direction == "add" else np.maximum

    def change(pointer, i, value):
        if isinstance(pointer, Shared):
            pointer[i] = combine(pointer[i], convert(value, access.dtype))
            return
        span = pointer.span(i, 1)
        pointer.array[span] = combine(pointer.array[span], convert(value, access.dtype))

    return change


def note_error(errors, number, element):
    """The interpreter's: unless something was noted before."""
    if not errors.array[0]:
        errors.array[:2] = number, element


def convert(value, dtype: str):
    """``value`` as the GPU stores it: halves by way of float32, integers wrapped, a complex's real part to a real."""
    target = dtype_of(dtype)
    if target.category == BOOL:
        return np.bool_(value != 0)
    if target.category != COMPLEX and isinstance(value, np.complexfloating):
        value = value.real
    if target.category == FLOATING:
        value = np.float32(value) if target.itemsize == 2 else value
    elif target.category != COMPLEX:
        value = np.asarray(value).astype(np.int64)
    return np.asarray(value).astype(target.numpy)[()]


def simt_names(dtype: str, accesses: Iterable[Access] = (), state: tuple[str, ...] = ()) -> dict:
    """What ``intrinsics.cuda_prims`` is for the GPU."""
    compute, makers = compute_dtype(dtype), {"load": load_access, "store": store_access, "put": store_access}
    makers |= {"add": change_access, "max": change_access}
    prims = numpy_prims(prims_dtype(dtype))
    return {
        **prims,
        "complex": complex_number(compute),
        "cuda": Machine(),
        "note_error": note_error,
        "pointer_of": lambda word: word,
        "where_index": prims["where"],
        "greatest": np.maximum,
        "near_reciprocal": lambda x: np.float32(1.0) / x,
        "near_reciprocal_root": lambda x: np.float32(1.0) / np.sqrt(x),
        "float_of_word": np.float32,
        "divide_by_magic": divide_by_magic,
        "multiply_add_i32": multiply_add_i32,
        "moved": lambda pointer, i: Pointer(pointer.array, pointer.offset + int(i)),
        "product_of_words": lambda x, y: int(x) * int(y),
        "byte_of_word": lambda x, shift: ((int(x) & 0xFFFFFFFF) >> int(shift)) & 255,
        **{a.name: makers[a.direction](a, a.compute(compute)) for a in accesses},
        **{f"STATE{s}": dtype_of(name).numpy for s, name in enumerate(state)},
    }


def complex_number(dtype: str) -> Function:
    """``complex`` in a kernel: of a real number or two parts, in the precision of the kernel."""
    scalar = dtype_of(dtype).to_complex().numpy.type
    return lambda real, imag=0.0: scalar(complex(real, imag))


def instantiate_scalar(scalar: Function, dtype: str) -> Function:
    """A scalar function that computes in ``dtype``, on NumPy's scalars."""
    source = scalar_source(scalar, dtype)
    return instantiate(source["scalar"], simt_names(dtype), source, narrowed_to(dtype))


class Shared:
    """An array in shared memory. Reading what no thread wrote raises: how a missing barrier shows itself."""

    def __init__(self, size: int, dtype: np.dtype):
        self.values, self.scalar = [None] * size, np.dtype(dtype).type

    def __getitem__(self, i):
        value = self.values[self._check(i)]
        if value is None:
            raise KernelError(f"simt: shared element {i} is read before it is written, {place()}. Hint: a barrier is missing.")
        return value

    def __setitem__(self, i, value):
        self.values[self._check(i)] = self.scalar(value)

    def _check(self, i):
        if not 0 <= i < len(self.values):
            raise KernelError(f"simt: shared element {i} of {len(self.values)}, {place()}.")
        return i


class Thread(greenlet):
    """``waits`` is None, ("barrier",), ("shuffle", value, distance, how) or ("match", value): what the thread stopped at."""

    def start(self, index, block, block_shape, grid, shared):
        self.index, self.block, self.block_shape, self.grid = index, block, block_shape, grid
        self.thread = SimpleNamespace(x=index)
        self.shared, self.arrays, self.waits, self.answer = shared, itertools.count(), None, None
        return self

    def wait(self, *event):
        self.waits = event
        self.parent.switch()
        return self.answer


class Machine:
    """The part of ``numba.cuda`` that kernels may use."""

    threadIdx = property(lambda self: getcurrent().thread)
    blockIdx = property(lambda self: getcurrent().block)
    blockDim = property(lambda self: getcurrent().block_shape)
    gridDim = property(lambda self: getcurrent().grid)
    shared = property(lambda self: SimpleNamespace(array=self._shared_array))

    def syncthreads(self):
        getcurrent().wait("barrier")

    def shfl_down_sync(self, mask, value, distance, how="down"):
        if mask != 0xFFFFFFFF:
            raise KernelError(f"simt: shuffle with mask {mask:#x}; only whole warps shuffle here.")
        return getcurrent().wait("shuffle", value, distance, how)

    def shfl_xor_sync(self, mask, value, bits):
        return self.shfl_down_sync(mask, value, bits, "xor")

    def shfl_up_sync(self, mask, value, distance):
        return self.shfl_down_sync(mask, value, -distance)

    def syncwarp(self):
        getcurrent().wait("barrier")

    def match_bits(self, value, bits):
        return getcurrent().wait("match", int(value) & 0xFFFFFFFF)

    def ballot(self, truth):
        same = self.match_bits(bool(truth), 1)
        return same if truth else same ^ 0xFFFFFFFF

    def popcount(self, lanes):
        return (int(lanes) & 0xFFFFFFFF).bit_count()

    def _shared_array(self, size, dtype):
        thread = getcurrent()  # the n-th array of every thread of a block is the same one
        key = next(thread.arrays)
        if key not in thread.shared:
            thread.shared[key] = Shared(size, dtype)
        return thread.shared[key]


def divide_by_magic(i, magic, shift):
    if not (0 <= i < 2**31 and 0 <= magic < 2**32 and 0 <= shift < 32):
        raise KernelError(f"simt: divide_by_magic of {i} by {magic} >> {shift} does not fit 32 bits, {place()}.")
    return (int(i) * int(magic) >> 32) >> shift


def multiply_add_i32(x, y, z):
    value = int(x) * int(y) + int(z)
    if not -(2**31) <= value < 2**31:
        raise KernelError(f"simt: offset {value} needs 64 bits, {place()}.")
    return value


def place() -> str:
    """The thread that runs, for messages."""
    thread = getcurrent() if getcurrent else None
    if not isinstance(thread, Thread):
        return "outside a launch"
    return f"thread {thread.index} of block {(thread.block.x, thread.block.y, thread.block.z)}"


def launch(kernel: Function, grid: Sequence[int], block: int, *args) -> None:
    """Run ``kernel`` on every block of ``grid`` (up to three dimensions), ``block`` threads each."""
    if getcurrent is None:
        raise KernelError("simt: the interpreter needs greenlet. Hint: pip install 'nbgrad[dev]'.")

    def silent(*args):  # NumPy's error state is a context variable: a greenlet does not inherit the caller's
        with np.errstate(all="ignore"):
            kernel(*args)

    for z, y, x in itertools.product(*(range(s) for s in reversed((*grid, 1, 1)[:3]))):
        shared: dict = {}
        shape = _dim3(x, y, z), _dim3(block), _dim3(*grid)
        run_block([Thread(silent).start(t, *shape, shared) for t in range(block)], args)


def run_block(threads: list[Thread], args: Sequence) -> None:
    """Run threads to their next meeting point, let those meet that can, and so on until all have ended."""
    for thread in threads:
        thread.switch(*args)
    while alive := [t for t in threads if not t.dead]:
        warps = [threads[w : w + WARP] for w in range(0, len(threads), WARP)]
        ready = [t for warp in warps if meet_shuffle(warp) or meet_match(warp) for t in warp] or meet_barrier(threads)
        if not ready:
            stuck = sorted({(t.waits or ("exited",))[0] for t in threads if not t.dead})
            raise KernelError(f"simt: deadlock: {len(alive)} of {len(threads)} threads wait, at {stuck}.")
        for thread in ready:
            thread.waits = None
            thread.switch()


def meet_shuffle(warp: list[Thread]) -> bool:
    """Exchange values if all of ``warp`` stand at the same shuffle; a lane without a source keeps its own value."""
    if not all(t.waits and t.waits[0] == "shuffle" and t.waits[2:] == warp[0].waits[2:] for t in warp):
        return False
    for lane, thread in enumerate(warp):
        source = lane + thread.waits[2] if thread.waits[3] == "down" else lane ^ thread.waits[2]
        thread.answer = warp[source if 0 <= source < len(warp) else lane].waits[1]
    return True


def meet_match(warp: list[Thread]) -> bool:
    """Tell each lane which ones have its value, if all of ``warp`` ask for that."""
    if not all(t.waits and t.waits[0] == "match" for t in warp):
        return False
    for thread in warp:
        thread.answer = sum(1 << lane for lane, other in enumerate(warp) if other.waits[1] == thread.waits[1])
    return True


def meet_barrier(threads: list[Thread]) -> list[Thread]:
    return threads if all(t.waits == ("barrier",) for t in threads) else []


def _dim3(x, y=1, z=1):
    return SimpleNamespace(x=x, y=y, z=z)
