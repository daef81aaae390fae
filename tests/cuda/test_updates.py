"""Optimizers on a GPU: all tensors of a group in few launches, the CPU's numbers to a rounding. Emulated, in a child."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import cuda, optim
from nbgrad.base.errors import DeviceError, GraphError, NotSupportedError, RangeError
from nbgrad.dispatch.updates import fused_update

from .emulation import launches, on_gpus, two_gpus

SHAPES = [(3, 5), (), (1,), (1025,), (0, 2), (2, 3, 4), (4096,), (5000,)]
SGD = [
    {},
    {"momentum": 0.9, "weight_decay": 0.1},
    {"momentum": 0.9, "nesterov": True, "maximize": True},
    {"momentum": 0.5, "dampening": 0.25},
]
ADAM = [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True, "betas": (0.5, 0.75)}]
CASES = [(optim.SGD, options) for options in SGD]
CASES += [(kind, options) for kind in (optim.Adam, optim.AdamW) for options in ADAM]
IDS = [" ".join([kind.__name__, *map(str, options.items())]) for kind, options in CASES]


def parameters(shapes, device, dtype=nbgrad.float32, seed=0):
    """Leaves with numbers of a seed."""
    random = np.random.default_rng(seed)
    return [nbgrad.tensor(random.normal(size=shape), dtype=dtype, device=device, requires_grad=True) for shape in shapes]


def give_gradients(params, seed):
    """Gradients of a seed."""
    random = np.random.default_rng(seed)
    for p in params:
        g = nbgrad.tensor(random.normal(size=tuple(p.shape)), dtype=p.dtype)
        p.grad = nbgrad.empty_like(p, requires_grad=False).copy_(g)


def stepped(kind, params, steps=3, **options):
    """The parameters after steps, and the optimizer."""
    optimizer = kind(params, lr=0.1, **options)
    for k in range(steps):
        give_gradients(params, 100 + k)
        optimizer.step()
    return params, optimizer


def assert_near(found, expected, rounding):
    """The same numbers, to a few roundings."""
    for x, y in zip(found, expected, strict=True):
        a, b = (each.detach().cpu().to(nbgrad.float64).numpy() for each in (x, y))
        np.testing.assert_allclose(a, b, rtol=rounding, atol=rounding)


@on_gpus
@pytest.mark.parametrize(("kind", "options"), CASES, ids=IDS)
@pytest.mark.parametrize("foreach", [None, False])
def test_the_steps_of_the_cpu(kind, options, foreach):
    """Parameters of many shapes, empty ones too, end where the CPU's end, and so does their state."""
    found, there = stepped(kind, parameters(SHAPES, "cuda"), foreach=foreach, **options)
    expected, here = stepped(kind, parameters(SHAPES, "cpu"), **options)
    assert_near(found, expected, 2e-6)
    for x, y in zip(found, expected):
        for name, value in here.state[y].items():
            if isinstance(value, nbgrad.Tensor):
                assert_near([there.state[x][name]], [value], 2e-6)
            else:
                assert there.state[x][name] == value


@on_gpus
@pytest.mark.parametrize(("dtype", "rounding"), [("float64", 1e-14), ("float16", 1e-2), ("bfloat16", 4e-2)])
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_other_dtypes(kind, dtype, rounding):
    """They are computed as on the CPU."""
    found, _ = stepped(kind, parameters(SHAPES, "cuda", getattr(nbgrad, dtype)))
    expected, _ = stepped(kind, parameters(SHAPES, "cpu", getattr(nbgrad, dtype)))
    assert_near(found, expected, rounding)


@on_gpus
def test_foreach_has_the_bits_of_single_updates():
    """One launch for many tensors, or one for each: the formula is one."""
    for dtype in (nbgrad.float32, nbgrad.float64, nbgrad.bfloat16):
        found, _ = stepped(optim.AdamW, parameters(SHAPES, "cuda", dtype), amsgrad=True)
        expected, _ = stepped(optim.AdamW, parameters(SHAPES, "cuda", dtype), amsgrad=True, foreach=False)
        assert_near(found, expected, 0)


@on_gpus
def test_complex_parameters():
    """As on the CPU: Adam takes them for pairs."""
    random = np.random.default_rng(0)
    values = [random.normal(size=shape) + 1j * random.normal(size=shape) for shape in [(3,), (700,)]]
    for kind in (optim.SGD, optim.Adam):
        ends = []
        for device in ("cuda", "cpu"):
            params = [nbgrad.tensor(x, dtype=nbgrad.complex64, device=device, requires_grad=True) for x in values]
            optimizer = kind(params, lr=0.1)
            for _ in range(3):
                for p, x in zip(params, values):
                    p.grad = nbgrad.tensor(x * x, dtype=nbgrad.complex64, device=device)
                optimizer.step()
            ends.append([nbgrad.view_as_real(p.detach().cpu()) for p in params])
        assert_near(*ends, 2e-6)


@on_gpus
def test_parameters_that_lie_otherwise():
    """Transposed ones, slices of a larger tensor, and misaligned ones; gradients in another order than their parameter."""
    ends = []
    for device in ("cuda", "cpu"):
        random = np.random.default_rng(0)

        def made(*shape, device=device, random=random):
            return nbgrad.tensor(random.normal(size=shape), dtype=nbgrad.float32).to(device)

        base = made(8, 9)
        params = [made(5, 7).t(), base[1:4, 2:5], made(4097)[1:], made(6, 6), made(33)]
        params = [p.detach().requires_grad_() for p in params]
        optimizer = optim.Adam(params, lr=0.1)
        for _ in range(3):
            for p in params:
                p.grad = made(*p.shape)
            params[3].grad = made(6, 6).t()
            optimizer.step()
        ends.append([*params, base])
    assert_near(*ends, 2e-6)


@on_gpus
def test_launches_of_two_hundred_tensors():
    """Adam takes three of them, one tensor after the other two hundred; SGD two."""
    for kind, foreach, expected in [(optim.Adam, None, 3), (optim.Adam, False, 200), (optim.SGD, None, 2), (optim.SGD, True, 2)]:
        params = parameters([(7,)] * 200, "cuda")
        optimizer = kind(params, lr=0.1, foreach=foreach)
        give_gradients(params, 1)
        optimizer.step()
        assert launches(optimizer.step) == expected


@on_gpus
def test_mixed_dtypes_are_grouped():
    """A launch for each dtype, whatever the order."""
    params = [p for k in range(6) for p in parameters([(5,)], "cuda", (nbgrad.float32, nbgrad.bfloat16, nbgrad.float64)[k % 3], k)]
    optimizer = optim.SGD(params, lr=0.1, momentum=0.5)
    give_gradients(params, 1)
    optimizer.step()
    assert launches(optimizer.step) == 3


@two_gpus
def test_devices_are_updated_one_by_one():
    """Parameters of two GPUs and the CPU in one group."""
    params = [p for k, where in enumerate(("cuda:0", "cuda:1", "cpu") * 2) for p in parameters([(4,)], where, seed=k)]
    expected = [p for k in range(6) for p in parameters([(4,)], "cpu", seed=k)]
    stepped(optim.Adam, params)
    stepped(optim.Adam, expected)
    assert_near(params, expected, 2e-6)
    assert [str(p.device) for p in params[:3]] == ["cuda:0", "cuda:1", "cpu"]


@on_gpus
def test_tensors_on_another_device_are_refused():
    """A state, and what is written at all: both devices are named, nothing has changed."""
    for here, there in (("cuda:0", "cpu"), ("cpu", "cuda:0")):
        (p,) = parameters([(3,)], here)
        before = p.tolist()
        optimizer = optim.Adam([p], lr=0.1)
        give_gradients([p], 1)
        optimizer.state[p].update(step=1, exp_avg=nbgrad.zeros(3, device=there), exp_avg_sq=nbgrad.zeros(3, device=here))
        with pytest.raises(DeviceError, match=f"output 0 is on {here}, output 1 on {there}; expected one device. Hint"):
            optimizer.step()
        with pytest.raises(DeviceError, match=f"output 0 is on {here}, input 0 on {there}"):
            fused_update(lambda scalar, p, g: p - g, [p], [nbgrad.ones(3, device=there)])
        assert p.tolist() == before


@on_gpus
def test_parameters_that_share_memory():
    """One after the other, as they stand."""
    ends = []
    for device in ("cuda", "cpu"):
        base = nbgrad.tensor([1.0, 2.0, 3.0, 4.0], device=device)
        params = [base.detach()[:3].requires_grad_(), base.detach()[1:].requires_grad_()]
        optimizer = optim.SGD(params, lr=0.5, weight_decay=0.5)
        for p in params:
            p.grad = nbgrad.ones(3, device=device)
        optimizer.step()
        ends.append([base])
    assert_near(*ends, 1e-6)


@on_gpus
def test_a_step_is_seen_by_the_version_counter():
    """A graph recorded before the step refuses to use the parameters after it."""
    params = parameters([(3,), (4,)], "cuda")
    y = sum((p * p).sum() for p in params)
    give_gradients(params, 1)
    optim.SGD(params, lr=0.1).step()
    with pytest.raises(RuntimeError, match="was modified in place"):
        y.backward()


def test_options_that_exclude_each_other():
    """In torch's way: fused and foreach, and a tensor as a learning rate of foreach without capturable."""
    p = nbgrad.ones(2, requires_grad=True)
    for kind in (optim.SGD, optim.Adam, optim.AdamW):
        with pytest.raises(NotSupportedError, match="fused and foreach cannot be True together"):
            kind([p], foreach=True, fused=True)
        with pytest.raises(RangeError, match="lr has 2 elements, expected a number or a tensor of one"):
            kind([p], lr=nbgrad.tensor([0.1, 0.2]))
        group = kind([p], foreach=False).param_groups[0]
        assert (group["foreach"], group["fused"], group["differentiable"]) == (False, None, False)
    with pytest.raises(RangeError, match="lr is a tensor, which foreach=True takes with capturable=True alone"):
        optim.Adam([p], lr=nbgrad.tensor(0.1), foreach=True)


# ---- capturable --------------------------------------------------------------------------------------------------------


@on_gpus
@pytest.mark.parametrize("options", ADAM)
@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("foreach", [None, pytest.param(False, marks=pytest.mark.slow)])
def test_steps_counted_on_the_gpu(kind, options, foreach):
    """The same numbers as with steps counted on the host, to a rounding; the count is a tensor."""
    for dtype, rounding in ((nbgrad.float64, 1e-12), (nbgrad.bfloat16, 4e-2), (nbgrad.float32, 2e-6)):
        found, there = stepped(kind, parameters(SHAPES, "cuda", dtype), 5, capturable=True, foreach=foreach, **options)
        expected, _ = stepped(kind, parameters(SHAPES, "cpu", dtype), 5, **options)
        assert_near(found, expected, rounding)
    steps = [there.state[p]["step"] for p in found]
    assert {(step.item(), step.dtype, str(step.device)) for step in steps} == {(5.0, nbgrad.float32, "cuda:0")}


@on_gpus
def test_counts_of_steps_are_kept_and_loaded():
    """From the host to the GPU and back, also where parameters have half precision."""
    params, first = stepped(optim.Adam, parameters([(3,)], "cuda", nbgrad.bfloat16), 300, capturable=False)
    second = optim.Adam(params, lr=0.1, capturable=True)
    second.load_state_dict({**first.state_dict(), "param_groups": second.state_dict()["param_groups"]})
    give_gradients(params, 1)
    second.step()
    assert second.state[params[0]]["step"].item() == 301
    third = optim.Adam(params, lr=0.1)
    third.load_state_dict({**second.state_dict(), "param_groups": third.state_dict()["param_groups"]})
    third.step()
    assert third.state[params[0]]["step"] == 302


@on_gpus
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
@pytest.mark.parametrize("foreach", [None, False])
def test_a_learning_rate_on_the_gpu(kind, foreach):
    """It may change without a wait."""
    rate = nbgrad.tensor(0.1, device="cuda")
    params, expected = parameters(SHAPES, "cuda"), parameters(SHAPES, "cpu")
    options = {} if kind is optim.SGD else {"capturable": True}
    optimizer = kind(params, lr=rate, weight_decay=0.1, foreach=foreach, **options)
    same = kind(expected, lr=0.1, weight_decay=0.1)
    for k in range(4):
        rate.mul_(0.5)
        same.param_groups[0]["lr"] *= 0.5
        for each, by in ((params, optimizer), (expected, same)):
            give_gradients(each, k)
            by.step()
    assert_near(params, expected, 2e-6)


@on_gpus
def test_a_step_in_a_cuda_graph():
    """Each replay is the next step, by the learning rate that the tensor holds then."""
    rate = nbgrad.tensor(0.1, device="cuda")
    params, same = parameters(SHAPES, "cuda"), parameters(SHAPES, "cuda")
    for each in (params, same):
        give_gradients(each, 1)
    optimizer = optim.Adam(params, lr=rate, capturable=True)
    eager = optim.Adam(same, lr=nbgrad.tensor(0.1, device="cuda"), capturable=True)
    optimizer.step()
    eager.step()
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        optimizer.step()
    for k in range(5):
        if k == 3:
            rate.fill_(0.01)
            eager.param_groups[0]["lr"].fill_(0.01)
        g.replay()
        eager.step()
    assert_near(params, same, 0)
    assert optimizer.state[params[0]]["step"].item() == 6


# Of each the options that numbers of its steps follow from.
COUNTED = {
    "Adamax": {"weight_decay": 0.1},
    "NAdam": {"momentum_decay": 0.5, "decoupled_weight_decay": True, "weight_decay": 0.1},
    "RAdam": {"betas": (0.9, 0.99), "maximize": True},  # the variance is known from the sixth step on
    "ASGD": {"lambd": 0.5, "t0": 3.0},
    "RMSprop": {"momentum": 0.5, "centered": True},
}


@on_gpus
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind in ("Adamax", "RMSprop") else ()) for kind in COUNTED]
)
def test_capturable_relatives_in_a_cuda_graph(kind):
    """Eager steps, replays, and a step counted on the host behind them are those of the CPU; what they count is in the state."""
    make, options = getattr(optim, kind), COUNTED[kind]
    found, expected = parameters([(3, 5), (7,)], "cuda"), parameters([(3, 5), (7,)], "cpu")
    rate = nbgrad.tensor(0.1, device="cuda")
    there, here = make(found, lr=rate, capturable=True, **options), make(expected, lr=0.1, **options)
    g = cuda.CUDAGraph()
    for k in range(9):
        if k == 6:  # as a scheduler does
            rate.fill_(0.05)
            here.param_groups[0]["lr"] = 0.05
        give_gradients(expected, k)
        here.step()
        for p, like in zip(found, expected):
            p.grad = nbgrad.empty_like(p) if p.grad is None else p.grad
            p.grad.copy_(like.grad)
        if k == 2:
            with cuda.graph(g):
                there.step()
        if 2 <= k < 8:
            g.replay()
        elif k < 2:
            there.step()
        else:
            state, there = there.state_dict(), make(found, lr=0.05, **options)
            there.load_state_dict({**state, "param_groups": there.state_dict()["param_groups"]})
            there.step()
        assert_near(found, expected, 5e-6)
    for p, q in zip(found, expected):
        assert {name: pytest.approx(x, 1e-6) for name, x in here.state[q].items() if not isinstance(x, nbgrad.Tensor)} == {
            name: there.state[p][name] for name, x in here.state[q].items() if not isinstance(x, nbgrad.Tensor)
        }


@on_gpus
def test_what_a_cuda_graph_would_freeze_is_refused():
    """A step that is counted on the host, and a state that is yet to be made; the parameters are as they were."""
    for kind, options, reason in [
        (optim.Adam, {}, "the number of the step would be the same in each replay"),
        (optim.Adam, {"capturable": True}, "the state of a parameter would be made again by each replay"),
        (optim.SGD, {"momentum": 0.9}, "the state of a parameter would be made again by each replay"),
    ]:
        params = parameters([(3,)], "cuda")
        before = params[0].tolist()
        give_gradients(params, 1)
        optimizer = kind(params, lr=0.1, **options)
        with pytest.raises(GraphError, match=rf"{kind.__name__}.step: {reason}.*Hint: "), cuda.graph(cuda.CUDAGraph()):
            optimizer.step()
        assert params[0].tolist() == before


@on_gpus
def test_capturable_is_of_gpus():
    """A parameter on the CPU is refused by the step, as in torch."""
    params = parameters([(3,)], "cpu")
    give_gradients(params, 1)
    for kind in (optim.Adam, optim.NAdam, optim.Rprop):
        with pytest.raises(DeviceError, match=rf"{kind.__name__}: capturable=True, and a parameter is on cpu"):
            kind(params, capturable=True).step()
