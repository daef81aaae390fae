"""Native code: the search for NaN in results, for anomaly mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .language import bound
from .launches import data
from .primitives import address_of, address_of_bytes, as_tuple, run_kernel, words, words_of

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["NanFinder"]


@bound
class NanFinder:
    """``first_nan(results)``: the position of the first of some results that holds a NaN, or None; Tensors, None, or one alone.

    Attributes:
        searches: by layout the record of a kernel that says whether memory holds one; False where none can be; True: ask ``slow``.
        slow: ``slow(tensor) -> bool``, also for layouts that are not in ``searches``.
    """

    __slots__ = ("searches", "slow")
    searches: dict
    slow: Callable

    def __init__(self, searches, slow):
        self.searches, self.slow = searches, slow

    def holds(self, x: Tensor) -> bool:
        """Whether a result holds a NaN."""
        search = self.searches.get(x.layout)
        if search is False:
            return False
        if search is None or search is True:
            return self.slow(x) is True
        record: bytes = search
        facts, pointers, found = words_of(record), words(3), words(1)
        pointers[0], pointers[1], pointers[2] = address_of_bytes(record) + 72, address_of(found), data(x)
        run_kernel(facts[0], facts[1], pointers)
        return found[0] != 0

    def __call__(self, results):
        if isinstance(results, Tensor):
            if self.holds(results):
                return 0
            return None
        several: tuple = as_tuple(results) if type(results) is tuple or type(results) is list else (results,)
        for k in range(len(several)):
            x = several[k]
            if isinstance(x, Tensor) and self.holds(x):
                return k
        return None
