"""Work of a GPU that is captured once, and launched again as one: torch's ``CUDAGraph`` and what belongs to it.

NOTE [Captures]: between ``capture_begin`` and ``capture_end`` the driver writes the thread's launches down, and does none.
  1. Memory that is asked for meanwhile comes from lists of the capture's pool, a set for each stream, and goes back there: no other
     work gets it while a graph of the pool lives. The driver gives it on the default stream, as no part of the capture.
  2. Of what lies elsewhere the graph notes where it was. A replay is refused if one of these tensors was freed, or has other
     memory since. Its memory is noted as used by the stream of the replay; what is written to counts as written to by each replay.
  3. NOTE [Captured draws]: a kernel that draws reads the seed and the number of its call from two words beside the pool, and adds
     to the second how many calls the capture has drawn before. A replay takes as many calls from the generator as the capture has
     drawn, and writes both words first: it draws what calls would. The capture itself draws nothing. A loop, or a compiled
     function, keeps where the words are, and a pass back through it draws by them again, perhaps when the graph is gone: such words
     stay for good.
  4. What no graph can hold ends the capture with the reason and the remedy: a value that the host reads, a copy of memory that is
     not pinned, a wait, another seed of a generator, a product that cuBLAS was not asked for before; kernels that were not loaded
     before, where NOTE [Kernels in a capture] does not allow them.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import ref

import numpy as np

from ..base.errors import GraphError, KernelError, RangeError
from ..kernels.cuda.driver import at_ease
from ..native.handle import native
from ..native.heaps import CLASSES, LIST, OF_BLOCK
from .choices import DEFAULT, StreamOfCard, begin_streams, captures, current, opened
from .streams import Stream, StreamContext, current_stream, heap

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "guard", "is_current_stream_capturing"]

MODES = ("global", "thread_local", "relaxed")  # the driver's, in the order of its numbers
REASONS = {
    "read": ("a value is read on the host", "leave item(), cpu() and print, and operations without a kernel for a GPU, outside"),
    "copy": ("memory of the host is copied that is not pinned", "copy it before, into a tensor that the captured work reads"),
    "random": ("a generator is given a seed or a state", "seed it before the capture, and between replays"),
    "wait": ("the program waits for the GPU", "synchronize before and after the capture"),
    "kernel": ("a kernel is loaded, which drivers before CUDA 12.3 do not do", "run the same work once before the capture"),
    "product": ("a product of matrices is prepared by cuBLAS, for the first time", "run the same work once before the capture"),
}

_numbers = count(1)
_pools: dict[tuple[int, int], Pool] = {}
words_for_good: dict[int, Any] = {}  # by their address: of draws that may be repeated: NOTE [Captures]


class Pool:
    """Memory of graphs.

    Attributes:
        users: how many graphs it has.
        streams: by GPU and handle, streams with lists of their own; ``kept``: these lists.
    """

    def __init__(self) -> None:
        self.users = 0
        self.streams: dict[tuple[int, int], StreamOfCard] = {}
        self.kept: list[tuple[Any, Any]] = []

    def private(self, found: Any, stream: StreamOfCard) -> StreamOfCard:
        """A stream with the pool's lists."""
        key = stream.device, stream.handle
        made = self.streams.get(key)
        if made is None:
            lists = (ctypes.c_int64 * CLASSES)()
            self.kept.append((found, lists))
            made = self.streams[key] = stream._replace(lists=ctypes.addressof(lists))
        return made

    def has(self, memory: Any) -> bool:
        """Whether memory is the pool's."""
        lists = getattr(memory, "lists", None)
        if lists is None:
            block = ctypes.c_int64.from_address(id(memory) + OF_BLOCK).value
            lists = ctypes.c_int64.from_address(block + LIST).value if block else -1
        return any(0 <= lists - stream.lists < 8 * CLASSES for stream in self.streams.values())

    def leave(self) -> None:
        """A graph is gone; with the last one the memory goes back, that of tensors that are still there when they end."""
        self.users -= 1
        if not self.users:
            for found, lists in self.kept:
                found.retired.append(lists)
            self.kept, self.streams = [], {}


class CapturedDraws:
    """What a capture has drawn from one generator: NOTE [Captured draws].

    Attributes:
        seed, first: of the generator when the capture came to it; ``calls``: where it would be now.
        held: the words, a tensor; None while nothing is drawn.
    """

    def __init__(self, generator: Any, seed: int, calls: int):
        self.generator, self.seed, self.first, self.calls = generator, seed, calls, calls
        self.held: Any = None

    def address(self, make: Callable[[Any], Any], kept: bool) -> int:
        """Where the words are; ``make(device)`` makes some. ``kept``: they are to outlive the graph."""
        if self.held is None:
            self.held = current.capture.beside(lambda: make(self.generator.device))
        found: int = self.held._storage_.array.address
        if kept:
            words_for_good[found] = self.held
        return found

    def take(self, count: int) -> int:
        """How many calls come before the next ``count``."""
        self.calls += count
        return self.calls - self.first - count

    def give_back(self, call: int, count: int) -> None:
        """Nothing was drawn in the last ``count`` calls, ``call`` behind the beginning."""
        if self.calls == self.first + call + count:
            self.calls -= count

    def return_to(self, seed: int, calls: int) -> None:
        """Be where the generator was before.

        Raises:
            GraphError: that was before the capture.
        """
        if seed != self.seed or calls < self.first:
            guard("random")
        self.calls = calls

    def replayed(self, card: Any, stream: int) -> None:
        """Take the calls of a replay from the generator, and write the words."""
        words = np.array(self.generator.take(self.calls - self.first), np.uint64)
        card.upload(self.held._storage_.array.address, words, stream)


class Capture:
    """What is being captured in this thread.

    Attributes:
        found, stream: the GPU's heap, and the stream of the capture.
        outside: by storage what lies outside of the pool: a weak reference, where it was, and whether it is written to.
    """

    def __init__(self, found: Any, stream: StreamOfCard, pool: Pool):
        self.found, self.stream, self.pool = found, stream, pool
        self.outside: dict[int, list[Any]] = {}
        self.draws: dict[int, CapturedDraws] = {}  # by generator

    def draws_of(self, generator: Any, seed: int, calls: int) -> CapturedDraws:
        """What is drawn from a generator, which has this seed and has made so many calls."""
        found = self.draws.get(id(generator))
        if found is None:
            found = self.draws[id(generator)] = CapturedDraws(generator, seed, calls)
        return found

    def private(self, found: Any, stream: StreamOfCard) -> StreamOfCard:
        """A stream of this thread, with the pool's lists."""
        return self.pool.private(found, stream)

    def beside(self, make: Callable[[], Any]) -> Any:
        """What ``make()`` makes as no part of the capture, in memory that captured work cannot have used before: it outlives the
        graph, and what a replay writes there is there before it begins."""
        kept, current.capture, current.choice = current.choice, None, DEFAULT
        self.enter_all()
        try:
            with at_ease():
                return make()
        finally:
            current.capture, current.choice = self, kept
            self.enter_all()

    def note(self, x: Any, written: bool) -> None:
        """A launch uses a tensor."""
        storage = x._storage_
        known = self.outside.get(id(storage))
        if known is not None and known[0]() is storage:
            known[2] = known[2] or written
        elif not self.pool.has(storage.array):
            self.outside[id(storage)] = [ref(storage), storage.array.address, written]

    def begin(self, mode: str) -> None:
        """Begin."""
        self.found.card.begin_capture(self.stream.handle, MODES.index(mode))
        captures.append(self)
        current.capture = self
        self.renew(guard)

    def end(self) -> int:
        """The driver's graph; this thread works again."""
        captures.remove(self)
        current.capture = None
        self.renew(guard if captures else None)
        return int(self.found.card.end_capture(self.stream.handle))

    def abort(self) -> None:
        """End without a graph."""
        try:
            self.found.card.drop_graph(self.end(), 0)
        except KernelError:
            pass  # it was invalid

    def renew(self, guard: Any) -> None:
        """Tell all GPUs."""
        for each in opened:
            each.card.guard = guard
        self.enter_all()

    def enter_all(self) -> None:
        """Let all GPUs see what this thread has chosen."""
        for each in opened:
            each.enter()


def guard(what: str) -> None:
    """Refuse what a capture of this thread cannot have, and end it.

    Raises:
        GraphError: there is a capture.
    """
    capture = current.capture
    if capture is not None:
        capture.abort()
        reason, remedy = REASONS[what]
        raise GraphError(f"CUDAGraph: {reason} during a capture, which no graph can hold; the capture was ended. Hint: {remedy}.")


class CUDAGraph:
    """Work of a GPU that is captured once, and launched again as one.

    Args:
        keep_graph: keep the driver's graph, for ``raw_cuda_graph``, beside what is launched.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x, total = nbgrad.ones(2, device="cuda"), nbgrad.zeros(2, device="cuda")
    ...     g = nbgrad.cuda.CUDAGraph()
    ...     with nbgrad.cuda.graph(g):
    ...         total += x
    ...     g.replay()
    ...     assert total.tolist() == [1.0, 1.0]
    """

    __slots__ = (
        "keep_graph",
        "capture",
        "found",
        "handle",
        "executable",
        "memory",
        "key",
        "outside",
        "draws",
        "last",
        "__weakref__",
    )

    def __init__(self, keep_graph: bool = False):
        self.keep_graph = keep_graph
        self.capture: Capture | None = None
        self.found: Any = None
        self.handle = self.executable = 0
        self.memory: Pool | None = None
        self.key: tuple[int, int] = (0, 0)
        self.outside: tuple[Any, ...] = ()
        self.draws: tuple[CapturedDraws, ...] = ()
        self.last = 0  # the stream of the last replay

    def register_generator_state(self, generator: Any) -> None:
        """Accepted for torch's sake: each generator that the captured work draws from is the graph's by that."""

    def capture_begin(self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global") -> None:
        """Capture what this thread does from now on, on the current stream and those that are made to wait for it.

        Args:
            pool: whose memory it uses: ``pool()`` of another graph, or ``graph_pool_handle()``.
            capture_error_mode: "global", "thread_local" or "relaxed": whom the driver keeps from what might wait.

        Raises:
            GraphError: on the default stream, in a capture, or of a graph that was captured. RangeError: another mode.
        """
        if capture_error_mode not in MODES:
            raise RangeError(f"CUDAGraph.capture_begin: got mode {capture_error_mode!r}, expected one of {', '.join(MODES)}.")
        if current.capture is not None:
            raise GraphError("CUDAGraph.capture_begin: this thread is in a capture already. Hint: capture_end() first.")
        if self.executable or self.capture is not None:
            raise GraphError("CUDAGraph.capture_begin: the graph was captured before. Hint: reset() first, or a new CUDAGraph().")
        found = heap(None)
        stream = found.current()
        if stream is found.default:
            raise GraphError("CUDAGraph.capture_begin: the default stream cannot be captured. Hint: nbgrad.cuda.graph(g).")
        begin_streams()
        self.key = (next(_numbers), 0) if pool is None else pool
        self.memory = _pools.setdefault(self.key, Pool())
        self.memory.users += 1
        self.capture, self.found = Capture(found, stream, self.memory), found
        try:
            self.capture.begin(capture_error_mode)
        except BaseException:
            self.reset()
            raise

    def capture_end(self) -> None:
        """End the capture.

        Raises:
            GraphError: there is none, or it cannot become a graph.
        """
        capture, self.capture = self.capture, None
        if capture is None or current.capture is not capture:
            self.reset()
            raise GraphError("CUDAGraph.capture_end: no capture of this graph is running in this thread, or an error has ended it.")
        try:
            self.handle = capture.end()
            self.executable = self.found.card.executable(self.handle)
        except KernelError as error:
            self.reset()
            raise GraphError(
                f"CUDAGraph.capture_end: the capture cannot become a graph: {str(error).partition(' Hint:')[0]} "
                "Hint: streams that were made to wait for the capture's must be waited for by it in the end."
            ) from None
        self.outside = tuple(tuple(each) for each in capture.outside.values())
        self.draws = tuple(each for each in capture.draws.values() if each.held is not None)
        if not self.keep_graph:
            self.found.card.drop_graph(self.handle, 0)
            self.handle = 0
        self.found.card.settle(self.found.default.handle)  # where its memory was asked for

    def replay(self) -> None:
        """Do the captured work again, on the current stream.

        Raises:
            GraphError: there is none; a tensor that it uses was freed, or has other memory since.
        """
        if not self.executable:
            raise GraphError("CUDAGraph.replay: nothing was captured. Hint: with nbgrad.cuda.graph(g): ...")
        stream = self.found.current()
        for reference, address, written in self.outside:
            storage = reference()
            if storage is None or storage.array.address != address:
                what = "was freed" if storage is None else "has other memory"
                raise GraphError(
                    f"CUDAGraph.replay: a tensor that the captured work uses {what} since, and the graph goes to the old place. "
                    "Hint: keep it, write to it in place (x.copy_(y)), or capture anew."
                )
            native.note_use(storage.array, stream.lists, stream.bit)
            if written:
                storage.version += 1
        if self.draws:
            self.begin_draws(stream.handle)
        self.found.card.replay(self.executable, stream.handle)

    def begin_draws(self, stream: int) -> None:
        """Write the words of the draws, behind the last replay."""
        card = self.found.card
        if self.last not in (0, stream):
            event = card.take_event()
            card.record(event, self.last)
            card.let_wait(stream, event)
            card.give_event(event)
        self.last = stream
        for each in self.draws:
            each.replayed(card, stream)

    def reset(self) -> None:
        """Let go of what was captured, and of the memory that no other graph shares."""
        capture, self.capture = self.capture, None
        if capture is not None and current.capture is capture:
            capture.abort()
        if self.handle or self.executable:
            self.found.card.drop_graph(self.handle, self.executable)
        self.handle = self.executable = self.last = 0
        self.outside = self.draws = ()
        memory, self.memory = self.memory, None
        if memory is not None:
            memory.leave()
            if not memory.users:
                _pools.pop(self.key, None)

    def pool(self) -> tuple[int, int]:
        """What names its memory, for other graphs."""
        return self.key

    def raw_cuda_graph(self) -> int:
        """The driver's graph.

        Raises:
            GraphError: it was not kept.
        """
        if not self.handle:
            raise GraphError("CUDAGraph.raw_cuda_graph: the graph was not kept. Hint: CUDAGraph(keep_graph=True).")
        return self.handle

    def raw_cuda_graph_exec(self) -> int:
        """What the driver launches.

        Raises:
            GraphError: nothing was captured.
        """
        if not self.executable:
            raise GraphError("CUDAGraph.raw_cuda_graph_exec: nothing was captured. Hint: with nbgrad.cuda.graph(g): ...")
        return self.executable

    def instantiate(self) -> None:
        """Let replays launch the driver's graph as it is now: after somebody has changed what ``raw_cuda_graph`` gave.

        Raises:
            GraphError: it was not kept.
        """
        graph = self.raw_cuda_graph()
        made = self.found.card.executable(graph)
        self.found.card.drop_graph(0, self.executable)
        self.executable = made

    def __del__(self) -> None:
        if self.found is not None and not sys.is_finalizing():
            self.reset()


class graph:  # torch's name
    """A context in which the work of a GPU is captured, and not done.

    Args:
        cuda_graph: what it becomes: ``cuda_graph.replay()`` does it.
        pool, capture_error_mode: as of ``CUDAGraph.capture_begin``.
        stream: on which it is captured; None: one that is there for captures.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x, total = nbgrad.ones(2, device="cuda"), nbgrad.zeros(2, device="cuda")
    ...     y = total.add(x)  # so that the kernel is there
    ...     made = nbgrad.cuda.CUDAGraph()
    ...     with nbgrad.cuda.graph(made):
    ...         y = total.add(x)
    ...     made.replay()
    ...     assert y.tolist() == [1.0, 1.0]
    """

    stream: Stream | None = None  # of captures, made once

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"):
        if stream is None:
            if graph.stream is None or graph.stream.device_index != heap(None).index:
                graph.stream = Stream()
            stream = graph.stream
        self.graph, self.pool, self.mode, self.context = cuda_graph, pool, capture_error_mode, StreamContext(stream)

    def __enter__(self) -> None:
        heap(None).card.finish()
        gc.collect()
        self.context.__enter__()
        try:
            self.graph.capture_begin(self.pool, self.mode)
        except BaseException:
            self.context.__exit__()
            raise

    def __exit__(self, kind: Any, *error: object) -> None:
        try:
            if kind is None:
                self.graph.capture_end()
            else:
                self.graph.reset()
        finally:
            self.context.__exit__()


def graph_pool_handle() -> tuple[int, int]:
    """A name of memory that several graphs are to share: give it to each as ``pool=``.

    >>> import nbgrad
    >>> nbgrad.cuda.graph_pool_handle() == nbgrad.cuda.graph_pool_handle()
    False
    """
    return 0, next(_numbers)


def is_current_stream_capturing() -> bool:
    """Whether the work of the current stream is captured by a graph, and not done now.

    Raises:
        DeviceError: there is no GPU.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert not nbgrad.cuda.is_current_stream_capturing()
    """
    found = current_stream()
    return heap(found.device_index).card.is_capturing(found.cuda_stream)
