"""Products of vectors, matrices and batches of matrices: one native launch each.

NOTE [Stored as]: BLAS takes a matrix by rows or by columns, with a step between them: a transposed operand is passed
as such, never copied. Only layouts that are neither (every second column, an expanded column) are copied first; those,
and half types, take ``in_steps``. Integers go through a loop of ours, which wraps around.

NOTE [Packed operands]: where BLAS packs blocks of both operands before it multiplies (``packs_operands``), elements are added
up in an order that the sizes alone decide: how an operand lies changes no bit. It does in products with a vector, which are
other loops, and where another layout lets batches be folded into one product of other sizes.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ..base.calls import CALLS
from ..base.dtypes import DType, bool_, float32, float64
from ..base.errors import DeviceError, DTypeError, ShapeError
from ..dispatch.formulas import Formula
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..dispatch.plans import elementwise_plan
from ..kernels.cpu.blas import gemm_address, packs_operands
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.gemm import AS_IS, TRANSPOSED, column_sums, gemm, move_all, row_products, typed_parts
from ..native.plans import PARALLEL, pack_record
from ..ops.core import OPS
from ..ops.expr import symbol
from ..ops.kinds import constant_number
from ..ops.linalg import in_turns, kron_in_steps, with_addend
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.tensor import Tensor, native
from .copy import copy_plan
from .reduce import reduction

# Multiply-adds from which the lock is dropped, from which one product is cut, and about which a block has at most: every block
# packs the whole of the other operand again, which small blocks pay for (benchmarks/test_kernels.py).
PARALLEL_FROM = 1 << 20
CUT_FROM = 1 << 23
BLOCK = 1 << 26
LEAST_BLOCK = 128  # rows or columns
TILE = 64  # blocks are multiples of it


class Matrix(NamedTuple):
    """The last two dimensions of an operand: sizes and strides in elements."""

    rows: int
    columns: int
    down: int
    across: int

    def turned(self) -> Matrix:
        """The transpose."""
        return Matrix(self.columns, self.rows, self.across, self.down)

    def stored(self) -> tuple[int, int] | None:
        """``(AS_IS or TRANSPOSED, leading dimension)``, or None where BLAS cannot take it."""
        rows, columns, down, across = self
        if rows <= 1:
            down = max(columns, 1) if across == 1 or columns <= 1 else down
        if columns <= 1:
            across = max(rows, 1) if down == 1 and rows > 1 else across
        if (across == 1 or columns <= 1) and (down >= max(columns, 1) or rows <= 1):
            return AS_IS, max(down, columns, 1)
        if (down == 1 or rows <= 1) and (across >= max(rows, 1) or columns <= 1):
            return TRANSPOSED, max(across, rows, 1)
        return None


class Product(NamedTuple):
    """What is to be multiplied: ``left`` (m, k) by ``right`` (k, n), for every index of ``batch``.

    Attributes:
        steps: for every batch dimension the strides of left, right and result, in elements.
        shape: of the result.
    """

    left: Matrix
    right: Matrix
    batch: tuple[int, ...]
    steps: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]


def as_matrix(layout: Layout, is_left: bool, turn: bool) -> tuple[Matrix, tuple[int, ...], tuple[int, ...]]:
    """``(matrix, batch sizes, batch strides)``; a vector is a row on the left and a column on the right."""
    shape, strides = layout.shape, layout.strides
    if layout.ndim == 1:
        size, step = shape[0], strides[0]
        return (Matrix(1, size, size, step) if is_left else Matrix(size, 1, step, 1)), (), ()
    matrix = Matrix(*shape[-2:], *strides[-2:])
    return matrix.turned() if turn else matrix, shape[:-2], strides[:-2]


def product_of(name: str, x: Layout, y: Layout, turn_x: bool, turn_y: bool) -> Product:
    """The product of two layouts by NumPy's rules of ``matmul``.

    Raises:
        ShapeError: a 0-d operand; inner sizes differ; batches do not broadcast.
        DTypeError: the dtypes differ, or are bool. DeviceError: the devices differ.
    """
    check_pair(name, x, y)
    left, left_batch, left_steps = as_matrix(x, True, turn_x)
    right, right_batch, right_steps = as_matrix(y, False, turn_y)
    if left.columns != right.rows:
        raise ShapeError(
            f"{name}: cannot multiply x {turned_text(x, turn_x)} by y {turned_text(y, turn_y)}: "
            f"x has {left.columns} columns, y has {right.rows} rows."
        )
    batch = broadcast_shapes(name, (left_batch, right_batch))
    shape = batch + (left.rows,) * (x.ndim > 1) + (right.columns,) * (y.ndim > 1)
    own, step = [], left.rows * right.columns
    for size in reversed(batch):
        own.append(step)
        step *= size
    steps = tuple(zip(padded(left_batch, left_steps, len(batch)), padded(right_batch, right_steps, len(batch)), reversed(own)))
    return folded(Product(left, right, batch, steps, shape))


def turned_text(layout: Layout, turn: bool) -> str:
    """A shape for a message."""
    shape = layout.shape
    return str(list((*shape[:-2], shape[-1], shape[-2]) if turn and len(shape) > 1 else shape))


def check_pair(name: str, x: Layout, y: Layout) -> None:
    """Both are at least vectors, of one dtype that can be multiplied, on one device."""
    for operand, layout in (("x", x), ("y", y)):
        if layout.ndim == 0:
            raise ShapeError(f"{name}: {operand} is 0-d, expected at least one dimension. Hint: use mul.")
    if x.dtype is not y.dtype:
        raise DTypeError(f"{name}: x is {x.dtype.name}, y is {y.dtype.name}, expected one dtype. Hint: x.to(y.dtype).")
    if x.dtype is bool_:
        raise DTypeError(f"{name}: not defined for bool. Hint: x.to(nbgrad.int64).")
    if x.device is not y.device:
        raise DeviceError(f"{name}: x is on {x.device}, y on {y.device}. Hint: move one with x.to(device).")


def padded(shape: tuple[int, ...], steps: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Strides broadcast to ``ndim`` dimensions."""
    return (0,) * (ndim - len(shape)) + tuple(0 if size == 1 else step for size, step in zip(shape, steps))


def folded(product: Product) -> Product:
    """The product with batch dimensions merged into the rows where one right operand serves them all."""
    left, right, batch, steps, shape = product
    while batch and steps[-1][1] == 0 and (steps[-1][0] == left.rows * left.down or left.rows == 1 or batch[-1] == 1):
        # One row has any stride between rows: the batch's.
        down = steps[-1][0] if left.rows == 1 and batch[-1] != 1 else left.down
        left = Matrix(left.rows * batch[-1], left.columns, down, left.across)
        batch, steps = batch[:-1], steps[:-1]
    return Product(left, right, batch, steps, shape)


def cuts(m: int, n: int, k: int) -> tuple[int, int, bool]:
    """``(blocks, rows or columns a block, whether columns are cut)`` of one product: a function of the shape alone."""
    by_columns = n > m
    length, work = (n if by_columns else m), m * n * k
    if work < CUT_FROM or length < 2 * LEAST_BLOCK:
        return 1, max(length, 1), by_columns
    block = max(LEAST_BLOCK, -(-length // max(2, work // BLOCK)))
    block = -(-block // TILE) * TILE
    return -(-length // block), block, by_columns


@late
def kernel(dtype: str, blas: bool) -> int:
    """The address of the kernel for a dtype of computation, for which there is a BLAS or not."""
    return address(Program("gemm", gemm, dtype, typed_parts(dtype, blas)))


def product_plan(product: Product, dtype: DType, layouts: tuple[Layout, ...], bias: Layout | None = None) -> GeneralPlan | None:
    """The launch of a product, or None where an operand has to be copied first; ``bias`` broadcasts to the result."""
    left, right, batch, steps, shape = product
    a, b = left.stored(), right.stored()
    addend = None if bias is None else addend_steps(bias, product)
    if a is None or b is None or (bias is not None and addend is None):
        return None
    if bias is None and dtype.is_floating_point:
        plan = vector_plan(product, dtype, layouts)
        if plan is not None:
            return plan
    m, n, k = left.rows, right.columns, left.columns
    size, name = dtype.itemsize, dtype.compute
    blocks, block, by_columns = cuts(m, n, k)
    across, down, over = addend or (0, 0, 0)
    blas = gemm_address(name)
    words = [
        blas,
        a[0],
        b[0],
        m,
        n,
        k,
        a[1],
        b[1],
        max(n, 1),
        int(bias is not None),
        across * size,
        blocks,
        block,
        int(by_columns),
        down * size,
        over * size,
        len(batch),
        *batch,
    ]
    for triple in steps:
        words += [step * size for step in triple]
    units = blocks
    for extent in batch:
        units *= extent
    out = layout_of(dtype, shape, None, layouts[0].device)
    flags = PARALLEL if m * n * k * (units // blocks) >= PARALLEL_FROM else 0
    grain = max(1, PARALLEL_FROM // max(1, m * n * k // blocks))
    operands = layouts if bias is None or len(layouts) == 3 else (*layouts, bias)
    code = kernel(name, blas != 0)
    record = pack_record(code, units if out.numel else 0, grain, 1, (0,) * len(operands), flags, words)
    return GeneralPlan(record, (out.template,), operands)


def addend_steps(bias: Layout, product: Product) -> tuple[int, int, int] | None:
    """Strides of an addend along a row of the result, from row to row and from matrix to matrix; None where it has no such."""
    left, right, batch, _, shape = product
    if bias.numel == 1:
        return 0, 0, 0
    steps = padded(bias.shape, bias.strides, len(shape))
    if len(bias.shape) == 1 and right.columns == bias.shape[0] and len(shape) > 1:
        return steps[-1], 0, 0  # one row for all, in whichever way the product is folded
    if len(shape) == 1:
        return (0, steps[0], 0) if right.columns == 1 else (steps[0], 0, 0)
    if len(batch) != len(shape) - 2 or len(batch) > 1:
        return None
    return steps[-1], steps[-2], steps[0] if batch else 0


def vector_plan(product: Product, dtype: DType, layouts: tuple[Layout, ...]) -> GeneralPlan | None:
    """The launch of a product of a matrix and a vector; None where it is none or its elements have gaps.

    Such products read every element once: loops of ours run at the speed of memory (OpenBLAS' gemm at a third of it).
    """
    left, right, batch, steps, shape = product
    if right.columns != 1 and left.rows != 1:
        return None
    turn = right.columns != 1
    matrix, vector = (right.turned(), left.turned()) if turn else (left, right)
    if matrix.rows * matrix.columns < VECTOR_FROM or (vector.down != 1 and vector.rows > 1):
        return None
    if matrix.across == 1 or matrix.columns == 1:
        code, lead = vector_kernel(dtype.compute, True), matrix.down
    elif matrix.down == 1 or matrix.rows == 1:
        code, lead = vector_kernel(dtype.compute, False), matrix.across
    else:
        return None
    block = COMBINED if code == vector_kernel(dtype.compute, False) else max(1, DOTTED // max(1, matrix.columns))
    blocks = -(-matrix.rows // block)
    size = dtype.itemsize
    words = [matrix.rows, matrix.columns, lead, block, blocks, 3 if turn else 2, 2 if turn else 3, len(batch), *batch]
    for triple in steps:
        words += [step * size for step in triple]
    units = blocks
    for extent in batch:
        units *= extent
    out = layout_of(dtype, shape, None, layouts[0].device)
    flags = PARALLEL if units * block * matrix.columns >= DOTTED else 0
    record = pack_record(code, units if out.numel else 0, 1, 1, (0,) * len(layouts), flags, words)
    return GeneralPlan(record, (out.template,), layouts)


# Elements of the matrix from which the loops for a vector are quicker than BLAS; multiply-adds a unit of row products
# has; columns that one unit of row combinations has.
VECTOR_FROM = 1 << 9
DOTTED = 1 << 16
COMBINED = 1 << 10


@late
def vector_kernel(dtype: str, by_rows: bool) -> int:
    """The address of the kernel of matrix times vector: the matrix's rows lie side by side, or its columns."""
    function = row_products if by_rows else column_sums
    return address(Program(function.__name__, function(dtype), dtype, (("move_all", move_all),), by_rows, apart=True))


def is_lazy(layouts: tuple[Layout, ...]) -> bool:
    """Whether an operand is conjugated or negated lazily."""
    return any(layout.conj or layout.neg for layout in layouts)


def in_steps(op, tensors, attributes) -> Tensor:
    """Half types through float32, awkward layouts through a copy."""
    dtype = tensors[0].layout.dtype
    if dtype.compute != dtype.name:
        wide = tuple(CALLS["to_dtype"](x, float32) for x in tensors)
        return CALLS["to_dtype"](CALLS[op.name](*wide, **attributes), dtype)
    return CALLS[op.name](*(CALLS["contiguous_copy"](x) for x in tensors), **attributes)


def copied(layouts: tuple[Layout, ...]) -> Callable:
    """``run(op, tensors, attributes)`` for a product of two: what BLAS cannot take is copied first, the other operand is not.

    Both are where it is not the matrices that are in the way.
    """
    awkward = tuple([as_matrix(layout, True, False)[0].stored() is None for layout in layouts])
    first, second = awkward if True in awkward else (True, True)

    def run(op, tensors, attributes):
        x, y = tensors
        copy = CALLS["contiguous_copy"]
        return CALLS[op.name](copy(x) if first else x, copy(y) if second else y, *attributes.values())

    return run


@lowering("matmul", "mm", "bmm", "mv", "dot", "gemm")
def _matmul(op, layouts, attributes):
    product, x = product_in(op, layouts, attributes), layouts[0]
    if x.dtype.compute != x.dtype.name or is_lazy(layouts):
        return in_steps
    return product_plan(product, x.dtype, layouts) or copied(layouts)


def product_in(op: Any, layouts: tuple[Layout, ...], attributes: dict) -> Product:
    """The product that an operation of two operands is."""
    x, y = layouts
    if op.ranks:
        check_ranks(op, x, y)
    return product_of(op.name, x, y, attributes.get("transpose_x", False), attributes.get("transpose_y", False))


@lowering("gemm_bias")
def _gemm_bias(op, layouts, attributes):
    product, (x, _, bias) = product_with_bias(layouts, attributes), layouts
    if x.dtype.compute != x.dtype.name or is_lazy(layouts):
        return in_steps
    return product_plan(product, x.dtype, layouts, bias) or in_steps


def product_with_bias(layouts: tuple[Layout, ...], attributes: dict) -> Product:
    """The product of a linear layer.

    Raises:
        ShapeError: the bias is not one number a column.
    """
    x, y, bias = layouts
    product = product_of("linear", x, y, False, attributes["transpose_y"])
    columns = product.right.columns
    check_pair("linear", x, bias)
    if bias.shape not in ((columns,), (1,)):
        raise ShapeError(f"linear: bias has shape {list(bias.shape)}, expected [{columns}].")
    return product


def gives_same_bits(op, layouts: tuple[Layout, ...], others: tuple[Layout, ...], attributes: dict) -> bool:
    """Whether a product of operands gives the same bits where these lie in other strides: NOTE [Packed operands]."""
    dtype = layouts[0].dtype
    if dtype not in (float32, float64) or is_lazy(layouts) or is_lazy(others) or not packs_operands():
        return False
    turns = attributes.get("transpose_x", False), attributes.get("transpose_y", False)
    one, other = (product_of(op.name, x, y, *turns) for x, y, *_ in (layouts, others))
    if one.left[:2] != other.left[:2] or one.right[:2] != other.right[:2] or one.batch != other.batch:
        return False
    stored = other.left.stored() is not None and other.right.stored() is not None
    return stored and one.left.rows > 1 and one.right.columns > 1


def check_ranks(op, x: Layout, y: Layout) -> None:
    """Refuse other ranks than the operation's, and batches of unequal size."""
    if (x.ndim, y.ndim) != op.ranks:
        raise ShapeError(
            f"{op.name}: x is {list(x.shape)}, y is {list(y.shape)}, expected {op.ranks[0]}-d and "
            f"{op.ranks[1]}-d. Hint: matmul takes all ranks and broadcasts."
        )
    if op.name == "bmm" and x.shape[0] != y.shape[0]:
        raise ShapeError(f"bmm: x has {x.shape[0]} matrices, y has {y.shape[0]}. Hint: matmul broadcasts.")


# ---- with an addend ------------------------------------------------------------------------------------------------


@lowering("addmm", "addmv", "baddbmm", "addr", "addbmm", style="run", device=None)
def _with_addend(op, tensors, attributes):
    input, first, second = tensors
    beta, alpha = (constant_number(op.name, name, attributes[name]) for name in ("beta", "alpha"))
    if (
        op.name == "addmm"
        and beta == 1
        and alpha == 1
        and first.layout.ndim == second.layout.ndim == 2
        and (input.layout.shape == second.layout.shape[1:])
    ):
        return CALLS["gemm_bias"](first, second, input, False)
    return with_addend(op, input, first, second, beta, alpha)


@prepared("addmm", "addmv", "baddbmm", "addr", "addbmm")
def _quick_with_addend(op, layouts, attributes):
    input, first, second = layouts
    dtype = input.dtype
    if attributes != {"beta": 1, "alpha": 1} or is_lazy(layouts) or not (dtype is first.dtype is second.dtype):
        return None
    if dtype.compute != dtype.name or dtype is bool_:
        return None
    fresh = native.fresh
    if op.name == "addbmm":
        return batch_summed(product_plan(product_of("bmm", first, second, False, False), dtype, (first, second)), input)
    if op.name == "addr":
        plan = outer_sum(input, first, second)
        return lambda input, first, second, *numbers: fresh(plan, input, first, second)
    product = product_of(op.name, first, second, False, False)
    large = dtype.is_floating_point and vector_plan(product, dtype, (first, second)) is not None  # two loops are quicker then
    made = None if large else product_plan(product, dtype, (first, second), input)
    return None if made is None else lambda input, first, second, *numbers: fresh(made, first, second, input)


def batch_summed(product: GeneralPlan | None, input: Layout) -> Callable | None:
    """``input`` and a batch of products, added up by three launches."""
    if product is None:
        return None
    layout, fresh = product.outs[0].layout, native.fresh
    total = reduction(OPS["sum"], layout, (0,), layout.like(shape=layout.shape[1:]))
    if not isinstance(total, GeneralPlan):
        return None
    out = total.outs[0].layout
    add = elementwise_plan(SUM, layout.dtype, (input, out), (out,), plan_type=GeneralPlan)
    return lambda input, first, second, *numbers: fresh(add, input, fresh(total, fresh(product, first, second)))


SUM = Formula("sum_of_two", (("x", False), ("y", False)), (symbol("x") + symbol("y"),))
OUTER_SUM = Formula("outer_sum", (("x", False), ("y", False), ("z", False)), (symbol("x") + symbol("y") * symbol("z"),))


def outer_sum(x: Layout, y: Layout, z: Layout) -> GeneralPlan:
    """The launch of ``x + outer(y, z)``."""
    column = layout_of(y.dtype, (y.shape[0], 1), (y.strides[0], 0), y.device)
    plan = elementwise_plan(OUTER_SUM, x.dtype, (x, column, z), (x.like(shape=(y.shape[0], z.shape[0])),), plan_type=GeneralPlan)
    plan.layouts = (x, y, z)
    return plan


# ---- Kronecker products --------------------------------------------------------------------------------------------

PRODUCT = Formula("product_of_two", (("x", False), ("y", False)), (symbol("x") * symbol("y"),))
# Elements of a result from which, and the shortest row of the second factor up to which, its rows are laid side by side first.
TILED_FROM, SHORT_ROW = 1 << 15, 256


@lowering("kron", style="run", device=None)
def _kron(op, tensors, attributes):
    return kron_in_steps(*tensors)


@prepared("kron")
def _quick_kron(op, layouts, attributes):
    x, y = layouts
    dtype = x.dtype
    if dtype is not y.dtype or not dtype.differentiable or dtype.compute != dtype.name or is_lazy(layouts):
        return None
    shape, wide, own, others = in_turns(x.shape, y.shape)
    if 0 in shape or not (x.contiguous and y.contiguous):
        return None
    fresh, out = native.fresh, x.like(shape=shape)
    if x.ndim == y.ndim == 2 and out.numel >= TILED_FROM and y.shape[1] < SHORT_ROW and x.shape[0] > 2:
        (m, columns), (n, row) = x.shape, y.shape
        spread = layout_of(dtype, (m, columns, row), (columns, 1, 0), x.device)
        side_by_side = layout_of(dtype, (n, columns, row), (row, 0, 1), y.device)
        first, second = copy_of(spread, x), copy_of(side_by_side, y)
        plan = placed_product(x.like(shape=(m, 1, columns * row)), x.like(shape=(n, columns * row)), (m, n, columns * row), out)
        plan.layouts = (first.outs[0].layout, second.outs[0].layout)
        return lambda x, y: fresh(plan, fresh(first, x), fresh(second, y))
    plan = placed_product(x.like(shape=own), y.like(shape=others), wide, out)
    plan.layouts = layouts
    return lambda x, y: fresh(plan, x, y)


def copy_of(view: Layout, operand: Layout) -> GeneralPlan:
    """The launch that copies what a layout shows of an operand."""
    plan = copy_plan(view, view.like())
    plan.layouts = (operand,)
    return plan


def placed_product(x: Layout, y: Layout, shape: tuple, out: Layout) -> GeneralPlan:
    """The launch of a product of a shape, whose result has another layout over the same elements."""
    plan = elementwise_plan(PRODUCT, x.dtype, (x, y), (x.like(shape=shape),), plan_type=GeneralPlan)
    plan.outs = (out.template,)
    return plan
