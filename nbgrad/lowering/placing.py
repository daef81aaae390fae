"""Results that are assembled of parts of operands by one launch of ``place``."""

from __future__ import annotations

from typing import Any

from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.join import place
from ..native.plans import PARALLEL, pack_record, taken_apart
from ..tensors.layout import Layout, layout_of
from .copy import copy_plan

__all__ = ["Part", "place_plan", "zeros_plan"]


# Elements from which a launch lets other Python threads run, and uses threads where its units allow it; elements a
# share.
PARALLEL_FROM, GRAIN = 1 << 15, 1 << 13

MOST_PARTS = 22  # what `place` is given in one launch


@late
def place_address() -> int:
    """Address of the kernel."""
    return address(Program("place", place, None))


class Part:
    """Where one operand goes.

    Attributes:
        layout: of what is read.
        shape, strides, offset: the part of the result that it fills, in elements.
        first: of the operand, the first element that is read.
    """

    __slots__ = ("layout", "shape", "strides", "offset", "first")

    def __init__(self, layout: Layout, shape: tuple, strides: tuple, offset: int, first: int = 0):
        self.layout, self.shape, self.strides, self.offset, self.first = layout, shape, strides, offset, first


def place_plan(out: Layout, parts: list[Part], zero: bool, whole: Layout | None = None) -> GeneralPlan:
    """The launch that fills ``out`` from parts; ``zero``: they do not cover it. ``whole``: all are parts of one operand."""
    itemsize, entries, params = out.dtype.itemsize, list[Any](), list[Any]()
    first = 8 * (2 + 6 * len(parts))
    for k, part in enumerate(parts):
        plan = copy_plan(part.layout, layout_of(out.dtype, part.shape, part.strides, out.device))
        kernel, units, words = taken_apart(plan)
        entries += [
            kernel,
            units,
            part.offset * itemsize,
            first + 8 * len(params),
            k if whole is None else 0,
            part.first * part.layout.dtype.itemsize,
        ]
        params += words
    head = (out.numel * itemsize if zero else 0, len(parts), *entries)
    # One unit of work: the flag only lets other Python threads run during a large copy.
    flags = PARALLEL if out.numel >= PARALLEL_FROM else 0
    layouts = tuple(part.layout for part in parts) if whole is None else (whole,)
    record = pack_record(place_address(), 1, 1, 1, (0,) * len(layouts), flags, (*head, *params))
    return GeneralPlan(record, (out.template,), layouts)


def zeros_plan(out: Layout, *operands: Layout) -> GeneralPlan:
    """The launch for operands that the result does not depend on, as those without elements: zeros."""
    head = (out.numel * out.dtype.itemsize, 0)
    return GeneralPlan(pack_record(place_address(), 1, 1, 1, (0,) * len(operands), 0, head), (out.template,), operands)
