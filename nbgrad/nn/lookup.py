"""The function ``embedding``: rows of a table by their numbers."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..autograd.function import Function
from ..base.errors import DimError, DTypeError, NotSupportedError
from ..base.grad_mode import dual_levels, mode, traces
from ..ops.kinds import constant_number
from ..tensors.batch_levels import is_batched

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
        sparse: the gradient of ``weight`` is a sparse tensor of the rows that were looked up, in their order; a row that comes
            twice is there twice. See ``optim.SparseAdam``, ``SGD`` and ``Adagrad``, which take it.

    Returns:
        Tensor of shape ``(*input.shape, size)``.

    Raises:
        DTypeError: the input is not of whole numbers. DimError: a number that is no row. NotSupportedError: ``scale_grad_by_freq``
        of a sparse gradient.

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
    if sparse and gives_sparse_gradient(weight):
        if scale_grad_by_freq:
            raise NotSupportedError("embedding: scale_grad_by_freq of a sparse gradient. Hint: sparse=False.")
        out = SparseLookup.apply(weight, flat, padding_idx)
        return out if single else out.reshape((*input.shape, weight.shape[1]))
    try:
        out = weight.index_select(0, flat)
    except DimError:
        raise DimError(f"embedding: a number is no row of weight, expected 0 to {weight.shape[0] - 1}.") from None
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
        rows = rows if rows.is_meta else nbgrad.unique(rows)  # each once
        weight.index_copy_(0, rows, nbgrad.renorm(weight.detach().index_select(0, rows), p, 0, max_norm))


def gives_sparse_gradient(weight: Tensor) -> bool:
    """Whether a look-up that is asked for a sparse gradient records one: not in graphs and transforms, nor in forward mode, which
    know dense ones.
    """
    return weight.requires_grad and mode.enabled and not (traces or mode.transforms or dual_levels)


class SparseLookup(Function):
    """Rows of a table, whose gradient is a sparse tensor of the rows that were looked up."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, rows: Tensor, padding_idx: int | None) -> Tensor:
        """The rows."""
        ctx.rows, ctx.shape = rows, tuple(weight.shape)
        ctx.padding = None if padding_idx is None else padding_idx % weight.shape[0]
        ctx.kept = None if padding_idx is None else (rows != ctx.padding).nonzero().squeeze(1)
        return weight.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Their cotangents at their numbers; without those of the padding row."""
        from ..sparse.tensors import made, sparse_coo

        rows = ctx.rows
        if is_batched(g):  # of a pass on a batch of cotangents
            g = g if ctx.kept is None else nbgrad.where((rows == ctx.padding).unsqueeze(-1), 0.0, g)
            return g.new_zeros(ctx.shape).index_add(0, rows, g), None, None
        if ctx.kept is not None:
            rows, g = rows.index_select(0, ctx.kept), g.index_select(0, ctx.kept)
        at = rows.reshape(1, -1).to(nbgrad.int64)
        return made(sparse_coo, (at,), g, ctx.shape, at.shape[1] < 2), None, None
