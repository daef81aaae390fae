"""Convolutions: kernels over planes (``templates/convolve``) on the CPU; elsewhere, and of other numbers, products of windows."""

from __future__ import annotations

import math
from functools import lru_cache
from operator import attrgetter
from typing import Any

from ..base.bounded import MOST_PLANS
from ..base.calls import CALLS
from ..base.dtypes import DType, float32
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..native.plans import PARALLEL, pack_record
from ..ops.convolution import in_pairs
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native
from .arranged import behind_copies
from .convolution_depthwise import depthwise_plan, is_depthwise
from .convolution_panels import by_panels, panel_plans
from .convolution_sizes import (
    LARGE,
    Geometry,
    geometry_of,
    header,
    in_three,
    plane_tables,
    result_shape,
    rounded,
    share_of,
    sixteens,
)

__all__ = ["in_windows"]

# Elements of a piece of a run, of which four rows stay in the nearest cache.
PIECE = 1024
# Channels from which a kernel of one element is a product of matrices.
MATRICES_FROM = 64
# Elements of windows that are written out at a time.
WINDOWS = 1 << 24


@late
def kernel(which: str, dtype: str, step: int) -> int:
    """The address of one of the kernels."""
    from ..kernels.templates.convolve import convolution_kernel  # not by an import

    function, bindings = convolution_kernel(which, dtype, step)
    sums = which == "convolve_weight"
    return address(Program(which, function, dtype, bindings, sums, True, sums))


def is_product(geometry: Geometry) -> bool:
    """Whether each image is a product of matrices as they lie, of a size for which BLAS is quicker than sums over planes."""
    alone = geometry.long == geometry.short and max(geometry.kernel) == max(geometry.stride) == 1 and not any(geometry.padding)
    return alone and geometry.groups == 1 and min(geometry.channels, geometry.heads) >= MATRICES_FROM


@lru_cache(maxsize=MOST_PLANS)
def plan_of(name: str, layouts: tuple[Layout, ...], *values: Any) -> tuple[GeneralPlan | None, GeneralPlan] | None:
    """What writes the weight as the launch reads it, if anything, and the launch, for contiguous real operands.

    A second result of the launch is memory to work in. None for other operands, and for empty results.
    """
    first = layouts[0]
    attributes = dict(zip(WEIGHT_ATTRIBUTES if name == "conv_weight" else ATTRIBUTES, values))
    if first.dtype.name not in ("float32", "float64"):
        return None
    if any(x.neg or not x.contiguous or not x.numel for x in layouts):
        return None
    transposed = attributes.get("transposed", False)
    geometry = geometry_of(name, layouts, attributes)
    shape = result_shape(name, geometry, transposed)
    if len(geometry.long) > 3 or 0 in shape:
        return None
    which = "convolve_weight" if name == "conv_weight" else "convolve_transposed" if transposed else "convolve"
    if is_depthwise(geometry):
        return None, depthwise_plan(which, geometry, layouts, shape)
    if by_panels(geometry, which, first.dtype.name):
        return panel_plans(which, geometry, layouts, shape)
    return None if name != "conv_weight" and is_product(geometry) else plane_plans(which, geometry, layouts, shape)


def plane_plans(
    which: str, geometry: Geometry, layouts: tuple[Layout, ...], shape: tuple[int, ...]
) -> tuple[GeneralPlan | None, GeneralPlan]:
    """What turns the weight, if it does not lie as it is read, and the launch of a kernel over planes."""
    first = layouts[0]
    tables, sizes, planes, reach, longest = plane_tables(geometry)
    sums = which == "convolve_weight"
    long, short, stride = (in_three(each, 1) for each in (geometry.long, geometry.short, geometry.stride))
    size, taps, channels, heads = first.dtype.itemsize, math.prod(geometry.kernel), geometry.channels, geometry.heads
    plane, run = math.prod(sizes), ((short[0] - 1) * sizes[1] + short[1] - 1) * sizes[2] + short[2]
    as_it_lies = which != "convolve_transposed" and max(stride) == 1 and not any(geometry.padding) and sizes == long
    as_it_lies = as_it_lies and (sums or run == sixteens(run))
    if not as_it_lies:  # what is read and computed beyond is left out: no loop has a rest
        run = max(longest, 16) if which == "convolve_transposed" else sixteens(run)
    piece = min(PIECE, run)
    block = planes * plane + 16
    table = 16 * (heads if which == "convolve_transposed" else channels) * taps
    if which == "convolve_transposed":
        rows, wide = 4 * piece * size, (heads * (reach + plane) + 16) * size
    else:
        rows, wide = (heads * sixteens(plane) if sums else 4 * piece) * size, 0 if as_it_lies else channels * block * size
    begin = rounded(table)
    memory = begin + rounded(rows) + rounded(wide)
    rows_of = channels if which == "convolve_transposed" else heads
    items, share, parts = share_of(geometry, which, memory, rows_of // 8)
    units = -(-items // share)
    words = header(
        geometry, sizes, planes, memory, (items, share, parts), len(layouts) > 2, as_it_lies, begin, begin + rounded(rows)
    )
    words[21], words[25], words[28] = run, piece, reach
    words += tables
    shape = (units, *shape) if which == "convolve_weight" and units > 1 else shape
    out, space = first.like(shape=shape), layout_of(first.dtype, (units * memory // size,), None, first.device)
    flags = PARALLEL if geometry.work >= LARGE else 0
    code = kernel(which, first.dtype.name, 1 if which == "convolve_transposed" else min(stride[2], 3))
    record = pack_record(code, units, 1, 2, (0,) * len(layouts), flags, words)
    before = turning_plan(layouts[1], geometry.groups) if which == "convolve_transposed" else None
    return before, GeneralPlan(record, (out.template, space.template), layouts)


ATTRIBUTES = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
WEIGHT_ATTRIBUTES = ("kernel", "stride", "padding", "dilation", "groups")


@late
def turning(dtype: str) -> int:
    """The address of the kernel that turns weights."""
    from ..kernels.templates.convolve import turning_kernel  # not by an import

    return address(Program("turned_weights", turning_kernel(dtype), dtype, apart=True))


@lru_cache(maxsize=MOST_PLANS)
def turning_plan(weight: Layout, groups: int) -> GeneralPlan | None:
    """The launch that writes a weight as the transpose reads it; None where it lies so."""
    heads, channels, *size = weight.shape
    if heads == groups or channels == 1:
        return None
    words = [channels, heads // groups, math.prod(size)]
    flags = PARALLEL if weight.numel >= LARGE else 0
    record = pack_record(turning(weight.dtype.name), groups * channels, 1, 1, (0,), flags, words)
    return GeneralPlan(record, (weight.template,), (weight,))


def run_plans(plans: tuple[GeneralPlan | None, GeneralPlan], tensors: tuple[Tensor, ...]) -> Tensor:
    """The result of launches; sums of a weight that come in parts are added up."""
    before, plan = plans
    if before is not None:
        tensors = (tensors[0], native.fresh(before, tensors[1]), *tensors[2:])
    made = native.fresh(plan, *tensors)
    out = made[0] if len(plan.outs) > 1 else made  # the other is memory to work in
    return out if out.layout.ndim == tensors[0].layout.ndim else CALLS["sum"](out, 0)


@lowering("conv", "conv_bias", "conv_weight", style="run")
def _convolution(op, tensors, attributes):
    values = tuple(attributes.values())
    plans = plan_of(op.name, tuple([x.layout for x in tensors]), *values)
    if plans is not None:
        return run_plans(plans, tensors)
    if not all(x.layout.contiguous for x in tensors):
        return _convolution(op, tuple([CALLS["contiguous_copy"](x) for x in tensors]), attributes)
    return in_windows(op, tensors, attributes)


@prepared("conv", "conv_bias", "conv_weight")
def _quick_convolution(op, layouts, attributes):
    count, given = len(layouts), tuple(attributes.values())
    lying, copied = behind_copies(layouts, attrgetter("contiguous"))
    plans = plan_of(op.name, lying, *given)
    return None if plans is None else lambda *values: run_plans(plans, copied(values[:count]))


# ---- by products of windows --------------------------------------------------------------------------------------------


@lowering("conv", "conv_bias", "conv_weight", style="run", device="cuda")
def in_windows(op, tensors, attributes):
    """The same by products of matrices, on any device and of any numbers; half types are computed in single precision."""
    dtype: DType = tensors[0].layout.dtype
    if dtype.compute != dtype.name:
        wide = op_call(op, tuple([CALLS["to_dtype"](x, float32) for x in tensors]), attributes)
        return CALLS["to_dtype"](wide, dtype)
    geometry = geometry_of(op.name, tuple([x.layout for x in tensors]), attributes)
    transposed = attributes.get("transposed", False)
    shape = result_shape(op.name, geometry, transposed)
    if 0 in shape or not all(x.layout.numel for x in tensors[:2]):
        out = CALLS["new_full"](tensors[0].layout.like(shape=shape), 0)
    elif op.name == "conv_weight":
        out = weight_of_windows(*tensors, geometry)
    elif is_product(geometry):
        out = product_of_images(*tensors[:2], transposed, shape)
    elif transposed:
        out = transposed_windows(*tensors[:2], geometry)
    else:
        out = sum_of_windows(*tensors[:2], geometry)
    return CALLS["add"](out, per_channel(tensors[2], len(geometry.long))) if len(tensors) > 2 else out


def op_call(op, tensors: tuple, attributes: dict) -> Tensor:
    """The call of an operation."""
    return CALLS[op.name](*tensors, *attributes.values())


def per_channel(bias: Tensor, count: int) -> Tensor:
    """A bias as it broadcasts to ``(batch, channels, *)``."""
    return CALLS["view_shape"](bias, (bias.layout.numel, *(1,) * count))


def product_of_images(x: Tensor, weight: Tensor, transposed: bool, shape: tuple[int, ...]) -> Tensor:
    """The convolution, or its transpose, by a kernel of one element: ``weight @ image`` of each image."""
    rows, columns = weight.layout.shape[:2]
    weight = CALLS["view_shape"](weight, (rows, columns))
    images = CALLS["view_shape"](CALLS["contiguous_copy"](x), (*x.layout.shape[:2], math.prod(shape[2:])))
    return CALLS["view_shape"](CALLS["matmul"](CALLS["t"](weight) if transposed else weight, images), shape)


def windows_of(x: Tensor, geometry: Geometry) -> Tensor:
    """``(batch, groups, channels, *short, *kernel)``: what the kernel meets at every place, a view of the padded input."""
    batch, groups, channels, _, long, short, kernel, stride, padding, dilation = geometry
    x = CALLS["view_shape"](CALLS["contiguous_copy"](x), (batch, groups, channels, *long))
    if any(padding):
        x = CALLS["zero_pad"](x, in_pairs(padding))
    return met(x, 3, short, kernel, stride, dilation)


def met(x: Tensor, first: int, short: tuple, kernel: tuple, stride: tuple, dilation: tuple) -> Tensor:
    """What a kernel meets at its places, which the dimensions from ``first`` on are; those of the kernel are the last. A view."""
    for dim, (count, k, s, d) in enumerate(zip(short, kernel, stride, dilation), first):
        x = CALLS["slice"](CALLS["unfold"](x, dim, d * (k - 1) + 1, s), dim, 0, count, 1)
        x = CALLS["slice"](x, -1, 0, d * (k - 1) + 1, d)
    return x


def images_at_a_time(geometry: Geometry) -> int:
    """How many images' windows are written out together."""
    each = geometry.groups * geometry.channels * math.prod(geometry.short) * math.prod(geometry.kernel)
    return max(1, WINDOWS // each)


def some_of(tensors: tuple, geometry: Geometry):
    """Few images at a time: ``(tensors, geometry)``."""
    step = images_at_a_time(geometry)
    for low in range(0, geometry.batch, step):
        high = min(low + step, geometry.batch)
        yield tuple([CALLS["slice"](x, 0, low, high, 1) for x in tensors]), geometry._replace(batch=high - low)


def sum_of_windows(x: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """The convolution, few images at a time."""
    _, groups, channels, heads, _, short, kernel, *_ = geometry
    n, depth, places, made = len(short), channels * math.prod(kernel), math.prod(short), []
    rows = CALLS["reshape"](weight, (groups, heads, depth))
    order = (0, 1, 2, *range(3 + n, 3 + 2 * n), *range(3, 3 + n))
    for (some,), part in some_of((x,), geometry):
        columns = CALLS["reshape"](CALLS["permute_dims"](windows_of(some, part), order), (part.batch, groups, depth, places))
        made.append(CALLS["reshape"](CALLS["matmul"](rows, columns), (part.batch, groups * heads, *short)))
    return made[0] if len(made) == 1 else CALLS["cat"](made, 0)


def transposed_windows(y: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """The transpose: a convolution of the short side, with zeros between and around its elements, by the kernel turned round."""
    batch, groups, channels, heads, long, short, kernel, stride, padding, dilation = geometry
    n, around = len(short), []
    for dim, (count, s) in enumerate(zip(short, stride), 2):
        if s > 1 and count > 1:
            size = (count - 1) * s + 1
            shape = (*y.layout.shape[:dim], size, *y.layout.shape[dim + 1 :])
            y = CALLS["slice_backward"](y, shape, dim, 0, size, s)
    spread = y.layout.shape[2:]
    for size, wide, k, p, d in zip(long, spread, kernel, padding, dilation):
        around.append((d * (k - 1) - p, size + p - wide))
    y = CALLS["zero_pad"](y, tuple(each for pair in reversed(around) for each in pair))
    turned = CALLS["transpose"](CALLS["reshape"](weight, (groups, heads, channels, *kernel)), 1, 2)
    turned = CALLS["flip_dims"](turned, tuple(range(3, 3 + n)))
    turned = CALLS["reshape"](turned, (groups * channels, heads, *kernel))
    ones, none = (1,) * n, (0,) * n
    return sum_of_windows(
        y, turned, Geometry(batch, groups, heads, channels, y.layout.shape[2:], long, kernel, ones, none, dilation)
    )


def weight_of_windows(x: Tensor, y: Tensor, geometry: Geometry) -> Tensor:
    """Products of both sides, few images at a time."""
    _, groups, channels, heads, _, short, kernel, *_ = geometry
    n, depth, places, total = len(short), channels * math.prod(kernel), math.prod(short), None
    order = (1, 0, *range(3, 3 + n), 2, *range(3 + n, 3 + 2 * n))
    for (some, others), part in some_of((x, y), geometry):
        columns = CALLS["reshape"](CALLS["permute_dims"](windows_of(some, part), order), (groups, part.batch * places, depth))
        rows = CALLS["reshape"](others, (part.batch, groups, heads, places))
        rows = CALLS["reshape"](CALLS["permute_dims"](rows, (1, 2, 0, 3)), (groups, heads, part.batch * places))
        made = CALLS["matmul"](rows, columns)
        total = made if total is None else CALLS["add"](total, made)
    return CALLS["reshape"](total, (groups * heads, channels, *kernel))
