"""Gradients of batches: many cotangents in one pass, and passes inside a mapped function."""

from __future__ import annotations

from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import GradError, RangeError, ShapeError
from ..graph.edges import GradientEdge
from ..modes.batched import Batched
from ..tensors.batch_levels import Level, hidden_levels, noted
from ..tensors.tensor import Tensor
from . import convolutions as _convolutions, fast_path as _calls, rules as _rules  # noqa: F401  (they register themselves)
from .tensors import levels_of, lifted, lowered

__all__ = ["with_batched_cotangents", "with_batched_tensors"]


def many(value: Any) -> tuple:
    """One tensor or edge, or a sequence of them, as a tuple."""
    return (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def with_batched_cotangents(grad: Callable, outputs: Any, inputs: Any, grad_outputs: Any, **options: Any) -> Any:
    """``grad`` whose cotangents have one more dimension in front, and its results too.

    Raises:
        GradError: there are no cotangents. RangeError: batches of different sizes. ShapeError: they do not fit the outputs.
    """
    cotangents = () if grad_outputs is None else many(grad_outputs)
    given = [g for g in cotangents if isinstance(g, Tensor)]
    if not given:
        raise GradError("grad: is_grads_batched=True needs grad_outputs, whose first dimension is the batch.")
    for output, g in zip(many(outputs), cotangents):
        if isinstance(g, Tensor) and isinstance(output, Tensor) and (not g.ndim or g.shape[1:] != output.shape):
            raise ShapeError(
                "grad: with is_grads_batched=True the first dimension of a cotangent is the batch and the rest is its "
                f"output's shape {list(output.shape)}, got {list(g.shape)}."
            )
    sizes = {g.layout.shape[0] for g in given}
    if len(sizes) > 1:
        raise RangeError(f"grad: the cotangents are batches of different sizes {sorted(sizes)}.")
    level = hidden_levels(tuple(sizes))
    hidden = [lifted(CALLS["alias"](g), level) if isinstance(g, Tensor) else g for g in cotangents]
    materialize = options.pop("materialize_grads", False)
    with noted(level):
        results = grad(outputs, inputs, hidden, **options)
    wanted = inputs.values() if isinstance(inputs, dict) else many(inputs)
    found = [
        with_batch_in_front(g, x, level, materialize)
        for g, x in zip(results.values() if isinstance(results, dict) else results, wanted)
    ]
    return dict(zip(results, found)) if isinstance(results, dict) else tuple(found)


def with_batch_in_front(g: Tensor | None, x: Any, levels: tuple[Level, ...], materialize: bool) -> Tensor | None:
    """A gradient with its batch in front; zeros, if wanted, are those of no batch."""
    if g is not None:
        return lowered(g, levels)
    return CALLS["zeros_like"](x) if materialize else None


def with_batched_tensors(grad: Callable, outputs: Any, inputs: Any, grad_outputs: Any, **options: Any) -> Any:
    """``grad`` inside of a mapped function: on the values, see NOTE [Batched] in batch/tensors.py.

    Raises:
        GradError: the gradient of a tensor that is the same for the whole batch, which would be summed over it.
    """
    roots = many(outputs)
    cotangents = (None,) * len(roots) if grad_outputs is None else many(grad_outputs)
    wanted = many(inputs.values() if isinstance(inputs, dict) else inputs)
    depends = levels_of(roots)
    for position, x in enumerate(wanted):
        if isinstance(x, Tensor) and set(levels_of((x,))) < set(depends):
            raise GradError(
                f"grad: inputs[{position}] is the same for the whole batch that vmap maps over and an output is not, "
                "so the gradients of single elements are lost. Hint: nbgrad.func.grad, or map over x.expand(...)."
            )
    values = [x._value_ if type(x) is Batched else x for x in wanted]
    seeds = [seed(root, g) for root, g in zip(roots, cotangents)]
    results = grad([x._value_ if type(x) is Batched else x for x in roots], values, seeds, **options)
    found = [None if g is None else lifted(g, x._levels_) if type(x) is Batched else g for g, x in zip(results, wanted)]
    return dict(zip(inputs, found)) if isinstance(inputs, dict) else tuple(found)


def seed(root: Any, g: Tensor | None) -> Tensor | None:
    """The cotangent of a root's value.

    Raises:
        GradError: none is given, and the root has more than one element. ShapeError: it does not fit.
    """
    if type(root) is not Batched:
        return g
    if g is None:
        if root.layout.numel != 1 or not root.layout.dtype.is_floating_point:
            raise GradError(
                f"grad: a cotangent can be left out for real roots of one element only, this one is "
                f"{root.layout.dtype.name} {list(root.layout.shape)}."
            )
        return CALLS["new_full"](root._value_.layout.like(), 1)
    if g.layout.shape != root.layout.shape:
        raise ShapeError(f"grad: a cotangent has shape {list(g.layout.shape)}, its root {list(root.layout.shape)}.")
    return lowered(g, root._levels_)
