"""Items that stand for many cases: each of them decides, fails by its name, and leaves nothing to the next one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.groups import MOST

ROOT = Path(__file__).parents[1]

PROGRAM = '''"""Cases by the dozen."""
import pytest, nbgrad

@pytest.fixture(scope="module", params=["x", "y"])
def letter(request):
    return request.param

@pytest.mark.parametrize("k", range(30))
def test_numbers(k):
    assert k not in (1, 2, 29), "wrong"

@pytest.mark.parametrize("k", range(30))
def test_letters(letter, k):
    assert (letter, k) != ("y", 7)

@pytest.mark.parametrize("k", range(30))
def test_leaks(k):
    if k == 5:
        nbgrad.set_default_dtype(nbgrad.float64)
    else:
        assert nbgrad.get_default_dtype() is nbgrad.float32

@pytest.mark.parametrize("k", range(30))
def test_skips(k):
    pytest.skip("none of them") if k < 20 else None

@pytest.mark.parametrize("k", range(30))
def test_alone(tmp_path, k):
    assert not list(tmp_path.iterdir())
    (tmp_path / "left").touch()
'''


def test_every_case_decides(tmp_path):
    """Cases that are run together fail as they would alone: all of them run, and what one leaves is its own failure."""
    (tmp_path / "test_dozens.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]", encoding="utf-8")
    options = ["-q", "-rA", "-p", "tests.conftest", "-p", "no:xdist", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini")]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300).stdout
    named = {name.split("::")[1] for name in re.findall(r"This is the case (\S+)", said)}
    assert named == {"test_numbers[1]", "test_numbers[2]", "test_numbers[29]", "test_letters[y-7]", "test_leaks[5]"}, said
    assert "2 of 3 cases" in said and "the test leaked global state: default dtype" in said
    # Items: 10 of three cases, 10 of seven that share a letter, 10, 10, of which the seventh has a case that runs, and 30.
    assert said.splitlines()[-1].startswith("4 failed, 60 passed, 6 skipped in "), said


def test_failures_are_all_shown():
    """Of a group of exceptions pytest shows fifteen."""
    assert MOST <= 15
