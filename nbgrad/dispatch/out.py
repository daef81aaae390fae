"""``out=`` of operations that are not elementwise: the result is computed, then copied."""
from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import can_cast
from ..base.errors import ArgumentError, DTypeError, GradError, ShapeError
from ..base.grad_mode import mode
from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor

__all__ = ["require_no_grad", "store_results"]


def require_no_grad(name: str, arguments: Any) -> None:
    """Refuse ``out=`` where a gradient would be lost.

    Raises:
        GradError: an argument requires grad and recording is on.
    """
    if mode.enabled and any(requires_grad(x) for x in tensors_in(arguments)):
        raise GradError(f"{name}: out= is not differentiable, and an argument requires grad. Hint: use no_grad().")


def tensors_in(arguments: Any):
    """Tensors among arguments and inside of sequences."""
    for x in arguments:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from tensors_in(x)


def store_results(name: str, results: Any, out: Any) -> Any:
    """Copy one result, or several, into ``out``, which is returned.

    Raises:
        ArgumentError: ``out`` is no tensor, or not as many as there are results.
        ShapeError, DTypeError: it does not fit.
    """
    if isinstance(results, Tensor):
        return store(name, results, out)
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        raise ArgumentError(f"{name}: out must be {len(results)} tensors, got {type(out).__name__}.")
    stored = [store(name, result, each) for result, each in zip(results, out)]
    return type(results)(*stored) if hasattr(results, "_fields") else tuple(stored)


def store(name: str, result: Tensor, out: Any) -> Tensor:
    """Copy a result into a tensor of its shape; an empty one is given it."""
    if not isinstance(out, Tensor):
        raise ArgumentError(f"{name}: out must be a Tensor, got {type(out).__name__}.")
    empty = not out.layout.numel and not out.layout.special
    if out.shape != result.shape and not empty:
        raise ShapeError(f"{name}: out is {tuple(out.shape)}, the result {tuple(result.shape)}. Hint: nbgrad.empty(result.shape).")
    if not can_cast(result.dtype, out.dtype):
        raise DTypeError(f"{name}: out is {out.dtype.name}, the result {result.dtype.name}, which it cannot hold.")
    if empty and out.shape != result.shape:
        CALLS["resize_"](out, result.layout.shape)
    CALLS["copy_"](out, result)
    return out
