"""``Embedding``: a table of learnt rows."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import SettingError
from . import init
from .lookup import embedding
from .module import Module, unusual

__all__ = ["Embedding"]


class _Table(Module):
    """Learnt rows, one of which may begin with zeros."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise SettingError(f"{type(self).__name__}: padding_idx is {padding_idx}, expected a row of {num_embeddings}.")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        if _weight is not None:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                raise SettingError(
                    f"{type(self).__name__}: _weight is {list(_weight.shape)}, expected {[num_embeddings, embedding_dim]}."
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)
            return
        self.weight = Parameter(nbgrad.empty(num_embeddings, embedding_dim, device=device, dtype=dtype), requires_grad=not _freeze)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with nbgrad.no_grad():
                self.weight.select(0, self.padding_idx).zero_()


class Embedding(_Table):
    """A table of ``num_embeddings`` rows of ``embedding_dim`` numbers, looked up by number: see ``functional.embedding``.

    Args:
        padding_idx: a row that is at first zero and has no gradient.
        device, dtype: of the weights; the defaults unless given.

    Attributes:
        weight: shape ``(num_embeddings, embedding_dim)``; at first normally distributed.

    >>> import nbgrad
    >>> nbgrad.nn.Embedding(10, 3)(nbgrad.tensor([[1, 2], [3, 4]])).shape
    nbgrad.Size([2, 2, 3])
    """

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **options: Any) -> Embedding:
        """A table of given rows, which are not trained if ``freeze``."""
        if embeddings.ndim != 2:
            raise SettingError(f"Embedding: embeddings are {list(embeddings.shape)}, expected two dimensions.")
        rows, size = embeddings.shape
        return cls(rows, size, _weight=embeddings, _freeze=freeze, **options)

    def forward(self, input: Tensor) -> Tensor:
        """Numbers of any shape to ``(*, embedding_dim)``."""
        return embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        """The sizes, and the settings that are not the defaults."""
        others = unusual(self, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *others])
