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
from nbgrad.base.calls import CALLS
from nbgrad.dispatch.elementwise_rules import rule_of
from nbgrad.dispatch.lowerings import facts_of
from nbgrad.ops.core import OPS, Elementwise, General
from nbgrad.ops.expr import Operators, evaluate
from tests.samples import SAMPLES
from tests.samples.checking import attributes_of, flatten, results, run, tensors, weights_of

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


@pytest.mark.parametrize(
    "name, is_complex",
    [
        (name, is_complex)
        for name in ELEMENTWISE
        for is_complex in (False, True)
        if not OPS[name].refuses_gradient and (OPS[name].complex or not is_complex)
    ],
)
def test_cotangent_expressions_can_be_evaluated_on_tensors(name, is_complex):
    """The expressions of backward apply operations of the table only: so every higher order exists."""
    op = OPS[name]
    for operand in op.partial_formulas:
        applied: list[str] = []
        expr = op.vjp(operand, is_complex)
        values = {symbol: Recorder(applied) for symbol in expr.symbols()}
        evaluate((expr,), values, values.get("g", Recorder(applied))._apply)
        assert set(applied) <= set(CALLS), f"{name}: {sorted(set(applied) - set(CALLS))} cannot be computed on tensors"


class Tape(nbgrad.overrides.FunctionMode):
    """Notes the calls of a formula: which function, of which earlier values, named by their place on the tape."""

    def __init__(self, values: list):
        self.calls: list[tuple] = []
        self.places = {id(x): k for k, x in enumerate(values)}
        self.kept = list(values)  # so that no identity is given out twice

    def __nbgrad_function__(self, func, types, args, kwargs):
        result = func(*args, **kwargs)
        self.calls.append((func, self.named(args), self.named(kwargs)))
        for x in result if isinstance(result, tuple) else (result,):
            self.places[id(x)] = len(self.kept)
            self.kept.append(x)
        return result

    def named(self, x):
        """Values of the tape as their places; what is no value is a constant."""
        if isinstance(x, (tuple, list)):
            return tuple(map(self.named, x))
        if isinstance(x, dict):
            return {key: self.named(value) for key, value in x.items()}
        return ("place", self.places[id(x)]) if isinstance(x, nbgrad.Tensor) and id(x) in self.places else ("constant", x)

    def replay(self, values: list) -> list:
        """All values of the tape for other inputs."""
        made = list(values)

        def value(x):
            if isinstance(x, dict):
                return {key: value(each) for key, each in x.items()}
            if len(x) == 2 and x[0] in ("place", "constant"):
                return made[x[1]] if x[0] == "place" else x[1]
            return tuple(map(value, x))

        for func, args, kwargs in self.calls:
            result = func(*value(args), **value(kwargs))
            made += result if isinstance(result, tuple) else (result,)
        return made


FORMULAS = sorted(
    (name, operand)
    for name, row in SAMPLES.items()
    if isinstance(row.op, General) and row.reference is not None
    for operand in row.op.vjps
    if not getattr(row.op, "variadic", False) and "formula" not in row.unlike
)


@pytest.mark.parametrize("name, operand", FORMULAS)
def test_formulas_of_tensors_can_be_recorded(name, operand):
    """A cotangent formula is a fixed list of calls: recorded at one point and replayed at another, it gives that point's cotangent.

    A formula that looked at values, or computed aside of the table, would give the first point's.
    """
    row = SAMPLES[name]
    formula, call = row.op.vjps[operand], row.calls[0]
    parameters = list(inspect.signature(formula).parameters)

    def point(factor):
        """What the formula is given: tensors in order, and the rest by name."""
        operands = tensors(row, call)
        moved = [x * factor if isinstance(x, nbgrad.Tensor) and x.dtype.differentiable else x for x in operands]
        out = CALLS[name](*moved, **attributes_of(call))
        out = out[0] if isinstance(out, tuple) else out
        bound = row.op.signature.bind(*moved, **attributes_of(call))
        bound.apply_defaults()
        given = {n: v for n, v in bound.arguments.items() if n not in row.op.operands}
        layouts = tuple(getattr(x, "layout", None) for x in moved[: len(row.op.operands)])
        facts = facts_of(row.op, layouts, given, (out.layout.template,))
        g = nbgrad.tensor(weights_of([out.numpy()])[0]) * factor
        return {**facts, **dict(zip(row.op.operands, moved)), "out": out, "g": g}

    first, second = point(1.0), point(0.75)
    inputs = [p for p in parameters if isinstance(first[p], nbgrad.Tensor)]
    with Tape([first[p] for p in inputs]) as tape:
        recorded = formula(*(first[p] for p in parameters))
    assert id(recorded) in tape.places, f"{name}: the cotangent of {operand} was not made by calls of the table"
    replayed = tape.replay([second[p] for p in inputs])[tape.places[id(recorded)]]
    direct = formula(*(second[p] for p in parameters))
    assert np.allclose(replayed.numpy(), direct.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CLAIMS)
def test_saved_set(name):
    """Backward keeps what the row says and no more."""
    row = SAMPLES[name]
    out = run(row, tensors(row, row.calls[0], requires_grad=True), row.calls[0])[0]
    assert tuple(out.grad_fn._rule_.saved_names) == row.saves


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


@pytest.mark.parametrize(
    "name, wanted, saved",
    [("mul", "x", ("y",)), ("mul", "y", ("x",)), ("mul", "xy", ("x", "y")), ("div", "x", ("y",)), ("sub", "xy", ())],
)
def test_an_operand_without_gradient_saves_nothing_for_it(name, wanted, saved):
    """The saved set is that of the operands which need a gradient."""
    x, y = (nbgrad.ones(2, requires_grad=n in wanted) for n in "xy")
    assert CALLS[name](x, y).grad_fn._rule_.saved_names == saved


def test_rules_are_shared():
    """One rule object serves every node of an operation and subset of operands."""
    assert rule_of(OPS["mul"], 3, (False, False), False) is rule_of(OPS["mul"], 3, (False, False), False)


# ---- the two launchers -----------------------------------------------------------------------------------------------

TWINS = sorted(name for name, row in SAMPLES.items() if row.reference is not None and isinstance(row.op, (Elementwise, General)))


def digest() -> str:
    """Bits of results and gradients of every operation, as text."""
    lines = []
    for name in TWINS:
        row = SAMPLES[name]
        for call in row.calls[:1]:
            dtype = "int64" if getattr(row.op, "policy", None) == "integer" else "float64"
            operands = tensors(row, call, dtype, requires_grad=row.differentiable)
            outs = run(row, operands, call)
            lines += [f"{name} {x.tobytes().hex()}" for x in results(outs)]
            if outs[0].requires_grad:
                inputs = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
                grads = nbgrad.grad(outs[0], inputs, nbgrad.tensor(weights_of(results(outs))[0]), allow_unused=True)
                lines += [f"{name} gradient {None if g is None else np.asarray(g.numpy()).tobytes().hex()}" for g in grads]
    return "\n".join(lines)


def test_python_launcher_gives_the_same_bits():
    """NBGRAD_NATIVE=0 replaces the native calls by Python twins: the same results and gradients, bit for bit."""
    root = Path(__file__).parents[2]
    script = "from tests.ops.test_rules import digest; print(digest())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NBGRAD_NATIVE": "0", "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == digest()
