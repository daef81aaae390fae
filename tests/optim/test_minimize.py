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


def hill(x):
    """A loss of three numbers, for tensors and arrays."""
    return ((x[1:] - x[:-1] ** 2) ** 2).sum() + ((1 - x) ** 2).sum()


def hill_slope(x):
    """Its derivative."""
    bent = np.append(x[1:] - x[:-1] ** 2, 0)
    return np.append(0, 2 * bent[:-1]) - 4 * x * bent - 2 * (1 - x)


def round_ball(x):
    """Two functions that constraints limit."""
    return x[0] ** 2 + x[1] ** 2 + x[2] ** 2, x[0] * x[1]


def ball_slopes(x):
    """Their derivatives."""
    return np.array([2 * x, [x[1], x[0], 0]])


def ball_bend(x, v):
    """The second derivatives of a sum of both."""
    return 2 * v[0] * np.eye(3) + v[1] * np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("method", "form"),
    [
        ("SLSQP", "dict"),
        ("SLSQP", "constraint"),
        ("trust-constr", "constraint"),
        ("trust-constr", "linear"),
        ("COBYLA", "constraint"),
    ],
)
def test_constraints_lead_where_scipys_own_functions_do(method, form):
    """With Jacobians and Hessians of ours, of one or two tensors, in as many steps as with those by hand."""
    start, x = [0.1, 0.4, 0.3], parameter(0.1, 0.4, 0.3)
    tensors = lambda: round_ball(x)
    arrays = lambda v: np.array(round_ball(v))
    slopes = {} if method == "COBYLA" else {"jac": hill_slope}
    if form == "linear":
        ours = by_hand = optimize.LinearConstraint([[1, 1, 1], [1, -1, 0]], [-np.inf, -0.25], [1.5, 0.25])
    elif form == "dict":
        ours = [{"type": "ineq", "fun": lambda: 1 - tensors()[0]}, {"type": "ineq", "fun": lambda: tensors()[1] - 0.1}]
        by_hand = [
            {"type": "ineq", "fun": lambda v: 1 - arrays(v)[0], "jac": lambda v: -ball_slopes(v)[0]},
            {"type": "ineq", "fun": lambda v: arrays(v)[1] - 0.1, "jac": lambda v: ball_slopes(v)[1]},
        ]
    else:
        second = {"hess": ball_bend} if method == "trust-constr" else {}
        low, high = [0.2, 0.1], nbgrad.tensor([1.0, 0.3])
        ours = optimize.NonlinearConstraint(tensors, low, high)
        by_hand = optimize.NonlinearConstraint(arrays, low, high.tolist(), jac=ball_slopes, **second)
    options = {"maxiter": 20 if method == "trust-constr" else 60}
    if method == "trust-constr":
        slopes["hess"] = lambda v: nbgrad.func.hessian(hill)(nbgrad.tensor(v)).numpy()
    found = optim.scipy_minimize(lambda: hill(x), x, method, constraints=ours, options=options)
    expected = optimize.minimize(hill, start, method=method, constraints=by_hand, options=options, **slopes)
    np.testing.assert_allclose(x.detach().numpy(), expected.x, atol=1e-6)
    assert found.fun == pytest.approx(expected.fun, abs=1e-8) and found.nfev == expected.nfev
    if method == "trust-constr":
        assert found.nit == expected.nit


def test_constraints_of_several_parameters_and_of_none():
    """Limits of tensors of any shape, beside bounds; a loss that is in the way of a constraint; what is no constraint."""
    x, y = parameter(2.0, 1.0), nbgrad.tensor([[1.5]], dtype=nbgrad.float64, requires_grad=True)
    ours = optimize.NonlinearConstraint(lambda: (x * y, y), 0.0, 0.75)
    result = optim.scipy_minimize(lambda: bowl(x, y), [x, y], "SLSQP", constraints=[ours], bounds=[(0.0, 1.0), None], tol=1e-10)
    assert result.success and (x <= 1 + 1e-8).all() and (x * y).max() < 0.75 + 1e-8 and y.item() < 0.75 + 1e-8
    with pytest.raises(ArgumentError, match="constraints: a str came"):
        optim.scipy_minimize(lambda: bowl(x, y), [x, y], constraints="ball")
    with pytest.raises(ArgumentError, match="a constraint returned a float"):
        optim.scipy_minimize(lambda: bowl(x, y), [x, y], constraints={"type": "eq", "fun": lambda: 1.0})
