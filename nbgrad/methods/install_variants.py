"""The public forms of variants: functions that choose among operations, NOTE [Variants] in ops/variants.py."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.function_attributes import attach
from ..dispatch.out import write_result
from ..ops.core import OPS
from ..ops.docstring import Docstring
from ..ops.spellings import shown_signature
from ..ops.variants import VARIANTS, Variant
from ..tensors.tensor import Tensor
from .functions import FUNCTIONS, direct

__all__ = ["install_variants"]


def install_variants() -> None:
    """Function, method, in-place method and operator of every variant, over the operations' own."""
    for variant in VARIANTS:
        plain = variant.build(CALLS.__getitem__)
        plain.__doc__ = Docstring(variant.names[0], str(plain.__doc__), variant=True)
        plain.__qualname__ = plain.__name__  # as errors of Python's name it
        hide_more(plain)
        over = variant.build(inplace_of) if variant.inplace else None
        if over is not None:
            hide_more(over)
            over.__name__ = over.__qualname__ = variant.names[0] + "_"
            over.__doc__ = f"In place: {over.__doc__} See ``{variant.names[0]}``."
        for name in variant.names:
            if variant.method:
                setattr(Tensor, name, plain)
            if variant.function:
                FUNCTIONS[name] = variant_with_out(variant, plain) if variant.out else plain
            if over is not None:
                setattr(Tensor, name + "_", over)
        if variant.operator:
            setattr(Tensor, f"__{variant.operator}__", plain)
            if over is not None:
                setattr(Tensor, f"__i{variant.operator}__", over)


def hide_more(function: Callable) -> None:
    """Have a function that takes arguments which only old programs give show its signature without them."""
    if "more" in function.__code__.co_varnames:
        attach(function, __signature__=shown_signature(function))


def inplace_of(name: str) -> Callable:
    """The in-place form of an operation."""
    return CALLS[name + "_"]


def into(out, name: str) -> Callable:
    """The form of an operation that writes into ``out``."""

    def write(*xs):
        return write_result(OPS[name], xs, out)

    attach(write, writes=True)
    return write


def variant_with_out(variant: Variant, plain: Callable) -> Callable:
    """The function of a variant that also takes ``out=``; without options it is the operation that it usually is, at once."""

    def in_full(operands, named):
        out = named.pop("out", None)
        return (plain if out is None else variant.build(partial(into, out)))(*operands, **named)

    op: Any = OPS.get(variant.usual)
    function = direct(op, in_full, plain) if op is not None else lambda *operands, **named: in_full(operands, named)
    function.__name__ = function.__qualname__ = variant.names[0]
    function.__doc__ = plain.__doc__
    attach(function, __signature__=inspect.signature(plain))
    return function
