"""Random numbers on a GPU: the CPU's, of the same seed and call."""

from __future__ import annotations

from ...base.calls import CALLS
from ...base.dtypes import float64, int64
from ...base.errors import RangeError
from ...dispatch.device_plans import device_record
from ...dispatch.lowerings import GeneralPlan
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.random import random_fill, random_grid, random_source
from ...kernels.cuda.steps import Number, Step, Steps, operand, out
from ...kernels.templates.philox import parameters_dtype
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor
from .requirements import require

__all__ = ["chosen_on_gpu", "random_on_gpu", "weights_on_gpu"]


def nothing(x):
    """The scalar function of kernels that take none."""
    return x


def random_on_gpu(distribution: str, layout: Layout, codes: tuple[int, ...], captured: bool) -> GeneralPlan:
    """The launch that fills a row-major layout; see ``random_plan``."""
    dtype = layout.dtype.name
    recipe = Recipe(random_fill(distribution, dtype), nothing, parameters_dtype(dtype), random_source(distribution, dtype))
    seed, base = (0, operand(0)) if captured else (Number(0), 0)
    counts = layout.numel, seed, Number(1), base
    step = Step(recipe, random_grid(layout.numel, dtype), (out(),), (Number(2), Number(3)), counts)
    words = layout_of(int64, (2,), None, layout.device) if captured else None
    codes = (0, *codes[1:]) if captured else codes
    return GeneralPlan(device_record(Steps((step,)), (layout,), codes), (layout.template,), (words, None, None, None))


def weights_on_gpu(x: Tensor) -> Tensor:
    """The weights in float64, a row each.

    Raises:
        RangeError: there are none to choose by; when the program next waits for the GPU.
    """
    weights = CALLS["contiguous_copy"](CALLS["to_dtype"](x, float64))
    weights = CALLS["view_shape"](weights, (-1, x.layout.shape[-1]))
    good = CALLS["logical_and"](CALLS["isfinite"](weights), CALLS["ge"](weights, 0.0))
    some = CALLS["any"](CALLS["gt"](weights, 0.0), 1, True)
    holds = CALLS["all"](CALLS["logical_and"](good, some), None, False)
    require(holds, RangeError, "multinomial: weights must be finite and >= 0, and one in each row > 0.")
    return weights


def chosen_on_gpu(weights: Tensor, numbers: Tensor, count: int, replacement: bool) -> Tensor:
    """The indices that random numbers choose by weights, a row each: as ``chosen_indices`` of methods/random.py."""
    size = weights.layout.shape[1]
    if not replacement:
        order = CALLS["argsort"](CALLS["neg"](CALLS["div"](weights, numbers)), 1, False, True)
        return CALLS["slice"](order, 1, 0, count)
    totals = CALLS["scan_sum"](weights, 1, None, False)
    found = CALLS["insertion_places"](totals, CALLS["mul"](numbers, CALLS["slice"](totals, 1, size - 1, size)), True)
    # The product may round up to the total, beyond the last index that has a weight.
    ones = CALLS["to_dtype"](CALLS["ge"](weights, 0.0), int64)
    places = CALLS["sub"](CALLS["scan_sum"](ones, 1, None, False), 1)
    return CALLS["minimum"](found, CALLS["amax"](CALLS["mul"](places, CALLS["gt"](weights, 0.0)), 1, True))
