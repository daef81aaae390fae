"""``torch.utils.data.dataloader``: where the loader's own parts have torch's names, for programs that ask what they are.

>>> from nbgrad.utils.data import DataLoader
>>> from nbgrad.utils.data.dataloader import _BaseDataLoaderIter
>>> isinstance(iter(DataLoader([1, 2])), _BaseDataLoaderIter)
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import *  # noqa: F403
from .datasets import T as _T_co
from .fetch import _DatasetKind
from .passes import LoaderIterator as _BaseDataLoaderIter, SerialIterator as _SingleProcessDataLoaderIter
from .workers import ParallelIterator as _MultiProcessingDataLoaderIter

__all__ = [
    "_BaseDataLoaderIter",
    "_DatasetKind",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "_T_co",
    "_collate_fn_t",
    "_worker_init_fn_t",
]

# What annotations name.
_collate_fn_t, _worker_init_fn_t = Callable[[list], Any], Callable[[int], None]
