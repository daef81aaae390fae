"""Hooks on a leaf's AccumulateGrad that nobody holds: they live as long as a graph that was recorded while the node did."""

from __future__ import annotations

import gc

import pytest

import nbgrad
from tests.helpers import float32_leaf


def node_of(x):
    """The leaf's AccumulateGrad, as programs get hold of it; nobody else holds it."""
    return x.view_as(x).grad_fn.next_functions[0][0]


def log_on(x):
    """Register a hook on the leaf's AccumulateGrad, and let go of the node; what the hook logs."""
    log = []
    node_of(x).register_hook(lambda grad_inputs, grad_outputs: log.append(grad_outputs[0].tolist()))
    return log


def test_a_graph_keeps_the_hooks():
    """A graph that existed when the hook was registered runs it, in every pass."""
    x = float32_leaf()
    y = (x * x).sum()
    log = log_on(x)
    y.backward(retain_graph=True)
    y.backward()
    assert log == [[2.0, 4.0]] * 2 and x.grad.tolist() == [4.0, 8.0]


def test_a_graph_recorded_while_the_node_lived_keeps_the_hooks():
    """It need not be the graph through which the node was found."""
    x = float32_leaf()
    view = x.view_as(x)
    log = []
    view.grad_fn.next_functions[0][0].register_prehook(lambda grads: log.append(1))
    y = (x * 3).sum()
    del view
    y.backward()
    assert log == [1]


@pytest.mark.parametrize("keeps_graph", [True, False])
def test_hooks_without_a_graph_are_gone(keeps_graph):
    """A graph that is recorded after the node's death knows nothing of its hooks; those of another graph do not run in it."""
    x = float32_leaf()
    older = (x * 2).sum() if keeps_graph else None
    log = log_on(x)
    (x * 3).sum().backward()
    assert log == []
    if older is not None:
        older.backward()
        assert log == [[2.0, 2.0]]


def test_a_prehook_changes_the_gradient():
    """What a resting pre-hook returns is accumulated."""
    x = float32_leaf()
    y = (x * x).sum()
    node_of(x).register_prehook(lambda grads: (grads[0] * 10,))
    y.backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_whoever_looks_from_the_graph_finds_the_hooks():
    """The node that the graph shows has the hooks of the one that died, and takes more."""
    x = float32_leaf()
    y = x * 2
    log = log_on(x)
    y.grad_fn.next_functions[0][0].register_hook(lambda grad_inputs, grad_outputs: log.append("second"))
    y.sum().backward()
    assert log == [[2.0, 2.0], "second"]


def test_a_handle_still_removes_a_hook():
    """Its node is gone, its hook is not until it is removed."""
    x = float32_leaf()
    y = (x * x).sum()
    handle = node_of(x).register_hook(lambda grad_inputs, grad_outputs: pytest.fail("it was removed"))
    handle.remove()
    y.backward()


def test_passes_that_return_the_gradient_do_not_run_them():
    """``grad`` accumulates nothing."""
    x = float32_leaf()
    y = (x * x).sum()
    log = log_on(x)
    assert nbgrad.grad(y, x)[0].tolist() == [2.0, 4.0] and log == []


def test_the_running_node_is_known_to_the_hook():
    """Inside of a hook that came to life again the pass names its node."""
    x, names = float32_leaf(), []
    y = (x * x).sum()
    node_of(x).register_prehook(lambda grads: names.append(nbgrad._C._current_autograd_node().name()))
    for _ in range(2):
        y.backward(retain_graph=True)
    assert names == ["torch::autograd::AccumulateGrad"] * 2


def test_leaves_without_hooks_remember_nothing():
    """An AccumulateGrad that was only looked at leaves nothing behind."""
    x = float32_leaf()
    assert node_of(x).variable is x
    gc.collect()
    assert x._meta_.accumulator() is None and type(x._meta_.accumulator).__name__ != "Resting"
