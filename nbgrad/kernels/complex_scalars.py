"""Scalar functions of complex numbers, composed of the real ones: one source for complex64 and complex128.

Branch-free, so that loops of them vectorise, and accurate to a few ulp of |f(z)| (tests/kernels/test_complex_scalars.py prints
how far). Signed zeros choose the side of a branch cut, as in C99 and NumPy. What is odd about a rotation is used: sin z is
-i sinh(iz), and so on.

NOTE [Complex in kernels]: every value is complex, moduli and real parts too; an order compares real parts. Only formulas write
that (``abs(weight) < 0.5``): for the user complex numbers have no order, and ``abs`` gives real ones.

Source: W. Kahan, "Branch cuts for complex elementary functions" (1987), for the inverse functions.
"""

from __future__ import annotations

from typing import Callable

from . import prims
from .instantiate import instantiate
from .prims import copysign, fabs, fma, sqrt, where
from .scalars.constants import BY_DTYPE
from .scalars.exponential import cosh as real_cosh, exp as real_exp, exp2 as real_exp2, expm1 as real_expm1, sinh as real_sinh
from .scalars.inverse_hyperbolic import asinh as real_asinh
from .scalars.logarithm import log as real_log, log1p as real_log1p
from .scalars.rounding import hypot
from .scalars.trigonometric import angle_is_huge, atan2, cos as real_cos, cos_precise, sin as real_sin, sin_precise

__all__ = ["COMPLEX_FUNCTIONS", "COMPLEX_GUARDS"]

# ruff: noqa: F821  (constants: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"


# ---- parts, choice, order ------------------------------------------------------------------------------------------


def conj(z):
    """The conjugate."""
    return z.conjugate()


def choose(c, x, y):
    """x if c, else y."""
    return x if c else y


def real_part(z):
    """The real part."""
    return complex(z.real, 0.0)


def modulus(z):
    """|z|."""
    return complex(hypot(z.real, z.imag), 0.0)


def lt(x, y):
    """Of the real parts."""
    return x.real < y.real


def le(x, y):
    """Of the real parts."""
    return x.real <= y.real


def gt(x, y):
    """Of the real parts."""
    return x.real > y.real


def ge(x, y):
    """Of the real parts."""
    return x.real >= y.real


def isnan(z):
    """Whether a part is."""
    return (z.real != z.real) | (z.imag != z.imag)


def isinf(z):
    """Whether a part is."""
    return (fabs(z.real) == INF) | (fabs(z.imag) == INF)


def isfinite(z):
    """Whether both parts are."""
    return (fabs(z.real) < INF) & (fabs(z.imag) < INF)


# ---- quotients and roots -------------------------------------------------------------------------------------------


def div(x, y):
    """x / y by Smith's method, without overflow of |y|**2; by zero part by part, as NumPy's."""
    by_rows = fabs(y.real) < fabs(y.imag)
    big, small = where(by_rows, y.imag, y.real), where(by_rows, y.real, y.imag)
    zero = big == 0.0
    ratio = where(zero, 0.0, small / big)
    scale = where(zero, fabs(big), big + small * ratio)
    re = where(by_rows, x.real * ratio + x.imag, x.real + x.imag * ratio)
    im = where(by_rows, x.imag * ratio - x.real, x.imag - x.real * ratio)
    return complex(where(zero, x.real, re) / scale, where(zero, x.imag, im) / scale)


def root(z):
    """The root with a real part >= 0: one part by the root of (|x| + |z|) / 2, the other by a quotient, without cancellation."""
    big = where(fabs(z.real) > fabs(z.imag), fabs(z.real), fabs(z.imag))
    scale = where(big > HUGE, 0.0625, where(big < 1.0 / HUGE, 2.0**60, 1.0))
    back = where(big > HUGE, 4.0, where(big < 1.0 / HUGE, 2.0**-30, 1.0))
    x, y = z.real * scale, z.imag * scale
    t = sqrt(0.5 * (fabs(x) + hypot(x, y)))
    other = where(t == 0.0, 0.0, fabs(y) / (t + t))
    other = where(big == INF, 0.0, other)
    re, im = where(x < 0.0, other, t), where(x < 0.0, t, other)
    infinite = fabs(y) == INF
    return complex(where(infinite, INF, re * back), copysign(where(infinite, INF, im * back), y))


def rsqrt(z):
    """1 / sqrt z."""
    return div(complex(1.0, 0.0), root(z))


# ---- exponentials --------------------------------------------------------------------------------------------------


def no_angle(y):
    """Whether y is infinite or NaN."""
    return (fabs(y) == INF) | (y != y)


def exp(z):
    """e**x (cos y + i sin y); e**x is kept from overflowing before the cosine makes it smaller."""
    x, y = z.real, z.imag
    over = x > EXP_MAX - 21.0
    e, rest = real_exp(where(over, x - 20.0, x)), where(over, 485165195.40979027, 1.0)
    nowhere = (fabs(x) == INF) & no_angle(y)
    re = where(nowhere, where(x < 0.0, 0.0, INF), e * real_cos(y) * rest)
    im = where(nowhere & (x < 0.0), 0.0, e * real_sin(y) * rest)
    return complex(re, where(y == 0.0, y, im))


def exp2(z):
    """2**z; the angle y log 2 in two words, of which the second is no small one where the first is huge."""
    product, e = z.imag * LN2_HI, real_exp2(z.real)
    lost = fma(z.imag, LN2_HI, -product) + z.imag * LN2_LO
    angle = product + lost
    rest = (product - angle) + lost
    sine, cosine, s, c = real_sin(angle), real_cos(angle), real_sin(rest), real_cos(rest)
    return complex(e * (cosine * c - sine * s), where(z.imag == 0.0, z.imag, e * (sine * c + cosine * s)))


def expm1(z):
    """e**z - 1 without cancellation near 0: cos y = 1 - 2 sin**2(y / 2)."""
    x, y = z.real, z.imag
    half = real_sin(0.5 * y)
    im = where(y == 0.0, y, real_exp(x) * real_sin(y))
    return complex(real_expm1(x) * real_cos(y) - 2.0 * half * half, im)


def sinh(z):
    """sinh x cos y + i cosh x sin y."""
    x, y = z.real, z.imag
    re = where(no_angle(y) & ((x == 0.0) | (fabs(x) == INF)), x, real_sinh(x) * real_cos(y))
    return complex(re, where(y == 0.0, y, real_cosh(x) * real_sin(y)))


def cosh(z):
    """cosh x cos y + i sinh x sin y."""
    x, y = z.real, z.imag
    re = where((fabs(x) == INF) & no_angle(y), INF, real_cosh(x) * real_cos(y))
    vanishes = ((x == 0.0) & no_angle(y)) | (y == 0.0)  # also where sinh overflows
    return complex(re, where(vanishes, copysign(0.0, x) * copysign(1.0, y), real_sinh(x) * real_sin(y)))


def tanh(z):
    """(sinh x cosh x + i sin y cos y) / (sinh**2 x + cos**2 y), of which no term cancels; far out 1 and what e**-2x leaves."""
    x, y = z.real, z.imag
    a = fabs(x)
    far = a > TANH_ONE
    s, c = real_sinh(where(far, TANH_ONE, a)), real_cosh(where(far, TANH_ONE, a))
    sine, cosine = real_sin(y), real_cos(y)
    below = s * s + cosine * cosine
    re = where(far, where(a == INF, 1.0, 1.0 + (y - y)), where(a == 0.0, 0.0, s * c / below))  # y - y: NaN of what is not finite
    im = sine * cosine * where(far, 4.0 * real_exp(-2.0 * a), 1.0 / below)
    im = where(a == INF, copysign(0.0, where(no_angle(y), y, sine * cosine)), where(y == 0.0, y, im))
    return complex(copysign(re, x), im)


def turned(z):
    """iz."""
    return complex(-z.imag, z.real)


def turned_back(z):
    """-iz."""
    return complex(z.imag, -z.real)


def sin(z):
    """-i sinh(iz)."""
    return turned_back(sinh(turned(z)))


def cos(z):
    """cosh(iz)."""
    return cosh(turned(z))


def tan(z):
    """-i tanh(iz)."""
    return turned_back(tanh(turned(z)))


def sigmoid(z):
    """1 / (1 + e**-z), from the exponential that does not overflow."""
    left = z.real < 0.0
    e = exp(complex(-fabs(z.real), where(left, z.imag, -z.imag)))
    return div(complex(where(left, e.real, 1.0), where(left, e.imag, 0.0)), complex(1.0 + e.real, e.imag))


# ---- logarithms and powers -----------------------------------------------------------------------------------------


def log(z):
    """log |z| + i arg z; log |z| = log a + log1p((b / a)**2) / 2 for the greater part a and the smaller b."""
    ax, ay = fabs(z.real), fabs(z.imag)
    a, b = where(ax > ay, ax, ay), where(ax > ay, ay, ax)
    ratio = where(((a == 0.0) & (b == 0.0)) | (a == INF), 0.0, b / a)
    re = real_log(a) + 0.5 * real_log1p(ratio * ratio)
    return complex(where((ax == INF) | (ay == INF), INF, re), atan2(z.imag, z.real))


def log2(z):
    """log z / log 2."""
    w = log(z)
    return complex(w.real * 1.4426950408889634, w.imag * 1.4426950408889634)


def log10(z):
    """log z / log 10."""
    w = log(z)
    return complex(w.real * 0.4342944819032518, w.imag * 0.4342944819032518)


def log1p(z):
    """log(1 + z); near 0 from |1 + z|**2 - 1 = x (2 + x) + y**2."""
    x, y = z.real, z.imag
    far = log(complex(1.0 + x, y))
    near = (fabs(x) < 0.5) & (fabs(y) < 0.5)
    inside = where(near, x * (2.0 + x) + y * y, 0.0)
    return complex(where(near, 0.5 * real_log1p(inside), far.real), far.imag)


def product(x, y):
    """x * y."""
    return complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


def pow_(x, y):
    """e**(y log x); 0 to the power 0 is 1, to a power with a positive real part 0."""
    base_is_zero, power_is_zero = (x.real == 0.0) & (x.imag == 0.0), (y.real == 0.0) & (y.imag == 0.0)
    w = exp(product(y, log(x)))
    known = power_is_zero | (base_is_zero & (y.real > 0.0))
    return complex(where(known, where(power_is_zero, 1.0, 0.0), w.real), where(known, 0.0, w.imag))


# ---- inverse functions: products of the roots of 1 - z and 1 + z, whose terms have one sign ----------------------------


def direction(x):
    """A part of an infinite number: of what is finite nothing is left but the sign."""
    return where(fabs(x) == INF, copysign(1.0, x), 0.0 * x)


def asin(z):
    """atan2(x, re(r s)) + i asinh(im(conj(r) s)) with r = sqrt(1 - z), s = sqrt(1 + z)."""
    r, s = root(complex(1.0 - z.real, -z.imag)), root(complex(1.0 + z.real, z.imag))
    infinite = isinf(z)
    below = where(infinite, fabs(direction(z.imag)), r.real * s.real - r.imag * s.imag)
    im = where(infinite, copysign(INF, z.imag), real_asinh(r.real * s.imag - r.imag * s.real))
    re = where(z.real == 0.0, z.real, atan2(where(infinite, direction(z.real), z.real), below))  # beside NaN too, as C has it
    return complex(re, im)


def acos(z):
    """2 atan2(re r, re s) + i asinh(im(conj(s) r)) with r = sqrt(1 - z), s = sqrt(1 + z)."""
    r, s = root(complex(1.0 - z.real, -z.imag)), root(complex(1.0 + z.real, z.imag))
    im = real_asinh(s.real * r.imag - s.imag * r.real)
    if_infinite = atan2(fabs(direction(z.imag)), direction(z.real))
    infinite = isinf(z)
    re = where(z.real == 0.0, 1.5707963267948966, where(infinite, if_infinite, 2.0 * atan2(r.real, s.real)))
    return complex(re, where(infinite, copysign(INF, -z.imag), im))


def acosh(z):
    """asinh(re(conj(r) s)) + 2 i atan2(im r, re s) with r = sqrt(z - 1), s = sqrt(z + 1)."""
    r, s = root(complex(z.real - 1.0, z.imag)), root(complex(z.real + 1.0, z.imag))
    re = real_asinh(r.real * s.real + r.imag * s.imag)
    infinite = isinf(z)
    im = where(infinite, atan2(direction(z.imag), direction(z.real)), 2.0 * atan2(r.imag, s.real))
    return complex(where(infinite, INF, re), where(z.real == 0.0, copysign(1.5707963267948966, z.imag), im))


def asinh(z):
    """-i asin(iz)."""
    return turned_back(asin(turned(z)))


def atanh(z):
    """log1p(4 x / |1 - z|**2) / 4 + i atan2(2 y, (1 - x) (1 + x) - y**2) / 2, odd in x."""
    x, y = z.real, z.imag
    a = fabs(x)
    infinite = isinf(z)
    distance = hypot(1.0 - a, y)
    re = where(infinite | (distance == INF) | (a == 0.0), 0.0, 0.25 * real_log1p(4.0 * a / distance / distance))
    im = 0.5 * atan2(2.0 * y, (1.0 - a) * (1.0 + a) - y * y)
    return complex(copysign(re, x), where(infinite & (y == y), copysign(1.5707963267948966, y), im))


def atan(z):
    """-i atanh(iz)."""
    return turned_back(atanh(turned(z)))


COMPLEX_FUNCTIONS: dict[str, Callable] = {
    "conj_physical": conj,
    "where": choose,
    "real": real_part,
    "abs": modulus,
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
    "isnan": isnan,
    "isinf": isinf,
    "isfinite": isfinite,
    "div": div,
    "sqrt": root,
    "rsqrt": rsqrt,
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "sigmoid": sigmoid,
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "pow": pow_,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}


# ---- angles of any size: see NOTE [Guards] in scalars -------------------------------------------------------------------


def imaginary_is_huge(z):
    """True where the fast sine of the imaginary part is wrong."""
    return angle_is_huge(z.imag)


def real_is_huge(z):
    """True where the fast sine of the real part is wrong."""
    return angle_is_huge(z.real)


def power_is_huge(x, y):
    """True where the angle of a power may be huge: |arg x| is at most pi, |log |x|| at most 746."""
    return angle_is_huge(4.0 * fabs(y.real) + 750.0 * fabs(y.imag))


def precise(function: Callable) -> Callable:
    """The same function with a sine and a cosine that are right everywhere."""
    own = {name: getattr(prims, name) for name in prims.PRIMS}
    return instantiate(function, own, {"real_sin": sin_precise, "real_cos": cos_precise})


# ``{operation: (guard, precise version)}``
COMPLEX_GUARDS: dict[str, tuple[Callable, Callable]] = {
    **{f.__name__: (imaginary_is_huge, precise(f)) for f in (exp, exp2, expm1, sinh, cosh, tanh, sigmoid)},
    **{f.__name__: (real_is_huge, precise(f)) for f in (sin, cos, tan)},
    "pow": (power_is_huge, precise(pow_)),
}

globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
