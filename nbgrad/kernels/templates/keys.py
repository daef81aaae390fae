"""Keys: integers that sort as numbers do.

NOTE [Keys]: an extremum of floats is the maximum of integer keys. A float's bits, magnitudes of negative ones
inverted, sort as the float does; NaN gets the greatest key of all, so it wins; for minima the key is inverted first.
Integer maxima vectorise, float ones only under flags that forbid NaN.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math

__all__ = [
    "KEY_CONSTANTS",
    "KEY_TYPES",
    "float_of_max",
    "float_of_min",
    "integer_keys",
    "joined_zeros",
    "key_bindings",
    "key_max",
    "key_min",
    "larger_key",
    "least_key",
    "own_key",
]

# SHIFT, MAGNITUDE (all bits but the sign), INFINITE (bits of infinity), LEAST (smallest integer): bound per dtype.


def key_max(bits):
    """The key of a float's bits: greater for the greater float, greatest for NaN."""
    key = ixor(bits, iand(ishr(bits, SHIFT), MAGNITUDE))
    return where(iand(bits, MAGNITUDE) > INFINITE, iadd(MAGNITUDE, 0), key)


def key_min(bits):
    """The key of a float's bits: greater for the smaller float, greatest for NaN."""
    key = ixor(ixor(bits, iand(ishr(bits, SHIFT), MAGNITUDE)), -1)
    return where(iand(bits, MAGNITUDE) > INFINITE, iadd(MAGNITUDE, 0), key)


def float_of_max(key):
    """The float behind a ``key_max``."""
    return fbits(ixor(key, iand(ishr(key, SHIFT), MAGNITUDE)))


def float_of_min(key):
    """The float behind a ``key_min``."""
    turned = ixor(key, -1)
    return where(key == MAGNITUDE, NAN, fbits(ixor(turned, iand(ishr(turned, SHIFT), MAGNITUDE))))


def joined_zeros(key):
    """The key of a float, of zeros of both signs the same: -1 is the other one's."""
    return where(key == -1, ixor(key, -1), key)


def own_key(key):
    """The key of an integer: there is one zero."""
    return key


def least_key():
    """Below every key."""
    return iadd(LEAST, 0)


KEY_CONSTANTS = {
    "float32": (("SHIFT", 31), ("MAGNITUDE", 0x7FFFFFFF), ("INFINITE", 0x7F800000), ("LEAST", -(1 << 31)), ("NAN", math.nan)),
    "float64": (("SHIFT", 63), ("MAGNITUDE", (1 << 63) - 1), ("INFINITE", 0x7FF << 52), ("LEAST", -(1 << 63)), ("NAN", math.nan)),
}
KEY_TYPES = {"float32": "int32", "float64": "int64"}


def int_key_max(x):
    """An integer as its own key."""
    return int64(x)


def int_key_min(x):
    """Inverted, integers sort the other way."""
    return ~int64(x)


def int_of_min(key):
    """The integer behind an ``int_key_min``."""
    return ~key


def wide_key_max(x):
    """An integer of 64 bits without sign: with its top bit turned it sorts as one with a sign."""
    return int64(x) ^ -(1 << 63)


def wide_key_min(x):
    """The same, inverted."""
    return ~(int64(x) ^ -(1 << 63))


def wide_of_max(key):
    """The integer behind a ``wide_key_max``."""
    return key ^ -(1 << 63)


def wide_of_min(key):
    """The integer behind a ``wide_key_min``."""
    return ~key ^ -(1 << 63)


def integer_keys(dtype: str, largest: bool) -> tuple:
    """The key of an integer, and the integer behind a key."""
    if dtype == "uint64":  # all others are numbers of int64
        return (wide_key_max, wide_of_max) if largest else (wide_key_min, wide_of_min)
    return (int_key_max, own_key) if largest else (int_key_min, int_of_min)


def larger_key(x, y):
    """The greater of two keys."""
    return where(y > x, y, x)


def key_bindings(dtype: str, largest: bool) -> tuple:
    """``key``, ``decode``, ``least`` and the constants that they mention, for a dtype in memory."""
    if dtype in KEY_TYPES:
        key, decode = (key_max, float_of_max) if largest else (key_min, float_of_min)
        return ("key", key), ("decode", decode), ("least", least_key), *KEY_CONSTANTS[dtype]
    key, decode = integer_keys(dtype, largest)
    return ("key", key), ("decode", decode), ("least", least_key), ("LEAST", -(1 << 63))
