"""Native code in its other builds: looked at, failing, and as Python.

In parts; whole with ``NBGRAD_FUZZ``, which ``make fuzz`` sets.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from nbgrad.base import config

pytestmark = pytest.mark.skipif(config.NATIVE != 1, reason="NBGRAD_NATIVE: this process runs one of them")

ROOT = pathlib.Path(__file__).parents[2]
WHOLE = "NBGRAD_FUZZ" in os.environ
# Programs of ``faults`` that run first: no hook, no mode, nothing that leaves blocks of its own.
QUICK = [
    "product",
    "number",
    "plain",
    "view",
    "view of a view",
    "in place",
    "in place on a view",
    "broadcast",
    "backward",
    "inputs",
    "double",
    "of three",
    "where",
    "large",
    "several",
]
CHECKED = ["tests/native/test_launch.py", "tests/engine/test_order.py", "tests/autograd/test_function.py"]
UNCOMPILED = [
    "tests/engine/test_sums.py",
    "tests/engine/test_order.py",
    "tests/views/test_views.py",
    "tests/graph/test_hooks.py",
    "tests/autograd/test_function.py",
]


def run(build, *command):
    """Output of a process with such a build."""
    env = {**os.environ, "NBGRAD_NATIVE": str(build), "PYTHONPATH": str(ROOT)}
    env.pop("NBGRAD_FUZZ", None)
    ran = subprocess.run([sys.executable, *command], env=env, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, f"{ran.stdout[-4000:]}\n{ran.stderr[-2000:]}"
    return ran.stdout


@pytest.mark.early
def test_each_statement_fails():
    """Whichever statement fails: no crash, no count of what is shared has changed, no block of memory is left."""
    lines = run(3, "tests/native/faults.py", *([] if WHOLE else QUICK)).splitlines()
    assert len(lines) >= len(QUICK)
    for line in lines:
        name, faults, changed, left = re.fullmatch(r"(.*): (\d+) faults, (\d+) changed counts .*, ([+-]\d+) blocks", line).groups()
        assert int(faults) >= 5 and int(changed) == 0, line
        assert int(left) <= (8 if name in QUICK else 100), line


@pytest.mark.early
def test_the_checked_build():
    """Nothing reads a slot that is unset, or takes an object for one of another class."""
    run(2, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *(["tests/native", "tests/autograd"] if WHOLE else CHECKED))


@pytest.mark.early
def test_uncompiled():
    """The same functions, run by Python, do the same."""
    whole = ["tests/autograd", "tests/engine", "tests/views", "tests/graph", "tests/native", "tests/ops"]
    run(0, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *(whole if WHOLE else UNCOMPILED))
