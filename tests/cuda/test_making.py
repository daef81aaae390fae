"""Factories on a GPU: sequences made there have the CPU's bits, and pinned memory is the CPU's."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.dispatch.device_lowerings import fallbacks
from nbgrad.kernels.cuda.driver import card

from .emulation import on_gpus

DTYPES = ["int64", "int32", "int16", "uint8", "bool", "float32", "float64", "float16", "bfloat16", "complex64"]


def assert_same(found, expected):
    """On a GPU, and bit for bit what the CPU has."""
    assert found.device.type == "cuda" and (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.cpu()._storage_.array.tobytes() == expected._storage_.array.tobytes(), (found, expected)


def compare(factory, *args, dtype):
    """A factory on both devices: one result, or one error."""
    dtype = getattr(nbgrad, dtype)
    try:
        expected = factory(*args, dtype=dtype)
    except nbgrad.errors.NbgradError as error:
        with pytest.raises(type(error)) as caught:
            factory(*args, dtype=dtype, device="cuda")
        assert str(caught.value) == str(error)
    else:
        assert_same(factory(*args, dtype=dtype, device="cuda"), expected)


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
def test_sequences(dtype):
    """Whole and broken steps, up and down, none and one element; beyond 32 bits; more than a block."""
    for args in ((5,), (0,), (3, 400, 7), (1.5, 900.2, 0.3), (0.1, 0.2, 0.5), (10, -100, -3), (1, 2, 0)):
        compare(nbgrad.arange, *args, dtype=dtype)
    for args in ((0, 1, 5), (-0.3, 1.7, 1001), (3, 100, 1), (2, 2, 0), (0, 100, 17), (-0.0, 0.0, 3), (0, 1, -1)):
        compare(nbgrad.linspace, *args, dtype=dtype)
    for args in ((3, 5), (5, 3), (0, 2), (4,), (-1,)):
        compare(nbgrad.eye, *args, dtype=dtype)


@on_gpus
def test_long_sequences_and_large_numbers():
    """Those for which the CPU has kernels, and numbers beyond 32 and 53 bits."""
    for args in ((20_000,), (2**40, 2**40 + 9, 2), (-(2**62), 2**62, 2**61)):
        compare(nbgrad.arange, *args, dtype="int64")
    for args in ((0, 1, 20_000), (0, 2**60 + 1, 7)):
        compare(nbgrad.linspace, *args, dtype="float64")
    compare(nbgrad.logspace, 0, 3, 7, dtype="float64")


@on_gpus
def test_sequences_are_made_on_the_gpu():
    """Nothing is copied, and nothing runs on the host."""
    make = lambda: (nbgrad.arange(9, device="cuda"), nbgrad.linspace(0, 1, 9, device="cuda"), nbgrad.eye(3, device="cuda"))
    before, host = card(0).copies, sum(fallbacks.values())
    made = make()
    assert (card(0).copies, sum(fallbacks.values())) == (before, host)
    assert [x.requires_grad for x in made] == [False] * 3 and nbgrad.eye(2, device="cuda", requires_grad=True).requires_grad


@on_gpus
def test_integers_without_sign():
    """Of 64 bits, whose highest an int64 would show as a sign: they are made, computed and ordered as on the CPU."""
    large = 2**64 - 1
    compare(nbgrad.full, (2,), large, dtype="uint64")
    x = nbgrad.tensor([5, large, 0, 2**63, 2**63 - 1], dtype=nbgrad.uint64)
    for call in (
        lambda x: x // 3 + (x > 7),
        lambda x: x.amax(),
        lambda x: x.argmin(),
        lambda x: x.argsort(),
        lambda x: x.double(),
        lambda x: (x.double() / 2).to(nbgrad.uint64),
        lambda x: x.reshape(1, 5) @ x,
    ):
        assert_same(call(x.cuda()), call(x))


FACTORIES = {
    "zeros": lambda **how: nbgrad.zeros(3, **how),
    "ones": lambda **how: nbgrad.ones(3, 2, **how),
    "empty": lambda **how: nbgrad.empty(4, **how),
    "empty_strided": lambda **how: nbgrad.empty_strided((2, 3), (1, 2), **how),
    "full": lambda **how: nbgrad.full((2,), 3.0, **how),
    "scalar_tensor": lambda **how: nbgrad.scalar_tensor(3, **how),
    "tensor": lambda **how: nbgrad.tensor([1.0, 2.0], **how),
    "arange": lambda **how: nbgrad.arange(4, **how),
    "linspace": lambda **how: nbgrad.linspace(0, 1, 4, **how),
    "logspace": lambda **how: nbgrad.logspace(0, 1, 3, **how),
    "eye": lambda **how: nbgrad.eye(3, **how),
    "tril_indices": lambda **how: nbgrad.tril_indices(3, 3, **how),
    "rand": lambda **how: nbgrad.rand(3, **how),
    "randn": lambda **how: nbgrad.randn(3, **how),
    "randint": lambda **how: nbgrad.randint(0, 3, (3,), **how),
    "randperm": lambda **how: nbgrad.randperm(5, **how),
    "normal": lambda **how: nbgrad.normal(0.0, 1.0, (3,), **how),
    "zeros_like": lambda **how: nbgrad.zeros_like(nbgrad.ones(2), **how),
    "empty_like": lambda **how: nbgrad.empty_like(nbgrad.ones(3, 2).t(), **how),
    "full_like": lambda **how: nbgrad.full_like(nbgrad.ones(2), 3, **how),
    "rand_like": lambda **how: nbgrad.rand_like(nbgrad.ones(2), **how),
    "new_zeros": lambda **how: nbgrad.ones(2).new_zeros(3, **how),
    "new_full": lambda **how: nbgrad.ones(2).new_full((2,), 3.0, **how),
    "new_tensor": lambda **how: nbgrad.ones(2).new_tensor([3.0], **how),
    "new_empty_strided": lambda **how: nbgrad.ones(2).new_empty_strided((2,), (1,), **how),
}


@on_gpus
@pytest.mark.parametrize("name", FACTORIES)
def test_pinned_memory(name):
    """``pin_memory=True`` gives the same tensor in pinned memory; on a GPU there is none."""
    make = FACTORIES[name]
    nbgrad.manual_seed(0)
    plain = make()
    nbgrad.manual_seed(0)
    pinned = make(pin_memory=True)
    assert pinned.is_pinned() and not plain.is_pinned() and pinned.layout is plain.layout
    if "empty" not in name:
        assert pinned.tolist() == plain.tolist()
    with pytest.raises(nbgrad.DeviceError, match="the tensor is on cuda:0, expected one on the CPU"):
        make(pin_memory=True, device="cuda")


@on_gpus
def test_pinned_leaves():
    """They may require grad, and their copies to the GPU are not waited for."""
    x = nbgrad.ones(3, pin_memory=True, requires_grad=True)
    assert x.is_leaf and x.requires_grad and x.is_pinned()
    (x.to("cuda", non_blocking=True) * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0] * 3


def test_pinned_memory_needs_a_gpu():
    """Without one there is nothing that would fetch from it."""
    if not nbgrad.cuda.is_available():
        with pytest.raises(nbgrad.DeviceError, match="zeros: device cuda is not available"):
            nbgrad.zeros(3, pin_memory=True)


@on_gpus
@pytest.mark.parametrize("name, options", [("normal_", ()), ("trunc_normal_", ()), ("kaiming_uniform_", ()), ("sparse_", (0.5,))])
def test_initial_values_are_drawn_where_the_tensor_is(name, options):
    """By that device's generator, given or not: the numbers that the CPU's draws from the same seed."""
    fill, found = getattr(nbgrad.nn.init, name), []
    for device in ("cpu", "cuda"):
        for generator in (nbgrad.Generator(device).manual_seed(3), None):
            nbgrad.manual_seed(3)
            found.append(fill(nbgrad.empty(4, 3, device=device), *options, generator=generator))
            assert found[-1].device.type == device
    assert all(nbgrad.equal(x.cpu(), found[0]) for x in found)


@on_gpus
def test_distances_are_made_of_some_rows_at_a_time(monkeypatch):
    """With their gradients of two orders as on the CPU, and none that runs there."""
    from nbgrad.lowering import distances

    def found(device):
        x, y = (nbgrad.arange(n * 6.0, dtype=nbgrad.float64).sin().reshape(2, n, 3).to(device).requires_grad_() for n in (5, 4))
        out = nbgrad.cdist(x, y)
        first = nbgrad.grad((out * out.detach()).sum(), (x, y), create_graph=True)
        return [out, *first, *nbgrad.grad(sum((g * g).sum() for g in first), (x, y))]

    expected, host = found("cpu"), sum(fallbacks.values())
    for at_once in (60, 1 << 24):
        monkeypatch.setattr(distances, "AT_ONCE", at_once)
        assert all(g.device.type == "cuda" and g.cpu().allclose(e) for g, e in zip(found("cuda"), expected))
    assert nbgrad.cdist(nbgrad.ones(0, 3, device="cuda"), nbgrad.ones(2, 3, device="cuda")).shape == (0, 2)
    assert sum(fallbacks.values()) == host
