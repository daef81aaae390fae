"""Scans of representative dtypes, along rows and lines, in all passes; moves along a dimension."""

from __future__ import annotations

from collections.abc import Iterator

from ..kernels.cuda.access import compute_dtype
from ..kernels.cuda.accumulators import identity
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.moves import bits_of
from ..kernels.cuda.picks import pick, pick_in_line, place, shift
from ..kernels.cuda.scans import STAGES, scan_lines, scan_of, scan_rows

__all__ = ["scan_recipes"]

FLOATS = ("float32", "float64", "float16", "bfloat16")
SCANS = {
    "sum": (*FLOATS, "int64", "int32", "complex64", "complex128"),
    "product": (*FLOATS, "int64", "complex64"),
    "product_before": ("float32", "float64", "complex64"),
    "greatest": (*FLOATS, "int64"),
    "smallest": (*FLOATS, "int64"),
    "logsumexp": FLOATS,
    "recurrence": ("float32", "float64", "complex64"),
    "recurrence_lagged": ("float32", "float64", "complex64"),
}


def scan_recipes() -> Iterator[Recipe]:
    """All of them."""
    for name, dtypes in SCANS.items():
        for dtype in dtypes:
            yield from scans(name, dtype)
    for size in (1, 2, 4, 8, 16):
        bits = bits_of(size)
        for template in (shift(bits), pick(bits), pick_in_line(bits), place(bits)):
            yield Recipe(template, identity, compute_dtype(bits))


def scans(name: str, dtype: str) -> Iterator[Recipe]:
    """One scan of one dtype."""
    scan = scan_of(name, compute_dtype(dtype))
    output = "int64" if scan.exact or not compute_dtype(dtype).startswith(("float", "complex")) else dtype
    inputs = (dtype,) * scan.operands
    for stage in STAGES[:1] if scan.alone else STAGES:
        for template in (scan_lines, scan_rows):
            if template is scan_lines or not (scan.alone or scan.of.dtype.startswith("complex")):
                yield Recipe(template(scan, inputs, output, stage), scan.of.term, scan.of.dtype, scan.of.source())
