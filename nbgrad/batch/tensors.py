"""Operations on batched tensors (modes/batched.py): the interpreter of rank "batching".

A ``Batched`` tensor stands for a whole batch and looks like one element of it. Its *value* is an ordinary tensor that holds the
batch: one leading dimension for every level that it depends on, outer levels first, then the dimensions that it shows.

NOTE [Batched]:
  1. Only values are computed with: operations unwrap their operands, and history, tangents and versions are the values'.
  2. The shown layout is marked (``layout.marked_layout``), so that there is never a plan for it: every call of a batched operand
     arrives at the interpreter.
  3. A cotangent may depend on levels that its tensor does not. The levels of the tensor are then dimensions of it
     (``lowered``), the others are not seen by the graph; ``lifted`` undoes that. So may a tangent, as long as its tensor does not
     meet others of those levels; then it becomes a tensor over them (``exposed`` in forward/tangents.py).

How an operation treats the batch follows from its kind: elementwise operations broadcast, movements move what is behind the
batch; the rules of the others are in ``batch/rules.py``.
"""

from __future__ import annotations

import copy
import inspect
from functools import cache
from typing import Any, Callable, Iterable

from ..base.calls import CALLS
from ..base.errors import GradError, InplaceError, ShapeError
from ..base.function_attributes import parameter_names
from ..base.grad_mode import dual_levels, mode
from ..dispatch.inplace_views import inplace_views
from ..dispatch.movements import Cotangents, movement_call
from ..dispatch.operands import check_kinds, dtype_of_kinds, kinds_of
from ..dispatch.out import write_out
from ..dispatch.writes import require_fit
from ..graph.writes import count_write
from ..modes.batched import Batched, element_layout, wrap_batched
from ..modes.interpreters import Call, register
from ..ops.core import Elementwise, Movement
from ..tensors.batch_levels import BatchingError, Level, hidden_levels
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, put_layout

__all__ = [
    "Batch",
    "RULES",
    "batch_kind",
    "batch_rule",
    "exposed",
    "has_batched",
    "levels_of",
    "lifted",
    "lowered",
    "on_values",
    "batching_rule",
]


def has_batched(values: Iterable[Any]) -> bool:
    """Whether one of the values, or in their tuples and lists, is batched."""
    for x in values:
        if type(x) is Batched or (isinstance(x, (tuple, list)) and has_batched(x)):
            return True
    return False


def levels_of(tensors: Iterable[Any]) -> tuple[Level, ...]:
    """All levels that batched tensors depend on, outermost first.

    Raises:
        GradError: one is no longer open.
    """
    levels = joined_levels((), tensors)
    for level in levels:
        if not level.open:
            raise GradError(
                "vmap: a tensor is used outside of the function that vmap ran, where its batch is not known. "
                "Hint: return it from the function."
            )
    return levels


def joined_levels(levels: tuple[Level, ...], values: Iterable[Any]) -> tuple[Level, ...]:
    """``levels`` and those of the values and of what their tuples and lists hold."""
    for x in values:
        if type(x) is Batched:
            if x._levels_ is not levels and x._levels_ != levels:
                levels = tuple(sorted({*levels, *x._levels_}, key=number_of)) if levels else x._levels_
        elif isinstance(x, (tuple, list)):
            levels = joined_levels(levels, x)
    return levels


def number_of(level: Level) -> int:
    """Levels are in the order of their numbers."""
    return level.number


# ---- a batch of operands -------------------------------------------------------------------------------------------


class Batch:
    """The levels of a call, and its operands with those as leading dimensions.

    Attributes:
        levels, sizes, depth: of the operands together; their sizes; how many.
    """

    __slots__ = ("levels", "sizes", "depth")

    def __init__(self, levels: tuple[Level, ...]):
        self.levels, self.depth = levels, len(levels)
        self.sizes = tuple([level.size for level in levels])

    def loose(self, x: Any, ndim: int) -> Any:
        """An operand's value, laid out so that broadcasting does the rest: ``ndim`` dimensions behind the batch."""
        if type(x) is not Batched:
            return x
        value, own = x._value_, x._levels_
        shown = value.layout.ndim - len(own)
        if own == self.levels and shown == ndim:
            return value
        sizes = tuple(level.size if level in own else 1 for level in self.levels[self.levels.index(own[0]) :])
        shape = (*sizes, *(1,) * (ndim - shown), *value.layout.shape[len(own) :])
        return value if shape == value.layout.shape else CALLS["view_shape"](value, shape)

    def full(self, x: Tensor, ndim: int | None = None) -> Tensor:
        """An operand with all levels in front, expanded where it does not depend on one."""
        ndim = x.layout.ndim if ndim is None else ndim
        if type(x) is Batched and x._levels_ == self.levels and x.layout.ndim == ndim:
            return x._value_
        shape = (*self.sizes, *(1,) * (ndim - x.layout.ndim), *x.layout.shape)
        value = self.loose(x, ndim)
        return value if value.layout.shape == shape else CALLS["expand_shape"](value, shape)

    def fulls(self, values: Any) -> Any:
        """``full`` of every tensor in a value or its sequences."""
        if isinstance(values, Tensor):
            return self.full(values)
        return tuple(map(self.fulls, values)) if isinstance(values, (tuple, list)) else values

    def wrap(self, result: Any) -> Any:
        """A result that has all levels in front; several in a tuple."""
        return tuple(map(self.wrap, result)) if type(result) is tuple else wrap_batched(result, self.levels)


# ---- between tensors and the graph: NOTE [Batched], 3 ---------------------------------------------------------------


def exposed(x: Tensor, levels: tuple[Level, ...]) -> Tensor:
    """``x`` over those of ``levels`` that its tangents depend on: levels of forward mode know."""
    for dual_level in dual_levels[-1:]:  # another thread may close it at any time
        return dual_level.expose(x, levels)
    return x


def lowered(x: Tensor, levels: tuple[Level, ...]) -> Tensor:
    """``x`` with ``levels`` as leading dimensions that show, and batched over the others that it depends on."""
    if type(x) is Batched and x._levels_ == levels:
        return x._value_
    if not levels:
        return x
    if dual_levels:
        x = exposed(x, levels)
    own = x._levels_ if type(x) is Batched else ()
    batch = Batch(tuple(sorted({*own, *levels}, key=number_of)))
    value, rest = batch.full(x), tuple(level for level in batch.levels if level not in levels)
    value = moved_levels(value, batch.levels, (*rest, *levels))
    return wrap_batched(value, rest) if rest else value


def lifted(x: Tensor, levels: tuple[Level, ...]) -> Tensor:
    """``x`` with its leading dimensions hidden as ``levels``: the opposite of ``lowered``."""
    if not levels:
        return x
    if type(x) is not Batched:
        return wrap_batched(x, levels)
    now = (*x._levels_, *levels)
    wanted = tuple(sorted(now, key=number_of))
    return wrap_batched(moved_levels(x._value_, now, wanted), wanted)


def on_values(function: Callable, *tensors: Tensor, **options: Any) -> Any:
    """A function of the values of tensors, over the levels that the first depends on; what it returns is batched again."""
    levels = levels_of(tensors[:1])
    result = function(*(lowered(x, levels) for x in tensors), **options)
    if isinstance(result, tuple):
        return tuple(None if x is None else lifted(x, levels) for x in result)
    return lifted(result, levels)


def moved_levels(value: Tensor, now: tuple[Level, ...], wanted: tuple[Level, ...]) -> Tensor:
    """The value with its leading dimensions in another order."""
    if now == wanted:
        return value
    return CALLS["permute_dims"](value, (*(now.index(level) for level in wanted), *range(len(now), value.layout.ndim)))


# ---- the interpreter -----------------------------------------------------------------------------------------------

BatchRule = Callable[[Call, Batch], Any]

# The rules of single operations; of the others those of kinds, by ``Op.batched``.
RULES: dict[str, BatchRule] = {}
RULE_OF_KIND: dict[str, BatchRule] = {}


def batch_rule(*names: str) -> Callable[[BatchRule], BatchRule]:
    """Register the decorated ``rule(call, batch)`` of operations: the result, batched over ``batch.levels``."""

    def register_rule(rule: BatchRule) -> BatchRule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register_rule


def batch_kind(*kinds: str) -> Callable[[BatchRule], BatchRule]:
    """Register the decorated rule for operations of such kinds."""

    def register_rule(rule: BatchRule) -> BatchRule:
        RULE_OF_KIND.update(dict.fromkeys(kinds, rule))
        return rule

    return register_rule


def batching_rule(op: Any) -> BatchRule:
    """The batching rule of an operation."""
    return RULES.get(op.name) or RULE_OF_KIND[op.batched]


class Batching:
    """The interpreter of calls with batched operands."""

    def concerns(self, call: Call) -> bool:
        """Whether an operand is batched, or an attribute (an index)."""
        return call.marked and (has_batched(call.operands) or has_batched(call.attributes.values()) or type(call.out) is Batched)

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The rule of the operation or of its kind."""
        if call.form == "out":
            return write_out(call.op.public, lambda: CALLS[call.op.name](*call.operands), call.out)
        batch = Batch(levels_of((*call.operands, *call.attributes.values())))
        if dual_levels:
            call = call.with_operands(call.map(lambda x: exposed(x, batch.levels)))
        if call.form and not isinstance(call.op, Elementwise):
            return write_batched(call, batch)
        return batching_rule(call.op)(call, batch)


register("batching", Batching())


@batch_kind("elementwise")
def elementwise(call: Call, batch: Batch) -> Any:
    """Broadcast: the batch is in front of everything."""
    operands, ndim = call.operands, 0
    for x in operands:
        if isinstance(x, Tensor):
            ndim = max(ndim, x.layout.ndim)
        elif isinstance(x, (tuple, list)):
            check_kinds(call.op, kinds_of(operands))  # type: ignore[arg-type]
    given = operands if len(operands) == 1 else promoted(call.op, operands)
    aligned = [batch.loose(x, ndim) for x in given]
    if not call.form:
        return wrap_batched(CALLS[call.op.name](*aligned), batch.levels)
    require_target(call, batch)
    if given[0] is operands[0]:
        CALLS[call.op.name + "_"](*aligned)
    else:  # computed in a wider dtype than what it is written to
        out, own = CALLS[call.op.name](*aligned), operands[0].layout
        require_fit(call.op.public + "_", own, own.shape, out.layout.dtype)
        CALLS["copy_"](batch.loose(operands[0], ndim), out)
    return operands[0]


def promoted(op: Any, operands: tuple) -> tuple:
    """The operands, 0-d ones converted where the batch would give them more weight in promotion than they show."""
    layouts = [x.layout for x in operands if isinstance(x, Tensor)]
    if len({layout.dtype for layout in layouts}) == 1 or all(layout.ndim for layout in layouts):
        return operands
    dtype = dtype_of_kinds(op, kinds_of(operands))
    if dtype_of_kinds(op, kinds_of(tuple([x._value_ if type(x) is Batched else x for x in operands]))) is dtype:
        return operands
    return tuple(
        CALLS["to_dtype"](x, dtype) if type(x) is Batched and not x.layout.ndim and name not in op.boolean else x
        for name, x in zip(op.operands, operands)
    )


def require_target(call: Call, batch: Batch) -> None:
    """Refuse to write what differs over the batch into a tensor that does not.

    Raises:
        InplaceError: the tensor that is written to does not depend on all levels of the other operands.
    """
    target = call.operands[0]
    if type(target) is not Batched or target._levels_ != batch.levels:
        raise InplaceError(
            f"{call.op.name}_: vmap: a tensor that is the same for all elements of the batch would become different "
            "ones, because another operand is mapped over and it is not. Hint: use the out-of-place form, or make "
            "the tensor with zeros_like or new_zeros of a mapped one."
        )


def write_batched(call: Call, batch: Batch) -> Any:
    """An in-place form of an operation with a lowering of its own: the result, copied over the first operand."""
    require_target(call, batch)
    plain = Call(call.op, call.operands, call.attributes, call.plain)
    result = batching_rule(call.op)(plain, batch)
    CALLS["copy_"](call.operands[0]._value_, batch.full(result))
    return call.operands[0]


@batch_kind("method")
def method(call: Call, batch: Batch) -> Any:
    """A method of Tensor that the table does not declare."""
    result = call.plain(call.operands[0]._value_)
    return wrap_batched(result, batch.levels) if isinstance(result, Tensor) else result


# ---- movements -----------------------------------------------------------------------------------------------------


@batch_kind("movement")
def movement(call: Call, batch: Batch) -> Any:
    """The same movement of the dimensions behind the batch."""
    op, depth, args = call.op, batch.depth, tuple(call.attributes.values())
    if op in _behind:  # of a cotangent: NOTE [Batched], 3
        op, depth, args = _behind[op], depth + args[0], args[1:]
    return batch.wrap(behind_batch(op)(call.operands[0]._value_, depth, *args))


# ``{movement behind a batch: the movement}``
_behind: dict[Any, Any] = {}


def is_behind(op: Movement) -> bool:
    """Whether a movement is one behind a batch already: that of a batched cotangent."""
    return op in _behind


@cache
def behind_batch(op: Movement) -> Callable:
    """``call(x, depth, *args)``: the movement of all dimensions but the first ``depth``."""
    made: Any = copy.copy(op)
    x, *rest = op.signature.parameters.values()
    made.name = f"batched_{op.name}"
    made.signature = inspect.Signature([x, inspect.Parameter("depth", x.POSITIONAL_OR_KEYWORD), *rest])
    made.formula, made.inverse = formula_behind(op), inverse_behind(op)
    retype = op.retype
    if retype is not None:
        made.retype = lambda dtype, depth, *args: retype(dtype, *args)
    _behind[made] = op
    return movement_call(made)


def movement_behind(op: Movement) -> Movement:
    """The operation that ``behind_batch`` calls."""
    behind_batch(op)
    return next(made for made, own in _behind.items() if own is op)


def formula_behind(op: Movement) -> Callable:
    """The formula of a movement, applied to a layout without its first dimensions, which are then put back."""

    def formula(layout, depth, *args):
        element = element_layout(layout, depth)
        made = op.formula(element, *args)
        if op.unbounded:
            require_own_memory(element, *made)
        sizes, strides = layout.shape[:depth], layout.strides[:depth]
        if op.retype is not None:
            strides = retyped_strides(op, layout, strides, op.retype(layout.dtype, *args))
        pieces = [((*sizes, *shape), (*strides, *inner), offset) for shape, inner, offset in (made if op.multiple else (made,))]
        return pieces if op.multiple else pieces[0]

    return formula


def require_own_memory(element: Layout, size: tuple, stride: tuple, offset: int) -> None:
    """Refuse a view of memory that is not the batch's element's own: it would show other elements, or none.

    Raises:
        BatchingError: it reaches there.
    """

    def last(shape, strides):
        return sum((s - 1) * t for s, t in zip(shape, strides))

    most = last(element.shape, element.strides) if element.numel else -1
    if 0 not in size and not (0 <= offset and offset + last(size, stride) <= most):
        raise BatchingError(
            f"as_strided: vmap: size {list(size)} with stride {list(stride)}, {offset} elements behind its first, "
            f"leaves the memory of one element of the batch, {list(element.shape)} with stride "
            f"{list(element.strides)}. Hint: indexing and reshape do not depend on memory."
        )


def retyped_strides(op: Movement, layout: Layout, strides: tuple[int, ...], dtype) -> tuple[int, ...]:
    """Strides of the same bytes in elements of another dtype.

    Raises:
        ShapeError: there are none.
    """
    old, new = layout.dtype.itemsize, dtype.itemsize
    if any(stride * old % new for stride in strides):
        raise ShapeError(f"{op.name}: strides {list(strides)} of the batch are no whole elements of {dtype}. Hint: x.contiguous().")
    return tuple(stride * old // new for stride in strides)


def inverse_behind(op: Movement) -> Callable:
    """The inverse of a movement, run on batched cotangents."""
    names = [name for name in parameter_names(op.inverse) if name != "g"]
    given = ["depth", "x_layout", *(name for name in names if name not in ("depth", "x_layout"))]

    def inverse(g, *values):
        facts = dict(zip(given, values))
        depth, layout = facts["depth"], facts["x_layout"]
        levels = hidden_levels(layout.shape[:depth])
        facts["x_layout"] = element_layout(layout, depth)
        facts |= {name: facts[name][depth:] for name in ("x_shape", "out_shape") if name in facts}
        hidden = Cotangents(lifted(x, levels) for x in g) if op.multiple else lifted(g, levels)
        return lowered(op.inverse(hidden, *(facts[name] for name in names)), levels)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signed: Any = inverse
    signed.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("g", *given)])
    return signed


# ---- a loop over the batch -----------------------------------------------------------------------------------------


@batch_kind("looped")
def looped(call: Call, batch: Batch) -> Any:
    """For operations without a rule: one call for every element of the batch."""
    positions: list[tuple[int, ...] | None] = [*all_positions(batch.sizes)]
    results = [element_result(call, batch, at) for at in positions or [None]]
    if isinstance(results[0], tuple):
        return tuple(stacked(list(each), batch, bool(positions)) for each in zip(*results))
    return stacked(results, batch, bool(positions))


def all_positions(sizes: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """All positions of a batch in row-major order."""
    if not sizes:
        yield ()
        return
    for first in range(sizes[0]):
        for rest in all_positions(sizes[1:]):
            yield (first, *rest)


def element_result(call: Call, batch: Batch, at: tuple[int, ...] | None) -> Any:
    """The call at one position of the batch; without one, on zeros."""

    def element(x: Any) -> Any:
        if type(x) is Batched:
            if at is None:
                return CALLS["new_full"](x.layout.unmarked().like(), 0)
            value = x._value_
            for level in x._levels_:
                value = CALLS["select"](value, 0, at[batch.levels.index(level)])
            return value
        return tuple(map(element, x)) if isinstance(x, (tuple, list)) else x

    return CALLS[call.op.name](*map(element, call.operands), **{name: element(x) for name, x in call.attributes.items()})


def stacked(results: list[Tensor], batch: Batch, any_element: bool) -> Batched:
    """The results of all positions, one behind the other."""
    shape = (*batch.sizes, *results[0].layout.shape)
    if not any_element:
        return wrap_batched(CALLS["new_full"](results[0].layout.like(shape=shape), 0), batch.levels)
    return wrap_batched(CALLS["reshape"](CALLS["stack"](tuple(results), 0), shape), batch.levels)


# ---- methods that are no operations --------------------------------------------------------------------------------

ONE_VALUE = (
    "it would read one value, and the batch has one for each of its elements. "
    "Hint: write it with operations on tensors, or call it outside of vmap."
)
NO_MEMORY = "an element of a batch has no memory of its own. Hint: call it outside of vmap."


def refusing(name: str, reason: str) -> Callable:
    """A method that has no meaning for an element of a batch."""

    def refuse(x, *args, **kwargs):
        raise BatchingError(f"{name}: {reason}")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in (
    "item",
    "tolist",
    "numpy",
    "__array__",
    "__float__",
    "__int__",
    "__complex__",
    "__index__",
    "__contains__",
    "__dlpack__",
    "data_ptr",
):
    setattr(Batched, _name, refusing(_name, ONE_VALUE))
for _name in ("set_", "resize_", "resize_as_"):
    setattr(Batched, _name, refusing(_name, NO_MEMORY))


def of_value(name: str) -> property:
    """A property that the value has; a tensor is batched as the value is."""

    def get(x):
        found = getattr(x._value_, name)
        return lifted(found, x._levels_) if isinstance(found, Tensor) else found

    def put(x, given):
        setattr(x._value_, name, lowered(given, x._levels_) if isinstance(given, Tensor) else given)

    return property(get, put, doc=f"``{name}`` of the whole batch.")


for _name in ("grad", "requires_grad", "grad_fn", "is_leaf", "output_nr", "retains_grad", "data", "_base"):
    setattr(Batched, _name, of_value(_name))


def on_value(name: str) -> Callable:
    """A method that concerns the value."""

    def call(x, *args, **kwargs):
        result = getattr(x._value_, name)(*args, **kwargs)
        return x if result is x._value_ else lifted(result, x._levels_) if isinstance(result, Tensor) else result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{name}`` of the whole batch."
    return call


for _name in ("detach", "detach_", "requires_grad_", "retain_grad", "register_hook", "register_post_accumulate_grad_hook"):
    setattr(Batched, _name, on_value(_name))


def new_of(name: str) -> Callable:
    """``new_zeros`` and its like: new tensors that may be different for every element of the batch."""

    def call(x, *sizes, **kwargs):
        if name == "new_full":
            given = [*sizes, *(kwargs.pop(key) for key in ("size", "fill_value") if key in kwargs)]
            return wrap_batched(x._value_.new_full((*batch_sizes(x), *given[0]), given[1], **kwargs), x._levels_)
        size = kwargs.pop("size", sizes)
        size = size[0] if len(size) == 1 and not hasattr(size[0], "__index__") else size
        return wrap_batched(getattr(x._value_, name)((*batch_sizes(x), *size), **kwargs), x._levels_)

    call.__name__ = call.__qualname__ = name
    return call


def batch_sizes(x: Batched) -> tuple[int, ...]:
    """The sizes of a tensor's levels."""
    return tuple(level.size for level in x._levels_)


for _name in ("new_zeros", "new_ones", "new_empty", "new_full"):
    setattr(Batched, _name, new_of(_name))


def moved_in_place(name: str) -> Callable:
    """``transpose_`` and its like: the tensor becomes its view, with the history that it has, also where nothing is recorded."""

    def call(x, *args, **kwargs):
        enabled, mode.enabled = mode.enabled, True
        try:
            view = getattr(x, name)(*args, **kwargs)
        finally:
            mode.enabled = enabled
        x._value_, x._offset_ = view._value_, view._offset_
        put_layout(x, view.layout)
        count_write(x._value_._storage_)
        return x

    call.__name__ = call.__qualname__ = name + "_"
    return call


for _name in inplace_views():
    setattr(Batched, _name + "_", moved_in_place(_name))
