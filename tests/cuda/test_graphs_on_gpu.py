"""Graphs and loops of tensors on a GPU: they give what they give on the CPU, or what the function itself gives there. Emulated, in
a child.
"""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import cuda, func, jit, nn, optim
from nbgrad.errors import GraphError
from nbgrad.testing import assert_close

from .emulation import both_builds, in_a_child, launches, on_gpus, slow_too, two_gpus, without_gpus


@without_gpus
@pytest.mark.usefixtures("compiler")
@both_builds
def test_graphs_in_a_child(native, request):
    """The tests of this file pass on emulated GPUs, with native code and without."""
    in_a_child(__file__, *slow_too(request), NBGRAD_NATIVE=native)


def numbers(device, *shape, seed=0, grad=False):
    """The same numbers on any device."""
    x = nbgrad.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).to(device)
    return x.requires_grad_() if grad else x


def assert_same(there, here):
    """Results on a GPU are those on the CPU, up to rounding."""
    assert len(there) == len(here)
    for x, y in zip(there, here):
        assert x.device.type == "cuda", "it has left the GPU"
        assert_close(x.detach().cpu(), y.detach(), rtol=1e-4, atol=1e-5)


# ---- loops -----------------------------------------------------------------------------------------------------------


def wave(x, w):
    """What most programs here compute, so that few kernels are compiled."""
    return (x * w + 1).sin()


def operands(device, grad=True):
    """A carry, slices, and weights."""
    return numbers(device, 3, seed=1, grad=grad), numbers(device, 4, 3, seed=2, grad=grad), numbers(device, 3, seed=3, grad=grad)


def recurrence(c, xs, w, **options):
    """A recurrent layer in little."""

    def step(c, x):
        c = wave(c, w)
        return c, c * x

    return jit.scan(step, c, xs, **options)


def loss_of(c, xs, w, **options):
    out, ys = recurrence(c, xs, w, **options)
    return ys.sum() + out.sum()


def first_order(device):
    given = operands(device)
    return [*recurrence(*given), *nbgrad.grad(loss_of(*given), given)]


def second_order(device):
    given = operands(device)
    first = nbgrad.grad(loss_of(*given), given, create_graph=True)
    return [*first, *nbgrad.grad(sum((g * g).sum() for g in first), given)]


def checkpoints(device):
    given = operands(device)
    return nbgrad.grad(loss_of(*given, checkpoint=("binomial", 2), reverse=True), given)


def transforms(device):
    c, xs, w = operands(device, grad=False)
    many = nbgrad.stack([xs, 2 * xs])
    batch = func.vmap(func.grad(loss_of), (None, 0, None))(c, many, w)
    return [batch, *func.jvp(lambda c: recurrence(c, xs, w)[1], (c,), (nbgrad.ones_like(c),))]


def draws(device):
    nbgrad.manual_seed(3)
    c = numbers(device, 3, seed=1, grad=True)
    out, ys = jit.scan(lambda c, x: (c * nbgrad.rand(3, device=device), c), c, None, length=3)
    return [out, ys, *nbgrad.grad(out.sum(), [c]), nbgrad.rand(2, device=device)]


def ended_by_tests(device):
    x = numbers(device, 3, seed=1, grad=True)
    y = jit.while_loop(lambda x: (x * x).sum() < 100, lambda x: x * 2, x)
    branch = lambda x: jit.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * x, x)
    batch = func.vmap(branch)(nbgrad.stack([x.detach(), -x.detach()]))
    return [y, *nbgrad.grad(y.sum(), x), branch(x), branch(-x), *nbgrad.grad(branch(-x).sum(), x), batch]


def slices(device):
    xs, w = numbers(device, 4, 3, seed=1, grad=True), nbgrad.tensor(0.5)  # a number of the host
    ys = jit.map(lambda x: x * w + x, xs)
    return [ys, *nbgrad.grad(ys.sum(), xs)]


def sums_of_pairs(device):
    xs = numbers(device, 4, 3, seed=1, grad=True)
    sums = jit.associative_scan(lambda x, y: x * y, xs)
    return [sums, *nbgrad.grad(sums.sum(), xs)]


@on_gpus
@pytest.mark.parametrize(
    "program",
    [
        first_order,
        pytest.param(second_order, marks=pytest.mark.slow),
        checkpoints,
        pytest.param(transforms, marks=pytest.mark.slow),
        draws,
        ended_by_tests,
        slices,
        pytest.param(sums_of_pairs, marks=pytest.mark.slow),
    ],
)
def test_loops_are_those_of_the_cpu(program):
    """Values, gradients of two orders, tangents, batches and draws; the bodies that the CPU's loops have left are not taken."""
    here = program("cpu")
    assert_same(program("cuda"), here)


@on_gpus
def test_loops_and_compiled_steps_wait_for_nothing():
    """No loop of a count, no capture and no compiled step reads a value of the GPU."""
    given, layer = operands("cuda"), nn.Linear(3, 2).to("cuda")
    optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        layer(x).square().mean().backward()
        optimizer.step()

    compiled = jit.compile(step, fullgraph=True)
    cuda.set_sync_debug_mode("error")
    try:
        nbgrad.grad(loss_of(*given), given)
        for _ in range(3):
            compiled(given[1].detach())
    finally:
        cuda.set_sync_debug_mode("default")
    assert len(compiled.variants) == 1  # the first call, which makes the momentum, runs as it is


# ---- compiled functions ----------------------------------------------------------------------------------------------


@on_gpus
def test_a_chain_is_one_launch_with_the_bits_of_calls():
    """Elementwise calls share a kernel, forward and backward, whose results are those of the calls to the last bit."""
    f = jit.compile(lambda x, w: wave(x, w) * x, fullgraph=True)
    x, w = numbers("cuda", 4, 3, seed=1, grad=True), numbers("cuda", 4, 3, seed=2)
    (expected,) = nbgrad.grad(f.fn(x, w).sum(), x)
    for _ in range(2):
        (found,) = nbgrad.grad(f(x, w).sum(), x)
    assert found.equal(expected) and f(x, w).equal(f.fn(x, w))
    with nbgrad.no_grad():
        f(x, w)
        assert launches(lambda: f(x, w)) == 1
    explained = f.explain()
    assert [step.kind for step in explained.variants[0].steps] == ["loop"] and ".on('cuda:0')" in str(explained)
    assert f(numbers("cuda", 13)[1:].reshape(4, 3), w).equal(f.fn(numbers("cuda", 13)[1:].reshape(4, 3), w))  # not aligned


@on_gpus
def test_a_chain_of_half_types_is_one_launch():
    """With the bits of calls, which round after each, and use numbers as they are."""
    chain = lambda x, w: ((x * 0.1 + w) / 3.0 - w * x).relu()
    f = jit.compile(chain, fullgraph=True)
    x, w = (numbers("cuda", 4, 3, seed=seed).bfloat16() for seed in (1, 2))
    for _ in range(2):
        assert f(x, w).equal(chain(x, w))
    assert launches(lambda: f(x, w)) == 1


@on_gpus
def test_variants_are_of_a_device():
    """One function runs where its arguments are; numbers of the host and default devices are followed."""
    f = jit.compile(lambda x, a, n: (x * a + n, nbgrad.zeros(2)), fullgraph=True)
    for device in ("cpu", "cuda", "cpu", "cuda"):
        for factor in (2.0, 3.0):
            x = numbers(device, 3, seed=1)
            y, zeros = f(x, factor, nbgrad.tensor(0.5))
            assert y.device == x.device and zeros.device.type == "cpu" and y.equal(x * factor + 0.5)
    with nbgrad.device("cuda"):
        assert f(numbers("cpu", 3), 1.0, nbgrad.tensor(0.5, device="cpu"))[1].device.type == "cuda"
    assert f(numbers("cpu", 3), 1.0, nbgrad.tensor(0.5))[1].device.type == "cpu"
    with pytest.raises(nbgrad.errors.DeviceError, match="one device|another operand"):
        jit.compile(lambda x, y: x + y)(numbers("cpu", 3), numbers("cuda", 3))


@two_gpus
def test_a_program_may_be_on_two_gpus():
    """Its steps run on the streams of both, and what crosses is waited for."""
    f = jit.compile(lambda x, y: ((x * 2 + 1).sin(), (x * 2).to("cuda:1") + y), fullgraph=True)
    x, y = numbers("cuda:0", 3, seed=1), numbers("cuda:1", 3, seed=2)
    for _ in range(2):
        assert all(a.equal(b) for a, b in zip(f(x, y), f.fn(x, y)))


class Network(nn.Module):
    """With a buffer that each call writes to, and draws."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("seen", nbgrad.zeros(3))

    def forward(self, x):
        self.seen.add_(x.mean(0))
        return nn.functional.dropout(self.layer(x), 0.25)


def trained(kind, compiled, **options):
    """Losses of steps, parameters and buffers; versions of the parameters."""
    nbgrad.manual_seed(0)
    network = Network().cuda()
    optimizer, x = kind(network.parameters(), lr=0.1, **options), numbers("cuda", 6, 3)

    def step(x):
        optimizer.zero_grad()
        loss = network(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = jit.compile(step, fullgraph=True) if compiled else step
    losses = [run(x) for _ in range(4)]
    return [*losses, *(p.detach() for p in network.parameters()), *network.buffers()], [p._version for p in network.parameters()]


@on_gpus
@pytest.mark.parametrize("kind, options", [(optim.SGD, {"momentum": 0.9}), pytest.param(optim.AdamW, {}, marks=pytest.mark.slow)])
def test_compiled_training_steps_have_the_bits_of_eager_ones(kind, options):
    """Gradients, updates, buffers, draws and versions."""
    (found, versions), (expected, counts) = trained(kind, True, **options), trained(kind, False, **options)
    assert versions == counts
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x.cpu().numpy(), y.cpu().numpy())


@on_gpus
def test_values_that_python_asks_for_choose_the_program():
    """Branches, items and masks go on by what is there; other answers are other programs."""
    branch = jit.compile(lambda x: x * 2 if x.sum() > 0 else x - 1)
    masked = jit.compile(lambda x: x[x > 0] * x.sum().item())
    x = numbers("cuda", 4, seed=1)
    for y in (x, -x, x, -x, 2 * x):
        assert branch(y).equal(branch.fn(y)) and masked(y).equal(masked.fn(y))


@on_gpus
def test_errors_of_kernels_come_when_the_program_waits():
    """An index out of range reads 0, and is told as in eager mode."""
    f = jit.compile(lambda x, index: x[index] * 2, fullgraph=True)
    x = nbgrad.arange(5.0, device="cuda")
    assert f(x, nbgrad.tensor([0, 4], device="cuda")).tolist() == [0, 8]
    f(x, nbgrad.tensor([0, 7], device="cuda"))
    with pytest.raises(IndexError, match="index 7 is out of range for dimension 0 of size 5"):
        cuda.synchronize()
    assert f(x, nbgrad.tensor([1, 2], device="cuda")).tolist() == [2, 4]


@on_gpus
def test_warm_compiled_functions_are_captured_by_cuda_graphs():
    """Replays of a compiled step go on as calls do, on memory of the graph."""

    def trained(captured):
        weight, total = numbers("cuda", 3, seed=1, grad=True), nbgrad.zeros(3, device="cuda")
        optimizer, x = optim.SGD([weight], lr=0.1), numbers("cuda", 3, seed=2)

        def step(x):
            optimizer.zero_grad()
            y = wave(x, weight)
            total.add_(y.detach())
            y.sum().backward()
            optimizer.step()
            return y.detach()

        run = jit.compile(step, fullgraph=True) if captured else step
        for _ in range(2):
            y = run(x)
        if captured:
            graph = cuda.CUDAGraph()
            with cuda.graph(graph):
                y = run(x)
        for seed in (3, 4):
            x.copy_(numbers("cpu", 3, seed=seed))
            if captured:
                graph.replay()
            else:
                y = run(x)
        return [x.tolist() for x in (y, weight, total)]

    assert trained(True) == trained(False)


def stepped(kind, way, options):
    """Three steps, by calls, by a compiled function, or by replays of one behind two calls; the last with another rate."""
    rate = nbgrad.tensor(0.1, device="cuda")
    weight, x = numbers("cuda", 3, seed=1, grad=True), numbers("cuda", 3, seed=2)
    optimizer = kind([weight], lr=rate if options.get("capturable", True) else 0.1, **options)

    def step(x):
        optimizer.zero_grad()
        wave(x, weight).sum().backward()
        optimizer.step()

    run = step if way == "calls" else jit.compile(step, fullgraph=True)
    for _ in range(2):
        run(x)
    if way == "replays":
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            run(x)
        run = lambda x: graph.replay()
    run(x)
    rate.fill_(0.05)
    run(x)
    return [weight.tolist(), *(y.tolist() for y in optimizer.state[weight].values())], getattr(run, "variants", [0])


@on_gpus
@pytest.mark.parametrize(
    "kind, options",
    [
        (optim.AdamW, {"capturable": True}),
        pytest.param(optim.ASGD, {"capturable": True}, marks=pytest.mark.slow),
        pytest.param(optim.NAdam, {"capturable": True}, marks=pytest.mark.slow),
        pytest.param(optim.SGD, {"weight_decay": 0.1}, marks=pytest.mark.slow),
    ],
)
def test_compiled_steps_read_what_the_gpu_counts(kind, options):
    """Numbers of steps and rates that are tensors there: one program, with the bits of calls, also in replays."""
    expected, _ = stepped(kind, "calls", options)
    for way in ("compiled", "replays"):
        found, variants = stepped(kind, way, options)
        assert found == expected and len(variants) == 1


@on_gpus
def test_a_compiled_step_that_is_counted_on_the_host_is_in_no_cuda_graph():
    """Each replay would take the same step."""
    with pytest.raises(GraphError, match="Adam.step: the number of the step would be the same.*Hint: capturable=True"):
        stepped(optim.Adam, "replays", {"capturable": False})


@on_gpus
def test_replays_of_compiled_functions_draw_what_calls_draw():
    """Forward and backward programs, and the slices of loops: in three replays other numbers each, those of three calls."""
    x, own = nbgrad.ones(16, device="cuda", requires_grad=True), nbgrad.Generator("cuda")

    @jit.compile
    def f(x):
        y = nn.functional.dropout(x * 2, 0.5) * nbgrad.rand(16, device="cuda", generator=own)
        return jit.scan(lambda c, _: (c * nbgrad.rand(16, device="cuda"), None), y, None, length=2)[0]

    def act():
        y = f(x)
        return y.detach(), *nbgrad.grad(y.sum(), x)

    def seed():
        for generator in (nbgrad, own):
            generator.manual_seed(3)

    act()
    act()
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        out = act()
    seed()
    found = [[y.tolist() for y in out] for _ in range(3) if graph.replay() is None]
    states = cuda.get_rng_state(), own.get_state()
    seed()
    assert found == [[y.tolist() for y in act()] for _ in range(3)] and found[0] != found[1]
    assert states[0].equal(cuda.get_rng_state()) and states[1].equal(own.get_state())


@on_gpus
def test_programs_run_on_the_current_stream():
    """Memory between steps is the stream's; who waits for that has the results."""
    f = jit.compile(lambda x, w: (wave(x, w), wave(x, w).sum(0)), fullgraph=True)
    x, w = numbers("cuda", 4, 3, seed=1), numbers("cuda", 4, 3, seed=2)
    expected = f.fn(*f.fn(x, w)[:1], w)
    f(x, w)
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        found = f(*f(x, w)[:1], w)
    cuda.current_stream().wait_stream(stream)
    assert all(x.equal(y) for x, y in zip(found, expected))


# ---- graphs ----------------------------------------------------------------------------------------------------------


@on_gpus
def test_traced_graphs_are_read_differentiated_and_compiled_again():
    """Texts say the device; gradients of a graph, and passes as programs, are those of the engine."""
    x, w = numbers("cuda", 4, 3, seed=1, grad=True), numbers("cuda", 4, 3, seed=2, grad=True)

    def f(x, w):
        return wave(x, w).sum()

    graph = jit.trace(f, x, w)
    read = jit.parse(str(graph))
    assert ".on('cuda:0')" in str(graph) and read(x, w)[0].equal(f(x, w)) and str(read) == str(graph)
    gradient = jit.differentiate(graph)
    outs = gradient.f(x.detach(), w.detach())
    expected = nbgrad.grad(f(x, w), [x, w])
    cotangents = [nbgrad.ones((), device="cuda") if k == 0 else None for k in gradient.df_input_vjps]
    found = gradient.df(*cotangents, *given_to(gradient, outs, [x.detach(), w.detach()]))
    assert all(x.equal(y) for x, y in zip(found, expected))
    with jit.compiled_autograd():
        for _ in range(2):
            x.grad = w.grad = None
            f(x, w).backward()
    assert x.grad.equal(expected[0]) and w.grad.equal(expected[1])


@on_gpus
@pytest.mark.slow
def test_saved_functions_are_loaded_on_their_gpu(tmp_path):
    """Programs, constants, draws and passes back."""
    w = numbers("cuda", 4, 3, seed=2)
    f = jit.compile(lambda x: (wave(x, w).sum(), nn.functional.dropout(x, 0.5)))

    def run(f):
        x = numbers("cuda", 4, 3, seed=1, grad=True)
        nbgrad.manual_seed(1)
        y, dropped = f(x)
        return [y, dropped, *nbgrad.grad(y, x)]

    expected = run(f)
    jit.save(f, tmp_path / "f.nbgrad", objects=False)
    assert all(x.equal(y) for x, y in zip(run(jit.load(tmp_path / "f.nbgrad")), expected))


def given_to(gradient, outs, inputs):
    """What ``df`` takes behind the cotangents."""
    captured = [inputs[k] for k in gradient.df_input_captured_inputs]
    return [*captured, *[outs[k] for k in gradient.df_input_captured_outputs]]
