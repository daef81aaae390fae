"""Backward passes of compiled functions are programs, and give what the engine gives, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.jit import compile
from nbgrad.jit.compiled import program_node
from tests.functions import SquareByNumPy
from tests.helpers import leaf

X, W = [[0.3, -0.5, 1.5], [1.0, 2.0, -0.25]], [[0.7, -1.5, 0.2], [0.4, 0.1, -0.9]]


@pytest.fixture
def programs_alone(monkeypatch):
    """Nothing is computed call by call."""

    def by_calls(*arguments):
        raise AssertionError("a backward pass runs call by call")

    if not config.CHECK:  # which compares with calls
        monkeypatch.setattr(program_node, "by_calls", by_calls)


def gradients(fn, args, cotangents, wanted=None):
    outs = fn(*args)
    outs = outs if isinstance(outs, tuple) else (outs,)
    pairs = [(x, g) for x, g in zip(outs, cotangents) if g is not None and x.requires_grad]
    roots, given = zip(*pairs)
    found = nbgrad.grad(roots, [args[k] for k in wanted or range(len(args))], given, allow_unused=True)
    return [None if g is None else g.numpy() for g in found]


def agree(fn, args, cotangents, wanted=None):
    """Twice: the first call captures."""
    compiled = compile(fn, fullgraph=True)
    for _ in range(2):
        nbgrad.manual_seed(3)
        got = gradients(compiled, args, cotangents, wanted)
        nbgrad.manual_seed(3)
        for x, y in zip(got, gradients(fn, args, cotangents, wanted)):
            assert x is y is None or np.array_equal(x, y)
    return compiled


def softmax_loss(x, w):
    return ((x @ w.t()).softmax(-1) * x.sum(-1, keepdim=True)).log1p()


PROGRAMS = {
    "elementwise": lambda x, w: (x * w).tanh() * (x + w).exp(),
    "products and rows": softmax_loss,
    "views": lambda x, w: (x.t()[1:] * w.t()[:2]).reshape(-1),
    "writes to what it makes": lambda x, w: (x * w).mul_(w).index_fill(0, nbgrad.tensor([0]), 2.0),
    "draws": lambda x, w: nbgrad.nn.functional.dropout(x * w, 0.5, True).sin(),
    "values asked for": lambda x, w: (x * w)[w > 0] if x.sum() > 0 else x,
    "loops": lambda x, w: nbgrad.scan(lambda c, _: (c * w.cos(), None), x, length=3)[0],
    "Functions of arrays": lambda x, w: SquareByNumPy.apply(x * w) * w,
    "gradients inside": lambda x, w: nbgrad.grad((x * x * w).sum(), x, create_graph=True)[0],
    "detached parts": lambda x, w: x.detach() * w + (x * 2).detach() * x,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("wanted", [None, [0], [1]])
def test_programs(programs_alone, name, wanted):
    """Of all arguments, or one of them."""
    x, w = leaf(X), leaf(W)
    shape = PROGRAMS[name](x, w).shape
    agree(PROGRAMS[name], (x, w), [nbgrad.arange(shape.numel(), dtype=nbgrad.float64).reshape(shape) - 1.5], wanted)


@pytest.mark.parametrize("cotangent", ["dense", "broadcast", "transposed"])
def test_layouts_of_cotangents(cotangent):
    """One program for each, whose sums meet their operands in the order of the engine's."""
    g = {"dense": nbgrad.ones(2, 3).double() * 0.7, "broadcast": nbgrad.tensor(0.7).double().expand(2, 3)}
    g["transposed"] = nbgrad.arange(6, dtype=nbgrad.float64).reshape(3, 2).t()
    compiled = agree(lambda x, w: (x * w).sin().sum(0).cos() * x, (leaf(X), leaf(W)), [g[cotangent]])
    (program,) = compiled.variants[0].backward.programs.values()
    assert program is not None


@pytest.mark.parametrize("defined", [(True, True), (True, False), (False, True)])
def test_undefined_cotangents_choose_a_program(programs_alone, defined):
    """What leads to no cotangent is not computed."""
    g = nbgrad.ones(2, 3).double()
    compiled = agree(lambda x, w: (x.exp() * w, w.sin()), (leaf(X), leaf(W)), [g if flag else None for flag in defined])
    (program,) = compiled.variants[0].backward.programs.values()
    assert ("cos" in [node.name for node in program.graph.nodes]) == defined[1]


def test_tensors_that_the_function_names(programs_alone):
    """Gradients flow into them too."""
    w = leaf(W)
    compiled, x = compile(lambda x: (x * w).tanh(), fullgraph=True), leaf(X)
    for _ in range(2):
        got, want = nbgrad.grad(compiled(x).sum(), [x, w]), nbgrad.grad((x * w).tanh().sum(), [x, w])
        assert all(np.array_equal(g.numpy(), h.numpy()) for g, h in zip(got, want))


def penalty(fn, x, w):
    """Value, slope, and the gradients of what the slope weighs."""
    y = fn(x, w)
    slopes = nbgrad.grad(y, [x, w], create_graph=True)
    curves = nbgrad.grad(sum((g * g).sum() for g in slopes), [x, w])
    return [z.detach().numpy() for z in (y, *slopes, *curves)]


def named(x):
    return ((x @ C.t()).tanh() * C.detach().sum()).square().sum()


PICKS = nbgrad.tensor([1, 0, 1])
C = leaf([[0.5, -0.25, 1.0], [0.125, 2.0, -0.5]])
SECOND = {
    "elementwise": lambda x, w: (x.exp() * w.sin()).sum(),
    "products": lambda x, w: ((x @ w.t()).tanh() @ w).square().mean(),
    "rows": lambda x, w: (x.softmax(-1) * w.log_softmax(-1)).sum(),
    "picked": lambda x, w: (x[PICKS] * w[PICKS]).square().sum(),
    "detached": lambda x, w: (x * w.detach() * w).square().sum(),
    "without gradients": lambda x, w: ((x * w).square().sum(), x.sum().detach())[0],
    "without recording": lambda x, w: (x * without_recording(w) * w).square().sum(),
}


def without_recording(w):
    """A factor that gradients do not reach."""
    with nbgrad.no_grad():
        return w.exp()


@pytest.mark.parametrize("name", SECOND)
def test_recorded_passes_are_programs(name, programs_alone):
    """A pass that is recorded is one node, whose own pass is a program: bit for bit what eager gives."""
    compiled = compile(SECOND[name], fullgraph=True)
    for k in range(3):
        x, w = leaf(np.array(X) + k), leaf(np.array(W) - k)
        got = penalty(compiled, x, w)
        for g, h in zip(got, penalty(compiled.fn, x, w)):
            np.testing.assert_array_equal(g, h)


def test_recorded_passes_reach_what_the_function_names(programs_alone):
    """Tensors that it names have gradients of gradients too."""
    compiled, x = compile(named, fullgraph=True), leaf(X)

    def curves(fn):
        (g,) = nbgrad.grad(fn(x), x, create_graph=True)
        return [h.numpy() for h in nbgrad.grad(g.sum(), [x, C])]

    for _ in range(2):
        for g, h in zip(curves(compiled), curves(named)):
            np.testing.assert_array_equal(g, h)


def orders(fn, x):
    """Derivatives of the first four orders."""
    g, found = fn(x), []
    for _ in range(4):
        (g,) = nbgrad.grad(g.sum(), x, create_graph=True)
        found.append(g.detach().numpy())
    return found


def test_any_order(programs_alone):
    """Each by the one before; what several nodes send to one place is added up node by node."""
    compiled = compile(lambda x: (x.sin() * x).sum(), fullgraph=True)
    for _ in range(2):
        for g, h in zip(orders(compiled, leaf(X[0])), orders(compiled.fn, leaf(X[0]))):
            np.testing.assert_allclose(g, h, 1e-12)


def test_cotangents_with_a_history(programs_alone):
    """They have gradients; without one they have none."""
    compiled = compile(lambda x: x.exp() * x, fullgraph=True)

    def found(fn, v):
        x = leaf(X)
        (g,) = nbgrad.grad(fn(x), x, v, create_graph=True)
        return [h.numpy() for h in nbgrad.grad(g.square().sum(), [x, v] if v.requires_grad else [x])]

    for v in (leaf(W), leaf(W), nbgrad.ones(2, 3).double()):
        for g, h in zip(found(compiled, v), found(compiled.fn, v)):
            np.testing.assert_array_equal(g, h)


def test_what_no_program_differentiates_goes_by_calls(monkeypatch):
    """A Function by NumPy has no second derivative: the error is eager's."""
    seen, by_calls = [], program_node.by_calls
    monkeypatch.setattr(program_node, "by_calls", lambda *arguments: seen.append(1) or by_calls(*arguments))
    compiled = compile(lambda x: SquareByNumPy.apply(x * 2).sum(), fullgraph=True)
    for _ in range(2):
        x = leaf(X)
        (g,) = nbgrad.grad(compiled(x), x, create_graph=True)
        np.testing.assert_array_equal(g.detach().numpy(), 8 * np.array(X))
    assert seen


class Refusing(nbgrad.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ValueError("no slope")


def test_a_function_whose_backward_raises():
    """Raises where a pass meets it, and not where it is captured."""
    x, compiled = leaf(X), compile(lambda x: Refusing.apply(x).sum(), fullgraph=True)
    for fn in (compiled, compiled, compiled.fn):
        y = fn(x)
        with pytest.raises(ValueError, match="no slope"):
            y.backward()


def test_least_is_saved():
    """Of a chain nothing but its argument and its result, which are there anyway."""
    compiled = compile(lambda x: x.sin().cos().exp(), fullgraph=True)
    compiled(leaf(X))
    (variant,) = compiled.variants
    assert variant.backward.saved == variant.graph.outputs


# ---- what the engine refuses -----------------------------------------------------------------------------------------


def test_writes_to_what_was_saved(programs_alone):
    """As of the function."""
    compiled = compile(lambda x, w: x * w, fullgraph=True)
    for fn in (compiled, compiled, compiled.fn):
        x, w = leaf(X), leaf(W)
        y = fn(x, w)
        with nbgrad.no_grad():
            w.mul_(2)
        with pytest.raises(nbgrad.errors.VersionError):
            y.sum().backward()


def test_writes_to_tensors_that_the_function_names(programs_alone):
    """As of the function: also where they need no gradient."""
    mask = nbgrad.tensor(W).double()
    fn = lambda x: (x * mask).sum()
    for f in (compile(fn, fullgraph=True), fn):
        x = leaf(X)
        f(x).backward()
        y = f(x)
        mask.mul_(2)
        with pytest.raises(nbgrad.errors.VersionError):
            y.backward()


def test_a_pass_frees_what_it_needs(programs_alone):
    """A second one needs retain_graph."""
    compiled, x = compile(lambda x: x.exp().sin(), fullgraph=True), leaf(X)
    y = compiled(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


# ---- what was there before -------------------------------------------------------------------------------------------


def loss_of(model):
    return lambda x: model(x).tanh().sum()


def test_batch_norm_in_training(programs_alone):
    """Results have a history, and running statistics move."""
    batches = np.random.default_rng(0).standard_normal((3, 8, 4)).astype(np.float32)
    found = []
    for wrap in (lambda fn: fn, lambda fn: compile(fn, fullgraph=True)):
        model = nbgrad.nn.BatchNorm1d(4)
        step = wrap(loss_of(model))
        for batch in batches:
            step(nbgrad.tensor(batch)).backward()
        found.append([model.weight.grad, model.bias.grad, model.running_mean, model.running_var])
    assert all(np.array_equal(x.numpy(), y.numpy()) for x, y in zip(*found))


def test_a_parameter_that_is_overwritten_has_its_gradient(programs_alone):
    """What the pass does not read need not be there."""
    w = leaf(W)
    fn = lambda x: (w.data.add_(x), w.sum())[1]
    compiled = compile(fn, fullgraph=True)
    for _ in range(2):
        (g,) = nbgrad.grad(compiled(nbgrad.tensor(X).double()), w)
        assert g.tolist() == [[1.0] * 3] * 2
    np.testing.assert_allclose(w.detach().numpy(), np.array(W) + np.array(X) + np.array(X), 1e-6)


def doubling(buffer, w):
    def fn(x):
        buffer.mul_(2)
        return ((buffer + x).sin() * w).sum()

    return fn


def test_a_buffer_that_is_written_and_then_read(programs_alone):
    """The pass has what it held when it was read."""
    found = []
    for wrap in (lambda fn: fn, lambda fn: compile(fn, fullgraph=True)):
        w = leaf(W)
        step = wrap(doubling(nbgrad.tensor(X).double(), w))
        found.append([nbgrad.grad(step(nbgrad.tensor(W).double()), w)[0].numpy() for _ in range(3)])
    np.testing.assert_array_equal(*found)


def written_then_read(w):
    def fn(x):
        x.mul_(2)
        return (x * w).sin()

    return fn


def test_an_argument_that_is_written_and_then_read(programs_alone):
    """The pass reads what it held when it was read."""
    w = leaf(W)
    fn = written_then_read(w)
    compiled = compile(fn, fullgraph=True)
    for _ in range(2):
        got, want = [nbgrad.grad(f(nbgrad.tensor(X).double()).sum(), w)[0].numpy() for f in (compiled, fn)]
        assert np.array_equal(got, want)


def test_an_argument_that_is_read_and_then_written(programs_alone):
    """Is gone when the pass needs it."""
    w = leaf(W)

    def fn(x):
        y = x * w
        x.mul_(2)
        return y

    for f in (compile(fn, fullgraph=True), fn):
        y = f(nbgrad.tensor(X).double())
        with pytest.raises(nbgrad.errors.VersionError):
            y.sum().backward()


def test_what_is_overwritten_is_not_computed_again():
    """A second derivative would need it."""
    w = leaf(W)
    compiled = compile(written_then_read(w), fullgraph=True)
    y = compiled(nbgrad.tensor(X).double())
    with pytest.raises(nbgrad.GraphError, match="cannot be differentiated"):
        nbgrad.grad(y.sum(), [w], create_graph=True)


W2 = leaf(W[0])


def weighted(x, w):
    return (x * w).exp() * W2


@pytest.mark.parametrize("written", ["x", "w", "W2", "result"])
def test_what_was_written_to_since(written):
    """Is an error where a pass reads it, which names the function; where eager reads it not, nothing is wrong."""
    compiled = compile(weighted, fullgraph=True)
    for fn in (weighted, compiled, compiled):
        x, w = nbgrad.tensor(X[0]), leaf(W[1])
        y = fn(x, w)
        with nbgrad.no_grad():
            {"x": x, "w": w, "W2": W2, "result": y}[written].mul_(1)
        if written in ("w", "result"):
            y.sum().backward()
            continue
        with pytest.raises(nbgrad.VersionError, match="modified in place: it is at version") as error:
            y.sum().backward()
        named = {"x": "saved argument 'x'", "W2": "saved tensor that the function names"}[written]
        assert fn is weighted or f"weighted: {named} (float" in str(error.value)


def test_a_recorded_pass_reads_all_arguments():
    """Of one that was written to it has no gradient to differentiate."""
    compiled = compile(weighted, fullgraph=True)
    for _ in range(2):
        x, w = nbgrad.tensor(X[0]), leaf(W[1])
        y = compiled(x, w)
        with nbgrad.no_grad():
            w.mul_(1)
        with pytest.raises(nbgrad.VersionError, match="weighted: saved argument 'w'"):
            nbgrad.grad(y.sum(), w, create_graph=True)


def test_a_second_pass():
    """Needs the graph; the error names the function."""
    compiled = compile(weighted, fullgraph=True)
    for _ in range(2):
        y = compiled(nbgrad.tensor(X[0]), leaf(W[1])).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(nbgrad.GradError, match="weightedBackward: backward through the graph a second time"):
            y.backward()


def test_integers_have_no_gradient():
    """Neither arguments nor results: the errors are eager's."""
    compiled = compile(lambda i, w: (i * w, i + 1, (w > 0).sum()), fullgraph=True)
    for fn in (compiled.fn, compiled, compiled):
        i, w = nbgrad.tensor([1, 2, 3]), leaf(W[0])
        y, j, n = fn(i, w)
        with pytest.raises(nbgrad.GradError, match=r"inputs\[0\] does not require grad"):
            nbgrad.grad(y.sum(), i)
        for x in (j.sum(), n):
            with pytest.raises(nbgrad.GradError, match="does not require grad"):
                x.backward()
        y.sum().backward()
        assert w.grad.tolist() == [1, 2, 3]


def test_nodes_of_programs_are_alone():
    """They keep no result, so that graphs die by reference counting; results that are saved are still read."""
    import gc
    import weakref

    compiled = compile(lambda x: x.exp().tanh(), fullgraph=True)
    gc.disable()
    try:
        for _ in range(3):
            y = compiled(leaf(X))
            node = weakref.ref(y.grad_fn)
            del y
            assert node() is None
    finally:
        gc.enable()


def written_through_what_is_detached(x, w):
    y = x * 1
    z = y.detach()
    z[1].mul_(w.sum())
    return y.sum() + (z * 2).sum()


def written_beside_what_is_detached(x, w):
    y = x * 1
    z = y.detach()
    y[1].mul_(w.sum())
    return y.sum() + (z * 2).sum()


@pytest.mark.parametrize("fn", [written_through_what_is_detached, written_beside_what_is_detached])
@pytest.mark.filterwarnings("ignore:.*runs as it is")
def test_two_histories_on_one_memory(fn):
    """A recorded write through a detached tensor leaves the other's history: no graph says that, and none is guessed."""
    compiled = compile(fn)
    for _ in range(2):
        got, want = (nbgrad.grad(each(x, w), [x, w]) for each in (compiled, fn) for x, w in [(leaf(X), leaf(W))])
        assert all(np.array_equal(g.numpy(), h.numpy()) for g, h in zip(got, want))
    assert len(compiled.variants) == (fn is written_beside_what_is_detached)


@pytest.mark.parametrize("checkpoint", ["all", "sqrt", 2, "binomial", ("binomial", 2)])
def test_loops_that_keep_some_carries_have_their_gradients(checkpoint, programs_alone):
    """The way back runs trips again, and differentiates them while it runs."""

    def fn(w, x):
        xs = nbgrad.linspace(0, 1, 7, dtype=nbgrad.float64)
        last, kept = nbgrad.scan(lambda c, t: (c * w + t, c.sin()), x, xs, checkpoint=checkpoint)
        return last.sum() + kept.sum()

    agree(fn, [leaf([0.3, 0.4]), leaf([1.0, -2.0])], [nbgrad.tensor(1.5, dtype=nbgrad.float64)])


def shared(fn):
    """The gradient of what all operands of a function were made of."""
    x = leaf(X)
    y = x * 1
    fn(y, y.sin(), y).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("road", ["program", "calls"])
def test_operands_that_were_computed_from_others(road, monkeypatch):
    """A pass ends at the operands, call by call too: what they were made of gets its share once."""
    if road == "calls":
        monkeypatch.setattr(program_node, "in_modes", lambda: True)
    compiled = compile(lambda a, b, c: (a * b).exp() * C * c, fullgraph=True)
    for _ in range(2):
        np.testing.assert_allclose(shared(compiled), shared(compiled.fn), 1e-13)
