"""Compiled functions that no graph holds: what is said, what a call costs, what is tried again."""

import time
import warnings
from types import SimpleNamespace

import pytest

import nbgrad
from nbgrad.errors import GraphError

X = nbgrad.ones(2)


def counter(act):
    """A function that counts its calls in a name, and then does something."""
    state = {"t": 0}

    def fn(x, k=0):
        state["t"] += 1
        return act(x, state, k)

    return fn, state


def outcomes(fn, calls):
    """What calls give, or which errors they raise."""
    seen = []
    for given in calls:
        try:
            seen.append(repr(fn(X, *given)))
        except Exception as error:
            seen.append(repr(error))
    return seen


@pytest.mark.filterwarnings("error")
def test_an_error_of_the_function_is_no_reason():
    """A check that raises in some calls raises in these alone: the others are programs, and nothing is warned of."""

    def act(x, state, k):
        if k == 2:
            raise KeyError("two", k)
        if k == 6:
            assert x.sum() > 100, "small"
        return x * state["t"]

    calls = [(k,) for k in (1, 2, 1, 2, 6, 1, 6, 2, 1, 1)]
    (plain, before), (fn, state) = counter(act), counter(act)
    compiled = nbgrad.compile(fn)
    assert outcomes(compiled, calls) == outcomes(plain, calls)
    assert state == before and not compiled.explain().broken and len(compiled.variants) == 1


@pytest.mark.filterwarnings("ignore:compile")
def test_errors_of_numbers_are_told_without_names_of_ours():
    """Where following a number is what raises, the function runs as it is; the reason says what it does, and where."""

    def act(x, state, k):
        return x * int.bit_length(state["t"])

    (plain, before), (fn, state) = counter(act), counter(act)
    compiled = nbgrad.compile(fn)
    assert outcomes(compiled, [()] * 4) == outcomes(plain, [()] * 4) and state == before
    (why,) = compiled.explain().broken
    assert "TypeError" in why and "test_fallbacks.py" in why and "Whole" not in why


def test_fullgraph_raises_the_public_error():
    """Not one of the classes in which captures tell each other what to do."""
    held = []

    @nbgrad.compile(fullgraph=True)
    def f(x):
        held[:] = [x * 2, object()]
        return x * 2

    kinds = set()
    for _ in range(4):
        try:
            f(X)
        except Exception as error:
            kinds.add(type(error))
    assert kinds == {GraphError}


@pytest.mark.filterwarnings("ignore:compile")
def test_captures_that_come_to_nothing_are_given_up():
    """A function that cannot be captured is not tried in every call, whatever its numbers are, and says why."""
    tried = []

    @nbgrad.compile
    def f(x, lr, k):
        if nbgrad.jit.capture.capture.current_trace() is not None:
            tried.append(lr)
        return x.numpy().sum() * lr + k

    for k in range(40):
        assert f(X, 1.0 / (k + 1), k % 20) == pytest.approx(2 / (k + 1) + k % 20)
    count = len(tried)
    for k in range(40):
        f(X, 3.0 / (k + 1), 50 + k)
    assert f.explain().broken and len(tried) == count


@pytest.mark.parametrize("kind", ["broken", "limit"])
@pytest.mark.filterwarnings("ignore:compile")
def test_calls_that_run_as_they_are_cost_little(kind):
    """Behind the decision not every call is looked at."""

    def broken(x, k):
        return x.numpy()

    def limit(x, k):
        return k if k >= 0 else x

    plain = {"broken": broken, "limit": limit}[kind]
    f = nbgrad.compile(plain)
    for k in range(100):
        f(X, k)
    begin = time.perf_counter()
    for _ in range(250):
        f(X, 200)
    spent = time.perf_counter() - begin
    looked = []
    dispatch = f._dispatch_
    f._dispatch_ = lambda *given: (looked.append(1), dispatch(*given))[1]
    for _ in range(1000):
        f(X, 200)
    assert 0 < len(looked) < 10 and spent < 0.5


def test_other_calls_are_programs_again():
    """Calls that run as they are do not keep others from being captured for long, nor from being right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @nbgrad.compile
        def f(x, k):
            return nbgrad.tensor(x.numpy() * 2) if k == 0 else x * 2

        for _ in range(100):
            f(X, 0)
        for _ in range(300):
            assert f(X, 1).tolist() == [2, 2]
    assert len(f.variants) == 1


@pytest.mark.parametrize("value", [lambda x: nbgrad.zeros(2), lambda x: x * 2])
@pytest.mark.parametrize(
    "put", [lambda w, y: setattr(w[:], "data", y), lambda w, y: setattr(w, "data", y.double()), nbgrad.Tensor.set_]
)
def test_tensors_that_are_put_on_other_memory(put, value):
    """No graph holds that of a view, of another dtype, by ``set_``: this is said, and the function does it in every call."""
    here, there = nbgrad.ones(2), nbgrad.ones(2)
    f = nbgrad.compile(lambda x: (put(here, value(x)), here + x)[1])
    with pytest.warns(UserWarning, match="puts a tensor on other memory, at .*test_fallbacks.py.*copy_"):
        for k in range(3):
            x = nbgrad.ones(2) * k
            put(there, value(x))
            assert f(x).tolist() == (there + x).tolist() and here.tolist() == there.tolist()
            here.add_(1)
            there.add_(1)


@pytest.mark.parametrize("kind", ["attribute", "member", "list"])
def test_what_is_kept_is_said_with_its_place(kind):
    """The reason has the name that holds it, and the line that has computed it."""
    w, box, log = nbgrad.ones(2, requires_grad=True), SimpleNamespace(h=nbgrad.ones(2)), []
    puts = {
        "attribute": lambda y: setattr(box, "h", y),
        "member": lambda y: vars(box).update(z=y),
        "list": lambda y: log.append((y, object())),
    }

    @nbgrad.compile
    def f(x):
        y = w * x
        puts[kind](y)
        return y.detach()

    with pytest.warns(UserWarning, match=r"with its history, computed at .*test_fallbacks.py:\d+, in ('h'|'z'|a list) beyond"):
        for _ in range(4):
            f(X)


def test_reasons_name_the_function_and_are_said_once():
    """As an error and as a warning."""

    def made(x):
        return nbgrad.nn.Parameter(x * 2)

    x, reason = nbgrad.ones(2), "it returns a Parameter that it has made: a graph cannot hold it. Hint: "
    with pytest.raises(GraphError) as refused:
        nbgrad.compile(made, fullgraph=True)(x)
    with pytest.warns(UserWarning) as warned:
        nbgrad.compile(made)(x)
    assert str(refused.value).startswith(f"compile: made: {reason}")
    assert str(warned[0].message).startswith(f"compile: made runs as it is: {reason}")
