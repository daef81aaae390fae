"""Elementwise expressions on operands of any layouts, as steps on a GPU.

A kernel converts what it loads to the dtype of computation, and what it stores to that in memory. What it cannot is done before, by
a copy into the workspace: operands of a richer kind than the computation's (complex ones of a real one, floats of one in integers),
lazy conjugation and negation, and operands that a half type rounds first.
"""

from __future__ import annotations

from typing import NamedTuple

from ..base.dtypes import COMPLEX, INTEGER, DType, bool_, dtype_of, promote_types
from ..kernels.cuda.access import compute_dtype, itemsize
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.steps import ELEMENTS, Number, Place, Step, Steps, Workspace, operand, out
from ..kernels.cuda.templates import BLOCK, Operand, across, array, collapse, elementwise, index_source, number, single
from ..kernels.cuda.turned import turned, turned_tiles
from ..kernels.cuda.vectors import lanes_for
from ..ops.expr import Expr, operation as expression_of, rebuilt
from ..ops.shapes import expanded
from ..tensors.layout import Layout, layout_of
from .device_copies import TILED_FROM, copy_step, index_bits, one_step, repeating, walk_step, with_single
from .device_formulas import Bound, Operation, bound
from .formulas import Formula, is_single

__all__ = ["elementwise_steps"]

MOST_TURNED = 2  # operands that go through shared memory


class Given(NamedTuple):
    """What a kernel is given for an operand: ``layout`` None for a Python number; ``place``: where its memory is."""

    layout: Layout | None
    place: Place


def elementwise_steps(
    formula: Formula,
    compute: DType,
    operands: tuple[Layout | None, ...],
    outs: tuple[Layout, ...],
    inplace: int = 0,
    exact: tuple[str, ...] | None = None,
) -> Steps:
    """The steps of ``elementwise_plan`` with these arguments."""
    formula, operands, outs = written_as_they_lie(formula, operands, outs, inplace)
    formula = wrapping(formula, compute, operands)
    first, before, space = outs[0], list[Step](), Workspace()
    if is_copy(formula) and operands[0] is not None and not inplace and formula.predicates == (False,) and exact is None:
        return one_step(copy_step(operands[0], first))
    half = compute if exact is not None and compute.compute != compute.name and compute is not bool_ else None
    given: list[Given] = []
    for k, x in enumerate(operands):
        place = out(k) if k < inplace else operand(k - inplace)
        target = None if x is None else converted_first(x, compute, half, formula.params[k][0] in (exact or ()))
        if x is not None and target is not None:
            copied = space.take(target.numel * target.dtype.itemsize)
            before += one_step(copy_step(x, target, place, copied)).kernels
            place, x = copied, target
        given.append(Given(x, place))
    many = first.numel != 1
    kinds = tuple([kind_of(x.layout, boolean, compute, many) for x, (_, boolean) in zip(given, formula.params)])
    made = bound(formula.name, formula, compute.name, kinds, tuple([x.dtype.name for x in outs]), inplace)
    return Steps((*before, launch_of(made, given, outs, compute)), space.size)


def written_as_they_lie(
    formula: Formula, operands: tuple[Layout | None, ...], outs: tuple[Layout, ...], inplace: int
) -> tuple[Formula, tuple[Layout | None, ...], tuple[Layout, ...]]:
    """The same where nothing that is written over is lazily conjugated or negated.

    The formula does that, to what it reads there and to what it writes.
    """
    marked = {k: x for k, x in enumerate(operands[:inplace]) if x is not None and (x.conj or x.neg)}
    if not marked:
        return formula, operands, outs

    def resolved(x: Layout, value: Expr) -> Expr:
        value = expression_of("conj_physical", value) if x.conj else value
        return expression_of("neg", value) if x.neg else value

    named = {formula.params[k][0]: x for k, x in marked.items()}
    read = [rebuilt(each, lambda x: resolved(named[x.args[0]], x) if x.args[0] in named else x) for each in formula.results]
    results = tuple(resolved(marked[k], each) if k in marked else each for k, each in enumerate(read))
    plain = {k: layout_of(x.dtype, x.shape, x.strides, x.device) for k, x in marked.items()}
    return (
        Formula(f"{formula.name}_resolved", formula.params, results),
        tuple(plain.get(k, x) for k, x in enumerate(operands)),
        tuple(plain.get(k, x) for k, x in enumerate(outs)),
    )


def wrapping(formula: Formula, compute: DType, operands: tuple[Layout | None, ...]) -> Formula:
    """A formula in which numbers, and tensors that count as numbers, are what they are in the computation's dtype: kernels load
    all integers as int64, in which -2 is less than all of uint8, and 300 is 300."""
    if compute.category != INTEGER or compute.itemsize == itemsize(compute_dtype(compute.name)):
        return formula
    wide = {
        name
        for (name, boolean), x in zip(formula.params, operands)
        if not boolean and (x is None or promote_types(x.dtype, compute) is not compute)
    }
    if not wide:
        return formula
    half = 1 << (8 * compute.itemsize - 1)

    def wrapped(x: Expr) -> Expr:
        if x.args[0] not in wide:
            return x
        return ((x + half) & (2 * half - 1)) - half if compute.is_signed else x & (2 * half - 1)

    return Formula(f"{formula.name}_wrapped", formula.params, tuple(rebuilt(each, wrapped) for each in formula.results))


def converted_first(x: Layout, compute: DType, half: DType | None, whole: bool) -> Layout | None:
    """The layout that an operand is copied into before the kernel; None where that loads it as it is."""
    target = compute if x.dtype.category > max(compute.category, INTEGER) else x.dtype
    if half is not None and x.dtype is not half and not (whole and not x.ndim) and x.dtype is not bool_:
        target = half
    if target is x.dtype and not (x.conj or x.neg):
        return None
    return layout_of(target, x.shape, None, x.device)


def kind_of(x: Layout | None, boolean: bool, compute: DType, many: bool) -> Operand:
    """What an operand is to the kernel: truth values as numbers are bytes."""
    if x is None:
        return number("uint8" if compute is bool_ else compute.name)
    name = x.dtype.name
    if boolean:
        name = "bool"
    elif x.dtype is bool_:
        name = "uint8"
    return single(name) if many and is_single(x) else array(name)


def launch_of(made: Bound, given: list[Given], outs: tuple[Layout, ...], compute: DType) -> Step:
    """The launch of an operation."""
    operation, first = made.operation, outs[0]
    read = [given[k] for k in made.places]
    pointers = [out(k) for k in range(len(operation.into), len(outs))]
    pointers += [x.place for x in read if x.layout is not None]
    values = [value for x in read if x.layout is None for value in number_values(x.place.at, compute)]
    arrays = [x.layout for x, kind in zip(read, operation.inputs) if kind.kind == "array" and x.layout is not None]
    if all(same_order(x, first) for x in (*outs, *arrays)):
        return contiguous_step(operation, tuple(pointers), tuple(values))
    layouts = [*outs[len(operation.into) :], *(x.layout for x in read if x.layout is not None)]
    return strided_step(operation, layouts, first, tuple(pointers), tuple(values))


def same_order(x: Layout, first: Layout) -> bool:
    """Whether the elements of a tensor lie in memory as those of the first result do, one after the other."""
    return x.dense and x.shape == first.shape and (x.strides == first.strides or (x.contiguous and first.contiguous))


def number_values(at: int, compute: DType) -> tuple[Number, ...]:
    """What the kernel is given of a Python number: the real part, and of a complex one the imaginary part too."""
    return (Number(at), Number(at, compute.itemsize // 2)) if compute.is_complex else (Number(at),)


def contiguous_step(operation: Operation, pointers: tuple[Place, ...], values: tuple[Number, ...]) -> Step:
    """The launch on contiguous memory, of any number of elements."""

    def made(lanes: int) -> Step:
        template = elementwise(operation.inputs, operation.outputs, operation.into, lanes)
        return Step(Recipe(template, operation.scalar, operation.dtype), (), pointers, values, (ELEMENTS,), tile=BLOCK * lanes)

    arrays = [x.dtype for x in operation.inputs if x.kind == "array"]
    return with_single(made, lanes_for(operation.scalar, operation.dtype, arrays, operation.outputs))


def strided_step(
    operation: Operation, layouts: list[Layout], first: Layout, pointers: tuple[Place, ...], values: tuple[Number, ...]
) -> Step:
    """The launch on memory with any strides.

    Args:
        layouts: of what the kernel's pointers point to; ``first``: of the first result, whose shape all broadcast to.
    """
    shape, steps = in_memory_order(first, [expanded(x, first.shape)[1] for x in layouts])
    sizes, walked = collapse(shape, steps)
    tiled = turned_step(operation, sizes, walked, pointers, values)
    if tiled is not None:
        return tiled
    inputs = repeating(operation, walked)
    arrays = [x.dtype for x in inputs if x.kind in ("array", "single")]
    lanes = lanes_for(operation.scalar, operation.dtype, arrays, operation.outputs)
    return walk_step(operation, inputs, sizes, walked, pointers, values, lanes)


def turned_step(
    operation: Operation,
    sizes: tuple[int, ...],
    walked: list[tuple[int, ...]],
    pointers: tuple[Place, ...],
    values: tuple[Number, ...],
) -> Step | None:
    """The launch by tiles; None where all operands' neighbours are the result's, or they are few."""
    inner, results = len(sizes) - 1, len(operation.outputs) - len(operation.into)
    steps = iter(walked[results:])
    own = [next(steps) if x.kind in ("array", "single") else None for x in operation.inputs]
    far = [
        k for k, each in enumerate(own) if each is not None and each[inner] not in (0, 1) and 1 in each and k not in operation.into
    ]
    dims = {own[k].index(1) for k in far}  # type: ignore[union-attr]
    if len(dims) != 1 or not 0 < len(far) <= MOST_TURNED or any(each[inner] != 1 for each in walked[:results]):
        return None
    (b,) = dims
    kinds = {operation.dtype, *(operation.inputs[k].dtype for k in far)}
    if min(sizes[b], sizes[inner]) < TILED_FROM or "bool" in kinds or dtype_of(operation.dtype).category == COMPLEX:
        return None
    batch = [(sizes[d], [each[d] for each in walked]) for d in range(inner) if d != b]
    tiles = turned_tiles(batch, *((sizes[d], [each[d] for each in walked]) for d in (inner, b)))
    bits = index_bits(sizes, *walked)
    inputs = [x._replace(kind="array") if x.kind == "single" else x for x in operation.inputs]
    inputs = [across(x.dtype) if k in far else x for k, x in enumerate(inputs)]
    template = turned(tuple(inputs), operation.outputs, operation.dtype, tiles.ndim, bits, operation.into)
    recipe = Recipe(template, operation.scalar, operation.dtype, index_source(bits))
    return Step(recipe, tiles.grid, pointers, values, tuple(tiles.counts))


def in_memory_order(first: Layout, steps: list[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The dimensions in the order in which the first result goes through memory."""
    if first.contiguous:
        return first.shape, steps
    order = sorted(range(first.ndim), key=lambda d: (-abs(first.strides[d]), d))
    return tuple([first.shape[d] for d in order]), [tuple([each[d] for d in order]) for each in steps]


def is_copy(formula: Formula) -> bool:
    """Whether a formula gives its one operand."""
    return len(formula.params) == 1 and len(formula.results) == 1 and formula.results[0].op == "symbol"
