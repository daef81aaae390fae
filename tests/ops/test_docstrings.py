"""Docstrings that are derived from declarations: complete, current, and rendered as Python would read them."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbgrad
from nbgrad.methods.install import FUNCTIONS
from nbgrad.ops.core import OPS
from nbgrad.ops.describe import derivatives, describe, infix
from nbgrad.ops.docstrings import DOCSTRINGS
from nbgrad.ops.expr import constant, scalar, symbol

ROOT = Path(__file__).parents[2]
X, Y, G = symbol("x"), symbol("y"), symbol("g")


def test_written_documentation_is_current():
    """``make docs`` would change nothing: docstrings and the page of operations are those of the declarations."""
    done = subprocess.run([sys.executable, "-m", "tools.document", "--check"], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if op.function))
def test_function_has_the_derived_docstring(name):
    """What ``help`` shows of a function is what was derived from its declaration."""
    taken = [op.name for op in OPS.values() if op.function and name in op.aliases]      # where is that of a condition alone, too
    assert FUNCTIONS[name].__doc__ == (DOCSTRINGS.get(taken[0] if taken else name) or describe(OPS[name]))


@pytest.mark.parametrize("name", sorted(DOCSTRINGS))
def test_docstring_has_all_sections(name):
    """Sentence, signature, operands, errors and derivative are there."""
    text = DOCSTRINGS[name]
    assert text.split("\n", 1)[0].strip()
    for part in ("\nSignature: ", "\nOperands:\n", "\nRaises:\n", "\nDerivative"):
        assert part in text, part


def test_most_operations_have_an_example():
    """An operation without example is an exception."""
    without = sorted(name for name, text in DOCSTRINGS.items() if ">>>" not in text)
    assert len(without) < len(DOCSTRINGS) // 10, without


@pytest.mark.parametrize("expr", [
    G * (1 - X * X), (X - Y) - (Y - X), X / (Y / X), X / Y / X, -(X * Y), (-X) * Y, scalar.exp(-X) ** 2.0, X * (Y + 1), (X + Y) * G,
    constant(-2.0) * X, X - constant(-2.0), X ** (Y ** 2.0), (X ** Y) ** 2.0], ids=infix)
def test_infix_means_the_expression(expr):
    """The text of an expression, evaluated by Python on numbers, is its value."""
    import math

    from nbgrad.ops.expr import evaluate
    values = {"x": 1.25, "y": 0.75, "g": 3.0}
    functions = {"add": float.__add__, "sub": float.__sub__, "mul": float.__mul__, "div": float.__truediv__, "neg": float.__neg__,
                 "pow": float.__pow__, "exp": math.exp}
    want, = evaluate((expr,), values, lambda name, operands: functions[name](*map(float, operands)))
    assert eval(infix(expr), {"exp": math.exp}, values) == pytest.approx(want, rel=1e-15)


def test_infix_of_comparisons_and_masks():
    """``&`` binds closer than ``<``, so that comparisons under it are in parentheses."""
    assert infix(scalar.where((X >= 0.0) & (X < Y), 1, 0)) == "where((x >= 0) & (x < y), 1, 0)"


def test_derivative_by_formula_of_tensors_is_shown():
    """A rule that is a lambda shows as its body, one that is a function by what it says."""
    assert derivatives(OPS["transpose"]) == {"x": "g.transpose(dim0, dim1)"}
    assert "shared evenly" in derivatives(OPS["amax"])["x"]


def test_declared_operation_is_described(same_table):
    """``nbgrad.declare`` gives a docstring of the same form."""
    made = nbgrad.declare("eighth_power", lambda x: x ** 8, {"x": lambda x: 8 * x ** 7}, doc="x**8.")
    assert made.__doc__ == describe(OPS["eighth_power"])
    assert "x: g * 8 * x ** 7" in made.__doc__
