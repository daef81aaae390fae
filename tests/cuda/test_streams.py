"""Streams of GPUs, events, and passes over several streams, on the emulated device: nothing is read before it is written, nothing
that is still in use written to. Where NBGRAD_CUDA is not "emulated", in a child.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import cuda
from nbgrad.base import config
from nbgrad.base.errors import ArgumentError, DeviceError, GradError, NotSupportedError, RangeError
from tests.cuda import stream_programs
from tests.cuda.emulation import GPUS, on_gpus, played, played_driver, two_gpus

PROGRAMS, MANY = 60, 10_000
LIVING: list[object] = []  # other libraries' streams: memory that was freed on one is waited for there as long as the process lives
pytestmark = [on_gpus, pytest.mark.filterwarnings("ignore:.*it runs on the CPU:UserWarning")]


driver = played_driver


@pytest.fixture(autouse=True)
def unharmed():
    """Default streams before and after; a device without a fault."""
    if config.EMULATED:
        driver().recover()
    nbgrad.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    yield
    for k in range(GPUS):
        assert cuda.current_stream(k) == cuda.default_stream(k)
        cuda.synchronize(k)
    assert not config.EMULATED or driver().fault is None


def on_gpu(*numbers: float, device: int = 0, grad: bool = False):
    """A tensor on a GPU."""
    x = nbgrad.tensor(np.array(numbers or (1.0, 2.0, 3.0), np.float32)).to(f"cuda:{device}")
    return x.requires_grad_(grad)


def calls(*names: str) -> int:
    """How often entry points of the driver were called."""
    return sum(driver().calls.get(name, 0) for name in names)


# ---- streams ---------------------------------------------------------------------------------------------------------------


@two_gpus
def test_the_default_stream_is_current():
    """Of each GPU, in each thread."""
    assert cuda.current_stream() == cuda.default_stream() == cuda.current_stream("cuda:0")
    assert cuda.default_stream(0) != cuda.default_stream(1) and cuda.default_stream(1).device == nbgrad.device("cuda:1")


@two_gpus
def test_a_stream_is_current_inside_of_its_context():
    """Its GPU, too; afterwards what was before, whatever happened inside."""
    a, b = cuda.Stream(0), cuda.Stream(1)
    with cuda.stream(a):
        assert cuda.current_stream() == a and cuda.current_stream(1) == cuda.default_stream(1)
        with b:
            assert cuda.current_stream() == b and cuda.current_stream(0) == a
        assert cuda.current_stream() == a
        with pytest.raises(ZeroDivisionError), cuda.stream(b):
            raise ZeroDivisionError
        assert cuda.current_stream() == a and cuda.current_stream(1) == cuda.default_stream(1)
    with cuda.stream(None):
        assert cuda.current_stream() == cuda.default_stream()
    cuda.set_stream(b)
    assert cuda.current_stream() == b
    cuda.set_stream(cuda.default_stream(1))
    cuda.set_stream(None)
    cuda.set_stream(cuda.default_stream(0))


def test_each_thread_has_its_own():
    """What one chooses does not concern another, and launches of both are where they belong."""
    s, seen = cuda.Stream(), []
    x = on_gpu()
    cuda.synchronize()

    def other() -> None:
        seen.append(cuda.current_stream())
        with cuda.stream(cuda.Stream()) as _:
            for _ in range(20):
                (x * 2).cpu()

    with cuda.stream(s):
        thread = threading.Thread(target=other)
        thread.start()
        for _ in range(20):
            np.testing.assert_array_equal((x * 3).cpu().numpy(), [3, 6, 9])
        thread.join()
        assert cuda.current_stream() == s
    assert seen == [cuda.default_stream()]


@two_gpus
def test_streams_are_of_a_pool():
    """Of 32, for each GPU and priority; priorities out of range are the nearest in it."""
    made = [cuda.Stream(1) for _ in range(33)]
    assert made[32] == made[0] and len({s.cuda_stream for s in made}) == 32 and hash(made[32]) == hash(made[0])
    least, greatest = cuda.Stream.priority_range()
    assert (least, greatest) == (0, -5)
    assert [cuda.Stream(priority=p).priority for p in (5, 0, -1, -9)] == [0, 0, -1, -5]
    assert made[0] != made[1] and made[0] != "no stream"
    assert repr(made[0]).startswith("<nbgrad.cuda.Stream device=cuda:1 cuda_stream=0x")


@played
def test_a_stream_waits_for_another():
    """For all that it has got; without a wait the device says what is missing."""
    s, x = cuda.Stream(), on_gpu()
    y = x * 2
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        z = y + 1
    assert not s.query()
    s.synchronize()
    assert s.query()
    np.testing.assert_array_equal(z.cpu().numpy(), [3, 5, 7])


@played
@pytest.mark.parametrize("how", ["wait_event", "wait", "wait here", "synchronize"])
def test_events_order_streams(how):
    """However the wait is said."""
    s, x, event = cuda.Stream(), on_gpu(), cuda.Event()
    y = x * 2
    event.record()
    assert not event.query()
    if how == "wait_event":
        s.wait_event(event)
    elif how == "wait":
        event.wait(s)
    elif how == "synchronize":
        event.synchronize()
        assert event.query()
    with cuda.stream(s):
        if how == "wait here":
            event.wait()
        z = y + 1
        np.testing.assert_array_equal(z.cpu().numpy(), [3, 5, 7])


@played
def test_times_between_events():
    """In milliseconds; a piece of the emulated device's work takes one."""
    first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    x = on_gpu()
    first.record()
    for _ in range(5):
        x = x * 2
    cuda.current_stream().record_event(last)
    last.synchronize()
    assert first.elapsed_time(last) >= 5


def test_an_event_that_was_never_recorded():
    """Nothing waits for it, and it is reached, as in torch; it has no time and no GPU."""
    event, timed = cuda.Event(), cuda.Event(enable_timing=True)
    event.wait()
    event.synchronize()
    assert event.query() and event.device is None and repr(event) == "<nbgrad.cuda.Event uninitialized>"
    with pytest.raises(RangeError, match=r"Event.elapsed_time: this event was never recorded. Hint: event.record\(\) first."):
        timed.elapsed_time(timed)


@played
def test_events_refuse():
    """Times of events without timing, not reached yet, of two GPUs; another GPU; other processes."""
    event, first, last = cuda.Event(), cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    event.record()
    first.record()
    on_gpu() * 2
    last.record()
    with pytest.raises(RangeError, match="Event.elapsed_time: end_event was made without timing"):
        first.elapsed_time(event) if first.query() else (first.synchronize(), first.elapsed_time(event))
    with pytest.raises(RangeError, match="Event.elapsed_time: end_event is not reached yet"):
        first.elapsed_time(last)
    with pytest.raises(DeviceError, match="Event.record: the event is of cuda:0, the stream of cuda:1; expected one GPU. Hint:"):
        event.record(cuda.default_stream(1))
    other = cuda.Event(enable_timing=True)
    other.record(cuda.default_stream(1))
    other.synchronize()
    last.synchronize()
    with pytest.raises(DeviceError, match="events are of cuda:0 and cuda:1"):
        first.elapsed_time(other)
    with pytest.raises(NotSupportedError, match="interprocess"):
        cuda.Event(interprocess=True)


def test_streams_refuse():
    """What is no stream, no GPU, not there."""
    with pytest.raises(ArgumentError, match="stream: expected a stream, got a number. Hint:"):
        cuda.stream(5)
    with pytest.raises(ArgumentError, match="set_stream: expected a stream, got str"):
        cuda.set_stream("default")
    with pytest.raises(DeviceError, match="streams are of a GPU, got device cpu"):
        cuda.Stream("cpu")
    with pytest.raises(DeviceError, match="there is no GPU 7"):
        cuda.Stream(7)


# ---- other libraries -------------------------------------------------------------------------------------------------------


class Foreign:
    """A stream of another library."""

    def __init__(self, handle: int):
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


@two_gpus
def test_streams_of_other_libraries():
    """They are taken wherever streams are, with the GPU that they are of, and ours are given."""
    from cuda.core import Device

    core = Device(1)
    core.set_current()
    theirs = core.create_stream()
    LIVING.append(theirs)
    ours = cuda.ExternalStream(theirs, 1)
    assert ours.cuda_stream == int(theirs.handle) and ours.device_index == 1
    assert ours == cuda.get_stream_from_external(int(theirs.handle), 1)
    x = on_gpu(device=1)
    with cuda.stream(Foreign(int(theirs.handle))):
        assert cuda.current_stream() == ours
        cuda.current_stream().wait_stream(cuda.default_stream(1))
        y = x * 2
    cuda.default_stream(1).wait_stream(Foreign(int(theirs.handle)))
    np.testing.assert_array_equal(y.cpu().numpy(), [2, 4, 6])
    assert ours.__cuda_stream__() == (0, int(theirs.handle)) and ours._as_parameter_.value == int(theirs.handle)
    core.create_stream(ours).sync()  # by the protocol
    with pytest.raises(DeviceError, match="ExternalStream: the stream 0x[0-9a-f]+ is of another GPU than cuda:0"):
        cuda.ExternalStream(theirs, 0)


@played
def test_what_is_kept_for_a_stream_that_has_ended_goes_back():
    """The rest of the GPU is waited for, each time, also for what tensors still hold when the stream ends."""
    from cuda.bindings import driver as bindings

    theirs = bindings.cuStreamCreate(1)[1]
    with cuda.stream(Foreign(int(theirs))):
        freed, held = on_gpu() * 2, on_gpu() * 3
    bindings.cuStreamDestroy(theirs)
    del freed
    cuda.empty_cache()
    np.testing.assert_array_equal(held.cpu().numpy(), [3, 6, 9])
    kept = cuda.memory_reserved()
    del held
    cuda.empty_cache()
    assert cuda.memory_reserved() < kept


def test_the_default_stream_is_in_order_with_the_legacy_one():
    """What other libraries do there comes behind what we have done, and before what we do next."""
    from cuda.bindings import driver as bindings

    x = on_gpu()
    y = x * 2
    assert int(bindings.cuMemsetD8Async(y.data_ptr(), 0, 12, 0)[0]) == 0
    np.testing.assert_array_equal((y + 1).cpu().numpy(), [1, 1, 1])


# ---- memory ----------------------------------------------------------------------------------------------------------------


@played
def test_memory_that_another_stream_uses_is_not_given_away():
    """It lies in no list before that stream is done, and then in that of its own; nobody said record_stream."""
    s, x = cuda.Stream(), on_gpu()
    y = x * 2
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        z = y + 1
    address = y.data_ptr()
    del y
    seen = [x * k for k in range(4)]
    assert address not in [each.data_ptr() for each in seen]
    s.synchronize()
    more = [x * k for k in range(30)]
    assert address in [each.data_ptr() for each in more]
    np.testing.assert_array_equal(z.cpu().numpy(), [3, 5, 7])


@played
@pytest.mark.parametrize("call", ["cuEventCreate", "cuEventQuery"])
def test_memory_that_waits_is_not_lost_where_the_driver_refuses(call):
    """Neither where no event can be made for it, nor where one cannot be asked: later it is given back."""
    from nbgrad.tensors.heaps import heap_on

    cuda.empty_cache()
    s, x, kept = cuda.Stream(), on_gpu(), cuda.memory_reserved()
    y = x * 2
    with cuda.stream(s):
        s.wait_stream(cuda.default_stream())
        y.add_(1)
    heap_on(0).card._events.clear()  # so that one has to be made
    del y
    driver().fail(call, 2)
    with pytest.raises(nbgrad.errors.KernelError):
        for n in range(1, 100):
            nbgrad.empty(n * 300, device="cuda")
    driver().failures.clear()
    cuda.empty_cache()
    assert cuda.memory_reserved() == kept


def test_what_a_stream_writes_to_is_kept_for_it_too():
    """In place, by a view."""
    s, x = cuda.Stream(), on_gpu(1, 2, 3, 4)
    y = x * 2
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y.view(2, 2).mul_(3)
    address = y.data_ptr()
    del y
    assert address not in [(x * 2).data_ptr() for _ in range(4)]


@two_gpus
def test_record_stream():
    """For what nbgrad does not see: the memory is kept for that stream."""
    from cuda.bindings import driver as bindings

    s, x = cuda.Stream(), on_gpu()
    y, out = x * 2, ctypes.create_string_buffer(12)
    s.wait_stream(cuda.current_stream())
    assert int(bindings.cuMemsetD8Async(y.data_ptr(), 0, 12, s.cuda_stream)[0]) == 0
    y.record_stream(s)
    address = y.data_ptr()
    del y, out
    assert address not in [(x * 2).data_ptr() for _ in range(4)]
    with pytest.raises(DeviceError, match="record_stream: the tensor is on cuda:0, the stream on cuda:1"):
        x.record_stream(cuda.Stream(1))
    nbgrad.ones(2).record_stream(s)  # on the CPU it means nothing


def test_a_request_waits_for_memory_of_other_streams_before_it_fails():
    """Where the driver has none, what waits is waited for and given back."""
    s, x = cuda.Stream(), on_gpu()
    y = x * 2
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        z = y + 1
    del y
    driver().fail("cuMemAllocFromPoolAsync", 2)
    made = [x * k for k in range(200)]
    assert len({each.data_ptr() for each in made}) == 200
    np.testing.assert_array_equal(z.cpu().numpy(), [3, 5, 7])


# ---- passes ----------------------------------------------------------------------------------------------------------------


@two_gpus
def test_a_node_runs_on_the_stream_of_its_forward():
    """Hooks see it, whatever the caller's stream is; GPUs of the middle have theirs."""
    s, t, x, seen = cuda.Stream(0), cuda.Stream(1), on_gpu(grad=True), []
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y = x * 2
    y.register_hook(lambda g: seen.append((cuda.current_stream(0), cuda.current_stream(1))))
    t.wait_stream(s)
    with cuda.stream(s), cuda.stream(t):
        z = y.to("cuda:1") * 3
    z.register_hook(lambda g: seen.append((cuda.current_stream(0), cuda.current_stream(1))))
    with cuda.stream(t):
        z.backward(nbgrad.ones_like(z))
    assert seen == [(s, t), (s, cuda.default_stream(1))]
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [6, 6, 6])


def test_a_leaf_is_on_the_stream_of_its_first_use():
    """Its hooks tell; that of the caller is ready when the pass returns."""
    s, x, seen = cuda.Stream(), on_gpu(grad=True), []
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y = x * 2
    cuda.current_stream().wait_stream(s)
    z = y * x
    x.register_hook(lambda g: seen.append(cuda.current_stream()))
    z.backward(nbgrad.ones_like(z))
    assert seen == [s]
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [4, 8, 12])


def test_a_gradient_from_another_stream_warns():
    """Once, if that is asked for."""
    s, x = cuda.Stream(), on_gpu(grad=True)
    y = x * 2
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        z = y * x
    nbgrad.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    with pytest.warns(UserWarning, match="AccumulateGrad: a gradient was computed on another stream") as told:
        z.backward(nbgrad.ones_like(z), retain_graph=True)
        z.backward(nbgrad.ones_like(z), retain_graph=True)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbgrad.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
        z.backward(nbgrad.ones_like(z))


def other_streams(x):
    """A graph over two streams and two GPUs."""
    s, t = cuda.Stream(0), cuda.Stream(1)
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y = x * 2
    t.wait_stream(s)
    with cuda.stream(s), cuda.stream(t):
        return y.to("cuda:1") * 3, (s, t)


def choices():
    """What a thread has chosen."""
    return cuda.current_stream(), cuda.current_stream(0), cuda.current_stream(1)


class Through(nbgrad.Function):
    """Notes where its backward runs, and leaves another stream behind."""

    seen: list = []

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Through.seen.append(cuda.current_stream(0))
        cuda.set_stream(cuda.Stream(1))
        return g * 2


@two_gpus
def test_functions_hooks_and_callbacks_leave_streams_as_they_were():
    """A Function's backward runs on its stream, and may change it; callbacks see the caller's streams."""
    caller, x, seen = cuda.Stream(0), on_gpu(grad=True), []
    s = cuda.Stream(0)
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y = Through.apply(x)
    y.register_hook(lambda g: nbgrad.queue_callback(lambda: seen.append(choices())))
    z = y * 3 if s.wait_stream(cuda.current_stream()) else None
    with cuda.stream(s):
        z = y * 3
    with cuda.stream(caller):
        before = choices()
        z.backward(nbgrad.ones_like(z))
        assert choices() == before and seen == [before]
        np.testing.assert_array_equal(x.grad.cpu().numpy(), [6, 6, 6])
    assert Through.seen == [s]


@two_gpus
def test_an_error_in_the_middle_leaves_streams_as_they_were():
    """Of a hook on another GPU; what ran before it is in order for the caller."""
    x = on_gpu(grad=True)
    y, _ = other_streams(x)
    before = choices()

    def fail(g):
        cuda.set_stream(cuda.Stream(1))
        raise ZeroDivisionError

    y.grad_fn.next_functions[0][0].register_prehook(fail)
    with pytest.raises(ZeroDivisionError):
        y.backward(nbgrad.ones_like(y))
    assert choices() == before


@two_gpus
def test_a_pass_within_a_pass():
    """On the streams of the node that runs it, and back on them afterwards."""
    x, w, seen = on_gpu(grad=True), on_gpu(grad=True), []
    y, (s, t) = other_streams(x)

    def inner(g):
        before = choices()
        with nbgrad.enable_grad():
            z, _ = other_streams(w)
        z.backward(nbgrad.ones_like(z))
        assert choices() == before
        seen.append(w.grad * 1)
        return g * w.grad.to("cuda:1")

    y.register_hook(inner)
    y.backward(nbgrad.ones_like(y))
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [36, 36, 36])


def test_gradients_that_grad_returns_are_ready():
    """On the caller's stream, which may be another than the one of the root, with a second derivative on all of them."""
    x, caller = on_gpu(grad=True), cuda.Stream(0)
    s = cuda.Stream(0)
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y = x * x * x
    caller.wait_stream(cuda.current_stream())
    with cuda.stream(caller):
        (g,) = nbgrad.grad(y, x, nbgrad.ones_like(y), create_graph=True)
        (gg,) = nbgrad.grad(g, x, nbgrad.ones_like(g))
        np.testing.assert_array_equal(g.detach().cpu().numpy(), [3, 12, 27])
        np.testing.assert_array_equal(gg.cpu().numpy(), [6, 12, 18])


def test_undefined_gradients_and_several_results():
    """What has no cotangent needs no wait; results of one node go to nodes of two streams."""
    x, s = on_gpu(1, 2, 3, 4, grad=True), cuda.Stream()
    a, b = (x * 2).split(2)
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        c = a * 3
    cuda.current_stream().wait_stream(s)
    (c + b * 5).backward(nbgrad.ones_like(c))
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [6, 6, 10, 10])


def test_programs_of_one_stream_make_no_event():
    """Nothing is asked of the driver for the sake of other streams: forward, backward, a second pass. Copies between GPUs do."""
    script = """
import numpy as np, nbgrad
from nbgrad import cuda
from nbgrad.kernels.cuda.emulated.driver import install
x = nbgrad.tensor(np.ones(4, np.float32)).to("cuda:0").requires_grad_(True)
for _ in range(2):
    y = (x * 2).sin() * x
    y.backward(nbgrad.ones_like(y))
print(x.grad.cpu().tolist(), cuda.current_stream() == cuda.default_stream())
print(sum(count for name, count in install().driver.calls.items() if "Event" in name))
"""
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[1] == "0", found.stdout
    assert found.stdout.splitlines()[0].endswith("True")


def test_a_wait_for_each_pair_of_streams_that_a_cotangent_crosses():
    """And no more: two nodes on one stream behind one on another."""
    x = on_gpu(grad=True)
    s = cuda.Stream()
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y = (x * 2).sin().sin()
    before = calls("cuStreamWaitEvent")
    y.backward(nbgrad.ones_like(y))
    assert calls("cuStreamWaitEvent") == before + 2  # the pass waits for the caller, and the caller for the pass


# ---- saved tensors on the host ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("pin", [False, True])
def test_saved_tensors_are_kept_on_the_host(pin, several):
    """Copies have a stream of their own, which waits for what made the tensor, and is waited for where it is used."""
    for seed in range(6):
        driver().timeline.random = random.Random(seed)
        x, s = on_gpu(grad=True), cuda.Stream()
        with nbgrad.graph.save_on_cpu(pin_memory=pin):
            y = (x * 2).sin()
            if several:
                s.wait_stream(cuda.current_stream())
                with cuda.stream(s):
                    y = (y * y).sin() * y
                cuda.current_stream().wait_stream(s)
            else:
                y = (y * y).sin() * y
            z = y * y
        del y
        junk = [x.detach() * k for k in range(10)]  # takes what was let go too early
        for keep in (True, False):
            x.grad = None
            z.backward(nbgrad.ones_like(z), retain_graph=keep)
        v = nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
        w = (v * 2).sin()
        w = (w * w).sin() * w
        (w * w).backward(nbgrad.ones(3))
        np.testing.assert_array_equal(x.grad.cpu().numpy(), v.grad.numpy())
        del junk


def test_pinned_copies_of_saved_tensors_are_not_waited_for():
    """Neither forward nor backward stops for them; one is fetched ahead."""
    x = on_gpu(grad=True)
    waits = "cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"
    before, seed = calls(*waits), nbgrad.ones_like(x.detach())
    with nbgrad.graph.save_on_cpu(pin_memory=True):
        y = (x * 2).sin().sin().sin()
    copies = calls("cuMemcpyHtoDAsync")
    y.register_hook(lambda g: None)
    seen = []
    y.grad_fn.register_hook(lambda *grads: seen.append(calls("cuMemcpyHtoDAsync") - copies))
    y.backward(seed)
    assert calls(*waits) == before and seen == [2]


@pytest.mark.parametrize("omitted", ["begin", "get", "end"])
def test_planted_omissions_of_offloading_are_found(omitted, monkeypatch):
    """Without the wait for the program, without that for the copy, without holding memory the device finds it."""
    from nbgrad.autograd import offload

    end, fetch = offload.Offloaded.end, offload.Offloaded.fetch

    def forgetful_end(self, stream, held):
        return end(self, stream, None)

    def forgetful_fetch(self):
        fetch(self)
        self.fetched = self.fetched[0], None

    if omitted == "begin":
        monkeypatch.setattr(offload.Offloaded, "begin", lambda self: offload.copying_stream(self.heap.index))
    elif omitted == "get":
        monkeypatch.setattr(offload.Offloaded, "fetch", forgetful_fetch)
    else:
        monkeypatch.setattr(offload.Offloaded, "end", forgetful_end)
    for seed in range(20):
        driver().timeline.random = random.Random(seed)
        try:
            x = on_gpu(grad=True)
            with nbgrad.graph.save_on_cpu(pin_memory=True):
                y = x * 2
                for _ in range(4):
                    y = (y * y).sin()
            y.backward(nbgrad.ones_like(y))
            cuda.synchronize()
        except nbgrad.errors.KernelError:
            break
    fault = driver().fault
    driver().recover()
    offload._running.clear()
    forget_waiting()
    forget_pinned()
    assert fault is not None


def forget_waiting():
    """Events that a fault has ended are never reached: no memory waits for them."""
    from nbgrad.tensors.choices import opened

    for heap in opened:
        for group in heap.waiting.groups:
            group.events.clear()


def forget_pinned():
    """Events of copies that were forgotten are never reached."""
    from nbgrad.tensors import pinned

    pinned._returned.clear()
    pinned._running.clear()


# ---- anomaly mode ----------------------------------------------------------------------------------------------------------


@two_gpus
@pytest.mark.parametrize("several", [False, True])
def test_a_nan_is_found_on_the_device(several):
    """The node that made it first is named when the pass is done, on whichever streams and GPUs it ran; streams stay."""
    x, before = on_gpu(0.0, 1.0, 2.0, grad=True), choices()
    with nbgrad.set_detect_anomaly(True):
        if several:
            y, (_, t) = other_streams(x)
            cuda.current_stream(1).wait_stream(t)
        else:
            y = (x * 2).to("cuda:1") * 3
        z = (y.sqrt() * 0).sin() * 2
        with (
            pytest.warns(UserWarning, match=r"(?s)Error detected in SqrtBackward0.*z = \(y.sqrt\(\) \* 0\).sin\(\)"),
            pytest.raises(GradError, match="Function 'SqrtBackward0' returned nan values in its 0th output"),
        ):
            z.backward(nbgrad.ones_like(z))
    assert choices() == before


def test_a_pass_without_nan_reads_nothing_else():
    """What was looked for on the device is read once: one copy, whatever the number of nodes."""
    counts = []
    for length in (3, 30):
        x = on_gpu(grad=True)
        with nbgrad.set_detect_anomaly(True):
            y = x
            for _ in range(length):
                y = y * 1.5
            g = nbgrad.ones_like(y)
            before = calls("cuMemcpyDtoHAsync")
            y.backward(g)
        counts.append(calls("cuMemcpyDtoHAsync") - before)
    if cuda.host_fallbacks().get("any"):
        pytest.skip("any has no kernel for a GPU, and reads every result")
    assert counts[0] == counts[1] == 1


def test_places_and_streams_of_nodes_together():
    """In anomaly mode a node on another stream has both: its line is shown, and it runs where it was recorded."""
    x, s, seen = on_gpu(grad=True), cuda.Stream(), []
    s.wait_stream(cuda.current_stream())
    with nbgrad.set_detect_anomaly(True), cuda.stream(s):
        y = x * 2
    assert "y = x * 2" in y.grad_fn.metadata["traceback_"][-1]
    y.register_hook(lambda g: seen.append(cuda.current_stream()))
    with cuda.stream(s):
        y.backward(nbgrad.ones_like(y))
    assert seen == [s]


# ---- random programs -------------------------------------------------------------------------------------------------------


def compare(seed: int) -> None:
    """A program gives on GPUs what it gives on the CPU, bit for bit, and the device finds nothing."""
    expected = stream_programs.outcome(stream_programs.OnCpu(seed))
    driver().timeline.random = random.Random(seed)
    found = stream_programs.outcome(stream_programs.OnGpus(seed))
    for k in range(2):
        cuda.synchronize(k)
    if isinstance(expected, type):
        assert found is expected, f"program {seed}: {found}, expected {expected}"
        return
    assert len(found) == len(expected)
    for k, (x, y) in enumerate(zip(found, expected)):
        np.testing.assert_array_equal(x, y, err_msg=f"program {seed}, result {k}")


# Leaves are used on whatever streams programs draw, of which the engine warns.
anywhere = pytest.mark.filterwarnings("ignore:AccumulateGrad:UserWarning")


@anywhere
def test_random_programs():
    """Streams, events, views, writes, hooks, two GPUs, passes from any stream, second order."""
    for seed in range(PROGRAMS):
        compare(seed)


@anywhere
@pytest.mark.slow
def test_many_random_programs():
    """The same, many more of them."""
    for seed in range(PROGRAMS, MANY):
        compare(seed)


def without_waits_for_cotangents(patch):
    patch("nbgrad.autograd.stream_walk.cross", lambda *given: None)


def without_waits_for_the_caller(patch):
    patch("nbgrad.autograd.stream_walk.Crossing.begin", lambda self: None)


def without_waits_of_the_caller(patch):
    from nbgrad.tensors.streams import select

    patch("nbgrad.autograd.stream_walk.Crossing.end", lambda self: select(self.choice, self.index))


def with_sums_on_the_streams_of_the_producer(patch):
    from nbgrad.autograd.stream_walk import Crossing

    carry = Crossing.carry

    def carry_and_return(self, below, value):
        carry(self, below, value)
        self.enter(self.producer)

    patch("nbgrad.autograd.stream_walk.Crossing.carry", carry_and_return)


def without_notes_of_memory(patch):
    patch("nbgrad.tensors.heaps.begun", lambda: False)
    patch("nbgrad.tensors.heaps.use_on", lambda *given: None)


@pytest.mark.parametrize(
    "omission",
    [
        without_waits_for_cotangents,
        without_waits_for_the_caller,
        without_waits_of_the_caller,
        with_sums_on_the_streams_of_the_producer,
        without_notes_of_memory,
    ],
    ids=lambda omission: omission.__name__,
)
def test_planted_omissions_are_found(omission, monkeypatch):
    """Without one kind of wait the device finds work that nothing orders, in some of the programs."""
    from nbgrad.tensors.choices import DEFAULT, choose

    with monkeypatch.context() as patched:
        omission(patched.setattr)
        for seed in range(3 * PROGRAMS):
            driver().timeline.random = random.Random(seed)
            try:
                stream_programs.outcome(stream_programs.OnGpus(seed))
                for k in range(2):
                    cuda.synchronize(k)
            except nbgrad.errors.KernelError:
                break
    fault = driver().fault
    driver().recover()
    choose(DEFAULT)
    forget_waiting()
    assert fault is not None and ("does not wait for it" in fault or "nobody has written to" in fault)


def test_gradients_fail_in_the_same_way():
    """A saved tensor that another stream has written to since is the same error as on the CPU."""
    x, s = on_gpu(grad=True), cuda.Stream()
    y = x * 2
    z = y * y
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        y.mul_(2)
    with pytest.raises(GradError, match="was modified in place"):
        z.backward(nbgrad.ones_like(z))
