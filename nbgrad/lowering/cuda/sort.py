"""Orders on a GPU: ranks of the elements, stable sorts of those, and what is found in them."""

from __future__ import annotations

import math

from ...base.dtypes import int64, uint64
from ...base.errors import DimError, DTypeError, RangeError
from ...dispatch.device_copies import Move, move_step
from ...dispatch.device_fills import zeros_step
from ...kernels.cuda.access import compute_dtype, itemsize
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.moves import bits_of, identity
from ...kernels.cuda.searches import find_one, rank_dtype, rank_source, ranked
from ...kernels.cuda.selection import BLOCKS, PART, choose_byte, count_candidates, count_first, take_first, through
from ...kernels.cuda.sorting import BYTES, CAPACITY
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, operand, out
from ...kernels.cuda.templates import Template, array, ceil_div, collapse, index_source, strided, strided_args, strided_grid
from ...ops.reduce import kept_shape
from ...ops.shapes import wrap
from ...tensors.layout import Layout, contiguous_strides
from .orders import Keys, scan_steps, sort_steps
from .registry import lowering

__all__ = ["Sorted", "sorted_lines"]

HALF_BITS = {"bfloat16": 32, "float16": 32}  # ranks are those of the float32


class Sorted:
    """The steps of a sort of lines along a dimension, and where the results are.

    Attributes:
        lines, n: lines and elements of each; key: dtype of the ranks.
        order, keys: where order (int64) and sorted ranks are, line by line.
    """

    def __init__(self, x: Layout, dim: int, descending: bool, space: Workspace, order: Place | None, keeps: bool):
        self.n = x.shape[dim] if x.ndim else 1
        self.lines, self.key = x.numel // self.n if self.n else 0, rank_dtype(x.dtype.name)
        ranks = space.take(x.numel * itemsize(self.key))
        self.order = space.take(8 * x.numel) if order is None else order
        self.keys = space.take(x.numel * itemsize(self.key)) if keeps else None
        self.steps = [rank_step(x, dim, descending, self.key, ranks)]
        keys = Keys(ranks, self.key, self.lines, self.n, *key_bits(x))
        self.steps += sort_steps(keys, self.order, "int64", space, self.keys)


class Selected:
    """The steps that find the first few of each line's order, where that takes less than a sort of the lines; as ``Sorted``.

    NOTE [Selection] of ``kernels/cuda/selection.py``.

    Attributes:
        order: where the results are, line by line.
    """

    def __init__(self, x: Layout, dim: int, descending: bool, count: int, space: Workspace, order: Place | None):
        key, n = rank_dtype(x.dtype.name), x.shape[dim] if x.ndim else 1
        lines, size = x.numel // n, itemsize(key)
        keys, found, left = (space.take(nbytes) for nbytes in (x.numel * size, lines * size, 8 * lines))
        share = ceil_div(ceil_div(n, PART), max(1, BLOCKS // lines))
        blocks = ceil_div(n, share * PART)
        bits, signed = key_bits(x)
        rounds, size_of_counts, grid = ceil_div(bits, 8), 4 * lines * BYTES, (lines * blocks,)
        counts = space.take(rounds * size_of_counts)
        zeros = zeros_step(rounds * size_of_counts, 4, counts)
        assert zeros is not None
        self.steps = [rank_step(x, dim, descending, key, keys), zeros]

        def launch(template: Template, grid: tuple[int, ...], pointers: tuple[Place, ...], *numbers: int) -> None:
            self.steps.append(Step(Recipe(template, identity, "int64"), grid, pointers, (), numbers))

        base = -(1 << bits) if descending and not signed else 0  # ranks of such are -1 - x
        for number, shift in enumerate(reversed(range(0, bits, 8))):
            first = shift + 8 >= bits
            flip = 128 if first and signed else 0
            own = counts._replace(offset=counts.offset + number * size_of_counts)
            launch(count_candidates(key), grid, (own, keys, found), n, blocks, share, shift, flip, int(first))
            launch(choose_byte(key), (lines,), (found, left, own), shift, flip, int(first), base, count)
        sums = space.take(8 * (lines * blocks + 1))
        taken, places = space.take(lines * count * size), space.take(8 * lines * count)
        launch(count_first(key), grid, (sums, keys, found), n, blocks, share)
        self.steps += scan_steps(sums, "int64", lines * blocks, space)
        launch(take_first(key), grid, (taken, places, keys, found, left, sums), n, blocks, share, count)
        inner = space.take(8 * lines * count)
        self.steps += sort_steps(Keys(taken, key, lines, count, bits, signed), inner, "int64", space)
        self.order = space.take(8 * lines * count) if order is None else order
        launch(through(), strided_grid(lines * count), (self.order, places, inner), lines * count, count)


def is_selected(x: Layout, dim: int, count: int) -> bool:
    """Whether the first ``count`` of each line are selected: of lines that no block sorts by itself, an eighth or less."""
    n = x.shape[dim] if x.ndim else 1
    return n > 2 * CAPACITY and 8 * count <= n and x.numel < 1 << 31


def key_bits(x: Layout) -> tuple[int, bool]:
    """Bits of the ranks of elements, and whether the highest is a sign."""
    return HALF_BITS.get(x.dtype.name, 8 * x.dtype.itemsize), x.dtype.is_signed or x.dtype is uint64  # whose ranks are


def rank_step(x: Layout, dim: int, descending: bool, key: str, ranks: Place) -> Step:
    """The launch that makes ranks of operand 0, line by line."""
    name = "uint8" if x.dtype.name == "bool" else x.dtype.name
    order = [d for d in range(x.ndim) if d != dim] + ([dim] if x.ndim else [])
    shape = [x.shape[d] for d in order] or [1]
    sizes, steps = collapse(shape, [contiguous_strides(tuple(shape)), [x.strides[d] for d in order] or [1]])
    scalar = ranked(name)
    source = {**rank_source(name, not descending), **index_source(64)}
    recipe = Recipe(strided((array(name),), (key,), len(sizes), 64), scalar, compute_dtype(name), source)
    count = math.prod(sizes)
    return Step(recipe, strided_grid(count), (ranks, operand()), (), (count, *strided_args(sizes, steps)))


def check_ordered(op: str, x: Layout) -> None:
    """Refuse complex numbers, which have no order."""
    if x.dtype.is_complex:
        raise DTypeError(f"{op}: complex numbers have no order, got {x.dtype}.")


def sorted_lines(
    x: Layout, dim: int, descending: bool, first: int, count: int, shape: tuple[int, ...]
) -> tuple[tuple[Layout, ...], Steps]:
    """Of the order along a dimension ``count`` places from ``first`` on, in the shape of the result."""
    result, space = x.like(int64, shape), Workspace()
    if not result.numel:
        return (result,), Steps(())
    n, along = x.shape[dim] if x.ndim else 1, not x.ndim or dim == x.ndim - 1
    found: Sorted | Selected
    if is_selected(x, dim, first + count):
        width = first + count
        direct = along and not first
        found = Selected(x, dim, descending, width, space, out() if direct else None)
    else:
        width, direct = n, along and count == n
        found = Sorted(x, dim, descending, space, out() if direct else None, False)
    steps = list[Step | None](found.steps)
    if not direct:
        steps.append(placed_back(found.order, result, dim, width, first))
    return (result,), Steps(tuple(step for step in steps if step is not None), space.size)


def placed_back(order: Place, result: Layout, dim: int, n: int, first: int) -> Step | None:
    """The launch that puts a part of each line into the result, whose lines lie along ``dim``."""
    lines = [d for d in range(result.ndim) if d != dim]
    strides, step = [0] * result.ndim, n
    for d in reversed(lines):
        strides[d] = step
        step *= result.shape[d]
    strides[dim] = 1
    bits = bits_of(8)
    read = order._replace(offset=order.offset + 8 * first)
    return move_step(Move(bits, bits, "int64", identity), result.shape, result.strides, strides, read, out())


@lowering("argsort")
def _argsort(op, layouts, attributes):
    (x,) = layouts
    check_ordered("argsort", x)
    dim = wrap("argsort", attributes["dim"], x.ndim)
    return sorted_lines(x, dim, bool(attributes["descending"]), 0, x.shape[dim] if x.ndim else 1, x.shape)


@lowering("top_indices")
def _top_indices(op, layouts, attributes):
    (x,), k = layouts, attributes["k"]
    check_ordered("topk", x)
    dim = wrap("topk", attributes["dim"], x.ndim)
    size = x.shape[dim] if x.ndim else 1
    if not 0 <= k <= size:
        raise RangeError(f"topk: k = {k}, expected 0 to {size}, the size of dimension {dim}.")
    shape = (*x.shape[:dim], int(k), *x.shape[dim + 1 :]) if x.ndim else ()
    return sorted_lines(x, dim, bool(attributes["largest"]), 0, int(k) if x.ndim else 1, shape)


def found_in_order(x: Layout, dim: int, search: str, ignore: bool) -> tuple[tuple[Layout, ...], Steps]:
    """One element of each line, the dimension kept."""
    result, space = x.like(int64, kept_shape(x.shape, (dim,), True) if x.ndim else ()), Workspace()
    if not result.numel or not x.numel:
        return (result,), Steps(())
    found = Sorted(x, dim, False, space, None, True)
    assert found.keys is not None
    source = rank_source("uint8" if x.dtype.name == "bool" else x.dtype.name, True)
    recipe = Recipe(find_one(found.key, search), identity, compute_dtype(x.dtype.name), source)
    last = Step(recipe, strided_grid(found.lines), (out(), found.order, found.keys), (), (found.lines, found.n, int(ignore)))
    return (result,), Steps((*found.steps, last), space.size)


@lowering("median_indices")
def _median_indices(op, layouts, attributes):
    (x,) = layouts
    check_ordered("median", x)
    dim = wrap("median", attributes["dim"], x.ndim)
    if x.ndim and not x.shape[dim]:
        raise DimError(f"median: dimension {dim} of {list(x.shape)} has no elements.")
    return found_in_order(x, dim, "median", bool(attributes["ignore_nan"]))


@lowering("mode_indices")
def _mode_indices(op, layouts, attributes):
    (x,) = layouts
    check_ordered("mode", x)
    dim = wrap("mode", attributes["dim"], x.ndim)
    if x.ndim and not x.shape[dim] and all(size for d, size in enumerate(x.shape) if d != dim):
        raise DimError(f"mode: dimension {dim} of {list(x.shape)} has no elements.")
    return found_in_order(x, dim, "mode", False)
