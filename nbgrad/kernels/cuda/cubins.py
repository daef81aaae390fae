"""``make cubins``, ``python -m nbgrad.kernels.cuda.cubins``: compile and check every CUDA kernel; needs no GPU.

Ends with "N kernels, M failed" and the exit status 1 if any did. What was built and passed is kept by content in the
cache of compiled kernels, so that a second run only builds what changed.
"""
from __future__ import annotations

import argparse
import sys
from typing import Iterable, Iterator, Sequence

from ...errors import KernelError
from .build import ARCH
from .store import CubinStore, default_store, load_or_build
from .table import Entry, kernels

__all__ = ["build_all", "main"]


def build_all(entries: Iterable[Entry], arch: str = ARCH,
              store: CubinStore | None = None) -> Iterator[tuple[str, bool, str]]:
    """``(label, whether it came from the store, reason of failure or "")`` of every entry, as it is done."""
    for label, recipe, gates in entries:
        try:
            _, stored = load_or_build(recipe, gates, arch, store)
            yield label, stored, ""
        except Exception as error:  # of Numba, NVVM, nvJitLink or a gate: one kernel's failure is a line of the report
            yield label, False, f"{type(error).__name__}: {error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    options = parse(arguments)
    chosen = [entry for entry in kernels() if options.match in entry.label]
    store = CubinStore(None) if options.fresh else default_store()
    stored, failures = 0, []
    for label, was_stored, reason in progress(build_all(chosen, options.arch, store), len(chosen), options.arch):
        stored += was_stored
        if reason:
            failures.append(f"{label}\n    {reason if options.match else reason.splitlines()[0]}")
    print(*failures, sep="\n", end="\n" if failures else "", file=sys.stderr)
    print(f"{options.arch}: {stored} of {len(chosen)} from the cache ({store.directory or 'no folder'})")
    print(f"{len(chosen)} kernels, {len(failures)} failed")
    return 1 if failures or not chosen else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m nbgrad.kernels.cuda.cubins", description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default=ARCH, help="GPU architecture (default: %(default)s)")
    parser.add_argument("--match", default="", help="only kernels whose name contains this; errors are shown in full")
    parser.add_argument("--fresh", action="store_true", help="neither read nor write the cache")
    return parser.parse_args(arguments)


def progress(results: Iterator[tuple[str, bool, str]], total: int, arch: str) -> Iterator[tuple[str, bool, str]]:
    """Pass ``results`` on, under a progress bar."""
    try:
        from rich.progress import track
    except ImportError as error:
        raise KernelError("cubins: the progress bar needs rich. Hint: pip install 'nbgrad[cuda]'.") from error
    yield from track(results, f"kernels for {arch}", total=total)


if __name__ == "__main__":
    sys.exit(main())
