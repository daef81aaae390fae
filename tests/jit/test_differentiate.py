"""Gradients of graphs are those that the engine takes of the program."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import nbgrad
from nbgrad import Tensor
from nbgrad.jit import trace
from nbgrad.jit.differentiate import differentiate
from nbgrad.jit.differentiation.cut import minimum_cut
from nbgrad.jit.differentiation.linear import inline, jvp, linearize, transpose
from nbgrad.jit.differentiation.obstacles import is_differentiable, update_requires_grad
from nbgrad.jit.differentiation.subgraphs import differentiable_subgraphs
from nbgrad.jit.ir.graph import Graph
from nbgrad.jit.ir.ir import Control, Node, Value
from nbgrad.jit.ir.replay import run_block
from nbgrad.jit.passes.retrace import InPlace, functionalise
from nbgrad.ops.core import OPS
from tests.functions import SquareByNumPy
from tests.helpers import leaf
from tests.samples import SAMPLES
from tests.samples.checking import run, to_tensor

GraphError = nbgrad.errors.GraphError


def grads_of(gradient, args, cotangents):
    """The gradients of all arguments, by the contract."""
    with nbgrad.no_grad():
        args = [x.detach() if isinstance(x, Tensor) else x for x in args]
        outs = gradient.f(*args)
        given = [cotangents[k] if k < gradient.f_real_outputs else None for k in gradient.df_input_vjps]
        given += [args[k] for k in gradient.df_input_captured_inputs] + [outs[k] for k in gradient.df_input_captured_outputs]
        found = dict(zip(gradient.df_output_vjps, gradient.df(*given)))
    return outs[: gradient.f_real_outputs], [found.get(k) for k in range(len(args))]


def eager(fn, args, cotangents):
    """Outputs and gradients without a graph."""
    outs = fn(*args)
    outs = outs if isinstance(outs, tuple) else (outs,)
    live = [k for k, (out, g) in enumerate(zip(outs, cotangents)) if out.requires_grad and g is not None]
    wanted = [k for k, x in enumerate(args) if isinstance(x, Tensor) and x.requires_grad]
    grads = [None] * len(args)
    if live and wanted:
        found = nbgrad.grad([outs[k] for k in live], [args[k] for k in wanted], [cotangents[k] for k in live], allow_unused=True)
        for k, g in zip(wanted, found):
            grads[k] = g
    return outs, grads


def same(x, y):
    """The same numbers, or no gradient but zero."""
    if x is None or y is None:
        return x is y or not (y if x is None else x).numpy().any()
    return np.array_equal(x.detach().numpy(), y.detach().numpy(), equal_nan=True)


def agree(fn, *args, cotangents=None):
    """f and df of the graph of ``fn`` against the engine, bit for bit, for every pattern of defined cotangents."""
    examples = [nbgrad.rand_like(x.detach()).requires_grad_(x.requires_grad) for x in args]
    gradient = differentiate(trace(fn, *examples))
    outs = fn(*args)
    outs = outs if isinstance(outs, tuple) else (outs,)
    rng = np.random.default_rng(0)
    cotangents = cotangents or [nbgrad.tensor(rng.uniform(-1, 1, x.shape)).to(x.dtype) for x in outs]
    for pattern in product((True, False), repeat=len(outs)):
        given = [g if defined else None for g, defined in zip(cotangents, pattern)]
        (want_outs, want), (got_outs, got) = eager(fn, args, given), grads_of(gradient, args, given)
        assert all(map(same, got_outs, want_outs)) and all(map(same, got, want)), (pattern, got, want)
    return gradient


def names(block):
    """The operations of a graph, those of blocks behind their node."""
    found = []
    for node in block.nodes:
        found += [node.name, *(name for inner in node.blocks for name in names(inner))]
    return found


X, Y = [[0.3, -0.5], [1.0, 2.0]], [0.7, -1.5]


# ---- against the engine ----------------------------------------------------------------------------------------------


@pytest.mark.part(4, 2)
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_samples(name):
    """Operations of the table, on other numbers than those with which they were captured."""
    row = SAMPLES[name]
    if row.reference is None or not row.differentiable or "gradient" in row.unlike or name in ("getitem", "setitem"):
        pytest.skip("no gradient that is unique, or indices among the arguments")
    call = row.calls[0]
    arrays, flat = row.arrays(call, "float64"), []

    def collect(x):
        if isinstance(x, list):
            return [collect(y) for y in x]
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            flat.append(x)
            return len(flat) - 1
        return (to_tensor(x),)

    def fill(x, tensors):
        return [fill(y, tensors) for y in x] if isinstance(x, list) else x[0] if isinstance(x, tuple) else tensors[x]

    template = [collect(x) for x in arrays]

    def fn(*tensors):
        [template]
        return tuple(o for o in run(row, fill(template, tensors), call) if isinstance(o, Tensor) and o.dtype.differentiable)

    rng = np.random.default_rng(1)
    examples = [nbgrad.tensor(x).requires_grad_() for x in flat]
    args = [nbgrad.tensor(x * (1 + 1e-3 * rng.random(x.shape))).requires_grad_() for x in flat]
    if not args:
        pytest.skip("no floating operands")
    nbgrad.manual_seed(1)
    cotangents = [nbgrad.tensor(rng.uniform(-1, 1, o.shape)).to(o.dtype) for o in fn(*args)]
    nbgrad.manual_seed(1)
    _, want = eager(fn, args, cotangents)
    gradient = differentiate(trace(fn, *examples), *[x.detach() for x in examples])
    nbgrad.manual_seed(1)
    _, got = grads_of(gradient, args, cotangents)
    for x, y in zip(want, got):
        if x is None and y is None:
            continue
        x, y = (None if g is None else g.detach().numpy() for g in (x, y))
        np.testing.assert_allclose(np.zeros_like(x) if y is None else y, np.zeros_like(y) if x is None else x, 1e-9, 1e-12)


def random_program(rng):
    """A program of a few calls with broadcasting, repeats, dead calls, detached values and results that are arguments."""
    count = int(rng.integers(1, 4))
    shapes = [(2, 3) if k == 0 or rng.random() < 0.6 else (3,) for k in range(count)]
    args = [nbgrad.tensor(rng.uniform(-1, 1, s)).requires_grad_(k == 0 or rng.random() < 0.7) for k, s in enumerate(shapes)]
    calls = []
    for number in range(int(rng.integers(1, 9))):
        op = str(rng.choice(["mul", "add", "sub", "sin", "tanh", "sigmoid", "exp", "detach"]))
        arity = 2 if op in ("mul", "add", "sub") else 1
        calls.append((op, [int(k) for k in rng.integers(0, count + number, arity)]))
    picks = [int(k) for k in rng.integers(0, count + len(calls), int(rng.integers(1, 4)))]

    def fn(*xs):
        values = list(xs)
        for op, operands in calls:
            values.append(getattr(values[operands[0]], op)(*[values[k] for k in operands[1:]]))
        return tuple(values[k] for k in picks)

    return fn, args


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    """Every pattern of defined cotangents gives the engine's bits."""
    fn, args = random_program(np.random.default_rng(seed))
    agree(fn, *args)


def test_special_values():
    """NaN, infinities and signed zeros arrive as the engine's do."""
    special = leaf([[np.nan, np.inf, -np.inf], [0.0, -0.0, 1.0]])
    agree(lambda x: (x * x).exp() / x, special)
    agree(lambda x: nbgrad.where(x > 0, x.sqrt(), x.sin()), special)


def test_empty_and_0d_tensors():
    """Shapes at the edges."""
    agree(lambda x: (x * x).sum(), nbgrad.ones(0, 3, requires_grad=True))
    agree(lambda x: x.exp() * x, nbgrad.tensor(0.5, requires_grad=True))


def test_writes_are_differentiated():
    """A captured graph holds them as new values."""

    def program(x):
        y = x * 2
        y[0].mul_(x[1])
        return y.sin()

    agree(program, leaf(X))


def test_randomness_is_saved_and_not_drawn_again():
    """The mask of dropout goes from f to df."""
    gradient = differentiate(trace(lambda x: nbgrad.nn.functional.dropout(x, 0.5, True).sin(), leaf(X)))
    x = leaf([[2.0, 3.0], [4.0, 5.0]])
    (out,), (g,) = grads_of(gradient, [x], [nbgrad.ones(2, 2, dtype=nbgrad.float64)])
    kept = out.numpy() != 0
    np.testing.assert_allclose(g.numpy(), np.where(kept, 2 * np.cos(2 * x.detach().numpy()), 0), 1e-12)
    assert "draw" in names(gradient.f) and not {"draw", "reserve"} & set(names(gradient.df))


def test_f_asks_for_the_values_that_the_program_asked_for():
    """Of other answers the gradient is another one: f stops there."""
    gradient = differentiate(trace(lambda x: x * 2 if x.sum() > 0 else x * 3, leaf([1.0, 2.0])))
    assert gradient.f(nbgrad.tensor([3.0, 4.0]).double())[0].tolist() == [6, 8]
    with pytest.raises(GraphError, match="asked for values"):
        gradient.f(nbgrad.tensor([-3.0, -4.0]).double())


# ---- the lists -------------------------------------------------------------------------------------------------------


def lists(gradient):
    return (
        gradient.f_real_outputs,
        gradient.df_input_vjps,
        gradient.df_input_captured_inputs,
        gradient.df_input_captured_outputs,
        gradient.df_output_vjps,
    )


@pytest.mark.parametrize(
    ("fn", "want"),
    [
        (lambda x, y: x * y, (1, [0], [0, 1], [], [0, 1])),
        (lambda x, y: (x * y).sigmoid(), (1, [0], [0, 1], [0], [0, 1])),
        (lambda x, y: x.tanh(), (1, [0], [], [0], [0])),
        (lambda x, y: x, (1, [0], [], [], [0])),
        (lambda x, y: (x.tanh(), x), (2, [0, 1], [], [0], [0])),
        (lambda x, y: x.tanh().sin(), (1, [0, 1], [], [1], [0])),
        (lambda x, y: (x.exp().detach(), y), (2, [1], [], [], [1])),
        (lambda x, y: (x > y, x * y, y), (3, [1, 2], [0], [2], [0, 1])),
        (lambda x, y: (x + y).detach(), (1, [], [], [], [])),
    ],
)
def test_lists(fn, want):
    """Which values go where: outputs before inputs, at their first place; what nobody needs is not saved."""
    gradient = differentiate(trace(fn, leaf(X), leaf(Y)))
    assert lists(gradient) == want
    assert len(gradient.df.inputs) == sum(map(len, want[1:4])) and len(gradient.df.outputs) == len(want[4])


def test_the_graph_is_left_as_it_is():
    """Differentiation works on copies."""
    graph = trace(lambda x: (x * x).exp(), leaf(X))
    before = str(graph)
    differentiate(graph)
    assert str(graph) == before


def test_two_differentiations_print_the_same():
    """Listings follow from the graph alone."""
    one, two = (differentiate(trace(lambda x, y: ((x * y).sigmoid(), y.sin()), leaf(X), leaf(Y))) for _ in range(2))
    assert [str(g).split("#")[0] for g in (one.f, one.df)] == [str(g).split("#")[0] for g in (two.f, two.df)]
    assert str(one.df) == str(two.df)


def test_dead_calls_leave_no_trace():
    """What no output needs is neither computed nor saved."""

    def program(x, y):
        y.exp()
        return x.neg()

    gradient = differentiate(trace(program, leaf(X), leaf(Y)))
    assert names(gradient.f) == ["neg"] and lists(gradient) == (1, [0], [], [], [0])


def test_a_temporary_has_a_cotangent_that_joins_before_its_producer():
    """df of tanh, then sin: h enters at the tanh."""
    gradient = differentiate(trace(lambda x: x.tanh().sin(), leaf(X)))
    x, g, h = (nbgrad.tensor(v, dtype=nbgrad.float64) for v in (X, [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]))
    t = x.tanh()
    np.testing.assert_allclose(gradient.df(g, h, t)[0].numpy(), ((g * t.cos() + h) * (1 - t * t)).numpy(), 1e-6)
    np.testing.assert_allclose(gradient.df(None, h, t)[0].numpy(), (h * (1 - t * t)).numpy(), 1e-6)
    assert gradient.df(None, None, t) == [None]


# ---- higher orders ---------------------------------------------------------------------------------------------------


def test_df_is_differentiated_again():
    """The derivative of df by its cotangent and its saved value, twice."""
    gradient = differentiate(trace(lambda x: x.tanh().sin(), leaf(X)))
    second = differentiate(gradient.df)
    third = differentiate(second.df)
    rng = np.random.default_rng(3)

    def check(gradient, fn):
        args = [nbgrad.tensor(rng.uniform(-1, 1, v.layout.shape)).to(v.layout.dtype).requires_grad_() for v in fn.inputs]
        cotangents = [nbgrad.tensor(rng.uniform(-1, 1, v.layout.shape)).to(v.layout.dtype) for v in fn.outputs]
        _, want = eager(lambda *xs: tuple(run_block(fn, xs, {})), args, cotangents)
        _, got = grads_of(gradient, args, cotangents)
        for x, y in zip(want, got):
            assert same(x, y)

    check(second, gradient.df)
    check(third, second.df)


def test_the_gradient_of_a_captured_gradient():
    """A program that takes gradients is a program."""

    def slope(x):
        (g,) = nbgrad.grad((x * x * x).sum(), x, create_graph=True)
        return g.sin()

    agree(slope, leaf(X))

    def curvature(x):
        (g,) = nbgrad.grad((x.tanh() * x).sum(), x, create_graph=True)
        (h,) = nbgrad.grad((g * g).sum(), x, create_graph=True)
        return h

    agree(curvature, leaf(X))


# ---- kinds of arguments ----------------------------------------------------------------------------------------------


def hand_written(op, ins, layout=None):
    """A graph of one node of values of which nothing is known."""
    values = [Value(layout, None, name=name) for name in ins]
    node = Node(op, tuple(values), {}, [None])
    return Graph(values, [node], list(node.outs))


def test_a_graph_of_which_nothing_is_known_is_typed_by_its_first_run():
    """Before, it has no lists; after, it serves other layouts too."""
    gradient = differentiate(hand_written(OPS["mul"], "xy"))
    with pytest.raises(GraphError, match="nothing is known of its inputs"):
        gradient.df_input_vjps
    gradient.run([nbgrad.ones(2, 3), nbgrad.ones(3)])
    for shapes in (((2, 3), (3,)), ((4, 3), (3,)), ((3,), (2, 3)), ((2, 2), (2, 2))):
        x, y = (nbgrad.rand(*shape, requires_grad=True) for shape in shapes)
        g = nbgrad.rand(*(x * y).shape)
        (_, want), (_, got) = eager(nbgrad.mul, [x, y], [g]), grads_of(gradient, [x, y], [g])
        assert all(map(same, want, got))


def test_values_that_could_belong_to_several_calls_are_refused():
    """df of a sum is told nothing of the shape that was summed."""
    graph = hand_written(OPS["sum"], "x")
    graph.nodes[0].attributes = {"dim": None}
    gradient = differentiate(graph, nbgrad.ones(2))
    assert gradient.df(nbgrad.ones(()))[0].shape == (2,)
    gradient.f(nbgrad.ones(3))
    with pytest.raises(GraphError, match="several arguments"):
        gradient.df(nbgrad.ones(()))
    assert gradient.at(nbgrad.ones(3)).run_reverse([nbgrad.ones(())])[0].shape == (3,)


def test_values_of_no_call_are_refused():
    """df for shapes that f never had."""
    gradient = differentiate(trace(lambda x: x * x, leaf(X)))
    with pytest.raises(GraphError, match="f was not called"):
        gradient.df(nbgrad.ones(3), nbgrad.ones(3))


def test_numbers_are_captured_and_choose_a_version():
    """A factor that is an argument."""
    gradient = differentiate(hand_written(OPS["mul"], "xs"), nbgrad.ones(2), 2.0)
    assert lists(gradient) == (1, [0], [1], [], [0])
    for factor in (2.0, 3.0, -0.0, 0.0):
        _, (g, _) = grads_of(gradient, [nbgrad.ones(2), factor], [nbgrad.ones(2)])
        np.testing.assert_array_equal(g.numpy(), np.full(2, factor))
        assert np.signbit(g.numpy()).all() == np.signbit(factor)


def test_sequences_of_tensors():
    """A list gets the gradients of its members."""
    values = [Value(None, None, name="xs")]
    node = Node(OPS["cat"], (values[0],), {"dim": 1}, [None])
    gradient = differentiate(Graph(values, [node], list(node.outs)), [nbgrad.ones(2, 2), nbgrad.ones(2, 3)])
    parts = [nbgrad.rand(2, 2), nbgrad.rand(2, 3)]
    outs = gradient.f(parts)
    g = nbgrad.rand(2, 5)
    ((one, two),) = gradient.df(g)
    np.testing.assert_array_equal(outs[0].numpy(), nbgrad.cat(parts, 1).numpy())
    assert same(one, g[:, :2]) and same(two, g[:, 2:])


def choice(node, values, predicate):
    return tuple(run_block(node.blocks[0 if predicate else 1], (), values))


def test_branches_that_a_plain_argument_chooses():
    """What is saved serves both."""
    from nbgrad.jit.ir.ir import Block

    x, flag = Value(None, None, name="x"), Value(None, False, name="flag")
    square = Node(OPS["mul"], (x, x), {}, [None])
    node = Node(Control("choice", choice), (flag,), {}, [None], (Block([], [square], list(square.outs)), Block([], [], [x])))
    out = Node(OPS["tanh"], (node.outs[0],), {}, [None])
    gradient = differentiate(Graph([x, flag], [node, out], list(out.outs)), nbgrad.ones(2), True)
    for chosen in (True, False):
        y = nbgrad.rand(2, requires_grad=True)
        _, want = eager(lambda y, chosen=chosen: (y * y if chosen else y).tanh(), [y], [nbgrad.ones(2)])
        _, got = grads_of(gradient, [y, chosen], [nbgrad.ones(2)])
        assert same(want[0], got[0])


# ---- what is saved ---------------------------------------------------------------------------------------------------


def test_a_chain_saves_its_argument_alone():
    """Intermediate values are computed again, bit for bit."""
    gradient = agree(lambda x: x.sin().cos().exp(), leaf(X))
    assert len(gradient.f.outputs) == 1 and gradient.df_input_captured_inputs == [0]


def test_enough_memory_computes_nothing_twice():
    """Everything that is read is saved."""
    graph = trace(lambda x: x.sin().cos().exp(), leaf(X))
    gradient = differentiate(graph, memory=1 << 20)
    assert len(gradient.f.outputs) == 2 and "sin" not in [node.name for node in gradient.df.nodes if node.name != "linear"]
    x = nbgrad.rand(2, 2, requires_grad=True)
    for each in (gradient, differentiate(graph)):
        assert same(
            eager(lambda x: x.sin().cos().exp(), [x], [nbgrad.ones(2, 2)])[1][0], grads_of(each, [x], [nbgrad.ones(2, 2)])[1][0]
        )


def test_too_little_memory_is_refused():
    """A draw cannot be repeated."""
    graph = trace(lambda x: nbgrad.nn.functional.dropout(x, 0.5, True).sin(), leaf(X))
    with pytest.raises(GraphError, match="bytes must be saved"):
        differentiate(graph, memory=0)


def test_products_are_computed_again_only_where_memory_is_short():
    """A product is saved by default."""
    graph = trace(lambda x, w: (x @ w).tanh().sin(), leaf(X), leaf(X))
    assert "matmul" not in [node.name for node in differentiate(graph).df.nodes]
    assert "matmul" in [node.name for node in differentiate(graph, memory=0).df.nodes]


def test_the_join_of_a_diamond_is_saved():
    """One value instead of two arms."""
    wide = nbgrad.ones(4, 8).layout

    def node(name, *ins):
        return Node(OPS[name], ins, {}, [wide])

    x = Value(nbgrad.ones(4, 64).layout)
    start = Node(OPS["matmul"], (x, x), {}, [wide])
    left, right = node("sin", start.outs[0]), node("cos", start.outs[0])
    join = node("mul", left.outs[0], right.outs[0])
    end = node("exp", join.outs[0])
    nodes = [start, left, right, join, end]
    assert minimum_cut([x], nodes, {end.outs[0], join.outs[0]}, set(), 0) == {join.outs[0]}
    assert minimum_cut([x], nodes, {left.outs[0], right.outs[0]}, set(), 0) == {start.outs[0]}


# ---- linear blocks, forward mode -------------------------------------------------------------------------------------


def test_linear_blocks_stand_in_reverse_order():
    """One for the turn of each operation, with its cotangents as operands."""
    gradient = differentiate(trace(lambda x, y: (x * y).sigmoid(), leaf(X), leaf(Y)))
    blocks = [node for node in gradient.df.nodes if node.name == "linear"]
    assert [node.attributes["name"] for node in blocks] == ["sigmoid", "mul"]
    assert list(blocks[0].ins) == gradient.df.inputs[:1] and blocks[1].ins == (blocks[0].outs[0],)


def test_inlined_blocks_compute_the_same():
    """A df without blocks."""
    gradient = differentiate(trace(lambda x, y: (x * y).sigmoid() * y, leaf(X), leaf(Y)))
    flat = inline(gradient.df)
    given = [nbgrad.rand(*v.layout.shape, dtype=nbgrad.float64) for v in flat.inputs]
    assert "linear" not in names(flat)
    assert all(map(same, flat(*given), gradient.df(*given)))


def program(x, y):
    return (x * y).sigmoid() @ y, x.sum(0)


def test_jvp_is_func_jvp():
    """Outputs and tangents, bit for bit."""
    x, y, t, u = (nbgrad.rand(*shape, dtype=nbgrad.float64) for shape in ((2, 2), (2,), (2, 2), (2,)))
    want = nbgrad.func.jvp(program, (x, y), (t, u))
    got = jvp(trace(program, leaf(X), leaf(Y)))(x, y, t, u)
    assert all(map(same, got, [*want[0], *want[1]]))


def test_reverse_is_the_transpose_of_forward():
    """<g, J t> = <J' g, t>, by linearize, transpose and df."""
    graph = trace(program, leaf(X), leaf(Y))
    x, y, t, u, g, h = (nbgrad.rand(*s, dtype=nbgrad.float64) for s in ((2, 2), (2,), (2, 2), (2,), (2,), (2,)))
    found = linearize(graph, memory=1 << 20)
    outs = found.f(x, y)
    saved = [(x, y)[k] for k in found.captured_inputs] + [outs[k] for k in found.captured_outputs]
    ts = found.linear(*saved, t, u)
    _, (gx, gy) = grads_of(differentiate(graph), [x, y], [g, h])
    back = transpose(found.linear, range(len(saved), len(saved) + 2))(*saved, g, h)
    inner = float((ts[0] * g).sum() + (ts[1] * h).sum())
    assert inner == pytest.approx(float((gx * t).sum() + (gy * u).sum()), rel=1e-9)
    assert inner == pytest.approx(float((back[0] * t).sum() + (back[1] * u).sum()), rel=1e-9)
    assert not {"sigmoid"} & set(names(found.linear))


def test_loops_and_branches_have_a_transpose():
    """Of linear steps and branches, whatever of the trips the way back could have read."""
    rows, x = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), nbgrad.tensor([0.5, 0.25])
    for f in (
        lambda v: nbgrad.scan(lambda c, a: (c * 0.5 + a @ v, c), nbgrad.zeros(()), rows)[1],
        lambda v: nbgrad.cond(rows.sum() > 0, lambda u: rows @ u, lambda u: rows @ u.flip(0), v),
    ):
        back = transpose(trace(f, x))
        for g in nbgrad.eye(3):
            assert back(g)[0].allclose(nbgrad.stack([f(unit) @ g for unit in nbgrad.eye(2)]))
        assert transpose(back)(x)[0].allclose(f(x))


def test_what_is_not_linear_has_no_transpose():
    """The error names the input."""
    with pytest.raises(GraphError, match="not linear in input x"):
        transpose(trace(lambda x: x * x, leaf(X)))


# ---- obstacles -------------------------------------------------------------------------------------------------------


def stepped(x):
    return nbgrad.heaviside(x.tanh(), nbgrad.tensor(0.5)).sin()


def test_an_operation_without_derivative_is_named_with_its_line_and_the_argument():
    """What has to be known to mend it."""
    line = stepped.__code__.co_firstlineno + 1
    with pytest.raises(GraphError, match=rf"heaviside \(.*test_differentiate.py:{line}\) has no derivative, .*gradient of x "):
        differentiate(trace(stepped, leaf(X)))


def test_an_operation_without_derivative_beside_the_path_is_no_obstacle():
    """Nothing flows through it."""
    agree(lambda x: x.tanh() * nbgrad.heaviside(x.detach(), nbgrad.tensor(0.5)), leaf(X))


def test_a_call_in_place_is_refused_by_name():
    """Functionalised, it is accepted."""
    graph = hand_written(InPlace("relu"), "q")
    square = Node(OPS["mul"], (graph.inputs[0],) * 2, {}, [None])
    graph.nodes = [square, Node(graph.nodes[0].op, (square.outs[0],), {}, [None])]
    graph.outputs = list(graph.nodes[1].outs)
    with pytest.raises(GraphError, match="relu_ writes in place. Hint: .*functionalise"):
        differentiate(graph, nbgrad.ones(2))
    made = functionalise(graph, nbgrad.ones(2))
    assert names(made) == ["mul", "relu"]
    _, (g,) = grads_of(differentiate(made), [nbgrad.tensor([2.0, -3.0])], [nbgrad.ones(2)])
    assert g.tolist() == [4.0, -6.0]


def test_f_refuses_what_the_program_refuses():
    """Though nobody reads the result; df does not compute it again."""
    x, i = nbgrad.ones(3), nbgrad.tensor([0, 1])
    gradient = differentiate(trace(lambda x, i: (x.take(i), x.exp())[1], x, i))
    assert names(gradient.f) == ["take", "exp"] and "take" not in str(gradient.df)
    with pytest.raises(nbgrad.errors.DimError):
        gradient.f(x, i + 100)


def test_equal_results_of_f_have_memory_of_their_own():
    """As the program's have: who writes to one does not change the other."""
    x = nbgrad.ones(3)
    a, b = differentiate(trace(lambda x: (x.exp(), x.exp()), x)).f(x)[:2]
    a.zero_()
    assert (b == x.exp()).all()


def test_another_number_of_examples_is_refused():
    """A graph of one input."""
    with pytest.raises(GraphError, match="expected 1 arguments, got 2"):
        differentiate(trace(lambda x: x * x, leaf(X)), leaf(X), leaf(X))


def test_is_differentiable_is_one_predicate():
    """Of nodes, and of graphs: comparisons are no obstacle, writes and operations without derivative are."""
    assert is_differentiable(trace(lambda x: nbgrad.where(x > 0, x, x.sin()), leaf(X)))
    assert not is_differentiable(trace(stepped, leaf(X)))
    assert not is_differentiable(hand_written(InPlace("relu"), "x"))


@pytest.mark.parametrize(
    ("threshold", "want"),
    [
        (1, [["tanh"], "heaviside", ["sin", "mul"]]),
        (2, ["tanh", "heaviside", ["sin", "mul"]]),
        (3, ["tanh", "heaviside", "sin", "mul"]),
    ],
)
def test_groups_of_differentiable_nodes(threshold, want):
    """Runs of at least ``threshold`` become one node; the graph computes the same."""
    graph = trace(lambda x: stepped(x) * x, leaf(X))
    made = differentiable_subgraphs(graph, threshold)
    assert [names(node.blocks[0]) if node.blocks else node.name for node in made.nodes] == want
    x = nbgrad.rand(2, 2, dtype=nbgrad.float64)
    assert same(made(x)[0], graph(x)[0])


def test_update_requires_grad():
    """Flags of all values of floating dtype."""
    graph = trace(lambda x: nbgrad.where(x > 0, x, x.sin()), leaf(X))
    update_requires_grad(graph, False)
    assert lists(differentiate(graph)) == (1, [], [], [], [])
    update_requires_grad(graph, None)
    assert differentiate(graph).df_output_vjps == [0]


def test_f_requires_no_gradients():
    """It runs on detached tensors."""
    gradient = differentiate(trace(lambda x, y: (x * y).sigmoid(), leaf(X), leaf(Y)))
    assert not any(value.requires_grad for value in gradient.f.defined())


# ---- draws, answers, Python --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        lambda x: nbgrad.dropout(x * x, 0.5) * x.sin() + nbgrad.rand(2),
        lambda x: x * x if x.sum() > 0 else x.exp(),
        lambda x: x[x > 0.15] ** 2,
        lambda x: SquareByNumPy.apply(x * 2) * x,
        lambda x: x[0][nbgrad.multinomial(x.detach()[0], 2)] ** 2,
        lambda x: nbgrad.scan(lambda c, s: (nbgrad.dropout(c * s, 0.3), None), x[0], x)[0],
    ],
)
def test_what_draws_asks_and_leaves_the_graph_is_differentiated(program):
    """With the numbers that f has drawn, for the answers that it had."""
    x = leaf([[0.1, 0.7], [0.3, 0.2]], dtype=nbgrad.float64)
    gradient = differentiate(trace(program, x), x)
    nbgrad.manual_seed(1)
    outs = gradient.f(x)
    after = nbgrad.get_rng_state().tolist()
    given = [nbgrad.ones_like(outs[k]) if k < gradient.f_real_outputs else None for k in gradient.df_input_vjps]
    given += [(x,)[k] for k in gradient.df_input_captured_inputs] + [outs[k] for k in gradient.df_input_captured_outputs]
    (found,) = gradient.df(*given)
    assert nbgrad.get_rng_state().tolist() == after
    nbgrad.manual_seed(1)
    want = program(x)
    np.testing.assert_array_equal(outs[0].detach().numpy(), want.detach().numpy())
    np.testing.assert_allclose(found.detach().numpy(), nbgrad.grad(want.sum(), x)[0].numpy(), rtol=1e-13)
    assert nbgrad.get_rng_state().tolist() == after
