"""Graphs far deeper than any stack, through everything that walks, keeps or frees them."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import warnings

import pytest

import nbgrad
from tests.functions import Nested

DEPTH = 4_000  # the interpreter allows 1,000 nested calls
# 3.13 lets the destruction of any objects, a tuple of tuples too, nest 10,000 deep before it puts the rest off; earlier ones 50.
STACK = 1 << (20 if sys.version_info >= (3, 13) else 19)


def bottom():
    """The leaf at the bottom."""
    return nbgrad.ones(1, requires_grad=True)


def chain(x, step=lambda h: h * 1.0, depth=DEPTH):
    """``depth`` steps above ``x``."""
    for _ in range(depth):
        x = step(x)
    return x


def on_a_small_stack(body):
    """Run ``body`` in a thread with a stack that native recursion would exhaust; raise its error."""
    errors = []

    def guarded():
        try:
            body()
        except BaseException as error:
            errors.append(error)

    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=guarded)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]


class Copied(nbgrad.Function):
    """A copy of x, with x saved."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        ctx.saved_tensors
        return g


def hooked(h):
    """A step with a hook on it, which keeps its gradient too."""
    h = h * 1.0
    h.register_hook(lambda g: None)
    h.retain_grad()
    return h


def linked(h):
    """A step of a Function whose node holds the step before by an attribute."""
    y = Copied.apply(h)
    y.grad_fn.before = h
    return y


def kept(h):
    """A step whose tensor holds the one before by an attribute."""
    y = h * 1.0
    y.before = h
    return y


STEPS = {
    "product": lambda h: h * 1.0,
    "saves_its_result": nbgrad.Tensor.tanh,
    "view": lambda h: h.view(1),
    "diamond": lambda h: h * 0.5 + h * 0.5,
    "several_results": lambda h: h.unbind()[0].unsqueeze(0),
    "hooks": hooked,
    "function": Copied.apply,
    "attributes_of_nodes": linked,
    "attributes_of_tensors": kept,
    "in_place": lambda h: h.mul_(1.0) if h.grad_fn is not None else h * 1.0,
    "write_through_a_view": lambda h: (h[0:1].mul_(1.0), h)[1] if h.grad_fn is not None else h * 1.0,
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("walk", [False, True], ids=["freed", "walked"])
def test_chain_of(step, walk):
    """Recorded, walked if asked for, and freed."""

    def body(depth=DEPTH):
        x = bottom()
        y = chain(x, step, depth)
        if walk:
            y.backward()
            assert x.grad is not None
        del y

    body(2)  # compiling needs more stack
    on_a_small_stack(body)


def test_chain_deeper_than_destructors_nest():
    """Freeing a chain of 30,000 nodes takes no more stack than one of 4,000."""
    on_a_small_stack(lambda: chain(bottom(), depth=30_000))


CONTEXTS = {
    "saved_tensors_hooks": lambda: nbgrad.graph.saved_tensors_hooks(lambda t: (t,), lambda packed: packed[0]),
    "save_on_cpu": nbgrad.graph.save_on_cpu,
    "allow_mutation": nbgrad.graph.allow_mutation_on_saved_tensors,
    "anomaly": lambda: nbgrad.set_detect_anomaly(True),
    "profile": nbgrad.profile,
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
def test_chain_in(context):
    """The same where something looks at every node or at what it saves."""

    def body(depth=DEPTH):
        x = bottom()
        with context():
            chain(x, lambda h: h * x, depth).backward()
        assert x.grad.tolist() == [depth + 1]

    body(2)
    on_a_small_stack(body)


@pytest.mark.parametrize("watched", [False, True], ids=["plain", "anomaly"])
def test_passes_within_passes(watched):
    """Passes that begin in one another, in the backward of Functions, take Python's frames and not the thread's stack."""

    def body(depth=DEPTH):
        x = bottom()
        with nbgrad.set_detect_anomaly(watched):
            Nested.apply(x, depth).backward()
        assert x.grad.tolist() == [1.0]

    body(2)
    on_a_small_stack(body)


def test_inputs_at_every_depth():
    """Gradients of all steps, and a hook that waits for all of them, in one pass."""

    def body(depth=DEPTH):
        steps, seen = [bottom() * 1.0], []
        for _ in range(depth):
            steps.append(steps[-1] * 1.0)
        nbgrad.graph.register_multi_grad_hook(steps, lambda gradients: seen.append(len(gradients)))
        gradients = nbgrad.grad(steps[-1], steps, retain_graph=True)
        steps[-1].backward()
        assert seen[-1] == len(steps) and all(g.tolist() == [1.0] for g in gradients)

    body(2)
    on_a_small_stack(body)


def test_checkpoint_of_a_chain():
    """A chain recomputed in one piece, and a chain of pieces."""

    def body(depth=DEPTH, pieces=300):
        x = bottom()
        nbgrad.checkpoint(lambda a: chain(a, depth=depth), x, use_reentrant=False).backward()
        chain(x, lambda h: nbgrad.checkpoint(lambda a: a * x, h, use_reentrant=False), pieces).backward()
        assert x.grad.tolist() == [1 + pieces + 1]

    body(2, 2)
    on_a_small_stack(body)


def test_transforms_of_a_chain():
    """A gradient, a directional derivative and a map of a deep program."""

    def body(depth=DEPTH):
        ones = nbgrad.ones(2)
        assert nbgrad.func.grad(lambda a: chain(a, depth=depth).sum())(ones).tolist() == [1.0, 1.0]
        assert nbgrad.func.jvp(lambda a: chain(a, depth=depth), (ones,), (ones,))[1].tolist() == [1.0, 1.0]
        assert nbgrad.vmap(lambda a: chain(a, depth=depth))(ones).tolist() == [1.0, 1.0]

    body(2)
    on_a_small_stack(body)


def test_copies_of_the_top_are_refused_or_flat():
    """A deep copy is the usual error and a pickle a leaf: neither follows the graph."""
    y = chain(bottom())
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(y)
    assert pickle.loads(pickle.dumps(y)).is_leaf


def test_gradients_with_a_history_on_a_leaf():
    """A gradient that grows with create_graph, pass after pass, is walked and freed like any other result."""
    x = bottom()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(500):
            (x * x).sum().backward(create_graph=True)
    gradient, x.grad = x.grad, None
    assert nbgrad.grad(gradient.sum(), x)[0].tolist() == [1000.0]
