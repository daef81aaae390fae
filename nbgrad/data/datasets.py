"""Where samples come from."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import floor, isclose
from typing import Any, Generic, TypeVar

import nbgrad

from .. import Tensor
from ..base.errors import DatasetError, DimError, NotSupportedError, RangeError
from ..base.user_stack import warn_user

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset", "random_split"]

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Samples by index. A subclass has ``__getitem__`` and ``__len__``; ``__getitems__``, if it has it, gives the list of samples
    of a list of indices at once. ``first + second`` is both, one after the other.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> (Squares() + Squares())[5]
    4
    """

    def __getitem__(self, index: Any) -> T:
        raise NotSupportedError(f"{type(self).__name__}: a Dataset needs __getitem__.")

    def __add__(self, other: Any) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T], Iterable[T]):
    """Samples of a stream. A subclass has ``__iter__``.

    Each worker of a loader has a copy, and goes through all of it: ``get_worker_info()`` tells ``__iter__``, or the loader's
    ``worker_init_fn``, which part is this worker's.

    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(Count() + Count())
    [0, 1, 2, 0, 1, 2]
    """

    @abstractmethod
    def __iter__(self) -> Iterator[T]:
        raise NotSupportedError(f"{type(self).__name__}: an IterableDataset needs __iter__.")

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors, which have the same number of them.

    Raises:
        DatasetError: they have not.

    >>> TensorDataset(nbgrad.arange(3), nbgrad.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor):
        sizes = [x.size(0) for x in tensors]
        if len(set(sizes)) > 1:
            raise DatasetError(f"TensorDataset: the tensors have {sizes} rows, expected as many in each.")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side: a tuple of them, or a dict of those given by name.

    Raises:
        RangeError: none, both kinds, or datasets that are not equally long.

    >>> StackDataset(image="ab", label=[0, 1])[1]
    {'image': 'b', 'label': 1}
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any):
        if args and kwargs:
            raise RangeError("StackDataset: expected datasets by position or by name, got both.")
        if not args and not kwargs:
            raise RangeError("StackDataset: expected at least one dataset, got none.")
        self.datasets = args or kwargs
        sizes = [len(each) for each in (args or kwargs.values())]
        if len(set(sizes)) > 1:
            raise RangeError(f"StackDataset: the datasets have lengths {sizes}, expected equal ones.")
        self._length = sizes[0]

    def _joined(self, samples: Iterable) -> Any:
        """What the members gave, as a sample."""
        return dict(zip(self.datasets, samples)) if isinstance(self.datasets, dict) else tuple(samples)

    def _members(self) -> Iterable:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def __getitem__(self, index: Any) -> Any:
        return self._joined(each[index] for each in self._members())

    def __getitems__(self, indices: list) -> list:
        columns = []
        for each in self._members():
            columns.append(samples_of(each, indices))
            if len(columns[-1]) != len(indices):
                kind, found = type(each).__name__, len(columns[-1])
                raise RangeError(f"StackDataset: __getitems__ of {kind} gave {found} samples of {len(indices)} indices.")
        return [self._joined(samples) for samples in zip(*columns)]

    def __len__(self) -> int:
        return self._length


def samples_of(dataset: Any, indices: list) -> list:
    """The samples of several indices, by the dataset's own ``__getitems__`` where it has one."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[index] for index in indices]


class ConcatDataset(Dataset[T]):
    """Datasets one after the other.

    Raises:
        DatasetError: none, or one that has no indices.

    >>> ConcatDataset(["ab", "cde"])[-1]
    'e'
    """

    def __init__(self, datasets: Iterable):
        self.datasets = list(datasets)
        if not self.datasets:
            raise DatasetError("ConcatDataset: expected at least one dataset, got none.")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise DatasetError("ConcatDataset: expected datasets with indices, got an IterableDataset. Hint: ChainDataset.")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> T:
        count = len(self)
        if idx < 0:
            if idx < -count:
                raise RangeError(f"ConcatDataset: index {idx} counts from the end of {count} samples, expected at least -{count}.")
            idx += count
        elif idx >= count:
            raise DimError(f"ConcatDataset: index {idx} is out of range for {count} samples.")
        which = bisect_right(self.cumulative_sizes, idx)
        found: T = self.datasets[which][idx - self.cumulative_sizes[which - 1] if which else idx]
        return found


class ChainDataset(IterableDataset[T]):
    """Streams one after the other.

    Raises:
        DatasetError: at iteration, something that is no ``IterableDataset``.

    >>> class Up(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(ChainDataset([Up(), Up()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable):
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise DatasetError(f"ChainDataset: expected an IterableDataset, got {type(each).__name__}. Hint: ConcatDataset.")
            yield each

    def __iter__(self) -> Iterator[T]:
        for each in self._streams():
            yield from each

    def __len__(self) -> int:
        return sum(map(len, self._streams()))


class Subset(Dataset[T]):
    """The samples of a dataset at given indices.

    Raises:
        NotSupportedError: a subclass with its own ``__getitem__`` and not its own ``__getitems__``, which a loader calls.

    >>> Subset("abcde", [3, 1])[0]
    'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotSupportedError(
                f"{kind.__name__}: it has a __getitem__ of its own, but not __getitems__, which a loader calls. "
                "Hint: def __getitems__(self, indices): return [self[i] for i in indices]."
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: nbgrad.Generator | None = None) -> list[Subset]:
    """Subsets of the given lengths, without a common sample, drawn at random.

    Args:
        lengths: counts that sum to the dataset's length, or fractions that sum to 1: each is rounded down, and what is left over
            goes to the first ones, one sample each.
        generator: by default the default one.

    Raises:
        RangeError: another sum, or a fraction that is negative.

    >>> [len(part) for part in random_split(range(11), [0.5, 0.3, 0.2])]
    [6, 3, 2]
    """
    count, total = len(dataset), sum(lengths)
    if isclose(total, 1) and total <= 1:
        for position, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise RangeError(f"random_split: fraction {fraction} at index {position} is not between 0 and 1.")
        sizes = [floor(count * fraction) for fraction in lengths]
        for position in range(count - sum(sizes)):
            sizes[position % len(sizes)] += 1
        for position, size in enumerate(sizes):
            if size == 0:
                warn_user(f"random_split: the length of the split at index {position} is 0.")
        lengths = sizes
    if sum(lengths) != count or not all(hasattr(length, "__index__") and length >= 0 for length in lengths):
        raise RangeError(
            f"random_split: lengths {list(lengths)} for a dataset of {count} samples; "
            "expected counts with that sum, or fractions with the sum 1."
        )
    order = nbgrad.randperm(count, generator=generator).tolist()
    ends = accumulate(lengths, initial=0)
    return [Subset(dataset, order[begin:end]) for begin, end in pairwise(ends)]
