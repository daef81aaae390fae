"""What a compiled function returns is what the function returns: the same tensors, views of the same tensors, leaves or not."""

from __future__ import annotations

import os
import warnings

import pytest

import nbgrad
from nbgrad import compile
from nbgrad.errors import InplaceError
from nbgrad.jit import load, save

compiled = compile(fullgraph=True)


def no(f):
    """What a function returns under ``no_grad``."""
    with nbgrad.no_grad():
        return f()


def several(x, f):
    """What a function returns of a tensor that has a name there."""
    return f(x)


CASES = {
    "arguments": lambda w, x, y: (w, x, y),
    "whole views": lambda w, x, y: (w.view(3), x.view(3), y.view(3)),
    "identities": lambda w, x, y: (w.squeeze(), x.squeeze(), y.contiguous(), w.to(nbgrad.float32)),
    "detached": lambda w, x, y: (w.detach(), x.detach(), y.detach()),
    "parts": lambda w, x, y: (w[1:], x[1:], y[1:], y.expand(2, 3)),
    "parts of detached": lambda w, x, y: (w.detach()[1:], x.detach()[1:], y.detach()[1:]),
    "under no_grad": lambda w, x, y: no(lambda: (w[1:], x[1:], y[1:], w.view(3), x.detach(), w * 2)),
    "of one computed": lambda w, x, y: several(w * x, lambda t: (t, t, t[1:], t.detach(), t.view(3))),
    "of one without history": lambda w, x, y: several(x * 2, lambda t: (t, t, t[1:], t.detach(), t.view(3))),
    "views first": lambda w, x, y: several(w * x, lambda t: (t[1:], t, t[1:][1:])),
    "views alone": lambda w, x, y: several(w * x, lambda t: (t[1:], t[:2])),
    "detached first": lambda w, x, y: (*several(w * x, lambda t: (t.detach(), t)), *several(x * x, lambda t: (t.detach(), t))),
    "leaves": lambda w, x, y: tuple([t.detach().requires_grad_() for t in (w, x, y * 2)]),
    "new leaves": lambda w, x, y: (nbgrad.zeros(3, requires_grad=True), nbgrad.zeros(3), w * x),
    "a view made a leaf": lambda w, x, y: (x[1:].requires_grad_(),),
    "of one constant": lambda w, x, y: several(nbgrad.arange(3.0), lambda z: (z, z[1:], z.detach())),
    "real parts": lambda w, x, y: several(nbgrad.complex(w, x), lambda z: (z.real, z.imag, z, z.real[1:])),
    "conjugates": lambda w, x, y: several(nbgrad.complex(w, x), lambda z: (z.conj(), z.conj().imag, nbgrad.view_as_real(z))),
    "complex": lambda w, x, y: (nbgrad.view_as_complex((w * 2)[:2]), nbgrad.view_as_complex(x[:2])),
    "one member": lambda w, x, y: (*(w * x).unbind(0), *x.unbind(0)),
    "of a detached one": lambda w, x, y: several(w.detach(), lambda d: (d, d[1:], d[:1])),
    "views of a hidden one": lambda w, x, y: several(x.detach(), lambda d: (d[1:], d[1:].expand(2, 2))),
    "of computed, under no_grad": lambda w, x, y: several(w * x, lambda t: (no(lambda: t[1:]), no(lambda: t.view(3)))),
    "detached, of a computed one": lambda w, x, y: several(x * 2, lambda t: (t, t.detach()[1:])),
    "copies": lambda w, x, y: (w.clone(), x.clone(), y * 1),
}


def told(f):
    """All that a call tells of its results: types, elements, what they are of each other and of arguments, and gradients."""
    w, x = nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True), nbgrad.tensor([2.0, 3.0, 4.0])
    y = w * 1.5
    results = f(w, x, y)
    everything = [*results, w, x, y]
    types = [(t.dtype, t.shape, t.stride(), t.is_conj(), t.requires_grad, t.is_leaf, t._is_view()) for t in results]
    elements = [t.detach().resolve_conj().tolist() for t in results]
    same = [[t is other for other in everything] for t in results]
    bases = [[t._base is other for other in everything] for t in results]
    memory = [[t._storage_.array is other._storage_.array for other in everything] for t in results]
    live = [t for t in results if t.requires_grad]
    if live:
        sum(((k + 2) * t.abs() ** 2).sum() for k, t in enumerate(live)).backward()
    gradients = [None if t.grad is None else t.grad.tolist() for t in (w, *[t for t in results if t.is_leaf])]
    return types, elements, same, bases, memory, gradients


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_function(case):
    """Identity, memory, views, leaves, elements and gradients of results are those of the function, in every call."""
    f = compiled(CASES[case])
    for _ in range(3):
        assert told(f) == told(CASES[case])
    assert len(f.variants) == 1


@pytest.mark.parametrize("case", CASES)
def test_results_of_a_loaded_function_are_those_of_the_function(case, tmp_path):
    """A file says of results what they are."""
    f = compiled(CASES[case])
    told(f)
    path = os.path.join(tmp_path, "f")
    save(f, path, objects=False)
    assert told(load(path)) == told(CASES[case])


@pytest.mark.parametrize("part", ["real", "imag", "conj", "view_as_real"])
def test_parts_of_computed_complex_numbers_have_their_memory(part):
    """Real parts and their like of a result with a history are views of it, of their own type, and gradients flow through them."""
    f = {
        "real": lambda z: (z * 2).real,
        "imag": lambda z: (z * 2).imag,
        "conj": lambda z: (z * 2).conj(),
        "view_as_real": lambda z: nbgrad.view_as_real(z * 2),
    }[part]
    z = nbgrad.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    got, want = compiled(f)(z), f(z)
    assert (got.dtype, got.stride(), got.is_conj(), got.tolist()) == (want.dtype, want.stride(), want.is_conj(), want.tolist())
    grads = [nbgrad.grad((y.abs() ** 2).sum(), z)[0].tolist() for y in (got, want)]
    assert grads[0] == grads[1]


def test_writes_through_a_returned_view_reach_the_argument():
    """A recorded write to a part of an argument, which the function has returned, is part of the argument's history."""

    @compiled
    def rows(x):
        return x[1:]

    w = nbgrad.tensor(2.0, requires_grad=True)
    for _ in range(3):
        x = nbgrad.ones(3)
        rows(x).mul_(w)
        assert nbgrad.grad((x * w).sum(), w)[0].item() == 9


def test_a_detached_result_is_a_tensor_of_its_own():
    """What is done to a detached argument that came back is not done to the argument."""

    @compiled
    def f(x):
        return x.detach()

    for _ in range(2):
        x = nbgrad.ones(2)
        y = f(x).requires_grad_()
        assert y is not x and not x.requires_grad
        no(lambda: y.mul_(2))  # noqa: B023
        assert x.tolist() == [2, 2]


def test_a_functional_step_returns_leaves():
    """Parameters that a function computes, and makes leaves, end the history: the next step begins at them."""

    @compiled
    def update(p, x, lr):
        (g,) = nbgrad.grad(((p * x) ** 2).sum(), p)
        return (p - lr * g).detach().requires_grad_()

    first = p = nbgrad.ones(2, requires_grad=True)
    for _ in range(3):
        p = update(p, nbgrad.ones(2), 0.25)
        p.sum().backward()
        assert p.is_leaf and p.grad.tolist() == [1, 1]
    assert p.tolist() == [0.125, 0.125] and first.grad is None


def runs_as_it_is(f, word):
    """The function compiled, which says why it is not captured in its first call."""
    made = compile(f)

    def call(*args):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            out = made(*args)
        assert all(word in str(each.message) for each in found)
        assert not made.variants
        return out

    return call


def test_a_leaf_that_is_returned_with_what_follows_from_it():
    """Where a leaf is made and returned with what was computed of it, gradients arrive in it."""

    def f(x):
        y = x.detach().requires_grad_()
        return y, (y * 2).sum()

    both = runs_as_it_is(f, "leaf")
    for _ in range(2):
        y, z = both(nbgrad.ones(2))
        z.backward()
        assert y.grad.tolist() == [2, 2]


def test_an_argument_made_a_leaf():
    """Gradients of results arrive in an argument of which the function has made a leaf."""

    def f(x):
        x.requires_grad_()
        return (x**2).sum()

    square = runs_as_it_is(f, "leaf")
    for _ in range(2):
        x = nbgrad.ones(2)
        square(x).backward()
        assert x.grad.tolist() == [2, 2]


def test_a_leaf_within_the_function_costs_nothing():
    """A leaf that nobody sees outside is part of the program: gradients flow into what else the result depends on."""
    w = nbgrad.tensor([0.5, 0.25], requires_grad=True)

    def penalty(x):
        x = x.detach().clone().requires_grad_()
        (g,) = nbgrad.grad((x * w).tanh().sum(), x, create_graph=True)
        return (g**2).mean()

    x, made = nbgrad.tensor([1.0, 2.0]), compiled(penalty)
    want, got = nbgrad.grad(penalty(x), w)[0], nbgrad.grad(made(x), w)[0]
    assert got.tolist() == want.tolist() and len(made.variants) == 1


@pytest.mark.parametrize("name", ["unsqueeze_", "t_", "squeeze_"])
def test_an_argument_given_another_shape(name):
    """Arguments get another shape in place where the function runs as it is; what it has made may."""

    def f(x):
        getattr(x, name)(*([0] if name == "unsqueeze_" else []))
        return x * 2

    shape = runs_as_it_is(f, "another shape")
    for _ in range(2):
        x, y = nbgrad.ones(1, 3), nbgrad.ones(1, 3)
        assert shape(x).shape == f(y).shape and x.shape == y.shape
    assert compiled(lambda x: f(x * 1))(nbgrad.ones(1, 3)).shape == x.shape


def test_a_computed_argument_that_is_drawn_anew():
    """What was computed outside may be drawn anew in place, which a leaf may not."""
    draw = runs_as_it_is(lambda x: x.normal_() * 1, "in place")
    for _ in range(2):
        w = nbgrad.ones(2, requires_grad=True)
        draw(w * 1).sum().backward()
        assert w.grad.tolist() == [0, 0]


def test_a_write_that_is_not_recorded_leaves_the_history():
    """What a result was overwritten with under ``no_grad`` has no history; the result keeps its own."""

    @compiled
    def f(x, y):
        z = x * 3
        no(lambda: z.add_(y))
        return z, z[1:]

    for _ in range(2):
        x, y = nbgrad.ones(2, requires_grad=True), nbgrad.ones(2, requires_grad=True)
        z, part = f(x, y)
        (z.sum() + part.sum()).backward()
        assert z.tolist() == [4, 4] and x.grad.tolist() == [3, 6] and y.grad is None


def test_a_view_of_what_is_written_to():
    """A view of an argument, made before the function writes to it, tells its history behind the call."""

    @compiled
    def f(x):
        v = no(lambda: x.view(-1))
        no(lambda: x.mul_(2))
        return v

    x = nbgrad.ones(2, 2)
    v = f(x)
    assert v.tolist() == [2] * 4 and not v.requires_grad and v._base is x


def test_one_of_several_views_is_refused_where_the_function_refuses_it():
    """A recorded write to one of several views of one operation is an error, as it is without ``compile``."""
    w = nbgrad.ones((), requires_grad=True)
    for f in (lambda x: x.unbind(0), compiled(lambda x: x.unbind(0))):
        first, _ = f(nbgrad.ones(2, 2))
        with pytest.raises(InplaceError):
            first.mul_(w)


def test_views_under_no_grad_are_constants():
    """What was taken out of a tensor under ``no_grad`` has no history, also where it is used with one."""

    @compiled
    def f(x):
        d = no(lambda: x[0])
        return (d.exp() * x).sum()

    for _ in range(2):
        x = nbgrad.ones(2, requires_grad=True)
        f(x).backward()
        e = nbgrad.ones(()).exp().item()
        assert x.grad.tolist() == [e, e]


@pytest.mark.filterwarnings("ignore:compile")
def test_a_part_of_a_view_under_no_grad_has_a_history_that_leads_nowhere():
    """One of several views of it, too: no gradient goes on to its base."""
    f = compile(lambda x: several(x * 2, lambda y: no(lambda: y[None]).unbind()[0]))
    for _ in range(2):
        x = nbgrad.ones(2, requires_grad=True)
        f(x).sum().backward()
        assert x.grad is None


def test_what_enable_grad_records_has_a_history():
    """A function that records what its caller does not returns results with a history."""
    w = nbgrad.tensor(3.0, requires_grad=True)

    @compiled
    def f(x):
        with nbgrad.enable_grad():
            y = x * w
        return y, y * 2, y[...]

    for _ in range(3):
        y, z, v = no(lambda: f(nbgrad.tensor(2.0)))
        assert y.requires_grad and not z.requires_grad
        (y * 5 + v.detach()).backward()
        assert w.grad.item() == 10
        w.grad = None


def test_a_parameter_that_is_made_and_returned():
    """A tensor of a class of its own that a function makes is of this class."""
    make = runs_as_it_is(lambda x: nbgrad.nn.Parameter(x * 2), "Parameter")
    for _ in range(2):
        p = make(nbgrad.ones(2))
        assert type(p) is nbgrad.nn.Parameter and p.is_leaf and p.requires_grad
