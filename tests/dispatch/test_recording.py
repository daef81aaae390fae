"""Whether a call is recorded is asked natively, of the thread that makes it and of the operands; so is whether it may write."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import InplaceError
from tests.helpers import in_thread

CALLS = {
    "x * y": lambda x, y: x * y,
    "x * 2.0": lambda x, y: x * 2.0,
    "2.0 - x": lambda x, y: 2.0 - x,
    "tanh(x)": lambda x, y: x.tanh(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_threads_that_take_turns(call):
    """Each of two threads keeps its own mode, though they call alternately."""
    x, y, turns = nbgrad.ones(2, requires_grad=True), nbgrad.ones(2), threading.Barrier(2)
    seen: dict[str, list] = {"on": [], "off": []}

    def run(name, context):
        with context:
            for _ in range(20):
                turns.wait()
                seen[name].append(call(x, y).requires_grad)
                turns.wait()

    threads = [
        threading.Thread(target=run, args=("on", nbgrad.enable_grad())),
        threading.Thread(target=run, args=("off", nbgrad.no_grad())),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"on": [True] * 20, "off": [False] * 20}


def test_a_thread_begins_with_recording_on():
    """The mode of the thread that starts another, or of one that has died, is not the new one's."""
    x = nbgrad.ones(2, requires_grad=True)

    def leave_it_off():
        nbgrad.set_grad_enabled(False)
        return (x * 2.0).requires_grad

    with nbgrad.no_grad():
        for _ in range(5):
            assert in_thread(leave_it_off) is False
            assert in_thread(lambda: (x * 2.0).requires_grad) is True
            assert (x * 2.0).requires_grad is False
    assert (x * 2.0).requires_grad is True


@pytest.mark.parametrize("first", [False, True, None], ids=["constant", "leaf", "view"])
@pytest.mark.parametrize("second", [False, True, None], ids=["constant", "leaf", "view"])
@pytest.mark.parametrize("name", ["mul", "sub", "div", "atan2"])
def test_edges_of_the_operands_that_need_a_gradient(name, first, second):
    """A node has an edge for each operand into which gradients flow, in their order, and their gradients are those of a leaf."""

    def operand(needs, value):
        x = nbgrad.full((3,), value, dtype=nbgrad.float64, requires_grad=needs is not False)
        return x, x[:2] if needs is None else x

    (x, a), (y, b) = operand(first, 2.0), operand(second, 4.0)
    if (first is None) is not (second is None):
        a, b = a[:2], b[:2]
    out = getattr(nbgrad, name)(a, b)
    assert out.requires_grad is (x.requires_grad or y.requires_grad)
    if not out.requires_grad:
        return
    assert [edge is not None for edge, _ in out.grad_fn.next_functions] == [x.requires_grad, y.requires_grad]
    out.sum().backward()
    p, q = (nbgrad.full((1,), value, dtype=nbgrad.float64, requires_grad=True) for value in (2.0, 4.0))
    getattr(nbgrad, name)(p, q).sum().backward()
    for leaf, single in ((x, p), (y, q)):
        assert leaf.grad is None if not leaf.requires_grad else leaf.grad[0].item() == single.grad.item()


# ---- writes ----------------------------------------------------------------------------------------------------------
DATA = np.arange(1.0, 13.0)
OPERANDS = {
    "a number": lambda x, array: 3,
    "itself": lambda x, array: x,
    "an alias": lambda x, array: x.detach(),
    "its data": lambda x, array: x.data,
    "other memory": lambda x, array: nbgrad.full(x.shape, 2.0, dtype=nbgrad.float64),
    "other memory, another layout": lambda x, array: nbgrad.full(x.shape[::-1], 2.0, dtype=nbgrad.float64).mT,
    "one row": lambda x, array: nbgrad.full((1, 4), 2.0, dtype=nbgrad.float64),
    "the array again": lambda x, array: nbgrad.from_numpy(array).view(3, 4),
}


@pytest.mark.parametrize("operand", OPERANDS.values(), ids=OPERANDS)
@pytest.mark.parametrize("recording", [True, False])
def test_writes(operand, recording):
    """A write gives what NumPy gives, moves the version by one, and returns the tensor itself, the first time and the second."""
    array = DATA.copy()
    x = nbgrad.from_numpy(array).view(3, 4)
    with nbgrad.set_grad_enabled(recording):
        for _ in range(2):
            y = operand(x, array)
            expected = x.numpy() * np.array(y if type(y) is int else y.numpy())
            version = x._version
            assert x.mul_(y) is x and x._version == version + 1
            np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("start", [0, 1])
def test_writes_over_a_part_of_an_operand(start):
    """Memory that is read at another place than where it is written is refused, however often the layouts have been met."""
    whole = nbgrad.tensor(DATA)
    nbgrad.tensor(DATA)[:6].add_(nbgrad.tensor(DATA)[:6])
    with pytest.raises(InplaceError, match="overlap"):
        whole[start : start + 6].add_(whole[2:8])


def test_writes_to_leaves():
    """A leaf that requires grad is written to where nothing is recorded, and refused elsewhere, also by a plan that is known."""
    x = nbgrad.ones(3, requires_grad=True)
    for _ in range(2):
        with nbgrad.no_grad():
            x.sub_(nbgrad.full((3,), 0.25))
        with pytest.raises(InplaceError, match="leaf"):
            x.sub_(nbgrad.full((3,), 0.25))
    assert x.tolist() == [0.5] * 3 and x.is_leaf and x.requires_grad


@pytest.mark.parametrize("needs", [(True, False), (False, True)], ids=["the tensor", "the operand"])
def test_writes_that_are_recorded(needs):
    """A write is recorded if a gradient flows into the tensor or into the operand, though it has been made without."""
    first, second = (nbgrad.ones(3, requires_grad=need) for need in needs)
    (nbgrad.ones(3) * 2.0).mul_(nbgrad.ones(3) * 3.0)
    x, y = first * 2.0, second * 3.0
    x.mul_(y)
    x.sum().backward()
    for leaf in (first, second):
        assert leaf.grad is None if not leaf.requires_grad else leaf.grad.tolist() == [6.0] * 3


def test_writes_to_what_must_not_be_written():
    """Read-only arrays and expanded tensors are refused by plans that have served others of their layout."""
    array = DATA.copy()
    array.flags.writeable = False
    nbgrad.from_numpy(DATA.copy()).add_(1.0)
    with pytest.raises(InplaceError):
        nbgrad.from_numpy(array).add_(1.0)
    with pytest.raises(InplaceError, match="share one memory location"):
        nbgrad.ones(1).expand(3).add_(1.0)
    with nbgrad.inference_mode():
        frozen = nbgrad.ones(12, dtype=nbgrad.float64)
        frozen.add_(1.0)
    with pytest.raises(InplaceError, match="inference"):
        frozen.add_(1.0)
    assert frozen.tolist() == [2.0] * 12
