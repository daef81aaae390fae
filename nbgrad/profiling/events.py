"""Events that the profiler has seen, and their averages. This module knows no tensor and no graph."""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Any, Iterable, Iterator

from ..base.errors import RangeError
from .event_times import BACKWARD, FUNCTION, USER, FormattedTimesMixin, Interval, Kernel, ProfilerError, StringTable, Times
from .tables import (
    CALLS_COLUMN,
    DEVICE_MEMORY_COLUMNS,
    FLOPS_COLUMN,
    MEMORY_COLUMNS,
    Column,
    cut,
    device_columns,
    sort_key,
    table_text,
    time_columns,
    time_format,
    time_text,
)
from .traces import arrow, span, title

__all__ = [
    "BACKWARD",
    "EventList",
    "FUNCTION",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "ProfilerError",
    "StringTable",
    "USER",
]


class FunctionEvent(Times):
    """One call, region or node of backward.

    Attributes:
        id: unique in its profile; smaller for what began earlier.
        name, key: of the operation, region or node.
        scope: 0 a call, 1 a node of backward, 7 a region of ``record_function``.
        thread: 1 for the first thread that was seen, and so on; ``fwd_thread``: of the call that recorded a node.
        time_range: when, in microseconds since the profile began.
        input_shapes: a list of sizes for every tensor operand, ``[]`` for other operands; None if not recorded.
        stack: ``"file(line): function"``, innermost first; empty if not recorded.
        sequence_nr: of the node that the call recorded, or that ran; -1 if none.
        cpu_memory_usage, device_memory_usage: bytes allocated less bytes freed meanwhile, by tensors that calls returned: on the
            CPU, on GPUs.
        device_time_total: microseconds of GPUs, by events: from when their streams came to the call to when they were done with it.
            Where a GPU waits for the program, that is part of it.
        launches, copies: how many of kernels, and between host and GPUs.
        flops: an estimate of the arithmetic; None if not recorded.
        cpu_parent, cpu_children: the event around this one, and those directly inside.

    >>> with nbgrad.profile(record_shapes=True) as p:
    ...     x = nbgrad.ones(2, 3).exp()
    >>> [event.input_shapes for event in p.events() if event.name == "aten::exp"]
    [[[2, 3]]]
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        fwd_thread: int | None = None,
        input_shapes: list | None = None,
        stack: list | None = None,
        scope: int = FUNCTION,
        cpu_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        flops: int | None = None,
        is_user_annotation: bool = False,
        flow_id: int | None = None,
        args: str | None = None,
        device_memory_usage: int = 0,
        device: Any = None,
    ):
        self.device_memory_usage = device_memory_usage
        self.device_time_total: float = 0 if device is None else device.us
        self.launches, self.copies = (0, 0) if device is None else (int(device.launches), int(device.copies))
        self.id, self.name, self.key, self.trace_name = id, name, name, name
        self.time_range = Interval(start_us, end_us)
        self.thread, self.fwd_thread, self.scope = thread, fwd_thread, scope
        self.input_shapes, self.stack = input_shapes, [] if stack is None else stack
        self.cpu_memory_usage, self.flops, self.args = cpu_memory_usage, flops, args
        self.is_async, self.is_remote, self.is_user_annotation = is_async, is_remote, is_user_annotation
        self.sequence_nr, self.node_id, self.flow_id = sequence_nr, node_id, flow_id
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Put an event directly inside of this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Put this event directly inside of another."""
        self.cpu_parent = parent

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds from begin to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds without those of the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """``cpu_memory_usage`` without that of the events inside."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        """``device_time_total`` without that of the events inside."""
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        """``device_memory_usage`` without that of the events inside."""
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


SUMMED = (
    "count",
    "cpu_time_total",
    "self_cpu_time_total",
    "device_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
    "launches",
    "copies",
)


class FunctionEventAvg(Times):
    """The sum of several events of one key, and their number.

    Attributes:
        key, count: what was summed, how often it ran.
        cpu_time_total, self_cpu_time_total: sums, in microseconds; ``cpu_time`` is the average.
        cpu_memory_usage, self_cpu_memory_usage: sums, in bytes; ``device_...``: of GPUs, times too.
        launches, copies: sums.
        flops: the sum of the estimates that there are.
        others: of the first event.

    >>> with nbgrad.profile() as p:
    ...     x = nbgrad.ones(2).exp().exp()
    >>> [average.count for average in p.key_averages() if average.key == "aten::exp"]
    [2]
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id, self.scope, self.is_async, self.is_remote, self.is_user_annotation = 0, FUNCTION, False, False, False
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0
        self.device_memory_usage = self.self_device_memory_usage = self.launches = self.copies = 0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.input_shapes: list | None = None
        self.stack: list | None = None
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or another sum of the same key; returns this one."""
        if self.key is None:
            for name in (
                "key",
                "node_id",
                "scope",
                "is_async",
                "is_remote",
                "is_user_annotation",
                "input_shapes",
                "stack",
                "cpu_children",
                "cpu_parent",
            ):
                setattr(self, name, getattr(other, name))
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list):
    """Events, or averages of events.

    Args:
        events: what it holds.
        profile_memory, with_flops: whether tables show memory and arithmetic.
        metadata: what traces say of themselves.

    >>> with nbgrad.profile() as p:
    ...     x = nbgrad.ones(2).exp()
    >>> [event.name for event in p.events() if event.name == "aten::exp"]
    ['aten::exp']
    """

    def __init__(
        self,
        events: Iterable = (),
        *,
        profile_memory: bool = False,
        with_flops: bool = False,
        with_stack: bool = False,
        metadata: dict[str, Any] | None = None,
    ):
        super().__init__(events)
        self.profile_memory, self.with_flops, self.with_stack = profile_memory, with_flops, with_stack
        self.metadata = {} if metadata is None else metadata

    def _like(self, events: Iterable) -> EventList:
        return EventList(
            events,
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
            with_stack=self.with_stack,
            metadata=self.metadata,
        )

    def _build_tree(self) -> None:
        """Find for each event those directly inside it, by thread and time."""
        around: dict[int, list[FunctionEvent]] = {}
        for event in sorted(self, key=lambda e: (e.time_range.start, -e.time_range.end, e.id)):
            if event.is_async:
                continue
            open_events = around.setdefault(event.thread, [])
            while open_events and not encloses(open_events[-1], event):
                open_events.pop()
            if open_events:
                open_events[-1].append_cpu_child(event)
                event.set_cpu_parent(open_events[-1])
            open_events.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    @property
    def self_device_time_total(self) -> float:
        """Microseconds of all events on GPUs, each counted once."""
        return sum(event.self_device_time_total for event in self)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed by name; by input shapes and by the innermost frames of the stack, too, if asked for.

        ``group_by_overload_name`` is accepted for torch's sake: operations have no overloads.

        Returns:
            A list of FunctionEventAvg, in order of first appearance.
        """
        sums: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                event.node_id,
                event.is_user_annotation,
                str(event.input_shapes) if group_by_input_shape else "",
                tuple((event.stack or ())[:group_by_stack_n]),
            )
            sums.setdefault(key, FunctionEventAvg()).add(event)
        for entry in sums.values():
            entry.stack = (entry.stack or [])[:group_by_stack_n]
            if not group_by_input_shape:
                entry.input_shapes = None
        return self._like(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events, with key ``"Total"``."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key, total.input_shapes, total.stack = "Total", None, None
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text.

        Args:
            sort_by: an attribute: ``"cpu_time_total"``, ``"self_cpu_time_total"``, ``"cpu_time"``, ``"cpu_memory_usage"``,
                ``"self_cpu_memory_usage"``, ``"count"``, ...; the largest first. None: in order.
            row_limit: most rows.
            max_src_column_width, max_name_column_width, max_shapes_column_width: longer texts are cut.
            header: a line above the table.
            top_level_events_only: only events that lie inside of no other.
            time_unit: ``"us"``, ``"ms"`` or ``"s"`` for all times; None: for each the unit that suits it.

        Raises:
            ColumnError: ``sort_by`` is no attribute. RangeError: another ``time_unit``.
        """
        if not self:
            return ""
        events = list(self) if sort_by is None else sorted(self, key=sort_key(sort_by), reverse=True)
        if top_level_events_only:
            events = [event for event in events if event.cpu_parent is None]
        total = self.self_cpu_time_total
        on_gpus, on_device = any(event.launches or event.copies for event in self), self.self_device_time_total
        columns = [
            *time_columns(total, time_format(time_unit), max_name_column_width),
            *(device_columns(on_device, time_format(time_unit)) if on_gpus else ()),
            *(MEMORY_COLUMNS if self.profile_memory else ()),
            *(DEVICE_MEMORY_COLUMNS if self.profile_memory and on_gpus else ()),
            CALLS_COLUMN,
        ]
        if any(event.input_shapes for event in self):
            columns.append(Column("Input Shapes", lambda e: cut(str(e.input_shapes), max_shapes_column_width)))
        if any(event.stack for event in self):
            columns.append(Column("Source Location", lambda e: cut(e.stack[0] if e.stack else "", max_src_column_width)))
        if self.with_flops:
            columns.append(FLOPS_COLUMN)
        text = table_text(columns, events[:row_limit], header) + f"Self CPU time total: {time_text(total)}\n"
        return text + f"Self CUDA time total: {time_text(on_device)}\n" if on_gpus else text

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Write the events as JSON for chrome://tracing or https://ui.perfetto.dev; calls are linked to their nodes of backward.

        A path that ends in ``.gz`` is written compressed.
        """
        write = import_module("gzip").open if os.fspath(path).endswith(".gz") else open
        with write(path, "wt", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, **self.metadata, "displayTimeUnit": "ms", "traceEvents": list(self._trace())}, file)

    def _trace(self) -> Iterator[dict]:
        """The events of the trace: names, spans, and an arrow from every call to the node that it recorded, where that ran."""
        yield title("process_name", 0, "python")
        yield from (title("thread_name", thread, f"thread {thread}") for thread in sorted({event.thread for event in self}))
        calls = {event.id: event for event in self}
        for event in self:
            yield span(event)
            call = calls.get(event.flow_id)
            if call is not None:
                yield arrow("s", event.id, call)
                yield {**arrow("f", event.id, event), "bp": "e"}

    def export_stacks(self, path: str | os.PathLike, metric: str = "self_cpu_time_total") -> None:
        """Write ``outermost;...;innermost value`` per event, for flame graphs.

        Raises:
            RangeError: the metric is none of ``supported_export_stacks_metrics``. ProfilerError: no stacks were recorded.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise RangeError(f"export_stacks: metric should be one of {self.supported_export_stacks_metrics()}, got {metric!r}.")
        if not self.with_stack:
            raise ProfilerError("export_stacks: no stacks were recorded. Hint: profile(with_stack=True).")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, metric))
                if event.stack and value > 0:
                    frames = ";".join(entry.translate(SEPARATORS) for entry in reversed(event.stack))
                    file.write(f"{frames} {value}\n")

    def supported_export_stacks_metrics(self) -> list[str]:
        """The metrics that ``export_stacks`` knows."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_device_time_total"]


SEPARATORS = str.maketrans(" ;\t\n", "____")


def encloses(outer: FunctionEvent, inner: FunctionEvent) -> bool:
    """Whether one event's time lies inside of another's."""
    return inner.time_range.start < outer.time_range.end and inner.time_range.end <= outer.time_range.end
