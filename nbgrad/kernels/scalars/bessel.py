"""Bessel functions of orders 0 and 1, Airy's function and its derivative.

Up to 8 (of the modified ones, 1) they are polynomials, beside logarithms and poles that are written out; beyond, Hankel's
expansions, whose slowly varying parts are polynomials of 1 / x. Both sides of every choice are computed, at a place where they are
right, so that loops vectorise. tests/kernels/test_special.py measures how far each is from the truth.
"""

# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import fabs, fma, sqrt, where
from .constants import BY_DTYPE
from .exponential import exp
from .logarithm import log
from .special import i0, i1
from .trigonometric import angle_is_huge, cos, cos_precise, sin, sin_precise

# ---- Bessel functions ----------------------------------------------------------------------------------------------------


def near_8(a):
    """x up to 8, and the variable of the polynomials there, which is -1 at 0 and 1 at 8."""
    near = where(a < 8.0, a, 8.0)
    return near, fma(0.03125 * near, near, -1.0)


def beyond_8(a):
    """x from 8 on; 8 in the place of infinity, at which sine and cosine have no limit."""
    return where((a > 8.0) & (a < INF), a, 8.0)


def hankel_0(far, along, across):
    """root(pi x) times P along - Q across, of order 0. Source: DLMF 10.17.3."""
    u = 1.0 / far
    z = 64.0 * (u * u)
    return (p0_far(z) * along - u * q0_far(z) * across) / sqrt(far)


def hankel_1(far, along, across):
    """The same of order 1."""
    u = 1.0 / far
    z = 64.0 * (u * u)
    return (p1_far(z) * along - u * q1_far(z) * across) / sqrt(far)


def j0_of(a, sine, cosine):
    """J_0(a) for a >= 0 from the sine and cosine of ``beyond_8(a)``; cos(x - pi/4) is (cos x + sin x) / root 2."""
    near, t = near_8(a)
    far = 0.5641895835477563 * hankel_0(beyond_8(a), cosine + sine, sine - cosine)
    return where(a < 8.0, j0_near(t), where(a == INF, 0.0, far))


def j1_of(a, sine, cosine):
    """J_1(a) for a >= 0 likewise."""
    near, t = near_8(a)
    far = 0.5641895835477563 * hankel_1(beyond_8(a), sine - cosine, -(sine + cosine))
    return where(a < 8.0, near * j1_near(t), where(a == INF, 0.0, far))


def y0_of(x, sine, cosine):
    """Y_0(x): -inf at 0, NaN below."""
    near, t = near_8(x)
    logarithm = 0.6366197723675814 * log(near)
    far = 0.5641895835477563 * hankel_0(beyond_8(x), sine - cosine, -(sine + cosine))
    value = where(x < 8.0, fma(logarithm, j0_near(t), y0_near(t)), where(x == INF, 0.0, far))
    return where(x == 0.0, -INF, where(x < 0.0, NAN, value))


def y1_of(x, sine, cosine):
    """Y_1(x): -inf at 0, NaN below."""
    near, t = near_8(x)
    regular = near * fma(0.6366197723675814 * log(near), j1_near(t), y1_near(t))
    far = 0.5641895835477563 * hankel_1(beyond_8(x), -(sine + cosine), cosine - sine)
    value = where(x < 8.0, regular - 0.6366197723675814 / near, where(x == INF, 0.0, far))
    return where(x == 0.0, -INF, where(x < 0.0, NAN, value))


def bessel_j0(x):
    """The Bessel function of the first kind of order 0, for |x| < ANGLE_MAX."""
    a = fabs(x)
    far = beyond_8(a)
    return where(x != x, x, j0_of(a, sin(far), cos(far)))


def bessel_j0_precise(x):
    """The same on scalars, everywhere."""
    a = fabs(x)
    far = beyond_8(a)
    return where(x != x, x, j0_of(a, sin_precise(far), cos_precise(far)))


def bessel_j1(x):
    """The Bessel function of the first kind of order 1, for |x| < ANGLE_MAX."""
    a = fabs(x)
    far = beyond_8(a)
    return where(x != x, x, where(x < 0.0, -1.0, 1.0) * j1_of(a, sin(far), cos(far)))


def bessel_j1_precise(x):
    """The same on scalars, everywhere."""
    a = fabs(x)
    far = beyond_8(a)
    return where(x != x, x, where(x < 0.0, -1.0, 1.0) * j1_of(a, sin_precise(far), cos_precise(far)))


def bessel_y0(x):
    """The Bessel function of the second kind of order 0, for x < ANGLE_MAX."""
    far = beyond_8(x)
    return where(x != x, x, y0_of(x, sin(far), cos(far)))


def bessel_y0_precise(x):
    """The same on scalars, everywhere."""
    far = beyond_8(x)
    return where(x != x, x, y0_of(x, sin_precise(far), cos_precise(far)))


def bessel_y1(x):
    """The Bessel function of the second kind of order 1, for x < ANGLE_MAX."""
    far = beyond_8(x)
    return where(x != x, x, y1_of(x, sin(far), cos(far)))


def bessel_y1_precise(x):
    """The same on scalars, everywhere."""
    far = beyond_8(x)
    return where(x != x, x, y1_of(x, sin_precise(far), cos_precise(far)))


# ---- modified Bessel functions of the second kind --------------------------------------------------------------------------


def k0_small(x):
    """K_0(x) for 0 < x <= 1."""
    return k0_near(x * x) - log(x) * i0(x)


def k1_small(x):
    """K_1(x) for 0 < x <= 1."""
    return 1.0 / x + fma(log(x), i1(x), x * k1_near(x * x))


def towards_1(x):
    """x from 1 on, and the variable of the polynomials there; infinity gives what its limit does."""
    far = where(x > 1.0, where(x < BIG, x, BIG), 1.0)
    return where(x > 1.0, x, 1.0), (far - 3.0) / (far + 1.0)


def at_the_end(x, value):
    """``value`` for x > 0; inf at 0, NaN below."""
    return where(x == 0.0, INF, where((x < 0.0) | (x != x), NAN, value))


def scaled_modified_bessel_k0(x):
    """e**x K_0(x)."""
    near, (far, q) = where(x < 1.0, x, 1.0), towards_1(x)
    return at_the_end(x, where(x < 1.0, exp(near) * k0_small(near), 1.2533141373155003 * k0_far(q) / sqrt(far)))


def scaled_modified_bessel_k1(x):
    """e**x K_1(x)."""
    near, (far, q) = where(x < 1.0, x, 1.0), towards_1(x)
    return at_the_end(x, where(x < 1.0, exp(near) * k1_small(near), 1.2533141373155003 * k1_far(q) / sqrt(far)))


def modified_bessel_k0(x):
    """The modified Bessel function of the second kind of order 0."""
    near, (far, q) = where(x < 1.0, x, 1.0), towards_1(x)
    return at_the_end(x, where(x < 1.0, k0_small(near), exp(-far) * (1.2533141373155003 * k0_far(q) / sqrt(far))))


def modified_bessel_k1(x):
    """The modified Bessel function of the second kind of order 1."""
    near, (far, q) = where(x < 1.0, x, 1.0), towards_1(x)
    return at_the_end(x, where(x < 1.0, k1_small(near), exp(-far) * (1.2533141373155003 * k1_far(q) / sqrt(far))))


# ---- Airy's function -------------------------------------------------------------------------------------------------------


def airy_middle_of(x):
    """The variable of the polynomials between -5 and 1."""
    return (where(x < -5.0, -5.0, where(x > 1.0, 1.0, x)) + 2.0) * 0.3333333333333333


def airy_phase(a):
    """zeta = 2/3 a**1.5 in two words, root(a): a sine and an exponential magnify what zeta loses."""
    root = sqrt(a)
    power = a * root
    lost = fma(a, root, -power) + a * (fma(-root, root, a) / (root + root))
    zeta = power * THIRD2_HI
    return zeta, fma(power, THIRD2_HI, -zeta) + fma(power, THIRD2_LO, lost * THIRD2_HI), root


def airy_left(x):
    """-x from 5 to BIG, beyond which the phase of the oscillation is not known."""
    return where(x < -5.0, where(x > -BIG, -x, BIG), 5.0)


def airy_right_of(x):
    """x from 1 to where e**-zeta is 0."""
    return where(x > 1.0, where(x < 200.0, x, 200.0), 1.0)


def airy_decay(x):
    """e**-zeta, root(x) and the variable of the polynomials, for x >= 1."""
    zeta, rest, root = airy_phase(airy_right_of(x))
    power = exp(-zeta)
    return fma(-rest, power, power), root, (zeta - 2.0) / (zeta + 0.6666666666666666)


def airy_of(x, sine, cosine):
    """Ai(x) from the sine and cosine of zeta at ``airy_left(x)``. Source: DLMF 9.7.5 and 9.7.9."""
    zeta, rest, root = airy_phase(airy_left(x))
    s, c = fma(rest, cosine, sine), fma(-rest, sine, cosine)
    u = 1.0 / zeta
    z = 55.55555555555556 * (u * u)
    left = 0.3989422804014327 / sqrt(root) * (airy_p(z) * (c + s) + u * airy_q(z) * (s - c))
    power, base, q = airy_decay(x)
    right = 0.28209479177387814 / sqrt(base) * airy_right(q) * power
    value = where(x < -5.0, left, where(x > 1.0, right, airy_middle(airy_middle_of(x))))
    return where(x != x, x, where(x < -BIG, where(x == -INF, 0.0, NAN), value))


def airy_slope_of(x, sine, cosine):
    """The derivative of Ai likewise. Source: DLMF 9.7.6 and 9.7.10."""
    zeta, rest, root = airy_phase(airy_left(x))
    s, c = fma(rest, cosine, sine), fma(-rest, sine, cosine)
    u = 1.0 / zeta
    z = 55.55555555555556 * (u * u)
    left = 0.3989422804014327 * sqrt(root) * (airy_r(z) * (s - c) - u * airy_s(z) * (c + s))
    power, base, q = airy_decay(x)
    right = -0.28209479177387814 * sqrt(base) * airy_slope_right(q) * power
    value = where(x < -5.0, left, where(x > 1.0, right, airy_slope_middle(airy_middle_of(x))))
    return where(x != x, x, where(x < -BIG, NAN, value))


def airy_angle(x):
    """zeta, the angle of the oscillation."""
    zeta, _, _ = airy_phase(airy_left(x))
    return zeta


def airy_is_far(x):
    """True where the angle is too large for the fast sine and cosine."""
    return angle_is_huge(airy_angle(x))


def airy_ai(x):
    """Airy's function, where its angle is less than ANGLE_MAX."""
    angle = airy_angle(x)
    return airy_of(x, sin(angle), cos(angle))


def airy_ai_precise(x):
    """The same on scalars, everywhere."""
    angle = airy_angle(x)
    return airy_of(x, sin_precise(angle), cos_precise(angle))


def airy_ai_slope(x):
    """The derivative of Airy's function, where its angle is less than ANGLE_MAX."""
    angle = airy_angle(x)
    return airy_slope_of(x, sin(angle), cos(angle))


def airy_ai_slope_precise(x):
    """The same on scalars, everywhere."""
    angle = airy_angle(x)
    return airy_slope_of(x, sin_precise(angle), cos_precise(angle))


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
