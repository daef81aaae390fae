"""What a compiled function depends on beside its arguments: a change of it is noticed in the next call."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import GraphError
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
