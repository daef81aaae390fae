"""Texts of graphs are read back, and what is no text of a graph is refused with its place."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import GraphError
from nbgrad.jit import difference, parse, trace
from nbgrad.jit.text.text import constants_of, function_of
from nbgrad.tensors import layout
from nbgrad.tensors.arrays import array_of
from tests.helpers import leaf
from tests.jit.programs import sample_graphs
from tests.jit.test_text import twice_graph


def test_graphs_of_samples_are_read_back():
    """The same program, the same text, the same numbers."""
    for name, graph, xs in sample_graphs(3):
        back = parse(str(graph), constants_of(graph.constants))
        assert str(back) == str(graph) and not difference(graph, back), name
        nbgrad.manual_seed(3)
        want = graph(*xs)
        nbgrad.manual_seed(3)
        for x, y in zip(want, back(*xs), strict=True):
            np.testing.assert_array_equal(array_of(x), array_of(y), err_msg=name)
            assert x.layout is y.layout and x.requires_grad == y.requires_grad, name


def test_lines_names_and_flags_are_read_back():
    """What a text says of values and nodes is there again."""
    graph = trace(lambda x, y: nbgrad.grad((x * y).sum(), x), leaf([1.0, 2.0]), nbgrad.ones(2))
    back = parse(str(graph))
    assert [node.line for node in back.nodes] == [node.line for node in graph.nodes]
    assert [(x.name, x.requires_grad) for x in back.inputs] == [("x", True), ("y", False)]
    assert [x.requires_grad for x in back.defined()] == [x.requires_grad for x in graph.defined()]


def test_constants_keep_their_order():
    """Also where some stand in the text and others do not."""
    small, large = nbgrad.tensor([1.0, 2.0]), nbgrad.arange(40.0)
    graph = trace(lambda x: (x + large[:2] + small, x * large[2:4] * small), nbgrad.ones(2))
    back = parse(str(graph), constants_of(graph.constants))
    assert [x.layout for x in back.constants] == [x.layout for x in graph.constants] and len(back.constants) == 2


def test_blocks_are_read_back():
    """A control node has the blocks that stand in front of it."""
    graph = twice_graph()
    back = parse(str(graph))
    assert str(back) == str(graph) and not difference(graph, back)
    x = nbgrad.tensor([0.5, -1.0], dtype=nbgrad.float64)
    assert back(x)[0].tolist() == graph(x)[0].tolist()


@pytest.mark.parametrize(
    "type", ["Tensor", "Tensor.may_require_grad", "float32[2, 3].strides(1, 2).on('cuda:0')", "complex64[2].conj.neg"]
)
def test_types_are_read_back(type, monkeypatch):
    """Whatever is known of a value; of a GPU that is not here, too."""
    monkeypatch.setattr(layout, "memory_on", lambda device: None)
    text = f"def graph(x: {type}) -> [{type}]:\n    return [x]\n"
    assert str(parse(text)) == text


HEAD = "def graph(x: float64[2]) -> [float64[2]]:\n"
REFUSED = {
    "no Python": (HEAD + "    y: = 1\n", "line 2, column 8"),
    "two functions": (HEAD + "    return [x]\n" + HEAD + "    return [x]\n", "got 2 statements, expected one function"),
    "no type": ("def graph(x):\n    return [x]\n", "line 1, column 11: got 'x' without a type"),
    "no such type": ("def graph(x: float65[2]):\n    return [x]\n", "line 1, column 14: got 'float65'"),
    "a negative size": ("def graph(x: float64[-2]):\n    return [x]\n", "line 1, column 14: got 'float64"),
    "strides that do not fit": ("def graph(x: float64[2].strides(1, 2)):\n    return [x]\n", "2 strides of 1 dimensions"),
    "a default": ("def graph(x: float64[2] = 1):\n    return [x]\n", "a function of another form"),
    "no operation": (HEAD + "    y: float64[2] = nothing(x)\n    return [y]\n", "line 2, column 21: got 'nothing'"),
    "a tree": (HEAD + "    y: float64[2] = exp(exp(x))\n    return [y]\n", "line 2, column 25: got 'exp\\(x\\)'"),
    "an operator": (HEAD + "    y: float64[2] = x + x\n    return [y]\n", "line 2, column 21: got 'x \\+ x'"),
    "too many operands": (HEAD + "    y: float64[2] = exp(x, x)\n    return [y]\n", "line 2, column 21: got exp: too many"),
    "no such attribute": (HEAD + "    y: float64[2] = sum(x, dims=0)\n    return [y]\n", "got sum: .*'dims'"),
    "use before definition": (HEAD + "    y: float64[2] = exp(z)\n    return [y]\n", "line 2, column 25: got 'z'"),
    "two definitions": (HEAD + "    x: float64[2] = exp(x)\n    return [x]\n", "line 2, column 5: got a second definition of 'x'"),
    "a result without type": (HEAD + "    (y,) = unbind(x)\n    return [y]\n", "line 2, column 6: got 'y' without a type"),
    "no return": (HEAD + "    y: float64[2] = exp(x)\n", "line 2, column 5: .*expected 'return"),
    "another statement": (HEAD + "    while x:\n        pass\n    return [x]\n", "line 2, column 5"),
    "no constant": ("def graph(*, c0: float64[20]):\n    return [c0]\n", "line 1, column 14: got no constant 'c0'"),
    "elements of another number": (HEAD + "    c0 = float64[2].of(1.0)\n    return [c0]\n", "1 elements, expected 2"),
    "no spelling": (HEAD + "    y: float64[2] = exp(x, unspoken('A'))\n    return [y]\n", "type A has no spelling"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_text_of_a_graph_is_refused_with_its_place(name):
    """Line, column, what came and what was expected."""
    text, message = REFUSED[name]
    with pytest.raises(GraphError, match=message):
        parse(text)


def test_a_constant_of_another_layout_or_other_values_is_refused():
    """The text says which it is."""
    w = nbgrad.arange(20.0)
    text = str(trace(lambda x: x * w, nbgrad.ones(20)))
    with pytest.raises(GraphError, match=r"a constant 'c0' of float64\[20\], expected float32\[20\]"):
        parse(text, {"c0": w.double()})
    with pytest.raises(GraphError, match="a constant 'c0' of other values"):
        parse(text, {"c0": w + 1})


def test_a_block_belongs_to_one_node():
    """A function is taken once."""
    text = str(twice_graph()).replace(
        "    return [v3]\n", "    v4: float64[2]\n    (v4,) = twice(x, start=1, blocks=(twice_block0,))\n    return [v4]\n"
    )
    with pytest.raises(GraphError, match="got 'twice_block0'"):
        parse(text)


def drawing(first, second):
    """A graph that draws from two generators, twice from one, and from the default one."""

    def fn(x):
        y = x + nbgrad.randn(3, generator=first) * nbgrad.rand(3, generator=second)
        return y + nbgrad.randn(3, generator=first) + nbgrad.rand(3)

    return trace(fn, nbgrad.ones(3))


def test_generators_are_read_back_in_their_state():
    """The graph of the text draws what the graph draws, call for call, from generators of its own."""
    first, second = nbgrad.Generator().manual_seed(5), nbgrad.Generator().manual_seed(7)
    nbgrad.rand(3, generator=second)
    graph = drawing(first, second)
    text = str(graph)
    assert "    g0: Generator = generator(5, 0),\n    g1: Generator = generator(7, 1),\n" in text
    again = parse(text)
    assert str(again) == text and difference(again, graph) == ""
    state = nbgrad.get_rng_state()
    wanted = [graph(nbgrad.ones(3))[0].tolist() for _ in range(2)]
    nbgrad.set_rng_state(state)
    assert [again(nbgrad.ones(3))[0].tolist() for _ in range(2)] == wanted


def test_a_text_that_runs_draws_on_from_call_to_call():
    """Its generators are made once, and may be given."""
    first, second = nbgrad.Generator().manual_seed(5), nbgrad.Generator().manual_seed(7)
    run = function_of(str(drawing(first, second)))
    assert run(nbgrad.ones(3))[0].tolist() != run(nbgrad.ones(3))[0].tolist()
    run(nbgrad.ones(3), g0=first)
    assert repr(first) == "Generator(seed=5, calls=2)"


def test_a_graph_may_draw_from_a_generator_that_is_given():
    """By the name that it has in the text."""
    first, second = nbgrad.Generator().manual_seed(5), nbgrad.Generator().manual_seed(7)
    graph = parse(str(drawing(first, second)), {"g0": second})
    graph(nbgrad.ones(3))
    assert (repr(first), repr(second)) == ("Generator(seed=5, calls=0)", "Generator(seed=7, calls=2)")


def test_generators_of_other_states_make_other_graphs():
    """And one generator is not two."""
    one, other = nbgrad.Generator().manual_seed(1), nbgrad.Generator().manual_seed(2)
    assert "generator" in difference(drawing(one, other), drawing(other, one))
    alike = nbgrad.Generator().manual_seed(1)
    assert "generator" in difference(drawing(one, alike), drawing(one, one))


@pytest.mark.parametrize(
    "parameter",
    ["g0: Generator = 3", "g0: Generator = generator('a', 0)", "g0: float32[2] = generator(1, 0)", "x = generator(1, 0)"],
)
def test_generators_are_spelled_in_one_way(parameter):
    """Everything else is refused with its place."""
    with pytest.raises(GraphError, match="line 1, column"):
        parse(f"def f(x: float32[2], *, {parameter}) -> [float32[2]]:\n    return [x]\n")


def test_a_process_that_has_used_no_control_node_knows_them_all():
    """A text that another process wrote may name every one: those that some module makes are those that reading a text imports."""
    listed = (
        "import nbgrad.jit.ir.operations as o; known = set(o.control_nodes()); import importlib, pkgutil, nbgrad.jit\n"
        "for m in pkgutil.walk_packages(nbgrad.jit.__path__, 'nbgrad.jit.'): importlib.import_module(m.name)\n"
        "print(set(o.CONTROLS) - known)"
    )
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr
