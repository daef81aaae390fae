"""Lifetime: with the cyclic collector off, dropping the last output frees the graph and all that it saved."""

from __future__ import annotations

import gc
import weakref

import pytest

import nbgrad
from tests.helpers import leaf

F64 = nbgrad.float64


@pytest.fixture(autouse=True)
def no_collector():
    """Run each test with the cyclic garbage collector off."""
    gc.disable()
    yield
    gc.enable()


class Token:
    """Something whose death can be observed."""


class SavesBoth(nbgrad.Function):
    """2 x, with input and output saved."""

    @staticmethod
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_saved_intermediate_lives_with_the_graph():
    """An intermediate that a node saved lives exactly as long as the last output."""
    h = leaf([2.0]) * 2
    ref = weakref.ref(h)
    y = h.sin()
    del h
    assert ref() is not None
    del y
    assert ref() is None


def test_unsaved_intermediate_dies_at_once():
    """A tensor whose value nobody saved dies with the user's last reference, its node living on."""
    x = leaf([2.0])
    h = x + 1
    ref = weakref.ref(h)
    y = h + 1
    del h
    assert ref() is None
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.exp(),
        lambda x: (x * 1).exp_(),
        lambda x: x.tanh(),
        lambda x: x.softmax(0),
        lambda x: x.sqrt(),
        lambda x: (x * 1).sigmoid_(),
        SavesBoth.apply,
    ],
    ids=["exp", "exp_", "tanh", "softmax", "sqrt", "sigmoid_", "function"],
)
@pytest.mark.parametrize("walk", [False, True])
def test_saved_output_makes_no_cycle(f, walk):
    """An op that saves its own output does not keep it alive, walked or not."""
    f(leaf([2.0]))  # the compiler leaves cycles, which hold the frames that it was called from
    y = f(leaf([2.0]))
    if walk:
        y.sum().backward(retain_graph=True)
    ref = weakref.ref(y)
    del y
    assert ref() is None


def test_leaf_lives_with_the_graph():
    """The graph keeps its leaves, and they may die after it."""
    x = leaf([2.0])
    ref = weakref.ref(x)
    y = x + 1
    del x
    assert ref() is not None
    del y
    assert ref() is None


def test_leaf_does_not_keep_the_graph():
    """After a pass and the death of the output nothing of the graph remains with the leaf."""
    x = leaf([2.0])
    h = x * 1
    ref = weakref.ref(h)
    y = h * h
    y.sum().backward()
    del y, h
    assert ref() is None and x.grad is not None


def test_hook_of_a_non_leaf_dies_with_the_graph():
    """A hook's closure lives with the node it is attached to."""
    y, token = leaf([2.0]) * 2, Token()
    ref = weakref.ref(token)
    y.register_hook(lambda g, token=token: None)
    del token
    assert ref() is not None
    del y
    assert ref() is None


def test_hook_of_a_leaf_dies_with_its_removal():
    """A removed hook releases its closure."""
    x, token = leaf([2.0]), Token()
    ref = weakref.ref(token)
    handle = x.register_hook(lambda g, token=token: None)
    del token
    handle.remove()
    del handle
    assert ref() is None


def test_handle_keeps_nothing_alive():
    """A handle does not keep its tensor, and can be removed after that has died."""
    y = leaf([2.0]) * 2
    handle = y.register_hook(lambda g: None)
    ref = weakref.ref(y)
    del y
    assert ref() is None
    handle.remove()


def test_retain_grad_makes_no_cycle():
    """``retain_grad`` does not tie the tensor to its own hook."""
    y = leaf([2.0]) * 2
    y.retain_grad()
    y.sum().backward()
    ref = weakref.ref(y)
    del y
    assert ref() is None


def test_saved_tensors_are_freed_node_by_node():
    """In a pass that does not retain, what a node saved is gone before the nodes below it run."""
    a = leaf([2.0]) * 1
    b = a.sin()
    ref, seen = weakref.ref(b), []
    y = b.cos().sum()
    a.register_hook(lambda g: seen.append(ref()))
    del b
    y.backward()
    assert seen == [None]


def test_memory_is_freed_though_the_output_lives():
    """After the pass the saved intermediates are gone while the output and its nodes are still held."""
    h = leaf([2.0]) * 1
    y = h.sin().sum()
    ref = weakref.ref(h)
    del h
    y.backward()
    assert ref() is None and y.grad_fn is not None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_clearing_grad_breaks_the_cycle_of_create_graph():
    """``backward(create_graph=True)`` ties leaf and gradient together, until ``.grad`` is cleared."""
    x = leaf([2.0])
    (x * x).sum().backward(create_graph=True)
    ref = weakref.ref(x)
    x.grad = None
    del x
    assert ref() is None


def test_grad_with_create_graph_makes_no_cycle():
    """Results of ``grad(create_graph=True)`` die with the user's references."""
    x = leaf([2.0])
    y = (x * x).sum()
    (g,) = nbgrad.grad(y, x, create_graph=True)
    refs = weakref.ref(g), weakref.ref(x)
    del g, y, x
    assert [ref() for ref in refs] == [None, None]


def test_attributes_survive_with_the_graph():
    """A tensor that only a node still holds comes back as the same object, attributes and all."""
    x = leaf([2.0])
    x.tag = "leaf"
    h = x * 1
    h.tag = "saved"
    y = h.sin()
    del x, h
    gc.collect()
    saved = y.grad_fn._saved_self
    assert saved.tag == "saved"
    assert saved.grad_fn.next_functions[0][0].variable.tag == "leaf"


def test_view_keeps_its_base_and_not_the_reverse():
    """A view keeps its base alive; the base does not keep its views."""
    base = nbgrad.ones(4)
    view = base[:1]
    refs = weakref.ref(base), weakref.ref(view)
    del base
    assert refs[0]() is not None
    base = view._base
    del view
    assert refs[1]() is None and refs[0]() is base


def test_write_through_a_view_makes_no_cycle():
    """The rewritten history of a base holds neither the base nor the view."""
    base = leaf([1.0, 2.0]) * 1
    view = base[:1]
    view.mul_(2)
    assert view.grad_fn is not None
    refs = weakref.ref(base), weakref.ref(view)
    del view, base
    assert [ref() for ref in refs] == [None, None]


def test_failed_pass_keeps_nothing():
    """After a failed pass, dropping output and exception frees the graph."""
    h = leaf([2.0]) * 1
    y = (h * h).sum()

    def fail(g):
        raise ValueError

    h.register_hook(fail)
    ref = weakref.ref(h)
    try:
        y.backward()
    except ValueError:
        pass
    del h, y
    assert ref() is None


def test_hook_on_an_accumulate_node_dies_with_the_last_graph():
    """Hooks on the node of a leaf, unlike those on the leaf, are lost when no graph holds the node."""
    x, calls = leaf([2.0]), []
    y = x + 1
    y.grad_fn.next_functions[0][0].register_hook(lambda grad_inputs, grad_outputs: calls.append(1))
    del y
    (x + 1).sum().backward()
    assert calls == []


def test_exception_in_an_op_keeps_no_operand():
    """An op that refuses its operands does not keep them."""
    x = leaf([1.0, 2.0])
    ref = weakref.ref(x)
    try:
        x + nbgrad.ones(3, dtype=F64)
    except RuntimeError:
        pass
    del x
    assert ref() is None


def test_a_training_loop_leaves_no_garbage():
    """Of a hundred steps no loss, intermediate or replaced gradient is alive afterwards."""
    w, refs = leaf([1.0, 2.0]), []

    def step():
        h = (w * 3).tanh()
        loss = (h[:1].exp() + w.sum()).sum()
        w.grad = None
        loss.backward()
        with nbgrad.no_grad():
            w.sub_(w.grad, alpha=0.01)
        refs.extend(weakref.ref(t) for t in (h, loss, w.grad))

    step()  # the compiler leaves cycles, which hold the frames that it was called from
    refs.clear()
    for _ in range(100):
        step()
    w.grad = None
    assert [ref() for ref in refs] == [None] * 300


@pytest.mark.parametrize(
    "register",
    [lambda x, hook: x.register_hook(hook), lambda x, hook: x.register_post_accumulate_grad_hook(hook)],
    ids=["tensor hook", "post-accumulate hook"],
)
def test_hook_of_a_leaf_dies_with_the_leaf(register):
    """A closure that only a leaf's hook holds lives through passes, and goes with the leaf."""
    x, token = leaf([2.0]), Token()
    ref = weakref.ref(token)
    register(x, lambda *_, token=token: None)
    del token
    (x * 3).sum().backward()
    assert ref() is not None
    del x
    assert ref() is None


def test_handle_of_a_leaf_outlives_it_harmlessly():
    """The handle does not keep the leaf, and can be removed when it is gone."""
    x = leaf([2.0])
    ref, handle = weakref.ref(x), x.register_hook(lambda g: None)
    del x
    assert ref() is None
    handle.remove()


@pytest.mark.parametrize(
    "hang",
    [
        lambda y, node, big: node.register_hook(lambda grad_inputs, grad_outputs: (node, big) and None),
        lambda y, node, big: node.register_prehook(lambda grad_outputs: (node, big) and None),
        lambda y, node, big: y.register_hook(lambda g: (y, big) and None),
        lambda y, node, big: node.metadata.update(y=y, big=big),
    ],
    ids=["post hook", "pre-hook", "tensor hook", "metadata"],
)
@pytest.mark.parametrize("used", [False, True], ids=["unused", "after a pass"])
def test_what_hangs_on_a_node_may_hold_it(hang, used):
    """The collector finds a cycle of a builtin operation's node, or its tensor, and a hook or metadata of it."""
    y, big = nbgrad.ones(2, requires_grad=True).exp(), Token()
    hang(y, y.grad_fn, big)
    if used:
        y.sum().backward()
    gone = weakref.ref(big)
    del y, big
    gc.collect()
    assert gone() is None
