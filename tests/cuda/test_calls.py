"""The emulated driver's entry points, called by address: copies, memory, streams, devices; what they refuse, and what they keep."""

from __future__ import annotations

import ctypes
import gc
import random
import threading
import time

import numpy as np
import pytest

from nbgrad.base.errors import KernelError
from nbgrad.kernels.cuda.emulated import memory as memory_module
from nbgrad.kernels.cuda.emulated.driver import ENTRIES, Driver, codes
from nbgrad.kernels.cuda.emulated.memory import Memory
from nbgrad.kernels.cuda.emulated.timeline import LONGEST

N = 16


def numbers(start=1):
    return np.arange(start, start + N, dtype=np.float32)


# ---- launches ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signature", [ctypes.CFUNCTYPE, ctypes.PYFUNCTYPE], ids=["without the lock", "with the lock"])
def test_a_launch_by_address(signature, calls):
    """Parameters are taken when the call is made, whether the caller holds the interpreter's lock or not."""
    calls = type(calls)(calls.driver, signature)
    stream, kernel = calls.stream(), calls.kernel()
    x, y = calls.upload(numbers(), stream), calls.upload(numbers(3), stream)
    out = calls.empty(4 * N, stream)
    calls.multiply(kernel, out, x, y, stream)
    np.testing.assert_array_equal(calls.download(out, stream), numbers() * numbers(3))


def test_threads_have_contexts_of_their_own(calls):
    """A new thread has none; what it makes current is current there alone; all may launch at once."""
    kernel, found, wrong = calls.kernel(), [], []

    def work(device):
        try:
            calls.refuses(codes.INVALID_CONTEXT, calls.made, "cuStreamCreateWithPriority", 1, 0)
            calls.use(device)
            stream = calls.stream()
            x = calls.upload(numbers(device), stream, device)
            for _ in range(30):
                out = calls.empty(4 * N, stream, device)
                calls.multiply(kernel, out, x, x, stream)
                found.append((calls.download(out, stream) == numbers(device) ** 2).all())
                calls.cuMemFreeAsync(out, stream)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k % 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and found == [True] * 120
    assert calls.made("cuCtxGetDevice", kind=ctypes.c_int) == 0


@pytest.mark.parametrize(
    "change, number",
    [
        ({1: 0}, codes.INVALID_VALUE),
        ({2: 65536}, codes.INVALID_VALUE),
        ({4: 2048}, codes.INVALID_VALUE),
        ({4: 8, 5: 8}, codes.NOT_SUPPORTED),
        ({7: 64 << 10}, codes.INVALID_VALUE),
        ({0: 8}, codes.INVALID_HANDLE),
        ({8: 8}, codes.INVALID_HANDLE),
        ({9: None}, codes.INVALID_VALUE),
    ],
)
def test_launches_that_are_refused(calls, change, number):
    """Limits, handles, parameters: the call says so, and nothing is queued."""
    stream, places = calls.stream(), (ctypes.c_uint64 * 4)()
    operands = [calls.kernel(), 1, 1, 1, 256, 1, 1, 0, stream, ctypes.addressof(places), None]
    for place, value in change.items():
        operands[place] = value
    calls.refuses(number, calls.cuLaunchKernel, *operands)
    calls.cuStreamSynchronize(stream)


def test_a_driver_of_ours_that_fails_says_so(calls, monkeypatch, capsys):
    """An exception of Python's in an entry point is an error of the call, not success."""
    found = ENTRIES["cuMemGetInfo"]
    monkeypatch.setitem(ENTRIES, "cuMemGetInfo", found._replace(function=lambda driver, *operands: 1 / 0))
    cell = ctypes.c_uint64()
    calls.refuses(codes.UNKNOWN, calls.cuMemGetInfo, ctypes.addressof(cell), ctypes.addressof(cell))
    assert "ZeroDivisionError" in capsys.readouterr().err


# ---- copies ------------------------------------------------------------------------------------------------------------------


def copied(calls, name, target, source, stream):
    """One copy of 64 bytes."""
    contexts = {"cuMemcpyPeerAsync": lambda: calls.cuMemcpyPeerAsync(target, 1, source, 1, 64, stream)}
    contexts.get(name, lambda: getattr(calls, name)(target, source, 64, stream))()


@pytest.mark.parametrize("name", ["cuMemcpyDtoDAsync", "cuMemcpyAsync", "cuMemcpyPeerAsync"])
def test_copies_on_the_device(calls, name):
    """Behind what wrote the source, before what reads the target."""
    stream, kernel = calls.stream(), calls.kernel()
    x, out, copy = calls.upload(numbers(), stream), calls.empty(64, stream), calls.empty(64, stream)
    calls.multiply(kernel, out, x, x, stream)
    copied(calls, name, copy, out, stream)
    calls.multiply(kernel, out, copy, copy, stream)
    np.testing.assert_array_equal(calls.download(out, stream), numbers() ** 4)


@pytest.mark.parametrize("name", ["cuMemcpyHtoDAsync", "cuMemcpyAsync"])
def test_pageable_memory_is_read_at_once(calls, name):
    """When the call has returned, the source may change."""
    stream, x = calls.stream(), numbers()
    memory = calls.empty(64, stream)
    copied(calls, name, memory, x.ctypes.data, stream)
    x[:] = 0
    np.testing.assert_array_equal(calls.download(memory, stream), numbers())


@pytest.mark.parametrize("name", ["cuMemcpyDtoHAsync", "cuMemcpyAsync"])
def test_a_copy_to_pageable_memory_is_waited_for(calls, name):
    """When the call has returned, what was before it is done."""
    stream, kernel, found = calls.stream(), calls.kernel(), np.zeros(N, np.float32)
    x, out = calls.upload(numbers(), stream), calls.empty(64, stream)
    calls.multiply(kernel, out, x, x, stream)
    copied(calls, name, found.ctypes.data, out, stream)
    np.testing.assert_array_equal(found, numbers() ** 2)


def test_a_copy_to_pinned_memory_is_not_waited_for(calls):
    """Until somebody waits, there is garbage; then what was copied."""
    stream, pinned = calls.stream(), calls.pinned()
    memory = calls.upload(numbers(), stream)
    pinned[:] = 7
    calls.cuMemcpyDtoHAsync(pinned.ctypes.data, memory, 64, stream)
    assert not (pinned == 7).any() and not (pinned == numbers()).any()
    calls.cuStreamSynchronize(stream)
    np.testing.assert_array_equal(pinned, numbers())


def test_pinned_memory_there_and_back(calls):
    """What a copy wrote to pinned memory, the next one reads: that is no change by the host."""
    stream, pinned = calls.stream(), calls.pinned()
    memory, other = calls.upload(numbers(), stream), calls.empty(64, stream)
    for _ in range(3):
        calls.cuMemcpyDtoHAsync(pinned.ctypes.data, memory, 64, stream)
        calls.cuMemcpyHtoDAsync(other, pinned.ctypes.data, 64, stream)
    np.testing.assert_array_equal(calls.download(other, stream), numbers())


@pytest.mark.parametrize("direction", ["from", "to"])
def test_pinned_memory_that_changes_during_a_copy(calls, direction):
    """The host writes while a copy is queued: told by the call that waits."""
    stream, pinned = calls.stream(), calls.pinned()
    memory = calls.upload(numbers(), stream)
    pinned[:] = 1
    if direction == "from":
        calls.cuMemcpyHtoDAsync(memory, pinned.ctypes.data, 64, stream)
    else:
        calls.cuMemcpyDtoHAsync(pinned.ctypes.data, memory, 64, stream)
    pinned[3] = 5
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, stream)
    what = "a copy of it" if direction == "from" else "a copy to it"
    assert f"64 bytes of the host's memory were changed while {what} was queued" in calls.driver.fault


def test_pinned_memory_that_is_freed_during_a_copy(calls):
    """The copy finds nothing."""
    stream, pinned = calls.stream(), calls.pinned()
    pinned[:] = 1
    calls.cuMemcpyHtoDAsync(calls.empty(64, stream), pinned.ctypes.data, 64, stream)
    calls.cuMemFreeHost(pinned.ctypes.data)
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, stream)
    assert "was freed before 64 bytes of it were copied" in calls.driver.fault


def test_registered_memory_is_pinned(calls):
    """Until it is unregistered; twice is an error, and so is what was never registered."""
    stream, x = calls.stream(), numbers()
    address, memory = x.ctypes.data, calls.empty(64, stream)
    calls.cuMemHostRegister(address, 64, 0)
    calls.refuses(codes.HOST_REGISTERED, calls.cuMemHostRegister, address + 32, 64, 0)
    calls.cuMemcpyHtoDAsync(memory, address, 64, stream)
    x[0] = 9
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, stream)
    calls.driver.recover()
    calls.cuMemHostUnregister(address)
    calls.refuses(codes.HOST_NOT_REGISTERED, calls.cuMemHostUnregister, address)
    calls.cuMemcpyHtoDAsync(memory, address, 64, stream)
    x[0] = 11
    assert calls.download(memory, stream)[0] == 9


@pytest.mark.parametrize("name", ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemcpyAsync"])
def test_copies_that_are_refused(calls, name):
    """Beyond an allocation, from nowhere, of memory that was freed: the call says so."""
    stream, x = calls.stream(), numbers()
    device, other = calls.upload(x, stream), calls.upload(x, stream)
    target, source = {"H": (device, x.ctypes.data), "o": (x.ctypes.data, device)}.get(
        name[8 if "HtoD" in name else 9], (device, other)
    )
    if name == "cuMemcpyDtoDAsync" or name == "cuMemcpyAsync":
        target, source = device, other
    call = getattr(calls, name)
    calls.refuses(codes.INVALID_VALUE, call, target, source, 65, stream)
    calls.refuses(codes.INVALID_VALUE, call, None, source, 64, stream)
    calls.cuMemFreeAsync(device, stream)
    calls.cuStreamSynchronize(stream)
    calls.refuses(codes.INVALID_VALUE, call, target, source, 64, stream)
    calls.cuStreamSynchronize(stream)


def test_memory_that_is_set(calls):
    """Bytes, halves and words; not beyond the allocation, not at odd addresses."""
    stream = calls.stream()
    memory = calls.empty(64, stream)
    calls.cuMemsetD8Async(memory, 0x11, 64, stream)
    calls.cuMemsetD16Async(memory + 16, 0x2222, 8, stream)
    calls.cuMemsetD32Async(memory + 32, 0x33333333, 4, stream)
    expected = np.repeat(np.array([0x11, 0x22, 0x33, 0x11], np.uint8), 16)
    np.testing.assert_array_equal(calls.download(memory, stream, 64, np.uint8), expected)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemsetD32Async, memory, 0, 17, stream)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemsetD32Async, memory + 2, 0, 1, stream)


# ---- streams and events --------------------------------------------------------------------------------------------------


def test_who_asks_again_and_again_is_answered(calls):
    """Nothing waits; the queries themselves let the work go on, and what they say is known from then on."""
    a, b, kernel = calls.stream(), calls.stream(), calls.kernel()
    x, out = calls.upload(numbers(), a), calls.empty(64, a)
    event = calls.made("cuEventCreate", codes.NO_TIMING)
    calls.multiply(kernel, out, x, x, a)
    calls.cuEventRecord(event, a)
    calls.refuses(codes.NOT_READY, calls.cuEventQuery, event)
    for _ in range(100):
        try:
            calls.cuEventQuery(event)
            break
        except Exception as error:
            assert error.number == codes.NOT_READY
    else:
        pytest.fail("the event is never reached")
    calls.multiply(kernel, x, out, out, b)  # ordered by the query, which succeeded
    calls.refuses(codes.NOT_READY, calls.cuStreamQuery, b)
    calls.cuStreamSynchronize(b)
    calls.cuStreamQuery(b)
    np.testing.assert_array_equal(calls.download(x, b), numbers() ** 4)


def test_memory_is_its_streams_until_others_wait(calls):
    """Allocated on one stream and used on another one, without a wait."""
    a, b = calls.stream(), calls.stream()
    memory = calls.empty(64, a)
    calls.cuMemsetD8Async(memory, 0, 64, b)
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, b)
    assert "which stream" in calls.driver.fault and "was given, and does not wait for it" in calls.driver.fault


def test_destroyed_streams_do_their_work(calls):
    """And nothing of it is known to the host."""
    a, b = calls.stream(), calls.stream()
    memory = calls.empty(64, a)
    calls.cuMemsetD8Async(memory, 1, 64, a)
    calls.cuStreamDestroy(a)
    calls.refuses(codes.INVALID_HANDLE, calls.cuStreamSynchronize, a)
    calls.cuMemsetD8Async(memory, 2, 64, b)
    calls.refuses(codes.LAUNCH_FAILED, calls.cuCtxSynchronize)
    assert "does not wait for it" in calls.driver.fault


def test_events_belong_to_a_device(calls):
    """Recorded on a stream of another one: refused; waiting for it there is fine."""
    event, stream = calls.made("cuEventCreate", 0), calls.stream()
    other = calls.use(1).stream()
    calls.refuses(codes.INVALID_HANDLE, calls.cuEventRecord, event, other)
    calls.cuEventRecord(event, stream)
    calls.cuStreamWaitEvent(other, event, 0)
    calls.cuStreamSynchronize(other)


@pytest.mark.parametrize("seed", range(4))
def test_the_default_stream_is_known_to_blocking_ones(seed, calls):
    """Its work may be done already, before anybody waited: a blocking stream is behind it all the same."""
    calls = type(calls)(Driver(seed=seed)).use()
    a, other = calls.stream(0), calls.stream()
    memory = calls.made("cuMemAlloc", 64)
    calls.cuMemsetD8Async(memory, 0, 64, None)
    calls.cuMemsetD8Async(calls.empty(64, other), 0, 64, other)
    for _ in range(8):
        calls.driver.timeline.go_on()
    calls.cuMemsetD8Async(memory, 1, 64, a)
    calls.cuStreamSynchronize(a)


# ---- faults ----------------------------------------------------------------------------------------------------------------


def test_a_fault_stays_with_its_device(calls):
    """Every later call of the device fails, questions that touch nothing excepted; memory can be freed; the other device works."""
    stream, kernel, free = calls.stream(), calls.kernel(), calls.driver.used(0)
    x, out = calls.upload(numbers(), stream), calls.empty(64, stream)
    event = calls.made("cuEventCreate", 0)
    calls.multiply(kernel, out, x, x, stream, n=17)
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, stream)
    cell = ctypes.c_uint64()
    here = ctypes.addressof(cell)
    for call, *operands in (
        (calls.multiply, kernel, out, x, x, stream),
        (calls.cuStreamSynchronize, stream),
        (calls.cuStreamQuery, stream),
        (calls.cuEventRecord, event, stream),
        (calls.cuEventQuery, event),
        (calls.cuMemAlloc, here, 64),
        (calls.cuMemAllocAsync, here, 64, stream),
        (calls.cuMemcpyHtoDAsync, x, here, 8, stream),
        (calls.cuCtxSynchronize,),
        (calls.cuMemFreeAsync, x, stream),
        (calls.cuMemFreeAsync, out, stream),
    ):
        calls.refuses(codes.LAUNCH_FAILED, call, *operands)
    assert calls.driver.used(0) == free
    assert calls.made("cuDeviceGetCount", kind=ctypes.c_int) == 2
    calls.use(1)
    other = calls.stream()
    x = calls.upload(numbers(), other, 1)
    np.testing.assert_array_equal(calls.download(x, other), numbers())


# ---- memory ------------------------------------------------------------------------------------------------------------------


def free_bytes(calls):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    calls.cuMemGetInfo(ctypes.addressof(free), ctypes.addressof(total))
    return free.value


def pool_count(calls, attribute):
    cell = ctypes.c_uint64()
    calls.cuMemPoolGetAttribute(calls.pool(), attribute, ctypes.addressof(cell))
    return cell.value


def test_pools_count(calls):
    """What is used and reserved, the most of both; trimmed at waits down to the threshold, and on demand."""
    stream, before = calls.stream(), free_bytes(calls)
    threshold = ctypes.c_uint64(1000)
    calls.cuMemPoolSetAttribute(calls.pool(), 4, ctypes.addressof(threshold))
    a, b = calls.empty(1000, stream), calls.empty(3000, stream)
    assert [pool_count(calls, k) for k in (5, 6, 7, 8)] == [4000] * 4
    calls.cuMemFreeAsync(b, stream)
    calls.cuMemFreeAsync(a, stream)
    assert pool_count(calls, 7) == 4000, "stream order: not freed yet"
    calls.cuStreamSynchronize(stream)
    assert [pool_count(calls, k) for k in (5, 6, 7, 8)] == [1000, 4000, 0, 4000]
    assert free_bytes(calls) == before - 1000
    calls.cuMemPoolTrimTo(calls.pool(), 0)
    assert free_bytes(calls) == before and pool_count(calls, 5) == 0


def test_memory_that_is_queued_to_be_freed_is_found(calls):
    """Ten times what the device has, never more than half of it at once, and nobody waits."""
    stream = calls.stream()
    for _ in range(20):
        calls.cuMemFreeAsync(calls.empty(codes.MEMORY // 2, stream), stream)
    calls.refuses(codes.OUT_OF_MEMORY, calls.empty, codes.MEMORY + 1, stream)
    calls.use(1)
    assert free_bytes(calls) == codes.MEMORY


def test_frees_that_are_refused(calls):
    """Not the beginning of an allocation; twice."""
    stream = calls.stream()
    memory = calls.empty(64, stream)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemFreeAsync, memory + 8, stream)
    calls.cuMemFreeAsync(memory, stream)
    calls.cuStreamSynchronize(stream)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemFreeAsync, memory, stream)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemFree, memory)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemFreeHost, memory)


@pytest.mark.parametrize("seed", range(3))
def test_the_table_of_memory(seed):
    """Random allocations and frees: each address is found where it lies, and the table is as long as what lives."""
    drawn, memory, living = random.Random(seed), Memory(), []
    for _ in range(3000):
        if living and drawn.random() < 0.5:
            memory.release(living.pop(drawn.randrange(len(living))))
        else:
            living.append(memory.allocate(drawn.choice([0, 1, 64, 4096, 300_000])))
        assert memory.addresses == sorted(memory.addresses)
    kept = len(memory.left) + 1
    assert memory.count <= 2 * len(living) + 1 + kept
    for each in living:
        assert memory.find(each.address) is each and memory.find(each.address + max(each.nbytes - 1, 0)) is each
        row = memory.table[memory.row_of(each)]
        assert tuple(row[:3]) == (each.address, each.nbytes, each.shadow.ctypes.data)
    with pytest.raises(KernelError, match="freed twice"):
        gone = memory.allocate(64)
        memory.release(gone)
        memory.release(gone)


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("nbytes", [64, 1 << 20, 64 << 20])
def test_churn_takes_no_memory(nbytes, monkeypatch):
    """Allocated and freed again and again: what was freed is given back."""
    monkeypatch.setattr(memory_module, "KEPT", 8 << 20)
    memory, count = Memory(), 20_000 if nbytes == 64 else 100
    for k in range(count):
        if k == count // 10:
            before = resident()
        memory.release(memory.allocate(nbytes))
    assert resident() - before < 40 << 20
    assert memory.count <= len(memory.left) + 2


def growth(calls, launches):
    """Microseconds of a launch, from the queue to its end, and bytes that this process grew by."""
    stream, kernel, event = calls.stream(), calls.kernel(), calls.made("cuEventCreate", codes.NO_TIMING)
    x = calls.upload(numbers(), stream)

    def run(count):
        spent = 0.0
        for k in range(count):
            out = calls.empty(64, stream)
            start = time.process_time()
            calls.multiply(kernel, out, x, x, stream)
            calls.cuStreamSynchronize(stream)
            spent += time.process_time() - start
            calls.cuEventRecord(event, stream)
            calls.cuMemFreeAsync(out, stream)
            if k % 100 == 0:
                calls.cuStreamDestroy(calls.stream())
        return spent / count * 1e6

    run(1000)
    gc.collect()
    before = resident(), len(calls.driver.handles), calls.driver.timeline.made
    cost = run(launches)
    gc.collect()
    assert (len(calls.driver.handles), calls.driver.timeline.made) == before[1:]
    assert calls.driver.memory.count < 200
    return cost, resident() - before[0]


def test_launches_leave_nothing(calls):
    """Thousands of small launches: no memory, handles, or rows of tables are left behind."""
    _, grown = growth(calls, 3000)
    assert grown < 8 << 20


@pytest.mark.slow
def test_launches_leave_nothing_in_the_long_run(calls):
    """100,000 of them; and what each costs, in the checked build."""
    cost, grown = growth(calls, 100_000)
    print(f"a launch of 16 elements: {cost:.0f} µs; grown by {grown / 1024:.0f} KB in 100,000")
    assert grown < memory_module.KEPT + (16 << 20) and cost < 300  # 60 on a machine that does nothing else


def test_queues_have_an_end(calls):
    """Who never waits has the oldest work done at last, as a GPU would have; a fault of that is told later."""
    stream, kernel = calls.stream(), calls.kernel()
    x, out = calls.upload(numbers(), stream), calls.empty(64, stream)
    for _ in range(2 * LONGEST):
        calls.multiply(kernel, out, x, x, stream)
    assert len(calls.driver.timeline.streams[0].queue) <= LONGEST
    np.testing.assert_array_equal(calls.download(out, stream), numbers() ** 2)


# ---- two devices -------------------------------------------------------------------------------------------------------------


def two_devices(calls):
    """A stream of each device, and memory of the first with numbers."""
    streams = [calls.use(k).stream() for k in (1, 0)][::-1]
    x = calls.made("cuMemAlloc", 64)
    calls.cuMemcpyHtoDAsync(x, numbers().ctypes.data, 64, streams[0])
    calls.cuStreamSynchronize(streams[0])
    return streams, x


def test_memory_of_another_device_is_out_of_reach(calls):
    """Until access is given; not after it is taken back."""
    streams, x = two_devices(calls)
    kernel = calls.use(1).kernel()
    out = calls.empty(64, streams[1], 1)
    assert calls.made("cuDeviceCanAccessPeer", 1, 0, kind=ctypes.c_int) == 1
    calls.cuCtxEnablePeerAccess(1, 0)
    calls.refuses(codes.PEER_ENABLED, calls.cuCtxEnablePeerAccess, 1, 0)
    calls.refuses(codes.INVALID_DEVICE, calls.cuCtxEnablePeerAccess, 2, 0)
    calls.multiply(kernel, out, x, x, streams[1])
    np.testing.assert_array_equal(calls.download(out, streams[1]), numbers() ** 2)
    calls.cuCtxDisablePeerAccess(1)
    calls.refuses(codes.PEER_NOT_ENABLED, calls.cuCtxDisablePeerAccess, 1)
    calls.multiply(kernel, out, x, x, streams[1])
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, streams[1])
    assert "memory of another device, which this one was not given access to" in calls.driver.fault


def test_memory_of_a_pool_is_reached_by_the_pools_access(calls):
    """That of contexts does not count for it."""
    streams, _ = two_devices(calls)
    x = calls.upload(numbers(), streams[0])
    calls.cuStreamSynchronize(streams[0])
    kernel = calls.use(1).kernel()
    out = calls.empty(64, streams[1], 1)
    calls.cuCtxEnablePeerAccess(1, 0)
    access = (ctypes.c_int * 3)(1, 1, 3)
    calls.cuMemPoolSetAccess(calls.pool(0), ctypes.addressof(access), 1)
    calls.multiply(kernel, out, x, x, streams[1])
    calls.cuStreamSynchronize(streams[1])
    access[2] = 0
    calls.cuMemPoolSetAccess(calls.pool(0), ctypes.addressof(access), 1)
    calls.multiply(kernel, out, x, x, streams[1])
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, streams[1])


@pytest.mark.parametrize("wait", [True, False])
def test_copies_between_devices(calls, wait):
    """Without access to each other, by name of both contexts; ordered by events as on one device."""
    streams, x = two_devices(calls)
    y = calls.use(1).empty(64, streams[1], 1)
    calls.use(0)
    calls.cuMemsetD32Async(x, 0x40000000, N, streams[0])  # 2.0
    event = calls.made("cuEventCreate", codes.NO_TIMING)
    calls.cuEventRecord(event, streams[0])
    calls.use(1)
    if wait:
        calls.cuStreamWaitEvent(streams[1], event, 0)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemcpyDtoDAsync, y, x, 64, streams[1])
    calls.refuses(codes.INVALID_VALUE, calls.cuMemcpyPeerAsync, y, 1, x, 2, 64, streams[1])
    calls.cuMemcpyPeerAsync(y, 2, x, 1, 64, streams[1])
    if wait:
        np.testing.assert_array_equal(calls.download(y, streams[1]), np.full(N, 2, np.float32))
    else:
        for device in (1, 0):  # whichever of both comes last finds it
            try:
                calls.use(device).cuCtxSynchronize()
            except Exception as error:
                assert error.number == codes.LAUNCH_FAILED
        assert "does not wait for it" in calls.driver.fault


# ---- memory of the host that kernels reach -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cuMemHostAlloc", "cuMemAllocHost"])
def test_pinned_memory_in_kernels(calls, name):
    """Both devices reach it, at the address that the host has; it says of itself what it is."""
    address = calls.made(name, 64, *([0] if name == "cuMemHostAlloc" else []))
    view = np.frombuffer((ctypes.c_char * 64).from_address(address), np.float32)
    view[:] = numbers()
    assert calls.made("cuMemHostGetDevicePointer", address, 0) == address
    assert calls.made("cuMemHostGetFlags", address, kind=ctypes.c_uint) == 3
    for device in range(2):
        stream, kernel = calls.use(device).stream(), calls.kernel()
        out = calls.empty(64, stream, device)
        calls.multiply(kernel, out, address, address, stream)
        np.testing.assert_array_equal(calls.download(out, stream), numbers() ** 2)
        calls.multiply(kernel, address, address, address, stream)
        calls.cuStreamSynchronize(stream)
        np.testing.assert_array_equal(view, numbers() ** 2)
        view[:] = numbers()
    calls.cuMemFreeHost(address)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemHostGetDevicePointer, ctypes.addressof(ctypes.c_uint64()), address, 0)


def test_what_pointers_say(calls):
    """Kind of memory, device, beginning and size; of what is not known, nothing."""
    stream, pinned, x = calls.use(1).stream(), calls.pinned(), numbers()
    memory = calls.empty(100, stream, 1)

    def told(address):
        kinds, cells = (ctypes.c_int * 4)(2, 9, 11, 12), [ctypes.c_uint64() for _ in range(4)]
        places = (ctypes.c_uint64 * 4)(*map(ctypes.addressof, cells))
        calls.cuPointerGetAttributes(4, ctypes.addressof(kinds), ctypes.addressof(places), address)
        return cells[0].value, ctypes.c_int(cells[1].value & 0xFFFFFFFF).value, cells[2].value, cells[3].value

    assert told(memory + 8) == (codes.DEVICE_MEMORY, 1, memory, 100)
    assert told(pinned.ctypes.data + 4) == (codes.HOST_MEMORY, 0, pinned.ctypes.data, 64)
    assert told(x.ctypes.data) == (0, -2, 0, 0)
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    calls.cuMemGetAddressRange(ctypes.addressof(base), ctypes.addressof(size), memory + 99)
    assert (base.value, size.value) == (memory, 100)
    calls.refuses(codes.NOT_FOUND, calls.cuMemGetAddressRange, None, None, x.ctypes.data)


def test_functions_of_the_host_come_in_order(calls):
    """Behind what the stream had to do, not before."""
    stream, seen, pinned = calls.stream(), [], calls.pinned()
    memory = calls.upload(numbers(), stream)
    calls.cuMemcpyDtoHAsync(pinned.ctypes.data, memory, 64, stream)
    note = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append((data, pinned.copy())))
    calls.cuLaunchHostFunc(stream, ctypes.cast(note, ctypes.c_void_p).value, 77)
    assert not seen
    calls.cuStreamSynchronize(stream)
    ((data, found),) = seen
    assert data == 77
    np.testing.assert_array_equal(found, numbers())
