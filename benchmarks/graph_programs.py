"""The programs that test_graphs.py compiles. Imports NumPy alone: processes whose first call is timed are to start quickly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

__all__ = ["ADAM", "HVP", "LOOPS", "PROGRAMS", "RATES", "SGD", "START", "Program", "euler_step", "made", "training"]

DRAWS = np.random.default_rng(1)
RATES, START = (1.1, 0.4, 0.4, 0.1), (10.0, 5.0)
ADAM, SGD = (f"MLP 64x8-16-1, training step with {method}" for method in ("Adam", "SGD"))


class Program(NamedTuple):
    """A function of arrays whose value and gradients are wanted.

    Attributes:
        function: ``function(lib, *arrays)`` in NumPy's and torch's common words.
        arrays: its operands.
        wanted: positions of those that gradients are wanted of.
    """

    function: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    wanted: tuple[int, ...]

    def compiled(self, lib: ModuleType) -> tuple[Callable[..., Any], list[Any]]:
        """A function of nbgrad's that gives value and gradients, and its arguments."""
        function, wanted = self.function, self.wanted  # self has arrays, which a compiled function would guard
        given = [lib.tensor(array, requires_grad=k in wanted) for k, array in enumerate(self.arrays)]

        def value_and_gradients(*xs: Any) -> tuple[Any, ...]:
            value = function(lib, *xs)
            return (value, *lib.grad(value, [xs[k] for k in wanted]))

        return value_and_gradients, given


def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Numbers of float32."""
    return (DRAWS.normal(size=shape) * scale).astype(np.float32)


def chain(lib, x, c):
    """20 products."""
    y = x
    for _ in range(20):
        y = y * c
    return y.sum()


def perceptron(lib, w1, w2, x, y):
    """Two layers."""
    return ((lib.tanh(x @ w1) @ w2 - y) ** 2).mean()


def one_pass(lib, x):
    """One pass over memory."""
    return (lib.tanh(2 * x + 1) * lib.exp(-x * x)).sum()


def cross_entropy(lib, x, targets):
    """Softmax and the numbers of classes."""
    return lib.nn.functional.cross_entropy(x, targets)


def layer_norm(lib, x, w, b):
    """Means and variances of rows, written out; ``keepdim`` is NumPy's ``keepdims``."""
    keep = {"keepdim": True} if hasattr(lib, "Tensor") else {"keepdims": True}
    centred = x - x.mean(1, **keep)
    scale = (centred * centred).mean(1, **keep) + 1e-5
    y = centred / lib.sqrt(scale) * w + b
    return (y * y).sum()


PROGRAMS = {
    "20 mul + sum of 16 elements": Program(chain, (np.full(16, 1.01, np.float32), np.full(16, 0.99, np.float32)), (0,)),
    "MLP 64x8-16-1": Program(
        perceptron, tuple(normal(*shape, scale=0.3) for shape in ((8, 16), (16, 1), (64, 8), (64, 1))), (0, 1)
    ),
    "sum(tanh(2x+1) exp(-x^2)), 1M float32": Program(one_pass, (np.linspace(-2, 2, 1_000_000, dtype=np.float32),), (0,)),
    "softmax cross entropy 256x1000": Program(cross_entropy, (normal(256, 1000), DRAWS.integers(0, 1000, 256)), (0,)),
    "layer norm 512x256": Program(layer_norm, (normal(512, 256), normal(256), normal(256)), (0, 1, 2)),
}


def hessian_vector_product(lib: ModuleType) -> tuple[Callable[..., Any], list[Any]]:
    """A gradient of a gradient, of the loss of a logistic regression."""
    points = lib.tensor(HVP[0])

    def product(w, v):
        (slope,) = lib.grad((1 + (-(points @ w)).exp()).log().sum(), [w], create_graph=True)
        return lib.grad((slope * v).sum(), [w])[0]

    return product, [lib.tensor(HVP[1], requires_grad=True), lib.tensor(HVP[2])]


HVP = DRAWS.normal(size=(200, 10)), DRAWS.normal(size=10) * 0.1, DRAWS.normal(size=10)


def euler_step(state, rates, dt=0.05):
    """Prey and predators after a step."""
    a, b, c, d = rates
    prey, predators = state
    meals = prey * predators
    return prey + dt * (a * prey - b * meals), predators + dt * (d * meals - c * predators)


def populations(lib: ModuleType) -> list[Any]:
    """Rates, and the numbers of prey and predators at first."""
    return [*(lib.tensor(np.float32(x), requires_grad=True) for x in RATES), *(lib.tensor(np.float32(x)) for x in START)]


def scanned(lib: ModuleType) -> tuple[Callable[..., Any], list[Any]]:
    """A loop of numbers, of 100 trips."""

    def run(*xs):
        (prey, _), _ = lib.scan(lambda state, _: (euler_step(state, xs[:4]), None), xs[4:], length=100)
        return (prey, *lib.grad(prey, xs[:4]))

    return run, populations(lib)


def unrolled(lib: ModuleType) -> tuple[Callable[..., Any], list[Any]]:
    """The same, trip by trip."""

    def run(*xs):
        state = xs[4:]
        for _ in range(100):
            state = euler_step(state, xs[:4])
        return (state[0], *lib.grad(state[0], xs[:4]))

    return run, populations(lib)


def one_more(lib: ModuleType) -> tuple[Callable[..., Any], list[Any]]:
    """A call, and next to nothing in it."""
    return lambda x: x + 1, [lib.tensor(1.0)]


def training(lib: ModuleType, method: str = "Adam") -> tuple[Callable[..., Any], list[Any]]:
    """A step of a small perceptron with an optimizer."""
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(8, 16), lib.nn.Tanh(), lib.nn.Linear(16, 1))
    optimizer = getattr(lib.optim, method)(model.parameters(), lr=1e-3)

    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, [lib.tensor(array) for array in PROGRAMS["MLP 64x8-16-1"].arrays[2:]]


LOOPS: dict[str, Callable[[ModuleType], tuple[Callable[..., Any], list[Any]]]] = {
    "logistic Hessian-vector product 200x10": hessian_vector_product,
    "Lotka-Volterra, 100 steps by scan": scanned,
    "Lotka-Volterra, 100 steps unrolled": unrolled,
    "x + 1 without dimensions": one_more,
    ADAM: training,
    SGD: partial(training, method="SGD"),
}


def made(name: str, lib: ModuleType) -> tuple[Callable[..., Any], list[Any]]:
    """A function of nbgrad's, and its arguments."""
    return PROGRAMS[name].compiled(lib) if name in PROGRAMS else LOOPS[name](lib)
