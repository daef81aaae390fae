"""In which order samples are taken: iterables of indices, and of lists of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import nbgrad

from ..base.errors import ArgumentError, RangeError

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
    "drawn_seed",
]

T = TypeVar("T", covariant=True)


def drawn_seed(generator: nbgrad.Generator | None) -> int:
    """A seed that a generator draws, the default one if it is None."""
    return int(nbgrad.empty((), dtype=nbgrad.int64).random_(generator=generator))


def require_positive(op: str, name: str, value: Any) -> None:
    """Refuse what is no count.

    Raises:
        RangeError: no int, a bool, or less than 1.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise RangeError(f"{op}: {name} must be a positive int, got {value!r}.")


class Sampler(Generic[T]):
    """An order of samples. A subclass has ``__iter__``, and ``__len__`` where a loader's length is asked for.

    >>> from nbgrad.utils.data import DataLoader
    >>> class Backwards(Sampler):
    ...     def __iter__(self):
    ...         return iter((2, 1, 0))
    >>> [batch.tolist() for batch in DataLoader([5, 6, 7], batch_size=2, sampler=Backwards())]
    [[7, 6], [5]]
    """

    def __init__(self, data_source: Any = None):
        pass

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__}: a Sampler needs __iter__, which gives indices one by one.")


class SequentialSampler(Sampler[int]):
    """From the first to the last.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """In an order that is drawn anew for every pass.

    Args:
        replacement: each index is drawn from all of them, so that some come twice.
        num_samples: how many, by default as many as there are.
        generator: what draws; by default one that the default generator seeds.

    Raises:
        ArgumentError: ``replacement`` is no bool. RangeError: ``num_samples`` is not positive, or there is nothing to draw from.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: nbgrad.Generator | None = None,
    ):
        if not isinstance(replacement, bool):
            raise ArgumentError(f"RandomSampler: replacement must be a bool, got {replacement!r}.")
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator
        require_positive("RandomSampler", "num_samples (by default the number of samples)", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices a pass has: as many as there are samples now, if nothing else was said."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = nbgrad.Generator().manual_seed(drawn_seed(None))
        count, total = len(self.data_source), self.num_samples
        if self.replacement:
            while total > 0:
                yield from nbgrad.randint(0, count, (min(total, 1024),), generator=generator).tolist()
                total -= 1024
            return
        while total > 0:
            yield from nbgrad.randperm(count, generator=generator).tolist()[:total]
            total -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, in an order that is drawn anew for every pass.

    >>> sorted(SubsetRandomSampler([2, 5, 3]))
    [2, 3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: nbgrad.Generator | None = None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in nbgrad.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices that are drawn in proportion to weights, which need not sum to 1.

    Raises:
        RangeError: ``num_samples`` is not positive, ``replacement`` no bool, or the weights are not one-dimensional.

    >>> list(WeightedRandomSampler([0.0, 2.0, 0.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: nbgrad.Generator | None = None
    ):
        require_positive("WeightedRandomSampler", "num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise RangeError(f"WeightedRandomSampler: replacement must be a bool, got {replacement!r}.")
        self.weights = nbgrad.as_tensor(weights, dtype=nbgrad.float64)
        if self.weights.ndim != 1:
            raise RangeError(f"WeightedRandomSampler: weights must have one dimension, got {list(self.weights.shape)}.")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from nbgrad.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler; what is left over is a shorter list, or nothing with ``drop_last``.

    Raises:
        RangeError: ``batch_size`` is no positive int, ``drop_last`` no bool.

    >>> list(BatchSampler(SequentialSampler("abcde"), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool):
        require_positive("BatchSampler", "batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise RangeError(f"BatchSampler: drop_last must be a bool, got {drop_last!r}.")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices, size = iter(self.sampler), self.batch_size
        while len(batch := list(islice(indices, size))) == size:
            yield batch
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]  # whose length was asked for has one
        return whole + (rest > 0 and not self.drop_last)
