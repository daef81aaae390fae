"""Roots, exponentials and logarithms, and logarithms of sums of exponentials."""

from __future__ import annotations

import math

from ..core import elementwise
from ..expr import scalar

where = scalar.where


LN2, LN10 = math.log(2), math.log(10)


def _log_of_sum(x, y):
    """log(e**x + e**y) of complex numbers: the one of greater real part is taken out."""
    is_first = scalar.real(x) >= scalar.real(y)
    top, other = where(is_first, x, y), where(is_first, y, x)
    return top + scalar.log1p(scalar.exp(other - top))


def _share(x, y, rate):
    """e**x / (e**x + e**y), or of powers of another base; of two equal infinities the half."""
    return where(scalar.isinf(x) & (x == y), 0.5, scalar.sigmoid(rate * (x - y)))


elementwise(
    "sqrt",
    lambda x: scalar.sqrt(x),
    {"x": lambda out: 1 / (2 * out)},
    policy="float",
    complex=True,
    cheap=True,
    doc="The square root.",
)
elementwise(
    "rsqrt",
    lambda x: scalar.rsqrt(x),
    {"x": lambda out: -0.5 * (out * out * out)},
    policy="float",
    complex=True,
    doc="1 / sqrt(x).",
)
elementwise("exp", lambda x: scalar.exp(x), {"x": lambda out: out}, policy="float", complex=True, doc="e**x.")
elementwise(
    "exp2", lambda x: scalar.exp2(x), {"x": lambda out: out * LN2}, policy="float", complex=True, special=("exp2",), doc="2**x."
)
elementwise(
    "expm1",
    lambda x: scalar.expm1(x),
    {"x": lambda out: out + 1},
    policy="float",
    complex=True,
    special=("expm1",),
    doc="e**x - 1, exact near 0.",
)
elementwise("log", lambda x: scalar.log(x), {"x": lambda x: 1 / x}, policy="float", complex=True, doc="The natural logarithm.")
elementwise(
    "log2", lambda x: scalar.log2(x), {"x": lambda x: 1 / (x * LN2)}, policy="float", complex=True, doc="The logarithm to base 2."
)
elementwise(
    "log10",
    lambda x: scalar.log10(x),
    {"x": lambda x: 1 / (x * LN10)},
    policy="float",
    complex=True,
    doc="The logarithm to base 10.",
)
elementwise(
    "log1p",
    lambda x: scalar.log1p(x),
    {"x": lambda x: 1 / (x + 1)},
    policy="float",
    complex=True,
    node="Log1PBackward0",
    special=("log1p",),
    doc="log(1 + x), exact near 0.",
)
elementwise(
    "logaddexp",
    lambda x, y: where(x == y, x + LN2, scalar.maximum(x, y) + scalar.log1p(scalar.exp(-scalar.abs(x - y)))),
    {"x": lambda x, y: _share(x, y, 1.0), "y": lambda x, y: _share(y, x, 1.0)},
    policy="floating",
    inplace=False,
    complex_form=lambda x, y: _log_of_sum(x, y),
    doc="log(e**x + e**y), without overflow.",
)
elementwise(
    "logaddexp2",
    lambda x, y: where(x == y, x + 1, scalar.maximum(x, y) + scalar.log1p(scalar.exp2(-scalar.abs(x - y))) * (1 / LN2)),
    {"x": lambda x, y: _share(x, y, LN2), "y": lambda x, y: _share(y, x, LN2)},
    policy="floating",
    inplace=False,
    doc="log2(2**x + 2**y), without overflow.",
)


# ---- the step of a CTC loss: three paths meet -----------------------------------------------------------------------


def _powers(x, y, z):
    """The greatest, and e to the power of each above it."""
    top = scalar.maximum(scalar.maximum(x, y), z)
    return top, *(scalar.exp(each - top) for each in (x, y, z))


def _log_of_three(x, y, z):
    top, *powers = _powers(x, y, z)
    return top + scalar.log(powers[0] + powers[1] + powers[2])


def _share_of_three(k, x, y, z):
    _, *powers = _powers(x, y, z)
    return powers[k] / (powers[0] + powers[1] + powers[2])


elementwise(
    "path_score",
    lambda x, y, z, barrier, score: _log_of_three(x, y, z + barrier) + score,
    {
        "x": lambda x, y, z, barrier: _share_of_three(0, x, y, z + barrier),
        "y": lambda x, y, z, barrier: _share_of_three(1, x, y, z + barrier),
        "z": lambda x, y, z, barrier: _share_of_three(2, x, y, z + barrier),
        "barrier": lambda x, y, z, barrier: _share_of_three(2, x, y, z + barrier),
        "score": lambda: 1,
    },
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="ctc_loss",
    doc="log(e**x + e**y + e**(z + barrier)) + score, of finite numbers: what paths that go on in one place have scored.",
)


# ---- a logarithm with a factor ---------------------------------------------------------------------------------------


def by_factor(g, x, y, lowest, logarithm):
    """The cotangent, or the tangent, ``g`` by the first factor of ``x * log(y)``: 0 where that or ``x`` is 0 and so the product is.

    Elsewhere it is not asked for zeros, so that derivatives by ``g`` are those of the product.
    """
    return where((y <= lowest) & ((x == 0) | (g == 0)) | (y == math.inf) & (g == 0), 0, g * logarithm(y))


elementwise(
    "xlogy",
    lambda x, y: where(scalar.isnan(y), y, where(x == 0, 0, x * scalar.log(y))),
    {"x": lambda g, x, y: by_factor(g, x, y, 0, scalar.log), "y": lambda x, y: where((x == 0) & (y == 0), 0, x / y)},
    tangents={"x": lambda t_x, x, y: by_factor(t_x, x, y, 0, scalar.log)},
    policy="float",
    special=("xlogy",),
    doc="x * log(y); 0 where x is 0, unless y is NaN.",
    aten={(): ".Tensor", (False, True): ".Scalar_Other", (True, False): ".Scalar_Self"},
)
