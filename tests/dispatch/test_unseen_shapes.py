"""Shapes never seen before, numbers in front, and views of views: what is copied or made natively equals what is planned."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import nbgrad
from nbgrad.dispatch.elementwise_plans import PLANS
from nbgrad.tensors.layout import layout_of
from nbgrad.tensors.storage import CPU

RNG = np.random.default_rng(11)
DATA = RNG.normal(size=300).astype(np.float32)
FORMULAS = {
    "one operand": lambda x: x.tanh(),
    "twice the same layout": lambda x: x * x,
    "a number behind": lambda x: x * 2.5,
    "a number in front": lambda x: 1 - x,
    "an integer in front": lambda x: 3 / (x * x + 1),
    "a predicate": lambda x: x > 0.5,
    "a single element": lambda x: x * x[0],
    "a sum": lambda x: x.sum(),
    "a mean": lambda x: x.mean(),
}


def numpy_of(name: str, a: np.ndarray):
    """The formula on float64."""
    tanh, mean = np.tanh(a), a.mean() if a.size else np.nan
    return {
        "one operand": tanh,
        "twice the same layout": a * a,
        "a number behind": a * 2.5,
        "a number in front": 1 - a,
        "an integer in front": 3 / (a * a + 1),
        "a predicate": a > 0.5,
        "a single element": a * a[:1],
        "a sum": a.sum(),
        "a mean": mean,
    }[name]


@pytest.mark.parametrize("name", FORMULAS)
def test_every_size_gives_the_values_of_numpy(name):
    """Sizes one after the other, each a shape that no plan was made for."""
    x = nbgrad.tensor(DATA)
    for n in range(1, 40):
        got = FORMULAS[name](x[:n]).numpy()
        np.testing.assert_allclose(got, numpy_of(name, DATA[:n].astype(np.float64)), rtol=3e-6, atol=1e-6)


def test_a_plan_of_a_known_kind_is_copied():
    """The plan of another shape has the record of the first, and its own layouts."""
    nbgrad.tensor(DATA[:7]).cosh()
    nbgrad.tensor(DATA[:8]).reshape(2, 4).cosh()
    first, second = (PLANS["cosh"][layout_of(nbgrad.float32, shape, None, nbgrad.device("cpu"))] for shape in ((7,), (2, 4)))
    assert second.record is first.record and second is not first
    assert second.outs[0].layout.shape == (2, 4) and second.operands[0].shape == (2, 4)
    assert layout_of(nbgrad.float32, (9,), None, CPU).kind in PLANS["cosh"].patterns


@pytest.mark.parametrize("size", [0, 1, 5])
def test_gradients_at_new_sizes(size):
    """d/dx sum(x * (1 - x)) = 1 - 2x at every size, empty included."""
    x = nbgrad.tensor(DATA[:size], requires_grad=True)
    (x * (1 - x)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 - 2 * DATA[:size], rtol=1e-6, atol=1e-6)


def test_a_zero_dimensional_tensor_is_a_kind_of_its_own():
    """A float64 number in front of a 0-d integer tensor and of a 1-d one give the default float, in either order of calls."""
    for shape in ((3,), (), (2, 2), ()):
        assert (1.5 - nbgrad.ones(shape, dtype=nbgrad.int64)).dtype is nbgrad.float32


def test_bool_in_front_is_no_fast_kind():
    """True * x is planned by the general path every time, with the value of x."""
    for n in (3, 4):
        x = nbgrad.tensor(DATA[:n])
        np.testing.assert_array_equal((True * x).numpy(), DATA[:n])


def test_large_and_small_sizes_of_one_kind_agree():
    """One record serves a size that threads share and one that the caller computes alone."""
    large = nbgrad.tensor(np.linspace(-2, 2, 400_000, dtype=np.float32))
    whole = large.sin().numpy()
    for n in (1, 511, 512, 513, 100_000):
        np.testing.assert_array_equal(large[:n].sin().numpy(), whole[:n])


@pytest.mark.parametrize("recorded", [True, False])
def test_views_of_views_share_base_and_chain(recorded):
    """A view made natively from a view has the first tensor for its base, and the gradient of its place."""
    x = nbgrad.tensor(DATA[:24], requires_grad=recorded)
    view = x.view(4, 6).transpose(0, 1)[2]
    assert view._base is x and view.requires_grad is recorded
    np.testing.assert_array_equal(view.detach().numpy(), DATA[:24].reshape(4, 6).T[2])
    if recorded:
        (view * 2).sum().backward()
        expected = np.zeros((4, 6), np.float32)
        expected[:, 2] = 2
        np.testing.assert_array_equal(x.grad.numpy(), expected.ravel())


def test_a_view_of_an_outdated_view_has_the_new_history():
    """After a write through another view, a view of the older one leads through that write."""
    x = nbgrad.tensor(DATA[:6], requires_grad=True)
    y = x.clone()
    older = y.view(2, 3)
    y[:3].mul_(5.0)
    older[0].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.array([5, 5, 5, 0, 0, 0], np.float32))


def test_a_view_made_without_recording_is_marked():
    """A view of a view under no_grad cannot be written to where the write is recorded."""
    y = nbgrad.tensor(DATA[:6], requires_grad=True).clone()
    older = y.view(2, 3)
    with nbgrad.no_grad():
        row = older[0]
    with pytest.raises(RuntimeError, match="no_grad"):
        row.mul_(2.0)


def test_only_the_nodes_that_lead_to_inputs_run():
    """grad of all leaves and of one give the same; a branch that leads to no wanted leaf does not run."""
    a, b = (nbgrad.tensor(DATA[:3] + k, requires_grad=True) for k in (1, 2))
    ran = []
    aside = b * 2
    aside.register_hook(lambda g: ran.append(1))
    out = (a * aside).sum()
    both = nbgrad.grad(out, (a, b), retain_graph=True)
    assert ran == [1]
    (alone,) = nbgrad.grad(out, (a,))
    assert ran == [1]
    np.testing.assert_array_equal(both[0].numpy(), alone.numpy())
    np.testing.assert_allclose(both[1].numpy(), 2 * a.detach().numpy(), rtol=1e-6)


def test_a_sum_over_the_last_dimension_is_not_the_sum_of_all():
    """After a row was summed over its only dimension, a matrix is still summed over its last one."""
    a = RNG.normal(size=(3, 4)).astype(np.float32)
    for name in ("sum", "mean", "amax", "prod"):
        getattr(nbgrad.tensor(a[0]), name)(-1)
        np.testing.assert_allclose(getattr(nbgrad.tensor(a), name)(-1).numpy(), getattr(np, name)(a, -1), rtol=1e-5)


@pytest.mark.parametrize("start, step", [(0, 1), (3, 1), (0, 2), (5, 3)])
def test_gradients_of_slices_at_new_sizes(start, step):
    """d/dx sum(x[start:n:step] * y) is y at those positions and 0 elsewhere, whatever n."""
    y = nbgrad.tensor(DATA)
    for n in (0, 1, 4, 5, 6, 7, 40, 299, 300, 400):
        x = nbgrad.tensor(DATA, requires_grad=True)
        (x[start:n:step] * y[start:n:step]).sum().backward()
        expected = np.zeros_like(DATA)
        expected[start:n:step] = DATA[start:n:step]
        np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_a_copied_plan_of_a_backward_kernel_has_its_own_layouts():
    """Cotangents that are full, and that show one element everywhere, at many sizes and through another product."""
    for n in range(2, 30):
        x, w = nbgrad.tensor(DATA[:n], requires_grad=True), nbgrad.tensor(DATA[n : 2 * n])
        (x * x * w).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * DATA[:n] * DATA[n : 2 * n], rtol=1e-5)
        x.grad = None
        (x * w).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), DATA[n : 2 * n])


def test_few_objects_stay_behind_for_a_new_shape():
    """What a shape never seen before leaves for the collector to look at, in a step forward and backward."""
    x, y = nbgrad.tensor(np.ones(5000, np.float32), requires_grad=True), nbgrad.tensor(np.ones(5000, np.float32))

    def step(n):
        x.grad = None
        (x[:n] * y[:n]).sum().backward()

    for n in range(1, 60):
        step(n)
    gc.collect()
    before = len(gc.get_objects())
    for n in range(2000, 2100):
        step(n)
    gc.collect()
    assert len(gc.get_objects()) - before < 100 * 34


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "argmax"])
def test_an_extremum_of_nothing_is_refused(name):
    """Also by a plan that serves other sizes."""
    for n in (3, 5):
        getattr(nbgrad.ones(n), name)()
    with pytest.raises(nbgrad.DimError, match=name[-3:]):
        getattr(nbgrad.ones(0), name)()
