"""Random numbers: which kernel, with which numbers. See NOTE [Counter] in kernels/templates/philox.py."""
from __future__ import annotations

import struct
from functools import cache, lru_cache

from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..native.launch import NUMBER_CODES, PARALLEL, pack_record
from ..tensors.layout import Layout

__all__ = ["random_plan"]

# Blocks from which threads pay, and that one claims at once.
PARALLEL_FROM, GRAIN = 1 << 12, 1 << 10


@cache
def kernel(distribution: str, dtype: str) -> int:
    """Address of the kernel of a distribution at float32, float64 or int64."""
    from ..kernels.templates.philox import DISTRIBUTIONS, POINTERS, fill_four, fill_two  # with the scalar functions 7 ms
    loop = fill_four if dtype == "float32" else fill_two
    bindings = (("distribution", DISTRIBUTIONS[distribution, dtype]), ("p_out", POINTERS[dtype]))
    return address(Program(distribution, loop, dtype, bindings))


@lru_cache(maxsize=1024)
def random_plan(distribution: str, layout: Layout) -> GeneralPlan:
    """The launch that fills a row-major layout; its operands are seed, call, and two parameters in the layout's dtype.
    """
    dtype = layout.dtype.name
    per_block = 4 if dtype == "float32" else 2
    blocks = -(-layout.numel // per_block)
    codes = (NUMBER_CODES["int64"], NUMBER_CODES["int64"], NUMBER_CODES[dtype], NUMBER_CODES[dtype])
    record = pack_record(kernel(distribution, dtype), blocks, GRAIN, 1, codes, PARALLEL if blocks >= PARALLEL_FROM
                         else 0,
                         struct.pack("q", layout.numel))
    return GeneralPlan(record, (layout.template,), (None,) * 4)
