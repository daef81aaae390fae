"""Loading: passes through a dataset of tensors, in one process; a checkpoint from a file."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from benchmarks.peers import both

RNG = np.random.default_rng(0)
ROWS = 1024
IMAGES, LABELS = RNG.normal(size=(ROWS, 64)).astype(np.float32), RNG.integers(0, 10, ROWS)


def pass_of(lib, size, shuffle):
    """A pass; its answer is the sum of the labels, which no order changes."""
    data = importlib.import_module(f"{lib.__name__}.utils.data")
    loader = data.DataLoader(data.TensorDataset(lib.tensor(IMAGES), lib.tensor(LABELS)), batch_size=size, shuffle=shuffle)

    def run():
        total = 0
        for _, labels in loader:
            total = labels.sum() + total
        return total

    return run


@pytest.mark.parametrize("size, shuffle", [(1, False), (32, True), (128, False), (128, True)])
def test_pass_through_a_dataset_of_tensors(compare, size, shuffle):
    """Batches of rows and labels."""
    order = "shuffled" if shuffle else "in order"
    compare(f"DataLoader of a TensorDataset, 1024 rows of 64, batch {size}, {order}", both(pass_of, size, shuffle), budget=0.5)


@pytest.mark.parametrize("mapped", [False, True])
def test_loading_a_checkpoint(compare, tmp_path, mapped):
    """A file of 100 MB that each library wrote itself, in the system's cache; mapped, it is read where the numbers are."""

    def loading(lib):
        path = tmp_path / f"{lib.__name__}.pt"
        lib.save({f"layer{k}": lib.ones(512, 512) for k in range(100)}, path)
        return lambda: lib.load(path, mmap=mapped, weights_only=True)["layer99"].sum()

    compare(f"load of 100 tensors of 1 MB{', mapped' if mapped else ''}", both(loading), budget=1.0)
