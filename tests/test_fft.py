"""``nbgrad.fft``: values beside NumPy's, derivatives of all kinds, graphs, GPUs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import fft
from nbgrad.lowering import fft as lowering

RNG = np.random.default_rng(7)
COMPLEX = RNG.standard_normal((3, 4, 5)) + 1j * RNG.standard_normal((3, 4, 5))
TRANSFORMS = [name for name in fft.__all__ if "freq" not in name and "shift" not in name]
ONE = [name for name in TRANSFORMS if name[-1] not in "2n"]
OF_REAL = tuple(name for name in TRANSFORMS if name.startswith(("rfft", "ihfft")))


def signal(name: str, kind: str = "float64") -> np.ndarray:
    """An operand of a transform: real of those that take no other."""
    kind = kind if name in OF_REAL else np.result_type(kind, np.complex64).name
    return (COMPLEX if kind.startswith("complex") else COMPLEX.real).astype(kind)


def hermitian(name: str, x, s, axes, norm):
    """NumPy has ``hfft`` and ``ihfft`` along one axis alone: of more, they are transforms of the other direction, conjugated."""
    other = {None: "forward", "ortho": "ortho", "forward": "backward"}[norm]
    return np.fft.irfftn(x.conj(), s, axes, other) if name.startswith("hfft") else np.fft.rfftn(x, s, axes, other).conj()


def reference(name: str, x, norm=None, n=None, s=None, dim=None):
    """NumPy's transform."""
    if name in ONE:
        return getattr(np.fft, name)(x, n, -1 if dim is None else dim, norm)
    s, dim = s or (6, 4), dim or (0, 1)
    return getattr(np.fft, name)(x, s, dim, norm) if "hfft" not in name else hermitian(name, x, s, dim, norm)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_values(name):
    """Cut, filled with zeros, along any dimension, by every norm; single precision stays single."""
    calls = (
        [{"n": 3}, {"n": 8, "dim": 0}, {"dim": 1}] if name in ONE else [{"s": (6, 4), "dim": (0, 1)}, {"s": (2, 7), "dim": (2, 0)}]
    )
    for kind, norm, call in ((k, norm, c) for k in ("float32", "float64") for norm in (None, "ortho", "forward") for c in calls):
        x = signal(name, kind)
        found, expected = getattr(fft, name)(nbgrad.tensor(x), norm=norm, **call), reference(name, x, norm, **call)
        assert found.dtype.name == expected.dtype.name
        np.testing.assert_allclose(found.resolve_conj().numpy(), expected, atol=1e-5 if kind == "float32" else 1e-12)


def test_real_numbers_and_integers_are_taken_as_complex():
    """Where a transform takes complex numbers; integers and truth values become the default float."""
    for x in (COMPLEX.real, np.arange(6).reshape(2, 3), np.array([[True, False]])):
        for name in ("fft", "ifft", "fft2", "ifftn", "irfft", "hfft"):
            expected = reference(name, x) if name in ONE else getattr(np.fft, name)(x)
            np.testing.assert_allclose(getattr(fft, name)(x).resolve_conj().numpy(), expected, atol=1e-5)
    assert fft.fft(nbgrad.arange(3)).dtype is nbgrad.complex64
    assert fft.fftn(nbgrad.tensor(2.0)).tolist() == 2 + 0j


@pytest.mark.parametrize("name", ["fft", "irfft2", "rfftn", "ihfft", "hfftn"])
def test_derivatives_of_every_order(name):
    """Both modes, the second order, and batches of cotangents and tangents."""
    f = getattr(fft, name)
    x = nbgrad.tensor(signal(name)[:2, :3, :3], requires_grad=True)
    assert nbgrad.gradcheck(f, (x,), check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert nbgrad.gradgradcheck(f, (x,), check_fwd_over_rev=True)


@pytest.mark.parametrize("name", ["ifft2", "rfft", "irfftn"])
def test_batches_and_graphs(name):
    """``vmap`` over any dimension, and compiled, are what single calls give, with their gradients."""

    def size(x):
        return getattr(fft, name)(x).abs().square().sum()

    x = nbgrad.tensor(signal(name))
    assert nbgrad.allclose(nbgrad.vmap(size, 2)(x), nbgrad.stack([size(each) for each in x.unbind(2)]))
    slope = nbgrad.func.grad(size)
    assert nbgrad.allclose(nbgrad.vmap(slope)(x), nbgrad.stack([slope(each) for each in x]))
    compiled = nbgrad.compile(size, fullgraph=True)
    for scale in (1.0, 2.0):
        y = (scale * x).requires_grad_()
        (g,) = nbgrad.grad(compiled(y), y)
        assert nbgrad.allclose(g, slope(y.detach()))


def test_nodes_are_named_as_in_torch():
    """By the kinds of numbers that go in and come out."""
    x = nbgrad.ones(2, 3, requires_grad=True)
    names = [fft.fft(x), fft.rfft(x), fft.irfft(x), fft.fft(x + 0j)]
    assert [y.grad_fn.name() for y in names] == ["FftR2CBackward0", "FftR2CBackward0", "FftC2RBackward0", "FftC2CBackward0"]


def test_gradients_of_what_does_not_count():
    """The imaginary parts of the first coefficient, and of the last of an even n, have no share in real numbers."""
    x = nbgrad.ones(3, dtype=nbgrad.complex128, requires_grad=True)
    (g,) = nbgrad.grad((fft.irfft(x) * nbgrad.tensor([1.0, 2.0, 4.0, 8.0])).sum(), x)
    np.testing.assert_allclose(g.numpy(), np.fft.rfft([1.0, 2.0, 4.0, 8.0]) * [0.25, 0.5, 0.25])
    assert g.imag.tolist()[0] == g.imag.tolist()[2] == 0


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_and_their_order(n):
    """As NumPy's; ``ifftshift`` takes back what ``fftshift`` does."""
    for name in ("fftfreq", "rfftfreq"):
        found = getattr(fft, name)(n, 0.3, dtype=nbgrad.float64, requires_grad=True)
        np.testing.assert_allclose(found.detach().numpy(), getattr(np.fft, name)(n, 0.3))
    x = np.arange(3 * n).reshape(3, n)
    for dim in (None, 1, (0, 1)):
        assert fft.fftshift(nbgrad.tensor(x), dim).tolist() == np.fft.fftshift(x, dim).tolist()
        assert fft.ifftshift(fft.fftshift(nbgrad.tensor(x), dim), dim).tolist() == x.tolist()


def test_results_in_tensors_that_exist():
    """``out`` gets the shape; a gradient that would be lost is refused."""
    x, out = nbgrad.ones(4), nbgrad.empty(0, dtype=nbgrad.complex64)
    assert fft.rfft(x, out=out) is out and out.tolist() == [4, 0, 0]
    with pytest.raises(nbgrad.GradError):
        fft.rfft(x.requires_grad_(), out=out)


X = nbgrad.ones(2, 3)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: fft.fft(X, 0), nbgrad.RangeError, "fft.fft: a transform of 0 points, expected at least 1"),
        (lambda: fft.fft(X, -1), nbgrad.RangeError, "of -1 points"),
        (lambda: fft.fft(X[:, :0]), nbgrad.RangeError, "of 0 points"),
        (lambda: fft.irfft(X[:, :1]), nbgrad.RangeError, "fft.irfft: a transform of 0 points"),
        (lambda: fft.fft(X, 2.5), nbgrad.ArgumentError, "n must be an integer, got 2.5"),
        (lambda: fft.fft([1.0]), nbgrad.ArgumentError, "fft.fft: input must be a Tensor, got list"),
        (lambda: fft.fft(X, dim=2), nbgrad.DimError, "fft.fft: dim 2 is out of range"),
        (lambda: fft.fft(nbgrad.tensor(1.0)), nbgrad.DimError, "no dimensions, expected at least one"),
        (lambda: fft.ifft(X, norm="half"), nbgrad.RangeError, "fft.ifft: norm is 'half', expected \"backward\""),
        (lambda: fft.fftn(X, dim=(0, -2)), nbgrad.ShapeError, r"fft.fftn: dim \[0, 0\] names a dimension twice"),
        (lambda: fft.fft2(X, (2,)), nbgrad.ShapeError, "fft.fft2: s has 1 sizes for 2 dimensions"),
        (lambda: fft.rfftn(X, (2, 2, 2)), nbgrad.ShapeError, "s has 3 sizes, input has 2 dimensions"),
        (lambda: fft.rfftn(X, dim=()), nbgrad.ShapeError, "no dimension to transform"),
        (lambda: fft.rfft(X + 0j), nbgrad.DTypeError, "fft.rfft: input is complex64, expected real numbers. Hint: fft.fft "),
        (lambda: fft.fft(X.half()), nbgrad.DTypeError, "input is float16, expected single or double precision"),
        (lambda: fft.fftfreq(-1), nbgrad.RangeError, "fft.fftfreq: "),
        (lambda: fft.rfftfreq(2, dtype=nbgrad.int64), nbgrad.DTypeError, "expected a floating one"),
    ],
)
def test_what_is_refused(call, error, message):
    """Errors name the function, what came and what was expected."""
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("n", [26, 27])  # shapes that no other test has planned
@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-14)])
def test_public_functions_of_numpy_do_as_well(n, dtype, tolerance, monkeypatch):
    """Where NumPy has its kernels under other names: every kind of transform, in both precisions."""
    monkeypatch.setattr(lowering, "kernels", lowering.PUBLIC)
    x = RNG.normal(size=(3, n)).astype(dtype)
    z = np.fft.fft2(x, norm="ortho")
    made = {
        "fft2": (fft.fft2(nbgrad.tensor(x), norm="ortho"), z),
        "ifft2": (fft.ifft2(nbgrad.tensor(z)), np.fft.ifft2(z)),
        "rfft2": (fft.rfft2(nbgrad.tensor(x), norm="forward"), np.fft.rfft2(x, norm="forward")),
        "irfft2": (fft.irfft2(nbgrad.tensor(np.fft.rfft2(x)), s=(3, n)), x),
        "hfft": (fft.hfft(nbgrad.tensor(z)), np.fft.hfft(z)),
    }
    for name, (found, expected) in made.items():
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance * 20, err_msg=name)
        assert found.numpy().dtype.itemsize == expected.dtype.itemsize, name
