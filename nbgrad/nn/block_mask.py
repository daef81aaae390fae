"""Masks of attention by blocks: which blocks of queries and keys are computed, and a function that decides within them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import nbgrad

from .. import Tensor
from ..base.dtypes import bool_
from ..base.errors import ShapeError
from ..batch.vmap import vmap

__all__ = ["MASKS", "BlockMask", "mask_of", "noop_mask", "over_all", "places"]

# A block in the text of a mask: left out, in part, whole.
SHADES = "  ", "░░", "██"


# How many arguments a mask's function takes: batch, head, query, key.
MASKS = 4


# ---- functions of places ---------------------------------------------------------------------------------------------


def over_all(function: Callable, of_scores: bool) -> Callable:
    """A function of one place, as one of all: a map over batch, head, query and key, from the last to the first."""
    for place in reversed(range(MASKS)):
        function = vmap(function, ((0,) if of_scores else ()) + tuple(0 if d == place else None for d in range(MASKS)))
    return function


def places(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """The numbers of batches, heads, queries and keys."""
    return [nbgrad.arange(size, device=device) for size in sizes]


def mask_of(mask_mod: Callable, sizes: tuple[int, ...], device: Any) -> Tensor:
    """What a mask's function says of all places: truth values of shape (batch, heads, queries, keys)."""
    return over_all(mask_mod, False)(*places(sizes, device)).to(bool_)


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that leaves nothing out.

    >>> import nbgrad
    >>> noop_mask(*nbgrad.zeros(4, dtype=nbgrad.int64))
    tensor(True)
    """
    return batch.new_ones((), dtype=bool_)


# ---- blocks ----------------------------------------------------------------------------------------------------------


_DEFAULT_SPARSE_BLOCK_SIZE = 128  # torch's name


class BlockMask:
    """The blocks of scores that attention computes; ``create_block_mask`` makes it.

    Attributes:
        kv_num_blocks: int32 [batch, heads, blocks of queries]: how many blocks of keys each looks at in part.
        kv_indices: int32 [batch, heads, blocks of queries, blocks of keys]: their numbers come first.
        full_kv_num_blocks, full_kv_indices: the same of blocks that are left in wholly; None where those are not apart.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same, seen from the keys.
        mask_mod: what decides within a block.
        BLOCK_SIZE: (queries, keys).
        seq_lengths: (queries, keys) in all.

    >>> from nbgrad.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2)
    >>> mask.kv_num_blocks.tolist(), mask.full_kv_num_blocks.tolist()
    ([[[1, 1]]], [[[0, 1]]])
    """

    def __init__(
        self, partial: Tensor, full: Tensor | None, seq_lengths: tuple[int, int], block: tuple, mask_mod: Callable
    ) -> None:
        self.partial, self.full = partial, full
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, block, mask_mod
        self.kv_num_blocks, self.kv_indices = listed_blocks(partial)
        self.q_num_blocks, self.q_indices = listed_blocks(partial.mT)
        none: tuple[Tensor | None, Tensor | None] = None, None
        self.full_kv_num_blocks, self.full_kv_indices = none if full is None else listed_blocks(full)
        self.full_q_num_blocks, self.full_q_indices = none if full is None else listed_blocks(full.mT)

    @classmethod
    def of_mask(cls, mask: Tensor, block: tuple, mask_mod: Callable, separate: bool) -> BlockMask:
        """The blocks of a mask of single scores. Those at the end that are no whole blocks are left in in part."""
        batch, heads, q, k = mask.shape
        rows, columns = -(-q // block[0]), -(-k // block[1])
        padded = nbgrad.nn.functional.pad(mask, (0, columns * block[1] - k, 0, rows * block[0] - q))
        seen = padded.reshape(batch, heads, rows, block[0], columns, block[1])
        some, all_of = seen.any(5).any(3), seen.all(5).all(3)
        return cls(some & ~all_of if separate else some, all_of if separate else None, (q, k), block, mask_mod)

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Callable | None = None,
        seq_lengths: tuple[int, int] | None = None,
    ) -> BlockMask:
        """The mask of lists of blocks; without ``seq_lengths`` blocks are whole, without ``mask_mod`` all in them is left in.

        Raises:
            ShapeError: numbers and indices do not go together.

        >>> import nbgrad
        >>> counts, blocks = nbgrad.tensor([[[1, 2]]]), nbgrad.tensor([[[[0, 1], [0, 1]]]])
        >>> BlockMask.from_kv_blocks(counts, blocks, BLOCK_SIZE=2).to_dense().tolist()
        [[[[1, 0], [1, 1]]]]
        """
        block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        partial = blocks_in(kv_num_blocks, kv_indices)
        full = None if full_kv_num_blocks is None else blocks_in(full_kv_num_blocks, full_kv_indices)
        sizes = seq_lengths or (partial.shape[-2] * block[0], partial.shape[-1] * block[1])
        return cls(partial, full, sizes, block, mask_mod or noop_mask)

    def computed(self) -> Tensor:
        """Truth values by block: whether anything in it is left in."""
        return self.partial if self.full is None else self.partial | self.full

    def elements(self) -> Tensor:
        """Truth values by score: what is left in.

        Raises:
            ShapeError: there are fewer blocks than ``seq_lengths`` asks for.

        >>> from nbgrad.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 2, 2).elements().tolist()
        [[[[True, False], [True, True]]]]
        """
        held = [count * size for count, size in zip(self.partial.shape[-2:], self.BLOCK_SIZE)]
        if any(most < size for most, size in zip(held, self.seq_lengths)):
            raise ShapeError(
                f"BlockMask: its blocks hold {held[0]} queries and {held[1]} keys, seq_lengths is {self.seq_lengths}. "
                "Hint: set seq_lengths, and a mask_mod that counts from there, after taking some blocks."
            )
        said = mask_of(self.mask_mod, self.shape, self.partial.device)
        if self.full is None:
            return said & self.spread(self.partial)
        return (said & self.spread(self.partial)) | self.spread(self.full)

    def spread(self, blocks: Tensor) -> Tensor:
        """Truth values of blocks, one for each score."""
        rows = blocks.repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
        return rows[..., : self.seq_lengths[0], : self.seq_lengths[1]]

    @property
    def shape(self) -> tuple[int, ...]:
        """(batch, heads, queries, keys)."""
        return (*self.partial.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many scores there are, without masking.

        >>> from nbgrad.nn.attention.flex_attention import create_block_mask, noop_mask
        >>> create_block_mask(noop_mask, None, None, 3, 4).numel()
        12
        """
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How much of the scores no block holds, in per cent; below 0 where the last blocks reach beyond the ends.

        >>> from nbgrad.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2).sparsity()
        25.0
        """
        held = int(self.computed().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - held / self.numel())

    def to_dense(self) -> Tensor:
        """int32 [batch, heads, blocks of queries, blocks of keys]: 1 where a block is computed.

        >>> from nbgrad.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2).to_dense().tolist()
        [[[[1, 0], [1, 1]]]]
        """
        return self.computed().to(nbgrad.int32)

    def to(self, device: Any) -> BlockMask:
        """The same mask on another device; tensors that ``mask_mod`` mentions stay where they are."""
        full = None if self.full is None else self.full.to(device)
        return BlockMask(self.partial.to(device), full, self.seq_lengths, self.BLOCK_SIZE, self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """Some batches, heads, or blocks of queries: a number leaves a dimension of size 1.

        Of some blocks of queries, ``mask_mod`` and ``seq_lengths`` are still those of all: set them to what counts from there.

        Raises:
            ShapeError: more than three dimensions are named.
        """
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 3:
            raise ShapeError(f"BlockMask: an index of {len(index)} dimensions, expected batch, head and block of queries at most.")
        kept = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        full = None if self.full is None else self.full[kept]
        return BlockMask(self.partial[kept], full, self.seq_lengths, self.BLOCK_SIZE, self.mask_mod)

    def to_string(self, limit: int = 40) -> str:
        """A picture of the blocks, for each batch and head: left out, in part, whole; of ``limit`` rows and columns at most."""
        whole = self.partial.new_zeros(self.partial.shape) if self.full is None else self.full
        shades = (self.computed().to(nbgrad.int32) + whole.to(nbgrad.int32)).tolist()
        lines: list[str] = []
        for place, rows in grids(shades, ()):
            lines.append(str(place))
            lines += ["".join(SHADES[shade] for shade in row[:limit]) + "..." * (len(row) > limit) for row in rows[:limit]]
            lines += ["..."] * (len(rows) > limit)
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%,\n{self.to_string()}\n)"

    def __repr__(self) -> str:
        name = getattr(self.mask_mod, "__name__", repr(self.mask_mod))
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, BLOCK_SIZE={self.BLOCK_SIZE}, mask_mod={name})"


def listed_blocks(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks are true in each row, and all numbers of blocks, those first; int32."""
    order = blocks.to(nbgrad.uint8).argsort(-1, descending=True, stable=True)
    return blocks.sum(-1).to(nbgrad.int32), order.to(nbgrad.int32)


def blocks_in(counts: Tensor, indices: Any) -> Tensor:
    """Truth values by block, from what ``listed_blocks`` returns."""
    if not isinstance(indices, Tensor) or indices.shape[:-1] != counts.shape:
        raise ShapeError(
            f"BlockMask.from_kv_blocks: {list(counts.shape)} numbers of blocks need indices of one dimension more, "
            f"got {list(indices.shape) if isinstance(indices, Tensor) else indices!r}."
        )
    first = nbgrad.arange(indices.shape[-1], device=counts.device) < counts.unsqueeze(-1)
    return nbgrad.zeros_like(first).scatter(-1, indices.to(nbgrad.int64), first)


def grids(values: list, place: tuple) -> Iterator[tuple[tuple, list]]:
    """The matrices in nested lists, with their places."""
    if not values or not isinstance(values[0], list) or not values[0] or not isinstance(values[0][0], list):
        yield place, values
        return
    for i, value in enumerate(values):
        yield from grids(value, (*place, i))
