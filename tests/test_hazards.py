"""What went wrong in experiments once, each with a test that shows it cannot any more."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.base.bounded import MOST_PLANS
from nbgrad.dispatch.elementwise_plans import PLANS
from nbgrad.kernels.codegen import Scalar, source
from nbgrad.ops.expr import constant, postorder, symbol
from nbgrad.tensors import layout
from nbgrad.tensors.storage import CPU


def printed_by(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_interrupted_writes_never_hide_a_change():
    """After Ctrl-C among in-place kernels the version is at least the number of writes that happened."""
    output = printed_by("""
        import os, signal, threading, time
        import nbgrad
        x = nbgrad.zeros(200_000)
        one = nbgrad.ones(200_000)
        x.add_(one); x.zero_(); start = x._version
        signal.signal(signal.SIGINT, signal.default_int_handler)       # a background job starts with it ignored
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                x.add_(one)
        except KeyboardInterrupt:
            pass
        print(x._version - start >= x[0].item() == x[-1].item() > 0)
    """)
    assert output == "True"


def test_memory_exchanged_while_a_kernel_runs():
    """Another thread that assigns ``.data`` neither crashes a running kernel nor mixes two memories in one result."""
    size = 400_000
    x, others = nbgrad.zeros(size), [nbgrad.full((size,), float(k)) for k in range(3)]
    stop = threading.Event()

    def exchange():
        k = 0
        while not stop.is_set():
            x.data = others[k % 3].clone()
            k += 1

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(200):
            y = nbgrad.exp(x).numpy()
            assert (y == y[0]).all()
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("size", [40_000, 300_000])
def test_four_threads_on_one_leaf(size):
    """No contribution of a thread to a shared leaf is lost, for gradients below and above the pool's threshold."""
    w = nbgrad.zeros(size, requires_grad=True)

    def work():
        for _ in range(50):
            (w * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(w.grad.numpy(), np.full(size, 200.0, np.float32))


def test_formula_that_reuses_itself_stays_small():
    """Eighteen steps of ``e * (1 - e)`` are 37 nodes and a screenful of source, not a tree of 2**18 leaves."""
    e = symbol("x")
    for _ in range(18):
        e = e * (1 - e)
    assert len(postorder([e])) == 2 + 2 * 18
    assert len(source(Scalar("logistic", (("x", False),), (e,), "float64")).splitlines()) < 45


def test_constants_are_kept_apart_by_type_and_bits():
    """0.0, -0.0, False, 0 and NaN are five constants, and each is the same object whenever it is made."""
    values = [0.0, -0.0, False, 0, float("nan")]
    made = [constant(value) for value in values]
    assert len(set(map(id, made))) == 5
    assert all(constant(value) is expr for value, expr in zip(values, made))


def test_kernels_do_not_multiply_with_layouts():
    """A product in one dtype takes one kernel for contiguous, transposed, broadcast and mixed operands alike."""
    output = printed_by("""
        import nbgrad
        x = nbgrad.ones(4, 6)
        x * x
        before = nbgrad.cache.info()
        for y in (x, nbgrad.ones(6, 4).T, nbgrad.ones(6), nbgrad.ones(4, 1).expand(4, 6), x[:, ::2].repeat(1, 2), x.half()):
            x * y
        from nbgrad.dispatch.plans import elementwise_kernel
        print(sum(1 for key in [elementwise_kernel.cache_info()] for _ in range(key.currsize)))
    """)
    assert int(output) <= 6  # mul; the copies and conversions that half and repeat need


def test_tables_are_bounded():
    """Shapes that never come again do not pile up."""
    x, most = nbgrad.ones(30_000), layout._most  # more than usual where the tests before hold many
    for n in range(1, 6_000):
        (x[:n] * x[:n]).sum()
    for n in range(1, 18_000):
        x[n:]
    assert len(PLANS["mul"]) <= MOST_PLANS
    assert len(layout._layouts) <= layout._most <= max(2 * layout.MOST_LAYOUTS, most)
    assert (x[:7] * x[:7]).sum().item() == 7.0


def test_layouts_in_use_stay_the_only_ones_of_their_kind():
    """Compiled functions, plans and tensors know them by identity."""
    x, most, made = nbgrad.ones(3, 41), nbgrad.ones(5), nbgrad.compile(lambda x: x + 1, fullgraph=True)
    made(x)
    mine, marked = x.layout, layout.marked_layout(nbgrad.ones(2, 43).layout, layout.TRACED)
    gone = layout.layout_of(nbgrad.float32, (47, 53), None, CPU)
    key = next(key for key, found in layout._layouts.items() if found is gone)
    del gone
    layout.forget_layouts()
    assert key not in layout._layouts
    assert layout.layout_of(nbgrad.float32, (3, 41), None, CPU) is mine is (x + 1).layout and nbgrad.ones(5).layout is most.layout
    assert layout.marked_layout(layout.layout_of(nbgrad.float32, (2, 43), None, CPU), layout.TRACED) is marked
    assert made(nbgrad.ones(3, 41)).layout is mine and "1 variant" in repr(made)
    before = len(layout._layouts)
    layout.forget_layouts()
    assert len(layout._layouts) <= before


def test_forgotten_layouts_change_nothing():
    """Tensors made before layouts were forgotten work with tensors made after."""
    x, y = nbgrad.ones(3, requires_grad=True), nbgrad.ones(3)
    before = x * y
    layout.forget_layouts()
    z = nbgrad.full((3,), 2.0)
    ((x * z) + before).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0, 3.0])
    z += y
    np.testing.assert_array_equal(z.numpy(), [3.0, 3.0, 3.0])


@pytest.mark.skipif(not config.NATIVE, reason="NBGRAD_NATIVE=0: objects that Python makes are all known to the collector")
def test_new_sizes_leave_nothing_to_the_collector():
    """Layouts, plans and their keys are hidden from it: a full collection looks at everything that it sees."""
    x, y = nbgrad.ones(3000, requires_grad=True), nbgrad.ones(3000)

    def calls(sizes):
        for n in sizes:
            (x[:n] * y[:n]).sum()

    calls(range(1, 64))
    gc.collect()
    before = len(gc.get_objects())
    calls(range(1000, 1200))
    gc.collect()
    assert len(gc.get_objects()) - before < 100


def test_forgotten_layouts_are_freed():
    """A layout and its template have each other, and the collector sees neither of those that are made for new sizes."""
    shapes = [(n,) for n in range(90_001, 90_021)] + [(90_003, 3), (90_005, 3, 5)]
    found = [weakref.ref(layout.layout_of(nbgrad.float32, shape, None, CPU)) for shape in shapes]
    marked = weakref.ref(layout.marked_layout(layout.layout_of(nbgrad.float32, (90_007, 3), None, CPU), layout.TRACED))
    assert all(x() for x in found)
    layout.forget_layouts()
    gc.collect()
    assert not any(x() for x in (*found, marked))


def test_without_docstrings():
    """``python -OO`` takes them away; what is put together of them must not be missed."""
    code = """
        import nbgrad
        from nbgrad.nn import functional as F
        x = nbgrad.ones(1, 1, 3, requires_grad=True)
        F.conv1d(x, nbgrad.ones(1, 1, 2)).sum().backward()
        print(x.grad.tolist())
    """
    assert printed_by(code, PYTHONOPTIMIZE="2") == "[[[1.0, 2.0, 1.0]]]"


def test_python_launcher_does_the_same():
    """``NBGRAD_NATIVE=0`` gives the same numbers, gradients and versions."""
    code = """
        import nbgrad
        x = nbgrad.linspace(-2, 2, 7, requires_grad=True)
        h = (x * 2 + 1).sin()
        h[1:3].mul_(x[:2].detach())
        y = (h.exp() / (1 + x * x)).sum()
        g, = nbgrad.grad(y, x, create_graph=True)
        (g * g).sum().backward()
        print(x.grad.tolist(), h._version, y.item())
    """
    assert printed_by(code, NBGRAD_NATIVE="0") == printed_by(code, NBGRAD_NATIVE="1")


def test_graphs_die_without_the_collector():
    """Nothing of a graph is left for the collector, which is off here."""
    output = printed_by("""
        import gc, weakref
        import nbgrad
        gc.disable()
        x = nbgrad.ones(4, requires_grad=True)
        h = x.sin(); h[1:].mul_(2.0)
        y = (h.exp() * x).sum()
        node = weakref.ref(y.grad_fn)
        y.backward()
        del y, h
        print(node() is None, gc.collect() == 0)
    """)
    assert output.split()[0] == "True"


@pytest.mark.skipif(not config.NATIVE, reason="NBGRAD_NATIVE=0: objects that Python makes are all known to the collector")
def test_recording_does_not_provoke_the_collector():
    """Nodes are hidden from the collector: recording 20,000 operations leaves it little to walk."""
    gc.collect()
    x = nbgrad.ones(1, requires_grad=True)
    before = len(gc.get_objects())
    h = x
    for _ in range(20_000):
        h = h + 1.0
    assert len(gc.get_objects()) - before < 2_000


@pytest.mark.skipif(not config.NATIVE, reason="NBGRAD_NATIVE=0: objects that Python makes are all known to the collector")
def test_new_sizes_do_not_provoke_the_collector():
    """What is kept of sizes never seen before, forth and back, is hidden from the collector, too."""
    x, y = nbgrad.ones(3000, requires_grad=True), nbgrad.ones(3000)

    def run(sizes):
        for n in sizes:
            x.grad = None
            (x[:n] * y[:n]).sum().backward()

    run(range(1, 100))
    gc.collect()
    before = len(gc.get_objects())
    run(range(1000, 3000))
    assert len(gc.get_objects()) - before < 1_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_child_of_a_compiling_process_computes():
    """A child forked while another thread compiles kernels can compile and compute, and ends."""
    code = """
        import os, threading, signal
        import nbgrad
        x = nbgrad.ones(100_000)
        (x * x).sum()
        def compile_many():
            for name in ("sin", "cosh", "erf", "log1p", "atan", "asin"):
                getattr(nbgrad, name)(x.double() * 0.3)
        thread = threading.Thread(target=compile_many)
        thread.start()
        statuses = []
        for k in range(4):
            pid = os.fork()
            if pid == 0:
                signal.alarm(60)
                value = (nbgrad.expm1(x) + nbgrad.tanh(x)).sum().item()
                os._exit(0 if value > 0 else 1)
            statuses.append(os.waitpid(pid, 0)[1])
        thread.join()
        print(statuses)
    """
    assert printed_by(code) == "[0, 0, 0, 0]"


def test_signals_are_python_s():
    """The pool's threads leave signals to Python's main thread."""
    seen = []
    previous = signal.signal(signal.SIGUSR1, lambda *_: seen.append(threading.current_thread() is threading.main_thread()))
    try:
        nbgrad.exp(nbgrad.ones(2_000_000))
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert seen == [True]


def test_first_large_tensors_of_many_threads():
    """Threads whose first large tensors are the first of the process get them, in blocks."""
    output = printed_by("""
        import sys, threading
        import nbgrad
        from nbgrad.native.blocks import blocks
        sys.setswitchinterval(1e-6)
        ready, results = threading.Barrier(8), []
        def work():
            ready.wait()
            results.append((nbgrad.ones(100_000) * 2.0).sum().item())
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(results == [200_000.0] * 8, blocks() is None or blocks().mapped > 0)
    """)
    assert output == "True True"


CHECKED = {
    "methods of subclasses": "ones(2).as_subclass(type('Named', (nbgrad.Tensor,), {})).detach().numpy()",
    "empty views": "[x.unbind(1), x[:, 1], zeros(0, dtype=nbgrad.complex64).imag, nbgrad.complex(zeros(0), zeros(0))]",
    "half types": "tensor([nan], dtype=nbgrad.bfloat16).float()",
    "numbers": "ones(2) * nan",
    "sequences": "cat([tensor([nan]), ones(1)])",
    "attributes": "zeros(2).index_fill(0, tensor([0]), nan)",
    "launches put off": "[tensor([nan] * 64) for _ in range(99)]; nbgrad.scan(lambda c, x: (c * x + c, x), ones(64), ones(3, 64))",
}


@pytest.mark.parametrize("expression", CHECKED.values(), ids=CHECKED)
def test_checked_calls_that_are_sound(expression):
    """``NBGRAD_CHECK=1`` does not blame a call for memory that it does not touch, nor for a NaN that it was given."""
    assert (
        printed_by(
            f"""
        import nbgrad
        from nbgrad import cat, ones, tensor, zeros
        x, nan = zeros(0, 2), float("nan")
        {expression}
    """,
            NBGRAD_CHECK="1",
        )
        == ""
    )


def test_checked_calls_tell_what_is_wrong():
    """A class that is none is a NaN on the way to its error, and no NaN to a user."""
    told = printed_by(
        """
        import nbgrad
        from nbgrad.nn.functional import cross_entropy, nll_loss
        for loss in (cross_entropy, nll_loss):
            try:
                loss(nbgrad.ones(2, 3), nbgrad.tensor([1, 9]))
            except nbgrad.NbgradError as error:
                print(type(error).__name__, "target is out of range" in str(error))
    """,
        NBGRAD_CHECK="1",
    )
    assert told.split() == ["DimError", "True"] * 2


@pytest.mark.parametrize(
    "expression",
    [
        "tensor([-1.0]).sqrt()",
        "tensor([-1.0], dtype=nbgrad.bfloat16).sqrt()",
        "tensor([-1.0], dtype=nbgrad.float16).log()",
        "tensor([float('nan'), -1.0])[1:].sqrt()",
    ],
)
def test_checked_calls_that_make_a_nan(expression):
    """``NBGRAD_CHECK=1`` sees a NaN of every dtype, and only among the elements of the operands."""
    assert "KernelError" in printed_by(
        f"""
        import nbgrad
        from nbgrad import tensor
        try:
            {expression}
        except nbgrad.NbgradError as error:
            print(type(error).__name__)
    """,
        NBGRAD_CHECK="1",
    )
