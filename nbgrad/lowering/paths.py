"""Losses of paths through states, NOTE [Paths], and their cotangents: one launch on the CPU, other operations on a GPU."""

from __future__ import annotations

from ..base.dtypes import int64
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.paths import memory_rows, paths_kernel
from ..native.plans import PARALLEL, pack_record
from ..ops.paths import losses_in_steps
from ..tensors.layout import Layout, layout_of
from .arranged import arranged_run, runs_as_it_lies
from .losses import arranged_call

__all__: list[str] = []

# States of all steps from which threads share sequences.
PARALLEL_FROM = 1 << 13


@late
def kernel(name: str, dtype: str) -> int:
    """The address of one of the kernels."""
    function, bindings = paths_kernel(name, dtype)
    return address(Program(name, function, dtype, bindings, True))


def check(x: Layout, path: Layout, lengths: Layout) -> None:
    """Operands that go together.

    Raises:
        ShapeError, DTypeError: others.
    """
    if not x.dtype.is_floating_point:
        raise DTypeError(f"ctc_loss: log_probs are {x.dtype}, expected a floating dtype.")
    if x.ndim != 3 or path.shape[:-1] != x.shape[1:2] or lengths.shape != (2, *x.shape[1:2]):
        raise ShapeError(f"ctc_loss: log_probs are {list(x.shape)}, expected (t, n, classes) with n paths, got {list(path.shape)}.")
    if path.dtype is not int64 or lengths.dtype is not int64:
        raise DTypeError(f"ctc_loss: expected states and lengths of int64, got {path.dtype} and {lengths.dtype}.")


def operands_of(name: str, layouts: tuple[Layout, ...]) -> tuple[tuple[Layout, ...], tuple[Layout, ...]]:
    """Of the way back, cotangents and losses; and scores, paths and lengths."""
    return ((), layouts) if name == "path_losses" else ((layouts[0], layouts[4]), layouts[1:4])


def memory_of(name: str, x: Layout, path: Layout) -> Layout:
    """The layout of the memory that a launch uses."""
    steps, samples, _ = x.shape
    return layout_of(x.dtype, (samples, memory_rows(name, steps), path.shape[1] + 4), None, x.device)


@lowering("path_losses", "path_cotangents")
def _paths(op, layouts, attributes):
    given, (x, path, lengths) = operands_of(op.name, layouts)
    check(x, path, lengths)
    if x.dtype.itemsize == 2:
        return arranged_call
    if not all(map(runs_as_it_lies, layouts[len(given[:1]) :])) or any(each.dtype is not x.dtype or each.neg for each in given):
        return arranged_run(_paths, op, layouts, attributes)
    steps, samples, classes = x.shape
    out = x.like() if given else x.like(None, (samples,))
    if not out.numel or not steps:
        return in_steps
    words = steps, samples, classes, path.shape[1], attributes["blank"], *(g.strides[0] for g in given[:1])
    flags = PARALLEL if steps * samples * path.shape[1] >= PARALLEL_FROM else 0
    code = kernel(op.name, x.dtype.name)
    record = pack_record(code, samples, 1, 2, (0,) * len(layouts), flags, words)
    return GeneralPlan(record, (out.template, memory_of(op.name, x, path).template), layouts)


@lowering("path_losses", "path_cotangents", style="run", device="cuda")
def in_steps(op, tensors, attributes):
    """The operation written in others."""
    check(*operands_of(op.name, tuple([x.layout for x in tensors]))[1])
    return (op.in_steps or losses_in_steps)(*tensors, **attributes)
