"""``functionalize``, and what a tensor inside a transform wraps."""

from __future__ import annotations

import functools
from typing import Any, Callable

from ..autograd.forward_ad import unpack_dual
from ..base.calls import CALLS
from ..base.errors import ArgumentError, GradError, require_callable
from ..base.nested import flatten, map_leaves
from ..batch.tensors import lowered
from ..forward.tangents import tangent_of, visible_levels
from ..graph.edges import edge_of, requires_grad
from ..graph.task import count_edges, target
from ..modes.batched import Batched
from ..tensors.tensor import Tensor

__all__ = ["debug_unwrap", "functionalize"]

REMOVE = ("mutations", "mutations_and_views")


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """A function of the same values that works on copies of its arguments: what ``func`` writes to them is written back at the end.

    Args:
        func: of tensors, or nested tuples, lists and dicts of them; it may change them in place.
        remove: ``"mutations"``, or ``"mutations_and_views"``: results then share no memory with one another either.

    Returns:
        The function: every argument that ``func`` changed gets one write, with its history.

    Raises:
        GradError: another ``remove``.

    >>> import nbgrad
    >>> x = nbgrad.zeros(2)
    >>> nbgrad.func.functionalize(lambda x: x.add_(1).mul_(3))(x), x, x._version
    (tensor([3., 3.]), tensor([3., 3.]), 1)
    """
    require_callable("functionalize", func)
    if remove not in REMOVE:
        raise GradError(f"functionalize: remove is {remove!r}, expected one of {list(REMOVE)}.")

    @functools.wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        given, tree = flatten((args, kwargs))
        copies = [CALLS["clone"](x) if isinstance(x, Tensor) else x for x in given]
        versions = [x._storage_.version if isinstance(x, Tensor) else None for x in copies]
        positional, named = tree.unflatten(copies)
        output = func(*positional, **named)
        same = {}
        for x, copied, version in zip(given, copies, versions):
            if version is not None and copied._storage_.version != version:
                CALLS["copy_"](x, copied)
            elif version is not None:
                same[id(copied)] = x
        output = map_leaves(lambda x: same.get(id(x), x), output)
        return output if remove == "mutations" else map_leaves(Apart(), output)

    return functional


class Apart:
    """``apart(x)``: a result itself, or a copy where it is a view or one before it has the same memory."""

    def __init__(self) -> None:
        self.seen: list = []  # they stay alive, so that no other storage gets their place

    def __call__(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        shares = x._is_view() or any(x._storage_ is other for other in self.seen)
        self.seen.append(x._storage_)
        return CALLS["clone"](x) if shares else x


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that one inside ``vmap``, ``grad`` or ``jvp`` wraps: for looking at, not for computing.

    Args:
        recurse: without all levels; otherwise without the innermost level of ``vmap`` alone.

    Returns:
        The tensor with the batch in front, without the history and the tangents that transforms gave it; any other tensor itself.

    Raises:
        ArgumentError: no tensor.

    >>> import nbgrad
    >>> seen = []
    >>> y = nbgrad.vmap(lambda x: seen.append(nbgrad.func.debug_unwrap(x)) or x * 2)(nbgrad.arange(3.0))
    >>> seen
    [tensor([0., 1., 2.])]
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"debug_unwrap: expected a Tensor, got {type(tensor).__name__}.")
    if type(tensor) is Batched and not recurse:
        return lowered(tensor, tensor._levels_[-1:])
    value = tensor._value_ if type(tensor) is Batched else tensor
    for level in reversed(visible_levels()):
        if tangent_of(value, level) is not None:
            value = unpack_dual(value, level=level).primal
    return value.detach() if is_transformed(value) else value


def is_transformed(x: Tensor) -> bool:
    """Whether the history of a tensor leads to an argument of a transform whose function is running."""
    if not requires_grad(x):
        return False
    if x.__dict__.get("_run_") is not None:
        return True
    root = target(x._edge_ or edge_of(x))
    return root is not None and any(
        isinstance(place, Tensor) and getattr(place.__dict__.get("_run_"), "live", False) for place in count_edges([root])
    )
