"""Mixed precision on a GPU: torch's lists for CUDA, and training steps with a scaled loss. Emulated, in a child."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import NotSupportedError

from .emulation import on_gpus

F = nn.functional
FULL, HALF = nbgrad.float32, nbgrad.float16


def x(*shape, dtype=HALF):
    """Ones."""
    return nbgrad.ones(shape, dtype=dtype, device="cuda")


@on_gpus
def test_dtypes_of_results():
    """Products in the half type, in float32 what overflows in it, the widest dtype where several tensors meet."""
    with nbgrad.autocast("cuda"):
        for result, expected in (
            (x(2, 2, dtype=FULL) @ x(2, 2), HALF),
            (x(3) ** 2, FULL),
            (x(3).sum(), FULL),
            (F.layer_norm(x(2, 2), (2,)), FULL),
            (F.mse_loss(x(2), x(2)), FULL),
            (nbgrad.addcmul(x(2), x(2), x(2, dtype=FULL)), FULL),
            (x(3).relu(), HALF),
            (nbgrad.ones(2, 2) @ nbgrad.ones(2, 2), FULL),  # of the CPU
        ):
            assert result.dtype is expected
        with pytest.raises(NotSupportedError, match="binary_cross_entropy: refused inside of autocast"):
            F.binary_cross_entropy(x(2), x(2))


@on_gpus
def test_training_with_a_scaled_loss():
    """The loss falls, weights stay float32, and the scale that was too great has fallen."""
    nbgrad.manual_seed(0)
    model = nn.Linear(4, 3).cuda()
    optimizer, scaler = nbgrad.optim.SGD(model.parameters(), lr=0.5), nbgrad.cuda.amp.GradScaler(init_scale=2.0**20)
    inputs, targets = nbgrad.randn(6, 4).cuda(), nbgrad.arange(6).cuda() % 3
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        with nbgrad.cuda.amp.autocast():
            loss = F.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0] and scaler.get_scale() < 2.0**20
    assert {p.dtype for p in model.parameters()} == {FULL}
