"""Streams of GPUs and events on them, as programs see them: torch's names and meanings.

NOTE [One stream]: work on the default stream needs no order, and a program that uses no other pays for none: nothing is noted, no
event is made, and passes are walked as on the CPU. The first other stream that a thread chooses changes that for the process:
launches note which stream uses which memory (NOTE [Blocks of other streams] of native/heaps.py), nodes on which streams they were
recorded (graph/noting.py), and passes run each node on its streams (autograd/stream_walk.py).
"""

from __future__ import annotations

import ctypes
from itertools import count
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, DeviceError, NotSupportedError, RangeError
from .choices import Choice, StreamOfCard, begin_streams, choose, current
from .storage import CPU, Device, device as device_of

if TYPE_CHECKING:
    from .heaps import HeapOfCard
    from .tensor import Tensor

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "record_stream",
    "set_stream",
    "stream",
    "synchronize",
]

STREAMS = 32  # of a GPU and a priority, as many as torch has: a program that asks for more gets the first again
LEGACY = (0, 1, 2)  # handles that stand for a stream of the current GPU: two of the legacy one, that of the thread
UNTIMED, BLOCKING = 2, 1  # flags of an event: CU_EVENT_DISABLE_TIMING, CU_EVENT_BLOCKING_SYNC

_pools: dict[tuple[int, int], tuple[list[int], count]] = {}


def heap(device: Any) -> HeapOfCard:
    """The memory of the GPU that an argument names; None is the current one.

    Raises:
        DeviceError: no GPU, or none that is there.
    """
    from .heaps import current_index, heap_on

    if device is None or (type(device) is int and device < 0):
        return heap_on(current_index())
    if type(device) is int:
        return heap_on(device)
    named = device_of(device)
    if named is CPU:
        raise DeviceError(f"stream: streams are of a GPU, got device {named}. Hint: device='cuda'.")
    return heap_on(current_index() if named.index is None else named.index)


def pooled(found: HeapOfCard, priority: int) -> int:
    """The next of a GPU's streams of a priority."""
    made, turn = _pools.setdefault((found.index, priority), ([], count()))
    k = next(turn) % STREAMS
    while len(made) <= k:
        made.append(found.card.new_stream(priority))
    return made[k]


class Stream:
    """A queue of a GPU: its work runs in order, and beside that of other streams.

    Args:
        device: the GPU, its name or number; None: the current one.
        priority: a lower number is served first; numbers out of range count as the nearest in it.
        stream_ptr: the driver's handle of a stream that somebody else has made.

    A GPU has 32 streams of each priority: who asks for more gets the first again. As a context manager it is the current stream of
    its GPU inside.

    Raises:
        DeviceError: no GPU, or none that is there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     aside, x = nbgrad.cuda.Stream(), nbgrad.ones(2, device="cuda")
    ...     aside.wait_stream(nbgrad.cuda.current_stream())
    ...     with nbgrad.cuda.stream(aside):
    ...         y = x + 1
    ...     nbgrad.cuda.current_stream().wait_stream(aside)
    ...     assert y.tolist() == [2.0, 2.0]
    """

    __slots__ = ("on", "__weakref__")
    on: StreamOfCard

    def __new__(cls, device: Any = None, priority: int = 0, *, stream_ptr: int | None = None, **names: int) -> Stream:
        made = super().__new__(cls)
        if "stream_id" in names:  # as torch's names of a stream that is there
            stream_ptr, device = names["stream_id"], names.get("device_index", device)
        found = heap(device)
        if stream_ptr is None:
            least, greatest = found.card.priorities()
            stream_ptr = pooled(found, max(greatest, min(least, priority)))
        made.on = found.stream_of(stream_ptr)
        return made

    # ---- what it is ----------------------------------------------------------------------------------------------------

    @property
    def cuda_stream(self) -> int:
        """The driver's handle."""
        return self.on.handle

    stream_id = cuda_stream
    device_type = 1  # torch's number of CUDA

    @property
    def device(self) -> Device:
        """Its GPU."""
        return device_of("cuda", self.on.device)

    @property
    def device_index(self) -> int:
        """The number of its GPU."""
        return self.on.device

    @property
    def priority(self) -> int:
        """What is served first has a lower number."""
        return heap(self.on.device).card.priority_of(self.on.handle)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority, of which the greatest is the lower number."""
        return heap(None).card.priorities()

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.on.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version of the protocol and handle, for other libraries.

        Source: the CUDA Stream Protocol of cuda.core.
        """
        return 0, self.on.handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.on is other.on

    def __hash__(self) -> int:
        return hash((self.on.handle, self.on.device))

    def __repr__(self) -> str:
        return f"<nbgrad.cuda.Stream device={self.device} cuda_stream={self.on.handle:#x}>"

    # ---- what it does --------------------------------------------------------------------------------------------------

    def wait_event(self, event: Event) -> None:
        """Let what comes later on this stream wait for an event; the program does not wait."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Let what comes later on this stream wait for what another one has got so far; the program does not wait."""
        self.wait_event(as_stream("wait_stream", stream, self.on.device).record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Let an event, by default a new one, mean what the stream has got so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether the stream has nothing to do."""
        return heap(self.on.device).card.is_done(self.on.handle)

    def synchronize(self) -> None:
        """Wait until the stream has nothing to do."""
        heap(self.on.device).card.wait(self.on.handle)

    def __enter__(self) -> Stream:
        entered = StreamContext(self)
        entered.__enter__()
        _entered().append(entered)
        return self

    def __exit__(self, *error: object) -> None:
        _entered().pop().__exit__(*error)


def _entered() -> list[StreamContext]:
    """The streams that this thread has entered as contexts, the innermost last."""
    found: list[StreamContext] = current.__dict__.setdefault("entered", [])
    return found


class ExternalStream(Stream):
    """A stream of another library, which has to live as long as it is used.

    Args:
        stream_ptr: the driver's handle, or an object with ``__cuda_stream__``.
        device: its GPU; None: the current one.

    Raises:
        DeviceError: the stream is of another GPU. ArgumentError: no handle.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     theirs = nbgrad.cuda.ExternalStream(nbgrad.cuda.Stream().cuda_stream)  # a number that another library gives
    ...     with nbgrad.cuda.stream(theirs):
    ...         assert nbgrad.cuda.current_stream() == theirs
    """

    __slots__ = ()

    def __new__(cls, stream_ptr: Any, device: Any = None, **names: Any) -> ExternalStream:
        handle, found = handle_of("ExternalStream", stream_ptr), heap(device)
        if handle not in LEGACY and not found.card.has_stream(handle):
            raise DeviceError(
                f"ExternalStream: the stream {handle:#x} is of another GPU than cuda:{found.index}. "
                "Hint: device= names the GPU where it was made."
            )
        made = super().__new__(cls, found.index, stream_ptr=handle)
        assert isinstance(made, ExternalStream)
        return made


def handle_of(op: str, given: Any) -> int:
    """The driver's handle of a stream.

    Raises:
        ArgumentError: it is no stream.
    """
    protocol = getattr(given, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise ArgumentError(
        f"{op}: expected a stream, got {type(given).__name__}. Hint: nbgrad.cuda.Stream(), or an object with __cuda_stream__."
    )


def as_stream(op: str, given: Any, device: Any = None) -> Stream:
    """A stream of ours for one of any library's.

    Raises:
        ArgumentError: it is none. DeviceError: it is of another GPU.
    """
    if isinstance(given, Stream):
        return given
    if isinstance(given, int):
        raise ArgumentError(f"{op}: expected a stream, got a number. Hint: nbgrad.cuda.ExternalStream(handle).")
    handle = handle_of(op, given)
    if device is None and handle not in LEGACY:
        from .heaps import opened

        device = next((each.index for each in opened if each.card.has_stream(handle)), None)
    return ExternalStream(handle, device)


class Event:
    """A point of a stream, to be waited for and to measure time.

    Args:
        enable_timing: whether it is for ``elapsed_time``.
        blocking: whether a program that waits for it sleeps, and does not ask again and again.
        interprocess: must be False.
        external: of graphs that are captured; has no meaning outside of them.

    Raises:
        NotSupportedError: an event for several processes.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x, event = nbgrad.ones(2, device="cuda") * 2, nbgrad.cuda.Event()
    ...     event.record()
    ...     event.synchronize()
    ...     assert event.query()
    """

    __slots__ = ("flags", "external", "handle", "card", "__weakref__")

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False):
        if interprocess:
            raise NotSupportedError("Event: interprocess=True is not supported; expected an event of one process.")
        self.flags = (0 if enable_timing else UNTIMED) | (BLOCKING if blocking else 0)
        self.external = external
        self.handle, self.card = 0, None  # the driver's is made when it is first recorded

    def __del__(self) -> None:
        if getattr(self, "card", None) is not None:
            self.card.give_event(self.handle, self.flags)

    handle: int
    card: Any

    @property
    def cuda_event(self) -> int:
        """The driver's handle; 0 before the event was recorded."""
        return self.handle

    @property
    def device(self) -> Device | None:
        """The GPU on which it was recorded; None before that."""
        return None if self.card is None else device_of("cuda", self.card.index)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.handle)

    def record(self, stream: Any = None) -> None:
        """Let the event mean what a stream, by default the current one, has got so far.

        Raises:
            DeviceError: it was recorded on another GPU before.
        """
        found = (current_stream() if stream is None else as_stream("Event.record", stream)).on
        card = heap(found.device).card
        if self.card is None:
            self.handle, self.card = card.take_event(self.flags), card
        elif self.card is not card:
            raise DeviceError(
                f"Event.record: the event is of cuda:{self.card.index}, the stream of cuda:{found.device}; expected one GPU. "
                "Hint: an event for each GPU; streams of any may wait for it."
            )
        card.record(self.handle, found.handle)

    def wait(self, stream: Any = None) -> None:
        """Let what comes later on a stream, by default the current one, wait for the event; the program does not wait.

        For an event that was never recorded nothing waits.
        """
        if self.card is not None:
            found = (current_stream() if stream is None else as_stream("Event.wait", stream)).on
            heap(found.device).card.let_wait(found.handle, self.handle)

    def query(self) -> bool:
        """Whether all that the event means is done; of one that was never recorded it is."""
        return self.card is None or bool(self.card.is_reached(self.handle))

    def synchronize(self) -> None:
        """Wait until all that the event means is done."""
        if self.card is not None:
            self.card.wait_for(self.handle)
            self.card.look()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another one.

        Raises:
            RangeError: one was not recorded, is not for times, or is not reached yet.
            DeviceError: they are of different GPUs.
        """
        for name, event in (("this event", self), ("end_event", end_event)):
            if event.card is None:
                raise RangeError(f"Event.elapsed_time: {name} was never recorded. Hint: event.record() first.")
            if event.flags & UNTIMED:
                raise RangeError(f"Event.elapsed_time: {name} was made without timing. Hint: Event(enable_timing=True).")
            if not event.query():
                raise RangeError(f"Event.elapsed_time: {name} is not reached yet. Hint: end_event.synchronize() first.")
        if self.card is not end_event.card:
            raise DeviceError(
                f"Event.elapsed_time: the events are of cuda:{self.card.index} and cuda:{end_event.card.index}; expected one GPU."
            )
        return float(self.card.between(self.handle, end_event.handle))

    def ipc_handle(self) -> Any:
        """For other processes.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("Event.ipc_handle: events of several processes are not supported.")

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: Any) -> Event:
        """From another process.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("Event.from_ipc_handle: events of several processes are not supported.")

    def __repr__(self) -> str:
        return f"<nbgrad.cuda.Event {self.handle:#x}>" if self.handle else "<nbgrad.cuda.Event uninitialized>"


# ---- a thread's streams --------------------------------------------------------------------------------------------


def current_stream(device: Any = None) -> Stream:
    """This thread's current stream of a GPU: the one on which its calls run.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert nbgrad.cuda.current_stream() == nbgrad.cuda.default_stream()
    """
    found = heap(device)
    return Stream(found.index, stream_ptr=found.current().handle)


def default_stream(device: Any = None) -> Stream:
    """The stream of a GPU on which everything runs that no other is chosen for.

    It is in order with the legacy default stream, on which other libraries' work is.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     with nbgrad.cuda.stream(nbgrad.cuda.Stream()):
    ...         assert nbgrad.cuda.current_stream() != nbgrad.cuda.default_stream()
    """
    found = heap(device)
    return Stream(found.index, stream_ptr=found.default.handle)


def set_stream(stream: Any) -> None:
    """Make a stream the current one of its GPU, and that GPU the current one, for this thread, from now on.

    Args:
        stream: of this or another library; None changes nothing.

    Raises:
        ArgumentError: it is no stream.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     before, aside = nbgrad.cuda.current_stream(), nbgrad.cuda.Stream()
    ...     nbgrad.cuda.set_stream(aside)
    ...     assert nbgrad.cuda.current_stream() == aside
    ...     nbgrad.cuda.set_stream(before)
    """
    if stream is None:
        return
    chosen = as_stream("set_stream", stream).on
    select(current.choice.with_stream(chosen), chosen.device)


def select(choice: Choice, index: int) -> None:
    """Make streams and a GPU the current ones of this thread."""
    current.index = index
    if choice is not current.choice:
        begin_streams()
        choose(choice)


class StreamContext:
    """A stream is current inside, and its GPU the current one: what ``nbgrad.cuda.stream`` makes.

    Args:
        stream: the stream; with None nothing changes.

    Raises:
        ArgumentError: it is no stream.

    >>> import nbgrad
    >>> with nbgrad.cuda.StreamContext(None):
    ...     x = nbgrad.ones(2)
    """

    __slots__ = ("stream", "before")

    def __init__(self, stream: Any):
        self.stream = None if stream is None else as_stream("stream", stream)
        self.before: tuple[Choice, int] | None = None

    def __enter__(self) -> None:
        self.before = current.choice, current.index
        set_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        if self.stream is not None and self.before is not None:
            choice, index = self.before
            device = self.stream.on.device
            select(current.choice.with_stream(choice.of.get(device) or heap(device).default), index)


def stream(stream: Any) -> StreamContext:
    """A context in which a stream is current, and its GPU the current one.

    Args:
        stream: of this or another library; with None nothing changes.

    Raises:
        ArgumentError: it is no stream.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     aside = nbgrad.cuda.Stream()
    ...     with nbgrad.cuda.stream(aside):
    ...         assert nbgrad.cuda.current_stream() == aside
    """
    return StreamContext(stream)


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """A stream of another library, by the driver's handle: torch's name of ``ExternalStream``.

    Args:
        data_ptr: the handle, or an object with ``__cuda_stream__``.
        device: its GPU; by default the current one.

    Raises:
        DeviceError: the stream is of another GPU. ArgumentError: no handle.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     aside = nbgrad.cuda.Stream()
    ...     assert nbgrad.cuda.get_stream_from_external(aside.cuda_stream) == aside
    """
    return ExternalStream(data_ptr, device)


def synchronize(device: Any = None) -> None:
    """Wait until a GPU has nothing to do, and raise what its kernels have found wrong.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there. Any other: of the call whose kernel found it.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x = nbgrad.ones(2, device="cuda").to("cpu", non_blocking=True)
    ...     nbgrad.cuda.synchronize()
    """
    heap(device).card.finish()


def record_stream(x: Tensor, stream: Any) -> None:
    """Note that a stream uses a tensor's memory: it is not given to another one before that stream has done what it has now.

    Launches note it themselves. It is for work that nbgrad does not see. Memory on the CPU waits for no stream.

    Raises:
        DeviceError: the tensor is on another GPU than the stream.
    """
    if x.layout.memory is None:
        return
    found = as_stream("record_stream", stream, x.layout.device.index).on
    if found.device != x.layout.device.index:
        raise DeviceError(
            f"record_stream: the tensor is on {x.layout.device}, the stream on cuda:{found.device}; expected one GPU. "
            "Hint: a stream of the tensor's GPU, which may wait for the other one."
        )
    from .heaps import use_on

    begin_streams()
    use_on(x, found)
