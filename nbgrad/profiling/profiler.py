"""``torch.autograd.profiler``: what ran, how often and how long. profiling/records.py is how it is seen."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from time import perf_counter_ns
from typing import Any, Callable, Iterable

from ..base.user_stack import warn_user
from .event_times import USER, Interval, Kernel, ProfilerError, StringTable
from .events import EventList, FunctionEvent, FunctionEventAvg
from .records import Record, Sink, activate, deactivate, sinks
from .schedules import (
    DeviceType,
    ProfilerAction,
    ProfilerActivity,
    Schedule,
    always,
    kineto_available,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "profile",
    "record_function",
    "emit_itt",
    "emit_nvtx",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
    "kineto_available",
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerError",
    "StringTable",
]


# ---- profiles ------------------------------------------------------------------------------------------------------


class profile(Sink):  # torch's name
    """Collects the calls, regions and nodes of backward that run inside of its ``with`` block: both of torch's ``profile`` in one.

    Args:
        enabled: False: collect nothing; the ``as`` target is None.
        activities: of ``ProfilerActivity``: the CPU's, which are always seen, and CUDA: how long GPUs worked for a call, how many
            launches and copies there were. Where others are named alone, or there is no GPU, a warning says so.
        schedule: in which steps to collect (see ``nbgrad.profiler.schedule``); the program says by ``step()`` where one ends.
        on_trace_ready: called with the profile when a cycle of the schedule, or the block, has ended.
        record_shapes: note the shapes of operands.
        profile_memory: note the bytes allocated and freed.
        with_stack: note where calls were made.
        with_flops: estimate the arithmetic of products and elementwise operations.
        all_threads: see the calls of all threads, not only of the one that enters.
        use_cuda, use_device: the same as CUDA among the activities.
        use_cpu: False is refused, for the same reason.
        with_modules, use_kineto, experimental_config, execution_trace_observer, acc_events, custom_trace_id_callback,
            post_processing_timeout_s, activity_filters: accepted for torch's sake, without effect.

    Attributes:
        function_events: the events; empty before the end of the block or cycle.
        step_num: how many steps have ended.
        current_action: what is done during the present step.

    Raises:
        ProfilerError: it is entered a second time; ``use_cpu`` is False.

    Operations have torch's names, nodes their own. What torch's C++ does beneath an operation has no events here.

    >>> import nbgrad
    >>> x = nbgrad.ones(100, requires_grad=True)
    >>> with nbgrad.profile(record_shapes=True) as p:
    ...     x.sin().sum().backward()
    >>> [event.name for event in p.function_events if event.cpu_parent is None]
    ['aten::sin', 'aten::sum', 'SumBackward0', 'SinBackward0', 'AccumulateGrad']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: dict | None = None,
        activities: Iterable | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        execution_trace_observer: Any = None,
        all_threads: bool = False,
    ):
        self.activities = supported_activities() if activities is None else set(activities)
        others = bool(use_device or use_cuda)
        if others:
            self.activities.add(ProfilerActivity.CUDA)
        on_gpus = bool(self.activities & supported_activities() - {ProfilerActivity.CPU})
        super().__init__(record_shapes, profile_memory, with_stack, with_flops, all_threads, on_gpus)
        self.enabled, self.entered, self.collecting = enabled, False, False
        self.schedule, self.on_trace_ready = schedule or always, on_trace_ready
        self.step_num, self.current_action = 0, ProfilerAction.NONE
        self.steps: record_function | None = None
        self.metadata: dict[str, Any] = {}
        self.function_events = self._list(())
        if not enabled:
            return
        if not on_gpus and (others or ProfilerActivity.CPU not in self.activities):
            warn_user(
                "profile: only the CPU is profiled. Hint: leave out use_device and use_cuda; name ProfilerActivity.CPU "
                "among the activities."
            )
        if not use_cpu:
            raise ProfilerError("profile: use_cpu=False leaves nothing to profile; expected True.")

    def _list(self, events: Iterable[FunctionEvent]) -> EventList:
        return EventList(
            events,
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
            with_stack=self.with_stack,
            metadata=self.metadata,
        )

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise ProfilerError("profile: it is not reentrant, and was entered before. Hint: make a new one.")
        self.entered, self.thread = True, threading.get_ident()
        self._go_to(self.schedule(0))
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self._end_step()
            self._go_to(ProfilerAction.NONE)

    def start(self) -> None:
        """Begin, as ``with`` does."""
        self.__enter__()

    def stop(self) -> None:
        """End, as the end of the ``with`` block does."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """A step of the program has ended: go to what the schedule says of the next one."""
        self._end_step()
        self.step_num += 1
        self._go_to(self.schedule(self.step_num))

    def _go_to(self, action: ProfilerAction) -> None:
        """Begin a step, in which that is done; what the last cycle has collected is handed over if it is at its end."""
        before, self.current_action = self.current_action, action
        if self.collecting and not (action.collects and before is ProfilerAction.RECORD):
            self._collect()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if action.collects and not self.collecting:
            self.collecting = True
            activate(self)
            self.began = perf_counter_ns()
        if action.collects and self.schedule is not always:
            self.steps = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _end_step(self) -> None:
        """Close the region of the present step."""
        if self.steps is not None:
            self.steps.__exit__(None, None, None)
            self.steps = None

    def _collect(self) -> None:
        """No longer see calls; make events of the records."""
        self.collecting = False
        deactivate(self)
        threads: dict[int, int] = {self.thread: 1}
        records = sorted(self.records, key=lambda record: record.id)
        self.function_events = self._list(record.event(self, threads) for record in records)
        self.function_events._build_tree()
        self.records = []

    def events(self) -> EventList:
        """The events of the last cycle, or of the block."""
        return self.function_events

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the traces."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a text of JSON to the traces."""
        self.metadata[key] = json.loads(value)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
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


class record_function(contextlib.ContextDecorator):  # torch's name
    """A region with a name, for profiles: a context manager and a decorator. Without an active profile it does nothing.

    Args:
        name: under which the region appears.
        args: a text that goes with it into traces.

    >>> import nbgrad
    >>> with nbgrad.profile() as p:
    ...     with nbgrad.record_function("forward"):
    ...         y = nbgrad.ones(2).exp()
    >>> [event.name for event in p.function_events]
    ['forward', 'aten::exp']
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self.record: Record | None = None

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)  # one instance may decorate a function that calls itself

    def __enter__(self) -> record_function:
        wanted = sinks()
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


class emit_nvtx(_Annotations):  # torch's name
    """Accepted for torch's sake: it does nothing. ``nbgrad.cuda.nvtx`` marks ranges."""


class emit_itt(_Annotations):  # torch's name
    """Accepted for torch's sake: nbgrad does not talk to Intel's ITT. It does nothing."""
