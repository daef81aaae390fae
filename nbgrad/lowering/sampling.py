"""Tensors looked up between their elements, NOTE [Sampled grids]: one launch on the CPU, other operations on a GPU."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.dtypes import float32, int64
from ..base.errors import DTypeError, RangeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.sampling import BLOCK, GROUP, INDICES, Settings, sampling_kernel
from ..native.plans import PARALLEL, pack_record
from ..ops.sampling import MODES, PADDINGS, TAPS, derivative, first_tap, raised
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .arranged import arranged_run, runs_as_it_lies
from .placing import zeros_plan

__all__: list[str] = []

COST = 1.0  # nanoseconds an element that is read


@late
def kernel(name: str, dtype: str, settings: Settings) -> int:
    """The address of one of the kernels."""
    return address(Program(name, sampling_kernel(name, dtype, settings), dtype, (), False, True))


def settings_of(attributes: dict) -> Settings:
    """What the attributes say.

    Raises:
        RangeError: an unknown mode or padding.
    """
    mode, padding, align, orders = (attributes[name] for name in ("interpolation", "outside", "align", "orders"))
    if mode not in MODES or mode == "bicubic" and len(orders) != 2:
        raise RangeError(f"grid_sample: mode is {mode!r}, expected 'bilinear', 'nearest' or, of two directions, 'bicubic'.")
    if padding not in PADDINGS:
        raise RangeError(f"grid_sample: padding_mode is {padding!r}, expected 'zeros', 'border' or 'reflection'.")
    return Settings(mode, padding, align, orders)


def check(wide: Layout, grid: Layout, ndim: int) -> None:
    """Operands that go together; ``wide`` has channels.

    Raises:
        ShapeError, DTypeError: others.
    """
    shape = wide.shape
    if ndim not in (2, 3) or wide.ndim != ndim + 2 or grid.ndim != ndim + 2 or grid.shape[0] != shape[0] or grid.shape[-1] != ndim:
        raise ShapeError(
            f"grid_sample: input is {list(shape)}, grid {list(grid.shape)}, expected (n, c, h, w) and (n, ..., 2), "
            "or (n, c, d, h, w) and (n, ..., 3)."
        )
    if grid.dtype is not wide.dtype or not wide.dtype.is_floating_point:
        raise DTypeError(f"grid_sample: input is {wide.dtype}, grid {grid.dtype}, expected one floating dtype.")


def sizes_of(name: str, layouts: tuple[Layout, ...], attributes: dict) -> tuple[int, ...]:
    """The sizes of what is looked up in.

    Raises:
        ShapeError: no elements.
    """
    sizes = tuple(attributes["sizes"]) if name == "grid_spread" else layouts[-2].shape[2:]
    if 0 in sizes:
        raise ShapeError(f"grid_sample: input is {[*layouts[-2].shape[:2], *sizes]}, expected elements.")
    return sizes


def result_of(name: str, layouts: tuple[Layout, ...], sizes: tuple[int, ...]) -> Layout:
    """The layout of what is computed."""
    first, grid = layouts[0], layouts[-1]
    if name == "grid_slopes":
        return grid.like()
    return first.like(None, (*first.shape[:2], *(sizes if name == "grid_spread" else grid.shape[1:-1])))


@lowering("grid_sample", "grid_spread", "grid_slopes")
def _sampling(op, layouts, attributes):
    settings = settings_of(attributes)
    check(layouts[0], layouts[-1], settings.ndim)
    sizes = sizes_of(op.name, layouts, attributes)
    if not all(map(runs_as_it_lies, layouts)):
        return arranged_run(_sampling, op, layouts, attributes)
    out, grid = result_of(op.name, layouts, sizes), layouts[-1]
    if not out.numel or op.name == "grid_slopes" and not raised(settings.mode, settings.orders):
        return zeros_plan(out, *layouts)
    if math.prod(sizes) >= INDICES[out.dtype.name][1]:
        return in_steps
    (samples, channels), places, taps = layouts[0].shape[:2], math.prod(grid.shape[1:-1]), len(TAPS[settings.mode]) ** settings.ndim
    parts = max(-(-channels // GROUP) if op.name == "grid_spread" else -(-places // BLOCK), 1)
    each = taps * max(places * channels // parts, 1)
    claim, shared_from = thread_shares(COST)
    flags = PARALLEL if samples * parts * each >= shared_from else 0
    words = (channels, places, math.prod(sizes), parts, *reversed(sizes))
    code = kernel(op.name, out.dtype.name, settings)
    record = pack_record(code, samples * parts, max(1, claim // each), 1, (0,) * len(layouts), flags, words)
    return GeneralPlan(record, (out.template,), layouts)


# ---- in other operations ---------------------------------------------------------------------------------------------------


@lowering("grid_sample", "grid_spread", "grid_slopes", style="run", device="cuda")
def in_steps(op, tensors, attributes):
    """The same by other operations, on any device."""
    settings, layouts = settings_of(attributes), tuple([x.layout for x in tensors])
    check(layouts[0], layouts[-1], settings.ndim)
    sizes = sizes_of(op.name, layouts, attributes)
    out = result_of(op.name, layouts, sizes)
    if not out.numel or not all(each.numel for each in layouts):
        return CALLS["new_full"](out, 0)
    dtype = float32 if out.dtype.itemsize == 2 else out.dtype
    wide = [CALLS["to_dtype"](x, dtype) for x in tensors]
    flat = [CALLS["reshape"](x, (*x.layout.shape[:2], -1)) for x in wide[:-1]]
    made = STEPS[op.name](settings, sizes, *flat, wide[-1])
    return CALLS["to_dtype"](CALLS["reshape"](made, out.shape), out.dtype)


def sampled(settings: Settings, sizes: tuple[int, ...], x: Tensor, grid: Tensor) -> Tensor:
    """``grid_sample`` of ``(n, c, elements)``: ``(n, c, places)``."""
    index, weight = taps_of(settings, sizes, grid)
    return (gathered(x, index) * CALLS["unsqueeze"](weight, 1)).sum(2)


def gathered(x: Tensor, index: Tensor) -> Tensor:
    """The elements of every choice of taps, ``(n, c, choices, places)``; 0 outside."""
    samples, choices, places = index.layout.shape
    rows = CALLS["reshape"](index.clamp(min=0), (samples, 1, choices * places))
    found = CALLS["gather"](x, 2, CALLS["expand_shape"](rows, (samples, x.layout.shape[1], choices * places)))
    found = CALLS["reshape"](found, (samples, x.layout.shape[1], choices, places))
    return CALLS["where"](CALLS["unsqueeze"](index >= 0, 1), found, 0.0)


def spread(settings: Settings, sizes: tuple[int, ...], given: Tensor, grid: Tensor) -> Tensor:
    """``grid_spread``: ``(n, c, elements)``."""
    index, weight = taps_of(settings, sizes, grid)
    (samples, choices, places), channels = index.layout.shape, given.layout.shape[1]
    parts = CALLS["unsqueeze"](given, 2) * CALLS["unsqueeze"](weight, 1)
    parts = CALLS["where"](CALLS["unsqueeze"](index >= 0, 1), parts, 0.0)
    rows = CALLS["reshape"](index.clamp(min=0), (samples, 1, choices * places))
    rows = CALLS["expand_shape"](rows, (samples, channels, choices * places))
    shape = samples, channels, math.prod(sizes)
    return CALLS["gather_backward"](CALLS["reshape"](parts, rows.layout.shape), shape, 2, rows)


def slopes(settings: Settings, sizes: tuple[int, ...], given: Tensor, x: Tensor, grid: Tensor) -> Tensor:
    """``grid_slopes``: ``(n, places, dimensions)``."""
    by = dict(raised(settings.mode, settings.orders))
    found = [(given * sampled(settings._replace(orders=by[d]), sizes, x, grid)).sum(1) for d in by]
    none = CALLS["new_full"](given.layout.like(None, (given.layout.shape[0], given.layout.shape[2])), 0)
    made = dict(zip(by, found))
    return CALLS["stack"]([made.get(d, none) for d in range(settings.ndim)], -1)


STEPS: dict[str, Callable[..., Tensor]] = {"grid_sample": sampled, "grid_spread": spread, "grid_slopes": slopes}


def taps_of(settings: Settings, sizes: tuple[int, ...], grid: Tensor) -> tuple[Tensor, Tensor]:
    """The element of every choice of taps, -1 outside, and its weight: ``(n, choices, places)``."""
    index, weight, step = None, None, 1
    for d, size in enumerate(reversed(sizes)):
        at = CALLS["reshape"](CALLS["select"](grid, -1, d), (grid.layout.shape[0], -1))
        found, weights = one_dimension(settings, d, at, size)
        offsets = CALLS["where"](found >= 0, found * step, -1)
        index = offsets if index is None else choices(index, offsets, both)
        weight = weights if weight is None else choices(weight, weights, CALLS["mul"])
        step *= size
    assert index is not None and weight is not None
    return index, weight


def choices(own: Tensor, further: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """What the taps of some dimensions say, combined with those of a further one for every choice of both."""
    made = combine(CALLS["unsqueeze"](own, 1), CALLS["unsqueeze"](further, 2))
    samples, _, _, places = made.layout.shape
    return CALLS["reshape"](made, (samples, -1, places))


def both(index: Tensor, offsets: Tensor) -> Tensor:
    """The sum of offsets, -1 where one is outside."""
    return CALLS["where"]((index >= 0) & (offsets >= 0), index + offsets, -1)


def one_dimension(settings: Settings, d: int, at: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The element of each tap in one dimension, -1 outside, and its weight: ``(n, taps, places)``."""
    mode, order, last = settings.mode, settings.orders[d], size - 1
    scale = last / 2 if settings.align else size / 2
    at, turn = (at + 1) * scale - (0.0 if settings.align else 0.5), scale
    if settings.padding != "zeros" and mode != "bicubic":
        at, turn = moved_inside(settings, at, size, scale)
    before = at.round() if mode == "nearest" else at.floor()
    part, count, places, weights = at - before, len(TAPS[mode]), [], []
    for t in range(count):
        tap = before + (t + first_tap(mode))
        if settings.padding != "zeros" and mode == "bicubic":
            tap = moved_inside(settings, tap, size, 1.0)[0]
        known = (tap >= 0) & (tap <= last)
        places.append(CALLS["where"](known, CALLS["to_dtype"](CALLS["where"](known, tap, 0.0), int64), -1))
        weights.append(horner(derivative(mode, t, order), part) * turn**order)
    return CALLS["stack"](places, 1), CALLS["stack"](weights, 1)


def horner(coefficients: tuple[float, ...], part: Tensor) -> Tensor:
    """A polynomial; of no coefficients 0."""
    return reduce(lambda found, c: found * part + c, reversed(coefficients), part * 0)


def moved_inside(settings: Settings, at: Tensor, size: int, scale: float) -> tuple[Tensor, Any]:
    """A coordinate moved inside, NaN to 0, and how many elements a step of the grid moves it."""
    last, turn = size - 1.0, scale
    if settings.padding == "reflection":
        edge, span = (0.0, last) if settings.align else (-0.5, float(size))
        away = (at - edge).abs()
        flips = (away / span).floor()
        rest = away - flips * span
        odd = flips % 2 == 1
        turn = CALLS["where"](odd, -scale, scale) * CALLS["where"](at < edge, -1.0, 1.0)
        at = CALLS["where"](odd, span - rest, rest) + edge
    turn = CALLS["where"]((at > 0) & (at < last), turn, 0.0)
    return CALLS["where"](at > 0, at, 0.0).clamp(max=last), turn
