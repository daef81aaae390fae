"""Compiled functions give what the functions give: values, structures, histories, aliases; and notice what changes."""

from __future__ import annotations

import sys
import threading
import warnings
from types import ModuleType

import numpy as np
import pytest

import nbgrad
from nbgrad.base import grad_mode
from nbgrad.errors import ArgumentError, GradError, GraphError
from nbgrad.jit import compile
from nbgrad.jit.compiled import fallback
from tests.helpers import leaf

X = [[0.5, -1.5, 2.5], [1.0, 0.25, -3.0]]


def same(x, y) -> None:
    """Equal structures, dtypes, shapes, flags, bits."""
    one, other = (nbgrad.utils._pytree.tree_flatten(each) for each in (x, y))
    assert one[1] == other[1]
    for a, b in zip(one[0], other[0]):
        if not isinstance(a, nbgrad.Tensor):
            assert type(a) is type(b) and a == b
            continue
        assert (a.dtype, a.shape, a.stride(), a.requires_grad) == (b.dtype, b.shape, b.stride(), b.requires_grad)
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def agree(fn, *args, **kwargs) -> None:
    """Compiled, twice, and as it is."""
    compiled = compile(fn, fullgraph=True)
    for _ in range(2):
        same(compiled(*args, **kwargs), fn(*args, **kwargs))
    assert len(compiled.variants) == 1


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x * 2 + 1,
        lambda x: (x, x * 2),
        lambda x: {"a": x.sum(), "b": [x.exp(), (x + 1,)]},
        lambda x: x,
        lambda x: (x[0], x.t(), (x * 3)[:, 1]),
        lambda x: (x * 2, 3, "text", None, 2.5),
        lambda x: nbgrad.zeros(3),
        lambda x: [x * 2] * 2,
        lambda x: (x > 0, x.to(nbgrad.int64), x.argmax(), x.half()),
        lambda x: nbgrad.func.grad(lambda y: (y * y).sum())(x),
        lambda x: nbgrad.vmap(lambda row: row.cumsum(0) * row)(x),
        lambda x: nbgrad.func.jvp(lambda y: y.sin(), (x,), (x,)),
        lambda x: nbgrad.func.hessian(lambda y: (y * y * y).sum())(x[0]),
        lambda x: x.clone().mul_(2).add_(x),
        lambda x: x.sort(1),
        lambda x: x.to(nbgrad.complex128).exp().abs(),
    ],
)
def test_results_are_those_of_the_function(fn):
    """Trees of results, views, constants, integers, transforms."""
    agree(fn, nbgrad.tensor(X, dtype=nbgrad.float64))


def test_arguments_may_be_trees_and_names():
    """Tensors in tuples, lists and dicts; numbers and strings choose a variant."""

    def fn(pair, *, scale, how="plus", rest=()):
        x, inner = pair
        y = x + inner["y"] if how == "plus" else x - inner["y"]
        return y * scale + sum(rest)

    x, y = nbgrad.tensor(X), nbgrad.ones(2, 3)
    compiled = compile(fn, fullgraph=True, limit=9)
    for scale in (2, 2.0, True, 3):
        for how in ("plus", "minus"):
            same(compiled((x, {"y": y}), scale=scale, how=how), fn((x, {"y": y}), scale=scale, how=how))
    same(compiled((x, {"y": y}), scale=2, rest=[x, y]), fn((x, {"y": y}), scale=2, rest=[x, y]))


def test_new_layouts_are_captured_again():
    """Shapes, strides, dtypes, flags and modes of other calls."""
    fn = lambda x: (x * 2).sum(0)
    compiled = compile(fn, fullgraph=True, limit=20)
    x = nbgrad.tensor(X)
    for each in (x, x.t(), x[:, :2], x.double(), x.int(), nbgrad.zeros(0, 3), nbgrad.tensor(3.0), leaf(X)):
        same(compiled(each), fn(each))
        with nbgrad.no_grad():
            same(compiled(each), fn(each))


def test_behind_the_limit_a_function_runs_as_it_is():
    """One warning says what changed; results stay right."""
    compiled = compile(lambda x: x * 2, limit=2)
    with pytest.warns(UserWarning, match="captured 2 times"):
        for n in range(2, 6):
            assert compiled(nbgrad.ones(n)).tolist() == [2.0] * n


def called_behind_the_limit(monkeypatch, sizes):
    """How many variants there are, and the sizes that have one, after calls of these sizes; six may, and no call must wait."""
    monkeypatch.setattr(fallback, "PATIENCE", 0)
    compiled = compile(lambda x: x * 2, limit=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in sizes:
            assert compiled(nbgrad.ones(n)).tolist() == [2.0] * n
    return compiled._count_, {variant.graph.inputs[0].layout.numel for variant in compiled.variants}


def test_a_variant_that_is_not_used_gives_way_to_calls_that_come_again(monkeypatch):
    """Of those that calls do not begin with natively, the one that was used first; other calls behind the limit get none."""
    assert called_behind_the_limit(monkeypatch, [1, 2, 3, 4, 5, 6, 7, 7, 7]) == (6, {2, 3, 4, 5, 6, 7})
    assert called_behind_the_limit(monkeypatch, [1, 2, 3, 4, 5, 6, 1, 7, 8, 7]) == (6, {1, 3, 4, 5, 6, 7})
    assert called_behind_the_limit(monkeypatch, [1, 2, 3, 4, 5, 6, 7, 8, 9]) == (6, {1, 2, 3, 4, 5, 6})


def test_variants_that_are_all_in_use_give_no_way(monkeypatch):
    """More sizes in turn than there may be variants."""
    assert called_behind_the_limit(monkeypatch, [1, 2, 3, 4, 5, 6, 7] * 4) == (6, {1, 2, 3, 4, 5, 6})


def test_calls_must_have_taken_as_long_as_some_captures():
    """Otherwise nothing gives way."""
    compiled = compile(lambda x: x * 2, limit=6)
    with pytest.warns(UserWarning, match="captured 6 times"):
        for n in (1, 2, 3, 4, 5, 6, 7, 7, 7):
            compiled(nbgrad.ones(n))
    assert {variant.graph.inputs[0].layout.numel for variant in compiled.variants} == {1, 2, 3, 4, 5, 6}


# ---- histories -----------------------------------------------------------------------------------------------------


def test_a_compiled_function_in_a_larger_graph():
    """Gradients flow through it, of any order, to arguments and to what it captures."""
    w = leaf([1.0, 2.0, 3.0], dtype=nbgrad.float64)

    def fn(x):
        return (x * w).sin(), x.detach() * 2

    compiled = compile(fn, fullgraph=True)
    x = leaf(X, dtype=nbgrad.float64)

    def second(f):
        y, z = f(x * 1.5)
        first = nbgrad.grad((y * y * z).sum(), [x, w], create_graph=True)
        return first, nbgrad.grad(sum((g * g).sum() for g in first), [x, w])

    for one, other in zip(second(compiled), second(fn)):
        for a, b in zip(one, other):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-13)
    y, z = compiled(x)
    assert y.requires_grad and not z.requires_grad


def test_results_that_are_views_have_histories():
    """Parts of what was computed, of arguments and of captured tensors; and parts of what a pass has used up."""
    w = leaf(X, dtype=nbgrad.float64)
    fn = lambda x: ((x * w)[:, 1], x.t(), w[0], [(x * 2)[0], (x * 3).detach()[0]])
    compiled, x = compile(fn, fullgraph=True), leaf(X, dtype=nbgrad.float64)
    found = []
    for each in (compiled, compiled, fn):
        a, b, c, (d, e) = each(x)
        assert not e.requires_grad and b.data_ptr() == x.data_ptr() and c.data_ptr() == w.data_ptr()
        loss = (a * a).sum() + (b * b).sum() + (c * c).sum() + (d * d).sum()
        found.append([g.tolist() for g in nbgrad.grad(loss, [x, w])])
    assert found[0] == found[1] == found[2]

    def used_up(x):
        y = x * x
        return y[0], nbgrad.grad(y.sum(), x)[0]

    part, _ = compile(used_up, fullgraph=True)(x)
    with pytest.raises(GradError, match="second time"):
        part.sum().backward()


def without_recording(x):
    with nbgrad.no_grad():
        y = x * x
    return (y * x).sum()


def a_leaf_of_its_own(x):
    y = x.detach().requires_grad_()
    (g,) = nbgrad.grad((y * y * y).sum(), y, create_graph=True)
    return (g * x).sum()


def overwritten(x):
    y = x * 1
    z = y.detach()
    y.mul_(x)
    return (y * z).sum()


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: (x * x.detach()).sum(),
        lambda x: (x.detach() * x * x).sum(),
        lambda x: (x * x.data).sum(),
        lambda x: (x * x[0].detach()).sum(),
        without_recording,
        a_leaf_of_its_own,
        overwritten,
    ],
)
def test_gradients_stop_where_they_stop_in_the_function(fn):
    """What is detached, or computed with nothing recorded, is a constant to outer passes."""
    found = []
    for each in (compile(fn, fullgraph=True), fn):
        x = leaf([[1.0, 2.0], [3.0, 4.0]])
        each(x).backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


def test_a_graph_that_was_used_up_inside_is_used_up_outside():
    """The loss of a compiled step that took its gradients cannot be differentiated again, as without compiling."""

    @compile
    def step(x):
        loss = (x * x).sum()
        return loss, nbgrad.grad(loss, x)[0]

    x = leaf(X)
    for _ in range(2):
        loss, g = step(x)
        same(g, 2 * x.detach())
        assert loss.requires_grad and not g.requires_grad
        with pytest.raises(GradError, match="second time"):
            loss.backward()


def test_saved_values_are_checked():
    """A write to an argument between a compiled call and its backward pass is an error."""
    x = leaf(X)
    y = x * 1
    out = compile(lambda x: (x * x).sum())(y)
    y.data.mul_(2)
    with nbgrad.no_grad():
        y.mul_(2)
    with pytest.raises(GradError):
        out.backward()


def test_inside_of_other_interpreters_it_is_the_function():
    """vmap, forward mode, inference mode, another compiled function."""
    inner = compile(lambda x: x.sin() * x)
    x = nbgrad.tensor(X)
    want = (x.sin() * x).tolist()
    assert nbgrad.vmap(inner)(x).tolist() == want
    assert compile(lambda x: inner(x), fullgraph=True)(x).tolist() == want
    with nbgrad.inference_mode():
        assert inner(x).tolist() == want
    value, tangent = nbgrad.func.jvp(inner, (x,), (nbgrad.ones_like(x),))
    np.testing.assert_allclose(tangent.numpy(), (x.cos() * x + x.sin()).numpy(), rtol=1e-6)


# ---- what the function depends on ----------------------------------------------------------------------------------

FACTOR = 2.0


class Holder:
    """An object with attributes."""

    def __init__(self, scale):
        self.scale = scale

    @compile
    def scaled(self, x):
        return x * self.scale


def test_globals_and_closures_are_noticed():
    """Names that hold something else make another variant; equal numbers do not."""
    global FACTOR
    n = 3
    compiled = compile(lambda x: x * n + FACTOR, fullgraph=True)
    x = nbgrad.ones(2)
    assert compiled(x).tolist() == [5.0, 5.0]
    n = 4
    assert compiled(x).tolist() == [6.0, 6.0]
    FACTOR = 1.0
    try:
        assert compiled(x).tolist() == [5.0, 5.0]
    finally:
        FACTOR = float("2.0")
    assert compiled(x).tolist() == [6.0, 6.0] and len(compiled.variants) == 3


def test_modules_of_the_program_are_noticed():
    """What a function looks up in a module; a global that is named like an attribute is no name of the function."""
    settings = ModuleType("settings")
    settings.__file__, settings.scale, settings.other = "/program/settings.py", 2.0, 1.0
    compiled = compile(eval("lambda x: (x * settings.scale).mean()", {"settings": settings, "mean": 0}), fullgraph=True)
    x = nbgrad.ones(2)
    for k, (scale, other) in enumerate(((2.0, 1.0), (3.0, 1.0), (3.0, 2.0))):
        settings.scale, settings.other, compiled.fn.__globals__["mean"] = scale, other, k
        assert compiled(x).item() == scale
    assert len(compiled.variants) == 2


def test_attributes_lists_and_dicts_are_noticed():
    """Members of what the names of a function hold."""
    held, row, table = Holder(2.0), [3.0, nbgrad.ones(2)], {"k": 4.0}
    compiled = compile(lambda x: x * held.scale + row[0] * row[1] + table["k"], fullgraph=True)
    x = nbgrad.ones(2)
    assert compiled(x).tolist() == [9.0, 9.0]
    held.scale = 5.0
    assert compiled(x).tolist() == [12.0, 12.0]
    row[1] = nbgrad.zeros(2)
    assert compiled(x).tolist() == [9.0, 9.0]
    table["k"] = 0.0
    assert compiled(x).tolist() == [5.0, 5.0]


def test_functions_that_a_function_calls_are_followed():
    """What a helper of the program names."""
    offset = 1.0

    def helper(x):
        return x + offset

    compiled = compile(lambda x: helper(x) * 2, fullgraph=True)
    assert compiled(nbgrad.ones(1)).item() == 4.0
    offset = 2.0
    assert compiled(nbgrad.ones(1)).item() == 6.0


def test_methods_have_variants_of_their_own():
    """A compiled method belongs to its object."""
    one, other = Holder(2.0), Holder(3.0)
    x = nbgrad.ones(2)
    assert (one.scaled(x).tolist(), other.scaled(x).tolist()) == ([2.0, 2.0], [3.0, 3.0])
    one.scale = 5.0
    assert (one.scaled(x).tolist(), other.scaled(x).tolist()) == ([5.0, 5.0], [3.0, 3.0])


def test_parameters_of_a_module_are_read_in_every_call():
    """Weights that are written to, and weights that are exchanged."""
    net = nbgrad.nn.Linear(3, 1)
    compiled = compile(lambda x: net(x).sum(), fullgraph=True)
    x = nbgrad.ones(1, 3)
    for _ in range(3):
        same(compiled(x), net(x).sum())
        with nbgrad.no_grad():
            net.weight.add_(1)
    net.weight = nbgrad.nn.Parameter(nbgrad.zeros(1, 3))
    same(compiled(x), net(x).sum())
    compiled(x).backward()
    assert net.weight.grad.tolist() == [[1, 1, 1]]


def test_a_module_is_a_function():
    """Compiled itself, with its modes."""
    net = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 2), nbgrad.nn.Tanh())
    compiled = compile(net, fullgraph=True)
    same(compiled(nbgrad.ones(2, 3)), net(nbgrad.ones(2, 3)))


def test_the_default_dtype_is_noticed():
    """What numbers become."""
    compiled = compile(lambda x: x + nbgrad.ones(1), fullgraph=True)
    assert compiled(nbgrad.tensor([1])).dtype is nbgrad.float32
    nbgrad.set_default_dtype(nbgrad.float64)
    try:
        assert compiled(nbgrad.tensor([1])).dtype is nbgrad.float64
    finally:
        nbgrad.set_default_dtype(nbgrad.float32)


# ---- bad input -----------------------------------------------------------------------------------------------------


def test_what_is_no_function_is_refused():
    """And what cannot be an argument or a result."""
    with pytest.raises(ArgumentError, match="compile"):
        compile(3)
    with pytest.raises(ArgumentError, match="compile: y is of type ndarray, expected tensors"):
        compile(lambda x, y: x, fullgraph=True)(nbgrad.ones(1), np.ones(1))
    with pytest.raises(ArgumentError, match=r"compile: batch\['b'\]\[1\] is of type set"):
        compile(lambda batch: 1, fullgraph=True)(batch={"a": 1, "b": (2, {3})})
    with pytest.raises(ArgumentError, match="compile: the result is of type ndarray"):
        compile(lambda x: np.ones(1), fullgraph=True)(nbgrad.ones(1))
    with pytest.raises(ArgumentError, match=r"compile: the result\['a'\]\[1\] is of type set"):
        compile(lambda x: {"a": [x, {1}]}, fullgraph=True)(nbgrad.ones(1))


def test_a_break_runs_the_function_as_it_is():
    """One warning; with ``fullgraph`` an error."""
    hidden = iter([nbgrad.ones(2) * 2] * 9)
    fn = lambda x: x * next(hidden)
    compiled = compile(fn)
    with pytest.warns(UserWarning, match="runs as it is"):
        assert compiled(nbgrad.ones(2)).tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(nbgrad.ones(2) * 2).tolist() == [4, 4]
    with pytest.raises(GraphError):
        compile(fn, fullgraph=True)(nbgrad.ones(2))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: nbgrad.from_numpy(x.numpy() * 2),
        lambda x: x * x.sum().item(),
        lambda x: x * 2 if x.sum() > 0 else x,
        lambda x: x * float(x[0]),
        lambda x: x[int(x[0]) :],
        lambda x: nbgrad.tensor(x.tolist()),
        lambda x: nbgrad.tensor(np.asarray(x)),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: nbgrad.from_dlpack(x),
        lambda x: x + (x.data_ptr() % 2),
        lambda x: nbgrad.tensor([x[0], x[1]]),
        lambda x: x * len(repr(x)),
        lambda x: x + nbgrad.rand(2),
        lambda x: nbgrad.nn.functional.dropout(x, 0.5),
        lambda x: x.clone().normal_(),
        lambda x: x.unique(),
        lambda x: x * (x == x).all(),
        lambda x: x * 2 if nbgrad.equal(x, x * 1) else x,
        lambda x: x * 2 if nbgrad.allclose(x, x) else x,
        lambda x: nbgrad.bincount(x.long()),
        lambda x: x.repeat_interleave(x.long()),
        lambda x: x.masked_select(x > 1),
        lambda x: nbgrad.arange(int(x.max())),
        lambda x: nbgrad.arange(x.max()),
        lambda x: nbgrad.full((2,), x[0]),
        lambda x: nbgrad.linspace(x[0], x[1], 3),
        lambda x: max(x[0], x[1]),
        lambda x: x.clone().__setitem__(x > 0, 1.0),
        lambda x: x[x.long() - 1],
        lambda x: x[x[0].long() - 1],
    ],
)
def test_nothing_goes_stale(fn):
    """What reads values, or draws, is not compiled, or follows the arguments all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled, right = compile(fn), 0
        for values in ([1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [-1.0, 2.0], [1.0, 2.0]):
            made = []
            for each in (compiled, fn):
                nbgrad.manual_seed(3)
                try:
                    made.append(each(nbgrad.tensor(values)))
                except RuntimeError as error:
                    made.append(str(error))
            assert str(made[0]) == str(made[1])
            right += not isinstance(made[0], str)
    assert right  # and not the same error every time


@pytest.mark.usefixtures("any_values")
def test_errors_of_the_function_are_its_own():
    """In the capture and afterwards, and nothing is left behind."""

    def fn(x, fail):
        if fail:
            raise KeyError("own")
        return x * 2

    compiled = compile(fn)
    for _ in range(2):
        with pytest.raises(KeyError):
            compiled(nbgrad.ones(2), True)
        assert compiled(nbgrad.ones(2), False).tolist() == [2, 2]
    assert not nbgrad.base.grad_mode.traces and not nbgrad.base.grad_mode.special


def everything(tensors, optimizer):
    """Modes, captures, marks, versions, gradients, the generator and an optimizer's state."""
    lists = grad_mode.special, grad_mode.traces, grad_mode.unusual, grad_mode.mode.transforms
    found = [*map(len, lists), grad_mode.mode.enabled, nbgrad.is_inference_mode_enabled(), nbgrad.get_rng_state().tolist()]
    for x in tensors:
        found += [x.tolist(), x._version, x.requires_grad, x.layout.special, x.grad, None if x.grad is None else x.grad.tolist()]
    return found + [str(optimizer.state_dict())]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("place", range(7))
def test_what_is_raised_inside_leaves_all_as_it_was(error, place):
    """Behind writes, draws, a pass, an optimizer's step; in transforms and loops. The next call is captured."""
    w, b, x = nbgrad.ones(2, requires_grad=True), nbgrad.zeros(2), nbgrad.ones(2)
    optimizer = nbgrad.optim.SGD([w], lr=0.1, momentum=0.9)

    def maybe(fail, here):
        if fail and here == place:
            raise error("own")

    def fn(x, fail):
        b.add_(1)
        x.mul_(2)
        loss = (x * w * nbgrad.rand(2)).sum()
        maybe(fail, 0)
        optimizer.zero_grad()
        loss.backward()
        maybe(fail, 1)
        optimizer.step()
        maybe(fail, 2)

        def inner(y, here):
            maybe(fail, here)
            return y.sum()

        with nbgrad.no_grad():
            maybe(fail, 3)
            y = nbgrad.func.grad(inner)(x, 4) + nbgrad.vmap(inner, (0, None))(x.reshape(1, 2), 5)
            return nbgrad.scan(lambda c, _: (inner(c, 6) * c, None), y, length=2)[0]

    fn(nbgrad.ones(2), False)
    for fail in (True, False, True):
        compiled = compile(fn, fullgraph=True)
        before = everything((w, b, x), optimizer)
        if not fail:
            compiled(nbgrad.ones(2), False)
            continue
        with pytest.raises(error):
            compiled(x, True)
        assert everything((w, b, x), optimizer) == before and not compiled.variants


def test_ctrl_c_at_any_moment(monkeypatch):
    """A call that it stops has changed nothing; the next one is whole. Python drops it where a generator is closed."""
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(told.exc_type))
    w, b = nbgrad.ones(2, requires_grad=True), nbgrad.zeros(2)

    def fn(x):
        for _ in range(20):
            b.add_(1)
            (x.mul_(1.5) * w).sum().backward()
        return nbgrad.vmap(lambda y: y * 2)(x)

    def state(*tensors):
        grads = None if w.grad is None else w.grad.tolist()
        lists = grad_mode.special, grad_mode.traces, grad_mode.unusual, grad_mode.mode.transforms
        return [*map(len, lists), *((x.tolist(), x._version, bool(x.layout.special)) for x in tensors), grads]

    stopped = 0
    for k in range(12):
        compiled, x = compile(fn, fullgraph=True), nbgrad.ones(2)
        before, count = state(w, b, x), 0

        def stop(frame, event, argument, limit=1 + 80 * k * k):
            nonlocal count
            count += 1
            if count == limit:
                raise KeyboardInterrupt
            return stop

        sys.settrace(stop)
        try:
            compiled(x)
        except KeyboardInterrupt:
            sys.settrace(None)
            stopped += 1
            assert state(w, b, x) == before
        finally:
            sys.settrace(None)
        compiled(x)
        w.grad = None
    assert stopped + dropped.count(KeyboardInterrupt) == 12 and stopped > 6


@pytest.mark.usefixtures("unchecked")
def test_clear_forgets():
    """Variants are captured again."""
    compiled = compile(lambda x: x * 2)
    x = nbgrad.ones(2)
    compiled(x), compiled(x)
    (before,) = compiled.variants
    compiled.clear()
    assert not compiled.variants
    compiled(x)
    assert compiled.variants != [before]


def test_threads_call_and_capture_at_once():
    """Each gets what the function gives."""
    compiled = compile(lambda x: ((x * 2).sin() * x).cumsum(0), limit=100)
    fn, wrong = compiled.fn, []

    def work(seed):
        for n in range(1, 12):
            x = nbgrad.tensor(np.random.default_rng(seed * 100 + n).standard_normal(n * (1 + seed % 2)))
            for _ in range(5):
                if compiled(x).tolist() != fn(x).tolist():
                    wrong.append((seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_compiled_function_may_call_itself():
    """Within the capture it is the function."""

    @compile
    def down(x, n):
        return x if n == 0 else down(x * 2, n - 1)

    assert down(nbgrad.ones(1), 5).item() == 32.0
    assert down(nbgrad.ones(1), 5).item() == 32.0


def test_types_of_ones_own_are_not_lost():
    """That there are some changes nothing; their tensors run the function as it is, and what gives them is not captured."""

    class Metres(nbgrad.Tensor):
        pass

    length, x = Metres([1.0, 2.0]), nbgrad.ones(2)
    double, longer = compile(lambda x: x * 2), compile(lambda x: x * length)
    same(double(x), x * 2)
    assert len(double.variants) == 1 and type(double(length)) is Metres and len(double.variants) == 1
    with pytest.warns(UserWarning, match="the result is of type Metres, which overrides functions"):
        assert type(longer(x)) is Metres
    assert compile(lambda x: (x * length).tolist(), fullgraph=False)(x) == [1.0, 2.0]


def three_calls(fn, *pairs):
    """What a function gives for pairs of arguments, one after the other, eager or compiled."""
    return [[x.tolist() for x in fn(*pair)] for pair in pairs]


def test_one_tensor_as_two_arguments():
    """Whichever call comes first: values, gradients within, gradients that are left, gradients through the results."""
    p, q = leaf([1.0, 2.0]), leaf([3.0, 4.0])

    def left(x, y):
        x.grad = y.grad = None
        (x * y).sum().backward()
        return x.grad, y.grad

    def through(fn):
        return lambda x, y: nbgrad.grad(fn(x, y), [x, y])

    def product(x, y):
        return (x * y).sum()

    for fn in (lambda x, y: (x * y,), lambda x, y: nbgrad.grad((x * y).sum(), [x, y]), lambda x, y: (x.detach() * y.exp(), y)):
        for pairs in (((p, p), (p, q), (p, p)), ((p, q), (p, p), (q, p)), ((p, p.detach().requires_grad_()), (p, p), (p, q))):
            compiled = compile(fn, fullgraph=True)
            assert three_calls(compiled, *pairs) == three_calls(fn, *pairs)
    for pairs in (((p, p), (p, q), (p, p)), ((p, q), (p, p), (q, p))):
        assert three_calls(through(compile(product)), *pairs) == three_calls(through(product), *pairs)
        got = []
        for fn in (compile(left), left):
            got.append(three_calls(fn, *pairs))
        assert got[0] == got[1]


def test_an_argument_that_is_a_variable_too():
    """Gradients of it are those of both; a graph holds no such call, and none that was captured before is taken for it."""
    w, p = leaf([1.0, 2.0]), leaf([3.0, 4.0])

    def slope(x):
        return nbgrad.grad((x * w).sum(), w)

    compiled = compile(slope)
    assert compiled(p)[0].tolist() == [3.0, 4.0] and len(compiled.variants) == 1
    with pytest.warns(UserWarning, match="an argument is a variable of the function, too"):
        assert compiled(w)[0].tolist() == [2.0, 4.0]
    assert compiled(p)[0].tolist() == [3.0, 4.0]


def test_writes_into_memory_that_arguments_share():
    """Before and after calls with others."""

    def add(x, y):
        x.add_(1)
        return (x * y,)

    compiled = compile(add)
    for x, y in [(1, 1), (1, 2), (2, 2), (2, 1)]:
        given, other = ([nbgrad.full((3,), 1.0 + k) for k in range(3)] for _ in range(2))
        assert compiled(given[x], given[y])[0].tolist() == add(other[x], other[y])[0].tolist()
        assert [each.tolist() for each in given] == [each.tolist() for each in other]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, y: [nbgrad.zeros(3)] * 2,
        lambda x, y: (lambda z: [z[1:], z, z[:2]])(nbgrad.zeros(3)),
        lambda x, y: nbgrad.grad(x + y, (x, y), nbgrad.ones(3)),
        lambda x, y: nbgrad.grad(nbgrad.div(x, y, rounding_mode="floor"), (x, y), nbgrad.ones(3)),
    ],
    ids=["twice", "views", "gradients", "gradients that are zero"],
)
def test_constants_that_are_several_results_are_one_tensor(fn):
    """A write to one of these is seen in the others, and in no later call."""

    def run(call):
        found = []
        for _ in range(2):
            outs = call(*[nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2)])
            outs[0].add_(1)
            found.append([x.tolist() for x in outs])
        return found

    assert run(compile(fn, fullgraph=True)) == run(fn)
