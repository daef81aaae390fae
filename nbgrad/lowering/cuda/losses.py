"""Losses by class index on a GPU.

A target that is no class is told of when the program next waits for the device: NOTE [Errors on the device] of
kernels/cuda/steps.py. So ``valid_mean`` says at once, of the CPU, that nothing is wrong.
"""

from __future__ import annotations

from ...base.calls import CALLS
from ...base.dtypes import uint8
from ...base.errors import DimError
from ...dispatch.device_copies import copy_step
from ...dispatch.device_fills import zeros_step
from ...dispatch.device_lowerings import on_host
from ...dispatch.device_plans import device_plan
from ...kernels.cuda.access import Function, compute_dtype, itemsize
from ...kernels.cuda.accumulators import identity
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.faults import fault_number
from ...kernels.cuda.losses import blocks_of, counted, nll_rows, nll_rows_backward, valid_counts, valid_mean, valid_share
from ...kernels.cuda.scores import program_of
from ...kernels.cuda.steps import ERRORS, Place, Step, Steps, Workspace, operand, out as result
from ...kernels.cuda.templates import BLOCK, Template, ceil_div
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import CPU
from ...tensors.tensor import native
from ..losses import check_scores
from .registry import lowering
from .softmax import gapless, row_steps

__all__ = ["valid_mean_steps"]


def recipe(template: Template, dtype: str, **source: Function) -> Recipe:
    """A kernel without a scalar function."""
    return Recipe(template, identity, compute_dtype(dtype), source)


def scores_steps(name: str, x: Layout, target: Layout, ignore: int, before: tuple[Layout, ...] = ()) -> tuple:
    """The result's layout and the steps of a program over scores: operands are the row cotangents, if any, scores, targets."""
    rows, classes = x.shape
    out = x.like() if before else x.like(None, (rows,))
    if not out.numel:
        return (out,), Steps(())
    workspace = Workspace()
    places, steps = gapless((x, target), workspace, len(before))
    integers: tuple[int, ...] = (ignore, classes, 1)
    sides = places[1:]
    for g in before:
        place, step = operand(0), g.strides[0]
        if g.dtype is not x.dtype or g.neg:
            place, step = workspace.take(rows * x.dtype.itemsize), 1
            copied = copy_step(g, x.like(None, g.shape), operand(0), place)
            steps += [] if copied is None else [copied]
        integers, sides = (*integers, step), [*sides, place]
    program, dtype = program_of(name, compute_dtype(x.dtype.name)), x.dtype.name
    steps += row_steps(program, (dtype,), dtype, (rows, classes, 1), (result(), places[0], *sides), (), integers)
    return (out,), Steps(tuple(steps), workspace.size)


@lowering("cross_entropy_rows")
def _cross_entropy(op, layouts, attributes):
    x, target = layouts
    check_scores(op.name, x, target)
    return on_host if not x.shape[1] else scores_steps(op.name, x, target, attributes["ignore_index"])


@lowering("cross_entropy_rows_backward")
def _cross_entropy_backward(op, layouts, attributes):
    g, x, target = layouts
    check_scores(op.name, x, target)
    return scores_steps(op.name, x, target, attributes["ignore_index"], (g,))


@lowering("nll_rows")
def _nll(op, layouts, attributes):
    x, target = layouts
    check_scores(op.name, x, target)
    (rows, classes), dtype, workspace = x.shape, x.dtype.name, Workspace()
    out = x.like(None, (rows,))
    if not rows:
        return (out,), Steps(())
    places, steps = gapless(layouts, workspace)
    counts = rows, classes, attributes["ignore_index"]
    steps.append(Step(recipe(nll_rows(dtype), dtype), (ceil_div(rows, BLOCK),), (result(), *places), (), counts))
    return (out,), Steps(tuple(steps), workspace.size)


@lowering("nll_rows_backward")
def _nll_backward(op, layouts, attributes):
    g, target = layouts
    rows, classes, dtype, workspace = g.shape[0], attributes["classes"], g.dtype, Workspace()
    out = g.like(None, (rows, classes))
    if not out.numel:
        return (out,), Steps(())
    places, before = gapless(layouts, workspace)
    zeros = zeros_step(out.numel * dtype.itemsize, dtype.itemsize)
    counts = rows, classes, attributes["ignore_index"], 1
    step = Step(recipe(nll_rows_backward(dtype.name), dtype.name), (ceil_div(rows, BLOCK),), (result(), *places), (), counts)
    return (out,), Steps((*before, *([] if zeros is None else [zeros]), step), workspace.size)


def valid_mean_steps(layouts: tuple[Layout, ...], attributes: dict) -> tuple[tuple[Layout], Steps]:
    """The layout of the mean alone, and the steps."""
    losses, dtype, workspace = layouts[0], layouts[0].dtype.name, Workspace()
    classes, ignore = attributes["classes"], attributes["ignore_index"]
    text = f"cross_entropy: a target, {{element}}, is out of range: expected 0 to {classes - 1}, or ignore_index ({ignore})."
    fault = fault_number(DimError, text) if classes else 0  # (no class at all: the transpose of valid_share, already checked)
    places, steps = gapless(layouts, workspace)
    of = counted(compute_dtype(dtype))
    blocks, share = blocks_of(losses.numel)
    counts = classes, ignore, int(attributes["divide"]), fault

    def launch(stage: str, blocks: int, written: list[Place], read: list[Place], n: int, share: int) -> Step:
        kernel = recipe(valid_mean(dtype, stage), dtype, **of.source())
        return Step(kernel, (blocks,), (*written, *read), (), (n, *counts, share))

    read = [*places, ERRORS]
    if blocks == 1:
        steps.append(launch("whole", 1, [result()], read, losses.numel, share))
    else:
        parts = [workspace.take(blocks * itemsize(kind)) for kind in of.state]
        steps.append(launch("partial", blocks, parts, read, losses.numel, share))
        steps.append(launch("merge", 1, [result()], parts, blocks, blocks))
    return (losses.like(None, ()),), Steps(tuple(steps), workspace.size)


@lowering("valid_mean")
def _valid_mean(op, layouts, attributes):
    outs, steps = valid_mean_steps(layouts, attributes)
    plan, no = device_plan(outs, layouts, steps), layout_of(uint8, (), None, CPU)
    return lambda op, tensors, attributes: (native.fresh(plan, *tensors), CALLS["new_full"](no, 0))


@lowering("valid_share")
def _valid_share(op, layouts, attributes):
    g, target = layouts
    workspace, dtype, out = Workspace(), g.dtype.name, g.like(None, target.shape)
    if not out.numel:
        return (out,), Steps(())
    places, steps = gapless(layouts, workspace)
    (blocks, share), ignore, source = blocks_of(target.numel), attributes["ignore_index"], counted(compute_dtype(dtype)).source()
    parts, counted_by = places[1], 0
    if blocks > 1:
        parts, counted_by = workspace.take(blocks * itemsize("int64")), blocks
        kernel = recipe(valid_counts(dtype), dtype, **source)
        steps.append(Step(kernel, (blocks,), (parts, places[1]), (), (target.numel, ignore, share)))
    counts = target.numel, ignore, int(attributes["divide"]), share, counted_by
    steps.append(Step(recipe(valid_share(dtype), dtype, **source), (blocks,), (result(), *places, parts), (), counts))
    return (out,), Steps(tuple(steps), workspace.size)
