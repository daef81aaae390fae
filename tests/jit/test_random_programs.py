"""Random programs of views, writes, moves in place, detaches, hooks, Functions and ``no_grad`` regions, eager against compiled.

The programs are those of tests/autograd/test_random_programs.py, as functions of their leaves. What a graph cannot hold runs as it
is; what it holds must give the same bits for numbers that it was not captured with. Where eager mode refuses because a saved tensor
was overwritten a graph, which has no writes, may go on.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compiled_autograd
from nbgrad.jit.live import programs
from tests.autograd.test_random_programs import PROGRAMS, Machine, step_seeds

COUNT = max(4, PROGRAMS // 6)


def leaves(k):
    """Leaves of other numbers: a dense one, and one with gaps."""
    rng = np.random.default_rng(k)
    x, w = nbgrad.tensor(rng.uniform(-1, 1, (2, 3))), nbgrad.zeros(7, dtype=nbgrad.float64)[1::2].detach()
    return x.requires_grad_(), w.copy_(nbgrad.tensor(rng.uniform(-1, 1, 3))).requires_grad_()


def function(seed, guarded, whole):
    """The program as a function of its leaves: its tensors and gradients; or a number to take them of."""

    def program(x, w):
        machine = Machine(guarded)
        for slot, leaf, moved in zip(machine.leaves, (x, w), machine.slots[2:4]):
            slot.tensor, moved.tensor = leaf, leaf * 1
        for step in step_seeds(seed):
            machine.step(step)
        outs = [slot.tensor for slot in machine.slots[2:]]
        total = sum((0.1 * k + 0.3) * out.sum() for k, out in enumerate(outs))
        if not whole:
            return total
        slopes = nbgrad.grad(total, (x, w), allow_unused=True) if total.requires_grad else ()
        return [out.detach().clone() for out in outs], slopes

    return program


def bits(x):
    """What there is to see of a tensor, or of sequences of tensors."""
    if isinstance(x, (tuple, list)):
        return [bits(each) for each in x]
    return None if x is None else (x.dtype, tuple(x.shape), x.detach().numpy().tobytes())


def outcomes(fn, whole):
    """What three calls give and leave behind; the error where they raise one."""
    found = []
    for k in range(3):
        x, w = leaves(k)
        try:
            made = fn(x, w)
            if not whole and made.requires_grad:
                made.backward()
            found.append((bits(made), bits(x.grad), bits(w.grad), x._version, w._version))
        except RuntimeError as error:
            found.append(str(error))
    return found


def agree(got, want):
    """Whether they do, where eager mode does not refuse."""
    return all(a == b or (isinstance(b, str) and "at version" in b) for a, b in zip(got, want))


@pytest.mark.parametrize("whole", [True, False], ids=["with gradients", "in a graph"])
@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "bare"])
def test_compiled_programs_agree(guarded, whole):
    """Values, gradients and versions."""
    wrong, compiled = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what a graph cannot hold
        for seed in range(COUNT):
            fn = function(seed, guarded, whole)
            call = nbgrad.compile(fn)
            if not agree(outcomes(call, whole), outcomes(fn, whole)):
                wrong.append(seed)
            compiled += bool(call.variants)
    assert not wrong
    assert compiled > COUNT // 3


@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "bare"])
@pytest.mark.usefixtures("unchecked")
def test_compiled_passes_agree(guarded):
    """Passes of compiled autograd through the programs' graphs."""
    wrong, compiled = [], 0
    for seed in range(COUNT):
        programs.found.clear()
        fn = function(seed, guarded, False)
        want = outcomes(fn, False)
        with compiled_autograd():
            got = outcomes(fn, False)
        if got != want:
            wrong.append(seed)
        compiled += any(live.program is not None for alike in programs.found.values() for live in alike)
    assert not wrong
    assert compiled > COUNT // 3
