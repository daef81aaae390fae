"""The programs in ``examples`` run: on the CPU here, on GPUs by tests/cuda/test_examples_on_gpu.py."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich", reason="the examples need pip install 'nbgrad[examples]'")
pytest.importorskip("matplotlib", reason="the examples need pip install 'nbgrad[examples]'")

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {  # what makes them short
    "digits": ("--epochs", "1", "--images", "128"),
    "digits_cnn": ("--epochs", "1", "--images", "128"),
    "transformer": ("--steps", "2", "--batch", "2", "--context", "8", "--characters", "3"),
    "characters": ("--steps", "2", "--batch", "2", "--context", "8", "--characters", "3"),
}


def run(monkeypatch: pytest.MonkeyPatch, name: str, *options: str) -> None:
    """Run an example as a program of its own, in this process."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [name, *options])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


@pytest.mark.parametrize("name", SMALL)
def test_examples_train(monkeypatch, capsys, tmp_path, name):
    """They end with a loss or an accuracy, and a picture."""
    run(monkeypatch, name, "--device", "cpu", "--picture", str(tmp_path / "curve.png"), *SMALL[name])
    assert "on cpu" in (told := capsys.readouterr().out) and told.splitlines()[-1].startswith("test "), told
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_kernel_of_the_users_needs_a_gpu(monkeypatch, capsys):
    """Without one the example says so, and ends well."""
    run(monkeypatch, "own_kernel", "--device", "cpu")
    assert capsys.readouterr().out.startswith("own_kernel: nothing was trained: ")


def test_a_kernel_of_the_users_on_a_simulated_gpu(tmp_path):
    """Numba's simulator gives the gradients of nbgrad's own operations."""
    pytest.importorskip("numba_cuda", reason="the kernels are numba-cuda's")
    options = "--points", "8", "--bumps", "4", "--steps", "2", "--picture", str(tmp_path / "curve.png")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NBGRAD_CUDA": ""}
    command = [sys.executable, str(EXAMPLES / "own_kernel.py"), *options]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert float(found.stdout.partition("differ by ")[2].split()[0]) < 1e-5, found.stdout
