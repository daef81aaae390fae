"""Convolutions of many channels by kernels over panels: NOTE [Panels] of ``templates/convolve_panels``; CPU."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from ..base.bounded import MOST_PLANS
from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..kernels.late import Code, late
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout, layout_of
from .convolution_sizes import LARGE, Geometry, header, in_three, plane_tables, rounded, share_of

__all__ = ["by_panels", "panel_plans"]

# Bytes of a panel's weights that stay in the nearest cache, and of sums that stay in the next one, of so many places at least;
# places whose terms are added to a sum of weights at a time, perhaps of several images; bytes of a line of the cache.
NEAREST, NEXT, LEAST_PLACES, PLACES, LINE = 20480, 1 << 19, 64, 512, 64
# Weights whose sums units share by panels, not by images, each of which would have all of them; into how many parts at most.
HEAVY, MOST_PARTS = 1 << 16, 4
# What a convolution must have: terms of a sum, channels, and what part of the last vector's channels. Of a single vector numbers
# would have to be spread as often as they are multiplied.
LEAST_TERMS, LEAST_CHANNELS, FULL = 32, 8, 0.75


@late
def kernel(which: str, dtype: str, step: int) -> int:
    """The address of one of the kernels."""
    from ..kernels.templates.convolve_panels import panel_convolution_kernel  # not by an import

    function, bindings = panel_convolution_kernel(which, dtype, step)
    return address(Program(f"{which}_by_panels", function, dtype, bindings, apart=True))


@late
def rows(dtype: str) -> int:
    """The address of the kernel that adds terms to rows, which the others call."""
    from ..kernels.templates.tiles import rows_kernel  # not by an import

    return address(Program("rows_of_panels", rows_kernel(dtype), dtype, apart=True))


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
    from ..kernels.cpu.emit import widest_vectors  # not by an import

    side, vector = side_of(geometry, which), width_of(dtype) // 2
    others, taps = geometry.channels + geometry.heads - side, math.prod(geometry.kernel)
    if side <= vector or side < FULL * vector * -(-side // vector) or widest_vectors() == "DEFAULT":
        return False
    if which == "convolve_weight":  # both sides are written anew, for so many products of each number
        return others >= LEAST_CHANNELS and others * side * taps >= LEAST_TERMS * (others + side)
    return others * taps >= LEAST_TERMS


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


class Rooms(NamedTuple):
    """What a unit works in.

    Attributes:
        step, together: how many channels, or images, and how many places at a time.
        terms: those of a table.
        sums, numbers, turned: elements of sums, of what numbers or vectors are read from, and of what is turned.
        pitch: elements from place to place of the long side with its channels last.
    """

    step: int
    together: int
    terms: int
    sums: int
    numbers: int
    turned: int
    pitch: int = 0


def rooms_of_images(geometry: Geometry, transposed: bool, count: int, width: int, size: int, as_it_lies: bool) -> Rooms:
    """For the convolution and its transpose."""
    _, sizes, planes, reach, _ = plane_tables(geometry)
    taps, plane, others = math.prod(geometry.kernel), math.prod(sizes), geometry.heads if transposed else geometry.channels
    step, together = in_steps(others, NEAREST // (taps * width * size)), max(NEXT // (count * width * size), LEAST_PLACES)
    places = min(plane if transposed else math.prod(geometry.short), max(together, sizes[2])) * width
    if transposed:
        return Rooms(step, together, step * taps, count * places, others * (reach + plane) + 16, places)
    return Rooms(step, together, step * taps, count * places, 0 if as_it_lies else others * (planes * plane + 16), 0)


def rooms_of_sums(geometry: Geometry, count: int, width: int, size: int) -> Rooms:
    """For sums of weights of so many panels."""
    places = math.prod(geometry.short)
    step = max(1, min(geometry.batch, PLACES // places)) if geometry.groups == 1 else 1
    pitch = (-(-geometry.channels * size // LINE) | 1) * LINE // size
    sums = geometry.groups * count * geometry.channels * math.prod(geometry.kernel) * width
    padded = math.prod(n + 2 * p for n, p in zip(geometry.long, geometry.padding))
    return Rooms(step, PLACES, step * places, sums, count * step * places * width, step * pitch * padded + 16, pitch)


def panel_plans(
    which: str, geometry: Geometry, layouts: tuple[Layout, ...], shape: tuple[int, ...]
) -> tuple[GeneralPlan | None, GeneralPlan]:
    """What writes the weight as panels, if there is one, and the launch; its second result is memory to work in."""
    first, sums, transposed = layouts[0], which == "convolve_weight", which == "convolve_transposed"
    size, width = first.dtype.itemsize, width_of(first.dtype.name)
    tables, sizes, planes, reach, _ = plane_tables(geometry)
    stride, count = in_three(geometry.stride, 1), -(-side_of(geometry, which) // width)
    parts = min(count, MOST_PARTS) if sums and math.prod(shape) >= HEAVY else 1
    as_it_lies = which == "convolve" and max(stride) == 1 and not any(geometry.padding) and sizes == in_three(geometry.long, 1)
    if sums:
        rooms = rooms_of_sums(geometry, -(-count // parts), width, size)
    else:
        rooms = rooms_of_images(geometry, transposed, count, width, size, as_it_lies)
    begin = rounded(16 * rooms.terms)
    numbers = begin + rounded(rooms.sums * size)
    turned = numbers + rounded(rooms.numbers * size)
    memory = turned + rounded(rooms.turned * size)
    items, share, item_parts = share_of(geometry, which, memory, count)
    if parts > 1:  # every part has all images
        share, item_parts = items, parts
    units = -(-items // share) * parts
    shares, biased = (items, share, item_parts), len(layouts) > 2
    words: list[int | Code] = [*header(geometry, sizes, planes, memory, shares, biased, as_it_lies, begin, numbers)]
    words[21], words[25], words[28] = rooms.together, rooms.pitch, reach
    words += [
        rooms.step,
        count,
        *in_three(geometry.kernel, 1),
        *in_three(geometry.dilation, 1),
        turned,
        rows(first.dtype.name),
        *tables,
    ]
    shape = (units // parts, *shape) if sums and units > parts else shape
    out, space = first.like(shape=shape), layout_of(first.dtype, (units * memory // size,), None, first.device)
    code = kernel(which, first.dtype.name, min(stride[2], 3) if which == "convolve" else 1)
    record = pack_record(code, units, 1, 2, (0,) * len(layouts), PARALLEL if geometry.work >= LARGE else 0, words)
    before = None if sums else panels_plan(layouts[1], geometry, transposed)
    given = layouts if before is None else (first, before.outs[0].layout, *layouts[2:])
    return before, GeneralPlan(record, (out.template, space.template), given)
