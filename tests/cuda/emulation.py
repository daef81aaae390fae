"""Tests that need tensors on GPUs: in a child process with the emulated device, whose library must be the first of its name, or
on hardware, in this process. What asks the emulated driver is skipped there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbgrad
from nbgrad.base import config

__all__ = [
    "GPUS",
    "PYTEST",
    "both_builds",
    "in_a_child",
    "launched",
    "launches",
    "on_gpus",
    "played",
    "played_driver",
    "slow_too",
    "two_gpus",
    "without_gpus",
]

# One process, whose plugins do not warn of what pytest's own options are.
PYTEST = [sys.executable, "-m", "pytest", "-q", *(f"-pno:{name}" for name in ("cacheprovider", "xdist", "benchmark"))]
GPUS = nbgrad.cuda.device_count()  # of this process, played or not

# For a whole file: ``pytestmark = on_gpus``.
on_gpus = pytest.mark.skipif(not GPUS, reason="runs in a child with NBGRAD_CUDA=emulated")
two_gpus = pytest.mark.skipif(GPUS < 2, reason="needs two GPUs: runs in a child with NBGRAD_CUDA=emulated")
played = pytest.mark.skipif(not config.EMULATED, reason="asks the emulated driver: runs in a child with NBGRAD_CUDA=emulated")
without_gpus = pytest.mark.skipif(GPUS > 0, reason="this process has GPUs")

# For a test that runs a child with ``NBGRAD_NATIVE=native``: with native code and, where slow tests run, without.
both_builds = pytest.mark.parametrize("native", ["1", pytest.param("0", marks=pytest.mark.slow)])


def played_driver():
    """The emulated driver; skips a test on hardware."""
    if not config.EMULATED:
        pytest.skip("asks the emulated driver: runs in a child with NBGRAD_CUDA=emulated")
    from nbgrad.kernels.cuda.emulated.driver import install

    return install().driver


def in_a_child(*arguments: str, **environment: str) -> None:
    """Run files of tests on emulated GPUs, and assert that they pass.

    Args:
        arguments: files, and pytest's options.
    """
    found = subprocess.run(
        [*PYTEST, "-W", "error", *arguments],
        env={**os.environ, "NBGRAD_CUDA": "emulated", **environment},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-5_000:]
    assert " passed" in found.stdout


def slow_too(request) -> list[str]:
    """The option by which a child runs slow tests, where this process does."""
    return ["--slow"] if request.config.getoption("--slow") else []


def launched() -> int:
    """How many launches there were on this GPU."""
    from nbgrad.native.heaps import LAUNCHES
    from nbgrad.tensors.heaps import heap_on

    return heap_on(0).words[LAUNCHES]


def launches(act) -> int:
    """How many launches ``act()`` makes."""
    before = launched()
    act()
    return launched() - before
