"""What a program costs on a GPU: the device's time between two events, and the host's until its calls have returned.

Candidates take turns in one process, in an order drawn anew for every round; a ratio is taken inside of a round.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

__all__ = ["Measured", "device_seconds", "host_seconds", "measure"]

Call = Callable[[], Any]


@dataclass(frozen=True)
class Measured:
    """Medians over the rounds, and of nbgrad's time over a peer's the 10th, 50th and 90th percentile.

    Args:
        seconds: per candidate, of one call; bytes by the clock "peak".
        ratios: per peer ``(low, median, high)``.
        rounds: how many there were.
    """

    seconds: dict[str, float]
    ratios: dict[str, tuple[float, float, float]]
    rounds: int


def device_seconds(lib: Any, call: Call, calls: int) -> float:
    """The GPU's time for one of ``calls`` calls in a row."""
    first, last = (lib.cuda.Event(enable_timing=True) for _ in range(2))
    lib.cuda.synchronize()
    first.record()
    for _ in range(calls):
        call()
    last.record()
    lib.cuda.synchronize()
    return max(first.elapsed_time(last), 1e-6) / 1e3 / calls


def host_seconds(lib: Any, call: Call, calls: int) -> float:
    """The host's time for one of ``calls`` calls in a row, of which the GPU may have some still to do."""
    lib.cuda.synchronize()
    start = perf_counter()
    for _ in range(calls):
        call()
    found = (perf_counter() - start) / calls
    lib.cuda.synchronize()
    return found


def whole_seconds(lib: Any, call: Call, calls: int) -> float:
    """Until the GPU has done it all."""
    lib.cuda.synchronize()
    start = perf_counter()
    for _ in range(calls):
        call()
    lib.cuda.synchronize()
    return (perf_counter() - start) / calls


def peak_bytes(lib: Any, call: Call, calls: int) -> float:
    """The most memory of tensors while a call ran: no time, but what is measured in its place."""
    lib.cuda.synchronize()
    lib.cuda.reset_peak_memory_stats()
    call()
    lib.cuda.synchronize()
    return float(lib.cuda.max_memory_allocated())


def process_seconds(lib: Any, call: Call, calls: int) -> float:
    """Of calls that start a process, which has a GPU of its own to find."""
    start = perf_counter()
    call()
    return perf_counter() - start


CLOCKS = {"device": device_seconds, "host": host_seconds, "whole": whole_seconds, "peak": peak_bytes, "process": process_seconds}
MOST_PROCESSES = 3  # rounds of calls that take seconds


def calls_in(lib: Any, call: Call, block: float, most: int) -> int:
    """How many calls take about ``block`` seconds."""
    call()
    return max(1, min(most, int(block / whole_seconds(lib, call, 3))))


def measure(candidates: dict[str, tuple[Any, Call]], clock: str, rounds: int, block: float, most: int = 200) -> Measured:
    """Time candidates ``{name: (library, call)}`` against each other; the first is nbgrad's.

    Args:
        clock: of ``CLOCKS``; who has no events is timed until all is done.
        block: seconds that a round of one candidate is to take, about.
        most: calls in a block; a queue of a GPU holds a thousand launches.
    """
    of = {name: CLOCKS[clock if hasattr(lib.cuda, "Event") else "whole"] for name, (lib, _) in candidates.items()}
    counts, samples = {}, {name: [] for name in candidates}
    rounds = min(rounds, MOST_PROCESSES) if clock == "process" else rounds
    for name, (lib, call) in candidates.items():
        call()
        counts[name] = 1 if clock == "process" else calls_in(lib, call, block, most)
    order, draw = list(candidates), random.Random(0)
    for _ in range(rounds):
        draw.shuffle(order)
        for name in order:
            lib, call = candidates[name]
            samples[name].append(of[name](lib, call, counts[name]))
    ours = next(iter(candidates))
    ratios = {}
    for name in candidates:
        if name != ours:
            found = sorted(a / b for a, b in zip(samples[ours], samples[name], strict=True))
            last = len(found) - 1
            ratios[name] = found[round(0.1 * last)], statistics.median(found), found[round(0.9 * last)]
    return Measured({name: statistics.median(each) for name, each in samples.items()}, ratios, rounds)
