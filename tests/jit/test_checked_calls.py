"""``NBGRAD_CHECK=1``: a program that differs from its function is an error, and one that does not is as without the check."""

from __future__ import annotations

import collections
import copy
import itertools
import sys
import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.base import config
from nbgrad.errors import GraphError
from nbgrad.jit import compile
from nbgrad.jit.compiled.backward import Backward
from nbgrad.jit.compiled.checked_calls import difference

FIRST = 5000
X = [[0.5, -1.5, 2.5], [1.0, 0.25, -3.0]]


@pytest.fixture(autouse=True)
def checking(any_values, monkeypatch):
    """The check is on; the setting that counts is as it was in the end."""
    monkeypatch.setattr(config, "CHECK", True)
    digits = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(digits)


def numbers(change):
    """A function of which no graph can know that it gives something else in every run: a setting of Python's counts them."""
    sys.set_int_max_str_digits(FIRST - 1)
    w = nbgrad.ones(3, requires_grad=True)

    def fn(x):
        sys.set_int_max_str_digits(sys.get_int_max_str_digits() + 1)
        return change(x, sys.get_int_max_str_digits() - FIRST, w)

    return fn


def into(x, value):
    """Write to a tensor."""
    with nbgrad.no_grad():
        x.add_(value)


def draw_often(x, k, w):
    return [nbgrad.rand(2) for _ in range(k)][:0]


DIFFERENT = {
    "a result": (lambda x, k, w: {"a": x, "b": (x, x + (x > 1) * k)}, r"element \(0, 2\) of its result\['b'\]\[1\] is 2.5 and 3.5"),
    "a number": (lambda x, k, w: (x, k), r"its result\[1\] is 0 and 1"),
    "a structure": (lambda x, k, w: [x] * (k + 1), r"the structure of its result"),
    "a shape": (lambda x, k, w: x[k:], r"the shape of its result is \[2, 3\] and \[1, 3\]"),
    "a dtype": (lambda x, k, w: x.to((nbgrad.float32, nbgrad.float64)[k % 2]), "the dtype of its result is float32 and float64"),
    "a history": (lambda x, k, w: w.detach() * 2 if k % 2 else w * 2, "requires_grad of its result is True and False"),
    "memory": (lambda x, k, w: x if k % 2 else x.clone(), r"the memory \(by number\) of its result"),
    "an argument": (lambda x, k, w: into(x, k), r"element \(0, 0\) of argument 0 is 0.5 and 1.5"),
    "a version": (lambda x, k, w: [into(x, 0) for _ in range(k + 1)] and None, "the version of argument 0 is 1 and 2"),
    "a name": (lambda x, k, w: into(w, k), r"element \(0,\) of the tensor 0 that its names hold is 1.0 and 2.0"),
    "a gradient": (lambda x, k, w: (w * k).sum().backward(), r"element \(0,\) of the gradient of the tensor 0 .* is 0.0 and 1.0"),
    "draws": (draw_often, "the state of generator 0"),
}


@pytest.mark.parametrize("change, message", DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_is_named(change, message):
    """With function, place, element and both values; what the program has left stays."""
    x = nbgrad.tensor(X)
    with pytest.raises(GraphError, match=rf"the program of fn and the function differ: .*{message}"):
        compile(numbers(change), fullgraph=True)(x)


def test_what_the_function_raises():
    """And its program does not."""

    def change(x, k, w):
        if k:
            raise KeyError("own")
        return x

    with pytest.raises(GraphError, match="fn raises KeyError, and its program does not: 'own'"):
        compile(numbers(change))(nbgrad.ones(2))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 1))
        self.count, self.log = 0, []

    def forward(self, x):
        self.log.append(1)
        return self.layers(x)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_a_training_step_is_as_without(kind, monkeypatch):
    """Parameters, buffers, gradients, the optimizer's state, the generator and the program's own objects."""

    def trained(check):
        monkeypatch.setattr(config, "CHECK", check)
        nbgrad.manual_seed(5)
        model = Model()
        optimizer = kind(model.parameters(), lr=0.1)
        x = nbgrad.randn(8, 3)

        @compile(fullgraph=True)
        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        losses = [step(x).item() for _ in range(4)]
        state = [each for member in optimizer.state.values() for each in member.values()]
        kept = [*model.state_dict().values(), *[p.grad for p in model.parameters()], *state, nbgrad.rand(2)]
        return losses, [x.tolist() if isinstance(x, nbgrad.Tensor) else x for x in kept], model.log

    assert trained(True) == trained(False)


def test_passes_are_compared(monkeypatch):
    """With what the engine makes of the graph."""
    fn = compile(lambda x: (x * x).sin())
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    (want,) = nbgrad.grad(fn.fn(x).sum(), x)
    (got,) = nbgrad.grad(fn(x).sum(), x)
    assert got.tolist() == want.tolist()
    run = Backward.again
    monkeypatch.setattr(Backward, "again", lambda *arguments: [g + 1 for g in run(*arguments)])
    with pytest.raises(GraphError, match=r"element \(0,\) of the gradient of argument 0 is 2.08\d* and 1.08"):
        nbgrad.grad(fn(x).sum(), x)


def test_nothing_is_printed_twice(capsys):
    """What the function prints, the program prints."""
    fn = compile(lambda x: nbgrad.jit.print("x", x) or x * 2)
    fn(nbgrad.ones(1)), fn(nbgrad.ones(1))
    assert capsys.readouterr().out == "x tensor([1.])\n" * 2


def warned(fn, count=3):
    """How often a function warns in so many calls."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(count):
            fn(nbgrad.ones(1))
    return len(said)


def test_nothing_is_warned_of_twice(monkeypatch):
    """Of what the function warns of while it is captured."""

    def fn(x):
        warnings.warn("own", stacklevel=1)
        return x * 2

    shown = warnings.showwarning
    checked = warned(compile(fn))
    assert warnings.showwarning is shown
    monkeypatch.setattr(config, "CHECK", False)
    assert checked == warned(compile(fn))


class Doubled(nbgrad.Function):
    @staticmethod
    def forward(ctx, x):
        print("step")
        return nbgrad.from_numpy(2 * x.numpy())


def test_steps_in_python_run_twice(capsys):
    """Which is said once, and what they print is printed once."""
    fn = compile(lambda x: Doubled.apply(x))
    for _ in range(3):
        assert fn(nbgrad.ones(1)).tolist() == [2]
    said = capsys.readouterr()
    assert said.err.count("NBGRAD_CHECK runs the step in Python of graph") == 1
    assert said.out == "step\n" * 3


def test_objects_of_the_program_are_changed_once():
    """Where the function runs again, what it changes of dicts, lists and variables is put back."""
    log, count = [], 0
    notes = {"calls": 0}

    def fn(x):
        nonlocal count
        log.append(1)
        count += 1
        notes["calls"] += 1
        return x * 2

    compiled = compile(fn)
    for _ in range(2):
        before = copy.deepcopy((log, notes)), count
        compiled.clear()
        with nbgrad.no_grad():
            compiled(nbgrad.ones(2))
        assert ((log, notes), count) == ((before[0][0] + [1], {"calls": before[0][1]["calls"] + 1}), before[1] + 1)


@pytest.mark.parametrize("taken", [itertools.count, lambda: (k for k in range(9)), lambda: iter(dict.fromkeys(range(9)))])
def test_what_cannot_be_put_back_is_taken_once(taken):
    """Such a call is not made again."""
    held = taken()

    def fn(x):
        return x + next(held)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = compile(fn, limit=2)
        assert [compiled(nbgrad.zeros(1)).item() for _ in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [list, collections.deque, set])
def test_a_call_that_is_captured_begins_where_the_capture_did(kind):
    """What that has added to a collection is not there when the function runs."""
    log = kind()
    add = log.add if kind is set else log.append

    def fn(x):
        add(len(log))
        return x * len(log)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = compile(fn, limit=2)
        assert [compiled(nbgrad.ones(1)).item() for _ in range(4)] == [1, 2, 3, 4]


class Slotted:
    """Objects with a slot that is filled late, and a private one."""

    __slots__ = ("late", "__count")

    def __init__(self):
        self.__count = 0

    def count(self):
        self.__count += 1
        self.late = self.__count
        return self.__count


def test_slots_are_put_back():
    """Filled or not, and of whatever name."""
    held = Slotted()
    seen = []

    def fn(x):
        seen.append(hasattr(held, "late"))
        return x * held.count()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = compile(fn, limit=2)
        assert [compiled(nbgrad.ones(1)).item() for _ in range(4)] == [1, 2, 3, 4]
    assert seen == [False, True, True, True]


def test_arguments_that_are_one_tensor_stay_one():
    """And so does a gradient that is an argument, too."""

    def fn(x, y, z):
        (x * y).sum().backward()
        return z * 1

    def run(call):
        x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
        x.grad = g = nbgrad.ones(2)
        return [call(x, x, g).tolist() for _ in range(3)], x.grad.tolist()

    assert run(compile(fn)) == run(fn)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int64, bool])
def test_numbers_are_compared_to_the_bit(dtype):
    """But for which NaN they are; the last digits of decompositions are let go."""
    x = np.array([0, 1, 1, 0], dtype)
    y = x.copy()
    assert not difference(x, y, False).any()
    y[2] = 0
    assert difference(x, y, False).tolist() == difference(x, y, True).tolist() == [False, False, True, False]
    if x.dtype.kind in "fc":
        x[1], y[1] = np.nan, -np.float32("nan")
        x[2] = y[2] = 1
        y[0] = -0.0
        assert difference(x, y, False).tolist() == [True, False, False, False]
        y[2] += np.finfo(dtype).eps
        assert difference(x, y, True).tolist() == [False] * 4


def test_decompositions_may_differ_in_the_last_digit():
    """Of what they are given, too."""
    x = nbgrad.randn(5, 5, dtype=nbgrad.float64)
    fn = compile(lambda x: nbgrad.linalg.svdvals(x * 2))
    for _ in range(3):
        assert fn(x).allclose(nbgrad.linalg.svdvals(x * 2))


def test_arguments_have_their_class_and_optimizers_count_from_where_they_were():
    """In the call of the function that is compared; NAdam keeps a number of which the program does not speak."""
    kinds = compile(lambda x: x * 2 if isinstance(x, nn.Parameter) else x)
    assert kinds(nn.Parameter(nbgrad.ones(2))).tolist() == [2, 2] and kinds(nbgrad.ones(2)).tolist() == [1, 1]
    w = nbgrad.ones(2, requires_grad=True)
    optimizer = optim.NAdam([w], lr=0.1)

    def train():
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()

    compiled = compile(train, fullgraph=True)
    for _ in range(4):
        compiled()
    assert optimizer.state[w]["step"] == 4 and len(compiled.variants) == 1
