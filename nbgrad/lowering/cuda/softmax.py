"""Softmax and its family on a GPU: a launch for rows or columns, of operands that lie without gaps."""

from __future__ import annotations

from collections.abc import Sequence

from ...dispatch.device_copies import copy_step
from ...kernels.cuda.access import compute_dtype
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.rows import RowProgram, map_columns, row_shape
from ...kernels.cuda.scores import logsumexp_accumulator, program_of
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, operand, out as result
from ...kernels.cuda.templates import WARP, ceil_div
from ...tensors.layout import Layout
from ..softmax import logsumexp_dims, softmax_split
from .reduce import MOST_PLANES, fold_steps, program_step
from .registry import lowering

__all__ = ["gapless", "row_steps"]


def gapless(layouts: Sequence[Layout], workspace: Workspace, first: int = 0) -> tuple[list[Place], list[Step]]:
    """Where the operands from number ``first`` on lie row by row, and the steps that copy those that do not."""
    places, steps = list[Place](), list[Step]()
    for k, x in enumerate(layouts, start=first):
        place = operand(k)
        if not x.contiguous or x.conj or x.neg:
            place = workspace.take(x.numel * x.dtype.itemsize)
            step = copy_step(x, x.like(), operand(k), place)
            steps += [] if step is None else [step]
        places.append(place)
    return places, steps


def row_steps(
    program: RowProgram,
    names: tuple[str, ...],
    output: str,
    split: tuple[int, int, int],
    pointers: Sequence[Place],
    values: tuple[float, ...] = (),
    integers: tuple[int, ...] = (),
) -> list[Step]:
    """The launches of a program over ``[outer, length, width]``.

    Args:
        names: dtypes of the operands in memory; ``output``: that of the result.
        integers: what the program takes, then the steps of its sides.
    """
    outer, length, width = split
    of = program.of
    if not outer * width or not length:
        return []
    if width > 1:
        recipe = Recipe(map_columns(program, names, output), of.term, of.dtype, program.source())
        steps = []
        for plane in range(0, outer, MOST_PLANES):
            grid = ceil_div(width, WARP), 1, min(MOST_PLANES, outer - plane)
            steps.append(Step(recipe, grid, tuple(pointers), values, (plane, length, width, *integers)))
        return steps
    counts = outer, length, *integers
    return [program_step(program, names, output, row_shape(length, names, of.dtype), tuple(pointers), values, counts)]


def family_steps(name: str, layouts: tuple[Layout, ...], split: tuple[int, int, int]) -> tuple:
    """The result's layout, and the steps."""
    out, workspace = layouts[0].like(), Workspace()
    if not out.numel:
        return (out,), Steps(())
    places, before = gapless(layouts, workspace)
    program = program_of(name, compute_dtype(out.dtype.name))
    names = tuple([x.dtype.name for x in layouts])
    steps = row_steps(program, names, out.dtype.name, split, (result(), *places))
    return (out,), Steps((*before, *steps), workspace.size)


@lowering("softmax", "log_softmax", "softmax_backward", "log_softmax_backward")
def _softmax(op, layouts, attributes):
    split = softmax_split(op, layouts, attributes)
    return family_steps(op.name, layouts, split) if isinstance(split, tuple) else split


@lowering("logsumexp")
def _logsumexp(op, layouts, attributes):
    x, found = layouts[0], logsumexp_dims(layouts[0], attributes)
    if not isinstance(found, tuple):
        return found
    return (found[1],), fold_steps(logsumexp_accumulator(compute_dtype(x.dtype.name)), x, *found)
