"""Usual calls are written down at once, as all others are."""

import pytest

import nbgrad
from nbgrad.jit import trace
from nbgrad.jit.capture import calls, capture
from nbgrad.modes.interpreters import quick_calls
from nbgrad.nn import functional

PROGRAMS = [
    lambda x, y: (x * y + 2).exp().sum(),
    lambda x, y: nbgrad.grad((x @ y.mT).tanh().mean(), (x, y)),
    lambda x, y: nbgrad.grad(nbgrad.grad((x * y).sin().sum(), x, create_graph=True)[0].sum(), y),
    lambda x, y: functional.softmax(x, 1).amax(0) > y.mean(),
    lambda x, y: x.clone().mul_(y)[1:].sum(dim=(0, 1)) + x.to(nbgrad.complex64).sum().real,
    lambda x, y: nbgrad.func.vmap(lambda a, b: (a * b).sum())(x, y) / nbgrad.func.jvp(lambda a: a * 2, (x,), (y,))[1].sum(),
    lambda x, y: functional.linear(x, y, x[0, :3]).relu().log_softmax(1),
]


@pytest.mark.parametrize("fn", PROGRAMS)
def test_graphs_are_those_of_calls_that_ask(fn, monkeypatch, unchecked):
    """The same graph, flags and lines too."""
    x, y = nbgrad.ones(3, 4, requires_grad=True), nbgrad.full((3, 4), 2.0, requires_grad=True)
    quick = trace(fn, x, y)
    monkeypatch.delitem(quick_calls, capture.Trace)
    assert str(trace(fn, x, y)) == str(quick)


def test_usual_calls_ask_no_interpreter(monkeypatch, unchecked):
    """Elementwise and planned calls do not come to the capture's interpreter; a call under saved-tensor hooks does."""
    asked = []
    run = calls.run_call
    monkeypatch.setattr(capture, "run_call", lambda trace, call, below: asked.append(call.op.name) or run(trace, call, below))
    x = nbgrad.ones(3, requires_grad=True)
    trace(lambda x: (x * 2).sum(), x)
    assert not asked
    with nbgrad.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        trace(lambda x: (x * 2).sum(), x)
    assert asked == ["mul", "sum"]
