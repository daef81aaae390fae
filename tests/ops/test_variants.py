"""Options of public functions, in all their forms: function, method, in place, ``out=``."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(0)
X, Y, Z = (RNG.uniform(0.5, 3.0, (2, 3)) for _ in range(3))

# name, further operands, options, the same in NumPy.
VARIANTS = [
    ("add", (Y,), {"alpha": 3}, X + 3 * Y),
    ("add", (2.0,), {"alpha": 0.5}, X + 1.0),
    ("sub", (Y,), {"alpha": 3}, X - 3 * Y),
    ("sub", (Y,), {}, X - Y),
    ("div", (Y,), {"rounding_mode": "floor"}, X // Y),
    ("div", (-Y,), {"rounding_mode": "trunc"}, np.trunc(X / -Y)),
    ("true_divide", (Y,), {}, X / Y),
    ("clamp", (1.0, 2.0), {}, np.clip(X, 1, 2)),
    ("clip", (), {"max": 2.0}, np.minimum(X, 2)),
    ("clamp", (Y,), {}, np.maximum(X, Y)),
    ("clamp", (Y, Z), {}, np.minimum(np.maximum(X, Y), Z)),
    ("addcmul", (Y, Z), {"value": 0.5}, X + 0.5 * Y * Z),
    ("addcdiv", (Y, Z), {"value": 0.5}, X + 0.5 * Y / Z),
    ("round", (), {"decimals": 1}, np.round(X, 1)),
    ("round", (), {"decimals": -1}, np.round(X, -1)),
    ("pow", (Y,), {}, X**Y),
    *(("pow", (e,), {}, X**e) for e in (2, 0.5, 3, -1, 1, 0, 2.0, 1.7, -2)),
]


def operands(*arrays):
    """Arrays as tensors, numbers as they are."""
    return [nbgrad.tensor(x) if isinstance(x, np.ndarray) else x for x in arrays]


@pytest.mark.parametrize(("name", "others", "options", "expected"), VARIANTS, ids=lambda value: str(value)[:20])
def test_every_form(name, others, options, expected):
    """Function, method, in-place method and ``out=`` give NumPy's numbers."""
    x, *rest = operands(X, *others)
    out = nbgrad.zeros(2, 3, dtype=nbgrad.float64)
    forms = [
        getattr(nbgrad, name)(x, *rest, **options),
        getattr(x, name)(*rest, **options),
        getattr(nbgrad, name)(x, *rest, out=out, **options),
        getattr(x.clone(), name + "_")(*rest, **options),
    ]
    assert forms[2] is out
    for form in forms:
        np.testing.assert_allclose(form.numpy(), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("exponent", [2, 0.5, 3, -1, 1, 0, 1.7, -2])
def test_powers(exponent):
    """``x ** number`` has the gradient exponent * x**(exponent - 1) and torch's node name, quick form or not."""
    x = nbgrad.tensor(X, requires_grad=True)
    out = x**exponent
    assert out.grad_fn.name() == "PowBackward0"
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), exponent * X ** (exponent - 1.0), rtol=1e-13)


def test_power_of_a_number():
    """``number ** x`` has the gradient out * log(number)."""
    x = nbgrad.tensor(X, requires_grad=True)
    (2**x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2**X * np.log(2), rtol=1e-13)


def test_augmented_power():
    """``x **= 2`` squares in place."""
    x = nbgrad.tensor(X)
    y = x
    x **= 2
    assert x is y
    np.testing.assert_allclose(y.numpy(), X**2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("floor_divide", {}),
        ("remainder", {}),
        ("fmod", {}),
        ("div", {"rounding_mode": "floor"}),
        ("div", {"rounding_mode": "trunc"}),
    ],
)
@pytest.mark.parametrize("divisor", [0, nbgrad.tensor([1, 0, 2])], ids=["number", "tensor"])
def test_integers_are_not_divided_by_zero(name, options, divisor):
    """An integer divided by 0 raises in every form, also after a call of the same kind that was sound."""
    x = nbgrad.tensor([4, 5, 6])
    sound = 1 if isinstance(divisor, int) else nbgrad.tensor([1, 1, 2])
    function = getattr(nbgrad, name)
    function(x, sound, **options)
    for call in (
        lambda: function(x, divisor, **options),
        lambda: getattr(x.clone(), name + "_")(divisor, **options),
        lambda: function(x, divisor, out=nbgrad.zeros(3, dtype=nbgrad.int64), **options),
    ):
        with pytest.raises(ZeroDivisionError, match="y is 0 somewhere"):
            call()


def test_floats_are_divided_by_zero():
    """A float divided by 0 is infinite, whatever the divisor's dtype."""
    x = nbgrad.tensor([1.0, -1.0])
    np.testing.assert_array_equal(x.div(nbgrad.tensor([0, 0]), rounding_mode="trunc").numpy(), [np.inf, -np.inf])


def test_gelu_forms():
    """Both formulas of gelu, against the normal distribution function."""
    from math import erf, pi, sqrt

    x = nbgrad.tensor(X - 2)
    exact = [[v * 0.5 * (1 + erf(v / sqrt(2))) for v in row] for row in X - 2]
    near = 0.5 * (X - 2) * (1 + np.tanh(sqrt(2 / pi) * (X - 2 + 0.044715 * (X - 2) ** 3)))
    np.testing.assert_allclose(nbgrad.gelu(x).numpy(), exact, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(nbgrad.gelu(x, approximate="tanh").numpy(), near, rtol=1e-12)


@pytest.mark.parametrize("name", ["relu", "silu", "leaky_relu", "elu"])
def test_inplace_flag(name):
    """``inplace=True`` overwrites the operand and returns it."""
    x = nbgrad.tensor(X - 2)
    expected = getattr(nbgrad, name)(x).numpy().copy()
    assert getattr(nbgrad, name)(x, inplace=True) is x
    np.testing.assert_array_equal(x.numpy(), expected)


def test_where_takes_numbers():
    """Either branch of where may be a number, and the method takes the tensor first."""
    x = nbgrad.tensor(X)
    expected = np.where(X > 1, X, -1.0)
    for out in (nbgrad.where(x > 1, x, -1.0), x.where(x > 1, -1.0)):
        np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(nbgrad.where(x > 1, 1, 2).numpy(), np.where(X > 1, 1, 2))


def test_torch_names_of_operands():
    """``input=`` and ``other=`` name the operands of functions and methods."""
    x, y = operands(X, Y)
    for out in (x.mul(other=y), nbgrad.mul(input=x, other=y), nbgrad.mul(x, other=y), x.clone().mul_(other=y)):
        np.testing.assert_array_equal(out.numpy(), X * Y)


def test_closeness():
    """isclose, allclose and equal are NumPy's, infinities and NaN included."""
    a = np.array([1.0, 1.0, np.inf, -np.inf, np.nan, 1e-9])
    b = np.array([1.0 + 1e-6, 1.1, np.inf, np.inf, np.nan, 0.0])
    x, y = operands(a, b)
    for nan in (False, True):
        np.testing.assert_array_equal(nbgrad.isclose(x, y, equal_nan=nan).numpy(), np.isclose(a, b, equal_nan=nan))
    assert nbgrad.allclose(x[:1], y[:1]) is True
    assert nbgrad.allclose(x, y) is False
    assert nbgrad.equal(x[:4], x[:4].clone()) is True
    assert nbgrad.equal(x[:4], y[:4]) is False


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: nbgrad.add(x, x, alpha=0.5), nbgrad.DTypeError, "alpha is 0.5"),
        (lambda x: nbgrad.add(x * 1.0, x, alpha=1j), nbgrad.DTypeError, "alpha is 1j, expected a real number"),
        (lambda x: nbgrad.addcmul(x, x, x, value=0.5), nbgrad.DTypeError, "value is 0.5, expected an integer"),
        (lambda x: nbgrad.addr(x[:, None] * x, x, x, beta=0.5), nbgrad.DTypeError, "addr: beta is 0.5, expected an integer"),
        (lambda x: nbgrad.addmm(x[:1, None], x[None], x[:, None], alpha=0.5), nbgrad.DTypeError, "addmm: alpha is 0.5"),
        (lambda x: x.clamp(), nbgrad.RangeError, "expected at least one"),
        (lambda x: x.div(x, rounding_mode="up"), nbgrad.RangeError, "rounding_mode is 'up'"),
        (lambda x: x**-1, nbgrad.DTypeError, "negative power -1"),
        (lambda x: nbgrad.gelu(x, approximate="erf"), nbgrad.RangeError, "approximate is 'erf'"),
        (lambda x: nbgrad.isclose(x, x, rtol=-1), nbgrad.RangeError, "rtol is -1"),
    ],
)
def test_errors(call, error, message):
    """What an option cannot be is named."""
    with pytest.raises(error, match=message):
        call(nbgrad.tensor([1, 2, 3]))


@pytest.mark.parametrize("dtype", [nbgrad.uint8, nbgrad.int8, nbgrad.int16, nbgrad.int32, nbgrad.int64], ids=str)
def test_integers_times_whole_floats_stay_integers(dtype):
    """A factor of 2.0 is the integer 2 to integer operands, and no product or sum of them changes the dtype."""
    x = nbgrad.tensor([[3]], dtype=dtype)
    row = x[0]
    for out, expected in (
        (nbgrad.addcmul(x, x, x, value=2.0), 21),
        (nbgrad.addmm(x, x, x, alpha=2.0), 21),
        (nbgrad.addmv(row, x, row, beta=2.0), 15),
        (nbgrad.addr(x, row, row, beta=2.0), 15),
        (nbgrad.addbmm(x, x[None], x[None]), 12),
        (nbgrad.baddbmm(x[None], x[None], x[None], alpha=2.0), 21),
    ):
        assert out.dtype is dtype and out.item() == expected


def test_powers_of_small_integers_are_counted_in_int64():
    """Squares of truth values, and Vandermonde's powers, do not wrap."""
    true = nbgrad.tensor([True, False])
    assert nbgrad.square(true).dtype is nbgrad.int64 and nbgrad.square(true).tolist() == [1, 0]
    x = nbgrad.tensor([3], dtype=nbgrad.int8)
    assert nbgrad.vander(x, 8).tolist() == [[2187, 729, 243, 81, 27, 9, 3, 1]]
    assert nbgrad.linalg.vander(x, N=8).tolist() == [[1, 3, 9, 27, 81, 243, 729, 2187]]


@pytest.mark.parametrize("dtype", [nbgrad.uint8, nbgrad.int8, nbgrad.int16, nbgrad.int32, nbgrad.int64], ids=str)
def test_shifts_by_any_number(dtype):
    """Shifted by its width or more, or by a negative number, an integer is 0; to the right, a negative one is -1."""
    bits = 8 * dtype.itemsize
    least = 0 if dtype is nbgrad.uint8 else -5
    values = [1, 5, 100, least]
    shifts = [0, 1, 3, bits - 1, bits, 63, 64, 65, 100, 127] + ([] if dtype is nbgrad.uint8 else [-1, -5])

    def wrapped(value):
        value %= 1 << bits
        return value - (1 << bits) if least and value >= 1 << (bits - 1) else value

    x = nbgrad.tensor(values, dtype=dtype)
    for by in shifts:
        left = [wrapped(v << by) if by >= 0 else 0 for v in values]
        right = [v >> by if by >= 0 else -(v < 0) for v in values]
        for shift in (by, nbgrad.tensor(by, dtype=dtype), nbgrad.full((4,), by, dtype=dtype)):
            assert (x << shift).tolist() == left and (x >> shift).tolist() == right
            assert x.clone().bitwise_left_shift_(shift).tolist() == left


@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
@pytest.mark.parametrize("other", [np.float32(1.5), np.float64(1.5), np.ones(2, np.float32)], ids=repr)
def test_alpha_beside_numbers_of_numpy(name, other):
    """They are floating operands like any, of which alpha may be a fraction; and alpha may be one of them."""
    sign = {"add": lambda x, y, a: x + a * y, "sub": lambda x, y, a: x - a * y, "rsub": lambda x, y, a: y - a * x}[name]
    for i in (nbgrad.tensor([2, 3]), nbgrad.tensor([2, 3], dtype=nbgrad.int16), nbgrad.tensor([2j, 3])):
        for alpha in (1.5, np.float32(1.5), np.float64(1.5), nbgrad.tensor(1.5), np.array(1.5)):
            made = getattr(nbgrad, name)(i, other, alpha=alpha)
            np.testing.assert_allclose(made.numpy(), sign(i.numpy(), other, 1.5))
    for wrong in (np.array([1, 2, 3]), nbgrad.tensor([1, 2]), "2", None):
        with pytest.raises(TypeError, match=f"{name.removeprefix('r')}: alpha must be a number"):
            getattr(nbgrad, name)(nbgrad.ones(2), nbgrad.ones(2), alpha=wrong)


def test_a_floating_alpha_of_integers_is_refused_however_it_is_written():
    """A tensor, or a number of NumPy's, as a float."""
    i = nbgrad.tensor([2, 3])
    for alpha in (1.5, np.float32(1.5), nbgrad.tensor(1.5), np.array(1.5)):
        for call in (nbgrad.add, nbgrad.sub, nbgrad.Tensor.add_):
            with pytest.raises(nbgrad.DTypeError, match="alpha is 1.5"):
                call(i, i, alpha=alpha)


def test_what_changes_nothing_gives_the_tensor_itself():
    """``+x`` of all numbers, complex ones too, and conj_physical of real ones: no node, no copy."""
    z = nbgrad.tensor([1 + 2j], requires_grad=True)
    assert (+z) is z and z.positive() is z and nbgrad.positive(z) is z and (+z).is_leaf
    for x in (nbgrad.tensor([True]), nbgrad.tensor([1]), nbgrad.ones(1)):
        assert x.conj_physical() is x
    assert z.conj_physical() is not z
    with pytest.raises(nbgrad.DTypeError, match="bool"):
        +nbgrad.tensor([True])


@pytest.mark.parametrize("two", [np.int64(2), np.float32(2), np.int8(2), np.array([2.0, 2.0])], ids=repr)
def test_float_power_of_numbers_of_numpy(two):
    """On either side, in place and into out, they are numbers."""
    x = nbgrad.tensor([3.0, 4.0])
    for made in (
        x.float_power(two),
        nbgrad.float_power(x, two),
        x.double().float_power_(two),
        nbgrad.float_power(x, two, out=nbgrad.empty(2, dtype=nbgrad.float64)),
    ):
        assert made.tolist() == [9.0, 16.0] and made.dtype is nbgrad.float64
    assert nbgrad.float_power(two, x).tolist() == [8.0, 16.0]
