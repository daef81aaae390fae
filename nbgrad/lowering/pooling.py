"""Pools: kernels of ``templates/pool`` on the CPU; elsewhere, and for adaptive windows, the elements of each side by side."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.bounded import MOST_PLANS
from ..base.calls import CALLS
from ..base.dtypes import int64
from ..base.errors import DTypeError
from ..creation.sequences import arange
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..native.plans import PARALLEL, pack_record
from ..tensors.arrays import tensor_of
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .arranged import arranged_run, runs_as_it_lies
from .convolution import in_three, met

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


def result_of(op, layouts: tuple[Layout, ...], windows: Windows) -> Layout:
    """The layout of what is computed.

    Raises:
        DTypeError: no floating operand.
    """
    first = layouts[0]
    if not first.dtype.is_floating_point:
        raise DTypeError(f"{op.public}: expected a floating tensor, got {first.dtype}. Hint: x.float().")
    lead = first.shape[: first.ndim - len(windows.long)]
    sizes = windows.long if op.name.endswith("spread") else windows.short
    return first.like(int64 if op.name == "max_pool_places" else first.dtype, (*lead, *sizes))


@late
def kernel(name: str, dtype: str, step: int) -> int:
    """The address of one of the kernels; ``step``: the stride along rows, 3 for all from there on, and 0 of adaptive windows."""
    if not step:
        from ..kernels.templates.adaptive_pool import adaptive_pool_kernel  # not by an import

        return address(Program(f"adaptive_{name}", adaptive_pool_kernel(name, dtype), dtype, (), False, True))
    from ..kernels.templates.pool import pool_kernel  # not by an import

    return address(Program(name, pool_kernel(name, dtype, step), dtype, (), False, True))


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


def window_words(windows: Windows, together: int, mean: bool) -> list[int]:
    """What the record of pool.py has behind the sizes."""
    words = [
        *in_three(windows.kernel, 1),
        *in_three(windows.stride, 1),
        *in_three(windows.padding, 0),
        *in_three(windows.dilation, 1),
    ]
    return [*words, windows.divisor, together, *(value for each in counts(windows) * mean for value in each)]


def adaptive_lines(size: int, count: int) -> list[tuple[int, int]]:
    """Where each of so many windows begins and ends in a dimension."""
    return [(t * size // count, -(-(t + 1) * size // count)) for t in range(count)]


@lowering("max_pool", "max_pool_places", "max_pool_spread", "max_pool_pick", "avg_pool", "avg_pool_spread")
def _pool(op, layouts, attributes):
    from ..kernels.templates.pool import SPAN  # not by an import

    windows, first = windows_of(op.name, layouts, attributes), layouts[0]
    out = result_of(op, layouts, windows)
    reach = (windows.kernel[-1] - 1) * windows.dilation[-1] if windows.kernel else windows.long[-1] - 1
    if op.name == "max_pool_pick" or reach >= SPAN or not out.numel or not first.numel or len(windows.long) > 3:
        return in_steps
    if not all(map(runs_as_it_lies, layouts)):
        return arranged_run(_pool, op, layouts, attributes)
    words = [*in_three(windows.long, 1), *in_three(windows.short, 1)]
    if windows.kernel:
        words += window_words(windows, (SPAN - reach - 1) // windows.stride[-1] + 1, op.name.startswith("avg"))
        each = math.prod(windows.short) * math.prod(windows.kernel)
    else:
        lines = ([(0, 1)] * (3 - len(windows.long)), *map(adaptive_lines, windows.long, windows.short))
        words += [windows.divisor, *(end for dim in lines for line in dim for end in line)]
        each = math.prod(windows.long)
    units = first.numel // math.prod(first.shape[first.ndim - len(windows.long) :])
    claim, shared_from = thread_shares(COST)
    flags = PARALLEL if units * each >= shared_from else 0
    code, params = kernel(op.name, first.dtype.name, min(windows.stride[-1], 3) if windows.kernel else 0), words
    record = pack_record(code, units, max(1, claim // each), 1, (0,) * len(layouts), flags, params)
    return GeneralPlan(record, (out.template,), layouts)


# ---- in other operations: windows of a kernel as a view --------------------------------------------------------------------

# By operation what is done of rows, in other operations: ``steps(windows, *rows)``.
IN_STEPS: dict[str, Callable[..., Tensor]] = {}


def steps_of(name: str) -> Callable:
    """Register the decorated function as the steps of an operation."""

    def register(steps: Callable) -> Callable:
        return IN_STEPS.setdefault(name, steps)

    return register


@lowering("max_pool_pick", style="run", device="cuda")
def in_steps(op, tensors, attributes):
    """The same by other operations, on any device; operands are rows of as many elements as the dimensions have."""
    x = tensors[0]
    layouts = tuple([each.layout for each in tensors])
    windows = windows_of(op.name, layouts, attributes)
    out = result_of(op, layouts, windows)
    if not out.numel or not x.layout.numel:
        return CALLS["new_full"](out, 0)
    rows = [CALLS["reshape"](each, (-1, math.prod(each.layout.shape[each.layout.ndim - len(windows.long) :]))) for each in tensors]
    return CALLS["reshape"](IN_STEPS[op.name](windows, *rows), out.shape)


def surplus(windows: Windows) -> tuple[int, ...]:
    """How many elements are missing behind each dimension, for the last windows to have all of theirs; what ``pad`` takes."""
    pairs = [(p, max(0, (n - 1) * s - p + d * (k - 1) + 1 - size)) for size, n, k, s, p, d in zip(*windows[:6])]
    return tuple([each for pair in reversed(pairs) for each in pair])


def seen(windows: Windows, x: Tensor, rest: float = 0.0) -> Tensor:
    """``(rows, *windows, *kernel)``, of adaptive ones ``(rows, *windows, elements)``; what is padded is ``rest``."""
    if not windows.kernel:
        places = tables(windows)[0]
        found = CALLS["index_select"](x, 1, tensor_of(places.reshape(-1), x))
        return CALLS["reshape"](found, (x.layout.shape[0], *windows.short, places.shape[1]))
    x, around = CALLS["reshape"](x, (x.layout.shape[0], *windows.long)), surplus(windows)
    if any(around):
        x = CALLS["pad"](x, around, "constant", rest)
    return met(x, 1, windows.short, windows.kernel, windows.stride, windows.dilation)


def within(windows: Windows) -> tuple[int, ...]:
    """The dimensions of what windows have, behind all others."""
    return tuple(range(-max(len(windows.kernel), 1), 0))


def counting(count: int, dim: int, ndim: int, x: Tensor) -> Tensor:
    """0, 1, ... along one of so many dimensions, on the device of ``x``."""
    return CALLS["view_shape"](arange(count, device=x.layout.device), (*(1,) * dim, count, *(1,) * (ndim - dim - 1)))


@steps_of("max_pool_places")
def greatest_places(windows: Windows, x: Tensor) -> Tensor:
    """Where the greatest elements are; 0 for windows of padding alone."""
    places = places_or_none(windows, x)
    return places.clamp(min=0) if may_be_padding(windows) else places


def may_be_padding(windows: Windows) -> bool:
    """Whether some windows reach beyond the elements."""
    return bool(windows.kernel) and any(surplus(windows))


def places_or_none(windows: Windows, x: Tensor) -> Tensor:
    """Where the greatest elements are; -1 for windows of padding alone."""
    each = CALLS["reshape"](seen(windows, x, -math.inf), (x.layout.shape[0], *windows.short, -1))
    best = CALLS["argmax"](each, -1)
    if not windows.kernel:
        places = tensor_of(tables(windows)[0].reshape(*windows.short, -1), x)
        wide = CALLS["expand_shape"](places, (x.layout.shape[0], *places.layout.shape))
        return CALLS["squeeze_dim"](CALLS["gather"](wide, -1, CALLS["unsqueeze"](best, -1)), -1)
    n, across = len(windows.long), 1
    total: Any = 0
    first: Any = 0  # the first element inside of each window: what is found where all are -inf, as the padding before it is
    inside: Any = True
    some: Any = True
    for dim in reversed(range(n)):
        size, count, k, s, p, d = (each[dim] for each in windows[:6])
        start = counting(count, dim + 1, n + 1, x) * s - p
        at = start + (best % k) * d
        total, best = total + at * across, best // k
        if may_be_padding(windows):
            entered = start + (-start).clamp(min=0).add(d - 1) // d * d
            first, some = first + entered * across, some & (entered < size)
            inside = inside & (at >= 0) & (at < size)
        across *= size
    return total if inside is True else CALLS["where"](inside, total, CALLS["where"](some, first, -1))


@steps_of("max_pool")
def greatest(windows: Windows, x: Tensor) -> Tensor:
    """The greatest elements."""
    return CALLS["amax"](seen(windows, x, -math.inf), within(windows))


def as_rows(places: Tensor) -> Tensor:
    """One row for each of the operand."""
    return CALLS["reshape"](places, (places.layout.shape[0], -1))


@steps_of("max_pool_spread")
def spread_greatest(windows: Windows, x: Tensor, y: Tensor) -> Tensor:
    """Elements added where the greatest are; those of windows of padding alone are nowhere added."""
    places = as_rows(places_or_none(windows, y))
    if may_be_padding(windows):
        x, places = CALLS["where"](places >= 0, x, 0.0), places.clamp(min=0)
    return CALLS["gather_backward"](x, y.layout.shape, 1, places)


@steps_of("max_pool_pick")
def picked(windows: Windows, x: Tensor, y: Tensor) -> Tensor:
    """Elements that are where the greatest are; 0 for windows of padding alone."""
    places = as_rows(places_or_none(windows, y))
    if not may_be_padding(windows):
        return CALLS["gather"](x, 1, places)
    return CALLS["where"](places >= 0, CALLS["gather"](x, 1, places.clamp(min=0)), 0.0)


def divided(windows: Windows, x: Tensor) -> Tensor:
    """``(rows, *windows)``, divided by how many elements each window has."""
    own = counts(windows)[3 - len(windows.long) :]
    if windows.divisor:
        return x / windows.divisor
    if all(len(set(each)) == 1 for each in own):
        return x / math.prod(each[0] for each in own)
    n = len(own)
    for dim, (size, count, k, s, p) in enumerate(zip(*windows[:5])):
        starts = counting(count, dim + 1, n + 1, x) * s - p
        low, high = (-p, size + p) if windows.counted else (0, size)
        x = x / ((starts + k).clamp(max=high) - starts.clamp(min=low))
    return x


@steps_of("avg_pool")
def mean(windows: Windows, x: Tensor) -> Tensor:
    """The means of windows."""
    if not windows.kernel:
        shares = shares_of(windows, x)  # an element again, times 0, may be infinite
        return CALLS["sum"](CALLS["where"](shares != 0, CALLS["mul"](seen(windows, x), shares), 0.0), -1)
    return divided(windows, CALLS["sum"](seen(windows, x), within(windows)))


@steps_of("avg_pool_spread")
def spread_mean(windows: Windows, g: Tensor) -> Tensor:
    """The transpose of ``mean``."""
    rows, n = g.layout.shape[0], len(windows.long)
    g = CALLS["reshape"](g, (rows, *windows.short))
    if not windows.kernel:
        shares = CALLS["mul"](CALLS["unsqueeze"](g, -1), shares_of(windows, g))
        index = tensor_of(tables(windows)[0].reshape(-1), g)
        return CALLS["index_select_backward"](CALLS["reshape"](shares, (rows, -1)), (rows, math.prod(windows.long)), 1, index)
    around = surplus(windows)
    whole = [size + around[-2 * d - 2] + around[-2 * d - 1] for d, size in enumerate(windows.long)]
    g = CALLS["view_shape"](divided(windows, g), (rows, *windows.short, *(1,) * n))
    g = CALLS["expand_shape"](g, (rows, *windows.short, *windows.kernel))
    for dim in reversed(range(n)):
        k, s = windows.kernel[dim], windows.stride[dim]
        shape = g.layout.shape
        short, rest = (shape[dim + 1] - 1) * s + k, shape[dim + 2 : -1]
        g = CALLS["unfold_backward"](g, (*shape[: dim + 1], short, *rest), dim + 1, k, s)
        missing = whole[dim] - short
        if missing > 0:
            g = CALLS["zero_pad"](g, (*(0, 0) * (len(rest)), 0, missing))
    return CALLS["zero_pad"](g, tuple([-each for each in around])) if any(around) else g


# ---- adaptive windows, element by element ------------------------------------------------------------------------------


@lru_cache(maxsize=MOST_PLANS)
def tables(windows: Windows) -> tuple[np.ndarray, np.ndarray]:
    """Where the elements of every adaptive window are, counted along the dimensions, and what each is multiplied by in a mean.

    Windows with fewer elements than others have their first again, times 0.
    """
    places, shares = np.zeros((1, 1), np.int64), np.ones((1, 1))
    for size, n in zip(windows.long, windows.short):
        lines = [range(*line) for line in adaptive_lines(size, n)]
        most = max(map(len, lines), default=1)
        at = np.array([[*line, *[line[0]] * (most - len(line))] for line in lines], np.int64).reshape(n, most)
        share = np.array([[1 / len(line) if k < len(line) else 0.0 for k in range(most)] for line in lines]).reshape(n, most)
        places = (places[:, None, :, None] * size + at[None, :, None, :]).reshape(len(places) * n, -1)
        shares = (shares[:, None, :, None] * share[None, :, None, :]).reshape(len(shares) * n, -1)
    return places, shares


def shares_of(windows: Windows, x: Tensor) -> Tensor:
    """What elements of windows are multiplied by, as numbers of the dtype of ``x``."""
    shares = tensor_of(tables(windows)[1].reshape(*windows.short, -1), x)
    return CALLS["to_dtype"](shares, x.layout.dtype)
