"""Batched tensors (modes/batched.py) and the levels that they depend on: as operands side by side, and as the graph sees them.

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
batch (``movements.py``); the rules of the others are in ``rules.py``. ``interpreter.py`` asks for them.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

from ..base.calls import CALLS
from ..base.errors import GradError
from ..base.grad_mode import dual_levels
from ..modes.batched import Batched, wrap_batched
from ..tensors.batch_levels import Level
from ..tensors.tensor import Tensor

__all__ = ["Batch", "exposed", "has_batched", "levels_of", "lifted", "lowered", "number_of", "on_values"]


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
