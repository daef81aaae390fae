"""Derive the polynomial coefficients of ``nbgrad/kernels/scalars/bessel_tables.py`` (needs mpmath; run by hand).

They are interpolants in Chebyshev's points, which are as good as the best polynomials but for a factor of about two, and are
found at once, where the exchange of ``tools/fit.py`` evaluates these slow functions thousands of times.

    python tools/fit_bessel.py            # all of them, by dtype
    python tools/fit_bessel.py j0_near    # one of them
"""

from __future__ import annotations

import sys
from typing import Callable, Iterator

import mpmath as mp
import numpy as np

mp.mp.dps = 40
THIRD = mp.mpf(1) / 3


def near(function: Callable) -> Callable:
    """A function of x over t = x**2 / 32 - 1, which is -1 at 0 and 1 at 8."""
    return lambda t: function(mp.sqrt(32 * (t + 1)) if t > -1 else mp.mpf("1e-20"))


def y0_regular(x):
    """What Y_0 is besides its logarithm."""
    return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)


def y1_regular(x):
    """What Y_1 is besides its logarithm and its pole, over x."""
    if x < mp.mpf("1e-12"):
        return (2 * mp.euler - 1 - mp.log(4)) / (2 * mp.pi)
    return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def k0_regular(z):
    """What K_0 is besides its logarithm, over z = x**2."""
    x = mp.sqrt(z) if z else mp.mpf("1e-25")
    return mp.besselk(0, x) + mp.log(x) * mp.besseli(0, x)


def k1_regular(z):
    """What K_1 is besides its logarithm and its pole, over x, in z = x**2."""
    if z < mp.mpf("1e-24"):
        return (2 * mp.euler - 1 - mp.log(4)) / 4
    x = mp.sqrt(z)
    return (mp.besselk(1, x) - mp.log(x) * mp.besseli(1, x) - 1 / x) / x


def hankel_terms(order, x) -> Iterator:
    """The terms of Hankel's expansions, of which 60 are more than enough beyond 120. Source: DLMF 10.17.1."""
    term = mp.mpf(1)
    for k in range(60):
        yield term
        term *= (4 * order**2 - (2 * k + 1) ** 2) / ((k + 1) * 8 * x)


def hankel(order, scale, part: int) -> Callable:
    """P or x Q of Hankel's expansions of the order, over z = (scale / x)**2: DLMF 10.17."""

    def function(z):
        x = scale / mp.sqrt(z) if z > mp.mpf("1e-30") else mp.mpf("1e18")
        if x > 120:
            return sum((-1) ** (k // 2) * term for k, term in enumerate(hankel_terms(order, x)) if k % 2 == part) * x**part
        phase = x - (2 * order + 1) * mp.pi / 4
        j, y, root = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
        return root * (y * mp.cos(phase) - j * mp.sin(phase)) * x if part else root * (j * mp.cos(phase) + y * mp.sin(phase))

    return function


def decaying(order, low) -> Callable:
    """sqrt(2 x / pi) e**x K_order(x) over q = (x - 3 low) / (x + low), which is -1 at x = low."""

    def function(q):
        if q > 1 - mp.mpf("1e-25"):
            return mp.mpf(1)
        x = low * (3 + q) / (1 - q)
        if x < 120:
            return mp.sqrt(2 * x / mp.pi) * mp.exp(x) * mp.besselk(order, x)
        return sum(hankel_terms(order, x))

    return function


ROOT125 = 2 * mp.sqrt(125) * THIRD  # zeta = 2/3 x**1.5 of x = 5


def airy_part(which: int) -> Callable:
    """P and zeta Q of Ai(-x), R and zeta S of Ai'(-x), over z = (7.45 / zeta)**2: DLMF 9.7.9 and 9.7.10."""

    def series(zeta):
        total, term = mp.mpf(0), mp.mpf(1)
        for k in range(50):
            factor = mp.mpf(6 * k + 1) / (1 - 6 * k) if which > 1 else 1
            if k % 2 == which % 2:
                total += (-1) ** (k // 2) * term * factor
            term *= mp.mpf((6 * k + 5) * (6 * k + 3) * (6 * k + 1)) / (216 * (k + 1) * (2 * k + 1)) / zeta
        return total * zeta ** (which % 2)

    def function(z):
        zeta = ROOT125 / mp.sqrt(z) if z > mp.mpf("1e-30") else mp.mpf("1e18")
        if zeta > 120:
            return series(zeta)
        x = (zeta * 3 / 2) ** (2 * THIRD)
        phase = zeta - mp.pi / 4
        if which < 2:
            a, b, scale = mp.airyai(-x), mp.airybi(-x), mp.sqrt(mp.pi * mp.sqrt(x))
            even, odd = a * mp.cos(phase) - b * mp.sin(phase), a * mp.sin(phase) + b * mp.cos(phase)
        else:
            a, b, scale = mp.airyai(-x, derivative=1), mp.airybi(-x, derivative=1), mp.sqrt(mp.pi / mp.sqrt(x))
            even, odd = a * mp.sin(phase) + b * mp.cos(phase), b * mp.sin(phase) - a * mp.cos(phase)
        return scale * (odd * zeta if which % 2 else even)

    return function


# name: (function, the lowest argument; the highest is 1, the degrees in float32 and float64)
FITS: dict[str, tuple[Callable, int, int, int]] = {
    "j0_near": (near(lambda x: mp.besselj(0, x)), -1, 10, 16),
    "j1_near": (near(lambda x: mp.besselj(1, x) / x), -1, 10, 16),
    "y0_near": (near(y0_regular), -1, 11, 17),
    "y1_near": (near(y1_regular), -1, 11, 17),
    "p0_far": (hankel(mp.mpf(0), mp.mpf(8), 0), 0, 4, 13),
    "q0_far": (hankel(mp.mpf(0), mp.mpf(8), 1), 0, 4, 13),
    "p1_far": (hankel(mp.mpf(1), mp.mpf(8), 0), 0, 4, 13),
    "q1_far": (hankel(mp.mpf(1), mp.mpf(8), 1), 0, 4, 13),
    "k0_near": (k0_regular, 0, 4, 8),
    "k1_near": (k1_regular, 0, 4, 8),
    "k0_far": (decaying(mp.mpf(0), mp.mpf(1)), -1, 9, 22),
    "k1_far": (decaying(mp.mpf(1), mp.mpf(1)), -1, 9, 22),
    "airy_middle": (lambda t: mp.airyai(3 * t - 2), -1, 19, 31),
    "airy_slope_middle": (lambda t: mp.airyai(3 * t - 2, derivative=1), -1, 19, 31),
    "airy_right": (decaying(THIRD, 2 * THIRD), -1, 9, 22),
    "airy_slope_right": (decaying(2 * THIRD, 2 * THIRD), -1, 9, 22),
    **{f"airy_{name}": (airy_part(which), 0, 4, 13) for which, name in enumerate("pqrs")},
}


def report(name: str, dtype: str) -> None:
    """Print one row of the table, with the error of the rounded polynomial."""
    function, low, *degrees = FITS[name]
    fitted = mp.chebyfit(function, [low, 1], degrees[dtype == "float64"] + 1)
    c = [float(np.dtype(dtype).type(float(v))) for v in fitted[::-1]]
    points = [low + (1 - low) * mp.mpf(k) / 97 for k in range(98)]
    error = max(abs(function(t) - mp.polyval(c[::-1], t)) for t in points)
    print(f'        "{name}": {c},  # 2**{float(mp.log(error, 2)):.1f}', flush=True)


def main(names: list[str]) -> None:
    """Print the tables named, or all, by dtype."""
    for dtype in ("float32", "float64"):
        print(f'    "{dtype}": {{')
        for name in names or FITS:
            report(name, dtype)
        print("    },")


if __name__ == "__main__":
    main(sys.argv[1:])
