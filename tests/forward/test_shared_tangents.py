"""Tangents that share memory with their primal or with one another: a write to a dual tensor changes its value and its tangent."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import forward_ad, func
from nbgrad.forward_ad import make_dual, unpack_dual


def shifted_in_place(x):
    """The square of ``x + 1``, which ``x`` becomes."""
    x.add_(1)
    return x * x


@pytest.mark.parametrize("alias", [lambda x: x, lambda x: x.view(3), lambda x: x.detach()], ids=["itself", "view", "detached"])
def test_a_primal_as_its_own_tangent(alias):
    """The tangent is a copy: it is not written to with the primal, nor the primal with it."""
    x = nbgrad.tensor([0.0, 1.0, 2.0])
    value, product = func.jvp(shifted_in_place, (x,), (alias(x),))
    assert value.tolist() == [1.0, 4.0, 9.0] and product.tolist() == [0.0, 4.0, 12.0] and x.tolist() == [1.0, 2.0, 3.0]
    with forward_ad.dual_level():
        dual = make_dual(x, alias(x))
        dual.mul_(2)
        assert unpack_dual(dual).tangent.tolist() == dual.tolist() == x.tolist() == [2.0, 4.0, 6.0]


def test_a_part_of_memory_as_the_tangent_of_another():
    """Neighbours in one memory: the tangent goes to a storage of its own, in the place that the primal has in its."""
    memory = nbgrad.arange(6.0)
    with forward_ad.dual_level():
        dual = make_dual(memory[:3], memory[3:])
        assert unpack_dual(dual).tangent.tolist() == [3.0, 4.0, 5.0]
        dual.mul_(10)
        assert unpack_dual(dual.as_strided((2,), (1,), 1)).tangent.tolist() == [40.0, 50.0]
    assert memory.tolist() == [0.0, 10.0, 20.0, 3.0, 4.0, 5.0]


def test_one_direction_for_two_arguments():
    """A function that writes to one of them does not change the direction of the other."""
    x, t = nbgrad.ones(2), nbgrad.tensor([1.0, 2.0])
    assert func.jvp(lambda x, y: x.mul_(5) + y, (x, nbgrad.ones(2)), (t, t))[1].tolist() == [6.0, 12.0]
    batch = nbgrad.vmap(lambda t: func.jvp(lambda x, y: x.mul_(5) + y, (t + 1, t + 2), (t, t))[1])(nbgrad.ones(3, 2))
    assert batch.tolist() == [[6.0, 6.0]] * 3
