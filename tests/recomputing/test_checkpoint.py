"""Checkpoints: what a function saved is computed again, and nothing else about it changes."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import math
import threading
import weakref

import numpy as np
import pytest

import nbgrad
from nbgrad import CheckpointError, CheckpointPolicy, checkpoint, checkpoint_loop, checkpoint_sequential
from nbgrad.recomputing.revolve import fewest_steps, split
from tests.helpers import leaf

BOTH = pytest.mark.parametrize("reentrant", [True, False])


def counted(function):
    """A function and the list that grows with every run of it."""
    runs = []

    def wrapper(*args, **kwargs):
        runs.append(nbgrad.is_grad_enabled())
        return function(*args, **kwargs)

    return wrapper, runs


def recomputed(function, *args, **kwargs):
    """A checkpoint of the design of saved-tensor hooks."""
    return checkpoint(function, *args, use_reentrant=False, **kwargs)


# ---- results, gradients, numbers of runs -----------------------------------------------------------------------------


@BOTH
def test_gradients_are_those_of_the_plain_call(reentrant):
    """Of the arguments and of what the function closes over."""
    x, w = leaf([0.5, -1.0, 2.0]), leaf(3.0)
    checkpoint(lambda x: (x * w).sin() * x, x, use_reentrant=reentrant).sum().backward()
    a = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), np.sin(3 * a) + 3 * a * np.cos(3 * a), rtol=1e-14)
    np.testing.assert_allclose(w.grad.item(), (a * a * np.cos(3 * a)).sum(), rtol=1e-14)


@BOTH
def test_function_runs_once_forward_and_once_backward(reentrant):
    """The reentrant design records only the second run."""
    function, runs = counted(lambda x: (x * x).sin())
    checkpoint(function, leaf([1.0]), use_reentrant=reentrant).backward()
    assert runs == [not reentrant, True]


def test_recomputation_happens_once_for_many_saved_tensors():
    """All tensors of a pass come from one second run."""
    function, runs = counted(lambda x: x.sin().cos().exp().tanh().sin())
    recomputed(function, leaf([1.0, 2.0])).sum().backward()
    assert len(runs) == 2


def test_keyword_arguments_and_other_values_pass_through():
    """Arguments of any kind arrive in both runs; results that are no tensors come back."""
    x, y = leaf([2.0]), leaf([3.0])
    out, note = recomputed(lambda x, n, *, y, scale: ((x * y).exp() * scale, n), x, "note", y=y, scale=0.5)
    out.backward()
    assert note == "note"
    np.testing.assert_allclose([x.grad.item(), y.grad.item()], [1.5 * math.exp(6), math.exp(6)], rtol=1e-14)


def test_tensors_inside_of_containers_are_closed_over():
    """A dict or list argument is passed on as it is, and its tensors get gradients."""
    x, w = leaf([2.0]), leaf([3.0])
    recomputed(lambda x, options: (x * options["w"]).sin(), x, {"w": w}).backward()
    np.testing.assert_allclose([x.grad.item(), w.grad.item()], [3 * math.cos(6), 2 * math.cos(6)], rtol=1e-14)


def test_grad_with_inputs_and_second_order():
    """The design of hooks serves grad, inputs= and create_graph."""
    x, w = leaf([2.0]), leaf([3.0])
    y = recomputed(lambda x: (x**3 * w).sin(), x)
    (g,) = nbgrad.grad(y.sum(), x, create_graph=True)
    (h,) = nbgrad.grad(g.sum(), x)
    s, u = 24.0, 36.0  # x**3 w and its derivative by x
    np.testing.assert_allclose([g.item(), h.item()], [u * math.cos(s), 36 * math.cos(s) - u * u * math.sin(s)], rtol=1e-13)
    recomputed(lambda x: x * w * x, x).backward(inputs=[w])
    assert x.grad is None and w.grad.item() == 4.0


def test_graph_that_is_kept_is_recomputed_in_every_pass():
    """And a pass that frees it makes the next an error."""
    function, runs = counted(lambda x: x.sin().cos())
    x = leaf([1.0])
    y = recomputed(function, x)
    y.backward(retain_graph=True)
    y.backward()
    assert len(runs) == 3
    np.testing.assert_allclose(x.grad.item(), -2 * math.sin(math.sin(1)) * math.cos(1), rtol=1e-14)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_calls_nest():
    """A checkpoint inside of another: both designs of gradients agree with the chain rule; the inner one runs thrice."""
    inner, runs = counted(lambda x: x.sin().cos())
    x = leaf([0.7])
    recomputed(lambda x: recomputed(lambda x: recomputed(inner, x) * x, x).exp(), x).backward()
    f, d = math.cos(math.sin(0.7)), -math.sin(math.sin(0.7)) * math.cos(0.7)
    np.testing.assert_allclose(x.grad.item(), math.exp(f * 0.7) * (d * 0.7 + f), rtol=1e-14)
    assert 3 <= len(runs) <= 4


@BOTH
def test_mixed_designs_nest(reentrant):
    """The reentrant design inside of the other, and the other way round."""
    x = leaf([0.7])
    checkpoint(
        lambda x: checkpoint(lambda x: x.sin().cos(), x, use_reentrant=not reentrant).exp(), x, use_reentrant=reentrant
    ).backward()
    f = math.cos(math.sin(0.7))
    np.testing.assert_allclose(x.grad.item(), -math.exp(f) * math.sin(math.sin(0.7)) * math.cos(0.7), rtol=1e-14)


def test_custom_functions_are_recomputed():
    """What a Function saves is rebuilt; reading it twice in one pass is an error that says so."""

    class Square(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * 2)
            return x * x

        @staticmethod
        def backward(ctx, g):
            _, twice = ctx.saved_tensors
            if strict:
                _ = ctx.saved_tensors
            return twice * g

    strict = False
    x = leaf([3.0])
    recomputed(lambda x: Square.apply(x.sin()), x).backward()
    np.testing.assert_allclose(x.grad.item(), 2 * math.sin(3) * math.cos(3), rtol=1e-14)
    strict = True
    with pytest.raises(CheckpointError, match="unpacked once"):
        recomputed(lambda x: Square.apply(x.sin()), x).backward()


def test_several_results_used_in_separate_passes():
    """Each pass recomputes what it needs."""
    function, runs = counted(lambda x: (x.sin(), x.cos()))
    x = leaf([1.0])
    s, c = recomputed(function, x)
    s.backward()
    c.backward()
    assert len(runs) == 3
    np.testing.assert_allclose(x.grad.item(), math.cos(1) - math.sin(1), rtol=1e-14)


def test_group_of_passes_recomputes_once():
    """Inside GraphExecGroup two passes over different parts share one second run."""
    function, runs = counted(lambda x: (x.sin(), x.cos()))
    x = leaf([1.0])
    s, c = recomputed(function, x, early_stop=False)
    with nbgrad.GraphExecGroup() as group:
        s.backward()
        c.backward()
        with pytest.raises(RuntimeError, match="nest"):
            group.__enter__()
    assert len(runs) == 2
    np.testing.assert_allclose(x.grad.item(), math.cos(1) - math.sin(1), rtol=1e-14)


def test_early_stop_and_its_settings():
    """The second run ends with the last saved tensor, unless the call or the context says otherwise."""

    def function(x):
        y = x.sin().cos()
        ends.append(len(ends))
        return y + 1

    for options, context, runs_to_end in (
        ({}, contextlib.nullcontext(), 1),
        ({"early_stop": False}, contextlib.nullcontext(), 2),
        ({}, nbgrad.set_checkpoint_early_stop(False), 2),
        ({"early_stop": False}, nbgrad.set_checkpoint_early_stop(True), 1),
    ):
        ends = []
        with context:
            y = recomputed(function, leaf([1.0]), **options)
        y.backward()
        assert len(ends) == runs_to_end, options


def test_nothing_is_recorded_without_grad():
    """Under no_grad the function runs once, plainly."""
    function, runs = counted(lambda x: x.sin())
    with nbgrad.no_grad():
        assert not recomputed(function, leaf([1.0])).requires_grad
    assert runs == [False]


def test_forward_mode_and_vmap_go_through():
    """Tangents and batches reach the function."""
    x = leaf([0.5, 2.0])
    with nbgrad.forward_ad.dual_level():
        dual = nbgrad.forward_ad.make_dual(x, nbgrad.ones(2, dtype=nbgrad.float64))
        tangent = nbgrad.forward_ad.unpack_dual(recomputed(lambda x: x.sin().exp(), dual)).tangent
        np.testing.assert_allclose(tangent.detach().numpy(), np.cos([0.5, 2]) * np.exp(np.sin([0.5, 2])), rtol=1e-14)
    y = nbgrad.vmap(lambda x: recomputed(lambda x: x.sin().exp(), x))(x)
    np.testing.assert_allclose(y.detach().numpy(), np.exp(np.sin([0.5, 2])), rtol=1e-14)


def test_pass_inside_of_the_function():
    """A gradient computed by the function itself is there in both runs."""

    def function(x):
        (g,) = nbgrad.grad((x**3).sum(), x, create_graph=True)
        return g.sin()

    x = leaf([0.5])
    recomputed(function, x).backward()
    np.testing.assert_allclose(x.grad.item(), math.cos(0.75) * 3.0, rtol=1e-14)


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_intermediates_are_freed_after_forward():
    """Only inputs outlive the first run."""
    alive = []

    def function(x):
        h = x.sin()
        alive.append(weakref.ref(h._storage_))
        return h.cos().exp()

    y = recomputed(function, leaf([1.0]))
    gc.collect()
    assert alive[0]() is None
    y.backward()


def test_recomputed_tensors_go_as_the_pass_proceeds():
    """After the pass nothing of the second run is left, though the graph is kept and only a part of it ran."""
    stores = []

    def function(x, w):
        h = x.sin()
        stores.append(weakref.ref(h._storage_))
        return (h * w).exp() + w.exp()

    x, w = leaf([1.0]), leaf([2.0])
    y = recomputed(function, x, w)
    nbgrad.grad(y, w, retain_graph=True)
    gc.collect()
    assert [store() for store in stores] == [None, None]
    y.backward()


def test_inputs_are_freed_with_the_graph():
    """The checkpoint keeps its inputs as long as its nodes, no longer."""
    x = leaf([1.0])
    h = x.exp()
    store = weakref.ref(h._storage_)
    y = recomputed(lambda h: h.sin().cos(), h)
    del h
    gc.collect()
    assert store() is not None
    y.backward()
    del y
    gc.collect()
    assert store() is None


def test_saved_tensor_can_be_read_outside_of_a_pass():
    """It is recomputed on the spot, again and again, and not kept."""
    function, runs = counted(lambda x: x.sin().cos())
    y = recomputed(function, leaf([1.0]))
    for _ in range(2):
        np.testing.assert_allclose(y.grad_fn._saved_self.item(), math.sin(1), rtol=1e-15)
    assert len(runs) == 3
    y.backward()


# ---- random numbers --------------------------------------------------------------------------------------------------


@BOTH
def test_random_numbers_are_drawn_again(reentrant):
    """And the default generator is left as it was."""
    nbgrad.manual_seed(5)
    x = leaf([1.0, 1.0, 1.0])
    y = checkpoint(lambda x: x * nbgrad.rand(3, dtype=nbgrad.float64) * x, x, use_reentrant=reentrant)
    before = nbgrad.get_rng_state()
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * y.detach().numpy())
    assert nbgrad.equal(before, nbgrad.get_rng_state())


def test_generators_among_the_arguments_are_replayed():
    """A generator that is passed to the function is returned to its state, and afterwards to where it was."""
    generator = nbgrad.Generator().manual_seed(1)
    x = leaf([1.0, 1.0])
    y = recomputed(lambda x, generator: x * nbgrad.rand(2, generator=generator, dtype=nbgrad.float64) * x, x, generator=generator)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * y.detach().numpy())
    assert repr(generator) == "Generator(seed=1, calls=1)"


def test_random_state_is_not_kept_on_request():
    """With preserve_rng_state=False the second run draws other numbers, and moves the generator on."""
    nbgrad.manual_seed(5)
    x = leaf([1.0, 1.0])
    y = recomputed(lambda x: x * nbgrad.rand(2, dtype=nbgrad.float64) * x, x, preserve_rng_state=False)
    before = nbgrad.get_rng_state()
    y.sum().backward()
    assert not np.array_equal(x.grad.numpy(), 2 * y.detach().numpy())
    assert not nbgrad.equal(before, nbgrad.get_rng_state())


# ---- errors ----------------------------------------------------------------------------------------------------------


def changing(first, second):
    """A function whose first run differs from the others."""
    runs = []

    def function(x):
        runs.append(1)
        return first(x) if len(runs) == 1 else second(x)

    return function


@pytest.mark.parametrize("check", ["default", "none"])
def test_fewer_saved_tensors_are_found_out(check):
    """Numbers are compared whatever the determinism check."""
    y = recomputed(changing(lambda x: x.sin().cos(), lambda x: x * 2), leaf([1.0]), determinism_check=check)
    with pytest.raises(CheckpointError, match="2 during forward, 0 during recomputation"):
        y.backward()


def test_more_saved_tensors_are_found_out_without_early_stop():
    """With it, the second run ends before them."""

    def function():
        return changing(lambda x: x.sin().cos(), lambda x: x.sin().cos().exp())

    recomputed(function(), leaf([1.0])).backward()
    with pytest.raises(CheckpointError, match="more tensors"):
        recomputed(function(), leaf([1.0]), early_stop=False).backward()


def test_other_shapes_are_found_out():
    """The message gives position and both descriptions; the check can be switched off."""

    def function():
        return changing(lambda x: x.sin().exp().sum(), lambda x: nbgrad.cat([x, x]).sin().exp().sum())

    with pytest.raises(CheckpointError, match=r"position 0:\n  saved: .*\(2,\).*\n  recomputed: .*\(4,\)"):
        recomputed(function(), leaf([1.0, 2.0])).backward()
    with pytest.raises(RuntimeError) as caught:
        recomputed(function(), leaf([1.0, 2.0]), determinism_check="none").backward()
    assert not isinstance(caught.value, CheckpointError)


@pytest.mark.parametrize("by_context", [True, False])
def test_debug_shows_the_operations_of_both_runs(by_context):
    """The error tells what ran, and where it was called."""
    function = changing(lambda x: x.sin().cos(), lambda x: x * 2)
    with nbgrad.set_checkpoint_debug_enabled(True) if by_context else contextlib.nullcontext():
        y = recomputed(function, leaf([1.0]), debug=not by_context)
    with pytest.raises(CheckpointError) as caught:
        y.backward()
    text = str(caught.value)
    forward, again = text.split("Operations executed during the recomputation")
    assert "sin(float64[1]) -> float64[1]" in forward and "mul(float64[1], 2) -> float64[1]" in again
    assert "test_checkpoint.py" in text and "nbgrad/recomputing/reruns.py" not in text
    with nbgrad.set_checkpoint_debug_enabled(False):
        recomputed(function, leaf([1.0]), debug=True).backward()


def test_write_to_an_input_is_found_out():
    """An argument that was changed since would give another result."""
    for reentrant in (True, False):
        x = leaf([1.0]) * 1
        y = checkpoint(lambda x: x.sin().cos(), x, use_reentrant=reentrant)
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified in place"):
            y.backward()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.exp().mul_(leaf([3.0])),
        lambda x: x.exp().add_(1).sin(),
        lambda x: (y := x.exp(), y.view(1).mul_(leaf([3.0])))[0],
        lambda x: (y := x * 1, y.sin() * y.mul_(2))[1],
    ],
)
@pytest.mark.parametrize("early_stop", [True, False])
def test_write_to_what_the_function_saves_is_found_out(function, early_stop):
    """Its own writes, too, with the error that it has without a checkpoint."""
    x = leaf([0.5])
    y = recomputed(function, x, early_stop=early_stop)
    with pytest.raises(nbgrad.VersionError, match="modified in place"):
        y.backward()
    assert x.grad is None


def test_write_to_a_saved_tensor_seen_outside_of_a_pass():
    """Whoever looks at a saved tensor has the error, too."""
    y = recomputed(lambda x: x.exp().add_(1).sin(), leaf([0.5]))
    exp = y.grad_fn.next_functions[0][0].next_functions[0][0]
    with pytest.raises(nbgrad.VersionError, match="modified in place"):
        exp._saved_result


def test_write_after_the_last_use_of_what_is_saved():
    """What is written to before it is saved, or where the second run stops before the write, is right."""
    x = leaf([0.5])
    recomputed(lambda x: (x * 1).mul_(4).exp(), x).backward()
    recomputed(lambda x: x.exp().mul_(3), x).backward()
    assert x.grad.tolist() == pytest.approx([4 * math.exp(2.0) + 3 * math.exp(0.5)])


@BOTH
def test_exceptions_pass_through_and_leave_no_trace(reentrant):
    """From either run; grad mode, generators and hooks are as before."""
    x = leaf([1.0])
    calls = []

    def function(x, fail_at):
        calls.append(1)
        nbgrad.rand(2)
        if len(calls) == fail_at:
            raise LookupError("on purpose")
        return x.sin().cos()

    with pytest.raises(LookupError):
        checkpoint(function, x, 1, use_reentrant=reentrant)
    calls.clear()
    y = checkpoint(function, x, 2, use_reentrant=reentrant)
    state = nbgrad.get_rng_state()
    with pytest.raises(LookupError):
        y.backward()
    assert nbgrad.is_grad_enabled() and nbgrad.equal(state, nbgrad.get_rng_state())
    z = x.sin()
    assert z.grad_fn._saved_self is x


def test_function_that_swallows_exceptions_still_stops_early():
    """The signal that ends a second run is not an Exception."""

    def function(x):
        try:
            y = x.sin()
        except Exception:
            raise AssertionError("caught the signal") from None
        return y

    recomputed(function, leaf([1.0])).backward()


def test_restrictions_of_the_reentrant_design():
    """Every one says what to do instead."""
    x, w = leaf([1.0]), leaf([2.0])
    reentrant = functools.partial(checkpoint, use_reentrant=True)
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        nbgrad.grad(reentrant(lambda x: x * w, x), x)
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        reentrant(lambda x: x * w, x).backward(inputs=[x])
    with pytest.raises(ValueError, match="keyword arguments"):
        reentrant(lambda x, k: x, x, k=1)
    with pytest.raises(ValueError, match="context_fn and debug"):
        reentrant(lambda x: x, x, debug=True)
    with pytest.warns(UserWarning, match="none of the inputs"):
        assert not reentrant(lambda x: x * w, nbgrad.ones(1)).requires_grad
    with pytest.raises(RuntimeError, match="not necessary"):
        reentrant(lambda x: x.detach() * 2, x).backward()


def test_arguments_are_checked():
    """Unknown determinism checks; debug with a context_fn; no design named."""
    x = leaf([1.0])
    with pytest.raises(ValueError, match="determinism_check"):
        recomputed(nbgrad.sin, x, determinism_check="strict")
    with pytest.raises(ValueError, match="context_fn"):
        recomputed(nbgrad.sin, x, debug=True, context_fn=lambda: (contextlib.nullcontext(), contextlib.nullcontext()))
    with pytest.warns(UserWarning, match="use_reentrant"):
        assert checkpoint(nbgrad.sin, x).grad_fn.name() == "CheckpointFunctionBackward"


def test_module_and_function_are_both_reached():
    """`nbgrad.checkpoint` is callable, and what the module offers hangs on it."""
    from nbgrad.recomputing.checkpoint import CheckpointError as imported

    assert nbgrad.checkpoint.CheckpointError is imported is CheckpointError
    assert nbgrad.checkpoint.checkpoint is checkpoint


def test_contexts_around_both_runs():
    """context_fn gives one for the first run and one for every recomputation."""
    log = []

    class Tag:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *error):
            log.append("end " + self.name)

    y = recomputed(lambda x: x.sin().cos(), leaf([1.0]), context_fn=lambda: (Tag("first"), Tag("again")))
    y.backward(retain_graph=True)
    y.backward()
    assert log == ["first", "end first", *["again", "end again"] * 2]


def test_threads_walk_one_graph():
    """Passes of several threads recompute for themselves."""
    x = leaf(np.linspace(0, 1, 50).tolist())
    y = recomputed(lambda x: x.sin().cos().exp(), x).sum()
    results = []
    threads = [threading.Thread(target=lambda: results.append(nbgrad.grad(y, x, retain_graph=True)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    a = x.detach().numpy()
    expected = -np.exp(np.cos(np.sin(a))) * np.sin(np.sin(a)) * np.cos(a)
    assert len(results) == 4
    for g in results:
        np.testing.assert_allclose(g.numpy(), expected, rtol=1e-13)


# ---- sequences -------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_sequence_in_segments(segments, reentrant):
    """All segments but the last run twice; the result is the composition's."""
    functions, runs = zip(*(counted(f) for f in (nbgrad.sin, nbgrad.cos, nbgrad.exp, nbgrad.tanh, nbgrad.sin)))
    x, plain = leaf([0.3]), leaf([0.3])
    checkpoint_sequential(functions, segments, x, use_reentrant=reentrant).backward()
    plain.sin().cos().exp().tanh().sin().backward()
    assert x.grad.item() == pytest.approx(plain.grad.item(), rel=1e-14)
    split_at = 5 // segments * (segments - 1)
    assert [len(r) for r in runs[split_at:]] == [1] * (5 - split_at)
    assert all(len(r) >= 1 for r in runs) and sum(map(len, runs)) >= 5 + split_at - (segments - 1)


def test_sequence_of_modules():
    """A Sequential is taken apart."""
    model = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 4), nbgrad.nn.Tanh(), nbgrad.nn.Linear(4, 1))
    x = nbgrad.randn(2, 3)
    checkpoint_sequential(model, 3, x, use_reentrant=False).sum().backward()
    grads = [p.grad.numpy().copy() for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    for g, p in zip(grads, model.parameters()):
        np.testing.assert_allclose(g, p.grad.numpy(), rtol=1e-6)


def test_a_module_that_stands_twice_in_a_sequence_runs_twice():
    """As without a checkpoint."""
    layer = nbgrad.nn.Linear(2, 2)
    model = nbgrad.nn.Sequential(layer, nbgrad.nn.Tanh(), layer)
    x = nbgrad.ones(1, 2, requires_grad=True)
    for segments in (1, 2, 3):
        assert checkpoint_sequential(model, segments, x, use_reentrant=False).tolist() == model(x).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: checkpoint_sequential(nbgrad.sin, 1, x, use_reentrant=False), "expected a sequence of functions, got function"),
        (lambda x: checkpoint_sequential([nbgrad.sin], "1", x, use_reentrant=False), "segments must be an int, got str"),
        (lambda x: checkpoint(nbgrad.sin, x, use_reentrant=False, context_fn=3), "context_fn: expected a function, got int"),
    ],
    ids=["functions", "segments", "context_fn"],
)
def test_arguments_of_wrong_types(call, message):
    """The error names the argument, what came and what was expected."""
    with pytest.raises(TypeError, match=f"^checkpoint.*{message}"):
        call(nbgrad.ones(1, requires_grad=True))


def test_sequence_refuses_impossible_segments():
    """From one to as many as there are functions."""
    for segments in (0, 3):
        with pytest.raises(ValueError, match="segments"):
            checkpoint_sequential([nbgrad.sin, nbgrad.cos], segments, leaf([1.0]), use_reentrant=False)
    with pytest.raises(ValueError, match="unexpected keyword"):
        checkpoint_sequential([nbgrad.sin], 1, leaf([1.0]), use_reentrant=False, debug=True)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint_sequential([nbgrad.sin, nbgrad.cos], 2, leaf([1.0]))


# ---- selective checkpointing -----------------------------------------------------------------------------------------


def keeping(*names, **options):
    """A context_fn that keeps the results of some operations."""
    return functools.partial(nbgrad.create_selective_checkpoint_contexts, names, **options)


@pytest.fixture
def launches(monkeypatch):
    """Grows with every product that a checkpointed function really computes."""
    from nbgrad.base.calls import CALLS

    made, plain = [], CALLS["matmul"].plain

    def noted(*args, **kwargs):
        made.append(1)
        return plain(*args, **kwargs)

    monkeypatch.setattr(CALLS["matmul"], "plain", noted)
    return made


def block(x, w):
    """Two products with functions of elements between."""
    return ((x @ w).sin() @ w).exp().t() * 2


@pytest.mark.parametrize("names", [(), ("matmul",), ("matmul", "sin"), ("sin", "exp"), ("exp", "mul", "matmul", "sin", "t")])
def test_kept_results_do_not_change_gradients(names):
    """Whatever is kept, the gradients are the plain call's."""
    x, w, x2, w2 = (leaf(a) for a in 2 * (np.arange(4.0).reshape(2, 2).tolist(), np.eye(2).tolist()))
    recomputed(block, x, w, context_fn=keeping(*names)).sum().backward()
    block(x2, w2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), x2.grad.numpy(), rtol=1e-13)
    np.testing.assert_allclose(w.grad.numpy(), w2.grad.numpy(), rtol=1e-13)


@pytest.mark.parametrize("names, expected", [(("matmul",), 2), ((nbgrad.matmul, "sin"), 2), (("sin",), 4), ((), 4)])
def test_kept_products_are_not_computed_again(launches, names, expected):
    """Two products forward; two more in the second run where they are not kept."""
    recomputed(block, leaf(np.eye(2).tolist()), leaf(np.eye(2).tolist()), context_fn=keeping(*names)).sum().backward()
    assert len(launches) == expected


def test_policy_sees_operation_operands_and_result():
    """It is asked in the first run only, once a call, by name."""
    asked = []

    def policy(ctx, op, *operands, **attributes):
        asked.append((op, len(operands), ctx.is_recompute, ctx.op_output.shape))
        return CheckpointPolicy.MUST_SAVE if op == "matmul" else CheckpointPolicy.PREFER_RECOMPUTE

    x = leaf(np.eye(2).tolist())
    y = recomputed(
        lambda x: (x @ x).sin().sum(), x, context_fn=functools.partial(nbgrad.create_selective_checkpoint_contexts, policy)
    )
    y.backward()
    assert asked == [("matmul", 2, False, (2, 2)), ("sin", 1, False, (2, 2)), ("sum", 1, False, ())]


def test_kept_results_serve_one_pass():
    """A second pass is refused; so is a kept result that was written to, unless that is allowed."""
    x = leaf([0.5, 1.0])
    y = recomputed(lambda x: x.exp().sin(), x, context_fn=keeping("exp")).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="an extra time"):
        y.backward()

    def writing(x):
        h = x * 2
        h.add_(1)
        return h.sin().exp()

    with pytest.raises(RuntimeError, match="mutated"):
        recomputed(writing, x, context_fn=keeping("mul")).sum().backward()
    recomputed(writing, x, context_fn=keeping("mul", allow_cache_entry_mutation=True)).sum().backward()


def test_custom_functions_are_asked_about_by_what_they_call():
    """The calls inside are kept; the Function itself runs again."""

    class Cube(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    asked = []
    x = leaf([2.0])
    recomputed(
        lambda x: Cube.apply(x.exp()).sin(),
        x,
        context_fn=lambda: nbgrad.create_selective_checkpoint_contexts(
            lambda ctx, op, *operands, **attributes: asked.append(op) or CheckpointPolicy.MUST_SAVE
        ),
    ).backward()
    assert asked == ["exp", "mul", "mul", "sin"]
    np.testing.assert_allclose(x.grad.item(), 3 * math.exp(6) * math.cos(math.exp(6)), rtol=1e-12)


def test_selective_arguments_are_checked():
    """A policy or a list of operations; a policy's answer."""
    make = nbgrad.create_selective_checkpoint_contexts
    with pytest.raises(ValueError, match="no operation"):
        make(["no such operation"])
    with pytest.raises(TypeError, match="policy function or a list"):
        make(3)
    with pytest.raises(TypeError, match="expected a CheckpointPolicy"):
        recomputed(nbgrad.sin, leaf([1.0]), context_fn=lambda: make(lambda ctx, op, *operands, **attributes: "save"))


# ---- long loops ------------------------------------------------------------------------------------------------------


def walked(steps, slots):
    """How many steps a loop runs in all, its gradients, and the most states alive at a time."""
    x, w = leaf([1.0, 2.0]), leaf(0.3)
    calls, most = [], [0]
    alive: list = []

    def step(state, k):
        calls.append(k)
        alive[:] = [store for store in alive if store() is not None]
        most[0] = max(most[0], len(alive))
        out = (state * w).sin() + state
        alive.append(weakref.ref(out._storage_))
        return out

    y = checkpoint_loop(step, x, steps, slots)
    assert calls == list(range(steps))
    y.sum().backward()
    return len(calls), (x.grad.numpy(), w.grad.numpy()), most[0]


def plain_gradients(steps):
    """The loop without checkpoints, in closed form of NumPy: states forward, cotangents backward."""
    states = [np.array([1.0, 2.0])]
    for _ in range(steps):
        states.append(np.sin(states[-1] * 0.3) + states[-1])
    g, gw = np.ones(2), 0.0
    for state in reversed(states[:-1]):
        slope = np.cos(state * 0.3)
        gw += (g * slope * state).sum()
        g = g * (slope * 0.3 + 1)
    return g, gw


@functools.cache
def least(steps, slots):
    """The least number of repeated steps, by dynamic programming over the first split."""
    if steps == 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    return min(m + least(steps - m, slots - 1) + least(m, slots) for m in range(1, steps))


def test_closed_formula_is_the_optimum():
    """r l - C(s + r, s + 1) is what dynamic programming finds, and the split reaches it."""
    for steps in range(1, 50):
        for slots in range(1, 8):
            assert fewest_steps(steps, slots) == least(steps, slots)
            if steps > 1 and slots > 1:
                m = split(steps, slots)
                assert m + least(steps - m, slots - 1) + least(m, slots) == least(steps, slots)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 20, 35])
@pytest.mark.parametrize("slots", [1, 2, 3, 4, 40])
def test_loop_runs_the_fewest_steps_with_its_slots(steps, slots):
    """Each step once with recording, and the optimal number without; gradients are the plain loop's; states stay few."""
    runs, grads, most = walked(steps, slots)
    assert runs == steps + fewest_steps(steps, slots)
    for g, expected in zip(grads, plain_gradients(steps)):
        np.testing.assert_allclose(g, expected, rtol=1e-12)
    assert most <= slots + 2  # the stored ones, the present one, and the one that it came from


def test_loop_with_several_states_random_numbers_and_other_values():
    """A tuple of states; numbers drawn in a step are drawn again; integers pass through."""

    def step(state, k):
        x, v, n = state
        noise = nbgrad.rand(2, dtype=nbgrad.float64)
        return x + v.sin() * noise, v * 0.9 + x.cos() * 0.1, n + 1

    def loop(checkpointed):
        nbgrad.manual_seed(3)
        x, v = leaf([1.0, 2.0]), leaf([0.1, 0.2])
        state = (x, v, 0)
        if checkpointed:
            state = checkpoint_loop(step, state, 9, 3)
        else:
            for k in range(9):
                state = step(state, k)
        assert state[2] == 9
        before = nbgrad.get_rng_state()
        (state[0] * state[1]).sum().backward()
        assert nbgrad.equal(before, nbgrad.get_rng_state())
        return x.grad.numpy(), v.grad.numpy()

    for g, expected in zip(loop(True), loop(False)):
        np.testing.assert_allclose(g, expected, rtol=1e-12)


def test_loop_in_second_order_and_in_repeated_passes():
    """grad of grad, and a graph that is kept."""

    def loop(x, checkpointed):
        if checkpointed:
            return checkpoint_loop(lambda x, k: x + 0.1 * x.sin(), x, 8, 2)
        for _ in range(8):
            x = x + 0.1 * x.sin()
        return x

    values = []
    for checkpointed in (True, False):
        x = leaf([0.4])
        y = loop(x, checkpointed)
        (g,) = nbgrad.grad(y, x, create_graph=True)
        (h,) = nbgrad.grad(g, x, retain_graph=True)
        (again,) = nbgrad.grad(y, x)
        values.append([g.item(), h.item(), again.item()])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-13)


def test_loop_without_grad_and_of_no_steps():
    """It is a plain loop then."""
    with nbgrad.no_grad():
        assert checkpoint_loop(lambda x, k: x + k, nbgrad.zeros(1), 4, 1).item() == 6
    x = leaf([1.0])
    assert checkpoint_loop(lambda x, k: x * 2, x, 0, 1) is x
    for steps, slots in ((-1, 1), (3, 0)):
        with pytest.raises(ValueError, match="checkpoint_loop"):
            checkpoint_loop(lambda x, k: x, x, steps, slots)


# ---- both designs alike ----------------------------------------------------------------------------------------------


@BOTH
def test_results_that_are_no_tensors_pass_through(reentrant):
    """A tuple comes back as one; the tensor in it has its gradient."""
    x = leaf([1.0, 2.0])
    y, n, text = checkpoint(lambda x: (x * x, 5, "text"), x, use_reentrant=reentrant)
    y.sum().backward()
    assert (n, text) == (5, "text") and x.grad.tolist() == [2.0, 4.0]


@BOTH
def test_one_run_without_recording(reentrant):
    """Under ``no_grad`` the function runs once, nothing is recorded, and the value is the plain call's."""
    function, runs = counted(lambda x: x * x)
    with nbgrad.no_grad():
        y = checkpoint(function, leaf([3.0]), use_reentrant=reentrant)
    assert runs == [False] and not y.requires_grad and y.tolist() == [9.0]


def test_constants_in_and_closed_over_leaves_get_gradients():
    """The design of hooks records what the function closes over though no argument requires grad."""
    w = leaf([2.0])
    y = recomputed(lambda c: (c * w).sin(), nbgrad.ones(1, dtype=nbgrad.float64))
    y.backward()
    np.testing.assert_allclose(w.grad.item(), math.cos(2), rtol=1e-14)


def test_contexts_are_for_the_design_of_hooks():
    """The reentrant one refuses ``context_fn``."""
    with pytest.raises(ValueError, match="context_fn"):
        checkpoint(
            nbgrad.sin, leaf([1.0]), use_reentrant=True, context_fn=lambda: (contextlib.nullcontext(), contextlib.nullcontext())
        )


def alternating(kinds, checkpointed):
    """``x sin x`` behind gradient penalties ("g") and, if asked for, checkpoints ("c")."""
    f = lambda x: x.sin() * x
    for kind in kinds:
        if kind == "g":
            f = lambda x, f=f: nbgrad.grad(f(x), x, create_graph=True)[0] * x
        elif checkpointed:
            f = lambda x, f=f: checkpoint(f, x, use_reentrant=False)
    return f


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_checkpoints_around_functions_that_differentiate_by_their_input(depth, early_stop):
    """Any alternation of ``grad`` and checkpoints has the gradient that it has without checkpoints."""
    for kinds in itertools.product("gc", repeat=depth):
        results = []
        for checkpointed in (False, True):
            x = leaf(0.7)
            with nbgrad.set_checkpoint_early_stop(early_stop):
                results.append(nbgrad.grad(alternating(kinds, checkpointed)(x), x)[0].item())
        assert results[0] == results[1], kinds
