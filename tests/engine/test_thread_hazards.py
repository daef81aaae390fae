"""Hazards between threads: modes that others open and close, leaves and graphs that are shared, locks at a fork."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from typing import Callable, Iterator

import pytest

import nbgrad
from nbgrad import forward_ad, grad_mode
from nbgrad.accumulate import LOCKS
from nbgrad.base import locks
from nbgrad.forward import call_texts, tangents

F64 = nbgrad.float64


@pytest.fixture(autouse=True)
def eager_switches():
    """Let threads take turns every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(count: int, body: Callable[[int], None]) -> None:
    """Run ``body(number)`` in several threads at once; raise the first error."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            body(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@contextmanager
def in_background(body: Callable[[], None]) -> Iterator[None]:
    """Repeat ``body`` in another thread for the length of the block."""
    done = threading.Event()

    def repeat() -> None:
        while not done.is_set():
            body()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# ---- modes of others -------------------------------------------------------------------------------------------------


def dual() -> None:
    """A product in forward mode."""
    with forward_ad.dual_level():
        forward_ad.make_dual(nbgrad.ones(3), nbgrad.ones(3)) * 2


def inferred() -> None:
    """A product in inference mode."""
    with nbgrad.inference_mode():
        nbgrad.ones(2) * 2


def profiled() -> None:
    """A profile of a product."""
    with nbgrad.profile():
        nbgrad.ones(2) * 2


def hooked() -> None:
    """A product whose saved tensors are packed."""
    with nbgrad.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        nbgrad.ones(2, requires_grad=True) * nbgrad.ones(2)


def mapped() -> None:
    """A product of a batch."""
    nbgrad.vmap(lambda x: x * x)(nbgrad.ones(3, 2))


@pytest.mark.parametrize("mode", [dual, inferred, profiled, hooked, mapped], ids=lambda mode: mode.__name__)
def test_mode_of_another_thread_is_not_noticed(mode):
    """Operations of every kind, recorded and walked while another thread enters and leaves a mode all the time."""
    end = time.perf_counter() + 0.3
    with in_background(mode):
        while time.perf_counter() < end:
            x = nbgrad.ones(4, 4, dtype=F64, requires_grad=True)
            part = x * 1
            part[0].mul_(2.0)
            (part.sum(1).clamp(0, 100) @ nbgrad.ones(4, dtype=F64) + nbgrad.cat([x, x]).max()).backward()
            assert x.grad.sum().item() == 4 * 2 + 12 + 1


# ---- shared leaves and graphs ----------------------------------------------------------------------------------------


def accumulators_seen(results: list) -> list:
    """What a thread for each result finds behind it, all of them at the same time."""
    found: list = []
    ready = threading.Barrier(len(results))

    def look(k: int) -> None:
        ready.wait()
        found.append(results[k].grad_fn.next_functions[0][0])

    in_threads(len(results), look)
    return found


def test_accumulator_is_one_for_all_threads():
    """Threads that look at a leaf's AccumulateGrad at the same time see the same node."""
    for _ in range(50):
        x = nbgrad.ones(2, requires_grad=True)
        found = accumulators_seen([x * k for k in range(1, 5)])
        assert len(set(map(id, found))) == 1


def test_hooks_come_and_go_while_others_accumulate():
    """Hooks registered and removed by several threads on a leaf into which all accumulate lose no gradient."""
    x = nbgrad.zeros(3, dtype=F64, requires_grad=True)

    def train(_: int) -> None:
        for _ in range(40):
            handles = x.register_hook(lambda g: g), x.register_post_accumulate_grad_hook(lambda leaf: None)
            (x * 2).sum().backward()
            for handle in handles:
                handle.remove()

    in_threads(4, train)
    assert x.grad.tolist() == [320.0] * 3


def together(*bodies: Callable[[], object]) -> None:
    """Run each in a thread of its own, begun at the same time."""
    ready = threading.Barrier(len(bodies))
    in_threads(len(bodies), lambda k: (ready.wait(), bodies[k]()))


def test_what_is_made_once_is_one_for_all_threads():
    """Threads that are all about to make it get the same one."""
    found, owner, late = [], nbgrad.ones(2), threading.Barrier(3)
    owner.made = None

    def make() -> list:
        late.wait()  # until every thread has seen that there is none
        return []

    in_threads(3, lambda k: found.append(locks.made_once(owner, "made", make)))
    assert len(found) == 3 and len(set(map(id, found))) == 1 and owner.made is found[0]


def test_what_is_cached_once_is_never_made_twice():
    """Threads that ask while another one makes it wait for that: memory whose address is kept would else be freed under one."""
    made = []

    @locks.cached_once
    def make(key):
        time.sleep(0.01)
        made.append(key)
        return object()

    found = []
    in_threads(3, lambda k: found.append(make(1)))
    assert made == [1] and len(set(map(id, found))) == 1 and make(2) is not found[0]


def test_first_gradients_and_hooks_of_a_leaf_at_the_same_time():
    """What a leaf keeps is made once: neither a gradient nor a hook is lost where threads need it for the first time."""
    for _ in range(60):
        x, log = nbgrad.zeros(3, dtype=F64, requires_grad=True), []
        first, second = (x * 2).sum(), (x * 3).sum()
        together(
            first.backward,
            lambda x=x, log=log: (
                x.register_hook(lambda g: log.append(1)),
                x.register_post_accumulate_grad_hook(lambda leaf: log.append(2)),
            ),
            second.backward,
        )
        assert x.grad.tolist() == [5.0] * 3
        log.clear()
        x.sum().backward()
        assert log == [1, 2]


@pytest.mark.parametrize("register", ["register_hook", "retain_grad", "node"])
def test_first_hooks_of_a_result_at_the_same_time(register):
    """The same of what a node has: hooks of its result and of itself, and the gradient that the result keeps."""
    for _ in range(60):
        y, log = nbgrad.ones(2, requires_grad=True) * 2, []
        body = {
            "register_hook": lambda y=y, log=log: y.register_hook(lambda g: log.append(1)),
            "retain_grad": y.retain_grad,
            "node": lambda y=y, log=log: y.grad_fn.register_hook(lambda grads, gs: log.append(1)),
        }[register]
        together(body, body, y.retain_grad)
        y.sum().backward()
        assert y.grad.tolist() == [1.0, 1.0] and len(log) == (0 if register == "retain_grad" else 2)


def test_walk_from_within_a_hook_of_a_leaf():
    """Post-accumulate hooks that walk into other leaves, in threads that meet these in opposite orders, end."""
    leaves = [nbgrad.ones(2, requires_grad=True) for _ in range(70)]  # more than there are locks

    def walk(leaf) -> None:
        with nbgrad.enable_grad():
            (leaves[0] * 2).sum().backward()

    for leaf in leaves[1:]:
        leaf.register_post_accumulate_grad_hook(walk)
    in_threads(3, lambda k: nbgrad.stack(leaves if k % 2 else leaves[::-1]).sum().backward())
    assert leaves[0].grad.tolist() == [3 * (1 + 2 * 69)] * 2 and leaves[1].grad.tolist() == [3.0, 3.0]


# ---- forks -----------------------------------------------------------------------------------------------------------


def exit_status_of_child(body: Callable[[], None]) -> int:
    """Run ``body`` in a forked child, which has ten seconds; 0 if it returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer interpreters warn of forks with threads
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        try:
            body()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_locks_are_open_in_a_forked_child():
    """A child draws numbers and accumulates although another thread held every lock when it was forked."""
    x = nbgrad.ones(3, requires_grad=True)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        every = [*tuple(locks._locks)]
        for lock in every:
            lock.acquire()
        held.set()
        done.wait()
        for lock in every:
            lock.release()

    def work() -> None:
        nbgrad.rand(3)
        (x * 2).sum().backward()
        with nbgrad.inference_mode():
            nbgrad.func.jvp(lambda y: y * y, (nbgrad.ones(3),), (nbgrad.ones(3),))
        (x * 2).grad_fn.next_functions[0][0].name()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert exit_status_of_child(work) == 0
    finally:
        done.set()
        thread.join()
    assert len(LOCKS) <= len(locks._locks)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_threads_compute():
    """Children of a process whose threads record, walk and draw can do all of that."""
    x = nbgrad.ones(50_000, requires_grad=True)

    def busy() -> None:
        nbgrad.rand(50_000)
        (x * 2).exp().sum().backward()

    def work() -> None:
        y = nbgrad.rand(50_000).requires_grad_()
        (y * 2).exp().sum().backward()

    with in_background(busy), in_background(busy):
        assert [exit_status_of_child(work) for _ in range(10)] == [0] * 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_a_thread_imports(tmp_path, monkeypatch):
    """A fork waits for an import under way in another thread, so that the child finds the module whole and its lock open."""
    (tmp_path / "half_imported.py").write_text("import time\ntime.sleep(0.3)\nvalue = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(locks, "PACKAGES", locks.PACKAGES | {"half_imported"})
    thread = threading.Thread(target=importlib.import_module, args=("half_imported",))
    thread.start()
    while "half_imported" not in sys.modules:
        time.sleep(0.001)

    def use() -> None:
        assert importlib.import_module("half_imported").value == 1

    assert exit_status_of_child(use) == 0
    thread.join()
    del sys.modules["half_imported"]


def test_levels_of_other_threads_hide_no_tangent():
    """Forward derivatives are what they are alone while other threads open and close levels of theirs."""
    x = nbgrad.tensor([0.5, 1.0], dtype=F64)
    want = x.cos().tolist(), (-x.sin()).diag().tolist()

    def derive(number: int) -> None:
        for _ in range(60):
            assert nbgrad.func.jacfwd(lambda x: x[:].sin().sum())(x).tolist() == want[0]
            assert nbgrad.func.jacfwd(nbgrad.func.jacfwd(lambda x: x.sin().sum()))(x).tolist() == want[1]

    in_threads(4, derive)


def test_a_level_that_closes_during_a_call_hides_no_tangent():
    """A call that found another thread's level innermost sees tangents at its own, also when that level is gone by then."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(nbgrad.ones(2), nbgrad.ones(2))
        number = tangents.push_level()
        level = tangents.dual_levels[-1]
        tangents.pop_level(number)
        assert call_texts.sole_tangent(x, level) is call_texts.MANY


def test_half_a_change_of_levels_is_no_absence_of_other_modes(monkeypatch):
    """At no moment are there only as many special modes as levels while another mode is on: quick calls rely on it."""

    class Watched(list):
        def append(self, level):
            super().append(level)
            assert len(grad_mode.special) > len(self)

        def remove(self, level):
            super().remove(level)
            assert len(grad_mode.special) > len(self)

    monkeypatch.setattr(tangents, "dual_levels", Watched())
    with nbgrad.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        tangents.pop_level(tangents.push_level())
