"""Datasets, samplers, and loaders that make batches of them: ``nbgrad.utils.data``.

>>> import nbgrad
>>> from nbgrad.utils.data import DataLoader, TensorDataset
>>> pairs = TensorDataset(nbgrad.arange(5), nbgrad.arange(5.0) * 2)
>>> for x, y in DataLoader(pairs, batch_size=2):
...     print(x, y)
tensor([0, 1]) tensor([0., 2.])
tensor([2, 3]) tensor([4., 6.])
tensor([4]) tensor([8.])
"""

from __future__ import annotations

from .collate import collate, default_collate, default_collate_fn_map, default_convert
from .datasets import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .info import WorkerInfo, get_worker_info
from .loader import DataLoader
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "collate",
    "default_collate",
    "default_collate_fn_map",
    "default_convert",
    "get_worker_info",
    "random_split",
]
