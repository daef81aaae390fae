"""Results without values: what a capture computes, when, and what it leaves to others."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import nbgrad
from nbgrad import optim
from nbgrad.errors import GraphError
from nbgrad.jit import compile, trace
from nbgrad.jit.capture import pending
from tests.helpers import leaf


class Launches:
    """Stands for the native functions, and notes the operations that captures launch after all."""

    def __init__(self, native):
        self.native, self.names = native, []

    def __getattr__(self, name):
        return getattr(self.native, name)

    def into(self, plan, *tensors):
        self.names.append(plan.op.name if hasattr(plan, "op") else "update")
        self.native.into(plan, *tensors)


@pytest.fixture
def launched(monkeypatch):
    """The names of the operations that captures launch."""
    made = Launches(pending.native)
    monkeypatch.setattr(pending, "native", made)
    return made.names


def close(x, expected):
    assert x.tolist() == pytest.approx(expected)


def test_a_capture_launches_nothing(launched):
    """Neither for a chain of calls with their gradients, nor for an optimizer's step."""
    w, x = leaf([1.0, 2.0]), nbgrad.tensor([3.0, 4.0])
    optimizer = optim.SGD([w], lr=0.5)

    def step(x):
        optimizer.zero_grad()
        loss = ((w * x).tanh() - w.clone().mul_(2)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    trace(lambda x: nbgrad.softmax(x.exp() @ x.sin(), 0), x)
    compile(step, fullgraph=True)(x)
    assert launched == []


def test_only_what_a_value_depends_on_is_computed(launched):
    """The answer needs a sine and its sum; the exponentials around them are left to the program."""

    def f(x):
        y, z = x.exp(), x.sin()
        return y * 2 if z.sum() > 0 else y * 3

    close(compile(f, fullgraph=True)(nbgrad.tensor([0.0, 0.0])), [3.0, 3.0])
    assert launched == ["sin", "sum", "gt"]


def test_what_is_overwritten_is_read_before():
    """A value of before a write, one of behind it, and one that nobody asks for in between."""
    seen = []

    def f(x):
        y = x * 2
        before, between = y + 1, y - 1
        y.mul_(3)
        behind = y + 1
        seen.append((behind.sum().item(), before.sum().item(), y.sum().item()))
        return between + y

    close(compile(f, fullgraph=True)(nbgrad.tensor([1.0, 2.0])), [7.0, 15.0])
    assert seen == [(20.0, 8.0, 18.0)]


def test_a_true_write_comes_behind_what_is_still_to_be_read():
    """An operation of several steps writes to memory that launches to come read, and that others have written to."""
    seen = []

    def f(x):
        y = x * 2
        early = y + 1
        y.mul_(2)
        y[nbgrad.tensor([0])] = x[1:]
        seen.append((early.tolist(), y.tolist()))
        return early + y

    close(compile(f, fullgraph=True)(nbgrad.tensor([1.0, 2.0])), [5.0, 13.0])
    assert seen == [([3.0, 5.0], [2.0, 8.0])]


def test_steps_that_look_at_elements_find_them():
    """Indices, masks and divisors of integers are computed where they are needed."""
    x = nbgrad.tensor([3, 1, 2])

    def f(x):
        order = x.argsort() + 0
        return (x * 2)[order], (x + 1)[x + 1 > 2], (x * 7) // (x + 1)

    parts = compile(f, fullgraph=True)(x)
    assert [part.tolist() for part in parts] == [[2, 4, 6], [4, 3], [5, 3, 4]]
    with pytest.raises(ZeroDivisionError):
        compile(lambda x: x // (x - 1), fullgraph=True)(x)


def test_functions_of_arrays_find_elements():
    """A Function that reads arrays runs on what was computed for it, forwards and backwards."""

    class Cube(nbgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return nbgrad.from_numpy(x.detach().numpy() ** 3)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return nbgrad.from_numpy(3 * x.detach().numpy() ** 2) * g

    x = leaf([1.0, 2.0])
    f = compile(lambda x: nbgrad.grad(Cube.apply(x * 2).sum() * 0.5, x)[0], fullgraph=True)
    for _ in range(2):
        close(f(x), [12.0, 48.0])


def test_loops_find_the_carries_that_they_begin_with():
    """A loop in a captured function runs on what was computed before it."""
    f = compile(lambda x: nbgrad.scan(lambda c, x: (c + x, c * x), (x * 2).sum(), x * 3)[1], fullgraph=True)
    close(f(nbgrad.tensor([1.0, 2.0])), [18.0, 54.0])


def test_tensors_that_the_program_keeps_are_computed():
    """A result, a value that is no result, one that was written to: as if the call had been run."""
    kept = {}

    def f(x):
        kept["y"] = y = x.detach() * 2
        kept["written"] = nbgrad.zeros(2).add_(y)
        x.add_(1)
        kept["out"] = y + 5
        return kept["out"]

    x = nbgrad.tensor([1.0, 2.0])
    close(compile(f, fullgraph=True)(x), [7.0, 9.0])
    assert x.tolist() == [2.0, 3.0]
    assert {name: (value + 0).tolist() for name, value in kept.items()} == {
        "y": [2.0, 4.0],
        "written": [2.0, 4.0],
        "out": [7.0, 9.0],
    }


@pytest.mark.parametrize("asks", [False, True])
def test_what_is_kept_of_a_parameter_that_is_updated(asks):
    """It is what the parameter is behind the update, though the capture takes that back; read during the capture or not."""
    w, kept = leaf([1.0, 2.0]), {}
    optimizer = optim.SGD([w], lr=0.5)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        kept["before"] = w.detach() * 10
        optimizer.step()
        kept["behind"] = w.detach() * 10
        if asks:
            kept["sum"] = w.sum().item()
        return x * 2

    compile(step, fullgraph=True)(nbgrad.tensor([2.0, 4.0]))
    assert w.tolist() == [0.0, 0.0]
    close(kept["before"] + 0, [10.0, 20.0])
    close(kept["behind"] + 0, [0.0, 0.0])
    assert kept.get("sum", 0.0) == 0.0


def test_what_is_kept_where_the_function_fails():
    """An error leaves what was computed, and the parameters as they were."""
    w, kept = nbgrad.tensor([1.0, 2.0]), []

    def f(x):
        kept.append(x * 2)
        w.add_(1)
        kept.append(w * x)
        raise LookupError

    with pytest.raises(LookupError):
        compile(f)(nbgrad.tensor([3.0, 4.0]))
    assert w.tolist() == [1.0, 2.0]
    assert [x.tolist() for x in kept] == [[6.0, 8.0], [6.0, 12.0]]


def test_what_is_kept_where_no_graph_can_hold_the_function():
    """Nothing of the capture; where the function runs as it is then, what that keeps."""
    kept = []

    def f(x):
        kept.append(x * 2)
        return nbgrad.tensor(kept[-1].numpy())

    with pytest.raises(GraphError):
        compile(f, fullgraph=True)(nbgrad.tensor([3.0]))
    assert kept == []
    with pytest.warns(UserWarning, match="runs as it is"):
        compile(f)(nbgrad.tensor([3.0]))
    assert [x.tolist() for x in kept] == [[6.0]]


def test_random_numbers_that_are_asked_for():
    """They are those of the program."""
    nbgrad.manual_seed(5)
    expected = nbgrad.randn(3).tolist()
    nbgrad.manual_seed(5)
    seen = []
    compile(lambda x: x + (seen.append((y := nbgrad.randn(3)).tolist()) or y), fullgraph=True)(nbgrad.zeros(3))
    assert seen[0] == expected


KERNELS = """
import nbgrad
from nbgrad import nn, optim
from nbgrad.kernels.cpu.store import Loader

m = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = optim.SGD(m.parameters(), lr=0.1)
x, y = nbgrad.randn(64, 8), nbgrad.randn(64, 1)

@nbgrad.compile(fullgraph=True)
def step(x, y):
    optimizer.zero_grad()
    loss = ((m(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.detach()

loaded, load = [], Loader._map
Loader._map = lambda *args: loaded.append(None) or load(*args)
step(x, y)
(variant,) = step.variants
print(len(loaded) - len({int(step.address) for step in variant.program.schedule.steps}))
"""


def test_a_first_call_finds_no_kernel_that_its_program_does_not_use():
    """Of a whole training step, with gradients, in a process that has computed nothing like it."""
    environment = {**os.environ, "NBGRAD_CHECK": "0"}  # which looks for NaN by kernels
    done = subprocess.run([sys.executable, "-c", KERNELS], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.strip() == "0", done.stderr


TOGETHER = """
import nbgrad
from nbgrad.kernels.cpu import store

together, emit_all = [], store.emit_all

def counted(texts, count):
    together.append(count)
    return emit_all(texts, count)

def choose(x):
    return x.sin() if (x.square() + 1).cumsum(0).amax() > 3 else x.cos()

store.emit_all = counted
nbgrad.compile(choose, fullgraph=True)(nbgrad.tensor([1.0, 2.0]))
print(together[0])
"""


def test_kernels_that_an_answer_needs_are_compiled_together(tmp_path):
    """Those of all launches that it depends on, before the first of them runs."""
    environment = {**os.environ, "NBGRAD_CHECK": "0", "NBGRAD_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", TOGETHER], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.strip() == "5", done.stderr
