"""The programs in ``examples`` on a GPU, or on the emulated device."""

from __future__ import annotations

import pytest

from tests.test_examples import SMALL, run

from .emulation import in_a_child, on_gpus, slow_too, without_gpus


@without_gpus
def test_examples_in_a_child(request):
    """All of them on emulated GPUs."""
    in_a_child(__file__, *slow_too(request))


@on_gpus
@pytest.mark.filterwarnings("ignore:linalg.*runs on the CPU:UserWarning")  # where cuSOLVER is not installed
@pytest.mark.parametrize("name", ["digits", *(pytest.param(name, marks=pytest.mark.slow) for name in SMALL if name != "digits")])
def test_examples_train_on_a_gpu(monkeypatch, capsys, tmp_path, name):
    """``--device auto`` finds it; they end with what they have found, and a picture."""
    run(monkeypatch, name, "--picture", str(tmp_path / "curve.png"), *SMALL[name])
    assert " of the processor) on cuda" in (told := capsys.readouterr().out).splitlines()[-1], told
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@on_gpus
@pytest.mark.filterwarnings("ignore:The 'generic' unit for NumPy timedelta:DeprecationWarning")  # numba-cuda, with NumPy 2.5
def test_a_kernel_of_the_users(monkeypatch, capsys, tmp_path):
    """It trains where numba-cuda and a GPU are, and says so elsewhere."""
    try:
        run(monkeypatch, "own_kernel", "--steps", "3", "--picture", str(tmp_path / "curve.png"))
    except AttributeError as error:
        if "module 'numpy' has no attribute" not in str(error):
            raise
        pytest.skip(f"numba-cuda does not fit this NumPy: {error}")
    told = capsys.readouterr().out
    assert told.startswith("own_kernel: nothing was trained: ") or told.splitlines()[-1].startswith("loss "), told
