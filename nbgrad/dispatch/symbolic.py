"""Formulas of a declaration run on tensors: the operations that they name are called.

The same formula, run on symbols, gives the source of a kernel. On tensors it gives what can be differentiated again. A name may
meet a Python number in the place of a tensor; operations on numbers alone give numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, complex128, float64
from ..modes.traced import unseen
from ..ops.core import OPS, Elementwise
from ..ops.expr import OPERATIONS
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor


def apply(name: str, operands: tuple) -> Any:
    """The operation ``name`` on tensors and numbers; on numbers alone, the number."""
    for x in operands:
        if isinstance(x, Tensor):
            if name == "where" and not isinstance(operands[0], Tensor):
                return operands[1] if operands[0] else operands[2]
            return CALLS[name](*operands)
    return of_numbers(name, operands)


def choose(dtype: DType, condition: Any, x: Any, y: Any) -> Any:
    """``where`` in a formula whose result is of this dtype: numbers, and operands that are integers, count as such."""
    if not isinstance(condition, Tensor):
        return x if condition else y
    x, y = [
        CALLS["to_dtype"](each, dtype) if isinstance(each, Tensor) and not each.layout.dtype.differentiable else each
        for each in (x, y)
    ]
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = CALLS["new_full"](layout_of(dtype, (), (), condition.layout.device), x)
    return CALLS["where"](condition, x, y)


def of_numbers(name: str, numbers: tuple) -> Any:
    """An operation on Python numbers: what a formula makes of a number operand or an attribute."""
    op = OPS[name]
    if op.of_numbers is not None:
        return op.of_numbers(*numbers)
    as_floats = isinstance(op, Elementwise) and op.policy in ("float", "floating") or float in map(type, numbers)
    with np.errstate(all="ignore"), unseen():
        return CALLS[name](native_number(numbers[0], as_floats), *numbers[1:]).item()


def native_number(value, as_float: bool) -> Tensor:
    """A number as a 0-d tensor of the widest dtype of its kind: a default dtype would round what is folded."""
    if isinstance(value, complex):
        return CALLS["tensor"](value, dtype=complex128)
    return CALLS["tensor"](value, dtype=float64 if as_float or isinstance(value, float) else None)


def as_tensor_like(g: Tensor, value) -> Tensor:
    """A cotangent that came out as a number, as a tensor; a tensor itself."""
    return value if isinstance(value, Tensor) else CALLS["new_full"](g.layout.like(), value)


OPERATIONS[Tensor] = CALLS
