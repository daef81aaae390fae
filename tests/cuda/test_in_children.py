"""Tests that need GPUs pass on emulated ones, many files in one process: its start takes longer than most of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .emulation import in_a_child, slow_too, without_gpus

HERE = Path(__file__).parent
TENSORS = "devices memory exchange_on_gpu making distinct stops profile_on_gpu broadcast loading standardise pools against_the_cpu"
STEPS = "streams cuda_graphs graph_draws graph_steps updates clipping amp_on_gpu recurrent_on_gpu"
WITHOUT_NATIVE_CODE = "devices memory graph_draws graph_steps updates clipping"
# Files that start their own child: with libraries that are played, with options, or for longer than the others together.
ALONE = "cublas cusolver samples_on_device layers examples_on_gpu graphs_on_gpu"


def files(names: str) -> list[str]:
    """The paths of files of tests."""
    return [str(HERE / f"test_{name}.py") for name in names.split()]


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.early
@pytest.mark.parametrize("names", [TENSORS, STEPS], ids=["tensors", "steps"])
def test_on_emulated_gpus(request, names):
    """With native code."""
    in_a_child(*files(names), *slow_too(request))


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.slow
def test_without_native_code(request):
    """Its Python twins do the same."""
    in_a_child(*files(WITHOUT_NATIVE_CODE), *slow_too(request), NBGRAD_NATIVE="0")


def test_every_file_runs_in_a_child():
    """A file whose tests need GPUs and that no child runs would pass for ever."""
    imports = re.compile(r"^from \S*emulation import .*\b(on_gpus|two_gpus|played)\b", re.M)
    needing = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py") if imports.search(path.read_text("utf-8"))}
    assert needing <= {*TENSORS.split(), *STEPS.split(), *ALONE.split()} and set(WITHOUT_NATIVE_CODE.split()) < needing
