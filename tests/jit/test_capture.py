"""Graphs that capture writes down compute what the captured function computes, on other numbers."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import trace
from tests.helpers import leaf

OTHER = [[0.5, -1.5, 2.5], [1.0, 0.25, -3.0]]


def agree(fn, *others):
    """The graph of ``fn``, captured on ones, against ``fn`` on other numbers."""
    examples = [nbgrad.ones_like(x, requires_grad=x.requires_grad) for x in others]
    graph = trace(fn, *examples)
    want = fn(*others)
    for x, y in zip(graph(*others), want if isinstance(want, tuple) else (want,)):
        np.testing.assert_array_equal(x.detach().numpy(), y.detach().numpy())
    return graph


def test_a_gradient_is_captured_as_the_calls_that_it_is_made_of():
    """What the engine does while a graph is captured is part of it."""
    graph = agree(lambda x: nbgrad.grad((x * x).sum(), x)[0], leaf(OTHER))
    assert "mul" in [node.name for node in graph.nodes]


def test_examples_as_torch_spells_them():
    """A tuple is all arguments, by place or by name."""
    x, y = nbgrad.ones(2, 3), nbgrad.tensor(OTHER)
    spelled = trace(lambda x, y: x * y, x, y)
    multiply = lambda x, y: x * y
    for graph in (trace(multiply, (x, y)), trace(multiply, [x, y]), trace(multiply, example_inputs=(x, y))):
        assert len(graph.inputs) == len(spelled.inputs) and graph(y, y)[0].equal(y * y)
    assert trace(lambda x: x + 1, example_inputs=x)(y)[0].equal(y + 1)
    with pytest.raises(nbgrad.ArgumentError, match="trace: x is of type int, expected a Tensor"):
        trace(lambda x: x + 1, 3)


def test_what_is_known_from_outside_is_a_constant():
    """A tensor of the closure is a constant, with its values of the time when the graph runs."""
    w = nbgrad.tensor(OTHER)
    graph = trace(lambda x: x * w, nbgrad.ones(2, 3))
    w.mul_(2)
    assert graph(nbgrad.ones(2, 3))[0].tolist() == w.tolist()


LONG = 20_000  # elements: sequences of so many are made by kernels
CREATED = {
    "arange": lambda: nbgrad.arange(LONG).to(nbgrad.float32),
    "arange of floats": lambda: nbgrad.arange(0.0, LONG, 1.0),
    "linspace": lambda: nbgrad.linspace(0, 1, LONG),
    "logspace": lambda: nbgrad.logspace(0, 1, LONG),
    "full": lambda: nbgrad.full((LONG,), 2.5),
    "randperm": lambda: nbgrad.randperm(LONG).to(nbgrad.float32),
}


@pytest.mark.parametrize("fn_of", [lambda m: m, lambda m: m.forward, lambda m: lambda x: m(x) * 2])
def test_parameters_of_modules_are_constants(fn_of):
    """Those of all modules within, and buffers; what an optimizer makes of them is seen."""
    model = nbgrad.nn.Sequential(nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 2)), nbgrad.nn.BatchNorm1d(2)).double().eval()
    graph = agree(fn_of(model), leaf(OTHER))
    with nbgrad.no_grad():
        model[0][0].weight.mul_(2)
    assert graph(leaf(OTHER))[0].equal(fn_of(model)(leaf(OTHER)))


@pytest.mark.parametrize("name", CREATED)
def test_long_tensors_may_be_created_inside(name):
    """Those that kernels make are constants as those that NumPy makes."""

    def program(x):
        y = x * CREATED[name]()
        return nbgrad.grad((y * y).sum(), x)[0]

    x = nbgrad.ones(LONG, requires_grad=True)
    compiled, answers = nbgrad.compile(program, fullgraph=True), []
    for fn in (program, compiled, compiled):
        nbgrad.manual_seed(0)
        answers.append(fn(x).numpy())
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_what_was_computed_where_nobody_looked_is_refused():
    """Values that do not follow the arguments would be silently stale."""
    hidden = {"deeper": {"deepest": {"x": nbgrad.ones(2) * 3}}}

    class Holder:
        __slots__ = ("inner",)

    holder = Holder()
    holder.inner = hidden
    with pytest.raises(nbgrad.errors.GraphError, match="no graph is captured"):
        trace(lambda x: x * holder.inner["deeper"]["deepest"]["x"], nbgrad.ones(2))


def test_writes_are_new_values():
    """Views see what is written through their base and through each other."""

    def program(x):
        y = x.clone()
        row, column = y[0], y[:, 1]
        row.mul_(2)
        column.add_(row[:2])
        return y, row, column

    agree(program, leaf(OTHER))


@pytest.mark.parametrize(
    "make",
    [lambda x: x.t().clone(), lambda x: (x * 0.7).t(), lambda x: x.t() * 0.7, lambda x: x[..., None].permute(1, 2, 0).clone()],
)
def test_writes_to_parts_of_what_is_not_row_major(make):
    """A part lies where its strides say, in the memory of whatever order."""

    def program(x):
        y = make(x)
        y[1] = x[0, 0]
        part = y[..., 0]
        part.mul_(2)
        y.select(y.ndim - 1, 1)[0].fill_(0.5)
        return y, part, nbgrad.grad((y * y).sum() + part.sum(), x)[0]

    agree(program, leaf(OTHER))


@pytest.mark.parametrize(
    "write",
    [
        lambda x, w: x.mul_(2),
        lambda x, w: w.add_(x),
        lambda x, w: x[0].zero_(),
        lambda x, w: w.view(3)[1:].copy_(x[1:]),
        lambda x, w: x.data.fill_(3),
        lambda x, w: nbgrad.add(x, 1, out=w),
    ],
)
def test_writes_to_what_a_function_does_not_make_are_refused(write):
    """To arguments and to what it knows from outside; these are as they were."""
    x, w = nbgrad.ones(3), nbgrad.ones(3)

    def program(x):
        y = x * 1
        write(x, w)
        return y

    with pytest.raises(nbgrad.errors.GraphError):
        trace(program, x)
    assert x.tolist() == [1, 1, 1] and w.tolist() == [1, 1, 1] and (x._version, w._version) == (0, 0)


def test_gradients_of_arguments_are_not_accumulated():
    """``backward`` to what a function does not make is refused; to its own leaves it is captured."""
    x, w = leaf(OTHER), leaf(OTHER)
    for program in (lambda x: (x * x).sum().backward(), lambda x: (x * w).sum().backward()):
        with pytest.raises(nbgrad.errors.GraphError, match="grad"):
            trace(program, x)
    assert x.grad is None and w.grad is None

    def own(x):
        y = (x.detach() * 2).requires_grad_()
        (y * y * x).sum().backward(inputs=[y])
        return y.grad

    agree(own, x)


def test_optimizers_are_not_captured():
    """Their state is Python's."""
    w = leaf(OTHER)
    w.grad = nbgrad.ones_like(w)
    optimizer = nbgrad.optim.Adam([w], lr=0.1)
    with pytest.raises(nbgrad.errors.GraphError, match="Adam.step"):
        trace(lambda x: optimizer.step(), w)
    assert w.tolist() == OTHER and not optimizer.state


@pytest.mark.usefixtures("any_values")
def test_an_error_in_the_function_leaves_no_capture_behind():
    """Modes and marks are as before."""

    def failing(x):
        x = x * 2
        raise KeyError("own")

    with pytest.raises(KeyError):
        trace(failing, nbgrad.ones(2))
    assert not nbgrad.base.grad_mode.traces and not nbgrad.base.grad_mode.special


def test_a_detached_tensor_is_a_value_of_its_own():
    """What shares memory with a value that gradients flow through, and not its history."""
    graph = agree(lambda x: x * x.detach(), leaf(OTHER))
    assert [(node.name, node.outs[0].requires_grad) for node in graph.nodes] == [("stop", False), ("mul", True)]


def test_a_new_leaf_on_the_memory_of_an_argument_is_a_value_of_its_own():
    """Gradients by it are none by the argument."""

    def program(x):
        y = x.detach().requires_grad_()
        (g,) = nbgrad.grad((y * y * y).sum(), y, create_graph=True)
        return g * x

    graph = agree(program, leaf(OTHER))
    assert graph.nodes[0].name == "stop" and graph.inputs[0] in graph.nodes[-1].ins and graph.inputs[0] not in graph.nodes[1].ins


def test_lines_are_those_of_the_program():
    """Generated functions are no part of it."""
    graph = trace(lambda x: nbgrad.sigmoid(x).sum(0), nbgrad.ones(3))
    assert {node.line.rpartition(":")[0] for node in graph.nodes} == {__file__}


def test_a_function_is_captured_as_what_it_calls():
    """Forward and backward of a custom Function, with what it saves."""

    class Cube(nbgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3.5 * x * x  # unlike the derivative

    graph = agree(lambda x: nbgrad.grad(Cube.apply(x * 2).sum(), x)[0], leaf(OTHER))
    assert all(node.op.kind != "function" for node in graph.nodes)


def test_formulas_fold_numbers():
    """What a formula makes of a number alone is no part of the graph."""
    graph = trace(nbgrad.func.grad(lambda x: (x**4).sum()), nbgrad.ones(2))
    assert graph(nbgrad.tensor([1.0, 2.0]))[0].tolist() == [4, 32] and len(graph.constants) <= 1
