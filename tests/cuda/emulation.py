"""Tests that need tensors on GPUs, in a process with the emulated device: its library must be the first of its name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbgrad.base import config

__all__ = ["in_a_child", "on_gpus"]

# For a whole file: ``pytestmark = on_gpus``.
on_gpus = pytest.mark.skipif(not config.EMULATED, reason="runs in a child with NBGRAD_CUDA=emulated")


def in_a_child(file: str, *options: str, **environment: str) -> None:
    """Run a file of tests on emulated GPUs, and assert that they pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error", file, *options]
    found = subprocess.run(
        command,
        env={**os.environ, "NBGRAD_CUDA": "emulated", **environment},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-5_000:]
    assert " passed" in found.stdout
