"""Backward passes of compiled functions are programs, and give what the engine gives, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compile, variants
from tests.helpers import leaf

X, W = [[0.3, -0.5, 1.5], [1.0, 2.0, -0.25]], [[0.7, -1.5, 0.2], [0.4, 0.1, -0.9]]


@pytest.fixture
def programs_alone(monkeypatch):
    """Nothing is computed call by call."""

    def by_calls(*arguments):
        raise AssertionError("a backward pass runs call by call")

    monkeypatch.setattr(variants, "by_calls", by_calls)


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


class Square(nbgrad.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return nbgrad.from_numpy(np.square(x.numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return nbgrad.from_numpy(2 * x.detach().numpy() * g.numpy())


PROGRAMS = {
    "elementwise": lambda x, w: (x * w).tanh() * (x + w).exp(),
    "products and rows": softmax_loss,
    "views": lambda x, w: (x.t()[1:] * w.t()[:2]).reshape(-1),
    "writes to what it makes": lambda x, w: (x * w).mul_(w).index_fill(0, nbgrad.tensor([0]), 2.0),
    "draws": lambda x, w: nbgrad.nn.functional.dropout(x * w, 0.5, True).sin(),
    "values asked for": lambda x, w: (x * w)[w > 0] if x.sum() > 0 else x,
    "loops": lambda x, w: nbgrad.scan(lambda c, _: (c * w.cos(), None), x, length=3)[0],
    "Functions of arrays": lambda x, w: Square.apply(x * w) * w,
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
    """One program for each; none where sums could meet their operands in another order than in the engine."""
    g = {"dense": nbgrad.ones(2, 3).double() * 0.7, "broadcast": nbgrad.tensor(0.7).double().expand(2, 3)}
    g["transposed"] = nbgrad.arange(6, dtype=nbgrad.float64).reshape(3, 2).t()
    compiled = agree(lambda x, w: (x * w).sin().sum(0).cos() * x, (leaf(X), leaf(W)), [g[cotangent]])
    (program,) = compiled.variants[0].backward.programs.values()
    assert (program is None) == (cotangent == "transposed")


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


def test_second_order_goes_by_calls():
    """A pass that is recorded has a history."""
    x, compiled = leaf(X), compile(lambda x: x.exp() * x, fullgraph=True)
    for fn in (compiled, compiled.fn):
        (g,) = nbgrad.grad(fn(x).sum(), x, create_graph=True)
        (h,) = nbgrad.grad(g.sum(), x)
        np.testing.assert_allclose(h.numpy(), (np.exp(X) * (2 + np.array(X))), 1e-14)


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
