"""``nbgrad.futures``: results that another thread gives."""

from __future__ import annotations

import threading

import pytest

import nbgrad
from nbgrad import ArgumentError, NbgradError
from nbgrad.futures import Future, collect_all, wait_all


def test_a_result_of_another_thread():
    """``wait`` has it, and so have those who wait for what is made of it; there is one result."""
    future = Future()
    assert isinstance(future, nbgrad.Future[nbgrad.Tensor].__origin__) and not future.done()
    with pytest.raises(NbgradError, match="no value yet"):
        future.value()
    doubled = future.then(lambda done: 2 * done.value())
    thread = threading.Thread(target=lambda: future.set_result(nbgrad.ones(2)))
    thread.start()
    assert doubled.wait().tolist() == [2.0, 2.0] and future.done()
    thread.join()
    with pytest.raises(NbgradError, match="second time"):
        future.set_result(1)


def test_errors_are_raised_where_the_result_is_waited_for():
    """Those that are set, and those of callbacks."""
    future, seen = Future(), []
    after = future.then(lambda done: done.value())
    future.set_exception(ValueError("lost"))
    future.add_done_callback(lambda done: seen.append(done is future))
    assert seen == [True]
    for each in (future, after):
        with pytest.raises(ValueError, match="lost"):
            each.wait()
    with pytest.raises(ArgumentError, match="expected an exception, got str"):
        Future().set_exception("lost")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_all_of_several(count):
    """In the order in which they are given, whatever the order in which they are done."""
    futures = [Future() for _ in range(count)]
    together = collect_all(futures)
    assert together.done() is (count == 0)
    for value, future in reversed([*enumerate(futures)]):
        assert not together.done()
        future.set_result(value)
    assert together.wait() == futures and wait_all(futures) == [*range(count)]
