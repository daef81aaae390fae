"""Scaled losses: gradients are those without a scale, and steps that are not finite are left out."""

from __future__ import annotations

import math

import pytest

import nbgrad
from nbgrad.amp import GradScaler
from nbgrad.base.errors import NamingError, NotSupportedError, RangeError, UsageError


def made(**options):
    """A parameter, its optimizer, and a scaler."""
    p = nbgrad.ones(2, requires_grad=True)
    return p, nbgrad.optim.SGD([p], lr=0.5), GradScaler("cpu", init_scale=8.0, **options)


def test_steps_are_those_without_a_scale():
    """Also where gradients are clipped in between."""
    p, optimizer, scaler = made()
    scaler.scale((p * p).sum()).backward()
    assert p.grad.tolist() == [16.0, 16.0]
    scaler.unscale_(optimizer)
    nbgrad.nn.utils.clip_grad_value_([p], 1.0)
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 0.5]
    assert [each.item() for each in scaler.scale([p.sum(), p.sum()])] == [8.0, 8.0]


@pytest.mark.parametrize("bad", [math.inf, math.nan, -math.inf])
def test_steps_that_are_not_finite_are_left_out(bad):
    """The scale falls, and grows behind ``growth_interval`` steps in a row."""
    p, optimizer, scaler = made(growth_interval=2)
    scales = []
    for factor in (1.0, bad, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((p * nbgrad.tensor([1.0, factor])).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [8.0, 4.0, 4.0, 8.0] and p.tolist() == [-0.5, -0.5]


def test_states_and_what_is_off():
    """A state has torch's names and goes on; a scaler that is off changes nothing."""
    _, _, scaler = made()
    options = {"growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000}
    assert scaler.state_dict() == {"scale": 8.0, **options, "_growth_tracker": 0}
    other = GradScaler("cpu")
    other.load_state_dict({**scaler.state_dict(), "_growth_tracker": 7})
    assert other.get_scale() == 8.0 and other.state_dict()["_growth_tracker"] == 7
    with pytest.raises(NamingError, match="has no"):
        other.load_state_dict({})
    off = GradScaler("cpu", enabled=False)
    p, optimizer, _ = made()
    off.scale(p.sum()).backward()
    off.step(optimizer)
    off.update()
    assert p.tolist() == [0.5, 0.5] and off.state_dict() == {} and off.get_scale() == 1.0


def test_errors():
    """Steps in another order than torch allows, and factors out of range."""
    p, optimizer, scaler = made()
    with pytest.raises(UsageError, match="no gradients were looked at"):
        scaler.update()
    p.sum().backward()
    with pytest.raises(UsageError, match=r"no loss was scaled. Hint: scaler.scale\(loss\)"):
        scaler.step(optimizer)
    assert p.grad.tolist() == [1.0, 1.0] and p.tolist() == made()[0].tolist()
    p, optimizer, scaler = made()
    scaler.scale(p.sum())
    with pytest.raises(UsageError, match="no parameter of the optimizer has a gradient"):
        scaler.step(optimizer)
    p, optimizer, scaler = made()
    scaler.scale(p.sum()).backward()
    with pytest.raises(NotSupportedError, match="closure"):
        scaler.step(optimizer, closure=lambda: None)
    scaler.unscale_(optimizer)
    with pytest.raises(UsageError, match="since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(UsageError, match="since the last update"):
        scaler.step(optimizer)
    for options in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(RangeError, match="GradScaler: "):
            GradScaler("cpu", **options)
    half = nbgrad.ones(1, dtype=nbgrad.float16, requires_grad=True)
    half.grad = nbgrad.ones(1, dtype=nbgrad.float16)
    with pytest.raises(RangeError, match="a gradient is float16"):
        scaler.unscale_(nbgrad.optim.SGD([half], lr=0.1))
