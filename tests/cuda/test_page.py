"""The page about GPUs: its examples run on the emulated device, as tests/test_documentation.py runs them on the CPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
