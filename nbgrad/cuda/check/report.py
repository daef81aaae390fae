"""Rows of a check: printed, and kept as lines of JSON when they happen."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Report", "guarded", "versions"]

PACKAGES = (
    "nbgrad",
    "numba",
    "llvmlite",
    "numpy",
    "cuda-core",
    "cuda-bindings",
    "nvidia-nvjitlink",
    "nvidia-cublas",
    "torch",
    "cupy",
)


def driver_version() -> str:
    """As the kernel module of Linux says it."""
    try:
        told = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    return next((word for word in told.split() if word[0].isdigit() and "." in word), "unknown")


@cache
def versions() -> dict[str, str]:
    """Card, driver, Python and packages, of those that are installed."""
    from ...kernels.cuda.driver import bindings, card, check

    found = {"card": card(0).device.name, "cuda": str(check("cuda", bindings().cuDriverGetVersion())), "driver": driver_version()}
    found["python"] = sys.version.split()[0]
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


class Report:
    """The rows of a run.

    Args:
        path: a file to which they are added; None: they are printed only.

    Attributes:
        counts: rows by what came of them: ``ok``, ``failed``, ``skipped``, ``missed`` (a budget).
    """

    def __init__(self, path: str | None = None):
        self.path, self.counts = path, Counter[str]()

    @property
    def failed(self) -> int:
        """How many rows failed."""
        return self.counts["failed"]

    def row(self, stage: str, name: str, status: str, **facts: Any) -> None:
        """Add a row: ``value``, ``unit``, ``peer``, ``ratio``, ``spread``, ``reason``, as far as there are."""
        self.counts[status] += 1
        told = " ".join(f"{key} {value}" for key, value in facts.items() if key != "reason")
        reason = str(facts.get("reason", "")).strip()
        print(f"{status:8} {stage}: {name} {told}" + (f"\n    {reason[-1500:]}" if reason else ""), flush=True)
        if self.path is not None:
            record = {"stage": stage, "name": name, "status": status, **facts, "versions": versions()}
            with open(self.path, "a", encoding="utf-8") as lines:
                print(json.dumps(record), file=lines)

    def summary(self) -> str:
        """The counts, in a line."""
        return ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items())) or "nothing ran"


def guarded(report: Report, stage: str, name: str, call: Callable[[], dict[str, Any] | None]) -> None:
    """A row of what a call gives, or of what it raises."""
    try:
        report.row(stage, name, "ok", **(call() or {}))
    except Exception:
        report.row(stage, name, "failed", reason=traceback.format_exc(limit=-4))
