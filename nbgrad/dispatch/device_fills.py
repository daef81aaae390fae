"""Memory filled on a GPU: with one number, or with a sequence."""

from __future__ import annotations

from ..base.dtypes import BOOL, DType
from ..kernels.cuda.access import compute_dtype, value_dtype, vector_lanes
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.moves import bits_of, fits_32, identity, of_parts, place_in_count, place_in_line, sequence, sequence_grid
from ..kernels.cuda.steps import Number, Place, Step, Steps, out
from ..kernels.cuda.templates import elementwise, elementwise_grid, index_source, number, strided, strided_args, strided_grid, value
from ..kernels.templates.sequence import COUNT
from ..tensors.layout import Layout
from .device_copies import one_step, with_single

__all__ = ["constant_step", "eye_steps", "number_step", "sequence_steps", "zeros_step"]


def zeros_step(nbytes: int, itemsize: int, write: Place | None = None) -> Step | None:
    """The launch that zeroes elements, one after the other; None where there are none."""
    bits = bits_of(min(itemsize, 8))
    return number_step(bits, nbytes // min(itemsize, 8), 0, write or out())


def number_step(dtype: str, count: int, number_of: float, write: Place) -> Step | None:
    """The launch that writes a real number to elements, one after the other."""
    if not count:
        return None
    given = number("int64" if dtype == "bool" else dtype)

    def filled(lanes: int) -> Step:
        recipe = Recipe(elementwise((given,), (dtype,), (), lanes), identity, compute_dtype(dtype))
        return Step(recipe, elementwise_grid(count, lanes), (write,), (number_of,), (count,))

    lanes = vector_lanes((dtype,))
    return with_single(filled, lanes if write.offset % 16 == 0 else 1)


def constant_step(layout: Layout, constant: complex, write: Place | None = None) -> Step | None:
    """The launch that fills memory of a dense layout with a number."""
    dtype, count, write = layout.dtype, layout.numel, write or out()
    if not dtype.is_complex:
        if dtype.category == BOOL:
            constant = int(bool(constant))
        return number_step(dtype.name, count, constant.real if isinstance(constant, complex) else constant, write)
    if not count:
        return None
    part = value(value_dtype(dtype.name))

    def filled(lanes: int) -> Step:
        recipe = Recipe(elementwise((part, part), (dtype.name,), (), lanes), of_parts, dtype.name)
        return Step(recipe, elementwise_grid(count, lanes), (write,), (constant.real, constant.imag), (count,))

    return with_single(filled, vector_lanes((dtype.name,)))


def sequence_steps(name: str, kind: str, layout: Layout, *numbers: float | Number) -> Steps:
    """A contiguous layout of one dimension filled with a sequence: ``COUNT`` or ``LINE`` of ``kernels.templates.sequence``.

    Args:
        kind: int64 or float64, in which it is computed.
    """
    if not layout.numel:
        return Steps(())
    scalar, dtype = place_in_count if name == COUNT else place_in_line, layout.dtype.name
    recipe = Recipe(sequence(dtype, kind, len(numbers)), scalar, kind)
    return one_step(Step(recipe, sequence_grid(layout.numel, dtype), (out(),), numbers, (layout.numel,)))


def eye_steps(layout: Layout) -> Steps:
    """A contiguous matrix with ones on the diagonal, zeros elsewhere."""
    zeros = zeros_step(layout.numel * layout.dtype.itemsize, layout.dtype.itemsize)
    if zeros is None:
        return Steps(())
    rows, columns = layout.shape
    return Steps((zeros, diagonal_step(layout.dtype, min(rows, columns), columns + 1)))


def diagonal_step(dtype: DType, count: int, stride: int) -> Step:
    """The launch that writes ones at even distances."""
    step, bits = stride, fits_32((count - 1) * stride)
    given, numbers, scalar = (number("int64" if dtype.category == BOOL else dtype.name),), (1.0,), identity
    if dtype.is_complex:
        given, numbers, scalar = (value(value_dtype(dtype.name)),) * 2, (1.0, 0.0), of_parts  # type: ignore[assignment]
    compute = dtype.name if dtype.is_complex else compute_dtype(dtype.name)
    recipe = Recipe(strided(given, (dtype.name,), 1, bits), scalar, compute, index_source(bits))
    return Step(recipe, strided_grid(count), (out(),), numbers, (count, *strided_args((count,), [(step,)])))
