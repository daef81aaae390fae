"""What nodes of one library's graph that run functions of another have in common, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..base.errors import ArgumentError

__all__ = ["Library", "called", "pulled_back", "run_forward"]


class Library(NamedTuple):
    """What a node asks of a library.

    Attributes:
        tensor: the type of its tensors.
        entered: one of its tensors, without history, on the memory of one of the other library's.
        enable_grad, backward: as they are called in both.
    """

    tensor: Any
    entered: Callable
    enable_grad: Callable
    backward: Callable


def run_forward(ctx: Any, name: str, fn: Callable, inner: Library, outer: Library, args: tuple) -> Any:
    """The node's forward: ``fn``, of the inner library, on leaves that share the arguments' memory.

    Raises:
        ArgumentError: ``fn`` gives what is no tensor.
    """
    own = [inner.entered(x) if isinstance(x, outer.tensor) else x for x in args]
    ctx.leaves = [
        x.requires_grad_() if needs and isinstance(x, inner.tensor) else None for x, needs in zip(own, ctx.needs_input_grad)
    ]
    with inner.enable_grad():
        found = fn(*own)
    ctx.results = found if isinstance(found, tuple) else (found,)
    for x in ctx.results:
        if not isinstance(x, inner.tensor):
            raise ArgumentError(f"{name}: fn gave {type(x).__name__}, expected a Tensor, or a tuple of them.")
    given = tuple(outer.entered(x.clone()) for x in ctx.results)
    ctx.mark_non_differentiable(*(y for x, y in zip(ctx.results, given) if not x.requires_grad))
    return given if isinstance(found, tuple) else given[0]


def pulled_back(ctx: Any, inner: Library, outer: Library, grads: tuple) -> tuple:
    """The node's backward: that of the inner library, through what was recorded."""
    pairs = [(x, inner.entered(g.contiguous())) for x, g in zip(ctx.results, grads) if x.requires_grad and g is not None]
    inner.backward([x for x, _ in pairs], [g for _, g in pairs], retain_graph=True)
    found = tuple(None if x is None or x.grad is None else outer.entered(x.grad) for x in ctx.leaves)
    for x in ctx.leaves:
        if x is not None:
            x.grad = None
    return found


def called(node: Any, fn: Callable) -> Callable:
    """The node as a function that bears the name of ``fn``."""

    def function(*args: Any) -> Any:
        return node.apply(*args)

    function.__name__, function.__doc__ = getattr(fn, "__name__", type(fn).__name__), fn.__doc__
    return function
