"""Powers, roots and functions of ``math`` of numbers that a capture follows: NOTE [Traced numbers] of numbers.py.

What Python computes of a float in more than one rounding is computed by Python itself when the program runs: a kernel would give
other last digits. So each is a step in Python of the program, which raises what Python raises.
"""

from __future__ import annotations

import math
from struct import Struct
from typing import Any, Callable

import numpy as np

from ..base.dtypes import float64
from ..tensors.layout import layout_of
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, native

__all__ = ["computed", "function", "written"]

READ = Struct("d").unpack_from
SCALAR = layout_of(float64, (), None, CPU)


def function(name: str) -> Callable:
    """A function of floats: ``power``, or one of ``math``."""
    found: Callable = pow if name == "power" else getattr(math, name)
    return found


def computed(*tensors: Tensor, name: str, given: tuple) -> Tensor:
    """A function of floats, of which some are ``given`` and others, None there, are elements of tensors."""
    rest = iter(tensors)
    found = float(function(name)(*[element(next(rest)) if x is None else x for x in given]))
    return native.tensor(SCALAR.template, wrap_array(np.array([found])), 0, False, None)


def element(x: Tensor) -> float:
    """The only one of a tensor of float64."""
    found: float = READ(x._storage_.array, x._offset_)[0]
    return found


def written(capture: Any, name: str, operands: list) -> Tensor:
    """What stands for a function's value in the graph of a capture; operands that are no tensors are floats."""
    given = tuple([None if isinstance(x, Tensor) else float(x) for x in operands])
    tensors = tuple([x for x in operands if isinstance(x, Tensor)])
    found: Tensor = capture.call_python(computed, tensors, {"name": name, "given": given})
    return found
