"""Pools on a GPU: one launch, and of the cotangent of a maximum another one before, which says where the greatest elements are."""

from __future__ import annotations

import math

from ...kernels.cuda.moves import fits_32
from ...kernels.cuda.pools import fold_windows, greatest_places, pool_arguments, pool_recipe, spread_greatest, spread_means
from ...kernels.cuda.steps import Place, Step, Steps, out
from ...kernels.cuda.templates import strided_grid
from ...tensors.layout import Layout
from ..pooling import Windows, in_steps, result_of, windows_of
from .counts import Contiguous
from .registry import lowering

__all__: list[str] = []


class Pools:
    """The launches of one call."""

    def __init__(self, windows: Windows, x: Layout, rows: int):
        self.windows, self.dtype, self.rows = windows, x.dtype.name, rows
        self.ndim, self.adaptive = len(windows.long), not windows.kernel
        volume = rows * max(math.prod(windows.long), math.prod(windows.short))
        reach = max(windows.kernel, default=1) * max(windows.dilation, default=1) * max(windows.stride, default=1)
        # Bounds of adaptive windows are quotients by sizes, for which there are 64 bits.
        self.bits = 64 if self.adaptive else fits_32(volume + reach * max(windows.long))
        self.place = "int32" if fits_32(math.prod(windows.long)) == 32 else "int64"

    def step(self, make, fold: str, settings: tuple, result: tuple[int, ...], pointers: tuple[Place, ...], *values: float) -> Step:
        """A launch over a result of these sizes a row."""
        recipe = pool_recipe(make, fold, self.dtype, *settings, self.bits)
        counts = pool_arguments(self.rows, result, self.windows.long, self.windows.short, tuple(zip(*self.windows[2:6])))
        return Step(recipe, strided_grid(counts[0]), pointers, values, counts)

    def places(self, x: Place, to: Place, dtype: str, least: int) -> Step:
        """Where the greatest elements of windows are."""
        return self.step(greatest_places, "amax", (dtype, self.ndim, self.adaptive, least), self.windows.short, (to, x))


@lowering("max_pool", "max_pool_places", "max_pool_spread", "avg_pool", "avg_pool_spread")
def _pool(op, layouts, attributes):
    windows, x = windows_of(op.name, layouts, attributes), layouts[0]
    result, rows = result_of(op, layouts, windows), math.prod(x.shape[: x.ndim - len(windows.long)])
    if not result.numel or not x.numel:
        return in_steps
    pools, dense = Pools(windows, x, rows), Contiguous()
    here, kind = dense.place(x, 0), (pools.ndim, pools.adaptive)
    if op.name == "max_pool":
        last = pools.step(fold_windows, "amax", (*kind, False, False), windows.short, (out(), here))
    elif op.name == "max_pool_places":
        last = pools.places(here, out(), "int64", 0)
    elif op.name == "avg_pool":
        last = pools.step(fold_windows, "sum", (*kind, True, windows.counted), windows.short, (out(), here), float(windows.divisor))
    elif op.name == "avg_pool_spread":
        last = pools.step(spread_means, "sum", (*kind, windows.counted), windows.long, (out(), here), float(windows.divisor))
    else:
        places = dense.space.take(x.numel * (4 if pools.place == "int32" else 8))
        dense.steps.append(pools.places(dense.place(layouts[1], 1), places, pools.place, -1))
        last = pools.step(spread_greatest, "sum", (pools.place, *kind), windows.long, (out(), here, places))
    return (result,), Steps((*dense.steps, last), dense.space.size)
