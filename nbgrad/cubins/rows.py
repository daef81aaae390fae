"""Kernels that fold rows and map them, of representative dtypes and lengths: softmax and its family, losses by class."""

from __future__ import annotations

from collections.abc import Iterator

from ..kernels.cuda.access import compute_dtype
from ..kernels.cuda.accumulators import Accumulator, identity
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.folds import lanes_for
from ..kernels.cuda.losses import counted, nll_rows, nll_rows_backward, valid_counts, valid_mean, valid_share
from ..kernels.cuda.moments import variance_accumulator
from ..kernels.cuda.reductions import reduce_columns, reduce_rows, reduce_short_rows
from ..kernels.cuda.rows import fold_program, map_columns, map_rows, row_shape
from ..kernels.cuda.scores import logsumexp_accumulator, program_of
from ..kernels.cuda.standardise import held_row, held_rows
from ..kernels.templates.standardise import Rows

__all__ = ["row_recipes"]

DTYPES = ("float32", "float64", "float16", "bfloat16")
FAMILY = {
    "softmax": 1, "log_softmax": 1, "softmax_backward": 2, "log_softmax_backward": 2, "standardise": 1, "standardise_backward": 2,
}  # fmt: skip
LENGTHS = (10, 33, 1024, 1031, 4096, 8192, 32768)


def row_recipes() -> Iterator[Recipe]:
    """All of them."""
    for dtype in DTYPES:
        compute = compute_dtype(dtype)
        for name, operands in FAMILY.items():
            yield from programs(name, dtype, operands)
            program, names = program_of(name, compute), (dtype,) * operands
            if not name.startswith("standardise"):
                yield Recipe(map_columns(program, names, dtype), program.of.term, program.of.dtype, program.source())
        for name in ("cross_entropy_rows", "cross_entropy_rows_backward"):
            yield from programs(name, dtype, 1)
        yield from standardised(dtype)
        for template in (nll_rows(dtype), nll_rows_backward(dtype)):
            yield Recipe(template, identity, compute)
        stages = [valid_mean(dtype, stage) for stage in ("whole", "partial", "merge")]
        for template in (*stages, valid_counts(dtype), valid_share(dtype)):
            yield Recipe(template, identity, compute, counted(compute).source())
        for of in (logsumexp_accumulator(compute), variance_accumulator("variance", compute)):
            program = fold_program(of)
            for shape in {row_shape(n, (dtype,), compute): None for n in LENGTHS[:-1]}:
                yield Recipe(map_rows(program, (dtype,), dtype, shape), of.term, of.dtype, program.source())
        yield from folded(logsumexp_accumulator(compute), dtype)


def programs(name: str, dtype: str, operands: int) -> Iterator[Recipe]:
    """A program over rows of several lengths; of standardised rows over those that are too long for kernels of their own."""
    program, names = program_of(name, compute_dtype(dtype)), (dtype,) * operands
    lengths = LENGTHS[-1:] if name.startswith("standardise") else LENGTHS
    for shape in {row_shape(n, names, program.of.dtype): None for n in lengths}:
        for vectors in (True, False) if shape.lanes > 1 else (True,):
            template = map_rows(program, names, dtype, shape, vectors)
            yield Recipe(template, program.of.term, program.of.dtype, program.source())


def standardised(dtype: str) -> Iterator[Recipe]:
    """Standardised rows and their cotangents, short and long; in half types weights of theirs and of the dtype of the sums."""
    compute = compute_dtype(dtype)
    for rows in (Rows(False, True, "elements", True), Rows(True, True, "elements", True), Rows(True, False, "elements")):
        for weight in {dtype: None, compute: None}:
            for row in {held_row(n, 1, (dtype, weight), rows): None for n in LENGTHS}:
                if row is not None:
                    yield Recipe(held_rows(rows, dtype, weight, row), identity, compute)
    for rows in (Rows(False, False), Rows(True, True), Rows(False, True, "channels", True)):
        row = held_row(1024, 8, (dtype, dtype), rows)
        assert row is not None
        yield Recipe(held_rows(rows, dtype, dtype, row), identity, compute)


def folded(of: Accumulator, dtype: str) -> Iterator[Recipe]:
    """A reduction over rows and columns."""
    lanes = lanes_for(of, (dtype,))
    made = [reduce_rows(of, (dtype,), dtype, stage) for stage in ("whole", "partial", "merge")]
    made += [reduce_columns(of, (dtype,), dtype, stage) for stage in ("whole", "partial", "merge")]
    for template in (*made, reduce_short_rows(of, (dtype,), dtype, 32, lanes)):
        yield Recipe(template, of.term, of.dtype, of.source())
