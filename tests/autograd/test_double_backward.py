"""Higher orders: identities that hold for every smooth function and need no reference values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
from tests.helpers import const, leaf

F64 = nbgrad.float64


def mixture(x):
    """A vector function of three variables that couples all of them through saved inputs, outputs and views."""
    y = x.exp() * x.flip(0)
    return nbgrad.stack([(y[:2] * x[1:]).sum(), (x.tanh() * y).sum(), (x @ x).sqrt() / (1 + x[0].sigmoid())])


def scalar(x):
    """A scalar function of the same kind."""
    return (mixture(x) * mixture(x)[0]).sum()


POINT = [0.3, -0.7, 1.1]


def jacobian_by_differences(f, point, step=1e-6):
    """Central differences of ``f`` at ``point``, one column an input, with error of order step^2."""
    columns = []
    for i in range(len(point)):
        up, down = list(point), list(point)
        up[i] += step
        down[i] -= step
        columns.append((f(const(up)) - f(const(down))).numpy() / (2 * step))
    return np.stack(columns, axis=-1)


def hessian(f, x):
    """The Hessian of the scalar function ``f`` by rows of double backward."""
    (g,) = nbgrad.grad(f(x), x, create_graph=True)
    return np.stack([nbgrad.grad(g[i], x, retain_graph=True)[0].numpy() for i in range(x.shape[0])])


def test_gradient_against_differences():
    """v^T J by reverse mode is v^T times the Jacobian by differences."""
    x, v = leaf(POINT), [0.5, -2.0, 1.5]
    (g,) = nbgrad.grad(mixture(x), x, const(v))
    np.testing.assert_allclose(g.numpy(), np.array(v) @ jacobian_by_differences(mixture, POINT), rtol=1e-7, atol=1e-8)


def test_hessian_is_symmetric():
    """Mixed second derivatives agree in either order."""
    h = hessian(scalar, leaf(POINT))
    np.testing.assert_allclose(h, h.T, rtol=1e-12, atol=1e-12)


def test_hessian_against_differences_of_the_gradient():
    """Second derivatives are the differences of first ones."""

    def slope(x):
        x = x.detach().requires_grad_()
        return nbgrad.grad(scalar(x), x)[0]

    differences = jacobian_by_differences(slope, POINT)
    np.testing.assert_allclose(hessian(scalar, leaf(POINT)), differences, rtol=1e-6, atol=1e-7)


def test_forward_product_from_two_reverse_passes():
    """The derivative by v of v^T J, contracted with t, is J t."""
    x, v, t = leaf(POINT), leaf([0.0, 0.0, 0.0]), [1.0, -0.5, 2.0]
    (vj,) = nbgrad.grad(mixture(x), x, v, create_graph=True)
    (jt,) = nbgrad.grad(vj, v, const(t))
    np.testing.assert_allclose(jt.numpy(), jacobian_by_differences(mixture, POINT) @ t, rtol=1e-7, atol=1e-8)


def test_gradient_is_linear_in_the_seed():
    """The gradient for a u + b w is the same combination of those for u and w."""
    x, u, w = leaf(POINT), const([1.0, 2.0, 3.0]), const([-1.0, 0.5, 0.25])

    def pull(seed):
        return nbgrad.grad(mixture(x), x, seed)[0].numpy()

    np.testing.assert_allclose(pull(2 * u - 3 * w), 2 * pull(u) - 3 * pull(w), rtol=1e-13)


def test_zero_seed_gives_zeros():
    """The gradient for a zero seed is exactly zero."""
    x = leaf(POINT)
    assert nbgrad.grad(mixture(x), x, const([0.0, 0.0, 0.0]))[0].tolist() == [0.0, 0.0, 0.0]


def test_hessian_vector_product_two_ways():
    """grad of <g, t> is H t, where H comes by rows."""
    x, t = leaf(POINT), const([1.0, -0.5, 2.0])
    (g,) = nbgrad.grad(scalar(x), x, create_graph=True)
    (ht,) = nbgrad.grad(g, x, t)
    np.testing.assert_allclose(ht.numpy(), hessian(scalar, x) @ t.numpy(), rtol=1e-12)


def test_every_order_of_a_power():
    """The n-th derivative of x^5 is exact for all n, the sixth zero."""
    x = leaf(2.0)
    y = x**5
    values = []
    for _ in range(6):
        (y,) = nbgrad.grad(y, x, create_graph=True)
        values.append(y.item())
    assert values == [80.0, 160.0, 240.0, 240.0, 120.0, 0.0]


def test_every_order_of_exp():
    """Each derivative of exp is exp itself."""
    x = leaf(0.5)
    y = x.exp()
    for _ in range(6):
        (y,) = nbgrad.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(math.exp(0.5), rel=1e-15)


def test_four_derivatives_of_sine():
    """sin, differentiated four times, comes back."""
    x = leaf(0.7)
    y = x.sin()
    for expected in (math.cos(0.7), -math.sin(0.7), -math.cos(0.7), math.sin(0.7)):
        (y,) = nbgrad.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected, rel=1e-15)


def test_second_derivative_of_a_linear_map_is_absent():
    """The gradient of a linear function does not depend on its input, and says so."""
    x = leaf([1.0, 2.0])
    (g,) = nbgrad.grad((3 * x).sum(), x, create_graph=True)
    assert not g.requires_grad
    with pytest.raises(RuntimeError):
        nbgrad.grad(g.sum(), x)


def test_training_through_a_gradient_norm():
    """A loss that contains the norm of a gradient is differentiated by the parameter."""
    x_value = [0.5, -1.0, 2.0]

    def penalty(w):
        x = leaf(x_value)
        (g,) = nbgrad.grad((w * x).tanh().sum() + (w * x * x).sum(), x, create_graph=True)
        return (g * g).sum().sqrt()

    w = leaf(0.8)
    (slope,) = nbgrad.grad(penalty(w), w)
    step = 1e-6
    difference = (penalty(leaf(0.8 + step)).item() - penalty(leaf(0.8 - step)).item()) / (2 * step)
    assert slope.item() == pytest.approx(difference, rel=1e-7)


REARRANGED = {
    "views": lambda x: (x.view(3, 1).t()[0] ** 3).sum(),
    "index": lambda x: (x[nbgrad.tensor([2, 0, 1])] ** 3).sum(),
    "cat": lambda x: (nbgrad.cat([x[:1], x[1:]]) ** 3).sum(),
    "broadcast": lambda x: (x.expand(2, 3) ** 3).sum() / 2,
    "stack_select": lambda x: sum(row[i] ** 3 for i, row in enumerate(nbgrad.stack([x, x, x]))),
    "split": lambda x: sum((part**3).sum() for part in x.split(2)),
    "gather": lambda x: (x.gather(0, nbgrad.tensor([1, 2, 0])) ** 3).sum(),
    "inplace": lambda x: (x * 1).pow_(3).sum(),
    "matmul": lambda x: (x * x) @ x,
    "diagonal": lambda x: (((x * nbgrad.eye(3, dtype=F64)) + nbgrad.zeros(3, 3, dtype=F64)).diagonal() ** 3).sum(),
    "where": lambda x: nbgrad.where(x > 0, x**3, x * x * x).sum(),
    "accumulated": lambda x: x[0] ** 3 + x[1] ** 3 + x[2] ** 3,
}


@pytest.mark.parametrize("f", REARRANGED.values(), ids=REARRANGED)
def test_second_derivative_does_not_depend_on_the_wording(f):
    """However sum(x^3) is written, its Hessian is diag(6 x)."""
    np.testing.assert_allclose(hessian(f, leaf(POINT)), np.diag(6 * np.array(POINT)), rtol=1e-13, atol=1e-13)


def test_straight_through():
    """y + (z - z.detach()) has y's value and the gradients of both."""
    x = leaf([1.0, 2.0])
    y, z = x * 3, x * x
    out = y + (z - z.detach())
    out.sum().backward()
    assert out.tolist() == [3.0, 6.0] and x.grad.tolist() == [5.0, 7.0]


def test_double_backward_of_a_sum_over_paths():
    """Where several paths meet, their cross terms appear in the second derivative."""
    x = leaf([2.0, 3.0])
    a, b = x[0] * x[1], x[0] + x[1]
    h = hessian(lambda _: a * b, x)  # x0^2 x1 + x0 x1^2
    assert h.tolist() == [[6.0, 10.0], [10.0, 4.0]]
