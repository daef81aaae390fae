"""The tensors that a custom Function returns and saves: which history each gets.

NOTE [Function results]: what becomes of a tensor that ``forward`` returned.
  1. not differentiable (not recorded, marked so, of integers): it loses its history; an input that has one comes back as a
     detached alias, an input that has none as a view; a view stays the view that it is, made with recording off, so that a write
     to it is noticed as one to its base;
  2. changed in place and marked dirty: the caller's object itself, with the Function as its history, or its base's;
  3. an input returned as it is: a view of it, so that the input keeps its own history;
  4. anything else gets the Function as its history.
Views among the results cannot be replayed: in-place writes to them are refused (``FUNCTION`` in views.py).
"""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.errors import ArgumentError, GradError, InplaceError
from ..base.grad_mode import mode, special
from ..base.user_stack import warn_user
from ..graph.edges import Edge, edge_of, number_node, requires_grad
from ..graph.node import Node, blank_node
from ..graph.rule import Rule, name_of
from ..graph.saved_hooks import active_hooks
from ..graph.writes import count_write
from ..modes.inference import saveable
from ..tensors.tensor import ASK, FUNCTION, Tensor, native
from ..views import check_inplace, is_view, rebase
from .function_context import BackwardCFunction, FunctionPlan, SavedArgument, result_edge

__all__ = ["finish_results", "mark_final"]


def require_tuples(ctx: BackwardCFunction) -> None:
    """Refuse anything but tuples in the attributes for marks and saved tensors, which programs may set, as in torch."""
    for name in ("to_save", "dirty_tensors", "non_differentiable"):
        value = getattr(ctx, name)
        if not isinstance(value, (tuple, list)):
            raise GradError(
                f"{name_of(ctx)}: ctx.{name} is {type(value).__name__}, expected a tuple of tensors. "
                "Hint: another name for an attribute of your own."
            )


def contains(tensors: tuple, x: Any) -> bool:
    """Membership by identity: a loop, because ``any`` of a generator takes longer."""
    for t in tensors:
        if t is x:
            return True
    return False


def require_marked(what: str, tensors: tuple) -> None:
    """Refuse marks on anything but tensors."""
    for x in tensors:
        if not isinstance(x, Tensor):
            raise GradError(f"{what}: expected tensors, got {type(x).__name__}.")


def finish_results(ctx: BackwardCFunction, args: tuple, results: tuple, record: bool) -> list:
    """Give the results their histories, and save what was asked for: see NOTE [Function results].

    Raises:
        GradError: marks that do not fit. InplaceError: a change that cannot be recorded. ArgumentError: what cannot be saved.
    """
    dirty, marked, to_save = ctx.dirty_tensors, ctx.non_differentiable, ctx.to_save
    if not (type(to_save) is type(dirty) is type(marked) is tuple):
        require_tuples(ctx)
    if dirty:
        note_writes(ctx, results)
    if marked:
        require_marked("mark_non_differentiable", marked)
    ctx._outputs_, ctx._plan_ = len(results) or 1, FunctionPlan(results)
    wrapped = [finish_result(ctx, args, k, x, record) if isinstance(x, Tensor) else x for k, x in enumerate(results)]
    if record and to_save:
        ctx._s0_ = save(ctx, args, results)
    if marked:  # of those only the places are kept: the node must not own its results
        ctx._constants_ = tuple(k for k, x in enumerate(results) if contains(marked, x))
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
    return wrapped


def note_writes(ctx: BackwardCFunction, results: tuple) -> None:
    """Count the declared writes."""
    require_marked("mark_dirty", ctx.dirty_tensors)
    for x in ctx.dirty_tensors:
        if not contains(results, x):
            raise GradError(f"{ctx._rule_.name}: an input marked dirty was not returned by forward.")
        count_write(x._storage_)


def finish_result(ctx: BackwardCFunction, args: tuple, k: int, x: Tensor, record: bool) -> Tensor:
    """One result with its history."""
    dirty, marked = ctx.dirty_tensors, ctx.non_differentiable
    is_input, is_dirty = contains(args, x), bool(dirty) and contains(dirty, x)
    if not (record and x.layout.dtype.differentiable) or (marked and contains(marked, x)):
        return without_history(x, is_input, is_dirty)
    if is_dirty:
        return written_result(ctx, args, k, x, is_input)
    if is_input:
        x = alias_view(x)
    edge = ctx if ctx._outputs_ == 1 else Edge(ctx, k)
    if x._meta_ is not None and is_view(x):
        x._meta_.node, x._meta_.version, x._meta_.creation = edge, x._storage_.version, FUNCTION
        if x._needs_grad_ is ASK:
            return x
    x._edge_, x._needs_grad_ = edge, True
    return x


def without_history(x: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """A result that no gradient flows into."""
    if not requires_grad(x):
        return alias_view(x) if is_input and not is_dirty else x
    if is_view(x) and not is_input:
        return x
    if is_input:
        return native.alias(x)
    x._needs_grad_, x._edge_ = False, None
    return x


def written_result(ctx: BackwardCFunction, args: tuple, k: int, x: Tensor, is_input: bool) -> Tensor:
    """A tensor that ``forward`` changed in place: it, or its base, gets the history."""
    if not is_input:
        warn_user(f"{ctx._rule_.name}: a tensor marked dirty is no input, which has no effect. Hint: mark inputs alone.")
    check_inplace(ctx._rule_.name, x, True)
    if not (is_view(x) and x._needs_grad_ is ASK):
        rebase(x, result_edge(ctx, k), None, None)
        return x
    if ctx._outputs_ != 1:
        raise InplaceError(
            f"{ctx._rule_.name}: a view was changed in place by a Function of several results. Hint: clone the view."
        )
    base = x._meta_.base
    tensors = [a for a in args if isinstance(a, Tensor)]
    slot = next((k for k, a in enumerate(tensors) if a is x), None)
    rebase(x, ctx, slot, edge_of(base) if base._needs_grad_ else None)
    return x


def alias_view(x: Tensor) -> Tensor:
    """An input returned as it is: a view of it, so that the input keeps its own history."""
    enabled, mode.enabled = mode.enabled, False
    try:
        return CALLS["view_shape"](x, x.layout.shape)
    finally:
        mode.enabled = enabled


def save(ctx: BackwardCFunction, args: tuple, results: tuple) -> tuple[SavedArgument, ...]:
    """What ``save_for_backward`` was given, results as aliases: their tensors would make a cycle with the node."""
    saved: list[SavedArgument] = []
    for x in ctx.to_save:
        if x is not None and not isinstance(x, Tensor):
            raise ArgumentError(
                f"save_for_backward: expected tensors or None, got {type(x).__name__}. "
                "Hint: store other values as attributes of ctx."
            )
        x = None if x is None else saveable(ctx._rule_.name, x)
        output = None if x is None else output_of(ctx, args, results, x)
        saved.append(SavedArgument(x if output is None else native.alias(x), output))
    hooks = active_hooks() if special else None
    if hooks is not None:
        for each in saved:
            each.pack(ctx, *hooks)
    return tuple(saved)


def output_of(ctx: BackwardCFunction, args: tuple, results: tuple, x: Tensor) -> int | None:
    """Which differentiable result a saved tensor is; None for an input that was not changed, and for anything else."""
    if contains(args, x) and not contains(ctx.dirty_tensors, x) or contains(ctx.non_differentiable, x):
        return None
    for k, r in enumerate(results):
        if r is x and x.layout.dtype.differentiable:
            return k
    return None


# ---- once_differentiable -------------------------------------------------------------------------------------------


class TwiceRule(Rule):
    """The rule of what must not be differentiated again."""

    name, node_name, takes_undefined = "once_differentiable", "Error", True


TWICE = TwiceRule()


def twice_backward(node: Node, g, create_graph: bool):
    """Refuse."""
    raise GradError(
        "once_differentiable: this gradient cannot be differentiated again: the Function's backward was marked "
        "@once_differentiable. Hint: write backward in differentiable operations."
    )


def mark_final(x: Tensor, grads: tuple) -> Tensor:
    """An alias of ``x`` whose node refuses to run."""
    node = blank_node(Node)
    node._edges_ = tuple(edge_of(g) for g in grads if isinstance(g, Tensor) and g._needs_grad_ and requires_grad(g))
    node._rule_, node._backward_, node._outputs_, node._plan_ = TWICE, twice_backward, 1, FunctionPlan((x,))
    number_node(node)
    out = native.alias(x)
    out._edge_, out._needs_grad_ = node, True
    return out
