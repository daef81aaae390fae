"""``kernels()``: every kernel that a release carries. ``make cubins`` builds them all and checks them against their gates.

Layouts are enumerated here, operations in ``operations.py``. All have a contiguous kernel with vector accesses; some
have strided ones. What is strided otherwise is copied first, and every pair of dtypes has a strided copy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from ..base.dtypes import BOOL, DTYPES, UNSIGNED
from ..kernels.cuda.access import compute_dtype, conversion_dtype
from ..kernels.cuda.accumulators import Accumulator, accumulator, folded_operations, folds
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.folds import STAGES, lanes_for as reduced_lanes
from ..kernels.cuda.gates import Gate, gates_for, no_spills
from ..kernels.cuda.moments import variance_accumulator
from ..kernels.cuda.multi_tensor import FEW_ROWS, elementwise_rows, fold_rows, most_rows
from ..kernels.cuda.random import random_fill, random_keep, random_source
from ..kernels.cuda.reductions import reduce_columns, reduce_rows, reduce_short_rows
from ..kernels.cuda.templates import Signature, Template, accumulate, array, elementwise, index_source, number, strided
from ..kernels.cuda.vectors import SERIES, is_guarded, lanes_for
from ..kernels.templates.philox import DISTRIBUTIONS, numbers_of_block, parameters_dtype
from ..ops.core import OPS
from .general import general_recipes
from .operations import (
    COMPLEXES,
    FLOATS,
    Operation,
    Skipped,
    named,
    operations,
    skipped as skipped_operations,
    update,
    update_rules,
)
from .rows import row_recipes
from .scans import scan_recipes

__all__ = ["Entry", "kernels", "skipped", "operation_kernels", "copies", "reductions", "random_numbers", "entry"]

WHOLLY = ("sum", "argmax", "variance")  # reductions whose kernels are all there
DIMS = 3  # of a strided kernel; fewer are padded in front by dimensions of size 1, more are rare after collapsing
# Operations whose strided kernels a release carries.
STRIDED = frozenset(
    ("add", "mul", "mul_number", "div", "lt", "where", "maximum", "exp", "tanh", "mul_backward_x_y", "tanh_backward_x")
)


class Entry(NamedTuple):
    """A kernel of the release: what it is called, what builds it, what must hold of it."""

    label: str
    recipe: Recipe
    gates: tuple[Gate, ...]


def kernels() -> Iterator[Entry]:
    """All of them, one by one, in the same order in every process; building is up to the caller."""
    seen = set()
    for found in itertools.chain(
        *map(operation_kernels, operations()), copies(), tables(), general(), reductions(), random_numbers()
    ):
        if found.label not in seen:  # reductions of several dtypes can share the kernel of a stage
            seen.add(found.label)
            yield found


def skipped() -> Iterator[Skipped]:
    """The elementwise operations of the table that have no kernel, with the reason."""
    yield from skipped_operations()


def operation_kernels(operation: Operation) -> Iterator[Entry]:
    """One operation: contiguous; some also strided, with indices of 32 and of 64 bits."""
    yield entry(elementwise(operation.inputs, operation.outputs, operation.into, lanes_of(operation)), operation)
    if operation.scalar.__name__ in STRIDED:
        for bits in (32, 64):
            yield entry(strided(operation.inputs, operation.outputs, DIMS, bits), operation, **index_source(bits))


def lanes_of(operation: Operation) -> int:
    """Elements of a vector access."""
    arrays = [operand.dtype for operand in operation.inputs if operand.kind == "array"]
    return lanes_for(operation.scalar, operation.dtype, arrays, operation.outputs)


def copies() -> Iterator[Entry]:
    """Conversion between any two dtypes, contiguous and strided; fills; accumulation of gradients; lazy bits resolved."""
    made = [dtype for dtype in DTYPES if dtype not in UNSIGNED]
    for source, target in itertools.product((dtype.name for dtype in made), repeat=2):
        copy = Operation(identity, (array(source),), (target,), conversion_dtype(source, target))
        yield entry(elementwise(copy.inputs, copy.outputs), copy)
        yield entry(strided(copy.inputs, copy.outputs, DIMS), copy, **index_source(32))
    for dtype in made:
        compute = compute_dtype(dtype.name)
        fill = Operation(identity, (number("int64" if dtype.category == BOOL else dtype.name),), (dtype.name,), compute)
        yield entry(elementwise(fill.inputs, fill.outputs), fill)
        if dtype.differentiable:
            yield entry(accumulate(dtype.name), Operation(add, (), (), compute))
    for name, names in (("conj_physical", COMPLEXES), ("neg", (*FLOATS, *COMPLEXES))):
        for resolved in (named(name, dtype) for dtype in names):
            yield entry(strided(resolved.inputs, resolved.outputs, DIMS), resolved, **index_source(32))


def tables() -> Iterator[Entry]:
    """Every optimizer's update of many tensors, few and most of them; norms of gradients."""
    for rule, dtype in itertools.product(update_rules(), FLOATS):
        made = update(rule, dtype)
        pointers = len(Signature(made.inputs, made.outputs, made.into).pointers)
        numbers = sum(operand.kind != "array" for operand in made.inputs)
        for rows in (FEW_ROWS, most_rows(pointers, numbers)):
            yield entry(elementwise_rows(made.inputs, made.outputs, made.into, rows, lanes_of(made)), made)
    for name, dtype in itertools.product(("norm1", "norm2"), FLOATS):
        of = accumulator(OPS[name], compute_dtype(dtype))
        lanes, fold = reduced_lanes(of, (dtype,)), Operation(of.term, (), (), of.dtype)
        for rows in (FEW_ROWS, most_rows(1, 1 + len(of.state))):
            yield entry(fold_rows(of, dtype, rows, lanes), fold, **of.source())
            yield entry(fold_rows(of, dtype, rows, lanes, False), fold, **of.source())


def general() -> Iterator[Entry]:
    """Moves, indices, orders, products; rows that are folded and mapped."""
    for recipe in itertools.chain(general_recipes(), row_recipes(), scan_recipes()):
        yield Entry(recipe.name, recipe, gates_for(recipe.template, recipe.dtype, name=recipe.scalar.__name__))


def reductions() -> Iterator[Entry]:
    """Every operation with a monoid, and variances, over rows, short rows and columns, in all stages."""
    for op in folded_operations():
        for dtype in (*FLOATS, *COMPLEXES, "int64", *(("uint8",) if op.gives == "truth" else ())):
            if folds(op, compute_dtype(dtype)):
                output = {"truth": dtype if dtype == "uint8" else "bool", "count": "int64"}.get(op.gives, dtype)
                yield from reduction_kernels(accumulator(op, compute_dtype(dtype)), dtype, output)
    for dtype in FLOATS:
        yield from reduction_kernels(variance_accumulator("variance", compute_dtype(dtype)), dtype, dtype)


def reduction_kernels(of: Accumulator, dtype: str, output: str) -> Iterator[Entry]:
    """One reduction of one dtype; of a few operations by single loads and in all stages, too."""
    operation, inputs, lanes = Operation(of.term, (array(dtype),), (output,), of.dtype), (dtype,), reduced_lanes(of, (dtype,))
    whole = of.name in WHOLLY
    made = [reduce_short_rows(of, inputs, output, 32, lanes), *(reduce_rows(of, inputs, output, stage) for stage in STAGES[:3])]
    made += [reduce_columns(of, inputs, output, stage) for stage in (STAGES if whole else STAGES[:3])]
    if whole:
        made += [reduce_rows(of, inputs, output, stage, lanes, False) for stage in ("whole", "partial", "join")]
        made += [reduce_short_rows(of, inputs, output, 32, lanes, False), reduce_short_rows(of, inputs, output, 2)]
        made += [reduce_short_rows(of, inputs, output, stage=stage) for stage in ("partial", "merge", "join")]
    for template in made:
        yield entry(template, operation, **of.source())


def random_numbers() -> Iterator[Entry]:
    """Every distribution; half types are narrowed from float32."""
    for name, dtype in DISTRIBUTIONS:
        number = parameters_dtype(dtype)
        yield entry(random_fill(name, dtype), Operation(identity, (), (number,), number), **random_source(name, dtype))
    for dtype in ("float32", "float16", "bfloat16"):
        scalar = named("kept_scaled", dtype).scalar
        operation = Operation(scalar, (array(dtype),), (dtype,), compute_dtype(dtype))
        yield entry(random_keep(dtype, numbers_of_block("bool")), operation, **random_source("bernoulli", "bool"))


def entry(template: Template, operation: Operation, **source) -> Entry:
    """A template around an operation's scalar function."""
    recipe = Recipe(template, operation.scalar, operation.dtype, source)
    integers = operation.divides or is_guarded(operation.scalar)
    gates = gates_for(template, operation.dtype, integers, operation.scalar.__name__)
    if operation.scalar.__name__.startswith(SERIES):
        gates = tuple(gate for gate in gates if gate is not no_spills)
    return Entry(recipe.name, recipe, gates)


def identity(x):
    return x


def add(x, y):
    return x + y
