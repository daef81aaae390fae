"""Compiled functions in inference mode: results are those of the function, and of the kinds that it returns."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

import nbgrad

W = nbgrad.nn.Parameter(nbgrad.arange(3.0))
BUFFER = nbgrad.ones(3)
X = nbgrad.ones(3)

FUNCTIONS = {
    "new": lambda x: x * W,
    "several": lambda x: (x + 1, {"y": x * 2, "n": 3}),
    "itself": lambda x: x,
    "a view": lambda x: x[1:],
    "a view of what is new": lambda x: (x * 2)[1:].unsqueeze(0),
    "a parameter": lambda x: (W, x + W),
    "a view of a parameter": lambda x: (W[:2], x),
    "a buffer": lambda x: (BUFFER, x * BUFFER),
    "a write": lambda x: x.mul_(2),
    "a write to what is new": lambda x: (x + 1).mul_(W).relu_(),
    "a draw": lambda x: nbgrad.nn.functional.dropout(x, 0.5),
    "a value": lambda x: x + 1 if x.sum() > 0 else x - 1,
    "a number": lambda x: x.sum().item(),
    "a break": lambda x: nbgrad.tensor(x.numpy() * 2),
    "a gradient": lambda x: x * nbgrad.is_grad_enabled(),
}


def described(value):
    """Values, kinds, and what is whose."""
    if isinstance(value, nbgrad.Tensor):
        return value.tolist(), value.is_inference(), value.requires_grad, value is W, value is BUFFER
    if isinstance(value, dict):
        return {name: described(x) for name, x in value.items()}
    return [described(x) for x in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("inside", [False, True], ids=["made outside", "made inside"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_the_functions(name, inside, unchecked):
    """Whatever is called before, and with arguments by position and by name."""
    fn = FUNCTIONS[name]
    f = nbgrad.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for called in (f, lambda x: f(x=x), f):
            results = []
            for call in (fn, called):
                nbgrad.manual_seed(0)
                x = nbgrad.tensor([1.0, 2.0, 3.0])
                with nbgrad.inference_mode():
                    x = x * 1 if inside else x
                    made = call(x)
                    results.append((described(made), x.tolist(), made is x))
            if name == "a break":  # which runs as it is on plain tensors
                results = [(values[0][0], x) for values, x, _ in results]
            assert results[0] == results[1]
            assert f(nbgrad.ones(3)) is not None and not nbgrad.is_inference_mode_enabled()


def test_what_is_in_the_mode_is_seen_outside(unchecked):
    """A variant of the mode serves outside of it, and the other way round."""
    model = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 3), nbgrad.nn.ReLU())
    f, x = nbgrad.compile(model), nbgrad.ones(2, 3)
    for _ in range(3):
        with nbgrad.inference_mode():
            assert f(x).is_inference()
        with nbgrad.no_grad():
            assert not f(x).is_inference()
        y = f(x)
        assert y.requires_grad
        y.sum().backward()
    assert len(f.variants) == 2


@pytest.mark.parametrize("fn", [lambda x: x[1:], lambda x: (x[1:], x * 2)])
def test_views_of_ordinary_tensors_cannot_be_written_to_with_a_history(fn, unchecked):
    """As those that the function makes in the mode, whose place in a graph nobody knows."""
    w = nbgrad.ones(2, requires_grad=True)
    for call in (fn, nbgrad.compile(fn)):
        for _ in range(2):
            with nbgrad.inference_mode():
                made = call(X)
            view = made[0] if isinstance(made, tuple) else made
            with pytest.raises(nbgrad.InplaceError):
                view.mul_(w)


def test_errors_leave_the_mode_as_it_was(unchecked):
    def wrong(x):
        return x @ x

    with nbgrad.inference_mode():
        for _ in range(2):
            with pytest.raises(nbgrad.NbgradError):
                nbgrad.compile(wrong)(nbgrad.ones(2, 3))
            assert nbgrad.is_inference_mode_enabled() and not nbgrad.is_grad_enabled() and nbgrad.ones(1).is_inference()
    assert nbgrad.is_grad_enabled() and not (nbgrad.ones(1) * 2).is_inference()


def test_threads_of_which_some_are_in_the_mode(unchecked):
    f = nbgrad.compile(lambda x: (x * W).sum())

    def work(k):
        for _ in range(50):
            x = nbgrad.full((3,), float(k + 1))
            if k % 2:
                with nbgrad.inference_mode():
                    y = f(x)
                    assert not y.requires_grad and y.is_inference()
            else:
                y = f(x)
                assert y.requires_grad and not y.is_inference()
            assert y.item() == 3 * (k + 1)
        return True

    f(nbgrad.ones(3))
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_programs_run_while_other_threads_are_in_the_mode(unchecked):
    """In it, and beside it: what was captured is not run as it is."""
    calls, f = [], nbgrad.compile(lambda x: x * W)
    f(nbgrad.ones(3))
    with nbgrad.no_grad():
        f(nbgrad.ones(3))
    plain, inside, done = f.fn, Event(), Event()
    f.fn = lambda x: (calls.append(1), plain(x))[1]

    def other():
        with nbgrad.inference_mode():
            inside.set()
            done.wait(10)

    thread = Thread(target=other)
    thread.start()
    inside.wait(10)
    try:
        assert f(nbgrad.ones(3)).requires_grad
        with nbgrad.inference_mode():
            assert f(nbgrad.ones(3)).is_inference()
        assert not calls
        assert f(nbgrad.ones(1)).tolist() == [0.0, 1.0, 2.0] and calls  # which was not captured
    finally:
        done.set()
        thread.join()
