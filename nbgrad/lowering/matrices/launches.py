"""Launches of LAPACK's routines: the kernel of ``templates/lapack``, its record, and where results go."""

from __future__ import annotations

import math
import struct
from functools import cache

from ...base.dtypes import float64, int32
from ...dispatch.lowerings import GeneralPlan
from ...kernels.cpu.blas import PREFIX, find, is_wide, use_one_thread
from ...kernels.cpu.build import Program, address
from ...native.plans import PARALLEL, pack_record
from ...tensors.layout import Layout, layout_of
from .routines import ROUTINES, Routine

REAL = ("float32", "float64")
# Of three factors of this size the interpreter's lock is dropped.
LARGE = 1 << 20


def address_of(function: str, dtype: str) -> int:
    """Where a function is; 0 if there is none."""
    if function.startswith("cblas_"):
        return find(f"cblas_{PREFIX[dtype]}{function[6:]}")
    return find(f"{PREFIX[dtype]}{function}_")


@cache
def addresses(functions: tuple[str, ...], dtype: str) -> tuple[int, ...] | None:
    """Where functions are; None unless all of them are there."""
    found = tuple([address_of(name, dtype) for name in functions])
    if 0 in found:
        return None
    use_one_thread()
    return found


def launch(name: str, layouts: tuple[Layout, ...], attributes: dict, flat: bool = False) -> GeneralPlan | None:
    """The launch of a routine; None where it has to be done in another way.

    Its results are the parts, or with ``flat`` one that has them in a row; then the report of each matrix, and memory to work in.
    """
    first, dtype = layouts[0], layouts[0].dtype.name
    batch = first.shape[:-2]
    if dtype not in REAL or not all(is_plain(x, first) for x in layouts):
        return None
    made = ROUTINES[name](layouts, **attributes)
    found = None if made is None else addresses(made.functions, dtype)
    if made is None or found is None:
        return None
    outs, places = results(made, first, flat and len(made.parts) > 1)
    words = [
        *made.sizes,
        min(made.sizes[:2]),
        made.work,
        made.integers,
        *made.letters,
        1,
        *strides_of(layouts, 0),
        *strides_of(layouts, 1),
        int(is_wide()),
        *made.flags,
        *found,
        *[0] * (4 - len(found)),
    ]
    for place in (*places, *[(0, 0, 0)] * (3 - len(places)), (len(outs) + 1, 0, 4)):
        words += place
    words += [len(outs) + 2, len(outs) + 3, len(batch), *batch]
    for d in range(len(batch)):
        words += [*(x.strides[d] * x.dtype.itemsize for x in layouts), *[0] * (3 - len(layouts))]
    m, n, k = made.sizes
    size, units = first.dtype.itemsize, math.prod(batch)
    work = 2 * (m * n * size + 64) + made.work * size + made.more + 256
    from ...kernels.templates.lapack import lapack_kernel  # texts that only programs with matrices need

    kernel, bindings = lapack_kernel(made.name, dtype)
    report, memory = layout_of(int32, batch, None, first.device), layout_of(float64, (-(-work // 8),), None, first.device)
    record = pack_record(
        address(Program(made.name, kernel, "float64", bindings)),
        units,
        units,
        len(outs) + 2,
        (0,) * len(layouts),
        PARALLEL if m * n * max(k, min(m, n)) >= LARGE else 0,
        struct.pack(f"{len(words)}q", *words),
    )
    return GeneralPlan(record, (*(out.template for out in outs), report.template, memory.template), layouts)


def is_plain(x: Layout, first: Layout) -> bool:
    """Whether memory can be read as it lies, matrix for matrix beside those of the first operand."""
    ndim = first.ndim - 2
    return not (x.conj or x.neg or x.special) and x.numel > 0 and x.shape[:ndim] == first.shape[:ndim] and x.device is first.device


def strides_of(layouts: tuple[Layout, ...], which: int) -> tuple[int, int]:
    """Elements between the rows and columns of an operand; a vector is a column."""
    if which >= len(layouts):
        return 0, 0
    x = layouts[which]
    return (x.strides[-2], x.strides[-1]) if x.ndim == layouts[0].ndim else (x.strides[-1], 0)


def results(made: Routine, first: Layout, flat: bool) -> tuple[list[Layout], list[tuple[int, int, int]]]:
    """The layouts of the results, and for every part which of them it is in, where, and how far from one matrix to the next."""
    batch = first.shape[:-2]
    if not flat:
        outs = [layout_of(dtype, (*batch, *shape), None, first.device) for shape, dtype in made.parts]
        return outs, [(1 + k, 0, math.prod(shape) * dtype.itemsize) for k, (shape, dtype) in enumerate(made.parts)]
    dtype = made.parts[0][1]
    sizes = [math.prod(shape) * dtype.itemsize for shape, _ in made.parts]
    out = layout_of(dtype, (*batch, sum(sizes) // dtype.itemsize), None, first.device)
    return [out], [(1, sum(sizes[:k]), sum(sizes)) for k in range(len(sizes))]


def went_well(out: tuple) -> bool:
    """Whether LAPACK had nothing to say of any matrix."""
    said = out[-2]._storage_.array
    return not (said[0] if said.size == 1 else said.any())
