"""docs/adding-an-op.md does what it says: its declaration and its row of samples pass every check of this folder."""

from __future__ import annotations

import ast
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nbgrad
from nbgrad import scalar
from nbgrad.ops.core import OPS, elementwise
from nbgrad.ops.expr import symbol

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "adding-an-op.md").read_text(encoding="utf-8")


def block(info: str, containing: str) -> str:
    """The code block of the document with this info string that contains some text."""
    found = [
        text for kind, text in re.findall(r"^```([^\n]*)\n(.*?)^```$", DOCUMENT, re.S | re.M) if kind == info and containing in text
    ]
    assert len(found) == 1, f"{len(found)} blocks ```{info} contain {containing!r}"
    return found[0]


FORGET = """
import nbgrad
from nbgrad.methods.install import FUNCTIONS
from nbgrad.ops.core import OPS
from nbgrad.ops.expr import symbol
for names in (OPS, FUNCTIONS, vars(nbgrad)):        # in case the library has it by now
    names.pop("softsign", None)
for name in ("softsign", "softsign_"):
    if hasattr(nbgrad.Tensor, name):
        delattr(nbgrad.Tensor, name)
from tests.samples import SAMPLES
SAMPLES.pop("softsign", None)
"""


def run_script(script: str) -> str:
    """Run a script in a process of its own, where declarations do no harm; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# What modules of the library have at their top, and what their import ends in.
LIBRARY = """
import numpy as np
from nbgrad.base.errors import ShapeError
from nbgrad.dispatch.lowerings import lowering, result_of
from nbgrad.methods.install import install_operation
from nbgrad.ops.core import composite, general, reduction
from nbgrad.ops.expr import scalar
from nbgrad.ops.reduce import conjugate
from nbgrad.tensors.arrays import tensor_of, values_of
from tests.samples.reduce import over_dims
from tests.samples.row import REAL, case, fails, row
"""
CHECK = """
import pytest
class Counter:
    passed = dict.fromkeys(names, 0)
    def pytest_runtest_logreport(self, report):
        for name in names:
            self.passed[name] += report.when == "call" and report.passed and name in report.nodeid
for name in names[1:]:
    install_operation(OPS[name])
    setattr(nbgrad, name, FUNCTIONS[name])
code = pytest.main(["tests/ops", "tests/batch/test_vmap.py", "-q", "-k", " or ".join(names), "-p", "no:cacheprovider"],
                   plugins=[Counter()])
print(Counter.passed)
raise SystemExit(code)
"""


@pytest.mark.early
def test_declarations_and_rows_pass_every_check():
    """A process runs the document's declarations and rows, of every kind, then all tests that concern them, batches too."""
    blocks = {
        "softsign": (),
        "sum_of_squares": ("reduction", "reduction row"),
        "convolve": ("general", "lowering", "general row"),
        "standard_score": ("composite", "composite row"),
    }
    script = "\n".join(
        [
            FORGET,
            f"names = {list(blocks)}",
            block("python", "nbgrad.declare("),
            LIBRARY,
            block("python row", "row("),
            *(block(f"python {info}", name) for name, infos in blocks.items() for info in infos),
            CHECK,
        ]
    )
    out = run_script(script)
    passed = ast.literal_eval(out.splitlines()[-1])
    assert [*passed] == [*blocks] and min(passed.values()) > 25, out


def test_the_kernel_is_what_the_document_shows():
    """The printed source is the block under it."""
    script = "\n".join([FORGET, block("python", "nbgrad.declare("), block("python", "scalar_function(")])
    assert run_script(script).strip() == block("", "def scalar_softsign").strip()


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, forward, partials, match",
    [
        ("tanh", lambda x: x, {}, "'tanh' is taken"),
        ("no name", lambda x: x, {}, "is no name"),
        ("twice_x", lambda x: scalar.mish(x), {}, "applies 'mish', which is no scalar function.*Hint"),
        ("twice_x", lambda x: 2 * x, {"y": lambda: 2}, r"mentions \['y'\]"),
        ("twice_x", lambda x: 2 * x, {"x": lambda z: z}, r"mentions \['z'\]"),
        ("nn", lambda x: 2 * x, {}, "'nn' is taken"),
        ("lambda", lambda x: 2 * x, {}, "is no name"),
        (2, lambda x: 2 * x, {}, "is no name"),
        ("twice_x", "2 * x", {}, "the formula is '2 \\* x', expected a function.*Hint"),
        ("twice_x", lambda x, g: x * g, {"x": lambda g: g}, "an operand is called 'g'.*Hint"),
        ("twice_x", lambda: 2, {}, r"parameters are \(\).*Hint"),
        ("twice_x", lambda *x: 2 * x[0], {}, r"parameters are \(\*x\).*Hint"),
        ("twice_x", lambda x, *, y: x * y, {}, "expected the names of its operands.*Hint"),
        ("twice_x", lambda x: 2 * x, [lambda: 2], "expected a function for each operand.*Hint"),
        ("twice_x", lambda x: 2 * x, lambda: 2, "expected a function for each operand.*Hint"),
        ("twice_x", lambda x: 2 * x, {"x": 2}, "expected a function for each operand.*Hint"),
        ("twice_x", lambda x: None, {}, "mentions, or gives, None.*Hint"),
        ("twice_x", lambda x: (x, x), {}, "mentions, or gives, .*Hint"),
        ("twice_x", lambda x: 2 * x, {"x": lambda: None}, "mentions, or gives, None.*Hint"),
        ("twice_x", lambda x: x * nbgrad.ones(2), {}, "mentions, or gives, tensor.*Hint"),
        ("twice_x", lambda x: x * np.ones(2), {}, "formula cannot be run on symbols.*Hint"),
        ("twice_x", lambda x: math.exp(x), {}, r"formula cannot be run on symbols.*Hint: scalar.exp\(x\)"),
        ("twice_x", lambda x: np.exp(x), {}, "formula cannot be run on symbols.*Hint"),
        ("twice_x", lambda x: nbgrad.exp(x), {}, "formula cannot be run on symbols.*Hint"),
        ("twice_x", lambda x: x.exp(), {}, "formula cannot be run on symbols.*Hint"),
        ("twice_x", lambda x: x, {"x": lambda x: x[0]}, "the partial derivative by 'x' cannot be run on symbols.*Hint"),
        ("twice_x", lambda x: scalar.where(x > 0, x), {}, r"applies where to 2 operands. Hint: where\("),
    ],
)
def test_a_bad_declaration_is_refused_and_leaves_nothing(name, forward, partials, match):
    """What no kernel could compute, or what names no operand, is an error at once; the table is as before."""
    before = dict(OPS)
    with pytest.raises(nbgrad.ArgumentError, match=match):
        nbgrad.declare(name, forward, partials)
    assert before == OPS


@pytest.mark.parametrize(
    "option, match",
    [
        ({"docs": "2 x."}, "no option 'docs'. Hint: one of .*doc, "),
        ({"policy": "floats"}, "policy is 'floats', expected one of promote"),
        ({"exact": ("y",)}, r"exact names \['y'\], expected operands \['x'\]"),
    ],
)
def test_an_option_that_says_nothing_is_refused(option, match):
    """A misspelt option, policy or operand is an error of the declaration, not of a later call."""
    with pytest.raises(nbgrad.ArgumentError, match=match):
        nbgrad.declare("twice_x", lambda x: 2 * x, {"x": lambda: 2}, **option)
    assert "twice_x" not in OPS


def test_a_formula_that_asks_for_a_truth_value_is_refused():
    """Branches of Python cannot become a kernel: the error says what to write."""
    with pytest.raises(nbgrad.ArgumentError, match="truth value.*Hint.*where"):
        nbgrad.declare("branching", lambda x: x if x > 0 else 0)
    assert "branching" not in OPS


def test_names_that_nobody_declared_do_not_exist():
    """The namespace is not made up on demand."""
    with pytest.raises(AttributeError, match="no attribute 'softsine'"):
        nbgrad.softsine
    assert not hasattr(nbgrad, "__wrapped__")


@pytest.mark.parametrize("predicate", [True, False])
def test_whether_a_result_is_a_truth_value_is_the_last_declarations_word(predicate):
    """A declaration that was refused, of the same name and the other kind, has left nothing."""
    for each in (not predicate, predicate):
        elementwise("passing", lambda x: x, predicate=each)
        del OPS["passing"]
    assert scalar.passing(symbol("x")).boolean is predicate
