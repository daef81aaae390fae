"""Where an extremum is: ``argmax`` and ``argmin``."""

from __future__ import annotations

from ..base.dtypes import DType, int64
from ..dispatch.lowerings import GeneralPlan, lowering
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.monoids import MONOIDS
from ..kernels.templates.extremum_places import arg_loop
from ..kernels.templates.keys import joined_zeros, key_bindings, own_key
from ..ops.core import General
from ..ops.reduce import kept_shape, reduced_dims
from ..ops.shapes import wrap
from ..tensors.layout import Layout
from .arranged import arranged_call, runs_as_it_lies
from .lines import split_at, split_launch
from .reduce import require_order

__all__ = ["extremum_dims"]


@late
def extremum_kernel(name: str, dtype: DType, greatest: bool, by_columns: bool) -> int:
    """Address of the search for the place of an extremum."""
    made, bindings = arg_loop(dtype.compute, by_columns)
    floating = dtype.is_floating_point
    bindings = (*bindings, *key_bindings(dtype.name, greatest), ("joined", joined_zeros if floating else own_key))
    return address(Program(name, made, dtype.name if floating else None, bindings))


def extremum_dims(op: General, x: Layout, attributes: dict) -> tuple[tuple[int, ...], Layout]:
    """The dimensions along which the place of an extremum is looked for, and the layout of the places."""
    dim = attributes["dim"]
    dims = reduced_dims(op.name, x.ndim, dim if dim is None else wrap(op.name, dim, x.ndim))
    require_order(op.name, x, dims)
    return dims, x.like(int64, kept_shape(x.shape, dims, attributes["keepdim"]))


@lowering("argmax", "argmin")
def _argmax(op, layouts, attributes):
    x, dim = layouts[0], attributes["dim"]
    if not runs_as_it_lies(x):
        return arranged_call
    dims, out = extremum_dims(op, x, attributes)
    split = (1, x.numel, 1) if dim is None else split_at(x.shape, dims[0] if dims else 0)
    by_columns = split[2] > 1
    code = extremum_kernel(op.name, x.dtype, MONOIDS[op.monoid].order == "greatest", by_columns)
    return GeneralPlan(split_launch(code, split, 1, by_columns), (out.template,), layouts)
