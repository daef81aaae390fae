"""What a running pass shows to hooks and tools: its number, node, order, callbacks, log."""

from __future__ import annotations

import gc
import logging
import threading

import numpy as np
import pytest

import nbgrad
from nbgrad import _C, graph
from nbgrad.graph import get_gradient_edge, task as graph_task
from tests.functions import Stop
from tests.helpers import leaf

LEAF = "torch::autograd::AccumulateGrad"  # the name of a leaf's node


def names_of(nodes):
    """The names of nodes."""
    return [node.name() for node in nodes]


def ask(x, question):
    """What ``question()`` gives inside the passes that reach ``x``: a list that fills, and the hook's handle."""
    answers = []
    return answers, x.register_hook(lambda g: answers.append(question()))


# ---- will this node run ----------------------------------------------------------------------------------------------


def diamond():
    """``x -> y, w -> u``, ``z = sum(y * u)``; and a node of another graph."""
    x, w = leaf(), leaf()
    y, u = x * 2, w * 3
    return x, w, y, u, (y * u).sum(), (leaf() * 2).grad_fn


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda x, y, w, z: z.backward(), "yuxw"),
        (lambda x, y, w, z: z.backward(inputs=[x]), "yx"),
        (lambda x, y, w, z: z.backward(inputs=[y]), "y"),
        (lambda x, y, w, z: z.backward(inputs=[y, w]), "yuw"),
        (lambda x, y, w, z: nbgrad.grad(z, y), "y"),
    ],
)
def test_which_nodes_will_run(run, expected):
    """All of the graph, or what leads to the inputs."""
    x, w, y, u, z, other = diamond()
    nodes = {"y": y.grad_fn, "u": u.grad_fn, "x": get_gradient_edge(x).node, "w": get_gradient_edge(w).node, "other": other}
    answers, _ = ask(z, lambda: "".join(name for name, node in nodes.items() if _C._will_engine_execute_node(node)))
    run(x, y, w, z)
    assert answers == [expected]


def test_a_node_that_ran_already_counts_as_running():
    """The question is about the pass, not about its rest."""
    x, _, y, u, z, _ = diamond()
    root = z.grad_fn
    answers, _ = ask(x, lambda: [_C._will_engine_execute_node(node) for node in (root, y.grad_fn, u.grad_fn)])
    z.backward()
    assert answers == [[True, True, True]]


def test_the_innermost_pass_is_asked():
    """A pass inside a hook has a graph of its own; the outer one is asked again when it ends."""
    y, inner, answers = leaf() * 2, leaf() * 3, []

    def question(*_):
        answers.append([_C._will_engine_execute_node(node) for node in (y.grad_fn, inner.grad_fn)])

    def hook(g):
        question()
        nbgrad.backward(inner, nbgrad.ones_like(inner))
        question()

    inner.register_hook(question)
    y.register_hook(hook)
    y.sum().backward()
    assert answers == [[True, False], [False, True], [True, False]]


def test_the_node_of_a_captured_leaf_is_an_error():
    """Its gradient is returned, it does not run: no answer would be right."""
    x, _, y, _, z, _ = diamond()
    node = get_gradient_edge(x).node
    y.register_hook(lambda g: _C._will_engine_execute_node(node))
    with pytest.raises(nbgrad.GradError, match="grad"):
        nbgrad.grad(z, x)


@pytest.mark.parametrize("node", [None, 3, "leaf"])
def test_only_nodes_can_be_asked_about(node):
    """Tensors are no nodes."""
    with pytest.raises(nbgrad.GradError, match="expected a node"):
        _C._will_engine_execute_node(leaf() if node == "leaf" else node)


@pytest.mark.parametrize(
    "question",
    [
        lambda y: _C._will_engine_execute_node(y.grad_fn),
        lambda y: _C._current_graph_task_execution_order(),
        lambda y: nbgrad.queue_callback(print),
    ],
)
def test_questions_outside_of_passes(question):
    """There is nothing to ask."""
    with pytest.raises(nbgrad.GradError, match="no backward pass"):
        question(leaf() * 2)


# ---- order -----------------------------------------------------------------------------------------------------------


def test_execution_order_is_the_order_of_execution():
    """What is foretold in the first hook is what the nodes' hooks then see."""
    x, w, y, u, z, _ = diamond()
    v = (y.exp() * u + y).sum() + z
    ran = []
    answers, _ = ask(v, _C._current_graph_task_execution_order)
    everything = {id(node): node for node in walk(v.grad_fn)}
    for node in everything.values():
        node.register_prehook(lambda gs: ran.append(_C._current_autograd_node()))
    with nbgrad.set_multithreading_enabled(False):
        v.backward()
    assert len(ran) == len(everything) and answers == [ran]


def walk(node):
    """A node and all below it, each as often as edges lead to it."""
    yield node
    for below, _ in node.next_functions:
        if below is not None:
            yield from walk(below)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda x, y, w, z: z.backward(inputs=[x]), ["SumBackward0", "MulBackward0", "MulBackward0", LEAF]),
        (lambda x, y, w, z: nbgrad.grad(z, y), ["SumBackward0", "MulBackward0", "MulBackward0"]),
    ],
)
def test_execution_order_leaves_out_what_does_not_run(run, expected):
    """Passes with inputs run a part of the graph."""
    x, w, y, _, z, _ = diamond()
    answers, _ = ask(z, _C._current_graph_task_execution_order)
    with nbgrad.set_multithreading_enabled(False):
        run(x, y, w, z)
    assert names_of(answers[0]) == expected


def test_execution_order_asks_for_one_thread():
    """Several threads would have no order."""
    y = leaf().sum()
    y.register_hook(lambda g: _C._current_graph_task_execution_order())
    with pytest.raises(nbgrad.GradError, match="set_multithreading_enabled"):
        y.backward()


def test_set_multithreading_enabled_is_function_context_and_decorator():
    """It holds at once, until the end of the block, or for calls of the function."""
    with nbgrad.set_multithreading_enabled(False):
        assert not nbgrad.is_multithreading_enabled()
    assert nbgrad.is_multithreading_enabled()

    @nbgrad.set_multithreading_enabled(False)
    def asked():
        return nbgrad.is_multithreading_enabled()

    assert not asked() and nbgrad.is_multithreading_enabled()
    nbgrad.set_multithreading_enabled(False)
    assert not nbgrad.is_multithreading_enabled()
    nbgrad.set_multithreading_enabled(True)


# ---- where the pass is -----------------------------------------------------------------------------------------------


def test_the_current_node_in_every_kind_of_hook():
    """It is the node whose hook is called: the leaf's AccumulateGrad for hooks of the leaf."""
    x = leaf()
    y = x * 2
    seen = []

    def look(kind):
        return lambda *_: seen.append((kind, _C._current_autograd_node().name()))

    y.register_hook(look("tensor"))
    y.grad_fn.register_prehook(look("pre"))
    y.grad_fn.register_hook(look("post"))
    x.register_hook(look("leaf"))
    x.register_post_accumulate_grad_hook(look("accumulated"))
    y.sum().backward()
    assert seen == [
        ("tensor", "MulBackward0"),
        ("pre", "MulBackward0"),
        ("post", "MulBackward0"),
        ("leaf", LEAF),
        ("accumulated", LEAF),
    ]
    assert _C._current_autograd_node() is None and _C._current_graph_task_id() == -1


@pytest.mark.parametrize("keep", [False, True])
def test_the_keep_graph_flag(keep):
    """Hooks can know whether the graph is kept."""
    y = (leaf() ** 2).sum()
    answers, _ = ask(y, _C._get_current_graph_task_keep_graph)
    y.backward(retain_graph=keep)
    assert answers == [keep]


def test_other_threads_are_in_no_pass():
    """A thread that a hook starts sees nothing of the hook's pass."""
    x, seen = leaf(), []

    def hook(g):
        thread = threading.Thread(target=lambda: seen.append((_C._current_graph_task_id(), _C._current_autograd_node())))
        thread.start()
        thread.join()

    x.register_hook(hook)
    x.sum().backward()
    assert seen == [(-1, None)]


def test_a_failed_pass_leaves_no_trace():
    """The state of the thread is what it was, and the next pass is right."""
    x = leaf()
    y = x * x
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward(retain_graph=True)
    handle.remove()
    assert _C._current_graph_task_id() == -1 and nbgrad.is_grad_enabled() and x.grad is None
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())


def test_a_failed_nested_pass_leaves_the_outer_one_running():
    """A hook may catch the error of a pass that it ran."""
    x = leaf()
    y, seen = x * 1, []

    def hook(g):
        before = _C._current_graph_task_id()
        with nbgrad.enable_grad(), pytest.raises(ZeroDivisionError):
            inner = leaf() * 2
            inner.register_hook(lambda g: 1 / 0)
            inner.sum().backward()
        seen.append(_C._current_graph_task_id() == before)
        return g * 2

    y.register_hook(hook)
    y.sum().backward()
    assert seen == [True]
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


# ---- callbacks -------------------------------------------------------------------------------------------------------


def test_callbacks_run_when_the_pass_has_ended():
    """Every leaf has its gradient by then; a callback may queue another one."""
    x, seen = leaf(), []

    def first():
        seen.append(("first", x.grad is not None, _C._current_graph_task_id() >= 0, _C._current_autograd_node()))
        nbgrad.queue_callback(lambda: seen.append("second"))

    x.register_hook(lambda g: nbgrad.queue_callback(first))
    (x * 2).sum().backward()
    assert seen == [("first", True, True, None), "second"]


def test_callbacks_do_not_run_after_an_error():
    """There is no end of the pass to wait for."""
    y, seen = leaf() * 2, []

    def hook(g):
        nbgrad.Variable._execution_engine.queue_callback(lambda: seen.append(1))
        raise ValueError

    y.register_hook(hook)
    with pytest.raises(ValueError):
        y.sum().backward()
    assert seen == []


def test_an_error_in_a_callback_is_the_error_of_the_pass():
    """The gradients are there all the same."""
    x = leaf()
    x.register_hook(lambda g: nbgrad.queue_callback(lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        (x * 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])
    assert _C._current_graph_task_id() == -1


# ---- sequence numbers ------------------------------------------------------------------------------------------------


def test_sequence_numbers_count_from_zero_in_every_thread():
    """Also in one that comes after another, and while threads take turns."""
    x, wrong = leaf(), []

    def count():
        numbers = [(x * 2).grad_fn._sequence_nr() for _ in range(2000)]
        if numbers != list(range(2000)):
            wrong.append(numbers[:5])

    for batch in (1, 1, 6):
        threads = [threading.Thread(target=count) for _ in range(batch)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_the_death_of_a_node_takes_no_number():
    """Also not of one whose hooks a leaf remembers, and which the collector frees while a thread records."""
    x, numbers = leaf(), []

    def record():
        ring = [get_gradient_edge(leaf()).node]
        ring[0].register_hook(lambda *cotangents: None)
        ring.append(ring)
        for _ in range(3):
            numbers.append((x * 2).grad_fn._sequence_nr())
            ring = None
            gc.collect()

    thread = threading.Thread(target=record)
    thread.start()
    thread.join()
    assert numbers == [0, 1, 2]


def test_graphs_of_several_threads_are_ordered_by_their_edges():
    """A node that another thread made with a small number still runs after those that lead to it."""
    x, parts = leaf(), []
    for _ in range(50):
        x * 1
    y = x.exp()

    def extend():
        parts.append((y * y).sum())

    thread = threading.Thread(target=extend)
    thread.start()
    thread.join()
    assert parts[0].grad_fn._sequence_nr() < y.grad_fn._sequence_nr()
    (g,) = nbgrad.grad(parts[0], x)
    np.testing.assert_allclose(g.numpy(), 2 * np.exp(2 * x.detach().numpy()), rtol=1e-14)


def test_a_sequence_number_can_be_set():
    """It decides which of two ready nodes runs first."""
    x, seen = leaf(), []
    a, b = x * 2, x * 3
    for name, y in (("a", a), ("b", b)):
        y.register_hook(lambda g, name=name: seen.append(name))
    total = (a + b).sum()
    total.backward(retain_graph=True)
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    total.backward()
    assert seen == ["b", "a", "a", "b"]


# ---- the log ---------------------------------------------------------------------------------------------------------


def test_a_pass_can_be_logged(caplog):
    """At level DEBUG every node says when it runs and with what; afterwards no hook is left."""
    with caplog.at_level(logging.DEBUG, logger="nbgrad.graph"):
        (leaf() * 2).sum().backward()
    (leaf() * 2).sum().backward()
    said = [record.getMessage() for record in caplog.records]
    assert [text.split()[1][1:] for text in said] == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert [text.rpartition(": ")[2] for text in said] == ["[f64[]]", "[f64[2]]", "[f64[2]]"]


def test_logging_hooks_on_a_graph_of_ones_choice(monkeypatch):
    """They log also where the level would not make every pass do so, until they are taken away."""
    y, said = (leaf() * 2).sum(), []
    monkeypatch.setattr(graph_task.LOG, "debug", lambda *text: said.append(text))
    unregister = graph._register_logging_hooks_on_whole_graph([y])
    y.backward(retain_graph=True)
    assert len(said) == 3
    unregister()
    y.backward()
    assert len(said) == 3


def test_a_program_that_logs_everything_does_not_log_passes(caplog):
    """A root logger that takes everything is not meant: ``nbgrad.graph`` is to be switched on itself."""
    with caplog.at_level(logging.DEBUG):
        nbgrad.ones(2, requires_grad=True).sum().backward()
    assert not caplog.records


def test_an_undefined_gradient_in_the_log(caplog):
    """A node that runs on no gradient says so."""
    with caplog.at_level(logging.DEBUG, logger="nbgrad.graph"):
        Stop.apply(leaf() * 2).sum().backward()
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["[f64[]]", "[f64[2]]", "[None]", "[None]"]


@pytest.mark.parametrize("shape", [(5,), (2, 3), (0,), (4, 1)], ids=str)
@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x * 2,
        lambda x: x.as_strided((3,), (1,)),
        lambda x: x.exp(),
        lambda x: x.cumsum(0),
        lambda x: x.flip(0),
        lambda x: x[:],
    ],
    ids=["mul", "as_strided", "exp", "cumsum", "flip", "view"],
)
def test_a_node_refuses_a_gradient_of_another_shape(operation, shape):
    """A node that a program calls hands its kernel only what the result's shape allows."""
    node = operation(nbgrad.ones(3, requires_grad=True)).grad_fn
    with pytest.raises(nbgrad.ShapeError, match=r"got a gradient of shape .*expected \[3\]"):
        node(nbgrad.ones(shape))


def test_a_node_takes_what_broadcasts_or_converts_to_its_result():
    """One number for all elements, and another dtype, are the gradient that they become."""
    x = nbgrad.ones(3, requires_grad=True)
    for g in (nbgrad.ones(()), nbgrad.ones(1), nbgrad.ones(3, dtype=nbgrad.float64), nbgrad.ones(3, dtype=nbgrad.int32)):
        result, _ = (x * 2).grad_fn(g)
        assert result.tolist() == [2.0] * 3 and result.dtype is nbgrad.float32
    with pytest.raises(nbgrad.ArgumentError, match="expected a Tensor or None"):
        (x * 2).grad_fn(1.0)
