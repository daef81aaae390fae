"""Gradients of complex tensors: dL/dx + i dL/dy for z = x + iy, in closed form; what leaves and enters the complex numbers."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from tests.helpers import const, leaf

C128, F64 = nbgrad.complex128, nbgrad.float64
Z = np.array([1 + 2j, -3 + 0.5j, 0.25 - 1j])
W = np.array([2 - 1j, 0.5j, -1 + 3j])
G = np.array([1 - 1j, 2 + 0.5j, -0.5 + 0.25j])


def pulled_back(f, *inputs, g=None):
    """The gradients of ``f(*inputs)`` for the cotangent ``g``, ones where none is given, as arrays."""
    y = f(*inputs)
    return [each.numpy() for each in nbgrad.grad(y, inputs, nbgrad.ones_like(y) if g is None else const(g, y.dtype))]


REAL_LOSSES = {
    "squared modulus": (lambda z: (z * z.conj()).real, 2 * Z),
    "real part": (lambda z: z.real, np.ones(3)),
    "imaginary part": (lambda z: z.imag, 1j * np.ones(3)),
    "modulus": (lambda z: z.abs(), Z / np.abs(Z)),
    "angle": (lambda z: z.angle(), (-Z.imag + 1j * Z.real) / np.abs(Z) ** 2),
}


@pytest.mark.parametrize("f, expected", REAL_LOSSES.values(), ids=REAL_LOSSES)
def test_gradient_of_a_real_loss(f, expected):
    """It points up the slope in the plane of x and y."""
    np.testing.assert_allclose(pulled_back(f, leaf(Z, C128))[0], expected, rtol=1e-14)


HOLOMORPHIC = {
    "square": (lambda z: z**2, 2 * Z),
    "product with itself": (lambda z: z * z, 2 * Z),
    "exp": (lambda z: z.exp(), np.exp(Z)),
    "sin": (lambda z: z.sin(), np.cos(Z)),
    "log": (lambda z: z.log(), 1 / Z),
    "reciprocal": (lambda z: 1 / z, -1 / Z**2),
    "scaled": (lambda z: (2 - 3j) * z, (2 - 3j) * np.ones(3)),
    "sqrt": (lambda z: z.sqrt(), 0.5 / np.sqrt(Z)),
}


@pytest.mark.parametrize("f, slope", HOLOMORPHIC.values(), ids=HOLOMORPHIC)
def test_gradient_of_a_holomorphic_function(f, slope):
    """The cotangent times the conjugate of the derivative."""
    np.testing.assert_allclose(pulled_back(f, leaf(Z, C128), g=G)[0], G * slope.conj(), rtol=1e-13)


def test_gradient_of_products():
    """Each factor gets the cotangent times the conjugate of the other, transposed in a matrix product."""
    a, b = pulled_back(lambda a, b: a * b, leaf(Z, C128), leaf(W, C128), g=G)
    np.testing.assert_allclose(a, G * W.conj(), rtol=1e-14)
    np.testing.assert_allclose(b, G * Z.conj(), rtol=1e-14)
    x, y, g = np.outer(Z, W), np.outer(W, G), np.outer(G, Z)
    a, b = pulled_back(lambda a, b: a @ b, leaf(x, C128), leaf(y, C128), g=g)
    np.testing.assert_allclose(a, g @ y.conj().T, rtol=1e-13)
    np.testing.assert_allclose(b, x.conj().T @ g, rtol=1e-13)


def test_gradient_of_a_conjugate_is_the_conjugate():
    """For both the lazy one and the computed one."""
    for f in (lambda z: z.conj(), lambda z: z.conj_physical()):
        np.testing.assert_array_equal(pulled_back(f, leaf(Z, C128), g=G)[0], G.conj())


def test_gradient_of_sign():
    """z / |z| changes only across the ray from 0: the cotangent's part along z is lost, the rest divided by |z|."""
    u = Z / np.abs(Z)
    np.testing.assert_allclose(
        pulled_back(lambda z: z.sgn(), leaf(Z, C128), g=G)[0], (G - (G * u.conj()).real * u) / np.abs(Z), rtol=1e-13
    )


def test_gradient_of_the_pair_of_parts():
    """``view_as_real`` and ``view_as_complex`` are each other's inverse, forward and backward."""
    z = leaf(Z, C128)
    pair = nbgrad.view_as_real(z)
    (g,) = nbgrad.grad(pair, z, const(np.stack([G.real, G.imag], -1)), retain_graph=True)
    np.testing.assert_array_equal(g.numpy(), G)
    back = nbgrad.view_as_complex(pair)
    np.testing.assert_array_equal(nbgrad.grad(back, z, const(G, C128))[0].numpy(), G)
    assert pair._is_view() and back._is_view() and back.tolist() == Z.tolist()


def test_linear_operations():
    """A sum passes the cotangent on, a mean divides it, a product of all multiplies by the conjugates of the others."""
    np.testing.assert_array_equal(pulled_back(lambda z: z.sum(), leaf(Z, C128), g=2j)[0], np.full(3, 2j))
    np.testing.assert_allclose(pulled_back(lambda z: z.mean(), leaf(Z, C128), g=3j)[0], np.full(3, 1j), rtol=1e-15)
    others = np.array([Z[1] * Z[2], Z[0] * Z[2], Z[0] * Z[1]])
    np.testing.assert_allclose(pulled_back(lambda z: z.prod(), leaf(Z, C128), g=1j)[0], 1j * others.conj(), rtol=1e-14)


def test_real_operand_gets_the_real_part():
    """In its own dtype, of what a complex operand would get."""
    x, z = leaf(Z.real), leaf(W, C128)
    a, b = pulled_back(lambda x, z: x * z, x, z, g=G)
    assert a.dtype == np.float64
    np.testing.assert_allclose(a, (G * W.conj()).real, rtol=1e-14)
    np.testing.assert_allclose(b, G * Z.real, rtol=1e-14)


# Functions with a cut along the real axis, or the imaginary one (1j), and points on both sides of it and beside it.
CUTS = {"asin": 1, "acos": 1, "acosh": 1, "atanh": 1, "sqrt": 1, "log": 1, "log2": 1, "rsqrt": 1, "asinh": 1j, "atan": 1j}
ON_CUTS = [(x, zero) for x in (-2.5, -0.4, 0.4, 2.5) for zero in (0.0, -0.0)]


@pytest.mark.parametrize("name", CUTS)
def test_derivatives_on_both_sides_of_a_cut(name):
    """The sign of a zero says which side is meant: derivatives are the slopes along the cut, there."""
    axis, f = CUTS[name], getattr(nbgrad, name)
    z = np.array([complex(x, zero) if axis == 1 else complex(zero, x) for x, zero in ON_CUTS])

    def beside(step):
        moved = z.copy()
        (moved.real if axis == 1 else moved.imag)[:] += step
        return leaf(moved, C128)

    slope = (f(beside(1e-6)) - f(beside(-1e-6))).detach().numpy() / (2e-6 * axis)
    np.testing.assert_allclose(pulled_back(f, leaf(z, C128))[0].conj(), slope, rtol=1e-7)
    bend = [(pulled_back(f, beside(step))[0]).conj() for step in (1e-6, -1e-6)]
    x = leaf(z, C128)
    (first,) = nbgrad.grad(f(x).sum().real, x, create_graph=True)
    second = nbgrad.grad(first.conj().sum().real, x)[0].numpy().conj()
    np.testing.assert_allclose(second, (bend[0] - bend[1]) / (2e-6 * axis), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cast_to_real_drops_the_imaginary_part():
    """Of the value, and of the gradient that comes back."""
    z = leaf(Z, C128)
    y = z.to(F64)
    y.backward(const(G.real))
    assert y.tolist() == Z.real.tolist() and z.grad.dtype is C128
    np.testing.assert_array_equal(z.grad.numpy(), G.real + 0j)


def test_parts_of_real_tensors():
    """A real tensor is its own real part and conjugate, and has no imaginary part."""
    x = leaf([1.0])
    assert x.real is x and x.conj() is x
    with pytest.raises(RuntimeError):
        x.imag


def test_gradient_of_a_gradient():
    """The real part of the gradient of |z|^4 / 4 is x |z|^2; its gradient holds the second derivatives by x and y."""
    z = leaf(Z, C128)
    (g,) = nbgrad.grad(((z * z.conj()).real ** 2 / 4).sum(), z, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), Z * np.abs(Z) ** 2, rtol=1e-14)
    (second,) = nbgrad.grad(g.real.sum(), z)
    x, y = Z.real, Z.imag
    np.testing.assert_allclose(second.numpy(), 3 * x * x + y * y + 2j * x * y, rtol=1e-13)


def test_descent_goes_down():
    """A step against the gradient lowers the loss to the square of its length."""
    z = leaf(Z, C128)
    target = const(W, C128)

    def loss(z):
        return ((z - target) * (z - target).conj()).real.sum()

    (g,) = nbgrad.grad(loss(z), z)
    assert loss(z - 0.5 * g).item() == pytest.approx(0.0, abs=1e-28) and loss(z).item() > 1


def test_imaginary_parts_are_not_lost_in_silence():
    """A copy of complex numbers into real ones warns, as conversions do; what is no copy is refused."""
    z, mask, index = nbgrad.tensor([1 + 2j, 3 + 4j]), nbgrad.tensor([True, True]), nbgrad.tensor([0, 1])

    def put(key, value):
        x = nbgrad.zeros(2)
        x[key] = value
        return x

    for copy in (lambda: put(slice(0, 2), z), lambda: nbgrad.zeros(2).copy_(z)):
        with pytest.warns(UserWarning, match="lose their imaginary part"):
            assert copy().tolist() == [1.0, 3.0]
    for write in (
        lambda: put(index, z),
        lambda: put(mask, z),
        lambda: nbgrad.zeros(2).masked_fill_(mask, z[0]),
        lambda: nbgrad.zeros(2).masked_fill(mask, z[0]),
        lambda: nbgrad.zeros(2).index_fill_(0, index, z[0]),
        lambda: nbgrad.zeros(2).index_put_((index,), z),
    ):
        with pytest.raises(nbgrad.DTypeError):
            write()
    assert nbgrad.zeros(2, dtype=nbgrad.bool).copy_(z).tolist() == [True, True]
