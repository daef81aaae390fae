"""Modes of one thread beside other modes of other threads: each call obeys those of its own thread, and no others.

All threads share the list of active modes, and open and close them at any time; ``switching`` lets them take turns as often as can
be. Each check here has failed when it looked at that list twice in one decision, or walked over it while it changed.
"""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.autograd import forward_ad
from nbgrad.base.grad_mode import dual_levels, special
from nbgrad.modes.batched import Batched
from nbgrad.modes.interpreters import fast_paths
from nbgrad.ops.core import OPS
from nbgrad.overrides import TorchFunctionMode

pytestmark = pytest.mark.filterwarnings("ignore:detect_anomaly")
X = nbgrad.ones(3, 10)
CHECKS = []


def check(function):
    """Enter a program that each thread may run at any time."""
    CHECKS.append(function)
    return function


class Model:
    """A small network, its value at ``X`` and its gradient, which every mode has to find."""

    def __init__(self):
        self.net = nn.Sequential(nn.Linear(10, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3)).requires_grad_(False)
        self.compiled = nbgrad.compile(self)
        self.value = self(X).item()
        self.gradient = nbgrad.func.grad(self)(X).numpy()

    def __call__(self, x):
        return self.net(x).exp().sum()

    def is_gradient(self, found):
        """Whether a tensor is the gradient, up to rounding."""
        return np.allclose(found.detach().numpy(), self.gradient, rtol=1e-4, atol=1e-5)


def input_with_gradient():
    return nbgrad.ones(3, 10, requires_grad=True)


@check
def saved_tensor_hooks(model):
    """Every saved tensor is packed."""
    packed, x = [], input_with_gradient()
    with nbgrad.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
        model(x)
    assert len(packed) == 6


@check
def tangents(model):
    with forward_ad_alone, forward_ad.dual_level():
        x = forward_ad.make_dual(X, nbgrad.ones_like(X))
        tangent = forward_ad.unpack_dual(model(x)).tangent
        assert np.allclose(tangent.item(), model.gradient.sum(), rtol=1e-4)


forward_ad_alone, anomaly_alone = threading.Lock(), threading.Lock()


@check
def gradient(model):
    x = input_with_gradient()
    assert model.is_gradient(*nbgrad.autograd.grad(model(x), x))


@check
def gradient_by_a_transform(model):
    assert model.is_gradient(nbgrad.func.grad(model)(X))


@check
def forward_mode_by_a_transform(model):
    assert model.is_gradient(nbgrad.func.jacfwd(model)(X))


@check
def batch(model):
    assert np.allclose(nbgrad.func.vmap(model)(X).sum().item(), model.value, rtol=1e-4)


@check
def checkpoint(model):
    """The second run saves what the first did."""
    x = input_with_gradient()
    y = nbgrad.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
    assert model.is_gradient(*nbgrad.autograd.grad(y, x))


@check
def inference(model):
    with nbgrad.inference_mode():
        y = model(X)
        assert y.is_inference() and np.allclose(y.item(), model.value, rtol=1e-4)


@check
def mixed_precision(model):
    layer = model.net[0]
    with nbgrad.autocast("cpu", dtype=nbgrad.bfloat16):
        assert layer(X).dtype is nbgrad.bfloat16
    assert layer(X).dtype is nbgrad.float32


@check
def function_mode(model):
    class Counting(TorchFunctionMode):
        count = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.count += 1
            return function(*args, **(kwargs or {}))

    with Counting() as mode:
        (X + 1).sin().sum()
    assert mode.count == 3


@check
def anomaly_mode(model):
    """It is one for the whole process, as in torch: who leaves it puts back what he found."""
    with anomaly_alone, nbgrad.autograd.detect_anomaly(check_nan=False):
        gradient(model)


@check
def profile(model):
    with nbgrad.autograd.profiler.profile() as found:
        (X + 1).sin()
    assert any("sin" in event.name for event in found.function_events)


@check
def compiled_function(model):
    x = input_with_gradient()
    assert model.is_gradient(*nbgrad.autograd.grad(model.compiled(x), x))


@check
def graph(model):
    made = nbgrad.jit.trace(lambda x: (x.sin() * 2).sum(), X)
    assert np.allclose(made(X)[0].item(), 60 * np.sin(1), rtol=1e-4)


@check
def writes_through_views(model):
    x = nbgrad.ones(3, requires_grad=True)
    y = x * 2
    y[1:].mul_(3)
    assert nbgrad.autograd.grad(y.sum(), x)[0].tolist() == [2, 6, 6]


@pytest.fixture
def switching():
    """Threads take turns after a microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("seed", [1, 2])
def test_threads_in_different_modes(switching, seed):
    """Five threads run random checks for a second."""
    model, wrong, end = Model(), [], time.monotonic() + 1.0

    def work(number):
        choose = random.Random(10 * seed + number)
        while time.monotonic() < end and not wrong:
            program = choose.choice(CHECKS)
            try:
                program(model)
            except BaseException:
                wrong.append(f"{program.__name__}: {traceback.format_exc()}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]
    assert not special and not dual_levels


@pytest.mark.parametrize("program", CHECKS, ids=lambda program: program.__name__)
def test_one_thread(program):
    """Each check holds where there are no others."""
    program(Model())


def test_hooks_while_another_thread_opens_a_level():
    """As many modes as levels, but one of them is this thread's hooks, which the quick calls of forward mode would pass by."""
    x = nbgrad.ones(3, requires_grad=True)
    with forward_ad.dual_level(), nbgrad.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        (level,) = dual_levels
        special.remove(level)
        try:
            for quick in (fast_paths[type(level)], fast_paths[Batched]):
                assert quick.known(OPS["mul"], (x, x)) is None
                assert quick.call(OPS["mul"], (x, x), None) is None
        finally:
            special.insert(0, level)


def test_a_level_beside_those_of_other_threads():
    """``func.jvp`` in another thread does not keep this one from opening the level of ``forward_ad``; in this one it does."""
    inside, done = threading.Event(), threading.Event()

    def other():
        nbgrad.func.jvp(lambda x: inside.set() or done.wait(20) and x * 2, (X,), (X,))

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert inside.wait(20)
        with forward_ad.dual_level():
            x = forward_ad.make_dual(X, X)
            assert (forward_ad.unpack_dual(x * 3).tangent == 3).all()
            with pytest.raises(RuntimeError, match="open already"):
                forward_ad.enter_dual_level()
    finally:
        done.set()
        thread.join()
    with pytest.raises(RuntimeError, match="do not nest"):
        nbgrad.func.jvp(lambda x: forward_ad.enter_dual_level(), (X,), (X,))
