"""Native code: the search for NaN in results, for anomaly mode."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .language import bound
from .launches import data
from .primitives import any_nan32, any_nan64, as_tuple

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["NanFinder"]


@bound
class NanFinder:
    """``first_nan(results)``: the position of the first of some results that holds a NaN, or None; Tensors, None, or one alone.

    Attributes:
        sizes: by layout ``4 * count + code``: how many elements lie side by side, and what they are (0: what cannot hold one,
            1: float32, 2: float64).
        slow: ``slow(tensor) -> bool`` for layouts that are not in ``sizes``, or not simple.
    """

    __slots__ = ("sizes", "slow")
    sizes: dict
    slow: Callable

    def __init__(self, sizes, slow):
        self.sizes, self.slow = sizes, slow

    def holds(self, x: Tensor) -> bool:
        """Whether a result holds a NaN."""
        size = self.sizes.get(x.layout)
        if size is None:
            return self.slow(x) is True
        word = int(size)
        code = word & 3
        if code == 0:
            return False
        if code == 1:
            return any_nan32(data(x), word >> 2)
        if code == 2:
            return any_nan64(data(x), word >> 2)
        return self.slow(x) is True

    def __call__(self, results):
        several: tuple = as_tuple(results) if type(results) is tuple or type(results) is list else (results,)
        for k in range(len(several)):
            x = several[k]
            if isinstance(x, Tensor) and self.holds(x):
                return k
        return None
