"""``make cubins``, ``python -m nbgrad.cubins``: compile and check every CUDA kernel; needs no GPU.

It reports what the release has no kernel for, and how many kernels have each inspected property, and ends with "N kernels, M
failed"; the exit status is 1 if any did. Kernels that passed are kept by content in the cache of compiled kernels, so that a
second run only builds what changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import cache, partial
from multiprocessing import get_context
from typing import NamedTuple

from ..base.errors import KernelError
from ..kernels.cuda.build import ARCH, max_registers
from ..kernels.cuda.gates import property_of
from ..kernels.cuda.store import CubinStore, default_store, load_or_build
from .table import Entry, Skipped, kernels, skipped

__all__ = ["Options", "Result", "build_all", "build_one", "main"]

CHUNK = 8  # kernels that a process is handed at once


class Options(NamedTuple):
    """The options of the processes that build."""

    arch: str = ARCH
    fresh: bool = False

    @property
    def store(self) -> CubinStore:
        """Where kernels are kept."""
        return CubinStore(None) if self.fresh else default_store()


class Result(NamedTuple):
    """The outcome of building one kernel.

    Attributes:
        stored: whether it came from the store.
        registers: of a thread.
        reason: of failure, or "".
    """

    label: str
    stored: bool
    registers: int
    reason: str


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    asked = parse(arguments)
    chosen = [entry for entry in kernels() if asked.match in entry.label]
    without = [skip for skip in skipped() if asked.match in skip.label]
    if asked.list:
        print(*(entry.label for entry in chosen), sep="\n")
        print(*(f"{label}: skipped: {reason}" for label, reason in without), sep="\n")
        return 0
    print(*skips(without), sep="\n")
    failed = 0
    for arch in asked.arch:
        options = Options(arch, asked.fresh)
        results = list(progress(build_all(chosen, options, asked.jobs), len(chosen), arch))
        failures = [f"{r.label}\n    {r.reason if asked.match else r.reason.splitlines()[0]}" for r in results if r.reason]
        print(*failures, sep="\n", end="\n" if failures else "", file=sys.stderr)
        print(*inspected(chosen, results), sep="\n")
        print(
            f"{arch}: {sum(r.stored for r in results)} of {len(chosen)} from the cache ({options.store.directory or 'no folder'})"
        )
        if len(asked.arch) > 1:
            print(f"{arch}: {len(chosen)} kernels, {len(failures)} failed")
        failed += len(failures)
    print(f"{len(chosen) * len(asked.arch)} kernels, {failed} failed")
    return 1 if failed or not chosen else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m nbgrad.cubins", description=__doc__.splitlines()[0])
    parser.add_argument("--arch", nargs="+", default=[ARCH], help=f"GPU architectures (default: {ARCH})")
    parser.add_argument("--match", default="", help="only kernels whose name contains this; errors are shown in full")
    parser.add_argument("--fresh", action="store_true", help="neither read nor write the cache")
    parser.add_argument("--list", action="store_true", help="name the kernels, and what has none; build nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    return parser.parse_args(arguments)


# ---- building ------------------------------------------------------------------------------------------------------


def build_all(entries: Sequence[Entry], options: Options, jobs: int = 1) -> Iterator[Result]:
    """The result of every entry as it is done, in any order; in this process if ``jobs`` is 1."""
    if jobs == 1 or len(entries) <= CHUNK:
        yield from map(partial(build_one, options=options), entries)
        return
    labels = [entry.label for entry in entries]
    # Spawned, not forked: the progress bar has a thread. What a kernel is made of is code, which no process can send to
    # another, so each enumerates the table for itself (1 s) and is sent labels.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        chunks = {pool.submit(build_labels, part, options): part for part in chunked(labels)}
        for done in as_completed(chunks):
            yield from results_of(done, chunks[done])


def build_one(entry: Entry, options: Options) -> Result:
    """Build and check a kernel, or take it from the store; a failure is a result too."""
    try:
        kernel, stored = load_or_build(entry.recipe, entry.gates, options.arch, options.store)
        return Result(entry.label, stored, kernel.registers, "")
    except Exception as error:  # of LLVM, nvJitLink or a gate: one kernel's failure is a line of the report
        return Result(entry.label, False, 0, f"{type(error).__name__}: {error}")


def build_labels(labels: Sequence[str], options: Options) -> list[Result]:
    """In a process of the pool: the entries of these labels."""
    return [build_one(entries_by_label()[label], options) for label in labels]


@cache
def entries_by_label() -> dict[str, Entry]:
    """The table of this process."""
    return {entry.label: entry for entry in kernels()}


def chunked(labels: Sequence[str]) -> list[Sequence[str]]:
    """Parts of ``CHUNK`` or fewer, with neighbours in different ones: most kernels take 0.1 s, all of a sine's 4 s."""
    count = -(-len(labels) // CHUNK)
    return [labels[k::count] for k in range(count)]


def results_of(done: Future, labels: Sequence[str]) -> Iterable[Result]:
    """What a process sent back; if it ended instead (killed, out of memory), its kernels have failed."""
    if (error := done.exception()) is not None:
        return [Result(label, False, 0, f"{type(error).__name__}: {error or 'the process ended'}") for label in labels]
    return done.result()


# ---- the report ----------------------------------------------------------------------------------------------------


def progress(results: Iterator[Result], total: int, arch: str) -> Iterator[Result]:
    """Pass ``results`` on, under a progress bar."""
    try:
        from rich.progress import track
    except ImportError as error:
        raise KernelError("cubins: the progress bar needs rich. Hint: pip install 'nbgrad[dev]'.") from error
    yield from track(results, f"kernels for {arch}", total=total)


def skips(without: Iterable[Skipped]) -> Iterator[str]:
    """One line for every reason."""
    by_reason: dict[str, list[str]] = {}
    for label, reason in without:
        by_reason.setdefault(reason, []).append(label)
    for reason, labels in by_reason.items():
        yield f"skipped ({reason}): {', '.join(labels)}"


def inspected(entries: Sequence[Entry], results: Sequence[Result]) -> Iterator[str]:
    """A line for every property that gates inspect: of how many kernels it holds, all their gates considered."""
    passed = {result.label for result in results if not result.reason}
    held = Counter(property_of(gate) for entry in entries if entry.label in passed for gate in entry.gates)
    yield from (f"{count:6} kernels: {what}" for what, count in held.items())
    used = sorted(result.registers for result in results if not result.reason)
    if used:
        yield f"       registers of a thread: {used[0]} to {used[-1]}, median {used[len(used) // 2]}"
    most = max_registers("float32")
    larger = [result for result in results if not result.reason and result.registers > most]
    if larger:
        named = [f"{each.label} ({each.registers})" for each in larger if not each.label.endswith("complex128")]
        yield f"       more than {most}, so fewer blocks on a multiprocessor: {len(larger)} kernels" + (
            f", {len(larger) - len(named)} of them of complex128; {', '.join(sorted(named))}"
        )
