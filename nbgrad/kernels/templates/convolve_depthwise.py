"""Convolutions of which every channel has a kernel of its own, from memory to memory (``cpu/depthwise.py``); text for a dtype, CPU.

A unit is a channel of an image, of sums of weights a channel. The record: 0 channels, 1 images, 2-3 height and width of the long
side, 4-5 of the short side, 6-7 padding above and beside, 8 whether there is a bias.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import in_dtype, late_text

__all__ = ["depthwise_kernel"]

SIZES = ", ".join(f"word(record, {k})" for k in range(2, 8))
IMAGES = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    channels = word(record, 0)
    long, short = word(record, 2) * word(record, 3) * SIZE, word(record, 4) * word(record, 5) * SIZE
    for unit in range(start, stop):
        channel = unit % channels
        first = T(0.0)
        if word(record, 8) != 0:
            first = at_T(pointer_word(args, 4), channel * SIZE)[0]
        to, source = pointer_word(args, 1) + unit * TO, pointer_word(args, 2) + unit * FROM
        weights = pointer_word(args, 3) + channel * TAPS * SIZE
        WHICH_T(LITERALS, to, source, weights, first, SIZES)
"""
WEIGHT = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    channels, images = word(record, 0), word(record, 1)
    long, short = word(record, 2) * word(record, 3) * SIZE, word(record, 4) * word(record, 5) * SIZE
    for unit in range(start, stop):
        out = pointer_word(args, 1) + unit * TAPS * SIZE
        x, y = pointer_word(args, 2) + unit * long, pointer_word(args, 3) + unit * short
        WHICH_T(LITERALS, out, x, y, images, channels * long, channels * short, SIZES)
"""
# The intrinsic, the text, and what is written and read.
TEXTS = {
    "convolve": ("depthwise", IMAGES, "short", "long"),
    "convolve_transposed": ("depthwise_transposed", IMAGES, "long", "short"),
    "convolve_weight": ("depthwise_weight", WEIGHT, "", ""),
}


@cache
def depthwise_kernel(which: str, dtype: str, rows: int, columns: int, stride: int, odd: int) -> Callable:
    """The kernel for kernels of a size, a stride, and a padding that is odd or not beside the image."""
    called, text, to, source = TEXTS[which]
    text = text.replace("SIZES", SIZES).replace("WHICH", called).replace("LITERALS", f"{rows}, {columns}, {stride}, {odd}")
    text = text.replace("unit * TO", f"unit * {to}").replace("unit * FROM", f"unit * {source}").replace("TAPS", str(rows * columns))
    label = f"{which} by channels {dtype} {rows}x{columns} {stride} {odd}"
    kernel: Callable = late_text(in_dtype(text, dtype), label, {}, "kernel")[0]
    return kernel
