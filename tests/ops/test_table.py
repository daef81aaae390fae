"""Every operation has samples, every sample an operation; what rows claim of helpers is true."""

from __future__ import annotations

import inspect

import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.base.grad_mode import special
from nbgrad.kernels.monoids import MONOIDS
from nbgrad.lowering.reduce import RESULTS
from nbgrad.ops.core import OPS, General, is_refusing
from tests.samples import SAMPLES
from tests.samples.checking import expected, first_order, flatten, holds_numbers, weights_of


def test_every_operation_has_a_row():
    """An operation without samples is not tested by anything: it may not exist."""
    assert not sorted(set(OPS) - set(SAMPLES)), "declared without a row in tests/samples (docs/adding-an-op.md)"


def test_every_row_names_an_operation():
    """A row of an operation that is gone tests nothing."""
    assert not sorted(set(SAMPLES) - set(OPS))


def test_every_operation_can_be_called():
    """Declaring is enough: the table of calls has every operation."""
    assert not sorted(set(OPS) - set(CALLS))


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_operation_is_documented_and_public_as_declared(name):
    """``doc`` says what it is; the names of function, method and aliases lead to it."""
    op = OPS[name]
    assert op.doc.strip(), f"{name}: no doc"
    for public in (name, *op.aliases):
        if op.function:
            assert callable(getattr(nbgrad, public)), public
            assert getattr(nbgrad, public).__doc__
        if op.method:
            assert hasattr(nbgrad.Tensor, public)


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if isinstance(op, General)])
def test_general_declarations_name_what_there_is(name):
    """Operands are the first parameters, cotangents belong to operands and ask for what there is, folds can be looked up."""
    op = OPS[name]
    parameters = tuple(op.signature.parameters)
    assert op.variadic or parameters[: len(op.operands)] == op.operands, f"operands={op.operands}, the formula has {parameters}"
    known = {"g", "out", *op.operands, *parameters}
    known |= {f"{operand}_{fact}" for operand in op.operands for fact in ("shape", "dtype", "layout", "shapes", "dtypes")}
    assert set(op.vjps) <= set(op.operands), f"{name}: cotangents of {[*op.vjps]}, expected of {op.operands}"
    if op.outputs == 1:
        for operand, formula in op.vjps.items():
            strange = set(inspect.signature(formula).parameters) - known
            assert not strange or is_refusing(formula), f"{name}, cotangent of {operand}: {strange}, expected of {sorted(known)}"
    if op.monoid:
        assert op.monoid in MONOIDS, f"{name}: monoid={op.monoid!r}, expected one of {[*MONOIDS]} (nbgrad/kernels/monoids.py)"
        assert op.gives in RESULTS, f"{name}: gives={op.gives!r}, expected one of {[*RESULTS]}"
        assert parameters[:3] == ("x", "dim", "keepdim"), f"{name}{op.signature}, expected (x, dim, keepdim, ...)"


def test_every_operation_is_measured():
    """The benchmark beside torch has a line for every operation that users call, or says why not."""
    pytest.importorskip("benchmarks.operations", reason="the folder of benchmarks is not here")
    from benchmarks.operations import unmeasured

    assert not unmeasured(), "measured nowhere. Hint: a line in CALLS of benchmarks/operations.py, as `kron | points[:4], points`."


def test_slow_rows_have_reasons(monkeypatch):
    """A row over the budget needs a reason of its own name, or of a beginning of it in whole words: tan's is not tanh's."""
    operations = pytest.importorskip("benchmarks.operations", reason="the folder of benchmarks is not here")
    monkeypatch.setattr(operations, "REASONS", {"tan": "a", "linalg.lu": "b", "getitem, by two indices": "c"})
    key = ("large", "call")
    slow = {name: {key: 1.3} for name in ("tan", "tanh", "linalg.lu", "linalg.lu_factor_ex", "getitem, by two indices", "getitem")}
    slow |= {"sub": {key: 1.1}, "add": {key: 1.3, ("small", "call"): 0.1}}
    assert operations.unexplained(slow, 1.2) == ["add", "getitem", "tanh"]


def test_matrices_behind_one_another_are_joined_alike_with_and_without_a_graph():
    """dstack of matrices of one layout is one stack where nothing is recorded; the node is that of cat, as in torch."""
    x, y = nbgrad.arange(6.0).view(2, 3), nbgrad.ones(2, 3)
    joined = nbgrad.dstack((x, y.clone().requires_grad_()))
    assert nbgrad.equal(nbgrad.dstack((x, y)), joined.detach()) and nbgrad.dstack([x, x.t().contiguous().t()]).shape == (2, 3, 2)
    assert type(joined.grad_fn).__name__ == "CatBackward0"


class Watch:
    """A special mode that notes which operations are called."""

    def __init__(self):
        self.names = set()

    def seen(self, op, operands, out):
        """Called after every call."""
        self.names.add(op.name)

    def recorded(self, node):
        """Called with every new node."""


@pytest.mark.parametrize("name", sorted(n for n, row in SAMPLES.items() if row.through))
def test_a_helper_runs_in_the_operation_that_its_row_names(name):
    """``through`` is a claim: the samples of that operation call the helper, forward or in a backward pass."""
    row = SAMPLES[SAMPLES[name].through]
    watch = Watch()
    special.append(watch)
    try:
        for call in row.calls:
            arrays = row.arrays(call)
            inputs = [x for x in flatten(arrays) if holds_numbers(x)]
            first, leaves, cotangents = first_order(
                row, call, arrays, inputs, weights_of(expected(row, arrays, call)), create_graph=True
            )
            first = [g for g in first if g.requires_grad]
            nbgrad.grad(first, [*leaves, *cotangents], [nbgrad.ones_like(g) for g in first], allow_unused=True)
    finally:
        special.remove(watch)
    assert name in watch.names, f"{row.name} calls {sorted(watch.names)}"
