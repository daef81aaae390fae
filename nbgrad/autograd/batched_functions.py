"""Custom Functions under ``vmap``: by their own ``vmap`` method, or by a generated Function that maps the others."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import Any, Iterator, NamedTuple

from ..base.calls import CALLS
from ..base.errors import GradError
from ..base.nested import flatten, map_leaves, spread
from ..batch.interpreter import batch_kind
from ..batch.tensors import Batch, lifted, lowered
from ..engine import validate_gradient
from ..modes.batched import Batched, wrap_batched
from ..modes.interpreters import Call
from ..tensors.batch_levels import Level, hidden_levels, noted, state
from ..tensors.tensor import Tensor
from .function import Function, vmap_rule
from .function_context import FunctionCtx, handed_over

__all__ = ["VmapInfo"]


class VmapInfo(NamedTuple):
    """The batch, as a Function's ``vmap`` gets it.

    Attributes:
        batch_size: of the mapped dimension.
        randomness: "error", "different" or "same".
    """

    batch_size: int
    randomness: str


@batch_kind("function")
def run_batched(call: Call, batch: Batch) -> Any:
    """A call of a Function with batched arguments."""
    op: Any = call.op
    cls: type[Function] = op.function
    if vmap_rule(cls) is not None:
        return by_method(cls, call.operands, batch.levels[-1])
    args = tuple(batch.full(x) if type(x) is Batched else x for x in call.operands)
    over: Any = over_batches(cls)  # type: ignore[arg-type]
    made = over.apply(batch.levels, tuple(type(x) is Batched for x in call.operands), *args)
    return map_leaves(lambda x: wrap_batched(x, batch.levels) if isinstance(x, Tensor) else x, made)


# ---- the method of the class ---------------------------------------------------------------------------------------


def by_method(cls: type[Function], args: tuple, level: Level) -> Any:
    """``cls.vmap`` for the innermost level; outer ones remain hidden in its arguments.

    Raises:
        GradError: it does not return a pair, or ``out_dims`` that do not fit the output.
    """
    in_dims = map_leaves(lambda x: 0 if type(x) is Batched and level in x._levels_ else None, args)
    shown = map_leaves(lambda x: lowered(x, (level,)) if type(x) is Batched and level in x._levels_ else x, args)
    before, state.levels = state.levels, tuple(each for each in state.levels if each is not level)
    try:
        made: Any = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *shown)
    finally:
        state.levels = before
    if not isinstance(made, tuple) or len(made) != 2:
        raise GradError(
            f"{cls.__name__}.vmap: expected (output, out_dims) to be returned, got {type(made).__name__}"
            f"{f' of {len(made)}' if isinstance(made, tuple) else ''}."
        )
    results, tree = flatten(made[0])
    dims = spread(made[1], tree)
    if dims is None:
        raise GradError(f"{cls.__name__}.vmap: out_dims {made[1]} does not have the structure of the output, {tree!r}.")
    return tree.unflatten([hide_result(x, dim, level) for x, dim in zip(results, dims)])


def hide_result(x: Any, dim: int | None, level: Level) -> Any:
    """A result whose dimension ``dim`` is the batch."""
    return x if dim is None else lifted(CALLS["movedim"](x, dim, 0), (level,))


# ---- the generated Function ----------------------------------------------------------------------------------------


class ElementCtx(FunctionCtx):
    """The ctx that the class's own methods see: its tensors are batched."""

    needs_input_grad: tuple

    def __init__(self) -> None:
        self.to_save: tuple = ()
        self.dirty_tensors: tuple = ()
        self.non_differentiable: tuple = ()
        self.saved_for_forward: tuple | None = None
        self.materialize_grads = True
        self.saved_tensors: tuple = ()


def element_for(ctx: ElementCtx, saved: tuple, batched: tuple[bool, ...], levels: tuple[Level, ...], needs: tuple) -> ElementCtx:
    """A copy for one call of ``backward`` or ``jvp``."""
    copied = ElementCtx()
    copied.__dict__.update(ctx.__dict__)
    copied.saved_tensors = tuple(wrap_batched(x, levels) if hide else x for x, hide in zip(saved, batched))
    copied.needs_input_grad = needs
    return copied


def hidden_value(x: Any) -> Any:
    """The tensor that a batched one hides."""
    return x._value_ if type(x) is Batched else x


def are_batched(values: tuple) -> tuple[bool, ...]:
    """Which of the values are."""
    return tuple(type(x) is Batched for x in values)


def wrapped(values: tuple, mapped: tuple[bool, ...], levels: tuple[Level, ...]) -> tuple:
    """Values with their batch hidden, those that have one."""
    return tuple(lifted(x, levels) if is_mapped and x is not None else x for x, is_mapped in zip(values, mapped))


@cache
def over_batches(cls: type[Function]) -> type[Function]:
    """``F.apply(levels, mapped, *values)``: the Function on values that have the levels in front where ``mapped`` says so."""

    class OverBatches(Function):
        """Runs the methods of the class on batched tensors."""

        @staticmethod
        def forward(levels, mapped, *args):
            with still_open(levels) as levels:
                output = cls.forward(*wrapped(args, mapped, levels))
            results = output if isinstance(output, tuple) else (output,)
            made = tuple(lowered(x, levels) if isinstance(x, Tensor) else x for x in results)
            return made if isinstance(output, tuple) else made[0]

        @staticmethod
        def setup_context(ctx, inputs, output):
            levels, mapped, *args = inputs
            ctx.element, ctx.mapped, ctx.sizes = ElementCtx(), mapped, tuple(level.size for level in levels)
            results = output if isinstance(output, tuple) else (output,)
            with still_open(levels) as levels:
                hidden_results = tuple(wrap_batched(x, levels) if isinstance(x, Tensor) else x for x in results)
                cls.setup_context(
                    ctx.element,
                    wrapped(tuple(args), mapped, levels),
                    hidden_results if isinstance(output, tuple) else hidden_results[0],
                )
            hand_over(ctx, ctx.element)

        @staticmethod
        def backward(ctx, *grads):
            levels = hidden_levels(ctx.sizes)
            element = element_for(ctx.element, ctx.saved_tensors, ctx.saved_batched, levels, ctx.needs_input_grad[2:])
            with noted(levels):
                results = handed_over(cls, element, wrapped(grads, (True,) * len(grads), levels))
            results = results if isinstance(results, tuple) else (results,)
            return (
                None,
                None,
                *(
                    cotangent(cls, k, g, mapped, levels, layout)
                    for k, (g, mapped, layout) in enumerate(zip(results, ctx.mapped, ctx._input_layouts_[2:]))
                ),
            )

        @staticmethod
        def jvp(ctx, _levels, _mapped, *tangents):
            levels = hidden_levels(ctx.sizes)
            saved = () if ctx.saved_for_forward is None else ctx.saved_for_forward
            element = element_for(ctx.element, saved, ctx.forward_batched, levels, ctx.needs_input_grad[2:])
            with noted(levels):
                made = cls.jvp(element, *wrapped(tangents, ctx.mapped, levels))
            results = tuple(None if t is None else lowered(t, levels) for t in (made if isinstance(made, tuple) else (made,)))
            return results if isinstance(made, tuple) else results[0]

    OverBatches.__name__ = OverBatches._rule_.name = OverBatches._op_.name = cls.__name__
    return OverBatches


@contextmanager
def still_open(levels: tuple[Level, ...]) -> Iterator[tuple[Level, ...]]:
    """Levels to call the class in: others of their sizes where they are closed, as when the body of a loop runs a call again."""
    if all(level.open for level in levels):
        yield levels
        return
    others = hidden_levels(tuple([level.size for level in levels]))
    with noted(others):
        yield others


def hand_over(ctx: Any, element: ElementCtx) -> None:
    """Tell ``ctx`` of the values what ``element`` was told of the batched tensors: what is saved, dirty, not differentiable."""
    ctx.saved_batched, ctx.forward_batched = are_batched(element.to_save), are_batched(element.saved_for_forward or ())
    ctx.save_for_backward(*map(hidden_value, element.to_save))
    if element.saved_for_forward is not None:
        ctx.save_for_forward(*map(hidden_value, element.saved_for_forward))
    ctx.mark_dirty(*map(hidden_value, element.dirty_tensors))
    ctx.mark_non_differentiable(*map(hidden_value, element.non_differentiable))
    ctx.set_materialize_grads(element.materialize_grads)
    element.to_save = element.dirty_tensors = element.non_differentiable = ()
    element.saved_for_forward = None


def cotangent(cls: type[Function], k: int, g: Any, mapped: bool, levels: tuple[Level, ...], layout: Any) -> Any:
    """A gradient that ``backward`` returned, for the value of its argument: summed over a batch that the argument has not."""
    if not isinstance(g, Tensor) or layout is None:
        return g
    depth = len(levels)
    element = layout.like(shape=layout.shape[depth:]) if mapped else layout
    g = validate_gradient(f"{cls.__name__}.backward, argument {k}", g, element)
    return lowered(g, levels) if mapped else CALLS["sum"](lowered(g, levels), tuple(range(depth))) if type(g) is Batched else g
