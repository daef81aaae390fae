"""Programs run on proxies: what becomes a node, what is refused, which modules are called."""

from __future__ import annotations

import math
import operator
from math import sqrt

import pytest

import nbgrad
from nbgrad import fx, nn
from nbgrad.errors import ArgumentError, NamingError, NotSupportedError
from nbgrad.fx import asking
from nbgrad.fx.proxy import TraceError

F = nn.functional


def counted(x, y):
    return x * len(y)


fx.wrap("counted")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.weight = nn.Parameter(nbgrad.ones(4))
        self.register_buffer("positions", nbgrad.arange(40.0).reshape(10, 4))
        self.plain = nbgrad.ones(4)

    def forward(self, x, scale=2.0, *, shift=None):
        x = self.layers(x) * self.weight + self.positions[: x.size(0)]
        return F.relu(x, inplace=True) * scale + self.plain


def lines(graph):
    return [line.strip() for line in str(graph).split("\n")]


def test_module_becomes_lines():
    """Operators, methods, functions, modules, parameters, buffers and plain tensors, as in torch's print."""
    traced = fx.symbolic_trace(Block())
    assert lines(traced.graph) == [
        "graph():",
        "%x : [num_users=2] = placeholder[target=x]",
        "%scale : [num_users=1] = placeholder[target=scale](default=2.0)",
        "%shift : [num_users=0] = placeholder[target=shift](default=None)",
        "%layers_0 : [num_users=1] = call_module[target=layers.0](args = (%x,), kwargs = {})",
        "%layers_1 : [num_users=1] = call_module[target=layers.1](args = (%layers_0,), kwargs = {})",
        "%weight : [num_users=1] = get_attr[target=weight]",
        "%mul : [num_users=1] = call_function[target=operator.mul](args = (%layers_1, %weight), kwargs = {})",
        "%size : [num_users=1] = call_method[target=size](args = (%x, 0), kwargs = {})",
        "%positions : [num_users=1] = get_attr[target=positions]",
        "%getitem : [num_users=1] = call_method[target=__getitem__](args = (%positions, slice(None, size, None)), kwargs = {})",
        "%add : [num_users=1] = call_function[target=operator.add](args = (%mul, %getitem), kwargs = {})",
        "%relu : [num_users=1] = call_function[target=nbgrad.relu](args = (%add,), kwargs = {inplace: True})",
        "%mul_1 : [num_users=1] = call_function[target=operator.mul](args = (%relu, %scale), kwargs = {})",
        "%plain : [num_users=1] = get_attr[target=plain]",
        "%add_1 : [num_users=1] = call_function[target=operator.add](args = (%mul_1, %plain), kwargs = {})",
        "return add_1",
    ]


def test_traced_module_computes_the_same():
    """With the same parameters, whose gradients are the module's."""
    module, x = Block(), nbgrad.randn(3, 4)
    traced = fx.symbolic_trace(module)
    assert nbgrad.equal(traced(x, 3.0), module(x, 3.0))
    traced(x).sum().backward()
    assert traced.weight is module.weight and module.weight.grad is not None


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda x: x.shape[0] // 2, "getattr_1 = x.shape"),
        (lambda x: 2 - x, "sub = 2 - x"),
        (lambda x: ~(x < 1), "invert = ~lt"),
        (lambda x: abs(x), "abs_1 = _operator_abs(x)"),
        (lambda x: x[:, None, 1:2], "getitem = x[(slice(None, None, None), None, slice(1, 2, None))]"),
        (lambda x: nbgrad.cat([x, x], dim=-1), "cat = nbgrad.cat([x, x], dim = -1)"),
        (lambda x: nbgrad.ones(2, x.size(0)), "ones = nbgrad.ones(2, size)"),
        (lambda x: nbgrad.zeros_like(x), "zeros_like = nbgrad.zeros_like(x)"),
        (lambda x: nbgrad.linalg.svd(x), "svd = nbgrad.linalg.svd(x)"),
        (lambda x: nbgrad.einsum("i,i->", [x, x]), "einsum = nbgrad.einsum('i,i->', x, x)"),
        (lambda x: F.interpolate(x, scale_factor=2), "interpolate = nbgrad.nn.functional.interpolate(x, scale_factor = 2)"),
        (lambda x: F.gelu(x), "gelu = nbgrad.gelu(x)"),
        (lambda x: nbgrad.ones(3) + x, "add = nbgrad.add(_tensor_constant0, x)"),
        (lambda x: x.to(nbgrad.float64), "to = x.to(nbgrad.float64)"),
        (lambda x: x * float("inf"), "mul = x * inf"),
        (lambda x: math.floor(x), "floor = math_floor(x)"),
        (lambda x: sqrt(x), "sqrt = math_sqrt(x)"),
        (lambda x: counted(x, [1, 2]), "counted(x, [1, 2])"),
        (lambda x: operator.iadd(x, 1), "add = x + 1"),
        (lambda x: nbgrad._assert(x, "no"), "_assert = nbgrad._assert(x, 'no')"),
    ],
)
def test_statements(program, text):
    """What a program does with a proxy is written as the program would be."""
    assert text in fx.symbolic_trace(program).code


def test_unpacking():
    """A statement with names knows how many members it wants."""

    def program(x):
        (a, b), c = x
        return a + b + c

    assert fx.symbolic_trace(program)(((1, 2), 3)) == 6


@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        (lambda x: 1 if x.sum() > 0 else 2, TraceError, "symbolically traced variables cannot be used as inputs to control flow"),
        (lambda x: list(x), TraceError, "Proxy object cannot be iterated"),
        (lambda x: 3 in x, TraceError, "Proxy object cannot be iterated"),
        (lambda x: len(x), NotSupportedError, "'len' is not supported"),
        (lambda x: {x: 1}, ArgumentError, "key"),
        (lambda x: object(), NotSupportedError, "argument of type"),
        (lambda x: nn.Linear(1, 1)(x), NamingError, "no module below the root"),
        (lambda x: x * nn.Parameter(nbgrad.ones(1)), NamingError, "not a member of the root"),
    ],
)
def test_refused(program, kind, message):
    """Control flow on values, and what no graph can hold."""
    with pytest.raises(kind, match=message):
        fx.symbolic_trace(program)


def test_nothing_is_changed_afterwards():
    """Neither classes nor functions, also where the trace fails; frames of functions that ask show their variables."""
    before = nbgrad.relu.__code__, nn.Module.__call__, math.sqrt, nbgrad.Tensor.view.__code__
    seen = {}

    def program(x):
        try:
            nbgrad.zeros_like("no tensor")
        except ArgumentError as error:
            trace = error.__traceback__
            while trace:
                seen.update(trace.tb_frame.f_locals)
                trace = trace.tb_next
        return bool(x)

    with pytest.raises(TraceError):
        fx.symbolic_trace(program)
    assert before == (nbgrad.relu.__code__, nn.Module.__call__, math.sqrt, nbgrad.Tensor.view.__code__)
    assert "_inside" in seen and "__getattribute__" not in vars(nn.Module)
    assert counted(2, [1, 2]) == 4 and nbgrad.zeros_like(nbgrad.ones(1)).item() == 0


def test_functions_ask_as_long_as_there_are_proxies():
    """Of proxies that a program makes itself, too: the last one puts the functions' code back."""
    others = asking._askers  # of other tests, whose frames may still be there
    asking.change_askers(-others)
    try:
        before = nbgrad.relu.__code__
        graph = fx.Graph()
        x = fx.Proxy(graph.placeholder("x"))
        y = F.layer_norm(nbgrad.relu(x), (3,))
        assert y.node.target is F.layer_norm and nbgrad.relu.__code__ is not before
        del x, y
        assert nbgrad.relu.__code__ is before
    finally:
        asking.change_askers(others)


class Leaves(fx.Tracer):
    proxy_buffer_attributes = True

    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, nn.Sequential)


def test_tracers_say_what_is_a_leaf():
    """And whether buffers are proxies; nodes know the modules that they come from."""
    graph = Leaves().trace(nn.ModuleDict({"block": Block()})["block"])
    targets = [node.target for node in graph.nodes if node.op in ("call_module", "get_attr")]
    assert targets == ["layers", "weight", "positions", "plain"]
    assert list(graph.find_nodes(op="call_module")[0].meta["nn_module_stack"]) == ["layers"]


def test_layers_are_traced_into():
    """A tracer without leaves writes down the functions and parameters of nbgrad's own layers."""

    class All(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    layer, x = nn.Linear(2, 3), nbgrad.randn(4, 2)
    graph = All().trace(layer)
    assert [node.name for node in graph.nodes] == ["input_1", "weight", "bias", "linear", "output"]
    assert nbgrad.equal(fx.GraphModule(layer, graph)(x), layer(x))


def test_shapes_of_parameters_may_be_constants():
    """Then control flow may depend on them."""

    class Chosen(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(nbgrad.ones(2, 3))

        def forward(self, x):
            return x @ self.weight if self.weight.shape[0] == 2 and self.weight.numel() > 5 else x

    graph = fx.Tracer(param_shapes_constant=True).trace(Chosen())
    assert graph.find_nodes(op="call_function", target=operator.matmul)
    with pytest.raises(TraceError):
        fx.Tracer().trace(Chosen())


def test_concrete_arguments():
    """They decide control flow, and the module compares what it is given with them; ``PH`` stands for arguments in structures."""

    def program(x, flag=True):
        return x + 1 if flag else x - 1

    traced = fx.symbolic_trace(program, concrete_args={"flag": False})
    assert traced(nbgrad.ones(1), False).item() == 0
    with pytest.raises(AssertionError, match="flag has been specialized"):
        traced(nbgrad.ones(1), True)
    nested = fx.symbolic_trace(lambda d, k: d["a"] + d["b"][0] * k, concrete_args={"d": {"a": fx.PH, "b": [fx.PH]}})
    assert nested({"a": nbgrad.ones(1), "b": [2.0]}, 3).item() == 7
    assert fx.Interpreter(nested).run({"a": nbgrad.ones(1), "b": [2.0]}, 3).item() == 7
    with pytest.raises(ArgumentError, match="nothing"):
        fx.symbolic_trace(program, concrete_args={"nothing": 1})


def test_gathered_arguments():
    """A star's argument is one proxy."""
    traced = fx.symbolic_trace(lambda *args, **named: args[0] + named["a"])
    assert "_args = args" in traced.code and traced(1, a=2) == 3


def test_wrap_wants_a_module():
    """Its top level, and a function or a name."""
    with pytest.raises(NotSupportedError, match="top level"):
        fx.wrap("counted")
    with pytest.raises(ArgumentError, match="function or its name"):
        fx.wrap(3)
