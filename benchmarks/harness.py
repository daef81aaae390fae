"""Interleaved timing of nbgrad beside its peers, and the record of a run.

The candidates of one benchmark take turns in short blocks in one process; a round is one block of each, in an order
drawn anew for every round, so that none always runs in another's wake. A ratio is taken inside a round, between blocks
that ran milliseconds apart, and reported as the median over the rounds with the 10th and 90th percentiles: on a shared
machine neighbours slow down together, so ratios hold where times do not.

A missed budget is a row of the report, never a failing test. A benchmark fails when its candidates disagree about the
answer, or when one of them raises.

``python -m benchmarks.harness --quick -k mul`` runs a selection in seconds, for work on one benchmark; ``--save FILE``
keeps what it measured and ``--against FILE`` shows the ratios of that file beside the new ones.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import random
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from nbgrad.kernels.cpu.blas import core_name

__all__ = ["OURS", "Result", "SelfMeasured", "Session", "Settings", "Spread", "compare", "interleave", "summarise"]

OURS = "nbgrad"
ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("nbgrad", "numba", "llvmlite", "numpy", "scipy", "torch", "jax", "autograd")


@dataclass(frozen=True)
class SelfMeasured:
    """A candidate that measures itself, for work whose preparation must not be counted.

    Args:
        call: prepares, runs and returns the measurement: seconds, or the unit of its benchmark.
    """

    call: Callable[[], float]


Candidate = Callable[[], Any] | SelfMeasured
Step = Callable[[], None]


@dataclass(frozen=True)
class Settings:
    """How long to measure: ``rounds`` of blocks of ``block`` seconds, fewer where they would take over ``limit``.

    ``deepest`` is the largest graph to build, in nodes; ``steps`` the length of the memory benchmark's training loop.
    """

    rounds: int = 41
    fewest_rounds: int = 5
    block: float = 2e-3
    limit: float = 4.0
    deepest: int = 1_000_000
    steps: int = 20_000
    quick: bool = False


QUICK = Settings(rounds=15, fewest_rounds=3, block=1e-3, limit=0.5, deepest=100_000, steps=2_000, quick=True)


@dataclass(frozen=True)
class Spread:
    """Median, 10th and 90th percentile of a sample."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: list[float]) -> Spread:
        """The percentiles of ``samples``."""
        low, median, high = np.quantile(samples, (0.1, 0.5, 0.9)).tolist()
        return cls(median, low, high)


@dataclass(frozen=True)
class Result:
    """One benchmark's measurements.

    Args:
        name: what ran.
        unit: ``"s"`` or ``"B"``, of ``measured`` and ``limit``.
        measured: per candidate, for a single call.
        ratios: per peer, nbgrad's measurement over the peer's, both from one round. Below 1: nbgrad is faster.
        budgets: per peer, the ratio not to exceed.
        limit: nbgrad's measurement not to exceed, where a budget is absolute.
        peer: whose ratio is shown when there is no budget.
        rounds: how many rounds the spreads summarise.
        calls: per candidate, calls in a block.
        note: what else there is to say.
    """

    name: str
    unit: str
    measured: dict[str, Spread]
    ratios: dict[str, Spread]
    budgets: dict[str, float]
    limit: float | None
    peer: str
    rounds: int
    calls: dict[str, int] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Result:
        """The inverse of ``dataclasses.asdict``."""
        spreads = {key: {name: Spread(**s) for name, s in record[key].items()} for key in ("measured", "ratios")}
        return cls(**{**record, **spreads})


def budgets_of(budget: float | Mapping[str, float] | None, peer: str) -> dict[str, float]:
    """A budget as a mapping from peer to the ratio not to exceed."""
    if budget is None:
        return {}
    return dict(budget) if isinstance(budget, Mapping) else {peer: budget}


def summarise(
    name: str,
    samples: Mapping[str, list[float]],
    budget: float | Mapping[str, float] | None = None,
    peer: str = "torch",
    *,
    limit: float | None = None,
    unit: str = "s",
    calls: Mapping[str, int] | None = None,
    note: str = "",
) -> Result:
    """Reduce the samples of interleaved rounds, ``samples[candidate][round]``, to medians, spreads and ratios.

    Raises:
        ValueError: a budget names a peer that was not measured.
    """
    budgets = budgets_of(budget, peer)
    for missing in budgets.keys() - samples.keys():
        raise ValueError(f"{name}: a budget against {missing!r}, expected one of {sorted(samples)}.")
    ours = samples[OURS]
    ratios = {
        other: Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
        for other, theirs in samples.items()
        if other != OURS and all(theirs)
    }
    measured = {candidate: Spread.of(values) for candidate, values in samples.items()}
    return Result(name, unit, measured, ratios, budgets, limit, peer, len(ours), dict(calls or {}), note)


def block(candidate: Candidate, calls: int) -> float:
    """Mean measurement of one call, over ``calls`` calls in a row.

    A call that is not timed goes first: whoever ran before has left its own code and data in the caches, and a block
    of a single call would pay for that (measured: up to 15 % for a candidate that follows JAX).
    """
    if isinstance(candidate, SelfMeasured):
        return sum(candidate.call() for _ in range(calls)) / calls
    candidate()
    start = perf_counter()
    for _ in repeat(None, calls):
        candidate()
    return (perf_counter() - start) / calls


def calls_in_block(candidate: Candidate, seconds: float) -> int:
    """Calls that fill a block of ``seconds``, found by doubling; these, and one that compiles, are the warm-up."""
    block(candidate, 1)
    calls = 1
    while True:
        start = perf_counter()
        block(candidate, calls)
        elapsed = perf_counter() - start
        if elapsed > seconds / 2:
            return max(1, round(calls * seconds / elapsed))
        calls *= 2


def interleave(before: Step, ours: Step, after: Step, rounds: int) -> None:
    """Run ``rounds`` rounds: the peers whose turn comes first, nbgrad, the other peers."""
    for _ in range(rounds):
        before()
        ours()
        after()


def turns(measure: Callable[[str], None], keys: Iterable[str]) -> tuple[Step, Step, Step]:
    """What ``interleave`` runs, over ``keys`` in a new order each round; the orders are the same in every run."""
    order, draw = list(keys), random.Random(0)

    def before() -> None:
        draw.shuffle(order)
        for key in order[: order.index(OURS)]:
            measure(key)

    def after() -> None:
        for key in order[order.index(OURS) + 1 :]:
            measure(key)

    return before, partial(measure, OURS), after


def rounds_within(settings: Settings, steps: tuple[Step, Step, Step]) -> int:
    """Rounds to run, judged by the time that one takes."""
    start = perf_counter()
    interleave(*steps, 1)
    fit = int(settings.limit / (perf_counter() - start))
    return min(settings.rounds, max(settings.fewest_rounds, fit))


def compare(
    name: str,
    candidates: Mapping[str, Candidate],
    budget: float | Mapping[str, float] | None = None,
    peer: str = "torch",
    *,
    rounds: int | None = None,
    inner: int | None = None,
    limit: float | None = None,
    unit: str = "s",
    tolerance: float | None = 1e-4,
    settings: Settings | None = None,
    drive: Callable[[Step, Step, Step, int], object] = interleave,
) -> Result:
    """Measure the candidates in interleaved rounds.

    Args:
        name: title of the row.
        candidates: by name, ``"nbgrad"`` among them; what the callables return must agree.
        budget: ratio to ``peer`` not to exceed, or a mapping from peers to ratios.
        peer: whom a bare ``budget`` is about.
        rounds: as many as time allows if None.
        inner: calls in a block; found for each candidate if None.
        limit: an absolute budget, in ``unit``.
        unit: what a ``SelfMeasured`` candidate returns.
        tolerance: greatest difference of the answers, relative to their largest element; None to accept any.
        settings: how long to measure.
        drive: runs ``(before, ours, after, rounds)``; a test hands pytest-benchmark's clock in here.

    Raises:
        AssertionError: the candidates' answers differ.
    """
    settings = settings or Settings()
    if tolerance is not None:
        check_agreement(name, candidates, tolerance)
    calls = {key: inner or calls_in_block(candidate, settings.block) for key, candidate in candidates.items()}
    samples: dict[str, list[float]] = {key: [] for key in candidates}

    def measure(key: str) -> None:
        samples[key].append(block(candidates[key], calls[key]))

    steps = turns(measure, candidates)
    if rounds is None:
        rounds = rounds_within(settings, steps)
        for values in samples.values():
            values.clear()
    drive(*steps, rounds)
    return summarise(name, samples, budget, peer, limit=limit, unit=unit, calls=calls)


def numbers(answer: Any) -> Iterator[np.ndarray]:
    """The arrays in an answer: a tensor or array of any library, a number, or a sequence of those."""
    if isinstance(answer, (tuple, list)):
        for part in answer:
            yield from numbers(part)
    else:
        yield np.asarray(answer.detach() if hasattr(answer, "detach") else answer, dtype=np.float64)


def check_agreement(name: str, candidates: Mapping[str, Candidate], tolerance: float) -> None:
    """Call every candidate once and compare its answer with nbgrad's; None is no answer.

    Raises:
        AssertionError: the benchmark, the candidate and where the answers part.
    """
    answers = {key: candidate() for key, candidate in candidates.items() if not isinstance(candidate, SelfMeasured)}
    ours = answers.pop(OURS, None)
    for key, theirs in answers.items():
        if ours is None or theirs is None:
            continue
        for a, b in zip(numbers(ours), numbers(theirs), strict=True):
            np.testing.assert_allclose(
                a, b, rtol=0, atol=tolerance * max(1e-30, np.abs(b).max()), err_msg=f"{name}: nbgrad against {key}"
            )


def cpu_model() -> str:
    """The processor's name, as the operating system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def cpu_seconds() -> float:
    """Processor time of this process and of the children it waited for.

    Over the time that passed it says how much of a core the run was given: below 1 it had to share, which the load
    average of a container does not always show.
    """
    return sum(os.times()[:4])


def versions() -> dict[str, str]:
    """Python's version and those of the packages that take part."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = str(getattr(sys.modules.get(package), "__version__", "absent"))
    return found


def commit() -> str:
    """Short name of the checked-out commit, ``-dirty`` where the package differs from it; ``nogit`` outside git."""
    try:
        head = git("rev-parse", "--short", "HEAD")
        return head + ("-dirty" if git("status", "--porcelain", "--", "nbgrad") else "")
    except (OSError, subprocess.CalledProcessError):
        return "nogit"


def git(*arguments: str) -> str:
    """What git prints in this repository."""
    return subprocess.run(("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


class Session:
    """The results of one run, with what is needed to judge them: machine, load, versions, threads, command."""

    def __init__(self, threads: Mapping[str, object] | None = None) -> None:
        self.results: list[Result] = []
        self.operations: list[Result] = []
        self.failed: list[str] = []
        self.threads = dict(threads or {})
        self.started = datetime.datetime.now(datetime.UTC)
        self.load_before = os.getloadavg()
        self.clock_before, self.cpu_before = perf_counter(), cpu_seconds()

    def add(self, result: Result) -> Result:
        """Keep a result, and return it."""
        self.results.append(result)
        return result

    def record(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        return {
            "started": self.started.isoformat(timespec="seconds"),
            "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "command": " ".join(["python", "-m", "pytest", *map(shlex.quote, sys.argv[1:])]),
            "machine": {
                "cpu": cpu_model(),
                "blas": core_name().decode() or "unknown",
                "cores": os.cpu_count(),
                "usable cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
                "system": f"{platform.system()} {platform.machine()}",
                "load before": self.load_before,
                "load after": os.getloadavg(),
                "cpu share": round((cpu_seconds() - self.cpu_before) / (perf_counter() - self.clock_before), 2),
            },
            "versions": versions(),
            "threads": self.threads,
            "failed": self.failed,
            "results": [asdict(result) for result in self.results],
        }

    def write_operations(self, path: Path | None = None) -> Path:
        """Write what ``test_operations.py`` measured, to ``benchmarks/results/operations`` by default: short rows, of many."""
        record = self.record()
        record["results"] = [
            {
                "name": result.name,
                "measured": [float(f"{result.measured[key].median:.4g}") for key in (OURS, result.peer)],
                "ratio": [round(x, 3) for x in asdict(result.ratios[result.peer]).values()],
                "rounds": result.rounds,
            }
            for result in self.operations
        ]
        if path is None:
            path = RESULTS / "operations" / f"{self.started:%Y-%m-%d}-{record['commit']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = ",\n  ".join(json.dumps(row) for row in record.pop("results"))
        path.write_text(json.dumps(record, indent=1)[:-2] + f',\n "results": [\n  {rows}\n ]\n}}\n')
        return path

    def write(self, path: Path | None = None) -> Path:
        """Write the record to ``path``, by default ``benchmarks/results/<date>-<commit>.json``."""
        record = self.record()
        if path is None:
            path = RESULTS / f"{self.started:%Y-%m-%d}-{record['commit']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n")
        return path


def main(arguments: list[str] | None = None) -> int:
    """The command line: run pytest on this folder, with the options that a session of tuning needs."""
    import pytest

    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, smaller graphs")
    parser.add_argument("-k", default="", metavar="EXPRESSION", help="the benchmarks to run, as pytest selects tests")
    parser.add_argument("--save", metavar="FILE", help="write what was measured to FILE")
    parser.add_argument("--against", metavar="FILE", help="show the ratios in FILE beside the new ones")
    options = parser.parse_args(arguments)
    if options.quick:
        os.environ["NBGRAD_BENCH_QUICK"] = "1"
    paths = [f"--bench-{key}={value}" for key in ("save", "against") if (value := getattr(options, key))]
    selection = ["-k", options.k] if options.k else []
    return int(pytest.main([str(RESULTS.parent), "-q", *selection, *paths]))


if __name__ == "__main__":
    sys.exit(main())
