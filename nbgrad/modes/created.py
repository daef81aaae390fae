"""New tensors, shown to modes beneath the gradients: NOTE [Beneath the gradients] of dispatch_modes.py."""

from __future__ import annotations

import sys
from typing import Any

from ..base.grad_mode import mode
from ..tensors.tensor import Tensor
from .dispatch_modes import ask, dispatch_types, is_dispatching
from .overloads import called_as, packet_of

__all__ = ["made_by_class", "shown"]


def shown(name: str, x: Tensor) -> Tensor:
    """What the modes of this thread make of a new tensor, of the function ``name``.

    They are given its size, dtype and device. The tensor is there before they are asked, and is what the overload returns; of other
    arguments it is what the function of that name does.
    """
    if not is_dispatching():
        return x
    overload = packet_of("aten", name).default
    args, kwargs = (list(x.layout.shape),), {"dtype": x.layout.dtype, "device": x.layout.device, "pin_memory": False}

    def made(*given: Any, **named: Any) -> Any:
        if given == args and named == kwargs:
            return shown(name, x)
        return getattr(sys.modules["nbgrad"], name)(*given, **named)

    with called_as(overload, made):
        out: Tensor = ask(overload, (), args, kwargs)
    return out


def made_by_class(name: str, x: Tensor, **given: Any) -> Any:
    """A tensor like ``x``, or its element, as the class of ``x`` makes it; ``given``: arguments that are not None."""
    overload = packet_of("aten", name).default
    args = (x, given.pop("fill_value")) if "fill_value" in given else (x,)
    kwargs = {key: value for key, value in given.items() if value is not None}
    operation = Tensor.item if name == "_local_scalar_dense" else getattr(sys.modules["nbgrad"], name)
    enabled, mode.enabled = mode.enabled, False
    try:
        with called_as(overload, operation):
            return ask(overload, dispatch_types((x,)), args, kwargs)
    finally:
        mode.enabled = enabled
