"""Programs in the style of public ones run by their import line: losses over fifty steps are those of torch.

Each program begins from values that NumPy draws. ``losses.json`` was written once by torch 2.13, of the same files with ``nbgrad``
replaced by ``torch``.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from tools.missing import look_at

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "losses.json").read_text())
# Their kernels take seconds to compile; those of the others are few, or other tests compile them too.
LONG = ("actor_critic", "char_rnn", "dcgan", "gaussian_process", "matrix_factorisation")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in EXPECTED])
def test_losses_are_torchs(name):
    """To rounding: a program that strayed would be somewhere else after fifty steps."""
    program = runpy.run_path(str(HERE / f"{name}.py"), run_name=name)
    np.testing.assert_allclose(program["train"](50), EXPECTED[name], rtol=1e-6, atol=1e-8)


def test_there_are_ten_programs():
    """Each has numbers of torch's, and uses no name that is missing."""
    names = {path.stem for path in HERE.glob("*.py")} - {Path(__file__).stem}
    assert names == set(EXPECTED) and len(names) == 10
    assert look_at(HERE / f"{name}.py" for name in names).missing == []
