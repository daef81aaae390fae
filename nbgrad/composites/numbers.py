"""Parts and neighbours of numbers, and replacements for NaN and infinities: ``frexp``, ``nextafter``, ``nan_to_num``."""

from __future__ import annotations

from functools import cache
from typing import Callable, NamedTuple

from ..base.dtypes import finfo, float32, result_dtype
from ..base.errors import ArgumentError, DTypeError
from ..base.results import result_type
from ..dispatch.arguments import require_tensors
from ..ops.core import composite
from ..ops.expr import scalar
from ..ops.kinds import constant_number
from ..tensors.tensor import Tensor
from .shapes import broadcast_tensors

__all__: list[str] = []


@cache
def usual_numbers(dtype):
    """The numbers by which ``nan_to_num`` replaces NaN and the infinities."""
    info = finfo(dtype)
    return 0.0, info.max, info.min


def nan_to_num(input, nan=None, posinf=None, neginf=None):
    """Numbers in the place of NaN (0) and the infinities (the dtype's greatest and least), in both parts of complex numbers."""
    if input.dtype.is_complex:
        return scalar.complex(*(nan_to_num(part, nan, posinf, neginf) for part in (scalar.real(input), scalar.imag(input))))
    if not input.dtype.is_floating_point:
        return input.clone()
    if nan is None and posinf is None and neginf is None:
        return scalar.nan_replaced(input, *usual_numbers(input.dtype))
    info = finfo(input.dtype)
    try:
        numbers = tuple(
            usual if value is None else float(constant_number("nan_to_num", name, value))
            for name, value, usual in (("nan", nan, 0.0), ("posinf", posinf, info.max), ("neginf", neginf, info.min))
        )
    except (TypeError, ValueError):
        given = f"{nan!r}, {posinf!r} and {neginf!r}"
        raise ArgumentError(f"nan_to_num: nan, posinf and neginf must be numbers, got {given}.") from None
    return scalar.nan_replaced(input, *numbers)


@result_type("frexp")
class Frexp(NamedTuple):
    """What ``frexp`` returns."""

    mantissa: Tensor
    exponent: Tensor


def signbit(input):
    """Whether the sign is negative, that of -0.0 too."""
    require_tensors("signbit", input)
    if input.dtype.is_complex:
        raise DTypeError(f"signbit: not defined for {input.dtype}.")
    return scalar.sign_bit(input) if input.dtype.is_floating_point else input < 0


def ldexp(input, other):
    """input * 2**other."""
    if not isinstance(other, Tensor):
        return input * 2.0**other
    if not isinstance(input, Tensor) or not input.dtype.is_floating_point or other.dtype.differentiable:
        return input * scalar.pow(2.0, other)
    if input.dtype.itemsize > 2:
        return scalar.load_exponent(input, other)
    return scalar.load_exponent(input.to(float32), other).to(input.dtype)  # which has more whole numbers


def frexp(input):
    """(mantissa, exponent) with input = mantissa * 2**exponent and 1/2 <= |mantissa| < 1; the exponent is int32.

    Raises:
        DTypeError: not floating.
    """
    require_tensors("frexp", input)
    if not input.dtype.is_floating_point:
        raise DTypeError(f"frexp: input is {input.dtype}, expected a floating dtype.")
    exponent = scalar.binary_exponent(input)
    return Frexp(scalar.mantissa_of(input, exponent), exponent)


def nextafter(input, other):
    """The next number after input in the direction of other: its derivative by input is 1, 0 where both are equal, by other 0.

    Raises:
        DTypeError: not floating.
    """
    require_tensors("nextafter", input, other)
    if input.layout is other.layout and input.layout.dtype.is_floating_point:
        return scalar.adjacent(input, other)
    dtype = result_dtype([(x.dtype, x.ndim) for x in (input, other)]) if input.dtype is not other.dtype else input.dtype
    if not dtype.is_floating_point:
        raise DTypeError(f"nextafter: not defined for {dtype}, expected a floating dtype.")
    if input.dtype is not other.dtype:
        input, other = input.to(dtype), other.to(dtype)
    return scalar.adjacent(*((input, other) if input.layout.shape == other.layout.shape else broadcast_tensors(input, other)))


_function: Callable
for _function in (signbit, frexp):
    composite(_function.__name__, _function, out=True, doc=str(_function.__doc__))
for _function in (nan_to_num, ldexp, nextafter):
    composite(_function.__name__, _function, inplace="result", out=True, doc=str(_function.__doc__))
