"""Calls of several variants in turn: each is found natively, and none serves for another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import nbgrad
from nbgrad.jit.compiled.runs import Run


def looked_at(f):
    """A list of the calls that are looked at in Python from now on."""
    looked, dispatch = [], f._dispatch_
    f._dispatch_ = lambda args, kwargs: (looked.append(args), dispatch(args, kwargs))[1]
    return looked


def test_shapes_in_turn(unchecked):
    """Of two shapes, and of four, neither is looked at in Python again; of five, those that came last are not."""
    f = nbgrad.compile(lambda x: (x * 2).sum())
    for shapes, least in ((2, 0), (4, 0), (5, 1)):
        inputs = [nbgrad.arange(float(n)) for n in range(1, shapes + 1)]
        for x in inputs:
            f(x)
        looked = looked_at(f)
        for _ in range(3):
            assert [f(x).item() for x in inputs] == [n * (n - 1) for n in range(1, shapes + 1)]
        assert len(looked) >= least and (least or not looked)
        del f._dispatch_


def test_modes_in_turn(unchecked):
    """Passes that record, that do not, and those of a module that is trained or not."""
    nbgrad.manual_seed(0)
    model = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 3), nbgrad.nn.BatchNorm1d(3, track_running_stats=True))
    compiled, x = nbgrad.compile(model), nbgrad.randn(4, 3)

    def rounds(called):
        results = []
        for training in (True, False, True):
            model.train(training)
            results.append(called(x).requires_grad)
            with nbgrad.no_grad():
                results += [called(x).requires_grad, called(x[:2]).tolist()]
        return results

    state = {name: value.clone() for name, value in model.state_dict().items()}
    expected = rounds(model)
    for _ in range(3):
        model.load_state_dict(state)
        assert rounds(compiled) == expected


def test_numbers_and_values_in_turn(unchecked):
    """Variants for answers about values go before those for other shapes."""
    f = nbgrad.compile(lambda x: x * 2 if x.sum() > 0 else x - 1)
    inputs = [nbgrad.ones(2), -nbgrad.ones(2), nbgrad.ones(3), -nbgrad.ones(3)]
    expected = [[2, 2], [-2, -2], [2, 2, 2], [-2, -2, -2]]
    for _ in range(3):
        assert [f(x).tolist() for x in inputs] == expected
    looked = looked_at(f)
    for _ in range(3):
        assert [f(x).tolist() for x in inputs] == expected
    assert not looked


def test_what_is_changed_between_is_noticed(unchecked):
    """A variant whose guards no longer hold is none that another call goes on with."""
    scale = {"by": 2.0}
    f = nbgrad.compile(lambda x: x * scale["by"])
    x, y = nbgrad.ones(2), nbgrad.ones(3)
    for factor in (2.0, 3.0, 2.0):
        scale["by"] = factor
        for _ in range(2):
            assert f(x).tolist() == [factor] * 2 and f(y).tolist() == [factor] * 3


def test_threads_in_turn(unchecked):
    """Threads that call with other shapes each put their variant first, and none goes round in a circle."""
    f = nbgrad.compile(lambda x: (x * 2).sum(), limit=16)
    inputs = [nbgrad.ones(n) for n in range(1, 9)]
    for x in inputs:
        f(x)

    def work(k):
        return all(f(inputs[(k + i) % 8]).item() == 2 * ((k + i) % 8 + 1) for i in range(300))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


X, Y = nbgrad.arange(3.0), nbgrad.ones(3)
# Calls whose arguments native code does not take apart.
FORMS = {
    "by name": lambda f: f(x=X, y=Y),
    "partly by name": lambda f: f(X, y=Y),
    "none": lambda f: f(X, None),
    "dict": lambda f: f(X, {"a": Y}),
    "list": lambda f: f(X, [Y, Y + 1]),
    "the same twice": lambda f: f(X, X),
    "parts of one": lambda f: f(X[:2], X[1:]),
    "with history": lambda f: f(X.clone().requires_grad_(), {"a": Y}).detach(),
    "number": lambda f: f(X, {"a": 2.5}),
}


def combined(x, y=None):
    y = y["a"] if isinstance(y, dict) else y[0] * y[1] if isinstance(y, list) else 3.0 if y is None else y
    return x * y + x


@pytest.mark.parametrize("form", FORMS)
def test_other_arguments_are_taken_apart_alone(form, unchecked, monkeypatch):
    """What else a program depends on is compared by native code for them, too."""
    call = FORMS[form]
    f = nbgrad.compile(combined)
    for _ in range(2):
        call(f)
    looked = []
    monkeypatch.setattr(Run, "fits", lambda run, inputs: looked.append(run))
    for _ in range(3):
        assert call(f).tolist() == call(combined).tolist()
    assert not looked and len(f.variants) == 1


def test_what_is_changed_is_noticed_in_other_arguments(unchecked):
    """Names, modes, hooks and gradients that are wanted."""
    scale = {"by": 2.0}
    f = nbgrad.compile(lambda x: x["a"] * scale["by"])
    for factor in (2.0, 3.0, 2.0):
        scale["by"] = factor
        for _ in range(2):
            assert f({"a": Y}).tolist() == [factor] * 3
    with nbgrad.enable_grad():
        assert f({"a": Y.clone().requires_grad_()}).requires_grad
    with nbgrad.no_grad():
        assert not f({"a": Y.clone().requires_grad_()}).requires_grad
    assert nbgrad.vmap(lambda x: f({"a": x}))(nbgrad.ones(2, 3)).tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("called", [lambda f, x, y: f(x, y), lambda f, x, y: f(x=x, y=y), lambda f, x, y: f({"x": x, "y": y})])
def test_steps_of_training_by_name(called, unchecked, monkeypatch):
    """What a program changes, as parameters and states of optimizers, is changed once a call."""

    def trained(compiled):
        nbgrad.manual_seed(0)
        model = nbgrad.nn.Linear(3, 1)
        optimizer = nbgrad.optim.Adam(model.parameters(), 0.1)
        counted = []

        def step(x, y=None):
            x, y = (x["x"], x["y"]) if y is None else (x, y)
            optimizer.zero_grad()
            loss = (model(x).squeeze(-1) - y).square().mean()
            loss.backward()
            optimizer.step()
            counted.append(1)
            return {"loss": loss.detach()}

        run = nbgrad.compile(step) if compiled else step
        nbgrad.manual_seed(1)
        losses = [called(run, nbgrad.randn(5, 3), nbgrad.randn(5))["loss"].item() for _ in range(6)]
        return losses, model.weight.tolist()

    assert trained(True) == trained(False)


def test_answers_about_values_by_name(unchecked):
    """Variants that ask for values are tried one after the other."""
    f = nbgrad.compile(lambda x: x * 2 if x.sum() > 0 else x - 1)
    for _ in range(3):
        assert f(x=Y).tolist() == [2.0] * 3 and f(x=-Y).tolist() == [-2.0] * 3
