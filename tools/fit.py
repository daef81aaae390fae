"""Derive the polynomial coefficients of ``nbgrad/kernels/scalars/constants.py`` (needs mpmath; run by hand).

Every polynomial is the weighted minimax fit of a smooth function, found by Remez exchange in 60 digits and then rounded
to the dtype; the error printed beside it is that of the rounded one, relative to the result it goes into.

    python tools/fit.py            # all tables
    python tools/fit.py exp_tail   # one of them
"""

from __future__ import annotations

import sys
from typing import Callable, NamedTuple

import mpmath as mp
import numpy as np

mp.mp.dps = 60
GRID = 600


def one(t):
    """The weight 1: the error of the polynomial is that of the result."""
    return mp.mpf(1)


class Fit(NamedTuple):
    """One polynomial: ``function`` on ``[low, high]``; ``weight`` turns its error into that of the final result."""

    name: str
    function: Callable
    weight: Callable
    low: mp.mpf
    high: mp.mpf
    degrees: dict[str, int]


def extrema(errors, grid):
    """The point of largest error of each run of equal sign."""
    found, start = [], 0
    for k in range(1, len(grid) + 1):
        if k == len(grid) or mp.sign(errors[k]) != mp.sign(errors[start]):
            found.append(grid[max(range(start, k), key=lambda i: abs(errors[i]))])
            start = k
    return found


def solve(values, weights, nodes):
    """Coefficients of the polynomial whose weighted errors alternate in sign, and agree in size, on ``nodes``."""
    n = len(nodes)
    system = mp.matrix(n, n)
    for i, t in enumerate(nodes):
        for j in range(n - 1):
            system[i, j] = t**j
        system[i, n - 1] = (-1) ** i / weights[i]
    return list(mp.lu_solve(system, mp.matrix(values)))[:-1]


def remez(fit: Fit, degree: int, rounds: int = 8):
    """Minimax coefficients ``c0 .. c_degree``; stops early where the exchange loses an extremum."""
    n = degree + 2
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    middle, half = (low + high) / 2, (high - low) / 2
    grid = [middle - half * mp.cos(mp.pi * k / GRID) for k in range(GRID + 1)]
    target = {t: fit.function(t) for t in grid}
    weight = {t: fit.weight(t) for t in grid}
    nodes = [grid[round(GRID * k / (n - 1))] for k in range(n)]
    for _ in range(rounds):
        c = solve([target[t] for t in nodes], [weight[t] for t in nodes], nodes)
        errors = [(target[t] - mp.polyval(c[::-1], t)) * weight[t] for t in grid]
        exchanged = extrema(errors, grid)
        if len(exchanged) != n or exchanged == nodes:
            break
        nodes = exchanged
    return c


def report(fit: Fit, dtype: str, degree: int) -> None:
    """Print one row of the table, with the error of the rounded polynomial."""
    round_to = np.dtype(dtype).type
    c = [float(round_to(float(v))) for v in remez(fit, degree)]
    points = [fit.low + (fit.high - fit.low) * mp.mpf(k) / 997 for k in range(998)]
    error = max(abs((fit.function(t) - mp.polyval(c[::-1], t)) * fit.weight(t)) for t in points)
    print(f'    "{fit.name}": {c},  # {dtype} 2**{float(mp.log(error, 2)):.1f}', flush=True)


def series(closed, first):
    """``closed``, with its limit at 0 put in by hand."""
    return lambda t: closed(t) if abs(t) > mp.mpf("1e-18") else mp.mpf(first)


def log_tail(z):
    """What log((1 + s) / (1 - s)) / s leaves of 2, over z = s**2."""
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2) / z


def atanh_tail(z):
    """log2((1 + s) / (1 - s)) / s less its first two terms, divided by z**2: the part of ``pow`` kept in one word."""
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2 - z * 2 / 3) / z**2


def sqrt_of(function, power):
    """An odd (or even) function of x as one of ``z = x**2``: (f(x) - x) / x**3, or the like."""
    return lambda z: function(mp.sqrt(z)) / mp.sqrt(z) ** power


HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.001")  # rint(x / ln 2) may round to the other side
SQRT2 = mp.sqrt(2)
EIGHTH = (mp.pi / 4 * mp.mpf("1.009")) ** 2  # 2 x / pi is not exact: for large x the other side is rounded to
ERF_SPLIT = 1

FITS = [
    Fit(
        "exp_tail",
        series(lambda r: (mp.expm1(r) - r) / r**2, 0.5),
        lambda r: mp.mpf("0.12"),
        -HALF_LN2,
        HALF_LN2,
        {"float32": 4, "float64": 9},
    ),
    Fit(
        "expm1_tail",
        series(lambda r: (mp.expm1(r) - r) / r**2, 0.5),
        lambda r: mp.mpf("0.2"),
        mp.mpf("-0.2085"),
        mp.mpf("0.4857"),
        {"float32": 4, "float64": 9},
    ),
    Fit(
        "log_direct",
        series(lambda f: (mp.log1p(f) - f) / f**2, -0.5),
        lambda f: abs(f) + mp.mpf("0.1"),
        1 / SQRT2 - 1,
        SQRT2 - 1,
        {"float32": 8},
    ),
    Fit("log_ratio", series(log_tail, mp.mpf(2) / 3), one, 0, ((SQRT2 - 1) / (SQRT2 + 1)) ** 2, {"float64": 6}),
    Fit("pow_tail", series(atanh_tail, mp.mpf(2) / 5), one, 0, ((SQRT2 - 1) / (SQRT2 + 1)) ** 2, {"float32": 3, "float64": 8}),
    Fit("sin_tail", series(sqrt_of(lambda x: mp.sin(x) - x, 3), -mp.mpf(1) / 6), one, 0, EIGHTH, {"float32": 3, "float64": 5}),
    Fit(
        "cos_tail",
        series(sqrt_of(lambda x: mp.cos(x) - 1 + x * x / 2, 4), mp.mpf(1) / 24),
        one,
        0,
        EIGHTH,
        {"float32": 2, "float64": 5},
    ),
    Fit("tan_tail", series(sqrt_of(lambda x: mp.tan(x) - x, 3), mp.mpf(1) / 3), one, 0, EIGHTH, {"float32": 6, "float64": 14}),
    Fit(
        "asin_tail",
        series(sqrt_of(lambda x: mp.asin(x) - x, 3), mp.mpf(1) / 6),
        one,
        0,
        mp.mpf("0.298"),
        {"float32": 4, "float64": 12},
    ),
    Fit(
        "atan_tail",
        series(sqrt_of(lambda x: mp.atan(x) - x, 3), -mp.mpf(1) / 3),
        one,
        0,
        (SQRT2 - 1) ** 2 * 1.001,
        {"float32": 4, "float64": 10},
    ),
    Fit(
        "erf_near",
        series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 2 / mp.sqrt(mp.pi) - 1),
        one,
        0,
        ERF_SPLIT,
        {"float64": 11},
    ),
    Fit(
        "erf_log",
        series(lambda a: -mp.log(mp.erfc(a)) / a - 1, 2 / mp.sqrt(mp.pi) - 1),
        series(lambda a: a * mp.erfc(a) / mp.erf(a), mp.sqrt(mp.pi) / 2),
        0,
        mp.mpf("3.93"),
        {"float32": 7},
    ),
    Fit("erf_far", lambda a: -mp.log(mp.erfc(a)), mp.erfc, mp.mpf(ERF_SPLIT), mp.mpf("5.93"), {"float64": 18}),
]

# ---- special functions -------------------------------------------------------------------------------------------------


def erfinv_of(w):
    """The inverse error function at x with w = -log(1 - x**2), and x: Newton's method on log erfc, which never underflows."""
    complement = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)  # 1 - x
    y = mp.sqrt(w) if w > 4 else mp.erfinv(1 - complement) if w > 0 else mp.mpf(0)
    for _ in range(60):
        tail = mp.erfc(y)
        step = (mp.log(tail) - mp.log(complement)) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(y * y) if w > 0 else mp.mpf(0)
        y += step
        if abs(step) < mp.mpf("1e-45"):
            break
    return y, 1 - complement


def erfinv_ratio(w):
    """erfinv(x) / x."""
    if w < mp.mpf("1e-30"):
        return mp.sqrt(mp.pi) / 2
    y, x = erfinv_of(w)
    return y / x


def erfinv_ratio_of_root(s):
    """erfinv(x) / x over s = sqrt(w)."""
    return erfinv_ratio(s * s)


def erfinv_over_root(u):
    """erfinv(x) / sqrt(w) over u = 1 / sqrt(w)."""
    return erfinv_of(1 / u**2)[0] * u


def moved(function, middle):
    """``function`` over the distance from a point."""
    return lambda t: function(middle + t)


def scaled_erfcx(q):
    """(1 + 2 x) e**(x**2) erfc(x) over q = (x - 4) / (x + 4)."""
    if q > 1 - mp.mpf("1e-25"):
        return 2 / mp.sqrt(mp.pi)
    x = 4 * (1 + q) / (1 - q)
    if x > 1000:
        scaled = sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12)) / (x * mp.sqrt(mp.pi))
    else:
        scaled = mp.exp(x * x) * mp.erfc(x)
    return (1 + 2 * x) * scaled


def bessel_near(order):
    """I_0(x), or I_1(x) / x, over z = (x / 8)**2."""
    return lambda z: mp.besseli(order, 8 * mp.sqrt(z)) / (8 * mp.sqrt(z)) ** order if z else mp.mpf(1) / 2**order


def bessel_far(order):
    """sqrt(x) e**-x I_order(x) over u = 8 / x."""
    return lambda u: (
        mp.besseli(order, 8 / u) * mp.exp(-8 / u) * mp.sqrt(8 / u)
        if u > mp.mpf("1e-3")
        else (asymptotic(order, 8 / u) if u else 1 / mp.sqrt(2 * mp.pi))
    )


def asymptotic(order, x):
    """The first terms of Hankel's expansion, which suffice from 8000 on."""
    total = term = mp.mpf(1)
    for k in range(1, 12):
        term *= -mp.mpf(4 * order**2 - (2 * k - 1) ** 2) / (k * 8 * x)
        total += term
    return total / mp.sqrt(2 * mp.pi)


def stirling_tail(z):
    """x (log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) over z = 1 / x**2."""
    if not z:
        return mp.mpf(1) / 12
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def digamma_tail(z):
    """x**2 (log x - 1 / (2 x) - digamma(x)) over z = 1 / x**2."""
    if z < mp.mpf("1e-12"):
        return mp.mpf(1) / 12
    x = 1 / mp.sqrt(z)
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.psi(0, x))


def trigamma_tail(z):
    """x**3 (trigamma(x) - 1 / x - 1 / (2 x**2)) over z = 1 / x**2."""
    if z < mp.mpf("1e-12"):
        return mp.mpf(1) / 6
    x = 1 / mp.sqrt(z)
    return x**3 * (mp.psi(1, x) - 1 / x - 1 / (2 * x * x))


HALF = mp.mpf(1) / 2
FITS += [
    Fit("erfcx_scaled", scaled_erfcx, one, mp.mpf(-1), mp.mpf(1), {"float32": 13, "float64": 24}),
    Fit("erfinv_near", moved(erfinv_ratio, mp.mpf("2.5")), one, mp.mpf("-2.5"), mp.mpf("2.51"), {"float32": 9, "float64": 22}),
    Fit(
        "erfinv_middle",
        moved(erfinv_ratio_of_root, mp.mpf("3.125")),
        one,
        mp.mpf("-0.9"),
        mp.mpf("0.876"),
        {"float32": 8, "float64": 22},
    ),
    Fit(
        "erfinv_far",
        moved(erfinv_ratio_of_root, mp.mpf("5.125")),
        one,
        mp.mpf("-1.126"),
        mp.mpf("1.126"),
        {"float32": 8, "float64": 19},
    ),
    Fit(
        "erfinv_tail",
        moved(erfinv_over_root, mp.mpf("0.1")),
        one,
        1 / mp.mpf("27.4") - mp.mpf("0.1"),
        mp.mpf("0.0601"),
        {"float32": 8, "float64": 22},
    ),
    Fit("i0_near", bessel_near(0), lambda z: 1 / bessel_near(0)(z), mp.mpf(0), mp.mpf(1), {"float32": 9, "float64": 15}),
    Fit("i1_near", bessel_near(1), lambda z: 1 / bessel_near(1)(z), mp.mpf(0), mp.mpf(1), {"float32": 9, "float64": 15}),
    Fit("i0_far", bessel_far(0), one, mp.mpf(0), mp.mpf(1), {"float32": 6, "float64": 22}),
    Fit("i1_far", bessel_far(1), one, mp.mpf(0), mp.mpf(1), {"float32": 6, "float64": 22}),
    Fit("lgamma_middle", series(lambda t: mp.loggamma(2 + t) / t, 1 - mp.euler), one, -HALF, HALF, {"float32": 9, "float64": 20}),
    Fit("stirling", stirling_tail, one, mp.mpf(0), mp.mpf(1) / 64, {"float32": 2, "float64": 6}),
    Fit("digamma_tail", digamma_tail, one, mp.mpf(0), mp.mpf(1) / 64, {"float32": 2, "float64": 6}),
    Fit("trigamma_tail", trigamma_tail, one, mp.mpf(0), mp.mpf(1) / 64, {"float32": 2, "float64": 7}),
]


def main(names: list[str]) -> None:
    """Print the tables named, or all."""
    for fit in FITS:
        if not names or fit.name in names:
            for dtype, degree in fit.degrees.items():
                report(fit, dtype, degree)


if __name__ == "__main__":
    main(sys.argv[1:])
