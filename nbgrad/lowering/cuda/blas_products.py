"""Products on a GPU by cuBLASLt: operands as they lie, transposed ones too; what the library cannot take is copied before.

NOTE [One step between matrices]: the library takes a batch whose matrices lie at equal steps. An operand with others (heads of an
attention that were permuted, one that is broadcast over some dimensions) is copied, as are elements with gaps, and conjugates that
are not transposed.
"""

from __future__ import annotations

import math

from ...dispatch.device_copies import copy_step
from ...kernels.cuda.cublas import BIAS_POINTER, TYPES, Matmul, Ready, Stored, blas, workspace_of
from ...kernels.cuda.steps import STREAM, Call, Held, Made, Place, Step, Steps, Workspace, operand, out
from ...kernels.cuda.templates import collapse
from ...kernels.templates.gemm import AS_IS
from ...tensors.layout import Layout, layout_of
from ..linalg import Matrix, Product

__all__ = ["blas_steps"]

ALIGNED = 16  # bytes of the widest loads


def blas_steps(product: Product, x: Layout, y: Layout, addend: Layout | None, ours: Steps) -> Steps | None:
    """The launches of a product of operands 0 and 1, with operand 2 added, which is a row for all; None where they are ours.

    Args:
        ours: the same by our kernels, for what the library lacks.
    """
    gpu = x.device.index
    if gpu is None or x.dtype.name not in TYPES or not product.left.columns or blas() is None:
        return None
    left, right, batch, steps, shape = product
    space, before = Workspace(), list[Step]()
    first, first_at = as_stored(right, batch, tuple([own[1] for own in steps]), y, operand(1), space, before)
    second, second_at = as_stored(left, batch, tuple([own[0] for own in steps]), x, operand(0), space, before)
    columns, rows = right.columns, left.rows
    result = Stored("N", columns, rows, columns, rows * columns)
    base = space.take(workspace_of(gpu))
    small = x.dtype.itemsize

    def calls(bias: bool, adds: bool) -> tuple[Call, ...]:
        aligned, loose = (
            product_calls(
                Matmul(x.dtype.name, first, second, result, math.prod(batch), bias, adds, alignment), first_at, second_at, base
            )
            for alignment in (max(ALIGNED, small), small)
        )
        return tuple([call._replace(single=other) for call, other in zip(aligned, loose)])

    if addend is None:
        return Steps((*before, *calls(False, False)), space.size, ours)
    fill = copy_step(addend, layout_of(x.dtype, shape, None, x.device), operand(2))
    assert fill is not None
    found = Steps((*before, fill, *calls(False, True)), space.size, ours)
    if addend.strides[-1] != 1 and columns > 1 or addend.numel != columns or x.dtype.is_complex:
        return found
    return Steps((*before, *calls(True, False)), space.size, found)


def as_stored(
    matrix: Matrix, batch: tuple[int, ...], own: tuple[int, ...], layout: Layout, place: Place, space: Workspace, before: list[Step]
) -> tuple[Stored, Place]:
    """How an operand lies for the library, and where; where it has to be copied first, the copy does.

    Args:
        own: its strides over the batch.
        space, before: workspace and steps, to which the copy is added.
    """
    sizes, (walked,) = collapse(batch, [own])
    turned = matrix.turned().stored()
    if layout.conj and turned is not None and turned[0] == AS_IS:
        lies: tuple[str, int] | None = "C", turned[1]
    else:
        stored = None if layout.conj else matrix.stored()
        lies = None if stored is None else ("N" if stored[0] == AS_IS else "T", stored[1])
    if lies is None or len(sizes) > 1:
        sizes = batch if any(own) else ()
        shape = *sizes, matrix.rows, matrix.columns
        strides = *(own if sizes else ()), matrix.down, matrix.across
        target = layout_of(layout.dtype, shape, None, layout.device)
        copied = space.take(target.numel * layout.dtype.itemsize)
        step = copy_step(layout_of(layout.dtype, shape, strides, layout.device, layout.conj, layout.neg), target, place, copied)
        assert step is not None
        before.append(step)
        place, walked, lies = copied, (matrix.rows * matrix.columns if sizes else 0,), ("N", max(matrix.columns, 1))
    turn, lead = lies
    rows, columns = (matrix.columns, matrix.rows) if turn == "N" else (matrix.rows, matrix.columns)
    return Stored(turn, rows, columns, lead, walked[0]), place


def product_calls(matmul: Matmul, first: Place, second: Place, base: Place) -> tuple[Call, ...]:
    """The calls that a product takes."""
    ready, library = Ready(matmul), blas()
    assert library is not None
    handle, description, alpha, first_layout, second_layout, result, beta, algorithm, nbytes = map(Made, range(1, 10))
    arguments = (
        *(handle, description, alpha, first, first_layout, second, second_layout, beta, out(), result, out(), result),
        *(algorithm, base, nbytes, STREAM),
    )
    product = Call(library.name, ready.matmul_words, arguments, library.error_of, matmul.alignment)
    if not matmul.bias:
        return (product,)
    bias = Call(library.name, ready.bias_words, (Made(1), BIAS_POINTER, Held(2), 8), library.error_of, matmul.alignment)
    return bias, product
