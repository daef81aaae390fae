"""How lowerings of this folder are registered: what they say is kept as plans, whatever the operation's style on the CPU."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Callable

from ...base.bounded import keep
from ...base.calls import CALLS
from ...dispatch import lowerings
from ...dispatch.arguments import hashable
from ...dispatch.device_plans import device_plan
from ...graph.saved import tensors_in
from ...tensors.storage import Device
from ...tensors.tensor import Tensor, native

__all__ = ["CUDA_LOWERINGS", "layouts_in", "lowering", "on_one_device"]

# ``{operation: (lowering, the attributes that hold tensors)}``.
CUDA_LOWERINGS: dict[str, tuple[Callable, tuple[str, ...]]] = {}
_plans: dict[tuple, Any] = {}


def lowering(*names: str, tensors: tuple[str, ...] = ()) -> Callable:
    """Register the decorated function as the lowering of the operations ``names``.

    It is ``f(op, layouts, attributes) -> (results' layouts, Steps)``, or a function of several steps, ``run(op, tensors,
    attributes)``. In ``layouts`` a sequence of tensors is a tuple of layouts, and so are tensors in ``attributes``. The operands of
    steps are all tensors in this order: those of the operation, those of sequences one by one, then those of the attributes that
    ``tensors`` names.
    """

    def register(function):
        for name in names:
            CUDA_LOWERINGS[name] = function, tensors
            if lowerings.LOWERINGS.get(name, ("run",))[0] == "plan" and not tensors:
                lowerings.lowering(name, device="cuda")(function)
            else:
                lowerings.lowering(name, style="run", device="cuda")(partial(run_planned, function, tensors))
        return function

    return register


def run_planned(function: Callable, names: tuple[str, ...], op, tensors: tuple, attributes: dict) -> Any:
    """A call whose lowering says steps, once for all calls of its kind."""
    tensors, attributes = on_one_device(tensors, attributes, names)
    told = {name: layouts_in(value) if name in names else value for name, value in attributes.items()}
    key = (op.name, tuple(map(layouts_in, tensors)), *((type(value), value) for value in map(hashable, told.values())))
    made, flat = _plans.get(key), tensors_in((*tensors, *(attributes[name] for name in names)))
    if made is None:
        made = function(op, key[1], told)
        if not callable(made):
            made = device_plan(made[0], tuple(x.layout for x in flat), made[1])
        keep(_plans, key, made)
    return made(op, tensors, attributes) if callable(made) else native.fresh(made, *flat)


def on_one_device(tensors: tuple, attributes: dict, names: Iterable[str]) -> tuple[tuple, dict]:
    """The operands, and the attributes that hold tensors: single numbers of the CPU go to the GPU of the others first."""
    found = tensors_in((*tensors, *(attributes[name] for name in names)))
    if all(x.layout.memory is not None for x in found):
        return tensors, attributes
    device: Device = next(x.layout.device for x in found if x.layout.memory is not None)

    def moved(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value if value.layout.memory is not None else CALLS["to_device"](value, device)
        return tuple(map(moved, value)) if isinstance(value, (tuple, list)) else value

    return moved(tensors), {name: moved(value) if name in names else value for name, value in attributes.items()}


def layouts_in(value: Any) -> Any:
    """A value with layouts in the place of tensors, also in a sequence."""
    if isinstance(value, Tensor):
        return value.layout
    if isinstance(value, (tuple, list)) and any(isinstance(x, Tensor) for x in value):
        return tuple(map(layouts_in, value))
    return value
