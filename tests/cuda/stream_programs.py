"""Random programs over streams, events, views, writes, hooks and two GPUs, to be run there and on the CPU."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad
from nbgrad import cuda

SIZE = 6
STEPS = 14


class OnCpu:
    """Runs a program on the CPU, where streams are nothing.

    Attributes:
        values: tensors that there are, each on its GPU.
        leaves: those that gradients are of.
        random: of the program: every machine makes the same choices.
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.leaves: list[Any] = []
        self.values: list[tuple[Any, int]] = []
        self.results: list[Any] = []

    # ---- what differs ------------------------------------------------------------------------------------------------------

    def made(self, array: np.ndarray, device: int) -> Any:
        """A tensor of an array."""
        return nbgrad.tensor(array)

    def run(self, stream: int, device: int, reads: list, writes: list, act: Callable[[], Any], wait: int) -> Any:
        """Do something on a stream that waits for what made the tensors which it reads, and for who uses those that it writes."""
        return act()

    def moved(self, x: Any, device: int) -> Any:
        """A tensor on a GPU."""
        return x.clone()

    def backward(self, stream: int, act: Callable[[], Any]) -> Any:
        """Run a pass from a stream."""
        return act()

    # ---- programs ----------------------------------------------------------------------------------------------------------

    def play(self) -> list[np.ndarray]:
        """Run the program; gradients and values at its end."""
        for k in range(3):
            leaf = self.made(self.numbers.uniform(0.5, 1.5, SIZE).astype(np.float32), k % 2)
            leaf.requires_grad_(True)
            self.leaves.append(leaf)
            self.values.append((leaf, k % 2))
        for _ in range(self.random.choice((1, 2))):
            for _ in range(STEPS):
                self.step()
            self.differentiate()
            if self.random.random() < 0.5:
                del self.values[3:]
        return [self.array(x) for x in [*self.results, *(leaf.grad for leaf in self.leaves)] if x is not None]

    def array(self, x: Any) -> np.ndarray:
        return x.detach().cpu().numpy().copy()

    def step(self) -> None:
        """One operation."""
        choice = self.random
        kind = choice.choice(("mul", "mul", "add", "sin", "view", "write", "write view", "move", "drop", "hook", "same"))
        x, device = choice.choice(self.values)
        y = choice.choice([each for each, at in self.values if at == device])
        stream, wait, number = choice.randrange(3), choice.randrange(2), choice.uniform(0.5, 1.5)
        made: Any = None
        if kind == "mul":
            made = self.run(stream, device, [x, y], [], lambda: x * y, wait)
        elif kind == "add":
            made = self.run(stream, device, [x, y], [], lambda: x + y * number, wait)
        elif kind == "same":  # one cotangent for both
            made = self.run(stream, device, [x, y], [], lambda: x + y, wait)
        elif kind == "sin":
            made = self.run(stream, device, [x], [], lambda: (x * number).sin(), wait)
        elif kind == "view":
            made = self.run(stream, device, [x], [], lambda: x.view(2, 3).t().reshape(SIZE), wait)
        elif kind == "write" and not x.is_leaf:
            self.run(stream, device, [y], [x], lambda: x.mul_(y) if x is not y else x.add_(number), wait)
        elif kind == "write view" and not x.is_leaf:
            self.run(stream, device, [], [x], lambda: x.view(2, 3).mul_(number), wait)
        elif kind == "move":
            made = self.run(stream, device, [x], [], lambda: self.moved(x, 1 - device), wait)
            device = 1 - device
        elif kind == "drop" and len(self.values) > 5:
            self.values.pop(choice.randrange(3, len(self.values)))
        elif kind == "hook" and x.requires_grad:
            x.register_hook(lambda g: g * number)
        if made is not None:
            self.values.append((made, device))

    def differentiate(self) -> None:
        """A pass."""
        choice = self.random
        roots = [x for x, _ in self.values if x.requires_grad and not x.is_leaf]
        if not roots:
            return
        root, stream, kind = choice.choice(roots), choice.randrange(3), choice.choice(("backward", "grad", "twice"))
        scale = choice.uniform(0.5, 1.5)

        def seed() -> Any:
            return nbgrad.full_like(root.detach(), scale)

        keep, twice = choice.random() < 0.3, kind == "twice"
        if kind == "backward":
            self.backward(stream, lambda: root.backward(seed(), retain_graph=keep))
            return
        found = self.backward(
            stream,
            lambda: nbgrad.grad(root, self.leaves, seed(), retain_graph=keep or twice, create_graph=twice, allow_unused=True),
        )
        self.results += found
        again = [g for g in found if g is not None and g.requires_grad]
        if twice and again:
            g = again[0]
            self.backward(stream, lambda: g.backward(nbgrad.ones_like(g.detach()), retain_graph=True))


class OnGpus(OnCpu):
    """Runs a program on two GPUs, each with its default stream and two others.

    Attributes:
        users: by memory the streams that have touched it, by number.
    """

    def __init__(self, seed: int):
        super().__init__(seed)
        self.streams = [[cuda.default_stream(k), cuda.Stream(k), cuda.Stream(k)] for k in range(2)]
        self.users: dict[int, set[int]] = {}
        self.kept: list[Any] = []  # storages, so that no two have one number
        self.last: int | None = None  # the stream of the last pass

    def made(self, array, device):
        x = nbgrad.tensor(array).to(f"cuda:{device}")
        self.touch(x, 0)
        return x

    def touch(self, x, stream):
        self.users.setdefault(id(x._storage_), set()).add(stream)
        self.kept.append(x._storage_)

    def order(self, stream, device, others, wait):
        """Let a stream wait for others."""
        own = self.streams[device][stream]
        for other in others:
            if other != stream and wait:
                own.wait_stream(self.streams[device][other])
            elif other != stream:
                own.wait_event(self.streams[device][other].record_event())

    def run(self, stream, device, reads, writes, act, wait):
        for x in (*reads, *writes):
            self.order(stream, device, sorted(self.users.get(id(x._storage_), ())), wait)
        with cuda.stream(self.streams[device][stream]):
            made = act()
        for x in (*reads, *writes):
            self.touch(x, stream)
        if made is not None:
            self.touch(made, stream if made.device.index == device else 0)
        return made

    def moved(self, x, device):
        return x.to(f"cuda:{device}")

    def backward(self, stream, act):
        if self.last is not None:
            for device in range(2):
                self.order(stream, device, [self.last], True)
        self.last = stream
        with cuda.stream(self.streams[0][stream]), cuda.stream(self.streams[1][stream]):
            return act()

    def array(self, x):
        device = x.device.index
        with cuda.stream(self.streams[device][self.last or 0]):
            return super().array(x)


def outcome(machine: OnCpu) -> Any:
    """What a program gives: arrays, or the kind of its error."""
    try:
        return machine.play()
    except nbgrad.errors.GradError as error:
        return type(error)
