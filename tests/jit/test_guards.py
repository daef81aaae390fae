"""What a compiled function depends on beside its arguments: a change of it is noticed in the next call."""

from __future__ import annotations

import collections
import copy
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections import deque
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import nbgrad
import nbgrad.nn.functional as F
from nbgrad.errors import GradError, GraphError
from nbgrad.jit import compile, trace

W = nbgrad.tensor([1.0, 2.0, 3.0])
A = np.array([1.0, 2.0, 3.0])
LARGE = np.ones(100)
SCALE = 2.0
X = nbgrad.tensor([1.0, 2.0, 3.0])


class Scaling(nbgrad.Function):
    """Names a global in both directions."""

    @staticmethod
    def forward(ctx, x):
        return x * SCALE

    @staticmethod
    def backward(ctx, g):
        return g * SCALE


class Base:
    """Of a class."""

    factor = 2.0


class Holder(Base):
    """Looks things up in its class and in those that this is derived from."""

    @staticmethod
    def scaled(x):
        return x * SCALE

    @classmethod
    def of_class(cls, x):
        return x * cls.factor

    @property
    def size(self):
        return self.factor + SCALE

    def through(self, x):
        return self.helper(x)

    def helper(self, x):
        return x * SCALE


HELD = Holder()


def change_scale():
    global SCALE
    SCALE = 5.0


def change_factor():
    Base.factor = 9.0


def change_method():
    Holder.helper = lambda self, x: x * 7


def change_array():
    A[1] = 7
    LARGE[:] = 7


def change_tensor():
    W.fill_(7.0)


@pytest.fixture(autouse=True)
def as_before():
    """Undo the changes."""
    global SCALE
    helper = Holder.helper
    yield
    SCALE, Base.factor, Holder.helper = 2.0, 2.0, helper
    A[:], LARGE[:] = [1, 2, 3], 1
    W.copy_(nbgrad.tensor([1.0, 2.0, 3.0]))


CHANGES = {
    "a Function's global": (lambda x: Scaling.apply(x), change_scale),
    "a Function's global, in reverse": (lambda x: nbgrad.grad(Scaling.apply(y := x * 1).sum(), y)[0], change_scale),
    "a static method's global": (lambda x: Holder.scaled(x), change_scale),
    "a class method": (lambda x: Holder.of_class(x), change_factor),
    "an attribute of a base": (lambda x: x * Holder.factor, change_factor),
    "an object's property": (lambda x: x * HELD.size, change_scale),
    "an object's class": (lambda x: x * HELD.size, change_factor),
    "a method that a method calls": (lambda x: HELD.through(x), change_scale),
    "another method": (lambda x: HELD.through(x), change_method),
    "an object that is made": (lambda x: Holder().helper(x), change_scale),
    "from_numpy": (lambda x: x * nbgrad.from_numpy(A), change_array),
    "tensor of an array": (lambda x: x * nbgrad.tensor(A), change_array),
    "as_tensor": (lambda x: x * nbgrad.as_tensor(A), change_array),
    "an element of an array": (lambda x: x * float(A[1]), change_array),
    "an array as an operand": (lambda x: x * A, change_array),
    "NumPy of an array": (lambda x: x * nbgrad.tensor(A.mean()), change_array),
    "a large array": (lambda x: x * nbgrad.from_numpy(LARGE).sum(), change_array),
    "a tensor of a large array": (lambda x: x * nbgrad.tensor(LARGE, dtype=nbgrad.float32)[3], change_array),
    "a part of a large array": (lambda x: x * nbgrad.from_numpy(LARGE[10:20]).sum(), change_array),
    "NumPy of a tensor": (lambda x: x * float(np.sum(W)), change_tensor),
    "a tensor of elements": (lambda x: x * nbgrad.tensor([W[0], W[1], W[2]]), change_tensor),
    "the greatest of a tensor": (lambda x: x * max(W) + sorted(W)[0], change_tensor),
    "text": (lambda x: x * 2 if "7" in str(W) else x, change_tensor),
    "sizes": (lambda x: nbgrad.ones(int(W[0])).sum() + x.roll(W[0].long()), change_tensor),
    "an argument that is a number": (lambda x: nbgrad.add(x, x, alpha=W[0]) + nbgrad.full((3,), W[0]), change_tensor),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_noticed(name):
    """By the quick way and by the slow one, at once, and the other way round."""
    fn, change = CHANGES[name]
    if name.endswith("in reverse"):
        inner, fn = fn, lambda x: inner(x.detach().requires_grad_())
    compiled = compile(fn, fullgraph=True)
    for _ in range(2):
        assert compiled(X).tolist() == fn(X).tolist()
    before = fn(X).tolist()
    change()
    for _ in range(2):
        assert compiled(X).tolist() == fn(X).tolist() != before


LIBRARY = {
    "a function of Python's": (lambda x: x * math.sqrt(4), lambda m: m.setattr(math, "sqrt", lambda x: 7.0)),
    "a function of the package": (lambda x: nbgrad.exp(x), lambda m: m.setattr(nbgrad, "exp", nbgrad.sin)),
    "a function in a module in there": (lambda x: nbgrad.nn.functional.relu(x - 2), lambda m: m.setattr(F, "relu", nbgrad.abs)),
    "a function of a module that has no file": (lambda x: MADE.double(x), lambda m: m.setattr(MADE, "double", lambda x: x * 5)),
    "the environment": (lambda x: x * float(os.environ["HOME_OF_TEST"]), lambda m: m.setenv("HOME_OF_TEST", "9")),
    "the environment by a function": (lambda x: x * float(os.getenv("HOME_OF_TEST")), lambda m: m.setenv("HOME_OF_TEST", "9")),
    "a variable of the context": (lambda x: x * CONTEXT.get(), lambda m: CONTEXT.set(9.0)),
    "a variable of the thread": (lambda x: x * LOCAL.scale, lambda m: m.setattr(LOCAL, "scale", 9.0)),
    "a namespace": (lambda x: x * SPACE.scale, lambda m: m.setattr(SPACE, "scale", 9.0)),
}
MADE, CONTEXT, LOCAL, SPACE = ModuleType("made"), ContextVar("scale", default=2.0), threading.local(), SimpleNamespace(scale=2.0)
MADE.double, LOCAL.scale = lambda x: x * 2, 2.0


@pytest.mark.parametrize("name", LIBRARY)
def test_changes_of_libraries_are_noticed(name, monkeypatch):
    """Functions that are replaced in modules that are not the program's, and what a process or a thread sees."""
    fn, change = LIBRARY[name]
    monkeypatch.setenv("HOME_OF_TEST", "2")
    x, compiled = nbgrad.ones(3), nbgrad.compile(fn, fullgraph=True)
    before = [compiled(x).tolist() for _ in range(3)]
    assert before == [fn(x).tolist()] * 3 and len(compiled.variants) == 1
    change(monkeypatch)
    assert compiled(x).tolist() == fn(x).tolist() != before[0]


def test_long_lists_and_deep_nets():
    """Members of lists of hundreds of numbers and tensors, parameters of a net of 100 layers."""
    numbers, tensors = [1.0] * 300, [nbgrad.ones(3) for _ in range(300)]
    net = nbgrad.nn.Sequential(*[nbgrad.nn.Linear(3, 3) for _ in range(100)])
    fn = lambda x: (net(x) + tensors[250]) * numbers[270]
    compiled = compile(fn, fullgraph=True)
    for change in (lambda: None, lambda: numbers.__setitem__(270, 2.0), lambda: tensors.__setitem__(250, X)):
        change()
        assert compiled(X).tolist() == fn(X).tolist()
    net[90].bias = nbgrad.nn.Parameter(X.clone())
    assert compiled(X).tolist() == fn(X).tolist() and len(compiled.variants) == 4


def test_writes_to_an_array_are_done_in_every_call():
    """A tensor on the memory of a large array that the function names."""
    compiled = compile(lambda x: nbgrad.from_numpy(LARGE).add_(1)[:3] * x, fullgraph=True)
    assert [compiled(X)[0].item() for _ in range(4)] == [2.0, 3.0, 4.0, 5.0] and LARGE.tolist() == [5.0] * 100


def test_arrays_that_the_function_makes_are_its_own():
    """Memory of a call: writes to it do not go on to the next."""
    compiled = compile(lambda x: nbgrad.from_numpy(np.zeros(3)).add_(x), fullgraph=True)
    assert [compiled(X).tolist() for _ in range(3)] == [[1.0, 2.0, 3.0]] * 3


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x * W.untyped_storage().tolist()[3],
        lambda x: x * pickle.loads(pickle.dumps(W)),
        lambda x: x * copy.deepcopy(W),
        lambda x: x * nbgrad.tensor(np.array(W)),
        lambda x: x * W._version,
    ],
)
def test_bytes_of_tensors_leave_the_graph(fn):
    """What is read of them would be what it was."""
    with pytest.raises(GraphError, match="Hint"):
        compile(fn, fullgraph=True)(X)
    with pytest.raises(GraphError, match="Hint"):
        trace(fn, X)


# ---- everything else -------------------------------------------------------------------------------------------------
# Programs that are given a way to wrap a function: what they return is the same whether the function is compiled or not.


class Slotted:
    __slots__ = ("factor",)


class Late:
    """Whose attributes come later."""


def by_members(make, *changes):
    """A function that adds up the members of a collection, before the changes and behind each of them."""

    def program(wrap):
        held = make()
        fn = wrap(lambda x: x + sum(float(v) for v in (held.values() if isinstance(held, dict) else held)))
        found = [fn(X).tolist()]
        for change in changes:
            change(held)
            found.append(fn(X).tolist())
        return found

    return program


def by_changes(fn, *changes):
    """The same of a function that needs no collection."""

    def program(wrap):
        compiled, found = wrap(fn), [fn(X).tolist()]
        for change in changes:
            found.append(compiled(X).tolist())
            change()
            found.append(compiled(X).tolist())
        return found

    return program


def cells(wrap):
    factor = 2.0
    fn = wrap(lambda x: x * factor)
    found = [fn(X).tolist()]
    factor = 3.0
    return [*found, fn(X).tolist()]


def defaults(wrap):
    def fn(x, factor=2.0, *, other=1.0):
        return x * factor + other

    compiled = wrap(fn)
    found = [compiled(X).tolist()]
    fn.__defaults__ = (3.0,)
    found.append(compiled(X).tolist())
    fn.__kwdefaults__["other"] = 5.0
    found.append(compiled(X).tolist())
    fn.__kwdefaults__ = {"other": 6.0}
    return [*found, compiled(X).tolist()]


def code(wrap):
    def inner(x):
        return x * 2

    compiled = wrap(lambda x: inner(x))
    found = [compiled(X).tolist()]
    inner.__code__ = (lambda x: x * 3).__code__
    return [*found, compiled(X).tolist()]


def attributes(wrap):
    late = Late()
    fn = wrap(lambda x: x * getattr(late, "factor", 1.0) if hasattr(late, "factor") else x)
    found = [fn(X).tolist()]
    late.unused = 1
    found.append(fn(X).tolist())
    late.factor = 4.0
    found.append(fn(X).tolist())
    del late.factor
    found.append(fn(X).tolist())
    Late.factor = 5.0
    found.append(fn(X).tolist())
    del Late.factor
    return [*found, fn(X).tolist()]


def slots(wrap):
    held = Slotted()
    held.factor = 2.0
    fn = wrap(lambda x: x * held.factor)
    found = [fn(X).tolist()]
    held.factor = 3.0
    return [*found, fn(X).tolist()]


def absent_globals(wrap):
    fn = wrap(lambda x: x * 2 if "LATER" in globals() else x)
    found = [fn(X).tolist()]
    globals()["LATER"] = 1
    found.append(fn(X).tolist())
    del globals()["LATER"]
    return [*found, fn(X).tolist()]


def modules(wrap):
    """Layers that are added, modes, hooks, buffers that are exchanged."""
    net = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 3), nbgrad.nn.BatchNorm1d(3))
    for k, p in enumerate(net.parameters()):
        p.data.copy_(nbgrad.full(p.shape, 0.5 + k))
    fn, x, found = wrap(lambda x: net(x).detach()), nbgrad.tensor(np.sin(np.arange(12.0)).reshape(4, 3).astype("f4")), []

    def note():
        found.append([fn(x).tolist(), net[1].running_mean.tolist()])

    note()
    net.eval(), note()
    net.append(nbgrad.nn.Tanh()), note()
    net.add_module("last", nbgrad.nn.ReLU()), note()
    handle = net[0].register_forward_hook(lambda module, args, out: out * 3)
    note()
    other = net[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    note()
    handle.remove(), other.remove(), note()
    net[1].running_mean = nbgrad.ones(3)
    note()
    net[0].weight = nbgrad.nn.Parameter(nbgrad.ones(3, 3))
    note()
    net.train(), note()
    return found


def history_of_names(wrap):
    w = nbgrad.ones(3, requires_grad=True)
    fn, found = wrap(lambda x: x * w), []
    for flag in (True, False, True):
        w.requires_grad_(flag)
        found.append(fn(X).requires_grad)
    w.data = nbgrad.ones(1) * 4
    found.append(fn(X).tolist())
    w.data = nbgrad.ones(2, 3)
    return [*found, fn(X).tolist()]


def hooks_of_arguments(wrap):
    fn, found = wrap(lambda x: nbgrad.grad((x * x).sum(), x)[0]), []
    x = X.clone().requires_grad_()
    found.append(fn(x).tolist())
    handle = x.register_hook(lambda g: g * 10)
    found.append(fn(x).tolist())
    handle.remove()
    found.append(fn(x).tolist())
    y = x * 1
    found.append(fn(y).tolist())
    y.register_hook(lambda g: g * 7)
    found.append(fn(y).tolist())
    z = x * 1
    z.retain_grad()
    return [*found, fn(z).tolist(), z.grad.tolist()]


def hooks_of_names(wrap):
    w = nbgrad.ones(3, requires_grad=True)
    fn, found, log = wrap(lambda x: (x * w).sum().backward()), [], []

    def note():
        w.grad = None
        fn(X)
        found.append(w.grad.tolist())

    note(), note()
    handle = w.register_hook(lambda g: g * 10)
    note(), handle.remove()
    w.register_post_accumulate_grad_hook(lambda p: log.append(1))
    note()
    return found, log


def leaves(wrap):
    """Passes go through arguments that were computed; functions ask whether they were."""
    x = X.clone().requires_grad_()
    fn, found = wrap(lambda y: (y * y).sum().backward()), []
    fn(x)
    found.append(x.grad.tolist())
    x.grad = None
    fn(x * 2)
    found.append(x.grad.tolist())
    for ask in (lambda y: y.is_leaf, lambda y: y.grad_fn is None):
        fn = wrap(lambda y, ask=ask: y * 2 if ask(y) else y * 3)
        found += [fn(x).tolist(), fn(x * 1).tolist(), fn(x).tolist()]
    return found


def gradients(wrap):
    fn, found = wrap(lambda x: (x * x).sum().backward()), []
    other = wrap(lambda x: x.detach() if x.grad is None else x.grad * 2)
    x = X.clone().requires_grad_()
    for grad in (None, X.clone(), None):
        x.grad = grad
        found.append(other(x).tolist())
        fn(x)
        found.append(x.grad.tolist())
    return found


def modes(wrap):
    w = nbgrad.ones(3, requires_grad=True)
    fn, found = wrap(lambda x: (x * w, nbgrad.is_grad_enabled())), []
    for mode in (nbgrad.enable_grad, nbgrad.no_grad, nbgrad.inference_mode, nbgrad.enable_grad):
        with mode():
            y, enabled = fn(X)
            found.append((y.requires_grad, enabled, y.is_inference()))
    return found


def anomaly(wrap):
    """Which looks for NaN within, and names the calls of the function."""
    fn, found = wrap(lambda x: nbgrad.grad((x.sqrt() * 0).sum(), x)[0]), []
    asking = wrap(lambda x: x * 2 if nbgrad.is_anomaly_enabled() else x)
    zero = nbgrad.zeros(1, requires_grad=True)
    found += [str(fn(zero)), asking(X).tolist()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with nbgrad.autograd.detect_anomaly():
            found.append(asking(X).tolist())
            try:
                fn(zero)
            except GradError as error:
                found.append(str(error)[:60])
    return [*found, str(fn(zero)), asking(X).tolist()]


def settings(wrap):
    """The default dtype, deterministic algorithms, the number of threads."""
    fn = wrap(lambda x: (x * 2 if nbgrad.are_deterministic_algorithms_enabled() else x, nbgrad.zeros(1)))
    found, threads = [], nbgrad.get_num_threads()

    def note():
        y, z = fn(X)
        found.append((y.tolist(), z.dtype))

    try:
        note()
        nbgrad.use_deterministic_algorithms(True)
        note()
        nbgrad.set_default_dtype(nbgrad.float64)
        note()
        nbgrad.set_num_threads(threads + 1)
        note()
    finally:
        nbgrad.use_deterministic_algorithms(False)
        nbgrad.set_default_dtype(nbgrad.float32)
        nbgrad.set_num_threads(threads)
    return found


def arguments(wrap):
    """Types and bits of numbers, strides, dtypes, flags, shared memory, generators."""
    fn = wrap(lambda x, k: x * k if k is not True else x + 5)
    found = [(y.dtype, str(y.tolist())) for y in (fn(nbgrad.tensor([3]), k) for k in (1, 1.0, True, 0.0, -0.0, 0, 2))]
    strides = wrap(lambda x: x * x.stride(0))
    x = nbgrad.ones(2, 2)
    for y in (x, x.t(), x[:, :1], x.double(), x.clone().requires_grad_()):
        out = strides(y)
        found.append((out.dtype, out.requires_grad, out.tolist()))

    def doubling(a, b):
        a.mul_(2)
        return b + 0

    doubled, w = wrap(doubling), nbgrad.ones(3)
    named = wrap(lambda a: doubling(a, w))
    x = nbgrad.ones(4)
    found += [doubled(*pair).tolist() for pair in ((X.clone(), X), (x, x), (x[:2], x[1:3]), (x, x.detach()))]
    found += [named(x).tolist() for x in (X.clone(), w, w.detach(), X.clone())]
    draw, one, two = wrap(lambda g: nbgrad.rand(2, generator=g)), *(nbgrad.Generator().manual_seed(k) for k in (1, 2))
    return found + [draw(g).tolist() for g in (one, two, one.manual_seed(5), two)]


ADDED, SWAPPED = (lambda x: x.append(3.0)), (lambda x: x.__setitem__(0, 7.0))
PROGRAMS = {
    "a list": by_members(lambda: [1.0], ADDED, SWAPPED, lambda x: x.pop()),
    "an empty list": by_members(list, ADDED, lambda x: x.clear()),
    "a dict": by_members(lambda: {0: 1.0}, lambda x: x.update(b=2.0), SWAPPED, lambda x: x.pop(0)),
    "an empty dict": by_members(dict, SWAPPED),
    "a dict of another kind": by_members(lambda: collections.OrderedDict(a=1.0), lambda x: x.update(a=2.0), SWAPPED),
    "a set": by_members(lambda: {1.0}, lambda x: x.add(2.0), lambda x: (x.remove(1.0), x.add(5.0))),
    "a deque": by_members(lambda: collections.deque([1.0]), ADDED, SWAPPED, lambda x: x.popleft()),
    **{
        fn.__name__: fn
        for fn in (
            *(
                cells,
                defaults,
                code,
                attributes,
                slots,
                absent_globals,
                modules,
                history_of_names,
                hooks_of_arguments,
                hooks_of_names,
            ),
            *(leaves, gradients, modes, anomaly, settings, arguments),
        )
    },
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("any_values")
def test_programs_go_on_as_they_would(name):
    """Compiled or not: whatever a program depends on is looked at again in every call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of it runs as it is
        got = PROGRAMS[name](compile)
        assert got == PROGRAMS[name](lambda fn: fn)


def test_what_is_made_once_is_captured_twice():
    """A dict that remembers, an attribute that is set: from the second call on nothing changes."""
    table, late = {}, Late()

    def fn(x):
        if "factor" not in table:
            table["factor"] = 2.0
        late.seen = True
        return x * table["factor"]

    compiled = compile(fn, fullgraph=True)
    for _ in range(4):
        assert compiled(X).tolist() == (X * 2).tolist()
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("kind", [list, set, deque, dict])
def test_what_a_function_collects_is_all_there(kind):
    """Every call is another one, and runs as the function in the end, which is said once."""
    log = kind()
    add = {list: lambda: log.append(len(log)), deque: lambda: log.append(len(log)), set: lambda: log.add(len(log))}
    note = add.get(kind, lambda: log.update({len(log): 1}))

    def fn(x):
        note()
        return x * len(log)

    compiled = compile(fn, limit=3)
    got = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(6):
            got.append(compiled(X).tolist())
    assert got == [(X * k).tolist() for k in range(1, 7)] and len(log) == 6
    assert len(said) == 1 and "runs as it is" in str(said[0].message)
    assert len(compiled.variants) == (
        0 if kind in (list, deque) else 3
    )  # of what grows and is not looked at there is one: test_rebound.py


def test_names_of_which_the_program_does_not_speak():
    """New globals, new attributes of its objects."""
    late = Late()
    late.factor = 2.0
    compiled = compile(lambda x: x * late.factor, fullgraph=True)
    compiled(X)
    late.other = globals()["OTHER"] = 1
    for _ in range(2):
        compiled(X)
    del globals()["OTHER"]
    compiled(X)
    assert len(compiled.variants) == 1


def test_objects_of_the_package_are_no_dependencies():
    """What a layout holds, as the tensor that results are made from, is nothing that a program depends on."""
    x = nbgrad.ones(3)
    kept = x.layout, nbgrad.float64

    def program(y):
        return (y * 2).to(kept[1]) + (1 if kept[0].ndim == 1 else 0)

    call = nbgrad.compile(program, fullgraph=True)
    assert call(x).tolist() == call(x).tolist() == [3.0, 3.0, 3.0]
    assert len(call.variants) == 1


NOTEBOOK = """
import nbgrad
class Scale:
    factor = 2.0
    def __call__(self, x):
        return x * self.factor
call, x = nbgrad.compile(Scale(), fullgraph=True), nbgrad.ones(2)
first = call(x).tolist()
Scale.factor = 3.0
assert (first, call(x).tolist()) == ([2.0, 2.0], [3.0, 3.0])
"""


def test_classes_of_a_session_without_a_file_are_the_programs():
    """In a notebook, too, an attribute of a class that changes is noticed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(nbgrad.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-"], input=NOTEBOOK, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr


def test_guards_of_another_size():
    """Another size depends on what the first one did, without a look at every object, as long as all of that holds."""
    held = SimpleNamespace(factor=2.0, numbers=[1.0])

    def function(x):
        return x * held.factor + held.numbers[0] + W[0] + len(held.numbers)

    call = compile(function)
    for size in (2, 3):
        x = nbgrad.ones(size)
        assert nbgrad.equal(call(x), function(x))
    first, second = (variant.guards for variant in call.variants)
    assert second.tensors is first.tensors and second.names == first.names and second.cells == first.cells
    held.factor = 3.0
    for size in (4, 2, 3):
        x = nbgrad.ones(size)
        assert nbgrad.equal(call(x), function(x))
    assert call.variants[-1].guards.tensors is not first.tensors
    held.numbers.append(5.0)
    for size in (4, 5):
        x = nbgrad.ones(size)
        assert nbgrad.equal(call(x), function(x))
