"""The function ``embedding``: rows of a table by their numbers."""

from __future__ import annotations

import nbgrad

from .. import Tensor
from ..base.errors import DimError, DTypeError
from ..ops.kinds import constant_number

__all__ = ["embedding"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` that ``input`` numbers.

    Args:
        input: int64 or int32, any shape.
        weight: shape ``(rows, size)``.
        padding_idx: a row whose gradient is left out.
        max_norm: rows that are looked up and longer than this are first scaled down to it, in place.
        norm_type: p of that norm.
        scale_grad_by_freq: divide the gradient of each row by how often it was looked up.
        sparse: without effect: the gradient has all rows, of which the others are zeros; see ``optim.SparseAdam``.

    Returns:
        Tensor of shape ``(*input.shape, size)``.

    Raises:
        DTypeError: the input is not of whole numbers. DimError: a number that is no row.

    >>> import nbgrad
    >>> embedding(nbgrad.tensor([1, 0]), nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    if input.dtype not in (nbgrad.int64, nbgrad.int32):
        raise DTypeError(f"embedding: input is {input.dtype}, expected int64 or int32.")
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise DimError(f"embedding: padding_idx is {padding_idx}, expected a row of {weight.shape[0]}.")
    single = input.layout.ndim == 1  # as most are: two views less
    flat = input if single else input.reshape((-1,))
    if max_norm is not None:
        length, p = constant_number("embedding", "max_norm", max_norm), constant_number("embedding", "norm_type", norm_type)
        shorten(weight, flat, length, p)
    out = weight.index_select(0, flat)
    if scale_grad_by_freq:
        ones = weight.new_ones(flat.shape[0])
        counts = weight.new_zeros(weight.shape[0]).index_add(0, flat, ones)
        out = with_scaled_gradient(out, 1 / counts.index_select(0, flat).unsqueeze(-1))
    if padding_idx is not None:
        row = padding_idx % weight.shape[0]
        out = nbgrad.where((flat == row).unsqueeze(-1), out.detach(), out)
    return out if single else out.reshape((*input.shape, weight.shape[1]))


def with_scaled_gradient(x: Tensor, factor: Tensor) -> Tensor:
    """``x`` itself, whose gradient is multiplied by a factor on its way back."""
    return x * factor + (x * (1 - factor)).detach()


def shorten(weight: Tensor, rows: Tensor, max_norm: float, p: float) -> None:
    """Scale rows of a table down to a norm, in place."""
    with nbgrad.no_grad():
        rows = nbgrad.unique(rows)
        weight.index_copy_(0, rows, nbgrad.renorm(weight.detach().index_select(0, rows), p, 0, max_norm))
