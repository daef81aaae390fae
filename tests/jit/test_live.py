"""Compiled autograd: a pass by a program does what the engine does."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.jit import compiled_autograd
from nbgrad.jit.live import programs
from tests.helpers import wave
from tests.samples import SAMPLES
from tests.samples.checking import as_tuple, run, to_tensor


@pytest.fixture(autouse=True)
def forgotten(unchecked):
    """No programs of other tests, and no check, under which passes are the engine's."""
    programs.found.clear()


def kept():
    """How many programs there are, and how many kinds of passes are left to the engine."""
    found = [live.program is not None for alike in programs.found.values() for live in alike]
    return found.count(True), found.count(False)


def bits(x):
    """Layout and bits of a tensor, or None."""
    return None if x is None else (x.dtype, x.stride(), x.detach().resolve_conj().contiguous().numpy().tobytes())


def both(program):
    """What a program gives by the engine and compiled, its calls told by number."""
    want = [program(k) for k in range(4)]
    with compiled_autograd():
        got = [program(k) for k in range(4)]
    return got, want


def backward_of(row, call, k):
    """Gradients of a sample with other numbers in every call."""
    rng, leaves = np.random.default_rng(k), []

    def operand(x):
        if isinstance(x, list):
            return [operand(each) for each in x]
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            leaves.append(nbgrad.tensor(x * (1 + 1e-3 * k * rng.random(x.shape))).requires_grad_())
            return leaves[-1]
        return to_tensor(x)

    nbgrad.manual_seed(k)
    outs = as_tuple(run(row, [operand(x) for x in row.arrays(call, "float64")], call))
    outs = [
        x if not x.is_complex() else nbgrad.view_as_real(x.resolve_conj())
        for x in outs
        if isinstance(x, nbgrad.Tensor) and x.requires_grad
    ]
    if not outs:
        return None
    sum((1.3 * x).square().sum() for x in outs).backward()
    return [bits(x.grad) for x in leaves]


# The engine's way: several roots of a pass, no tensor that is kept, or a shape that depends on values. The last ones are told what
# only holds for the first of the numbers.
LEFT = {
    "aminmax",
    "linalg_slogdet",
    "std_mean",
    "var_mean",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "logdet",
    "lu",
    "lu_unpack",
}
LEFT |= {"masked_select_backward", "setitem", "slogdet", "view_dtype"}
FIRST_ALONE = {"known_eigenvalues", "known_hermitian_eigenvalues", "known_singular_values"}


OPERATIONS = [n for n, row in SAMPLES.items() if row.reference is not None and row.differentiable and n not in FIRST_ALONE]


@pytest.mark.part(4, 1)
@pytest.mark.parametrize("name", OPERATIONS)
def test_passes_of_all_operations(name):
    """Bit for bit, and by a program; second and later calls have other numbers."""
    row = SAMPLES[name]
    for call in row.calls:
        programs.found.clear()
        want = [backward_of(row, call, k) for k in range(3)]
        with compiled_autograd():
            got = [backward_of(row, call, k) for k in range(3)]
        assert got == want, f"{name}{call}"
        assert want[0] is None or kept()[0] or name in LEFT, f"{name}{call}: left to the engine"


def test_a_model():
    """Gradients add up, are set, and are what optimizers read."""

    def program(k):
        nbgrad.manual_seed(k)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))
        for _ in range(2):
            nn.functional.cross_entropy(model(wave(5, 3).float() + k), nbgrad.tensor([0, 1, 1, 0, 1])).backward()
        return [bits(p.grad) for p in model.parameters()]

    got, want = both(program)
    assert got == want
    assert kept() == (1, 0)


def test_numbers_are_part_of_the_kind():
    """Another number is another program; other values of tensors are not."""

    def program(k):
        x = (wave(3) + k).requires_grad_()
        (x * (2.0 if k < 2 else -0.0)).exp().sum().backward()
        return bits(x.grad)

    got, want = both(program)
    assert got == want
    assert kept() == (2, 0)


@pytest.mark.parametrize(
    ("again", "count"),
    [
        (lambda x, y: (x * y, x * y), 2),
        (lambda x, y: (x * x, x * y), 3),
        (lambda x, y: ((x * y).t(), x.t() * y.t()), 2),
        (lambda x, y: (x * y.sin(), y.sin() * x), 2),  # which of two operands is the leaf
    ],
)
def test_kinds_of_graphs(again, count):
    """Edges tell graphs apart, also those of one list of operations."""

    def program(k):
        x, y = (wave(2, 2) + k).requires_grad_(), (wave(2, 2) - k).requires_grad_()
        a, b = again(x, y)
        (a if k % 2 else b).square().sum().backward()
        return bits(x.grad), bits(y.grad)

    got, want = both(program)
    assert got == want
    assert sum(kept()) <= count


def test_what_is_freed_is_freed():
    """And kept where the pass keeps its graph."""
    x = wave(3).requires_grad_()
    with compiled_autograd():
        for _ in range(2):
            y = x.exp().sum()
            y.backward(retain_graph=True)
            y.backward()
            with pytest.raises(nbgrad.GradError, match="a second time"):
                y.backward()
    assert kept()[0] == 1


def test_only_what_a_pass_came_to_is_freed():
    """With ``inputs=``, other branches keep what they saved."""
    x, y = wave(3).requires_grad_(), wave(3).requires_grad_()
    with compiled_autograd():
        for ask in (lambda z: z.sum().backward(inputs=[x]), lambda z: nbgrad.grad(z.sum(), [x])):
            for _ in range(2):
                u, v = x.exp(), y.exp()
                ask(u * 2 + v)
                v.sum().backward()
                with pytest.raises(nbgrad.GradError, match="a second time"):
                    u.sum().backward()
    assert kept()[0] == 2


def test_saved_tensors_are_checked():
    """What was written to since is the engine's error."""
    x = wave(3).requires_grad_()
    with compiled_autograd():
        for write in (False, False, True):
            y = x * 2
            z = y.exp().square().sum() + (y * y).sum()
            if write:
                y.add_(1)
                with pytest.raises(nbgrad.VersionError, match="modified in place"):
                    z.backward()
            else:
                z.backward()


def test_only_what_was_asked_for():
    """``inputs=`` and ``grad``."""

    def program(k):
        x, y = (wave(3) + k).requires_grad_(), wave(3).requires_grad_()
        (x * y).exp().sum().backward(inputs=[x])
        found = nbgrad.grad((x * y).sin().sum(), [y, x])
        return bits(x.grad), bits(y.grad), [bits(each) for each in found]

    got, want = both(program)
    assert got == want


def test_hooks_of_leaves():
    """Casts and hooks are the leaf's own, called in every pass."""
    log = []

    def program(k):
        x = (wave(3) + k).requires_grad_()
        x.register_hook(lambda g: log.append(k) or g * 2)
        x.register_post_accumulate_grad_hook(lambda p: log.append(bits(p.grad)))
        (x * x).sum().backward()
        return bits(x.grad)

    got, want = both(program)
    assert got == want
    assert log[:8] == log[8:]
    assert kept()[0] == 1


PRESENT = {
    "none": lambda: None,
    "dense": lambda: nbgrad.ones(3, 2).double(),
    "another order": lambda: nbgrad.ones(2, 3).double().t(),
    "part of a buffer": lambda: nbgrad.zeros(3, 4).double()[:, ::2],
    "recorded": lambda: nbgrad.ones(3, 2).double().requires_grad_() * 1,
}
ARRIVES = {
    "new": lambda x: (x * x.exp()).sum(),
    "expanded": lambda x: x.sum(),
    "in another order": lambda x: (x.t() * 2).square().sum(),
    "twice": lambda x: (x + x).sum() + x.sum(),
}


@pytest.mark.parametrize("arrives", ARRIVES)
@pytest.mark.parametrize("present", PRESENT)
def test_accumulation_is_the_engines(present, arrives):
    """Stolen or copied, in place or not, in which order of memory: with what a leaf has, and for what arrives."""

    def program(k):
        x = (wave(3, 2) + k).requires_grad_()
        x.grad = before = PRESENT[present]()
        version = None if before is None else before._version
        ARRIVES[arrives](x).backward()
        found = bits(x.grad), bits(before), x.grad is before, before is not None and before._version - version, x.grad.requires_grad
        with nbgrad.no_grad():
            x.grad.add_(1)  # nobody else's
        return found, bits(x.grad)

    got, want = both(program)
    assert got == want and kept()[0] == 1


class Doubled(nbgrad.autograd.Function):
    """Twice its operand, with a log."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Doubled.calls += 1
        return g * 2


def test_recorded_passes_are_the_engines():
    """``create_graph``, forward mode, anomaly mode, batches."""
    x = wave(3).requires_grad_()
    with compiled_autograd():
        for _ in range(2):
            (slope,) = nbgrad.grad((x**3).sum(), x, create_graph=True)
            (curve,) = nbgrad.grad(slope.sum(), x)
            assert np.allclose(curve.numpy(), (6 * x).detach().numpy())
            with pytest.warns(UserWarning, match="anomaly"), nbgrad.autograd.detect_anomaly():
                (x * 2).sum().backward()
            assert nbgrad.vmap(nbgrad.func.grad(lambda y: (y * y).sum()))(wave(2, 3)).shape == (2, 3)


def test_gradients_are_nobody_elses():
    """Two leaves with the same gradient have memory of their own, and saved values are not handed out."""
    x, y = wave(3).requires_grad_(), wave(3).requires_grad_()
    with compiled_autograd():
        for _ in range(3):
            x.grad = y.grad = None
            g = nbgrad.ones(3)
            (x + y).backward(g)
            x.grad.add_(1)
            assert y.grad.tolist() == [1, 1, 1] and g.tolist() == [1, 1, 1]
    assert kept()[0] == 1


def test_threads_and_the_end():
    """Another thread has its engine; after the end everybody has."""
    ran = []

    def elsewhere():
        x = wave(3).requires_grad_()
        x.sin().sum().backward()
        ran.append(kept())

    with compiled_autograd(), compiled_autograd():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert ran == [(0, 0)]
    x = wave(3).requires_grad_()
    x.sin().sum().backward()
    assert kept() == (0, 0)


def test_an_error_within_leaves_the_mode():
    """And nodes have what they kept."""
    x = wave(3).requires_grad_()
    with pytest.raises(ValueError), compiled_autograd():
        raise ValueError
    y = (x * x).sum()
    y.backward()
    assert programs.depth == 0 and bits(x.grad) == bits(2 * x.detach())


ROADS = {
    "Tensor.backward": lambda y, x, **how: y.backward(**how) or x.grad,
    "backward": lambda y, x, **how: nbgrad.autograd.backward(y, **how) or x.grad,
    "backward, inputs": lambda y, x, **how: nbgrad.autograd.backward([y], [nbgrad.ones(())], inputs=[x], **how) or x.grad,
    "grad": lambda y, x, **how: nbgrad.grad(y, x, **how)[0],
}


@pytest.mark.parametrize("road", ROADS)
def test_one_pass_alone(road):
    """``compiled=True`` is the context around that pass, and no other."""

    def program(k, **how):
        x = (wave(3) + k).requires_grad_()
        return bits(ROADS[road]((x * x).exp().float().sum(), x, **how))

    want = [program(k) for k in range(3)]
    assert [program(k, compiled=True) for k in range(3)] == want
    assert kept() == (1, 0) and programs.depth == 0
    assert program(1) == want[1] and kept() == (1, 0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_anomalies_are_watched():
    """Anomaly mode watches passes, whichever was entered first."""
    x = nbgrad.zeros(2, requires_grad=True)
    with nbgrad.autograd.detect_anomaly(), compiled_autograd(), pytest.raises(nbgrad.NbgradError, match="nan"):
        (x.sqrt() * 0).sum().backward()
    with compiled_autograd(), nbgrad.autograd.detect_anomaly(), pytest.raises(nbgrad.NbgradError, match="nan"):
        (x.sqrt() * 0).sum().backward()


# ---- custom Functions --------------------------------------------------------------------------------------------------


class Product(nbgrad.Function):
    """Of two operands; only the gradients that are wanted."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (g * y if ctx.needs_input_grad[0] else None), (g * x if ctx.needs_input_grad[1] else None)


class Parts(nbgrad.Function):
    """Several results, one without a gradient; undefined gradients stay undefined; a number and a tensor on ctx."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.set_materialize_grads(False)
        ctx.factor, ctx.half = factor, x.detach() * 0.5
        ctx.save_for_backward(x)
        positive = x > 0
        ctx.mark_non_differentiable(positive)
        return x.sin(), x * x * factor, positive

    @staticmethod
    def backward(ctx, g, h, _):
        (x,) = ctx.saved_tensors
        out = None if g is None else g * x.cos()
        if h is not None:
            more = h * (4 * ctx.half) * ctx.factor
            out = more if out is None else out + more
        return out, None


class Materialized(nbgrad.Function):
    """Two results whose gradients are zeros where nothing arrives; a result is saved."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y, x * 3

    @staticmethod
    @nbgrad.once_differentiable
    def backward(ctx, g, h):
        (y,) = ctx.saved_tensors
        return g * y + 3 * h


class Squared(nbgrad.Function):
    """By NumPy, both ways."""

    log = []

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return nbgrad.from_numpy(np.square(x.detach().numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        Squared.log.append(x.detach().numpy().tobytes())
        return nbgrad.from_numpy(2 * x.detach().numpy() * g.numpy())


class Odd(nbgrad.Function):
    """Gives no gradient in every other pass."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Odd.calls += 1
        return g * 2 if Odd.calls % 2 else None


class Transposed(nbgrad.Function):
    """Gives gradients in another order of memory."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Transposed.calls += 1
        return (2 * g).t().contiguous().t()


def through(function):
    """A program that sends a gradient through a Function, between many operations."""

    def program(k):
        x, y = (wave(3, 3) + 1.5 + 0.01 * k).requires_grad_(), (wave(3, 3) + 2).requires_grad_()
        z = x
        for _ in range(30):
            z = z * y
        out = function(z * 1e3, y)
        for _ in range(30):
            out = out * (y - 1.5)
        (out * 1e6).sum().backward()
        return bits(x.grad), bits(y.grad)

    return program


CAPTURED = {
    "product": Product.apply,
    "one gradient": lambda x, y: Product.apply(x, y.detach()),
    "parts": lambda x, y: Parts.apply(x, 2.0)[1] + Parts.apply(y, 3.0)[0] * Parts.apply(y, 3)[1],
    "materialized": lambda x, y: Materialized.apply(x * 1e-3)[1] * Materialized.apply(y)[0],
}
TURNS = {
    "numpy": lambda x, y: Squared.apply(x),
    "logs": lambda x, y: Doubled.apply(x) + Doubled.apply(y),
    "another order": lambda x, y: Transposed.apply(x),
    "nothing": lambda x, y: Odd.apply(x) + y,
}


@pytest.mark.parametrize("name", CAPTURED)
def test_functions_that_compute_are_captured(name):
    """What they save, which gradients are wanted, undefined ones, numbers and tensors on ctx."""
    got, want = both(through(CAPTURED[name]))
    assert got == want and kept() == (1, 0)
    (live,) = (live for alike in programs.found.values() for live in alike)
    assert not live.callbacks


@pytest.mark.parametrize("name", TURNS)
def test_functions_that_do_more_take_turns(name):
    """Once in every pass, with what they saved; also where they give other layouts or nothing."""
    program = through(TURNS[name])
    Squared.log.clear()
    Doubled.calls = Odd.calls = 0
    want, calls, log = [program(k) for k in range(6)], (Doubled.calls, Odd.calls), Squared.log[:]
    Squared.log.clear()
    Doubled.calls = Odd.calls = 0
    with compiled_autograd():
        got = [program(k) for k in range(6)]
    assert got == want and (Doubled.calls, Odd.calls) == calls and Squared.log == log
    assert kept()[0] == (name != "nothing")


def test_numbers_of_functions_are_part_of_the_kind():
    """On ctx: another number is another program."""
    number = [2.0]
    program = through(lambda x, y: Parts.apply(x, number[0])[1])
    for each in (2.0, 3.0):
        number[0] = each
        got, want = both(program)
        assert got == want
    assert kept() == (2, 0)


def test_hooks_around_functions(monkeypatch):
    """In front of it, behind it, and on its results, in the engine's order."""
    log = []

    def function(x, y):
        out = Squared.apply(x)
        out.register_hook(lambda g: log.append(("result", bits(g))))
        out.grad_fn.register_prehook(lambda gs: log.append("before") or (gs[0] * 2,))
        out.grad_fn.register_hook(lambda inputs, gs: log.append("behind") or (inputs[0] * 0.5,))
        y.register_hook(lambda g: log.append("leaf"))
        return Product.apply(out, y)

    program = through(function)
    want, wanted = [program(k) for k in range(4)], log[:]
    log.clear()
    monkeypatch.setattr("nbgrad.jit.live.WORTH", 0)
    with compiled_autograd():
        got = [program(k) for k in range(4)]
    assert got == want and log == wanted and kept() == (1, 0)


def test_leaves_are_settled_before_later_turns():
    """A callback sees the gradients that the engine would have shown it."""
    seen = []

    def program(k):
        x, y = (wave(3) + k).requires_grad_(), wave(3).requires_grad_()
        z = Doubled.apply(x * 1.0)
        z.register_hook(lambda g: seen.append(bits(y.grad)))
        for _ in range(60):
            z = z * 1.01
        (z + y).sum().backward()
        return bits(x.grad), bits(y.grad)

    got, want = both(program)
    assert got == want and kept() == (1, 0)
    assert seen[:4] == seen[4:] and seen[0] is not None


def test_a_hook_that_hangs_hooks():
    """On nodes that the pass has not come to: they run in this pass, as in the engine."""
    log = []

    def program(k):
        x = (wave(3) + k).requires_grad_()
        early = x * 2
        z = early
        for _ in range(60):
            z = z * 1.01
        z.register_hook(lambda g: early.register_hook(lambda h: log.append(bits(h)) or h * 2) and None)
        (z * 3).sum().backward()
        return bits(x.grad)

    got, want = both(program)
    assert got == want and log[:4] == log[4:] and len(log) == 8


def test_saved_tensors_behind_hooks_are_unpacked_in_their_turn():
    """In the engine's order, once in every pass; checkpoints, too."""
    log = []

    def program(k):
        x = (wave(3) + 1 + 0.1 * k).requires_grad_()
        with nbgrad.graph.saved_tensors_hooks(lambda t: log.append("pack") or t * 1, lambda t: log.append("unpack") or t):
            z = x.exp()
        z = nbgrad.utils.checkpoint.checkpoint(lambda t: log.append("run") or t.tanh(), z, use_reentrant=False)
        for _ in range(80):
            z = z * 1.01
        z.sum().backward()
        return bits(x.grad)

    got, want = both(program)
    assert got == want and kept() == (1, 0)
    assert log[: len(log) // 2] == log[len(log) // 2 :]


def test_an_error_of_a_function_is_raised_as_it_is():
    """In the pass that meets it; the next one runs."""

    class Fails(nbgrad.Function):
        @staticmethod
        def forward(ctx, x, fails):
            ctx.fails = fails
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.fails:
                raise ValueError("mine")
            return g, None

    x = wave(3).requires_grad_()
    with compiled_autograd():
        for fails in (False, False, True, False):
            y = Fails.apply(x, fails)
            for _ in range(40):
                y = y * 1.01
            if fails:
                with pytest.raises(ValueError, match="mine"):
                    y.sum().backward()
            else:
                y.sum().backward()
    assert kept()[0] >= 1


def test_a_capture_takes_no_gradients_of_other_threads():
    """Whose passes run meanwhile."""
    found, begin, end = [], threading.Event(), threading.Event()

    class Waits(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            begin.set()
            end.wait(10)
            return g

        @staticmethod
        def compiled_args(ctx, collector):
            pass

    def elsewhere():
        begin.wait(10)
        for _ in range(3):
            x = wave(3).requires_grad_()
            x.sin().sum().backward()
            found.append(x.grad is not None)
        end.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    x = wave(3).requires_grad_()
    with compiled_autograd():
        Waits.apply(x).sum().backward()
    thread.join()
    assert found == [True] * 3 and x.grad is not None
