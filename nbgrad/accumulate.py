"""AccumulateGrad: what happens when a gradient reaches a leaf.

NOTE [Accumulation]: in this order,
  1. an undefined gradient changes nothing;
  2. a leaf that has been moved into the graph's interior (it has a ``grad_fn`` now) is an error;
  3. a leaf that no longer wants a gradient drops it;
  4. no ``.grad`` yet: the gradient is taken over if nobody else can see it and its layout obeys the layout contract,
     else copied into that layout;
  5. grad mode off: added in place, so every alias of ``.grad`` sees the sum, whatever its strides; a dense gradient is added to
     a sparse one out of place;
  6. grad mode on (create_graph): added out of place; the old ``.grad`` keeps its value;
  7. post-accumulate hooks, then the node's post hooks, run after the leaf's lock is released.

NOTE [Layout contract]: the ``.grad`` of a leaf that is non-overlapping and dense has the leaf's strides; of any other
leaf it is row-major.

Source of the contract: torch's ``accumulate_grad.h``.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from sys import getrefcount
from typing import Sequence

from .base.bounded import MOST_PLANS, keep
from .base.calls import CALLS
from .base.errors import ArgumentError, GradError
from .base.grad_mode import capture_of_thread, mode, traces
from .base.locks import new_rlock
from .dispatch.inplace import inplace_plan
from .graph import node as nodes
from .graph.collecting import Collector
from .graph.cotangents import ENGINE_ALONE
from .graph.edges import grad_dtype_of
from .ops.core import OPS
from .tensors.layout import Layout, layout_of
from .tensors.tensor import Tensor, is_sparse, meta_of, native

__all__ = ["accumulate", "grad_layout", "enforce_grad_layout_policy"]


OWN_STORAGE = 2  # the tensor's slot and the argument
OWN_ARRAY = 2  # the storage's slot and the argument


def grad_layout(leaf: Layout) -> Layout:
    """The layout that a fresh gradient of a leaf has: see NOTE [Layout contract]."""
    if leaf.dense and not leaf.special:
        return leaf
    return layout_of(leaf.dtype, leaf.shape, leaf.strides if leaf.dense else None, leaf.device)  # without lazy bits and marks


# Held while a leaf's gradient is changed. Leaves share them: a lock of its own costs every leaf time.
LOCKS = [new_rlock() for _ in range(64)]


class LayoutPolicy(threading.local):
    """Whether gradients that are taken over must obey the layout contract, per thread."""

    enforced = True


policy = LayoutPolicy()


class enforce_grad_layout_policy:  # torch's name
    """Whether a gradient must have its leaf's strides; without it one that nobody else holds is taken over as it is.

    Set at once, and until the end of the block if used as a context manager; per thread.

    >>> x = nbgrad.ones(2, 3, requires_grad=True)
    >>> with nbgrad.enforce_grad_layout_policy(False):
    ...     x.t().exp().sum().backward()
    >>> x.grad.shape
    nbgrad.Size([2, 3])
    """

    def __init__(self, enable: bool = True):
        self.before, policy.enforced = policy.enforced, bool(enable)

    def __enter__(self) -> enforce_grad_layout_policy:
        return self

    def __exit__(self, *error: object) -> None:
        policy.enforced = self.before


def accumulate(leaf: Tensor, g: Tensor | None) -> None:
    """Add the cotangent ``g`` to the leaf's gradient. The caller may hold ``g`` in one variable and nowhere else."""
    meta = leaf._meta_
    if g is not None:
        if leaf._edge_ is not None:
            raise GradError(
                "AccumulateGrad: the leaf was moved into the graph's interior: an in-place operation that autograd "
                "recorded changed it after this graph was made. Hint: change leaves under no_grad()."
            )
        if traces:
            for trace in tuple(traces):
                trace.note_gradient(leaf)
        if leaf._needs_grad_:
            if meta is None:
                meta = meta_of(leaf)
            with LOCKS[id(leaf) >> 4 & 63]:
                held = meta.grad
                if held is None:
                    wanted = grad_layout(leaf.layout)
                    if mode.enabled:
                        meta.grad = copy_for_leaf(leaf, g) if g.layout is not wanted or g._edge_ is None else CALLS["clone"](g)
                    elif (
                        (g.layout is wanted or not policy.enforced)
                        and getrefcount(g) <= ENGINE_ALONE
                        and g._meta_ is None
                        and g._edge_ is None
                        and getrefcount(g._storage_) <= OWN_STORAGE
                        and getrefcount(g._storage_.array) <= OWN_ARRAY
                    ):
                        meta.grad = g
                    elif traces and getrefcount(g) <= ENGINE_ALONE and is_captured_alone(g, wanted):
                        meta.grad = g
                    else:
                        meta.grad = copy_for_leaf(leaf, g)
                elif mode.enabled:
                    meta.grad = CALLS["add"](held, g)
                elif g._meta_ is None:
                    meta.grad = add_into(held, g)
                else:  # it may have a tangent
                    meta.grad = add_by_call(held, g)
    if meta is not None and meta.post_hooks:
        for hook in tuple(meta.post_hooks.values()):
            returned = hook(leaf)
            if returned is not None and returned is not leaf:  # leaf.sub_(leaf.grad) returns the leaf
                raise (GradError if isinstance(returned, Tensor) else ArgumentError)(
                    f"post-accumulate-grad hook: returned {type(returned).__name__}, expected None or the leaf; "
                    "the hook may change leaf.grad itself."
                )


def is_captured_alone(g: Tensor, wanted: Layout) -> bool:
    """Whether nobody but a capture of this thread, which follows the gradient, holds its memory: it is taken over then, too.

    That saves the capture a copy to write down, and its passes one to take out again (benchmarks/test_graph_costs.py).
    """
    trace = capture_of_thread()
    if (
        trace is None
        or not g.layout.is_traced()
        or g.layout.unmarked() is not wanted
        or g._meta_ is not None
        or g._edge_ is not None
    ):
        return False
    holders = OWN_ARRAY + trace.count_holders(g._storage_.array)
    return getrefcount(g._storage_) <= OWN_STORAGE and getrefcount(g._storage_.array) <= holders


def accumulate_by_hand(node: nodes.AccumulateGrad, g: Tensor | None, create_graph: bool) -> None:
    """What calling a leaf's AccumulateGrad does: the pass does so without the node. ``accumulate`` reads grad mode itself."""
    held = [g]  # the caller's, which Python 3.14 does not count
    accumulate(node._variable_, g)
    held.clear()


def leaf_args(node: nodes.AccumulateGrad, collector: Collector) -> None:
    """Tell a collector of the leaf and its gradient, if gradients flow into it, and of the hooks behind."""
    leaf = node._variable_
    if collector.cond(leaf._needs_grad_ is True):
        collector.collect(leaf)
        collector.collect(None if leaf._meta_ is None else leaf._meta_.grad)
        for hook in () if leaf._meta_ is None else tuple((leaf._meta_.post_hooks or {}).values()):
            collector.call(hook)


def leaf_with_saved(node: nodes.AccumulateGrad, values: Sequence[Tensor], g: Tensor | None) -> Tensor | None:
    """The gradient that the leaf then has, with other tensors in the place of it and of the gradient that it has.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> node = nbgrad.graph.get_gradient_edge(x).node
    >>> node.apply_with_saved([nbgrad.zeros(2), nbgrad.tensor([1.0, 2.0])], nbgrad.ones(2)), x.grad
    (tensor([2., 3.]), None)
    """
    if not values:
        return None
    leaf, own = native.alias(values[0]), node._variable_._meta_
    leaf._needs_grad_, meta = True, meta_of(leaf)
    meta.grad = values[1] if len(values) > 1 else None
    accumulate(leaf, g)
    for hook in () if own is None else tuple((own.post_hooks or {}).values()):
        hook(leaf)
    found: Tensor | None = meta.grad
    return found


nodes.leaf_backward = accumulate_by_hand
nodes.AccumulateGrad.compiled_args, nodes.AccumulateGrad.apply_with_saved = leaf_args, leaf_with_saved


def copy_for_leaf(leaf: Tensor, g: Tensor) -> Tensor:
    """A copy of ``g`` in the layout and dtype that the leaf's gradient is to have, recorded if recording is on."""
    wanted, dtype = grad_layout(leaf.layout), grad_dtype_of(leaf) or g.layout.dtype
    if g.layout.shape != wanted.shape:  # ``leaf.data`` was exchanged for a tensor of another shape
        wanted = g.layout.like()
    if dtype is not wanted.dtype:
        wanted = layout_of(dtype, wanted.shape, wanted.strides, wanted.device)
    return CALLS["clone_like"](g, wanted)


def add_into(held: Tensor, g: Tensor) -> Tensor:
    """``held += g``, nothing recorded: the engine's own sums, without the checks of ``add_`` where one kernel does it."""
    plan = into_plan(held.layout, g.layout)
    if plan is None or not held._storage_.writable:
        return add_by_call(held, g)
    native.into(plan, held, g)
    return held


def add_by_call(held: Tensor, g: Tensor) -> Tensor:
    """``held``, to which ``g`` was added; a new tensor where a dense gradient comes to a sparse one, which cannot become dense."""
    if is_sparse(held) and not is_sparse(g):
        return CALLS["add"](g, held)
    return CALLS["add_"](held, g)


@lru_cache(maxsize=MOST_PLANS)
def into_plan(held: Layout, g: Layout):
    """The plan of ``held += g`` where one kernel reads both directly, else None."""
    plan = None if held.special or g.special else inplace_plan(OPS["add"], (held, g))  # type: ignore[arg-type]
    return plan if plan is not None and len(plan.layouts) == 1 else None


# For the sums of a pass: the plan of ``x += y`` where both have that layout, None where one kernel cannot do it directly.
sum_plans: dict[Layout, object] = {}


def plan_sum(held: Tensor, g: Tensor) -> Tensor:
    """``held + g``; leaves the plan for adding two tensors of this layout in place."""
    layout = held.layout
    keep(sum_plans, layout, into_plan(layout, g.layout) if layout.dense and not layout.conj and not layout.neg else None)
    return CALLS["add"](held, g)
