"""Scalar functions of integers, for any width: computed as Numba computes them, in 64 bits, and wrapped to the dtype.

No input traps: a zero divisor gives 0 (the operation raises before a kernel runs), and INT_MIN // -1 wraps to INT_MIN,
where the machine's division instruction would end the process.
"""

from __future__ import annotations

from ..prims import where, wrap


def safe_divisor(y):
    """y, with the two divisors replaced that the division instruction does not survive."""
    return where((y == 0) | (y == -1), 1, y)


def floor_divide(x, y):
    """x // y, towards minus infinity."""
    q = wrap(x // safe_divisor(y))
    return where(y == 0, 0, where(y == -1, wrap(-x), q))


def trunc_divide(x, y):
    """x / y, towards 0."""
    q = floor_divide(x, y)
    return where((q < 0) & (remainder(x, y) != 0), wrap(q + 1), q)


def remainder(x, y):
    """x % y, with the sign of y."""
    return where((y == 0) | (y == -1), 0, wrap(x % safe_divisor(y)))


def fmod(x, y):
    """The remainder with the sign of x."""
    m = remainder(x, y)
    return where((m != 0) & ((x < 0) != (y < 0)), wrap(m - y), m)


def ipow(x, y):
    """x**y modulo 2**width; for y < 0 what is left of 1 / x: 1, -1 or 0."""
    power, base, n = 1, x, where(y < 0, 0, y)
    while n > 0:
        power = wrap(power * base) if n & 1 else power
        base = wrap(base * base)
        n >>= 1
    unit = where(x == 1, 1, where(x == -1, where(y & 1 == 1, -1, 1), 0))
    return where(y < 0, unit, power)


def sign(x):
    """-1, 0 or 1."""
    return where(x > 0, 1, where(x < 0, -1, 0))


def abs_(x):
    """The magnitude; the smallest integer is its own."""
    return where(x < 0, wrap(-x), x)


def maximum(x, y):
    """The larger integer."""
    return where(x > y, x, y)


def minimum(x, y):
    """The smaller integer."""
    return where(x < y, x, y)


def gcd(x, y):
    """The greatest common divisor, Euclid's; gcd(x, 0) is the magnitude of x."""
    a, b = abs_(x), abs_(y)
    while b != 0:
        a, b = b, remainder(a, b)
    return a


def lcm(x, y):
    """The least common multiple; 0 where one is 0."""
    divisor = gcd(x, y)
    return abs_(wrap(floor_divide(x, where(divisor == 0, 1, divisor)) * y))


def shift_left(x, y):
    """x * 2**y; 0 where y is negative or leaves no bit, which the machine would take modulo its width."""
    far = (y < 0) | (y > 63)
    return where(far, 0, wrap(x << where(far, 0, y)))


def shift_right(x, y):
    """x // 2**y; what is left behind the last bit, 0 or -1, where y is negative or more than there are bits."""
    far = (y < 0) | (y > 63)
    return wrap((x >> where(far, 63, y)) >> where(far, 1, 0))  # of 64 bits without sign a 63rd step leaves one
