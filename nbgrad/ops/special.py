"""Special functions: relatives of the error function, gamma functions, Bessel functions, entropies.

Functions that torch has in ``torch.special`` alone are in ``nbgrad.special`` alone.
"""

from __future__ import annotations

import math

from ..base.errors import DTypeError, NotSupportedError, RangeError
from .core import composite, elementwise, general, refusing
from .elementwise.exponentials import by_factor
from .elementwise.limits import bounded
from .expr import scalar
from .kinds import counted, explained
from .variants import variant

where = scalar.where
SPECIAL = {"policy": "float", "method": False, "function": False, "inplace": False}
ROOT_PI, ROOT_HALF = math.sqrt(math.pi), math.sqrt(0.5)

# ---- the error function and its relatives ---------------------------------------------------------------------------------


def density(x, rate):
    """e**(-rate x**2), whose derivatives at infinity are 0."""
    near = bounded(x, 60.0)
    return scalar.exp(-rate * (near * near))


elementwise(
    "erf",
    lambda x: scalar.erf(x),
    {"x": lambda x: 2 / math.sqrt(math.pi) * density(x, 1.0)},
    policy="float",
    special=("erf",),
    doc="The error function.",
)
elementwise(
    "erfc",
    lambda x: scalar.erfc(x),
    {"x": lambda x: -2 / ROOT_PI * density(x, 1.0)},
    policy="float",
    special=("erfc",),
    doc="1 - erf(x), to full precision for large x.",
)
elementwise(
    "erfinv",
    lambda x: scalar.erfinv(x),
    {"x": lambda out: ROOT_PI / 2 * scalar.exp(out * out)},
    policy="float",
    special=("erfinv",),
    doc="The number whose error function is x; NaN beyond -1 and 1.",
)


def _erfcx_slope(x, out):
    """2 x out - 2 / root(pi); far out, where those are nearly equal, the asymptotic series."""
    r = 1 / where(x > 30, x, 30.0)
    series = 1.0
    for k in range(8, 0, -1):
        series = 1 - (k + 0.5) * (r * r) * series
    return where(x > 30, -1 / ROOT_PI * (r * r) * series, 2 * x * out - 2 / ROOT_PI)


elementwise(
    "erfcx",
    lambda x: scalar.erfcx(x),
    {"x": _erfcx_slope},
    **SPECIAL,
    node="SpecialErfcxBackward0",
    special=("erfcx",),
    doc="e**(x**2) erfc(x).",
)
elementwise(
    "ndtr",
    lambda x: 0.5 * scalar.erfc(-ROOT_HALF * x),
    {"x": lambda x: ROOT_HALF / ROOT_PI * density(x, 0.5)},
    **SPECIAL,
    node="SpecialNdtrBackward0",
    special=("ndtr",),
    doc="The probability that a standard normal variable is at most x.",
)
elementwise(
    "ndtri",
    lambda x: scalar.ndtri(x),
    {"x": lambda out: ROOT_PI / ROOT_HALF * scalar.exp(0.5 * (out * out))},
    **SPECIAL,
    node="SpecialNdtriBackward0",
    special=("ndtri",),
    doc="The number that a standard normal variable is below with probability x.",
)
elementwise(
    "log_ndtr",
    lambda x: where(
        x < -1, scalar.log(0.5 * scalar.erfcx(-ROOT_HALF * x)) - 0.5 * (x * x), scalar.log1p(-0.5 * scalar.erfc(ROOT_HALF * x))
    ),
    {
        "x": lambda x: where(
            x < 0,
            ROOT_HALF * 2 / ROOT_PI / scalar.erfcx(-ROOT_HALF * x),
            ROOT_HALF * 2 / ROOT_PI * density(x, 0.5) / scalar.erfc(-ROOT_HALF * x),
        )
    },
    **SPECIAL,
    node="SpecialLogNdtrBackward0",
    special=("log_ndtr",),
    doc="The logarithm of ndtr, without its underflow.",
)

# ---- gamma functions ---------------------------------------------------------------------------------------------------

elementwise(
    "lgamma",
    lambda x: scalar.lgamma(x),
    {"x": lambda x: scalar.digamma(x)},
    policy="float",
    special=("gammaln",),
    doc="The logarithm of the magnitude of the gamma function.",
)
elementwise(
    "digamma",
    lambda x: scalar.digamma(x),
    {"x": lambda x: scalar.trigamma(x)},
    policy="float",
    special=("digamma", "psi"),
    doc="The derivative of lgamma.",
)
elementwise(
    "trigamma",
    lambda x: scalar.trigamma(x),
    {"x": lambda x: -2 * scalar.zeta(3.0, x)},
    **SPECIAL,
    public="polygamma",
    node="PolygammaBackward0",
    doc="The second derivative of lgamma.",
)
elementwise(
    "zeta",
    lambda x, q: scalar.zeta(x, q),
    {"x": lambda q: scalar.log(-1 - q * q), "q": lambda x, q: -x * scalar.zeta(x + 1, q)},
    **SPECIAL,
    node="SpecialZetaBackward0",
    special=("zeta",),
    doc="The Hurwitz zeta function, sum over k of (k + q)**-x; its derivative by x is NaN.",
)


def polygamma(n, input):
    """The n-th derivative of digamma.

    Args:
        n: a whole number >= 0.
        input: a tensor.

    Raises:
        RangeError: n is negative.
    """
    n = counted("polygamma", "n", n)
    if n < 2:
        return scalar.trigamma(input) if n else scalar.digamma(input)
    return scalar.zeta(n + 1.0, input) * float((-1) ** (n + 1) * math.factorial(n))


@explained
def mvlgamma(input, p):
    """The logarithm of the multivariate gamma function of dimension p, a whole number >= 1.

    Raises:
        RangeError: p is less than 1. DTypeError: not floating.
    """
    if p < 1:
        raise RangeError(f"mvlgamma: p is {p}, expected a number >= 1.")
    if input.dtype.is_complex:
        raise DTypeError(f"mvlgamma: not defined for {input.dtype}.")
    total = scalar.lgamma(input) + p * (p - 1) / 4 * math.log(math.pi)
    for k in range(1, p):
        total = total + scalar.lgamma(input - k / 2)
    return total


composite("polygamma", polygamma, method=False, out=True, special=("polygamma",), doc=str(polygamma.__doc__))
composite(
    "polygamma_of",
    lambda input, n: polygamma(n, input),
    function=False,
    aliases=("polygamma",),
    inplace="result",
    doc="The n-th derivative of digamma.",
)
composite("mvlgamma", mvlgamma, out=True, special=("multigammaln",), inplace="result", doc=str(mvlgamma.__doc__))


def gamma_density(x, y):
    """The derivative of the lower incomplete gamma function by its second argument."""
    return scalar.exp((x - 1) * scalar.log(y) - y - scalar.lgamma(x))


def refused_order(name):
    """The cotangent of an incomplete gamma function's first operand."""

    @refusing
    def by_order(g):
        """Refused."""
        raise NotSupportedError(f"{name}: the derivative by the first operand is not implemented. Hint: detach it.")

    return by_order


for _name, _sign, _part in (("igamma", 1, "lower"), ("igammac", -1, "upper")):
    general(
        f"{_name}_pair",
        lambda x, y: x,
        {"x": refused_order(_name), "y": (lambda sign: lambda g, x, y: g * gamma_density(x, y) * sign)(_sign)},
        operands=("x", "y"),
        method=False,
        function=False,
        node=f"{_name.capitalize()}Backward0",
        public=_name,
        batched="broadcasting",
        doc=f"The regularised {_part} incomplete gamma function.",
    )

# ---- modified Bessel functions -----------------------------------------------------------------------------------------


def i1_ratio(x):
    """i1(x) / x near 0, by its power series: the derivatives of a quotient would be differences of equals."""
    square, series = 0.25 * (x * x), 1.0
    for k in range(9, 0, -1):
        series = 1 + square * series * (1 / (k * (k + 1)))
    return 0.5 * series


elementwise(
    "i0",
    lambda x: scalar.i0(x),
    {"x": lambda x: scalar.i1(x)},
    policy="float",
    special=("i0", "modified_bessel_i0"),
    doc="The modified Bessel function of the first kind of order 0.",
)
elementwise(
    "i0e",
    lambda x: scalar.i0e(x),
    {"x": lambda x, out: scalar.i1e(x) - scalar.sign(x) * out},
    **SPECIAL,
    node="SpecialI0EBackward0",
    special=("i0e",),
    doc="e**-|x| i0(x).",
)
elementwise(
    "i1",
    lambda x: scalar.i1(x),
    {"x": lambda x, out: scalar.i0(x) - where(scalar.abs(x) < 1, i1_ratio(x), out / x)},
    **SPECIAL,
    node="SpecialI1Backward0",
    special=("i1", "modified_bessel_i1"),
    doc="The modified Bessel function of the first kind of order 1.",
)
elementwise(
    "i1e",
    lambda x: scalar.i1e(x),
    {
        "x": lambda x, out: (
            scalar.i0e(x) - out * scalar.sign(x) - where(scalar.abs(x) < 1, scalar.exp(-scalar.abs(x)) * i1_ratio(x), out / x)
        )
    },
    **SPECIAL,
    node="SpecialI1EBackward0",
    special=("i1e",),
    doc="e**-|x| i1(x).",
)

# ---- entropies and odds ------------------------------------------------------------------------------------------------

elementwise(
    "entr",
    lambda x: where(x > 0, -x * scalar.log(where(x > 0, x, 1)), where(x < 0, -math.inf, x * 0)),
    {"x": lambda x: -scalar.log(x) - 1},
    **SPECIAL,
    node="SpecialEntrBackward0",
    special=("entr",),
    doc="-x log(x); 0 at 0, -inf below.",
)
elementwise(
    "xlog1py",
    lambda x, y: where(scalar.isnan(y), y, where(x == 0, 0, x * scalar.log1p(y))),
    {"x": lambda g, x, y: by_factor(g, x, y, -1, scalar.log1p), "y": lambda x, y: where((x == 0) & (y == -1), 0, x / (y + 1))},
    tangents={"x": lambda t_x, x, y: by_factor(t_x, x, y, -1, scalar.log1p)},
    **SPECIAL,
    node="SpecialXlog1PyBackward0",
    special=("xlog1py",),
    doc="x * log(1 + y); 0 where x is 0, unless y is NaN.",
    aten="special_xlog1py",
)
LOGIT = {"policy": "float", "method": False, "function": False, "node": "LogitBackward0", "public": "logit"}
elementwise(
    "logit_open",
    lambda x: scalar.log(x / (1 - x)),
    {"x": lambda x: where((x < 0) | (x > 1), math.nan, 1 / x + 1 / (1 - x))},
    **LOGIT,
    shows={"eps": None},
    doc="log(x / (1 - x)).",
)


def _within(x, eps):
    """x moved into [eps, 1 - eps]."""
    return scalar.minimum(scalar.maximum(x, eps), 1 - eps)


elementwise(
    "logit_within",
    lambda x, eps: scalar.log(_within(x, eps) / (1 - _within(x, eps))),
    {"x": lambda x, eps: where((x < eps) | (x > 1 - eps), 0, 1 / (x * (1 - x)))},
    **LOGIT,
    doc="logit of x moved into [eps, 1 - eps].",
)


@variant("logit", special=("logit",), example="x.sigmoid()")
def logit(op):
    whole, within = op("logit_open"), op("logit_within")

    def logit(input, eps=None):
        """log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given."""
        return whole(input) if eps is None else within(input, eps)

    return logit
