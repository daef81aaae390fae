"""Tensors in one memory: arguments, names, and what a function leaves in names beside what it returns."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import nbgrad
from nbgrad import compile


def windows(start, other):
    """Two parts of one tensor, of three elements each."""
    memory = nbgrad.arange(9.0)
    return memory[start : start + 3], memory[other : other + 3]


PLACES = [(0, 0), (0, 3), (0, 1), (1, 0), (2, 1), (6, 0), (3, 3), (2, 5)]


@pytest.mark.parametrize("fn", [lambda x, y: x * y, lambda x, y: x.mul_(2) + y], ids=["read", "written"])
@pytest.mark.filterwarnings("ignore:compile")
def test_arguments_may_lie_elsewhere_in_one_memory(fn):
    """A program for parts of one tensor that are one, or lie over each other, is none for parts that lie otherwise."""
    compiled = compile(fn, limit=len(PLACES))
    for pair in PLACES * 2:
        (x, y), (a, b) = windows(*pair), windows(*pair)
        assert compiled(x, y).equal(fn(a, b)), pair
        assert x.equal(a) and y.equal(b), pair


def test_parts_side_by_side_are_one_program():
    """Rows of one tensor need one program, whichever they are."""
    product = compile(lambda x, y: x * y, fullgraph=True)
    rows = nbgrad.arange(12.0).view(4, 3)
    for i, j in ((0, 1), (2, 0), (1, 3)):
        assert product(rows[i], rows[j]).equal(rows[i] * rows[j])
    assert len(product.variants) == 1


def test_names_may_hold_neighbours_in_one_memory():
    """``k, v = qkv.chunk(2)`` in names: neither is a part of the other, and both are read."""
    held = SimpleNamespace()
    product = compile(lambda x: x * held.k + held.v[1:].sum(), fullgraph=True)
    for _ in range(2):
        held.k, held.v = nbgrad.randn(6).chunk(2)
        for x in (nbgrad.ones(3), nbgrad.arange(3.0)):
            assert product(x).equal(x * held.k + held.v[1:].sum())


def test_what_a_name_holds_beside_a_result_is_a_tensor_of_its_own():
    """``self.last = y.detach(); return y``: two tensors on one memory, also where neither has a history."""
    held = SimpleNamespace(last=nbgrad.zeros(3), twin=nbgrad.zeros(3), given=nbgrad.zeros(3))

    @compile(fullgraph=True)
    def keep(x):
        y = x * 2
        held.last, held.twin, held.given = y.detach(), y, x.detach()
        return y

    for x in (nbgrad.ones(3), nbgrad.arange(3.0), nbgrad.ones(3)):
        y = keep(x)
        assert y is held.twin and y is not held.last and y.data_ptr() == held.last.data_ptr()
        assert held.given is not x and held.given.data_ptr() == x.data_ptr()
        y.requires_grad_()
        assert not held.last.requires_grad


def test_a_detached_tensor_in_a_name_has_no_history_where_no_gradients_are_recorded():
    """What ``enable_grad`` has recorded within a call under ``no_grad`` does not come along into a name."""
    w = nbgrad.ones(3, requires_grad=True)
    held = SimpleNamespace(last=nbgrad.zeros(3))

    @compile(fullgraph=True)
    def keep(x):
        with nbgrad.enable_grad():
            y = w * x
        held.last = y.detach()
        return y.sum()

    for _ in range(3):
        with nbgrad.no_grad():
            keep(nbgrad.ones(3))
        assert not held.last.requires_grad


def test_a_name_takes_the_tensor_of_another_name():
    """A tensor goes from name to name as itself, also where the first name held a part of it."""
    held = SimpleNamespace(x=nbgrad.zeros(3), buffer=nbgrad.ones(3))

    @compile
    def take(y):
        held.x = held.buffer
        return y

    for part in (False, True, True, False):
        held.buffer = held.x[:] if part else nbgrad.randn(3)
        take(nbgrad.ones(3))
        assert held.x is held.buffer


PARTS = {
    "columns": lambda x: x[:, ::2],
    "block": lambda x: x[1:5, 1:3],
    "transposed": lambda x: x.t()[::2],
    "rows": lambda x: x[::2],
    "of three": lambda x: x.view(2, 3, 4)[:, ::2].transpose(0, 2),
}


def scaled(x):
    """Writes to all of it."""
    x.mul_(2).add_(1)
    return x.sum(0)


def partly(x):
    """Writes to a part of it, and to a view; reads it in another order."""
    x[:, 0] = 3
    x.transpose(0, 1)[1:] += x[:1, :1].mean()
    return x.flatten()


def itself(x):
    """Its elements move within it; it is returned, with what shows its memory."""
    x.copy_(x.flip(0))
    return x, x[1:], x.as_strided((2,), (1,), x.storage_offset())


@pytest.mark.parametrize("fn", [scaled, partly, itself])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_arguments_with_gaps_are_written_to(part, fn):
    """What lies between their elements stays; so do strides of what is returned."""
    compiled, first, second = compile(fn, fullgraph=True), nbgrad.arange(24.0).view(6, 4), nbgrad.arange(24.0).view(6, 4)
    for _ in range(3):
        found, expected = compiled(part(first)), fn(part(second))
        for x, y in zip(found, expected) if fn is itself else [(found, expected)]:
            assert x.equal(y) and x.stride() == y.stride()
        assert first.equal(second)
    assert len(compiled.variants) == 1


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("pair", [(slice(0, None, 2), slice(1, None, 2)), (slice(0, 3, 2), slice(1, 2)), (slice(0, None, 2),) * 2])
def test_arguments_in_the_gaps_of_others(pair):
    """Written to as well, they are no part of what lies around them."""

    def fn(x, y):
        x.mul_(2)
        y.add_(1)
        return x.sum() + y.sum()

    compiled, first, second = compile(fn), nbgrad.arange(24.0).view(6, 4), nbgrad.arange(24.0).view(6, 4)
    for _ in range(2):
        assert compiled(*(first[:, k] for k in pair)).equal(fn(*(second[:, k] for k in pair)))
        assert first.equal(second)


@pytest.mark.filterwarnings("ignore:compile")
def test_nothing_is_read_beyond_what_was_written_to():
    """``as_strided`` may lead out of an argument, to memory that a program has no new value of."""

    def fn(x):
        x.add_(1)
        return x.as_strided((2,), (1,), 0).clone()

    compiled = compile(fn)
    for _ in range(2):
        assert compiled(nbgrad.arange(12.0).view(6, 2)[1:]).tolist() == [0, 1]
    with pytest.raises(nbgrad.GraphError, match="is written to where the other does not reach"):
        compile(fn, fullgraph=True)(nbgrad.arange(12.0).view(6, 2)[1:])
