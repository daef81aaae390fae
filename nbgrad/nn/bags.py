"""``embedding_bag`` and ``EmbeddingBag``: rows of a table, put together."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import DimError, NotSupportedError, RangeError, SettingError, ShapeError
from .embedding import _Table
from .lookup import embedding
from .module import unusual

__all__ = ["EmbeddingBag", "embedding_bag"]


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of the rows of ``weight`` that bags of numbers name.

    Args:
        input: int64 or int32; ``(bags, numbers)``, or one row of numbers, where ``offsets`` says at which each bag begins.
        weight: shape ``(rows, size)``.
        offsets: shape ``(bags,)``, from 0 on and rising; with ``include_last_offset`` one more, the end.
        max_norm, norm_type, scale_grad_by_freq: as of ``embedding``.
        mode: "sum", "mean" or "max"; of an empty bag 0.
        sparse: the gradient of ``weight`` is sparse, as of ``embedding``; not of mode "max".
        per_sample_weights: what rows are multiplied by, of the shape of ``input``; for "sum".
        padding_idx: a row that does not count.

    Returns:
        Tensor of shape ``(bags, size)``.

    Raises:
        RangeError: an unknown mode; ``offsets`` where bags are rows, or none where they are not; offsets in the memory of the
        CPU that do not rise from 0 within the input.
        ShapeError: the input has more dimensions, or the weights other ones. NotSupportedError: weights of other modes.

    >>> import nbgrad
    >>> table = nbgrad.tensor([[1.0], [2.0], [4.0]])
    >>> embedding_bag(nbgrad.tensor([0, 1, 2]), table, nbgrad.tensor([0, 2]), mode="sum").tolist()
    [[3.0], [4.0]]
    """
    if mode not in ("sum", "mean", "max"):
        raise RangeError(f"embedding_bag: mode is {mode!r}, expected 'sum', 'mean' or 'max'.")
    if input.ndim not in (1, 2):
        raise ShapeError(f"embedding_bag: input is {list(input.shape)}, expected (bags, numbers), or numbers and offsets.")
    if (offsets is None) != (input.ndim == 2):
        given = "no offsets" if offsets is None else "offsets"
        raise RangeError(f"embedding_bag: {given} for input {list(input.shape)}, expected them where input has one dimension.")
    if per_sample_weights is not None:
        if per_sample_weights.shape != input.shape:
            shapes = f"{list(per_sample_weights.shape)}, input {list(input.shape)}"
            raise ShapeError(f"embedding_bag: per_sample_weights are {shapes}, expected one shape.")
        if mode != "sum":
            raise NotSupportedError(f"embedding_bag: per_sample_weights are for mode 'sum', mode is {mode!r}.")
    if sparse and mode == "max":
        raise NotSupportedError("embedding_bag: mode 'max' has no sparse gradient. Hint: sparse=False.")
    left_out = padding_idx if sparse else None  # a dense gradient has zeros there anyway
    rows = embedding(input, weight, left_out, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    counts = None
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise DimError(f"embedding_bag: padding_idx is {padding_idx}, expected a row of {weight.shape[0]}.")
        counts = input != padding_idx % weight.shape[0]
    if offsets is None:
        return of_rows(rows, counts, mode)
    check_offsets(offsets, len(input), include_last_offset)
    if not include_last_offset:
        return of_parts(rows, counts, mode, offsets)
    inside = nbgrad.arange(len(input), dtype=offsets.dtype, device=offsets.device) < offsets[-1]
    return of_parts(rows, inside if counts is None else counts & inside, mode, offsets[:-1])


def check_offsets(offsets: Tensor, total: int, end: bool) -> None:
    """Refuse offsets that are no beginnings of bags, where their values are at hand: reading them off a GPU would wait for it.

    Raises:
        RangeError: they do not rise from 0 to at most ``total``; none, where an end was to be among them.
    """
    if end and not len(offsets):
        raise RangeError("embedding_bag: offsets are [], expected at least the end, for include_last_offset.")
    if offsets.layout.special or offsets.device.type != "cpu":
        return
    begins = offsets.numpy()
    if len(begins) and (begins[0] != 0 or begins[-1] > total or (begins[1:] < begins[:-1]).any()):
        raise RangeError(
            f"embedding_bag: offsets are {begins[:8].tolist()}, expected to rise from 0 to at most {total}, the numbers of input. "
            "Hint: lengths.cumsum(0) - lengths."
        )


def of_rows(rows: Tensor, counts: Tensor | None, mode: str) -> Tensor:
    """Bags of ``(bags, numbers, size)``; ``counts``: which numbers do."""
    if not rows.shape[1]:
        return rows.sum(1)
    if mode == "max":
        found = (rows if counts is None else rows.masked_fill(~counts.unsqueeze(-1), -nbgrad.inf)).max(1).values
        return found if counts is None else nbgrad.where(counts.any(1, keepdim=True), found, 0.0)
    if counts is not None:
        rows = nbgrad.where(counts.unsqueeze(-1), rows, 0.0)
    if mode == "sum":
        return rows.sum(1)
    return rows.mean(1) if counts is None else rows.sum(1) / counts.sum(1, keepdim=True).clamp(min=1)


def of_parts(rows: Tensor, counts: Tensor | None, mode: str, offsets: Tensor) -> Tensor:
    """Bags of ``(numbers, size)`` that begin at offsets."""
    total, size = rows.shape
    numbers = nbgrad.arange(total, dtype=offsets.dtype, device=rows.device)
    bag = nbgrad.searchsorted(offsets, numbers, right=True).to(nbgrad.int64) - 1
    made = rows.new_zeros((offsets.shape[0], size))
    if mode == "max":
        if counts is not None:
            rows, bag = rows[counts], bag[counts]
        return made.scatter_reduce(0, bag.unsqueeze(-1).expand(rows.shape), rows, "amax", include_self=False)
    if counts is not None:
        rows = nbgrad.where(counts.unsqueeze(-1), rows, 0.0)
    made = made.index_add(0, bag, rows)
    if mode == "sum":
        return made
    ones = nbgrad.ones_like(bag) if counts is None else counts.to(nbgrad.int64)
    sizes = nbgrad.zeros(offsets.shape[0], dtype=nbgrad.int64, device=rows.device).index_add(0, bag, ones)
    return made / sizes.clamp(min=1).unsqueeze(-1)


class EmbeddingBag(_Table):
    """A table of learnt rows, whose sums, means or maxima over bags it gives: see ``functional.embedding_bag``.

    Attributes:
        weight: shape ``(num_embeddings, embedding_dim)``; at first normally distributed, the row ``padding_idx`` 0.

    >>> import nbgrad
    >>> EmbeddingBag(10, 3)(nbgrad.tensor([[1, 2, 4], [4, 3, 2]])).shape
    nbgrad.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        super().__init__(num_embeddings, embedding_dim, *settings, _weight, False, device, dtype)
        self.mode, self.include_last_offset = mode, include_last_offset

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **options: Any) -> EmbeddingBag:
        """A table of given rows, which are not trained if ``freeze``.

        >>> import nbgrad
        >>> EmbeddingBag.from_pretrained(nbgrad.eye(2)).weight.requires_grad
        False
        """
        if embeddings.ndim != 2:
            raise SettingError(f"EmbeddingBag: embeddings are {list(embeddings.shape)}, expected two dimensions.")
        rows, size = embeddings.shape
        made = cls(rows, size, _weight=embeddings, **options)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Numbers ``(bags, numbers)``, or ``(numbers,)`` and offsets, to ``(bags, embedding_dim)``."""
        return embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes, and the settings that are not the defaults."""
        others = unusual(self, max_norm=None, norm_type=2.0, scale_grad_by_freq=False)
        last = unusual(self, padding_idx=None)
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *others, f"mode={self.mode!r}", *last])
