"""What events of the profiler are made of: intervals, times of several devices, kernels, scopes."""

from __future__ import annotations

from typing import NamedTuple

from ..base.errors import NbgradError
from .schedules import DeviceType
from .tables import time_text

__all__ = ["BACKWARD", "FUNCTION", "FormattedTimesMixin", "Interval", "Kernel", "ProfilerError", "StringTable", "Times", "USER"]


# The scopes of events, by torch's numbers.
FUNCTION, BACKWARD, USER = 0, 1, 7


class ProfilerError(NbgradError, RuntimeError, AssertionError):
    """The profiler is asked for what it has not been told to collect, or is used twice."""


class Interval:
    """A span of time in microseconds since the profile began."""

    __slots__ = ("start", "end")

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


def seen_as(name: str) -> property:
    """An attribute under another name of torch's."""
    return property(lambda event: getattr(event, name), doc=f"``{name}``.")


class Times:
    """What events and averages have in common: derived numbers, and what torch's have and these have not."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float
    cuda_time, cuda_time_total, self_cuda_time_total = map(seen_as, ("device_time", "device_time_total", "self_device_time_total"))
    self_cuda_memory_usage = seen_as("self_device_memory_usage")
    use_device = overload_name = None
    device_index, device_type, is_legacy, kernels = 0, DeviceType.CPU, False, ()
    device_resource_id = external_id = linked_correlation_id = 0
    is_python_function, python_id, python_parent_id, python_module_id = False, -1, -1, -1

    @property
    def device_time(self) -> float:
        """Average time of a call on GPUs, in microseconds."""
        return self.device_time_total / self.count if self.count else 0

    @property
    def device_time_str(self) -> str:
        """``device_time`` as text."""
        return time_text(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        """``device_time_total`` as text."""
        return time_text(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        """``self_device_time_total`` as text."""
        return time_text(self.self_device_time_total)

    @property
    def cpu_time(self) -> float:
        """Average time of a call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """``cpu_time`` as text."""
        return time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` as text."""
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """``self_cpu_time_total`` as text."""
        return time_text(self.self_cpu_time_total)


FormattedTimesMixin = Times  # torch's name


class Kernel(NamedTuple):
    """A piece of work of a device: torch's events have some, here there are none yet."""

    name: str
    device: int
    duration: float


class StringTable(dict):
    """A dict in which a text that is missing stands for itself."""

    def __missing__(self, key: str) -> str:
        return key
