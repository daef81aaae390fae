"""Tests of Functions, hooks, modules and integers that know no device, on a GPU: those with the fixture ``device``."""

from __future__ import annotations

from pathlib import Path

from .emulation import in_a_child, without_gpus

TESTS = Path(__file__).parents[1]
MARK = 'pytestmark = pytest.mark.usefixtures("device")\n'


@without_gpus
def test_modules_with_the_fixture_in_a_child():
    """On the emulated GPU, where none of them knows that it is there."""
    modules = sorted(path for path in TESTS.glob("*/test_*.py") if MARK in path.read_text(encoding="utf-8"))
    assert len(modules) >= 5
    in_a_child(*map(str, modules), "--device", "cuda")


def test_where_tests_make_tensors(request, device):
    """The fixture is what makes them be there."""
    import nbgrad

    assert device == request.config.getoption("--device") and nbgrad.ones(1).device.type == device
