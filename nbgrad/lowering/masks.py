"""Positions of elements that are not zero, and moves through masks: prepared runs of one launch each."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Callable

import numpy as np

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.dtypes import WIDTHS, bool_, int64
from ..base.grad_mode import traces
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.mask import masked_loop, positions_loop
from ..native.plans import pack_record
from ..tensors.arrays import typed
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import note_made
from ..tensors.tensor import Tensor, native
from .copy import as_bits, copy_plan
from .index_walks import ONE_STATUS, checked
from .index_writers import PREPARED_WRITES

__all__ = ["positions_finder"]

# ---- positions ---------------------------------------------------------------------------------------------------------


@late
def positions_kernel(memory: str) -> int:
    """Address of the search for what is not zero."""
    return address(Program("positions", positions_loop(memory), None))


def positions_plan(x: Layout, shape: tuple, count: int, apart: bool) -> GeneralPlan:
    """The launch that writes ``count`` positions of an operand seen in a shape: a row each, or ``apart`` a vector a dimension."""
    words = (math.prod(shape[:-1]), shape[-1], len(shape), count, int(apart), *shape[:-1])
    outs = (
        (layout_of(int64, (count,), None, x.device).template,) * len(shape)
        if apart
        else (layout_of(int64, (count, len(shape)), None, x.device).template,)
    )
    record = pack_record(positions_kernel("uint8" if x.dtype is bool_ else x.dtype.name), 1, 1, len(outs), (0,), 0, words)
    return GeneralPlan(record, outs, (x,))


SEEN_BY_NUMPY = 1 << 12  # elements up to which NumPy counts floats sooner than a kernel


def counter(x: Layout) -> Callable[[Tensor], int]:
    """``count(x)``: how many elements of a contiguous tensor are not zero."""
    width, size, descr, count = x.dtype.itemsize, x.numel, x.descr, np.count_nonzero

    def of_array(x: Tensor) -> int:
        first, array = x._offset_ // width, x._storage_.array
        return int(count(array[first : first + size] if array.dtype == descr else typed(x, (size,))))

    if x.dtype is bool_ or size <= SEEN_BY_NUMPY:
        return of_array
    return lambda x: int(CALLS["count_nonzero"](x)._storage_.array[0])


@lru_cache(maxsize=512)
def positions_finder(x: Layout, apart: bool, flat: bool = False) -> Callable | None:
    """``find(x)``: the positions of what is not zero, of all elements in a row if ``flat``; None where NumPy must find them."""
    if x.memory is not None:
        from .cuda.masks import finder_on_gpu

        return finder_on_gpu(x, apart, flat)
    if not (x.ndim and x.contiguous) or x.neg or x.special or x.dtype.compute != ("uint8" if x.dtype is bool_ else x.dtype.name):
        return None
    if x.dtype.is_complex or x.dtype is not bool_ and x.dtype.name not in WIDTHS:
        return None
    plans = Plans(lambda number: positions_plan(x, shape, number, apart), 256)
    count, fresh, shape = counter(x), native.fresh, (x.numel,) if flat else x.shape

    def find(x):
        found = fresh(plans[count(x)], x)
        return noted(found) if traces else found

    return find


def noted(found: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
    """Positions in a constant of a program that is captured: constants, too."""
    for x in found if isinstance(found, tuple) else (found,):
        note_made(x._storage_)
    return found


def positions_quick(x: Layout, as_tuple: bool) -> Callable | None:
    """``quick(x, ...)`` of ``nonzero``."""
    find = positions_finder(x, as_tuple)
    if find is None:
        return None
    return (lambda x, *rest: (find(x),)) if as_tuple and x.ndim == 1 else lambda x, *rest: find(x)


@prepared("nonzero")
def _quick_nonzero(op, layouts, attributes):
    return positions_quick(*layouts, bool(attributes["as_tuple"]))


@prepared("argwhere")
def _quick_argwhere(op, layouts, attributes):
    return positions_quick(*layouts, False)


# ---- moves -------------------------------------------------------------------------------------------------------------


@late
def masked_kernel(name: str, bits: str) -> int:
    """Address of a move through a mask."""
    return address(Program(f"masked_{name}", masked_loop(name, bits), None))


def masked_launch(name: str, out: Layout, operands: tuple[Layout, ...], mask: Layout, room: int) -> Callable | None:
    """``launch(*operands)`` -> the result; None where the mask has more true elements than there is room for."""
    if any(x.conj or x.neg or not x.contiguous for x in operands) or mask.dtype is not bool_ or not (room and mask.numel):
        return None
    words = (mask.numel, room)
    record = pack_record(masked_kernel(name, as_bits(out).dtype.name), 1, 1, 2, (0,) * len(operands), 0, words)
    return checked(GeneralPlan(record, (out.template, ONE_STATUS.template), operands))


@prepared("masked_scatter")
def _quick_masked_scatter(op, layouts, attributes):
    x, mask, source = layouts
    if mask.shape != x.shape or source.dtype is not x.dtype:
        return None
    return masked_launch("scatter", x.like(), layouts, mask, source.numel)


def masked_write(op, layouts, attributes) -> Callable | None:
    """The same in place: the result, copied over its operand."""
    launch = _quick_masked_scatter(op, layouts, attributes)
    into, plan = native.into, copy_plan(layouts[0].like(), layouts[0])

    def run(x, mask, source):
        out = launch(x, mask, source)
        if out is not None:
            into(plan, x, out)
        return out

    return launch and run


PREPARED_WRITES["masked_scatter"] = masked_write


@prepared("masked_scatter_backward")
def _quick_masked_scatter_backward(op, layouts, attributes):
    g, mask = layouts
    out = layout_of(g.dtype, tuple(attributes["shape"]), None, g.device)
    launch = masked_launch("pack", out, layouts, mask, out.numel) if mask.shape == g.shape else None
    return launch and (lambda g, mask, shape: launch(g, mask))


@prepared("masked_select_backward", tensors=("mask",))
def _quick_masked_select_backward(op, layouts, attributes):
    (g,), mask, shape = layouts, attributes["mask"], tuple(attributes["shape"])
    if type(mask) is not Layout or mask.shape != shape:
        return None
    launch = masked_launch("spread", layout_of(g.dtype, shape, None, g.device), (g, mask), mask, g.numel)
    return launch and (lambda g, shape, mask: launch(g, mask))


@lowering("nonzero_places", style="run")
def _nonzero_places(op, tensors, attributes):
    return CALLS["nonzero"](*tensors)
