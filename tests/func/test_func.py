"""Functions of functions, against formulas, loops and one another, in every order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    value_and_grad,
    vjp,
    vmap,
)
from tests.helpers import wave
from tests.samples import SAMPLES
from tests.samples.batches import called
from tests.samples.checking import agree, close, holds_numbers, results, to_tensor, waves


def near(got, want, tolerance=1e-8):
    """Assert that tensors are equal up to what finite differences lose."""
    agree(got, want, tolerance)


def number(x):
    """A function of many derivatives."""
    return (x.sin() * x.exp()).sum() + x[0] * x[1] ** 2


# ---- every operation -------------------------------------------------------------------------------------------------

# dropout draws; strides and offsets of memory are those of a batch; the last have complex operands or results only.
OTHERS = (
    "dropout",
    "feature_dropout",
    "alpha_dropout",
    "feature_alpha_dropout",
    "as_strided",
    "as_strided_from",
    "complex",
    "conj_view",
    "fft_c2c",
    "fft_c2r",
    "fft_r2c",
    "imag",
    "imag_view",
    "istft",
    "polar",
    "real_view",
    "stft",
    "view_as_complex",
    "view_as_real",
)
ROWS = sorted(
    name
    for name, row in SAMPLES.items()
    if row.reference is not None
    and row.differentiable
    and not {"gradient", "second order"} & set(row.unlike)
    and name.removesuffix("_copy") not in OTHERS
)
SIZE = 3


def of_leaves(row, call):
    """The operation as a function of its arrays of numbers alone, to its floating real results, and those arrays; None without."""
    arrays, function = row.arrays(call), called(row, call)
    found: list = []

    def placed(x):
        if isinstance(x, list):
            return [placed(each) for each in x]
        if holds_numbers(x):
            found.append(x)
            return len(found) - 1
        return to_tensor(x)

    spots = [placed(x) for x in arrays]
    attributes = tuple(to_tensor(x) for x in call.attributes.values())

    def filled(spot, leaves):
        if isinstance(spot, list):
            return [filled(each, leaves) for each in spot]
        return leaves[spot] if type(spot) is int else spot

    # Numbers among the operands are not places: they are put in afterwards.
    numbers = {k: x for k, x in enumerate(arrays) if isinstance(x, (int, float, complex, bool)) and not isinstance(x, np.ndarray)}

    def run(*leaves):
        operands = [numbers.get(k, spot) if k in numbers else filled(spot, leaves) for k, spot in enumerate(spots)]
        return tuple(x for x in function(operands, attributes) if x.dtype.is_floating_point)

    return run, found


def weighted(run):
    """One number of the results."""
    return lambda *leaves: sum(
        ((out * to_tensor(waves(np.empty(out.shape), k))).sum() for k, out in enumerate(run(*leaves))),
        nbgrad.zeros((), dtype=nbgrad.float64),
    )


def real_cases(name):
    """The calls of an operation on real numbers that have gradients."""
    for call in SAMPLES[name].calls:
        run, leaves = of_leaves(SAMPLES[name], call)
        if leaves and not any(np.iscomplexobj(x) for x in leaves):
            leaves = [to_tensor(x) for x in leaves]
            if run(*leaves):
                yield call, run, leaves


def shuffled(leaves):
    """A batch of the leaves: their numbers in other orders."""
    return [nbgrad.stack([x.reshape(-1).roll(k).reshape(x.shape) for k in range(SIZE)]) for x in leaves]


@pytest.mark.part(2, 0)
@pytest.mark.parametrize("name", ROWS)
def test_gradients_of_a_batch(name):
    """vmap of grad, and grad of vmap, are the gradients of the single elements."""
    cases = list(real_cases(name))
    assert cases
    for call, run, leaves in cases:
        batch, slope = shuffled(leaves), grad(weighted(run), tuple(range(len(leaves))))
        want = [slope(*each) for each in zip(*(x.unbind() for x in batch))]
        inside = vmap(slope)(*batch)
        outside = grad(lambda *xs, run=run: vmap(weighted(run))(*xs).sum(), tuple(range(len(leaves))))(*batch)
        for k, (a, b, rows) in enumerate(zip(inside, outside, zip(*want))):
            close(a.numpy(), np.stack(results(rows)), 1e-9, f"{name}{call}: vmap(grad), operand {k}")
            close(b.numpy(), np.stack(results(rows)), 1e-9, f"{name}{call}: grad(vmap), operand {k}")


@pytest.mark.part(2, 1)
@pytest.mark.parametrize("name", ROWS)
def test_jacobians_agree(name):
    """Batched pull-backs (jacrev) and batched tangents (jacfwd) find the same Jacobian."""
    cases = list(real_cases(name))
    assert cases
    for call, run, leaves in cases:
        places = tuple(range(len(leaves)))
        for k, (rows, columns) in enumerate(zip(jacrev(run, places)(*leaves), jacfwd(run, places)(*leaves))):
            for a, b in zip(rows, columns):
                close(results((a,))[0], results((b,))[0], 1e-9, f"{name}{call}: result {k}")


# ---- compositions ----------------------------------------------------------------------------------------------------


def test_tangents_of_fewer_dimensions_than_the_result():
    """``s x`` for the sum ``s`` and a row ``x``: columns of its Jacobian come from tangents that broadcast, also at two levels."""
    x = nbgrad.tensor([1.0, 2.0, 4.0], dtype=nbgrad.float64)
    first, second = jacfwd(row_times_sum)(x), jacfwd(jacfwd(row_times_sum))(x)
    assert first.tolist() == [[[8.0, 1.0, 1.0], [2.0, 9.0, 2.0], [4.0, 4.0, 11.0]]]
    identity = np.eye(3)
    want = identity[:, :, None] + identity[:, None, :]  # of x_i by x_j and x_k
    assert second.numpy().tolist() == [want.tolist()]


def row_times_sum(x):
    """A product of a 0-d tensor and a row of a matrix."""
    return x.sum() * x.view(1, 3)


JACOBIANS = {"jacrev": jacrev, "jacfwd": jacfwd}


def finite_differences(function, x, step=1e-6):
    """The Jacobian of a function by central differences."""
    columns = []
    for k in range(x.numel()):
        e = nbgrad.zeros(x.numel(), dtype=nbgrad.float64)
        e[k] = step
        e = e.reshape(x.shape)
        columns.append((function(x + e) - function(x - e)) / (2 * step))
    return nbgrad.stack(columns, -1)


@pytest.mark.parametrize("outer, inner", list(itertools.product(JACOBIANS, JACOBIANS)))
def test_second_derivatives(outer, inner):
    """Any Jacobian of any Jacobian is the Hessian."""
    x = wave(4)
    near(JACOBIANS[outer](JACOBIANS[inner](number))(x), finite_differences(grad(number), x), 1e-7)


@pytest.mark.parametrize("order", list(itertools.product(JACOBIANS, repeat=3)))
def test_third_derivatives(order):
    """Three Jacobians in any order."""
    f = number
    for name in order:
        f = JACOBIANS[name](f)
    x = wave(3)
    near(f(x), jacrev(jacrev(grad(number)))(x))
    near(f(x), finite_differences(hessian(number), x), 1e-6)


@pytest.mark.parametrize(
    "derivative",
    [
        grad,
        lambda f: lambda x: jvp(f, (x,), (wave(4),))[1],
        lambda f: lambda x: vjp(f, x)[1](nbgrad.tensor(2.0, dtype=nbgrad.float64))[0],
        hessian,
        jacrev,
        jacfwd,
        lambda f: lambda x: linearize(f, x)[1](wave(4)),
    ],
)
def test_vmap_of_a_derivative(derivative):
    """It is the loop over the batch, one or two levels deep."""
    x, f = wave(3, 4), derivative(number)
    want = nbgrad.stack([f(row) for row in x])
    near(vmap(f)(x), want)
    near(vmap(vmap(f))(x.reshape(1, 3, 4))[0], want)


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobian_of_a_map(name):
    """The Jacobian of a mapped function is block diagonal."""
    x = wave(3, 4)
    blocks = JACOBIANS[name](vmap(number))(x)
    near(blocks[nbgrad.arange(3), nbgrad.arange(3)], vmap(grad(number))(x))
    assert float(blocks.abs().sum()) == pytest.approx(float(vmap(grad(number))(x).abs().sum()))


def test_forward_over_reverse_over_a_map():
    """A Hessian-vector product of a sum over a mapped function."""
    x, t = wave(3, 4), wave(3, 4) * 2
    _, product = jvp(grad(lambda z: vmap(number)(z).sum()), (x,), (t,))
    near(product, nbgrad.stack([hessian(number)(row) @ s for row, s in zip(x, t)]))


def test_no_perturbation_confusion():
    """An inner derivative by another variable does not see the outer one: d/dx (x d/dy (x + y)) = 1."""
    x, one = nbgrad.tensor(3.0), nbgrad.tensor(1.0)
    forward = jvp(lambda a: a * jvp(lambda b: a + b, (one,), (one,))[1], (x,), (one,))[1]
    reverse = grad(lambda a: a * grad(lambda b: a + b)(one))(x)
    reverse_over_forward = grad(lambda a: a * jvp(lambda b: a + b, (one,), (one,))[1])(x)
    forward_over_reverse = jvp(lambda a: a * grad(lambda b: a + b)(one), (x,), (one,))[1]
    assert [float(each) for each in (forward, reverse, reverse_over_forward, forward_over_reverse)] == [1.0] * 4


def test_per_sample_gradients_of_shared_weights():
    """The weights are not mapped, and each element of the batch has a gradient of its own."""
    w, x, y = wave(2, 4), wave(5, 4), wave(5, 2)

    def loss(w, x, y):
        return ((w @ x).tanh() - y).square().sum()

    got = vmap(grad(loss), (None, 0, 0))(w, x, y)
    near(got, nbgrad.stack([grad(loss)(w, a, b) for a, b in zip(x, y)]))


# ---- reverse mode ----------------------------------------------------------------------------------------------------


def test_arguments_to_differentiate_by():
    """argnums names one argument, or several in any order; arguments may be nested."""
    a, b = wave(3), wave(3) + 1
    product = lambda x, y: (x * y).sum()
    near(grad(product)(a, b), b)
    near(grad(product, -1)(a, b), a)
    first, second = grad(product, (1, 0))(a, b)
    near(first, a)
    near(second, b)
    nested = grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": a, "b": [b]})
    near(nested["b"][0], a)


def test_values_and_other_results():
    """grad_and_value has the value second; aux comes along."""
    x = wave(3)
    slope, (value, extra) = grad_and_value(lambda x: (x.square().sum(), {"x": x + 1}), has_aux=True)(x)
    near(slope, 2 * x)
    near(value, x.square().sum())
    near(extra["x"], x + 1)
    slope, extra = grad(lambda x: (x.square().sum(), x + 1), has_aux=True)(x)
    near(extra, x + 1)
    assert value_and_grad is grad_and_value


def test_pull_back_may_be_called_again():
    """vjp's function is linear in its argument and keeps what it needs."""
    x = wave(3)
    output, pull_back = vjp(lambda x: (x.square(), x.sum()), x)
    near(output[0], x.square())
    for factor in (1.0, 2.0):
        (cotangent,) = pull_back((x * factor, x.sum()))
        near(cotangent, 2 * factor * x * x + x.sum())


@pytest.mark.parametrize(
    "program, wanted",
    [
        (lambda x, w: grad(number)(x), False),
        (lambda x, w: grad(number)(w), True),
        (lambda x, w: grad(lambda z: (z * z * w).sum())(x), True),
        (lambda x, w: grad_and_value(number)(x)[1], False),
        (lambda x, w: grad_and_value(lambda z: (z * w).sum())(x)[1], True),
        (lambda x, w: vjp(nbgrad.sin, x)[0], False),
        (lambda x, w: vjp(nbgrad.sin, x)[1](x)[0], False),
        (lambda x, w: vjp(nbgrad.sin, x)[1](w)[0], True),
        (lambda x, w: grad(lambda z: (z.square().sum(), z), has_aux=True)(x)[1], False),
        (lambda x, w: jacrev(nbgrad.sin)(x), False),
        (lambda x, w: jacrev(nbgrad.sin)(w), True),
        (lambda x, w: jacfwd(nbgrad.sin)(x), False),
        (lambda x, w: jacfwd(nbgrad.sin)(w), True),
        (lambda x, w: grad(lambda z: grad(number)(x).sum() * z.sum())(x), False),
        (lambda x, w: hessian(number)(x), False),
        (lambda x, w: jvp(nbgrad.sin, (x,), (x,))[1], False),
        (lambda x, w: jvp(nbgrad.sin, (x,), (w,))[1], True),
    ],
)
def test_history_of_results(program, wanted):
    """Results are recorded where they depend on something that the user differentiates, and nowhere else."""
    x, w = wave(3), wave(3).requires_grad_()
    assert program(x, w).requires_grad is wanted
    with nbgrad.no_grad():
        assert not program(x, w).requires_grad


def test_gradients_reach_through_transforms():
    """A penalty on an inner gradient has the gradient of the formula."""
    w = wave(3).requires_grad_()
    x = wave(3) + 2
    penalty = grad(lambda z: (z * z * w).sum())(x).square().sum()
    near(nbgrad.grad(penalty, w)[0], 8 * x * x * w)


def test_grad_mode_inside_and_outside():
    """no_grad around a transform does not switch it off; inside it hides what it computes."""
    x = wave(3)
    with nbgrad.no_grad():
        near(grad(lambda z: z.square().sum())(x), 2 * x)

    def partly(z):
        with nbgrad.no_grad():
            hidden = z.square()
        return (z * hidden).sum()

    near(grad(partly)(x), x.square())


def test_transforms_work_in_inference_mode():
    """Derivatives are computed of inference tensors too, where nothing is recorded otherwise."""
    with nbgrad.inference_mode():
        x = wave(3) * 1
        found = [grad(number)(x), vjp(nbgrad.sin, x)[1](x)[0], jvp(nbgrad.sin, (x,), (x,))[1], vmap(grad(nbgrad.sin))(x)]
    near(found[0], finite_differences(number, x))
    for got, want in zip(found[1:], (x.cos() * x, x.cos() * x, x.cos())):
        near(got, want)


def test_transforms_record_with_copies_of_inference_tensors():
    """What a function captures or makes in inference mode is saved as it was then; later writes do not reach its derivatives."""
    with nbgrad.inference_mode():
        y = wave(3) * 2
    before, x = y.clone(), wave(3)

    class Scaled(nbgrad.autograd.Function):
        @staticmethod
        def forward(ctx, u, factor):
            ctx.save_for_backward(factor)
            return u * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    near(grad(lambda u: Scaled.apply(u * u, y).sum())(x), 2 * x * before)
    for f in (lambda u: (u * u * y).sum(), lambda u: (u * u)[None].matmul(y).sum()):
        near(grad(f)(x), 2 * x * before)
        near(hessian(f)(x), nbgrad.diag(2 * before))
    near(vmap(grad(lambda u, v: u.square() * v), (0, 0))(x, y), 2 * x * before)
    _, pull = vjp(lambda u: u * y, x)
    with nbgrad.inference_mode():
        near(grad(lambda u: grad(lambda v: (v**3 * y).sum())(u).sum())(x), 6 * x * before)
        y.zero_()
    near(pull(nbgrad.ones(3, dtype=nbgrad.float64))[0], before)
    with pytest.raises(RuntimeError, match="inference"):
        grad(lambda u: y.mul_(u).sum())(x)


def test_arguments_are_left_alone():
    """A transform sets neither requires_grad nor grad of what it is given."""
    x = wave(3)
    grad(number)(x), vjp(number, x), jvp(number, (x,), (x,)), hessian(number)(x)
    assert not x.requires_grad and x.grad is None


# ---- forward mode ----------------------------------------------------------------------------------------------------


def test_products_with_tangents():
    """jvp takes and returns structures; what does not depend on the primals has zeros, or is refused."""
    x, t = wave(3), wave(3) * 2
    output, tangents = jvp(lambda x, d: {"y": x * d["z"], "c": nbgrad.ones(2)}, (x, {"z": x}), (t, {"z": t}))
    near(output["y"], x * x)
    near(tangents["y"], 2 * x * t)
    near(tangents["c"], nbgrad.zeros(2))
    with pytest.raises(RuntimeError, match="strict"):
        jvp(lambda x: nbgrad.ones(2), (x,), (t,), strict=True)
    _, product, aux = jvp(lambda x: (x.square(), x), (x,), (t,), has_aux=True)
    near(product, 2 * x * t)
    near(aux, x)


def writes(x):
    """A function that fills new tensors through views."""
    out = nbgrad.zeros(4, dtype=nbgrad.float64)
    out[0] = x[1] * 2
    out[1:] = x.sin()
    part = out[1:]
    part.mul_(x)
    return out


@pytest.mark.parametrize(
    "derivative, other",
    [(jacfwd, jacrev), (hessian, lambda f: jacrev(jacrev(f))), (lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacrev(f)))],
)
def test_tangents_are_written_to_new_tensors(derivative, other):
    """In forward mode only tangents are batches: a new tensor, the same for all of them, may be written to."""
    x = wave(3)
    near(derivative(writes)(x), other(writes)(x))


def test_tangents_of_a_batch_are_views_of_one_another():
    """A batch of tangents of one value: a view of a tensor has the view of its base's tangent, also after a write."""
    primal, directions = wave(2, 2), wave(5, 2, 2)

    def written(t):
        with nbgrad.forward_ad.dual_level():
            base = nbgrad.zeros(2, 2, dtype=nbgrad.float64)
            view = base.view_as(base)
            view.copy_(nbgrad.forward_ad.make_dual(primal, t))
            return tuple(nbgrad.forward_ad.unpack_dual(x).tangent for x in (base, view))

    for tangents in vmap(written)(directions):
        near(tangents, directions)


def test_tangents_meet_batches():
    """A dual tensor whose tangents are a batch, beside values of the same batch: their elements belong together."""
    x, t, y = wave(3), wave(5, 3), wave(5, 3) + 1

    def product(t, y):
        return jvp(lambda x: (x * y).sum() + nbgrad.outer(x, y).sum(0)[0], (x,), (t,))[1]

    near(vmap(product)(t, y), nbgrad.stack([product(a, b) for a, b in zip(t, y)]))


def test_linearize_runs_the_function_once():
    """Products of many tangents, and batches of them, from one run."""
    calls = []

    def function(x):
        calls.append(None)
        return x.sin(), x.sum()

    x = wave(3)
    output, push_forward = linearize(function, x)
    for t in (x, x * 2):
        near(push_forward(t)[0], x.cos() * t)
    batch = wave(4, 3)
    near(vmap(push_forward)(batch)[1], batch.sum(1))
    assert len(calls) == 1


def test_products_of_one_linearisation_can_be_differentiated():
    """Every product of the same function: by tangents, inside of other transforms, and by primals that require grad."""
    x, t = wave(3), wave(3) + 1
    _, push_forward = linearize(lambda x: x**3, x)
    for _ in range(3):
        near(push_forward(t), 3 * x**2 * t)
        direction = t.clone().requires_grad_()
        near(nbgrad.grad(push_forward(direction).sum(), direction)[0], 3 * x**2)
        near(jvp(push_forward, (t,), (x,))[1], 3 * x**3)
        near(grad(lambda t: push_forward(t).sum())(t), 3 * x**2)
        with nbgrad.no_grad():
            near(push_forward(t * 2), 6 * x**2 * t)
    point = x.clone().requires_grad_()
    _, push_forward = linearize(lambda x: x**3, point)
    for _ in range(3):
        near(nbgrad.grad(push_forward(t).sum(), point)[0], 6 * x * t)
        near(grad(lambda x: linearize(lambda y: y**3, x)[1](t).sum())(x), 6 * x * t)


@pytest.mark.parametrize("cut", [lambda x, w: w[1:], lambda x, w: x[1:]], ids=["captured", "made inside"])
def test_a_view_made_under_no_grad_is_constant(cut):
    """It says that gradients flow, as its base does, and none do: cotangents of other outputs alone come back, or zeros."""
    w = wave(3).requires_grad_()

    def function(x):
        with nbgrad.no_grad():
            view = cut(x * 1, w)
        return view, x * 2

    _, pull_back = vjp(function, wave(3))
    near(pull_back(nbgrad.ones(2, dtype=nbgrad.float64), wave(3))[0], wave(3) * 2)
    near(jacrev(lambda x: function(x)[0])(wave(3)), nbgrad.zeros(2, 3))


# ---- Jacobians -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", JACOBIANS)
def test_structure_of_jacobians(name):
    """Outputs outside, arguments inside, shapes one after the other."""
    x, y = wave(2), wave(3)
    found = JACOBIANS[name](lambda x, d: {"outer": nbgrad.outer(x, d["y"]), "x": (x * 2,)}, (0, 1))(x, {"y": y})
    assert tuple(found["outer"][0].shape) == (2, 3, 2) and tuple(found["outer"][1]["y"].shape) == (2, 3, 3)
    near(found["x"][0][0], 2 * nbgrad.eye(2, dtype=nbgrad.float64))
    near(found["x"][0][1]["y"], nbgrad.zeros(2, 3))
    jacobian, aux = JACOBIANS[name](lambda x: (x.square(), x + 1), has_aux=True)(x)
    near(jacobian, 2 * nbgrad.eye(2, dtype=nbgrad.float64) * x)
    near(aux, x + 1)


@pytest.mark.parametrize("chunk_size", [1, 2, 100])
def test_chunks_of_pull_backs(chunk_size):
    """A Jacobian in parts is the same Jacobian."""
    x = wave(5)
    near(jacrev(nbgrad.sin, chunk_size=chunk_size)(x), nbgrad.eye(5, dtype=nbgrad.float64) * x.cos())


# ---- modules ---------------------------------------------------------------------------------------------------------


def test_module_as_a_function_of_its_parameters():
    """Other tensors stand in for one call; the module is as before, also after an error."""
    layer, x = nn.Linear(3, 2), nbgrad.randn(4, 3)
    given = {"weight": nbgrad.randn(2, 3), "bias": nbgrad.randn(2)}
    before = layer.weight
    near(functional_call(layer, given, x), x @ given["weight"].T + given["bias"], 1e-6)
    near(functional_call(layer, [{"weight": given["weight"]}, {"bias": given["bias"]}], (x,)), functional_call(layer, given, x))
    with pytest.raises(RuntimeError):
        functional_call(layer, {"weight": nbgrad.randn(2, 5)}, x)
    assert layer.weight is before
    slopes = grad(lambda p: functional_call(layer, p, x).square().sum())(given)
    near(slopes["bias"], 2 * functional_call(layer, given, x).sum(0), 1e-5)


def test_ensemble_of_modules():
    """One vmap over stacked parameters is a loop over the modules."""
    models, x = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)) for _ in range(3)], nbgrad.randn(5, 3)
    parameters, buffers = stack_module_state(models)
    got = vmap(lambda p: functional_call(models[0], (p, buffers), x))(parameters)
    near(got, nbgrad.stack([model(x) for model in models]), 1e-5)
    assert all(p.requires_grad and p.is_leaf for p in parameters.values())


def test_tied_parameters():
    """A tensor given under one name is used under all names of the same parameter, unless told otherwise."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2, bias=False)
            self.b = nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    model, x, w = Tied(), nbgrad.randn(3, 2), nbgrad.randn(2, 2)
    near(functional_call(model, {"a.weight": w}, x), x @ w.T @ w.T, 1e-5)
    near(functional_call(model, {"a.weight": w}, x, tie_weights=False), x @ w.T @ model.b.weight.T, 1e-5)
    with pytest.raises(ValueError, match="one tensor"):
        functional_call(model, {"a.weight": w, "b.weight": w * 2}, x)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program, error",
    [
        (lambda x: grad(nbgrad.sin)(x), RuntimeError),
        (lambda x: grad(lambda z: 1.0)(x), RuntimeError),
        (lambda x: grad(number, 1)(x), RuntimeError),
        (lambda x: grad(number, ())(x), RuntimeError),
        (lambda x: grad(number, "0")(x), RuntimeError),
        (lambda x: grad(number, (0, 0))(x), RuntimeError),
        (lambda x: grad(lambda z: z)(2.0), ValueError),
        (lambda x: grad(nbgrad.sum)(nbgrad.ones(2, dtype=nbgrad.int64)), RuntimeError),
        (lambda x: grad(number, has_aux=True)(x), RuntimeError),
        (lambda x: grad(lambda z: (z.sum(), 1), has_aux=True)(x), RuntimeError),
        (lambda x: vjp(lambda z: 1.0, x), RuntimeError),
        (lambda x: vjp(lambda z: (), x), RuntimeError),
        (lambda x: vjp(nbgrad.sin, x)[1](x[:1]), RuntimeError),
        (lambda x: vjp(nbgrad.sin, x)[1](3), TypeError),
        (lambda x: vjp(nbgrad.sin, x)[1](), TypeError),
        (lambda x: vjp(nbgrad.sin, x)[1]((x,)), RuntimeError),
        (lambda x: jvp(nbgrad.sin, x, x), RuntimeError),
        (lambda x: jvp(nbgrad.sin, (x,), (x, x)), RuntimeError),
        (lambda x: jvp(nbgrad.sin, (x,), (x[:1],)), RuntimeError),
        (lambda x: jvp(nbgrad.sin, (), ()), RuntimeError),
        (lambda x: jvp(lambda z: 1.0, (x,), (x,)), RuntimeError),
        (lambda x: jacrev(nbgrad.sin)(nbgrad.complex(x, x)), RuntimeError),
        (lambda x: jacfwd(lambda z: nbgrad.complex(z, z))(x), RuntimeError),
        (lambda x: jacrev(nbgrad.sin, chunk_size=0), ValueError),
        (lambda x: jacfwd(nbgrad.sin)(2.0), ValueError),
        (lambda x: linearize(nbgrad.sin, x)[1](x[:1]), RuntimeError),
        (lambda x: functional_call(nn.Linear(2, 2), 3, x), ValueError),
        (lambda x: functional_call(nn.Linear(2, 2), ({"weight": x}, {"weight": x}), x), ValueError),
        (lambda x: functional_call(nn.Linear(2, 2), {"weight": x}, x, strict=True), RuntimeError),
        (lambda x: stack_module_state([]), RuntimeError),
        (lambda x: stack_module_state([nn.Linear(2, 2), nn.Tanh()]), RuntimeError),
        (lambda x: stack_module_state([nn.Linear(2, 2), nn.Linear(2, 2).eval()]), RuntimeError),
    ],
)
def test_errors(program, error):
    """What does not fit is refused with torch's types of error."""
    with pytest.raises(error):
        program(wave(3))


def test_whether_transforms_are_active():
    """Libraries ask by torch's private name, inside of the functions that transforms run and outside."""
    active = nbgrad._C._are_functorch_transforms_active
    assert nbgrad.func.grad(lambda x: x * active())(nbgrad.ones(())).item() == 1.0
    assert nbgrad.vmap(lambda x: x * active())(nbgrad.ones(2)).tolist() == [1.0, 1.0]
    assert nbgrad.func.jvp(lambda x: x * active(), (nbgrad.ones(1),), (nbgrad.ones(1),))[1].tolist() == [1.0]
    assert not active() and nbgrad._C._LinAlgError is nbgrad.linalg.LinAlgError
