"""Samples of Fourier transforms; ``nbgrad.fft`` as a whole is in tests/test_fft.py."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

HALF = {"half": "of single and double precision"}
Z = np.array([[1.5 - 0.5j, -2.0 + 1.0j, 0.25j], [0.3 + 2.0j, -1.0 - 1.0j, 0.5]])

row(
    "fft_c2c",
    lambda x, dim, norm, inverse: (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=dim, norm=norm),
    REAL,
    case(Z, dim=(1, 0), norm="ortho", inverse=False),
    case(Z, dim=(1,), norm="backward", inverse=True),
    unlike=HALF,
)
row(
    "fft_r2c",
    lambda x, dim, norm, onesided: (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=dim, norm=norm),
    REAL,
    case((3, 4), dim=(0, 1), norm="forward", onesided=True),
    case((3,), dim=(0,), norm="backward", onesided=False),
    unlike=HALF,
)
row(
    "fft_c2r",
    lambda x, dim, norm, n: np.fft.irfftn(x, [*(x.shape[d] for d in dim[:-1]), n], dim, norm),
    REAL,
    case(Z, dim=(0, 1), norm="backward", n=4),
    case(Z, dim=(1,), norm="forward", n=5),
    unlike=HALF,
    saves="",
)


def frames(x, n_fft, hop_length, return_complex):
    """Spectra of frames in the middle of which every ``hop_length``-th element is."""
    x = np.pad(x, n_fft // 2, "reflect")
    return np.stack([np.fft.rfft(x[k : k + n_fft]) for k in range(0, len(x) - n_fft + 1, hop_length)], -1)


def overlapped(x, n_fft, hop_length):
    """The means of overlapping frames, where they are whole."""
    total, count = np.zeros((2, n_fft + hop_length * (x.shape[1] - 1)))
    for k, frame in enumerate(np.fft.irfft(x, n_fft, 0).T):
        total[k * hop_length : k * hop_length + n_fft] += frame
        count[k * hop_length : k * hop_length + n_fft] += 1
    inner = slice(n_fft // 2, len(total) - n_fft // 2)
    return total[inner] / count[inner]


row(
    "stft",
    frames,
    REAL,
    case((5,), n_fft=4, hop_length=2, return_complex=True),
    unlike={"half": "of single and double precision"},
    errors=[
        fails(nbgrad.ArgumentError, "return_complex must be given", (5,), n_fft=4),
        fails(nbgrad.RangeError, "hop_length is 0", (5,), n_fft=4, hop_length=0, return_complex=True),
        fails(nbgrad.ShapeError, "has no frame", (3,), n_fft=4, center=False, return_complex=True),
    ],
)
row(
    "istft",
    overlapped,
    REAL,
    case(Z.T, n_fft=4, hop_length=2),
    unlike={"half": "of single and double precision"},
    errors=[fails(nbgrad.DTypeError, "expected complex numbers", (3, 2), n_fft=4)],
)
