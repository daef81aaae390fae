"""Samples of Fourier transforms; ``nbgrad.fft`` as a whole is in tests/test_fft.py."""

from __future__ import annotations

import numpy as np

from .row import REAL, case, row

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
