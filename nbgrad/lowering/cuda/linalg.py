"""Matrix products on a GPU: by cuBLASLt where it is (blas_products.py), else by kernels of ours. Operands are taken as they lie."""

from __future__ import annotations

import math

from ...base.calls import CALLS
from ...kernels.cuda.access import compute_dtype, itemsize
from ...kernels.cuda.accumulators import accumulator
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.moves import identity
from ...kernels.cuda.products import DEPTH, WALKED, join_parts, multiply, rows_times_vector, shape_of
from ...kernels.cuda.steps import Place, Step, Steps, operand, out, work
from ...kernels.cuda.templates import WARPS, ceil_div, collapse, index_source, strided_args, strided_grid
from ...ops.core import OPS
from ...ops.shapes import expanded
from ...tensors.layout import Layout, layout_of
from ..linalg import Product, product_in, product_with_bias
from .blas_products import blas_steps
from .registry import lowering

__all__ = ["product_steps"]

BLOCKS = 264  # that fill a large GPU: where there are fewer tiles, long sums are split
SHORTEST = 128  # depth of a part
VECTOR_FROM = 64  # elements of a row from which a warp takes it


def product_steps(product: Product, x: Layout, y: Layout, addend: Layout | None = None) -> Steps:
    """The launches of a product of operands 0 and 1, with operand 2 added, which broadcasts to the result."""
    result = layout_of(x.dtype, product.shape, None, x.device)
    if not result.numel:
        return Steps(())
    vector = vector_steps(product, x) if addend is None else None
    if vector is not None:
        return vector
    ours = tiled_steps(product, x, y, addend)
    return blas_steps(product, x, y, addend, ours) or ours


def tiled_steps(product: Product, x: Layout, y: Layout, addend: Layout | None) -> Steps:
    """The launches by kernels of ours."""
    result = layout_of(x.dtype, product.shape, None, x.device)
    left, right, batch, steps, _ = product
    dtype = x.dtype.name
    m, n, depth = left.rows, right.columns, left.columns
    part = shape_of(dtype, m, n)
    rows, columns = part.tile
    tiles = ceil_div(m, rows) * ceil_div(n, columns) * math.prod(batch)
    parts = max(1, min(ceil_div(BLOCKS, tiles), depth // SHORTEST)) if tiles < BLOCKS else 1
    share = ceil_div(ceil_div(depth, parts), DEPTH) * DEPTH if depth else DEPTH
    parts = max(1, ceil_div(depth, share))
    d = None if addend is None or parts > 1 else addend_steps(addend, product)
    d_batch, d_down, d_across = d or ((0,) * len(batch), 0, 0)
    dims = [(size, (*own, by, 0, 0)) for size, own, by in zip(batch, steps, d_batch)]
    down = (rows * left.down, 0, 0, rows * d_down, rows, 0)
    over = (0, columns * right.across, 0, columns * d_across, 0, columns)
    dims += [(ceil_div(m, rows), down), (ceil_div(n, columns), over)]
    dims = [dim for dim in dims if dim[0] > 1] or dims[:1]
    sizes, walked = [size for size, _ in dims], list(zip(*(each for _, each in dims)))
    assert len(walked) == len(WALKED)
    conj = (x.conj, y.conj)
    added = addend is not None and parts == 1
    template = multiply(
        dtype, deep_first(left.down, left.across), deep_first(right.across, right.down), len(dims), part, added, parts > 1, conj
    )
    strides = (left.down, left.across, right.across, right.down, d_down, d_across)
    counts = (m, n, depth, share, *strides, result.numel, *strided_args(sizes, walked))
    recipe = Recipe(template, identity, compute_dtype(dtype), index_source(64))
    pointers = (work() if parts > 1 else out(), operand(0), operand(1), *([operand(2)] if added else []))
    first = Step(recipe, (math.prod(sizes), parts), pointers, (), counts)
    if parts == 1:
        return Steps((first,))
    return Steps((first, join_step(result, parts, addend)), parts * result.numel * itemsize(compute_dtype(dtype)))


def join_step(result: Layout, parts: int, addend: Layout | None) -> Step:
    """The launch that adds parts up."""
    own = (0,) * result.ndim if addend is None else expanded(addend, result.shape)[1]
    sizes, steps = collapse(result.shape, [own])
    dtype = result.dtype.name
    recipe = Recipe(join_parts(dtype, len(sizes), addend is not None), identity, compute_dtype(dtype), index_source(64))
    pointers: tuple[Place, ...] = (out(), work(), *([operand(2)] if addend is not None else []))
    return Step(recipe, strided_grid(result.numel), pointers, (), (result.numel, parts, *strided_args(sizes, steps)))


def deep_first(along: int, deep: int) -> bool:
    """Whether neighbours of an operand lie along the sum rather than along the result."""
    return deep == 1 and along != 1


def addend_steps(addend: Layout, product: Product) -> tuple[tuple[int, ...], int, int]:
    """Strides of an addend of one row for all, over the batch of a product, down and across its matrices."""
    return (0,) * len(product.batch), 0, addend.strides[-1] if addend.numel > 1 else 0


# ---- products with a vector --------------------------------------------------------------------------------------------


def vector_steps(product: Product, x: Layout) -> Steps | None:
    """The launch of a product with a vector whose matrix lies row by row; None for others."""
    left, right, batch, steps, shape = product
    if not x.dtype.is_floating_point or right.columns != 1 and left.rows != 1:
        return None
    turned = right.columns != 1
    matrix, vector = (right.turned(), left.turned()) if turned else (left, right)
    if matrix.across != 1 or matrix.columns < VECTOR_FROM:
        return None
    batches = [(size, (own[1], own[0]) if turned else (own[0], own[1])) for size, own in zip(batch, steps)]
    sizes, walked = collapse(
        [*(size for size, _ in batches), matrix.rows],
        [[*(own[k] for _, own in batches), last] for k, last in enumerate((matrix.down, 0))],
    )
    n, dtype = math.prod(sizes), x.dtype.name
    of = accumulator(OPS["sum"], compute_dtype(dtype))
    recipe = Recipe(rows_times_vector(dtype, len(sizes)), identity, of.dtype, {**of.source(), **index_source(64)})
    first, second = (1, 0) if turned else (0, 1)
    counts = (n, matrix.columns, 1, vector.down, *strided_args(sizes, walked))
    return Steps((Step(recipe, (ceil_div(n, WARPS),), (out(), operand(first), operand(second)), (), counts),))


# ---- operations --------------------------------------------------------------------------------------------------------


def in_copies(op, tensors, attributes):
    """Operands that are lazily negated, copied."""
    return CALLS[op.name].plain(*(CALLS["contiguous_copy"](x) for x in tensors), **attributes)


@lowering("matmul", "mm", "bmm", "mv", "dot", "gemm")
def _matmul(op, layouts, attributes):
    product, (x, y) = product_in(op, layouts, attributes), layouts
    if x.neg or y.neg:
        return in_copies
    return (layout_of(x.dtype, product.shape, None, x.device),), product_steps(product, x, y)


@lowering("gemm_bias")
def _gemm_bias(op, layouts, attributes):
    product, (x, y, bias) = product_with_bias(layouts, attributes), layouts
    if any(each.neg for each in layouts) or bias.conj:
        return in_copies
    return (layout_of(x.dtype, product.shape, None, x.device),), product_steps(product, x, y, bias)
