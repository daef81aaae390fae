"""Softmax, log_softmax, logsumexp and their cotangents: one fused launch over ``[outer, length, width]``."""

from __future__ import annotations

import math
from typing import Callable

from ..base.calls import CALLS
from ..base.dtypes import float32, get_default_dtype
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.reduce import TILE
from ..kernels.templates.softmax import larger, score_bindings, shifted, softmax_loop
from ..native.plans import PARALLEL, pack_record
from ..ops.reduce import kept_shape, reduced_dims
from ..ops.shapes import wrap
from ..tensors.layout import Layout
from ..tensors.tensor import native
from .arranged import arranged_call, runs_as_it_lies
from .lines import split_at
from .reduce import converted_first, kept_first

COST = 0.12  # nanoseconds a byte: benchmarks/test_kernels.py, softmax of dim 1


@late
def kernel(name: str, dtype: str, by_columns: bool) -> int:
    """Address of a member of the family."""
    bindings = (("larger", larger), ("shifted", shifted), *score_bindings(dtype))
    return address(Program(name, softmax_loop(name, dtype, by_columns), dtype, bindings, True))


def family_plan(name: str, layouts: tuple[Layout, ...], dims: tuple[int, int, int], out: Layout) -> GeneralPlan:
    """The launch for contiguous operands split as ``dims``."""
    outer, length, width = dims
    by_columns = width > 1
    tiles = -(-width // TILE) if by_columns else 1
    units = outer * tiles if length and width else 0
    work = max(length * min(width, TILE), 1)
    # Small claims cost more than the second thread brings.
    share, shared_from = thread_shares(COST * layouts[0].dtype.itemsize)
    parallel = PARALLEL if units * work >= shared_from else 0
    grain = max(1, share // work)
    code = kernel(name, layouts[0].dtype.name, by_columns)
    words = (length, width, tiles)
    record = pack_record(code, units, grain, 1, (0,) * len(layouts), parallel, words)
    return GeneralPlan(record, (out.template,), layouts)


def softmax_split(op, layouts: tuple[Layout, ...], attributes: dict) -> tuple[int, int, int] | Callable:
    """How a call splits its operands, of one shape; steps where they are converted first."""
    x, dtype = layouts[0], attributes.get("dtype")
    if dtype is not None and dtype is not x.dtype:
        return converted_first(dtype)
    if x.shape != layouts[-1].shape:
        raise ShapeError(f"{op.name}: shapes {list(x.shape)} and {list(layouts[-1].shape)} must be equal.")
    if len(layouts) == 1 and not x.dtype.is_floating_point:
        raise DTypeError(f"{op.name}: expected a floating tensor, got {x.dtype}. Hint: pass dtype=nbgrad.float32.")
    return split_at(x.shape, wrap(op.name, attributes["dim"], x.ndim))


@lowering("softmax", "log_softmax", "softmax_backward", "log_softmax_backward")
def _softmax(op, layouts, attributes):
    split = softmax_split(op, layouts, attributes)
    if not isinstance(split, tuple):
        return split
    if not all(map(runs_as_it_lies, layouts)):
        return arranged_call
    return family_plan(op.name, layouts, split, layouts[0].like())


def logsumexp_dims(x: Layout, attributes: dict) -> tuple[tuple[int, ...], Layout] | Callable:
    """The dimensions of a call, and the layout of its result; steps of what is not floating."""
    if x.dtype.is_complex:
        return complex_logsumexp
    if not x.dtype.is_floating_point:  # the default dtype may be another one at the next call
        return lambda op, tensors, attributes: CALLS[op.name](CALLS["to_dtype"](tensors[0], get_default_dtype()), **attributes)
    dims = reduced_dims("logsumexp", x.ndim, attributes["dim"])
    return dims, x.like(None, kept_shape(x.shape, dims, attributes["keepdim"]))


@lowering("logsumexp")
def _logsumexp(op, layouts, attributes):
    x, found = layouts[0], logsumexp_dims(layouts[0], attributes)
    if not isinstance(found, tuple):
        return found
    dims, out = found
    neighbours = dims == tuple(range(dims[0], dims[-1] + 1)) if dims else True
    if not (runs_as_it_lies(x) and neighbours) or 0 in x.shape:
        return lambda op, tensors, attributes: arranged(tensors[0], dims, out)
    first, last = (dims[0], dims[-1] + 1) if dims else (x.ndim, x.ndim)
    split = math.prod(x.shape[:first]), math.prod(x.shape[first:last]), math.prod(x.shape[last:])
    return family_plan("logsumexp", layouts, split, out)


def complex_logsumexp(op, tensors, attributes):
    """Of complex numbers: the greatest real part is taken out."""
    x, dim, keepdim = tensors[0], attributes["dim"], attributes["keepdim"]
    if not x.layout.numel:
        return CALLS["log"](CALLS["sum"](x, dim, keepdim))
    top = CALLS["amax"](CALLS["real"](x), dim, True)
    top = CALLS["where"](CALLS["isfinite"](top), top, 0.0)
    total = CALLS["log"](CALLS["sum"](CALLS["exp"](CALLS["sub"](x, top)), dim, True))
    return CALLS["sum"](CALLS["add"](total, top), dim, keepdim)


def arranged(x, dims, out: Layout):
    """Bring the reduced dimensions to the end, compute in a dtype that kernels have, convert back."""
    if x.layout.numel == 0:
        return CALLS["new_full"](out, -math.inf)
    if x.layout.dtype.name not in ("float32", "float64"):
        x = CALLS["to_dtype"](x, float32)
    x = CALLS["contiguous_copy"](kept_first(x, dims))
    kept = x.layout.ndim - len(dims)
    shape = x.layout.shape
    split = math.prod(shape[:kept]), math.prod(shape[kept:]), 1
    result = native.fresh(family_plan("logsumexp", (x.layout,), split, x.layout.like(None, out.shape)), x)
    return result if result.layout.dtype is out.dtype else CALLS["to_dtype"](result, out.dtype)
