"""The programs in ``examples`` run: on the CPU here, on GPUs by tests/cuda/test_examples_on_gpu.py."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import nbgrad

pytest.importorskip("rich", reason="the examples need pip install 'nbgrad[examples]'")
pytest.importorskip("matplotlib", reason="the examples need pip install 'nbgrad[examples]'")

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {  # what makes them short
    "digits": ("--epochs", "1", "--images", "128"),
    "digits_cnn": ("--epochs", "1", "--images", "128"),
    "transformer": ("--steps", "2", "--batch", "2", "--context", "8", "--characters", "3"),
    "characters": ("--steps", "2", "--batch", "2", "--context", "8", "--characters", "3"),
    "pinn": ("--steps", "3", "--points", "8"),
    "vae": ("--epochs", "1", "--images", "128"),
    "neural_ode": ("--steps", "2", "--length", "3"),
    "gaussian_process": ("--steps", "2", "--points", "8"),
    "spectrum": ("--steps", "1", "--points", "50", "--lines", "2"),
    "implicit": ("--steps", "2", "--images", "20"),
    "cart_pole": ("--rounds", "2", "--carts", "4", "--horizon", "4"),
}
# Their kernels take seconds to compile, and tests/programs has networks of their kind.
LONG = ("pinn", "cart_pole")


def run(monkeypatch: pytest.MonkeyPatch, name: str, *options: str) -> None:
    """Run an example as a program of its own, in this process."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [name, *options])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in SMALL])
def test_examples_train(monkeypatch, capsys, tmp_path, name, compiled):
    """They end with what they have found, in which time, and a picture; steps that they compile run as they are too."""
    if not compiled:
        monkeypatch.setattr(nbgrad, "compile", lambda step: step)
    run(monkeypatch, name, "--device", "cpu", "--picture", str(tmp_path / "curve.png"), *SMALL[name])
    assert re.search(r" after [\d.]+ s \([\d.]+ s of the processor\) on cpu$", told := capsys.readouterr().out), told
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
