"""Attention: one launch forward, one for the cotangents of queries, keys and values; in other operations where no BLAS serves."""

from __future__ import annotations

import ctypes
import math
from functools import cache

from ..base.calls import CALLS
from ..base.dtypes import DType, bool_, float32, float64
from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..kernels.cpu.blas import gemm_address
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.softmax import score_bindings
from ..native.plans import PARALLEL, pack_record
from ..ops.attention import attention_in_steps
from ..tensors.layout import Layout, broadcast_shapes, layout_of, like_strides
from .linalg import padded

__all__: list[str] = []

NAME = "scaled_dot_product_attention"
# Bytes of a block of scores, and its rows: benchmarks/test_kernels.py, attention.
BLOCK, FEWEST, MOST = 1 << 17, 32, 128
PARALLEL_FROM = 1 << 20  # multiply-adds


@cache
def allocator() -> tuple[int, int]:
    """Addresses of the C library's ``posix_memalign`` and ``free``; zeros where there are none."""
    try:
        library = ctypes.CDLL(None)
        functions = library.posix_memalign, library.free
    except (AttributeError, OSError, TypeError):
        return 0, 0
    first, second = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
    return first, second


@late
def kernel(name: str, dtype: str, mask: str) -> int:
    """Address of one of the loops."""
    from ..kernels.templates.attention import attention_loop  # not by an import

    loop, bindings = attention_loop(name, dtype, mask)
    return address(Program(name, loop, dtype, (*score_bindings(dtype), *bindings), True))


def check(query: Layout, key: Layout, value: Layout, mask: Layout | None) -> tuple[int, ...]:
    """The sizes of the batch.

    Raises:
        ShapeError: fewer than two dimensions, sizes that do not go together. DTypeError: other dtypes than one floating one.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise ShapeError(f"{NAME}: {name} is {list(x.shape)}, expected two dimensions or more.")
        if not x.dtype.is_floating_point or x.dtype is not query.dtype:
            raise DTypeError(
                f"{NAME}: query is {query.dtype}, {name} {x.dtype}, expected one floating dtype. Hint: {name}.to(dtype)."
            )
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError(f"{NAME}: query is {list(query.shape)}, key {list(key.shape)}, expected the same last size.")
    if key.shape[-2] != value.shape[-2]:
        raise ShapeError(f"{NAME}: key is {list(key.shape)}, value {list(value.shape)}, expected a value for each key.")
    shapes: tuple[tuple[int, ...], ...] = (query.shape[:-2], key.shape[:-2], value.shape[:-2])
    if mask is not None:
        if mask.dtype is not bool_ and not mask.dtype.is_floating_point:
            raise DTypeError(f"{NAME}: attn_mask is {mask.dtype}, expected bool or {query.dtype}. Hint: attn_mask.bool().")
        scores = query.shape[-2], key.shape[-2]
        if broadcast_shapes(NAME, (mask.shape[-2:], scores)) != scores:
            raise ShapeError(f"{NAME}: attn_mask is {list(mask.shape)}, expected one that broadcasts to {list(scores)}.")
        shapes = (*shapes, mask.shape[:-2])
    return broadcast_shapes(NAME, shapes)


def lies_by_rows(x: Layout) -> bool:
    """Whether BLAS takes its matrices as they lie."""
    down, across = x.strides[-2:]
    rows, columns = x.shape[-2:]
    return (across == 1 or columns == 1) and (down >= columns or rows == 1) and not x.neg and x.dtype in (float32, float64)


def mask_lies_by_rows(mask: Layout, dtype: DType, columns: int) -> bool:
    """Whether kernels read a mask as it lies."""
    by_rows = mask.ndim >= 2 and mask.shape[-1] == columns and (mask.strides[-1] == 1 or columns == 1)
    return by_rows and not mask.neg and mask.dtype in (bool_, dtype)


def in_order_of(x: Layout, shape: tuple[int, ...]) -> Layout:
    """A dense layout of a shape that goes through memory as ``x`` does, but rows as they are."""
    if x.contiguous or x.shape[:-1] != shape[:-1]:
        return x.like(None, shape)
    return layout_of(x.dtype, shape, like_strides(shape, (*x.strides[:-1], 0)), x.device)


def leading_dimension(x: Layout) -> int:
    """Elements between the rows of matrices; of one row whatever is allowed."""
    return x.strides[-2] if x.shape[-2] > 1 else max(x.shape[-1], 1)


def steps_of(x: Layout, batch: tuple[int, ...]) -> list[int]:
    """The bytes between the matrices of a batch that it broadcasts to."""
    return [step * x.dtype.itemsize for step in padded(x.shape[:-2], x.strides[:-2], len(batch))]


@lowering("attention", "attention_masked", "attention_cotangents", "attention_masked_cotangents")
def _attention(op, layouts, attributes):
    backward = op.operands[0] == "g"
    query, key, value, *rest = layouts[backward:]
    mask = rest[0] if rest else None
    batch = check(query, key, value, mask)
    (length, size), (others, width) = query.shape[-2:], value.shape[-2:]
    operands = layouts[: 3 + backward]
    if not (math.prod(batch) * length * size * others * width and gemm_address(query.dtype.compute) and allocator()[0]):
        return in_steps
    if not all(map(lies_by_rows, operands)) or (mask is not None and not mask_lies_by_rows(mask, query.dtype, others)):
        return arranged_call
    shapes = (length, size), (others, size), (others, width)
    if backward:
        outs = tuple([in_order_of(x, (*batch, *shape)) for x, shape in zip((query, key, value), shapes)])
    else:
        outs = (in_order_of(query, (*batch, length, width)),)
    return plan(layouts, outs, batch, (length, size, others, width), mask, attributes)


def plan(layouts, outs, batch, sizes, mask, attributes) -> GeneralPlan:
    """The launch."""
    length, size, others, width = sizes
    backward, (query, key, value) = len(outs) > 1, layouts[len(outs) > 1 :][:3]
    block = min(length, max(FEWEST, min(MOST, BLOCK // (others * query.dtype.itemsize) // 8 * 8)))
    blocks = -(-length // block)
    g, second, third = (layouts[0], *outs[1:]) if backward else (query,) * 3
    kind = "" if mask is None else "bool" if mask.dtype is bool_ else "number"
    down = mask.strides[-2] * mask.dtype.itemsize if mask is not None and mask.shape[-2] > 1 else 0
    head = (
        gemm_address(query.dtype.name),
        *allocator(),
        length,
        others,
        size,
        width,
        block,
        blocks,
        int(attributes["causal"]),
        attributes["scale"],
        *map(leading_dimension, (query, key, value, outs[0], g, second, third)),
        down,
    )
    walk = [len(batch), *batch]
    for steps in zip(*(steps_of(x, batch) for x in (*outs, *layouts))):
        walk += steps
    work, matrices = length * others * (size + width), math.prod(batch)
    units, each = (matrices, 3 * work) if backward else (matrices * blocks, work // blocks)
    flags = PARALLEL if units * each >= PARALLEL_FROM else 0
    code = kernel("attention_cotangents" if backward else "attention", query.dtype.name, kind)
    words = (*head, *walk)
    record = pack_record(code, units, max(1, PARALLEL_FROM // each), len(outs), (0,) * len(layouts), flags, words)
    return GeneralPlan(record, tuple([out.template for out in outs]), layouts)


@lowering("attention", "attention_masked", "attention_cotangents", "attention_masked_cotangents", device="cuda", style="run")
def in_steps(op, tensors, attributes):
    """The same in other operations."""
    *operands, mask = tensors if "mask" in op.operands else (*tensors, None)
    check(*[x.layout for x in operands[-3:]], None if mask is None else mask.layout)
    return op.in_steps(*tensors, **attributes) if op.in_steps else attention_in_steps(*operands, mask, **attributes)


def arranged_call(op, tensors, attributes):
    """The call of operands that kernels take: widened, rows as BLAS wants them; a mask with all its columns."""
    count = 4 if op.in_steps else 3
    query, dtype = tensors[count - 3], tensors[0].layout.dtype
    made = [by_rows(widened(x)) for x in tensors[:count]]
    for mask in tensors[count:]:
        numbers = mask if mask.layout.dtype is bool_ else CALLS["to_dtype"](mask, made[0].layout.dtype)
        columns = tensors[count - 2].layout.shape[-2]
        lead, rows = numbers.layout.shape[:-2], numbers.layout.shape[-2:-1] or (1,)
        numbers = CALLS["contiguous_copy"](CALLS["expand_shape"](numbers, (*lead, *rows, columns)))
        made.append(numbers)
    result = CALLS[op.name](*made, **attributes)
    if dtype is query.layout.dtype and dtype.compute == dtype.name:
        return result
    return tuple([CALLS["to_dtype"](x, dtype) for x in result]) if type(result) is tuple else CALLS["to_dtype"](result, dtype)


def widened(x):
    """A tensor of a half type in single precision."""
    return CALLS["to_dtype"](x, float32) if x.layout.dtype.compute != x.layout.dtype.name else x


def by_rows(x):
    """A tensor whose rows BLAS takes."""
    return x if lies_by_rows(x.layout) else CALLS["contiguous_copy"](x)
