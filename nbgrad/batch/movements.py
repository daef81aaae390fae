"""Movements of what is behind a batch, with their inverses."""

from __future__ import annotations

import copy
import inspect
from functools import cache
from typing import Any, Callable

from ..base.errors import ShapeError
from ..base.function_attributes import parameter_names
from ..dispatch.movements import Cotangents, movement_call
from ..modes.batched import element_layout
from ..modes.interpreters import Call
from ..ops.core import Movement
from ..tensors.batch_levels import BatchingError, hidden_levels
from ..tensors.layout import Layout
from .interpreter import batch_kind
from .tensors import Batch, lifted, lowered

__all__ = ["behind_batch", "is_behind", "movement_behind"]


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
