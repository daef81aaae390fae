"""Learn how a pendulum moves from noisy measurements: a neural ODE, whose right side is a network.

    python examples/neural_ode.py [--device auto] [--steps 600] [--seed 0] [--picture examples/neural_ode.png]

The state of the pendulum is its angle and its speed; its derivative is a function of the state, which is not known: a network
takes its place. Runge's and Kutta's method walks along it, and what is minimised is the distance between the walk and the
measurements, so that gradients go through the integrator. Its loop is ``nbgrad.scan``: captured once, run as one native call, and
differentiated by another loop that goes back. With ``--unrolled``, and on a GPU, the walk is a loop of Python.
(``nbgrad.integrate.odeint`` has methods that choose their steps, and the adjoint.)
"""

from __future__ import annotations

from collections.abc import Callable

from matplotlib import pyplot as plt
from training import begin, counted, draw_losses, options_of

import nbgrad
from nbgrad import nn, optim

Field = Callable[[nbgrad.Tensor], nbgrad.Tensor]


def pendulum(state: nbgrad.Tensor) -> nbgrad.Tensor:
    """The truth: a pendulum with friction, for states ``(..., 2)`` of angle and speed."""
    angle, speed = state.unbind(-1)
    return nbgrad.stack([speed, -angle.sin() - 0.15 * speed], -1)


class Network(nn.Module):
    """The derivative of states ``(..., 2)``, to be learnt."""

    def __init__(self, hidden: int = 48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, state: nbgrad.Tensor) -> nbgrad.Tensor:
        return self.net(state)


def after(field: Field, y: nbgrad.Tensor, h: float) -> nbgrad.Tensor:
    """One step of Runge's and Kutta's method of the fourth order."""
    k1 = field(y)
    k2 = field(y + h / 2 * k1)
    k3 = field(y + h / 2 * k2)
    k4 = field(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def walk(field: Field, start: nbgrad.Tensor, h: float, steps: int, unrolled: bool = False) -> nbgrad.Tensor:
    """States ``(steps, n, 2)`` after each step, from ``start (n, 2)`` on."""
    if unrolled:
        states = [start]
        for _ in range(steps):
            states.append(after(field, states[-1], h))
        return nbgrad.stack(states[1:])

    def step(y: nbgrad.Tensor, _: None) -> tuple[nbgrad.Tensor, nbgrad.Tensor]:
        y = after(field, y, h)
        return y, y

    return nbgrad.scan(step, start, length=steps)[1]


def main() -> None:
    """Measure, learn, then foretell how other pendulums move, for twice as long."""
    parser = options_of(__doc__, "neural_ode.png")
    parser.add_argument("--steps", type=int, default=600, help="of the training")
    parser.add_argument("--length", type=int, default=40, help="steps of a walk, a tenth of a second each")
    parser.add_argument("--unrolled", action="store_true", help="walk in a loop of Python")
    program = begin(parser)
    options, device, console = program.options, program.device, program.console
    unrolled = options.unrolled or device.type != "cpu"  # scan's loops are programs for the CPU

    def somewhere(count: int) -> nbgrad.Tensor:
        return (2 * nbgrad.rand(count, 2, device=device) - 1) * nbgrad.tensor([2.0, 1.0], device=device)

    starts = somewhere(32)
    measured = walk(pendulum, starts, 0.1, options.length, unrolled=True)
    measured = measured + 0.05 * nbgrad.randn_like(measured)
    network = Network().to(device)
    optimizer = optim.Adam(network.parameters(), lr=1e-2)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)

    @program.compiled
    def step() -> nbgrad.Tensor:
        optimizer.zero_grad()
        loss = (walk(network, starts, 0.1, options.length, unrolled) - measured).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for _ in counted(console, "steps", options.steps):
        losses.append(step())
        scheduler.step()
    losses = nbgrad.stack(losses).tolist()

    with nbgrad.no_grad():
        new = somewhere(8)
        true, foretold = (walk(field, new, 0.1, 2 * options.length, unrolled=True).cpu() for field in (pendulum, network))
    error = (foretold - true).square().mean().sqrt().item()

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    draw_losses(left, "step", {"loss (the noise alone: 0.0025)": (range(1, len(losses) + 1), losses)}, "mean squared error")
    for k in range(true.shape[1]):
        right.plot(*foretold[:, k].numpy().T, f"C{k}")
        right.plot(*true[:, k].numpy().T, "k:", linewidth=1)
    right.set(xlabel="angle", ylabel="speed", title="new pendulums, as foretold (dotted: as they move)")
    program.end(figure, f"error {error:.3f} of what was foretold")


if __name__ == "__main__":
    main()
