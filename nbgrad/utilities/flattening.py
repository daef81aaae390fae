"""``nbgrad._utils``, as ``torch._utils``: many tensors as one vector and back, as programs that exchange gradients write it."""

from __future__ import annotations

from collections.abc import Sequence

from .. import Tensor
from ..nn.utils import parameters_to_vector

__all__: list[str] = []


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all, in a row."""
    return parameters_to_vector(tensors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """``flat``, cut into views of the tensors' shapes.

    >>> x = [nbgrad.ones(2), nbgrad.zeros(1, 1)]
    >>> _unflatten_dense_tensors(_flatten_dense_tensors(x), x)
    (tensor([1., 1.]), tensor([[0.]]))
    """
    parts = flat.split([x.numel() for x in tensors])
    return tuple(part.view(x.shape) for part, x in zip(parts, tensors))
