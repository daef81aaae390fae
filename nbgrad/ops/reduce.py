"""Reductions over dimensions.

``dim`` is None (all of them), an int or a sequence of ints; ``keepdim`` leaves reduced dimensions with size 1.
"""
from __future__ import annotations

import math

from ..errors import ShapeError
from .core import composite, general, movement
from .expr import scalar
from .shapes import wrap

__all__ = ["reduced_dims", "kept_shape"]


# ---- dimensions ------------------------------------------------------------------------------------------------------

def reduced_dims(op: str, ndim: int, dim) -> tuple[int, ...]:
    """The dimensions that ``dim`` names, in order; None and an empty sequence name all.

    Raises:
        DimError: out of range.
        ShapeError: a dimension named twice.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = sorted(wrap(op, d, ndim) for d in ((dim,) if isinstance(dim, int) else dim))
    if len(set(dims)) < len(dims):
        raise ShapeError(f"{op}: a dimension appears twice in dim={list(dim)}.")
    return tuple(dims) if ndim else ()


def kept_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape of a reduction's result."""
    if keepdim:
        return tuple(1 if d in dims else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in dims)


def spread_layout(x, shape, dim):
    """The layout that repeats a reduction's result over the dimensions it was reduced from."""
    dims = reduced_dims("spread", len(shape), dim)
    kept = iter(x.strides) if len(x.shape) != len(shape) else None
    strides = tuple(0 if d in dims else (next(kept) if kept else x.strides[d]) for d in range(len(shape)))
    return tuple(shape), strides, 0


movement("spread", spread_layout, lambda g, x_shape, dim: g.sum(dim, len(x_shape) == g.ndim), method=False, function=False,
         node="ExpandBackward0", doc="Repeat over the dimensions that a reduction removed or left with size 1.")


def cast(g, dtype):
    """``g`` in ``dtype``."""
    return g if g.dtype is dtype else g.to_dtype(dtype)


def count_of(shape, dim) -> int:
    """How many elements each result of a reduction comes from."""
    count = 1
    for d in reduced_dims("mean", len(shape), dim):
        count *= shape[d]
    return count


# ---- sums ------------------------------------------------------------------------------------------------------------

general("sum", lambda x, dim=None, keepdim=False, *, dtype=None: x,
        {"x": lambda g, x_shape, x_dtype, dim: scalar.spread(cast(g, x_dtype), x_shape, dim)}, node="SumBackward1",
        doc="Sum over dimensions; integers and bools in int64.")
general("mean", lambda x, dim=None, keepdim=False, *, dtype=None: x,
        {"x": lambda g, x_shape, x_dtype, dim: scalar.spread(cast(g, x_dtype) / count_of(x_shape, dim), x_shape, dim)},
        node="MeanBackward1", doc="Arithmetic mean over dimensions; of floating and complex tensors.")
general("sum_over", lambda x, shape: x, {"x": lambda g, x_shape: scalar.expand_shape(g, x_shape)}, method=False, function=False,
        node="SumBackward1", doc="Sum down to a shape that broadcasts to the operand's.")


def sum_to(x, shape):
    """Sum over the dimensions that broadcasting to ``x.shape`` added or stretched; ``x`` itself if there are none."""
    return x if x.shape == shape else scalar.sum_over(x, tuple(shape))


composite("sum_to", sum_to, function=False, doc=sum_to.__doc__)


# ---- softmax and its family ------------------------------------------------------------------------------------------

def total(x, dim):
    """The sum over ``dim``, which stays."""
    return x.sum(dim, True)


general("softmax", lambda x, dim, dtype=None: x,
        {"x": lambda g, out, x_dtype, dim: cast(scalar.softmax_backward(g, out, dim), x_dtype)}, node="SoftmaxBackward0",
        doc="exp(x) over its sum along dim; the maximum is subtracted first.")
general("log_softmax", lambda x, dim, dtype=None: x,
        {"x": lambda g, out, x_dtype, dim: cast(scalar.log_softmax_backward(g, out, dim), x_dtype)},
        node="LogSoftmaxBackward0", doc="Logarithm of softmax along dim, without its overflow.")

# z = y (x - sum(x y)): symmetric in x, so its transpose is itself.
general("softmax_backward", lambda x, y, dim: x,
        {"x": lambda g, y, dim: scalar.softmax_backward(g, y, dim),
         "y": lambda g, x, y, dim: g * (x - total(x * y, dim)) - x * total(g * y, dim)},
        operands=("x", "y"), method=False, function=False, node="SoftmaxBackwardDataBackward0",
        doc="Cotangent x of a softmax y, taken back to its operand.")
# z = x - exp(y) sum(x).
general("log_softmax_backward", lambda x, y, dim: x,
        {"x": lambda g, y, dim: g - total(g * scalar.exp(y), dim),
         "y": lambda g, x, y, dim: -g * scalar.exp(y) * total(x, dim)},
        operands=("x", "y"), method=False, function=False, node="LogSoftmaxBackwardDataBackward0",
        doc="Cotangent x of a log_softmax y, taken back to its operand.")


def logsumexp_cotangent(g, x, out, x_shape, dim):
    """g exp(x - out); 0 where every element is -inf."""
    shift = scalar.where(out == -math.inf, 0.0, out)
    return scalar.spread(g, x_shape, dim) * scalar.exp(x - scalar.spread(shift, x_shape, dim))


general("logsumexp", lambda x, dim, keepdim=False: x, {"x": logsumexp_cotangent}, node="LogsumexpBackward0",
        doc="log(sum(exp(x))) over dimensions, without overflow.")
