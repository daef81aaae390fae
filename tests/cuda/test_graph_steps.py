"""Whole training steps as graphs of a GPU: forward, backward, clipping, optimizer and random numbers have the bits of eager steps.
Emulated, in a child.
"""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import cuda, nn, optim
from nbgrad.nn import functional, utils

from .emulation import on_gpus, played_driver

FEW, MANY = 12, 1000  # a learning rate comes to its turn within the few
LAUNCHES, FORWARD = 59, 15  # of a step, and of its forward: fewer are welcome


class Block(nn.Module):
    """A part with a skip connection."""

    def __init__(self, size: int):
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.Linear(2 * size, size)
        self.drop = nn.Dropout(0.25)

    def forward(self, x):
        return x + self.drop(self.second(functional.gelu(self.first(self.norm(x)))))


class Network(nn.Module):
    """Nested modules: an embedding, blocks, classes."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.blocks = nn.Sequential(Block(8), nn.Sequential(Block(8)))
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        return self.out(self.blocks(self.embed(x)).mean(1))


class Training:
    """A network with its optimizer, and memory for a batch."""

    def __init__(self, kind=optim.AdamW, clip=1.0, schedule=None, **options):
        nbgrad.manual_seed(0)
        self.network = Network().cuda()
        rate = 0.01 if schedule is None else nbgrad.tensor(0.01, device="cuda")
        self.optimizer = kind(self.network.parameters(), lr=rate, **options)
        self.scheduler = schedule and schedule(self.optimizer)
        self.x = nbgrad.zeros(4, 3, dtype=nbgrad.int64, device="cuda")
        self.y = nbgrad.zeros(4, dtype=nbgrad.int64, device="cuda")
        self.clip = clip

    def load(self, seed):
        """Another batch."""
        random = np.random.default_rng(seed)
        self.x.copy_(nbgrad.tensor(random.integers(0, 11, (4, 3))))
        self.y.copy_(nbgrad.tensor(random.integers(0, 5, (4,))))

    def step(self):
        """Forward, backward, update; the loss."""
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.network(self.x), self.y)
        loss.backward()
        if self.clip is not None:
            utils.clip_grad_norm_(self.network.parameters(), self.clip)
        self.optimizer.step()
        return loss.detach()

    def run(self, steps, captured):
        """So many steps, the first of them eager; the losses."""
        nbgrad.manual_seed(1)
        losses = []
        for k in range(2):  # the second has all state
            self.load(k)
            losses.append(self.step().item())
            self.go_on()
        if captured:
            self.graph = cuda.CUDAGraph()
            self.optimizer.zero_grad()
            with cuda.graph(self.graph):
                loss = self.step()
        for k in range(2, steps):
            self.load(k)
            if captured:
                self.graph.replay()
            else:
                loss = self.step()
            losses.append(loss.item())
            self.go_on()
        return losses

    def go_on(self):
        """To the next learning rate."""
        if self.scheduler:
            self.scheduler.step()

    def state(self):
        """Parameters and what the optimizer keeps."""
        params = [*self.network.parameters()]
        kept = [value for p in params for value in self.optimizer.state[p].values() if isinstance(value, nbgrad.Tensor)]
        return [x.detach().cpu().numpy() for x in (*params, *kept)]


def assert_same(steps, **options):
    """Losses, parameters and state of captured steps are those of eager ones."""
    captured, eager = Training(**options), Training(**options)
    losses = captured.run(steps, True)
    assert losses == eager.run(steps, False)
    assert len(set(losses)) > steps // 2
    for x, y in zip(captured.state(), eager.state(), strict=True):
        np.testing.assert_array_equal(x, y)


@on_gpus
@pytest.mark.parametrize(
    "options",
    [
        {"capturable": True},
        {"kind": optim.Adam, "capturable": True, "amsgrad": True, "foreach": False},
        {"kind": optim.SGD, "momentum": 0.9, "clip": None},
        {"capturable": True, "schedule": lambda optimizer: optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)},
    ],
    ids=["AdamW", "amsgrad, one after the other", "SGD", "a rate that a scheduler writes to"],
)
def test_captured_steps_have_the_bits_of_eager_ones(options):
    """A dozen steps, each with other data and other random numbers."""
    assert_same(FEW, **options)


def calls(act, *names):
    """How often ``act()`` calls entry points of the driver."""
    driver = played_driver()
    before = [driver.calls.get(name, 0) for name in names]
    act()
    return [driver.calls.get(name, 0) - count for name, count in zip(names, before)]


CALLS = ("cuLaunchKernel", "cuGraphLaunch", "cuMemAllocFromPoolAsync", "cuStreamSynchronize", "cuCtxSynchronize")


@on_gpus
def test_what_a_step_asks_of_the_driver():
    """An eager one launches kernels, as many as were counted, and nothing else; a captured one is one launch."""
    training = Training(capturable=True)
    training.run(3, False)
    launches, *others = calls(training.step, *CALLS)
    assert launches == LAUNCHES and not any(others)
    forward = calls(lambda: training.network(training.x), *CALLS)[0]
    clipping = calls(lambda: utils.clip_grad_norm_(training.network.parameters(), 1.0), *CALLS)[0]
    update = calls(training.optimizer.step, *CALLS)[0]
    assert (forward, clipping, update) == (FORWARD, 6, 2)
    training = Training(capturable=True)
    training.run(2, True)
    assert calls(training.graph.replay, *CALLS) == [0, 1, 0, 0, 0]


@on_gpus
@pytest.mark.slow
def test_a_thousand_captured_steps():
    """The same for a thousand."""
    assert_same(MANY, capturable=True)
