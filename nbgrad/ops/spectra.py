"""Spectra of overlapping frames of a signal, and the signal that they are of: ``stft`` and ``istft``."""

from __future__ import annotations

from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from .core import composite
from .expr import scalar
from .fft import EXACT

__all__: list[str] = []

LEAST = 1e-11  # what the squares of windows must add up to


def lengths(name: str, n_fft: int, hop_length: int | None, win_length: int | None) -> tuple[int, int]:
    """Steps between frames, and the size of the window.

    Raises:
        RangeError: they are too small, or the window is longer than a frame.
    """
    win = n_fft if win_length is None else win_length
    hop = n_fft // 4 if hop_length is None else hop_length
    for what, value in (("n_fft", n_fft), ("hop_length", hop), ("win_length", win)):
        if value < 1:
            raise RangeError(f"{name}: {what} is {value}, expected at least 1.")
    if win > n_fft:
        raise RangeError(f"{name}: win_length is {win}, expected at most n_fft = {n_fft}.")
    return hop, win


def sides(n_fft: int, win: int) -> tuple[int, int]:
    """What is before and behind a window in the middle of a frame."""
    left = (n_fft - win) // 2
    return left, n_fft - win - left


def framed(name: str, x, window, n_fft: int, win: int):
    """The window in the middle of a frame; None for a frame of ones.

    Raises:
        ShapeError: a window of another size.
    """
    if window is None:
        if win == n_fft:
            return None
        window = x.new_ones((win,), dtype=x.dtype.to_real() if x.dtype.is_complex else x.dtype)
    elif tuple(window.shape) != (win,):
        raise ShapeError(f"{name}: window is {list(window.shape)}, expected [{win}], as win_length says.")
    return window if win == n_fft else scalar.zero_pad(window, sides(n_fft, win))


def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The Fourier transforms of overlapping frames of a signal.

    Args:
        input: a signal, or a batch of them in rows; real or complex, of single or double precision.
        n_fft: the size of a frame.
        hop_length: steps from a frame to the next; n_fft // 4 unless it is given.
        win_length: the size of the window, which stands in the middle of a frame; n_fft unless it is given.
        window: ``(win_length,)``; ones unless it is given.
        center: frame t is about element t * hop_length: the signal is padded by n_fft // 2 on both sides.
        pad_mode: how, as of ``nn.functional.pad``.
        normalized: divide by the root of n_fft.
        onesided: the first n_fft // 2 + 1 coefficients, which tell the others: of real numbers, unless it is False.
        return_complex: complex numbers, else pairs of real ones; must be given for real numbers.
        align_to_window: without ``center``, the window of the first frame, not the frame, begins where the signal does.

    Returns:
        ``(n_fft // 2 + 1 or n_fft, frames)``, with the batch in front.

    Raises:
        ShapeError: more dimensions, a signal shorter than a frame, another window. RangeError: sizes below 1.
        ArgumentError: arguments that do not go together. DTypeError: integers or half types.

    Source: J. B. Allen, "Short term spectral analysis, synthesis, and modification by discrete Fourier transform", 1977.

    >>> nbgrad.stft(nbgrad.arange(6.0), 4, window=nbgrad.hann_window(4), center=False, return_complex=True).shape
    nbgrad.Size([3, 3])
    """
    x = input
    if x.dtype.name not in EXACT:
        raise DTypeError(f"stft: input is {x.dtype.name}, expected single or double precision. Hint: input.float().")
    if x.ndim not in (1, 2):
        raise ShapeError(f"stft: input is {list(x.shape)}, expected a signal, or a batch of them in rows.")
    hop, win = lengths("stft", n_fft, hop_length, win_length)
    is_complex = x.dtype.is_complex or window is not None and window.dtype.is_complex
    if return_complex is None and not is_complex:
        raise ArgumentError("stft: return_complex must be given for real numbers. Hint: return_complex=True.")
    if onesided and is_complex:
        raise ArgumentError("stft: onesided is True, but of complex numbers half of the coefficients does not tell the others.")
    if center and align_to_window is not None:
        raise ArgumentError("stft: align_to_window is given, expected None, since frames are centred. Hint: center=False.")
    if center:
        x = scalar.pad(x, (n_fft // 2, n_fft // 2), pad_mode)
    elif align_to_window:
        x = scalar.zero_pad(x, sides(n_fft, win))
    if x.shape[-1] < n_fft:
        raise ShapeError(f"stft: a signal of {x.shape[-1]} elements has no frame of n_fft = {n_fft}.")
    window = framed("stft", x, window, n_fft, win)
    frames = x.unfold(-1, n_fft, hop)
    frames = frames if window is None else frames * window
    norm, dim = "ortho" if normalized else "backward", (frames.ndim - 1,)
    if is_complex:
        out = scalar.fft_c2c(frames, dim, norm, False)
    else:
        out = scalar.fft_r2c(frames, dim, norm, onesided is not False)
    out = out.transpose(-1, -2)
    return out if return_complex is not False else scalar.view_as_real(out)


def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal of which ``stft`` gives this: of spectra that no signal has, the one whose spectra are nearest.

    Args:
        input: ``(n_fft // 2 + 1 or n_fft, frames)``, with or without a batch in front; complex.
        n_fft, hop_length, win_length, window, center, normalized: as of ``stft``.
        onesided: whether ``input`` has the first n_fft // 2 + 1 coefficients alone; its shape says it.
        length: of the signal, of which the last elements may not fill a step.
        return_complex: the signal is complex.

    Returns:
        The signal, with the batch in front.

    Raises:
        ShapeError: another number of dimensions or coefficients, or another window. RangeError: sizes below 1, or windows that
            do not cover the signal. ArgumentError: arguments that do not go together. DTypeError: ``input`` is not complex.

    Source: D. W. Griffin and J. S. Lim, "Signal estimation from modified short-time Fourier transform", 1984.

    >>> x, window = nbgrad.arange(6.0), nbgrad.hann_window(4)
    >>> nbgrad.istft(nbgrad.stft(x, 4, window=window, return_complex=True), 4, window=window)
    tensor([0., 1., 2., 3., 4., 5.])
    """
    x = input
    if x.dtype.name not in EXACT[2:]:
        raise DTypeError(f"istft: input is {x.dtype.name}, expected complex numbers. Hint: nbgrad.view_as_complex(input).")
    if x.ndim not in (2, 3) or not x.shape[-1]:
        raise ShapeError(f"istft: input is {list(x.shape)}, expected coefficients by frames, with or without a batch in front.")
    hop, win = lengths("istft", n_fft, hop_length, win_length)
    size, count = x.shape[-2:]
    onesided = size != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if size != expected:
        raise ShapeError(f"istft: input has {size} coefficients, expected {expected}, as n_fft = {n_fft} says.")
    if return_complex and onesided:
        raise ArgumentError("istft: return_complex is True, but half of the coefficients tells real numbers alone.")
    if not return_complex and window is not None and window.dtype.is_complex:
        raise ArgumentError("istft: window is complex, so that the signal is. Hint: return_complex=True.")
    norm, dim, frames = "ortho" if normalized else "backward", (x.ndim - 1,), x.transpose(-1, -2)
    if return_complex:
        frames = scalar.fft_c2c(frames, dim, norm, True)
    else:
        frames = scalar.fft_c2r(frames if onesided else frames.slice(-1, 0, n_fft // 2 + 1, 1), dim, norm, n_fft)
    window = framed("istft", frames, window, n_fft, win)
    if window is None:
        window = frames.new_ones((n_fft,), dtype=x.dtype.to_real())
    whole = n_fft + hop * (count - 1)
    lead = tuple(x.shape[:-2])
    signal = scalar.unfold_backward(frames * window, (*lead, whole), len(lead), n_fft, hop)
    weight = scalar.unfold_backward((window * window).expand((count, n_fft)), (whole,), 0, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    signal, weight = signal.slice(-1, start, end, 1), weight.slice(-1, start, end, 1)
    require_cover(weight)
    signal = signal / weight
    return scalar.zero_pad(signal, (0, end - whole)) if end > whole else signal


def require_cover(weight) -> None:
    """Refuse windows that leave out parts of the signal.

    Raises:
        RangeError: they do.
    """
    from ..base.grad_mode import special, traces

    if special or traces or weight.layout.special or not weight.numel():  # no values to look at
        return
    least = float(scalar.abs(weight.detach()).amin())
    if least < LEAST:
        raise RangeError(
            f"istft: the squares of the windows add up to {least:.3g} somewhere, expected more than {LEAST}: they do not cover the "
            "signal. Hint: a smaller hop_length, center=True, or a window without zeros."
        )


composite("stft", stft, pure=True, doc=str(stft.__doc__))
composite("istft", istft, doc=str(istft.__doc__))
