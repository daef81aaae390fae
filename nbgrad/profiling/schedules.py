"""Schedules, which say in which steps of a program a profile collects, and handlers of the traces that it has collected."""

from __future__ import annotations

import os
import platform
import time
from enum import Enum, IntEnum
from typing import Any, Callable

from ..base.errors import ArgumentError, NbgradError, RangeError

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "Schedule",
    "always",
    "kineto_available",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerAction(Enum):
    """What a profile does during a step: nothing, get ready, collect, or collect and hand over at the end of the step.

    >>> plan = nbgrad.profiler.schedule(wait=1, warmup=1, active=1)
    >>> [plan(step).name for step in range(3)]
    ['NONE', 'WARMUP', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

    @property
    def collects(self) -> bool:
        """Whether calls are seen."""
        return self.value >= ProfilerAction.RECORD.value


class ProfilerActivity(Enum):
    """Kinds of work that torch's profiles can see; here they are the CPU's and CUDA's."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class DeviceType(IntEnum):
    """Where an event took place."""

    CPU = 0
    CUDA = 1


Schedule = Callable[[int], ProfilerAction]


class ScheduleError(RangeError, AssertionError):
    """Numbers of steps that give no schedule."""


def always(step: int) -> ProfilerAction:
    """The schedule of a profile without one: collect from the beginning to the end."""
    return ProfilerAction.RECORD


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0) -> Schedule:
    """For ``profile(schedule=...)``: cycles of steps in which to wait, to get ready and to collect.

    Args:
        wait, warmup, active: lengths of the parts of a cycle in steps; ``active`` at least 1.
        repeat: number of cycles; 0: until the end.
        skip_first: steps before the first cycle.
        skip_first_wait: whether the first cycle does without ``wait``.

    Returns:
        A function from the number of a step to a ProfilerAction.

    Raises:
        ScheduleError: a negative number, or nothing to collect; an AssertionError.

    >>> import nbgrad
    >>> plan = nbgrad.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ScheduleError(
            f"schedule: got wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, "
            f"skip_first={skip_first}; expected active > 0 and no negative number."
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ScheduleError(f"schedule: step {step} is negative.")
        step -= skip_first - (wait if skip_first_wait else 0)
        if step < (wait if skip_first_wait else 0) or repeat and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return action


def supported_activities() -> set[ProfilerActivity]:
    """The kinds of work that profiles see here: the CPU's, and CUDA's where there is a GPU.

    >>> nbgrad.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    from ..cuda import device_count

    return {ProfilerActivity.CPU, ProfilerActivity.CUDA} if device_count() else {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether torch's tracing library is there: never, and not needed."""
    return False


# ---- handlers ------------------------------------------------------------------------------------------------------


class TraceError(NbgradError):
    """A trace that cannot be written."""


def tensorboard_trace_handler(
    dir_name: str | os.PathLike, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """For ``profile(on_trace_ready=...)``: write every cycle's trace into a folder, ``<worker>.<time>.pt.trace.json``.

    Args:
        dir_name: the folder, made if it is not there.
        worker_name: the first part of the files' names; by default machine and process.
        use_gzip: compress the files.
        use_python_export: accepted for torch's sake.

    Raises:
        TraceError: by the handler: the folder cannot be made.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with nbgrad.profile(on_trace_ready=nbgrad.profiler.tensorboard_trace_handler(folder)):
    ...         x = nbgrad.ones(2).exp()
    ...     len(os.listdir(folder))
    1
    """
    if worker_name is not None and not isinstance(worker_name, str):
        raise ArgumentError(f"tensorboard_trace_handler: worker_name must be a str, got {type(worker_name).__name__}.")

    def handler(p: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise TraceError(f"tensorboard_trace_handler: the folder {dir_name} cannot be made: {error}.") from error
        worker = worker_name or f"{platform.node()}_{os.getpid()}"
        p.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"))

    return handler
