"""Fast path: what is launched at once while a mode is active is what its interpreter computes."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import nbgrad
from nbgrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.base.calls import CALLS
from nbgrad.forward import tangents
from nbgrad.ops.core import OPS, Elementwise, Reduction
from tests.helpers import asking, wave
from tests.samples import SAMPLES
from tests.samples.checking import close, results, to_tensor, waves


def array_of(x):
    """A tensor as an array, None as None."""
    return None if x is None else results((x.detach(),))[0]


ORDER = nbgrad.tensor([2, 0, 1])

# ---- forward mode ----------------------------------------------------------------------------------------------------

ROWS = sorted(
    name
    for name, row in SAMPLES.items()
    if isinstance(OPS.get(name), Elementwise) and row.differentiable and not (row.through and any(OPS[name].fixed))
)


def pushed(call, arrays, directions):
    """Value and tangent of a call whose floating operands are dual."""
    with dual_level():
        duals = [make_dual(x, t) if t is not None else x for x, t in zip(arrays, directions)]
        return tuple(map(array_of, unpack_dual(call(*duals))))


@pytest.mark.part(2, 0)
@pytest.mark.parametrize("name", ROWS)
def test_dual_kernels_compute_what_is_computed_apart(name):
    """The kernel of value and tangent gives the numbers of a kernel for each, for every subset of operands with tangents."""
    function = CALLS[name]
    for call in SAMPLES[name].calls:
        operands = [to_tensor(x) for x in SAMPLES[name].arrays(call)]
        floating = [k for k, x in enumerate(operands) if isinstance(x, nbgrad.Tensor) and x.dtype.is_floating_point]
        for subset in range(1, 1 << len(floating)):
            chosen = {k for place, k in enumerate(floating) if subset >> place & 1}
            directions = [
                to_tensor(waves(np.empty(x.shape), k)).to(x.dtype) if k in chosen else None for k, x in enumerate(operands)
            ]
            got = pushed(function, operands, directions)
            with asking():
                want = pushed(function, operands, directions)
            for which, a, b in zip(("value", "tangent"), got, want):
                assert (a is None) is (b is None), f"{name}{call}: {which}"
                if a is not None:
                    close(a, b, 1e-12, f"{name}{call}: {which}, dual {sorted(chosen)}")


INPLACE = [name for name in ROWS if OPS[name].inplace]


@pytest.mark.part(2, 1)
@pytest.mark.parametrize("name", INPLACE)
def test_dual_writes_compute_what_is_computed_apart(name):
    """A call in place, for every subset of operands with tangents: value and tangent, of the base and of the view written to."""
    function = CALLS[name + "_"]
    for call in SAMPLES[name].calls:
        operands = [to_tensor(x) for x in SAMPLES[name].arrays(call)]
        if not isinstance(operands[0], nbgrad.Tensor) or operands[0].shape != np.broadcast_shapes(
            *[x.shape for x in operands if isinstance(x, nbgrad.Tensor)]
        ):
            continue
        floating = [k for k, x in enumerate(operands) if isinstance(x, nbgrad.Tensor) and x.dtype.is_floating_point]
        for subset in range(1, 1 << len(floating)):
            chosen = {k for place, k in enumerate(floating) if subset >> place & 1}
            directions = [
                to_tensor(waves(np.empty(x.shape), k)).to(x.dtype) if k in chosen else None for k, x in enumerate(operands)
            ]
            for written in (lambda x: x.clone(), lambda x: nbgrad.stack((x, x), -1).select(-1, 0)):

                def program(x, *others, written=written):
                    x = written(x)
                    for _ in range(2):
                        function(x, *others)
                    return x

                got = pushed(program, operands, directions)
                with asking():
                    want = pushed(program, operands, directions)
                for which, a, b in zip(("value", "tangent"), got, want):
                    assert (a is None) is (b is None), f"{name}{call}: {which}"
                    if a is not None:
                        close(a, b, 1e-12, f"{name}{call}: {which}, dual {sorted(chosen)}")


def test_dual_writes_of_nothing_count():
    """A dual tensor without elements has been written to, each time, and keeps its tangent."""
    with dual_level():
        x = make_dual(nbgrad.zeros(0), nbgrad.zeros(0))
        for _ in range(3):
            x.add_(1.0)
        assert x._version == 3 and unpack_dual(x).tangent.shape == (0,)


@pytest.mark.parametrize(
    "call",
    [lambda x: x * nbgrad.ones(3), lambda x: x.exp() + [1], lambda x: x.select(0, 5), lambda x: x.add_(nbgrad.ones(2, 2))],
    ids=["broadcast", "list", "select", "write"],
)
@pytest.mark.parametrize("dual", [False, True])
def test_refusals_are_those_of_plain_tensors(call, dual):
    """What is refused without forward mode is refused in it, by the same error, whether an operand has a tangent or none."""
    with pytest.raises((nbgrad.NbgradError, TypeError)) as outside:
        call(nbgrad.ones(2))
    with dual_level():
        for _ in range(2):
            x = make_dual(nbgrad.ones(2), nbgrad.ones(2)) if dual else nbgrad.ones(2)
            with pytest.raises((nbgrad.NbgradError, TypeError)) as inside:
                call(x)
            assert type(inside.value) is type(outside.value) and str(inside.value) == str(outside.value)


def test_dual_writes_reach_views_and_their_tangents():
    """The base of a view that is written to, and other views of it, show the write and its tangent."""
    x, t, y, s = wave(2, 3), wave(2, 3) * 2, wave(3) + 1, wave(3) * 3
    with dual_level():
        base, other = make_dual(x, t).clone(), make_dual(y, s)
        row, column = base[0], base[:, 1]
        for _ in range(3):
            row.mul_(other)
        assert np.allclose(unpack_dual(base).tangent[0].numpy(), (t[0] * y**3 + 3 * x[0] * y**2 * s).numpy())
        assert np.allclose(unpack_dual(column).tangent.numpy(), unpack_dual(base).tangent[:, 1].numpy())
        assert np.allclose(unpack_dual(base).primal[1].numpy(), x[1].numpy())


@pytest.mark.parametrize(
    "write, value, tangent",
    [
        (lambda w, d: w.mul_(w), lambda x, t: x * x, lambda x, t: 2 * x * t),
        (lambda w, d: w.mul_(w.flip(0)), lambda x, t: x * x.flip(0), lambda x, t: x * t.flip(0) + t * x.flip(0)),
        (lambda w, d: w.copy_(w.data), lambda x, t: x, lambda x, t: 0 * t),
        (lambda w, d: w.zero_(), lambda x, t: 0 * x, lambda x, t: 0 * t),
        (lambda w, d: w.fill_(3.0), lambda x, t: 0 * x + 3, lambda x, t: 0 * t),
        (lambda w, d: w.add_(d, alpha=2), lambda x, t: 3 * x, lambda x, t: 3 * t),
        (lambda w, d: w.__setitem__(..., d * 2), lambda x, t: 2 * x, lambda x, t: 2 * t),
    ],
)
def test_dual_writes_of_what_shares_memory(write, value, tangent):
    """Operands that are what is written to, or lie in its memory, are read before."""
    x, t = wave(4), wave(4) * 2 + 1
    for _ in range(2):
        with dual_level():
            d = make_dual(x, t)
            w = d.clone()
            write(w, d)
            primal, made = unpack_dual(w)
            assert np.allclose(primal.numpy(), value(x, t).numpy()) and np.allclose(made.numpy(), tangent(x, t).numpy())


def test_dual_writes_are_recorded_and_refused_as_others():
    """A leaf that requires grad is refused, a recorded tensor gets its node, and versions move."""
    x, t = wave(3), wave(3)
    with dual_level():
        d = make_dual(x, t)
        with pytest.raises(nbgrad.NbgradError, match="leaf"):
            wave(3).requires_grad_().mul_(d)
        leaf = wave(3).requires_grad_()
        w = leaf * 1
        for _ in range(2):
            w.mul_(d)
        assert np.allclose(nbgrad.grad(w.sum(), leaf)[0].numpy(), (x * x).numpy())
        v = d.clone()
        versions = v._version, unpack_dual(v).tangent._version
        v.mul_(2.0)
        assert (v._version, unpack_dual(v).tangent._version) == (versions[0] + 1, versions[1] + 1)
        with pytest.raises(nbgrad.NbgradError, match="share one memory"):
            make_dual(wave(1), wave(1)).expand(3).mul_(d)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.max(1),
        lambda x: x.min(0, True),
        lambda x: x.sort(1, True),
        lambda x: x.topk(2, 0),
        lambda x: x.cummax(1),
        lambda x: nbgrad.max(x, dim=0),
    ],
)
def test_orders_of_dual_tensors_are_pairs_by_name(call):
    """Values with tangents, and indices, of numbers in ever other orders."""
    with dual_level():
        for k in range(5):
            x, t = wave(3, 3).roll(k), wave(3, 3).flip(0)
            found = call(make_dual(x, t))
            want = call(x)
            assert type(found) is type(want) and found._fields == want._fields
            assert found.values.tolist() == want.values.tolist() and found.indices.tolist() == want.indices.tolist()
            primal, tangent = unpack_dual(found.values)
            near = call(x + 1e-6 * t).values - call(x - 1e-6 * t).values
            assert np.allclose(tangent.numpy(), near.numpy() / 2e-6, atol=1e-6) and unpack_dual(found.indices).tangent is None


def test_plans_know_which_operand_is_dual():
    """Products of operands of one layout are told apart by where the tangents are."""
    x, y, t = wave(4), wave(4) + 2, wave(4) * 3
    with dual_level():
        d = make_dual(x, t)
        assert np.allclose(unpack_dual(d * y).tangent.numpy(), (t * y).numpy())
        assert np.allclose(unpack_dual(y / d).tangent.numpy(), (-y * t / (x * x)).numpy())
        assert np.allclose(unpack_dual(d / y).tangent.numpy(), (t / y).numpy())
        assert np.allclose(unpack_dual(d * d).tangent.numpy(), (2 * x * t).numpy())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(),
        lambda x: x.sum(0, keepdim=True),
        lambda x: x.mean(1),
        lambda x: x @ x.t(),
        lambda x: x.t(),
        lambda x: x[0],
        lambda x: x.reshape(-1),
        lambda x: x.expand(2, 3, 3),
        lambda x: x.tril(),
        lambda x: x.cumsum(0),
        lambda x: x.softmax(1),
        lambda x: x.amax(1),
        lambda x: x.contiguous(),
        lambda x: x.unsqueeze(0).squeeze(0),
        lambda x: x.flip(0),
        lambda x: nbgrad.cat((x, x)),
        lambda x: nbgrad.stack((x, wave(3, 3), x), 2),
        lambda x: nbgrad.cat((x,)),
        lambda x: x.gather(0, ORDER.expand(3, 3)),
        lambda x: x[ORDER],
        lambda x: x[:, ORDER, None],
        lambda x: x.index_select(1, ORDER),
        lambda x: x.index_add(0, ORDER, x),
        lambda x: x.slice_scatter(x[:2], 0, 1),
        lambda x: x.sort(0)[0],
        lambda x: x.max(1)[0],
        lambda x: x.var(0),
        lambda x: x.std(),
        lambda x: x.prod(1, keepdim=True),
        lambda x: x.logsumexp((0, 1)),
    ],
)
def test_other_operations_push_forward_as_interpreters_do(call):
    """Movements and linear operations, and beside them those that are not quick."""
    x, t = wave(3, 3), wave(3, 3).flip(1)
    got = pushed(call, (x,), (t,))
    with asking():
        want = pushed(call, (x,), (t,))
    for a, b in zip(got, want):
        close(a, b, 1e-12, "pushed forward")


def test_quick_runs_take_the_tangents_that_are_there():
    """Members without a tangent have a zero one; the tangent of a result shares no memory with that of an operand."""
    x, y, t = wave(3), wave(3) + 1, wave(3) * 2
    with dual_level():
        d = make_dual(x, t)
        assert unpack_dual(nbgrad.cat((y, y))).tangent is None
        assert np.array_equal(unpack_dual(nbgrad.cat((y, d))).tangent.numpy(), np.concatenate([np.zeros(3), t.numpy()]))
        alone = nbgrad.cat((d,))
        alone.mul_(2)
        assert np.array_equal(unpack_dual(d).tangent.numpy(), t.numpy())
        assert np.array_equal(unpack_dual(alone).tangent.numpy(), 2 * t.numpy())


def test_quick_runs_refuse_what_ordinary_ones_do():
    """An index out of range is found by a run that has been prepared for its layouts, too."""
    with dual_level():
        d = make_dual(wave(3), wave(3))
        for _ in range(2):
            d.gather(0, nbgrad.tensor([2, 0]))
        with pytest.raises(nbgrad.NbgradError, match="out of range"):
            d.gather(0, nbgrad.tensor([3, 0]))


def test_quick_runs_record_operands_without_tangents():
    """Where a result has no tangent, or its operands require grad, it has the history of an ordinary one."""
    x, t = wave(3).requires_grad_(), wave(3)
    with dual_level():
        d = make_dual(wave(3), t)
        for _ in range(2):
            assert np.array_equal(nbgrad.grad((x[ORDER] * d).sum(), x)[0].numpy(), wave(3)[ORDER.argsort()].numpy())
            mixed = nbgrad.stack((x, d))
            assert mixed.requires_grad
            assert np.array_equal(unpack_dual(mixed).tangent[1].detach().numpy(), t.numpy())


# ---- reductions ------------------------------------------------------------------------------------------------------

REDUCED = sorted(name for name, op in OPS.items() if isinstance(op, Reduction) and op.vjps and not op.linear_groups())


def jacobian_of(function, x):
    """Derivatives of a function of few elements, one column at a time, each by reverse mode: the oracle of forward mode."""
    x = x.detach().requires_grad_()
    out = function(x).reshape(-1)
    return np.stack([nbgrad.grad(each, x, retain_graph=True)[0].numpy().reshape(-1) for each in out])


@pytest.mark.parametrize(
    "function",
    [
        nbgrad.linalg.vector_norm,
        lambda x: nbgrad.linalg.vector_norm(x, 3, 1),
        lambda x: x.var(0),
        lambda x: x.amax(1),
        lambda x: x.std(),
        lambda x: x.prod(1),
        lambda x: x.logsumexp((0, 1)),
        lambda x: x.max(),
    ],
)
def test_steps_of_large_operands_are_joined(function):
    """Elementwise steps that follow one another are one kernel, which gives what they give."""
    x, t = wave(200, 200), wave(200, 200).flip(1) * 0.3
    for k in range(5):
        x = x.roll(k) * 0.99
        got = pushed(function, (x,), (t,))
        with asking():
            want = pushed(function, (x,), (t,))
        for a, b in zip(got, want):
            close(a, b, 1e-12, "joined")


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("dim, keepdim", [(0, False), (1, True), (-1, False)])
def test_tangents_of_reductions_are_sums_of_slopes(name, dim, keepdim):
    """What each of them declares: an element goes into one element of the result; so the Jacobian by rows gives the tangent."""
    rest = {"p": 3.0, "correction": 1}
    op, x, t = OPS[name], wave(3, 4), wave(3, 4).flip(0) + 0.3
    given = {n: rest[n] for n in op.signature.parameters if n in rest}

    def function(x):
        return CALLS[name](x, dim=dim, keepdim=keepdim, **given)

    value, tangent = pushed(function, (x,), (t,))
    want = (jacobian_of(function, x) @ t.numpy().reshape(-1)).reshape(value.shape)
    assert tangent.shape == value.shape and np.allclose(tangent, want, rtol=1e-12, atol=1e-13)
    slopes = jacobian_of(function, x)
    assert ((slopes != 0).sum(0) <= 1).all()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.var(0),
        lambda x: x.std(),
        lambda x: x.prod(1),
        lambda x: x.logsumexp(0),
        lambda x: nbgrad.linalg.vector_norm(x),
        lambda x: nbgrad.linalg.vector_norm(x, 3, 1),
    ],
)
def test_reductions_are_pushed_forward_at_every_order(function):
    """Forward over forward, forward over reverse and reverse over forward give one second derivative, batches of tangents too."""
    x, t = wave(3, 4), wave(3, 4).flip(1) * 0.5

    def total(x):
        return (function(x) ** 2).sum()

    twice = nbgrad.func.jvp(lambda x: nbgrad.func.jvp(total, (x,), (t,))[1], (x,), (t,))[1]
    product = nbgrad.func.jvp(nbgrad.func.grad(total), (x,), (t,))[1]
    back = nbgrad.func.grad(lambda x: nbgrad.func.jvp(total, (x,), (t,))[1])(x)
    step = 1e-5
    slope = nbgrad.func.grad(total)
    want = (slope(x + step * t) - slope(x - step * t)).numpy() / (2 * step)
    assert np.allclose(product.numpy(), want, atol=1e-7) and np.allclose(back.numpy(), want, atol=1e-7)
    assert np.allclose(twice.numpy(), (want * t.numpy()).sum(), atol=1e-7)
    columns = nbgrad.func.jacfwd(function)(x).numpy()
    assert np.allclose(columns.reshape(-1, 12), jacobian_of(function, x), atol=1e-12)


@pytest.mark.parametrize("function", [lambda x: x.std(), nbgrad.linalg.vector_norm])
def test_roots_of_zero_have_no_slope(function):
    """Their tangent is 0 along every finite direction; 0 times an infinite one is no number."""
    x = nbgrad.zeros(3)
    assert pushed(function, (x,), (nbgrad.tensor([1.0, -2.0, 3.0]),))[1] == 0
    assert np.isnan(pushed(function, (x,), (nbgrad.tensor([float("inf"), 1.0, 0.0]),))[1])


def test_reductions_of_half_and_complex_numbers():
    """They go by the transpose: slopes would be rounded, or have to be conjugated."""
    x, t = wave(4, dtype=nbgrad.float16), wave(4, dtype=nbgrad.float16)
    assert np.allclose(
        pushed(lambda x: x.var(), (x,), (t,))[1], 2 / 3 * ((x - x.mean()).double() * t.double()).sum().numpy(), rtol=1e-2
    )
    z, s = nbgrad.complex(wave(3), wave(3) + 1), nbgrad.complex(wave(3) * 2, wave(3) - 1)
    a, b = z.numpy(), s.numpy()
    assert np.allclose(pushed(lambda x: x.prod(), (z,), (s,))[1], a.prod() * (b / a).sum())
    assert np.allclose(pushed(nbgrad.linalg.vector_norm, (z,), (s,))[1], (a.conj() * b).real.sum() / np.linalg.norm(a))


def test_bilinear_operations_with_two_tangents():
    """The tangent of a product of matrices has a term for each operand, in the layout of the result."""
    x, y, s, t = wave(3, 4), wave(4, 2) + 1, wave(3, 4) * 2, wave(4, 2) * 3
    with dual_level():
        primal, tangent = unpack_dual(make_dual(x, s) @ make_dual(y, t))
    assert tangent.stride() == primal.stride()
    assert np.allclose(tangent.numpy(), s.numpy() @ y.numpy() + x.numpy() @ t.numpy())


def test_recorded_calls_keep_the_history_of_tangents():
    """Operands that require grad are not quick: the tangent can be differentiated."""
    x, t = wave(3).requires_grad_(), wave(3).requires_grad_()
    with dual_level():
        tangent = unpack_dual((make_dual(x, t) ** 2).sum()).tangent
        by_x, by_t = nbgrad.grad(tangent, (x, t))
    assert np.allclose(by_x.numpy(), 2 * t.detach().numpy()) and np.allclose(by_t.numpy(), 2 * x.detach().numpy())


def test_tangents_die_with_their_tensors():
    """A level holds no tangent: a long chain inside of it keeps none but the last."""
    with dual_level():
        x = make_dual(wave(3), wave(3)) * 2
        gone = weakref.ref(unpack_dual(x).tangent)
        for _ in range(3):
            x = x * 2
        gc.collect()
        assert gone() is None


def test_closing_a_level_takes_all_tangents_away():
    """Also where more were kept than a level notes before it looks who is still there."""
    count = tangents.FEWEST_HOLDERS + 100
    with dual_level():
        x = make_dual(wave(2), wave(2))
        kept = [x * k for k in range(count)]
        assert unpack_dual(kept[0]).tangent is not None
    assert not any(x._meta_.tangent for x in kept)


def test_integers_and_truth_values_have_no_tangents():
    """Comparisons and conversions of dual tensors are ordinary."""
    with dual_level():
        d = make_dual(wave(3), wave(3))
        assert unpack_dual(d > 0).tangent is None
        assert unpack_dual((d > 0) & (d < 1)).tangent is None
        assert unpack_dual(d.to(nbgrad.int64) + 1).tangent is None


def test_half_types_round_before_the_derivative():
    """The derivative of exp is the rounded result, as without the quick call."""
    x, t = wave(5, dtype=nbgrad.float16), wave(5, dtype=nbgrad.float16)
    got = pushed(nbgrad.exp, (x,), (t,))
    with asking():
        want = pushed(nbgrad.exp, (x,), (t,))
    assert np.array_equal(got[1], want[1])


# ---- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x * y,
        lambda x, y: x * 2 + y[0],
        lambda x, y: (x @ x.t()).tanh(),
        lambda x, y: nbgrad.where(x > 0, x, y.sum()),
        lambda x, y: x.sum(0) / y,
        lambda x, y: x.t()[1].exp() - y.mean(),
        lambda x, y: nbgrad.cat([x, x * y]),
    ],
)
def test_batched_calls_are_what_interpreters_make_of_them(function):
    """One operand mapped, the other the same for the whole batch; and both."""
    x, y = wave(4, 3, 3), wave(4, 3)
    for in_dims, second in (((0, None), y[0]), ((0, 0), y), ((2, 0), y[:3])):
        got = nbgrad.vmap(function, in_dims)(x, second)
        with asking():
            want = nbgrad.vmap(function, in_dims)(x, second)
        close(array_of(got), array_of(want), 1e-12, "vmap")


def test_batched_tangents_take_one_kernel():
    """The columns of a Jacobian are those of a loop over directions, also where the result lies in another order."""
    x = wave(3, 2)
    columns = nbgrad.func.jacfwd(lambda x: (x.t().sin() * x.t()).exp())(x)
    for k in range(6):
        unit = nbgrad.zeros(6, dtype=nbgrad.float64)
        unit[k] = 1
        _, column = nbgrad.func.jvp(lambda x: (x.t().sin() * x.t()).exp(), (x,), (unit.reshape(3, 2),))
        assert np.allclose(columns.reshape(2, 3, 6)[..., k].numpy(), column.numpy())


def test_escaped_tensors_are_refused_quickly_too():
    """An operand whose level is closed is an error whatever the call."""
    escaped = []
    nbgrad.vmap(lambda x: escaped.append(x) or x)(wave(3, 2))
    for call in (lambda x: x + 1, lambda x: x.t(), lambda x: x.sum()):
        with pytest.raises(nbgrad.GradError, match="outside of the function"):
            call(escaped[0])


# ---- random numbers and classes in a batch ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_forward_mode_takes_one_call_of_the_generator(name):
    """Whatever is prepared for later calls, each of them draws once."""
    draw = getattr(nbgrad, name)
    before = nbgrad.random.default_generator.clone_state()
    for _ in range(4):
        nbgrad.func.jvp(lambda x: draw(x, 0.5, True) * x, (nbgrad.ones(2, 5),), (nbgrad.ones(2, 5),))
        nbgrad.rand(1, generator=before)
    assert nbgrad.get_rng_state().tolist() == before.get_state().tolist()


def test_classes_of_a_batch():
    """``one_hot`` of a known number of classes keeps its shape for every element."""
    classes = nbgrad.tensor([[0, 2], [1, 1]])
    got = nbgrad.vmap(lambda x: nbgrad.nn.functional.one_hot(x, 3))(classes)
    assert got.tolist() == np.eye(3, dtype=int)[classes.numpy()].tolist()
    with pytest.raises(nbgrad.DimError, match="expected 0 to 1"):
        nbgrad.vmap(lambda x: nbgrad.nn.functional.one_hot(x, 2))(classes)


@pytest.mark.parametrize("weights", [(3, 5), (3, 2, 5)])
def test_indices_are_drawn_for_every_element(weights):
    """``multinomial`` in a batch draws from the weights of each element; certain weights leave no choice."""
    sure = np.zeros(weights)
    places = np.arange(int(np.prod(weights[:-1]))).reshape(weights[:-1]) % 5
    np.put_along_axis(sure, places[..., None], 1.0, -1)
    got = nbgrad.vmap(lambda w: nbgrad.multinomial(w, 4, True), randomness="different")(nbgrad.tensor(sure))
    assert np.array_equal(got.numpy(), np.repeat(places[..., None], 4, -1))


def test_different_indices_by_the_same_weights():
    """Weights that are not mapped: every element draws its own, or all draw the same."""
    weights, batch = nbgrad.ones(1000), wave(2, 1)
    different = nbgrad.vmap(lambda x: nbgrad.multinomial(weights, 50), randomness="different")(batch)
    assert different.shape == (2, 50) and not np.array_equal(different[0].numpy(), different[1].numpy())
    same = nbgrad.vmap(lambda x: nbgrad.multinomial(weights, 50), randomness="same")(batch)
    assert np.array_equal(same[0].numpy(), same[1].numpy())


@pytest.mark.parametrize(
    "draw", [nbgrad.bernoulli, lambda x: nbgrad.normal(x, 1.0), lambda x: nbgrad.normal(0.0, x), lambda x: nbgrad.multinomial(x, 1)]
)
def test_the_same_numbers_from_different_parameters_are_refused(draw):
    """``randomness="same"`` and parameters that differ over the batch contradict one another."""
    with pytest.raises(RuntimeError, match="same"):
        nbgrad.vmap(draw, randomness="same")(nbgrad.full((3, 2), 0.5))
