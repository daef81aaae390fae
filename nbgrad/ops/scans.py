"""Running sums and products, products of all others, and sums whose ends count half."""

from __future__ import annotations

import math

from ..base.dtypes import complex128, float64
from .core import composite, general, reduction
from .expr import scalar
from .reduce import by_dim, by_dims, cast, conjugate, reduced_dims, wide
from .shapes import inverse_permutation
from .spellings import chosen

__all__: list[str] = []


# ---- scans and products ----------------------------------------------------------------------------------------------
# NOTE [Products]: gradients of products come from scans alone, without a division: zeros are exact in every order.
#   y_k = x_k y_(k-1) is undone by c_k = g_k + x_(k+1) c_(k+1), a recurrence whose cotangents are recurrences again.
#   ``reverse`` walks from the end; ``exclusive`` leaves out the element itself; ``lagged`` takes the factor of the step
#   before.

general(
    "scan_sum",
    lambda x, dim, dtype, reverse: x,
    {"x": lambda g, x_dtype, dim, reverse: cast(scalar.scan_sum(g, dim, None, not reverse), x_dtype)},
    method=False,
    function=False,
    node="CumsumBackward0",
    public="cumsum",
    doc="Sums of the elements up to each.",
)


def product_cotangent(g, x, x_dtype, dim, dtype, exclusive, reverse):
    """(product of those before) times the recurrence of g; see NOTE [Products]."""
    x, g = wide(conjugate(x if dtype is None else cast(x, dtype))), wide(g)
    before = scalar.scan_product(x, dim, None, True, reverse)
    following = scalar.recurrence(x, g, dim, not exclusive, not reverse)
    if exclusive:
        following = scalar.shift_along(following, dim, 1 if reverse else -1)
    return cast(before * following, x_dtype)


general(
    "scan_product",
    lambda x, dim, dtype, exclusive, reverse: x,
    {"x": product_cotangent},
    method=False,
    function=False,
    node="CumprodBackward0",
    public="cumprod",
    doc="Products of the elements up to each.",
)


def factor_cotangent(g, x, out, dim, lagged, reverse):
    """Of the factors: the value that each multiplied, times the cotangent of what it went into."""
    back = scalar.recurrence(conjugate(x), g, dim, not lagged, not reverse)
    if lagged:
        return conjugate(out) * scalar.shift_along(back, dim, 1 if reverse else -1)
    return scalar.shift_along(conjugate(out), dim, -1 if reverse else 1) * back


general(
    "recurrence",
    lambda x, y, dim, lagged, reverse: x,
    {
        "x": factor_cotangent,
        "y": lambda g, x, dim, lagged, reverse: scalar.recurrence(conjugate(x), g, dim, not lagged, not reverse),
    },
    operands=("x", "y"),
    method=False,
    function=False,
    doc="out_k = y_k + x_k out_(k-1), or x_(k-1) out_(k-1) if lagged.",
)
general(
    "shift_along",
    lambda x, dim, by: x,
    {"x": lambda g, dim, by: scalar.shift_along(g, dim, -by)},
    method=False,
    function=False,
    doc="Elements moved along dim; zeros come in.",
)


def cumsum(x, dim=None, *, dtype=None, axis=None):
    """Sums of the elements up to each along dim; integers and bools in int64."""
    if axis is not None:
        dim = chosen("cumsum", "dim", dim, "axis", axis)
    return scalar.scan_sum(x, dim, dtype, False)


def cumprod(x, dim=None, *, dtype=None, axis=None):
    """Products of the elements up to each along dim; integers and bools in int64."""
    if axis is not None:
        dim = chosen("cumprod", "dim", dim, "axis", axis)
    return scalar.scan_product(x, dim, dtype, False, False)


composite("cumsum", cumsum, out=True, numpy=("add.accumulate",), inplace="result", doc=cumsum.__doc__)
composite("cumprod", cumprod, out=True, numpy=("multiply.accumulate",), inplace="result", doc=cumprod.__doc__)


def others_along(x, dim):
    """For every element the product of all others along ``dim``: of those before and of those after."""
    before, after = (scalar.scan_product(x, dim, None, True, reverse) for reverse in (False, True))
    return before * after


def others_over(x, dims):
    """For every element the product of all others over several dimensions: those are joined into one line."""
    order = (*(d for d in range(len(x.shape)) if d not in dims), *dims)
    y = x.permute(order)
    line = y.reshape((*y.shape[: len(order) - len(dims)], math.prod(y.shape[len(order) - len(dims) :])))
    return others_along(line, -1).reshape(y.shape).permute(inverse_permutation(order))


def prod_cotangent(g, x, x_shape, x_dtype, dim, dtype):
    """g times the product of all other elements."""
    x = wide(conjugate(x if dtype is None else cast(x, dtype)))
    dims = reduced_dims("prod", len(x_shape), dim)
    others = others_along(x, dims[0] if dims else 0) if len(dims) < 2 else others_over(x, dims)
    return cast(scalar.spread(g, x_shape, dim) * others, x_dtype)


reduction(
    "prod",
    lambda x, dim=None, keepdim=False, *, dtype=None: x,
    {"x": prod_cotangent},
    node=by_dims("ProdBackward"),
    monoid="product",
    gives="total",
    batched="row",
    numpy=("multiply.reduce",),
    doc="Product of all elements or along one dimension; integers and bools in int64.",
    aten=by_dim("dim_int"),
)


# ---- logarithms of sums up to each, sums with halved ends -------------------------------------------------------------


def running_cotangent(g, x, x_dtype, dim):
    """sum over j >= i of g_j exp(x_i - out_j), as a recurrence whose factors are at most 1: linear in g, and never too large.

    In double precision, the result too: the difference of two great numbers is only as good as they are.
    """
    if x_dtype.is_complex:
        return complex_running_cotangent(g, x, x_dtype, dim)
    x, g = x.to_dtype(float64), g.to_dtype(float64)
    out = scalar.running_logsumexp(x, dim)
    finite = scalar.where(scalar.isinf(out) & (out < 0), 0.0, out)
    later = scalar.shift_along(finite, dim, -1)
    step = scalar.where(finite == later, 0.0, finite - later)  # of two infinite sums too
    factors = scalar.exp(scalar.where(step > 0, 0.0, step))
    return (scalar.exp(x - finite) * scalar.recurrence(factors, g, dim, False, True)).to_dtype(x_dtype)


def complex_running_cotangent(g, x, x_dtype, dim):
    """The same of complex numbers, conjugated; steps between sums that cancel may be large."""
    x, g = x.to_dtype(complex128), g.to_dtype(complex128)
    out = scalar.running_logsumexp(x, dim)
    finite = scalar.where(scalar.isfinite(out), out, 0.0)
    factors = scalar.exp(finite - scalar.shift_along(finite, dim, -1)).conj_physical()
    return (scalar.exp(x - finite).conj_physical() * scalar.recurrence(factors, g, dim, False, True)).to_dtype(x_dtype)


general(
    "running_logsumexp",
    lambda x, dim: x,
    {"x": running_cotangent},
    method=False,
    function=False,
    node="LogcumsumexpBackward0",
    public="logcumsumexp",
    doc="log(sum(exp(x))) of the elements up to each along dim.",
    total=True,
)


def at_halved_ends(g, shape, dim: int):
    """The transpose: g at every number of a row, half of it at the ends."""
    half = g.detach().new_full((shape[dim] - 1,), 0.5)
    weights = half.zero_pad((0, 1)) + half.zero_pad((1, 0))
    return g.unsqueeze(dim) * weights.reshape((-1,) + (1,) * (len(shape) - dim - 1))


general(
    "halved_ends_sum",
    lambda x, dim: x,
    {"x": lambda g, x_shape, dim: at_halved_ends(g, x_shape, dim)},
    method=False,
    function=False,
    public="trapezoid",
    doc="The sum along dim of at least two numbers, of the first and last half.",
    total=True,
)
