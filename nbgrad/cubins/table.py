"""``kernels()``: every kernel that a release carries. ``make cubins`` builds them all and checks them against their gates.

Layouts are enumerated here, operations in ``operations.py``. All have a contiguous kernel with vector accesses; some
have strided ones. What is strided otherwise is copied first, and every pair of dtypes has a strided copy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from ..base.dtypes import BOOL, DTYPES
from ..kernels.cuda.access import compute_dtype, conversion_dtype
from ..kernels.cuda.accumulators import accumulator, folded_operations, folds
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.gates import Gate, gates_for, no_spills
from ..kernels.cuda.random import random_fill, random_source
from ..kernels.cuda.reductions import STAGES, reduce_columns, reduce_rows, reduce_short_rows
from ..kernels.cuda.templates import Template, accumulate, array, elementwise, index_source, number, strided
from ..kernels.cuda.vectors import SERIES, is_guarded, lanes_for
from ..kernels.templates.philox import DISTRIBUTIONS
from ..ops.core import OPS, General
from .general import general_recipes
from .operations import COMPLEXES, FLOATS, Operation, Skipped, named, operations, skipped as skipped_operations

__all__ = ["Entry", "kernels", "skipped", "operation_kernels", "copies", "reductions", "random_numbers", "entry"]

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
    for found in itertools.chain(*map(operation_kernels, operations()), copies(), general(), reductions(), random_numbers()):
        if found.label not in seen:  # reductions of several dtypes can share the kernel of a stage
            seen.add(found.label)
            yield found


def skipped() -> Iterator[Skipped]:
    """The elementwise operations and reductions of the table that have no kernel, with the reason."""
    yield from skipped_operations()
    for op in OPS.values():
        if isinstance(op, General) and op.formula.__module__.endswith(".reduce"):
            if not op.monoid and op.name != "sum_over":  # a sum, whose dimensions follow from a shape
                yield Skipped(op.name, "no monoid folds it: it is composed of reductions and elementwise kernels")


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
    for source, target in itertools.product((dtype.name for dtype in DTYPES), repeat=2):
        copy = Operation(identity, (array(source),), (target,), conversion_dtype(source, target))
        yield entry(elementwise(copy.inputs, copy.outputs), copy)
        yield entry(strided(copy.inputs, copy.outputs, DIMS), copy, **index_source(32))
    for dtype in DTYPES:
        compute = compute_dtype(dtype.name)
        fill = Operation(identity, (number("int64" if dtype.category == BOOL else dtype.name),), (dtype.name,), compute)
        yield entry(elementwise(fill.inputs, fill.outputs), fill)
        if dtype.differentiable:
            yield entry(accumulate(dtype.name), Operation(add, (), (), compute))
    for name, names in (("conj_physical", COMPLEXES), ("neg", (*FLOATS, *COMPLEXES))):
        for resolved in (named(name, dtype) for dtype in names):
            yield entry(strided(resolved.inputs, resolved.outputs, DIMS), resolved, **index_source(32))


def general() -> Iterator[Entry]:
    """Moves, indices, orders, products."""
    for recipe in general_recipes():
        yield Entry(recipe.name, recipe, gates_for(recipe.template, recipe.dtype, name=recipe.scalar.__name__))


def reductions() -> Iterator[Entry]:
    """Every operation with a monoid over rows, short rows and columns, in all stages."""
    for op in folded_operations():
        term = op.term_expression()
        for dtype in (*FLOATS, *COMPLEXES, "int64", *(("bool",) if term is not None and term.boolean else ())):
            if folds(op, compute_dtype(dtype)):
                yield from reduction_kernels(op, dtype)


def reduction_kernels(op: General, dtype: str) -> Iterator[Entry]:
    """One reduction of one dtype."""
    of = accumulator(op, compute_dtype(dtype))
    output = {"truth": "bool", "count": "int64"}.get(op.gives, dtype)
    operation = Operation(of.term, (array(dtype),), (output,), of.dtype)
    for stage in STAGES:
        yield entry(reduce_rows(of, (dtype,), output, stage), operation, **of.source())
        yield entry(reduce_columns(of, (dtype,), output, stage), operation, **of.source())
    yield entry(reduce_rows(of, (dtype,), output, "whole", 1), operation, **of.source())
    yield entry(reduce_rows(of, (dtype,), output, "partial", 1), operation, **of.source())
    yield entry(reduce_short_rows(of, (dtype,), output), operation, **of.source())


def random_numbers() -> Iterator[Entry]:
    """Every distribution; half types are narrowed from float32."""
    for name, dtype in DISTRIBUTIONS:
        yield entry(random_fill(name, dtype), Operation(identity, (), (dtype,), dtype), **random_source(name, dtype))


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
