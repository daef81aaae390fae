"""What counts as a constant to the derivatives: nothing that they could depend on, or it is refused.

A result without history, of operands that gradients flow into, is a derivative that is missing in silence.
"""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.modes.batched import Batched
from nbgrad.ops.core import OPS
from tests.samples import SAMPLES
from tests.samples.checking import flatten, holds_numbers, run, with_one

F = nbgrad.nn.functional

# ``{operation: {(operand, result)}}`` without history: the derivative is 0 by nature. Of ``None`` all results.
SHAPE = {(1, None)}  # of the second operand only the shape is looked at
ZERO = {
    "detach_copy": {(0, None)},
    "dropout_mask": {(0, None)},
    "expand_as": SHAPE,
    "reshape_as": SHAPE,
    "view_as": SHAPE,
    "histc": {(0, None)},
    "bin_counts": {(0, None)},  # counts
    "linalg_lu": {(0, 0)},
    "lu_unpack": {(0, 0)},  # a permutation
    "broadcast_tensors": {(0, 1), (1, 0)},
    "meshgrid": {(0, 1), (1, 0)},
    "triangular_solve": {(0, 1)},  # the other operand's
    "attention_cotangents": {(3, 2)},
    "attention_masked_cotangents": {(3, 2)},  # linear in the values
    "max_pool_spread": {(1, None)},
    "max_pool_pick": {(1, None)},  # the second operand only says where
    "channel_cotangents": {(2, 1), (1, 2), (2, 2), (3, 2)},  # as of those of rows, which find their moments
    "standardise_cotangents": {(2, 1), (1, 2), (2, 2)},  # of a weight nothing depends on it, of a bias on the cotangent alone
}
# In forward mode there is no tangent where reverse mode has zeros.
ZERO_TANGENT = {"slogdet": {(0, 0)}, "linalg_slogdet": {(0, 0)}, "nextafter": SHAPE, "adjacent": SHAPE}


def missing(name: str, prepare, has_history, zero: dict) -> list[str]:
    """The results of the samples' calls that depend on an operand and do not show it."""
    row, found = SAMPLES[name], []
    for call in row.calls:
        arrays = row.arrays(call)
        for which in range(sum(map(holds_numbers, flatten(arrays)))):
            try:
                out = run(row, with_one(arrays, which, prepare), call)
            except nbgrad.NotSupportedError:
                continue
            for k, x in enumerate(y for each in out for y in (each if isinstance(each, (tuple, list)) else (each,))):
                if isinstance(x, nbgrad.Tensor) and x.dtype.differentiable and x.numel() and not has_history(x):
                    if not {(which, k), (which, None)} & zero.get(name, set()):
                        found.append(f"{name}{call}: result {k} by operand {which}")
    return found


CALLED = sorted(
    name for name, row in SAMPLES.items() if row.reference is not None and getattr(OPS[name], "policy", "") != "integer"
)


@pytest.mark.part(2, 0)
@pytest.mark.parametrize("name", CALLED)
def test_every_result_requires_grad(name):
    """In reverse mode: it does where an operand does, unless its derivative is 0 by nature."""
    assert not missing(name, lambda x: x.requires_grad_(), lambda x: x.requires_grad, ZERO)


@pytest.mark.part(2, 1)
@pytest.mark.parametrize("name", CALLED)
def test_every_result_has_a_tangent(name):
    """In forward mode: it has one where an operand has."""
    with dual_level():
        assert not missing(
            name,
            lambda x: make_dual(x, nbgrad.ones_like(x)),
            lambda x: unpack_dual(x).tangent is not None,
            {**ZERO, **ZERO_TANGENT},
        )


# ---- results of work on arrays ---------------------------------------------------------------------------------------

X = [1.0, 2.0, 2.0]
REFUSED = {
    "unique": lambda x: nbgrad.unique(x),
    "unique with counts": lambda x: nbgrad.unique(x, return_counts=True)[0],
    "unique by dim": lambda x: nbgrad.unique(x.expand(2, 3), dim=0),
    "method": lambda x: x.unique(),
    "unique_consecutive": lambda x: nbgrad.unique_consecutive(x),
    "neighbours by dim": lambda x: x.unique_consecutive(dim=0),
    "bincount": lambda x: nbgrad.bincount(nbgrad.tensor([0, 1, 1]), weights=x),
    "histogram": lambda x: nbgrad.histogram(x, 2).hist,
    "edges": lambda x: nbgrad.histogram(x, 2).bin_edges,
    "weights": lambda x: nbgrad.histogram(x.detach(), 2, weight=x).hist,
    "given edges": lambda x: nbgrad.histogram(x.detach(), x.unsqueeze(0)[0]).hist,
}


@pytest.mark.parametrize("of", REFUSED)
def test_results_of_arrays_refuse_to_be_differentiated(of):
    """Inside of a larger loss too, in both modes and by transforms; detached, or where nothing is recorded, they are constants."""
    x = nbgrad.tensor(X, requires_grad=True)
    y = REFUSED[of](x)
    assert y.requires_grad and y.grad_fn.next_functions
    with pytest.raises(nbgrad.NotSupportedError, match="no derivative"):
        (y.sum() + x.sum()).backward()
    with pytest.raises(nbgrad.NotSupportedError, match="no derivative"):
        nbgrad.func.jvp(lambda x: REFUSED[of](x).sum() + x.sum(), (x.detach(),), (x.detach(),))
    with pytest.raises(nbgrad.NotSupportedError, match="no derivative"):
        nbgrad.func.grad(lambda x: REFUSED[of](x).sum() + x.sum())(x.detach())
    with nbgrad.no_grad():
        constant = REFUSED[of](x)
    assert not constant.requires_grad and constant.tolist() == y.tolist() == REFUSED[of](x.detach()).tolist()


def test_counts_and_places_of_unique_elements_require_no_grad():
    """Integers have no derivative, beside values that refuse theirs."""
    values, inverse, counts = nbgrad.unique(nbgrad.tensor(X, requires_grad=True), return_inverse=True, return_counts=True)
    assert (values.requires_grad, inverse.requires_grad, counts.requires_grad) == (True, False, False)
    assert (values.grad_fn.name(), counts.tolist()) == ("Unique2Backward0", [1, 2])


def test_the_next_number_moves_with_the_first():
    """nextafter: its derivative by input is 1, 0 where both are equal; by other 0."""
    x, y = (nbgrad.tensor(data, requires_grad=True) for data in ([1.0, 2.0, 3.0], [2.0, 2.0, 1.0]))
    gx, gy = nbgrad.grad(nbgrad.nextafter(x, y).sum(), (x, y))
    assert (gx.tolist(), gy.tolist()) == ([1.0, 0.0, 1.0], [0.0, 0.0, 0.0])
    _, tangent = nbgrad.func.jvp(nbgrad.nextafter, (x.detach(), y.detach()), (nbgrad.full((3,), 5.0), nbgrad.full((3,), 7.0)))
    assert tangent.tolist() == [5.0, 0.0, 5.0]


def test_singular_values_of_least_squares_have_a_derivative():
    """``lstsq(...).singular_values`` are those of ``svdvals``, and so are their gradients."""
    a, b = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], requires_grad=True), nbgrad.ones(3, 1)
    (found,) = nbgrad.grad(nbgrad.linalg.lstsq(a, b, driver="gelsd").singular_values.sum(), a)
    (wanted,) = nbgrad.grad(nbgrad.linalg.svdvals(a).sum(), a)
    assert found.tolist() == wanted.tolist()


# ---- tensors where numbers belong ------------------------------------------------------------------------------------


def three_numbers() -> nbgrad.Tensor:
    """Some numbers."""
    return nbgrad.tensor([0.3, 2.0, 2.0])


NUMBERS = {
    "add": lambda x, s: nbgrad.add(x, x, alpha=s),
    "sub": lambda x, s: x.sub(x, alpha=s),
    "add_": lambda x, s: x.add_(x * 2, alpha=s),
    "addcmul": lambda x, s: nbgrad.addcmul(x, x, x, value=s),
    "addcdiv": lambda x, s: nbgrad.addcdiv(x, x, x, value=s),
    "leaky_relu": lambda x, s: F.leaky_relu(x, s),
    "leaky_relu_": lambda x, s: F.leaky_relu(x, s, inplace=True),
    "elu": lambda x, s: F.elu(x, s),
    "celu": lambda x, s: F.celu(x, s),
    "hardshrink": lambda x, s: F.hardshrink(x, s),
    "softshrink": lambda x, s: F.softshrink(x, s),
    "hardtanh": lambda x, s: F.hardtanh(x, s, 3.0),
    "softplus": lambda x, s: F.softplus(x, s),
    "threshold": lambda x, s: F.threshold(x, s, 1.0),
    "threshold value": lambda x, s: F.threshold(x, 1.0, s),
    "huber_loss": lambda x, s: F.huber_loss(x, x * 2, delta=s),
    "smooth_l1_loss": lambda x, s: F.smooth_l1_loss(x, x * 2, beta=s),
    "logit": lambda x, s: nbgrad.logit(x / 3, s),
    "nan_to_num": lambda x, s: nbgrad.nan_to_num(x, s),
    "pad": lambda x, s: F.pad(x, (1, 1), value=s),
    "norm": lambda x, s: nbgrad.norm(x, s),
    "vector_norm": lambda x, s: nbgrad.linalg.vector_norm(x, s),
    "matrix_norm": lambda x, s: nbgrad.linalg.matrix_norm(x.unsqueeze(0), s),
    "dist": lambda x, s: nbgrad.dist(x, x * 2, s),
    "cdist": lambda x, s: nbgrad.cdist(x.unsqueeze(0), x.unsqueeze(0) * 2, s),
    "normalize": lambda x, s: F.normalize(x, s, 0),
    "renorm": lambda x, s: nbgrad.renorm(x.unsqueeze(0), s, 0, 1.0),
    "dropout": lambda x, s: F.dropout(x, s / 4),
    "full": lambda x, s: nbgrad.full((2,), s),
    "full_like": lambda x, s: nbgrad.full_like(x, s),
    "new_full": lambda x, s: x.new_full((2,), s),
    "scalar_tensor": lambda x, s: nbgrad.scalar_tensor(s),
    "linspace": lambda x, s: nbgrad.linspace(0, s, 3),
    "logspace": lambda x, s: nbgrad.logspace(s, 3, 3),
    "arange": lambda x, s: nbgrad.arange(s),
    "arange step": lambda x, s: nbgrad.arange(0, 3, s),
    "histc": lambda x, s: nbgrad.histc(x, 3, 0, s),
    "pinv": lambda x, s: nbgrad.linalg.pinv(x.unsqueeze(0), rtol=s),
    "embedding": lambda x, s: F.embedding(nbgrad.tensor([0]), nbgrad.ones(2, 3), max_norm=s),
    "batch_norm": lambda x, s: F.batch_norm(x.expand(2, 3), nbgrad.zeros(3), nbgrad.ones(3), training=True, momentum=s),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_is_differentiated_is_refused(name):
    """A tensor that requires grad or has a tangent is refused at once, one that is a constant is taken."""
    call, s = NUMBERS[name], nbgrad.tensor(2.0, requires_grad=True)
    with pytest.raises(nbgrad.NotSupportedError, match="there is no derivative by it"):
        call(three_numbers(), s)
    with dual_level(), pytest.raises(nbgrad.NotSupportedError, match="there is no derivative by it"):
        call(three_numbers(), make_dual(s.detach(), nbgrad.ones(())))
    with nbgrad.no_grad():
        call(three_numbers(), s)
    call(three_numbers(), s.detach())


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_not_the_first_of_a_batch(name):
    """Under ``vmap`` a batch of numbers gives a batch of results, or an error: never what the first number gives."""
    batch, seen = nbgrad.tensor([2.0, 1.5]), []

    def mapped(s):
        seen.append(NUMBERS[name](three_numbers(), s))
        return seen[0]

    try:
        nbgrad.vmap(mapped, randomness="different")(batch)
    except nbgrad.NbgradError:
        return
    assert type(seen[0]) is Batched


def test_numbers_taken_out_of_lists_are_warned_of():
    """``tensor`` of a list copies: of tensors that require grad, or are dual, it says so."""
    with pytest.warns(UserWarning, match="without their history"):
        nbgrad.tensor([nbgrad.tensor(1.0, requires_grad=True)])
    with dual_level(), pytest.warns(UserWarning, match="without their history"):
        nbgrad.tensor([make_dual(nbgrad.tensor(1.0), nbgrad.tensor(1.0))])


SETTINGS = {
    "elu": lambda x, number: F.elu(x, number(0.5)),
    "leaky_relu": lambda x, number: F.leaky_relu(x, number(0.5)),
    "threshold": lambda x, number: F.threshold(x, number(0.5), number(0.25)),
    "hardtanh": lambda x, number: F.hardtanh(x, number(-0.5), number(0.5)),
    "softplus": lambda x, number: F.softplus(x, number(2.0)),
    "softshrink": lambda x, number: F.softshrink(x, number(0.25)),
    "clamp": lambda x, number: x.clamp(0, number(0.5)),
    "clamp_": lambda x, number: x.clone().clamp_(number(0.5), 1),
    "add": lambda x, number: nbgrad.add(x, x, alpha=number(1.5)),
    "addcmul": lambda x, number: nbgrad.addcmul(x, x, x, value=number(1.5)),
    "addcdiv": lambda x, number: nbgrad.addcdiv(x, x, x, value=number(1.5)),
    "logit": lambda x, number: x.logit(number(0.125)),
    "trapezoid": lambda x, number: nbgrad.trapezoid(nbgrad.stack([x, x]), dx=number(0.5), dim=0),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_tensor_in_the_place_of_a_setting_counts_as_a_number(name, dtype, shape):
    """It decides no dtype, of results and of derivatives of any order and in every mode, whatever its own is."""
    x = nbgrad.full(shape, 0.75, dtype=getattr(nbgrad, dtype))

    def made(number):
        f = lambda x: SETTINGS[name](x, number)
        leaf = x.clone().requires_grad_()
        out = f(leaf)
        (g,) = nbgrad.grad(out.sum(), leaf, create_graph=True)
        tangents = nbgrad.func.jvp(f, (x.clone().requires_grad_(),), (x,))
        return out, g, *tangents, *nbgrad.func.jvp(f, (x,), (x,)), nbgrad.vmap(f)(nbgrad.stack([x, -x]))

    for got, expected in zip(made(lambda value: nbgrad.tensor(value, dtype=nbgrad.float64)), made(lambda value: value)):
        assert got.dtype is expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(got.detach().double().numpy(), expected.detach().double().numpy(), rtol=0.01)


def test_a_floating_setting_of_integers_gives_the_default_dtype():
    """As a float would: its own width does not matter. Activations stay with integers."""
    wide = nbgrad.tensor(1.0, dtype=nbgrad.float64)
    i = nbgrad.ones(2, dtype=nbgrad.uint8)
    assert i.clamp(0, wide).dtype is nbgrad.float32 and i.long().clamp(wide, 2).dtype is nbgrad.float32
    assert nbgrad.add(i, np.float32(1.5), alpha=wide).dtype is nbgrad.float32
    assert nbgrad.tensor(1, dtype=nbgrad.int32).clamp(0, nbgrad.tensor(1)).dtype is nbgrad.int32
    assert F.threshold(i, wide, wide).dtype is i.addcmul(i, i, value=wide).dtype is nbgrad.uint8
    assert i.addcmul(i, i, value=np.float64(2.0)).tolist() == i.addcmul(i, i, value=np.float32(2.0)).tolist() == [3, 3]
    with pytest.raises(nbgrad.DTypeError, match="value is 1.5"):
        i.addcmul(i, i, value=nbgrad.tensor(1.5))


def test_full_of_a_tensor_is_full_of_its_number():
    """Its category decides, not its width."""
    for value, dtype in ((1.0, nbgrad.float32), (1, nbgrad.int64), (True, nbgrad.bool), (1j, nbgrad.complex64)):
        for own in (nbgrad.float64, nbgrad.int32, nbgrad.bool, nbgrad.complex128):
            if own.category == dtype.category:
                assert nbgrad.full((2,), nbgrad.tensor(value, dtype=own)).dtype is dtype
                assert nbgrad.full((2,), nbgrad.tensor(value, dtype=own), dtype=nbgrad.complex128).dtype is nbgrad.complex128
