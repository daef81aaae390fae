"""Public functions that choose among declared operations: torch's signatures, with their options.

NOTE [Variants]: a variant is written once, in terms of ``op(name)``, and built three times: ``op`` gives the operation
itself, its in-place form, or its ``out=`` form. Python's operators do not pass here: ``x + y`` is the operation
``add`` directly.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ..base.calls import CALLS
from ..base.dtypes import bool_
from ..base.errors import ArgumentError, DTypeError, RangeError
from .core import OPS, composite, elementwise
from .expr import scalar
from .kinds import settled_number
from .linalg import whole_factor
from .spellings import factor_first

__all__ = ["VARIANTS", "Variant"]


class Variant(NamedTuple):
    """A public function over several operations.

    Attributes:
        names: of function and method; the first is its own.
        build: ``build(op) -> function``, see NOTE [Variants].
        method, function, inplace, out: which public forms it has.
        operator: the special method that it replaces, for those that profit from a look at the operand.
        special: its names in ``torch.special``.
        example: the arguments of a call that its documentation shows, of tensors x and y.
        usual: the operation that it is without options; none where the operand decides.
    """

    names: tuple[str, ...]
    build: Callable[[Callable[[str], Callable]], Callable]
    method: bool
    function: bool
    inplace: bool
    out: bool
    operator: str | None
    special: tuple[str, ...]
    example: str
    usual: str


VARIANTS: list[Variant] = []
NUMBERS = (bool, int, float, complex)


def variant(
    *names: str,
    method: bool = True,
    function: bool = True,
    inplace: bool = True,
    out: bool = True,
    operator: str | None = None,
    special: tuple[str, ...] = (),
    example: str = "",
    usual: str = "",
) -> Callable:
    """Register the decorated ``build`` under ``names``."""

    def register(build):
        VARIANTS.append(Variant(names, build, method, function, inplace, out, operator, special, example, usual))
        return build

    return register


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
    from ..base.dtypes import complex128, float64

    return complex128 if dtype.is_complex else float64


composite("float_power", float_power, out=True, numbers=True, inplace="result", doc=float_power.__doc__)

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


# ---- activations ---------------------------------------------------------------------------------------------------


@variant("gelu", inplace=False, example="x")
def gelu(op):
    forms = {"none": op("gelu_erf"), "tanh": op("gelu_tanh")}

    def gelu(input, approximate="none"):
        """input times its normal distribution function; approximate="tanh" uses Hendrycks and Gimpel's formula."""
        if approximate not in forms:
            raise RangeError(f"gelu: approximate is {approximate!r}, expected 'none' or 'tanh'.")
        return forms[approximate](input)

    return gelu


def of_integers(name: str, inplace: bool, input: Any, *settings: Any) -> Any:
    """An activation of integers; in place it writes the result over input.

    Raises:
        DTypeError: bools, or another dtype that the function has not.
    """
    dtype, form = getattr(input, "dtype", None), OPS[name].of_integers
    if form is None or dtype is None or dtype.differentiable or dtype.name == "bool":
        raise DTypeError(f"{name}: not defined for {dtype}.")
    settings = tuple(map(int, settings))
    if name == "hardtanh" and dtype.name == "uint8" and settings[0] < 0:
        raise DTypeError(f"hardtanh: min_val is {settings[0]}, which uint8 does not hold.")
    out = form(input, *settings)
    return input.copy_(out) if inplace else out


def with_inplace_flag(name: str, example: str = "x", possible: str = "") -> None:
    """Register an activation whose function takes ``inplace`` as last argument, as torch.nn.functional's do.

    Args:
        possible: which settings are possible, as a condition; any unless given.
    """
    settings = list(OPS[name].signature.parameters.values())[1:]
    named, passed = ([f"{p.name}{'' if p.default is p.empty else f'={p.default!r}'}" for p in settings], [p.name for p in settings])
    call = f"(over if inplace else plain)({', '.join(['input', *passed])})"
    text = f"def {name}({', '.join(['input', *named, 'inplace=False'])}):\n"
    if possible:
        shown = ", ".join(f"{setting} is {{{setting}}}" for setting in passed)
        text += f"    if not ({possible}): raise RangeError(f'{name}: {shown}, expected {possible}.')\n"
    if OPS[name].of_integers is not None:
        text += f"    try: return {call}\n"
        text += f"    except refusal: return of_integers({name!r}, inplace, {', '.join(['input', *passed])})\n"
    else:
        text += f"    return {call}\n"

    @variant(name, method=False, inplace=False, out=False, example=example)
    def build(op):
        scope = {
            "plain": op(name),
            "over": op(name + "_"),
            "of_integers": of_integers,
            "refusal": DTypeError,
            "RangeError": RangeError,
        }
        exec(compile(text, f"<nbgrad {name} with inplace>", "exec"), scope)
        head, *rest = OPS[name].doc.split("\n\n", 1)
        scope[name].__doc__ = "\n\n".join([f"{head} inplace=True overwrites input.", *rest])
        return scope[name]


for _name in ("relu", "silu", "elu", "hardsigmoid", "hardswish", "selu", "mish"):
    with_inplace_flag(_name)
with_inplace_flag("hardtanh", possible="min_val <= max_val")
with_inplace_flag("celu", possible="alpha != 0")
with_inplace_flag("leaky_relu", "x, 0.1")
with_inplace_flag("threshold", "x, 0.5, 0.0")


@variant("softshrink", method=False, inplace=False, example="x")
def softshrink(op):
    towards_zero = op("softshrink")

    def softshrink(input, lambd=0.5):
        """input moved towards 0 by lambd, which is not negative, as far as 0."""
        if lambd < 0:
            raise RangeError(f"softshrink: lambd is {lambd}, expected a number >= 0.")
        return towards_zero(input, lambd)

    return softshrink


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
