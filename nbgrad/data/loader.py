"""The loader: what it takes, and how its options fit together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Generic, TypeVar

import nbgrad

from ..base.errors import ArgumentError, RangeError, require_callable
from ..base.user_stack import warn_user
from .collate import default_collate, default_convert
from .datasets import IterableDataset
from .fetch import _DatasetKind
from .passes import LoaderIterator, SerialIterator
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader"]

T = TypeVar("T", covariant=True)
FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class Endless(Sampler[None]):
    """What a stream is sampled by: it says itself when it ends."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class DataLoader(Generic[T]):
    """Batches of a dataset, pass after pass.

    Args:
        dataset: has ``__getitem__`` and ``__len__``, or is an ``IterableDataset``.
        batch_size: samples in a batch; None gives the samples one by one, as the dataset gives them.
        shuffle: draw a new order for every pass.
        sampler: the order, as an iterable of indices.
        batch_sampler: the batches, as an iterable of lists of indices.
        num_workers: processes that load; 0 loads in the program itself.
        collate_fn: makes a batch of a list of samples; ``default_collate`` if nothing is said.
        pin_memory: give batches in memory from which a GPU fetches while the program goes on.
        drop_last: leave a last batch out that is not full.
        timeout: seconds to wait for a batch of a worker; 0 waits as long as the worker lives.
        worker_init_fn: called with its number in each worker first.
        multiprocessing_context: how processes start: "fork", "spawn", "forkserver", or a context of ``multiprocessing``.
        generator: draws the order, and the seed from which those of the workers count.
        prefetch_factor: batches that each worker has ahead; 2 if nothing is said.
        persistent_workers: keep the processes from one pass to the next.
        pin_memory_device: not needed, and ignored with a warning.
        in_order: False gives the workers' batches as they are ready.

    Raises:
        RangeError: sizes and counts that cannot be, or arguments that exclude each other. ArgumentError: an argument of a type that
            cannot be.

    >>> import numpy as np
    >>> loader = DataLoader(np.arange(5), batch_size=2, drop_last=True)
    >>> len(loader), list(loader)
    (2, [tensor([0, 1]), tensor([2, 3])])
    """

    _made = False
    _IterableDataset_len_called: int | None = None

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: nbgrad.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        require_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        for function in (collate_fn, worker_init_fn):
            if function is not None:
                require_callable("DataLoader", function)
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            refuse_of_stream(shuffle=shuffle, sampler=sampler, batch_sampler=batch_sampler)
        if sampler is not None and shuffle:
            raise RangeError("DataLoader: sampler and shuffle both say the order, expected one of them. Hint: leave shuffle out.")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise RangeError(
                    "DataLoader: batch_sampler says which batches there are; expected none of batch_size, shuffle, sampler and "
                    "drop_last beside it."
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise RangeError("DataLoader: batch_size=None makes no batches, expected no drop_last. Hint: leave it out.")
        if sampler is None:
            if self._is_stream:
                sampler = Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.timeout, self.worker_init_fn, self.in_order = num_workers, timeout, worker_init_fn, in_order
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.multiprocessing_context = multiprocessing_context
        self._iterator: Any = None
        self._made = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """How processes start; None is Python's choice."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and not self.num_workers:
            raise RangeError("DataLoader: multiprocessing_context can only be used with num_workers > 0, got num_workers=0.")
        if context is not None:
            from .workers import context_of

            context = context_of(context)
        self._context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self._made and name in FIXED:
            raise RangeError(f"DataLoader: {name} cannot be set once the loader is made. Hint: make another loader.")
        super().__setattr__(name, value)

    # What a pass asks of its loader, under torch's names: programs give it loaders of their own.
    @property
    def _index_sampler(self) -> Iterable:
        """What says which samples come."""
        found: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return found

    @property
    def _auto_collation(self) -> bool:
        """Whether samples become batches."""
        return self.batch_sampler is not None

    @property
    def _dataset_kind(self) -> int:
        """Whether samples come by index, or as a stream: ``_DatasetKind``."""
        return _DatasetKind.Iterable if self._is_stream else _DatasetKind.Map

    def __iter__(self) -> LoaderIterator:
        if not self.num_workers:
            return SerialIterator(self)
        from .workers import ParallelIterator

        if not self.persistent_workers:
            return ParallelIterator(self)
        if self._iterator is None or not self._iterator.is_alive:
            self._iterator = ParallelIterator(self)
        else:
            self._iterator.begin(self)
        found: LoaderIterator = self._iterator
        return found

    def __len__(self) -> int:
        if not self._is_stream:
            return len(self._index_sampler)  # type: ignore[arg-type]  # whose length was asked for has one
        length = len(self.dataset)
        object.__setattr__(self, "_IterableDataset_len_called", length)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def __getstate__(self) -> dict:
        return {**vars(self), "_iterator": None}  # processes are this one's

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than this process may use processors."""
        if not self.num_workers:
            return
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > count:
            warn_user(
                f"DataLoader: {self.num_workers} worker processes for {count} processors, on which they may be slower than fewer."
            )


def require_workers(num_workers: Any, timeout: Any, prefetch_factor: Any, persistent_workers: Any) -> None:
    """Refuse what cannot be said of workers.

    Raises:
        RangeError: negative numbers, and what needs workers where there are none. ArgumentError: no numbers.
    """
    if not hasattr(num_workers, "__index__"):
        raise ArgumentError(f"DataLoader: num_workers must be an int, got {type(num_workers).__name__}.")
    if num_workers < 0:
        raise RangeError(f"DataLoader: num_workers must be at least 0, got {num_workers}. Hint: 0 loads without processes.")
    if not timeout >= 0:
        raise RangeError(f"DataLoader: timeout must be at least 0, got {timeout}.")
    if timeout and not num_workers:
        raise RangeError(f"DataLoader: timeout={timeout} needs num_workers > 0, got 0.")
    if prefetch_factor is not None:
        if not num_workers:
            raise RangeError("DataLoader: prefetch_factor needs num_workers > 0, got 0. Hint: leave it None.")
        if prefetch_factor < 1:
            raise RangeError(f"DataLoader: prefetch_factor must be at least 1, got {prefetch_factor}.")
    if persistent_workers and not num_workers:
        raise RangeError("DataLoader: persistent_workers needs num_workers > 0, got 0.")


def refuse_of_stream(**options: Any) -> None:
    """Refuse options that say an order.

    Raises:
        RangeError: one of them is neither None nor False.
    """
    for name, value in options.items():
        if value is not None and value is not False:
            raise RangeError(
                f"DataLoader: an IterableDataset gives samples in its own order, expected no {name}, got {value!r}. "
                "Hint: shuffle in its __iter__."
            )
