"""``odeint`` and ``odeint_adjoint`` against solutions in closed form."""

from __future__ import annotations

import math

import pytest

import nbgrad
from nbgrad.integrate import odeint, odeint_adjoint, odeint_event

TIMES = nbgrad.tensor([0.0, 0.3, 0.35, 1.5], dtype=nbgrad.float64)
ORDER = {"euler": 1, "midpoint": 2, "heun2": 2, "heun3": 3, "rk4": 4, "explicit_adams": 4, "implicit_adams": 4}


def tensor(*numbers):
    """In double precision."""
    return nbgrad.tensor(numbers, dtype=nbgrad.float64)


def turning(t, y):
    """A rotation that grows faster with time: y(t) = y0 e**(i t**2 / 2)."""
    return t * nbgrad.stack((-y[1], y[0]))


def turned(t):
    """Its solution from (1, 0) at 0."""
    return nbgrad.stack(((t * t / 2).cos(), (t * t / 2).sin()), 1)


@pytest.mark.parametrize("method", ["dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun"])
def test_adaptive_steps_keep_their_tolerance(method):
    """At times within steps and at their ends, forwards and backwards; tighter tolerances are closer."""
    for tolerance in (1e-4, 1e-6):
        y = odeint(turning, tensor(1.0, 0.0), TIMES, rtol=tolerance, atol=tolerance, method=method)
        loose = 500 if method == "fehlberg2" else 20  # of which the estimate is far below the error
        assert (y - turned(TIMES)).abs().max() < loose * tolerance
        back = odeint(turning, y[-1], TIMES.flip(0), rtol=tolerance, atol=tolerance, method=method)
        assert (back - turned(TIMES.flip(0))).abs().max() < 2 * loose * tolerance


@pytest.mark.parametrize("method", ORDER)
def test_fixed_steps_have_their_order(method):
    """Half of the step has 2**-order of the error; one loop computes the same."""

    def error(step, **options):
        y = odeint(turning, tensor(1.0, 0.0), TIMES, method=method, options={"step_size": step, **options})
        return float((y - turned(TIMES))[-1].norm())

    assert error(0.05) / error(0.025) == pytest.approx(2 ** ORDER[method], rel=0.3 if "adams" in method else 0.2)
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
        (nbgrad.RangeError, "expected one of fehlberg2, adaptive_heun", lambda y: odeint(turning, y, TIMES, method="rk5")),
        (nbgrad.RangeError, "options have step", lambda y: odeint(turning, y, TIMES, options={"step": 1})),
        (
            nbgrad.RangeError,
            "odeint_adjoint: step_size is 0",
            lambda y: odeint_adjoint(turning, y, TIMES, method="euler", options={"step_size": 0}, adjoint_params=()),
        ),
        (
            nbgrad.RangeError,
            "expected times from",
            lambda y: odeint(turning, y, TIMES, method="euler", options={"grid_points": TIMES[1:]}),
        ),
        (
            nbgrad.RangeError,
            "too short",
            lambda y: odeint(lambda t, y: y**2, y, TIMES, event_fn=lambda t, y: y[0], options={"max_step": 0.9}),
        ),
        (nbgrad.ShapeError, "rtol has 1 parts", lambda y: odeint(turning, y, TIMES, rtol=(1e-3,))),
        (nbgrad.RangeError, "rise, or that fall", lambda y: odeint(turning, y, tensor(0.0, 1.0, 1.0))),
        (nbgrad.RangeError, "max_num_steps", lambda y: odeint(turning, y, TIMES, options={"max_num_steps": 2})),
        (nbgrad.RangeError, "too short", lambda y: odeint(lambda t, y: y * y, y, tensor(0.0, 2.0))),
        (nbgrad.ShapeError, "returned shape", lambda y: odeint(lambda t, y: y[:1], y, TIMES)),
        (nbgrad.ShapeError, "vector of times", lambda y: odeint(turning, y, TIMES[0])),
        (nbgrad.DTypeError, "y0 is int64", lambda y: odeint(turning, y.long(), TIMES)),
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


G = 9.81


def thrown(t, state):
    """A height, a speed, and gravity."""
    return state[1], -G + 0 * state[1]


@pytest.mark.parametrize("way", ["dopri5", "rk4", "adjoint", "back"])
def test_events_end_a_solution_and_have_gradients(way):
    """A throw from height x with speed v reaches the ground at (v + sqrt(v**2 + 2 g x)) / g, with speed -sqrt(v**2 + 2 g x)."""
    x, v, start = tensor(2.0).requires_grad_(), tensor(3.0).requires_grad_(), tensor(0.5)[0].requires_grad_()
    how = {"rk4": {"method": "rk4", "options": {"step_size": 0.07}}, "adjoint": {"adjoint_params": ()}}.get(way, {})
    if way == "back":  # where it was on the ground before
        how = {"reverse_time": True}
    interface = odeint_adjoint if way == "adjoint" else odeint
    ground = lambda t, state: nbgrad.cat((state[0], state[0] - 50))
    time, (height, speed) = odeint_event(thrown, (x, v), start, event_fn=ground, odeint_interface=interface, **how)
    sign = -1 if way == "back" else 1
    exact_speed = -sign * (v * v + 2 * G * x).sqrt()
    exact = start + (v - exact_speed) / G
    assert time.allclose(exact, rtol=1e-7) and height[1].abs() < 1e-7 and speed[1].allclose(exact_speed, rtol=1e-7)
    for got, closed in ((time, exact), (speed[1], exact_speed)):
        for one, other in zip(
            nbgrad.grad(got.sum(), (x, v), retain_graph=True), nbgrad.grad(closed.sum(), (x, v), retain_graph=True)
        ):
            assert one.allclose(other, rtol=1e-6)
    assert nbgrad.grad(time, start, retain_graph=True)[0].allclose(tensor(1.0), rtol=1e-6)
    (first,) = nbgrad.grad(time, v, create_graph=True)
    if way == "adjoint":
        with pytest.raises(nbgrad.GradError, match="does not require grad"):
            nbgrad.grad(first.sum(), v)
    else:
        (second,) = nbgrad.grad(nbgrad.grad(exact.sum(), v, create_graph=True)[0].sum(), v)
        assert nbgrad.grad(first.sum(), v)[0].allclose(second, rtol=1e-5)


def test_an_event_ends_odeint_and_its_adjoint():
    """``event_fn`` of both gives the time and two states; the gradient of the state is that at a fixed time."""
    k = tensor(2.0)[0].requires_grad_()
    for solve, more in ((odeint, {}), (odeint_adjoint, {"adjoint_params": (k,)})):
        time, y = solve(lambda t, y: -k * y, tensor(1.0), TIMES, event_fn=lambda t, y: y - 0.5, **more)
        assert time.allclose(tensor(math.log(2) / 2), rtol=1e-7) and y.shape == (2, 1) and not time.requires_grad
        assert nbgrad.grad(y[1].sum(), k)[0].allclose(-0.5 * time, rtol=1e-5)


def test_options_place_steps_and_callbacks_are_told_of_them():
    """Grids, with states between by lines or cubics; times that end steps; a slope that jumps; tolerances for each state."""
    grid = tensor(0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5)
    errors = {}
    for interp in ("linear", "cubic"):
        y = odeint(turning, tensor(1.0, 0.0), TIMES, method="rk4", options={"grid_points": grid, "interp": interp})
        errors[interp] = float((y - turned(TIMES))[:3].abs().max())
    assert errors["cubic"] < 2e-4 < errors["linear"] < 1e-2
    built = odeint(turning, tensor(1.0, 0.0), TIMES, method="rk4", options={"grid_constructor": lambda func, y, t: grid})
    assert built[-1].equal(y[-1])

    class Equation(nbgrad.nn.Module):
        def __init__(self):
            super().__init__()
            self.told = []
            self.rate = nbgrad.nn.Parameter(tensor(1.0))

        def forward(self, t, y):
            return tuple(self.rate * (t >= 0.7).double() * part for part in y)  # still until 0.7

        def callback_step(self, t, y, h):
            self.told.append(("step", float(t), h))

        def callback_accept_step(self, t, y, h):
            self.told.append(("taken", float(t), h))

        def callback_step_adjoint(self, t, y, h):
            self.told.append(("back", float(t), h))

    equation, state = Equation(), (tensor(1.0), tensor(2.0, 3.0))
    how = {"rtol": (1e-6, 1e-7), "atol": 1e-9, "options": {"jump_t": [0.7], "step_t": [1.0]}}
    first, second = odeint_adjoint(equation, state, TIMES, **how)
    assert first[-1].allclose(tensor(math.exp(0.8)), rtol=1e-6) and second[-1].allclose(tensor(2.0, 3.0) * math.exp(0.8), rtol=1e-6)
    starts = [t for what, t, _ in equation.told if what == "taken"]
    assert 0.7 in starts and 1.0 in starts and len(starts) < 20
    first[-1].sum().backward()
    assert equation.rate.grad.allclose(tensor(0.8 * math.exp(0.8)), rtol=1e-5) and any(what == "back" for what, *_ in equation.told)


def test_gradients_of_order_eight_are_those_of_what_was_computed():
    """By finite differences, through states within steps, of both orders."""
    times = nbgrad.tensor([0.0, 0.4, 1.0], dtype=nbgrad.float64)
    solve = lambda y: odeint(
        lambda t, y: -(y**2) * t, y, times, method="dopri8", options={"first_step": 0.3, "max_step": 0.3}, atol=1.0
    )
    assert nbgrad.autograd.gradcheck(solve, tensor(1.5).requires_grad_())
    assert nbgrad.autograd.gradgradcheck(solve, tensor(1.5).requires_grad_())


@pytest.mark.parametrize("method", ["dopri5", "rk4", "dopri8", "explicit_adams"])
def test_the_default_device_concerns_new_tensors_alone(method):
    """Solutions are where the state is."""
    start, times = tensor(1.0), tensor(0.0, 1.0)
    with nbgrad.device("meta"):
        found = odeint(lambda t, y: -y, start, times, method=method)
    assert found.equal(odeint(lambda t, y: -y, start, times, method=method))
