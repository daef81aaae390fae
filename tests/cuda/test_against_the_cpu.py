"""Calls whose result depends on how operands lie or what numbers are beside them: a GPU's are the CPU's."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.nn import functional as F

from .emulation import on_gpus

pytestmark = on_gpus


def same(call, *tensors):
    """Assert that a call gives the same on both devices, and that what it writes to its operands is the same."""
    there = [x.cuda() for x in tensors]
    here = [x.clone() for x in tensors]
    want, got = call(*here), call(*there)
    for a, b in zip((want, *here), (got, *there)):
        if isinstance(a, nbgrad.Tensor):
            assert a.dtype is b.dtype and a.cpu().tolist() == b.cpu().tolist()


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (3, 1, 2), (2, 1, 1), (1, 1, 1), (4, 1, 3, 1)])
def test_positions_in_sizes_of_one(shape):
    """The quotient by 1 is the number, wherever the dimension is; masks, too."""
    x = (nbgrad.arange(nbgrad.ones(shape).numel()) % 3 > 0).reshape(shape)
    same(lambda x: x.nonzero(), x)
    same(lambda x: nbgrad.stack(x.nonzero(as_tuple=True)), x)
    same(lambda x, y: y[x], x, nbgrad.arange(x.numel()).reshape(shape))


NUMBERS = {
    "clamp": lambda x, n: x.clamp(n, 2),
    "gt": lambda x, n: x > n,
    "eq": lambda x, n: x == n,
    "floor_divide": lambda x, n: n // (x + 1),
    "remainder": lambda x, n: x % n,
    "threshold": lambda x, n: F.threshold(x, n, 2),
    "0-d": lambda x, n: nbgrad.maximum(x, nbgrad.tensor(n, device=x.device)),
    "two of 0-d": lambda x, n: x.clamp(nbgrad.tensor(n, device=x.device), nbgrad.tensor(5, device=x.device)),
    "in place": lambda x, n: x.clone().clamp_(min=n).add_(n),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "dtype, number", [("uint8", -2), ("uint8", 300), ("int8", 200), ("int16", 1 << 17 | 5), ("int32", 1 << 31 | 3)]
)
def test_numbers_beside_narrow_integers(name, dtype, number):
    """They wrap around as the tensor's elements would, though kernels compute in int64."""
    same(lambda x: NUMBERS[name](x, number), nbgrad.tensor([0, 1, 3, 100]).to(getattr(nbgrad, dtype)))


MARKED = {
    "mul_": lambda x, y: x.conj().mul_(1j),
    "add_": lambda x, y: x.conj().add_(y),
    "copy_": lambda x, y: x.conj().copy_(y),
    "copy_ of what is marked": lambda x, y: x.conj().copy_(y.conj()),
    "fill_": lambda x, y: x.conj().fill_(2j),
    "negative": lambda x, y: x.mH[0].neg_(),
    "masked_fill_": lambda x, y: x.conj().masked_fill_(y.real > 1, 4j),
    "addcmul_": lambda x, y: x.mH.addcmul_(y, y),
    "imaginary": lambda x, y: x.conj().imag.add_(2),
    "imaginary, clamped": lambda x, y: x.conj().imag.clamp_(-1, 1),
    "imaginary, an element": lambda x, y: x.conj().imag.__setitem__((0, 1), 9.0),
    "imaginary, drawn": lambda x, y: x.conj().imag.uniform_(generator=nbgrad.Generator(x.device).manual_seed(1)),
    "a slice": lambda x, y: x.conj().__setitem__(slice(1, 2), y[:1]),
    "cumsum_": lambda x, y: x.conj().cumsum_(0),
    "both marks": lambda x, y: x.conj().imag.copy_(y.conj().imag),
}


@pytest.mark.parametrize("name", MARKED)
def test_writes_to_what_is_lazily_conjugated(name):
    """The memory has the conjugate, or the negative, of what was written."""
    x = nbgrad.complex(nbgrad.arange(4.0), nbgrad.arange(4.0) - 2).reshape(2, 2)
    same(MARKED[name], x, x.flip(0) * 3 + 1)
    if "imaginary" not in name and name != "both marks":
        same(lambda x, y: MARKED[name](x, y), x.to(nbgrad.complex128), x.to(nbgrad.complex128) * 2)


def test_gradients_of_such_writes():
    """They go through the conjugate."""

    def gradient(x):
        x = x.detach().requires_grad_()
        y = x * 2
        y.conj().mul_(1j).imag.add_(1)
        (y.abs().square() * nbgrad.arange(4.0, device=x.device)).sum().backward()
        return x.grad

    same(gradient, nbgrad.complex(nbgrad.arange(4.0), nbgrad.arange(4.0) - 2))
