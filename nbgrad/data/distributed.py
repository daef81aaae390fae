"""``DistributedSampler``: the part of a dataset that one of several processes takes."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from math import ceil
from typing import Any

import nbgrad

from ..base.errors import RangeError
from .samplers import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index, from ``rank`` on; in an order that all processes draw alike, by seed and epoch.

    Args:
        dataset: what the indices are of.
        num_replicas: how many processes share it; 1 by default, since there are no process groups here.
        rank: which of them this is; 0 by default.
        shuffle: whether the order is drawn, for each epoch; ``set_epoch`` says which that is.
        seed: the same in all processes.
        drop_last: leave out what cannot be shared evenly, rather than repeat the first ones.

    Raises:
        RangeError: ``rank`` is none of the processes.

    >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in range(2)]
    [[0, 2, 4], [1, 3, 0]]
    >>> list(DistributedSampler(range(5), 2, 1, shuffle=False, drop_last=True))
    [1, 3]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.num_replicas, self.rank = 1 if num_replicas is None else num_replicas, rank or 0
        if not 0 <= self.rank < self.num_replicas:
            raise RangeError(f"DistributedSampler: rank is {self.rank}, expected 0 to {self.num_replicas - 1}.")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0
        count = len(dataset) / self.num_replicas
        self.num_samples = int(count) if drop_last else ceil(count)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            order = nbgrad.randperm(count, generator=nbgrad.Generator().manual_seed(self.seed + self.epoch)).tolist()
        repeated = [order[k % count] for k in range(self.total_size)] if count else []
        return iter(repeated[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is of: with ``shuffle``, each has an order of its own."""
        self.epoch = epoch
