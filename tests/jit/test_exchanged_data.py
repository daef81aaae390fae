"""``p.data = ...`` in compiled functions: tensors of the program show the memory of a result behind every run."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import nn


def averaged(model, other, held):
    """A running mean of parameters, as it is kept of a model that teaches; others need no gradient where it is computed."""

    def step(x):
        with nbgrad.no_grad():
            for p, q in zip(model.parameters(), other.parameters()):
                q.data = q.data * 0.9 + p.data * 0.1
        return other(x)

    return step


def used_before(model, other, held):
    """What was computed of the old elements; gradients flow into the leaf all the same."""

    def step(x):
        y = model(x).sum()
        for p in model.parameters():
            p.data = p.data.clamp(-0.1, 0.1)
        return y + other(x).sum()

    return step


def descended(model, other, held):
    """A step of gradient descent, written so."""

    def step(x):
        (model(x) ** 2).mean().backward()
        for p in model.parameters():
            p.data = p.data - 0.1 * p.grad
            p.grad = None
        return (model(x) ** 2).mean().detach()

    return step


def optimized(model, other, held):
    """Writes before and after the exchange, and two exchanges."""
    optimizer = nbgrad.optim.Adam(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
        with nbgrad.no_grad():
            for p in model.parameters():
                p.data = p.data * 2
                p.add_(1)
                p.data = p.data / 2
        return model(x).detach()

    return step


def shared(model, other, held):
    """The memory of another tensor, of an argument, of a result, of a part of one; back to its own."""
    a, b, c, d, e = held

    def step(x):
        own = e.data
        a.data, c.data, d.data, e.data = b.data, x, (x * 2)[:1].expand(1, 4).reshape(1, 4), own + 1
        y = e * 2 + a
        b.add_(1)
        e.data = own
        e.add_(1)
        return y + c + d

    return step


def swapped(model, other, held):
    """Two tensors with one another's memory."""
    a, b = held[:2]

    def step(x):
        a.data, b.data = b.data, a.data
        return a * 2 + b + x

    return step


def case(make, compiled):
    """The function, and all tensors that it names."""
    nbgrad.manual_seed(0)
    model, other = nn.Linear(4, 4), nn.Linear(4, 4)
    held = [nbgrad.full((1, 4), float(k)) for k in range(5)]
    step = make(model, other, held)
    return nbgrad.compile(step, fullgraph=True) if compiled else step, [*model.parameters(), *other.parameters(), *held]


@pytest.mark.parametrize("make", [averaged, used_before, descended, optimized, shared, swapped])
def test_data_is_exchanged(make):
    """Results, elements, versions, gradients, and which tensors share memory are those of the function."""
    (plain, expected), (compiled, found) = case(make, False), case(make, True)
    for k in range(4):
        x = nbgrad.arange(4.0).view(1, 4) + k
        y, z = plain(x), compiled(x.clone())
        assert z.allclose(y) and z.requires_grad == y.requires_grad
        if y.requires_grad:
            y.sum().backward()
            z.sum().backward()
        for p, q in zip(expected, found):
            assert q.allclose(p) and q._version == p._version
            assert (q.grad is None) == (p.grad is None) and (p.grad is None or q.grad.allclose(p.grad))
        kinds = [[a.data_ptr() == b.data_ptr() for a in tensors for b in tensors] for tensors in (expected, found)]
        assert kinds[0] == kinds[1]
    assert len(compiled.variants) == 1


def test_the_old_memory_stays_as_it_was():
    """Who holds it, holds it; a result that is returned and exchanged is one memory."""
    x = nbgrad.ones(2)
    alias = x.data

    @nbgrad.compile(fullgraph=True)
    def double(y):
        z = x * 2 + y
        x.data = z
        return z

    for _ in range(2):
        z = double(nbgrad.zeros(2))
    assert alias.tolist() == [1, 1] and x.tolist() == [4, 4] and z.data_ptr() == x.data_ptr()


def test_the_tensor_is_where_it_was_if_the_capture_fails():
    """What cannot be captured runs as it is, once."""
    x = nbgrad.ones(2)
    memory = x.data_ptr()

    @nbgrad.compile(fullgraph=True)
    def fails(y):
        x.data = x.data * 2
        return y.numpy()

    with pytest.raises(nbgrad.GraphError):
        fails(nbgrad.ones(2))
    assert x.data_ptr() == memory and x.tolist() == [1, 1] and x._version == 0


def test_a_value_that_is_written_may_be_another_ones():
    """``x + 1`` is computed once, for a result and for what is written."""
    x = nbgrad.zeros(2)

    @nbgrad.compile(fullgraph=True)
    def twice():
        y = (x + 1) * 2
        x.add_(1)
        return y

    assert [twice().tolist(), twice().tolist(), x.tolist()] == [[2, 2], [4, 4], [2, 2]]
