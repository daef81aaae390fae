"""Recurrent layers on a GPU: what they are on the CPU, to a few roundings. Emulated, in a child."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn.utils import rnn

from .emulation import launches, on_gpus


def assert_near(found, expected):
    """The same numbers, to a few roundings."""
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@on_gpus
@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU])
def test_layers_of_the_cpu(make):
    """Outputs and gradients of packed sequences, in both directions; nothing runs on the CPU in its place."""
    layer, x = make(2, 3, bidirectional=True), nbgrad.randn(3, 2, 2)
    packed = rnn.pack_padded_sequence(x, [2, 3], enforce_sorted=False)
    expected = layer(packed)[0].data
    expected.square().sum().backward()
    grads = [p.grad for p in layer.parameters()]
    before = dict(nbgrad.cuda.host_fallbacks())
    layer.zero_grad()
    found = layer.cuda()(packed.to("cuda"))[0].data
    found.square().sum().backward()
    assert_near(found, expected)
    for p, grad in zip(layer.parameters(), grads):
        assert_near(p.grad, grad)
    assert nbgrad.cuda.host_fallbacks() == before


@on_gpus
def test_a_step_is_a_product_and_a_kernel():
    """A step more of an LSTM is no more than a product and one kernel, whatever the number of its gates."""
    layer = nn.LSTM(2, 3).cuda()

    def count(steps: int) -> int:
        x = nbgrad.zeros(steps, 1, 2, device="cuda")
        with nbgrad.no_grad():
            layer(x)
            return launches(lambda: layer(x))

    assert count(7) - count(3) <= 4 * 3  # a library may take two launches for a product and its bias
