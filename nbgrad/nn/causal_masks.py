"""Causal masks of attention between sequences of unlike lengths, aligned at their beginnings or at their ends."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.dtypes import bool_

__all__ = ["causal_lower_right", "causal_upper_left"]


def causal_upper_left(*size: Any) -> Tensor:
    """The mask with which query ``i`` sees the keys up to ``i``: truth values of shape (queries, keys).

    >>> causal_upper_left(2, 3).int()
    tensor([[1, 0, 0],
            [1, 1, 0]], dtype=nbgrad.int32)
    """
    return nbgrad.ones(*size, dtype=bool_).tril()


def causal_lower_right(*size: Any) -> Tensor:
    """The mask with which the last query sees all keys, and each one before it a key less, as where keys were kept from earlier.

    >>> causal_lower_right(2, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=nbgrad.int32)
    """
    mask = nbgrad.ones(*size, dtype=bool_)
    return mask.tril(mask.shape[-1] - mask.shape[-2])
