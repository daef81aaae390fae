"""Variants of sums, quotients and powers: factors, rounding modes, powers that are quicker than any."""

from __future__ import annotations

from typing import Any, Callable

from ..base.dtypes import bool_, complex128, float64
from ..base.errors import ArgumentError, DTypeError, RangeError
from .core import OPS, composite, elementwise
from .expr import scalar
from .kinds import settled_number
from .linalg import whole_factor
from .spellings import factor_first
from .variants import variant

__all__ = ["double_of"]

NUMBERS = (bool, int, float, complex)

# ---- sums ----------------------------------------------------------------------------------------------------------


def is_floating(x: Any) -> bool:
    """Whether a number or a tensor is floating or complex."""
    return x.dtype.differentiable if hasattr(x, "layout") else isinstance(x, (float, complex)) or kind_of(x) in ("f", "c")


def require_alpha(name: str, alpha: Any, *operands: Any) -> None:
    """A factor of integers is an integer, one of real numbers is real."""
    if is_floating(alpha) and not any(map(is_floating, operands)):
        raise DTypeError(f"{name}: alpha is {alpha}, expected an integer for integer operands.")
    if is_complex(alpha) and not any(map(is_complex, operands)):
        raise DTypeError(f"{name}: alpha is {alpha}, expected a real number for real operands. Hint: x + alpha * y.")


def is_complex(x: Any) -> bool:
    """Whether a number or a tensor is complex."""
    return x.dtype.is_complex if hasattr(x, "layout") else isinstance(x, complex) or kind_of(x) == "c"


def is_bool(x: Any) -> bool:
    """Whether a number or a tensor is a truth value."""
    return x.dtype is bool_ if hasattr(x, "layout") else isinstance(x, bool) or kind_of(x) == "b"


def kind_of(x: Any) -> str:
    """The kind of NumPy's numbers and arrays, by its letter."""
    return getattr(getattr(x, "dtype", None), "kind", "")


@variant("add", usual="add", example="x, y, alpha=2")
def add(op):
    plain, scaled = op("add"), op("add_scaled")

    def add(input, other, *more, alpha=1):
        """input + alpha * other."""
        if more:
            alpha, other = factor_first("add", "alpha", alpha, (other, *more), 1)
        if (alpha := settled_number("add", "alpha", alpha)) == 1:
            return plain(input, other)
        require_alpha("add", alpha, input, other)
        if isinstance(input, NUMBERS) and isinstance(other, NUMBERS):
            return plain(input, alpha * other)
        return scaled(input, other, bool(alpha) if is_bool(input) and is_bool(other) else alpha)

    return add


@variant("sub", "subtract", usual="sub", example="x, y, alpha=2")
def sub(op):
    plain, scaled = op("sub"), op("add_scaled")

    def sub(input, other, *more, alpha=1):
        """input - alpha * other."""
        if more:
            alpha, other = factor_first("sub", "alpha", alpha, (other, *more), 1)
        if (alpha := settled_number("sub", "alpha", alpha)) == 1:
            return plain(input, other)
        require_alpha("sub", alpha, input, other)
        if isinstance(input, NUMBERS) and isinstance(other, NUMBERS):
            return plain(input, alpha * other)
        return scaled(input, other, -alpha)

    return sub


@variant("rsub", inplace=False, out=False, example="x, y")
def rsub(op):
    difference = sub(op)

    def rsub(input, other, *, alpha=1):
        """other - alpha * input."""
        return difference(other, input, alpha=alpha)

    return rsub


@variant("addcmul", example="x, y, y, value=0.5")
def addcmul(op):
    scaled = op("addcmul_scaled")

    def addcmul(input, tensor1, tensor2, *more, value=1):
        """input + value * tensor1 * tensor2."""
        if more:
            value, tensor1, tensor2 = factor_first("addcmul", "value", value, (tensor1, tensor2, *more), 2)
        if type(value) is not int and not any(map(is_floating, (input, tensor1, tensor2))):
            value = settled_number("addcmul", "value", value)
            value = whole_factor("addcmul", "value", value) if isinstance(value, float) else value
        return scaled(input, tensor1, tensor2, value)

    return addcmul


@variant("addcdiv", example="x, y, y, value=0.5")
def addcdiv(op):
    scaled = op("addcdiv_scaled")

    def addcdiv(input, tensor1, tensor2, *more, value=1):
        """input + value * tensor1 / tensor2; floating operands only."""
        if more:
            value, tensor1, tensor2 = factor_first("addcdiv", "value", value, (tensor1, tensor2, *more), 2)
        return scaled(input, tensor1, tensor2, value)

    return addcdiv


# ---- what changes nothing ------------------------------------------------------------------------------------------


def unchanged(name: str, kept: Callable[[Any], bool], of: str, out: bool, operator: str | None = None) -> None:
    """Register an operation that leaves some numbers as they are: then it gives the tensor itself, as torch's does.

    Args:
        kept: whether those of a dtype are; ``of`` says it.
    """

    @variant(name, inplace=False, out=out, operator=operator)
    def build(op):
        plain = op(name)
        if getattr(plain, "writes", False):
            return plain

        def same(input):
            dtype = getattr(input, "dtype", None)
            return input if hasattr(dtype, "category") and kept(dtype) else plain(input)

        same.__name__, same.__doc__ = name, f"{OPS[name].doc} Of {of} the tensor itself."
        return same


unchanged("positive", lambda dtype: dtype is not bool_, "numbers", False, "pos")
unchanged("conj_physical", lambda dtype: not dtype.is_complex, "real numbers", True)


# ---- quotients and powers ------------------------------------------------------------------------------------------


@variant("div", "divide", "true_divide", usual="div", example="x, y, rounding_mode='floor'")
def div(op):
    plain = op("div")
    rounded = {"floor": op("div_floor"), "trunc": op("div_trunc")}

    def div(input, other, *, rounding_mode=None):
        """input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers."""
        if rounding_mode is None:
            return plain(input, other)
        if rounding_mode not in rounded:
            raise RangeError(f"div: rounding_mode is {rounding_mode!r}, expected None, 'floor' or 'trunc'.")
        return rounded[rounding_mode](input, other)

    return div


# Quick forms of pow for one exponent each, which save less and need no logarithm.
QUICK = {"method": False, "function": False, "complex": True, "node": "PowBackward0", "public": "pow"}
elementwise(
    "pow_zero", lambda x: 1.0, {"x": lambda: 0}, shows={"exponent": 0}, text="{one}", doc="x**0.", **QUICK, aten=".Tensor_Scalar"
)
elementwise(
    "pow_one",
    lambda x: scalar.positive(x),
    {"x": lambda x: scalar.pow_zero(x)},
    shows={"exponent": 1},
    text="{0}",
    doc="x**1.",
    **QUICK,
    aten=".Tensor_Scalar",
)
elementwise(
    "pow_three",
    lambda x: x * x * x,
    {"x": lambda x: 3 * scalar.square(x)},
    shows={"exponent": 3},
    doc="x**3.",
    **QUICK,
    aten=".Tensor_Scalar",
)
elementwise(
    "pow_inverse",
    lambda x: 1 / x,
    {"x": lambda out: -(out * out)},
    policy="float",
    shows={"exponent": -1},
    doc="x**-1.",
    **QUICK,
    aten=".Tensor_Scalar",
)
elementwise(
    "pow_half",
    lambda x: scalar.sqrt(x),
    {"x": lambda out: 1 / (2 * out)},
    policy="float",
    shows={"exponent": 0.5},
    doc="x**0.5.",
    **QUICK,
    aten=".Tensor_Scalar",
)
QUICK_POWERS = {2: "square", 0.5: "pow_half", 3: "pow_three", -1: "pow_inverse", 1: "pow_one", 0: "pow_zero"}


@variant("pow", operator="pow", example="x, 3")
def pow_(op):
    general, either = op("pow"), op("logical_or")
    quick = {exponent: op(name) for exponent, name in QUICK_POWERS.items()}

    def pow(input, exponent):
        """input to the power exponent; either may be a number."""
        if isinstance(exponent, int) and type(exponent) is not bool:
            exponent = exponent.__index__()  # of what a capture follows the int itself, which says what is computed
        kind = type(exponent)
        if kind is bool and is_bool(input) and hasattr(input, "layout"):  # no number to compute with, but a truth value
            return either(input, not exponent)
        if (kind is int or kind is float) and hasattr(input, "dtype"):
            dtype = input.dtype
            if exponent in quick and dtype.differentiable:
                return quick[exponent](input)
            if kind is int and exponent < 0 and not dtype.differentiable:
                raise DTypeError(f"pow: {dtype.name} to the negative power {exponent} is no integer. Hint: use a float exponent.")
        elif isinstance(exponent, float) and hasattr(input, "dtype") and input.dtype.differentiable:  # NumPy's, or a capture's
            for each, run in quick.items():
                if exponent == each:
                    return run(input)
        return general(input, exponent)

    return pow


def float_power(input, exponent):
    """input to the power exponent, computed in double precision."""
    if not any(hasattr(x, "layout") for x in (input, exponent)):
        raise ArgumentError("float_power: expected a Tensor among the operands, got only numbers. Hint: nbgrad.tensor(x).")
    wide = [x.to_dtype(double_of(x.dtype)) if hasattr(x, "layout") else x for x in (input, exponent)]
    return wide[0].pow(wide[1]) if hasattr(input, "layout") else scalar.pow(*wide)


def double_of(dtype):
    """The double-precision dtype of its category."""
    return complex128 if dtype.is_complex else float64


composite("float_power", float_power, out=True, numbers=True, inplace="result", doc=float_power.__doc__)
