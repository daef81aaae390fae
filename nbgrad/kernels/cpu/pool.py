"""How many threads large kernels use: what is available, and what was asked for. The threads themselves are in native/pool.py."""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

from ...base.errors import RangeError

__all__ = ["HAS_WORKERS", "MOST_THREADS", "NoPool", "Pool", "PoolCounters", "available_threads", "default_threads"]

MOST_THREADS = 256

# Elsewhere there are no workers: macOS has no unnamed semaphores, Windows none of their functions.
HAS_WORKERS = sys.platform == "linux" and sys.maxsize > 2**32


class PoolCounters(NamedTuple):
    """What the pool is and has done.

    Attributes:
        wanted: workers besides the caller that it is set to have.
        workers: workers that run; 0 before the first large launch.
        shared: launches that were cut up.
        aside: launches that ran on one thread to pay for a loss: see NOTE [Debt].
        owed: nanoseconds of serial work still to be done for that; nothing if negative.
    """

    wanted: int
    workers: int
    shared: int
    aside: int
    owed: int


class NoPool:
    """The pool of launchers that have no threads."""

    def set_num_threads(self, threads: int) -> None:
        """Without effect.

        Raises:
            RangeError: ``threads`` is not 1 to 256.
        """
        check_threads(threads, "set_num_threads")

    def get_num_threads(self) -> int:
        """One."""
        return 1


class Pool:
    """The threads of one module that has the functions of native/pool.py; nbgrad has one.

    Args:
        entries: addresses of the functions in ``ENTRIES``.
        threads: threads in total, the caller included; by default ``default_threads()``.
        steps_aside: False keeps sharing launches however slow that is (for tests).

    Raises:
        RangeError: ``threads`` is not 1 to 256.
    """

    ENTRIES = ("pool_configure", "pool_ensure", "pool_forget", "pool_counters")

    def __init__(self, entries: Mapping[str, int], threads: int | None = None, steps_aside: bool = True):
        # CFUNCTYPE drops the interpreter lock: a thread that waits for the pool must not stop the one that holds it.
        self._configure = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(entries["pool_configure"])
        self._ensure = ctypes.CFUNCTYPE(ctypes.c_int64)(entries["pool_ensure"])
        self._forget = ctypes.CFUNCTYPE(None)(entries["pool_forget"])
        self._counters = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entries["pool_counters"])
        self._threads = 1
        self._steps_aside = steps_aside
        self.set_num_threads(default_threads() if threads is None else threads)
        # Before LLVM's memory goes: a worker must not be inside code that is unmapped.
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def set_num_threads(self, threads: int) -> None:
        """Use ``threads`` threads, the caller included; 1 means no workers. Waits for a launch that is being shared.

        Raises:
            RangeError: ``threads`` is not 1 to 256.
        """
        self._threads = check_threads(threads, "set_num_threads")
        self._configure(self._threads - 1, self._steps_aside)

    def get_num_threads(self) -> int:
        """How many threads a large launch uses, the caller included."""
        return self._threads if HAS_WORKERS else 1

    def ensure(self) -> int:
        """Start the workers now, which the first large launch would do ; return how many there are."""
        return self._ensure()

    def stop(self) -> None:
        """End the workers and launch serially from now on, until ``set_num_threads``."""
        self._configure(0, self._steps_aside)

    def counters(self) -> PoolCounters:
        """What the pool is and has done."""
        words = (ctypes.c_int64 * len(PoolCounters._fields))()
        self._counters(words)
        return PoolCounters(*words)


def check_threads(threads: object, where: str) -> int:
    """``threads`` if it is a possible number of threads."""
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise RangeError(f"{where}: {threads!r} threads, expected a whole number from 1 to {MOST_THREADS}.")
    return threads


def default_threads() -> int:
    """``NBGRAD_NUM_THREADS`` as it stands, else what is available, and at most ``OMP_NUM_THREADS``.

    Raises:
        RangeError: ``NBGRAD_NUM_THREADS`` is not 1 to 256. (A malformed ``OMP_NUM_THREADS`` is not ours to judge.)
    """
    chosen = os.environ.get("NBGRAD_NUM_THREADS", "").strip()
    if chosen:
        return check_threads(int(chosen) if chosen.isdecimal() else chosen, "NBGRAD_NUM_THREADS")
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # the outermost level of "4,2"
    asked = int(first) if first.isdecimal() and int(first) else MOST_THREADS
    return min(available_threads(), asked, MOST_THREADS)


def available_threads() -> int:
    """Processors that this process may keep busy: its affinity mask, and the control group's quota rounded up."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(count, quota())))


def quota(root: str = "/") -> float:
    """Processors' worth of time that the control groups (version 1 or 2) grant; infinity without a limit.

    Args:
        root: where ``proc`` and ``sys`` are, for tests.
    """
    groups = os.path.join(root, "sys/fs/cgroup")
    limits = [math.inf]
    for line in read_text(os.path.join(root, "proc/self/cgroup")).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts, read = [groups, os.path.join(groups, "unified")], quota_v2
        elif "cpu" in controllers.split(","):
            mounts, read = [os.path.join(groups, controllers), os.path.join(groups, "cpu")], quota_v1
        else:
            continue
        limits += [read(folder) for mount in mounts for folder in ancestors(mount, path)]
    return min(limits)


def ancestors(mount: str, path: str) -> list[str]:
    """The folders from ``mount/path`` up to ``mount``: any group above limits those below.

    In a container ``path`` may be the host's, and missing; then ``mount`` is the group.
    """
    parts = [part for part in path.split("/") if part]
    return [os.path.join(mount, *parts[:depth]) for depth in range(len(parts), -1, -1)]


def quota_v2(folder: str) -> float:
    """``cpu.max`` is "quota period", in microseconds, or "max period"."""
    return ratio(*(read_text(os.path.join(folder, "cpu.max")).split() + ["", ""])[:2])


def quota_v1(folder: str) -> float:
    """Two files; a quota of -1 is no limit."""
    return ratio(*(read_text(os.path.join(folder, f"cpu.cfs_{name}_us")).strip() for name in ("quota", "period")))


def ratio(quota: str, period: str) -> float:
    """``quota / period`` where both are positive numbers, else infinity."""
    usable = quota.isdecimal() and period.isdecimal() and int(quota) > 0 and int(period) > 0
    return int(quota) / int(period) if usable else math.inf


def read_text(path: str) -> str:
    """A small file's text; empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
