"""Tensors whose memory is a file."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad


@pytest.fixture
def path(tmp_path):
    np.arange(6.0).tofile(tmp_path / "numbers")
    return tmp_path / "numbers"


def test_writes_reach_the_file_only_if_it_is_shared(path):
    x = nbgrad.from_file(str(path), size=4, dtype=nbgrad.float64)
    assert x.tolist() == [0, 1, 2, 3]
    x[0] = 9
    assert np.fromfile(path)[0] == 0 and x.sum() == 15
    y = nbgrad.from_file(path, True, 6, dtype=nbgrad.float64)
    y[0] = 9
    assert np.fromfile(path).tolist() == [9, 1, 2, 3, 4, 5]


def test_a_shared_file_is_made_and_made_longer(tmp_path, path):
    x = nbgrad.from_file(tmp_path / "new", True, 6)
    assert x.dtype is nbgrad.float32 and not x.any() and (tmp_path / "new").stat().st_size == 24
    assert nbgrad.from_file(path, shared=True, size=8, dtype=nbgrad.float64)[5:].tolist() == [5, 0, 0]


def test_gradients_and_empty_files(path):
    x = nbgrad.from_file(path, size=3, dtype=nbgrad.float64, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [0, 2, 4]
    assert nbgrad.from_file(path).shape == (0,)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda path: nbgrad.from_file(path, size=60), "48 bytes"),
        (lambda path: nbgrad.from_file(path.parent / "none", size=3), "cannot be read"),
        (lambda path: nbgrad.from_file(path.parent, True, 3), "cannot be read"),
        (lambda path: nbgrad.from_file(path, size=-1), "from 0"),
        (lambda path: nbgrad.from_file(path, size=1, pin_memory=True), "pinned memory"),
        (lambda path: nbgrad.from_file(path, size=1, device="cuda"), "part of cuda"),
    ],
)
def test_what_is_refused(path, call, message):
    with pytest.raises(nbgrad.NbgradError, match=message):
        call(path)


def test_memory_that_is_a_file(tmp_path):
    """Its slices are memory, too, which NumPy and tensors read and write in place; a file that is too short is refused."""
    (tmp_path / "bytes").write_bytes(bytes(range(8)))
    memory = nbgrad.UntypedStorage.from_file(str(tmp_path / "bytes"), False, 8)
    x = nbgrad.asarray(memory[2:6], dtype=nbgrad.uint8)
    x[0] = 99
    assert memory.untyped() is memory and memory[2:6].nbytes() == 4
    assert memory.tolist() == [0, 1, 99, 3, 4, 5, 6, 7] and np.asarray(memory[6:]).tolist() == [6, 7]
    with pytest.raises(nbgrad.FileError, match="has 8 bytes"):
        nbgrad.UntypedStorage.from_file(str(tmp_path / "bytes"), nbytes=9)
