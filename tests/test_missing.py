"""``tools.missing`` finds what programs use of torch and nbgrad lacks."""

from __future__ import annotations

import ast
from pathlib import Path

from tools import left_out, missing
from tools.missing import Missing, look_at, names_used

PROGRAM = """
import torch, os.path
import torch.nn as nn
import nbgrad as other
from torch import optim as o, no_such_name
from torch.utils.data import DataLoader
from .torch import nothing
x = torch.rand(2).no_method()
class Net(nn.Module):
    def f(self): return nn.Conv9d(1), nn.Conv9d.from_file(2), o.SGD, other.linalg.inv, os.path.torch, self.torch.y
"""


def test_names_are_followed_from_their_imports():
    """By whatever name a module goes; what begins elsewhere is no name of torch."""
    used = sorted(set(names_used(ast.parse(PROGRAM))))
    expected = ["linalg.inv", "nn", "nn.Conv9d", "nn.Conv9d.from_file", "nn.Module", "no_such_name", "optim", "optim.SGD"]
    assert used == [*expected, "rand", "utils.data.DataLoader"]


def test_what_is_missing_is_counted(tmp_path):
    """By uses and by programs, as far as the name could not be found; programs without torch do not count."""
    (tmp_path / "one.py").write_text(PROGRAM)
    (tmp_path / "two.py").write_text("import torch\ntorch.nn.Conv9d\n")
    (tmp_path / "three.py").write_text("import nbgrad.nn.functional as F\nF.relu\n")
    (tmp_path / "none.py").write_text("import os\n")
    (tmp_path / "old.py").write_text("print 'torch'\n")
    found = look_at([tmp_path])
    assert found.missing == [Missing("nn.Conv9d", 3, 2), Missing("no_such_name", 1, 1)]
    assert (found.programs, found.complete, found.unreadable) == (3, 1, [tmp_path / "old.py"])


def test_examples_use_nothing_that_is_missing():
    """The project's own programs."""
    found = look_at([Path(__file__).parents[1] / "examples"])
    assert found.programs >= 4 and found.missing == []


def test_what_is_left_out_is_not_there():
    """No name of the table of what is left out has arrived meanwhile; stars aside, each is looked up."""
    names = [name for names in left_out.REASONS for name in names.split() if "*" not in name]
    assert len(names) > 200 and not [name for name in names if missing.lacking(name) is None]
    assert all(left_out.REASONS.values()) and left_out.reason_of("cudnn_convolution") and not left_out.reason_of("nn.Linear")


def test_the_page_says_what_is_left_out():
    """The table in docs/differences.md is what the tool writes."""
    page = left_out.PAGE.read_text(encoding="utf-8")
    assert left_out.with_table(page) == page
