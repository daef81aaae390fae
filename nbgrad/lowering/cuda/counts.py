"""Searches and counts on a GPU."""

from __future__ import annotations

import math

from ...base.calls import CALLS
from ...base.dtypes import bool_, float64, int64
from ...base.errors import ShapeError
from ...dispatch.device_copies import copy_step
from ...dispatch.device_fills import number_step, zeros_step
from ...dispatch.device_lowerings import on_host
from ...dispatch.device_plans import device_plan
from ...kernels.cuda.access import compute_dtype
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.searches import bin_of, count_bins, find_members, insertion, rank_source, ranked
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, operand, out
from ...kernels.cuda.templates import strided_grid
from ...tensors.layout import Layout
from ...tensors.tensor import native
from ..counts import interval
from .registry import lowering
from .sort import Sorted

__all__: list[str] = []


def memory_name(x: Layout) -> str:
    """The dtype as which elements are compared."""
    return "uint8" if x.dtype is bool_ else x.dtype.name


class Contiguous:
    """Operands row by row in memory, and the steps that make them so."""

    def __init__(self) -> None:
        self.space, self.steps = Workspace(), list[Step]()

    def place(self, x: Layout, at: int) -> Place:
        """Where operand ``at`` lies row by row."""
        if x.contiguous and not x.neg:
            return operand(at)
        to = self.space.take(x.numel * x.dtype.itemsize)
        step = copy_step(x, x.like(), operand(at), to)
        self.steps += [] if step is None else [step]
        return to


def check_lines(sequence: Layout, x: Layout) -> None:
    """Refuse sequences that are not beside their values."""
    if not sequence.ndim:
        raise ShapeError("searchsorted: a 0-d sequence has no places. Hint: a vector.")
    if sequence.ndim > 1 and sequence.shape[:-1] != x.shape[:-1]:
        raise ShapeError(f"searchsorted: sequences {list(sequence.shape)} and values {list(x.shape)} differ before the last size.")


@lowering("insertion_places")
def _insertion_places(op, layouts, attributes):
    sequence, x = layouts
    check_lines(sequence, x)
    if sequence.dtype is not x.dtype:
        return promoted
    if x.dtype.is_complex:
        return on_host
    result, make = x.like(int64), Contiguous()
    if not x.numel:
        return (result,), Steps(())
    name, lines = memory_name(x), math.prod(sequence.shape[:-1])
    first, second = make.place(sequence, 0), make.place(x, 1)
    recipe = Recipe(insertion(name, bool(attributes["right"])), ranked(name), compute_dtype(name), rank_source(name, True))
    counts = x.numel, x.numel // lines, sequence.shape[-1]
    step = Step(recipe, strided_grid(x.numel), (out(), first, second), (), counts)
    return (result,), Steps((*make.steps, step), make.space.size)


def promoted(op, tensors, attributes):
    """Values and sequences of two dtypes, in the one that holds both."""
    from ...base.dtypes import promote_types

    dtype = promote_types(*(x.layout.dtype for x in tensors))
    return CALLS[op.name].plain(*(CALLS["to_dtype"](x, dtype) for x in tensors), **attributes)


@lowering("are_members")
def _are_members(op, layouts, attributes):
    x, tests = layouts
    if tests.dtype is not x.dtype:
        return promoted
    if x.dtype.is_complex:
        return on_host
    result, make, invert = x.like(bool_), Contiguous(), bool(attributes["invert"])
    if not x.numel:
        return (result,), Steps(())
    if not tests.numel:
        step = number_step("bool", x.numel, int(invert), out())
        return (result,), Steps((step,) if step is not None else ())
    name, own = memory_name(x), make.place(x, 0)
    row = tests.like(shape=(tests.numel,))
    given = make.place(tests, 1)
    found = Sorted(row, 0, False, make.space, None, True)
    assert found.keys is not None
    ranks, *rest = found.steps
    steps = [*make.steps, ranks._replace(pointers=(ranks.pointers[0], given)), *rest]
    recipe = Recipe(find_members(name, found.key, invert), ranked(name), compute_dtype(name), rank_source(name, True))
    last = Step(recipe, strided_grid(x.numel), (out(), found.keys, own), (), (x.numel, tests.numel))
    return (result,), Steps((*steps, last), make.space.size)


# ---- bins --------------------------------------------------------------------------------------------------------------


def bin_steps(x: Layout, bins: int, low: float, high: float) -> tuple[tuple[Layout, ...], Steps]:
    """How many elements of a contiguous operand lie in each of equal intervals, as int64."""
    name, result = x.dtype.name, x.like(int64, (bins,))
    zeros = zeros_step(8 * bins, 8)
    recipe = Recipe(count_bins(name, 3), bin_of, compute_dtype(name))
    count = Step(recipe, strided_grid(x.numel), (out(), operand()), (low, high, float(bins)), (x.numel,))
    return (result,), Steps(tuple(step for step in (zeros, count if x.numel else None) if step is not None))


@lowering("bin_counts")
def _bin_counts(op, layouts, attributes):
    return counted


def counted(op, tensors, attributes):
    """Counts between two ends, which are the elements' own where both are equal; for those the program waits."""
    (input,) = tensors
    bins, low, high = attributes["bins"], attributes["min"], attributes["max"]
    dtype = input.layout.dtype
    x = CALLS["contiguous"](input if dtype.is_floating_point else CALLS["to_dtype"](input, float64))
    if low == high and x.layout.numel:
        low, high = CALLS["amin"](x, None).item(), CALLS["amax"](x, None).item()
    low, high = interval("histc", low, high, 1.0)
    outs, steps = bin_steps(x.layout, bins, low, high)
    return CALLS["to_dtype"](native.fresh(device_plan(outs, (x.layout,), steps), x), dtype)
