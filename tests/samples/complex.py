"""Samples of what is there for complex numbers: parts and conjugates, as views and computed."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import NONZERO, REAL, case, fails, row

# Their meaning depends on the memory of the operand.
MEMORY = {"layout": "it speaks of memory, or refuses memory that it cannot view"}
NO_GRADIENT = {"gradient": "a truth value has none"}
BITS = {**NO_GRADIENT, "lazy": "it asks for the bits"}


def unit(x):
    """x / |x|, and 0 at 0."""
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


Z = np.array([[1.5 - 0.5j, -2.0 + 1.0j], [0.3 + 2.0j, -1.0 - 1.0j]])
row(
    "view_dtype",
    lambda x, dtype: x.view(np.int64),
    REAL,
    case(Z.real.copy(), dtype=nbgrad.int64),
    unlike={**MEMORY, "gradient": "bytes have none"},
    errors=[fails(nbgrad.NbgradError, "view", (3, 3), dtype=nbgrad.complex128)],
)
row("real_view", np.real, REAL, case(Z))
row("imag_view", np.imag, REAL, case(Z))
row("view_as_real", lambda x: np.stack([x.real, x.imag], -1), REAL, case(Z), unlike={"lazy": "it speaks of memory"})
row(
    "view_as_complex",
    lambda x: x[..., 0] + 1j * x[..., 1],
    REAL,
    case((3, 2)),
    unlike={**MEMORY, "half": "no complex of half types"},
)
row("complex", lambda real, imag: real + 1j * imag, REAL, case((2, 3), (2, 3)), unlike={"half": "no complex of half types"})
row("real", np.real, REAL, case(Z), case((2, 3)))
row("imag", np.imag, REAL, case(Z))
row("conj_view", np.conj, REAL, case(Z))
row("conj", np.conj, REAL, case(Z), case((2, 3)))
row("neg_view", np.negative, REAL, case((2, 3)), case(Z))
row("_neg_view", np.negative, REAL, case((2, 3)), case(Z), errors=[fails(nbgrad.DTypeError, "no negative", (2,), in_dtype="uint8")])
row("resolve_conj", np.copy, REAL, case((2, 3)), case(Z))
row("resolve_neg", np.copy, REAL, case((2, 3)), case(Z))
row("is_conj", lambda x: False, REAL, case((2, 3)), case(Z), unlike=BITS)
row("is_neg", lambda x: False, REAL, case((2, 3)), case(Z), unlike=BITS)
row("is_complex", np.iscomplexobj, REAL, case((2, 3)), case(Z), unlike=NO_GRADIENT)
row("is_floating_point", np.isrealobj, REAL, case((2, 3)), case(Z), unlike=NO_GRADIENT)
row("H", lambda x: np.conj(x.T), REAL, case((2, 3)), case(Z), case(()), errors=[fails(nbgrad.ShapeError, "H: ", (3,))])
row("isreal", np.isreal, REAL, case((2, 3)), case(np.array([1.0, 1j, 2 + 0j, np.nan])), unlike=NO_GRADIENT)
row("abscissa", lambda x, y: x * np.cos(y), REAL)
row("ordinate", lambda x, y: x * np.sin(y), REAL)
row(
    "polar",
    lambda abs, angle: abs * np.exp(1j * angle),
    REAL,
    case((2, 3), (2, 3)),
    case((2, 1), (3,)),
    unlike={"half": "no complex of half types"},
    errors=[fails(nbgrad.DTypeError, "one floating dtype", (2,), (2,), in_dtype="int64")],
)
row("modulus", np.hypot, NONZERO, at={(0.0, 0.0): (0.0, 0.0)}, saves="x y")
row("argument", lambda x, y: np.arctan2(y, x), NONZERO, at={(0.0, 0.0): (0.0, 0.0)})
row("angle", np.angle, NONZERO, at={(0.0,): (0.0,)}, saves="")
row("sgn", unit, NONZERO, at={(0.0,): (0.0,)}, saves="")
