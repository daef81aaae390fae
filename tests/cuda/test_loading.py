"""A loader beside a GPU: batches in pinned memory, datasets on the GPU. Emulated, in a child."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import nbgrad
from nbgrad.utils.data import DataLoader, Dataset, TensorDataset

from .emulation import on_gpus

Pair = namedtuple("Pair", "x y")


class Samples(Dataset):
    """Samples of several containers."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"x": nbgrad.full((3,), float(index)), "pair": Pair(index, [np.ones(2), "s"])}


@on_gpus
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.filterwarnings("ignore:DataLoader. . worker processes:UserWarning")
def test_pinned_batches(workers):
    """Every tensor of a batch is pinned, wherever in it, and reaches the GPU with its values; strings stay."""
    options = {"num_workers": workers, "multiprocessing_context": "spawn"} if workers else {}
    batches = list(DataLoader(Samples(), batch_size=2, pin_memory=True, **options))
    for position, batch in enumerate(batches):
        tensors = [batch["x"], batch["pair"].x, batch["pair"].y[0]]
        assert type(batch["pair"]) is Pair and batch["pair"].y[1] == ("s", "s")
        assert all(x.is_pinned() for x in tensors)
        assert batch["x"].to("cuda", non_blocking=True)[:, 0].tolist() == [2.0 * position, 2.0 * position + 1]


@on_gpus
def test_datasets_on_the_gpu():
    """Batches of tensors on a GPU are there; indices out of range are told by the host."""
    rows = TensorDataset(nbgrad.arange(12.0, device="cuda").reshape(6, 2), nbgrad.arange(6))
    found = list(DataLoader(rows, batch_size=4))
    assert [x.is_cuda for x, _ in found] == [True, True]
    assert [x.tolist() for x, _ in found] == [[[0, 1], [2, 3], [4, 5], [6, 7]], [[8, 9], [10, 11]]]
    with pytest.raises(IndexError):
        list(DataLoader(rows, batch_size=1, sampler=[6]))
