"""What a node does beside giving results, which every rewriting asks in one place."""

from __future__ import annotations

import nbgrad
from nbgrad.jit import trace
from nbgrad.jit.ir.ir import Node
from nbgrad.jit.passes.effects import is_pure, may_merge, may_repeat, must_stay
from nbgrad.jit.passes.retrace import InPlace

X = nbgrad.tensor([1.0, 2.0, 3.0])


def node_of(name, fn):
    """The node of that name in what a function is."""
    return next(node for node in trace(fn, X).nodes if node.name == name)


def test_a_draw_is_not_repeated_and_its_call_is_neither_dropped_nor_merged():
    """``draw`` is a function of the words that ``reserve`` takes."""
    reserve, draw = (node_of(name, lambda x: x + nbgrad.rand(3)) for name in ("reserve", "draw"))
    assert must_stay(reserve) and not is_pure(reserve) and not may_merge(reserve) and not may_repeat(reserve)
    assert not must_stay(draw) and may_merge(draw) and not may_repeat(draw)


def test_a_write_is_neither_dropped_nor_merged_nor_repeated():
    """In graphs that were not captured."""
    write = Node(InPlace("relu"), (trace(lambda x: x, X).inputs[0],), {}, [None])
    assert must_stay(write) and must_stay(write, silent=True) and not may_merge(write) and not may_repeat(write)


def test_a_refusal_keeps_a_call_that_somebody_waits_for():
    """It is pure all the same."""
    take = node_of("take", lambda x: x.take(nbgrad.tensor([0])))
    assert must_stay(take) and not must_stay(take, silent=True) and may_merge(take) and may_repeat(take)


def test_what_a_loop_prints_keeps_the_loop():
    """What stands in its block is what it does."""

    def summed(say):
        return lambda x: nbgrad.jit.scan(lambda c, x: (say(c) or c + x, None), nbgrad.tensor(0.0), x)[0]

    assert must_stay(node_of("scan", summed(nbgrad.jit.print)), silent=True)
    assert not must_stay(node_of("scan", summed(lambda c: None)))
