"""Streams and events."""

from __future__ import annotations

import ctypes

from ..timeline import Event, Mark, Stream
from . import codes
from .entries import Refused, entry, put, put_handle
from .graph import Capture, Node
from .state import State

__all__ = ["Streams"]


class Streams(State):
    """Entry points."""

    @entry("pu")
    def cuStreamCreate(self, out, flags):
        self.cuStreamCreateWithPriority(out, flags, 0)

    @entry("pui")
    def cuStreamCreateWithPriority(self, out, flags, priority):
        made = self.timeline.add(Stream(self.current(), not flags & codes.NON_BLOCKING, max(-5, min(priority, 0))))
        put_handle(out, self.handle(made))

    @entry("p", frees=True)
    def cuStreamDestroy(self, handle):
        """What it has to do is done nevertheless; what it was captured for must be joined as ever."""
        stream = self.thing(handle, Stream)
        if isinstance(stream.capture, Capture) and stream is stream.capture.origin:
            stream.capture.invalid = True
        del self.handles[handle]
        self.timeline.remove(stream)

    @entry("p")
    def cuStreamSynchronize(self, handle):
        stream = self.stream(handle)
        self.refuse_captured(stream, "a wait for")
        self.wait(self.timeline.finish_stream, stream)
        self.check_fault(stream.device)
        self.settle_pools()

    @entry("p")
    def cuStreamQuery(self, handle):
        stream = self.stream(handle)
        self.refuse_captured(stream, "a question to")
        if stream.queue:
            self.go_on()
            self.check_fault(stream.device)
            raise Refused(codes.NOT_READY)
        self.timeline.know(stream.clock)

    def go_on(self) -> None:
        """Do one thing: who asks again and again is answered in the end."""
        self.guarded(self.timeline.go_on)

    @entry("pp", harmless=True)
    def cuStreamGetCtx(self, handle, out):
        put_handle(out, self.known(handle).device + 1)

    @entry("ppp", "cuStreamGetCtx_v2", harmless=True)
    def stream_context(self, handle, out, green):
        put_handle(out, self.known(handle).device + 1)
        put_handle(green, 0)

    @entry("pp", harmless=True)
    def cuStreamGetDevice(self, handle, out):
        put(ctypes.c_int, out, self.known(handle).device)

    @entry("pp", harmless=True)
    def cuStreamGetPriority(self, handle, out):
        put(ctypes.c_int, out, self.known(handle).priority)

    @entry("pp", harmless=True)
    def cuStreamGetFlags(self, handle, out):
        put(ctypes.c_uint, out, 0 if self.known(handle).blocking else codes.NON_BLOCKING)

    @entry("pp", harmless=True)
    def cuStreamGetId(self, handle, out):
        put(ctypes.c_uint64, out, handle or 1)

    def known(self, handle: int | None) -> Stream:
        """A stream of which something is asked that does not touch its work."""
        if not handle or handle in (codes.LEGACY, codes.PER_THREAD):
            return self.timeline.default(self.current())
        return self.thing(handle, Stream)

    @entry("ppu")
    def cuStreamWaitEvent(self, handle, event, flags):
        stream, event = self.stream(handle), self.thing(event, Event)
        if flags & codes.EXTERNAL:
            self.submit(stream, lambda on: self.timeline.wait(on, event))
            return
        captured = event.captured
        if captured is not None:
            capture, nodes = captured
            if capture not in self.captures:
                raise Refused(codes.CAPTURED_EVENT, "the event was recorded in a capture that has ended")
            if stream.capture not in (None, capture):
                capture.invalid = stream.capture.invalid = True
                raise Refused(codes.CAPTURE_MERGE, "the event belongs to another capture")
            if capture.invalid:
                raise Refused(codes.CAPTURE_INVALIDATED)
            capture.take_in(stream, nodes)
        elif stream.capture is not None:
            if event.mark is not None:
                stream.capture.invalid = True
                raise Refused(codes.CAPTURE_ISOLATION, "a captured stream waits for an event from outside of its capture")
        else:
            self.timeline.wait(stream, event)

    @entry("ppp")
    def cuLaunchHostFunc(self, handle, function, data):
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)
        self.enqueue(self.stream(handle), lambda: call(data))

    # ---- events --------------------------------------------------------------------------------------------------------------

    @entry("pu")
    def cuEventCreate(self, out, flags):
        put_handle(out, self.handle(Event(not flags & codes.NO_TIMING, self.current())))

    @entry("p", frees=True)
    def cuEventDestroy(self, event):
        self.thing(event, Event)
        del self.handles[event]

    @entry("pp")
    def cuEventRecord(self, event, stream):
        self.cuEventRecordWithFlags(event, stream, 0)

    @entry("ppu")
    def cuEventRecordWithFlags(self, event, stream, flags):
        stream, event = self.stream(stream), self.thing(event, Event)
        if event.device != stream.device:
            raise Refused(codes.INVALID_HANDLE, f"an event of device {event.device} on a stream of device {stream.device}")
        if flags & codes.EXTERNAL:
            self.submit(stream, lambda on: self.timeline.record(on, event))
        elif stream.capture is None:
            event.captured = None
            self.timeline.record(stream, event)
        elif stream.capture.invalid:
            raise Refused(codes.CAPTURE_INVALIDATED)
        else:
            event.captured = stream.capture, stream.capture.tips[stream]

    def mark_of(self, event: int) -> Mark | None:
        """Where an event was recorded last, outside of captures."""
        found = self.thing(event, Event)
        if found.captured is not None:
            found.captured[0].invalid = True
            raise Refused(codes.CAPTURED_EVENT, "the event was recorded in a capture")
        return found.mark

    @entry("p", unsafe=True)
    def cuEventQuery(self, event):
        mark = self.mark_of(event)
        if mark is not None and not mark.reached:
            self.go_on()
            if not mark.reached or self.faults:
                self.check_fault(self.thing(event, Event).device)
                raise Refused(codes.NOT_READY)
        if mark is not None:
            self.timeline.know(mark.clock)

    @entry("p")
    def cuEventSynchronize(self, event):
        self.mark_of(event)
        found = self.thing(event, Event)
        self.wait(self.timeline.finish_event, found)
        self.check_fault(found.device)
        self.settle_pools()

    @entry("ppp")
    def cuEventElapsedTime(self, out, first, last):
        marks = self.mark_of(first), self.mark_of(last)
        first, last = self.thing(first, Event), self.thing(last, Event)
        if None in marks or not first.timed or not last.timed or first.device != last.device:
            raise Refused(codes.INVALID_HANDLE, "events that were recorded, on one device, and that tell times are expected")
        if not all(mark.reached for mark in marks):
            raise Refused(codes.NOT_READY)
        put(ctypes.c_float, out, float(last.reached_at - first.reached_at))  # a piece of work takes a millisecond

    # ---- captures --------------------------------------------------------------------------------------------------------------

    @entry("pp", harmless=True)
    def cuStreamIsCapturing(self, handle, out):
        put(ctypes.c_int, out, self.capture_status(handle))

    def capture_status(self, handle: int | None) -> int:
        if not handle or handle in (codes.LEGACY, codes.PER_THREAD):
            self.keep_legacy_out(self.current())
            return codes.NO_CAPTURE
        capture = self.thing(handle, Stream).capture
        return codes.NO_CAPTURE if capture is None else codes.INVALIDATED if capture.invalid else codes.ACTIVE

    @entry("ppppppp")
    def cuStreamGetCaptureInfo(self, handle, status, number, graph, nodes, edges, count):
        put_handle(edges, 0)
        self.capture_info(handle, status, number, graph, nodes, count)

    @entry("pppppp", "cuStreamGetCaptureInfo_v2")
    def capture_info(self, handle, status, number, graph, nodes, count):
        put(ctypes.c_int, status, self.capture_status(handle))
        capture = self.known(handle).capture
        if not isinstance(capture, Capture):
            return
        stream = self.known(handle)
        put(ctypes.c_uint64, number, capture.number)
        put_handle(graph, capture.handle)
        tips = [self.handle_of(node) for node in capture.tips[stream]]
        told = capture.told[stream] = (ctypes.c_uint64 * max(len(tips), 1))(*tips)
        put_handle(nodes, ctypes.addressof(told))
        put(ctypes.c_size_t, count, len(tips))

    def handle_of(self, node: Node) -> int:
        """A node's handle, from the first question on."""
        if not node.handle:
            node.handle = self.handle(node)
        return node.handle
