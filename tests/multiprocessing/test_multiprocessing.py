"""Tensors that several processes see."""

from __future__ import annotations

import time

import pytest

import nbgrad
import nbgrad.multiprocessing as mp
from nbgrad import nn
from nbgrad.base.errors import InplaceError, RangeError

pytestmark = pytest.mark.forks


def test_sharing_moves_all_that_has_the_storage():
    """Views, detached tensors and a compiled function go on with the shared memory; nothing is copied the second time."""
    x = nbgrad.arange(4.0)
    view, detached, call = x[1:], x.detach(), nbgrad.compile(lambda: x * 2)
    call()
    assert not x.is_shared() and x.share_memory_() is x and view.is_shared() and detached.is_shared()
    place = x.data_ptr()
    x.share_memory_()
    view[0] = 7
    assert x.data_ptr() == place and detached.tolist() == [0.0, 7.0, 2.0, 3.0] and call().tolist() == [0.0, 14.0, 4.0, 6.0]
    for empty in (nbgrad.empty(0), nbgrad.ones(2, dtype=nbgrad.bfloat16)):
        assert empty.share_memory_().is_shared()


def test_a_saved_tensor_that_moved_is_found_out():
    """A write by another process is not counted, so that moving a saved tensor ends the graph."""
    x = nbgrad.ones(2, requires_grad=True)
    y = x * x
    x.detach().share_memory_()
    with pytest.raises(nbgrad.VersionError):
        y.sum().backward()


def train(model, queue, received):
    """Steps on the shared parameters; what is sent is shared, too."""
    optimizer = nbgrad.optim.SGD(model.parameters(), lr=0.25)
    for _ in range(3):
        optimizer.zero_grad()
        model(nbgrad.ones(1, 2)).sum().backward()
        optimizer.step()
    queue.put(model.weight.detach())
    received.wait(60)


def test_forks_train_shared_parameters():
    """Steps of another process show here, and a tensor from a queue is the memory that was sent."""
    model = nn.Linear(2, 1).share_memory()
    before, context = model.weight.detach().clone(), mp.get_context("fork")
    queue, received = context.SimpleQueue(), context.Event()
    worker = context.Process(target=train, args=(model, queue, received))
    worker.start()
    sent = queue.get()
    received.set()
    worker.join()
    assert worker.exitcode == 0 and nbgrad.equal(model.weight, before - 0.75)
    with nbgrad.no_grad():
        model.weight.fill_(5.0)
    assert sent.tolist() == [[5.0, 5.0]]


def write(index, x, bias):
    """What a process does."""
    assert bias.requires_grad and type(bias) is nn.Parameter
    x[index] = index + 1


@pytest.mark.slow
def test_spawned_processes_see_arguments():
    """Views of one storage arrive as such."""
    x = nbgrad.zeros(2, 2)
    mp.spawn(write, (x[0], nn.Parameter(nbgrad.ones(1))), nprocs=2)
    assert x.tolist() == [[1.0, 2.0], [0.0, 0.0]] and x.is_shared()


def test_processes_tell_of_errors():
    """The traceback of the first that fails comes back, or how it ended, which ends the others."""
    x = nbgrad.zeros(2, 2).share_memory_()
    assert mp.start_processes(write, (x[0], nn.Parameter(nbgrad.ones(1))), nprocs=2, start_method="fork") is None
    assert x.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    with pytest.raises(mp.ProcessRaisedException, match="process 0 raised:(?s:.)*AttributeError") as caught:
        mp.start_processes(write, (x[0], None), start_method="fork")
    assert caught.value.error_index == 0
    with pytest.raises(mp.ProcessExitedException, match="process 0 ended with code 3") as caught:
        mp.start_processes(leave, nprocs=2, start_method="fork")
    assert caught.value.exit_code == 3
    waiting = mp.start_processes(leave, (60,), join=False, start_method="fork")
    assert not waiting.join(0.01) and waiting.pids()
    waiting.processes[0].kill()
    with pytest.raises(mp.ProcessExitedException, match="was ended by signal SIGKILL"):
        waiting.join()


def leave(index, seconds=0):
    """The first ends with a code, others wait."""
    time.sleep(60 if index else seconds)
    raise SystemExit(3)


def test_errors():
    """Read-only memory stays where it is; strategies are torch's."""
    array = nbgrad.ones(2).numpy()
    array.flags.writeable = False
    with pytest.raises(InplaceError, match="share_memory_: the tensor shares read-only memory"):
        nbgrad.from_numpy(array).share_memory_()
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(RangeError, match="set_sharing_strategy"):
        mp.set_sharing_strategy("pigeons")
