"""Reductions over dimensions.

``dim`` is None (all of them), an int or a sequence of ints; ``keepdim`` leaves reduced dimensions with size 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..base.dtypes import complex128, float32, float64
from ..base.errors import ArgumentError, DTypeError, LinAlgError, RangeError, ShapeError
from ..base.results import result_type
from .core import Op, composite, elementwise, general, movement, reduction
from .expr import scalar
from .kinds import constant_number
from .shapes import inverse_permutation, wrap
from .spellings import as_list, chosen

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["reduced_dims", "kept_shape"]


# ---- dimensions ------------------------------------------------------------------------------------------------------


def reduced_dims(op: str, ndim: int, dim) -> tuple[int, ...]:
    """The dimensions that ``dim`` names, in order; None and an empty sequence name all.

    Raises:
        DimError: out of range.
        ArgumentError: no int.
        ShapeError: a dimension named twice.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = sorted(wrap(op, d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if len(set(dims)) < len(dims):
        raise ShapeError(f"{op}: a dimension appears twice in dim={list(dim)}.")
    return tuple(dims) if ndim else ()


def names_none(op: Op, dim) -> bool:
    """Whether an empty sequence names no dimension, as NumPy's ``axis=()`` does; to other reductions it names all, as in torch."""
    return dim == () and getattr(op, "gives", "") == "truth"


def kept_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape of a reduction's result."""
    if not keepdim and len(dims) == len(shape):
        return ()
    if keepdim:
        return tuple(1 if d in dims else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in dims)


def spread_layout(x, shape, dim):
    """The layout that repeats a reduction's result over the dimensions it was reduced from."""
    if not x.shape:
        return tuple(shape), (0,) * len(shape), 0
    dims = reduced_dims("spread", len(shape), dim)
    kept = iter(x.strides) if len(x.shape) != len(shape) else None
    strides = tuple(0 if d in dims else (next(kept) if kept else x.strides[d]) for d in range(len(shape)))
    return tuple(shape), strides, 0


movement(
    "spread",
    spread_layout,
    lambda g, x_shape, dim: g.sum(dim, len(x_shape) == g.ndim),
    method=False,
    function=False,
    node="ExpandBackward0",
    doc="Repeat over the dimensions that a reduction removed or left with size 1.",
)


def cast(g, dtype):
    """``g`` in ``dtype``."""
    return g if g.dtype is dtype else g.to_dtype(dtype)


def conjugate(x):
    """``x``, conjugated if it is complex: the adjoint of multiplying by ``x`` multiplies by this."""
    return scalar.conj_physical(x) if x.dtype.is_complex else x


def wide(x):
    """``x`` in single precision if it is of a half type, whose products and powers overflow on the way."""
    return cast(x, float32) if x.dtype.compute != x.dtype.name else x


def count_of(shape, dim) -> int:
    """How many elements each result of a reduction comes from."""
    count = 1
    for d in reduced_dims("mean", len(shape), dim):
        count *= shape[d]
    return count


def by_dims(name: str):
    """torch's names of the nodes: 0 for all dimensions, 1 for some."""
    return lambda facts: name + ("0" if facts["dim"] is None else "1")


# ---- sums ------------------------------------------------------------------------------------------------------------

reduction(
    "sum",
    lambda x, dim=None, keepdim=False, *, dtype=None: x,
    {"x": lambda g, x_shape, x_dtype, dim: scalar.spread(cast(g, x_dtype), x_shape, dim)},
    monoid="sum",
    gives="total",
    node=by_dims("SumBackward"),
    forms={"dim": as_list},
    numpy=("add.reduce",),
    doc="Sum over dimensions; integers and bools in int64.",
)
reduction(
    "mean",
    lambda x, dim=None, keepdim=False, *, dtype=None: x,
    {"x": lambda g, x_shape, x_dtype, dim: scalar.spread(cast(g, x_dtype) / count_of(x_shape, dim), x_shape, dim)},
    monoid="sum",
    finish=lambda total, count: total / count,
    gives="floating",
    node=by_dims("MeanBackward"),
    forms={"dim": as_list},
    doc="Arithmetic mean over dimensions; of floating and complex tensors.",
)
general(
    "sum_over",
    lambda x, shape: x,
    {"x": lambda g, x_shape: scalar.expand_shape(g, x_shape)},
    method=False,
    function=False,
    node="SumBackward1",
    doc="Sum down to a shape that broadcasts to the operand's.",
)


def sum_to(x, shape):
    """Sum over the dimensions that broadcasting to ``x.shape`` added or stretched; ``x`` itself if there are none."""
    return x if x.layout.shape == shape else scalar.sum_over(x, tuple(shape))


composite("sum_to", sum_to, function=False, doc=sum_to.__doc__)


# ---- softmax and its family ------------------------------------------------------------------------------------------


def total(x, dim):
    """The sum over ``dim``, which stays."""
    return x.sum(dim, True)


general(
    "softmax",
    lambda x, dim, dtype=None: x,
    {"x": lambda g, out, x_dtype, dim: cast(scalar.softmax_backward(g, out, dim), x_dtype)},
    node="SoftmaxBackward0",
    special=("softmax",),
    doc="exp(x) over its sum along dim; the maximum is subtracted first.",
)
general(
    "log_softmax",
    lambda x, dim, dtype=None: x,
    {"x": lambda g, out, x_dtype, dim: cast(scalar.log_softmax_backward(g, out, dim), x_dtype)},
    node="LogSoftmaxBackward0",
    special=("log_softmax",),
    doc="Logarithm of softmax along dim, without its overflow.",
)

# z = y (x - sum(x y)): symmetric in x, so its transpose is itself.
general(
    "softmax_backward",
    lambda x, y, dim: x,
    {
        "x": lambda g, y, dim: scalar.softmax_backward(g, y, dim),
        "y": lambda g, x, y, dim: g * (x - total(x * y, dim)) - x * total(g * y, dim),
    },
    operands=("x", "y"),
    method=False,
    function=False,
    node="SoftmaxBackwardDataBackward0",
    doc="Cotangent x of a softmax y, taken back to its operand.",
)
# z = x - exp(y) sum(x).
general(
    "log_softmax_backward",
    lambda x, y, dim: x,
    {"x": lambda g, y, dim: g - total(g * scalar.exp(y), dim), "y": lambda g, x, y, dim: -g * scalar.exp(y) * total(x, dim)},
    operands=("x", "y"),
    method=False,
    function=False,
    node="LogSoftmaxBackwardDataBackward0",
    doc="Cotangent x of a log_softmax y, taken back to its operand.",
)


elementwise(
    "exp_of_difference",
    lambda x, y: scalar.where(x == y, 1.0, scalar.exp(x - y)),
    {"x": lambda out: out, "y": lambda out: -out},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    node="ExpBackward0",
    public="logsumexp",
    doc="exp(x - y); 1 of two equal infinities.",
)


def logsumexp_cotangent(g, x, out, x_shape, dim):
    """g exp(x - out), over the sum of these, which is 1 but for the rounding of ``out``; 0 where every element is -inf."""
    shift = scalar.spread(scalar.where(out == -math.inf, 0.0, out), x_shape, dim)
    shares = scalar.conj_physical(scalar.exp(x - shift)) if x.dtype.is_complex else scalar.exp_of_difference(x, shift)
    return scalar.spread(quotient_or_zero(g, shares.sum(dim, g.ndim == len(x_shape))), x_shape, dim) * shares


reduction(
    "logsumexp",
    lambda x, dim, keepdim=False: x,
    {"x": logsumexp_cotangent},
    node="LogsumexpBackward0",
    forms={"dim": as_list},
    special=("logsumexp",),
    doc="log(sum(exp(x))) over dimensions, without overflow.",
)


# ---- extrema ---------------------------------------------------------------------------------------------------------


class Extremum(NamedTuple):
    """Values along a dimension, and where they were: what ``max`` and its relatives return."""

    values: Tensor
    indices: Tensor


# The class of each; of the operations of one node, by its name.
EXTREMUM_OF: dict[str, type[Extremum]] = {
    name: result_type(name)(Extremum)
    for name in ("max", "min", "sort", "topk", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin")
}


def extremum_type(node: str) -> type[Extremum]:
    """The class of results whose node is ``MaxBackward0``, ``MedianBackward1``, ..."""
    return EXTREMUM_OF[node.partition("Backward")[0].lower()]


@result_type("aminmax")
class Extrema(NamedTuple):
    """What ``aminmax`` returns."""

    min: Tensor
    max: Tensor


elementwise(
    "attains",
    lambda x, y: (x == y) | (scalar.isnan(x) & scalar.isnan(y)),
    predicate=True,
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="max",
    doc="Whether two are one number, or both NaN.",
)


def even_cotangent(g, x, out, x_shape, x_dtype, dim):
    """The cotangent of an extremum, shared evenly among the elements that attain it; 0 for the others, whatever it is."""
    attained = scalar.attains(x, scalar.spread(out, x_shape, dim))
    count = attained.to_dtype(x_dtype).sum(dim, g.ndim == len(x_shape))
    return scalar.where(attained, scalar.spread(g / count, x_shape, dim), 0.0)


def named_by_dim(whole: str, along_dims: str):
    """The node's name: ``max`` and ``min`` of all elements are amax and amin without a dim."""
    return lambda facts: whole if facts["dim"] is None else along_dims


for _name, _which, _ufunc in (("amax", "Greatest", "maximum"), ("amin", "Smallest", "minimum")):
    reduction(
        _name,
        lambda x, dim=(), keepdim=False: x,
        {"x": even_cotangent},
        monoid=_which.lower(),
        node=named_by_dim(f"{_name[1:].capitalize()}Backward1", f"{_name.capitalize()}Backward0"),
        forms={"dim": as_list},
        numpy=(f"{_ufunc}.reduce",),
        doc=f"{_which} element over dimensions; NaN wins. Elements that tie share the gradient.",
    )
for _name, _which in (("argmax", "greatest"), ("argmin", "smallest")):
    general(
        _name,
        lambda x, dim=None, keepdim=False: x,
        monoid=f"first {_which}",
        gives="count",
        batched="row",
        doc=f"Index of the first {_which} element, or of the first NaN; of the flattened tensor without dim.",
    )

# Elements at an index along a dimension, one for every position of ``index``; and back, where no index comes twice. Orders and
# extrema are this, each with a name for its node; without ``keepdim`` the index has one element along the dimension, which goes.
general(
    "pick",
    lambda x, index, dim, keepdim=True, node="GatherBackward0": x,
    {
        "x": lambda g, index, x_shape, dim, keepdim: scalar.place(
            g if keepdim else scalar.unsqueeze(g, dim), index, dim, size_at(x_shape, dim)
        )
    },
    operands=("x", "index"),
    method=False,
    function=False,
    node=lambda facts: facts["node"],
    saved_as={"indices": "index"},
    doc="Elements at an index along dim.",
)
general(
    "shared_pick",
    lambda x, index, dim, node: x,
    {"x": even_cotangent},
    operands=("x", "index"),
    method=False,
    function=False,
    node=lambda facts: facts["node"],
    public="median",
    doc="Elements at an index along dim, their gradients shared by all that tie.",
)
general(
    "place",
    lambda x, index, dim, size: x,
    {"x": lambda g, index, dim: scalar.pick(g, index, dim)},
    operands=("x", "index"),
    method=False,
    function=False,
    node="ScatterBackward0",
    doc="Zeros with x at an index along dim.",
)


def size_at(shape, dim) -> int:
    """The size of a dimension; of the 0-d tensor's one, 1."""
    return shape[dim] if shape else 1


def along(x, dim, keepdim, indices, node: str) -> Extremum:
    """Values and indices of an extremum, from its indices with ``keepdim``."""
    kind = extremum_type(node)
    if keepdim or not x.shape:
        return kind(scalar.pick(x, indices, dim, True, node), indices)
    shape = kept_shape(x.shape, (wrap("max", dim, len(x.shape)),), False)
    return kind(scalar.pick(x, indices, dim, False, node), scalar.view_shape(indices, shape))


def numpy_spelling(op: str, dim, axis, keepdim, keepdims) -> tuple:
    """``(dim, keepdim)`` from NumPy's names: see NOTE [Spellings]."""
    return chosen(op, "dim", dim, "axis", axis), chosen(op, "keepdim", keepdim or None, "keepdims", keepdims) or False


def extremum_of(name: str, whole: str, index: str, pairwise: str):
    """``max`` or ``min``: of all elements, along a dimension, or of two tensors."""
    node = name.capitalize() + "Backward0"

    def function(x, dim=None, keepdim=False, *, other=None, axis=None, keepdims=None):
        if axis is not None or keepdims is not None:
            dim, keepdim = numpy_spelling(name, dim, axis, keepdim, keepdims)
        if other is not None:
            if dim is not None or keepdim:
                raise ArgumentError(f"{name}: got dim or keepdim beside other, expected one of them. Hint: {pairwise}(x, other).")
            return getattr(scalar, pairwise)(x, other)
        if dim is None:
            return getattr(scalar, whole)(x, None)
        return along(x, dim, keepdim, getattr(scalar, index)(x, dim, True), node)

    function.__name__ = function.__qualname__ = name
    return function


composite(
    "max",
    extremum_of("max", "amax", "argmax", "maximum"),
    pure=True,
    either="other",
    out=True,
    doc="Greatest element; along dim (values, indices), the gradient to that index; of two tensors, maximum.",
)
composite(
    "min",
    extremum_of("min", "amin", "argmin", "minimum"),
    pure=True,
    either="other",
    out=True,
    doc="Smallest element; along dim (values, indices), the gradient to that index; of two tensors, minimum.",
)


def aminmax(x, *, dim=None, keepdim=False):
    """Smallest and greatest element, over all dimensions or one."""
    dims = () if dim is None else dim
    return Extrema(x.amin(dims, keepdim), x.amax(dims, keepdim))


composite("aminmax", aminmax, out=True, doc=aminmax.__doc__, joint=True)


# ---- truth and counts ------------------------------------------------------------------------------------------------

general(
    "any",
    lambda x, dim=None, keepdim=False: x,
    monoid="any",
    term=lambda x: x != 0,
    gives="truth",
    numpy=("logical_or.reduce",),
    doc="Whether an element is not zero.",
)
general(
    "all",
    lambda x, dim=None, keepdim=False: x,
    monoid="all",
    term=lambda x: x != 0,
    gives="truth",
    numpy=("logical_and.reduce",),
    doc="Whether no element is zero.",
)
general(
    "count_nonzero",
    lambda x, dim=None, keepdim=False: x,
    monoid="sum",
    term=lambda x: x != 0,
    gives="count",
    doc="Number of elements that are not zero.",
)


# ---- variance --------------------------------------------------------------------------------------------------------


def freedom(x_shape, dim, correction) -> float:
    """Elements less the correction, at least 0."""
    return float(max(count_of(x_shape, dim) - correction, 0))


def ratio(x: float, y: float) -> float:
    """x / y as IEEE has it for x > 0."""
    return x / y if y else math.inf


def variance_cotangent(g, x, x_shape, dim, correction):
    """2 g (x - mean) / (n - correction)."""
    g = g * ratio(2.0, freedom(x_shape, dim, correction))
    return scalar.spread(g, x_shape, dim) * (x - scalar.mean(x, dim, True))


def quotient_or_zero(g, y):
    """g / y; 0 where y is. Nothing infinite is computed on the way: it would make NaN of the derivative by g, which is jvp's."""
    nothing = y == 0
    return scalar.where(nothing, 0.0, g / scalar.where(nothing, 1.0, y))


def deviation_cotangent(g, x, out, x_shape, dim, correction):
    """The cotangent of the variance from that of its root; 0 where the deviation is 0."""
    g = quotient_or_zero(g, out * 2)
    return variance_cotangent(g, x, x_shape, dim, correction)


reduction(
    "variance",
    lambda x, dim, correction, keepdim: x,
    {"x": variance_cotangent},
    method=False,
    function=False,
    node="VarBackward0",
    public="var",
    forms={"dim": as_list},
    doc="Mean squared distance from the mean, in two passes.",
)
reduction(
    "deviation",
    lambda x, dim, correction, keepdim: x,
    {"x": deviation_cotangent},
    method=False,
    function=False,
    node="StdBackward0",
    public="std",
    forms={"dim": as_list},
    doc="Root of the variance.",
)


def spread_arguments(dim, unbiased, correction) -> tuple:
    """``(dim, correction)`` from torch's spellings: ``var(False)`` is ``var(unbiased=False)``."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        try:
            correction = 1 if unbiased is None else int(unbiased)
        except (TypeError, ValueError):
            raise ArgumentError(f"var: unbiased must be a bool, got {unbiased!r}.") from None
    return tuple(dim) if isinstance(dim, list) else dim, correction


def var(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None):
    """Variance over dimensions, divided by n - correction (1 unless given); of complex numbers that of both parts, added."""
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_spelling("var", dim, axis, keepdim, keepdims)
    arguments = spread_arguments(dim, unbiased, correction)
    if x.dtype.is_complex:
        return scalar.variance(scalar.real(x), *arguments, keepdim) + scalar.variance(scalar.imag(x), *arguments, keepdim)
    return scalar.variance(x, *arguments, keepdim)


def std(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None):
    """Standard deviation over dimensions: the root of ``var``; its gradient is 0 where it is 0."""
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_spelling("std", dim, axis, keepdim, keepdims)
    arguments = spread_arguments(dim, unbiased, correction)
    if x.dtype.is_complex:
        return scalar.modulus(
            scalar.deviation(scalar.real(x), *arguments, keepdim), scalar.deviation(scalar.imag(x), *arguments, keepdim)
        )
    return scalar.deviation(x, *arguments, keepdim)


def var_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Variance and mean over dimensions."""
    mean = x.mean(None if isinstance(dim, bool) else dim, keepdim)
    return var(x, dim, unbiased, keepdim, correction=correction), mean


def std_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Standard deviation and mean over dimensions."""
    mean = x.mean(None if isinstance(dim, bool) else dim, keepdim)
    return std(x, dim, unbiased, keepdim, correction=correction), mean


for _function in (var, std, var_mean, std_mean):
    composite(
        _function.__name__,
        _function,
        method=_function in (var, std),
        out=True,
        doc=_function.__doc__,
        joint=_function in (var_mean, std_mean),
    )


# ---- norms -----------------------------------------------------------------------------------------------------------


def norm2_cotangent(g, x, out, x_shape, dim):
    """g x / out; 0 where the norm is 0."""
    return scalar.spread(quotient_or_zero(g, out), x_shape, dim) * x


def power_norm_cotangent(g, x, out, x_shape, p, dim):
    """g sign(x) (|x| / out)**(p - 1); 0 where x is 0, or the norm: of what is tiny, or, for p < 0, of a zero among others."""
    relative = scalar.where(x == 0, 1.0, scalar.abs(x) / scalar.spread(scalar.where(out == 0, 1.0, out), x_shape, dim))
    return scalar.spread(scalar.where(out == 0, 0.0, g), x_shape, dim) * scalar.sign(x) * relative ** (p - 1)


reduction(
    "sum_of_numbers",
    lambda x, dim=None, keepdim=False: x,
    {"x": lambda g, x, x_shape, dim: scalar.where(scalar.isnan(x), 0, scalar.spread(g, x_shape, dim))},
    monoid="sum",
    term=lambda x: scalar.where(x == x, x, 0.0),
    near=True,
    method=False,
    function=False,
    node="NansumBackward0",
    public="nansum",
    forms={"dim": as_list},
    doc="Sum of what is not NaN.",
)
reduction(
    "norm1",
    lambda x, dim, keepdim: x,
    {"x": lambda g, x, x_shape, dim: scalar.spread(g, x_shape, dim) * scalar.sign(x)},
    monoid="sum",
    term=lambda x: scalar.abs(x),
    method=False,
    function=False,
    node="LinalgVectorNormBackward0",
    public="norm",
    shows={"ord": 1},
    forms={"dim": as_list},
    doc="Sum of magnitudes.",
)
reduction(
    "norm2",
    lambda x, dim, keepdim: x,
    {"x": norm2_cotangent},
    monoid="sum",
    term=lambda x: x * x,
    finish=lambda total, count: scalar.sqrt(total),
    method=False,
    function=False,
    node="LinalgVectorNormBackward0",
    public="norm",
    shows={"ord": 2},
    forms={"dim": as_list},
    doc="Euclidean length.",
)
reduction(
    "power_norm",
    lambda x, p, dim, keepdim: x,
    {"x": power_norm_cotangent},
    method=False,
    function=False,
    node="LinalgVectorNormBackward0",
    public="norm",
    forms={"dim": as_list},
    doc="(sum |x|**p)**(1/p).",
)


def norm(x, p="fro", dim=None, keepdim=False, dtype=None, *, axis=None, keepdims=None):
    """The p-norm over dimensions: p any number, inf, -inf, or "fro" (2); "nuc" of matrices, the sum of their singular values.

    Its subgradient at 0 is 0.
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_spelling("norm", dim, axis, keepdim, keepdims)
    if dtype is not None:
        x = cast(x, dtype)
    if not x.dtype.differentiable:
        raise DTypeError(f"norm: expected a floating or complex tensor, got {x.dtype}. Hint: pass dtype=nbgrad.float32.")
    if p == "nuc":
        try:
            return scalar.nuclear_norm(x, dim, keepdim)
        except LinAlgError as error:
            raise error.of("norm") from None
    if x.dtype.is_complex:
        x = scalar.abs(x)
    p = constant_number("norm", "p", p)
    p = 2 if p in ("fro", None) else p
    if isinstance(p, str):
        raise RangeError(f"norm: p = {p!r}, expected a number, inf, -inf, 'fro' or 'nuc'.")
    dim = tuple(dim) if isinstance(dim, list) else dim
    if p in (1, 2):
        return (scalar.norm1 if p == 1 else scalar.norm2)(x, dim, keepdim)
    if p == 0:
        count = cast(x.count_nonzero(dim, keepdim), x.dtype)
        return count._apply("counted_of", (count, x.sum(dim, keepdim))) if x.dtype.differentiable else count
    try:
        infinite = math.isinf(p)
    except TypeError:
        raise ArgumentError(f"norm: p must be a number, inf, -inf or 'fro', got {type(p).__name__}.") from None
    if infinite:
        return (scalar.amax if p > 0 else scalar.amin)(scalar.abs(x), () if dim is None else dim, keepdim)
    return cast(scalar.power_norm(wide(x), float(p), dim, keepdim), x.dtype)


composite("norm", norm, out=True, doc=norm.__doc__)


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
)


# ---- orders ----------------------------------------------------------------------------------------------------------

general(
    "argsort",
    lambda x, dim=-1, descending=False, stable=False: x,
    doc="Indices that sort along dim; equal elements keep their order; NaN counts as the greatest number.",
    total=True,
)
general(
    "top_indices",
    lambda x, k, dim, largest: x,
    method=False,
    function=False,
    public="topk",
    doc="Indices of the k greatest elements.",
    total=True,
)


def sort(x, dim=-1, descending=False, stable=False, *, axis=None):
    """``(values, indices)`` sorted along dim; equal elements keep their order; NaN counts as the greatest number."""
    dim = dim if axis is None else axis
    indices = x.argsort(dim, descending, stable)
    return EXTREMUM_OF["sort"](scalar.pick(x, indices, dim, True, "SortBackward0"), indices)


def topk(x, k, dim=-1, largest=True, sorted=True, *, axis=None):
    """``(values, indices)`` of the k greatest (or smallest) elements along dim, in order."""
    dim = dim if axis is None else axis
    indices = scalar.top_indices(x, k, dim, largest)
    return EXTREMUM_OF["topk"](scalar.pick(x, indices, dim, True, "TopkBackward0"), indices)


composite("sort", sort, pure=True, out=True, doc=sort.__doc__)
composite("topk", topk, pure=True, out=True, doc=topk.__doc__)


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
