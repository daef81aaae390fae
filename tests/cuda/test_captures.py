"""Captures and graphs of the emulated driver: replays, branches, and what a capture refuses, with CUDA's error numbers."""

from __future__ import annotations

import ctypes
import random
import threading

import numpy as np
import pytest

from nbgrad.kernels.cuda.emulated.driver import codes

N = 16


def numbers(start=1):
    return np.arange(start, start + N, dtype=np.float32)


def begin(calls, stream, mode=codes.GLOBAL):
    calls.cuStreamBeginCapture(stream, mode)


def end(calls, stream):
    """The graph of a capture that ends, as one that can be launched."""
    graph = ctypes.c_uint64()
    calls.cuStreamEndCapture(stream, ctypes.addressof(graph))
    made = calls.made("cuGraphInstantiate", graph.value, 0)
    calls.cuGraphDestroy(graph.value)
    return made


def event(calls, stream):
    """An event, recorded on a stream."""
    made = calls.made("cuEventCreate", codes.NO_TIMING)
    calls.cuEventRecord(made, stream)
    return made


@pytest.fixture
def program(calls):
    """Two streams, a kernel, and memory of both kinds."""

    class Program:
        a, b = calls.stream(), calls.stream()
        kernel = calls.kernel()
        x, y = calls.upload(numbers(), a), calls.upload(numbers(2), a)
        out, other = calls.empty(64, a), calls.empty(64, a)

        def product(self, out, x, y, stream):
            calls.multiply(self.kernel, out, x, y, stream)

    calls.cuStreamSynchronize(Program.a)
    return Program()


def test_a_chain_is_replayed(calls, program):
    """Nothing is done when it is captured; each launch reads what is there then."""
    p = program
    begin(calls, p.a)
    p.product(p.out, p.x, p.y, p.a)
    p.product(p.out, p.out, p.y, p.a)
    made = end(calls, p.a)
    calls.cuMemsetD8Async(p.out, 0, 64, p.a)
    assert not calls.download(p.out, p.a).any()
    for start in (1, 5):
        calls.cuMemcpyHtoDAsync(p.x, numbers(start).ctypes.data, 64, p.a)
        calls.cuGraphLaunch(made, p.a)
        np.testing.assert_array_equal(calls.download(p.out, p.a), numbers(start) * numbers(2) ** 2)
    calls.cuGraphExecDestroy(made)
    calls.refuses(codes.INVALID_HANDLE, calls.cuGraphLaunch, made, p.a)


def diamond(calls, p, forked=True, joined=True):
    """out = x * y on one branch, other = y * y on the other one; then out = out * other."""
    begin(calls, p.a)
    if forked:
        calls.cuStreamWaitEvent(p.b, event(calls, p.a), 0)
    p.product(p.out, p.x, p.y, p.a)
    p.product(p.other, p.y, p.y, p.b)
    if joined:
        calls.cuStreamWaitEvent(p.a, event(calls, p.b), 0)
    p.product(p.out, p.out, p.other, p.a)


@pytest.mark.parametrize("seed", range(6))
def test_branches_are_replayed(calls, program, seed):
    """Forked and joined by events; what comes behind the launch, on its stream, is behind both."""
    p = program
    diamond(calls, p)
    made = end(calls, p.a)
    calls.driver.recover(seed)
    for _ in range(3):
        calls.cuGraphLaunch(made, p.a)
        np.testing.assert_array_equal(calls.download(p.out, p.a), numbers() * numbers(2) ** 3)


def test_branches_that_meet_are_found(calls, program):
    """Two branches write to one place: an error in any order, as on streams."""
    p = program
    begin(calls, p.a)
    calls.cuStreamWaitEvent(p.b, event(calls, p.a), 0)
    p.product(p.out, p.x, p.y, p.a)
    p.product(p.out, p.y, p.y, p.b)
    calls.cuStreamWaitEvent(p.a, event(calls, p.b), 0)
    made = end(calls, p.a)
    calls.cuGraphLaunch(made, p.a)
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, p.a)
    assert "does not wait for it" in calls.driver.fault


def test_launches_of_one_graph_are_ordered(calls, program):
    """On two streams that nothing else orders: the second waits for the first."""
    p = program
    begin(calls, p.a)
    p.product(p.out, p.x, p.y, p.a)
    made = end(calls, p.a)
    for _ in range(3):
        calls.cuGraphLaunch(made, p.a)
        calls.cuGraphLaunch(made, p.b)
    calls.cuCtxSynchronize()
    np.testing.assert_array_equal(calls.download(p.out, p.a), numbers() * numbers(2))


def test_a_stream_that_did_not_join_goes_on(calls, program):
    """Its work is done at once, and belongs to no graph."""
    p = program
    begin(calls, p.a)
    p.product(p.out, p.x, p.y, p.a)
    calls.cuMemsetD8Async(p.other, 0, 64, p.b)
    status = ctypes.c_int()
    for stream, expected in ((p.a, codes.ACTIVE), (p.b, codes.NO_CAPTURE)):
        calls.cuStreamIsCapturing(stream, ctypes.addressof(status))
        assert status.value == expected
    calls.cuStreamSynchronize(p.b)
    made = end(calls, p.a)
    calls.cuGraphLaunch(made, p.a)
    calls.cuStreamSynchronize(p.a)


REFUSED = {
    "wait for the stream": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuStreamSynchronize(p.a)),
    "ask the stream": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuStreamQuery(p.a)),
    "wait for the device": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuCtxSynchronize()),
    "ask an event": (codes.CAPTURED_EVENT, lambda c, p: relaxed(c, lambda: c.cuEventQuery(event(c, p.a)))),
    "wait for an event": (codes.CAPTURED_EVENT, lambda c, p: c.cuEventSynchronize(event(c, p.a))),
    "ask any event": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuEventQuery(event(c, p.b))),
    "copy from pageable memory": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuMemcpyHtoDAsync(p.x, numbers().ctypes.data, 64, p.a)),
    "copy to pageable memory": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuMemcpyDtoHAsync(numbers().ctypes.data, p.x, 64, p.a)),
    "allocate": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.made("cuMemAlloc", 64)),
    "free": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuMemFree(p.x)),
    "allocate pinned memory": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.pinned()),
    "register memory": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuMemHostRegister(numbers().ctypes.data, 64, 0)),
    "load a kernel": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.kernel()),
    "copy on the default stream": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuMemcpy(p.x, p.y, 64)),
    "wait for work outside": (codes.CAPTURE_ISOLATION, lambda c, p: c.cuStreamWaitEvent(p.a, event(c, p.b), 0)),
    "launch a graph": (codes.CAPTURE_UNSUPPORTED, lambda c, p: c.cuGraphLaunch(p.made, p.a)),
}


def relaxed(calls, call):
    """A call in a thread that takes captures lightly."""
    mode = ctypes.c_int(codes.RELAXED)
    calls.cuThreadExchangeStreamCaptureMode(ctypes.addressof(mode))
    try:
        call()
    finally:
        calls.cuThreadExchangeStreamCaptureMode(ctypes.addressof(mode))


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_capture_refuses(calls, program, what):
    """The error of the call, then that of the end; memory and stream are as they were before."""
    p, (number, call) = program, REFUSED[what]
    begin(calls, p.b)
    p.product(p.other, p.x, p.y, p.b)
    p.made = end(calls, p.b)
    begin(calls, p.a)
    p.product(p.x, p.x, p.y, p.a)
    calls.refuses(number, call, calls, p)
    calls.refuses(codes.CAPTURE_INVALIDATED, p.product, p.x, p.x, p.y, p.a)
    calls.refuses(codes.CAPTURE_INVALIDATED, end, calls, p.a)
    np.testing.assert_array_equal(calls.download(p.x, p.a), numbers())
    p.product(p.out, p.x, p.y, p.a)
    np.testing.assert_array_equal(calls.download(p.out, p.a), numbers() * numbers(2))


@pytest.mark.parametrize("version", [12020, 12030])
def test_kernels_of_a_thread_that_takes_captures_lightly(calls, program, version):
    """Drivers of CUDA 12.3 and later load them, older ones wait and are refused."""
    begin(calls, program.a)
    calls.driver.version = version
    if version >= 12030:
        relaxed(calls, calls.kernel)
        end(calls, program.a)
    else:
        relaxed(calls, lambda: calls.refuses(codes.CAPTURE_UNSUPPORTED, calls.kernel))
        calls.refuses(codes.CAPTURE_INVALIDATED, end, calls, program.a)


def test_the_default_stream_in_a_capture(calls, program):
    """It cannot be captured, nor used while a blocking stream is."""
    for handle in (None, codes.LEGACY):
        calls.refuses(codes.CAPTURE_UNSUPPORTED, begin, calls, handle)
    blocking = calls.stream(0)
    begin(calls, blocking)
    calls.refuses(codes.CAPTURE_IMPLICIT, calls.cuMemsetD8Async, program.x, 0, 64, None)
    calls.refuses(codes.CAPTURE_INVALIDATED, end, calls, blocking)
    begin(calls, program.a)  # which waits for no default stream
    calls.cuMemsetD8Async(program.x, 0, 64, None)
    end(calls, program.a)


def test_beginnings_and_ends_that_are_refused(calls, program):
    """Twice, without a beginning, by another stream or thread, with a stream that is not joined."""
    p, found = program, []
    calls.refuses(codes.ILLEGAL_STATE, end, calls, p.a)
    begin(calls, p.a)
    calls.refuses(codes.ILLEGAL_STATE, begin, calls, p.a)
    calls.refuses(codes.INVALID_VALUE, calls.cuStreamBeginCapture, p.b, 7)
    thread = threading.Thread(target=lambda: found.append(calls.refuses(codes.CAPTURE_WRONG_THREAD, end, calls, p.a)))
    thread.start()
    thread.join()
    assert len(found) == 1
    end(calls, p.a)
    diamond(calls, p, joined=False)
    calls.refuses(codes.CAPTURE_UNJOINED, end, calls, p.a)
    begin(calls, p.a)
    calls.cuStreamWaitEvent(p.b, event(calls, p.a), 0)
    calls.refuses(codes.CAPTURE_UNMATCHED, end, calls, p.b)
    calls.refuses(codes.CAPTURE_INVALIDATED, end, calls, p.a)


def test_two_captures_stay_apart(calls, program):
    """An event of one cannot be waited for in the other; one of a capture that has ended, nowhere."""
    p = program
    begin(calls, p.a)
    begin(calls, p.b)
    mark = event(calls, p.a)
    calls.refuses(codes.CAPTURE_MERGE, calls.cuStreamWaitEvent, p.b, mark, 0)
    for stream in (p.a, p.b):
        calls.refuses(codes.CAPTURE_INVALIDATED, end, calls, stream)
    calls.refuses(codes.CAPTURED_EVENT, calls.cuStreamWaitEvent, p.b, mark, 0)


@pytest.mark.parametrize(
    "mode, own, others",
    [(codes.GLOBAL, False, False), (codes.THREAD_LOCAL, False, True), (codes.RELAXED, True, True)],
    ids=["global", "thread", "relaxed"],
)
def test_modes(calls, program, mode, own, others):
    """Which threads may allocate meanwhile."""
    p, found = program, []

    def allocate():
        try:
            calls.use().made("cuMemAlloc", 64)
            found.append(True)
        except Exception as error:
            found.append(error.number != codes.CAPTURE_UNSUPPORTED)

    begin(calls, p.a, mode)
    thread = threading.Thread(target=allocate)
    thread.start()
    thread.join()
    allocate()
    assert found == [others, own]


def test_memory_of_a_graph(calls, program):
    """Allocated in a capture, it has one address in all launches, holds nothing at first, and goes with the graph."""
    p, before = program, calls.driver.used()
    begin(calls, p.a)
    memory = calls.empty(64, p.a)
    p.product(memory, p.x, p.y, p.a)
    p.product(p.out, memory, p.y, p.a)
    calls.cuMemFreeAsync(memory, p.a)
    calls.refuses(codes.INVALID_VALUE, calls.cuMemFreeAsync, p.x, p.a)
    made = end(calls, p.a)
    for _ in range(2):
        calls.cuGraphLaunch(made, p.a)
    np.testing.assert_array_equal(calls.download(p.out, p.a), numbers() * numbers(2) ** 2)
    p.product(p.out, memory, p.y, p.a)
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, p.a)
    assert "nobody has written to" in calls.driver.fault
    calls.driver.recover()
    calls.cuGraphExecDestroy(made)
    assert calls.driver.used() == before


def test_a_replay_after_a_free(calls, program):
    """The graph's addresses are those of the capture."""
    p = program
    begin(calls, p.a)
    p.product(p.out, p.x, p.y, p.a)
    made = end(calls, p.a)
    calls.cuMemFreeAsync(p.x, p.a)
    calls.cuGraphLaunch(made, p.a)
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, p.a)
    assert "memory that was freed" in calls.driver.fault


def test_pinned_copies_are_replayed(calls, program):
    """Each launch reads what the host holds then, and nobody may change that until it is done."""
    p, pinned = program, calls.pinned()
    begin(calls, p.a)
    calls.cuMemcpyHtoDAsync(p.x, pinned.ctypes.data, 64, p.a)
    p.product(p.out, p.x, p.y, p.a)
    made = end(calls, p.a)
    for start in (3, 4):
        pinned[:] = numbers(start)
        calls.cuGraphLaunch(made, p.a)
        np.testing.assert_array_equal(calls.download(p.out, p.a), numbers(start) * numbers(2))
    calls.cuGraphLaunch(made, p.a)
    pinned[0] = 0
    calls.refuses(codes.LAUNCH_FAILED, calls.cuStreamSynchronize, p.a)
    assert "were changed while a copy of it was queued" in calls.driver.fault


def test_what_a_capture_tells_of_itself(calls, program):
    """State, number, graph, and the nodes that the next one follows."""
    p = program
    begin(calls, p.a)
    p.product(p.out, p.x, p.y, p.a)
    cells = [ctypes.c_uint64() for _ in range(6)]
    calls.cuStreamGetCaptureInfo(p.a, *map(ctypes.addressof, cells))
    status, number, graph, nodes, _, count = (each.value for each in cells)
    assert (status & 0xFFFFFFFF, count) == (codes.ACTIVE, 1) and number
    calls.cuGraphGetNodes(graph, None, ctypes.addressof(cells[5]))
    found = (ctypes.c_uint64 * cells[5].value)()
    calls.cuGraphGetNodes(graph, ctypes.addressof(found), ctypes.addressof(cells[5]))
    assert list(found) == [ctypes.c_uint64.from_address(nodes).value]
    end(calls, p.a)


def test_a_capture_goes_on_in_a_graph(calls, program):
    """Into a graph that is there already, behind nodes that are named; a stream may be moved to others."""
    p, graph = program, calls.made("cuGraphCreate", 0)
    begun = ctypes.c_uint64()

    def tip():
        cells = [ctypes.c_uint64() for _ in range(6)]
        calls.cuStreamGetCaptureInfo(p.a, *map(ctypes.addressof, cells))
        return (ctypes.c_uint64 * cells[5].value).from_address(cells[3].value)[:]

    calls.cuStreamBeginCaptureToGraph(p.a, graph, None, None, 0, codes.GLOBAL)
    p.product(p.out, p.x, p.y, p.a)
    nodes = (ctypes.c_uint64 * 1)(*tip())
    calls.cuStreamEndCapture(p.a, ctypes.addressof(begun))
    assert begun.value == graph
    calls.cuStreamBeginCaptureToGraph(p.a, graph, ctypes.addressof(nodes), None, 1, codes.GLOBAL)
    p.product(p.out, p.out, p.y, p.a)
    calls.cuStreamUpdateCaptureDependencies(p.a, ctypes.addressof(nodes), None, 1, 0)
    assert len(tip()) == 2
    calls.cuStreamEndCapture(p.a, ctypes.addressof(begun))
    made = calls.made("cuGraphInstantiate", graph, 0)
    calls.cuGraphLaunch(made, p.a)
    np.testing.assert_array_equal(calls.download(p.out, p.a), numbers() * numbers(2) ** 2)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_are_replayed(calls, program, seed):
    """Products on three streams that wait for each other where they must: in each launch what NumPy finds one after the other."""
    p, drawn = program, random.Random(seed)
    streams = [p.a, p.b, calls.stream()]
    memory = [calls.upload(np.ones(N, np.float32), p.a) for _ in range(4)]
    values, factor = [np.ones(N) for _ in memory], p.x
    calls.cuMemcpyHtoDAsync(factor, (1 + numbers() / 64).ctypes.data, 64, p.a)
    calls.cuStreamSynchronize(p.a)
    factors = (1 + numbers() / 64).astype(np.float64)
    begin(calls, p.a)
    for stream in streams[1:]:
        calls.cuStreamWaitEvent(stream, event(calls, p.a), 0)
    users = [{p.a} for _ in memory]  # streams that touched memory since it was last written, that one included
    for _ in range(20):
        on, out, x = drawn.choice(streams), drawn.randrange(4), drawn.randrange(4)
        for other in (users[out] | users[x]) - {on}:
            calls.cuStreamWaitEvent(on, event(calls, other), 0)
        p.product(memory[out], memory[x], factor, on)
        users[x].add(on)
        users[out] = {on}
        values[out] = values[x] * factors
    for stream in streams[1:]:
        calls.cuStreamWaitEvent(p.a, event(calls, stream), 0)
    made = end(calls, p.a)
    calls.driver.recover(seed)
    for _ in range(3):
        for each in memory:
            calls.cuMemsetD32Async(each, 0x3F800000, N, p.a)  # 1.0
        calls.cuGraphLaunch(made, p.a)
    for each, value in zip(memory, values):
        np.testing.assert_allclose(calls.download(each, p.a), value, rtol=1e-5)
