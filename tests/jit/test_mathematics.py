"""Functions of ``math`` and powers of numbers that a compiled function follows."""

import math
import threading
from math import cos
from types import SimpleNamespace

import pytest

import nbgrad

X = nbgrad.tensor([1.5, -2.25])


def hand_made(kind, root):
    """Adam as programs write it, with its count and moments in several kinds of places."""
    ps = [nbgrad.ones(2, requires_grad=True), nbgrad.tensor([0.5], requires_grad=True)]
    state = {"t": 0, "m": [nbgrad.zeros(2), nbgrad.zeros(1)], "v": [nbgrad.zeros(2), nbgrad.zeros(1)]}
    box, t = SimpleNamespace(**state), 0

    def updated(x, m, v, now, b1=0.9, b2=0.999):
        loss = ((x * ps[0] + ps[1]) ** 2).sum()
        with nbgrad.no_grad():
            for k, (p, g) in enumerate(zip(ps, nbgrad.grad(loss, ps))):
                m[k] = b1 * m[k] + (1 - b1) * g
                v[k] = b2 * v[k] + (1 - b2) * g * g
                if root:
                    p.sub_(0.1 * math.sqrt(1 - b2**now) / (1 - b1**now) * m[k] / (v[k].sqrt() + 1e-8))
                else:
                    p.sub_(0.1 * (m[k] / (1 - b1**now)) / ((v[k] / (1 - b2**now)).sqrt() + 1e-8))
        return loss.detach()

    def in_dict(x):
        state["t"] += 1
        return updated(x, state["m"], state["v"], state["t"])

    def in_attributes(x):
        box.t += 1
        return updated(x, box.m, box.v, box.t)

    def in_variable(x):
        nonlocal t
        t += 1
        return updated(x, state["m"], state["v"], t)

    return locals()[kind], ps, state


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("kind", ["in_dict", "in_attributes", "in_variable"])
def test_adam_by_hand_is_one_program(kind, root):
    """Its corrections are computed in every call, with Python's own bits."""
    (plain, want, before), (fn, got, state) = hand_made(kind, root), hand_made(kind, root)
    compiled = nbgrad.compile(fn, fullgraph=True)
    for k in range(12):
        x = nbgrad.tensor([1.0, 0.5]) * (k - 3)
        assert compiled(x).tolist() == plain(x).tolist()
        assert repr(got) == repr(want) and repr(state) == repr(before)
    assert len(compiled.variants) == 1


@pytest.mark.filterwarnings("error")
def test_functions_of_math_are_of_the_program():
    """Whatever names them, and whatever numbers they are given."""

    def fn(x, a, state):
        return (
            x * math.sqrt(a) + cos(math.pi * a / 20),
            [math.exp(a), math.log(a), math.log1p(a), math.tanh(a), math.erf(a), math.asin(a / 8)],
            math.atan2(a, 3),
            math.log(a, 2),
            math.pow(a, 1.5),
            math.hypot(a, 2 * a, 1),
        )

    compiled = nbgrad.compile(fn, fullgraph=True)
    for a in (0.5, 1.25, 7.0):
        assert repr(compiled(X, a, 1)) == repr(fn(X, a, 1))
    assert len(compiled.variants) == 1


def test_errors_of_math_are_raised_in_every_call():
    """Where a number is out of a function's domain, with nothing changed."""
    total = nbgrad.zeros(())

    @nbgrad.compile(fullgraph=True)
    def f(a):
        total.add_(1)
        return math.sqrt(a)

    assert f(4.0) == 2.0
    for a, kind in ((-1.0, ValueError), (9.0, None), (-4.0, ValueError)):
        if kind is None:
            assert f(a) == 3.0
        else:
            with pytest.raises(kind, match="domain"):
                f(a)
    assert total.item() == 2


def test_math_is_left_as_it_was():
    """While a function is captured others see functions that work, and behind it the functions themselves."""
    function, seen = math.sqrt, []

    @nbgrad.compile
    def f(x, a):
        thread = threading.Thread(target=lambda: seen.append(math.sqrt(9)))
        thread.start()
        thread.join()
        return x * math.sqrt(a) * math.sqrt(4)

    assert f(X, 4.0).tolist() == (X * 4).tolist()
    with pytest.raises(TypeError):
        f(X, "a")
    assert math.sqrt is function and cos is math.cos and seen[0] == 3.0


def test_a_function_that_is_replaced_is_noticed():
    """As any other name."""
    names = {"__name__": "made", "math": SimpleNamespace(sqrt=math.sqrt)}
    exec("def f(x, a):\n    return x * math.sqrt(a)", names)
    f = nbgrad.compile(names["f"])
    assert f(X, 4.0).tolist() == (X * 2).tolist()
    names["math"].sqrt = lambda x: 10.0
    assert f(X, 4.0).tolist() == (X * 10).tolist()
