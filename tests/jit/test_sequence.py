"""Lists of launches, walked by native code."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.dispatch.elementwise_plans import PLANS
from nbgrad.jit import trace
from nbgrad.jit.execution.sequence import Expected, assemble
from nbgrad.jit.ir.replay import tensor_of
from nbgrad.jit.ir.steps import Host, Launch, Place, Schedule, Window

pytestmark = pytest.mark.usefixtures("unchecked")

X = nbgrad.tensor(np.linspace(-1, 2, 16))
Y = nbgrad.tensor(np.linspace(3, 0.5, 16))


def run_of(fn, *examples, records=True, flags=None, names=(), cells=(), slow=None, recorded=None):
    """The native function of a graph whose products are launches, and whose other calls are steps in Python."""
    _ = examples[0] * examples[0]  # a capture makes no machine code: the product's is looked up below
    graph = trace(fn, *examples)
    steps = []
    for node in graph.nodes:
        if node.name == "mul":
            record = PLANS["mul"][examples[0].layout].record
            address = struct.unpack_from("q", record)[0]
            steps.append(Launch(address, node.outs[0].layout.numel, tuple(node.outs), tuple(map(Place, node.values()))))
        else:
            steps.append(Host(node, tuple(node.outs), tuple(Window(Place(v), v.layout) for v in node.values())))
    expected = Expected(list(names), list(cells), records, flags or (False,) * (len(graph.inputs) + len(graph.constants)))
    outs = [value for value in graph.outputs if value.node.name == "mul"]
    templates = [value.layout.template for value in outs]
    data = [tensor_of(value) for value in graph.constants]
    return assemble(
        graph,
        data=data,
        outs=outs,
        templates=templates,
        schedule=Schedule(steps, {}),
        expected=expected,
        slow=slow,
        recorded=recorded,
    )


def test_the_steps_compute_what_the_calls_compute():
    """Products by launches, in memory that the steps share."""
    made = run_of(lambda x, y: x * y * y * x, X, Y)
    np.testing.assert_array_equal(made.call(X, Y).numpy(), (X * Y * Y * X).numpy())
    assert made.steps == 3 and made.bytes == 64 + 2 * 128


def test_calls_in_the_middle_see_values_and_give_values():
    """A step in Python reads shared memory, results of other such steps, operands and constants."""
    w = nbgrad.tensor(np.linspace(1, 2, 16))

    def program(x, y):
        z = (x * y).cumsum(0)
        return (z.cumsum(0) * w) * z

    made = run_of(program, X, Y)
    for _ in range(3):
        np.testing.assert_array_equal(made.call(X, Y).numpy(), program(X, Y).numpy())


def test_what_is_not_as_expected_goes_the_slow_way():
    """Layouts, flags, the recording of the thread, names and cells are compared in every call."""
    scope, row, cell = {"n": 3}, [4], (lambda: X).__closure__
    came = []
    slow = lambda *operands: came.append(operands)
    made = run_of(lambda x, y: x * y, X, Y, names=[scope, "n", 3, row, 0, 4], slow=slow)
    assert made.call(X, Y) is not None and not came
    for operands in ((X,), (X, Y[:8]), (X, 2.0), (X, Y.clone().requires_grad_())):
        assert made.call(*operands) is None
    with nbgrad.no_grad():
        made.call(X, Y)
    scope["n"] = 5
    made.call(X, Y)
    scope["n"], row[0] = 3, 5
    made.call(X, Y)
    row.clear()
    made.call(X, Y)
    assert len(came) == 8 and cell is None


def test_a_cell_is_compared():
    """What a closure's variable holds."""
    n, came = object(), []
    cell = (lambda: n).__closure__[0]
    made = run_of(lambda x, y: x * y, X, Y, cells=[cell, n], slow=lambda *operands: came.append(operands))
    made.call(X, Y)
    n = object()
    made.call(X, Y)
    assert len(came) == 1


def test_a_call_within_the_call_has_memory_of_its_own(monkeypatch):
    """A step in Python that calls the sequence again finds the block taken."""
    made = run_of(lambda x, y: (x * y).cumsum(0) * y * x, X, Y)
    want, other = made.call(X, Y), made.call(X + 1, Y)
    real, inner = CALLS["scan_sum"], []

    def again(*args, **named):
        if not inner:
            inner.append(None)
            inner[0] = made.call(X + 1, Y)
        return real(*args, **named)

    monkeypatch.setitem(CALLS, "scan_sum", again)
    np.testing.assert_array_equal(made.call(X, Y).numpy(), want.numpy())
    np.testing.assert_array_equal(inner[0].numpy(), other.numpy())


def test_an_error_in_a_step_leaves_the_sequence_usable(monkeypatch):
    """The error is the step's own."""
    made = run_of(lambda x, y: (x * y).cumsum(0) * x, X, Y)
    want = made.call(X, Y)

    def failing(*args, **named):
        raise KeyError("own")

    with monkeypatch.context() as patch:
        patch.setitem(CALLS, "scan_sum", failing)
        with pytest.raises(KeyError):
            made.call(X, Y)
    np.testing.assert_array_equal(made.call(X, Y).numpy(), want.numpy())
