"""Graphs that break an invariant are refused, with the pass, the invariant, the node and the line."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.errors import GraphError
from nbgrad.jit import Graph, check, trace
from nbgrad.jit.ir.checker import INVARIANTS
from nbgrad.jit.ir.ir import Block, Control, Node, Value
from nbgrad.jit.passes.checked import checked
from nbgrad.modes.traced import TRACED
from nbgrad.ops.core import OPS
from nbgrad.tensors.layout import layout_of, marked_layout
from nbgrad.tensors.storage import CPU
from tests.helpers import leaf
from tests.jit.programs import sample_graphs
from tests.jit.test_text import twice_graph


def laid(dtype, shape, strides=None):
    """A layout of the CPU."""
    return layout_of(dtype, shape, strides, CPU)


F64 = laid(nbgrad.float64, (2, 3))
W = nbgrad.arange(6.0, dtype=nbgrad.float64).reshape(2, 3)


def small() -> Graph:
    """Three nodes: mul, sum, mul."""
    return trace(lambda x: (x * W).sum(0, keepdim=True) * x, leaf(np.ones((2, 3))))


@pytest.mark.parametrize("run", [False, True])
@pytest.mark.usefixtures("any_values")
def test_what_capture_writes_down_breaks_nothing(run):
    """Every third operation with its gradient; layouts by rules, and by running."""
    for _, graph, _ in sample_graphs(3):
        check(graph, run=run)


def call(name, *ins, layouts=(F64,), **attributes):
    """A node of an operation of the table."""
    return Node(OPS[name], ins, attributes, list(layouts), line="file.py:7")


def add_node(graph, node):
    """Put a node behind the others, and return its results."""
    graph.nodes.append(node)
    graph.outputs = list(node.outs)


def use_before_definition(graph):
    graph.nodes.reverse()


def read_what_a_block_keeps(graph):
    graph.__init__(*blocks_of(graph))
    graph.outputs = [graph.nodes[1].blocks[0].nodes[0].outs[0]]


def blocks_of(graph):
    """The parts of a graph with a block."""
    other = twice_graph()
    return other.inputs, other.nodes, other.outputs, other.constants


def read_inside_of_a_block(graph):
    other = twice_graph()
    graph.__init__(other.inputs, other.nodes, other.outputs, other.constants)
    add_node(graph, call("exp", other.nodes[1].blocks[0].inputs[0], layouts=[other.inputs[0].layout]))


def share_a_block(graph):
    other = twice_graph()
    node = other.nodes[1]
    again = Node(node.op, node.ins, node.attributes, [node.outs[0].layout], node.blocks)
    graph.__init__(other.inputs, [*other.nodes, again], list(again.outs), other.constants)


def unknown_operation(graph):
    op = nbgrad.ops.core.copy(OPS["exp"])
    op.name = "nothing"
    graph.nodes.append(Node(op, (graph.inputs[0],), {}, [F64]))


def unregistered(graph):
    control = Control("doubly", lambda node, values: ())
    add_node(graph, Node(control, (), {}, []))
    Control("doubly", lambda node, values: ())


def marked(graph):
    graph.inputs[0].layout = marked_layout(F64, TRACED)


def an_integer_with_gradient(graph):
    graph.inputs[0].layout = laid(nbgrad.int64, (2, 3))


def a_form_of_its_own(graph):
    control = Control("thrice", lambda node, values: (), check=lambda node: ["expected three blocks, got none"])
    add_node(graph, Node(control, (), {}, []))


BROKEN = {
    "use before definition": ("definition before use", use_before_definition),
    "a value from inside of a block": ("definition before use", read_inside_of_a_block),
    "a constant that the graph does not know": ("definition before use", lambda graph: graph.constants.clear()),
    "a node twice": ("one definition", lambda graph: graph.nodes.append(graph.nodes[0])),
    "an input twice": ("one definition", lambda graph: graph.inputs.append(graph.inputs[0])),
    "a constant that is an input": ("one definition", lambda graph: graph.inputs.append(graph.constants[0])),
    "a shared block": ("one definition", share_a_block),
    "a result of another node": ("results know their node", lambda graph: setattr(graph.nodes[0].outs[0], "node", graph.nodes[1])),
    "a result of another number": ("results know their node", lambda graph: setattr(graph.nodes[0].outs[0], "nr", 1)),
    "an input with a node": ("results know their node", lambda graph: setattr(graph.inputs[0], "node", graph.nodes[1])),
    "an output that nothing defines": ("outputs are visible", lambda graph: graph.outputs.append(Value(F64))),
    "an output from inside of a block": ("outputs are visible", read_what_a_block_keeps),
    "a constant without data": ("constants have data", lambda graph: setattr(graph.constants[0], "data", None)),
    "a constant of another layout": ("constants have data", lambda graph: setattr(graph.constants[0], "data", nbgrad.ones(2))),
    "an input with data": ("constants have data", lambda graph: setattr(graph.inputs[0], "data", 1.0)),
    "a tensor as operand": ("no tensors in nodes", lambda graph: add_node(graph, call("exp", W))),
    "an array in an attribute": ("no tensors in nodes", lambda graph: graph.nodes[1].attributes.update(dim=(np.ones(1),))),
    "a tensor as output": ("no tensors in nodes", lambda graph: graph.outputs.append(W)),
    "an operation of no table": ("known operations", unknown_operation),
    "a control node of no register": ("known operations", unregistered),
    "too few operands": ("operands fit", lambda graph: setattr(graph.nodes[0], "ins", graph.nodes[0].ins[:1])),
    "an attribute too many": ("operands fit", lambda graph: graph.nodes[1].attributes.update(dims=0)),
    "an operand of another kind": ("operands fit", lambda graph: add_node(graph, call("sum", "x"))),
    "shapes that do not broadcast": (
        "operands fit",
        lambda graph: add_node(graph, call("add", graph.inputs[0], call_result(graph, "T", laid(F64.dtype, (3, 2), (1, 3))))),
    ),
    "a write": ("no writes", lambda graph: add_node(graph, call("tril_", graph.inputs[0]))),
    "too many results": ("number of results", lambda graph: graph.nodes[1].outs.append(Value(F64, None, graph.nodes[1], 1))),
    "another dtype": ("layouts", lambda graph: setattr(graph.nodes[0].outs[0], "layout", laid(nbgrad.float32, (2, 3)))),
    "another shape": ("layouts", lambda graph: setattr(graph.nodes[2].outs[0], "layout", laid(F64.dtype, (1, 3)))),
    "other strides": ("layouts", lambda graph: setattr(graph.nodes[2].outs[0], "layout", laid(F64.dtype, (2, 3), (1, 2)))),
    "a marked layout": ("layouts", marked),
    "an integer with gradient": ("flags", an_integer_with_gradient),
    "blocks of an operation": ("blocks", lambda graph: setattr(graph.nodes[0], "blocks", (Block(),))),
    "a control node of another form": ("blocks", a_form_of_its_own),
}


def call_result(graph, name, layout):
    """The result of a view of the input."""
    graph.nodes.append(call(name, graph.inputs[0], layouts=[layout]))
    return graph.nodes[-1].outs[0]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_graph_is_refused(name):
    """The message names the invariant."""
    invariant, breaking = BROKEN[name]
    graph = small()
    check(graph)
    breaking(graph)
    with pytest.raises(GraphError, match=f"^check after breaking: {invariant}: "):
        check(graph, after="breaking")


def test_every_invariant_has_a_broken_graph():
    """None of them is a dead letter."""
    assert {invariant for invariant, _ in BROKEN.values()} == set(INVARIANTS)


def test_the_message_names_node_and_line_and_shows_the_graph():
    """Enough to find the fault without a debugger."""
    graph = small()
    graph.nodes[2].ins = (graph.nodes[2].outs[0], 1)
    with pytest.raises(GraphError) as caught:
        check(graph)
    assert f"node 2 (mul, {graph.nodes[2].line}): it reads" in str(caught.value) and str(graph) in str(caught.value)


def test_layouts_that_no_rule_tells_are_found_by_running():
    """A reduction's shape, for one."""
    graph = small()
    graph.nodes[1].outs[0].layout = laid(F64.dtype, (2, 1))
    graph.nodes[1].attributes["keepdim"] = True
    with pytest.raises(GraphError, match="layouts: node 1"):
        check(graph, run=True)


@pytest.mark.parametrize("returns", [True, False])
def test_a_checked_pass_is_refused_where_it_breaks_a_graph(returns, monkeypatch):
    """Under NBGRAD_CHECK=1, with what it changed; whether it returns a graph or changes the one it has."""

    def lose_a_node(graph):
        del graph.nodes[1]
        return graph if returns else None

    monkeypatch.setattr(config, "CHECK", True)
    with pytest.raises(GraphError, match="check after lose_a_node: definition before use") as caught:
        checked(lose_a_node)(small())
    assert "-    v1: float64[1, 3].requires_grad = sum(" in str(caught.value)
    monkeypatch.setattr(config, "CHECK", False)
    checked(lose_a_node)(small())
