"""Standardised rows, scaled or not, and their cotangents: one launch for contiguous operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..base.calls import CALLS
from ..base.dtypes import DType, float32
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.standardise import Rows, names_of, standardise_loop
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout
from .arranged import arranged, arranged_call, runs_as_it_lies

__all__ = ["Split", "check_affine", "parts_layouts", "split_rows", "wide_dtype"]

COST = 0.15  # nanoseconds a byte: benchmarks/test_kernels.py, layer norm
# Elements that are one part; samples of the smallest and of the largest part of more.
ONE_PART, FEWEST, MOST, PARTS = 1 << 16, 8, 64, 32


class Split(NamedTuple):
    """How a call splits its operands: NOTE [Standardised rows] of ops/standardise.py.

    Attributes:
        samples, groups: ``samples * groups`` rows.
        length: elements of a row.
        channels, inner: a group has so many channels, of so many elements each.
    """

    samples: int
    groups: int
    length: int
    channels: int
    inner: int

    @property
    def rows(self) -> int:
        return self.samples * self.groups

    @property
    def scale(self) -> str:
        """What a weight has numbers for."""
        return "elements" if self.inner == 1 else "channels"


def split_rows(op, layouts: tuple[Layout, ...], attributes: dict) -> Split:
    """How a call splits its operands.

    Raises:
        DTypeError: they are not floating, or of dtypes that do not go together. ShapeError: of shapes that do not.
    """
    cotangents = op.operands[0] == "g" or len(op.operands) == 2 and op.operands[1] == "y"
    x, parameters = layouts[1 if cotangents else 0], layouts[2 if cotangents else 1 :]
    if layouts[0].shape != x.shape:
        raise ShapeError(f"{op.public}: shapes {list(layouts[0].shape)} and {list(x.shape)} must be equal.")
    first, groups = x.ndim - attributes["count"], attributes["groups"] or 1
    sample = math.prod(x.shape[first:])
    check_affine(op, x, parameters, x.shape[first:] if attributes["groups"] is None else x.shape[first : first + 1])
    channels, length = parameters[-1].numel // groups if parameters else 1, sample // groups
    return Split(math.prod(x.shape[:first]), groups, length, channels, length // channels if channels else 0)


def check_affine(op, x: Layout, parameters: Sequence[Layout], expected: tuple[int, ...]) -> None:
    """Refuse what cannot be standardised, and weights and biases of which it cannot get any.

    Args:
        expected: the shape of weight and bias.

    Raises:
        DTypeError: ``x`` is not floating, or a parameter neither of its dtype nor of that of computation.
        ShapeError: a parameter has another shape.
    """
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{op.public}: expected a floating tensor, got {x.dtype}. Hint: x.float().")
    for given in parameters:
        if given.shape != expected:
            raise ShapeError(f"{op.public}: weight and bias are {list(given.shape)}, expected {list(expected)}.")
        if given.dtype is not x.dtype and given.dtype is not wide_dtype(x.dtype):
            raise DTypeError(f"{op.public}: weight and bias are {given.dtype}, expected {x.dtype}.")


def wide_dtype(dtype: DType) -> DType:
    """The dtype in which rows of a dtype are computed."""
    return float32 if dtype.compute == "float32" else dtype


@late
def kernel(rows: Rows, dtype: str) -> int:
    """Address of one of the loops."""
    name = "standardise" + "_backward" * rows.backward
    return address(Program(name, standardise_loop(rows, dtype), dtype, names_of(), True, apart=True))


def plan(rows: Rows, split: Split, layouts: tuple[Layout, ...], outs: tuple[Layout, ...], eps: float, share: int) -> GeneralPlan:
    """The launch; ``share``: samples of a unit of work, 0 where that is a row."""
    x, numel = layouts[0], split.rows * split.length
    units = math.ceil(split.samples / share) * split.groups if share else split.rows
    claim, shared_from = thread_shares(COST * x.dtype.itemsize)
    words = (split.length, split.groups, split.channels, split.inner, share, split.samples, float(eps))
    grain = max(1, claim // max(split.length * (share or 1), 1))
    flags = PARALLEL if numel >= shared_from else 0
    record = pack_record(kernel(rows, x.dtype.name), units if numel else 0, grain, len(outs), (0,) * len(layouts), flags, words)
    return GeneralPlan(record, tuple([out.template for out in outs]), layouts)


@lowering("standardise", "standardise_backward", "standardise_weighted", "standardise_affine")
def _standardise(op, layouts, attributes):
    split = split_rows(op, layouts, attributes)
    if not all(map(runs_as_it_lies, layouts)):
        return arranged_call
    scale = split.scale if "weight" in op.operands else ""
    rows = Rows(op.operands[-1] == "y", bool(attributes["centred"]), scale, "bias" in op.operands)
    return plan(rows, split, layouts, (layouts[0].like(),), attributes["eps"], 0)


def parts_layouts(layouts: tuple[Layout, ...], attributes: dict, parts: int) -> tuple[Layout, ...]:
    """The layouts of the cotangents of rows, and of the parts of those of weight and bias."""
    g, _, weight = layouts
    sums = weight.like(wide_dtype(weight.dtype), (parts, *weight.shape))
    return (g.like(), sums, sums) if attributes["biased"] else (g.like(), sums)


@lowering("standardise_cotangents")
def _cotangents(op, layouts, attributes):
    split = split_rows(op, layouts, attributes)
    if not split.rows * split.length:
        return in_steps
    if not all(map(runs_as_it_lies, layouts)):
        return widened_call
    share = split.samples
    if split.rows * split.length > ONE_PART or share > MOST:
        share = min(MOST, max(FEWEST, math.ceil(share / PARTS)))
    outs = parts_layouts(layouts, attributes, math.ceil(split.samples / share))
    rows = Rows(True, bool(attributes["centred"]), split.scale, bool(attributes["biased"]))
    return plan(rows, split, layouts, outs, attributes["eps"], share)


def in_steps(op, tensors, attributes):
    """The operation written in others."""
    return op.in_steps(*tensors, **attributes)


def widened_call(op, tensors, attributes):
    """The call of contiguous operands, half types widened; sums stay wide."""
    dtype = tensors[0].layout.dtype
    first, *sums = CALLS[op.name](*arranged(tensors), **attributes)
    return (first if first.layout.dtype is dtype else CALLS["to_dtype"](first, dtype), *sums)
