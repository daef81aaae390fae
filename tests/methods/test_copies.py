"""Copies of tensors through pickle and deepcopy: what of their place in the graph comes along."""

from __future__ import annotations

import copy
import pickle

import pytest

import nbgrad


def test_a_pickled_result_is_a_leaf():
    """A history cannot be pickled: the values come back in a leaf that requires grad, for which a new history begins."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    y = pickle.loads(pickle.dumps(x * 3))
    assert y.tolist() == [3.0, 6.0] and y.is_leaf and y.requires_grad
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0] and x.grad is None


def test_a_copied_parameter_starts_without_a_gradient():
    """So a copied model does; a plain leaf keeps its gradient."""
    p, x = nbgrad.Parameter(nbgrad.ones(2)), nbgrad.ones(2, requires_grad=True)
    p.grad, x.grad = nbgrad.ones(2), nbgrad.ones(2)
    assert copy.deepcopy(p).grad is None and copy.deepcopy(p).requires_grad
    assert copy.deepcopy(x).grad.tolist() == [1.0, 1.0]


def test_an_inference_tensor_keeps_its_memory():
    """``set_`` outside of inference mode is refused, as every change of such a tensor is."""
    with nbgrad.inference_mode():
        x = nbgrad.ones(2)
    with pytest.raises(RuntimeError, match="inference"):
        x.set_(nbgrad.zeros(3))
    with nbgrad.inference_mode():
        assert x.set_(nbgrad.zeros(3)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nodes_stay_in_their_graph(attempt):
    """No node can be copied or pickled, an operation's as little as a leaf's."""
    node = (nbgrad.ones(2, requires_grad=True) * 2).grad_fn
    for each in (node, node.next_functions[0][0]):
        with pytest.raises(TypeError, match=type(each).__name__):
            attempt(each)
