"""The profiler's events as a trace that Chrome shows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .event_times import BACKWARD, FUNCTION, USER

if TYPE_CHECKING:
    from .events import FunctionEvent

__all__ = ["arrow", "span", "title"]


CATEGORIES = {FUNCTION: "cpu_op", BACKWARD: "cpu_op", USER: "user_annotation"}


def place(event: FunctionEvent) -> dict:
    """Process and thread of an event, and when it began."""
    return {"pid": os.getpid(), "tid": event.thread, "ts": event.time_range.start}


def title(kind: str, thread: int, name: str) -> dict:
    """How viewers call the process or a thread."""
    return {"ph": "M", "name": kind, "pid": os.getpid(), "tid": thread, "ts": 0, "args": {"name": name}}


def span(event: FunctionEvent) -> dict:
    """An event as a span of a trace."""
    details = {
        "Sequence number": None if event.sequence_nr < 0 else event.sequence_nr,
        "Fwd thread id": event.fwd_thread,
        "Input Dims": event.input_shapes,
        "Call stack": event.stack,
        "Bytes": event.cpu_memory_usage,
        "Device time (us)": event.device_time_total,
        "Device bytes": event.device_memory_usage,
        "Launches": event.launches,
        "Copies": event.copies,
        "Args": event.args,
    }
    return {
        "ph": "X",
        "cat": CATEGORIES[event.scope],
        "name": event.name,
        **place(event),
        "dur": event.cpu_time_total,
        "args": {"External id": event.id, **{name: value for name, value in details.items() if value}},
    }


def arrow(phase: str, number: int, event: FunctionEvent) -> dict:
    """One end of an arrow between two events."""
    return {"ph": phase, "id": number, "cat": "fwdbwd", "name": "fwdbwd", **place(event)}
