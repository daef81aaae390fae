"""The rules of forward mode: the tangent of a result from the tangents of the operands, derived from the operation's declaration.

No derivative is written a second time for forward mode:

elementwise   ``Op.jvp``, an expression of tangents, operands and result, is computed by one kernel; by operations where the tangent
              has to be recorded;
movement      the same movement of the tangent;
the others    where an operation is linear (``General.linear_groups``) the operation itself, of tangents in place of operands;
              of a reduction the products of tangents and slopes, summed (``reduced_tangent``); everywhere else the transpose of the
              cotangent formula (``transposed_tangent``).
"""

from __future__ import annotations

from functools import cache, lru_cache, reduce
from typing import Any, Callable, Iterable

from ..base.bounded import MOST_PLANS
from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.errors import NotSupportedError
from ..base.function_attributes import parameter_names
from ..base.grad_mode import call_tracers, mode, traces
from ..batch.tensors import Batch
from ..creation.allocation import new_full
from ..dispatch.formulas import Formula
from ..dispatch.lowerings import facts_of
from ..dispatch.operands import kinds_of, layouts_in, no_derivative, no_derivative_by
from ..dispatch.plans import elementwise_plan
from ..dispatch.symbolic import apply, as_tensor_like, choose
from ..engine import run_backward
from ..graph.cotangents import plus
from ..graph.edges import Node, edge_of, requires_grad
from ..graph.saved import tensors_in
from ..graph.saved_hooks import without_hooks
from ..graph.task import GradientCaptures
from ..modes.batched import Batched, wrap_batched
from ..modes.interpreters import Call
from ..ops.core import Elementwise, General, Movement, Reduction
from ..ops.expr import ZERO, Expr, evaluate, guarded
from ..tensors.batch_levels import Level
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native
from .tangents import tangent_of, visible_levels

__all__ = ["all_tangents", "tangents_of_call", "needed_values"]

Tangents = dict[str, Any]  # by operand; of a sequence of tensors a tuple with None for those that have none


def all_tangents(tangents: Tangents) -> list[Tensor | None]:
    """All tangents of operands, those of sequences one by one."""
    return [each for t in tangents.values() for each in (t if type(t) is tuple else (t,))]


def tangents_of_call(call: Call, tangents: Tangents, result: Any) -> tuple:
    """The tangents of the results of a call, None where it is zero or does not exist.

    Args:
        call: with its operands as they were before it.
        tangents: of the operands that have one.
        result: what it returned; of a call in place the tensor that it wrote to.

    Raises:
        NotSupportedError: the operation has no derivative.
    """
    rule: Any = RULES.get(call.op.kind)
    results = result if isinstance(result, (tuple, list)) else (result,)
    if rule is None or not results or not results[0].layout.dtype.differentiable:
        return (None,) * len(results)
    made = rule(call, tangents, results[0])
    return tuple(made) if isinstance(made, (tuple, list)) else (made,) + (None,) * (len(results) - 1)


@cache
def needed_values(op: Any, names: tuple[str, ...]) -> frozenset[str]:
    """The operands whose values the tangent of a result depends on, if those named have tangents."""
    if isinstance(op, Elementwise):
        return frozenset(jvp_expression(op, names).symbols())
    if isinstance(op, General) and not any(set(names) <= set(group) for group in op.linear_groups()):
        return frozenset(op.operands)
    return frozenset()


# ---- elementwise ---------------------------------------------------------------------------------------------------


def elementwise_tangent(call: Call, tangents: Tangents, out: Tensor) -> Tensor | None:
    """``Op.jvp`` by one kernel, or by calls if it is to be recorded or an operand has tangents of outer levels."""
    op: Any = call.op
    if op.refuses_gradient:
        raise no_derivative(op.name)
    names = tuple(tangents)
    for name, is_number in zip(op.operands, op.fixed):
        if is_number and name in tangents:
            raise no_derivative_by(op.public, name)
    expression = jvp_expression(op, names)
    if expression is ZERO:
        return new_full(out.layout.like(), 0) if op.partial_formulas else None
    places, formula = jvp_formula(op, names)
    used = [out if place is None else tangents[place] if type(place) is str else call.operands[place] for place in places]
    # The result is a view if the call wrote to one.
    layout = out.layout if out.layout.dense else out.layout.like()
    if may_be_fused(used, tangents.values(), layout.dtype):
        return fused_tangent(op, formula, used, layout)
    levels, inside = batch_of(used, layout.ndim)
    if levels and may_be_fused(inside, tangents.values(), layout.dtype):
        return wrap_batched(fused_tangent(op, formula, inside, batched_layout(levels, layout)), levels)
    values = dict(zip(op.operands, call.operands), out=out, **{f"t_{name}": tangents[name] for name in names})
    dtype = out.layout.dtype
    (made,) = evaluate(
        (guarded(expression),),
        values,
        lambda name, operands: choose(dtype, *operands) if name == "where" else apply(name, operands),
    )
    made = as_tensor_like(out, made)
    if made.layout.dtype is not dtype:  # of tangents narrower than another operand, or numbers beside a half type
        made = CALLS["to_dtype"](made, dtype)
    return made if made.layout.shape == out.layout.shape else CALLS["expand_shape"](made, out.layout.shape)


@cache
def jvp_expression(op: Elementwise, names: tuple[str, ...]) -> Expr:
    """The tangent of the result for these operands that have one."""
    return op.jvp(names)


@cache
def jvp_formula(op: Elementwise, names: tuple[str, ...]) -> tuple[tuple, Formula]:
    """The formula of the kernel, and where its arguments are: names of tangents, numbers of operands, None for the result."""
    expression, booleans = jvp_expression(op, names), dict(op.params)
    mentioned = expression.symbols()
    places = {**{f"t_{name}": name for name in names}, **{name: k for k, name in enumerate(op.operands)}, "out": None}
    used = [name for name in places if name in mentioned]
    formula = Formula(f"{op.name}_jvp", tuple((name, booleans.get(name, False)) for name in used), (expression,))
    return tuple(places[name] for name in used), formula


def may_be_fused(values: list, tangents: Iterable[Tensor], dtype: DType) -> bool:
    """Whether one kernel may compute the tangent: nothing of it would be recorded, captured, or have tangents of its own.

    The tangents must also be real where the result is.
    """
    if traces:
        return False
    levels, recording = visible_levels(), mode.enabled
    for x in values:
        if isinstance(x, Tensor) and (
            x.layout.special
            or (recording and x._needs_grad_ and requires_grad(x))
            or (levels and any(tangent_of(x, level) is not None for level in levels))
        ):
            return False
    return dtype.is_complex or not any(t.layout.dtype.is_complex for t in tangents)


def batch_of(used: list, ndim: int) -> tuple[tuple[Level, ...], list]:
    """The levels of batched tangents, and ``used`` with their values, which broadcast to a batch of ``ndim`` dimensions; no levels
    where they depend on different ones."""
    found = {x._levels_ for x in used if type(x) is Batched}
    if len(found) != 1:
        return (), used
    (levels,) = found
    batch = Batch(levels)
    return levels, [batch.loose(x, ndim) for x in used]


def batched_layout(levels: tuple[Level, ...], layout: Layout) -> Layout:
    """The layout of a batch whose elements have a dense one and lie one behind the other."""
    strides, step = list(layout.strides), layout.numel
    for level in reversed(levels):
        strides.insert(0, step)
        step *= level.size
    return layout_of(layout.dtype, (*[level.size for level in levels], *layout.shape), tuple(strides), layout.device)


@lru_cache(maxsize=MOST_PLANS)
def tangent_plan(formula: Formula, exact: tuple[str, ...], out: Layout, *kinds: Any) -> Any:
    """The plan of a tangent in the layout of the result, of operands of these kinds."""
    return elementwise_plan(formula, out.dtype, layouts_in(kinds), (out,), exact=exact)


def fused_tangent(op: Elementwise, formula: Formula, values: list, out: Layout) -> Tensor:
    """The tangent by one kernel, in the layout of the result."""
    return native.fresh(tangent_plan(formula, op.exact, out, *kinds_of(tuple(values))), *values)


# ---- movements -----------------------------------------------------------------------------------------------------


def movement_tangent(call: Call, tangents: Tangents, out: Tensor) -> Any:
    """The same movement: it finds the tangent's memory as the operand's.

    Raises:
        NotSupportedError: strides are given for the memory of the operand, and a batch of tangents lies in another order.
    """
    t, own = tangents["x"], call.operands[0].layout
    if call.op.unbounded and any(s != u for n, s, u in zip(own.shape, own.strides, t.layout.strides) if n != 1):
        raise NotSupportedError(
            f"as_strided: the operand has strides {list(own.strides)}, its tangents {list(t.layout.strides)}, "
            "so they are not in the same places. Hint: x.contiguous(), or indexing and reshape."
        )
    return CALLS[call.op.name](t, **call.attributes)


# ---- operations with formulas of tensors ---------------------------------------------------------------------------


def general_tangent(call: Call, tangents: Tangents, out: Tensor) -> Tensor | None:
    """One term for every group of operands in which the operation is linear, one for all others."""
    op: Any = call.op
    left = {name: t for name, t in tangents.items() if name in op.vjps}
    terms = []
    for group in op.linear_groups():
        if any(name in left for name in group):
            operands = tuple(
                in_place_of(x, left.pop(name, None)) if name in group else x for name, x in zip(op.operands, call.operands)
            )
            terms.append(CALLS[op.name](*operands, **call.attributes))
    if left:
        terms.append(
            reduced_tangent(call, left["x"], out) if is_real_reduction(call, left, out) else transposed_tangent(call, left, out)
        )
    return reduce(plus, [first_of(term) for term in terms if term is not None], None)


def first_of(result: Any) -> Tensor:
    """The first of several results, which is the one that has a derivative."""
    return result[0] if type(result) is tuple else result


def in_place_of(x: Any, tangent: Any) -> Any:
    """The tangent of an operand, zeros where it has none."""
    if isinstance(x, (tuple, list)):
        return tuple(in_place_of(each, t) for each, t in zip(x, tangent or (None,) * len(x)))
    return new_full(x.layout.like(), 0) if tangent is None else tangent


def is_real_reduction(call: Call, tangents: Tangents, out: Tensor) -> bool:
    """Whether ``reduced_tangent`` gives the tangent. Complex formulas conjugate, and half types would round every slope."""
    dtype = out.layout.dtype
    return (
        isinstance(call.op, Reduction)
        and dtype.compute == dtype.name
        and not dtype.is_complex
        and call.operands[0].layout.dtype is dtype
        and tangents["x"].layout.dtype is dtype
    )


def reduced_tangent(call: Call, tangent: Tensor, out: Tensor) -> Tensor:
    """The tangent of a reduction: products of slopes and tangents, summed over its dimensions.

    Every element of the operand goes into one element of the result, so the cotangents of a ``g`` of ones are all the slopes there
    are.
    """
    enabled = mode.enabled
    mode.enabled = enabled and (requires_grad(call.operands[0]) or requires_grad(tangent))
    try:
        slopes = cotangent_of(call.op, "x", formula_values(call, out, ones_like(out.layout)))
        made: Tensor = CALLS["sum"](CALLS["mul"](slopes, tangent), call.attributes["dim"], call.attributes["keepdim"])
        return made
    finally:
        mode.enabled = enabled


@lru_cache(maxsize=256)
def kept_ones(layout: Layout) -> Tensor:
    """Ones that nobody writes to."""
    return new_full(layout, 1)


def ones_like(layout: Layout) -> Tensor:
    """Ones; where they are few always the same."""
    kept = layout.numel <= FEW and not traces and not call_tracers
    return kept_ones(layout.like()) if kept else new_full(layout.like(), 1)


FEW = 16


class InternalCaptures(GradientCaptures):
    """Those of the pass below."""

    __slots__ = ()
    internal = True


def transposed_tangent(call: Call, tangents: Tangents, out: Tensor) -> Tensor | None:
    """The tangent by two backward passes. The cotangent formula is a linear function of ``g``; its own cotangent, for the
    operand's tangent, is the tangent J t of the result.
    """
    enabled = mode.enabled
    record = enabled and any(map(requires_grad, tensors_in((call.operands, tuple(tangents.values())))))
    mode.enabled = True
    try:
        g = new_full(out.layout.like(), 0)
        g._needs_grad_ = True
        seeds = without_hooks(seeds_of, call, tangents, formula_values(call, out, g))
    finally:
        mode.enabled = enabled
    if not seeds:
        return None
    if len(seeds) == 1 and not record and leads_only_to(seeds[0][0], g):
        return run_alone(*seeds[0])
    captures = InternalCaptures(1)
    captures.wanted[g] = ((0, 0),)
    run_backward(seeds, record, record, captures)
    return captures.values[0]


def seeds_of(call: Call, tangents: Tangents, values: dict[str, Any]) -> list[tuple]:
    """Where a pass through the cotangents of operands begins, and with what: their tangents."""
    seeds = []
    for name, tangent in tangents.items():
        cotangent = cotangent_of(call.op, name, values)
        if requires_grad(cotangent):
            seeds.append((edge_of(cotangent), tangent))
    return seeds


def leads_only_to(edge: Any, leaf: Tensor) -> bool:
    """Whether an edge leads to the one node between a cotangent formula's result and its ``g``: no pass is needed to run it."""
    return (
        isinstance(edge, Node)
        and edge._outputs_ == 1
        and len(edge._edges_) == 1
        and edge._edges_[0] is leaf
        and edge._meta_ is None
    )


def run_alone(node: Node, cotangent: Tensor) -> Tensor:
    """What a backward pass would give for one node, without a pass."""
    enabled, mode.enabled = mode.enabled, False
    try:
        return node._backward_(node, cotangent, False)
    finally:
        mode.enabled = enabled


def formula_values(call: Call, out: Tensor, g: Tensor) -> dict[str, Any]:
    """The values of a call that cotangent formulas may name."""
    op: Any = call.op
    layouts = tuple(x.layout if isinstance(x, Tensor) else None for x in call.operands)
    facts = facts_of(op, layouts, call.attributes, (out.layout.template,))
    return {**facts, **dict(zip(op.operands, call.operands)), "out": out, "g": g}


def cotangent_of(op: Any, name: str, values: dict[str, Any]) -> Tensor:
    """The cotangent of an operand."""
    cotangent: Tensor = op.vjps[name](*[values[parameter] for parameter in parameters_of(op, name)])
    return cotangent


@cache
def parameters_of(op: General, name: str) -> tuple[str, ...]:
    """What the cotangent formula of an operand takes."""
    return parameter_names(op.vjps[name])


RULES: dict[str, Callable] = {
    Elementwise.kind: elementwise_tangent,
    Movement.kind: movement_tangent,
    General.kind: general_tangent,
    Reduction.kind: general_tangent,
}
