"""``odeint`` and ``odeint_adjoint`` against solutions in closed form."""

from __future__ import annotations

import math

import pytest

import nbgrad
from nbgrad.integrate import odeint, odeint_adjoint

TIMES = nbgrad.tensor([0.0, 0.3, 0.35, 1.5], dtype=nbgrad.float64)
ORDER = {"euler": 1, "midpoint": 2, "heun2": 2, "heun3": 3, "rk4": 4}


def tensor(*numbers):
    """In double precision."""
    return nbgrad.tensor(numbers, dtype=nbgrad.float64)


def turning(t, y):
    """A rotation that grows faster with time: y(t) = y0 e**(i t**2 / 2)."""
    return t * nbgrad.stack((-y[1], y[0]))


def turned(t):
    """Its solution from (1, 0) at 0."""
    return nbgrad.stack(((t * t / 2).cos(), (t * t / 2).sin()), 1)


@pytest.mark.parametrize("method", ["dopri5", "bosh3", "adaptive_heun"])
def test_adaptive_steps_keep_their_tolerance(method):
    """At times within steps and at their ends, forwards and backwards; tighter tolerances are closer."""
    for tolerance in (1e-4, 1e-6):
        y = odeint(turning, tensor(1.0, 0.0), TIMES, rtol=tolerance, atol=tolerance, method=method)
        assert (y - turned(TIMES)).abs().max() < 20 * tolerance
        back = odeint(turning, y[-1], TIMES.flip(0), rtol=tolerance, atol=tolerance, method=method)
        assert (back - turned(TIMES.flip(0))).abs().max() < 40 * tolerance


@pytest.mark.parametrize("method", ORDER)
def test_fixed_steps_have_their_order(method):
    """Half of the step has 2**-order of the error; one loop computes the same."""

    def error(step, **options):
        y = odeint(turning, tensor(1.0, 0.0), TIMES, method=method, options={"step_size": step, **options})
        return float((y - turned(TIMES))[-1].norm())

    assert error(0.05) / error(0.025) == pytest.approx(2 ** ORDER[method], rel=0.2)
    if method == "rk4":
        assert error(0.1, scan=True) == pytest.approx(error(0.1), rel=1e-12)


def growing(k):
    """y' = k y + t for a parameter k."""
    return lambda t, y: k * y + t


def grown(k, y0, t):
    """Its solution from y0 at t[0], as a formula."""
    start = t[0]
    return (y0 + start / k + 1 / k**2) * (k * (t - start)).exp() - t / k - 1 / k**2


@pytest.mark.parametrize("solve", ["dopri5", "rk4", "scan", "adjoint", "seminorm"])
def test_gradients_are_those_of_the_solution(solve):
    """By the parameter, the first state and every time, the first one too."""
    k, y0, t = tensor(-0.7)[0].requires_grad_(), tensor(1.5).requires_grad_(), (TIMES + 0.2).requires_grad_()
    fixed = {"method": "rk4", "options": {"step_size": 0.02, "scan": solve == "scan"}}
    if solve in ("adjoint", "seminorm"):
        options = {"norm": "seminorm"} if solve == "seminorm" else None
        y = odeint_adjoint(growing(k), y0, t, adjoint_params=(k,), adjoint_options=options)
    else:
        y = odeint(growing(k), y0, t, **(fixed if solve != "dopri5" else {}))
    expected = grown(k, y0, t.unsqueeze(1))
    weights = tensor(1.0, -2.0, 0.5, 3.0).unsqueeze(1)
    for got, exact in zip(nbgrad.grad((weights * y).sum(), (k, y0, t)), nbgrad.grad((weights * expected).sum(), (k, y0, t))):
        assert got.allclose(exact, rtol=1e-5, atol=1e-6)


def test_states_may_be_tuples_modules_may_be_equations_and_steps_are_differentiable_twice():
    """A tuple comes back as one; the adjoint finds a module's parameters; odeint has second derivatives and compiles."""
    position, speed = odeint(lambda t, s: (s[1], -s[0]), (tensor(1.0), tensor(0.0)), TIMES)
    assert position.allclose(TIMES.cos().unsqueeze(1), atol=1e-6) and speed.allclose(-TIMES.sin().unsqueeze(1), atol=1e-6)

    class Equation(nbgrad.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nbgrad.nn.Linear(2, 2).double()

        def forward(self, t, y):
            return self.linear(y).tanh()

    equation, y0 = Equation(), nbgrad.ones(3, 2, dtype=nbgrad.float64)
    gradients = [nbgrad.grad(f(equation, y0, TIMES)[-1].sum(), [*equation.parameters()]) for f in (odeint, odeint_adjoint)]
    assert all(x.allclose(y, atol=1e-6) for x, y in zip(*gradients))
    k = tensor(-0.7)[0].requires_grad_()
    (first,) = nbgrad.grad(odeint(growing(k), tensor(1.5), TIMES)[-1].sum(), k, create_graph=True)
    (exact,) = nbgrad.grad(grown(k, tensor(1.5), TIMES.unsqueeze(1))[-1].sum(), k, create_graph=True)
    assert nbgrad.grad(first, k)[0].allclose(nbgrad.grad(exact, k)[0], rtol=1e-5)
    compiled = nbgrad.compile(lambda y: odeint(turning, y, TIMES, method="rk4"), fullgraph=True)
    assert compiled(tensor(1.0, 0.0)).allclose(odeint(turning, tensor(1.0, 0.0), TIMES, method="rk4"))


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (nbgrad.RangeError, "expected one of adaptive_heun", lambda y: odeint(turning, y, TIMES, method="rk5")),
        (nbgrad.RangeError, "options have step", lambda y: odeint(turning, y, TIMES, options={"step": 1})),
        (
            nbgrad.RangeError,
            "odeint_adjoint: step_size is 0",
            lambda y: odeint_adjoint(turning, y, TIMES, method="euler", options={"step_size": 0}, adjoint_params=()),
        ),
        (nbgrad.RangeError, "rise, or that fall", lambda y: odeint(turning, y, tensor(0.0, 1.0, 1.0))),
        (nbgrad.RangeError, "max_num_steps", lambda y: odeint(turning, y, TIMES, options={"max_num_steps": 2})),
        (nbgrad.RangeError, "too short", lambda y: odeint(lambda t, y: y * y, y, tensor(0.0, 2.0))),
        (nbgrad.ShapeError, "returned shape", lambda y: odeint(lambda t, y: y[:1], y, TIMES)),
        (nbgrad.ShapeError, "vector of times", lambda y: odeint(turning, y, TIMES[0])),
        (nbgrad.DTypeError, "y0 is int64", lambda y: odeint(turning, y.long(), TIMES)),
        (nbgrad.NotSupportedError, "events", lambda y: odeint(turning, y, TIMES, event_fn=len)),
        (nbgrad.ArgumentError, "adjoint_params", lambda y: odeint_adjoint(turning, y, TIMES)),
        (nbgrad.GraphError, "rk4", lambda y: nbgrad.compile(lambda y: odeint(turning, y, TIMES), fullgraph=True)(y)),
    ],
)
def test_what_is_refused(error, match, call):
    """Unknown methods and options, times out of order, slopes that do not fit, solutions that do not exist."""
    with pytest.raises(error, match=match):
        call(tensor(1.0, 0.0))


def test_a_solution_is_nowhere_better_than_its_dtype():
    """In float32 with the default tolerances the steps end, and the error is of a few epsilon."""
    y = odeint(turning, nbgrad.tensor([1.0, 0.0]), TIMES.float(), rtol=1e-6, atol=1e-6)
    assert y.dtype is nbgrad.float32 and float(y[-1].norm()) == pytest.approx(1, abs=1e-4) and math.isfinite(float(y.sum()))
