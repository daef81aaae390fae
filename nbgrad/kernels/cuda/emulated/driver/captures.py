"""Graphs: captured, made executable, launched.

NOTE [What a capture refuses]: what would wait for a captured stream, ask for its state, or make it depend on work outside of the
capture, gives the error that CUDA has for it, and makes the capture invalid: that shows when it ends. Calls that might wait
somewhere (allocating outside of pools, loading code, asking for events) are refused in the threads that the capture's mode names.
Source: CUDA Driver API reference, stream management; CUDA C++ Programming Guide, creating a graph using stream capture.
"""

from __future__ import annotations

import ctypes
import threading

from ..timeline import Stream
from . import codes
from .allocations import Allocations
from .entries import Refused, entry, put, put_handle
from .graph import Capture, Executable, Graph, Node

__all__ = ["Captures"]


class Captures(Allocations):
    """Entry points."""

    @entry("pi")
    def cuStreamBeginCapture(self, handle, mode):
        if not handle or handle in (codes.LEGACY, codes.PER_THREAD):
            raise Refused(codes.CAPTURE_UNSUPPORTED, "the default stream cannot be captured")
        if mode not in (codes.GLOBAL, codes.THREAD_LOCAL, codes.RELAXED):
            raise Refused(codes.INVALID_VALUE)
        self.begin_capture(handle, mode, Graph())

    @entry("ppppni")
    def cuStreamBeginCaptureToGraph(self, handle, graph, nodes, edges, count, mode):
        made = self.begin_capture(handle, mode, self.thing(graph, Graph), graph)
        made.tips[made.origin] = self.nodes_at(nodes, count)

    def begin_capture(self, handle: int, mode: int, graph: Graph, known_as: int = 0) -> Capture:
        stream = self.stream(handle)
        if stream.capture is not None:
            raise Refused(codes.ILLEGAL_STATE, "the stream is being captured already")
        self.next += 0x10
        made = stream.capture = Capture(stream, mode, graph, self.next)
        made.handle = known_as or self.handle(graph)
        self.captures.append(made)
        return made

    def nodes_at(self, address: int, count: int) -> tuple[Node, ...]:
        found = (ctypes.c_uint64 * count).from_address(address) if count else ()
        return tuple(self.thing(each, Node) for each in found)

    @entry("pp", harmless=True)
    def cuStreamEndCapture(self, handle, out):
        stream = self.thing(handle, Stream)
        capture = stream.capture
        put_handle(out, 0)
        if not isinstance(capture, Capture):
            raise Refused(codes.ILLEGAL_STATE, "the stream is not being captured")
        if stream is not capture.origin:
            capture.invalid = True
            raise Refused(codes.CAPTURE_UNMATCHED, "the capture began with another stream")
        if capture.thread != threading.get_ident() and capture.mode != codes.RELAXED:
            raise Refused(codes.CAPTURE_WRONG_THREAD, "the capture began in another thread")
        self.end_capture(capture)
        if capture.invalid:
            raise Refused(codes.CAPTURE_INVALIDATED)
        if not capture.is_joined():
            raise Refused(codes.CAPTURE_UNJOINED, "a stream was taken into the capture, and the first one does not wait for it")
        put_handle(out, capture.handle)

    @entry("p", harmless=True)
    def cuThreadExchangeStreamCaptureMode(self, mode):
        cell = ctypes.c_int.from_address(mode)
        cell.value, self.thread.mode = self.thread.mode, cell.value

    @entry("pppnu")
    def cuStreamUpdateCaptureDependencies(self, handle, nodes, edges, count, flags):
        self.move_capture(handle, nodes, count, flags)

    @entry("ppnu", "cuStreamUpdateCaptureDependencies_v1")
    def move_capture(self, handle, nodes, count, flags):
        stream = self.stream(handle)
        capture = stream.capture
        if not isinstance(capture, Capture):
            raise Refused(codes.ILLEGAL_STATE, "the stream is not being captured")
        if flags & 1:  # in the place of what it followed
            capture.tips[stream] = ()
        capture.take_in(stream, self.nodes_at(nodes, count))

    # ---- graphs ----------------------------------------------------------------------------------------------------------------

    @entry("pu")
    def cuGraphCreate(self, out, flags):
        put_handle(out, self.handle(Graph()))

    @entry("ppp")
    def cuGraphGetNodes(self, graph, nodes, count):
        found = self.thing(graph, Graph).nodes
        if nodes:
            for k in range(min(len(found), ctypes.c_size_t.from_address(count).value)):
                put_handle(nodes + 8 * k, self.handle_of(found[k]))
        put(ctypes.c_size_t, count, len(found))

    @entry("p", frees=True)
    def cuGraphDestroy(self, handle):
        graph = self.thing(handle, Graph)
        del self.handles[handle]
        for node in graph.nodes:
            self.handles.pop(node.handle, None)
            node.handle = 0
        for kept, count in graph.kept.items():
            kept.release(count)
        self.let_go(graph)

    def let_go(self, graph: Graph) -> None:
        """A graph, or what was made of it, is gone; its memory goes with the last of them."""
        graph.users -= 1
        if not graph.users:
            for allocation in graph.owned:
                if allocation.alive:
                    self.give_back(allocation)

    @entry("ppn", "cuGraphInstantiate", "cuGraphInstantiateWithFlags")
    def cuGraphInstantiate(self, out, handle, flags):
        graph = self.thing(handle, Graph)
        if any(each.graph is graph for each in self.captures):
            raise Refused(codes.INVALID_VALUE, "the graph is still being captured")
        put_handle(out, self.handle(Executable(graph, self.timeline, self.current())))

    @entry("ppp")
    def cuGraphInstantiateWithParams(self, out, handle, parameters):
        self.cuGraphInstantiate(out, handle, 0)
        put(ctypes.c_uint64, parameters + 16, 0)  # the node that is wrong
        put(ctypes.c_int, parameters + 24, 0)  # all is well

    @entry("pp")
    def cuGraphUpload(self, handle, stream):
        self.thing(handle, Executable)
        self.refuse_captured(self.stream(stream), "an upload to")

    @entry("pp")
    def cuGraphLaunch(self, handle, stream):
        executable, on = self.thing(handle, Executable), self.stream(stream)
        self.refuse_captured(on, "the launch of a graph on")  # child graphs are not played
        self.guarded(executable.launch, on)

    @entry("p", frees=True)
    def cuGraphExecDestroy(self, handle):
        executable = self.thing(handle, Executable)
        del self.handles[handle]
        executable.end()
        self.let_go(executable.graph)
