"""Rows that pivots exchange, on a GPU: their order, then a read along it."""

from __future__ import annotations

import math

from ...base.calls import CALLS
from ...base.dtypes import int64
from ...base.errors import RangeError
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.exchanges import order_of_exchanges
from ...kernels.cuda.faults import fault_number
from ...kernels.cuda.moves import identity
from ...kernels.cuda.steps import ERRORS, Step, Steps, Workspace
from ...kernels.cuda.templates import strided_grid
from ...ops import shapes
from ...tensors.layout import broadcast_shapes, layout_of
from ..index_forms import along_walk
from .index_walks import one_index, read_steps
from .registry import lowering
from .softmax import gapless

__all__: list[str] = []


@lowering("exchange_rows", tensors=("pivots",))
def _exchange_rows(op, layouts, attributes):
    (x,), pivots = layouts, attributes["pivots"]
    if x.conj or x.neg:
        return resolved_call
    rows, columns = x.shape[-2:]
    batch = broadcast_shapes(op.public, [x.shape[:-2], pivots.shape[:-1]])
    source = layout_of(x.dtype, (*batch, rows, columns), shapes.expanded(x, (*batch, rows, columns))[1], x.device)
    space = Workspace()
    (place,), steps = gapless([pivots], space, 1)
    lines, count = math.prod(pivots.shape[:-1]), pivots.shape[-1]
    order = space.take(lines * rows * 8)
    fault = fault_number(RangeError, f"{op.public}: a pivot names row {{element}}, expected one from 1 to {rows}.")
    template = Recipe(order_of_exchanges(attributes["back"]), identity, "int64")
    steps.append(Step(template, strided_grid(lines), (order, place, ERRORS), (), (lines, rows, count, fault)))
    own = layout_of(int64, (*pivots.shape[:-1], rows, 1), None, x.device)
    index = layout_of(int64, source.shape, shapes.expanded(own, source.shape)[1], x.device)
    walk = one_index(op.public, along_walk(op.public, source, index, source.ndim - 2), index, order)
    outs, read = read_steps(source, walk)
    return outs, Steps((*steps, *read.steps), space.size)


def resolved_call(op, tensors, attributes):
    """The same of a tensor whose bits are resolved."""
    return CALLS[op.name](CALLS["contiguous_copy"](tensors[0]), **attributes)
