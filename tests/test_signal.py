"""Windows, and spectra of overlapping frames: ``nbgrad.signal``, ``stft`` and ``istft``."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.signal import windows

RNG = np.random.default_rng(3)


def test_windows_are_numpys():
    """Symmetric ones; a periodic one is the first of a symmetric one of one element more."""
    for n in (2, 5, 8):
        for name in ("bartlett", "blackman", "hamming", "hanning"):
            expected, name = getattr(np, name)(n), name.replace("hanning", "hann")
            found = getattr(windows, name)(n, dtype=nbgrad.float64)
            np.testing.assert_allclose(found.numpy(), expected, atol=1e-15)
            np.testing.assert_allclose(getattr(nbgrad, f"{name}_window")(n, False).numpy(), expected, atol=1e-6)
        np.testing.assert_allclose(nbgrad.kaiser_window(n, False, 3.0, dtype=nbgrad.float64).numpy(), np.kaiser(n, 3.0))
    for name in windows.__all__:
        call = {"a": [0.4, 0.5, 0.1]} if name == "general_cosine" else {}
        whole, one = getattr(windows, name)(7, **call), getattr(windows, name)(1, sym=False, **call)
        assert whole.tolist() == pytest.approx(whole.flip(0).tolist())
        assert whole.tolist()[:6] == pytest.approx(getattr(windows, name)(6, sym=False, **call).tolist()) and one.tolist() == [1]
        assert getattr(windows, name)(0, **call).shape == (0,)


def test_formulas_of_windows():
    """Those that NumPy has not."""
    k = np.arange(5)
    found = [windows.cosine(5), windows.exponential(5, tau=2.0), windows.exponential(5, center=1.0, sym=False), windows.gaussian(5)]
    expected = [np.sin(np.pi * (k + 0.5) / 5), np.exp(-np.abs(k - 2) / 2), np.exp(-np.abs(k - 1.0)), np.exp(-((k - 2) ** 2) / 2)]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-6)
    assert windows.exponential(1, center=1.0, sym=False).item() == pytest.approx(np.exp(-1))
    assert nbgrad.hann_window(4, requires_grad=True, dtype=nbgrad.float64).requires_grad


@pytest.mark.parametrize(
    "call", [{}, {"center": False}, {"normalized": True, "onesided": False}, {"pad_mode": "constant", "hop_length": 3}]
)
def test_signals_come_back(call):
    """``istft`` undoes ``stft``: of batches, complex signals, and windows that are shorter than a frame."""
    for shape, size in (((20,), 8), ((2, 20), 6)):
        for x in (RNG.standard_normal(shape), RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)):
            t, window = nbgrad.tensor(x), 1 + nbgrad.hann_window(size, dtype=nbgrad.float64)
            call = {"hop_length": 2, "win_length": size, "window": window, **call}
            spectrum = t.stft(8, return_complex=True, **call)
            rest = {name: value for name, value in call.items() if name != "pad_mode"}
            found = spectrum.istft(8, return_complex=t.dtype.is_complex, length=17, **rest)
            inner = slice(0 if call.get("center", True) else 1, 16)
            np.testing.assert_allclose(found.numpy()[..., inner], x[..., inner], atol=1e-12)


def test_alignment_and_pairs():
    """Without ``center`` the first frame begins where the signal does, or its window does; pairs are complex numbers' parts."""
    x, ones = nbgrad.arange(8.0), nbgrad.ones(2)
    call = {"win_length": 2, "window": ones, "center": False, "hop_length": 2, "return_complex": True}
    assert x.stft(4, **call)[0].real.tolist() == [3, 7, 11]
    assert x.stft(4, align_to_window=True, **call)[0].real.tolist() == [1, 5, 9, 13]
    pairs = x.stft(4, **{**call, "return_complex": False})
    assert nbgrad.equal(pairs, nbgrad.view_as_real(x.stft(4, **call)))


def test_derivatives_batches_and_graphs():
    """By signal and window, in both modes; under ``vmap`` and compiled."""
    x = nbgrad.tensor(RNG.standard_normal(9), requires_grad=True)
    window = nbgrad.tensor(1 + RNG.random(4), requires_grad=True)

    def there_and_back(x, window):
        return nbgrad.istft(nbgrad.stft(x, 4, 2, window=window, return_complex=True) ** 2, 4, 2, window=window)

    assert nbgrad.gradcheck(there_and_back, (x, window), check_forward_ad=True)
    xs = nbgrad.tensor(RNG.standard_normal((2, 9)))
    expected = nbgrad.stack([there_and_back(each, window) for each in xs])
    assert nbgrad.allclose(nbgrad.vmap(there_and_back, (0, None))(xs, window), expected)
    assert nbgrad.allclose(nbgrad.compile(there_and_back)(xs, window), expected)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: nbgrad.hann_window(-1), nbgrad.RangeError, "hann_window: -1 elements"),
        (lambda: windows.hann(2.5), nbgrad.ArgumentError, "signal.windows.hann: the number of elements must be an integer"),
        (lambda: nbgrad.hann_window(3, dtype=nbgrad.int64), nbgrad.DTypeError, "hann_window: dtype is .*, expected a floating one"),
        (lambda: windows.gaussian(3, std=0.0), nbgrad.RangeError, "std is 0.0, expected a positive number"),
        (lambda: windows.exponential(3, center=1.0), nbgrad.ArgumentError, "expected None of a symmetric window"),
        (lambda: nbgrad.ones(8).stft(4, win_length=5, return_complex=True), nbgrad.RangeError, "expected at most n_fft = 4"),
        (lambda: nbgrad.ones(8).stft(4, window=nbgrad.ones(3), return_complex=True), nbgrad.ShapeError, r"expected \[4\]"),
        (lambda: (nbgrad.ones(8) + 0j).stft(4, onesided=True), nbgrad.ArgumentError, "onesided is True"),
        (
            lambda: nbgrad.ones(8).stft(4, align_to_window=True, return_complex=True),
            nbgrad.ArgumentError,
            "align_to_window is given",
        ),
        (lambda: nbgrad.ones(8, dtype=nbgrad.int64).stft(4), nbgrad.DTypeError, "stft: input is int64"),
        (lambda: (nbgrad.ones(4, 2) + 0j).istft(4, onesided=True), nbgrad.ShapeError, "input has 4 coefficients, expected 3"),
        (lambda: (nbgrad.ones(3, 2) + 0j).istft(4, return_complex=True), nbgrad.ArgumentError, "half of the coefficients"),
        (lambda: (nbgrad.ones(3, 2) + 0j).istft(4, 4, window=nbgrad.hann_window(4)), nbgrad.RangeError, "do not cover"),
    ],
)
def test_what_is_refused(call, error, message):
    """Errors name the function, what came and what was expected."""
    with pytest.raises(error, match=message):
        call()
