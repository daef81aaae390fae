"""Standardised channels and their cotangents: one launch for matrices on the CPU; else two folds, and one for all elements."""

from __future__ import annotations

from ..base.errors import ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..native.plans import PARALLEL, pack_record
from ..ops.channels import channels_in_steps
from ..tensors.layout import Layout
from .arranged import runs_as_it_lies
from .standardise import check_affine

__all__: list[str] = []

COST = 1.0  # nanoseconds an element, of all passes


@late
def kernel(name: str, dtype: str) -> int:
    """The address of one of the kernels."""
    from ..kernels.templates.columns import columns_kernel  # not by an import

    return address(Program(name, columns_kernel(name, dtype), dtype, apart=True))


def runs_by_columns(x: Layout, layouts: tuple[Layout, ...]) -> bool:
    """Whether the kernels take the operands: of a matrix, whose neighbours are of several channels."""
    plain = x.ndim == 2 and x.numel and x.dtype.name in ("float32", "float64")
    return bool(plain) and all(each.dtype is x.dtype and runs_as_it_lies(each) for each in layouts)


def by_columns(name: str, x: Layout, layouts: tuple[Layout, ...], outs: tuple[Layout, ...], eps: float) -> GeneralPlan:
    """The launch."""
    from ..kernels.templates.columns import COLUMNS  # not by an import

    rows, columns = x.shape
    _, shared_from = thread_shares(COST)
    flags = PARALLEL if x.numel >= shared_from else 0
    words = rows, columns, float(eps)
    units = -(-columns // COLUMNS)
    record = pack_record(kernel(name, x.dtype.name), units, 1, len(outs), (0,) * len(layouts), flags, words)
    return GeneralPlan(record, tuple([out.template for out in outs]), layouts)


def check_channels(op, x: Layout, parameters) -> None:
    """Refuse operands that do not go together."""
    if x.ndim < 2:
        raise ShapeError(f"{op.public}: input is {list(x.shape)}, expected (batch, channels, ...).")
    check_affine(op, x, parameters, x.shape[1:2])


@lowering("standardise_channels")
def _standardise_channels(op, layouts, attributes):
    x, *parameters = layouts
    check_channels(op, x, parameters)
    if not runs_by_columns(x, layouts):
        return in_steps
    outs = x.like(), x.like(shape=(2, x.shape[1]))
    return by_columns("standardise_columns", x, layouts, outs, attributes["eps"])


@lowering("channel_cotangents")
def _cotangents(op, layouts, attributes):
    g, x, weight, _ = layouts
    if not runs_by_columns(x, layouts):
        return in_steps
    outs = x.like(), weight.like(), weight.like()
    return by_columns("standardise_columns_back", x, layouts, outs, attributes["eps"])


def in_steps(op, tensors, attributes):
    """The operation written in others."""
    return (op.in_steps or channels_in_steps)(*tensors, **attributes)


@lowering("standardise_channels", style="run", device="cuda")
def _standardise_channels_on_gpu(op, tensors, attributes):
    check_channels(op, tensors[0].layout, [tensor.layout for tensor in tensors[1:]])
    return in_steps(op, tensors, attributes)


@lowering("channel_cotangents", style="run", device="cuda")
def _cotangents_on_gpu(op, tensors, attributes):
    return in_steps(op, tensors, attributes)
