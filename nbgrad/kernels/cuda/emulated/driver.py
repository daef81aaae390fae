"""CUDA's driver, played: the entry points that cuda.core and our launches call, over the emulated device.

NOTE [What the driver says]: an entry point gives 0 or an error number of CUDA's. Whatever a kernel must not do is told by the next
call that waits, as ``LAUNCH_FAILED``; its text is that of the fault, and, as with a real fault, no later call of the device
succeeds. What is missing here says ``NOT_SUPPORTED`` by name.

Source of names, numbers and order of parameters: CUDA Driver API reference.
"""

from __future__ import annotations

import atexit
import ctypes
import random
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from ....base.errors import KernelError
from .device import Allocation, Device, Kernel, kernel_of_image
from .library import Library
from .limits import GRID_LIMITS, THREAD_LIMIT
from .timeline import Event, Stream, Timeline, merge

__all__ = ["Driver", "install"]

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
NO_DEVICE, INVALID_DEVICE, INVALID_IMAGE, INVALID_CONTEXT = 100, 101, 200, 201
INVALID_HANDLE, NOT_FOUND, NOT_READY, LAUNCH_FAILED, NOT_SUPPORTED = 400, 500, 600, 719, 801
NAMES = {
    SUCCESS: "CUDA_SUCCESS", INVALID_VALUE: "CUDA_ERROR_INVALID_VALUE", OUT_OF_MEMORY: "CUDA_ERROR_OUT_OF_MEMORY",
    NOT_INITIALIZED: "CUDA_ERROR_NOT_INITIALIZED", NO_DEVICE: "CUDA_ERROR_NO_DEVICE", INVALID_DEVICE: "CUDA_ERROR_INVALID_DEVICE",
    INVALID_IMAGE: "CUDA_ERROR_INVALID_IMAGE", INVALID_CONTEXT: "CUDA_ERROR_INVALID_CONTEXT",
    INVALID_HANDLE: "CUDA_ERROR_INVALID_HANDLE", NOT_FOUND: "CUDA_ERROR_NOT_FOUND", NOT_READY: "CUDA_ERROR_NOT_READY",
    701: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", LAUNCH_FAILED: "CUDA_ERROR_LAUNCH_FAILED", NOT_SUPPORTED: "CUDA_ERROR_NOT_SUPPORTED",
}  # fmt: skip
VERSION = 13000
CAPABILITY = (9, 0)
MEMORY = 4 << 30  # bytes that a device says it has
MOST_ENTRIES = 1024  # names that may be asked for
NON_BLOCKING, NO_TIMING = 1, 2
LEGACY, PER_THREAD = 1, 2
DEVICE_MEMORY, HOST_MEMORY = 2, 1
# CUdevice_attribute.
ATTRIBUTES = {
    1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2**31 - 1, 6: 65535, 7: 65535, 8: 48 << 10, 9: 64 << 10, 10: 32, 12: 65536, 13: 1_000_000,
    14: 512, 16: 2, 18: 0, 20: 0, 31: 1, 32: 0, 33: 0, 34: 0, 35: 0, 39: 2048, 40: 2, 41: 1, 75: CAPABILITY[0], 76: CAPABILITY[1],
    78: 1, 81: 228 << 10, 82: 65536, 83: 0, 88: 0, 97: 227 << 10, 115: 1,
}  # fmt: skip

ENTRIES: dict[str, tuple[tuple[Any, ...], Callable]] = {}
KINDS = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "n": ctypes.c_size_t,
    "s": ctypes.c_char_p,
    "c": ctypes.c_ubyte,
}


def entry(kinds: str, *names: str) -> Callable:
    """A method that is an entry point, under its own name or others; ``kinds``: a letter for each parameter."""

    def note(function: Callable) -> Callable:
        for name in names or (function.__name__,):
            ENTRIES[name] = (tuple(KINDS[kind] for kind in kinds), function)
        return function

    return note


class Refused(Exception):
    """A call that gives an error number."""

    def __init__(self, number: int):
        self.number = number


def put(kind: Any, address: int | None, value: Any) -> None:
    """A result, into the memory that the caller names."""
    if address:
        kind.from_address(address).value = value


def put_handle(address: int, value: int) -> None:
    put(ctypes.c_uint64, address, value)


class Driver:
    """The state of the driver.

    Args:
        devices: how many there are.
        checked, seed: of their kernels and of the order of work.

    Attributes:
        fault: what a kernel did that it must not do.
        calls: how often each entry point was called.
        failures: what is to go wrong on demand, by entry points: at which of the next calls, and with which number.
        version: as the driver says it.
    """

    def __init__(self, devices: int = 2, checked: bool = True, seed: int = 0):
        self.devices = [Device(checked, seed + k) for k in range(devices)]
        self.timeline = Timeline(seed)
        self.handles: dict[int, Any] = {}
        self.next = 0x1000
        self.of_thread = threading.local()
        self.fault: str | None = None
        self.calls: dict[str, int] = {}
        self.failures: dict[str, list[tuple[int, int]]] = {}
        self.version = VERSION
        self.texts: dict[str, Any] = {}
        self.allocations: dict[int, tuple[int, Allocation]] = {}
        self.pinned: dict[int, Any] = {}

    def recover(self, seed: int = 0) -> None:
        """Forget what was wrong and what is queued, as a new process would; memory and streams stay."""
        self.fault, self.timeline.random = None, random.Random(seed)
        self.failures.clear()
        self.version = VERSION
        for stream in self.timeline.streams:
            stream.queue.clear()

    def fail(self, name: str, number: int, at: int = 1) -> None:
        """Let a call of an entry point give an error number: the next one, or one of those behind it."""
        self.failures.setdefault(name, []).append((self.calls.get(name, 0) + at, number))

    def meet(self, name: str) -> None:
        """Count a call, and let it fail if it is to."""
        count = self.calls[name] = self.calls.get(name, 0) + 1
        for at, number in self.failures.get(name, ()):
            if at == count:
                raise Refused(number)

    @property
    def context(self) -> list[int]:
        """The devices whose contexts are current in this thread, the innermost last."""
        found: list[int] = self.of_thread.__dict__.setdefault("context", [])
        return found

    # ---- handles -------------------------------------------------------------------------------------------------------

    def handle(self, thing: Any) -> int:
        self.next += 0x10
        self.handles[self.next] = thing
        return self.next

    def thing(self, handle: int | None, kind: type) -> Any:
        found = self.handles.get(handle or 0)
        if not isinstance(found, kind):
            raise Refused(INVALID_HANDLE)
        return found

    def stream(self, handle: int | None) -> Stream:
        if not handle or handle in (LEGACY, PER_THREAD):
            return self.timeline.default(self.current())
        return self.thing(handle, Stream)

    def current(self) -> int:
        if not self.context:
            raise Refused(INVALID_CONTEXT)
        return self.context[-1]

    def device(self, number: int) -> Device:
        if not 0 <= number < len(self.devices):
            raise Refused(INVALID_DEVICE)
        return self.devices[number]

    def wait(self, finish: Callable[..., None], *what: Any) -> None:
        """Wait for work; what it must not do is this call's error, and that of all later ones."""
        if self.fault is None:
            try:
                finish(*what)
            except KernelError as error:
                self.fault = str(error)
        if self.fault is not None:
            raise Refused(LAUNCH_FAILED)

    def text(self, string: str) -> int:
        """The address of a string that stays."""
        found = self.texts.setdefault(string, ctypes.create_string_buffer(string.encode()))
        return ctypes.addressof(found)

    # ---- errors, versions ------------------------------------------------------------------------------------------------

    @entry("u")
    def cuInit(self, flags):
        if not self.devices:
            raise Refused(NO_DEVICE)

    @entry("p")
    def cuDriverGetVersion(self, version):
        put(ctypes.c_int, version, self.version)

    @entry("ip")
    def cuGetErrorName(self, error, out):
        put_handle(out, self.text(NAMES.get(error, f"CUDA_ERROR_{error}")))

    @entry("ip")
    def cuGetErrorString(self, error, out):
        told = self.fault if error == LAUNCH_FAILED and self.fault else NAMES.get(error, f"error {error}")
        put_handle(out, self.text(told))

    # ---- devices -----------------------------------------------------------------------------------------------------------

    @entry("p")
    def cuDeviceGetCount(self, out):
        put(ctypes.c_int, out, len(self.devices))

    @entry("pi")
    def cuDeviceGet(self, out, number):
        self.device(number)
        put(ctypes.c_int, out, number)

    @entry("pii")
    def cuDeviceGetName(self, out, size, device):
        ctypes.memmove(out, b"nbgrad emulated device\0"[:size], min(size, 23))

    @entry("pi")
    def cuDeviceGetUuid(self, out, device):
        ctypes.memmove(out, b"nbgrad-emulated" + bytes([device]), 16)

    @entry("pi")
    def cuDeviceTotalMem(self, out, device):
        put(ctypes.c_size_t, out, MEMORY)

    @entry("pii")
    def cuDeviceGetAttribute(self, out, attribute, device):
        self.device(device)
        put(ctypes.c_int, out, ATTRIBUTES.get(attribute, 0))

    @entry("pii")
    def cuDeviceCanAccessPeer(self, out, device, peer):
        put(ctypes.c_int, out, 1)

    @entry("pp")
    def cuMemGetInfo(self, free, total):
        put(ctypes.c_size_t, free, MEMORY - self.used())
        put(ctypes.c_size_t, total, MEMORY)

    # ---- contexts ------------------------------------------------------------------------------------------------------------
    # The context of device k is the handle k + 1.

    @entry("pi")
    def cuDevicePrimaryCtxRetain(self, out, device):
        self.device(device)
        put_handle(out, device + 1)

    @entry("i")
    def cuDevicePrimaryCtxRelease(self, device):
        pass

    @entry("ipp")
    def cuDevicePrimaryCtxGetState(self, device, flags, active):
        put(ctypes.c_uint, flags, 0)
        put(ctypes.c_int, active, 1)

    @entry("p")
    def cuCtxSetCurrent(self, context):
        self.context[-1:] = [context - 1] if context else []

    @entry("p")
    def cuCtxPushCurrent(self, context):
        self.context.append(context - 1)

    @entry("p")
    def cuCtxPopCurrent(self, out):
        put_handle(out, self.current() + 1)
        self.context.pop()

    @entry("p")
    def cuCtxGetCurrent(self, out):
        put_handle(out, self.context[-1] + 1 if self.context else 0)

    @entry("p")
    def cuCtxGetDevice(self, out):
        put(ctypes.c_int, out, self.current())

    @entry("pp")
    def cuCtxGetDevice_v2(self, out, context):
        put(ctypes.c_int, out, context - 1)

    @entry("")
    def cuCtxSynchronize(self):
        self.wait(self.timeline.finish_device, self.current())

    @entry("pp")
    def cuCtxGetStreamPriorityRange(self, least, greatest):
        put(ctypes.c_int, least, 0)
        put(ctypes.c_int, greatest, -5)

    # ---- streams and events ------------------------------------------------------------------------------------------------

    @entry("pu")
    def cuStreamCreate(self, out, flags):
        self.cuStreamCreateWithPriority(out, flags, 0)

    @entry("pui")
    def cuStreamCreateWithPriority(self, out, flags, priority):
        made = self.timeline.add(Stream(self.current(), not flags & NON_BLOCKING, priority))
        put_handle(out, self.handle(made))

    @entry("p")
    def cuStreamDestroy(self, handle):
        stream = self.stream(handle)
        self.wait(self.timeline.finish_stream, stream)
        self.timeline.streams.remove(stream)
        del self.handles[handle]

    @entry("p")
    def cuStreamSynchronize(self, handle):
        self.wait(self.timeline.finish_stream, self.stream(handle))

    @entry("p")
    def cuStreamQuery(self, handle):
        if self.stream(handle).queue:
            raise Refused(NOT_READY)
        merge(self.timeline.host, self.stream(handle).clock)

    @entry("pp")
    def cuStreamGetCtx(self, handle, out):
        put_handle(out, self.stream(handle).device + 1)

    @entry("pp")
    def cuStreamGetDevice(self, handle, out):
        put(ctypes.c_int, out, self.stream(handle).device)

    @entry("pp")
    def cuStreamGetPriority(self, handle, out):
        put(ctypes.c_int, out, self.stream(handle).priority)

    @entry("pp")
    def cuStreamGetFlags(self, handle, out):
        put(ctypes.c_uint, out, 0 if self.stream(handle).blocking else NON_BLOCKING)

    @entry("pp")
    def cuStreamGetId(self, handle, out):
        put(ctypes.c_uint64, out, handle or 1)

    @entry("pp")
    def cuStreamIsCapturing(self, handle, out):
        put(ctypes.c_int, out, 0)

    @entry("ppu")
    def cuStreamWaitEvent(self, handle, event, flags):
        self.timeline.wait(self.stream(handle), self.thing(event, Event))

    @entry("pu")
    def cuEventCreate(self, out, flags):
        self.current()
        put_handle(out, self.handle(Event(not flags & NO_TIMING)))

    @entry("p")
    def cuEventDestroy(self, event):
        self.thing(event, Event)
        del self.handles[event]

    @entry("pp")
    def cuEventRecord(self, event, stream):
        self.timeline.record(self.stream(stream), self.thing(event, Event))

    @entry("ppu")
    def cuEventRecordWithFlags(self, event, stream, flags):
        self.cuEventRecord(event, stream)

    @entry("p")
    def cuEventQuery(self, event):
        mark = self.thing(event, Event).mark
        if mark is not None and not mark.reached:
            raise Refused(NOT_READY)
        if mark is not None:
            merge(self.timeline.host, mark.clock)

    @entry("p")
    def cuEventSynchronize(self, event):
        self.wait(self.timeline.finish_event, self.thing(event, Event))

    @entry("ppp")
    def cuEventElapsedTime(self, out, first, last):
        first, last = self.thing(first, Event), self.thing(last, Event)
        if first.mark is None or last.mark is None or not first.timed or not last.timed:
            raise Refused(INVALID_HANDLE)
        if not first.mark.reached or not last.mark.reached:
            raise Refused(NOT_READY)
        put(ctypes.c_float, out, float(last.reached_at - first.reached_at))  # a piece of work takes a millisecond

    # ---- memory --------------------------------------------------------------------------------------------------------------

    def used(self) -> int:
        """Bytes that are allocated."""
        return sum(each.nbytes for _, each in self.allocations.values())

    def allocate(self, nbytes: int) -> int:
        device = self.current()
        if self.used() + nbytes > MEMORY:
            raise Refused(OUT_OF_MEMORY)
        made = self.devices[device].allocate(nbytes)
        self.allocations[made.address] = device, made
        return made.address

    def free(self, address: int) -> None:
        device, allocation = self.allocations.pop(address)
        self.timeline.touch(allocation.history, True, f"({name_of(allocation)}, to free it)")
        self.devices[device].release(allocation)

    @entry("pn")
    def cuMemAlloc(self, out, nbytes):
        if not nbytes:
            raise Refused(INVALID_VALUE)
        put_handle(out, self.allocate(nbytes))

    @entry("p")
    def cuMemFree(self, address):
        if address not in self.allocations:
            raise Refused(INVALID_VALUE)
        self.wait(self.timeline.finish_device, self.allocations[address][0])
        self.free(address)

    @entry("pi")
    def cuDeviceGetDefaultMemPool(self, out, device):
        put_handle(out, self.pool(device))

    @entry("pi")
    def cuDeviceGetMemPool(self, out, device):
        put_handle(out, self.pool(device))

    def pool(self, device: int) -> int:
        found = next((handle for handle, thing in self.handles.items() if thing == ("pool", device)), None)
        return self.handle(("pool", device)) if found is None else found

    @entry("pp")
    def cuMemPoolCreate(self, out, properties):
        put_handle(out, self.handle(("pool", self.current())))

    @entry("p")
    def cuMemPoolDestroy(self, pool):
        self.handles.pop(pool, None)

    @entry("pip")
    def cuMemPoolSetAttribute(self, pool, attribute, value):
        self.thing(pool, tuple)

    @entry("pip")
    def cuMemPoolGetAttribute(self, pool, attribute, out):
        self.thing(pool, tuple)
        put(ctypes.c_uint64, out, self.used() if attribute >= 5 else 0)

    @entry("ppp")
    def cuMemPoolGetAccess(self, out, pool, location):
        put(ctypes.c_int, out, 3)

    @entry("pn")
    def cuMemPoolTrimTo(self, pool, keep):
        self.thing(pool, tuple)

    @entry("pnpp")
    def cuMemAllocFromPoolAsync(self, out, nbytes, pool, stream):
        self.thing(pool, tuple)
        put_handle(out, self.allocate(nbytes))

    @entry("pnp")
    def cuMemAllocAsync(self, out, nbytes, stream):
        put_handle(out, self.allocate(nbytes))

    @entry("pp")
    def cuMemFreeAsync(self, address, stream):
        if address not in self.allocations:
            raise Refused(INVALID_VALUE)
        self.timeline.queue(self.stream(stream), lambda: self.free(address))

    @entry("pnu")
    def cuMemHostAlloc(self, out, nbytes, flags):
        memory = ctypes.create_string_buffer(max(nbytes, 1) + 64)
        address = -(-ctypes.addressof(memory) // 64) * 64
        self.pinned[address] = memory, nbytes
        put_handle(out, address)

    @entry("pn")
    def cuMemAllocHost(self, out, nbytes):
        self.cuMemHostAlloc(out, nbytes, 0)

    @entry("p")
    def cuMemFreeHost(self, address):
        del self.pinned[address]

    def memory_of(self, address: int) -> tuple[int, Allocation] | None:
        """The device and allocation in which an address lies."""
        for device, each in self.allocations.values():
            if each.address <= address < each.address + each.nbytes:
                return device, each
        return None

    def is_pinned(self, address: int) -> bool:
        return any(start <= address < start + max(nbytes, 1) for start, (_, nbytes) in self.pinned.items())

    @entry("ppnp")
    def cuMemcpyAsync(self, target, source, nbytes, handle):
        stream = self.stream(handle)
        into, of = self.memory_of(target), self.memory_of(source)
        if of is None and not self.is_pinned(source):  # pageable: what is there now
            taken = ctypes.string_at(source, nbytes)
            self.timeline.queue(stream, lambda: self.fill(target, taken, nbytes))
        else:
            before = ctypes.string_at(source, nbytes) if of is None else None
            self.timeline.queue(stream, lambda: self.copy(target, source, nbytes, before))
        if into is None and not self.is_pinned(target):
            self.wait(self.timeline.finish_stream, stream)

    @entry("ppn")
    def cuMemcpy(self, target, source, nbytes):
        self.cuMemcpyAsync(target, source, nbytes, None)
        self.cuStreamSynchronize(None)

    @entry("ppnp")
    def cuMemcpyHtoDAsync(self, target, source, nbytes, stream):
        self.cuMemcpyAsync(target, source, nbytes, stream)

    @entry("ppnp")
    def cuMemcpyDtoHAsync(self, target, source, nbytes, stream):
        self.cuMemcpyAsync(target, source, nbytes, stream)

    @entry("ppnp")
    def cuMemcpyDtoDAsync(self, target, source, nbytes, stream):
        self.cuMemcpyAsync(target, source, nbytes, stream)

    def fill(self, target: int, data: bytes, nbytes: int) -> None:
        self.written(target, nbytes)
        ctypes.memmove(target, data, nbytes)

    def copy(self, target: int, source: int, nbytes: int, before: bytes | None) -> None:
        """Copy; ``before``: what was to be copied from memory of the host, when that was asked for."""
        of = self.memory_of(source)
        if of is not None:
            self.timeline.touch(of[1].history, False, name_of(of[1]))
        elif ctypes.string_at(source, nbytes) != before:
            raise KernelError(
                f"copy: {nbytes} bytes of the host's memory were changed before they were copied. Hint: wait for the copy."
            )
        if of is not None and source + nbytes > of[1].address + of[1].nbytes:
            raise KernelError(f"copy: {nbytes} bytes from byte {source - of[1].address} of an allocation of {of[1].nbytes}.")
        self.written(target, nbytes, None if of is None else of[1].shadow[source - of[1].address :][:nbytes, 0])
        ctypes.memmove(target, source, nbytes)

    def written(self, target: int, nbytes: int, stamps: Any = None) -> None:
        """Note that memory was written to; with ``stamps`` as far as what was copied there had been."""
        into = self.memory_of(target)
        if into is None:
            return
        first, allocation = target - into[1].address, into[1]
        self.timeline.touch(allocation.history, True, name_of(allocation))
        if first + nbytes > allocation.nbytes:
            raise KernelError(f"copy: {nbytes} bytes to byte {first} of an allocation of {allocation.nbytes}.")
        allocation.shadow[first : first + nbytes, 0] = 1 if stamps is None else stamps != 0

    @entry("pcnp")
    def cuMemsetD8Async(self, target, value, count, stream):
        self.timeline.queue(self.stream(stream), lambda: self.fill(target, bytes([value]) * count, count))

    @entry("punp")
    def cuMemsetD32Async(self, target, value, count, stream):
        data = value.to_bytes(4, "little") * count
        self.timeline.queue(self.stream(stream), lambda: self.fill(target, data, 4 * count))

    @entry("uppp")
    def cuPointerGetAttributes(self, count, attributes, data, address):
        found = self.memory_of(address)
        for k in range(count):
            attribute = ctypes.c_int.from_address(attributes + 4 * k).value
            out = ctypes.c_uint64.from_address(data + 8 * k).value
            if attribute == 2:  # memory type
                kind = DEVICE_MEMORY if found else HOST_MEMORY if self.is_pinned(address) else 0
                put(ctypes.c_uint, out, kind)
            elif attribute == 9:  # device ordinal
                put(ctypes.c_int, out, found[0] if found else -2)
            elif attribute == 8:  # managed
                put(ctypes.c_uint, out, 0)
            elif attribute in (3, 4):  # as the device, as the host sees it
                put(ctypes.c_uint64, out, address)
            else:
                put(ctypes.c_uint64, out, 0)

    # ---- kernels -------------------------------------------------------------------------------------------------------------

    @entry("ppppuppu")
    def cuLibraryLoadData(self, out, code, *options):
        kernel = kernel_of_image(ctypes.string_at(code, 32))
        if kernel is None:
            raise Refused(INVALID_IMAGE)
        put_handle(out, self.handle(("library", kernel)))

    @entry("p")
    def cuLibraryUnload(self, handle):
        self.handles.pop(handle, None)

    @entry("pps")
    def cuLibraryGetKernel(self, out, handle, name):
        kernel = self.thing(handle, tuple)[1]
        if kernel.name != name.decode():
            raise Refused(NOT_FOUND)
        put_handle(out, self.handle(kernel))

    @entry("pp")
    def cuKernelGetFunction(self, out, kernel):
        put_handle(out, kernel)

    @entry("pipi")
    def cuKernelGetAttribute(self, out, attribute, kernel, device):
        put(ctypes.c_int, out, {0: 1024, 1: self.handles[kernel].shared}.get(attribute, 0))

    @entry("pppp")
    def cuLaunchKernelEx(self, config, kernel, parameters, extra):
        numbers = (ctypes.c_uint * 7).from_address(config)
        stream = ctypes.c_uint64.from_address(config + 32).value
        self.queue_launch(kernel, tuple(numbers[:3]), tuple(numbers[3:6]), stream, parameters)

    @entry("puuuuuuuppp")
    def cuLaunchKernel(self, kernel, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        self.queue_launch(kernel, (gx, gy, gz), (bx, by, bz), stream, parameters)

    def queue_launch(self, handle: int, grid: tuple, block: tuple, stream: int | None, parameters: int) -> None:
        """Queue a launch, with the parameters that it has now."""
        kernel = self.handles.get(handle)
        if kernel is None or not hasattr(kernel, "widths"):
            raise Refused(INVALID_HANDLE)
        if self.fault is not None:
            raise Refused(LAUNCH_FAILED)
        threads = block[0] * block[1] * block[2]
        if not all(grid) or not 1 <= threads <= THREAD_LIMIT or any(n > limit for n, limit in zip(grid, GRID_LIMITS)):
            raise Refused(INVALID_VALUE)
        values = list[int]()
        for k, width in enumerate(kernel.widths):
            place = ctypes.c_uint64.from_address(parameters + 8 * k).value
            values.append(int.from_bytes(ctypes.string_at(place, width), "little", signed=width == 8))
        queued = self.stream(stream)
        self.timeline.queue(queued, lambda: self.launch(queued.device, kernel, grid, threads, values))

    def launch(self, number: int, kernel: Kernel, grid: tuple, threads: int, values: list[int]) -> None:
        """Run a kernel, and see what it touched."""
        device = self.devices[number]
        device.launch(kernel, grid, threads, values)
        touched = {id(found[1]): found[1] for found in map(self.memory_of, values) if found is not None}
        for allocation in touched.values():
            reads, writes = device.touched(allocation)
            if reads or writes:
                self.timeline.touch(allocation.history, writes, name_of(allocation))


def name_of(allocation: Allocation) -> str:
    """Memory in words."""
    return f"{allocation.nbytes} bytes at {allocation.address:#x}"


# ---- the library -----------------------------------------------------------------------------------------------------------


class Installed:
    """The library, and the functions that it jumps to; when Python ends it jumps to none, for what cuda.core destroys last.

    Attributes:
        driver: which may be exchanged by another one.
    """

    def __init__(self, driver: Driver):
        self.driver, self.kept, self.jumps = driver, dict[str, Any](), dict[str, int]()
        self.lock = threading.RLock()  # one call at a time, whichever threads they come from
        kinds = ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
        find = self.kept["find"] = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self.find)
        address = self.address = ctypes.cast(find, ctypes.c_void_p).value or 0
        self.library = Library("libcuda.so.1", {"cuGetProcAddress_v2": address, "cuGetProcAddress": address}, MOST_ENTRIES)
        atexit.register(self.library.end)

    def find(self, symbol: bytes, out: Any, version: int, flags: int, status: int | None) -> int:
        """cuGetProcAddress: every name has an address."""
        name = symbol.decode()
        if name.startswith("cuGetProcAddress"):
            out[0] = self.address
            return SUCCESS
        if name not in self.jumps:
            kinds, function = ENTRIES.get(name, ((), None))
            self.kept[name] = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self.entry_point(name, function))
            self.jumps[name] = self.library.add(ctypes.cast(self.kept[name], ctypes.c_void_p).value or 0)
        out[0] = self.jumps[name]
        put(ctypes.c_int, status, 0)
        return SUCCESS

    def at_once(self, *names: str) -> None:
        """Let calls of these entry points, which were asked for, do nothing and succeed: what is left is our own cost."""
        for name in names:
            self.library.silence(self.jumps[name])

    def entry_point(self, name: str, function: Callable | None) -> Callable[..., int]:
        """What is called under a name."""

        def call(*operands: Any) -> int:
            driver = self.driver
            with self.lock:
                try:
                    driver.meet(name)
                    if function is None:
                        return NOT_SUPPORTED
                    function(driver, *operands)
                except Refused as refused:
                    return refused.number
            return SUCCESS

        return call


@cache
def install() -> Installed:
    """Have this process's ``libcuda.so.1`` be the emulated one, from now on."""
    return Installed(Driver())
