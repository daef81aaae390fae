"""Threads: several passes at once, over their own graphs, over one graph, and into one leaf."""

from __future__ import annotations

import threading

import pytest

import nbgrad
from tests.helpers import leaf

F64 = nbgrad.float64


def run_together(*functions):
    """Run each function in a thread of its own, all released at once; return results or exceptions in order."""
    results = [None] * len(functions)
    gate = threading.Barrier(len(functions))

    def run(i):
        gate.wait()
        try:
            results[i] = functions[i]()
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def check(results):
    """Raise the first exception among ``results``."""
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


class WhereAmI(nbgrad.Function):
    """Identity that notes the threads of forward and backward."""

    @staticmethod
    def forward(ctx, x, log):
        ctx.log = log
        log.append(threading.get_ident())
        return x * 1

    @staticmethod
    def backward(ctx, g):
        ctx.log.append(threading.get_ident())
        return g, None


@pytest.mark.parametrize("size", [1, 40_000], ids=["small", "large"])
def test_no_contribution_to_a_shared_leaf_is_lost(size):
    """Four threads that each walk graphs of their own over one leaf add up exactly."""
    x = nbgrad.ones(size, dtype=F64, requires_grad=True)

    def work():
        for _ in range(25):
            (x * 3).sum().backward()

    check(run_together(*[work] * 4))
    assert set(x.grad.tolist()) == {300.0}


def test_one_graph_walked_by_several_threads():
    """Threads may walk one retained graph at the same time, and their gradients add."""
    x = leaf([1.0, 2.0])
    y = (x * x).exp().sum()
    (once,) = nbgrad.grad(y, x, retain_graph=True)
    check(run_together(*[lambda: y.backward(retain_graph=True)] * 4))
    assert x.grad.tolist() == pytest.approx((4 * once).tolist(), rel=1e-14)


def test_grad_in_several_threads():
    """``grad`` gives each thread its own result and touches no ``.grad``."""
    x = leaf(3.0)
    results = check(run_together(*[lambda k=k: nbgrad.grad(x**k, x)[0].item() for k in range(1, 5)]))
    assert results == [1.0, 6.0, 27.0, 108.0] and x.grad is None


def test_graph_freed_by_another_thread():
    """Of two threads that each walk and free one graph, one at least succeeds; the other may only report it."""
    x = leaf([1.0, 2.0])
    y = (x * x).sin().sum()
    results = run_together(y.backward, y.backward)
    assert results.count(None) >= 1
    assert all(result is None or isinstance(result, RuntimeError) for result in results)


def test_cpu_pass_runs_in_the_calling_thread():
    """Hooks and backwards run in the thread that called ``backward``, wherever the graph was recorded."""
    log = []
    y = WhereAmI.apply(leaf(1.0), log)
    y.register_hook(lambda g: log.append(threading.get_ident()))

    def walk():
        y.backward()
        return threading.get_ident()

    (walker,) = check(run_together(walk))
    assert log == [threading.get_ident(), walker, walker]


def test_pass_restores_the_mode_of_its_thread():
    """A pass sets grad mode for itself and gives the thread's mode back."""
    x = leaf(2.0)

    def walk():
        y = x * x * x
        with nbgrad.no_grad():
            (g,) = nbgrad.grad(y, x, create_graph=True)
            return g.requires_grad, nbgrad.is_grad_enabled()

    assert check(run_together(walk, walk)) == [(True, False)] * 2


def test_exception_stays_in_its_thread():
    """A failing pass in one thread does not disturb another's."""
    x = leaf(2.0)
    bad = x * 5

    def fail(g):
        raise ZeroDivisionError

    bad.register_hook(fail)

    def work():
        for _ in range(50):
            (x * 3).backward()

    results = run_together(work, bad.backward)
    assert results[0] is None and isinstance(results[1], ZeroDivisionError)
    assert x.grad.item() == 150.0


def test_post_accumulate_hook_runs_once_a_pass():
    """Hooks of a shared leaf run once for each pass, whichever thread walked it."""
    x, calls = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda p: calls.append(p is x))
    check(run_together(*[lambda: [(x * 3).backward() for _ in range(10)]] * 4))
    assert calls == [True] * 40


def test_sequence_numbers_count_by_thread():
    """Each thread numbers the nodes it records by itself."""
    x = leaf(1.0)

    def two_numbers():
        return [(x * k).grad_fn._sequence_nr() for k in (2, 3)]

    first, second = check(run_together(two_numbers, two_numbers))
    assert first[1] == first[0] + 1 and second[1] == second[0] + 1


def test_nested_pass_in_a_thread():
    """A pass nested in a hook works in any thread."""
    x = leaf(2.0)

    def work():
        y = x * 3

        def nest(g):
            with nbgrad.enable_grad():
                (x * 10).backward()

        y.register_hook(nest)
        y.backward()

    check(run_together(work, work))
    assert x.grad.item() == 26.0


def test_recording_in_many_threads():
    """Threads that record and walk deep graphs of their own get the same gradient as one thread would."""

    def work():
        x = leaf([0.5, 0.25])
        y = x
        for _ in range(200):
            y = (y * 1.01).tanh() + x
        return nbgrad.grad(y.sum(), x)[0].tolist()

    alone = work()
    assert check(run_together(*[work] * 4)) == [alone] * 4


def test_graph_freed_in_another_thread_is_freed():
    """A graph that one thread has walked and freed is an error for the next one, and nothing hangs."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    check(run_together(y.backward))
    (later,) = run_together(y.backward)
    assert isinstance(later, RuntimeError) and x.grad.tolist() == [2.0, 4.0]


def test_context_travels_with_the_node():
    """What forward stored in one thread, attributes and saved tensors, is there when another thread walks."""

    class Remembers(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor = 5.0
            ctx.save_for_backward(x)
            return x * x * 5

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * ctx.factor

    x = leaf([1.0, 2.0])
    (y,) = check(run_together(lambda: Remembers.apply(x)))
    check(run_together(lambda: y.sum().backward()))
    assert x.grad.tolist() == [10.0, 20.0]
