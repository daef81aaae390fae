"""In-place methods as functions: ``nbgrad.relu_(x)``."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..base.function_attributes import attach
from ..ops.core import OPS, Elementwise
from ..tensors.tensor import Tensor

__all__ = ["inplace_functions"]


# In-place methods of several operands, or of no operation of the table, that torch has as functions.
ALSO_FUNCTIONS = (
    "addmv_",
    "alpha_dropout_",
    "as_strided_",
    "celu_",
    "clamp_",
    "clamp_max_",
    "clamp_min_",
    "clip_",
    "detach_",
    "dropout_",
    "feature_alpha_dropout_",
    "feature_dropout_",
    "fill_",
    "gcd_",
    "index_put_",
    "lcm_",
    "ldexp_",
    "logit_",
    "nan_to_num_",
    "relu_",
    "resize_as_",
    "round_",
    "rrelu_",
    "selu_",
    "threshold_",
    "xlogy_",
    "zero_",
)


def inplace_functions() -> dict[str, Callable]:
    """``nbgrad.relu_(x)``: in-place methods of one operand as functions, and what else torch has of that kind."""
    names = {
        name
        for op in OPS.values()
        if isinstance(op, Elementwise) and op.inplace and op.function and len(op.operands) == 1
        for name in (op.name, *op.aliases)
    }
    wanted = {*(name + "_" for name in names), *ALSO_FUNCTIONS}
    return {name: by_input(getattr(Tensor, name)) for name in sorted(wanted) if hasattr(Tensor, name)}


def by_input(method: Callable) -> Callable:
    """The function of a method: its first argument may be given by name."""
    first, *others = inspect.signature(method).parameters.values()
    if method.__code__.co_varnames[:1] == ("input",):
        return method

    def function(input: Tensor, *args: Any, **named: Any) -> Any:
        return method(input, *args, **named)

    function.__name__ = function.__qualname__ = method.__name__
    function.__doc__ = method.__doc__
    attach(function, __signature__=inspect.Signature([first.replace(name="input"), *others]))
    return function
