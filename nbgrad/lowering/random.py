"""Lowerings that draw random numbers: which kernel, and which part of the generator's sequence a call uses. See NOTE [Counter] in
kernels/templates/philox.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import bfloat16, bool_, float16, float32, float64, int64
from ..base.errors import DTypeError
from ..base.grad_mode import mode, traces
from ..creation.allocation import empty_of, layout_like
from ..creation.generators import Generator, generator_of
from ..dispatch.elementwise_plans import find_plan
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..dispatch.operands import gradient_mask
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..modes.batched import wrap_batched
from ..modes.traced import capture_of_thread
from ..native.plans import NUMBER_CODES, PARALLEL, complete, pack_record
from ..ops.core import OPS
from ..tensors.batch_levels import open_levels, random_levels
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native

__all__ = ["draw", "drawn", "random_plan"]

# Blocks from which threads pay, and that one claims at once.
PARALLEL_FROM, GRAIN = 1 << 12, 1 << 10


@late
def kernel(distribution: str, dtype: str) -> int:
    """Address of the kernel of a distribution at float32, float64 or int64."""
    from ..kernels.templates import philox  # not by an import

    loop, number = philox.fill_four if philox.numbers_of_block(dtype) == 4 else philox.fill_two, philox.parameters_dtype(dtype)
    of = philox.DISTRIBUTIONS[distribution, dtype]
    bindings = (("distribution", of), ("p_out", philox.POINTERS[dtype]), ("p_number", philox.POINTERS[number]))
    return address(Program(distribution, loop, number, bindings))


@lru_cache(maxsize=1024)
def random_plan(distribution: str, layout: Layout) -> GeneralPlan:
    """The launch that fills a row-major layout; its operands are the words of a call, as ``Generator.reserve`` gives them, and two
    parameters in the layout's dtype.
    """
    from ..kernels.templates.philox import numbers_of_block, parameters_dtype  # not by an import

    if layout.memory is not None:
        from .cuda.random import random_on_gpu

        return random_on_gpu(distribution, layout)
    dtype = layout.dtype.name
    blocks, number = -(-layout.numel // numbers_of_block(dtype)), NUMBER_CODES[parameters_dtype(dtype)]
    codes = (NUMBER_CODES["int64"], NUMBER_CODES["int64"], number, number)
    record = pack_record(
        kernel(distribution, dtype), blocks, GRAIN, 1, codes, PARALLEL if blocks >= PARALLEL_FROM else 0, (layout.numel,)
    )
    return GeneralPlan(record, (layout.template,), (None,) * 4)


def draw(distribution: str, layout: Layout, generator: Generator | None, a, b) -> Tensor:
    """A new tensor of random numbers; the one at row-major position k is the k-th of the call, whatever the strides.

    Half types are drawn in float32, integers in int64, and converted. Inside of vmap its randomness decides: see ``vmap``.
    """
    if open_levels and (levels := random_levels()):
        sizes = tuple(level.size for level in levels)
        return wrap_batched(drawn(distribution, layout.like(None, (*sizes, *layout.shape)), generator, a, b), levels)
    return drawn(distribution, layout, generator, a, b)


def drawn(distribution: str, layout: Layout, generator: Generator | None, a, b) -> Tensor:
    """The numbers of one call."""
    source = generator_of(generator, layout.device)
    trace: Any = capture_of_thread() if traces else None
    numbers = source.next_call() if trace is None else None
    if not layout.numel:
        if trace is not None:
            trace.draws.words(source)
        return empty_of(layout)
    dtype = layout.dtype
    work = int64 if distribution == "integers" else dtype if dtype in (float32, float64, bool_) else float32
    if distribution == "uniform" and dtype in (float16, bfloat16):
        distribution = f"uniform_{dtype.name}"  # fewer bits: none may round to 1
    target = layout if work is dtype and layout.contiguous else layout_of(work, layout.shape, None, layout.device)
    if numbers is None:
        out = trace.draws.numbers(distribution, target, source, a, b)
    else:
        out = native.fresh(random_plan(distribution, target), *numbers, a, b)
    if work is not dtype:
        out = CALLS["to_dtype"](out, dtype)
    return out if layout.contiguous else CALLS["clone_like"](out, layout)


@lowering("dropout_mask", style="run", device=None)
def _dropout_mask(op, tensors, attributes):
    layout = layout_like("dropout", tensors[0])
    if not layout.dtype.differentiable:
        raise DTypeError(f"dropout: expected a floating or complex tensor, got {layout.dtype}.")
    layout = layout_of(bool_, layout.shape, layout.strides, layout.device)
    return draw("bernoulli", layout, None, attributes["keep"], 0.0)


@prepared("dropout", on_gpu=True)
def _quick_dropout(op, layouts, attributes):
    """On a GPU one launch draws and multiplies, for a node of ``kept_scaled``."""
    (x,), p, training, inplace = layouts, attributes["p"], attributes["training"], attributes["inplace"]
    if x.memory is None or not (training is True and inplace is False and type(p) is float and 0 < p < 1):
        return None
    if not (x.numel and x.contiguous and x.dtype in (float32, float16, bfloat16)):
        return None
    from .cuda.random import dropout_on_gpu

    product, keep, factor = OPS["kept_scaled"], 1 - p, 1 / (1 - p)
    complete(dropout_on_gpu(x).record)  # the kernel is loaded now: the next call may be in a capture

    def quick(x, *rest):
        if open_levels:
            return None
        numbers = generator_of(None, x.layout.device).next_call()
        plan = dropout_on_gpu(x.layout)
        out, kept = native.fresh(plan, x, *numbers, keep, factor)
        if mode.enabled and (mask := gradient_mask(product, (x, kept, factor))):
            plan = find_plan(product, (x, kept, factor))
            plan.records[mask](plan, out, x, kept, factor)
        return out

    return quick
