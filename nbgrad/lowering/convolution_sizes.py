"""The sizes of a convolution, and what the records of its kernels say of planes: NOTE [Planes] of ``templates/convolve``."""

from __future__ import annotations

import itertools
import math
from operator import add
from typing import NamedTuple

from ..ops.convolution import extent, reached
from ..tensors.layout import Layout

__all__ = [
    "LARGE",
    "Geometry",
    "geometry_of",
    "header",
    "in_three",
    "plane_tables",
    "result_shape",
    "rounded",
    "share_of",
    "sixteens",
]

# Into how many units images are divided at most, and bytes that these may have to work in together; how many items there should be;
# multiply-adds from which the pool is used.
MOST_UNITS, MOST_MEMORY, ITEMS, LARGE = 16, 1 << 27, 8, 1 << 16


class Geometry(NamedTuple):
    """A convolution by its sizes: NOTE [Convolutions] of ops/convolution.py.

    Attributes:
        batch, groups: images, and groups of channels.
        channels, heads: of a group, of the long side and of the short side.
        long, short, kernel, stride, padding, dilation: one number for each dimension.
    """

    batch: int
    groups: int
    channels: int
    heads: int
    long: tuple[int, ...]
    short: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def work(self) -> int:
        """Multiply-adds."""
        counts = math.prod(self.short) * math.prod(self.kernel)
        return self.batch * self.groups * self.channels * self.heads * counts


def geometry_of(name: str, layouts: tuple[Layout, ...], attributes: dict) -> Geometry:
    """The sizes of a call."""
    (first, second), groups = layouts[:2], attributes["groups"]
    stride, padding, dilation = (attributes[each] for each in ("stride", "padding", "dilation"))
    if name == "conv_weight":
        channels, heads = first.shape[1] // groups, second.shape[1] // groups
        long, short, kernel = first.shape[2:], second.shape[2:], attributes["kernel"]
    elif attributes["transposed"]:
        kernel, short = second.shape[2:], first.shape[2:]
        channels, heads = second.shape[1], first.shape[1] // groups
        long = tuple(map(add, map(reached, short, kernel, stride, padding, dilation), attributes["output_padding"]))
    else:
        kernel, long = second.shape[2:], first.shape[2:]
        channels, heads = second.shape[1], second.shape[0] // groups
        short = tuple(map(extent, long, kernel, stride, padding, dilation))
    return Geometry(first.shape[0], groups, channels, heads, long, short, kernel, stride, padding, dilation)


def result_shape(name: str, geometry: Geometry, transposed: bool) -> tuple[int, ...]:
    """The shape of what is computed."""
    batch, groups, channels, heads, long, short, kernel, *_ = geometry
    if name == "conv_weight":
        return (groups * heads, channels, *kernel)
    return (batch, groups * channels, *long) if transposed else (batch, groups * heads, *short)


def in_three(sizes: tuple[int, ...], rest: int) -> tuple[int, ...]:
    """Numbers of one or two dimensions as those of three."""
    return (rest,) * (3 - len(sizes)) + sizes


def plane_tables(geometry: Geometry) -> tuple[list[int], tuple[int, ...], int, int, int]:
    """The tables of a record, sizes and number of planes, the largest distance in one, and the longest run of the transpose.

    See NOTE [Planes].
    """
    short, size, stride, dilation = (
        in_three(each, 1) for each in (geometry.short, geometry.kernel, geometry.stride, geometry.dilation)
    )
    reach = [[k * d // s for k in range(n)] for n, s, d in zip(size, stride, dilation)]
    remainder = [[k * d % s for k in range(n)] for n, s, d in zip(size, stride, dilation)]
    sizes = tuple([n + max(each) for n, each in zip(short, reach)])
    kept = [*itertools.product(*(sorted(set(each)) for each in remainder))]
    number = {each: k for k, each in enumerate(kept)}
    taps = [
        (
            number[tuple(each[k] for each, k in zip(remainder, at))],
            (reach[0][at[0]] * sizes[1] + reach[1][at[1]]) * sizes[2] + reach[2][at[2]],
        )
        for at in itertools.product(*map(range, size))
    ]
    lists = [[t for t, (plane, _) in enumerate(taps) if plane == k] for k in range(len(kept))]
    words = [value for tap in taps for value in tap]
    begin, runs = 0, [needed(geometry, sizes, each) for each in kept]
    for each, own, run in zip(kept, lists, runs):
        words += [*each, begin, len(own), *run]
        begin += len(own)
    words += [t for own in lists for t in own]
    return words, sizes, len(kept), max(distance for _, distance in taps), max(length for _, length in runs)


def needed(geometry: Geometry, sizes: tuple[int, ...], remainders: tuple[int, ...]) -> tuple[int, int]:
    """Where in a plane the elements of the long side begin, and how long the run is that has all of them."""
    first = last = 0
    numbers = zip(in_three(geometry.long, 1), in_three(geometry.padding, 0), in_three(geometry.stride, 1), sizes, remainders)
    for long, padding, stride, size, remainder in numbers:
        low = max(0, -(-(padding - remainder) // stride))
        high = min(size - 1, (long - 1 + padding - remainder) // stride)
        if high < low:
            return 0, 0
        first, last = first * size + low, last * size + high
    return first, sixteens(last + 1 - first)


def covers(geometry: Geometry) -> bool:
    """Whether every element of the long side belongs to a plane."""
    numbers = zip(*geometry[4:])
    return all(
        s == len({k * d % s for k in range(n)}) and (short + (n - 1) * d // s) * s - p >= long
        for long, short, n, s, p, d in numbers
    )


def rounded(count: int) -> int:
    """Bytes up to the next line of the cache, and one more, so that rows do not all begin at one place of it."""
    return -(-count // 64) * 64 + 64


def sixteens(count: int) -> int:
    """A number of elements, up to a multiple of 16, so that no vector has a rest."""
    return -(-count // 16) * 16


def share_of(geometry: Geometry, which: str, memory: int, pieces: int) -> tuple[int, int, int]:
    """Items, items of a unit, parts of an image, of at most so many pieces.

    They are functions of the sizes alone, so that results do not depend on threads.
    """
    images, most = geometry.batch * geometry.groups, max(1, min(MOST_UNITS, MOST_MEMORY // memory))
    if which == "convolve_weight":
        heavy = geometry.groups * geometry.heads * geometry.channels * math.prod(geometry.kernel)
        units = max(1, min(most, images, max(2, (1 << 22) // heavy) if geometry.work >= LARGE else 1))
        return images, -(-images // units), 1
    parts = 1 if images >= ITEMS else max(1, min(ITEMS // images, pieces, most))
    return images * parts, -(-images * parts // most), parts


def header(
    geometry: Geometry,
    sizes: tuple[int, ...],
    planes: int,
    memory: int,
    shares: tuple[int, int, int],
    biased: bool,
    as_it_lies: bool,
    begin: int,
    behind: int,
) -> list[int]:
    """The words of a record before the tables, as far as all kernels have them; 0 for the others."""
    items, share, parts = shares
    return [
        geometry.groups,
        geometry.channels,
        geometry.heads,
        math.prod(geometry.kernel),
        *in_three(geometry.long, 1),
        *in_three(geometry.short, 1),
        *sizes,
        *in_three(geometry.stride, 1),
        *in_three(geometry.padding, 0),
        planes,
        math.prod(sizes),
        0,
        items,
        share,
        parts,
        0,
        memory,
        int(biased),
        0,
        int(as_it_lies),
        int(not covers(geometry)),
        begin,
        behind,
    ]
