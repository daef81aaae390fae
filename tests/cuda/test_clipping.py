"""Gradients of a GPU are clipped in few launches, without a wait; as on the CPU, to a rounding. Emulated, in a child."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
from nbgrad import cuda
from nbgrad.base.errors import GradError
from nbgrad.nn import utils

from .emulation import launches, on_gpus, played_driver, two_gpus

SHAPES = [(3, 5), (), (1,), (0, 2), (33_000,), (2, 3, 4), (16_384,), (5000,)]


def parameters(shapes, device, dtype=nbgrad.float32):
    """Leaves with gradients."""
    made, random = [], np.random.default_rng(0)
    for shape in shapes:
        values = random.normal(size=shape) + (1j * random.normal(size=shape) if dtype.is_complex else 0)
        p = nbgrad.zeros(shape, dtype=dtype, device=device, requires_grad=True)
        p.grad = nbgrad.tensor(values, dtype=dtype, device=device)
        made.append(p)
    return made


def gradients(params):
    """In float64."""
    return [nbgrad.view_as_real(g).numpy() if g.is_complex() else g.double().numpy() for g in (p.grad.cpu() for p in params)]


def assert_near(found, expected, rounding):
    """The same numbers, to a few roundings."""
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=rounding, atol=rounding)


@on_gpus
@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, math.inf, 0.0, -1.0])
@pytest.mark.parametrize("bound", [0.5, 1e6])
def test_norms_of_the_cpu(order, bound):
    """The norm and the gradients behind it, for every order."""
    shapes = [shape for shape in SHAPES if 0 not in shape] if order == math.inf else SHAPES
    here, there = parameters(shapes, "cpu"), parameters(shapes, "cuda")
    expected, found = (utils.clip_grad_norm_(each, bound, order) for each in (here, there))
    assert str(found.device) == "cuda:0" and not found.ndim
    np.testing.assert_allclose(found.item(), expected.item(), rtol=2e-6)
    assert_near(gradients(there), gradients(here), 2e-6)


@on_gpus
@pytest.mark.parametrize(("dtype", "rounding"), [("float64", 1e-14), ("float16", 1e-2), ("bfloat16", 4e-2), ("complex64", 2e-6)])
def test_other_dtypes(dtype, rounding):
    """Halves are added in a wider type; complex numbers count as pairs."""
    here, there = (parameters(SHAPES, device, getattr(nbgrad, dtype)) for device in ("cpu", "cuda"))
    expected, found = (utils.clip_grad_norm_(each, 1.0) for each in (here, there))
    np.testing.assert_allclose(found.item(), expected.item(), rtol=rounding)
    assert_near(gradients(there), gradients(here), rounding)


@on_gpus
def test_gradients_that_lie_otherwise():
    """Transposed, sliced, misaligned, expanded ones have the norm of what they show; misaligned ones with the same bits."""
    x = nbgrad.tensor(np.random.default_rng(0).normal(size=40_001), dtype=nbgrad.float32, device="cuda")
    for g in (x[1:10_001].view(100, 100).t(), x[:400].view(20, 20)[3:9, 2:11], x[7:9].sum().expand(5, 5)):
        expected = np.linalg.norm(g.cpu().double().numpy())
        np.testing.assert_allclose(utils.get_total_norm([g, x]).item(), math.hypot(expected, x.double().norm().item()), rtol=2e-6)
    assert utils.get_total_norm([x[1:]]).item() == utils.get_total_norm([x[1:].clone()]).item()


@two_gpus
def test_gradients_of_several_devices():
    """The norm is on the device of the first."""
    params = [*parameters(SHAPES, "cuda:1"), *parameters(SHAPES, "cuda:0")]
    same = parameters(SHAPES + SHAPES, "cpu")
    for p, q in zip(params, same):
        q.grad = p.grad.cpu()
    found, expected = utils.clip_grad_norm_(params, 1.0), utils.clip_grad_norm_(same, 1.0)
    assert str(found.device) == "cuda:1"
    np.testing.assert_allclose(found.item(), expected.item(), rtol=2e-6)
    assert_near(gradients(params), gradients(same), 2e-6)


@on_gpus
def test_values_are_clipped():
    """To the CPU's bits, also NaN."""
    here, there = parameters(SHAPES, "cpu"), parameters(SHAPES, "cuda")
    for params in (here, there):
        params[0].grad[0, 0] = math.nan
        utils.clip_grad_value_(params, 0.25)
    for x, y in zip(gradients(there), gradients(here)):
        np.testing.assert_array_equal(x, y)


@on_gpus
def test_launches_of_two_hundred_gradients():
    """Two launches to fold, one behind, three for the factor, two to scale; clipping of values takes two."""
    params = parameters([(7,)] * 200, "cuda")
    utils.clip_grad_norm_(params, 1.0)
    utils.clip_grad_value_(params, 1.0)
    assert launches(lambda: utils.clip_grad_norm_(params, 1.0)) <= 8
    assert launches(lambda: utils.clip_grad_value_(params, 1.0)) == 2


@on_gpus
def test_nothing_is_waited_for():
    """Unless an error is asked for, which says what the norm was."""
    params = parameters(SHAPES, "cuda")
    waits = ("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoH_v2")
    driver = played_driver()
    before = [driver.calls.get(name, 0) for name in waits]
    utils.clip_grad_norm_(params, 1.0)
    utils.clip_grad_norm_(params, 1.0, 3.0)
    utils.clip_grads_with_norm_(params, 1.0, utils.get_total_norm([p.grad for p in params]))
    utils.clip_grad_value_(params, 1.0)
    assert [driver.calls.get(name, 0) for name in waits] == before
    params[0].grad.fill_(math.inf)
    with pytest.raises(GradError, match="clip_grad_norm_: the norm of the gradients is inf"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    cuda.synchronize()
