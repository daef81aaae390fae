"""Random numbers on a GPU: the CPU's, of the same seed and call."""

from __future__ import annotations

from ...dispatch.device_plans import device_record
from ...dispatch.lowerings import GeneralPlan
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.random import random_fill, random_grid, random_source
from ...kernels.cuda.steps import Number, Step, Steps, out
from ...tensors.layout import Layout

__all__ = ["random_on_gpu"]


def nothing(x):
    """The scalar function of kernels that take none."""
    return x


def random_on_gpu(distribution: str, layout: Layout, codes: tuple[int, ...]) -> GeneralPlan:
    """The launch that fills a row-major layout; see ``random_plan``."""
    dtype = layout.dtype.name
    recipe = Recipe(random_fill(distribution, dtype), nothing, dtype, random_source(distribution, dtype))
    step = Step(recipe, random_grid(layout.numel, dtype), (out(),), (Number(2), Number(3)), (layout.numel, Number(0), Number(1)))
    return GeneralPlan(device_record(Steps((step,)), (layout,), codes), (layout.template,), (None,) * 4)
