"""Places of sparse tensors: as coordinates, as numbers that sort like them, compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbgrad

from .. import Tensor

if TYPE_CHECKING:
    from .layouts import SparseLayout

__all__ = ["compressed", "in_order", "keys", "lines_of", "places", "spread", "summed_at"]


def keys(at: Tensor, shape: Any) -> Tensor:
    """Places as numbers that sort as they do."""
    key = nbgrad.zeros_like(at[0]) if at.shape[0] else at.new_zeros(at.shape[1])
    for row, size in zip(at, shape):
        key = key * size + row
    return key


def places(key: Tensor, shape: Any) -> Tensor:
    """The places that numbers stand for."""
    rows = []
    for size in reversed(tuple(shape)):
        rows.append(key % max(size, 1))
        key = key // max(size, 1)
    return nbgrad.stack(rows[::-1]) if rows else key.new_empty(0, key.shape[0])


def summed_at(at: Tensor, values: Tensor, shape: Any) -> tuple[Tensor, Tensor]:
    """Places in order, each once, and the sums of the values there."""
    key, group = keys(at, shape).unique(return_inverse=True)
    sums = values.new_zeros(key.shape[0], *values.shape[1:]).index_add(0, group, values)
    return places(key, shape[: at.shape[0]]), sums


def compressed(lines: Tensor, count: int) -> Tensor:
    """Where each line begins, of sorted numbers of lines, and where the last ends."""
    return nbgrad.searchsorted(lines.contiguous(), nbgrad.arange(count + 1, device=lines.device))


def lines_of(begins: Tensor) -> Tensor:
    """The line of each value, of where lines begin."""
    lines = nbgrad.arange(begins.shape[0] - 1, device=begins.device)
    return lines.repeat_interleave(begins.diff())  # type: ignore[arg-type]


def in_order(begins: Tensor, others: Tensor) -> bool:
    """Whether the numbers within each line rise."""
    later = others[1:] > others[:-1]
    return bool((later | (lines_of(begins).diff() > 0)).all())


def spread(kind: SparseLayout, begins: Tensor, others: Tensor, block: tuple[int, ...]) -> Tensor:
    """The rows and columns of the elements of a compressed layout; of blocks one after the other."""
    lines = lines_of(begins)
    rows, columns = (lines, others) if kind.compressed == 0 else (others, lines)
    if kind.blocked:
        height, width = block
        down, across = nbgrad.arange(height, device=others.device), nbgrad.arange(width, device=others.device)
        shape = rows.shape[0], height, width
        rows = (rows[:, None, None] * height + down[:, None]).expand(shape).reshape(-1)
        columns = (columns[:, None, None] * width + across).expand(shape).reshape(-1)
    return nbgrad.stack((rows, columns))
