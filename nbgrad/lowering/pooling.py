"""Pools: kernels of ``templates/pool`` on the CPU; elsewhere, and for adaptive windows, the elements of each side by side."""

from __future__ import annotations

import itertools
import math
import struct
from functools import lru_cache
from typing import Callable, NamedTuple

import numpy as np

from ..base.bounded import MOST_PLANS
from ..base.calls import CALLS
from ..base.dtypes import float32, int64
from ..base.errors import DTypeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.pool import SPAN, pool_kernel
from ..native.plans import PARALLEL, pack_record
from ..tensors.arrays import tensor_of
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .convolution import in_three

__all__ = ["Windows"]

COST = 0.5  # nanoseconds an element of a window


class Windows(NamedTuple):
    """The windows of a call: NOTE [Windows] of ops/pooling.py.

    Attributes:
        long, short: sizes of the dimensions, and how many windows they have.
        kernel, stride, padding, dilation: empty for adaptive ones.
        counted: whether what is padded counts.
        divisor: of all sums, or 0.
    """

    long: tuple[int, ...]
    short: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    counted: bool = False
    divisor: int = 0


def windows_of(name: str, layouts: tuple[Layout, ...], attributes: dict) -> Windows:
    """The windows of a call."""
    if name == "avg_pool_spread":
        long = attributes["long"]
        short = layouts[0].shape[layouts[0].ndim - len(long) :]
    else:
        short = attributes["size"]
        long = layouts[-1].shape[layouts[-1].ndim - len(short) :]
    kernel = attributes["kernel"]
    dilation = attributes.get("dilation", (1,) * len(kernel))
    settings = kernel, attributes["stride"], attributes["padding"], dilation
    return Windows(long, short, *settings, attributes.get("counted", False), attributes.get("divisor", 0))


def result_of(name: str, layouts: tuple[Layout, ...], windows: Windows) -> Layout:
    """The layout of what is computed."""
    first = layouts[0]
    lead = first.shape[: first.ndim - len(windows.long)]
    sizes = windows.long if name.endswith("spread") else windows.short
    return first.like(int64 if name == "max_pool_places" else first.dtype, (*lead, *sizes))


@late
def kernel(name: str, dtype: str) -> int:
    """The address of one of the kernels."""
    return address(Program(name, pool_kernel(name, dtype), dtype, (), False, True))


def counts(windows: Windows) -> list[list[int]]:
    """For every window of each dimension by how many elements its sum is divided."""
    if windows.divisor:
        return [[1] * n for n in in_three(windows.short, 1)]
    made = [[1]] * (3 - len(windows.short))
    for size, n, k, s, p in zip(*windows[:5]):
        starts = [t * s - p for t in range(n)]
        ends = [min(at + k, size + p) for at in starts]
        if not windows.counted:
            starts, ends = [max(at, 0) for at in starts], [min(end, size) for end in ends]
        made.append([end - at for at, end in zip(starts, ends)])
    return made


@lowering("max_pool", "max_pool_places", "max_pool_spread", "max_pool_pick", "avg_pool", "avg_pool_spread")
def _pool(op, layouts, attributes):
    windows, first = windows_of(op.name, layouts, attributes), layouts[0]
    if not first.dtype.is_floating_point:
        raise DTypeError(f"{op.public}: expected a floating tensor, got {first.dtype}. Hint: x.float().")
    out = result_of(op.name, layouts, windows)
    reach = (windows.kernel[-1] - 1) * windows.dilation[-1] if windows.kernel else SPAN
    if op.name == "max_pool_pick" or reach >= SPAN or not out.numel or not first.numel or len(windows.long) > 3:
        return in_steps
    if first.dtype.name not in ("float32", "float64") or not all(x.contiguous and not x.neg for x in layouts):
        return arranged
    words = [*in_three(windows.long, 1), *in_three(windows.short, 1), *in_three(windows.kernel, 1), *in_three(windows.stride, 1)]
    words += [*in_three(windows.padding, 0), *in_three(windows.dilation, 1), windows.divisor]
    words.append((SPAN - reach - 1) // windows.stride[-1] + 1)
    if op.name.startswith("avg"):
        words += [value for each in counts(windows) for value in each]
    units, each = first.numel // math.prod(first.shape[first.ndim - len(windows.long) :]), math.prod(windows.short)
    each *= math.prod(windows.kernel)
    claim, shared_from = thread_shares(COST)
    flags = PARALLEL if units * each >= shared_from else 0
    code, params = kernel(op.name, first.dtype.name), struct.pack(f"{len(words)}q", *words)
    record = pack_record(code, units, max(1, claim // each), 1, (0,) * len(layouts), flags, params)
    return GeneralPlan(record, (out.template,), layouts)


def arranged(op, tensors, attributes):
    """The call of contiguous operands, half types in single precision."""
    dtype = tensors[0].layout.dtype
    wide = dtype.compute != dtype.name
    tensors = [CALLS["contiguous_copy"](CALLS["to_dtype"](x, float32) if wide else x) for x in tensors]
    out = CALLS[op.name](*tensors, **attributes)
    return CALLS["to_dtype"](out, dtype) if wide and out.layout.dtype is float32 else out


# ---- window by window --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=MOST_PLANS)
def tables(windows: Windows) -> tuple[np.ndarray, np.ndarray]:
    """Where the elements of every window are, counted along the dimensions, and what each is multiplied by in a mean.

    Windows with fewer elements than others have their first again, times 0.
    """
    places, shares = np.zeros((1, 1), np.int64), np.ones((1, 1))
    adaptive = not windows.kernel
    numbers = itertools.repeat((0, 0, 0, 0)) if adaptive else zip(*windows[2:6])
    for size, n, (k, s, p, d) in zip(windows.long, windows.short, numbers):
        lines = [
            range(t * size // n, -(-(t + 1) * size // n)) if adaptive else range(t * s - p, t * s - p + d * (k - 1) + 1, d)
            for t in range(n)
        ]
        inside = [[at for at in line if 0 <= at < size] for line in lines]
        most = max(map(len, inside), default=1)
        over = [
            1 if windows.divisor else min(line.stop, size + p) - line.start if windows.counted else len(own)
            for line, own in zip(lines, inside)
        ]
        at = np.array([[*own, *[own[0]] * (most - len(own))] for own in inside], np.int64).reshape(n, most)
        share = np.array([[1 / c if k < len(own) else 0.0 for k in range(most)] for own, c in zip(inside, over)]).reshape(n, most)
        places = (places[:, None, :, None] * size + at[None, :, None, :]).reshape(len(places) * n, -1)
        shares = (shares[:, None, :, None] * share[None, :, None, :]).reshape(len(shares) * n, -1)
    return places, shares / (windows.divisor or 1)


# By operation what is done of rows, in other operations: ``steps(windows, *rows)``.
IN_STEPS: dict[str, Callable[..., Tensor]] = {}


def steps_of(name: str) -> Callable:
    """Register the decorated function as the steps of an operation, and these as its lowering on GPUs."""

    def register(steps: Callable) -> Callable:
        lowering(name, style="run", device="cuda")(in_steps)
        return IN_STEPS.setdefault(name, steps)

    return register


def in_steps(op, tensors, attributes):
    """The same by other operations, on any device."""
    x = tensors[0]
    layouts = tuple([each.layout for each in tensors])
    windows = windows_of(op.name, layouts, attributes)
    if not x.layout.dtype.is_floating_point:
        raise DTypeError(f"{op.public}: expected a floating tensor, got {x.layout.dtype}. Hint: x.float().")
    out = result_of(op.name, layouts, windows)
    if not out.numel or not x.layout.numel:
        return CALLS["new_full"](out, 0)
    rows = [CALLS["reshape"](each, (-1, math.prod(each.layout.shape[each.layout.ndim - len(windows.long) :]))) for each in tensors]
    return CALLS["reshape"](IN_STEPS[op.name](windows, *rows), out.shape)


def seen(windows: Windows, x: Tensor) -> Tensor:
    """``(rows, windows, elements)``."""
    places = tables(windows)[0]
    found = CALLS["index_select"](x, 1, tensor_of(places.reshape(-1), x))
    return CALLS["reshape"](found, (x.layout.shape[0], *places.shape))


@steps_of("max_pool_places")
def greatest_places(windows: Windows, x: Tensor) -> Tensor:
    """Where the greatest elements are."""
    places = tensor_of(tables(windows)[0], x)
    best = CALLS["argmax"](seen(windows, x), -1)
    wide = CALLS["expand_shape"](places, (x.layout.shape[0], *places.layout.shape))
    return CALLS["squeeze_dim"](CALLS["gather"](wide, 2, CALLS["unsqueeze"](best, -1)), -1)


def shares_of(windows: Windows, x: Tensor) -> Tensor:
    """What elements of windows are multiplied by, as numbers of the dtype of ``x``."""
    return CALLS["to_dtype"](tensor_of(tables(windows)[1], x), x.layout.dtype)


@steps_of("avg_pool")
def mean(windows: Windows, x: Tensor) -> Tensor:
    """The sums of shares."""
    return CALLS["sum"](CALLS["mul"](seen(windows, x), shares_of(windows, x)), -1)


@steps_of("avg_pool_spread")
def spread_mean(windows: Windows, g: Tensor) -> Tensor:
    """The transpose of ``mean``."""
    shares = CALLS["mul"](CALLS["unsqueeze"](g, -1), shares_of(windows, g))
    index = tensor_of(tables(windows)[0].reshape(-1), g)
    rows = g.layout.shape[0]
    return CALLS["index_select_backward"](CALLS["reshape"](shares, (rows, -1)), (rows, math.prod(windows.long)), 1, index)


@steps_of("max_pool")
def greatest(windows: Windows, x: Tensor) -> Tensor:
    """The greatest elements."""
    return CALLS["amax"](seen(windows, x), -1)


@steps_of("max_pool_spread")
def spread_greatest(windows: Windows, x: Tensor, y: Tensor) -> Tensor:
    """Elements added where the greatest are."""
    return CALLS["gather_backward"](x, y.layout.shape, 1, greatest_places(windows, y))


@steps_of("max_pool_pick")
def picked(windows: Windows, x: Tensor, y: Tensor) -> Tensor:
    """Elements that are where the greatest are."""
    return CALLS["gather"](x, 1, greatest_places(windows, y))
