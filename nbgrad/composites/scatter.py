"""Elements and slices reduced into the places that an index names: ``scatter_reduce``, ``index_reduce``."""

from __future__ import annotations

from ..base.calls import CALLS
from ..base.dtypes import bool_
from ..base.errors import DTypeError, RangeError, ShapeError
from ..dispatch.arguments import require_tensors
from ..dispatch.lowerings import prepared
from ..dispatch.prepared import recording_run
from ..ops.core import composite
from ..ops.shapes import wrap

__all__: list[str] = []


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
    return shape[:dim], shape[dim + 1 :]


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
        raise ShapeError(
            f"index_reduce: index {list(index.shape)}, source {list(source.shape)}; expected a vector with an index "
            f"for each slice of dimension {dim}."
        )
    alike = source.dtype is input.dtype and sides_of(source.shape, at) == sides_of(input.shape, at)
    if reduce in EXTREMA and input.ndim > 1 and alike:
        return CALLS["scatter_extremum"](input, source, dim, index.reshape((-1,)), reduce == "amax", include_self)
    column = (index.numel(),) + (1,) * (input.ndim - at - 1)
    spread = index.reshape(column).expand(source.shape) if source.ndim else index.reshape(())
    return scatter_reduce(input, dim, spread, source, reduce, include_self=include_self)


@prepared("scatter_reduce", tensors=("index", "src"))
def _quick_scatter_reduce(op, layouts, attributes):
    index, src, reduce = attributes["index"], attributes["src"], attributes["reduce"]
    if reduce == "prod" and src.shape == index.shape:
        run = recording_run("scatter_product", *layouts, src, attributes["dim"], index, attributes["include_self"])
        return run and (lambda x, dim, index, src, reduce, include_self: run(x, src, dim, index, include_self))
    if reduce not in EXTREMA or src.shape != index.shape:
        return None
    largest = reduce == "amax"
    run = recording_run("scatter_extremum", *layouts, src, attributes["dim"], index, largest, attributes["include_self"])
    return run and (lambda x, dim, index, src, reduce, include_self: run(x, src, dim, index, largest, include_self))


@prepared("index_reduce", tensors=("index", "source"))
def _quick_index_reduce(op, layouts, attributes):
    (x,), index, source, reduce = layouts, attributes["index"], attributes["source"], attributes["reduce"]
    at = wrap("index_reduce", attributes["dim"], x.ndim)
    if reduce not in EXTREMA or index.ndim != 1 or x.ndim < 2 or sides_of(source.shape, at) != sides_of(x.shape, at):
        return None
    largest = reduce == "amax"
    run = recording_run("scatter_extremum", *layouts, source, attributes["dim"], index, largest, attributes["include_self"])
    return run and (lambda x, dim, index, source, reduce, include_self: run(x, source, dim, index, largest, include_self))


composite("scatter_reduce", scatter_reduce, out=True, inplace="result", doc=str(scatter_reduce.__doc__))
composite("index_reduce", index_reduce, out=True, inplace="result", doc=str(index_reduce.__doc__))
