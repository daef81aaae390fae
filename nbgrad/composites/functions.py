"""Public functions written in operations and in what makes tensors: orders, distances, joins, indices, activations.

Those whose work is indices (of the median, of a running extremum) find them with NumPy and pick the elements by operations: that is
their gradient, of every order.
"""
from __future__ import annotations

import math
from functools import cache
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import bool_, finfo, float32, int32, int64, result_dtype
from ..base.errors import ArgumentError, DimError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import mode
from ..creation.constants import numbered
from ..dispatch.arguments import require_tensors
from ..dispatch.lowerings import GeneralPlan, prepared
from ..dispatch.prepared import run_beneath
from ..dispatch.rules import record_result, run_plan
from ..graph.edges import needs_gradient, requires_grad
from ..lowering.distances import serves
from ..lowering.lapack import at_once
from ..lowering.reduce import ready
from ..lowering.refused import refused
from ..lowering.scan import running_plan
from ..lowering.sort import in_order, is_brief, order_plan
from ..ops.core import OPS, composite
from ..ops.expr import scalar
from ..ops.kinds import constant_number, explained
from ..ops.reduce import Extremum
from ..ops.shapes import wrap
from ..ops.variants import of_integers
from ..tensors.arrays import tensor_of, values_of
from ..tensors.layout import broadcast_shapes
from ..tensors.levels import whole
from ..tensors.tensor import Tensor, native

__all__: list[str] = []

_function: Callable


def made(name: str, *args: Any, **named: Any) -> Tensor:
    """A new tensor by one of the functions that make them."""
    from ..creation import factories as creation
    return getattr(creation, name)(*args, **named)


# ---- indices of order statistics -------------------------------------------------------------------------------------


def without_dim(x, keepdim: bool, dim: int):
    """Without a dimension of size 1, unless it is kept."""
    return x if keepdim or not x.ndim else x.squeeze_dim(dim)


def statistic(name: str, indices: Callable, whole: bool):
    """``name(x, dim, keepdim)`` from a function of indices; of all elements where no dim is given."""
    node = name.capitalize() + "Backward"

    def function(input, dim=None if whole else -1, keepdim=False):
        require_tensors(name, input)
        if dim is None:
            if input.dtype.is_floating_point and 0 in input.shape:
                return input.mean()         # NaN, with the gradient of no elements
            flat = input.reshape((-1,))
            return scalar.shared_pick(flat, indices(flat, 0), 0, node + "0")
        found = indices(input, dim)
        values = scalar.pick(input, found, dim, bool(keepdim) or not input.ndim, node + ("1" if whole else "0"))
        return Extremum(values, without_dim(found, keepdim, dim))
    function.__name__ = function.__qualname__ = name
    return function


@prepared("median", "nanmedian", "mode")
def _quick_statistic(op, layouts, attributes):
    (x,), dim, name = layouts, attributes["dim"], op.name
    ignoring = int(name == "nanmedian")
    if dim is not None:
        node = f"{name.capitalize()}Backward{int(name != 'mode')}"
        return in_order(x, dim, attributes["keepdim"], node, "mode" if name == "mode" else "median", ignoring)
    if not (ready(x) and is_brief(row := x.like(None, (x.numel,)), 0)):
        return None
    flat = order_plan(row, 0, "median", (), (1,), ignoring)
    plan, fresh, node = GeneralPlan(flat.record, flat.outs, (x,)), native.fresh, f"{name.capitalize()}Backward0"
    shared, reshape, shape = OPS["shared_pick"], CALLS["reshape"], (-1,)

    def quick(x, *rest):
        if x._needs_grad_ and mode.enabled and requires_grad(x):
            x = reshape(x, shape)
            value, index = fresh(flat, x)
            attributes = {"dim": 0, "node": node}
            record_result(shared, run_plan(shared, (x, index), attributes, value)[0], (x, index), value)
            return value
        return fresh(plan, x)[0]
    return quick


composite("median", statistic("median", lambda x, dim: scalar.median_indices(x, dim, False), True), out=True,
          doc="The lower median of all elements, its gradient shared by those that tie; along dim (values, indices). NaN if "
              "there is one.")
composite("nanmedian", statistic("nanmedian", lambda x, dim: scalar.median_indices(x, dim, True), True), out=True,
          doc="The lower median of what is not NaN; along dim (values, indices).")
composite("mode", statistic("mode", lambda x, dim: scalar.mode_indices(x, dim), False), out=True,
          doc="(values, indices) of the most frequent value along dim, the smallest of several; the index is its last. No NaN "
              "equals another: where no number comes twice the first NaN is returned.")


def cummax(input, dim):
    """(values, indices) of the greatest element up to each along dim; of equal ones the last."""
    indices = scalar.running_indices(input, dim, True)
    return Extremum(scalar.gather(input, dim, indices), indices)


def cummin(input, dim):
    """(values, indices) of the smallest element up to each along dim; of equal ones the last."""
    indices = scalar.running_indices(input, dim, False)
    return Extremum(scalar.gather(input, dim, indices), indices)


def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """Sum over dimensions of what is not NaN."""
    own = input.dtype
    if own.is_floating_point and (dtype is None or dtype is own):
        return scalar.sum_of_numbers(input, dim, keepdim)
    return (scalar.where(scalar.isnan(input), 0, input) if own.differentiable else input).sum(dim, keepdim, dtype=dtype)


def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """Mean over dimensions of what is not NaN."""
    total = nansum(input, dim, keepdim, dtype=dtype)
    return total / scalar.logical_not(scalar.isnan(input)).sum(dim, keepdim)


@cache
def usual_numbers(dtype):
    """What ``nan_to_num`` puts in the place of NaN and of the infinities."""
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
        numbers = tuple(usual if value is None else float(constant_number("nan_to_num", name, value)) for name, value, usual in (
            ("nan", nan, 0.0), ("posinf", posinf, info.max), ("neginf", neginf, info.min)))
    except (TypeError, ValueError):
        given = f"{nan!r}, {posinf!r} and {neginf!r}"
        raise ArgumentError(f"nan_to_num: nan, posinf and neginf must be numbers, got {given}.") from None
    return scalar.nan_replaced(input, *numbers)


@prepared("cummax", "cummin")
def _quick_running(op, layouts, attributes):
    (x,), dim = layouts, attributes["dim"]
    if not (x.ndim and x.numel and ready(x)):
        return None
    plan, gather, fresh, new = running_plan(x, dim, op.name == "cummax", True), OPS["gather"], native.fresh, tuple.__new__

    def quick(x, dim):
        out = values, indices = fresh(plan, x)
        if x._needs_grad_ and mode.enabled and requires_grad(x):
            given = {"dim": dim, "index": indices, "sparse_grad": False}
            made_by, guarded = run_plan(gather, (x,), given, values)
            record_result(gather, made_by, (x,), values, guarded)
        return new(Extremum, out)
    return quick


for _function in (cummax, cummin, nansum, nanmean, nan_to_num):
    composite(_function.__name__, _function, pure=_function in (cummax, cummin), out=True, doc=_function.__doc__)


# ---- parts of numbers --------------------------------------------------------------------------------------------------


class Frexp(NamedTuple):
    """What ``frexp`` returns."""

    mantissa: Any
    exponent: Any


def signbit(input):
    """Whether the sign is negative, that of -0.0 too."""
    require_tensors("signbit", input)
    if input.dtype.is_complex:
        raise DTypeError(f"signbit: not defined for {input.dtype}.")
    return scalar.sign_bit(input) if input.dtype.is_floating_point else input < 0


def ldexp(input, other):
    """input * 2**other."""
    if not isinstance(other, Tensor):
        return input * 2.0 ** other
    if not isinstance(input, Tensor) or not input.dtype.is_floating_point or other.dtype.differentiable:
        return input * scalar.pow(2.0, other)
    if input.dtype.itemsize > 2:
        return scalar.load_exponent(input, other)
    return scalar.load_exponent(input.to(float32), other).to(input.dtype)       # which has more whole numbers


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


def broadcast_tensors(*tensors):
    """Views of one shape, to which all operands broadcast."""
    tensors = as_list(tensors)
    require_tensors("broadcast_tensors", *tensors)
    shape = broadcast_shapes("broadcast_tensors", [tuple(x.shape) for x in tensors])
    return tuple(x.expand_shape(shape) for x in tensors)


composite("signbit", signbit, out=True, doc=signbit.__doc__)
composite("ldexp", ldexp, out=True, doc=ldexp.__doc__)
composite("frexp", frexp, out=True, doc=str(frexp.__doc__))
composite("nextafter", nextafter, out=True, doc=str(nextafter.__doc__))
composite("broadcast_tensors", broadcast_tensors, method=False, doc=broadcast_tensors.__doc__)

# ---- diagonals, rotations, blocks ------------------------------------------------------------------------------------

def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension as a diagonal of two new ones, zeros elsewhere."""
    try:
        size, ndim = input.shape[-1] + abs(offset), input.ndim + 1
    except TypeError:
        raise ArgumentError(f"diag_embed: offset must be an int, got {type(offset).__name__}.") from None
    dim1, dim2 = wrap("diag_embed", dim1, ndim), wrap("diag_embed", dim2, ndim)
    if dim1 == dim2:
        raise ShapeError(f"diag_embed: dim1 and dim2 are both {dim1}.")
    shape = list(input.shape[:-1])
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, size)
    return input.diagonal_backward(tuple(shape), offset, dim1, dim2)


def diag(input, diagonal=0):
    """The diagonal of a matrix; of a vector the matrix with that diagonal."""
    if input.ndim not in (1, 2):
        raise ShapeError(f"diag: expected a vector or a matrix, got {input.ndim} dimensions. Hint: diagonal, diag_embed.")
    return diag_embed(input, diagonal) if input.ndim == 1 else input.diagonal(diagonal).clone()


def diagflat(input, offset=0):
    """The matrix whose diagonal has all elements."""
    return diag_embed(input.reshape((-1,)), offset)


def rot90(input, k=1, dims=(0, 1)):
    """Turned ``k`` times by 90 degrees, from the first dimension towards the second."""
    if len(dims) != 2:
        raise RangeError(f"rot90: dims are {list(dims)}, expected two.")
    first, second = (wrap("rot90", d, input.ndim) for d in dims)
    if first == second:
        raise RangeError(f"rot90: dims are {list(dims)}, expected two different ones.")
    turned = (input.clone, lambda: input.flip_dims((second,)).transpose(first, second), lambda: input.flip_dims((first, second)),
              lambda: input.flip_dims((first,)).transpose(first, second))
    try:
        quarter = turned[k % 4]
    except TypeError:
        raise ArgumentError(f"rot90: k must be an int, got {type(k).__name__}.") from None
    return quarter()


def block_diag(*tensors):
    """Matrices along the diagonal of one, zeros elsewhere; vectors are rows, numbers matrices of one element."""
    return CALLS["blocks"](tensors) if tensors else made("empty", (1, 0))


def pad(input, pad, mode="constant", value=None):
    """With elements before and after along the last dimensions: ``pad`` is (before last, after last, before the one before, ...).

    Args:
        mode: "constant" writes ``value`` (0); "reflect", "replicate" and "circular" repeat elements.

    Raises:
        RangeError: an unknown mode, or pairs that do not fit.
    """
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise RangeError(f"pad: got {len(pad)} numbers for {input.ndim} dimensions, expected up to {2 * input.ndim}, in pairs.")
    if mode == "constant" and is_plain_zero(value) and type(pad) is tuple:
        return input.zero_pad(pad)
    for k in range(0, len(pad), 2):
        input = padded_along(input, input.ndim - 1 - k // 2, pad[k], pad[k + 1], mode, 0 if value is None else value)
    return input


def is_plain_zero(value) -> bool:
    """Whether a number to pad with is 0 of any type, and not -0.0."""
    return value is None or type(value) in (int, float) and value == 0 and math.copysign(1, value) > 0


def padded_along(x, dim: int, before: int, after: int, mode: str, value):
    """One dimension with ``before`` and ``after`` further elements; negative numbers take elements away."""
    if mode in ("reflect", "replicate") and (before > 0 or after > 0):     # elements that are taken away are still repeated
        return repeated_along(x, dim, before, after, mode == "reflect")
    size = x.shape[dim]
    if mode == "replicate" and size + before + after > 0 and min(size + before, size + after) <= 0:
        # All is cut away and elements are added on the other side: those of the end that was nearest.
        places = np.arange(-before, size + after).clip(0, size - 1)
        return x.index_select(dim, tensor_of(places.astype(np.int64), x))
    x = x.narrow(dim, max(-before, 0), size - max(-before, 0) - max(-after, 0)) if before < 0 or after < 0 else x
    before, after, size = max(before, 0), max(after, 0), x.shape[dim]
    if not before and not after:
        return x
    if mode == "constant":
        shape, parts = tuple(x.shape), [x]
        if before:
            parts.insert(0, x.new_full((*shape[:dim], before, *shape[dim + 1:]), value))
        if after:
            parts.append(x.new_full((*shape[:dim], after, *shape[dim + 1:]), value))
        return CALLS["cat"](parts, dim)
    if mode != "circular":
        raise RangeError(f"pad: mode is {mode!r}, expected 'constant', 'reflect', 'replicate' or 'circular'.")
    if not size:
        raise ShapeError(f"pad: dimension {dim} has no elements to repeat.")
    return x.index_select(dim, tensor_of(np.arange(-before, size + after) % size, x))


def repeated_along(x, dim: int, before: int, after: int, reflect: bool):
    """One dimension, reflected at its ends or continued with its first and last elements.

    Raises:
        ShapeError: there are not so many elements.
    """
    size = x.shape[dim]
    places = np.arange(-before, size + after)
    if not size or (reflect and (before >= size or after >= size)):
        raise ShapeError(f"pad: cannot {'reflect' if reflect else 'repeat'} {before} and {after} elements of dimension {dim} of "
                         f"size {size}.")
    places = size - 1 - np.abs(size - 1 - np.abs(places)) if reflect else places.clip(0, size - 1)
    return x.index_select(dim, tensor_of(places.astype(np.int64), x))


for _function in (diag, diag_embed, diagflat, rot90):
    composite(_function.__name__, _function, out=_function is diag, spelling=True, doc=_function.__doc__)
composite("pad", pad, method=False, doc=str(pad.__doc__))
composite("block_diag", block_diag, method=False, doc=block_diag.__doc__)


# ---- products and distances ------------------------------------------------------------------------------------------

def cross(input, other, dim=None):
    """The vector product along a dimension of size 3, by default the first such."""
    if dim is None:
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
    require_tensors("cross", input, other)
    if dim is None or not (input.ndim and other.ndim) or any(x.shape[wrap("cross", dim, x.ndim)] != 3 for x in (input, other)):
        raise ShapeError(f"cross: {list(input.shape)} and {list(other.shape)} need a dimension of size 3.")
    a, b = (x.roll(-1, dim) for x in (input, other))
    return (a * other.roll(-2, dim) - input.roll(-2, dim) * b)


def dist(input, other, p=2):
    """The p-norm of the difference."""
    return (input - other).norm(p)


def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    """The p-norm of x1 - x2 + eps over the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


MODES = tuple(f"{words}_mm_for_euclid_dist{end}" for words, end in (("use", "_if_necessary"), ("use", ""), ("donot_use", "")))


def cdist(x1, x2, p=2.0, compute_mode=MODES[0]):
    """The p-norm of the difference of every row of x1 and every row of x2. Every ``compute_mode`` of torch's gives the same.

    Raises:
        RangeError: another mode. ShapeError: no matrices of one width.
    """
    if compute_mode not in MODES:
        raise RangeError(f"cdist: compute_mode is {compute_mode!r}, expected one of {', '.join(MODES)}.")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(f"cdist: x1 {list(x1.shape)} and x2 {list(x2.shape)} must be matrices of one width.")
    if type(p) in (int, float) and p == 2 and serves(x1.layout, x2.layout):
        batch = x1.shape[:-2]
        if x2.shape[:-2] != batch:
            batch = broadcast_shapes("cdist", [tuple(batch), tuple(x2.shape[:-2])])
            x1, x2 = (x.expand_shape((*batch, *x.shape[-2:])) for x in (x1, x2))
        return scalar.distances(x1, x2)
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


def cosine_similarity(x1, x2, dim=1, eps=1e-08):
    """The cosine of the angle between x1 and x2 along dim; lengths are taken to be at least eps."""
    require_tensors("cosine_similarity", x1, x2)
    if not (x1.dtype.is_floating_point and x2.dtype.is_floating_point):
        raise DTypeError(f"cosine_similarity: x1 is {x1.dtype}, x2 is {x2.dtype}; expected floating dtypes.")
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    lengths = (x.norm(2, dim, True).clamp_min(eps) for x in (x1, x2))
    return ((x1 / next(lengths)) * (x2 / next(lengths))).sum(dim)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """Divided by its p-norm along dim, which is taken to be at least eps."""
    return input / input.norm(p, dim, True).clamp_min(eps).expand_as(input)


def chain_matmul(*matrices):
    """The product of several matrices, from left to right."""
    product = matrices[0]
    for x in matrices[1:]:
        product = product.matmul(x)
    return product


def cross_launch(input, other, dim=None) -> tuple | None:
    """What ``at_once`` is told of ``cross``: vectors along one of the last two dimensions."""
    if input.ndim < 2 or input.shape != other.shape or input.dtype is not other.dtype:
        return None
    dim = next(d for d, size in enumerate(input.shape) if size == 3) if dim is None else wrap("cross", dim, input.ndim)
    if dim < input.ndim - 2:
        return None
    return "cross", (input, other), {"turned": dim == input.ndim - 1}, lambda out: out[0]


composite("cross", at_once(cross_launch)(explained(cross)), out=True, doc=cross.__doc__)
composite("dist", dist, doc=dist.__doc__)
for _function in (pairwise_distance, cdist, cosine_similarity, normalize, chain_matmul):
    composite(_function.__name__, _function, method=False, out=_function in (normalize, chain_matmul),
              spelling="steps" if _function is chain_matmul else False, doc=str(_function.__doc__))


# ---- reductions by index -----------------------------------------------------------------------------------------------

# ``index`` has a place for every element of ``src``; or, of a tensor of more dimensions, is a vector with one for each slice.


EXTREMA = ("amax", "amin")
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """``input`` and the elements of ``src`` that ``index`` sends to each place along dim, reduced: sum, prod, mean, amax or amin.

    Without ``include_self``, places that get something start from nothing.

    Raises:
        RangeError: another reduction. DTypeError: operands of two dtypes, the extrema of complex numbers, the mean of bools.
    """
    require_tensors("scatter_reduce", input, index, src)
    if reduce not in REDUCTIONS:
        raise RangeError(f"scatter_reduce: reduce is {reduce!r}, expected 'sum', 'prod', 'mean', 'amax' or 'amin'.")
    if src.dtype is not input.dtype:
        raise DTypeError(f"scatter_reduce: src is {src.dtype}, input {input.dtype}; expected the same. Hint: src.to(input.dtype).")
    src = src[tuple(slice(0, size) for size in index.shape)] if src.shape != index.shape else src
    if reduce == "mean" and input.dtype is bool_:
        raise DTypeError("scatter_reduce: the mean of bools is no bool. Hint: x.to(nbgrad.float32).")
    if reduce == "prod":
        scalar.gather(input, dim, index)        # refuses an index that does not fit
        return CALLS["scatter_product"](input, src, dim, index, include_self)
    if reduce in EXTREMA:
        return CALLS["scatter_extremum"](input, src, dim, index, reduce == "amax", include_self)
    start = input if include_self else input.scatter_value(dim, index, 0)
    total = start.scatter_add(dim, index, src)
    if reduce == "sum":
        return total
    dtype = input.dtype.to_real() if input.dtype.is_complex else input.dtype
    ones = src.detach().new_full(src.shape, 1, dtype=dtype)
    counts = input.detach().new_full(input.shape, int(include_self), dtype=dtype).scatter_add(dim, index, ones).clamp_min(1)
    return total / counts if total.dtype.differentiable else total // counts


def sides_of(shape, dim: int) -> tuple:
    """The sizes but one."""
    return shape[:dim], shape[dim + 1:]


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """``input`` and the slices of ``source`` that a vector ``index`` sends to each along dim, reduced: prod, mean, amax or amin.

    Raises:
        RangeError: another reduction. ShapeError: not an index for each slice.
    """
    require_tensors("index_reduce", input, index, source)
    if reduce not in REDUCTIONS[1:]:
        raise RangeError(f"index_reduce: reduce is {reduce!r}, expected 'prod', 'mean', 'amax' or 'amin'.")
    at = wrap("index_reduce", dim, input.ndim)
    if index.ndim > 1 or source.ndim != input.ndim or index.numel() != (source.shape[at] if source.ndim else 1):
        raise ShapeError(f"index_reduce: index {list(index.shape)}, source {list(source.shape)}; expected a vector with an index "
                         f"for each slice of dimension {dim}.")
    alike = source.dtype is input.dtype and sides_of(source.shape, at) == sides_of(input.shape, at)
    if reduce in EXTREMA and input.ndim > 1 and alike:
        return CALLS["scatter_extremum"](input, source, dim, index.reshape((-1,)), reduce == "amax", include_self)
    column = (index.numel(),) + (1,) * (input.ndim - at - 1)
    spread = index.reshape(column).expand(source.shape) if source.ndim else index.reshape(())
    return scatter_reduce(input, dim, spread, source, reduce, include_self=include_self)


@prepared("scatter_reduce", tensors=("index", "src"))
def _quick_scatter_reduce(op, layouts, attributes):
    index, src, reduce = attributes["index"], attributes["src"], attributes["reduce"]
    if reduce not in EXTREMA or src.shape != index.shape:
        return None
    largest = reduce == "amax"
    run = run_beneath("scatter_extremum", *layouts, src, attributes["dim"], index, largest, attributes["include_self"])
    return run and (lambda x, dim, index, src, reduce, include_self: run(x, src, dim, index, largest, include_self))


@prepared("index_reduce", tensors=("index", "source"))
def _quick_index_reduce(op, layouts, attributes):
    (x,), index, source, reduce = layouts, attributes["index"], attributes["source"], attributes["reduce"]
    at = wrap("index_reduce", attributes["dim"], x.ndim)
    if reduce not in EXTREMA or index.ndim != 1 or x.ndim < 2 or sides_of(source.shape, at) != sides_of(x.shape, at):
        return None
    largest = reduce == "amax"
    run = run_beneath("scatter_extremum", *layouts, source, attributes["dim"], index, largest, attributes["include_self"])
    return run and (lambda x, dim, index, source, reduce, include_self: run(x, source, dim, index, largest, include_self))


composite("scatter_reduce", scatter_reduce, out=True, doc=str(scatter_reduce.__doc__))
composite("index_reduce", index_reduce, out=True, doc=str(index_reduce.__doc__))

# ---- joins and indices -----------------------------------------------------------------------------------------------

def as_list(tensors: tuple) -> list:
    """Tensors given one by one, or in one sequence."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)


def meshgrid(*tensors, indexing="ij"):
    """Vectors as coordinates of a grid: one tensor of the grid's shape each."""
    if indexing not in ("ij", "xy"):
        raise RangeError(f"meshgrid: indexing is {indexing!r}, expected 'ij' or 'xy'.")
    vectors = [x if x.ndim == 1 else x.reshape((-1,)) for x in as_list(tensors)]
    swapped = indexing == "xy" and len(vectors) > 1
    order = [1, 0, *range(2, len(vectors))] if swapped else list(range(len(vectors)))
    shape = tuple(vectors[k].numel() for k in order)
    return tuple(x.reshape(tuple(-1 if order[d] == k else 1 for d in range(len(vectors)))).expand(shape)
                 for k, x in enumerate(vectors))


def cartesian_prod(*tensors):
    """All combinations of the elements of several vectors, one a row."""
    grids = meshgrid(*tensors)
    if len(grids) == 1:
        return grids[0]
    if mode.enabled and any(map(needs_gradient, grids)):        # the node is a stack's, as in torch
        return CALLS["stack"]([x.reshape((-1,)) for x in grids], 1)
    return CALLS["stack"](grids, -1).reshape((-1, len(grids)))


def combinations(input, r=2, with_replacement=False):
    """All ways to choose r elements of a vector, one a row.

    Raises:
        RangeError: r is negative.
    """
    import itertools
    if r < 0:
        raise RangeError(f"combinations: r is {r}, expected a number >= 0.")
    if not r:
        return input[:0]
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    size = input.numel()
    if r == 2 and size > 16:            # below, Python is quicker
        rows = np.stack(np.triu_indices(size, 0 if with_replacement else 1), 1)
    else:
        rows = np.fromiter(itertools.chain.from_iterable(choose(range(size), r)), np.int64).reshape(-1, r)
    return input.index_select(0, tensor_of(rows.reshape(-1), input)).reshape(rows.shape)


def vander(x, N=None, increasing=False):
    """Powers of the elements of a vector, one a column: from the highest to 1.

    Raises:
        ShapeError: no vector. RangeError: N is negative.
    """
    require_tensors("vander", x)
    if x.ndim != 1:
        raise ShapeError(f"vander: x has shape {list(x.shape)}, expected a vector. Hint: linalg.vander takes batches.")
    return columns_of_powers("vander", x, x.numel() if N is None else N, not increasing)


def columns_of_powers(name: str, x, count: int, descending: bool):
    """The powers 0 to count - 1, side by side; of integers in int64."""
    x = x if x.dtype.differentiable else x.to(int64)
    if count < 0:
        raise RangeError(f"{name}: N is {count}, expected a number >= 0.")
    if not count:
        return x.new_empty((*x.shape, 0))
    return CALLS["stack"]([x ** k for k in (reversed(range(count)) if descending else range(count))], -1)


def one_hot(tensor, num_classes=-1):
    """1 at the class of each element and 0 elsewhere, along a new last dimension; int64."""
    if tensor.dtype is not int64:
        raise DTypeError(f"one_hot: expected classes in int64, got {tensor.dtype}.")
    classes = values_of(tensor if num_classes == -1 else whole(tensor))        # a number of classes says the shape for a batch too
    count = int(classes.max(initial=-1)) + 1 if num_classes == -1 else num_classes
    if classes.size and (classes.min() < 0 or classes.max() >= count):
        raise DimError(f"one_hot: classes from {classes.min()} to {classes.max()}, expected 0 to {count - 1}.")
    return (tensor.unsqueeze(-1) == made("arange", count)).to(int64)


for _function in (meshgrid, cartesian_prod, vander, one_hot):
    composite(_function.__name__, _function, method=False, doc=_function.__doc__,
              spelling="steps" if _function is meshgrid else False)
composite("combinations", combinations, method=False, doc=combinations.__doc__)


class Unique(NamedTuple):
    """What ``unique`` returns where more than the values are asked for."""

    values: Any
    inverse: Any = None
    counts: Any = None


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different values in order, every NaN one of its own; with ``dim`` the different slices. Differentiating it is refused."""
    array = values_of(input)
    if dim is None and not (return_inverse or return_counts) and array.dtype.kind in "biu":
        return refused("unique", "Unique2Backward0", tensor_of(np.unique(array), input), input)
    found = np.unique(array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    values, inverse, counts = (tensor_of(each, input) for each in found)
    values = refused("unique", "Unique2Backward0" if dim is None else "UniqueDimBackward0", values, input)
    inverse = inverse.reshape(input.shape) if dim is None else inverse.reshape((-1,))
    wanted = tuple(each for each, asked in ((values, True), (inverse, return_inverse), (counts, return_counts)) if asked)
    return wanted if len(wanted) > 1 else values


def bincount(input, weights=None, minlength=0):
    """How often each whole number from 0 on occurs, or the sum of its weights, by which differentiating it is refused."""
    array = values_of(input)
    if array.dtype.kind not in "iu" or array.ndim != 1 or (array.size and array.min() < 0):
        raise DTypeError(f"bincount: expected a vector of whole numbers >= 0, got {input.dtype} {list(input.shape)}.")
    if minlength < 0:
        raise RangeError(f"bincount: minlength is {minlength}, expected a number >= 0.")
    found = np.bincount(array, None if weights is None else values_of(weights), minlength)
    return refused("bincount", "BincountBackward0", tensor_of(found, input), weights)


def as_tensor(x, like: Tensor) -> Tensor:
    """A number as a 0-d tensor beside another tensor, in the dtype that promotion gives it there."""
    if isinstance(x, Tensor):
        return x
    dtype = result_dtype([(like.dtype, 1)], [x]) if isinstance(x, (bool, int, float, complex)) else None
    return made("tensor", x, dtype=int64 if type(x) is int and not like.dtype.differentiable else dtype, device=like.device)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """Where to put values into a sorted last dimension: before equal elements, or behind them with ``right``. No gradient.

    Args:
        side: "right" says the same as ``right``, "left" the opposite.
        sorter: indices in int64 that sort the sequence, which then need not be sorted.

    Raises:
        ArgumentError: side and right contradict each other. ShapeError, DTypeError: the sorter is not of the sequence's shape, or
            no int64. DimError: an index out of range.
    """
    require_tensors("searchsorted", sorted_sequence)
    if side not in (None, "left", "right") or side == "left" and right:
        raise ArgumentError(f"searchsorted: side is {side!r}, right is {right}; expected 'left' or 'right', or right alone.")
    right = right or side == "right"
    if sorter is not None:
        require_tensors("searchsorted", sorter)
        if sorter.shape != sorted_sequence.shape:
            raise ShapeError(f"searchsorted: sorter is {list(sorter.shape)}, the sequence {list(sorted_sequence.shape)}.")
        if sorter.dtype is not int64:
            raise DTypeError(f"searchsorted: sorter is {sorter.dtype}, expected int64.")
        sorted_sequence = sorted_sequence.detach().gather(-1, sorter)
    found = scalar.insertion_places(sorted_sequence, as_tensor(input, sorted_sequence), bool(right))
    return found.to(int32) if out_int32 else found


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Where elements are among the test elements. No gradient."""
    like = elements if isinstance(elements, Tensor) else test_elements
    require_tensors("isin", like)
    return scalar.are_members(as_tensor(elements, like), as_tensor(test_elements, like), bool(invert))


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """Which interval between sorted boundaries each value lies in. It has no gradient."""
    require_tensors("bucketize", boundaries)
    if boundaries.ndim != 1:
        raise ShapeError(f"bucketize: boundaries is {list(boundaries.shape)}, expected a vector.")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def tril_indices(row, col, offset=0, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Rows and columns of the lower triangle of a matrix, (2, n)."""
    return triangle(np.tril_indices(row, offset, col), dtype, device, requires_grad)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Rows and columns of the upper triangle of a matrix, (2, n)."""
    return triangle(np.triu_indices(row, offset, col), dtype, device, requires_grad)


def triangle(places, dtype, device, requires_grad):
    """Indices by dimension as one tensor."""
    return made("tensor", np.stack(places), dtype=dtype or int64, device=device, requires_grad=requires_grad)


for _function in (unique, bincount):
    composite(_function.__name__, _function, doc=_function.__doc__)
for _function in (searchsorted, isin, bucketize):
    composite(_function.__name__, _function, method=False, out=_function is not isin, numbers=_function is bucketize,
              doc=str(_function.__doc__))
for _function in (tril_indices, triu_indices):
    composite(_function.__name__, numbered(_function), method=False, doc=_function.__doc__)


# ---- activations -----------------------------------------------------------------------------------------------------

def glu(input, dim=-1):
    """The first half along dim times the sigmoid of the second."""
    size = input.layout.shape[wrap("glu", dim, input.ndim)]
    if size % 2:
        raise ShapeError(f"glu: dimension {dim} has size {size}, expected an even one.")
    half = size // 2
    if input._needs_grad_:
        return scalar.gated(*input.split_size(half, dim))
    return scalar.gated(input.narrow(dim, 0, half), input.narrow(dim, half, half))      # no cotangents to join: 2.2 -> 1.5 us


def prelu(input, weight):
    """``input`` where it is > 0, else weight times it; one weight for all, or for each of the second dimension."""
    if weight.numel() == 1:
        weight = weight if weight.ndim <= input.ndim else weight.reshape(())
    elif input.ndim > 1 and weight.shape == input.shape[1:2]:
        weight = weight.reshape((-1,) + (1,) * (input.ndim - 2))
    else:
        raise ShapeError(f"prelu: weight has shape {list(weight.shape)}, input {list(input.shape)}; expected one weight, or one "
                         "for each of the second dimension.")
    return scalar.prelu_by(input, weight)


def relu6(input, inplace=False):
    """``input`` moved into [0, 6]."""
    try:
        return CALLS["hardtanh_" if inplace else "hardtanh"](input, 0.0, 6.0)
    except DTypeError:
        return of_integers("hardtanh", inplace, input, 0, 6)


def softmin(input, dim, dtype=None):
    """The softmax of -input."""
    return (-input).softmax(dim, dtype)


composite("prelu", prelu, doc=str(prelu.__doc__))
for _function in (glu, relu6, softmin):
    composite(_function.__name__, _function, method=False, doc=_function.__doc__)


# ---- losses by class index -----------------------------------------------------------------------------------------------

@prepared("nll_loss", "cross_entropy", tensors=("target", "weight"))
def _quick_loss(op, layouts, attributes):
    (x,), target, reduction, ignore_index = layouts, attributes["target"], attributes["reduction"], attributes["ignore_index"]
    given = attributes["weight"], attributes["size_average"], attributes["reduce"]
    if given != (None, None, None) or attributes.get("label_smoothing") or reduction not in ("mean", "sum"):
        return None
    if x.ndim != 2 or target.dtype is not int64:
        return None
    rows, mean = CALLS["nll_rows" if op.name == "nll_loss" else "cross_entropy_rows"], CALLS["valid_mean"]
    classes, divide = x.shape[1], reduction == "mean"

    def quick(x, target, *rest):
        result, wrong = mean(rows(x, target, ignore_index), target, classes, ignore_index, divide)
        return None if wrong._storage_.array[0] else result
    return quick
