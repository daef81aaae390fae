"""SciPy's minimisers on parameters."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import optimize

import nbgrad
from nbgrad import optim
from nbgrad.base.errors import ArgumentError, NotSupportedError, RangeError, ShapeError

METHODS = ["Nelder-Mead", None, "Newton-CG", "SLSQP", "dogleg", "trust-constr"]


def parameter(*numbers, dtype=nbgrad.float64):
    """A leaf."""
    return nbgrad.tensor(numbers, dtype=dtype, requires_grad=True)


def bowl(x, y):
    """Least at 1, 2 and 1; convex, so that its Hessian is positive everywhere."""
    return (x - nbgrad.tensor([1.0, 2.0], dtype=x.dtype)).pow(2).sum() + (y * y - 1).square().sum() + (x[0] - y[0, 0]) ** 2 + 3


@pytest.mark.parametrize("method", METHODS)
def test_the_minimum_is_found(method):
    """Of several parameters, with all that a method takes, and with steps that SciPy's own function would take."""
    x, y = parameter(0.5, 3.0), nbgrad.tensor([[1.5]], dtype=nbgrad.float64, requires_grad=True)
    result = optim.scipy_minimize(lambda: bowl(x, y), [x, y], method, tol=1e-9)
    assert result.fun == pytest.approx(3, abs=1e-8)
    np.testing.assert_allclose([*x.tolist(), y.item()], [1, 2, 1], atol=1e-4)
    assert result.x.tolist() == [*x.tolist(), y.item()] and x.grad is None


def test_derivatives_are_those_of_scipys_own_function():
    """With SciPy's Rosenbrock function and its derivatives, as many evaluations lead to the same place."""
    for method, given in (
        ("BFGS", {}),
        ("Newton-CG", {"hessp": optimize.rosen_hess_prod}),
        ("trust-exact", {"hess": optimize.rosen_hess}),
    ):
        expected = optimize.minimize(optimize.rosen, [-1.2, 1.0, 0.7], method=method, jac=optimize.rosen_der, **given)
        x = parameter(-1.2, 1.0, 0.7)
        found = optim.scipy_minimize(lambda x=x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), x, method)
        np.testing.assert_allclose(x.detach().numpy(), expected.x, atol=1e-5)
        assert abs(found.nit - expected.nit) <= 2


def test_bounds_of_all_or_of_each():
    """Numbers, tensors that broadcast, open ends, SciPy's own."""
    for bounds, expected in (
        ((None, 0.5), [0.5, 0.5, 0.5]),
        ([(nbgrad.tensor([-1.0, 3.0]), None), None], [1, 3, 1]),
        (optimize.Bounds([2, -9, -9], [9, 1, 9]), [2, 1, np.cbrt(1)]),
    ):
        x, y = parameter(2.0, 1.0), nbgrad.tensor([[1.5]], dtype=nbgrad.float64, requires_grad=True)
        optim.scipy_minimize(lambda x=x, y=y: bowl(x, y), [x, y], "L-BFGS-B", bounds=bounds, tol=1e-12)
        np.testing.assert_allclose(x.tolist(), expected[:2], atol=1e-5)


def test_other_dtypes_modules_and_unused_parameters():
    """float32 and complex parameters move in their dtype; one that the loss does not use stays."""
    model, z, other = nbgrad.nn.Linear(2, 1), parameter(0.0, dtype=nbgrad.complex64), parameter(5.0)
    inputs = nbgrad.tensor([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]])
    targets = inputs @ nbgrad.tensor([[2.0], [-1.0]]) + 0.5

    def loss():
        return (model(inputs) - targets).square().sum() + (z - (1 + 2j)).abs().square().sum()

    assert optim.scipy_minimize(loss, [*model.parameters(), z, other], "L-BFGS-B").success
    np.testing.assert_allclose(model.weight.tolist(), [[2, -1]], atol=1e-2)
    np.testing.assert_allclose(z.tolist(), [1 + 2j], atol=1e-2)
    assert other.item() == 5 and model.weight.dtype is nbgrad.float32


def test_errors(monkeypatch):
    """What is no problem is refused, and an error of the function leaves parameters as they were."""
    x = parameter(1.0, 2.0)
    for fn, params, given, error, message in (
        (3, x, {}, ArgumentError, "expected a function, got int"),
        (lambda: 1.0, x, {}, ArgumentError, "fn returned a float, expected a tensor"),
        (lambda: x * 2, x, {}, ShapeError, r"shape \(2,\), expected one element"),
        (lambda: x.sum(), [x, x * 2], {}, ArgumentError, r"params\[1\] is the result of an operation"),
        (lambda: x.sum(), [], {}, RangeError, "params is empty"),
        (lambda: x.sum(), x, {"bounds": 3}, ArgumentError, "bounds is 3, expected a pair"),
        (lambda: x.sum(), x, {"bounds": (2, 1)}, RangeError, "a least value is above"),
        (lambda: x.sum(), x, {"bounds": (nbgrad.ones(3), None)}, ShapeError, "does not broadcast"),
    ):
        with pytest.raises(error, match=message):
            optim.scipy_minimize(fn, params, **given)

    def fails():
        raise KeyError("mine")

    calls = iter([lambda: (x * x).sum(), lambda: (x * x).sum(), fails])
    with pytest.raises(KeyError, match="mine"):
        optim.scipy_minimize(lambda: next(calls)(), x)
    assert x.tolist() == [1.0, 2.0]
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(NotSupportedError, match="SciPy is not installed"):
        optim.scipy_minimize(lambda: x.sum(), x)
