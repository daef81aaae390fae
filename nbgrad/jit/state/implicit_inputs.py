"""Inputs of a program that are no arguments: gradients of leaves, and numbers that every call computes anew."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

import numpy as np

from ...base.dtypes import float64, int64
from ...modes.traced import Unfit
from ...tensors.layout import layout_of
from ...tensors.storage import CPU, wrap_array
from ...tensors.tensor import Tensor, native

if TYPE_CHECKING:
    from ...base.dtypes import DType

__all__ = ["GradientOf", "Numbers", "NumbersOf", "number_tensor"]


class Numbers(dict):
    """Numbers by name, and ``again() -> numbers``, which computes them for another call."""

    def __init__(self, again: Callable[[], dict[str, float]]):
        super().__init__(again())
        self.again = again


class GradientOf(NamedTuple):
    """An input of a graph that is a leaf's gradient: of an argument by its number, or of a tensor that the function knows."""

    leaf: Any

    def find(self, inputs: Sequence) -> Tensor | None:
        """The gradient, for a call; None where there is none."""
        leaf = inputs[self.leaf] if isinstance(self.leaf, int) else self.leaf
        return None if leaf._meta_ is None else leaf._meta_.grad


class NumbersOf:
    """An input of a graph that holds numbers which every call computes anew; of float32 or float64."""

    def __init__(self, numbers: Numbers, dtype: DType):
        self.again = numbers.again
        self.tensor = tensor_of(list(numbers.values()), dtype)
        self.elements = self.tensor._storage_.array
        self.pack = struct.Struct(
            f"{len(numbers)}{'d' if dtype is float64 else 'f'}"
        ).pack_into  # a sixth of what NumPy takes for a list

    def find(self, inputs: Sequence) -> Tensor | None:
        """The numbers, for a call; None where there is another program for what they come from."""
        try:
            numbers = self.again().values()
        except Unfit:
            return None
        try:
            self.pack(self.elements, 0, *numbers)
        except (OverflowError, struct.error):  # an infinity, or what NumPy makes a number of
            self.elements[:] = list(numbers)
        return self.tensor


def tensor_of(numbers: list[float], dtype: DType) -> Tensor:
    """Numbers as a tensor of one dimension."""
    layout = layout_of(dtype, (len(numbers),), None, CPU)
    return native.tensor(layout.template, wrap_array(np.array(numbers, dtype.numpy)), 0, False, None)


def number_tensor(x: float) -> Tensor:
    """A float, or an int of 64 bits, as a tensor of no dimension."""
    layout = SCALARS[type(x)]
    return native.tensor(layout.template, wrap_array(np.array([x], layout.dtype.numpy)), 0, False, None)


SCALARS = {float: layout_of(float64, (), None, CPU), int: layout_of(int64, (), None, CPU)}
