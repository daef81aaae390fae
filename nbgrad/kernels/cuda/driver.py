"""The GPUs of this machine, as tensors use them: contexts, streams, memory from the driver, copies, kernels that are loaded.

What is done seldom goes through cuda.core; copies and waits through the driver's functions in cuda-bindings; a launch calls
the driver by its address (native/heaps.py), which is found here.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...base import config
from ...base.errors import DeviceError, KernelError
from ...base.locks import cached_once
from .build import Kernel, Recipe
from .faults import fault_error
from .host import import_core, missing

__all__ = ["Card", "card", "check", "count", "function_address"]

NON_BLOCKING = 1  # of a stream: CU_STREAM_NON_BLOCKING
NOT_READY = 600  # CUDA_ERROR_NOT_READY
TIMED, UNTIMED = 0, 2  # of an event: for ``between``, or CU_EVENT_DISABLE_TIMING
RUNS_WITH = 12000  # the version of CUDA whose functions are called by address
LOADS_IN_CAPTURES = 12030  # the first version of CUDA whose drivers load kernels while a stream is captured
PORTABLE, MAPPED = 1, 2  # flags of pinned memory: for all contexts; a GPU reaches it
ERROR_WORDS = 2


class Exhausted(Exception):
    """The driver has no memory."""


def bindings() -> Any:
    """The driver's functions."""
    import_core()
    from cuda.bindings import driver

    return driver


def check(what: str, result: tuple) -> Any:
    """What a function of the driver gives, without its code.

    Raises:
        KernelError: the code is an error's.
    """
    code, *values = result
    if int(code):
        raise failure(what, int(code))
    return values[0] if len(values) == 1 else tuple(values)


def failure(what: str, code: int) -> KernelError:
    """The error that a code of the driver means."""
    driver = bindings()
    _, name = driver.cuGetErrorName(driver.CUresult(code))
    _, text = driver.cuGetErrorString(driver.CUresult(code))
    told = " ".join(each.decode() for each in (name, text) if each) or f"error {code}"
    return KernelError(f"{what}: the driver refuses it: {told}. Hint: NBGRAD_CHECK=1 waits after every call and names the one.")


def is_ready(what: str, result: tuple) -> bool:
    """What a question of the driver's says that is answered by a code.

    Raises:
        KernelError: the code is another one.
    """
    if int(result[0]) != NOT_READY:
        check(what, result)
    return int(result[0]) != NOT_READY


@cache
def function_address(name: str) -> int:
    """Where a function of the driver is."""
    found = check(name, bindings().cuGetProcAddress(name.encode(), RUNS_WITH, 0))
    return int(found[0] if isinstance(found, tuple) else found)


@cached_once
def count() -> int:
    """How many GPUs there are; 0 where none can be used."""
    if missing() is not None:
        return 0
    return len(import_core().Device.get_all_devices())


@cached_once
def card(index: int) -> Card:
    """A GPU by its number.

    Raises:
        DeviceError: it is not there.
    """
    if (reason := missing()) is not None:
        raise DeviceError(reason)
    if not 0 <= index < count():
        raise DeviceError(f"cuda: there is no GPU {index}; expected 0 to {count() - 1}. Hint: nbgrad.cuda.device_count().")
    return Card(index)


@cached_once
def loads_in_captures() -> bool:
    """Whether the driver loads kernels while a stream is captured.

    NOTE [Kernels in a capture]: to load one is no work of a stream, but might wait for some: a thread that captures may not do it
    unless it has said that it takes captures lightly (``at_ease``). Drivers of CUDA 12.3 and later wait for nothing then. A driver
    that loads lazily would do it with the first launch, which is captured: asked for the kernel's function, it does so at once.
    Source: CUDA Driver API, cuThreadExchangeStreamCaptureMode and cuKernelGetFunction; warp.capture_begin of NVIDIA Warp, for 12.3.
    """
    return int(check("cuda", bindings().cuDriverGetVersion())) >= LOADS_IN_CAPTURES


@contextmanager
def at_ease() -> Iterator[None]:
    """Allow what might wait somewhere, though a stream is captured, and does not: asking for memory, loading kernels."""
    driver = bindings()
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = check("cuda", driver.cuThreadExchangeStreamCaptureMode(mode))
    try:
        yield
    finally:
        check("cuda", driver.cuThreadExchangeStreamCaptureMode(before))


class Card:
    """A GPU.

    Attributes:
        index: its number; ``device``: as cuda.core has it.
        context: the handle of its primary context.
        noted, errors: where kernels note what is wrong, as the host and as the GPU see it.
        copies: how many there were, from, to and on it.
        stream: the stream on which everything runs that no other is chosen for; it waits for the legacy default stream, and that
            one for it, so that other libraries' work and ours are in order.
    """

    def __init__(self, index: int):
        core = import_core()
        self.index, self.process = index, os.getpid()
        self.device = core.Device(index)
        self.device.set_current()
        self.context = int(self.device.context.handle)
        self.stream = self.device.create_stream(options=core.StreamOptions(nonblocking=False))
        self.pool = core.DeviceMemoryResource(self.device)
        self.arch = "sm_{}{}".format(*self.device.compute_capability)
        self._kernels: dict[str, tuple[Any, int]] = {}
        self._events: dict[int, list[int]] = {}  # unused ones, by their flags
        self._buffers: dict[int, Any] = {}
        self.copies = 0
        flags = PORTABLE | MAPPED
        words = int(check("cuda", bindings().cuMemHostAlloc(8 * ERROR_WORDS, flags)))
        self.noted = (ctypes.c_int64 * ERROR_WORDS).from_address(words)
        self.noted[:] = [0] * ERROR_WORDS
        self.errors = int(check("cuda", bindings().cuMemHostGetDevicePointer(words, 0)))

    def look(self) -> None:
        """See what kernels that are done have found wrong: NOTE [Errors on the device] of steps.py.

        Raises:
            DimError, IndexError or whatever the operation raises on the CPU: an element was wrong.
        """
        number = self.noted[0]
        if number:
            element = self.noted[1]
            self.noted[0], self.noted[1] = 0, 0
            raise fault_error(number, element)

    guard: Callable[[str], None] | None = None

    def ask_guard(self, what: str) -> None:
        """Ask whether something may be done that no capture can have: tensors/cuda_graphs.py."""
        if self.guard is not None:
            self.guard(what)

    # Told of every stop: set for all GPUs by tensors/stops.py.
    stopped: ClassVar[Callable[[int], None] | None] = None

    def may_stop(self, what: str) -> None:
        """The program is about to wait for the GPU, which neither a capture nor ``set_sync_debug_mode`` may have refused.

        What the program waits for by name (``synchronize``, events), and what memory asks for, is no such stop.
        """
        self.ask_guard(what)
        if Card.stopped is not None:
            Card.stopped(self.index)

    def activate(self) -> None:
        """Make the GPU the one that this thread's calls of the driver mean. Errors are those of ``require_process``."""
        self.require_process()
        check("cuda", bindings().cuCtxSetCurrent(self.context))

    def require_process(self) -> None:
        """Refuse to be used after a fork.

        Raises:
            DeviceError: the process is a child of the one that has opened the GPU.
        """
        if os.getpid() != self.process:
            raise DeviceError(
                f"cuda: this process was forked from one that uses cuda:{self.index}, which CUDA does not allow. "
                "Hint: multiprocessing.get_context('spawn')."
            )

    # ---- memory --------------------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int, stream: int) -> int:
        """Memory from the driver, for a stream: its address.

        Raises:
            Exhausted: there is none.
        """
        self.activate()
        core = import_core()
        try:
            with at_ease():
                buffer = self.pool.allocate(nbytes, stream=core.Stream.from_handle(stream))
        except Exception as error:  # cuda.core raises a type of its own
            if "OUT_OF_MEMORY" in str(error):
                raise Exhausted from None
            raise
        address = int(buffer.handle)
        self._buffers[address] = buffer
        return address

    def release(self, address: int, stream: int) -> int:
        """Give memory back to the driver, behind what a stream has got to do; how many bytes that were."""
        buffer = self._buffers.pop(address)
        nbytes = int(buffer.size)
        with at_ease():
            buffer.close(import_core().Stream.from_handle(stream))
        return nbytes

    def trim(self) -> None:
        """Let the driver's pool give what is not in use back to the system."""
        self.activate()
        check("empty_cache", bindings().cuMemPoolTrimTo(int(self.pool.handle), 0))

    def room(self) -> tuple[int, int]:
        """Bytes of the GPU that are free, and all that it has."""
        self.activate()
        free, total = check("mem_get_info", bindings().cuMemGetInfo())
        return int(free), int(total)

    def allocate_pinned(self, nbytes: int) -> Any:
        """Memory of the host that GPUs fetch from, as cuda.core's buffer.

        Raises:
            Exhausted: there is none.
        """
        self.activate()
        try:
            with at_ease():
                return import_core().LegacyPinnedMemoryResource().allocate(nbytes)
        except Exception as error:  # cuda.core raises a type of its own
            if "OUT_OF_MEMORY" in str(error):
                raise Exhausted from None
            raise

    def upload(self, address: int, array: np.ndarray, stream: int) -> None:
        """Copy a contiguous array to the GPU. In pageable memory it is free when this returns, in pinned memory when it is done."""
        self.activate()
        self.copies += 1
        check("to", bindings().cuMemcpyHtoDAsync(address, array.ctypes.data, array.nbytes, stream))

    def download(self, array: np.ndarray, address: int, stream: int) -> None:
        """Copy from the GPU to a contiguous array, when all work before it is done. One in pinned memory is not waited for."""
        self.activate()
        self.copies += 1
        check("cpu", bindings().cuMemcpyDtoHAsync(array.ctypes.data, address, array.nbytes, stream))

    def copy(self, to: int, address: int, nbytes: int, stream: int) -> None:
        """Copy on the GPU."""
        self.activate()
        self.copies += 1
        check("copy", bindings().cuMemcpyDtoDAsync(to, address, nbytes, stream))

    def copy_from(self, other: Card, to: int, address: int, nbytes: int, stream: int) -> None:
        """Copy from another GPU, on a stream of that one."""
        other.activate()
        other.copies += 1
        check("to", bindings().cuMemcpyPeerAsync(to, self.context, address, other.context, nbytes, stream))

    def fill(self, address: int, byte: int, nbytes: int, stream: int) -> None:
        """Set bytes."""
        self.activate()
        check("fill", bindings().cuMemsetD8Async(address, byte, nbytes, stream))

    def wait(self, stream: int, known: bool = False) -> None:
        """Wait until a stream has nothing to do, and ``look``; ``known``: ``may_stop`` was called before."""
        if not known:
            self.may_stop("wait")
        self.settle(stream)
        self.look()

    def settle(self, stream: int) -> None:
        """Wait until a stream has nothing to do."""
        self.ask_guard("wait")
        self.activate()
        check("synchronize", bindings().cuStreamSynchronize(stream))

    def finish(self) -> None:
        """Wait until the GPU has nothing to do, and ``look``."""
        self.ask_guard("wait")
        self.activate()
        check("synchronize", bindings().cuCtxSynchronize())
        self.look()

    # ---- streams and events --------------------------------------------------------------------------------------------

    def new_stream(self, priority: int) -> int:
        """A stream that waits for no other by itself; it lives as long as the process."""
        self.activate()
        return int(check("Stream", bindings().cuStreamCreateWithPriority(NON_BLOCKING, priority)))

    def priorities(self) -> tuple[int, int]:
        """The least and the greatest priority of streams; the greatest is the smaller number."""
        self.activate()
        least, greatest = check("Stream.priority_range", bindings().cuCtxGetStreamPriorityRange())
        return int(least), int(greatest)

    def priority_of(self, stream: int) -> int:
        """A stream's priority."""
        self.activate()
        return int(check("Stream.priority", bindings().cuStreamGetPriority(stream)))

    def reaches(self, other: int) -> bool:
        """Whether kernels here can read another GPU's memory."""
        return bool(check("can_device_access_peer", bindings().cuDeviceCanAccessPeer(self.index, other)))

    def has_stream(self, stream: int) -> bool:
        """Whether a stream is of this GPU."""
        self.activate()
        context = check("ExternalStream", bindings().cuStreamGetCtx(stream))
        return int(context[0] if isinstance(context, tuple) else context) == self.context

    def is_done(self, stream: int) -> bool:
        """Whether a stream has nothing to do."""
        self.activate()
        return is_ready("Stream.query", bindings().cuStreamQuery(stream))

    def take_event(self, flags: int = UNTIMED) -> int:
        """An event, which ``give_event`` takes back."""
        kept = self._events.get(flags)
        if kept:
            return kept.pop()
        self.activate()
        return int(check("Event", bindings().cuEventCreate(flags)))

    def give_event(self, event: int, flags: int = UNTIMED) -> None:
        """Keep an event for another time. What waits for it waits for where it was recorded when that was asked for."""
        self._events.setdefault(flags, []).append(event)

    def record(self, event: int, stream: int) -> None:
        """Let an event mean what a stream has got to do so far."""
        self.activate()
        check("Event.record", bindings().cuEventRecord(event, stream))

    def let_wait(self, stream: int, event: int) -> None:
        """Let a stream go on when an event is reached, of whichever GPU."""
        self.activate()
        check("Event.wait", bindings().cuStreamWaitEvent(stream, event, 0))

    def is_reached(self, event: int) -> bool:
        """Whether what an event means is done."""
        self.activate()
        return is_ready("Event.query", bindings().cuEventQuery(event))

    def wait_for(self, event: int) -> None:
        """Wait until what an event means is done."""
        self.ask_guard("wait")
        self.activate()
        check("Event.synchronize", bindings().cuEventSynchronize(event))

    def between(self, first: int, last: int) -> float:
        """The milliseconds between two events that are reached."""
        self.activate()
        return float(check("Event.elapsed_time", bindings().cuEventElapsedTime(first, last)))

    # ---- captures ------------------------------------------------------------------------------------------------------

    def is_capturing(self, stream: int) -> bool:
        """Whether the work of a stream is captured, and not done."""
        self.activate()
        return int(check("is_current_stream_capturing", bindings().cuStreamIsCapturing(stream))) != 0

    def begin_capture(self, stream: int, mode: int) -> None:
        """Have the work of a stream captured, in one of the driver's modes."""
        self.activate()
        driver = bindings()
        check("capture_begin", driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode(mode)))

    def end_capture(self, stream: int) -> int:
        """The graph of what was captured."""
        self.activate()
        return int(check("capture_end", bindings().cuStreamEndCapture(stream)))

    def executable(self, graph: int) -> int:
        """What can be launched of a graph."""
        self.activate()
        return int(check("capture_end", bindings().cuGraphInstantiate(graph, 0)))

    def drop_graph(self, graph: int, executable: int) -> None:
        """Let go of them; either may be 0."""
        self.activate()
        if graph:
            check("reset", bindings().cuGraphDestroy(graph))
        if executable:
            check("reset", bindings().cuGraphExecDestroy(executable))

    def replay(self, executable: int, stream: int) -> None:
        """Launch a graph."""
        self.activate()
        check("replay", bindings().cuGraphLaunch(executable, stream))

    # ---- kernels -------------------------------------------------------------------------------------------------------

    def kernel(self, recipe: Recipe) -> int:
        """The handle of a kernel, which is compiled if it is not on disk, and loaded: NOTE [Kernels in a capture]."""
        key = recipe.key(self.arch)
        found = self._kernels.get(key)
        if found is None:
            if not loads_in_captures():
                self.ask_guard("kernel")
            self.activate()
            with at_ease():
                built = self.build(recipe)
                loaded = import_core().ObjectCode.from_cubin(built.cubin).get_kernel(built.name)
                found = self._kernels[key] = loaded, int(loaded.handle)
                check("cuda", bindings().cuKernelGetFunction(found[1]))
        return found[1]

    def build(self, recipe: Recipe) -> Kernel:
        """The kernel as this GPU loads it."""
        if not config.EMULATED:
            from .store import load_or_build

            return load_or_build(recipe, arch=self.arch)[0]
        from .emulated.device import image_of, kernel_of

        return Kernel(recipe.name, image_of(kernel_of(recipe.template, recipe.scalar, recipe.dtype, recipe.source)))
