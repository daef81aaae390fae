"""Modules whose forward is made of a graph: recompiled, copied, pickled, compiled, run node by node."""

from __future__ import annotations

import copy
import pickle
import traceback

import pytest

import nbgrad
from nbgrad import fx, nn
from nbgrad.errors import ArgumentError, NotSupportedError
from nbgrad.fx.passes.shape_prop import ShapeProp


def twice(x):
    return x * 2


fx.wrap("twice")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.rest = nn.Sequential(nn.Tanh(), nn.Linear(3, 2))
        self.unused = nn.Linear(1, 1)

    def forward(self, x):
        return twice(self.rest(self.first(x))).relu()


def test_recompile():
    """A changed graph is what the module computes, after ``recompile``; its class is its own."""
    one, other = fx.symbolic_trace(Net()), fx.symbolic_trace(Net())
    (relu,) = one.graph.find_nodes(op="call_method")
    relu.target = "neg"
    x = nbgrad.randn(4, 3)
    before = one(x)
    assert "neg" in one.recompile().src and "relu" in other.code
    assert nbgrad.equal(one(x).clamp(max=0).neg(), before) and one._get_name() == "Net"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies(copied):
    """They compute the same of their own parameters, from the same text."""
    traced = fx.symbolic_trace(Net().eval())
    traced.extra = 3
    made, x = copied(traced), nbgrad.randn(2, 3)
    assert made.code == traced.code and made.extra == 3 and not made.training
    assert nbgrad.equal(made(x), traced(x)) and made.first.weight is not traced.first.weight
    assert made.graph is not traced.graph and type(made) is not type(traced)


def test_shallow_copies_share_modules():
    """``copy.copy`` has the graph and the modules."""
    traced = fx.symbolic_trace(Net())
    made = copy.copy(traced)
    assert made.first is traced.first and made.graph is traced.graph and made.graph.owning_module is None


def test_modules_below():
    """Added and deleted by dotted names; state is that of what the graph refers to."""
    traced = fx.symbolic_trace(Net())
    assert list(traced.state_dict()) == ["first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]
    assert traced.add_submodule("a.b", nn.Tanh()) and isinstance(traced.a.b, nn.Tanh)
    traced.delete_all_unused_submodules()
    assert not hasattr(traced, "a") and traced.delete_submodule("rest.1") and not traced.delete_submodule("rest.1")
    with pytest.raises(AttributeError, match="nothing"):
        traced.graph.call_module("nothing")
    with pytest.warns(UserWarning, match="no attribute 'nothing'"):
        traced.graph.get_attr("nothing")


def test_made_of_a_dict():
    """Of dotted names, in any order; what is missing is an error."""
    graph = fx.Graph()
    graph.output(graph.call_function(nbgrad.add, (graph.placeholder("x"), graph.get_attr("part.w"))))
    made = fx.GraphModule({"part.w": nbgrad.ones(2)}, graph, "Made")
    assert made(nbgrad.ones(2)).tolist() == [2, 2] and list(made.state_dict()) == ["part.w"] and type(made).__name__ == "Made"
    for root in ({"w": 1}, 3):
        with pytest.raises(ArgumentError, match="GraphModule"):
            fx.GraphModule(root, graph)


def test_tracebacks_show_the_line():
    """Of the text that failed."""
    with pytest.raises(nbgrad.errors.ShapeError) as caught:
        fx.symbolic_trace(Net())(nbgrad.ones(2, 5))
    assert "first = self.first(x)" in "".join(traceback.format_exception(caught.value))


def test_readable(capsys):
    """The class as text, with shapes that are known and lines that tracers recorded."""

    class Recording(fx.Tracer):
        record_stack_traces = True

    def program(x):
        return x.sum(0)

    traced = fx.GraphModule(nn.Module(), Recording().trace(program))
    ShapeProp(traced).propagate(nbgrad.ones(2, 3))
    text = traced.print_readable()
    first, second, place, *rest = [line.strip() for line in text.rstrip().split("\n")]
    assert first == "class GraphModule(nbgrad.nn.Module):" and second == 'def forward(self, x: "f32[2, 3]"):'
    assert place.startswith("# File") and place.endswith("code: return x.sum(0)")
    assert rest == ['sum_1: "f32[3]" = x.sum(0);  x = None', "return sum_1"] and capsys.readouterr().out == text + "\n"


def test_compiled():
    """``nbgrad.compile`` takes it, and notices that its program was exchanged."""
    traced, x = fx.symbolic_trace(lambda x: nbgrad.exp(x) + 1), nbgrad.zeros(2)
    fast = nbgrad.compile(traced, fullgraph=True)
    assert fast(x).tolist() == [2, 2]
    traced.graph.find_nodes(op="call_function", target=nbgrad.exp)[0].target = nbgrad.sin
    traced.recompile()
    assert fast(x).tolist() == [1, 1]


def test_traced_again():
    """A graph module in another module is traced into; wrapped functions stay calls."""
    inner = fx.symbolic_trace(Net())
    outer = fx.symbolic_trace(nn.Sequential(inner, nn.Tanh()))
    assert [node.name for node in outer.graph.nodes if node.op == "call_function"] == ["twice"]
    x = nbgrad.randn(2, 3)
    assert nbgrad.equal(outer(x), inner(x).tanh())


def test_interpreter():
    """Node by node, by methods that subclasses override; errors say which node it was."""

    class Negated(fx.Interpreter):
        def call_method(self, target, args, kwargs):
            return -super().call_method(target, args, kwargs)

    traced, x = fx.symbolic_trace(Net()), nbgrad.randn(2, 3)
    assert nbgrad.equal(fx.Interpreter(traced).run(x), traced(x)) and nbgrad.equal(Negated(traced).run(x), -traced(x))
    (node,) = traced.graph.find_nodes(op="call_module", target="first")
    assert nbgrad.equal(fx.Interpreter(traced).run(x, initial_env={node: traced.first(x)}), traced(x))
    values = [x]
    assert nbgrad.equal(fx.Interpreter(traced).boxed_run(values), traced(x)) and not values
    with pytest.raises(ArgumentError, match="parameter x"):
        fx.Interpreter(traced).run()
    with pytest.raises(nbgrad.errors.ShapeError) as caught:
        fx.Interpreter(traced).run(nbgrad.ones(2, 5))
    assert "While executing %first" in caught.value.__notes__[0]


def test_transformer():
    """What its methods do is the new program."""

    class Swapped(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(nbgrad.neg if target is nbgrad.sigmoid else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return args[0].sigmoid() if target == "neg" else super().call_method(target, args, kwargs)

    traced = fx.symbolic_trace(lambda x: nbgrad.sigmoid(x).neg())
    made = Swapped(traced).transform()
    x = nbgrad.randn(3)
    assert nbgrad.equal(made(x), x.neg().sigmoid()) and str(fx.Transformer(traced).transform().graph) == str(traced.graph)


def test_shapes():
    """Of all values, also in tuples."""
    traced = fx.symbolic_trace(lambda x: x.split(1))
    result = ShapeProp(traced).propagate(nbgrad.ones(2, 3))
    (node,) = traced.graph.find_nodes(op="call_method")
    assert len(result) == 2 and node.meta["type"] is tuple
    meta = node.meta["tensor_meta"][0]
    assert (meta.shape, meta.dtype, meta.stride, meta.requires_grad) == ((1, 3), nbgrad.float32, (3, 1), False)


def test_fusion_of_layers():
    """Convolutions and normalizations are exchanged for one layer, as programs for torch do it."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
    model[1].running_mean.fill_(0.5)
    traced, x = fx.symbolic_trace(model), nbgrad.randn(1, 1, 5, 5)
    expected = model(x)
    (norm,) = traced.graph.find_nodes(op="call_module", target="1")
    (conv,) = norm.all_input_nodes
    fused = nn.utils.fuse_conv_bn_eval(traced.get_submodule(conv.target), traced.get_submodule(norm.target))
    traced.set_submodule(conv.target, fused)
    norm.replace_all_uses_with(conv)
    traced.graph.erase_node(norm)
    traced.graph.lint()
    traced.recompile()
    assert nbgrad.allclose(traced(x), expected, atol=1e-5) and len(traced.graph.find_nodes(op="call_module")) == 2


def test_what_is_not_there():
    """Graphs of torch's own operations."""
    with pytest.raises(NotSupportedError, match="make_fx"):
        fx.experimental.proxy_tensor.make_fx(lambda x: x)
    assert fx.experimental.symbolic_shapes.guard_or_false(1 > 0)
