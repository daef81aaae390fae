"""What the entry points share: handles, contexts of threads, what went wrong, and how work gets onto a stream."""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable
from typing import Any

from .....base.errors import KernelError
from ..device import Device
from ..memory import Memory
from ..timeline import Stream, Timeline
from . import codes
from .entries import Refused
from .graph import Capture, Node

__all__ = ["State"]


class Thread(threading.local):
    """A thread: the devices whose contexts are current, the innermost last; how it takes captures."""

    def __init__(self) -> None:
        self.contexts: list[int] = []
        self.mode = codes.GLOBAL


class State:
    """The state of the driver.

    Args:
        devices: how many there are.
        checked, seed: of their kernels and of the order of work.

    Attributes:
        faults: by device, what a kernel did that it must not do.
        reason: why the last call that was refused was; ``refused``: with which number.
        calls: how often each entry point was called.
        failures: what is to go wrong on demand, by entry points: at which of the next calls, and with which number.
        version: as the driver says it.
        captures: those that have begun and not ended.
    """

    def __init__(self, devices: int = 2, checked: bool = True, seed: int = 0):
        self.lock = threading.RLock()
        self.memory = Memory()
        self.devices = [Device(checked, seed + k, self.memory, k) for k in range(devices)]
        self.timeline = Timeline(seed)
        self.handles: dict[int, Any] = {}
        self.next = 0x1000
        self.thread = Thread()
        self.faults: dict[int, str] = {}
        self.reason, self.refused = "", 0
        self.calls: dict[str, int] = {}
        self.failures: dict[str, list[tuple[int, int]]] = {}
        self.version = codes.VERSION
        self.texts: dict[str, Any] = {}
        self.captures: list[Capture] = []
        self.peers: set[tuple[int, int]] = set()  # (device, peer): which may touch the other's memory

    @property
    def fault(self) -> str | None:
        """What was wrong first."""
        return next(iter(self.faults.values()), None)

    def recover(self, seed: int = 0) -> None:
        """Forget what was wrong and what is queued, as a new process would; memory and streams stay."""
        with self.lock:
            self.faults.clear()
            self.failures.clear()
            self.timeline.abandon()
            self.timeline.random = random.Random(seed)
            self.version = codes.VERSION
            for capture in list(self.captures):
                self.end_capture(capture)

    def fail(self, name: str, number: int, at: int = 1) -> None:
        """Let a call of an entry point give an error number: the next one, or one of those behind it."""
        self.failures.setdefault(name, []).append((self.calls.get(name, 0) + at, number))

    def meet(self, name: str) -> None:
        """Count a call, and let it fail if it is to."""
        count = self.calls[name] = self.calls.get(name, 0) + 1
        if self.failures:
            for at, number in self.failures.get(name, ()):
                if at == count:
                    raise Refused(number, "on demand")

    def check_unsafe(self, name: str) -> None:
        """Refuse a call that might wait somewhere, if a capture keeps this thread from it."""
        if self.thread.mode == codes.RELAXED:
            return
        here = threading.get_ident()
        for capture in self.captures:
            own = capture.thread == here and capture.mode != codes.RELAXED
            others = capture.mode == codes.GLOBAL and self.thread.mode == codes.GLOBAL
            if own or others:
                self.refuse_in(capture, name)

    def refuse_in_captures(self, name: str) -> None:
        """Refuse a call that waits for the device, whatever captures its thread may disturb."""
        for capture in self.captures:
            self.refuse_in(capture, name)

    def refuse_in(self, capture: Capture, name: str) -> None:
        """Refuse a call that a capture does not allow."""
        capture.invalid = True
        raise Refused(codes.CAPTURE_UNSUPPORTED, f"{name} while a stream is being captured")

    # ---- handles -------------------------------------------------------------------------------------------------------

    def handle(self, thing: Any) -> int:
        self.next += 0x10
        self.handles[self.next] = thing
        return self.next

    def thing(self, handle: int | None, kind: type) -> Any:
        found = self.handles.get(handle or 0)
        if not isinstance(found, kind):
            raise Refused(codes.INVALID_HANDLE, f"{handle or 0:#x} is no {kind.__name__.lower()}")
        return found

    def stream(self, handle: int | None) -> Stream:
        """A stream on whose device nothing went wrong."""
        if not handle or handle in (codes.LEGACY, codes.PER_THREAD):
            found = self.timeline.default(self.current())
            self.keep_legacy_out(found.device)
        else:
            found = self.thing(handle, Stream)
        if self.faults:
            self.check_fault(found.device)
        return found

    def current(self) -> int:
        if not self.thread.contexts:
            raise Refused(codes.INVALID_CONTEXT, "no context is current in this thread")
        return self.thread.contexts[-1]

    def device(self, number: int) -> Device:
        if not 0 <= number < len(self.devices):
            raise Refused(codes.INVALID_DEVICE)
        return self.devices[number]

    def text(self, string: str) -> int:
        """The address of a name of CUDA's, which stays."""
        found = self.texts.setdefault(string, ctypes.create_string_buffer(string.encode()))
        return ctypes.addressof(found)

    # ---- work ------------------------------------------------------------------------------------------------------------

    def submit(self, stream: Stream, begin: Callable[[Stream], None]) -> None:
        """Let a stream do something: at once, or with each launch of the graph that it is captured for.

        Args:
            begin: ``begin(stream)`` queues it.
        """
        capture = stream.capture
        if capture is None:
            self.guarded(begin, stream)
        else:
            assert isinstance(capture, Capture)
            if capture.invalid:
                raise Refused(codes.CAPTURE_INVALIDATED)
            capture.add(stream, Node(begin, capture.tips[stream]))

    def enqueue(self, stream: Stream, work: Callable[[], None]) -> None:
        """Let a stream do something that is the same whenever it is done."""
        self.submit(stream, lambda on: self.timeline.queue(on, work))

    def wait(self, finish: Callable[..., None], *what: Any) -> None:
        """Wait for work, all of it, whatever some of it does wrong: that is the error of its device's calls from now on."""
        while not self.guarded(finish, *what):
            pass
        if self.faults:
            self.check_fault(self.thread.contexts[-1] if self.thread.contexts else None)

    def guarded(self, act: Callable[..., None], *what: Any) -> bool:
        """Do what may run work that was queued; whether nothing went wrong."""
        try:
            act(*what)
            return True
        except KernelError as error:
            failed, self.timeline.failed = self.timeline.failed, None
            for device in range(len(self.devices)) if failed is None else (failed,):  # None: streams wait for each other
                self.faults.setdefault(device, str(error))
                self.timeline.abandon(device)
            return False

    def check_fault(self, device: int | None) -> None:
        """Refuse a call of a device on which something went wrong."""
        if device in self.faults:
            raise Refused(codes.LAUNCH_FAILED, self.faults[device])

    # ---- captures ----------------------------------------------------------------------------------------------------------

    def keep_legacy_out(self, device: int) -> None:
        """Refuse use of the default stream, which would wait for streams that are captured."""
        for capture in self.captures:
            if any(each.blocking and each.device == device for each in capture.tips):
                capture.invalid = True
                raise Refused(codes.CAPTURE_IMPLICIT, "the default stream waits for a stream that is being captured")

    def settle_pools(self) -> None:
        """What pools do when the program waits: ``Allocations``."""

    def end_capture(self, capture: Capture) -> None:
        """Let no stream be captured for this any more."""
        for each in capture.tips:
            each.capture = None
        self.captures.remove(capture)

    def refuse_captured(self, stream: Stream, what: str) -> None:
        """Refuse what a stream that is being captured cannot do."""
        capture = stream.capture
        if isinstance(capture, Capture):
            capture.invalid = True
            raise Refused(codes.CAPTURE_UNSUPPORTED, f"{what} a stream that is being captured")
