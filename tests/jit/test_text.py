"""The text of a graph is Python that computes the same, and the same text in every process."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import Graph, trace
from nbgrad.jit.ir.ir import Block, Control, Node, Value
from nbgrad.jit.ir.literals import KINDS, MEANINGS, constant_text, literal
from nbgrad.jit.ir.replay import run_block
from nbgrad.jit.text.text import constants_of, function_of, namespace, text_of
from nbgrad.tensors.arrays import array_of
from nbgrad.tensors.layout import layout_of
from nbgrad.tensors.storage import CPU
from tests.helpers import leaf
from tests.jit.programs import digest_of_texts, sample_graphs

F64 = nbgrad.float64


def lines(graph) -> list[str]:
    """The text without comments."""
    return [line.strip() for line in str(graph).splitlines() if not line.lstrip().startswith("#")]


def test_texts_of_samples_compute_what_their_graphs_compute():
    """Every third operation with its gradient, executed from its text, to the last bit."""
    graphs = sample_graphs(3)
    assert len(graphs) > 100
    for name, graph, xs in graphs:
        nbgrad.manual_seed(3)
        want = graph(*xs)
        nbgrad.manual_seed(3)
        got = function_of(str(graph))(*xs, **constants_of(graph.constants))
        for x, y in zip(want, got, strict=True):
            np.testing.assert_array_equal(array_of(x), array_of(y), err_msg=name)


def test_texts_are_the_same_in_processes_of_other_hash_seeds():
    """Nothing in a text follows from addresses or hashes."""
    code = "from tests.jit.programs import digest_of_texts; print(digest_of_texts(23))"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True
        )
        for seed in ("1", "2")
    ]
    assert {run.communicate()[0].strip() for run in runs} == {digest_of_texts(23)}


def test_a_text_reads_like_the_program():
    """A statement for each call, types where values are defined, and the names of the arguments."""

    def program(x, w):
        return (x @ w.T).relu().sum(), x

    assert lines(trace(program, leaf([[1.0, 2.0]]), nbgrad.ones(3, 2, dtype=F64))) == [
        "def program(",
        "x: float64[1, 2].requires_grad,",
        "w: float64[3, 2],",
        ") -> [float64[()].requires_grad, float64[1, 2].requires_grad]:",
        "v0: float64[2, 3].strides(1, 2) = T(w)",
        "v1: float64[1, 3].requires_grad = matmul(x, v0)",
        "v2: float64[1, 3].requires_grad = relu(v1)",
        "v3: float64[()].requires_grad = sum(v2, dim=None, keepdim=False, dtype=None)",
        "return [v3, x]",
    ]


def test_the_line_of_the_program_stands_above_its_statements():
    """Once for those that come from one line."""
    graph = trace(lambda x: (x * 2).exp(), nbgrad.ones(2))
    comments = [line.strip() for line in str(graph).splitlines() if "#" in line]
    assert comments == [f"# {graph.nodes[0].line}"] and comments[0].startswith(f"# {__file__}:")


def test_names_that_mean_something_else_are_not_given_to_values():
    """A parameter may be called as an operation that is used, a number, or as another value is."""

    def program(mul, v3, nan, t):
        return mul * v3 + nan * t

    x = nbgrad.ones(2)
    graph = trace(program, x, x, x, x)
    assert lines(graph)[0].startswith("def program(v0: float32[2], v1: float32[2], v2: float32[2], t: float32[2])")
    assert function_of(str(graph))(x, x, x, x)[0].tolist() == [2, 2]


def test_a_graph_called_as_an_operation_does_not_call_itself():
    """Its function has another name where it calls that operation."""

    def exp(x):
        return nbgrad.exp(x)

    def log(x):
        return nbgrad.exp(x)

    assert function_of(str(trace(exp, nbgrad.zeros(2))))(nbgrad.zeros(2))[0].tolist() == [1, 1]
    assert function_of(str(trace(log, nbgrad.zeros(2))))(nbgrad.zeros(2))[0].tolist() == [1, 1]


def test_several_results_are_unpacked():
    """Their types stand above the call; also where a sequence has one member."""
    graph = trace(lambda x: (*x.unbind(0), *x[0].unbind(0)), nbgrad.ones(1, 2))
    assert "(v0,) = unbind(x, dim=0)" in lines(graph) and "(v2, v3) = unbind(v1, dim=0)" in lines(graph)
    assert [x.tolist() for x in function_of(str(graph))(nbgrad.ones(1, 2))] == [[1, 1], 1, 1]


def test_large_constants_are_parameters_by_keyword():
    """With a digest that tells their values."""
    w = nbgrad.ones(5, 5)
    graph = trace(lambda x: x * w, nbgrad.ones(5))
    assert any(line.startswith("c0: float32[5, 5],  # sha256 ") for line in lines(graph))
    assert constants_of(graph.constants) == {"c0": w}
    assert function_of(str(graph))(nbgrad.ones(5), c0=w * 2)[0].tolist() == [[2] * 5] * 5


NUMBERS = [0.1, -0.0, math.inf, -math.inf, math.nan, 1e-310, 2.0**-24, 65504.0, 1 / 3]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_inline_constants_are_exact(dtype):
    """Every byte of a floating or complex tensor is read back, in the shortest spelling."""
    array = np.array(NUMBERS).astype(KINDS[dtype].dtype.numpy) if "complex" not in dtype else np.array(NUMBERS) * (1 + 0.5j)
    with np.errstate(all="ignore"):
        x = nbgrad.tensor(array, dtype=KINDS[dtype].dtype)
    text = constant_text(Value(x.layout, False, data=x))
    back = eval(text, namespace())
    assert back.layout is x.layout and array_of(back).tobytes() == array_of(x).tobytes()
    assert "0.1" in text and "0.10" not in text


@pytest.mark.parametrize("values", [[True, False], [-(2**63), 2**63 - 1], [[1, 2], [3, 4]], [], 7])
def test_inline_constants_of_integers_and_bools(values):
    """Shape and elements are read back."""
    x = nbgrad.tensor(values, dtype=nbgrad.int64 if values in ([], 7) else None)
    back = eval(constant_text(Value(x.layout, False, data=x)), namespace())
    assert back.layout is x.layout and back.tolist() == x.tolist()


def test_a_nan_with_a_payload_is_spelled_in_bytes():
    """What no number spells is still exact."""
    x = nbgrad.from_numpy(np.array([0x7FF8000000000001], np.uint64).view(np.float64))
    text = constant_text(Value(x.layout, False, data=x))
    assert ".bits(" in text and array_of(eval(text, namespace())).tobytes() == array_of(x).tobytes()


def test_constants_keep_strides_bits_and_flags():
    """A constant is made again in the layout that it has."""
    x = nbgrad.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]]).T.conj().requires_grad_()
    back = eval(constant_text(Value(x.layout, True, data=x)), namespace())
    assert back.layout is x.layout and back.requires_grad and back.tolist() == x.tolist()


@pytest.mark.parametrize(
    "x", [1, True, None, -0.0, math.inf, 1e22, "a'b", 2 - 0.0j, complex(math.nan, -0.0), slice(1, None, 2), nbgrad.device("cuda:1")]
)
def test_arguments_are_read_back(x):
    """What is no value is spelled as Python that means it."""
    back = eval(literal(x), namespace())
    assert type(back) is type(x) and repr(back) == repr(x)


def test_spellings_are_no_operations():
    """What a text says of types and numbers means nothing else."""
    assert not set(MEANINGS) & set(nbgrad.ops.core.OPS)


def test_dtypes_and_layouts_as_arguments():
    """They are facts of types."""
    layout = layout_of(F64, (2, 3), (1, 2), CPU)
    assert eval(literal(F64), namespace()) is F64 and eval(literal(layout), namespace()) is layout


def test_blocks_are_functions_within():
    """A control node takes them, and they read what is around them."""
    graph = twice_graph()
    assert lines(graph) == [
        "def graph(x: float64[2]) -> [float64[2]]:",
        "v0: float64[2] = exp(x)",
        "def twice_block0(v1: float64[2]) -> [float64[2]]:",
        "v2: float64[2] = mul(v1, v0)",
        "return [v2]",
        "v3: float64[2]",
        "(v3,) = twice(x, start=1, blocks=(twice_block0,))",
        "return [v3]",
    ]
    x = nbgrad.tensor([0.5, -1.0], dtype=F64)
    want = x * x.exp() * x.exp()
    assert function_of(str(graph))(x)[0].tolist() == graph(x)[0].tolist() == want.tolist()


def run_twice(node, values, x, start):
    """Run a block on its own result."""
    (y,) = run_block(node.blocks[0], [x], values)
    return tuple(run_block(node.blocks[0], [y], values))


TWICE = Control("twice", run_twice)


def twice_graph() -> Graph:
    """A graph with a block."""
    layout = layout_of(F64, (2,), None, CPU)
    x, y = Value(layout, False, name="x"), Value(layout, False)
    factor = Node(nbgrad.ops.core.OPS["exp"], (x,), {}, [layout], flags=[False])
    product = Node(nbgrad.ops.core.OPS["mul"], (y, factor.outs[0]), {}, [layout], flags=[False])
    node = Node(TWICE, (x,), {"start": 1}, [layout], (Block([y], [product], list(product.outs)),), flags=[False])
    return Graph([x], [factor, node], list(node.outs))


def test_a_broken_graph_has_a_text():
    """What nothing defines has a name of its own, for messages."""
    stray = Value(None, None)
    assert text_of(Block([], [], [stray])).splitlines()[1] == "    return [u0]"


def test_an_argument_without_a_spelling_is_refused_when_the_text_runs():
    """The text says of what type it was."""
    with pytest.raises(ValueError, match="type object has no spelling"):
        eval(literal(object()), namespace())
