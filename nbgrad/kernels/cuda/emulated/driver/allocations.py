"""Memory of devices, pools of it, and memory of the host that devices reach."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from .....base.errors import KernelError
from ..memory import HOST, Allocation
from ..timeline import Stream
from . import codes
from .devices import Devices
from .entries import Refused, entry, put, put_handle
from .graph import Capture

__all__ = ["Allocations", "Pool"]

# CUmemPool_attribute.
THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH = 4, 5, 6, 7, 8


class Pool:
    """What a pool has of its device.

    Attributes:
        counts: bytes, by attribute: what is reserved of the device, what of that is allocated, and the most that each ever was.
        threshold: bytes that stay reserved when the program waits.
        access: a bit for each device that may touch its memory.
    """

    def __init__(self, device: int):
        self.device, self.threshold, self.access = device, 0, 1 << device
        self.counts = dict.fromkeys((RESERVED, RESERVED_HIGH, USED, USED_HIGH), 0)
        self.flags = dict.fromkeys((1, 2, 3), 1)

    def take(self, nbytes: int) -> None:
        """Count an allocation, or with a negative number that one is given back."""
        counts = self.counts
        counts[USED] += nbytes
        counts[RESERVED] = max(counts[RESERVED], counts[USED])
        for kind in (RESERVED, USED):
            counts[kind + 1] = max(counts[kind + 1], counts[kind])

    def trim(self, keep: int) -> None:
        """Give the device back what is not allocated, beyond so many bytes."""
        self.counts[RESERVED] = max(self.counts[USED], min(self.counts[RESERVED], keep))


class Free:
    """The work of giving memory back, which is done even where other work is forgotten."""

    def __init__(self, act: Callable[[Allocation], None], settle: Callable[[Allocation], None], allocation: Allocation):
        self.act, self.allocation = act, allocation
        self.settle = lambda: settle(allocation)

    def __call__(self) -> None:
        self.act(self.allocation)


class Allocations(Devices):
    """Entry points. The pools of a device are in ``pools``, its default one first."""

    def __init__(self, devices: int = 2, checked: bool = True, seed: int = 0):
        super().__init__(devices, checked, seed)
        self.pools = [[Pool(device)] for device in range(devices)]
        self.default_handles = dict[int, int]()
        self.outside = [0] * devices  # bytes that are allocated outside of pools

    # ---- of devices ------------------------------------------------------------------------------------------------------

    def taken(self, device: int) -> int:
        """Bytes of a device that are allocated, or reserved by a pool."""
        return self.outside[device] + sum(pool.counts[RESERVED] for pool in self.pools[device])

    def used(self, device: int | None = None) -> int:
        """Bytes that are allocated, on one device or on all."""
        which = range(len(self.outside)) if device is None else (device,)
        return sum(self.outside[k] + sum(pool.counts[USED] for pool in self.pools[k]) for k in which)

    def allocate(self, nbytes: int, device: int, pool: Pool | None = None) -> Allocation:
        """Memory, if there is so much.

        Raises:
            Refused: there is not, even if all work that was queued is done and pools keep nothing.
        """
        if self.lacks(nbytes, device, pool):
            self.guarded(self.timeline.finish_device, device)
            for each in self.pools[device]:
                each.trim(0)
            if self.lacks(nbytes, device, pool):
                raise Refused(codes.OUT_OF_MEMORY, f"{nbytes} bytes, and {self.used(device)} of {codes.MEMORY} are in use")
        access = self.access_of(device) if pool is None else pool.access
        try:
            made = self.memory.allocate(nbytes, "", device, access)
        except (MemoryError, OSError) as error:
            raise Refused(codes.OUT_OF_MEMORY, f"this machine: {error}") from None
        if pool is None:
            made.owner = "context"
            self.outside[device] += nbytes
        else:
            made.owner = pool
            pool.take(nbytes)
        return made

    def lacks(self, nbytes: int, device: int, pool: Pool | None) -> bool:
        """Whether a device has less than so many bytes left."""
        kept = 0 if pool is None else pool.counts[RESERVED] - pool.counts[USED]
        return self.taken(device) + max(nbytes - kept, 0) > codes.MEMORY

    def give_back(self, allocation: Allocation) -> None:
        """Count memory as free, and refuse who touches it from now on."""
        if isinstance(allocation.owner, Pool):
            allocation.owner.take(-allocation.nbytes)
        elif allocation.device != HOST:
            self.outside[allocation.device] -= allocation.nbytes
        self.memory.release(allocation)

    def free(self, allocation: Allocation) -> None:
        """Give memory back, behind all that touched it."""
        assert allocation.history is not None
        try:
            self.timeline.touch(allocation.history, True, f"({allocation}, to free it)")
        finally:
            self.give_back(allocation)

    def allocation_at(self, address: int | None) -> Allocation:
        """The memory of a device that begins at an address."""
        found = self.memory.find(address or 0)
        if found is None or found.address != address or found.device == HOST:
            raise Refused(codes.INVALID_VALUE, f"at {address or 0:#x} no memory of a device begins")
        return found

    @entry("pp", harmless=True)
    def cuMemGetInfo(self, free, total):
        put(ctypes.c_size_t, free, codes.MEMORY - self.taken(self.current()))
        put(ctypes.c_size_t, total, codes.MEMORY)

    @entry("pn", unsafe=True)
    def cuMemAlloc(self, out, nbytes):
        if not nbytes:
            raise Refused(codes.INVALID_VALUE, "an allocation of no bytes")
        put_handle(out, self.allocate(nbytes, self.current()).address)

    @entry("p", frees=True, unsafe=True)
    def cuMemFree(self, address):
        allocation = self.allocation_at(address)
        while not self.guarded(self.timeline.finish_device, allocation.device):
            pass
        self.guarded(self.free, allocation)
        self.check_fault(allocation.device)

    @entry("ppp")
    def cuMemGetAddressRange(self, base, size, address):
        found = self.memory.find(address)
        if found is None:
            raise Refused(codes.NOT_FOUND)
        put_handle(base, found.address)
        put(ctypes.c_size_t, size, found.nbytes)

    # ---- of pools --------------------------------------------------------------------------------------------------------

    @entry("pi", "cuDeviceGetDefaultMemPool", "cuDeviceGetMemPool", harmless=True)
    def default_pool(self, out, device):
        self.device(device)
        if device not in self.default_handles:
            self.default_handles[device] = self.handle(self.pools[device][0])
        put_handle(out, self.default_handles[device])

    @entry("pp")
    def cuMemPoolCreate(self, out, properties):
        kind, device = (ctypes.c_int * 2).from_address(properties + 8)  # the location, behind the kinds of memory and handle
        if kind != 1:
            raise Refused(codes.NOT_SUPPORTED, f"a pool of memory of kind {kind}; 1 is a device's")
        made = Pool(device)
        self.device(device)
        self.pools[device].append(made)
        put_handle(out, self.handle(made))

    @entry("p", frees=True)
    def cuMemPoolDestroy(self, handle):
        """What is allocated of it stays until it is freed."""
        pool = self.thing(handle, Pool)
        if pool is self.pools[pool.device][0]:
            raise Refused(codes.INVALID_VALUE, "the default pool stays")
        pool.threshold = 0
        del self.handles[handle]

    @entry("pip")
    def cuMemPoolSetAttribute(self, handle, attribute, value):
        pool = self.thing(handle, Pool)
        if attribute in pool.flags:
            pool.flags[attribute] = ctypes.c_int.from_address(value).value
        elif attribute == THRESHOLD:
            pool.threshold = ctypes.c_uint64.from_address(value).value
        elif attribute in (RESERVED_HIGH, USED_HIGH) and not ctypes.c_uint64.from_address(value).value:
            pool.counts[attribute] = pool.counts[attribute - 1]
        else:
            raise Refused(codes.INVALID_VALUE)

    @entry("pip")
    def cuMemPoolGetAttribute(self, handle, attribute, out):
        pool = self.thing(handle, Pool)
        if attribute in pool.flags:
            put(ctypes.c_int, out, pool.flags[attribute])
        else:
            put(ctypes.c_uint64, out, pool.threshold if attribute == THRESHOLD else pool.counts.get(attribute, 0))

    @entry("ppn")
    def cuMemPoolSetAccess(self, handle, descriptions, count):
        """Of each: the kind of place, which one, the kind of access (0: none, 3: read and write)."""
        pool = self.thing(handle, Pool)
        for k in range(count):
            kind, number, access = (ctypes.c_int * 3).from_address(descriptions + 12 * k)
            if kind != 1 or access not in (0, 3) or (number == pool.device and not access):
                raise Refused(codes.INVALID_VALUE)
            self.device(number)
            pool.access = pool.access | 1 << number if access else pool.access & ~(1 << number)
        for each in self.memory.entries:
            if each is not None and each.owner is pool:
                self.memory.allow(each, pool.access)

    @entry("ppp")
    def cuMemPoolGetAccess(self, out, handle, location):
        kind, number = (ctypes.c_int * 2).from_address(location)
        put(ctypes.c_int, out, 3 if kind == 1 and self.thing(handle, Pool).access >> number & 1 else 0)

    @entry("pn")
    def cuMemPoolTrimTo(self, handle, keep):
        self.thing(handle, Pool).trim(keep)

    def settle_pools(self) -> None:
        """Give back what pools keep beyond their thresholds: they do so when the program waits."""
        for pools in self.pools:
            for pool in pools:
                pool.trim(pool.threshold)

    @entry("pnpp")
    def cuMemAllocFromPoolAsync(self, out, nbytes, handle, stream):
        self.allocate_on(out, nbytes, self.thing(handle, Pool), self.stream(stream))

    @entry("pnp")
    def cuMemAllocAsync(self, out, nbytes, stream):
        on = self.stream(stream)
        self.allocate_on(out, nbytes, self.pools[on.device][0], on)

    def allocate_on(self, out: int, nbytes: int, pool: Pool, stream: Stream) -> None:
        """Memory that a stream has from here on; of a captured one, a part of its graph, the same in each launch."""
        if not nbytes:
            raise Refused(codes.INVALID_VALUE, "an allocation of no bytes")
        if pool.device != stream.device:
            raise Refused(codes.INVALID_VALUE, f"a pool of device {pool.device} for a stream of device {stream.device}")
        if stream.capture is None:  # as seen on an H100: the pool may have to grow
            self.check_unsafe("cuMemAllocFromPoolAsync")
        made = self.allocate(nbytes, pool.device, pool)
        if isinstance(stream.capture, Capture):
            stream.capture.graph.owned.append(made)
            self.enqueue(stream, lambda: self.forget(made))
        else:
            assert made.history is not None
            self.guarded(self.timeline.give, stream, made.history)
        put_handle(out, made.address)

    def forget(self, allocation: Allocation) -> None:
        """Let nobody have written to memory."""
        assert allocation.history is not None
        self.timeline.touch(allocation.history, True, allocation)
        allocation.shadow[:, 0] = 0

    @entry("pp", frees=True)
    def cuMemFreeAsync(self, address, handle):
        allocation = self.allocation_at(address)
        if allocation.device in self.faults:
            self.give_back(allocation)
            return
        stream = self.stream(handle)
        capture = stream.capture
        owned = isinstance(capture, Capture) and allocation in capture.graph.owned
        if owned:
            self.enqueue(stream, lambda: self.forget(allocation))
        elif isinstance(capture, Capture):
            raise Refused(codes.INVALID_VALUE, "memory from outside of a capture is freed in it")
        else:
            self.enqueue(stream, Free(self.free, self.give_back, allocation))

    # ---- of the host -----------------------------------------------------------------------------------------------------

    @entry("pnu", unsafe=True)
    def cuMemHostAlloc(self, out, nbytes, flags):
        if not nbytes:
            raise Refused(codes.INVALID_VALUE, "an allocation of no bytes")
        made = self.memory.allocate(nbytes, "pinned memory", HOST)
        made.note_written()  # the host may at any time
        put_handle(out, made.address)

    @entry("pn", unsafe=True)
    def cuMemAllocHost(self, out, nbytes):
        self.cuMemHostAlloc(out, nbytes, 0)

    @entry("p", frees=True, unsafe=True)
    def cuMemFreeHost(self, address):
        self.memory.release(self.pinned_at(address, False, codes.INVALID_VALUE))

    @entry("pnu", unsafe=True)
    def cuMemHostRegister(self, address, nbytes, flags):
        if not address or not nbytes:
            raise Refused(codes.INVALID_VALUE)
        try:
            self.memory.adopt(address, nbytes, "pinned memory")
        except KernelError as error:
            raise Refused(codes.HOST_REGISTERED, str(error)) from None

    @entry("p", frees=True, unsafe=True)
    def cuMemHostUnregister(self, address):
        self.memory.release(self.pinned_at(address, True, codes.HOST_NOT_REGISTERED))

    def pinned_at(self, address: int | None, adopted: bool, number: int) -> Allocation:
        """The memory of the host that begins at an address, and was registered or allocated."""
        found = self.memory.find(address or 0)
        if found is None or found.address != address or found.device != HOST or (found.region is None) != adopted:
            raise Refused(number, f"at {address or 0:#x} no such memory of the host begins")
        return found

    @entry("ppu")
    def cuMemHostGetDevicePointer(self, out, address, flags):
        found = self.memory.find(address or 0)
        if found is None or found.device != HOST:
            raise Refused(codes.INVALID_VALUE)
        put_handle(out, address)

    @entry("pp")
    def cuMemHostGetFlags(self, out, address):
        found = self.memory.find(address or 0)
        if found is None or found.device != HOST:
            raise Refused(codes.INVALID_VALUE)
        put(ctypes.c_uint, out, 3)  # portable, mapped

    @entry("uppp", harmless=True)
    def cuPointerGetAttributes(self, count, attributes, data, address):
        for k in range(count):
            attribute = ctypes.c_int.from_address(attributes + 4 * k).value
            self.pointer_attribute(attribute, address, ctypes.c_uint64.from_address(data + 8 * k).value)

    @entry("pip", harmless=True)
    def cuPointerGetAttribute(self, out, attribute, address):
        if self.memory.find(address or 0) is None:
            raise Refused(codes.INVALID_VALUE)
        self.pointer_attribute(attribute, address, out)

    def pointer_attribute(self, attribute: int, address: int, out: int) -> None:
        found = self.memory.find(address)
        device = -2 if found is None else max(found.device, 0)
        if attribute == 1:  # context
            put_handle(out, 0 if found is None else device + 1)
        elif attribute == 2:  # memory type
            put(ctypes.c_uint, out, 0 if found is None else codes.HOST_MEMORY if found.device == HOST else codes.DEVICE_MEMORY)
        elif attribute in (3, 4):  # as the device, as the host sees it
            put_handle(out, address)
        elif attribute == 8:  # managed
            put(ctypes.c_uint, out, 0)
        elif attribute == 9:  # device ordinal
            put(ctypes.c_int, out, device)
        elif attribute == 11:  # where it begins
            put_handle(out, 0 if found is None else found.address)
        elif attribute == 12:  # its size
            put(ctypes.c_size_t, out, 0 if found is None else found.nbytes)
        else:
            put_handle(out, 0)
