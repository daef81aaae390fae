"""Reductions over dimensions: sums, softmax and its family, truth and counts.

``dim`` is None (all of them), an int or a sequence of ints; ``keepdim`` leaves reduced dimensions with size 1.
"""

from __future__ import annotations

import math

from ..base.dtypes import float32
from ..base.errors import ShapeError
from .core import Op, composite, elementwise, general, movement, reduction
from .expr import scalar
from .shapes import wrap
from .spellings import as_list, chosen

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


def by_dim(overload: str):
    """torch's overloads of a reduction: ``default`` of all dimensions, another of some."""
    return lambda operands, attributes: "." if attributes["dim"] is None else f".{overload}"


def quotient_or_zero(g, y):
    """g / y; 0 where y is. Nothing infinite is computed on the way: it would make NaN of the derivative by g, which is jvp's."""
    nothing = y == 0
    return scalar.where(nothing, 0.0, g / scalar.where(nothing, 1.0, y))


def numpy_spelling(op: str, dim, axis, keepdim, keepdims) -> tuple:
    """``(dim, keepdim)`` from NumPy's names: see NOTE [Spellings]."""
    return chosen(op, "dim", dim, "axis", axis), chosen(op, "keepdim", keepdim or None, "keepdims", keepdims) or False


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
    aten=by_dim("dim_IntList"),
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
    aten=by_dim("dim"),
)
general(
    "sum_over",
    lambda x, shape: x,
    {"x": lambda g, x_shape: scalar.expand_shape(g, x_shape)},
    method=False,
    function=False,
    node="SumBackward1",
    doc="Sum down to a shape that broadcasts to the operand's.",
    aten=".dim_IntList",
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
    aten="_softmax",
)
general(
    "log_softmax",
    lambda x, dim, dtype=None: x,
    {"x": lambda g, out, x_dtype, dim: cast(scalar.log_softmax_backward(g, out, dim), x_dtype)},
    node="LogSoftmaxBackward0",
    special=("log_softmax",),
    doc="Logarithm of softmax along dim, without its overflow.",
    aten="_log_softmax",
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
    aten="_softmax_backward_data",
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
    aten="_log_softmax_backward_data",
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


# ---- truth and counts ------------------------------------------------------------------------------------------------

general(
    "any",
    lambda x, dim=None, keepdim=False: x,
    monoid="any",
    term=lambda x: x != 0,
    gives="truth",
    numpy=("logical_or.reduce",),
    doc="Whether an element is not zero.",
    aten=by_dim("dim"),
)
general(
    "all",
    lambda x, dim=None, keepdim=False: x,
    monoid="all",
    term=lambda x: x != 0,
    gives="truth",
    numpy=("logical_and.reduce",),
    doc="Whether no element is zero.",
    aten=by_dim("dim"),
)
general(
    "count_nonzero",
    lambda x, dim=None, keepdim=False: x,
    monoid="sum",
    term=lambda x: x != 0,
    gives="count",
    doc="Number of elements that are not zero.",
    aten=by_dim("dim_IntList"),
)
