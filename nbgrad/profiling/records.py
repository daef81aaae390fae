"""Records of calls, regions and nodes of backward, made while a profile is active.

NOTE [Profiling]: while a profile is active, calls take the general path (a profile is a member of ``grad_mode.special``), and each
becomes a ``Record`` of its thread: opened before the call, closed after it, so that records nest. Nodes of backward are seen by the
engine's ``watchers``. Without a profile nothing is paid. Like
torch's, a profile sees the calls of the thread that entered it, and of all threads on request.
"""

from __future__ import annotations

import re
import threading
import weakref
from functools import cache
from itertools import count
from math import prod
from time import perf_counter_ns
from typing import Any, Callable, Iterable

from .. import engine
from ..base.grad_mode import special
from ..base.locks import new_lock
from ..base.user_stack import user_stack
from ..graph.edges import Node
from ..graph.rule import name_of
from ..modes.interpreters import Call, Presence, register
from ..ops.core import Elementwise
from ..tensors.choices import opened
from ..tensors.tensor import Tensor
from .devices import Span
from .event_times import BACKWARD, FUNCTION, USER
from .events import FunctionEvent

__all__ = ["Record", "Sink", "activate", "deactivate", "sinks"]


# ---- records: see NOTE [Profiling] ---------------------------------------------------------------------------------


class Sink(Presence):
    """A profile as records know it.

    Attributes:
        record_shapes, profile_memory, with_stack, with_flops, on_gpus: what it wants to know.
        all_threads: whether it sees all threads; else only ``thread``.
        began: when, in nanoseconds.
        records: those that have ended.
    """

    def __init__(
        self, record_shapes: bool, profile_memory: bool, with_stack: bool, with_flops: bool, all_threads: bool, on_gpus: bool
    ):
        self.on_gpus = on_gpus
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.all_threads, self.thread, self.began = with_flops, all_threads, 0, 0
        self.records: list[Record] = []

    def recorded(self, node: Node) -> None:
        """A call recorded a node: link them."""
        if _thread.records and (record := _thread.records[-1]).scope == FUNCTION and self in record.sinks:
            record.node = node._sequence_nr()
            watcher.calls[node] = record


_ids = count(1)
_active: tuple[Sink, ...] = ()


class Sinks:
    """The active profiles that see a thread, and what they want to know between them."""

    __slots__ = ("profiles", "shapes", "stack", "memory", "flops", "gpus")

    def __init__(self, profiles: list[Sink]):
        self.profiles = profiles
        self.shapes, self.stack = any(p.record_shapes for p in profiles), any(p.with_stack for p in profiles)
        self.memory, self.flops = any(p.profile_memory for p in profiles), any(p.with_flops for p in profiles)
        self.gpus = any(p.on_gpus for p in profiles)


class _Thread(threading.local):
    """What the profiler knows of a thread.

    Attributes:
        records: its open records, innermost last.
        balance: the bytes that its calls have allocated, less those freed: of the CPU, and of GPUs.
        active, sinks: its sinks, as long as ``active`` are the active profiles.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.balance = [0, 0]
        self.active: tuple[Sink, ...] = ()
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

    __slots__ = (
        "id",
        "name",
        "scope",
        "sinks",
        "thread",
        "start",
        "end",
        "shapes",
        "stack",
        "node",
        "call",
        "memory",
        "flops",
        "args",
        "span",
    )
    flops: int | None

    def __init__(self, name: str, scope: int, sinks: Sinks, operands: Iterable = (), args: str | None = None):
        self.id, self.name, self.scope, self.sinks, self.args = next(_ids), name, scope, sinks.profiles, args
        self.thread, self.node, self.flops, self.memory = threading.get_ident(), -1, None, list(_thread.balance)
        self.call: Record | None = None
        self.shapes = [shape_of(x) for x in operands] if sinks.shapes else None
        self.stack = user_stack() if sinks.stack else None
        self.span: Any = Span() if sinks.gpus and opened else None
        _thread.records.append(self)
        self.start = self.end = perf_counter_ns()

    def close(self) -> None:
        """Note the end."""
        self.end = perf_counter_ns()
        if self.span is not None:
            self.span.close()
        records = _thread.records
        if records and records[-1] is self:
            del records[-1]
        elif self in records:  # one inside of it was not closed
            del records[records.index(self) :]
        self.memory = [now - before for now, before in zip(_thread.balance, self.memory)]
        for sink in self.sinks:
            sink.records.append(self)

    def event(self, owner: Sink, threads: dict[int, int]) -> FunctionEvent:
        """What a profile shows of it; ``threads`` numbers them in order of appearance."""

        def number(ident: int) -> int:
            return threads.setdefault(ident, len(threads) + 1)

        call, span = self.call, self.span
        if isinstance(span, Span):  # of several profiles, the first asks
            span = self.span = span.spent()
        if not owner.on_gpus:
            span = None
        return FunctionEvent(
            self.id,
            self.name,
            number(self.thread),
            (self.start - owner.began) / 1000,
            (self.end - owner.began) / 1000,
            fwd_thread=None if call is None else number(call.thread),
            input_shapes=self.shapes if owner.record_shapes else None,
            stack=self.stack if owner.with_stack else None,
            scope=self.scope,
            cpu_memory_usage=self.memory[0] if owner.profile_memory else 0,
            device_memory_usage=self.memory[1] if owner.profile_memory else 0,
            device=span,
            sequence_nr=self.node,
            flops=self.flops if owner.with_flops else None,
            is_user_annotation=self.scope == USER,
            flow_id=None if call is None else call.id,
            args=self.args,
        )


def shape_of(x: Any) -> list:
    """The sizes of a tensor; of each, for several; nothing for other operands."""
    if isinstance(x, Tensor):
        return list(x.layout.shape)
    return [shape_of(member) for member in x] if isinstance(x, (tuple, list)) and any(isinstance(m, Tensor) for m in x) else []


# ---- calls ---------------------------------------------------------------------------------------------------------


class Profiling:
    """The interpreter that times calls."""

    def concerns(self, call: Call) -> bool:
        """All calls of threads that are seen."""
        return sinks() is not None

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Time the call."""
        wanted: Any = sinks()
        record = Record(event_name(call.op, call.form), FUNCTION, wanted, call.operands)
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


@cache
def event_name(op: Any, form: str) -> str:
    """The name of a call's event: torch's, as ``aten::mul_``; that of the class for a custom Function.

    An operation that is no function of its own but part of one (``view_shape``) goes by the name of its nodes.
    """
    if op.kind == "function":
        return op.name
    public, node = op.public, op.node_name
    if public == op.name and isinstance(node, str) and not op.function and not public.endswith(("_", "_backward")):
        public = re.sub("(?<!^)(?=[A-Z])", "_", node.partition("Backward")[0]).lower()
    return f"aten::{public}{'_' if form == '_' else ''}"


def flops_of(call: Call, out: Any) -> int | None:
    """An estimate of a call's arithmetic: one operation an element, of products of matrices two for each sum of that dimension."""
    if not isinstance(out, Tensor):
        return None
    size = prod(out.layout.shape)
    if call.op.product:
        return 2 * size * call.operands[0].layout.shape[-1]
    return size if isinstance(call.op, Elementwise) else None


class Memory:
    """Follows the storages that calls return, until they are freed."""

    def __init__(self) -> None:
        self.followed: dict[int, weakref.ref] = {}

    def note(self, out: Any, call: Call) -> None:
        """Count what a call allocated: storages of its results that are not its operands'."""
        given = {id(x._storage_) for x in call.tensors()}
        for x in out if isinstance(out, tuple) else (out,):
            if isinstance(x, Tensor) and id(x._storage_) not in given and id(x._storage_) not in self.followed:
                self.follow(x._storage_)

    def follow(self, storage: Any) -> None:
        """Add a new storage to the balance, and take it off when it is freed."""
        key, size, there = id(storage), storage.array.nbytes, storage.device.index is not None

        def freed(reference: weakref.ref) -> None:
            if self.followed.pop(key, None) is not None:
                note_free(size, there)

        self.followed[key] = weakref.ref(storage, freed)
        _thread.balance[there] += size


memory = Memory()


def note_free(size: int, there: bool) -> None:
    """Memory is freed, on a GPU or not: by the call that runs, or, between calls, by nobody, which is an event of its own."""
    wanted = sinks() if not _thread.records else None
    record = Record("[memory]", FUNCTION, wanted) if wanted is not None and wanted.memory else None
    _thread.balance[there] -= size
    if record is not None:
        record.close()


# ---- backward ------------------------------------------------------------------------------------------------------


class NodeWatcher:
    """Makes records of the nodes and leaves that passes run, each linked to the call that recorded it."""

    def __init__(self) -> None:
        self.calls: weakref.WeakKeyDictionary[Node, Record] = weakref.WeakKeyDictionary()

    def watch(self, run: Callable, settle: Callable) -> tuple[Callable, Callable]:
        """What runs nodes and leaves in the place of these."""

        def timed_run(node: Node, g: Any, create_graph: bool, task: Any) -> Any:
            wanted = sinks()
            if wanted is None or not task.runs(node):
                return run(node, g, create_graph, task)
            record = Record(name_of(node), BACKWARD, wanted, g if isinstance(g, (tuple, list)) else (g,))
            record.node, record.call = node._sequence_nr(), self.calls.get(node)
            try:
                return run(node, g, create_graph, task)
            finally:
                record.close()

        def timed_settle(leaf: Tensor, g: Tensor | None, task: Any) -> None:
            held, wanted = [g], sinks()
            del g  # accumulate.py takes over what nobody else holds
            if wanted is None or not task.runs(leaf):
                return settle(leaf, held.pop(), task)
            record = Record("AccumulateGrad", BACKWARD, wanted, held)
            try:
                return settle(leaf, held.pop(), task)
            finally:
                record.close()

        return timed_run, timed_settle


watcher = NodeWatcher()


# ---- beginning and end ---------------------------------------------------------------------------------------------

_lock = new_lock()


def activate(p: Sink) -> None:
    """Have calls and nodes seen by a profile, from now on."""
    global _active
    with _lock:
        if not _active:
            engine.watchers.append(watcher)
        _active = (*_active, p)
        special.append(p)


def deactivate(p: Sink) -> None:
    """Have them seen no longer by this one."""
    global _active
    with _lock:
        special.remove(p)
        _active = tuple(other for other in _active if other is not p)
        if not _active:
            engine.watchers.remove(watcher)
            memory.followed.clear()
            watcher.calls.clear()
            _thread.records.clear()  # regions that were not left
