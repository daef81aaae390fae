"""What functions inside of func.grad, vjp, jvp and vmap may not do: start passes, make leaves, write to what they capture."""

from __future__ import annotations

import dis
import threading
from types import CodeType, FunctionType

import numpy as np
import pytest

import nbgrad
from nbgrad import func, vmap
from nbgrad.func.captures import arguments_of, captured, global_names, has_loops

F64 = nbgrad.float64


def vector(*values):
    """A float64 tensor."""
    return nbgrad.tensor(list(values), dtype=F64)


def total(x):
    """The sum of squares."""
    return (x * x).sum()


# Ways to run a function of one tensor, which returns a number.
RUNS = {
    "grad": lambda f: func.grad(f)(vector(1.0, 2.0)),
    "vjp": lambda f: func.vjp(f, vector(1.0, 2.0)),
    "jacrev": lambda f: func.jacrev(f)(vector(1.0, 2.0)),
    "jvp": lambda f: func.jvp(f, (vector(1.0, 2.0),), (vector(1.0, 1.0),)),
    "jacfwd": lambda f: func.jacfwd(f)(vector(1.0, 2.0)),
    "hessian": lambda f: func.hessian(f)(vector(1.0, 2.0)),
    "linearize": lambda f: func.linearize(f, vector(1.0, 2.0)),
    "vmap": lambda f: vmap(f)(vector(1.0, 2.0).reshape(1, 2)),
}
RECORDING = sorted(set(RUNS) - {"vmap"})


# ---- passes and leaves -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("run", sorted(RUNS))
def test_backward_is_refused(run):
    """A pass that accumulates belongs outside: the function's result would not depend on it."""
    w = nbgrad.ones(2, dtype=F64, requires_grad=True)

    def f(x):
        (w * 3).sum().backward()
        return total(x)

    with pytest.raises(RuntimeError, match="backward: called inside of a function that a transform"):
        RUNS[run](f)
    assert w.grad is None


@pytest.mark.parametrize("run", sorted(RUNS))
@pytest.mark.parametrize("value", [True, False])
def test_requires_grad_is_refused(run, value):
    """Transforms differentiate by their arguments; whether tensors require grad is not the function's to say."""
    with pytest.raises(RuntimeError, match="requires_grad_: called inside"):
        RUNS[run](lambda x: total(x * nbgrad.ones(2, dtype=F64).requires_grad_(value)))


@pytest.mark.parametrize("run", ["grad", "vjp", "jacrev", "hessian"])
def test_retain_grad_is_refused(run):
    """There is no pass whose gradient a tensor could keep."""

    def f(x):
        y = x * 2
        y.retain_grad()
        return total(y)

    with pytest.raises(RuntimeError, match="retain_grad: called inside"):
        RUNS[run](f)


def test_functional_is_refused_inside_of_a_transform():
    """nbgrad.functional detaches its inputs: the derivative by them would come out as zero."""
    with pytest.raises(RuntimeError, match="requires_grad_"):
        func.grad(lambda x: nbgrad.functional.vjp(lambda a: a * a, x, x)[1].sum())(vector(1.0, 2.0))


@pytest.mark.parametrize("run", sorted(RUNS))
def test_afterwards_everything_is_allowed(run):
    """A transform leaves nothing behind, neither when it returns nor when its function fails."""

    def fails(x):
        raise KeyError("f")

    for f in (total, fails):
        try:
            RUNS[run](f)
        except KeyError:
            pass
        x = vector(1.0, 2.0).requires_grad_()
        y = x * x
        y.retain_grad()
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 4.0] and y.grad.tolist() == [1.0, 1.0]


def test_other_threads_are_not_concerned():
    """While one thread runs a transform another may train."""
    x, inside, done = vector(2.0), threading.Event(), threading.Event()

    def train():
        inside.wait(10)
        total(x.requires_grad_()).backward()
        done.set()

    def f(y):
        inside.set()
        assert done.wait(10)
        return total(y)

    thread = threading.Thread(target=train)
    thread.start()
    assert func.grad(f)(vector(1.0)).tolist() == [2.0]
    thread.join()
    assert x.grad.tolist() == [4.0]


@pytest.mark.parametrize(
    "make", [lambda x: nbgrad.ones(2, dtype=F64, requires_grad=True), lambda x: leaf_of(x)], ids=["factory", "attribute"]
)
def test_leaves_of_the_function_are_its_own(make):
    """A leaf made inside is differentiated inside, by nbgrad.grad; the transform's result does not require grad for it."""
    inner = []

    def f(x):
        c = make(x)
        inner.append(nbgrad.grad((c * c).sum(), c)[0].tolist())
        return (x * c).sum()

    found = func.grad(f)(vector(1.0, 1.0))
    assert found.tolist() == [1.0, 1.0] and not found.requires_grad and inner == [[2.0, 2.0]]


def leaf_of(x):
    """A leaf with the values of ``x``."""
    c = x.detach()
    c.requires_grad = True
    return c


def test_passes_by_grad_are_allowed():
    """nbgrad.grad inside of func.grad is differentiated with the rest."""
    found = func.grad(lambda x: nbgrad.grad((x**3).sum(), x, create_graph=True)[0].sum())(vector(1.0, 2.0))
    assert found.tolist() == [6.0, 12.0]


# ---- writes ----------------------------------------------------------------------------------------------------------
WRITES = {
    "copy_": lambda c, x: c.copy_(x),
    "mul_": lambda c, x: c.mul_(x),
    "setitem": lambda c, x: c.__setitem__(0, x[1]),
    "view": lambda c, x: c[0].copy_(x[0]),
    "constant": lambda c, x: c.add_(1),
    "detached": lambda c, x: c.copy_(x.detach()),
    "data": lambda c, x: c.data.zero_(),
    "index_add_": lambda c, x: c.index_add_(0, nbgrad.tensor([0, 1]), x),
}


@pytest.mark.parametrize("write", sorted(WRITES))
@pytest.mark.parametrize("run", RECORDING)
def test_writes_to_captured_tensors_are_refused(run, write):
    """A tensor that outlives the transform would hold values whose derivatives died with it."""
    c = vector(5.0, 7.0)

    def f(x):
        WRITES[write](c, x)
        return total(x)

    with pytest.raises(RuntimeError, match="writes to a tensor that it captures"):
        RUNS[run](f)
    assert c.tolist() == [5.0, 7.0] and not c.requires_grad
    assert c.add_(1).tolist() == [6.0, 8.0]


@pytest.mark.parametrize("hold", [lambda c: [c], lambda c: {"c": c}, lambda c: Holder(c)], ids=["list", "dict", "object"])
def test_captured_collections_are_looked_through(hold):
    """A tensor may be captured in a list, in a dict or as an attribute."""
    c = vector(5.0)
    held = hold(c)

    def f(x):
        (held.tensor if isinstance(held, Holder) else held["c"] if type(held) is dict else held[0]).copy_(x)
        return total(x)

    with pytest.raises(RuntimeError, match="captures"):
        func.grad(f)(vector(1.0))
    assert c.tolist() == [5.0]


class Holder:
    """An object with a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor

    def add(self, x):
        """A method that writes to it."""
        self.tensor.add_(x.detach())
        return total(x)


def test_methods_capture_their_object():
    """The attributes of a bound method's object are captured."""
    holder = Holder(vector(5.0))
    with pytest.raises(RuntimeError, match="captures"):
        func.grad(holder.add)(vector(1.0))


def test_writes_under_no_grad_are_refused_too():
    """The write itself is what the transform cannot undo."""
    c = vector(5.0)

    def f(x):
        with nbgrad.no_grad():
            c.copy_(x)
        return total(x)

    with pytest.raises(RuntimeError, match="captures"):
        func.grad(f)(vector(1.0))


def test_an_inner_transform_captures_what_the_outer_one_made():
    """For the inner function a tensor of the outer one comes from outside."""

    def outer(x):
        y = x * 1

        def inner(z):
            y.mul_(z)
            return total(y)

        return func.grad(inner)(x).sum()

    with pytest.raises(RuntimeError, match="captures"):
        func.grad(outer)(vector(1.0))


def test_a_function_may_write_to_what_it_made():
    """Buffers of its own are filled as anywhere else."""

    def f(x):
        y = nbgrad.zeros(2, dtype=F64)
        y.copy_(x)
        y[0] *= 3
        return total(y)

    assert func.grad(f)(vector(1.0, 2.0)).tolist() == [18.0, 4.0]


def test_a_function_may_write_to_its_arguments():
    """Arguments that are not differentiated are passed to be used, also if the caller captures them."""
    c = vector(0.0, 0.0)

    def f(x, c):
        c.add_(1)
        return (x * c).sum()

    assert func.grad(f)(vector(1.0, 2.0), c).tolist() == [1.0, 1.0] and c.tolist() == [1.0, 1.0]


def test_vmap_may_write_to_captured_tensors():
    """What is the same for all elements of a batch may be counted on."""
    c = vector(0.0)

    def f(x):
        c.add_(1)
        return x * c

    assert vmap(f)(vector(1.0, 2.0)).tolist() == [[1.0], [2.0]] and c.tolist() == [1.0]


def test_a_pull_back_does_not_forbid_writes():
    """After the function has run its captured tensors are free; the pass finds out by their version."""
    c = vector(3.0)
    _, pull_back = func.vjp(lambda x: x * c, vector(1.0))
    c.add_(1)
    with pytest.raises(RuntimeError, match="version 1, expected 0"):
        pull_back(vector(1.0))


def test_captured_tensors_that_were_saved_are_copied_before_a_write():
    """Inside of ``allow_mutation_on_saved_tensors`` the pull-back uses what the captured tensor was."""
    with nbgrad.graph.allow_mutation_on_saved_tensors():
        c = vector(3.0)
        _, pull_back = func.vjp(lambda x: x * c, vector(1.0))
        c.add_(1)
        assert pull_back(vector(1.0))[0].tolist() == [3.0]


def test_what_is_captured():
    """Closures, defaults, members of collections and functions that are captured in turn; not what is passed."""
    a, b, c, d = (vector(float(k)) for k in range(4))

    def helper(x, b=b):
        return x * a * b

    def f(x, *, options={"c": [c]}):  # noqa: B006  (a mutable default, on purpose)
        return helper(x) * options["c"][0]

    assert {id(x) for x in captured(f)} == {id(a), id(b), id(c)}
    assert not captured(func.grad(total)) and {id(x) for x in captured(vmap(lambda x: x * d))} == {id(d)}
    assert np.allclose(func.grad(lambda x: f(x).sum())(vector(1.0)).numpy(), 0.0)


# ---- results ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("run", ["vjp", "jacrev", "hessian"])
def test_integers_have_no_cotangents(run):
    """A pull-back of integers would take nothing and give nothing: they are refused, as results beside them are not."""
    with pytest.raises(RuntimeError, match="floating or complex"):
        RUNS[run](lambda x: x.sum().long())
    _, pull_back, aux = func.vjp(lambda x: (x * 3, x.long()), vector(1.0), has_aux=True)
    assert pull_back(vector(1.0))[0].tolist() == [3.0] and aux.tolist() == [1]


def test_instructions_are_found_as_dis_tells_them():
    """Names of globals and loops, of all functions of a module, and behind more arguments than a byte holds."""
    wide = "def f():\n" + "".join(f"    n{k} = g{k}\n" for k in range(700)) + "    return [g for g in g699]"
    codes = [x.__code__ for x in vars(dis).values() if isinstance(x, FunctionType)]
    codes.append(next(each for each in compile(wide, "wide", "exec").co_consts if isinstance(each, CodeType)))
    for code in codes:
        told = [each for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"]
        assert [k >> 1 for k in arguments_of(code, dis.opmap["LOAD_GLOBAL"])] == [each.arg >> 1 for each in told]
        assert {each.argval for each in told} <= set(global_names(code))
    assert len(global_names(codes[-1])) == 700 and has_loops(codes[-1]) and not has_loops((lambda x: x).__code__)
