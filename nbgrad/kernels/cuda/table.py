"""Every kernel that a release carries: ``kernels()``. ``make cubins`` builds them all and holds them to their gates.

Layouts are enumerated here, operations in ``operations()``. An operation is a scalar function with the dtypes of its
operands and results; each gives a contiguous and a strided kernel.
"""
from __future__ import annotations

import itertools
from typing import Iterator, NamedTuple

from ...dtypes import BOOL, COMPLEX, DTYPES, dtype_of
from .. import scalars
from .access import Function, compute_dtype
from .build import Recipe, right_everywhere
from .gates import Gate, gates_for
from .monoids import MONOIDS, monoid
from .reductions import STAGES, reduce_columns, reduce_rows, reduce_short_rows
from .templates import Template, accumulate, array, elementwise, index_source, single, strided, value

__all__ = ["Entry", "Operation", "kernels", "operations", "copies", "reductions"]

FLOATS = ("float32", "float64", "float16", "bfloat16")
STRIDED_DIMS = (1, 2, 3)  # after collapsing, more are rare


class Entry(NamedTuple):
    """A kernel of the release: what it is called, what builds it, what must hold of it."""

    label: str
    recipe: Recipe
    gates: tuple[Gate, ...]


class Operation(NamedTuple):
    """A scalar function and what it is applied to.

    Attributes:
        scalar: before ``instantiate``; see ``codegen.scalar_function``.
        inputs: dtypes of its operands; ``"bool"`` for a truth value.
        outputs: dtypes of its results.
        dtype: in which it computes.
        divides: whether it divides integers.
    """

    scalar: Function
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dtype: str
    divides: bool = False


def kernels() -> Iterator[Entry]:
    """All of them, one by one; building is up to the caller."""
    seen = set()
    for found in itertools.chain(*map(operation_kernels, operations()), copies(), reductions()):
        if found.label not in seen:  # reductions of several dtypes can share the kernel of a stage
            seen.add(found.label)
            yield found


# ---------------------------------------------------------------------------------------------------------------------
# WIRE: the op table. Until it is enumerated here, representative scalars stand for it: arithmetic, a fused backward
# kernel, comparisons, a selection, and all functions of ``scalars``.
# ---------------------------------------------------------------------------------------------------------------------

def operations() -> Iterator[Operation]:
    """Every operation at every dtype that it takes."""
    for dtype in (*FLOATS, "int32", "int64", "uint8"):
        compute = compute_dtype(dtype)
        for scalar in (add, mul):
            yield Operation(scalar, (dtype, dtype), (dtype,), compute)
        yield Operation(less, (dtype, dtype), ("bool",), compute)
        yield Operation(select, ("bool", dtype, dtype), (dtype,), compute)
    for dtype in FLOATS:
        compute = compute_dtype(dtype)
        yield Operation(div, (dtype, dtype), (dtype,), compute)
        yield Operation(mul_vjp, (dtype,) * 3, (dtype,) * 2, compute)
        for name in ("exp", "tanh"):
            yield Operation(scalars.FUNCTIONS[name], (dtype,), (dtype,), compute)
    for dtype in FLOATS[:2]:
        for name, scalar in scalars.FUNCTIONS.items():
            output = "bool" if name in ("isnan", "isinf", "isfinite") else dtype
            yield Operation(scalar, (dtype,) * scalar.__code__.co_argcount, (output,), dtype)
    for dtype in ("int32", "int64", "uint8"):
        for name, scalar in scalars.INT_FUNCTIONS.items():
            divides = name in ("floor_divide", "remainder", "fmod")
            yield Operation(scalar, (dtype,) * scalar.__code__.co_argcount, (dtype,), dtype, divides)
    for dtype in ("complex64", "complex128"):
        for scalar in (add, mul):
            yield Operation(scalar, (dtype, dtype), (dtype,), dtype)


def add(x, y):
    return x + y


def mul(x, y):
    return x * y


def div(x, y):
    return x / y


def less(x, y):
    return x < y


def select(condition, x, y):
    return where(condition, x, y)  # noqa: F821  (bound by instantiate)


def mul_vjp(g, x, y):
    return g * y, g * x


def identity(x):
    return x


# ---------------------------------------------------------------------------------------------------------------------
# Layouts: what kernels an operation, a copy or a reduction needs.
# ---------------------------------------------------------------------------------------------------------------------

def operation_kernels(operation: Operation) -> Iterator[Entry]:
    """One operation, contiguous and strided; its last operand also as one element in memory."""
    arrays = tuple(map(array, operation.inputs))
    yield entry(elementwise(arrays, operation.outputs), operation)
    if len(arrays) > 1:
        yield entry(elementwise((*arrays[:-1], single(operation.inputs[-1])), operation.outputs), operation)
    for ndim in STRIDED_DIMS:
        yield entry(strided(arrays, operation.outputs, ndim), operation, **index_source(32))
    yield entry(strided(arrays, operation.outputs, STRIDED_DIMS[-1], 64), operation, **index_source(64))


def copies() -> Iterator[Entry]:
    """Conversion between any two dtypes, contiguous and strided; fills; accumulation of gradients."""
    for source in DTYPES:
        for target in DTYPES:
            compute = conversion_dtype(source.name, target.name)
            operation = Operation(identity, (source.name,), (target.name,), compute)
            yield entry(elementwise((array(source.name),), (target.name,)), operation)
            for ndim in STRIDED_DIMS[1:]:
                yield entry(strided((array(source.name),), (target.name,), ndim), operation, **index_source(32))
    for dtype in DTYPES:
        compute = compute_dtype(dtype.name)
        if dtype.category == COMPLEX:
            yield entry(elementwise((single(dtype.name),), (dtype.name,)), Operation(identity, (), (), compute))
        else:
            yield entry(elementwise((value("int64" if dtype.category == BOOL else dtype.name),), (dtype.name,)),
                        Operation(identity, (), (), compute))
        if dtype.differentiable:
            yield entry(accumulate(dtype.name), Operation(add, (), (), compute))


def conversion_dtype(source: str, target: str) -> str:
    """Where a conversion computes: in the kind of number that is the richer of the two, then as wide as its operand.

    >>> conversion_dtype("int64", "float16"), conversion_dtype("float64", "int8")
    ('float32', 'float64')
    """
    richer = source if dtype_of(source).category >= dtype_of(target).category else target
    return compute_dtype(richer)


def reductions() -> Iterator[Entry]:
    """Every monoid over rows, short rows and columns, in all stages."""
    for name in MONOIDS:
        for dtype in ("bool",) if name in ("any", "all") else (*FLOATS, "int64"):
            if (name, dtype) != ("mean", "int64"):
                yield from reduction_kernels(name, dtype)


def reduction_kernels(name: str, dtype: str) -> Iterator[Entry]:
    """One reduction of one dtype."""
    compute = compute_dtype(dtype)
    output = "int64" if name.startswith("arg") else dtype
    of, operation = monoid(name, compute), Operation(identity, (dtype,), (output,), compute)
    for stage in STAGES:
        yield entry(reduce_rows(of, (dtype,), output, stage), operation, **of.source())
        yield entry(reduce_columns(of, (dtype,), output, stage), operation, **of.source())
    yield entry(reduce_rows(of, (dtype,), output, "whole", 1), operation, **of.source())
    yield entry(reduce_rows(of, (dtype,), output, "partial", 1), operation, **of.source())
    yield entry(reduce_short_rows(of, (dtype,), output), operation, **of.source())


def entry(template: Template, operation: Operation, **source) -> Entry:
    recipe = Recipe(template, operation.scalar, operation.dtype, source)
    guarded = right_everywhere(operation.scalar) is not operation.scalar  # the precise version works on integers
    return Entry(recipe.name, recipe, gates_for(template, operation.dtype, operation.divides or guarded))
