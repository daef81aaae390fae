"""Random numbers on a GPU: the CPU's, of the same seed and call."""

from __future__ import annotations

from functools import lru_cache

from ...base.calls import CALLS
from ...base.dtypes import bool_, float64, int64
from ...base.errors import RangeError
from ...dispatch.device_copies import with_single
from ...dispatch.device_formulas import bound
from ...dispatch.device_plans import device_record
from ...dispatch.device_requirements import require
from ...dispatch.elementwise_plans import forward_formula
from ...dispatch.lowerings import GeneralPlan
from ...kernels.cuda.access import compute_dtype
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.random import random_fill, random_grid, random_keep, random_source
from ...kernels.cuda.steps import Number, Step, Steps, operand, out
from ...kernels.cuda.templates import array, number
from ...kernels.templates.philox import numbers_of_block, parameters_dtype
from ...native.plans import NUMBER_CODES
from ...ops.core import OPS
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor

__all__ = ["chosen_on_gpu", "dropout_on_gpu", "random_on_gpu", "weights_on_gpu"]


def nothing(x):
    """The scalar function of kernels that take none."""
    return x


def random_on_gpu(distribution: str, layout: Layout) -> GeneralPlan:
    """The launch that fills a row-major layout; see ``random_plan``."""
    dtype = layout.dtype.name
    number = parameters_dtype(dtype)
    recipe = Recipe(random_fill(distribution, dtype), nothing, number, random_source(distribution, dtype))
    counts = layout.numel, Number(0), Number(1), Number(2)
    step = Step(recipe, random_grid(layout.numel, dtype), (out(),), (Number(3), Number(4)), counts)
    codes = *[NUMBER_CODES["int64"]] * 3, *[NUMBER_CODES[number]] * 2
    return GeneralPlan(device_record(Steps((step,)), (layout,), codes), (layout.template,), (None,) * 5)


@lru_cache(maxsize=256)
def dropout_on_gpu(x: Layout) -> GeneralPlan:
    """The launch that drops elements of a contiguous layout: results are what stays, scaled, and where it does, as
    ``kept_scaled`` of a mask that is drawn first. Operands: x, the words of a call, the probability that elements stay, and their
    factor.
    """
    dtype, compute = x.dtype.name, compute_dtype(x.dtype.name)
    kinds = (array(dtype), array("bool"), number(compute))
    made = bound("kept_scaled", forward_formula(OPS["kept_scaled"]), compute, kinds, (dtype,))
    outs = x, layout_of(bool_, x.shape, x.strides, x.device)

    def step(lanes: int) -> Step:
        recipe = Recipe(random_keep(dtype, lanes), made.operation.scalar, compute, random_source("bernoulli", "bool"))
        counts = x.numel, Number(1), Number(2), Number(3)
        return Step(recipe, random_grid(x.numel, "bool"), (out(), out(1), operand()), (Number(4), Number(5)), counts)

    codes = 0, *[NUMBER_CODES["int64"]] * 3, *[NUMBER_CODES[compute]] * 2
    record = device_record(Steps((with_single(step, numbers_of_block("bool")),)), outs, codes)
    return GeneralPlan(record, tuple([each.template for each in outs]), (x, *[None] * 5))


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
        return CALLS["contiguous"](CALLS["slice"](order, 1, 0, count))
    totals = CALLS["scan_sum"](weights, 1, None, False)
    found = CALLS["insertion_places"](totals, CALLS["mul"](numbers, CALLS["slice"](totals, 1, size - 1, size)), True)
    # The product may round up to the total, beyond the last index that has a weight.
    ones = CALLS["to_dtype"](CALLS["ge"](weights, 0.0), int64)
    places = CALLS["sub"](CALLS["scan_sum"](ones, 1, None, False), 1)
    return CALLS["minimum"](found, CALLS["amax"](CALLS["mul"](places, CALLS["gt"](weights, 0.0)), 1, True))
