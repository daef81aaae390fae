"""Convolutions of many channels by kernels over panels: NOTE [Panels] of ``templates/convolve_panels``; CPU."""

from __future__ import annotations

import math
from functools import lru_cache

from ..base.bounded import MOST_PLANS
from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout, layout_of
from .convolution_sizes import LARGE, Geometry, header, in_three, plane_tables, rounded, share_of

__all__ = ["by_panels", "panel_plans"]

# Bytes of a panel's weights that stay in the nearest cache; places of a panel whose terms follow one another, of small images.
NEAREST, PLACES = 20480, 512
# Weights whose sums units share by panels, not by images, each of which would have all of them; into how many parts at most.
HEAVY, MOST_PARTS = 1 << 16, 4
# What a convolution must have: terms of a sum, numbers of a row or channels, and what part of the last vector's channels.
LEAST_TERMS, LEAST_ROW, LEAST_CHANNELS, FULL = 32, 4, 8, 0.75


@late
def kernel(which: str, dtype: str, step: int) -> int:
    """The address of one of the kernels."""
    from ..kernels.templates.convolve_panels import panel_convolution_kernel  # not by an import

    function, bindings = panel_convolution_kernel(which, dtype, step)
    return address(Program(f"{which}_by_panels", function, dtype, bindings, apart=True))


@late
def panels(dtype: str) -> int:
    """The address of the kernel that writes weights as panels."""
    from ..kernels.templates.convolve_panels import panels_kernel  # not by an import

    function, bindings = panels_kernel(dtype)
    return address(Program("weight_panels", function, dtype, bindings, apart=True))


def width_of(dtype: str) -> int:
    """How many channels a panel has."""
    from ..kernels.templates.tiles import panel_width  # not by an import

    return panel_width(dtype)


def side_of(geometry: Geometry, which: str) -> int:
    """The channels that vectors have."""
    return geometry.channels if which == "convolve_transposed" else geometry.heads


def by_panels(geometry: Geometry, which: str, dtype: str) -> bool:
    """Whether the kernels over panels are quicker than those over planes."""
    side, vector = side_of(geometry, which), width_of(dtype) // 2
    if side < FULL * vector * -(-side // vector):
        return False
    if which == "convolve_weight":
        return geometry.channels >= LEAST_CHANNELS
    row = geometry.long[-1] // geometry.stride[-1] if which == "convolve_transposed" else geometry.short[-1]
    terms = math.prod(geometry.kernel) * (geometry.channels + geometry.heads - side)
    return row >= LEAST_ROW and terms >= LEAST_TERMS


@lru_cache(maxsize=MOST_PLANS)
def panels_plan(weight: Layout, geometry: Geometry, transposed: bool) -> GeneralPlan:
    """The launch that writes weights as panels."""
    channels, heads, taps = geometry.channels, geometry.heads, math.prod(geometry.kernel)
    side, blocks, columns, line, block = heads, 1, channels * taps, channels * taps, 0
    if transposed:
        side, blocks, columns, line, block = channels, heads, taps, taps, channels * taps
    width = width_of(weight.dtype.name)
    count = -(-side // width)
    words = [side, count, blocks, columns, line, block, heads * channels * taps]
    out = layout_of(weight.dtype, (geometry.groups * count * blocks * columns * width,), None, weight.device)
    flags = PARALLEL if weight.numel >= LARGE else 0
    record = pack_record(panels(weight.dtype.name), geometry.groups * count, 1, 1, (0,), flags, words)
    return GeneralPlan(record, (out.template,), (weight,))


def in_steps(count: int, most: int) -> int:
    """How many at a time, so that all steps but the last have as many and that one not many fewer."""
    steps = -(-count // max(1, min(most, count)))
    return -(-count // steps)


def panel_plans(
    which: str, geometry: Geometry, layouts: tuple[Layout, ...], shape: tuple[int, ...]
) -> tuple[GeneralPlan | None, GeneralPlan]:
    """What writes the weight as panels, if there is one, and the launch; its second result is memory to work in."""
    first, sums, transposed = layouts[0], which == "convolve_weight", which == "convolve_transposed"
    size, width = first.dtype.itemsize, width_of(first.dtype.name)
    tables, sizes, planes, reach, _ = plane_tables(geometry)
    long, short, stride = (in_three(each, 1) for each in (geometry.long, geometry.short, geometry.stride))
    padding, dilation = in_three(geometry.padding, 0), in_three(geometry.dilation, 1)
    taps, places, plane = math.prod(geometry.kernel), math.prod(short), math.prod(sizes)
    count = -(-side_of(geometry, which) // width)
    parts = min(count, MOST_PARTS) if sums and math.prod(shape) >= HEAVY else 1
    as_it_lies = which == "convolve" and max(stride) == 1 and not any(padding) and sizes == long
    turned, pitch = 0, (-(-geometry.channels * size // 64) | 1) * 64 // size
    if sums:
        step = max(1, min(geometry.batch, PLACES // places)) if geometry.groups == 1 else 1
        table = step * places
        room = geometry.groups * -(-count // parts) * geometry.channels * taps * width
        wide = -(-count // parts) * step * places * width
        turned = step * pitch * math.prod(n + 2 * p for n, p in zip(long, padding)) + 16
    else:
        others = geometry.heads if transposed else geometry.channels
        step = in_steps(others, NEAREST // (taps * width * size))
        table = step * taps
        most = min(plane, math.prod(long)) if transposed else places
        room = count * most * width
        wide = geometry.heads * (reach + plane) + 16 if transposed else 0 if as_it_lies else geometry.channels * (planes * plane + 16)
        turned = most * width if transposed else 0
    begin = rounded(16 * table)
    behind = begin + rounded(room * size)
    last = behind + rounded(wide * size)
    memory = last + rounded(turned * size)
    items, share, items_parts = share_of(geometry, which, memory)
    if parts > 1:
        share = items
    units = -(-items // share) * parts
    shares = items, share, parts if sums else items_parts
    words = header(geometry, sizes, planes, memory, shares, len(layouts) > 2, as_it_lies, begin, behind)
    words[25], words[28] = pitch, reach
    words += [step, count, *in_three(geometry.kernel, 1), *dilation, last, *tables]
    shape = (units // parts, *shape) if sums and units > parts else shape
    out, space = first.like(shape=shape), layout_of(first.dtype, (units * memory // size,), None, first.device)
    code = kernel(which, first.dtype.name, min(stride[2], 3) if which == "convolve" else 1)
    record = pack_record(code, units, 1, 2, (0,) * len(layouts), PARALLEL if geometry.work >= LARGE else 0, words)
    before = None if sums else panels_plan(layouts[1], geometry, transposed)
    given = layouts if before is None else (first, before.outs[0].layout, *layouts[2:])
    return before, GeneralPlan(record, (out.template, space.template), given)
