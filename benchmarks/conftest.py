"""Fixtures that measure, and the report at the end of a run."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import harness, report

SESSION = pytest.StashKey[harness.Session]()
NARROWED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a tuning session; ``python -m benchmarks.harness`` is their short form."""
    group = parser.getgroup("nbgrad benchmarks")
    group.addoption("--bench-save", type=Path, metavar="FILE", help="write the results to FILE")
    group.addoption("--bench-against", type=Path, metavar="FILE", help="show the ratios in FILE beside the new ones")


def pytest_configure(config: pytest.Config) -> None:
    """Start the record. pytest-benchmark's own table is off: it knows one candidate, ours has all of them."""
    if config.option.verbose <= 0:
        config.option.benchmark_quiet = True
    config.stash[SESSION] = harness.Session()


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember that this run is a selection."""
    for item in items[:1]:
        item.config.stash[NARROWED] = True


@pytest.fixture(scope="session")
def settings() -> harness.Settings:
    """Full measurement, or a quick one if NBGRAD_BENCH_QUICK is set to something other than 0."""
    return harness.QUICK if os.environ.get("NBGRAD_BENCH_QUICK", "0") != "0" else harness.Settings()


@pytest.fixture(scope="session", autouse=True)
def steady_process(pytestconfig: pytest.Config) -> Iterator[None]:
    """Import the peers, and move what they allocated out of the garbage collector's sight.

    The collector stays on while nbgrad and its peers run, since users pay for it; but a full collection should not
    visit the hundreds of thousands of objects that importing several frameworks into one process leaves behind.
    """
    from benchmarks import peers

    peers.jax()
    pytestconfig.stash[SESSION].threads = peers.threads()
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def compare(benchmark: Any, settings: harness.Settings, pytestconfig: pytest.Config) -> Callable[..., harness.Result]:
    """``harness.compare`` under pytest-benchmark: it drives the rounds, and the peers run around its own clock."""

    def drive(before: harness.Step, ours: harness.Step, after: harness.Step, rounds: int) -> None:
        benchmark.pedantic(ours, setup=before, teardown=after, rounds=rounds, iterations=1)
        if benchmark.disabled:  # then it runs one round, without the teardown
            after()

    def run(name: str, candidates: dict[str, harness.Candidate], *args: Any, **options: Any) -> harness.Result:
        benchmark.name = name
        result = harness.compare(name, candidates, *args, settings=settings, drive=drive, **options)
        benchmark.extra_info.update({"calls in a round": result.calls.get(harness.OURS)})
        return pytestconfig.stash[SESSION].add(result)

    return run


@pytest.fixture
def summarise(pytestconfig: pytest.Config) -> Callable[..., harness.Result]:
    """``harness.summarise`` for benchmarks that collect several rows' samples in one go."""

    def run(*args: Any, **options: Any) -> harness.Result:
        return pytestconfig.stash[SESSION].add(harness.summarise(*args, **options))

    return run


@pytest.fixture
def keep(pytestconfig: pytest.Config) -> Callable[[harness.Result], None]:
    """Keep the result of one operation: those have a record and a page of their own."""
    return pytestconfig.stash[SESSION].operations.append


def is_complete(config: pytest.Config) -> bool:
    """Whether the run measured every benchmark at full length, so that its record may be kept as the project's."""
    quick = os.environ.get("NBGRAD_BENCH_QUICK", "0") != "0"
    files = [argument for argument in config.args if not Path(argument.partition("::")[0]).is_dir()]
    return not (quick or files or NARROWED in config.stash)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the table; write the record and its plot."""
    session = config.stash[SESSION]
    if session.operations:
        if len(session.operations) < 20:
            report.show(session.operations)
        target = config.getoption("--bench-save")
        if target or NARROWED not in config.stash:
            path = session.write_operations(target and target.with_suffix(".operations.json"))
            terminalreporter.write_line(f"operations: {path}")
    if not session.results:
        return
    session.failed = [item.nodeid for key in ("failed", "error") for item in terminalreporter.stats.get(key, [])]
    against = config.getoption("--bench-against")
    before = report.results_in(json.loads(against.read_text())) if against else []
    report.show(session.results, before)
    target = config.getoption("--bench-save")
    if target or is_complete(config):
        path = session.write(target)
        report.plot(session.results, path.with_suffix(".png"))
        terminalreporter.write_line(f"benchmarks: {path} and its plot {path.with_suffix('.png').name}")
