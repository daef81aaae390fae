"""Gradient clipping, against the norm of all gradients as one vector in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import ArgumentError, GradError
from nbgrad.nn.utils import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm


def parameters(*grads):
    """Parameters with the given gradients."""
    made = []
    for grad in grads:
        made.append(nbgrad.Parameter(nbgrad.zeros(len(grad), dtype=nbgrad.float64)))
        made[-1].grad = nbgrad.tensor(grad, dtype=nbgrad.float64)
    return made


def grads(params):
    """All gradients as one vector."""
    return np.concatenate([p.grad.numpy() for p in params])


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_norm_and_scale(p):
    """The norm before scaling is returned; the one after is the bound; the direction stays."""
    params = [*parameters([3.0, -4.0], [12.0]), nbgrad.Parameter(nbgrad.zeros(2))]
    before = grads(params[:2])
    norm = np.linalg.norm(before, p)
    assert clip_grad_norm_(params, 2.0, p).item() == pytest.approx(norm)
    np.testing.assert_allclose(grads(params[:2]), before * 2 / norm, rtol=1e-6)
    assert params[2].grad is None


def test_the_order_may_be_named():
    """ "inf" is the order that ``math.inf`` is; another text is refused, and nothing is scaled."""
    params = parameters([3.0, -4.0])
    assert get_total_norm([each.grad for each in params], "inf").item() == 4
    assert clip_grad_norm_(params, 2.0, norm_type="inf").item() == 4
    np.testing.assert_allclose(grads(params), [1.5, -2.0], rtol=1e-6)
    with pytest.raises(nbgrad.ArgumentError, match="norm_type must be a number, got 'all'"):
        clip_grad_norm_(params, 1.0, "all")
    np.testing.assert_allclose(grads(params), [1.5, -2.0], rtol=1e-6)


def test_small_gradients_are_left_alone():
    """A norm within the bound changes nothing, bit for bit."""
    params = parameters([0.3, 0.4])
    clip_grad_norm_(iter(params), 1.0)
    assert grads(params).tolist() == [0.3, 0.4]


def test_no_gradients():
    """Without gradients the norm is 0."""
    for p in (2.0, math.inf, 0, -1.0):
        assert clip_grad_norm_([nbgrad.Parameter(nbgrad.zeros(1))], 1.0, p).item() == 0


def test_errors():
    """A norm that is not finite is refused on request, before anything is scaled."""
    params = parameters([math.inf, 1.0])
    with pytest.raises(GradError, match="the norm of the gradients is inf"):
        clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert grads(params)[1] == 1.0


@pytest.mark.parametrize("p", [0, -1.0, -2.0, -math.inf])
def test_orders_that_are_not_positive(p):
    """They are the norm, by that order, of the tensors' norms: of order 0 the number of tensors that are not zero."""
    values = [3.0, -4.0], [12.0, 1.0], [0.0, 0.0] if p == 0 else [2.0, 1.0]
    params = parameters(*values)
    norm = np.linalg.norm([np.linalg.norm(value, p) for value in values], p)
    assert get_total_norm([each.grad for each in params], p).item() == pytest.approx(norm)
    assert clip_grad_norm_(params, 0.5, p).item() == pytest.approx(norm)
    np.testing.assert_allclose(grads(params), np.concatenate(values) * min(1, 0.5 / norm), rtol=1e-5)


CLIPS = {
    "clip_grad_norm_": clip_grad_norm_,
    "clip_grad_value_": clip_grad_value_,
    "clip_grads_with_norm_": lambda params, bound: clip_grads_with_norm_(params, bound, nbgrad.tensor(4.0)),
}


@pytest.mark.parametrize("name", [*CLIPS, "get_total_norm"])
def test_what_is_no_parameters(name):
    """A module, or its method, is refused with the call that was meant."""
    clip, layer = CLIPS.get(name, get_total_norm), nbgrad.nn.Linear(2, 1)
    with pytest.raises(ArgumentError, match=rf"^{name}: .* got Linear. Hint: call model.parameters\(\)"):
        clip(layer, 1.0)
    with pytest.raises(ArgumentError, match=r"Hint: call model.named_parameters\(\)"):
        clip(layer.named_parameters, 1.0)


@pytest.mark.parametrize("name", CLIPS)
def test_a_bound_that_is_no_number(name):
    """It is refused by name, and nothing is clipped."""
    params = parameters([3.0, 4.0])
    with pytest.raises(ArgumentError, match=rf"^{name}: (max_norm|clip_value) must be a number, got None"):
        CLIPS[name](params, None)
    assert grads(params).tolist() == [3.0, 4.0]
