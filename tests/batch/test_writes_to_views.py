"""Writes to views inside of a batch that is differentiated from outside: what is recorded is the write to the batch."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import func, vmap
from tests.helpers import wave

WRITES = {
    "a loop of its own": lambda v: v.mul_(2),
    "by an index": lambda v: v.index_fill_(0, nbgrad.tensor([0]), 2.0),
    "tril_": lambda v: v.tril_(),
    "cumsum_": lambda v: v.cumsum_(0),
    "renorm_": lambda v: v.renorm_(2, 0, 1.0),
    "float_power_": lambda v: v.float_power_(3),
    "put_": lambda v: v.put_(nbgrad.tensor([0]), v[:1, 0] * 3),
    "scatter_reduce_": lambda v: v.scatter_reduce_(0, nbgrad.tensor([[0]]), v[:1, :1] * 2, "prod"),
    "moved in place": lambda v: v.t_().mul_(2),
}
VIEWS = {"itself": lambda x: x, "transposed": lambda x: x.t(), "a slice": lambda x: x[1:], "a part": lambda x: x.tensor_split(2)[0]}
FORMS = {
    "gradient of a map": lambda f: func.grad(lambda x: vmap(f)(x).sum()),
    "map of gradients": lambda f: vmap(func.grad(f)),
    "map of Hessians": lambda f: vmap(func.hessian(f)),
    "tangent of a map": lambda f: lambda x: func.jvp(vmap(f), (x,), (x + 1,))[1],
}


def loop(form, f, batch):
    """The same, element by element."""
    alone = {
        "gradient of a map": func.grad(f),
        "map of gradients": func.grad(f),
        "map of Hessians": func.hessian(f),
        "tangent of a map": lambda x: func.jvp(f, (x,), (x + 1,))[1],
    }
    return nbgrad.stack([alone[form](x) for x in batch])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("write", WRITES)
def test_writes_to_views_of_a_batch(form, write):
    """Every form of a write, composed ones too, is that of each element."""
    batch = wave(3, 2, 2)
    for view in VIEWS.values():

        def f(x, view=view):
            y = x * x
            WRITES[write](view(y))
            return (y * y).sum()

        assert nbgrad.allclose(FORMS[form](f)(batch), loop(form, f, batch))


@pytest.mark.parametrize("draw", [lambda v: v.uniform_(), lambda v: v.normal_(), lambda v: v.bernoulli_(0.5)])
def test_draws_over_views_of_a_batch(draw):
    """What is drawn over has no gradient; the rest of the tensor has."""

    def f(x):
        y = x * 3
        draw(y[0])
        return y.sum()

    gradient = func.grad(lambda x: vmap(f, randomness="different")(x).sum())(wave(3, 2, 2))
    assert gradient.tolist() == [[[0.0, 0.0], [3.0, 3.0]]] * 3


@pytest.mark.parametrize("write", [lambda v: v.tril_(), lambda v: v.uniform_()], ids=["composed", "drawn"])
def test_parts_that_refuse_writes_refuse_them_in_a_batch(write):
    """One of several results, and a view of what is differentiated by."""

    def part(x):
        write((x * 1).split(1)[0])
        return x.sum()

    def leaf(x):
        write(x[:])
        return x.sum()

    for f, why in ((part, "several of"), (leaf, "view of a leaf")):
        with pytest.raises(nbgrad.InplaceError, match=why):
            func.grad(lambda x, f=f: vmap(f, randomness="different")(x).sum())(wave(3, 2, 2))


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_that_is_moved_under_no_grad_keeps_its_history(form):
    """As other tensors do; and it may be written to."""

    def f(x):
        y = x * 3
        with nbgrad.no_grad():
            y.t_()
        y[0].mul_(2)
        return (y * y).sum()

    batch = wave(3, 2, 4)
    assert nbgrad.allclose(FORMS[form](f)(batch), loop(form, f, batch))
