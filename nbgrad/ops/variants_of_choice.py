"""Variants of limits and rounding, choice, comparisons, copies."""

from __future__ import annotations

from ..base.calls import CALLS
from ..base.errors import ArgumentError, DTypeError, RangeError
from .core import composite, elementwise
from .expr import scalar
from .variants import variant
from .variants_of_arithmetic import double_of

__all__: list[str] = []

# ---- limits and rounding -------------------------------------------------------------------------------------------


@variant("clamp", "clip", example="x, -0.5, 2.0")
def clamp(op):
    both, low, high = op("clamp_both"), op("clamp_min"), op("clamp_max")

    def clamp(input, min=None, max=None):
        """input moved into [min, max]; each may be a number, a tensor or None."""
        if min is None:
            if max is None:
                raise RangeError("clamp: min and max are None, expected at least one.")
            return high(input, max)
        return low(input, min) if max is None else both(input, min, max)

    return clamp


DECIMALS = {"policy": "floating", "method": False, "function": False, "node": "RoundBackward1", "public": "round"}
# What the power takes out of the range is whole already.
elementwise(
    "round_fine",
    lambda x, power: scalar.where(scalar.isfinite(x * power), scalar.round(x * power) / power, x),
    {"x": lambda: 0},
    doc="The nearest multiple of 1 / power.",
    **DECIMALS,
)
elementwise(
    "round_coarse",
    lambda x, power: scalar.round(x / power) * power,
    {"x": lambda: 0},
    doc="The nearest multiple of power.",
    **DECIMALS,
)


@variant("round", usual="round", example="x * 1.234, decimals=1")
def round_(op):
    plain, fine, coarse = op("round"), op("round_fine"), op("round_coarse")

    def round(input, *, decimals=0):
        """The nearest multiple of 10**-decimals, ties to even; integers take no decimals."""
        if decimals == 0:
            return plain(input)
        return fine(input, 10.0**decimals) if decimals > 0 else coarse(input, 10.0**-decimals)

    return round


# ---- choice, comparison, copies ------------------------------------------------------------------------------------


@variant("where", function=False, inplace=False, out=False, example="x > 0, x, y")
def where(op):
    choose = op("where")

    def where(input, condition, other):
        """input where condition is true, else other."""
        return choose(condition, input, other)

    return where


elementwise(
    "isclose_finite",
    lambda x, y, rtol, atol: (x == y) | (scalar.isfinite(y) & (scalar.abs(x - y) <= atol + rtol * scalar.abs(y))),
    policy="floating",
    predicate=True,
    complex=True,
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="isclose",
    doc="|x - y| <= atol + rtol * |y|.",
)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where |input - other| <= atol + rtol * |other|; infinities equal themselves, NaN with ``equal_nan``."""
    if rtol < 0 or atol < 0:
        raise RangeError(f"isclose: rtol is {rtol}, atol is {atol}, expected numbers >= 0.")
    try:
        alike = input.dtype is other.dtype
    except AttributeError:
        raise ArgumentError(f"isclose: other must be a Tensor, got {type(other).__name__}.") from None
    if not alike:
        raise DTypeError(f"isclose: input is {input.dtype.name}, other is {other.dtype.name}, expected one dtype.")
    if rtol == 0 and atol == 0:
        close = scalar.eq(input, other)
    else:
        close = scalar.isclose_finite(*map(wide_integers, (input, other)), float(rtol), float(atol))
    return close | (scalar.isnan(input) & scalar.isnan(other)) if equal_nan else close


def wide_integers(x):
    """Integers as float64; anything else as it is."""
    return x if x.dtype.differentiable else x.to_dtype(double_of(x.dtype))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``isclose`` holds everywhere: a Python bool."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input, other):
    """Whether two tensors have one shape and equal elements: a Python bool."""
    try:
        alike = input.shape == other.shape
    except AttributeError:
        raise ArgumentError(f"equal: other must be a Tensor, got {type(other).__name__}.") from None
    size = input.numel() if alike else 0
    if size <= EQUAL_AT_ONCE or not (input.layout.contiguous and other.layout.contiguous):
        return alike and bool(scalar.eq(input, other).all())
    x, y = input.reshape((-1,)), other.reshape((-1,))  # the first difference decides
    start, step = 0, EQUAL_AT_ONCE
    while start < size and bool(scalar.eq(*(each.slice(0, start, start + step, 1) for each in (x, y))).all()):
        start, step = start + step, 16 * EQUAL_AT_ONCE
    return start >= size


EQUAL_AT_ONCE = 1 << 12  # elements that are compared before the result is looked at


for _function in (isclose, allclose, equal):
    composite(_function.__name__, _function, doc=_function.__doc__)


@variant("copy", method=False, function=False, out=False)
def copy(op):
    write = op("copy")

    def copy(input, src, non_blocking=False):
        """Write src into input, converted and broadcast; copies between devices need not be done then, if non_blocking."""
        return CALLS["copy_from"](input, src) if non_blocking else write(input, src)

    return copy
