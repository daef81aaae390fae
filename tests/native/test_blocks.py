"""The allocator of large blocks: what is kept, what goes back, and that no other array sees it."""

from __future__ import annotations

import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.native.blocks import blocks
from nbgrad.native.memory import LEAST, PATIENCE

pytestmark = pytest.mark.skipif(blocks() is None, reason="no allocator on this system, or NBGRAD_NATIVE=0")


@pytest.fixture
def allocator():
    """The allocator with nothing kept."""
    found = blocks()
    found.release()
    yield found
    found.release()


def handler_of(array: np.ndarray) -> str:
    """The name of what allocated an array."""
    return np._core.multiarray.get_handler_name(array)


def test_a_freed_block_is_taken_by_the_next_request_of_its_size(allocator):
    """The same address comes back, and nothing is mapped for it."""
    first = allocator.make(np.empty, LEAST, np.uint8)
    address, mapped = first.ctypes.data, allocator.mapped
    del first
    assert allocator.kept >= LEAST and allocator.mapped == mapped
    again = allocator.make(np.empty, LEAST, np.uint8)
    assert again.ctypes.data == address and allocator.mapped == mapped and allocator.kept == 0


def test_the_block_freed_last_is_taken_first(allocator):
    """It is the one that is likely to be in the cache."""
    one, two = (allocator.make(np.empty, LEAST, np.uint8) for _ in range(2))
    addresses = one.ctypes.data, two.ctypes.data
    del one
    del two
    assert allocator.make(np.empty, LEAST, np.uint8).ctypes.data == addresses[1]


def test_what_is_kept_is_bounded(allocator):
    """More than the limit is never kept, however much is freed, and a block above it is not kept at all."""
    arrays = [allocator.make(np.empty, 3 * LEAST + LEAST * k // 4, np.uint8) for k in range(300)]
    assert sum(array.nbytes for array in arrays) > config.KEPT_MEMORY
    arrays.clear()
    assert 0 < allocator.kept <= config.KEPT_MEMORY
    kept = allocator.kept
    allocator.make(np.empty, config.KEPT_MEMORY + 1, np.uint8)
    assert allocator.kept == kept


def test_release_gives_everything_back(allocator):
    """It returns how much that was."""
    before = allocator.mapped
    allocator.make(np.empty, 5 * LEAST, np.uint8)
    kept = allocator.kept
    assert kept >= 5 * LEAST and allocator.release() == kept
    assert allocator.kept == 0 and allocator.mapped == before


@pytest.mark.usefixtures("allocator")
def test_release_memory_says_how_much_it_gives_back():
    """At least the tensor that is gone; nothing the second time."""
    x = nbgrad.ones(1000, 1000) + 1
    del x
    assert nbgrad.release_memory() >= 4_000_000 and nbgrad.release_memory() == 0


def test_a_block_that_nobody_takes_goes_back(allocator):
    """After ``PATIENCE`` requests for other sizes, when the next block is freed."""
    allocator.make(np.empty, 7 * LEAST, np.uint8)
    for _ in range(PATIENCE + 2):
        allocator.make(np.empty, LEAST, np.uint8)
    assert LEAST <= allocator.kept < 7 * LEAST


def test_zeros_are_zeros_in_a_block_that_was_used(allocator):
    """A fresh block is zero by itself, a used one is cleared."""
    for _ in range(2):
        array = allocator.make(np.zeros, LEAST, np.uint8)
        assert not array.any()
        array[:] = 7
        del array
    assert allocator.kept


@pytest.mark.parametrize("sizes", [(10, 3 * LEAST), (3 * LEAST, 10), (3 * LEAST, 9 * LEAST), (10, 20)])
def test_resizing_keeps_the_elements(allocator, sizes):
    """From ``malloc`` to a block and back, and between blocks."""
    array = allocator.make(np.arange, sizes[0], dtype=np.int64)
    expected = np.zeros(sizes[1], np.int64)
    expected[: min(sizes)] = np.arange(min(sizes))
    array.resize(sizes[1], refcheck=False)
    np.testing.assert_array_equal(array, expected)


def test_neighbours_begin_at_different_places_in_a_page(allocator):
    """So that loads do not wait for stores to the same place in another page; always whole cache lines."""
    arrays = [allocator.make(np.empty, LEAST, np.uint8) for _ in range(4)]
    places = {array.ctypes.data % 4096 for array in arrays}
    assert len(places) == 4 and all(place % 64 == 0 for place in places)


def test_too_much_is_an_error_that_numpy_knows(allocator):
    """The allocator keeps working after it."""
    with pytest.raises(MemoryError):
        allocator.make(np.empty, 1 << 46, np.uint8)
    assert allocator.make(np.zeros, LEAST, np.uint8).sum() == 0


def test_only_large_arrays_of_tensors_are_in_blocks():
    """Arrays that the program makes itself, before and after, are NumPy's, and so are small tensors'."""
    x = nbgrad.ones(300, 300)
    large, small = (x + x)._storage_.array, (x[0] + x[0])._storage_.array
    copied = nbgrad.tensor(np.ones(90_000))._storage_.array
    assert handler_of(large) == handler_of(x._storage_.array) == handler_of(copied) == "nbgrad"
    assert large.flags.owndata and large.base is None
    assert handler_of(small) == handler_of(np.empty(90_000)) == np._core.multiarray.get_handler_name() == "default_allocator"


def test_a_tensor_in_a_block_can_grow():
    """``resize_`` moves to another block and keeps the elements."""
    x = nbgrad.arange(100_000)
    x.resize_(200_000)
    np.testing.assert_array_equal(x.numpy()[:100_000], np.arange(100_000))


def test_threads_do_not_get_each_others_blocks():
    """Each writes its number all over its arrays, and finds nothing else there."""

    def work(number, wrong):
        for _ in range(30):
            arrays = [nbgrad.full((70_000 + 1000 * k,), float(number)) * 1.0 for k in range(4)]
            wrong[number] |= any((x.numpy() != number).any() for x in arrays)

    wrong = [False] * 4
    threads = [threading.Thread(target=work, args=(k, wrong)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 4


AT_THE_END = """
import os, numpy as np, nbgrad
kept_alive = nbgrad.ones(500, 500) + 1
as_array = kept_alive.numpy()
child = os.fork()
if not child:
    more = [nbgrad.ones(500, 500) * k for k in range(5)]
    os._exit(0 if as_array.sum() == 500_000 and more[4].sum().item() == 1_000_000 else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_arrays_may_outlive_the_interpreter():
    """They are freed by code that is never unloaded; a forked child has blocks of its own."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", AT_THE_END], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


TEMPORARIES = """
import resource, nbgrad
loc, scale = nbgrad.zeros(10, requires_grad=True), nbgrad.ones(10, requires_grad=True)
density, x = nbgrad.distributions.Normal(loc, scale), nbgrad.zeros(5000, 10)
for round in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        density.log_prob(x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 20)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of this C library alone")
def test_pages_of_temporaries_below_blocks_are_kept():
    """Arrays of 200 KB that are freed together are no fresh pages for the next call, which had 160 of them."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", TEMPORARIES], capture_output=True, text=True, timeout=100)
    assert int(done.stdout) < 20, done.stderr


def test_the_limit_can_be_nothing(allocator):
    """Then every block goes back at once."""
    limit, allocator.limit = allocator.limit, 0
    try:
        allocator.make(np.empty, LEAST, np.uint8)
        assert allocator.kept == 0
    finally:
        allocator.limit = limit
