"""Standardised rows on a GPU: one launch for rows that a block can hold, with all their cotangents; longer ones in several."""

from __future__ import annotations

from ...base.calls import CALLS
from ...kernels.cuda.access import compute_dtype
from ...kernels.cuda.accumulators import identity
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.scores import program_of
from ...kernels.cuda.standardise import HeldRow, held_row, held_rows
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, out as result
from ...kernels.cuda.templates import ceil_div
from ...kernels.templates.standardise import Rows
from ...ops.standardise import scaled_in_steps
from ...tensors.layout import Layout
from ..standardise import Split, in_steps, parts_layouts, split_rows
from .registry import lowering
from .softmax import gapless, row_steps

__all__: list[str] = []

BLOCKS = 528  # that cotangents with sums are cut into: four on each multiprocessor of the largest GPU
MOST_ROWS = 64  # that a thread adds up, one after the other


def dtypes_of(layouts: tuple[Layout, ...], rows: Rows) -> tuple[str, str]:
    """The dtypes of rows, and of weight and bias."""
    return layouts[0].dtype.name, layouts[1 + rows.backward].dtype.name if rows.scale else layouts[0].dtype.name


def held_step(
    rows: Rows, split: Split, row: HeldRow, dtypes: tuple[str, str], pointers: list[Place], eps: float, share: int = 0
) -> Step:
    """The launch of rows that are held."""
    compute = compute_dtype(dtypes[0])
    counts: tuple[int, ...] = (split.rows, split.length, split.groups, split.inner)
    grid: tuple[int, ...] = (ceil_div(split.rows, row.at_once),)
    if share:
        counts, grid = (*counts, split.samples, share), (ceil_div(split.samples, share), split.groups)
    by_vectors, singly = (Recipe(held_rows(rows, *dtypes, row, vectors), identity, compute) for vectors in (True, False))
    single = Step(singly, grid, tuple(pointers), (float(split.length), eps), counts)
    return single if row.lanes == 1 else single._replace(recipe=by_vectors, single=single)


@lowering("standardise", "standardise_backward", "standardise_weighted", "standardise_affine")
def _standardise(op, layouts, attributes):
    split, eps = split_rows(op, layouts, attributes), attributes["eps"]
    out, workspace = layouts[0].like(), Workspace()
    if not out.numel:
        return (out,), Steps(())
    scale = split.scale if "weight" in op.operands else ""
    rows = Rows(op.operands[-1] == "y", bool(attributes["centred"]), scale, "bias" in op.operands)
    if len({x.dtype for x in layouts[1 + rows.backward :]}) > 1:  # weight and bias
        return scaled_call
    dtypes = dtypes_of(layouts, rows)
    row = held_row(split.length, split.inner if scale else 1, dtypes, rows)
    if row is not None:
        places, before = gapless(layouts, workspace)
        return (out,), Steps((*before, held_step(rows, split, row, dtypes, [result(), *places], eps)), workspace.size)
    if scale:
        return scaled_call
    if not rows.centred:
        return plain_call
    places, before = gapless(layouts, workspace)
    program, names = program_of(op.name, compute_dtype(dtypes[0])), (dtypes[0],) * len(layouts)
    steps = row_steps(program, names, dtypes[0], (split.rows, split.length, 1), [result(), *places], (float(split.length), eps))
    return (out,), Steps((*before, *steps), workspace.size)


def scaled_call(op, tensors, attributes):
    """Rows that are too long to be held, then their weight and bias."""
    x, *parameters = tensors
    return scaled_in_steps(x, *parameters, *[None] * (2 - len(parameters)), **attributes)


def plain_call(op, tensors, attributes):
    """Rows that are too long to be held, by their mean square: themselves, or their cotangents."""
    shape, dtype = tensors[0].layout.shape, tensors[0].layout.dtype
    split = split_rows(op, tuple([x.layout for x in tensors]), attributes)
    given, y = (CALLS["reshape"](x, (split.rows, split.length)) for x in (tensors[0], tensors[-1]))
    if dtype.itemsize == 2:
        given, y = given.float(), y.float()
    r = CALLS["rsqrt"](CALLS["mean"](y * y, 1, True) + attributes["eps"])
    made = y * r if op.name == "standardise" else r * (given - y * (r * r * CALLS["mean"](given * y, 1, True)))
    return CALLS["to_dtype"](CALLS["reshape"](made, shape), dtype)


@lowering("standardise_cotangents")
def _cotangents(op, layouts, attributes):
    split, workspace = split_rows(op, layouts, attributes), Workspace()
    rows = Rows(True, bool(attributes["centred"]), split.scale, bool(attributes["biased"]))
    dtypes = dtypes_of(layouts, rows)
    row = held_row(split.length, split.inner, dtypes, rows) if layouts[0].numel and split.inner == 1 else None
    if row is None:
        return in_steps
    share = ceil_div(split.samples, max(1, BLOCKS // split.groups))
    share = min(ceil_div(share, row.at_once), MOST_ROWS) * row.at_once
    outs = parts_layouts(layouts, attributes, ceil_div(split.samples, share))
    places, before = gapless(layouts, workspace)
    pointers = [*(result(k) for k in range(len(outs))), *places]
    step = held_step(rows, split, row, dtypes, pointers, attributes["eps"], share)
    return outs, Steps((*before, step), workspace.size)
