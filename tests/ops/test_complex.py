"""Complex numbers through the table of operations: values, Wirtinger gradients of first and second order, mixtures, refusals.

The oracle is NumPy in complex128 and central differences along the real and the imaginary axis (tests/samples/checking.py): the
gradient of a real loss with respect to z is dL/d(re z) + i dL/d(im z).
"""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.ops.core import OPS, Elementwise
from tests.ops.test_gradients import COMPLEX, SMOOTH, along_one_direction, check_gradients
from tests.ops.test_values import check_value
from tests.parts import alternating
from tests.samples import SAMPLES
from tests.samples.checking import close, expected, flatten, gradients, results, run, to_tensor, weights_of

C64, C128 = nbgrad.complex64, nbgrad.complex128

# General and composite operations that take complex operands.
LINEAR_AND_PRODUCTS = (
    "sum",
    "mean",
    "prod",
    "cumsum",
    "cumprod",
    "var",
    "std",
    "norm",
    "logsumexp",
    "matmul",
    "mm",
    "bmm",
    "mv",
    "dot",
    "vdot",
    "outer",
    "inner",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "tensordot",
    "kron",
    "trace",
    "linear",
    "einsum",
    "cat",
    "stack",
    "flip",
    "roll",
    "tril",
    "repeat",
    "expand",
    "permute",
    "slice",
    "select",
    "diagonal",
    "unfold",
    "as_strided",
    "index_select",
    "gather",
    "masked_select",
    "take",
    "float_power",
    "conj",
    "adjoint",
    "real",
    "imag",
    "l1_loss",
)
TAKING_COMPLEX = [name for name in LINEAR_AND_PRODUCTS if name in SAMPLES]


@pytest.mark.part(4, 1)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex64_value(name):
    """Single precision meets the reference in double precision within a few roundings."""
    for call in SAMPLES[name].calls:
        check_value(SAMPLES[name], call, "complex64", 2e-6)


@pytest.mark.parametrize("name", TAKING_COMPLEX)
def test_value_of_general_operations(name):
    """Reductions, products, joins and indexing of complex numbers meet NumPy."""
    for call in SAMPLES[name].calls:
        check_value(SAMPLES[name], call, "complex128", 1e-13)


@pytest.mark.parametrize("name", TAKING_COMPLEX)
def test_gradient_of_general_operations(name):
    """Their gradients conjugate where a factor is multiplied by."""
    check_gradients(name, "complex128")


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", [n for n in SMOOTH if n in COMPLEX or n in TAKING_COMPLEX])
def test_second_order_gradient(name):
    """Double backward of complex operands agrees with central differences of the gradient along one direction."""
    row = SAMPLES[name]
    for call in row.calls:
        found, slope = along_one_direction(row, call, "complex128")
        wanted = (slope(1e-6) - slope(-1e-6)) / 2e-6
        close(found, wanted, 1e-6, f"{name}{call}: second order along one direction")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "where", "lerp"])
def test_real_operand_of_a_complex_result_gets_a_real_gradient(name):
    """The real part of g conj(df/dx), in the operand's dtype; the complex operand's gradient stays complex."""
    x = nbgrad.tensor([0.7, 1.3], dtype=nbgrad.float64, requires_grad=True)
    z = nbgrad.tensor([0.4 + 0.8j, 1.1 - 0.3j], dtype=C128, requires_grad=True)
    operands = {"where": (nbgrad.tensor([True, False]), x, z), "lerp": (x, z, 0.3)}.get(name, (x, z))
    CALLS[name](*operands).real.sum().backward()
    wide = x.detach().to(C128).requires_grad_()
    CALLS[name](*[wide if each is x else each for each in operands]).real.sum().backward()
    assert x.grad.dtype is nbgrad.float64
    np.testing.assert_allclose(x.grad.numpy(), wide.grad.numpy().real, rtol=1e-14)


GENERAL = sorted(
    name
    for name, row in SAMPLES.items()
    if not isinstance(row.op, Elementwise)
    and row.reference is not None
    and (row.op.function or name.startswith("linalg_"))
    and not name.endswith("_")
)


def has_sequence(values) -> bool:
    """Whether tensors come in lists."""
    return any(isinstance(x, (list, tuple)) and any(isinstance(each, (np.ndarray, tuple)) for each in x) for x in values)


@pytest.mark.part(4, 1)
@pytest.mark.parametrize("name", GENERAL)
def test_complex_operands_are_refused_or_differentiated(name):
    """What takes complex numbers has their gradients and tangents: those of finite differences along both axes."""
    row = SAMPLES[name]
    for call in row.calls[:2]:
        if has_sequence((*row.arrays(call, "complex128"), *call.attributes.values())):
            continue
        operands = [
            nbgrad.tensor(x, requires_grad=x.dtype.kind == "c") if isinstance(x, np.ndarray) else x
            for x in row.arrays(call, "complex128")
        ]
        attributes = {key: nbgrad.tensor(x) if isinstance(x, np.ndarray) else x for key, x in call.attributes.items()}

        def function(*values, attributes=attributes):
            out = CALLS[name](*values, **attributes)
            parts = out if isinstance(out, (tuple, list)) else (out,)
            return tuple(x for x in parts if isinstance(x, nbgrad.Tensor) and x.dtype.differentiable)

        try:
            if any(x.requires_grad for x in function(*operands)):
                nbgrad.gradcheck(function, tuple(operands), check_forward_ad=True)
        except (nbgrad.DTypeError, nbgrad.NotSupportedError):
            pass


def test_promotion():
    """A complex number makes a real tensor complex of its own precision; float64 with complex64 is complex128."""
    assert (nbgrad.ones(2) * 1j).dtype is C64
    assert (nbgrad.ones(2, dtype=nbgrad.float64) * 1j).dtype is C128
    assert (nbgrad.ones(2, dtype=nbgrad.float64) * nbgrad.ones(2, dtype=C64)).dtype is C128
    assert (nbgrad.ones(2, dtype=nbgrad.int64) + 1j).dtype is C64


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z < z,
        lambda z: z >= 1,
        lambda z: z.max(),
        lambda z: z.argmin(),
        lambda z: z.sort(),
        lambda z: z.clamp(0, 1),
        lambda z: nbgrad.maximum(z, z),
        lambda z: z.floor(),
        lambda z: z.sign(),
        lambda z: z % z,
        lambda z: z // z,
        lambda z: z.relu(),
        lambda z: z.softmax(0),
        lambda z: z.log_softmax(0),
        lambda z: nbgrad.erf(z),
        lambda z: nbgrad.atan2(z, z),
        lambda z: z.abs_(),
    ],
)
def test_order_and_what_needs_it_is_refused(call):
    """Complex numbers have no order, and what is made of one is not defined for them."""
    with pytest.raises(RuntimeError):
        call(nbgrad.ones(2, dtype=C64))


def test_equality_and_truth():
    """Equality compares both parts; a number is true unless both are 0."""
    z = nbgrad.tensor([1 + 1j, 0j, 1j])
    assert (z == z.conj()).tolist() == [False, True, False]
    assert z.logical_not().tolist() == [False, True, False]
    assert z.any().item() and not z.all().item() and z.count_nonzero().item() == 2


def test_isclose_measures_by_modulus():
    """|x - y| <= atol + rtol |y|."""
    z = nbgrad.tensor([1 + 1j, 1 + 1j])
    assert nbgrad.isclose(z, nbgrad.tensor([1 + 1.000001j, 1.1 + 1j])).tolist() == [True, False]


def test_modulus_angle_and_sign_at_zero():
    """Their gradients at 0 are 0, not NaN."""
    z = nbgrad.zeros(1, dtype=C128, requires_grad=True)
    for value in (z.abs(), z.angle(), z.sgn().real, z.sgn().imag):
        assert nbgrad.grad(value.sum(), z)[0].item() == 0


def test_angle_of_real_numbers():
    """0 for what is not negative, pi for what is; NaN stays; integers become floats."""
    x = nbgrad.tensor([2.0, 0.0, -1.0, float("nan")])
    np.testing.assert_array_equal(x.angle().numpy(), np.array([0, 0, np.pi, np.nan], "float32"))
    assert nbgrad.angle(nbgrad.tensor([-3])).dtype is nbgrad.float32


def test_out_and_inplace_forms_that_parts_stand_for():
    """``abs(out=)`` fills a real tensor, ``sgn_`` a complex one; a dtype that does not fit is refused."""
    z = nbgrad.tensor([3 + 4j])
    out = nbgrad.zeros(1)
    assert nbgrad.abs(z, out=out) is out and out.item() == 5
    assert z.sgn_() is z and z.item() == pytest.approx(0.6 + 0.8j)
    for dtype in (C64, nbgrad.float64):
        assert nbgrad.abs(nbgrad.tensor([3 + 4j]), out=nbgrad.zeros(0, dtype=dtype)).tolist() == [5]
    with pytest.raises(nbgrad.DTypeError, match="abs: "):
        nbgrad.abs(z, out=nbgrad.zeros(1, dtype=nbgrad.int32))
    with pytest.raises(nbgrad.DTypeError, match="abs_: "):
        z.abs_()
    with pytest.raises(nbgrad.ShapeError, match="abs: "):
        nbgrad.abs(z, out=nbgrad.zeros(2))


def test_parts_of_one_dtype():
    """``complex`` and ``polar`` want parts of one floating dtype."""
    x, y = nbgrad.ones(2), nbgrad.ones(2, dtype=nbgrad.float64)
    for function in (nbgrad.complex, nbgrad.polar):
        with pytest.raises(nbgrad.DTypeError):
            function(x, y)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 1.5, 1j])
def test_gradient_of_powers_with_a_number(exponent):
    """z ** n by n z ** (n - 1), conjugated, whichever quick form computes it."""
    z = nbgrad.tensor([0.5 + 1.5j, -1.0 - 0.25j], dtype=C128, requires_grad=True)
    (z**exponent).sum().backward(gradient=nbgrad.tensor(1 + 2j, dtype=C128))
    w = z.detach().numpy()
    np.testing.assert_allclose(z.grad.numpy(), (1 + 2j) * np.conj(exponent * w ** (exponent - 1)), rtol=1e-13, atol=1e-15)


def test_infinite_cotangent_is_stopped_by_where():
    """The branch not taken contributes exactly 0, also of complex numbers."""
    z = nbgrad.tensor([1 + 1j, 2 + 0j], dtype=C128, requires_grad=True)
    y = nbgrad.where(nbgrad.tensor([True, False]), z, nbgrad.zeros(2, dtype=C128))
    (g,) = nbgrad.grad(y, z, nbgrad.tensor([1 + 0j, complex(np.inf, 0)], dtype=C128))
    assert g.tolist() == [1, 0]


def test_every_elementwise_operation_says_whether_it_is_complex():
    """What is not declared for complex numbers names itself when it refuses them."""
    for name in ("erf", "floor", "gelu_erf", "maximum"):
        op = OPS[name]
        assert isinstance(op, Elementwise) and not op.complex
        with pytest.raises(nbgrad.DTypeError, match=f"^{op.public}: not defined for"):
            CALLS[name](*[nbgrad.ones(1, dtype=C64)] * len(op.operands))


# ---- lazy operands ---------------------------------------------------------------------------------------------------


def lazily(x):
    """A tensor of the same values that holds their negatives, or conjugates, in memory; what has no bits stays as it is."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(lazily, x))
    if not isinstance(x, nbgrad.Tensor) or not x.dtype.differentiable:
        return x
    stored = x.detach().conj_physical().conj() if x.is_complex() else (-x.detach())._neg_view()
    return stored.requires_grad_(x.requires_grad)


SEEING = sorted(name for name, row in SAMPLES.items() if row.reference is not None and not {"layout", "lazy"} & set(row.unlike))


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", SEEING)
def test_lazy_operands_are_seen_through(name):
    """Every operation of the table gives the same of lazily negated or conjugated operands."""
    row = SAMPLES[name]
    for dtype in ("float64", "complex128"):
        if dtype == "complex128" and not (name in COMPLEX or name in TAKING_COMPLEX):
            continue
        call = row.calls[0]
        operands = [to_tensor(x) for x in row.arrays(call, dtype)]
        if isinstance(row.op, Elementwise) and row.op.policy == "integer":
            continue
        for got, want in zip(results(run(row, [lazily(x) for x in operands], call)), results(run(row, operands, call))):
            close(got, want, 1e-15, f"{name}{call} of lazy operands")


@pytest.mark.part(4, 1)
@pytest.mark.parametrize("name", [name for name in SEEING if name in SMOOTH])
def test_gradients_of_lazy_operands(name):
    """And the same gradients, of their values."""
    row = SAMPLES[name]
    call = row.calls[0]
    dtype = "complex128" if name in COMPLEX or name in TAKING_COMPLEX else "float64"
    found = []
    for change in (lazily, lambda x: x):
        operands = [change(to_tensor(x, True)) for x in row.arrays(call, dtype)]
        found.append(gradients(row, operands, call, weights_of(expected(row, row.arrays(call, dtype), call))))
    for k, (got, want) in enumerate(zip(*found)):
        close(got.numpy(force=True), want.numpy(force=True), 1e-14, f"{name}{call}: gradient of lazy operand {k}")


@pytest.mark.parametrize("create_graph", alternating(False, True))
@pytest.mark.parametrize("name", [name for name in SEEING if name in SMOOTH])
def test_lazy_cotangents(name, create_graph):
    """A lazy cotangent gives the gradients of its values."""
    row = SAMPLES[name]
    call = row.calls[0]
    dtype = "complex128" if name in COMPLEX or name in TAKING_COMPLEX else "float64"
    arrays = row.arrays(call, dtype)
    operands = [to_tensor(x, True) for x in arrays]
    weights = weights_of(expected(row, arrays, call))
    outs = [(x, nbgrad.tensor(w).to(x.dtype)) for x, w in zip(run(row, operands, call), weights) if x.requires_grad]
    inputs = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    found = [
        nbgrad.grad(
            [x for x, _ in outs],
            inputs,
            [change(w) for _, w in outs],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
        for change in (lazily, lambda w: w)
    ]
    for k, (got, want) in enumerate(zip(*found)):
        assert (got is None) is (want is None)
        if got is not None:
            close(got.numpy(force=True), want.numpy(force=True), 1e-14, f"{name}{call}: gradient of operand {k}")


def test_complex_functions_far_out():
    """|2**(iy)| is 1 however great y is; where the hyperbolic sine overflows its product with 0 is 0; no modulus loses NaN."""
    for y in (1e3, 1e15, 1e30):
        assert abs(nbgrad.exp2(nbgrad.tensor(1j * y, dtype=C128)).item()) == pytest.approx(1, rel=1e-12)
    for function, z in (("cosh", 100.0 + 0j), ("cos", 100j), ("sinh", 100 + 0j)):
        found = getattr(nbgrad, function)(nbgrad.tensor(z, dtype=C64)).item()
        assert found.real == np.inf and found.imag == 0
    nan = complex(np.nan, 0)
    assert nbgrad.tensor(nan).abs().isnan() and nbgrad.tensor(nan).sgn().isnan()
    assert nbgrad.linalg.vector_norm(nbgrad.tensor([nan, 1])).isnan()


def test_logaddexp_follows_the_greater_number():
    """The imaginary part is that of the number of greater real part, and what is added to it: no jump by 2 pi."""
    x, y = nbgrad.tensor(2 - 4j, dtype=C128), nbgrad.tensor(-5 + 3.1j, dtype=C128)
    found = nbgrad.logaddexp(x, y).item()
    assert np.exp(found) == pytest.approx(np.exp(2 - 4j) + np.exp(-5 + 3.1j), rel=1e-12)
    assert abs(found - (2 - 4j)) < 1e-2


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_logarithms_of_complex_sums(dim):
    """Their exponentials are the running sums of exponentials, with the derivatives of those, in both modes and of second order."""
    rng = np.random.default_rng(0)
    array = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))
    x = nbgrad.tensor(array, requires_grad=True)
    np.testing.assert_allclose(np.exp(nbgrad.logcumsumexp(x, dim).detach().numpy()), np.cumsum(np.exp(array), dim), rtol=1e-13)
    call = lambda x: nbgrad.logcumsumexp(x, dim).exp()
    assert nbgrad.gradcheck(call, x, check_forward_ad=True) and nbgrad.gradgradcheck(call, x)
    g = nbgrad.tensor(rng.normal(size=(3, 4)) + 0j)
    (found,) = nbgrad.grad(call(x), x, g)
    (expected,) = nbgrad.grad(x.exp().cumsum(dim), x, g)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-10)


def test_running_logarithms_of_great_and_of_no_complex_numbers():
    """Nothing overflows; minus infinity is the logarithm of nothing; numbers alone are their own sum."""
    found = nbgrad.logcumsumexp(nbgrad.tensor([complex(-np.inf, 0), 1000j, 1000 + 1j, 1000 + 1j]), 0)
    np.testing.assert_allclose(found.numpy()[2:], [1000 + 1j, 1000 + np.log(2) + 1j], rtol=1e-6)
    assert found[0].item() == complex(-np.inf, 0) and nbgrad.logcumsumexp(nbgrad.tensor(1 + 2j), 0).item() == 1 + 2j
    assert nbgrad.logcumsumexp(nbgrad.empty(0, 2, dtype=nbgrad.complex64), 0).shape == (0, 2)
