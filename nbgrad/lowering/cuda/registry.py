"""Where lowerings for CUDA are found."""

from __future__ import annotations

from typing import Callable

__all__ = ["CUDA_LOWERINGS", "lowering"]

# ``{operation: (lowering, the attributes that hold tensors)}``.
CUDA_LOWERINGS: dict[str, tuple[Callable, tuple[str, ...]]] = {}


def lowering(*names: str, device: str = "cuda", tensors: tuple[str, ...] = ()) -> Callable:
    """Register the decorated function as the lowering of the operations ``names``.

    It is ``f(op, layouts, attributes) -> (results' layouts, Steps)``, or a function of several steps, ``run(op, tensors,
    attributes)``. In ``layouts`` a sequence of tensors is a tuple of layouts, and so are tensors in ``attributes``, where None stands
    for no tensor. The operands of steps are all tensors in this order: those of the operation, those of sequences one by one, then
    those of the attributes that ``tensors`` names.
    """

    def register(function):
        for name in names:
            CUDA_LOWERINGS[name] = function, tensors
        return function

    return register
