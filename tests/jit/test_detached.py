"""Arguments and named tensors that a compiled function cuts off their history."""

from types import SimpleNamespace

import pytest

import nbgrad


def cut(h, x):
    h.detach_()
    return h * x


def flag_taken(h, x):
    h.requires_grad_(False)
    return h * x


def used_before(h, x):
    y = h * x
    h.detach_()
    return y + h


def leaf_again(h, x):
    h.detach_()
    h.requires_grad_()
    return nbgrad.grad((h * x).sum(), h)[0]


def written(h, x):
    h.add_(1)
    h.detach_()
    return h * x


ARGUMENTS = {
    "computed": lambda w: w * 3,
    "leaf": lambda w: (w * 3).detach().requires_grad_(),
    "plain": lambda w: (w * 3).detach(),
    "view": lambda w: (w * 3)[:],
    "view of a plain one": lambda w: w.detach()[:].requires_grad_(),
}


def outcome(fn, kind):
    """What a call gives and leaves, gradients that flow through it included, or its error."""
    w, x = nbgrad.ones(2, requires_grad=True), nbgrad.tensor([2.0, 5.0], requires_grad=True)
    h = ARGUMENTS[kind](w)
    try:
        y = fn(h, x)
    except RuntimeError as error:
        return type(error).__name__, h.requires_grad, h.tolist()
    if y.requires_grad:
        y.sum().backward()
    grads = (x.grad, w.grad, h.grad if h.is_leaf else None)
    return repr((y.tolist(), y.requires_grad, h.requires_grad, h.is_leaf, h.tolist(), grads))


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("fn", [cut, flag_taken, used_before, leaf_again, written])
def test_arguments_that_are_cut_off(fn, backwards):
    """They are cut off, with a history or without one, whatever was captured before; where the function raises, so does that."""
    kinds = list(ARGUMENTS)[:: -1 if backwards else 1]
    compiled = nbgrad.compile(fn)
    for kind in kinds * 2:
        assert outcome(compiled, kind) == outcome(fn, kind), kind


def test_an_argument_with_a_history_is_one_program():
    """Nothing is captured again, and no call runs as it is."""
    f = nbgrad.compile(cut, fullgraph=True)
    for _ in range(3):
        outcome(f, "computed")
    assert len(f.variants) == 1


def test_a_name_whose_tensor_is_cut_off():
    """What a name holds has its history until the call is over, in the capture too."""
    w = nbgrad.ones(2, requires_grad=True)
    box, plain = (SimpleNamespace(h=w * 3) for _ in range(2))

    def fn(box, x):
        box.h.detach_()
        return box.h * x

    compiled = nbgrad.compile(lambda x: fn(box, x))
    for k in range(4):
        got, want = compiled(nbgrad.ones(2) * k), fn(plain, nbgrad.ones(2) * k)
        assert got.tolist() == want.tolist() and not got.requires_grad and box.h.is_leaf and not box.h.requires_grad
        if k == 1:
            box.h, plain.h = w * 2, w * 2
