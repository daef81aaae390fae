"""Batching rules of operations with a lowering of their own: how one call does what a call for each element of the batch would do.

A declaration may name its kind of rule (``batched``). Otherwise the names of its attributes decide: ``dim`` and its like count the
dimensions behind the batch, and ``shape`` leaves the batch out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.dtypes import bool_
from ..creation.sequences import arange
from ..modes.batched import Batched
from ..modes.interpreters import Call
from ..ops.channels import channels_in_steps
from ..ops.linalg import kron_in_steps, with_addend
from ..ops.recurrent import recurrent_in_steps
from ..ops.reduce import names_none, reduced_dims
from ..ops.shapes import as_block, inverse_permutation, wrap as wrap_dim
from ..ops.standardise import scaled_in_steps
from ..tensors.batch_levels import BatchingError
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor
from .interpreter import batch_kind, batch_rule, looped
from .tensors import Batch, has_batched

DIMS = ("dim", "dims", "dim1", "dim2", "dimension")


# ---- attributes by their names -------------------------------------------------------------------------------------


@batch_kind("general", "reduction")
def by_names(call: Call, batch: Batch) -> Any:
    """Dimensions count from behind the batch, shapes have it in front, other tensors are operands too."""
    return call_behind_batch(call, batch)


@batch_kind("broadcasting")
def side_by_side(call: Call, batch: Batch) -> Any:
    """Operands of as many dimensions behind the batch as the result has."""
    ndim = max(x.layout.ndim for x in call.operands)
    return batch.wrap(CALLS[call.op.name](*(batch.full(x, ndim) for x in call.operands), **call.attributes))


def call_behind_batch(call: Call, batch: Batch, kept: tuple[str, ...] = ()) -> Any:
    """The call with its attributes by their names; those in ``kept`` stay what they are."""
    attributes = call.attributes
    shown = len(attributes["shape"]) if "shape" in attributes else max(x.layout.ndim for x in call.operands)
    if not shown and any(name in attributes for name in DIMS):
        return on_numbers(call, batch)
    moved = {name: value if name in kept else shifted(call, name, value, shown, batch) for name, value in attributes.items()}
    operands = [batch.full(x) for x in call.operands]
    return batch.wrap(CALLS[call.op.name](*operands, **moved))


def shifted(call: Call, name: str, value: Any, shown: int, batch: Batch) -> Any:
    """An attribute as the operation on the whole batch has it."""
    if name == "dims" and value is not None:  # none of them is none; of "dim" it is all
        value = (value,) if isinstance(value, int) else value
        return tuple(wrap_dim(call.op.name, d, shown) + batch.depth for d in value)
    if name in DIMS:
        if names_none(call.op, value):
            return ()
        return behind_batch(call.op.name, tuple(value) if isinstance(value, list) else value, shown, batch.depth)
    return (*batch.sizes, *value) if name == "shape" else batch.fulls(value)


@lru_cache(maxsize=4096)
def behind_batch(op: str, dim: Any, shown: int, depth: int) -> Any:
    """A dimension, or several, of all dimensions."""
    if isinstance(dim, int):
        return wrap_dim(op, dim, shown) + depth
    return tuple(d + depth for d in reduced_dims(op, shown, dim))


def on_numbers(call: Call, batch: Batch) -> Any:
    """An operation along the one dimension that a 0-d tensor is thought to have."""
    if len(call.operands) > 1 or "shape" in call.attributes or any(isinstance(x, Tensor) for x in call.attributes.values()):
        return looped(call, batch)
    names = {
        name: batch.depth if isinstance(value, int) else (batch.depth,) for name, value in call.attributes.items() if name in DIMS
    }
    row = CALLS["unsqueeze"](batch.full(call.operands[0]), -1)
    return batch.wrap(CALLS["reshape"](CALLS[call.op.name](row, **{**call.attributes, **names}), batch.sizes))


@batch_kind("row")
def as_a_row(call: Call, batch: Batch) -> Any:
    """Along a dimension, or of all elements in a row."""
    name = "dims" if call.op.name == "roll" else "dim"
    if call.attributes[name] is not None and not (name == "dims" and call.attributes[name] == ()):
        return call_behind_batch(call, batch)
    (x,) = call.operands
    row = batch.wrap(CALLS["reshape"](batch.full(x), (*batch.sizes, x.layout.numel)))
    made = CALLS[call.op.name](row, **{**call.attributes, name: 0})
    if name == "dims":
        return CALLS["reshape"](made, x.layout.shape)
    return CALLS["reshape"](made, (1,) * x.layout.ndim if call.attributes["keepdim"] else ())


@batch_rule("sum_over")
def sum_over(call: Call, batch: Batch) -> Any:
    """Sum down to a shape of fewer dimensions."""
    x, shape = call.operands[0], call.attributes["shape"]
    inner = (*batch.sizes, *(1,) * (x.layout.ndim - len(shape)), *shape)
    made = CALLS["sum_over"](x._value_, inner) if inner != x._value_.layout.shape else x._value_
    return batch.wrap(CALLS["view_shape"](made, (*batch.sizes, *shape)))


@batch_rule("repeat_sizes")
def repeat_sizes(call: Call, batch: Batch) -> Any:
    """The batch is not repeated."""
    repeats = tuple(call.attributes["repeats"])
    ndim = max(call.operands[0].layout.ndim, len(repeats))
    if ndim != len(repeats):
        return looped(call, batch)  # the operation says what is wrong
    return batch.wrap(CALLS["repeat_sizes"](batch.full(call.operands[0], ndim), (*(1,) * batch.depth, *repeats)))


@batch_rule("clone_like")
def clone_like(call: Call, batch: Batch) -> Any:
    """Every element of the batch in the given layout, one behind the other."""
    layout = call.attributes["layout"]
    step = 1 + sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides)) if layout.numel else 1
    strides: list[int] = []
    for size in reversed(batch.sizes):
        strides.insert(0, step)
        step *= size or 1
    shape, strides = (*batch.sizes, *layout.shape), [*strides, *layout.strides]
    whole = layout_of(layout.dtype, shape, tuple(strides), layout.device, layout.conj, layout.neg)
    return batch.wrap(CALLS["clone_like"](call.operands[0]._value_, whole))


@batch_rule("dropout_mask")
def dropout_mask(call: Call, batch: Batch) -> Any:
    """What is drawn depends on the levels' randomness alone: see random.draw."""
    shown = call.operands[0].layout.unmarked()
    return CALLS["dropout_mask"](CALLS["new_full"](shown, 0), **call.attributes)


# ---- products ------------------------------------------------------------------------------------------------------


@batch_kind("product")
def product(call: Call, batch: Batch) -> Any:
    """One product of stacks of matrices."""
    x, y = call.operands[:2]
    op: Any = call.op
    ranks = x.layout.ndim, y.layout.ndim
    if (op.ranks or ranks) != ranks or 0 in ranks:
        refuse_shown(call)
    turn_x, turn_y = call.attributes.get("transpose_x", False), call.attributes.get("transpose_y", False)
    if len(call.operands) == 2:
        return multiplied(x, y, turn_x, turn_y, batch)
    bias = call.operands[2]
    if type(x) is Batched and not has_batched((y, bias)):
        return batch.wrap(CALLS["gemm_bias"](x._value_, y, bias, turn_y))
    return CALLS["add"](CALLS["gemm"](x, y, False, turn_y), bias)


def multiplied(x: Tensor, y: Tensor, turn_x: bool, turn_y: bool, batch: Batch) -> Any:
    """``op(x) @ op(y)`` of operands of any ranks but 0."""
    ranks = x.layout.ndim, y.layout.ndim
    if ranks == (1, 1):
        return CALLS["sum"](CALLS["mul"](x, y), -1)
    if ranks == (1, 2) and type(y) is not Batched:
        return batch.wrap(CALLS["gemm"](batch.full(x), y, False, turn_y))  # the batch is the rows
    if ranks == (2, 1) and type(x) is not Batched:
        return batch.wrap(CALLS["gemm"](batch.full(y), x, False, not turn_x))
    if ranks[0] > 1 and ranks[1] == 2 and type(y) is not Batched and not turn_x:
        return batch.wrap(CALLS["gemm"](batch.full(x), y, False, turn_y))
    left = CALLS["unsqueeze"](x, 0) if ranks[0] == 1 else x
    right = CALLS["unsqueeze"](y, 1) if ranks[1] == 1 else y
    ndim = max(left.layout.ndim, right.layout.ndim)
    made = CALLS["gemm"](batch.loose(left, ndim), batch.loose(right, ndim), turn_x and ranks[0] > 1, turn_y and ranks[1] > 1)
    made = CALLS["select"](made, -2, 0) if ranks[0] == 1 else made
    return batch.wrap(CALLS["select"](made, -1, 0) if ranks[1] == 1 else made)


@batch_rule("trace")
def trace(call: Call, batch: Batch) -> Any:
    """The sums of the diagonals of a stack of matrices."""
    (x,) = call.operands
    if x.layout.ndim != 2:
        refuse_shown(call)
    return CALLS["sum"](CALLS["diagonal"](x), -1)


@batch_kind("summand")
def with_addends(call: Call, batch: Batch) -> Any:
    """The sums of batches of products and addends."""
    op: Any = call.op
    if any(x.layout.ndim != ndim for x, ndim in zip(call.operands[1:], op.ranks[1:])):
        refuse_shown(call)
    return with_addend(call.op, *call.operands, **call.attributes)


@batch_rule("kron")
def kron(call: Call, batch: Batch) -> Any:
    """A product that broadcasts."""
    return kron_in_steps(*call.operands)


def refuse_shown(call: Call) -> None:
    """Call the operation on tensors of the shapes that the call shows, for the error that it raises."""
    CALLS[call.op.name](*(CALLS["new_full"](x.layout.like(), 0) for x in call.operands), **call.attributes)


# ---- joins ---------------------------------------------------------------------------------------------------------


@batch_rule("cat", "stack")
def join(call: Call, batch: Batch) -> Any:
    """Behind the batch; an operand of shape (0,) takes part in any shape, which with a batch it would not."""
    tensors, dim = call.operands[0], call.attributes["dim"]
    shown = max(x.layout.ndim for x in tensors)
    if call.op.name == "cat" and shown > 1:
        tensors = [x for x in tensors if x.layout.shape != (0,)]
    extent = shown + (call.op.name == "stack")
    return batch.wrap(CALLS[call.op.name](tuple(map(batch.full, tensors)), wrap_dim(call.op.name, dim, extent) + batch.depth))


@batch_rule("blocks")
def blocks(call: Call, batch: Batch) -> Any:
    """Rows of zeros with a block in each, below one another."""
    sizes = [as_block(x.layout.shape) for x in call.operands[0]]
    width, column, rows = sum(w for _, w in sizes), 0, []
    for x, (height, own) in zip(call.operands[0], sizes):
        rows.append(CALLS["zero_pad"](CALLS["reshape"](x, (height, own)), (column, width - column - own)))
        column += own
    return CALLS["cat"](tuple(rows), 0)


# ---- standardised rows ---------------------------------------------------------------------------------------------


@batch_kind("scaled rows")
def scaled_rows(call: Call, batch: Batch) -> Any:
    """The rows of the whole batch, if it shares weight and bias."""
    x, *parameters = call.operands
    if not has_batched(parameters):
        return batch.wrap(CALLS[call.op.name](batch.full(x), *parameters, **call.attributes))
    return scaled_in_steps(x, *parameters, *[None] * (2 - len(parameters)), **call.attributes)


@batch_rule("standardise_channels")
def standardise_channels(call: Call, batch: Batch) -> Any:
    """By other operations: batches come before the dimension of channels."""
    return channels_in_steps(*call.operands, **call.attributes)


@batch_rule("recurrent", "recurrent_cotangents")
def recurrent(call: Call, batch: Batch) -> Any:
    """More sequences, if the batch shares weights and biases."""
    op: Any = call.op
    operands = dict(zip(op.operands, call.operands))
    shared = [name for name in ("w", "b") if name in operands]
    if has_batched([operands[name] for name in shared]):
        return (op.in_steps or recurrent_in_steps)(*call.operands, **call.attributes)

    def joined(name: str, x: Tensor) -> Tensor:
        if name in shared:
            return x
        place = x.layout.ndim - (1 if name == "lengths" else 2)  # of the sequences
        whole, depth = batch.full(x), batch.depth
        order = (*range(depth, depth + place), *range(depth), *range(depth + place, whole.layout.ndim))
        shape = x.layout.shape
        return CALLS["reshape"](CALLS["permute"](whole, order), (*shape[:place], count, *shape[place + 1 :]))

    def parted(x: Tensor) -> Tensor:
        shape, depth = x.layout.shape, batch.depth
        place = len(shape) - 2
        split = CALLS["reshape"](x, (*shape[:place], *batch.sizes, sequences, shape[-1]))
        order = (*range(place, place + depth), *range(place), *range(place + depth, split.layout.ndim))
        return batch.wrap(CALLS["permute"](split, order))

    sequences = operands["lengths"].layout.shape[0]
    count = sequences * math.prod(batch.sizes)
    made = CALLS[op.name](*(joined(name, x) for name, x in operands.items()), **call.attributes)
    return tuple([parted(x) if x.layout.ndim > 1 else x for x in made])


@batch_kind("more samples")
def more_samples(call: Call, batch: Batch) -> Any:
    """The batch is more samples, which are the first dimension of all operands and of the result."""
    wholes = [batch.full(x) for x in call.operands]
    count = math.prod(wholes[0].layout.shape[: batch.depth + 1])
    joined = [CALLS["reshape"](x, (count, *x.layout.shape[batch.depth + 1 :])) for x in wholes]
    made = CALLS[call.op.name](*joined, **call.attributes)
    return batch.wrap(CALLS["reshape"](made, (*wholes[0].layout.shape[: batch.depth + 1], *made.layout.shape[1:])))


@batch_kind("in steps")
def in_steps(call: Call, batch: Batch) -> Any:
    """By other operations, which have rules."""
    op: Any = call.op
    return op.in_steps(*call.operands, **call.attributes)


# ---- points --------------------------------------------------------------------------------------------------------


class Points:
    """Where ``index`` finds the elements of a batch.

    Attributes:
        indices: for the tensor with its own levels in front: those of the call, after one that counts along every level where
            indices differ over the batch.
        order: the permutation of the result that puts all levels in front and the rest as the call shows it.
        ndim: how many dimensions the call shows.
    """

    def __init__(self, indices: tuple, ndim: int, own: tuple, batch: Batch):
        given = [index.layout for index in indices if index is not None]
        rank = max(layout.ndim for layout in given)
        points: list = [("point", k) for k in range(rank)]
        shown = arranged([("dim", d) for d in range(ndim)], indices, points)
        levels = list(batch.levels)
        if has_batched(indices):
            counting = [counted(level, batch, rank, given[0].device) for level in own]
            self.indices: tuple = (*counting, *(None if index is None else batch.loose(index, rank) for index in indices))
            points = [*levels, *points]
        else:
            self.indices = (*(None,) * len(own), *indices)
        made = arranged([*own, *(("dim", d) for d in range(ndim))], self.indices, points)
        self.order = tuple(made.index(axis) for axis in (*levels, *shown))
        self.ndim = len(shown)


def arranged(axes: list, indices: tuple, points: list) -> list:
    """The axes of the result of ``index``: those of the points stand where adjacent indices stood, else in front."""
    places = [d for d, index in enumerate(indices) if index is not None]
    if places[-1] - places[0] + 1 == len(places):
        return [*axes[: places[0]], *points, *axes[places[-1] + 1 :]]
    return [*points, *(axis for d, axis in enumerate(axes) if d not in places)]


def counted(level, batch: Batch, rank: int, device: Any) -> Tensor:
    """0, 1, ... along a level, for use beside indices of so many dimensions, where these are."""
    place = batch.levels.index(level)
    return CALLS["view_shape"](arange(level.size, device=device), (level.size, *(1,) * (batch.depth - place - 1 + rank)))


@batch_rule("index")
def index(call: Call, batch: Batch) -> Any:
    """The elements at index tensors, which may differ over the batch or not."""
    x, indices = call.operands[0], call.attributes["indices"]
    own = x._levels_ if type(x) is Batched else ()
    points = Points(indices, x.layout.ndim, own, batch)
    made = CALLS["index"](x._value_ if own else x, points.indices)
    return batch.wrap(CALLS["permute_dims"](made, points.order))


@batch_rule("index_backward")
def index_backward(call: Call, batch: Batch) -> Any:
    """The transpose of the batch's index."""
    shape = call.attributes["shape"]
    points = Points(call.attributes["indices"], len(shape), batch.levels, batch)
    g = CALLS["permute_dims"](batch.full(call.operands[0]), inverse_permutation(points.order))
    return batch.wrap(CALLS["index_backward"](g, points.indices, (*batch.sizes, *shape)))


@batch_rule("index_write")
def index_write(call: Call, batch: Batch) -> Any:
    """The batch's elements written at index tensors."""
    x, values = call.operands
    points = Points(call.attributes["indices"], x.layout.ndim, batch.levels, batch)
    new = CALLS["permute_dims"](batch.full(values, points.ndim), inverse_permutation(points.order))
    return batch.wrap(CALLS["index_write"](batch.full(x), new, points.indices, call.attributes["accumulate"]))


@batch_rule("index_zeroed")
def index_zeroed(call: Call, batch: Batch) -> Any:
    """Zeros at index tensors."""
    (x,) = call.operands
    points = Points(call.attributes["indices"], x.layout.ndim, batch.levels, batch)
    return batch.wrap(CALLS["index_zeroed"](batch.full(x), points.indices))


def at(dim: int, index: Tensor, ndim: int) -> tuple:
    """Indices of ``index`` that name slices of a dimension."""
    return (*(None,) * wrap_dim("index", dim, ndim), index)


def along_one(*names: str) -> Callable[[Callable], Callable]:
    """Register ``points(*operands, **attributes)`` for a 1-d index along a dimension that differs over the batch."""

    def register_rule(points: Callable[..., Any]) -> Callable:
        @batch_rule(*names)
        def rule(call: Call, batch: Batch) -> Any:
            if type(call.attributes["index"]) is not Batched:
                return call_behind_batch(call, batch, ("index",))
            if not len(call.attributes.get("shape", call.operands[0].layout.shape)):
                return looped(call, batch)
            return points(*call.operands, **call.attributes)

        return points

    return register_rule


@along_one("index_select")
def index_select(x, dim, index):
    """Points that are slices."""
    return CALLS["index"](x, at(dim, index, x.layout.ndim))


@along_one("index_select_backward")
def index_select_backward(x, shape, dim, index):
    """The transpose."""
    return CALLS["index_backward"](x, at(dim, index, len(shape)), shape)


@along_one("index_add_source")
def index_add_source(x, source, dim, index):
    """Slices added."""
    return CALLS["index_write"](x, source, at(dim, index, x.layout.ndim), True)


@along_one("index_copy_source")
def index_copy_source(x, source, dim, index):
    """Slices written."""
    return CALLS["index_write"](x, source, at(dim, index, x.layout.ndim), False)


@along_one("index_fill_value")
def index_fill_value(x, dim, index, value):
    """A number in slices."""
    number = CALLS["new_full"](layout_of(x.layout.dtype, (), None, x.layout.device), value)
    return CALLS["index_write"](x, number, at(dim, index, x.layout.ndim), False)


@batch_rule("index_fill_tensor")
def index_fill_tensor(call: Call, batch: Batch) -> Any:
    """One element in slices, which may differ over the batch; an index that comes twice fills one slice once."""
    (x, value), dim, index = call.operands, call.attributes["dim"], call.attributes["index"]
    nowhere = CALLS["new_full"](layout_of(bool_, x.layout.shape, None, x.layout.device), 0)
    filled = CALLS["index_fill_value"](nowhere, dim, index, True)
    return CALLS["masked_fill"](x, filled, CALLS["reshape"](value, ()))


@batch_rule("take")
def take(call: Call, batch: Batch) -> Any:
    """Points of the elements in a row."""
    return CALLS["index"](CALLS["reshape"](call.operands[0], (-1,)), (call.attributes["index"],))


@batch_rule("take_backward")
def take_backward(call: Call, batch: Batch) -> Any:
    """The transpose."""
    shape, count = call.attributes["shape"], 1
    for size in shape:
        count *= size
    return CALLS["reshape"](CALLS["index_backward"](call.operands[0], (call.attributes["index"],), (count,)), shape)


@batch_rule("masked_select")
def masked_select(call: Call, batch: Batch) -> Any:
    """As many elements as a mask has true ones: of all elements of the batch, if they share the mask.

    Raises:
        BatchingError: the mask differs over the batch.
    """
    if type(call.attributes["mask"]) is Batched:
        raise BatchingError(
            "masked_select: the mask is mapped over by vmap, so each element of the batch would have a result of "
            "another shape. Hint: nbgrad.where keeps shapes."
        )
    return looped(call, batch)


# ---- rows with a class index ---------------------------------------------------------------------------------------


@batch_rule("cross_entropy_rows", "cross_entropy_rows_backward", "nll_rows", "nll_rows_backward")
def rows(call: Call, batch: Batch) -> Any:
    """The rows of the whole batch, one behind the other."""

    def joined(x: Tensor) -> Tensor:
        whole = batch.full(x)
        return CALLS["reshape"](whole, (whole.layout.numel if x.layout.ndim == 1 else -1, *x.layout.shape[1:]))

    count = call.operands[0].layout.shape[0]
    made = CALLS[call.op.name](*map(joined, call.operands), **call.attributes)
    return batch.wrap(CALLS["reshape"](made, (*batch.sizes, count, *made.layout.shape[1:])))


def counts(target: Tensor, ignore_index: int, dtype: Any) -> Tensor:
    """1 for the rows that count, 0 for the others."""
    return CALLS["to_dtype"](CALLS["ne"](target, ignore_index), dtype)


@batch_rule("valid_mean")
def valid_mean(call: Call, batch: Batch) -> Any:
    """The mean or sum of the rows of every element of the batch; whether any element has a target that is no class."""
    (x, target), classes, ignore = call.operands, call.attributes["classes"], call.attributes["ignore_index"]
    total = CALLS["sum"](CALLS["where"](CALLS["ne"](target, ignore), x, 0.0))
    if call.attributes["divide"]:
        total = total / CALLS["sum"](counts(target, ignore, x.dtype))
    wrong = ((target < 0) | (target >= classes)) & (target != ignore)
    return total, CALLS["any"](wrong._value_ if type(wrong) is Batched else wrong)


@batch_rule("valid_share")
def valid_share(call: Call, batch: Batch) -> Any:
    """The transpose: the rows that count have equal shares."""
    (x, target), ignore = call.operands, call.attributes["ignore_index"]
    shares = counts(target, ignore, x.dtype)
    return x * (shares / CALLS["sum"](shares) if call.attributes["divide"] else shares)
