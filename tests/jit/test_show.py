"""Drawings of graphs: SVG that a browser shows, with every call and value, and equal for equal graphs."""

from __future__ import annotations

import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import nbgrad
from nbgrad.jit import parse, trace
from nbgrad.jit.text.show import drawing

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """What stands in the picture, labels once."""
    return [x.text or "" for x in ElementTree.fromstring(svg).iter(f"{SVG}text") if "halo" not in (x.get("class") or "")]


def boxes(svg: str, kind: str) -> int:
    """How many boxes of a kind there are."""
    return sum(x.get("class") == kind for x in ElementTree.fromstring(svg).iter(f"{SVG}rect"))


def slope(w, x):
    y = (x @ w).tanh()
    return (y.sum(), *nbgrad.grad(y.sum(), w))


def example():
    return trace(slope, nbgrad.ones(3, 2, requires_grad=True), nbgrad.ones(4, 3))


def test_a_drawing_has_a_box_for_every_node_input_and_output():
    """Calls carry their names, values their names and shapes."""
    graph = example()
    svg = drawing(graph, graph.constants, graph.name)
    assert boxes(svg, "call") + boxes(svg, "control") == len(graph.nodes)
    assert boxes(svg, "input") == 2 and boxes(svg, "output") == 2
    found = texts(svg)
    assert {"w", "[3, 2]", "matmul", "v0 [4, 2]", "tanh"} <= set(found)
    assert found[0] == "slope: float32 where nothing else is said"


def test_edges_that_gradients_flow_through_are_marked():
    """The parameter is on the way of the gradient, the data are not."""
    svg = ElementTree.fromstring(drawing(example()))
    edges = {(x.find(f"{SVG}title").text.partition(":")[0], x.get("class")) for x in svg.iter(f"{SVG}path")}
    assert ("w", "gradient") in edges and ("x", None) in edges


def test_blocks_are_drawn_within_the_node_that_runs_them():
    """Each block of a branch is a frame with its own calls."""
    graph = trace(lambda x: nbgrad.cond(x.sum() > 0, lambda y: y.exp(), lambda y: y.sin(), x), nbgrad.ones(3))
    svg = drawing(graph, graph.constants)
    assert boxes(svg, "control") == 1 and boxes(svg, "block") == 2
    assert {"cond", "exp", "sin"} <= set(texts(svg))


def test_constants_of_one_element_say_it():
    """Others go by their names."""
    small, large = nbgrad.tensor(2.5), nbgrad.ones(100)
    graph = trace(lambda x: x * small + large, nbgrad.ones(100))
    found = texts(drawing(graph, graph.constants))
    assert "2.5" in found and "c1" in found
    assert boxes(drawing(graph, graph.constants), "constant") == 2


def test_what_has_a_meaning_in_xml_is_escaped():
    """Names, texts and lines of the program may hold anything."""
    graph = parse("def f(x: float32[2]) -> [float32[2]]:\n    # <lambda> & co\n    y: float32[2] = exp(x)\n    return [y]\n")
    assert "&lt;lambda&gt; &amp; co" in drawing(graph)
    ElementTree.fromstring(drawing(graph))


def test_a_large_graph_is_drawn_up_to_a_limit_and_says_so():
    """The first calls are drawn; outputs of others are not."""

    def chain(x):
        for _ in range(30):
            x = x.sin()
        return x

    graph = trace(chain, nbgrad.ones(2))
    svg = drawing(graph, (), graph.name, limit=10)
    assert boxes(svg, "call") == 10 and boxes(svg, "output") == 0
    assert texts(svg)[0].endswith("20 more calls are not drawn")


def test_draw_writes_a_file_that_is_the_same_in_every_process(tmp_path):
    """Whatever order hashes have there."""
    text = str(example())
    program = "import sys; from nbgrad.jit import parse; parse(sys.stdin.read()).draw(sys.argv[1])"
    files = []
    for seed in ("1", "2"):
        files.append(tmp_path / f"{seed}.svg")
        command = [sys.executable, "-c", program, str(files[-1])]
        subprocess.run(command, input=text, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    parse(text).draw(tmp_path / "here.svg")
    assert files[0].read_bytes() == files[1].read_bytes() == (tmp_path / "here.svg").read_bytes()


def test_graphs_without_calls_or_types_are_drawn():
    """An output may be an input, a constant, a number or nothing."""
    graph = parse("def f(x: Tensor) -> [Tensor, None]:\n    return [x, None]\n")
    svg = drawing(graph)
    assert {"x", "?", "output 0", "output 1: None"} <= set(texts(svg))
    assert drawing(parse("def f() -> []:\n    return []\n"))


@pytest.mark.parametrize("name", ["g.png", "g.pdf", "g.svgz"])
def test_files_of_another_format_are_refused(tmp_path, name):
    """A drawing is SVG."""
    with pytest.raises(nbgrad.errors.ArgumentError, match=r"is not called as a drawing in SVG is. Hint: '.*g\.svg'"):
        nbgrad.jit.trace(lambda x: x * 2, nbgrad.ones(2)).draw(tmp_path / name)
    assert not list(tmp_path.iterdir())
