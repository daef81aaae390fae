"""The page about GPUs: its examples run on the emulated device, as tests/test_documentation.py runs them on the CPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nbgrad
from nbgrad.dispatch.device_lowerings import lowering_on
from nbgrad.ops.core import OPS, General

PAGE = Path(__file__).parents[2] / "docs" / "cuda.md"


def test_examples():
    """They run to the end, tensors are on a GPU, and the index that is out of range is found."""
    pytest.importorskip("cuda.core", reason="the driver is called by cuda-core: pip install 'nbgrad[cuda]'")
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S))
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"NBGRAD_CUDA": "emulated"}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("cuda:0") and "index 7 is out of range" in done.stdout


def test_what_runs_on_the_cpu_is_listed():
    """Every operation without a kernel by its public name; those of sparse products are called for the CPU alone."""
    listed = PAGE.read_text(encoding="utf-8").split("Of these there are")[1].split("```")[0]
    without = {op.public for op in OPS.values() if isinstance(op, General) and lowering_on(nbgrad.device("cuda:0"), op) is None}
    called = {name.partition(".")[0] for name in without if not name.startswith("sparse_")}
    assert "frexp" in called and all(re.search(rf"`(nbgrad\.)?{name}`", listed) for name in called), called


DOCUMENTED = """
import doctest, nbgrad
failed, tried = 0, 0
for name in nbgrad.cuda.__all__:
    member = getattr(nbgrad.cuda, name)
    for test in doctest.DocTestFinder(recurse=False).find(member, name, globs={}):
        found = doctest.DocTestRunner().run(test)
        failed, tried = failed + found.failed, tried + found.attempted
print(failed, tried > 14)
"""


def test_docstrings():
    """The examples of docstrings that need a GPU run on the emulated device."""
    pytest.importorskip("cuda.core", reason="the driver is called by cuda-core: pip install 'nbgrad[cuda]'")
    environment = os.environ | {"NBGRAD_CUDA": "emulated"}
    done = subprocess.run([sys.executable, "-c", DOCUMENTED], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.endswith("0 True\n"), done.stdout[-3000:] + done.stderr[-2000:]
