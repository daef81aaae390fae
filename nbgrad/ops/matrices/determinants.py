"""Determinants, their cofactors, and what cofactors change by: all of singular matrices too."""

from __future__ import annotations

import math

from ..core import general
from ..expr import scalar
from .parts import INTERNAL, h, in_kind, real_part

general(
    "determinant",
    lambda x: x,
    {"x": lambda g, x: g.unsqueeze(-1).unsqueeze(-1) * scalar.cofactors(x)},
    **INTERNAL,
    node="LinalgDetBackward0",
    public="linalg.det",
    doc="The determinant.",
)


general(
    "cofactors",
    lambda x: x,
    {"x": lambda g, x: scalar.cofactor_slope(x, g)},
    **INTERNAL,
    public="linalg.det",
    doc="The conjugated cofactors: the derivative of the determinant, of singular matrices too.",
)


def greatest(x):
    """The greatest magnitude of each matrix, as a constant."""
    return scalar.abs(x.detach()).amax((-2, -1), True)


def turned(x, angle: float):
    """Complex numbers turned by an angle."""
    return x * math.cos(angle) + x * math.sin(angle) * 1j


def slope_cotangent(g, x, y):
    """What the slope in the direction of y changes by in that of g: a coefficient of a polynomial in t, the slope at x + t g.

    From its values at roots of unity, so that no matrix is inverted.

    Source: J. N. Lyness and C. B. Moler, "Numerical differentiation of analytic functions", 1967.
    """
    n, large_x, large_g = x.shape[-1], greatest(x), greatest(g)
    if n < 3:  # the slope is constant
        return x * 0
    radius = scalar.where((large_x > 0) & (large_g > 0), large_x / large_g, 1.0)
    dtype = x.dtype.to_complex() if not x.dtype.is_complex else x.dtype
    x, y, step, dtype = x.to_dtype(dtype), y.to_dtype(dtype), (g * radius).to_dtype(dtype), x.dtype
    here, total = scalar.cofactor_slope(x, y), 0
    for k in range(n):  # less what does not change, which is 0 in all: without a g there is nothing, exactly
        angle = 2 * math.pi * k / n
        total = total + turned(scalar.cofactor_slope(x + turned(step, angle), y) - here, angle)
    return in_kind(total / (n * radius), dtype)


general(
    "cofactor_slope",
    lambda x, y: x,
    {"x": slope_cotangent, "y": lambda g, x: scalar.cofactor_slope(x, g)},
    operands=("x", "y"),
    **INTERNAL,
    public="linalg.det",
    doc="The conjugate of the cofactors' derivative in the direction of y, of singular matrices too: linear in y, and its own "
    "transpose.",
)


def phase_cotangent(g, x, out):
    """Of the logarithm, the transposed inverse; of a complex sign only its turning, -i Im(conj(g) sign): real signs do not turn."""
    along = real_part(g.select(-1, 1))
    if x.dtype.is_complex:
        along = along + (scalar.conj_physical(g.select(-1, 0)) * out.select(-1, 0)).imag * -1j
    return along.unsqueeze(-1).unsqueeze(-1) * h(scalar.inverse_matrix(x, False))


general(
    "sign_and_size",
    lambda x: x,
    {"x": phase_cotangent},
    **INTERNAL,
    node="LinalgSlogdetBackward0",
    public="linalg.slogdet",
    doc="The determinant divided by its magnitude, and the logarithm of that.",
)
