"""The emulated driver under cuda.core: streams, events, memory, errors; where NBGRAD_CUDA is not "emulated", in a child."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nbgrad.base import config
from nbgrad.base.errors import DeviceError, KernelError
from nbgrad.cubins import table
from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda import build, host, templates
from nbgrad.kernels.cuda.emulated import library
from nbgrad.kernels.cuda.emulated.timeline import Event, History, Mark, Stream, Timeline
from nbgrad.kernels.cuda.templates import array

from .emulation import PYTEST

N = 1024


@pytest.mark.skipif(config.EMULATED, reason="this is the child")
@pytest.mark.usefixtures("compiler")
@pytest.mark.early
def test_on_the_emulated_driver():
    """The tests of devices, and those of this file that need the driver: a process of its own, for it has another libcuda."""
    files = [str(Path(__file__).with_name(name)) for name in ("test_driver.py", "test_device.py")]
    found = subprocess.run([*PYTEST, *files], env={**os.environ, "NBGRAD_CUDA": "emulated"}, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert " passed" in found.stdout and "no CUDA device" not in found.stdout


# ---- without the library ---------------------------------------------------------------------------------------------------


def test_a_library_that_python_writes_is_loaded():
    """Its functions jump to addresses of this process."""
    kinds = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    twice, thrice = kinds(lambda x: 2 * x), kinds(lambda x: 3 * x)
    functions = {"twice": ctypes.cast(twice, ctypes.c_void_p).value, "thrice": ctypes.cast(thrice, ctypes.c_void_p).value}
    made = library.Library("libnbgradtest.so.1", functions, more=1000)
    assert (made.handle.twice(21), made.handle.thrice(5)) == (42, 15)
    assert ctypes.CDLL("libnbgradtest.so.1").twice(4) == 8  # found by its name, as cuda.bindings finds libcuda
    added = [kinds(made.add(functions[name])) for name in ("thrice", "twice") * 500]
    assert (added[0](3), added[-1](3)) == (9, 6)
    made.end()
    assert {made.handle.twice(21), made.handle.thrice(5), added[0](3), added[-1](3)} == {0}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_libraries_of_both_processors(machine):
    """An ELF file of the processor."""
    made = library.written("libcuda.so.1", ["cuInit"], machine)
    assert made[:4] == b"\x7fELF" and int.from_bytes(made[18:20], "little") == library.MACHINES[machine]


def two_streams(seed):
    """A timeline with two streams, and a log."""
    timeline = Timeline(seed)
    return timeline, timeline.add(Stream(0, blocking=False)), timeline.add(Stream(0, blocking=False)), []


def test_unordered_work_is_done_in_any_order():
    """Of two streams either may be first; within one the order stays."""
    found = set()
    for seed in range(12):
        timeline, a, b, log = two_streams(seed)
        for k in range(2):
            timeline.queue(a, partial(log.append, f"a{k}"))
            timeline.queue(b, partial(log.append, f"b{k}"))
        assert not log, "work waits until somebody waits for it"
        timeline.finish_device(0)
        assert log.index("a0") < log.index("a1") and log.index("b0") < log.index("b1")
        found.add(tuple(log))
    assert len(found) > 3


def test_events_order_streams():
    """What waits for an event comes behind what was before it, whatever the seed."""
    for seed in range(12):
        timeline, a, b, log = two_streams(seed)
        event = Event(True)
        timeline.queue(a, lambda log=log: log.append("a"))
        timeline.record(a, event)
        timeline.wait(b, event)
        timeline.queue(b, lambda log=log: log.append("b"))
        timeline.finish_stream(b)
        assert log == ["a", "b"]


def test_the_default_stream_orders_blocking_ones():
    """The legacy stream waits for all blocking streams, and they for it."""
    for seed in range(12):
        timeline, log = Timeline(seed), []
        a, b, default = timeline.add(Stream(0)), timeline.add(Stream(0)), timeline.default(0)
        for stream, name in ((a, "a"), (default, "default"), (b, "b")):
            timeline.queue(stream, lambda name=name, log=log: log.append(name))
        timeline.finish_device(0)
        assert log == ["a", "default", "b"]


@pytest.mark.parametrize(
    "first, second, refused", [(True, False, True), (False, True, True), (True, True, True), (False, False, False)]
)
def test_a_missing_wait_is_found_in_any_order(first, second, refused):
    """One writes and another touches: an error even if they came in the right order."""
    for seed in range(8):
        timeline, a, b, _ = two_streams(seed)
        history = History()
        timeline.queue(a, lambda t=timeline, h=history: t.touch(h, first, "memory"))
        timeline.queue(b, lambda t=timeline, h=history: t.touch(h, second, "memory"))
        if refused:
            with pytest.raises(
                KernelError, match=r"stream \d (reads|writes) memory, which stream \d (read|wrote), and does not wait"
            ):
                timeline.finish_device(0)
        else:
            timeline.finish_device(0)


@pytest.mark.parametrize("second, refused", [("changes", False), ("reads", True), ("writes", True)])
def test_what_several_may_do_at_once(second, refused):
    """Atomic changes of two streams need no order among themselves; reads and writes beside them do."""
    for seed in range(8):
        timeline, a, b, _ = two_streams(seed)
        history = History()
        timeline.queue(a, lambda t=timeline, h=history: t.touch(h, False, "memory", True))
        timeline.queue(b, lambda t=timeline, h=history: t.touch(h, second == "writes", "memory", second == "changes"))
        if refused:
            with pytest.raises(KernelError, match="does not wait for it"):
                timeline.finish_device(0)
        else:
            timeline.finish_device(0)


@pytest.mark.parametrize("through", ["event", "host", "third"])
def test_waits_carry_what_is_known(through):
    """An event, the host that waited, a third stream that waited for the first: all order what comes behind."""
    for seed in range(8):
        timeline, a, b, _ = two_streams(seed)
        c, history, event = timeline.add(Stream(0, blocking=False)), History(), Event(False)
        timeline.queue(a, lambda t=timeline, h=history: t.touch(h, True, "memory"))
        if through == "host":
            timeline.finish_stream(a)
        else:
            timeline.record(a, event)
            timeline.wait(b if through == "event" else c, event)
        if through == "third":
            event = Event(False)
            timeline.record(c, event)
            timeline.wait(b, event)
        timeline.queue(b, lambda t=timeline, h=history: t.touch(h, True, "memory"))
        timeline.finish_stream(b)


def test_streams_that_wait_for_each_other():
    """No order is possible: an error, not a hang."""
    timeline, a, b, _ = two_streams(0)
    first, second = Event(False), Event(False)
    first.mark, second.mark = Mark({}), Mark({})
    timeline.wait(a, first)
    timeline.wait(b, second)
    with pytest.raises(KernelError, match="streams wait for each other"):
        timeline.finish_device(0)


# ---- under cuda.core ---------------------------------------------------------------------------------------------------------

emulated = pytest.mark.skipif(not config.EMULATED, reason="runs in the child of test_on_the_emulated_driver")
MUL = named("mul", "float32")
PRODUCT = templates.elementwise(MUL.inputs, MUL.outputs, MUL.into, 4)


@pytest.fixture
def gpu():
    """A device that nothing was wrong with."""
    made = host.Gpu()
    driver_of().recover()
    yield made
    driver_of().recover()


def product(gpu, x, y, out, on=None, n=N):
    """out = x * y."""
    function = gpu.load(gpu.build(build.Recipe(PRODUCT, MUL.scalar, "float32")))
    gpu.core.launch(
        on or gpu.stream,
        gpu.core.LaunchConfig(grid=templates.elementwise_grid(n, 4), block=256),
        function,
        *(int(each.handle) for each in (out, x, y)),
        n,
    )


def numbers(seed=0):
    return np.random.default_rng(seed).standard_normal(N).astype(np.float32)


@emulated
def test_two_devices_are_there(gpu):
    """They say what they are, and that nothing keeps them from being used."""
    assert host.missing() is None and len(gpu.core.Device.get_all_devices()) == 2
    assert [gpu.core.Device(k).name for k in range(2)] == ["nbgrad emulated device"] * 2
    assert gpu.core.Device(0).compute_capability == (9, 0)


@emulated
def test_a_launch_between_copies(gpu):
    """Up, computed, down."""
    x, y = numbers(), numbers(1)
    a, b, c = gpu.upload(x), gpu.upload(y), gpu.empty(4 * N)
    product(gpu, a, b, c)
    np.testing.assert_array_equal(gpu.download(c, np.float32, N), x * y)


@emulated
@pytest.mark.parametrize("wait", [True, False])
def test_a_missing_wait_between_streams(gpu, wait):
    """A kernel on a second stream reads what one on the first writes."""
    x, y = numbers(), numbers(1)
    a, b, c, d = gpu.upload(x), gpu.upload(y), gpu.empty(4 * N), gpu.empty(4 * N)
    other = gpu.device.create_stream()
    product(gpu, a, b, c)
    if wait:
        other.wait(gpu.stream.record())
    product(gpu, c, b, d, on=other)
    if wait:
        other.sync()
        np.testing.assert_array_equal(gpu.download(d, np.float32, N), x * y * y)
    else:
        with pytest.raises(Exception, match="LAUNCH_FAILED"):
            other.sync()
        assert "does not wait for it" in driver_of().fault or "nobody has written to" in driver_of().fault


def driver_of():
    from nbgrad.kernels.cuda.emulated.driver import install

    return install().driver


@emulated
def test_memory_freed_too_early(gpu):
    """Freed on its own stream while another one may still read it."""
    x = numbers()
    a, b, c = gpu.upload(x), gpu.upload(x), gpu.empty(4 * N)
    other = gpu.device.create_stream()
    product(gpu, a, b, c, on=other)
    a.close()
    with pytest.raises(Exception, match="LAUNCH_FAILED"):
        other.sync()
        gpu.stream.sync()
    assert "to free it" in driver_of().fault or "was freed" in driver_of().fault


@emulated
def test_a_fault_stays(gpu):
    """As a real one: the call that waits says so, and no later one succeeds; the text is the kernel's."""
    a, b, c = gpu.upload(numbers()), gpu.upload(numbers()), gpu.empty(4 * N)
    product(gpu, a, b, c, n=N + 4)
    with pytest.raises(Exception, match="LAUNCH_FAILED"):
        gpu.stream.sync()
    assert "outside of every allocation" in driver_of().fault
    with pytest.raises(Exception, match="LAUNCH_FAILED"):
        gpu.download(a, np.float32, N)


@emulated
def test_host_memory_changed_during_a_copy(gpu):
    """Pinned memory is read when the copy runs; pageable memory was read when it was asked for."""
    pinned = gpu.core.LegacyPinnedMemoryResource().allocate(4 * N)
    view = np.frombuffer((ctypes.c_char * (4 * N)).from_address(int(pinned.handle)), np.float32)
    view[:] = 1
    target = gpu.empty(4 * N)
    target.copy_from(pinned, stream=gpu.stream)
    view[5] = 2
    with pytest.raises(Exception, match="LAUNCH_FAILED"):
        gpu.stream.sync()
    assert "were changed while a copy of it was queued" in driver_of().fault


@emulated
def test_events_tell_when(gpu):
    """Not before what they follow; times only if they were made for it; nothing of the host waits by itself."""
    a, b, c = gpu.upload(numbers()), gpu.upload(numbers()), gpu.empty(4 * N)
    options = gpu.core.EventOptions(timing_enabled=True)
    first = gpu.stream.record(options=options)
    product(gpu, a, b, c)
    last = gpu.stream.record(options=options)
    assert not last.is_done
    last.sync()
    assert last.is_done and first.is_done and last - first > 0


@emulated
def test_graphs_of_cuda_core(gpu):
    """Captured by its builder, with a branch, and launched again and again."""
    x, y = numbers(), numbers(1)
    a, b, c, d = gpu.upload(x), gpu.upload(y), gpu.empty(4 * N), gpu.empty(4 * N)

    def record(builder):
        left, right = builder.split(2)
        product(gpu, a, b, c, on=left)
        product(gpu, b, b, d, on=right)
        product(gpu, c, d, c, on=builder.join(left, right))

    graph = gpu.capture(record)
    for _ in range(3):
        graph.launch(gpu.stream)
    np.testing.assert_array_equal(gpu.download(c, np.float32, N), x * y * (y * y))


@emulated
def test_out_of_memory(gpu):
    """More than the device has; what is there stays as it was."""
    a = gpu.upload(numbers())
    with pytest.raises(Exception, match="OUT_OF_MEMORY"):
        gpu.empty(1 << 40)
    np.testing.assert_array_equal(gpu.download(a, np.float32, N), numbers())


@emulated
@pytest.mark.parametrize("at", [1, 2, 3])
def test_failures_on_demand(gpu, at):
    """The n-th allocation finds no memory; those before and after it do."""
    driver_of().fail("cuMemAllocFromPoolAsync", 2, at)
    found = []
    for _ in range(4):
        try:
            found.append(gpu.upload(numbers()))
        except Exception as error:
            assert "OUT_OF_MEMORY" in str(error)
            found.append(None)
    assert [each is None for each in found] == [k + 1 == at for k in range(4)]
    np.testing.assert_array_equal(gpu.download(found[3], np.float32, N), numbers())


@emulated
def test_a_launch_that_fails(gpu):
    """The call says so, and nothing was queued."""
    a, c = gpu.upload(numbers()), gpu.upload(np.zeros(N, np.float32))
    driver_of().fail("cuLaunchKernelEx", 701)
    with pytest.raises(Exception, match="LAUNCH_OUT_OF_RESOURCES"):
        product(gpu, a, a, c)
    assert not gpu.download(c, np.float32, N).any()


@emulated
def test_a_driver_that_returns_at_once(gpu):
    """Our own cost of a launch, without the driver's: nothing is queued, and nothing is waited for."""
    script = """
from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda import build, host, templates
from nbgrad.kernels.cuda.emulated.driver import install
gpu, operation = host.Gpu(), named("mul", "float32")
template = templates.elementwise(operation.inputs, operation.outputs)
function = gpu.load(gpu.build(build.Recipe(template, operation.scalar, "float32")))
a = gpu.empty(4096)
install().at_once("cuLaunchKernelEx")
for _ in range(100):
    gpu.launch(function, (1,), *[int(a.handle)] * 3, 1024)
gpu.stream.sync()
print(install().driver.calls.get("cuLaunchKernelEx", 0))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "0\n"


@emulated
@pytest.mark.parametrize("change, message", [("devices.clear()", "no usable GPU"), ("version = 12080", "CUDA 12.8, expected 13")])
def test_what_keeps_a_gpu_from_being_used(change, message):
    """No device, a driver too old: the reason and the remedy, and no exception of a library."""
    script = f"""
from nbgrad.kernels.cuda import host
from nbgrad.kernels.cuda.emulated.driver import install
install().driver.{change}
print(host.missing())
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert message in found.stdout and "Hint:" in found.stdout


@emulated
def test_what_is_no_image_is_refused(gpu):
    """A cubin of a real GPU, damaged bytes."""
    for code in (b"\x7fELF" + bytes(100), b"nbgrad emulated\0" + b"\xff" * 16):
        with pytest.raises(Exception, match="INVALID_IMAGE"):
            gpu.core.ObjectCode.from_cubin(code).get_kernel("x")


@emulated
def test_what_nothing_plays_is_not_supported(gpu):
    """An entry point that is missing here says so by its name."""
    from cuda.bindings import driver

    (error, *_) = driver.cuArrayDestroy(0)
    assert error == driver.CUresult.CUDA_ERROR_NOT_SUPPORTED and driver_of().calls["cuArrayDestroy"] == 1


@emulated
def test_entry_points_have_their_real_parameters():
    """As many as cuda.bindings declares, of the kinds that it declares: addresses, ints of 32 bits, sizes."""
    import re

    from cuda.bindings import cydriver

    declared = Path(cydriver.__file__).with_name("cydriver.pxd")
    if not declared.exists():
        pytest.skip("cuda.bindings is installed without its declarations")
    from nbgrad.kernels.cuda.emulated.driver import ENTRIES, KINDS

    text = declared.read_text()
    letter = {kind: name for name, kind in KINDS.items()}
    checked = 0
    for name, (kinds, *_) in ENTRIES.items():
        found = re.search(rf"cdef CUresult {name}\((.*?)\) except", text)
        if found is None:
            continue  # called by another name of a later version
        parameters = [each for each in found[1].split(", ") if each]
        expected = "".join(kind_of(each) for each in parameters)
        assert expected == "".join(letter[kind] for kind in kinds), name
        checked += 1
    assert checked > 50


def kind_of(parameter: str) -> str:
    """The letter of a parameter's C type."""
    kind = parameter.rpartition(" ")[0]
    if "*" in parameter:
        return "s" if kind.replace(" ", "") in ("constchar*",) else "p"
    if kind in ("CUdevice", "int") or kind.startswith(
        (
            "CUdevice_attribute",
            "CUdevice_P2P",
            "CUjitInputType",
            "CUmemPool_attribute",
            "CUfunction_attribute",
            "CUpointer_attribute",
            "CUresult",
        )
    ):
        return "i"
    if kind.startswith("CUstreamCaptureMode"):
        return "i"
    widths = {"unsigned int": "u", "size_t": "n", "unsigned long long": "n", "unsigned char": "c", "unsigned short": "h"}
    return widths.get(kind, "p")


@emulated
@pytest.mark.cuda
def test_the_table_runs_under_the_driver(gpu):
    """A kernel of the table, found by its recipe, built for the device that is there."""
    recipe = build.Recipe(templates.elementwise((array("float32"),), ("float16",)), table.identity, "float32")
    kernel = gpu.build(recipe)
    x, out = gpu.upload(numbers()), gpu.empty(2 * N)
    gpu.launch(gpu.load(kernel), templates.elementwise_grid(N, 4), int(out.handle), int(x.handle), N)
    np.testing.assert_array_equal(gpu.download(out, np.float16, N), numbers().astype(np.float16))


@emulated
def test_the_runtime_library_is_not_played(gpu):
    """Waiting for a device is: by the driver's function."""
    from cuda.bindings import driver

    a, b, c = gpu.upload(numbers()), gpu.upload(numbers()), gpu.empty(4 * N)
    product(gpu, a, b, c)
    with pytest.raises(
        DeviceError, match=r"Device\.sync calls CUDA's runtime library, which is not played\. Hint: .*cuCtxSynchronize"
    ):
        gpu.device.sync()
    assert driver_of().timeline.busy
    assert driver.cuCtxSynchronize() == (driver.CUresult.CUDA_SUCCESS,)
    assert not driver_of().timeline.busy


@emulated
def test_names_mean_what_they_meant(gpu):
    """Where CUDA has changed an entry point's parameters, the caller's version chooses; names of versions are found, too."""
    from cuda.bindings import driver

    def address(name, version):
        error, found, _ = driver.cuGetProcAddress(name, version, 0)
        assert error == driver.CUresult.CUDA_SUCCESS
        return found

    for name in (b"cuStreamGetCaptureInfo", b"cuStreamUpdateCaptureDependencies"):
        assert address(name, 12000) != address(name, 13000)
    assert address(b"cuMemcpyHtoDAsync", 12000) == address(b"cuMemcpyHtoDAsync_v2", 13000)


@emulated
def test_refused_calls_tell_why(gpu):
    """The text of an error has the reason that a real driver keeps to itself."""
    from cuda.bindings import driver

    (error,) = driver.cuMemcpyDtoDAsync(1, 2, 8, int(gpu.stream.handle))
    assert error == driver.CUresult.CUDA_ERROR_INVALID_VALUE
    assert driver.cuGetErrorString(error)[1] == b"CUDA_ERROR_INVALID_VALUE: cuMemcpyDtoDAsync: 0x1 is no memory of a device"
