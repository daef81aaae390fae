"""Places of sparse tensors: as coordinates, as numbers that sort like them, compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbgrad

from .. import Tensor
from ..base.dtypes import bool_, int32, int64

if TYPE_CHECKING:
    from .layouts import SparseLayout

__all__ = [
    "_convert_indices_from_coo_to_csr",
    "_convert_indices_from_csr_to_coo",
    "compressed",
    "found_among",
    "in_order",
    "keys",
    "lines_of",
    "spread",
    "stretches",
    "summed_at",
]


def keys(at: Tensor, shape: Any) -> Tensor:
    """Places as numbers that sort as they do."""
    if not at.shape[0]:
        return at.new_zeros(at.shape[1])
    key, *further = at.unbind(0)
    for row, size in zip(further, shape[1:]):
        key = key * size + row
    return key


def summed_at(at: Tensor, values: Tensor, shape: Any) -> tuple[Tensor, Tensor]:
    """Places in order, each once, and the sums of the values there."""
    key, group = keys(at, shape).unique(return_inverse=True)
    sums = values.new_zeros(key.shape[0], *values.shape[1:]).index_add(0, group, values)
    return at.new_zeros(at.shape[0], key.shape[0]).index_copy(1, group, at), sums


def compressed(lines: Tensor, count: int) -> Tensor:
    """Where each line begins, of sorted numbers of lines, and where the last ends."""
    return nbgrad.searchsorted(lines.contiguous(), nbgrad.arange(count + 1, device=lines.device))


def lines_of(begins: Tensor) -> Tensor:
    """The line of each value, of where lines begin."""
    return repeated(begins.diff())


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:  # torch's name
    """Where each of so many lines begins, of sorted numbers of lines, and where the last ends.

    Args:
        input: [n], integers. size: how many lines there are. out_int32: whether the result is of int32, else int64.

    >>> _convert_indices_from_coo_to_csr(nbgrad.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    return compressed(input, size).to(int32 if out_int32 else int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:  # torch's name
    """The line and the column of each value, in two rows, of where lines begin.

    Args:
        crow_indices: [lines + 1]. col_indices: [n]. out_int32: as above. transpose: columns before lines.

    >>> _convert_indices_from_csr_to_coo(nbgrad.tensor([0, 2, 2, 3]), nbgrad.tensor([1, 2, 0]))
    tensor([[0, 0, 2],
            [1, 2, 0]])
    """
    pair = (col_indices, lines_of(crow_indices)) if transpose else (lines_of(crow_indices), col_indices)
    dtype = int32 if out_int32 else int64
    return nbgrad.stack([x.to(dtype) for x in pair])


def repeated(counts: Tensor) -> Tensor:
    """0, 1, 2 and so on, each as often as is told."""
    return nbgrad.arange(counts.shape[0], device=counts.device).repeat_interleave(counts)  # type: ignore[arg-type]


def stretches(begins: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers that rise by one from each beginning, as many as is told, one stretch after the other: whose each is, and itself."""
    which = repeated(counts)
    within = nbgrad.arange(which.shape[0], device=which.device) - (counts.cumsum(0) - counts)[which]
    return which, begins[which] + within


def found_among(own: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Where numbers are among others in order, and whether they are there at all."""
    if not own.shape[0]:
        return nbgrad.zeros_like(wanted), nbgrad.zeros_like(wanted, dtype=bool_)
    place = nbgrad.searchsorted(own, wanted).clamp(max=own.shape[0] - 1)
    return place, own[place] == wanted


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
