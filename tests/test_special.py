"""``nbgrad.special``: every name leads to the operation, with ``out=`` and gradients."""

from __future__ import annotations

import math

import pytest

import nbgrad
from nbgrad import special

ARGUMENTS = {
    "polygamma": (1, nbgrad.tensor([0.5])),
    "multigammaln": (nbgrad.tensor([2.5]), 2),
    "logsumexp": (nbgrad.tensor([0.5]), 0),
    "softmax": (nbgrad.tensor([0.5]), 0),
    "log_softmax": (nbgrad.tensor([0.5]), 0),
    **{name: (nbgrad.tensor([0.5]), 2) for name in special.__all__ if "_polynomial_" in name},
    **{name: (nbgrad.tensor([0.5]), nbgrad.tensor([1.5])) for name in ("gammainc", "gammaincc")},
    **{name: (nbgrad.tensor([2.5]), nbgrad.tensor([0.5])) for name in ("zeta", "xlog1py", "xlogy")},
}


@pytest.mark.parametrize("name", special.__all__)
def test_every_name_computes(name):
    """Each is a documented function of tensors whose result is a floating tensor."""
    function = getattr(special, name)
    assert function.__doc__
    assert function(*ARGUMENTS.get(name, (nbgrad.tensor([0.5]),))).dtype is nbgrad.float32


def test_other_names_are_the_operations():
    """expit, gammaln, psi and multigammaln are sigmoid, lgamma, digamma and mvlgamma."""
    for name, own in (
        ("expit", "sigmoid"),
        ("gammaln", "lgamma"),
        ("gammainc", "igamma"),
        ("psi", "digamma"),
        ("multigammaln", "mvlgamma"),
    ):
        assert getattr(special, name) is getattr(nbgrad, own)


def test_out_and_gradients_of_what_torch_special_alone_has():
    """erfcx writes into ``out`` and is differentiable: its slope at 0 is -2 / sqrt(pi)."""
    out = nbgrad.zeros(1)
    assert special.erfcx(nbgrad.zeros(1), out=out) is out and out.item() == pytest.approx(1.0)
    x = nbgrad.zeros(1, dtype=nbgrad.float64, requires_grad=True)
    special.erfcx(x).sum().backward()
    assert x.grad.item() == pytest.approx(-1.1283791670955126, rel=1e-15)


def test_bessel_functions_have_their_wronskian():
    """J_1 Y_0 - J_0 Y_1 is 2 / (pi x), where polynomials and where Hankel's expansions are summed; J_0'' = J_1 / x - J_0."""
    x = nbgrad.tensor([0.01, 1.0, 7.9, 8.1, 300.0], dtype=nbgrad.float64, requires_grad=True)
    j0, j1 = special.bessel_j0(x), special.bessel_j1(x)
    assert (j1 * special.bessel_y0(x) - j0 * special.bessel_y1(x)).allclose(2 / (math.pi * x), rtol=1e-13)
    (first,) = nbgrad.grad(j0.sum(), x, create_graph=True)
    (second,) = nbgrad.grad(first.sum(), x)
    assert first.allclose(-j1, rtol=0, atol=0) and second.allclose(j1 / x - j0, rtol=1e-12)


@pytest.mark.slow
def test_airy_s_function_solves_its_equation():
    """y'' = x y, on all pieces; and the modified Bessel functions have their Wronskian."""
    x = nbgrad.tensor([-30.0, -5.1, -4.9, 0.5, 1.1, 9.0], dtype=nbgrad.float64, requires_grad=True)
    y = special.airy_ai(x)
    (first,) = nbgrad.grad(y.sum(), x, create_graph=True)
    (second,) = nbgrad.grad(first.sum(), x)
    assert second.allclose(x * y, rtol=1e-13)
    x = nbgrad.tensor([0.01, 0.9, 1.1, 30.0], dtype=nbgrad.float64)
    total = special.i0(x) * special.modified_bessel_k1(x) + special.i1(x) * special.modified_bessel_k0(x)
    assert total.allclose(1 / x, rtol=1e-13)


def test_chebyshev_polynomials_are_cosines_of_multiples():
    """T_n(cos t) = cos(n t), and T_n' = n sin(n t) / sin(t), for a degree of each element; none below 0, NaN beyond 100,000."""
    t = nbgrad.tensor([[0.3], [1.0], [2.5]], dtype=nbgrad.float64)
    n = nbgrad.tensor([0, 1, 2, 7, 40])
    x = t.cos().requires_grad_()
    y = special.chebyshev_polynomial_t(x, n)
    assert y.allclose((n * t).cos(), atol=1e-13)
    assert nbgrad.grad(y.sum(), x)[0].allclose((n * (n * t).sin() / t.sin()).sum(1, keepdim=True), atol=1e-10)
    assert special.chebyshev_polynomial_t(x, -1).tolist() == [[0.0]] * 3
    assert special.chebyshev_polynomial_t(x, 100_001).isnan().all()


def test_polygamma_is_a_method_with_its_order_behind():
    """``x.polygamma(n)`` is ``polygamma(n, x)``; in place too."""
    x = nbgrad.tensor([0.5, 3.0])
    assert x.polygamma(2).tolist() == nbgrad.polygamma(2, x).tolist() == x.clone().polygamma_(2).tolist()


def test_incomplete_gamma_functions_have_derivatives_by_their_second_operand():
    """The two add up to 1, and their slopes to 0; the derivative by the first operand is refused, never silently 0."""
    a = nbgrad.tensor([0.5, 20.0, 3.0], dtype=nbgrad.float64)
    x = nbgrad.tensor([0.3, 25.0, 9.0], dtype=nbgrad.float64, requires_grad=True)
    low, high = nbgrad.igamma(a, x), nbgrad.igammac(a, x)
    assert (low + high).tolist() == pytest.approx([1.0] * 3, rel=1e-13)
    assert nbgrad.gradcheck(lambda x: nbgrad.igamma(a, x), x)
    assert nbgrad.gradgradcheck(lambda x: nbgrad.igammac(a, x), x)
    with pytest.raises(NotImplementedError, match="first operand"):
        nbgrad.igamma(a.requires_grad_(), x).sum().backward()


@pytest.mark.parametrize(
    ("a", "x", "low"),
    [
        (2.0, 0.0, 0.0),
        (0.0, 1.0, 1.0),
        (2.0, math.inf, 1.0),
        (math.inf, 1.0, 0.0),
        (-1.0, 1.0, math.nan),
        (1.0, -1.0, math.nan),
        (0.0, 0.0, math.nan),
        (math.nan, 1.0, math.nan),
    ],
)
def test_ends_of_the_incomplete_gamma_functions(a, x, low):
    """Zeros, infinities and what is not defined."""
    a, x = (nbgrad.tensor(value, dtype=nbgrad.float64) for value in (a, x))
    assert nbgrad.igamma(a, x).item() == pytest.approx(low, nan_ok=True)
    assert nbgrad.igammac(a, x).item() == pytest.approx(1 - low, nan_ok=True)
