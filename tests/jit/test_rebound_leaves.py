"""Parameters that a compiled function exchanges: leaves that need gradients, in names."""

from collections import deque
from types import SimpleNamespace

import pytest

import nbgrad


def steps():
    """Functions of ``(x, box)`` that leave another leaf in the box, each with how many programs it is."""

    def gradient(x, box):
        (g,) = nbgrad.grad(((box.w * x) ** 2).sum(), box.w)
        box.w = (box.w - 0.1 * g).detach().requires_grad_()

    def backward(x, box):
        w = box.w
        ((w * x) ** 2).sum().backward()
        box.w = (w.detach() - 0.1 * w.grad).requires_grad_()
        w.grad = None

    def in_a_dict(x, box):
        names = list(box.d)
        grads = nbgrad.grad(sum((box.d[name] * x).square().sum() for name in names), [box.d[name] for name in names])
        for name, g in zip(names, grads):
            box.d[name] = (box.d[name] - 0.1 * g).detach().requires_grad_()
        return box.d["a"].detach() * 2

    def momentum(x, box):
        (g,) = nbgrad.grad(((box.w * x) ** 2).sum(), box.w)
        box.m = 0.9 * box.m + g
        box.w = (box.w - 0.1 * box.m).detach().requires_grad_()
        return (box.w.detach() * x).sum().item()

    def kept(x, box):
        box.all.append((box.w * x).detach().requires_grad_())

    def flag_given(x, box):
        box.m = (box.m + x).requires_grad_()
        return nbgrad.grad((box.m**2).sum(), box.m)[0]

    def with_history(x, box):
        y = box.w * x
        box.w = (box.w - 0.1 * x).detach().requires_grad_()
        return y

    def returned(x, box):
        box.w = (box.w * x).detach().requires_grad_()
        return box.w * 3

    def flag_taken(x, box):
        box.w.requires_grad_(False)
        box.w = box.w * x

    return {
        fn.__name__: fn for fn in (gradient, backward, in_a_dict, momentum, kept, flag_given, with_history, returned, flag_taken)
    }


def seen(x):
    """What a program can see of values and flags."""
    if isinstance(x, nbgrad.Tensor):
        return x.tolist(), x.requires_grad, x.is_leaf, None if not x.is_leaf or x.grad is None else x.grad.tolist()
    if isinstance(x, SimpleNamespace):
        return seen(vars(x))
    if isinstance(x, dict):
        return {name: seen(each) for name, each in x.items()}
    return list(map(seen, x)) if isinstance(x, (list, tuple, deque)) else x


def box_of():
    """Leaves in attributes and in a dict."""
    d = {name: nbgrad.full((2,), k + 1.0, requires_grad=True) for k, name in enumerate("ab")}
    return SimpleNamespace(w=nbgrad.ones(2, requires_grad=True), m=nbgrad.zeros(2), d=d, all=deque(maxlen=3))


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("name", steps())
def test_leaves_that_a_function_exchanges(name):
    """They hold, and need gradients, as they do without compilation; passes through results of several calls, too."""
    fn, here, there = steps()[name], box_of(), box_of()
    compiled = nbgrad.compile(lambda x: fn(x, here))
    for k in range(6):
        x = nbgrad.tensor([1.0, 0.5]) * (k + 1)
        first, then = here.w, there.w
        got, want = compiled(x), fn(x, there)
        assert seen(got) == seen(want) and seen(here) == seen(there), k
        if isinstance(got, nbgrad.Tensor) and got.requires_grad:
            for y in (got, want):
                y.sum().backward()
            assert seen([first, here]) == seen([then, there]), k
            first.grad = then.grad = here.w.grad = there.w.grad = None
        if k == 3:
            here.w, there.w = (nbgrad.ones(2, requires_grad=True) for _ in range(2))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["gradient", "backward", "in_a_dict", "momentum"])
def test_steps_that_exchange_parameters_are_one_program(name):
    """Nothing is captured again for the next parameters."""
    fn, box = steps()[name], box_of()
    compiled = nbgrad.compile(lambda x: fn(x, box), fullgraph=True)
    for k in range(5):
        compiled(nbgrad.ones(2) * k)
    assert len(compiled.variants) == 1


@pytest.mark.filterwarnings("ignore:compile")
def test_parameters_of_another_kind():
    """A name that holds what needs no gradient, has a gradient or a hook, in a later call."""
    fn, here, there = steps()["gradient"], box_of(), box_of()
    compiled, called = nbgrad.compile(lambda x: fn(x, here)), []
    for k in range(8):
        for box in (here, there):
            if k == 3:
                (box.w * 2).sum().backward()
            if k == 4:
                box.w.register_hook(lambda g: called.append(1))
            if k == 5:
                box.w = nbgrad.ones(2)
            if k == 6:
                box.w = (nbgrad.ones(2, requires_grad=True) * 2).requires_grad_()
        outcomes = []
        for run in (lambda x: compiled(x), lambda x: fn(x, there)):
            try:
                outcomes.append(seen(run(nbgrad.ones(2) * k)))
            except RuntimeError as error:
                outcomes.append(type(error).__name__)
        assert outcomes[0] == outcomes[1] and seen(here) == seen(there), k
    assert len(called) == 2
