"""Graphs of a GPU: what is captured is done by each replay, what no graph can hold is refused; on the emulated device."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import nbgrad
from nbgrad import cuda, nn
from nbgrad.base import config
from nbgrad.base.errors import ArgumentError, GraphError, RangeError
from nbgrad.kernels.cuda import driver

from .emulation import on_gpus, played_driver

pytestmark = [on_gpus, pytest.mark.filterwarnings("ignore:.*it runs on the CPU:UserWarning")]


@pytest.fixture(autouse=True)
def unharmed():
    """No capture is left, the device is as it was."""
    from nbgrad.tensors.choices import captures

    if config.EMULATED:
        played_driver().recover()
    yield
    assert not captures and not cuda.is_current_stream_capturing()
    assert cuda.current_stream() == cuda.default_stream()
    cuda.synchronize()
    assert not config.EMULATED or played_driver().fault is None


def on_gpu(*numbers: float, grad: bool = False):
    """A tensor on a GPU."""
    x = nbgrad.tensor(np.array(numbers or (1.0, 2.0, 3.0), np.float32)).to("cuda:0")
    return x.requires_grad_(grad)


def warm(x, w):
    """Kernels that the captures need are loaded."""
    return (x * w + 1).sin() * w.detach().clone().add_(1)


def test_a_capture_is_replayed():
    """Nothing is done when it is captured; each replay reads what is there then, and writes where the capture would have."""
    x, w = on_gpu(), on_gpu(1, 1, 1)
    warm(x, w)
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        assert cuda.is_current_stream_capturing()
        y = (x * w + 1).sin()
        w.add_(1)
    for k in range(3):
        g.replay()
        expected = np.sin(np.array([1, 2, 3], np.float32) * np.float32(k + 1) + 1, dtype=np.float32)
        np.testing.assert_allclose(y.cpu().numpy(), expected, rtol=2e-6)
        assert w.cpu().tolist() == [k + 2] * 3
    x.copy_(on_gpu(0, 0, 0))
    g.replay()
    np.testing.assert_allclose(y.cpu().numpy(), np.sin(np.ones(3, np.float32)), rtol=2e-6)


def test_replays_have_the_bits_of_calls():
    """Forward, backward and update of a small step: 50 replays against 50 steps."""

    def step(w, x):
        y = (w * x).sin() * w
        (g,) = nbgrad.grad(y, w, nbgrad.ones_like(y))
        w.detach().sub_(g * 0.1)

    x, w, v = on_gpu(0.5, 1, 2), on_gpu(1, 2, 3, grad=True), on_gpu(1, 2, 3, grad=True)
    step(w, x)
    step(v, x)
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        step(w, x)
    for _ in range(50):
        g.replay()
        step(v, x)
    np.testing.assert_array_equal(w.detach().cpu().numpy(), v.detach().cpu().numpy())


def test_memory_of_a_capture_is_the_graphs():
    """What is asked for later gets none of it, also not what the capture let go; when the graph is gone it goes back."""
    x, w = on_gpu(), on_gpu(1, 1, 1)
    warm(x, w)
    g = cuda.CUDAGraph()
    seen = set()
    with cuda.graph(g):
        y = x
        for _ in range(4):
            y = y * w + 1
            seen.add(y.data_ptr())
    others = [x * 2 for _ in range(50)]
    assert not seen & {each.data_ptr() for each in others}
    for each in others:
        each.zero_()
    g.replay()
    assert y.cpu().tolist() == [5, 6, 7]
    del y, others
    g.reset()
    kept = cuda.memory_reserved()
    cuda.empty_cache()
    assert cuda.memory_reserved() < kept


def test_two_graphs_share_memory():
    """That of the first is used again by the second; their results stay apart while they are held."""
    x, w = on_gpu(), on_gpu(1, 1, 1)
    warm(x, w)
    first, second = cuda.CUDAGraph(), cuda.CUDAGraph()
    with cuda.graph(first):
        a = x * w + 1
        between = (x * w).data_ptr()
    with cuda.graph(second, pool=first.pool()):
        b = x * w
        c = b + w
    assert between in (b.data_ptr(), c.data_ptr()) and a.data_ptr() not in (b.data_ptr(), c.data_ptr())
    first.replay()
    second.replay()
    assert (a.cpu().tolist(), c.cpu().tolist()) == ([2, 3, 4], [2, 3, 4])
    first.reset()
    second.replay()
    assert c.cpu().tolist() == [2, 3, 4]
    assert cuda.graph_pool_handle() != cuda.graph_pool_handle()


def test_streams_that_join():
    """A branch on another stream is part of the graph."""
    x, w, s = on_gpu(), on_gpu(1, 1, 1), cuda.Stream()
    warm(x, w)
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        s.wait_stream(cuda.current_stream())
        with cuda.stream(s):
            a = x * w
        b = x + 1
        cuda.current_stream().wait_stream(s)
        c = a * b
    for _ in range(3):
        g.replay()
    assert c.cpu().tolist() == [2, 6, 12]


def test_what_a_replay_writes_to_counts_as_written():
    """A saved tensor that a replay has changed since is an error, and no wrong gradient."""
    x, w, v = on_gpu(), on_gpu(1, 1, 1), on_gpu(grad=True)
    warm(x, w)
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        w.add_(1)
    y = v * w
    g.replay()
    with pytest.raises(RuntimeError, match="was modified in place"):
        y.backward(nbgrad.ones_like(y))


def read(x, w):
    (x * w).sum().item() if False else (x * w).tolist()


def copy(x, w):
    nbgrad.ones(3).to("cuda:0")


def wait(x, w):
    cuda.current_stream().synchronize()


def seed(x, w):
    nbgrad.manual_seed(0)


@pytest.mark.parametrize(
    "act, reason",
    [
        (read, "a value is read on the host"),
        (copy, "memory of the host is copied that is not pinned"),
        (wait, "the program waits for the GPU"),
        (seed, "a generator is given a seed or a state"),
    ],
)
def test_what_no_graph_can_hold_ends_the_capture(act, reason):
    """With the reason and the remedy; all tensors are as they were, and another capture begins."""
    x, w = on_gpu(), on_gpu(1, 1, 1)
    warm(x, w)
    g = cuda.CUDAGraph()
    with pytest.raises(GraphError, match=f"CUDAGraph: {reason}.*the capture was ended. Hint:"), cuda.graph(g):
        w.add_(1)
        act(x, w)
    assert w.cpu().tolist() == [1, 1, 1]
    with cuda.graph(g):
        y = x * w
    g.replay()
    assert y.cpu().tolist() == [1, 2, 3]


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_kernels_are_loaded_in_a_capture(mode):
    """Such as nobody has called before, forward and backward; the capture goes on."""
    ops = {"global": "cosh", "thread_local": "expm1", "relaxed": "sinh"}
    x, g = on_gpu(grad=True), cuda.CUDAGraph()
    with cuda.graph(g, capture_error_mode=mode):
        y = getattr(x, ops[mode])()
        (x.grad,) = nbgrad.grad(y.prod(), x)
    g.replay()
    host = on_gpu(grad=True).detach().cpu().requires_grad_()
    expected = getattr(host, ops[mode])()
    expected.prod().backward()
    np.testing.assert_allclose(y.detach().cpu().numpy(), expected.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(x.grad.cpu().numpy(), host.grad.numpy(), rtol=1e-5)


def test_other_threads_load_kernels_meanwhile():
    """Nothing that they load ends the capture of this one."""
    x, w = on_gpu(), on_gpu(1, 1, 1)
    warm(x, w)
    found, g = [], cuda.CUDAGraph()
    thread = threading.Thread(target=lambda: found.append(w.asinh()))
    with cuda.graph(g, capture_error_mode="global"):
        y = x * w
        thread.start()
        thread.join()
    g.replay()
    assert y.cpu().tolist() == [1, 2, 3] and found[0].cpu()[0].item() == pytest.approx(0.8813736)


def test_old_drivers_load_no_kernels_in_a_capture(monkeypatch):
    """Those before CUDA 12.3 would wait: the capture ends before one is asked, with the reason; the second capture has them."""
    monkeypatch.setattr(played_driver(), "version", 12020)
    driver.loads_in_captures.cache_clear()
    x = on_gpu()
    try:
        with pytest.raises(GraphError, match="a kernel is loaded, which drivers before CUDA 12.3.*was ended. Hint: run the same"):
            with cuda.graph(cuda.CUDAGraph()):
                x.acosh()
    finally:
        monkeypatch.undo()
        driver.loads_in_captures.cache_clear()
    assert x.acosh()[0].item() == 0


def test_a_stream_that_does_not_join():
    """The capture cannot become a graph."""
    x, w, s = on_gpu(), on_gpu(1, 1, 1), cuda.Stream()
    warm(x, w)
    with pytest.raises(GraphError, match=r"(?s)CUDAGraph.capture_end: the capture cannot.*UNJOINED.*Hint: streams"):
        with cuda.graph(cuda.CUDAGraph()):
            s.wait_stream(cuda.current_stream())
            with cuda.stream(s):
                x * w
    assert (x * w).cpu().tolist() == [1, 2, 3]


def test_a_replay_after_memory_went():
    """A tensor that was freed, one that was resized; one that was written to in place is read."""
    x, w = on_gpu(), on_gpu(1, 1, 1)
    warm(x, w)
    for free in (True, False):
        v = on_gpu(5, 5, 5)
        g = cuda.CUDAGraph()
        with cuda.graph(g):
            y = x * v
        g.replay()
        assert y.cpu().tolist() == [5, 10, 15]
        if free:
            del v
        else:
            v.data = on_gpu(1, 2, 3, 4)
            v._storage_.array = on_gpu(1, 2, 3)._storage_.array
        with pytest.raises(GraphError, match="CUDAGraph.replay: a tensor that the captured work uses .* since"):
            g.replay()
    assert (x * w).cpu().tolist() == [1, 2, 3]


def test_graphs_refuse():
    """The default stream, a capture in a capture, a second capture, nothing captured, another mode."""
    x, w, g = on_gpu(), on_gpu(1, 1, 1), cuda.CUDAGraph()
    warm(x, w)
    with pytest.raises(GraphError, match="the default stream cannot be captured"):
        g.capture_begin()
    with pytest.raises(GraphError, match="CUDAGraph.replay: nothing was captured"):
        g.replay()
    with pytest.raises(GraphError, match="CUDAGraph.capture_end: no capture"):
        g.capture_end()
    with pytest.raises(RangeError, match="got mode 'all', expected one of global, thread_local, relaxed"):
        g.capture_begin(capture_error_mode="all")
    with cuda.graph(g):
        x * w
        with pytest.raises(GraphError, match="this thread is in a capture already"):
            cuda.CUDAGraph().capture_begin()
    with pytest.raises(GraphError, match="the graph was captured before"), cuda.stream(cuda.Stream()):
        g.capture_begin()
    with pytest.raises(GraphError, match="was not kept"):
        g.raw_cuda_graph()
    with pytest.raises(GraphError, match="was not kept"):
        g.instantiate()
    kept = cuda.CUDAGraph(keep_graph=True)
    with pytest.raises(GraphError, match="raw_cuda_graph_exec: nothing was captured"):
        kept.raw_cuda_graph_exec()
    with cuda.graph(kept):
        y = x * w
    before = kept.raw_cuda_graph_exec()
    kept.instantiate()
    kept.replay()
    assert kept.raw_cuda_graph() and kept.raw_cuda_graph_exec() != before and y.equal(x * w)


class Layer(nn.Module):
    """Elementwise, with a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(on_gpu(1, 2, 3))

    def forward(self, x):
        return (x * self.weight).sin() * x


def test_graphed_callables():
    """A module in a larger eager graph: forward and backward are launches of graphs, gradients those of calls."""
    layer, same = Layer(), Layer()
    sample = on_gpu(1, 1, 1, grad=True)
    graphed = cuda.make_graphed_callables(layer, (sample,))
    assert graphed is layer
    for k in range(3):
        x, y = on_gpu(k, 1, 2, grad=True), on_gpu(k, 1, 2, grad=True)
        a, b = graphed(x * 2) * 3, same(y * 2) * 3
        a.backward(nbgrad.ones_like(a))
        b.backward(nbgrad.ones_like(b))
        np.testing.assert_array_equal(a.detach().cpu().numpy(), b.detach().cpu().numpy())
        np.testing.assert_array_equal(x.grad.cpu().numpy(), y.grad.cpu().numpy())
        np.testing.assert_array_equal(layer.weight.grad.cpu().numpy(), same.weight.grad.cpu().numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x).detach().cpu().numpy(), same(x).detach().cpu().numpy())


def test_graphed_functions_in_a_row():
    """Two of them, one pool; other shapes are refused."""
    f, g = cuda.make_graphed_callables(
        (lambda x: (x * 2).sin(), lambda x, y: (x * y, x + y)), ((on_gpu(grad=True),), (on_gpu(grad=True), on_gpu(grad=True)))
    )
    x = on_gpu(0.5, 1, 2, grad=True)
    a, b = g(f(x), x)
    (a + b).backward(nbgrad.ones_like(a))
    v = nbgrad.tensor([0.5, 1, 2], requires_grad=True)
    c, d = (v * 2).sin() * v, (v * 2).sin() + v
    (c + d).backward(nbgrad.ones_like(c))
    np.testing.assert_allclose(x.grad.cpu().numpy(), v.grad.numpy(), rtol=1e-6)  # a sum of three in another order
    with pytest.raises(GraphError, match=r"make_graphed_callables: got arguments \[\[2\]\]"):
        f(on_gpu(1, 2))
    with pytest.raises(ArgumentError, match="make_graphed_callables: expected tensors as arguments"):
        cuda.make_graphed_callables(lambda x: x, (5,))
