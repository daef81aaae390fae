"""What ran, how often and how long: the profiler of ``torch.autograd.profiler``.

NOTE [Profiling]: while a profile is active, calls take the general path (a profile is a member of ``grad_mode.special``), and each
becomes a ``Record`` of its thread: opened before the call, closed after it, so that records nest. Nodes of backward are seen by the
engine's ``watchers``. A record costs 2 us beside the general path, which takes 7 us a call; without a profile nothing is paid. Like
torch's, a profile sees the calls of the thread that entered it, and of all threads on request.
"""
from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
import weakref
from itertools import count
from math import prod
from time import perf_counter_ns
from typing import Any, Callable, Iterable

from . import engine
from .grad_mode import special
from .graph import Node
from .interpreters import Call, Presence, register
from .ops.core import Elementwise
from .profiler_events import BACKWARD, FUNCTION, USER, EventList, FunctionEvent, FunctionEventAvg, Interval, ProfilerError
from .tensor import Tensor

__all__ = ["profile", "record_function", "emit_itt", "emit_nvtx", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval",
           "ProfilerError"]


# ---- records: see NOTE [Profiling] ---------------------------------------------------------------------------------

_ids = count(1)
_active: tuple[profile, ...] = ()


class Sinks:
    """The active profiles that see a thread, and what they want to know between them."""

    __slots__ = ("profiles", "shapes", "stack", "memory", "flops")

    def __init__(self, profiles: list[profile]):
        self.profiles = profiles
        self.shapes, self.stack = any(p.record_shapes for p in profiles), any(p.with_stack for p in profiles)
        self.memory, self.flops = any(p.profile_memory for p in profiles), any(p.with_flops for p in profiles)


class _Thread(threading.local):
    """What the profiler knows of a thread.

    Attributes:
        records: its open records, innermost last.
        balance: the bytes that its calls have allocated, less those freed.
        active, sinks: its sinks, as long as ``active`` are the active profiles.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.balance = 0
        self.active: tuple[profile, ...] = ()
        self.sinks: Sinks | None = None


_thread = _Thread()


def sinks() -> Sinks | None:
    """The profiles that see this thread; None if there are none."""
    if _thread.active is not _active:
        ident = threading.get_ident()
        profiles = [p for p in _active if p.all_threads or p.thread == ident]
        _thread.active, _thread.sinks = _active, Sinks(profiles) if profiles else None
    return _thread.sinks


class Record:
    """One call, region or node while it runs, and afterwards.

    Attributes:
        sinks: the profiles that want it.
        node: the node that it recorded, or that ran: its sequence number, -1 for none.
        call: the record of the call that made the node that ran.
    """

    __slots__ = ("id", "name", "scope", "sinks", "thread", "start", "end", "shapes", "stack", "node", "call", "memory", "flops",
                 "args")
    flops: int | None

    def __init__(self, name: str, scope: int, sinks: Sinks, operands: Iterable = (), args: str | None = None):
        self.id, self.name, self.scope, self.sinks, self.args = next(_ids), name, scope, sinks.profiles, args
        self.thread, self.node, self.flops, self.memory = threading.get_ident(), -1, None, _thread.balance
        self.call: Record | None = None
        self.shapes = [shape_of(x) for x in operands] if sinks.shapes else None
        self.stack = user_stack() if sinks.stack else None
        _thread.records.append(self)
        self.start = self.end = perf_counter_ns()

    def close(self) -> None:
        """It has ended."""
        self.end = perf_counter_ns()
        records = _thread.records
        if records and records[-1] is self:
            del records[-1]
        elif self in records:       # one inside of it was not closed
            del records[records.index(self):]
        self.memory = _thread.balance - self.memory
        for sink in self.sinks:
            sink.records.append(self)

    def event(self, owner: profile, threads: dict[int, int]) -> FunctionEvent:
        """What a profile shows of it; ``threads`` numbers them in order of appearance."""
        def number(ident: int) -> int:
            return threads.setdefault(ident, len(threads) + 1)
        call = self.call
        return FunctionEvent(
            self.id, self.name, number(self.thread), (self.start - owner.began) / 1000, (self.end - owner.began) / 1000,
            fwd_thread=None if call is None else number(call.thread), input_shapes=self.shapes if owner.record_shapes else None,
            stack=self.stack if owner.with_stack else None, scope=self.scope,
            cpu_memory_usage=self.memory if owner.profile_memory else 0, sequence_nr=self.node,
            flops=self.flops if owner.with_flops else None, is_user_annotation=self.scope == USER,
            flow_id=None if call is None else call.id, args=self.args)


def shape_of(x: Any) -> list:
    """The sizes of a tensor; of each, for several; nothing for other operands."""
    if isinstance(x, Tensor):
        return list(x.layout.shape)
    return [shape_of(member) for member in x] if isinstance(x, (tuple, list)) and any(isinstance(m, Tensor) for m in x) else []


# Files whose frames say nothing to the user: the package, its generated text, and what runs context managers.
OWN = (os.path.dirname(os.path.abspath(__file__)) + os.sep, "<nbgrad", contextlib.__file__)


def user_stack() -> list[str]:
    """``"file(line): function"`` for the frames outside of the package, innermost first."""
    entries, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OWN):
            entries.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back        # type: ignore[assignment]
    return entries


# ---- calls ---------------------------------------------------------------------------------------------------------

class Profiling:
    """The interpreter that times calls."""

    def concerns(self, call: Call) -> bool:
        """All calls of threads that are seen."""
        return sinks() is not None

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Time the call."""
        wanted: Any = sinks()
        record = Record(call.name, FUNCTION, wanted, call.operands)
        try:
            out = below(call)
            if wanted.memory:
                memory.note(out, call)
            if wanted.flops:
                record.flops = flops_of(call, out)
            return out
        finally:
            record.close()


register("profiling", Profiling())

# Products of matrices, whose arithmetic is two operations for each element of the result and of the dimension that they share.
PRODUCTS = frozenset({"matmul", "mm", "bmm", "mv", "dot"})


def flops_of(call: Call, out: Any) -> int | None:
    """An estimate of a call's arithmetic: of products, and one operation an element of elementwise ones."""
    if not isinstance(out, Tensor):
        return None
    size = prod(out.layout.shape)
    if call.op.name in PRODUCTS:
        return 2 * size * call.operands[0].layout.shape[-1]
    return size if isinstance(call.op, Elementwise) else None


class Memory:
    """Follows the storages that calls return, until they are freed."""

    def __init__(self) -> None:
        self.followed: dict[int, weakref.ref] = {}

    def note(self, out: Any, call: Call) -> None:
        """Count what a call allocated: storages of its results that are not its operands'."""
        given = {id(x.storage) for x in call.tensors()}
        for x in out if isinstance(out, tuple) else (out,):
            if isinstance(x, Tensor) and id(x.storage) not in given and id(x.storage) not in self.followed:
                self.follow(x.storage)

    def follow(self, storage: Any) -> None:
        """Add a new storage to the balance, and take it off when it is freed."""
        key, size = id(storage), storage.array.nbytes

        def freed(reference: weakref.ref) -> None:
            if self.followed.pop(key, None) is not None:
                note_free(size)
        self.followed[key] = weakref.ref(storage, freed)
        _thread.balance += size


memory = Memory()


def note_free(size: int) -> None:
    """Memory is freed: by the call that runs, or, between calls, by nobody, which is an event of its own."""
    wanted = sinks() if not _thread.records else None
    record = Record("[memory]", FUNCTION, wanted) if wanted is not None and wanted.memory else None
    _thread.balance -= size
    if record is not None:
        record.close()


# ---- backward ------------------------------------------------------------------------------------------------------

class Watcher:
    """Makes records of the nodes and leaves that passes run, each linked to the call that recorded it."""

    def __init__(self) -> None:
        self.calls: weakref.WeakKeyDictionary[Node, Record] = weakref.WeakKeyDictionary()

    def watch(self, run: Callable, settle: Callable) -> tuple[Callable, Callable]:
        """What runs nodes and leaves in the place of these."""
        def timed_run(node: Node, g: Any, create_graph: bool, task: Any) -> Any:
            wanted = sinks()
            if wanted is None or not task.runs(node):
                return run(node, g, create_graph, task)
            record = Record(node.name(), BACKWARD, wanted, g if isinstance(g, (tuple, list)) else (g,))
            record.node, record.call = node._sequence_nr(), self.calls.get(node)
            try:
                return run(node, g, create_graph, task)
            finally:
                record.close()

        def timed_settle(leaf: Tensor, g: Tensor | None, task: Any) -> None:
            held, wanted = [g], sinks()
            del g       # accumulate.py takes over what nobody else holds
            if wanted is None or not task.runs(leaf):
                return settle(leaf, held.pop(), task)
            record = Record("AccumulateGrad", BACKWARD, wanted, held)
            try:
                return settle(leaf, held.pop(), task)
            finally:
                record.close()
        return timed_run, timed_settle


watcher = Watcher()


# ---- profiles ------------------------------------------------------------------------------------------------------

class profile(Presence):        # torch's name
    """Collects the calls, regions and nodes of backward that run inside of its ``with`` block.

    Args:
        enabled: False: collect nothing; the ``as`` target is None.
        record_shapes: note the shapes of operands.
        profile_memory: note the bytes allocated and freed.
        with_stack: note where calls were made.
        with_flops: estimate the arithmetic of products and elementwise operations.
        all_threads: see the calls of all threads, not only of the one that enters.
        use_cuda, use_device: there is nothing to see on devices yet, which a warning says.
        use_cpu: False is refused, for the same reason.
        with_modules, use_kineto, experimental_config, acc_events, custom_trace_id_callback, post_processing_timeout_s,
            activity_filters: accepted for torch's sake, without effect.

    Attributes:
        function_events: the events; empty before the end of the block.

    Raises:
        ProfilerError: it is entered a second time; ``use_cpu`` is False.

    >>> import nbgrad
    >>> x = nbgrad.ones(100, requires_grad=True)
    >>> with nbgrad.profile(record_shapes=True) as p:
    ...     x.sin().sum().backward()
    >>> [event.name for event in p.function_events if event.cpu_parent is None]
    ['sin', 'sum', 'SumBackward0', 'SinBackward0', 'AccumulateGrad']
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Any = None, post_processing_timeout_s: float | None = None,
                 activity_filters: dict | None = None, all_threads: bool = False):
        self.enabled, self.record_shapes, self.with_flops = enabled, record_shapes, with_flops
        self.profile_memory, self.with_stack, self.all_threads = profile_memory, with_stack, all_threads
        self.entered, self.thread, self.began = False, 0, 0
        self.records: list[Record] = []
        self.function_events = self._list(())
        if not enabled:
            return
        wanted = use_device or use_cuda
        if wanted:
            warnings.warn("profile: only the CPU is profiled. Hint: leave out use_device and use_cuda.", stacklevel=2)
        if not use_cpu:
            raise ProfilerError("profile: use_cpu=False leaves nothing to profile; expected True.")

    def _list(self, events: Iterable[FunctionEvent]) -> EventList:
        return EventList(events, profile_memory=self.profile_memory, with_flops=self.with_flops, with_stack=self.with_stack)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise ProfilerError("profile: it is not reentrant, and was entered before. Hint: make a new one.")
        self.entered, self.thread = True, threading.get_ident()
        activate(self)
        self.began = perf_counter_ns()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.enabled:
            return
        deactivate(self)
        threads: dict[int, int] = {self.thread: 1}
        records = sorted(self.records, key=lambda record: record.id)
        self.function_events = self._list(record.event(self, threads) for record in records)
        self.function_events._build_tree()
        self.records = []

    def recorded(self, node: Node) -> None:
        """A call recorded a node: link them."""
        if _thread.records and (record := _thread.records[-1]).scope == FUNCTION and self in record.sinks:
            record.node = node._sequence_nr()
            watcher.calls[node] = record

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events summed by name: see ``EventList.key_averages``."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self.function_events.total_average()

    def table(self, *args: Any, **options: Any) -> str:
        """The events as text: see ``EventList.table``."""
        return self.function_events.table(*args, **options)

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Write a trace: see ``EventList.export_chrome_trace``."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for flame graphs: see ``EventList.export_stacks``."""
        self.function_events.export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return str(self.function_events)

    def __repr__(self) -> str:
        return "<unfinished profile>" if self.enabled and not self.entered else repr(self.function_events)


_lock = threading.Lock()


def activate(p: profile) -> None:
    """Have calls and nodes seen."""
    global _active
    with _lock:
        if not _active:
            engine.watchers.append(watcher)
        _active = (*_active, p)
        special.append(p)


def deactivate(p: profile) -> None:
    """Undo ``activate``."""
    global _active
    with _lock:
        special.remove(p)
        _active = tuple(other for other in _active if other is not p)
        if not _active:
            engine.watchers.remove(watcher)
            memory.followed.clear()


class record_function(contextlib.ContextDecorator):        # torch's name
    """A region with a name, for profiles: a context manager and a decorator. Without an active profile it does nothing.

    Args:
        name: under which the region appears.
        args: a text that goes with it into traces.

    >>> import nbgrad
    >>> with nbgrad.profile() as p:
    ...     with nbgrad.record_function("forward"):
    ...         y = nbgrad.ones(2).exp()
    >>> [event.name for event in p.function_events]
    ['forward', 'exp']
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self.record: Record | None = None

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)        # one instance may decorate a function that calls itself

    def __enter__(self) -> record_function:
        wanted = sinks() if _active else None
        self.record = Record(self.name, USER, wanted, args=self.args) if wanted is not None else None
        return self

    def __exit__(self, *error: object) -> None:
        if self.record is not None:
            self.record.close()
            self.record = None


# ---- other tools' annotations --------------------------------------------------------------------------------------

class _Annotations:
    """A context that would annotate for a tool that nbgrad does not talk to: it does nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> _Annotations | None:
        return self if self.enabled else None

    def __exit__(self, *error: object) -> None:
        """Nothing was begun."""


class emit_nvtx(_Annotations):      # torch's name
    """Accepted for torch's sake: NVTX ranges mark work on GPUs, and there is none yet. It does nothing."""


class emit_itt(_Annotations):       # torch's name
    """Accepted for torch's sake: nbgrad does not talk to Intel's ITT. It does nothing."""
