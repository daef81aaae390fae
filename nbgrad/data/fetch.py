"""From an index, or a list of them, to what a loader gives: in the program and in its workers alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad

from .. import Parameter, Tensor
from ..creation.numpy_exchange import flat_tensor
from .collate import collate_tensors, default_collate, default_collate_fn_map
from .datasets import Subset, TensorDataset, samples_of

__all__ = ["Fetch", "IterableFetch", "fetch_of"]

Fetch = Callable[[Any], Any]


class _DatasetKind:  # torch's name
    """Whether samples come by index or as a stream."""

    Map, Iterable = 0, 1


def fetch_of(dataset: Any, is_stream: bool, batched: bool, collate_fn: Callable, drop_last: bool) -> Fetch:
    """What gives the batch, or the sample, of what a sampler gives."""
    if is_stream:
        return IterableFetch(dataset, batched, collate_fn, drop_last)
    if not batched:
        return lambda index: collate_fn(dataset[index])
    rows = rows_of(dataset) if collate_fn is default_collate else None
    if rows is None:
        return lambda indices: collate_fn(samples_of(dataset, indices))

    def fetch(indices: Any) -> Any:
        # Other kinds of indices, as bools, may mean something else for a sample than for rows.
        if type(indices) is list and set(map(type, indices)) == {int}:
            try:
                found = rows(indices)
            except IndexError:
                found = None  # of a subset's indices; the sample at fault has the better message
            if found is not None:
                return found
        return collate_fn(samples_of(dataset, indices))

    return fetch


class IterableFetch:
    """Batches, or samples, of a stream; what comes from the sampler says how many."""

    __slots__ = ("_samples", "_batched", "_collate", "_drop_last", "_ended")

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable, drop_last: bool):
        self._samples, self._batched, self._collate, self._drop_last = iter(dataset), batched, collate_fn, drop_last
        self._ended = False

    def __call__(self, places: Any) -> Any:
        if self._ended:
            raise StopIteration
        if not self._batched:
            return self._collate(next(self._samples))
        batch = []
        for _ in places:
            try:
                batch.append(next(self._samples))
            except StopIteration:
                self._ended = True
                break
        if not batch or self._drop_last and len(batch) < len(places):
            raise StopIteration
        return self._collate(batch)


# NOTE [Whole batches]: a batch of rows of one tensor is the tensor at these indices, which one call finds, where stacking its rows
# takes one for each. The two are the same but for the node of a tensor that requires grad. A dataset whose class says otherwise,
# by a __getitem__ or __getitems__ of its own, is asked for each sample, and so is every dataset if the map of default_collate was
# changed for tensors.


def rows_of(dataset: Any) -> Callable[[list[int]], Any] | None:
    """What gives a dataset's collated batch of a list of ints, None where one is out of range; or None of others."""
    if isinstance(dataset, np.ndarray):
        return rows_of_array(dataset)
    kind = type(dataset)
    if isinstance(dataset, Subset):
        inner = rows_of(dataset.dataset) if kind.__getitems__ is Subset.__getitems__ else None
        if inner is None:
            return None
        chosen = dataset.indices
        found: Callable[[list[int]], Any] = inner

        def of_subset(indices: list[int]) -> Any:
            inner_indices = [chosen[i] for i in indices]
            return found(inner_indices) if set(map(type, inner_indices)) == {int} else None

        return of_subset
    if not isinstance(dataset, TensorDataset) or default_collate_fn_map.get(Tensor) is not collate_tensors:
        return None
    if kind.__getitem__ is not TensorDataset.__getitem__ or hasattr(dataset, "__getitems__"):
        return None
    tensors = dataset.tensors
    if not tensors or any(type(x) not in (Tensor, Parameter) for x in tensors):
        return None

    def of_tensors(indices: list[int]) -> Any:
        count = tensors[0].shape[0]
        if min(indices) < -count or max(indices) >= count:
            return None
        index = flat_tensor(np.array(indices), nbgrad.int64, (len(indices),))
        return [x[index] for x in tensors]

    return of_tensors


def rows_of_array(array: np.ndarray) -> Callable[[list[int]], Any] | None:
    """``rows_of`` of NumPy's own arrays of numbers."""
    if type(array) is not np.ndarray or array.ndim == 0 or array.dtype.kind not in "biufc":
        return None

    def of_array(indices: list[int]) -> Any:
        if min(indices) < -len(array) or max(indices) >= len(array):
            return None
        return nbgrad.as_tensor(array[indices])

    return of_array
