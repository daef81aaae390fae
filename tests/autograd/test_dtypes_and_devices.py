"""Gradients and dtypes: each gradient has the dtype and shape of its tensor; ties, broadcasting, emptiness."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import nbgrad
from tests.helpers import leaf

F16, F32, F64 = nbgrad.float16, nbgrad.float32, nbgrad.float64


def slope(f, x):
    """The gradient of ``f(x).sum()`` as a list."""
    return nbgrad.grad(f(x).sum(), x)[0].tolist()


# ---- what can require grad -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("data", [[1, 2], [True, False]], ids=["integers", "booleans"])
def test_only_floating_tensors_require_grad(data):
    """Integers and booleans refuse ``requires_grad`` at construction, as an attribute and as a method."""

    def assign():
        nbgrad.tensor(data).requires_grad = True

    for ask in (lambda: nbgrad.tensor(data, requires_grad=True), assign, lambda: nbgrad.tensor(data).requires_grad_()):
        with pytest.raises(RuntimeError):
            ask()


@pytest.mark.parametrize("dtype", [F16, nbgrad.bfloat16, F32, F64, nbgrad.complex64, nbgrad.complex128], ids=str)
def test_gradient_has_the_dtype_of_its_leaf(dtype):
    """Every differentiable dtype gets gradients of its own kind."""
    x = leaf([1.0, 2.0], dtype)
    (x * 2).backward(nbgrad.ones(2, dtype=dtype))
    assert x.grad.dtype == dtype and x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("low, high", [(F16, F32), (F32, F64), (F32, nbgrad.complex64), (nbgrad.bfloat16, F64)])
def test_promotion_and_gradients(low, high):
    """Operands of different dtypes each get their gradient in their own."""
    a, b = leaf([1.0, 2.0], low), leaf([3.0, 4.0], high)
    y = a * b
    y.backward(nbgrad.ones(2, dtype=high))
    assert (y.dtype, a.grad.dtype, b.grad.dtype) == (high, low, high)
    assert a.grad.tolist() == [3.0, 4.0] and b.grad.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [F16, F32, nbgrad.complex128], ids=str)
def test_casting_is_differentiable(dtype):
    """A cast passes the gradient back in the dtype it came from."""
    x = leaf([1.0, 2.0])
    x.to(dtype).backward(nbgrad.ones(2, dtype=dtype))
    assert x.grad.dtype == F64 and x.grad.tolist() == [1.0, 1.0]


def test_cast_to_the_same_dtype_is_the_object():
    """``to`` copies only when it has to."""
    x = leaf([1.0])
    assert x.to(F64) is x and x.double() is x and x.cpu() is x and x.to("cpu") is x


def test_cast_to_integers_does_not_require_grad():
    """Rounding to integers ends the history."""
    assert not leaf([1.5]).to(nbgrad.int64).requires_grad


def test_integer_operand_mixes_in():
    """An integer tensor beside a floating one is promoted and gets no gradient."""
    x, n = leaf([1.0, 2.0]), nbgrad.tensor([3, 4])
    (x * n).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0] and n.grad is None


def test_zero_dim_operand_gets_its_gradient_summed_and_cast():
    """A float64 scalar beside a float32 vector does not promote it, and gets a float64 scalar back."""
    x, s = leaf([1.0, 2.0], F32), leaf(3.0)
    y = x * s
    y.sum().backward()
    assert (y.dtype, s.grad.dtype, tuple(s.grad.shape), s.grad.item()) == (F32, F64, (), 3.0)


def test_half_gradients_are_rounded_at_each_accumulation():
    """2048 + 1 is not a half: accumulation in half precision loses it."""
    x = nbgrad.ones(2, dtype=F16, requires_grad=True)
    x.grad = nbgrad.full((2,), 2048.0, dtype=F16)
    (x * 1).sum().backward()
    assert x.grad.tolist() == [2048.0, 2048.0]


# ---- kinks and ties --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: x.clamp(0, 1), [0.0, 1.0, 1.0]),
        (lambda x: x.relu(), [0.0, 0.0, 1.0]),
        (lambda x: x.abs(), [-1.0, 0.0, 1.0]),
        (lambda x: x.masked_fill(x > 0, 5.0), [1.0, 1.0, 0.0]),
        (lambda x: nbgrad.where(x > 0, x * 2, x * 3), [3.0, 3.0, 2.0]),
        (lambda x: x.clamp(min=0), [0.0, 1.0, 1.0]),
        (lambda x: x.sign(), [0.0, 0.0, 0.0]),
        (lambda x: x.round(), [0.0, 0.0, 0.0]),
    ],
    ids=["clamp", "relu", "abs", "masked_fill", "where", "clamp_min", "sign", "round"],
)
def test_gradient_at_kinks(f, expected):
    """The gradients of piecewise functions at -1, 0 and 1, the bounds and the kink among them."""
    assert slope(f, leaf([-1.0, 0.0, 1.0])) == expected


@pytest.mark.parametrize(
    "f", [lambda x: x.max(), lambda x: x.amax(0), lambda x: -(-x).min(), lambda x: -(-x).amin()], ids=["max", "amax", "min", "amin"]
)
def test_full_reductions_share_among_ties(f):
    """Equal extremes of a full reduction share the gradient evenly."""
    assert slope(f, leaf([1.0, 3.0, 3.0])) == [0.0, 0.5, 0.5]


def test_max_along_a_dimension_picks_the_index_returned():
    """``max(dim)`` gives all the gradient to the element whose index it returned."""
    x = leaf([1.0, 3.0, 3.0])
    value, index = x.max(0)
    (g,) = nbgrad.grad(value, x)
    assert g[index].item() == 1.0 and g.sum().item() == 1.0


def test_maximum_splits_ties():
    """Binary ``maximum`` gives half to each of two equal operands."""
    a, b = leaf([1.0, 5.0]), leaf([1.0, 2.0])
    ga, gb = nbgrad.grad(nbgrad.maximum(a, b).sum(), [a, b])
    assert (ga.tolist(), gb.tolist()) == ([0.5, 1.0], [0.5, 0.0])


def test_where_does_not_protect_the_branch_not_taken():
    """An infinite slope in the discarded branch meets the zero gradient, as IEEE says: 0 * inf is NaN."""
    x = leaf([0.0])
    g = slope(lambda x: nbgrad.where(x > 0, x.sqrt(), nbgrad.zeros(1, dtype=F64)), x)
    assert math.isnan(g[0])


# ---- shapes ----------------------------------------------------------------------------------------------------------
def test_broadcast_operands_get_gradients_of_their_own_shape():
    """Gradients are summed over the axes that broadcasting stretched or added."""
    a, b = nbgrad.ones(2, 1, dtype=F64, requires_grad=True), nbgrad.ones(3, dtype=F64, requires_grad=True)
    (a * b * nbgrad.ones(4, 2, 3, dtype=F64)).sum().backward()
    assert a.grad.tolist() == [[12.0], [12.0]] and b.grad.tolist() == [8.0, 8.0, 8.0]


def test_empty_tensors_take_part():
    """The sum over nothing is zero, and its gradient is empty."""
    x = nbgrad.ones(0, 3, dtype=F64, requires_grad=True)
    y = (x * 2).sum()
    y.backward()
    assert y.item() == 0.0 and tuple(x.grad.shape) == (0, 3)


def test_empty_sum_broadcast_into_a_gradient():
    """An operand broadcast to an empty result gets zeros, not nothing."""
    s = leaf([2.0])
    (s * nbgrad.ones(0, 1, dtype=F64)).sum().backward()
    assert s.grad.tolist() == [0.0]


# ---- leaving the graph -----------------------------------------------------------------------------------------------
def test_numpy_of_a_tensor_that_requires_grad():
    """An array cannot carry the history, so the user must detach first."""
    with pytest.raises(RuntimeError):
        leaf([1.0]).numpy()


def test_item_and_tolist_need_no_detach():
    """Plain Python values can be read from recorded tensors."""
    x = leaf([1.0, 2.0])
    assert (x * 2).tolist() == [2.0, 4.0] and (x * 2).sum().item() == 6.0


def test_deepcopy_of_a_leaf():
    """A copied leaf keeps ``requires_grad`` and a copy of ``.grad``, on memory of its own."""
    x = leaf([1.0, 2.0])
    (x * 2).sum().backward()
    c = copy.deepcopy(x)
    x.grad.zero_()
    assert c.is_leaf and c.requires_grad and c.grad.tolist() == [2.0, 2.0] and c.data_ptr() != x.data_ptr()


def test_deepcopy_of_a_non_leaf():
    """A recorded tensor cannot be deep-copied, for its history would be shared."""
    with pytest.raises(RuntimeError):
        copy.deepcopy(leaf([1.0]) * 2)


def test_tensor_of_a_tensor_copies_and_detaches():
    """``nbgrad.tensor(t)`` warns, copies and forgets the history."""
    x = leaf([1.0])
    with pytest.warns(UserWarning):
        t = nbgrad.tensor(x)
    assert not t.requires_grad and t.data_ptr() != x.data_ptr()


def test_clone_keeps_history():
    """``clone`` is differentiable and shares no memory."""
    x = leaf([1.0])
    c = x.clone()
    (c * 3).sum().backward()
    assert c.data_ptr() != x.data_ptr() and x.grad.tolist() == [3.0]


def test_truth_of_a_tensor():
    """A tensor of one element has a truth value; one of several has none."""
    x = leaf([1.0, 2.0])
    assert bool(x[0] > 0)
    with pytest.raises(RuntimeError):
        bool(x > 0)


def test_array_of_a_detached_tensor_shares_its_memory():
    """``detach().numpy()`` is a window on the same elements, in both directions."""
    x = leaf([1.0, 2.0])
    array = x.detach().numpy()
    array[0] = 7.0
    with nbgrad.no_grad():
        x[1] = 9.0
    assert x.tolist() == [7.0, 9.0] == array.tolist()


def test_detached_clone_is_apart():
    """``detach().clone()`` has neither the memory nor the history."""
    x = leaf([1.0])
    y = x * 2
    c = y.detach().clone()
    c.zero_()
    assert not c.requires_grad and c.is_leaf and y.tolist() == [2.0]


def test_asking_for_the_truth_is_not_recorded():
    """A branch on a value leaves no trace: the graph holds what the branch computed."""
    x = leaf(2.0)
    y = x * 3 if x > 0 else x * 5
    assert not (x > 0).requires_grad and y.grad_fn.next_functions[0][0].variable is x
    y.backward()
    assert x.grad.item() == 3.0


@pytest.mark.parametrize("number, dtype", [(2.5, F32), (1j, nbgrad.complex64), (7, F32)])
def test_numbers_do_not_raise_the_precision_of_recorded_tensors(number, dtype):
    """A Python number changes the category at most; the gradient stays in the leaf's dtype."""
    x = leaf([2.0], F32)
    y = x * number
    y.backward(nbgrad.ones(1, dtype=dtype))
    assert y.dtype is dtype and x.grad.dtype is F32 and x.grad.tolist() == [complex(number).real]


# ---- numbers beside tensors ------------------------------------------------------------------------------------------
BF16, C128 = nbgrad.bfloat16, nbgrad.complex128


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: 2**x, 2**0.5 * math.log(2)),
        (lambda x: nbgrad.xlogy(x, 2), math.log(2)),
        (lambda x: nbgrad.special.xlog1py(x, 2), math.log(3)),
        (lambda x: x**3, 0.75),
        (lambda x: 3 / x, -12.0),
    ],
)
def test_recorded_gradients_beside_whole_numbers_are_double(f, expected):
    """A Python int in a cotangent that is recorded does not round it to the default dtype."""
    x = leaf(0.5)
    (recorded,) = nbgrad.grad(f(x), x, create_graph=True)
    assert recorded.item() == pytest.approx(expected, rel=1e-15)


W = 0.1 + 0.3j


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z * W,
        lambda z: z / W,
        lambda z: W / z,
        lambda z: z**W,
        lambda z: W**z,
        lambda z: 2**z,
        lambda z: nbgrad.add(z, z, alpha=W),
        lambda z: nbgrad.lerp(z, z * 2, W),
        lambda z: nbgrad.addcmul(z, z, z, value=W),
        lambda z: nbgrad.addmm(z, z, z, alpha=W, beta=2 * W),
        lambda z: nbgrad.baddbmm(z[None], z[None], z[None], beta=W, alpha=W),
    ],
)
def test_recorded_gradients_beside_complex_numbers_are_double(f):
    """Recorded or not, a complex gradient is the same to the last digits of a double."""
    z = leaf([[1 + 2j]], C128)
    out = f(z)
    (recorded,) = nbgrad.grad(out, z, nbgrad.ones_like(out), create_graph=True)
    (plain,) = nbgrad.grad(f(z), z, nbgrad.ones_like(out))
    assert abs(recorded.item() - plain.item()) <= 1e-14 * abs(plain.item())


def test_jvp_of_a_gradient_beside_a_complex_number_is_double():
    """Forward over reverse folds numbers in the widest dtype too."""
    z = nbgrad.tensor(1.0, dtype=C128)
    out, _ = nbgrad.func.jvp(nbgrad.func.grad(lambda z: (z * W).real), (z,), (nbgrad.ones_like(z),))
    assert out.item() == W.conjugate()


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
@pytest.mark.parametrize("number", [0.1, nbgrad.tensor(0.1), nbgrad.tensor(0.1, dtype=F64)], ids=["number", "float32", "float64"])
def test_half_tensors_meet_numbers_in_their_dtype(dtype, number):
    """A half tensor made of 0.1 equals 0.1: the number beside it is rounded as its elements are."""
    x = nbgrad.tensor([0.1], dtype=dtype)
    assert (x == number).item() and (x <= number).item() and not (x > number).item() and not (number != x).item()
    for nothing in (x - number, number - x, x + number - x - number, nbgrad.fmod(x, number), nbgrad.sign(x - number)):
        assert nothing.item() == 0.0
    assert x.masked_fill(x == number, 7.0).item() == 7.0
    assert nbgrad.where(x > 1, x, number).item() == x.item()
    assert x.clone().sub_(number).item() == 0.0


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_half_gradients_choose_the_branch_of_the_result(dtype):
    """At a limit that the half type rounds, clamp's gradient and hardshrink's are those of the limit itself, recorded too."""
    x = leaf([0.1], dtype)
    for f, expected in (
        (lambda x: x.clamp(min=0.1), 1.0),
        (lambda x: x.clamp(max=0.1), 1.0),
        (lambda x: nbgrad.nn.functional.hardshrink(x, 0.1), 0.0),
    ):
        for create_graph in (False, True):
            assert nbgrad.grad(f(x).sum(), x, create_graph=create_graph)[0].item() == expected


def test_factors_of_half_tensors_keep_their_precision():
    """Products and quotients by a number, slopes and steps are rounded once, in the result."""
    x = nbgrad.tensor([3.0, 5.0, -7.0], dtype=BF16)
    wide = x.float()
    for f in (
        lambda x: x * 0.1,
        lambda x: x / 0.3,
        lambda x: 0.3 / x,
        lambda x: nbgrad.nn.functional.leaky_relu(x, 0.013),
        lambda x: nbgrad.lerp(x, x * 2, 0.3),
        lambda x: nbgrad.addcmul(x, x, x, value=0.3),
    ):
        assert f(x).tolist() == f(wide).to(BF16).tolist()


def test_integers_beside_half_tensors_are_rounded_first():
    """257 is 256 in bfloat16, whatever is computed with it."""
    assert (nbgrad.tensor([257]) - nbgrad.tensor([256.0], dtype=BF16)).item() == 0.0


def test_results_of_half_operands_are_rounded_before_a_wider_out():
    """``out=`` of a wider dtype gets what the result without it is."""
    x = nbgrad.tensor([0.1, 0.3], dtype=BF16)
    for f in (nbgrad.acos, nbgrad.exp, nbgrad.sin):
        assert f(x, out=nbgrad.empty(2, dtype=F64)).tolist() == f(x).tolist()
    assert nbgrad.add(x, 0.1, out=nbgrad.empty(2)).tolist() == (x + 0.1).tolist()


@pytest.mark.parametrize("dtype", [nbgrad.uint8, nbgrad.int32, F32], ids=str)
def test_sums_of_truth_values_are_truth_values_in_any_out(dtype):
    """True + True is True, hence 1 in an ``out=`` of numbers."""
    x = nbgrad.tensor([True])
    assert nbgrad.add(x, x, out=nbgrad.zeros(1, dtype=dtype)).item() == 1
    assert nbgrad.add(x, x, alpha=2).dtype is nbgrad.bool and nbgrad.addr(x[None], x, x, alpha=2, beta=3).dtype is nbgrad.bool


def test_recorded_half_gradients_are_computed_in_single():
    """The recorded gradient of a half tensor does not overflow on the way: gelu's inner cube at 300."""
    x = leaf([100.0, 300.0], F16)
    (g,) = nbgrad.grad(nbgrad.nn.functional.gelu(x, approximate="tanh").sum(), x, create_graph=True)
    assert g.dtype is F16 and g.tolist() == [1.0, 1.0]
    assert nbgrad.grad(g.sum(), x)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: nbgrad.nn.functional.layer_norm(x, (4,)),
        lambda x: nbgrad.nn.functional.group_norm(x, 1),
        lambda x: nbgrad.nn.functional.instance_norm(x[None]),
        lambda x: nbgrad.nn.functional.rms_norm(x, (4,)),
        lambda x: nbgrad.nn.functional.batch_norm(x.T, None, None, training=True),
        lambda x: x.norm(4),
        lambda x: x.norm(3, 1),
        lambda x: nbgrad.linalg.vector_norm(x, 2.5),
        lambda x: nbgrad.dist(x, x * 0, 4),
    ],
)
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_norms_of_half_types_are_computed_in_single(f, dtype):
    """Squares and powers that overflow a half do not: value and gradient are those of float32, rounded."""
    x = leaf([[300.0, -400.0, 20.0, 396.0]], dtype)
    wide = x.detach().float().requires_grad_()
    out, expected = f(x), f(wide)
    assert out.dtype is dtype and out.tolist() == expected.to(dtype).tolist()
    cotangent = nbgrad.arange(1.0, 1.0 + out.numel()).reshape(out.shape)
    (g,) = nbgrad.grad(out, x, (300 * cotangent).to(dtype))
    (e,) = nbgrad.grad(expected, wide, 300 * cotangent)
    assert g.dtype is dtype and g.float().allclose(e, rtol=2e-2, atol=2e-2 * e.abs().max().item())


@pytest.mark.parametrize("number", [2**63, -(2**64), 2**1100, 10**5000], ids=["63", "64", "1100", "16610"])
def test_numbers_that_fit_no_dtype_are_errors_of_the_house(number):
    """An int beyond int64 beside integers, or beyond float64, is refused by name; so is it the second time."""
    x = nbgrad.tensor([1, 2])
    for f in (
        lambda: x + number,
        lambda: number * x,
        lambda: x == number,
        lambda: x.add_(number),
        lambda: nbgrad.add(x, x, alpha=number),
    ):
        for _ in range(2):
            with pytest.raises(nbgrad.NumberError):
                f()
    assert x.tolist() == [1, 2]


def test_two_numbers_are_two_zero_dim_tensors():
    """Arithmetic of numbers gives a 0-d tensor; what else is given no tensor says so."""
    for f, expected in ((nbgrad.mul, 12), (nbgrad.add, 7), (nbgrad.sub, -1), (nbgrad.div, 0.75)):
        assert f(3, 4).item() == expected and f(3, 4).dtype is (nbgrad.float32 if f is nbgrad.div else nbgrad.int64)
    for other in (nbgrad.maximum, nbgrad.pow, nbgrad.eq):
        with pytest.raises(nbgrad.ArgumentError):
            other(1, 2)


def test_negative_numbers_wrap_in_uint8_wherever_they_are_written():
    """-1 is 255, as torch has it; what does not fit once wrapped is refused."""

    def zeros():
        return nbgrad.zeros(3, dtype=nbgrad.uint8)

    def put(x, index, value):
        x[index] = value
        return x

    mask, first = nbgrad.tensor([True, False, False]), nbgrad.tensor([0])
    writes = (
        lambda v: put(zeros(), 0, v),
        lambda v: put(zeros(), [0], v),
        lambda v: put(zeros(), mask, v),
        lambda v: put(zeros(), slice(0, 1), v),
        lambda v: zeros().masked_fill_(mask, v),
        lambda v: zeros().masked_fill(mask, v),
        lambda v: zeros().index_fill_(0, first, v),
        lambda v: zeros().scatter_(0, first, v),
    )
    for write in writes:
        assert write(-2).tolist() == [254, 0, 0]
        for number in (256, -256):
            with pytest.raises(nbgrad.NbgradError):
                write(number)
    assert zeros().fill_(-2).tolist() == nbgrad.full((3,), -2, dtype=nbgrad.uint8).tolist() == [254] * 3


def test_another_default_dtype_reaches_calls_that_are_known():
    """Plans made under one default dtype are forgotten under the next: quotients of integers, numbers beside them, in all modes."""
    x = nbgrad.tensor([1, 2])
    calls = (
        nbgrad.exp,
        lambda x: x / 2,
        lambda x: x * 1.5,
        lambda x: nbgrad.where(x > 1, x, 0.5),
        lambda x: x.clamp(0.5),
        lambda x: nbgrad.logsumexp(x, 0),
        lambda x: nbgrad.mul(1.5, x),
    )

    def dtypes():
        with nbgrad.inference_mode():
            inside = {f(x).dtype for f in calls}
        return {f(x).dtype for f in calls} | inside

    assert dtypes() == dtypes() == {F32}
    nbgrad.set_default_dtype(F64)
    try:
        assert dtypes() == {F64}
    finally:
        nbgrad.set_default_dtype(F32)
    assert dtypes() == {F32}


def test_logsumexp_of_integers_is_of_the_default_dtype():
    """As all functions of integers that are not whole."""
    for data in ([[1, 2], [3, 4]], [[True, False], [True, True]]):
        x = nbgrad.tensor(data)
        assert nbgrad.logsumexp(x, 0).dtype is F32
        assert nbgrad.logsumexp(x, (0, 1), True).tolist() == nbgrad.logsumexp(x.float(), (0, 1), True).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: nbgrad.add(x, x, out=out),
        lambda x, out: nbgrad.exp(x, out=out),
        lambda x, out: nbgrad.sum(x, 0, out=out),
        lambda x, out: nbgrad.mm(x, x, out=out),
        lambda x, out: nbgrad.cat([x, x], out=out),
        lambda x, out: nbgrad.clamp(x, 1, out=out),
        lambda x, out: nbgrad.where(x > 1, x, 0, out=out),
        lambda x, out: nbgrad.cumsum(x, 0, out=out),
        lambda x, out: nbgrad.sum(x, out=out),
    ],
)
@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0)])
def test_an_empty_out_takes_the_shape_of_the_result(call, shape):
    """Once; the next call finds it fitting, and one that has elements is refused if it does not fit."""
    x = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = nbgrad.empty(shape)
    expected = call(x, nbgrad.empty(0)).clone()
    assert call(x, out) is out and out.tolist() == expected.tolist()
    assert call(x, out.zero_()) is out and out.tolist() == expected.tolist()
    with pytest.raises(nbgrad.ShapeError):
        call(x, nbgrad.empty(7))


def test_an_empty_out_of_several_results():
    """Each of them takes the shape of its result."""
    out = nbgrad.empty(0), nbgrad.empty(0, dtype=nbgrad.int64)
    values, indices = nbgrad.max(nbgrad.tensor([[1.0, 2.0], [3.0, 0.0]]), 0, out=out)
    assert values is out[0] and values.tolist() == [3.0, 2.0] and indices is out[1] and indices.tolist() == [1, 0]


@pytest.mark.parametrize(
    "divide",
    [
        lambda x, y: x // y,
        lambda x, y: x % y,
        nbgrad.fmod,
        lambda x, y: x.clone().floor_divide_(y),
        lambda x, y: nbgrad.div(x, y, rounding_mode="trunc"),
    ],
)
def test_a_divisor_that_is_0_in_the_dtype_is_refused(divide):
    """256 is 0 as uint8: the kernel would divide by that. It is refused, too, once other numbers have passed."""
    x = nbgrad.tensor([1, 200], dtype=nbgrad.uint8)
    for divisor in (0, 256, -512, nbgrad.tensor(256), nbgrad.tensor(0)):
        divide(x, 3)
        with pytest.raises(nbgrad.DivisionError):
            divide(x, divisor)
    assert divide(x, 257).tolist() == divide(x, 1).tolist()


# ---- steps of recorded cotangents ------------------------------------------------------------------------------------
MIXED = {
    "real base, complex power": (nbgrad.pow, (-0.6, "float64"), (1j, "complex128")),
    "integer base": (nbgrad.pow, (3, "int64"), (0.5, "float64")),
    "integer beside a logarithm": (nbgrad.xlogy, (3, "int64"), (0.7, "float64")),
    "single beside double": (nbgrad.pow, (0.3, "float32"), (0.7, "float64")),
    "half beside double": (nbgrad.atan2, (0.3, "float16"), (0.7, "float64")),
}


@pytest.mark.parametrize("name", MIXED)
def test_recorded_cotangents_compute_in_the_dtype_of_the_call(name):
    """Operands of two dtypes: a recorded cotangent is what the kernel computes, to the last digits of the wider one."""
    op, *operands = MIXED[name]
    x, y = (nbgrad.tensor([value], dtype=getattr(nbgrad, dtype)) for value, dtype in operands)
    wanted = [z.requires_grad_() for z in (x, y) if z.dtype.differentiable]
    out = op(x, y)
    plain = nbgrad.grad(out, wanted, nbgrad.ones_like(out), retain_graph=True)
    recorded = nbgrad.grad(out, wanted, nbgrad.ones_like(out), create_graph=True)
    for g, again in zip(plain, recorded):
        np.testing.assert_allclose(again.detach().numpy(), g.numpy(), rtol=4 * nbgrad.finfo(g.dtype).eps)
