"""Random numbers from counters: Philox 4x32-10, and what distributions make of its words.

NOTE [Counter]: the four words of block ``i`` of a call depend on nothing but the generator's seed (the key), the number
of the call (upper half of the counter) and ``i`` (lower half). A call gives four numbers of 32 bits, or two of 64, a
block. So any cut of the work among threads, and any device, gives the same numbers, and no two calls share a counter.

The words are non-negative integers below 2**32, in whatever integer type holds their products modulo 2**64.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import fma, sqrt, to_float, where
from ..scalars.logarithm import log_in_range
from ..scalars.trigonometric import cos_of, reduce_angle, sin_of

__all__ = [
    "ROUNDS",
    "numbers_of_block",
    "parameters_dtype",
    "mixed",
    "next_key",
    "philox",
    "fill_four",
    "fill_two",
    "DISTRIBUTIONS",
    "POINTERS",
]

WORD = 0xFFFFFFFF
ROUNDS = 10
TURN = 6.283185307179586 * 2.0**-24  # of the 2**24 angles of a circle
WIDE_TURN = 6.283185307179586 * 2.0**-53


def philox(block, call, seed):
    """The four words of a block: ten rounds of two 32 x 32 -> 64 bit products."""
    c0, c1, c2, c3 = block & WORD, (block >> 32) & WORD, call & WORD, (call >> 32) & WORD
    k0, k1 = seed & WORD, (seed >> 32) & WORD
    for _ in range(ROUNDS):
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = next_key(k0, k1)
    return c0, c1, c2, c3


def product_of_words(x, y):
    """64 bits; GPUs have an instruction for it (``ptx_names`` of kernels/cuda/intrinsics.py)."""
    return x * y


def mixed(c0, c1, c2, c3, k0, k1):
    """A round."""
    left, right = product_of_words(c0, 0xD2511F53), product_of_words(c2, 0xCD9E8D57)
    return ((right >> 32) & WORD) ^ c1 ^ k0, right & WORD, ((left >> 32) & WORD) ^ c3 ^ k1, left & WORD


def next_key(k0, k1):
    """The key of the round after."""
    return (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD


# ---- four numbers a block: float32 ---------------------------------------------------------------------------------


def float_of_word(r):
    """A word as a float32; GPUs are told that it has 32 bits (``ptx_names``)."""
    return to_float(r)


def normal_root(x):
    """The square root of a normal number; GPUs need no branch for it (kernels/cuda/quotients.py)."""
    return sqrt(x)


def unit(r):
    """Uniform on [0, 1): the upper 24 bits of a word."""
    return float_of_word(r >> 8) * 2.0**-24


def half_unit(r):
    """``unit`` with as many bits as float16 holds, so that none rounds to 1."""
    return float_of_word(r >> 21) * 2.0**-11


def bfloat_unit(r):
    """``unit`` with the bits of bfloat16."""
    return float_of_word(r >> 24) * 2.0**-8


def above_zero(r):
    """Uniform on (0, 1); the product is exact."""
    return fma(float_of_word(r >> 8), 2.0**-24, 2.0**-25)


def angle(r):
    """Uniform on [0, 2 pi)."""
    return float_of_word(r >> 8) * TURN


def between(u, low, high):
    """Uniform on [low, high): a sum that rounds up to ``high`` becomes ``low``."""
    x = low + u * (high - low)
    return where(x < high, x, low)


def uniform_four(r0, r1, r2, r3, low, high):
    return (between(unit(r0), low, high), between(unit(r1), low, high), between(unit(r2), low, high), between(unit(r3), low, high))


def half_uniform_four(r0, r1, r2, r3, low, high):
    return (
        between(half_unit(r0), low, high),
        between(half_unit(r1), low, high),
        between(half_unit(r2), low, high),
        between(half_unit(r3), low, high),
    )


def bfloat_uniform_four(r0, r1, r2, r3, low, high):
    return (
        between(bfloat_unit(r0), low, high),
        between(bfloat_unit(r1), low, high),
        between(bfloat_unit(r2), low, high),
        between(bfloat_unit(r3), low, high),
    )


def normal_pair(u, turned, mean, std):
    """Two independent normal numbers from uniform ones on (0, 1) and [0, 2 pi) (Box and Muller)."""
    radius = std * normal_root(-2.0 * log_in_range(u))
    quadrant, rest = reduce_angle(turned)
    return mean + radius * cos_of(quadrant, rest), mean + radius * sin_of(quadrant, rest)


def normal_four(r0, r1, r2, r3, mean, std):
    a, b = normal_pair(above_zero(r0), angle(r1), mean, std)
    c, d = normal_pair(above_zero(r2), angle(r3), mean, std)
    return a, b, c, d


def chosen(u, p, value):
    """``value`` with probability ``p``, else 0."""
    return where(u < p, value, value * 0.0)


def truths_four(r0, r1, r2, r3, p, unused):
    return int(unit(r0) < p), int(unit(r1) < p), int(unit(r2) < p), int(unit(r3) < p)


def bernoulli_four(r0, r1, r2, r3, p, value):
    return (chosen(unit(r0), p, value), chosen(unit(r1), p, value), chosen(unit(r2), p, value), chosen(unit(r3), p, value))


def waited(u, rate):
    """Exponential, of a number that is uniform on (0, 1)."""
    return -log_in_range(u) / rate


def exponential_four(r0, r1, r2, r3, rate, unused):
    return (waited(above_zero(r0), rate), waited(above_zero(r1), rate), waited(above_zero(r2), rate), waited(above_zero(r3), rate))


# ---- two numbers a block: float64 and int64 ------------------------------------------------------------------------


def wide_word(r, s):
    """53 bits of two words, as a float64."""
    return to_float((r >> 5 << 26) | (s >> 6))


def wide_unit(r, s):
    """Uniform on [0, 1) with 53 bits."""
    return wide_word(r, s) * 2.0**-53


def wide_above_zero(r, s):
    """Uniform on (0, 1)."""
    return wide_unit(r, s) + 2.0**-54


def uniform_two(r0, r1, r2, r3, low, high):
    return between(wide_unit(r0, r1), low, high), between(wide_unit(r2, r3), low, high)


def normal_two(r0, r1, r2, r3, mean, std):
    return normal_pair(wide_above_zero(r0, r1), wide_word(r2, r3) * WIDE_TURN, mean, std)


def bernoulli_two(r0, r1, r2, r3, p, value):
    return chosen(wide_unit(r0, r1), p, value), chosen(wide_unit(r2, r3), p, value)


def exponential_two(r0, r1, r2, r3, rate, unused):
    return waited(wide_above_zero(r0, r1), rate), waited(wide_above_zero(r2, r3), rate)


def scaled(r, s, n):
    """floor(n (r 2**32 + s) / 2**64), uniform on 0 .. n - 1 but for n / 2**64; n = 0 stands for 2**64."""
    high, low = (n >> 32) & WORD, n & WORD
    middle = r * low + (((s * low) >> 32) & WORD)
    second = s * high + (middle & WORD)
    top = r * high + ((middle >> 32) & WORD) + ((second >> 32) & WORD)
    return top + (n == 0) * ((r << 32) + s)


def integers_two(r0, r1, r2, r3, low, count):
    return low + scaled(r0, r1, count), low + scaled(r2, r3, count)


DISTRIBUTIONS = {
    ("uniform", "float32"): uniform_four,
    ("uniform_float16", "float32"): half_uniform_four,
    ("uniform_bfloat16", "float32"): bfloat_uniform_four,
    ("normal", "float32"): normal_four,
    ("bernoulli", "float32"): bernoulli_four,
    ("exponential", "float32"): exponential_four,
    ("bernoulli", "bool"): truths_four,
    ("uniform", "float64"): uniform_two,
    ("normal", "float64"): normal_two,
    ("bernoulli", "float64"): bernoulli_two,
    ("exponential", "float64"): exponential_two,
    ("integers", "int64"): integers_two,
}


def parameters_dtype(dtype):
    """The dtype of a distribution's parameters, in which it is computed, where ``dtype`` is that of its numbers."""
    return "float32" if dtype == "bool" else dtype


def numbers_of_block(dtype):
    """How many numbers the words of a block give."""
    return 4 if parameters_dtype(dtype) == "float32" else 2


# ---- loops ---------------------------------------------------------------------------------------------------------


def pointer_float32(args, i):
    return p_float32(args, i)


def pointer_float64(args, i):
    return p_float64(args, i)


def pointer_int64(args, i):
    return p_int64(args, i)


def pointer_bool(args, i):
    return p_uint8(args, i)


POINTERS = {"float32": pointer_float32, "float64": pointer_float64, "int64": pointer_int64, "bool": pointer_bool}


def fill_four(start, stop, args):
    """Blocks ``start`` to ``stop`` of the output; inputs are seed, call and the two parameters of the distribution."""
    out, seed, call = p_out(args, 1), p_int64(args, 2)[0], p_int64(args, 3)[0]
    a, b = p_number(args, 4)[0], p_number(args, 5)[0]
    count = word(pointer_word(args, 0), 0)
    whole = min(stop, count // 4)
    for block in range(start, whole):
        r0, r1, r2, r3 = philox(block, call, seed)
        x0, x1, x2, x3 = distribution(r0, r1, r2, r3, a, b)
        out[4 * block] = x0
        out[4 * block + 1] = x1
        out[4 * block + 2] = x2
        out[4 * block + 3] = x3
    if stop > whole and start <= whole:  # the last block, cut short
        r0, r1, r2, r3 = philox(whole, call, seed)
        x0, x1, x2, x3 = distribution(r0, r1, r2, r3, a, b)
        left = count - 4 * whole
        if left > 0:
            out[4 * whole] = x0
        if left > 1:
            out[4 * whole + 1] = x1
        if left > 2:
            out[4 * whole + 2] = x2


def fill_two(start, stop, args):
    """As ``fill_four``, with two numbers a block."""
    out, seed, call = p_out(args, 1), p_int64(args, 2)[0], p_int64(args, 3)[0]
    a, b = p_number(args, 4)[0], p_number(args, 5)[0]
    count = word(pointer_word(args, 0), 0)
    whole = min(stop, count // 2)
    for block in range(start, whole):
        r0, r1, r2, r3 = philox(block, call, seed)
        x0, x1 = distribution(r0, r1, r2, r3, a, b)
        out[2 * block] = x0
        out[2 * block + 1] = x1
    if stop > whole and start <= whole and count > 2 * whole:
        r0, r1, r2, r3 = philox(whole, call, seed)
        x0, x1 = distribution(r0, r1, r2, r3, a, b)
        out[2 * whole] = x0
