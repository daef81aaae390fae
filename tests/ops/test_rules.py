"""Rules are pure formulas, save no more than they say, and both launchers run them alike."""
from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nbgrad
from nbgrad.dispatch import CALLS, rule_of
from nbgrad.ops.core import OPS, Elementwise
from nbgrad.ops.expr import Operators, evaluate
from tests.samples import SAMPLES
from tests.samples.checking import results, run, tensors, weights_of

ELEMENTWISE = sorted(name for name, op in OPS.items() if isinstance(op, Elementwise))
CLAIMS = sorted(name for name, row in SAMPLES.items() if row.saves is not None)


class Recorder(Operators):
    """A stand-in for a value: notes which operations are applied to it, and computes nothing."""

    def __init__(self, applied: list[str]):
        self.applied = applied

    def _apply(self, name: str, operands: tuple) -> Recorder:
        self.applied.append(name)
        return Recorder(self.applied)

    def __bool__(self) -> bool:
        raise AssertionError("a rule asked for a truth value: it cannot run on symbols. Hint: scalar.where.")


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_partials_run_on_anything_that_applies_operations(name):
    """A partial derivative is arithmetic alone: it runs on a recorder, and applies operations of the table."""
    for formula in (*OPS[name].partial_formulas.values(), *OPS[name].tangent_formulas.values()):
        applied: list[str] = []
        formula(*(Recorder(applied) for _ in inspect.signature(formula).parameters))
        assert set(applied) <= set(CALLS), f"{name}: {sorted(set(applied) - set(CALLS))} cannot be computed on tensors"


@pytest.mark.parametrize("name, is_complex", [(name, is_complex) for name in ELEMENTWISE for is_complex in (False, True)
                                              if not OPS[name].refuses_gradient
                                              and (OPS[name].complex or not is_complex)])
def test_cotangent_expressions_can_be_evaluated_on_tensors(name, is_complex):
    """The expressions of backward apply operations of the table only: so every higher order exists."""
    op = OPS[name]
    for operand in op.partial_formulas:
        applied: list[str] = []
        expr = op.vjp(operand, is_complex)
        values = {symbol: Recorder(applied) for symbol in expr.symbols()}
        evaluate((expr,), values, values.get("g", Recorder(applied))._apply)
        assert set(applied) <= set(CALLS), f"{name}: {sorted(set(applied) - set(CALLS))} cannot be computed on tensors"


@pytest.mark.parametrize("name", CLAIMS)
def test_saved_set(name):
    """Backward keeps what the row says and no more."""
    row = SAMPLES[name]
    out = run(row, tensors(row, row.calls[0], requires_grad=True), row.calls[0])[0]
    assert tuple(out.grad_fn.rule.saved_names) == row.saves


@pytest.mark.parametrize("name", CLAIMS)
def test_only_what_is_saved_is_guarded(name):
    """A write to a saved operand makes backward raise a VersionError; a write to another operand does not."""
    row = SAMPLES[name]
    names = row.op.operands
    for k, written in enumerate(names):
        operands = tensors(row, row.calls[0], requires_grad=True)
        if k >= len(operands) or not isinstance(operands[k], nbgrad.Tensor):
            continue
        out = run(row, operands, row.calls[0])[0]
        with nbgrad.no_grad():
            operands[k].copy_(operands[k].clone())
        if written in row.saves:
            with pytest.raises(nbgrad.VersionError, match=name):
                out.sum().backward()
        else:
            out.sum().backward()


@pytest.mark.parametrize("name, wanted, saved", [("mul", "x", ("y",)), ("mul", "y", ("x",)), ("mul", "xy", ("x", "y")),
    ("div", "x", ("y",)),
                                                 ("sub", "xy", ())])
def test_an_operand_without_gradient_saves_nothing_for_it(name, wanted, saved):
    """The saved set is that of the operands which need a gradient."""
    x, y = (nbgrad.ones(2, requires_grad=n in wanted) for n in "xy")
    assert CALLS[name](x, y).grad_fn.rule.saved_names == saved


def test_rules_are_shared():
    """One rule object serves every node of an operation and subset of operands."""
    assert rule_of(OPS["mul"], 3, (False, False), False) is rule_of(OPS["mul"], 3, (False, False), False)


# ---- the two launchers ---------------------------------------------------------------------------------------------

TWINS = ("add", "mul", "div", "pow", "tanh", "where", "maximum", "lt", "leaky_relu", "clone", "sum", "matmul",
    "transpose")


def digest() -> str:
    """Bits of results and gradients of some operations, as text."""
    lines = []
    for name in TWINS:
        row = SAMPLES[name]
        for call in row.calls:
            operands = tensors(row, call, "float64", requires_grad=True)
            outs = run(row, operands, call)
            lines += [f"{name} {x.tobytes().hex()}" for x in results(outs)]
            if outs[0].requires_grad:
                inputs = [x for x in operands if isinstance(x, nbgrad.Tensor) and x.requires_grad]
                grads = nbgrad.grad(outs[0], inputs, nbgrad.tensor(weights_of(results(outs))[0]))
                lines += [f"{name} gradient {np.asarray(g.numpy()).tobytes().hex()}" for g in grads]
    return "\n".join(lines)


def test_python_launcher_gives_the_same_bits():
    """NBGRAD_NATIVE=0 replaces the native calls by Python twins: the same results and gradients, bit for bit."""
    root = Path(__file__).parents[2]
    script = "from tests.ops.test_rules import digest; print(digest())"
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "NBGRAD_NATIVE": "0",
                          "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == digest()
