"""Loading by processes: what they give, how their errors and deaths are told, that nothing of them is left."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import numpy as np
import pytest

import nbgrad
from nbgrad.utils import data
from nbgrad.utils.data import Dataset, IterableDataset, TensorDataset, get_worker_info
from tests.data.test_datasets import Count, Squares

pytestmark = [
    pytest.mark.forks,
    pytest.mark.filterwarnings("ignore:DataLoader. . worker processes:UserWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
]
ROOT = Path(__file__).parents[2]


def DataLoader(dataset, **options):
    """A loader whose workers are forked, which is quick, where a test does not say how."""
    if options.get("num_workers"):
        options = {"multiprocessing_context": "fork", **options}
    return data.DataLoader(dataset, **options)


@pytest.fixture(autouse=True, scope="module")
def tracker():
    """Python starts processes of its own with the first one that is not forked, and keeps them."""
    resource_tracker.ensure_running()
    if multiprocessing.get_context().get_start_method() == "forkserver":
        forkserver.ensure_running()


@pytest.fixture(autouse=True)
def nothing_left(tracker):
    """Processes, descriptors and named memory are what they were."""
    before = what_is_there()
    yield
    assert what_is_there() == before


def what_is_there():
    """Processes of loaders, how many descriptors, names of shared memory."""
    gc.collect()
    files = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    names = os.listdir("/dev/shm") if os.path.exists("/dev/shm") else []
    return workers_alive(), files, [name for name in names if name.startswith(("nbgrad", "psm_"))]


class Samples(Dataset):
    """A small and a large tensor, an array, a number and a string; the large one goes through shared memory."""

    def __len__(self):
        return 11

    def __getitem__(self, index):
        return {
            "large": nbgrad.full((3000,), float(index)),
            "half": nbgrad.full((2,), index, dtype=nbgrad.bfloat16),
            "array": np.full((2, 1500), index),
            "n": index,
            "s": str(index),
        }


class Does(Dataset):
    """Does something at index 3."""

    def __init__(self, what):
        self.what = what

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 3:
            self.what()
        return index


class Two(Exception):
    """An error that needs two arguments."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def raise_value():
    raise ValueError("three is bad")


def raise_key():
    raise KeyError("three")


def raise_two():
    raise Two("three", "four")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    sys.exit(7)


def sleep_long():
    time.sleep(2)


def lists(loader):
    """The batches as lists."""
    return [batch.tolist() for batch in loader]


def same(one, other):
    """Whether two batches of ``Samples`` are equal."""
    tensors = [key for key in one if isinstance(one[key], nbgrad.Tensor)]
    return (
        one.keys() == other.keys()
        and len(tensors) == 4
        and all(nbgrad.equal(one[key], other[key]) and one[key].dtype is other[key].dtype for key in tensors)
        and one["s"] == other["s"]
    )


# ---- what they give --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "workers, options",
    [
        (1, {}),
        (2, {"prefetch_factor": 5, "timeout": 30}),
        *(
            pytest.param(workers, options, marks=pytest.mark.slow)
            for workers, options in ((2, {}), (1, {"prefetch_factor": 5}), (1, {"persistent_workers": True}), (1, {"timeout": 30}))
        ),
    ],
)
def test_batches_are_those_of_one_process(workers, options):
    """In the same order, with the same contents and dtypes, pass after pass, and they may be written to."""
    expected = list(DataLoader(Samples(), batch_size=3))
    loader = DataLoader(Samples(), batch_size=3, num_workers=workers, **options)
    assert len(loader) == 4
    for _ in range(2):
        found = list(loader)
        assert all(map(same, found, expected)) and len(found) == len(expected)
        found[0]["large"].add_(1.0)
    del loader


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_start_methods(method):
    """By name, and by a context."""
    for context in (method, multiprocessing.get_context(method), None):
        assert lists(DataLoader(Squares(), batch_size=5, num_workers=1, multiprocessing_context=context)) == [
            [0, 1, 4, 9, 16],
            [25, 36, 49, 64, 81],
        ]
        if method == "spawn":
            break


def test_the_order_is_that_of_one_process():
    """The same seed shuffles alike with and without workers."""
    found = []
    for workers in (0, 2):
        nbgrad.manual_seed(5)
        loader = DataLoader(Squares(), batch_size=3, shuffle=True, num_workers=workers)
        found.append([lists(loader), lists(loader)])
    assert found[0] == found[1]


def test_any_order():
    """With ``in_order=False`` all batches come, whichever is ready."""
    loader = DataLoader(Squares(), batch_size=2, num_workers=2, in_order=False)
    assert sorted(sum(lists(loader), [])) == [i * i for i in range(10)]


def test_single_samples_and_other_collations():
    """Without batches, and with a function that gives what it likes."""
    assert list(DataLoader(Squares(), batch_size=None, num_workers=2)) == [i * i for i in range(10)]
    assert list(DataLoader(Squares(), batch_size=5, num_workers=2, collate_fn=sum)) == [30, 255]
    rows = TensorDataset(nbgrad.randn(5, 4000))
    for (row,), i in zip(DataLoader(rows, batch_size=None, num_workers=1), range(5), strict=True):
        assert nbgrad.equal(row, rows.tensors[0][i])
        assert row.untyped_storage().nbytes() == 16_000  # not the whole tensor of which it is a row


class Share(IterableDataset):
    """Each worker gives its share of the numbers."""

    def __iter__(self):
        info = get_worker_info()
        return iter(range(9)) if info is None else iter(range(info.id, 9, info.num_workers))


def test_streams():
    """Each worker has a copy, which ends by itself; those of shares of it are all of it, in turns."""
    assert lists(DataLoader(Count(3), batch_size=2, num_workers=2)) == [[0, 1], [0, 1], [2], [2]]
    assert list(DataLoader(Share(), batch_size=None, num_workers=2)) == list(range(9))
    loader = DataLoader(Share(), batch_size=2, num_workers=2, persistent_workers=True)
    expected = [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    assert [lists(loader), lists(loader)] == [expected] * 2
    del loader


class Numbers(Dataset):
    """What a worker knows of itself, and draws."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        drawn = (random.random(), float(np.random.rand()), float(nbgrad.rand(())))
        return info.id, info.num_workers, info.seed, len(info.dataset), nbgrad.get_num_threads(), *drawn


def test_workers_know_themselves_and_draw_numbers_of_their_own():
    """Seeds count from one that the loader's generator draws; numbers differ between workers, and repeat with the generator."""
    assert get_worker_info() is None

    def known():
        generator = nbgrad.Generator().manual_seed(2)
        return list(DataLoader(Numbers(), batch_size=None, num_workers=2, generator=generator))

    found = known()
    assert [sample[:2] + sample[3:5] for sample in found] == [[0, 2, 4, 1], [1, 2, 4, 1]] * 2
    assert found[1][2] == found[0][2] + 1 and found[2][2] == found[0][2]
    for position in (5, 6, 7):
        assert len({sample[position] for sample in found}) == 4
    assert known() == found


def change(number):
    """Of each worker: its copy of the dataset counts from elsewhere."""
    get_worker_info().dataset.limit = number + 1


def test_worker_init_fn():
    """It runs in each worker before it loads, and may change the worker's dataset."""
    dataset = Count(9)
    assert lists(DataLoader(dataset, num_workers=2, worker_init_fn=change)) == [[0], [0], [1]]
    assert dataset.limit == 9


def test_persistent_workers_stay_and_others_do_not():
    """The processes of a second pass are those of the first, also if that was given up in the middle."""
    for persistent in (True, False):
        loader = DataLoader(Pids(), batch_size=None, num_workers=2, persistent_workers=persistent)
        first = {next(iter(loader)) for _ in range(2)} | set(loader)
        assert (len(first) == 2) is persistent
        assert (len(first | set(loader)) == 2) is persistent
    del loader


class Pids(Dataset):
    """In which process a sample was loaded."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return os.getpid()


def test_given_up_passes_are_not_given_to_the_next():
    """A pass of persistent workers begins at its beginning."""
    loader = DataLoader(Squares(), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(3):
        for batch in loader:
            assert batch.tolist() == [0, 1]
            break
    assert lists(loader) == lists(DataLoader(Squares(), batch_size=2))
    del loader


def test_loaders_inside_of_loaders():
    """Passes that are open at once, of one loader or of several, know nothing of each other; they end quickly all the same."""
    loader, pairs = DataLoader(Squares(), batch_size=5, num_workers=1), []
    for outer in loader:
        for inner in DataLoader(Squares(), batch_size=5, num_workers=1):
            pairs.append((outer.tolist()[0], inner.tolist()[0]))
    assert pairs == [(0, 0), (0, 25), (25, 0), (25, 25)]
    first, second = iter(loader), iter(loader)
    processes = [worker.process for worker in first._workers]
    next(first), next(second)
    del first
    assert not any(process.is_alive() for process in processes)  # though the second's have copies of their pipes
    assert lists(second) == [[25, 36, 49, 64, 81]]


class Loads(Dataset):
    """Loads with workers of its own."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return list(data.DataLoader(Squares(), num_workers=1))


def test_workers_have_no_workers():
    """Which is told, in the program."""
    with pytest.raises(NotImplementedError, match="a worker of a loader can have no workers"):
        list(DataLoader(Loads(), num_workers=1))


def test_large_indices_and_batches_block_nobody():
    """More than any pipe holds, in both directions at once."""
    indices = [list(range(10)) * 3000 for _ in range(8)]
    loader = DataLoader(Squares(), batch_sampler=indices, num_workers=1, prefetch_factor=8, collate_fn=str)
    assert [len(text) for text in loader] == [len(str([i * i for i in indices[0]]))] * 8


# ---- errors, deaths, ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what, error, text",
    [
        (raise_value, ValueError, "three is bad"),
        (raise_key, KeyError, r"worker 1 has raised KeyError, there:\n\nTraceback"),
        (raise_two, nbgrad.NbgradError, "worker 1 has raised Two"),
    ],
)
def test_errors_of_workers(what, error, text):
    """An error has its type, where that can be made of a text, and the worker's traceback; the other batches are given."""
    iterator = iter(DataLoader(Does(what), batch_size=2, num_workers=2))
    assert next(iterator).tolist() == [0, 1]
    with pytest.raises(error, match=text) as raised:
        next(iterator)
    assert what.__name__ in str(raised.value) and "test_workers.py" in str(raised.value)
    assert lists(iterator) == [[4, 5], [6, 7]]


def cannot(number):
    """A preparation that fails."""
    raise ValueError("not prepared")


def test_errors_of_preparations_and_of_what_cannot_be_sent():
    """They are the program's errors too."""
    with pytest.raises(ValueError, match="not prepared"):
        list(DataLoader(Squares(), num_workers=2, worker_init_fn=cannot))
    with pytest.raises(Exception, match="pickle|local object"):
        list(DataLoader(Squares(), num_workers=1, collate_fn=lambda batch: lambda: batch))
    with pytest.raises(Exception, match="pickle|local object"):
        list(DataLoader(Squares(), num_workers=1, collate_fn=lambda x: x, multiprocessing_context="spawn"))


@pytest.mark.parametrize("what, text", [(die, r"killed by signal 9 \(SIGKILL\)"), (leave, "status 7")])
def test_workers_that_end(what, text):
    """A worker that is killed, or leaves, is an error that tells how; batches that it has sent are given before."""
    loader = DataLoader(Does(what), batch_size=1, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    with pytest.raises(RuntimeError, match=f"worker 1 .*{text}"):
        list(iterator)
    with pytest.raises(RuntimeError, match="have ended"):
        next(iterator)
    with pytest.raises(RuntimeError, match=text):
        list(loader)  # by new workers
    del loader, iterator


def test_timeout():
    """A worker that takes too long is an error, and is ended."""
    loader = DataLoader(Does(sleep_long), batch_size=3, sampler=[3, 3, 3], num_workers=1, timeout=0.3)
    with pytest.raises(RuntimeError, match="no batch for 0.3 seconds"):
        list(loader)


def test_breaks_end_the_workers():
    """A loop that is left, a pass that is never begun, an error in the loop's body."""
    for batch in DataLoader(Squares(), num_workers=2):
        assert batch.tolist() == [0]
        break
    assert not workers_alive()
    iter(DataLoader(Squares(), num_workers=2))
    assert not workers_alive()
    try:
        for _ in DataLoader(Squares(), num_workers=2):
            raise ValueError
    except ValueError:
        pass
    assert not workers_alive()


def workers_alive():
    """The processes of loaders."""
    return [each for each in multiprocessing.active_children() if each.name.startswith("DataLoader")]


def test_loading_in_a_thread():
    """A pass may run in a thread of its own, while the program loads too."""
    found = []
    thread = threading.Thread(target=lambda: found.append(lists(DataLoader(Squares(), batch_size=5, num_workers=1))))
    thread.start()
    mine = lists(DataLoader(Squares(), batch_size=5, num_workers=1))
    thread.join()
    assert found == [mine]


# Ctrl-C is an error of Python's whatever the test was started by: a shell's background jobs begin without it.
PROGRAM = """
import os, signal, sys, time
from nbgrad.utils.data import DataLoader, Dataset

signal.signal(signal.SIGINT, signal.default_int_handler)

class Slow(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        time.sleep(0.01)
        return os.getpid()

def main():
    try:
        for k, pids in enumerate(DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context="fork")):
            if k < 2:
                print(int(pids[0]), flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        time.sleep(0.2)
        sys.exit(3)

main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_programs_that_are_ended_end_their_workers(number):
    """Ctrl-C reaches the program alone, without a word of its workers; a program that is killed leaves none behind."""
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers = [int(program.stdout.readline()) for _ in range(2)]
    if number == signal.SIGINT:
        os.killpg(program.pid, number)  # as a terminal does
    else:
        program.send_signal(number)
    out, err = program.communicate(timeout=30)
    assert program.returncode == (3 if number == signal.SIGINT else -number)
    assert (out, err) == ("interrupted\n" if number == signal.SIGINT else "", "")
    until = time.monotonic() + 20
    while any(map(is_running, workers)):
        assert time.monotonic() < until, "workers are left"
        time.sleep(0.02)


def is_running(pid):
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
