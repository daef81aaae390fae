"""Solve Burgers' equation by a network that is trained on nothing but the equation (a PINN).

    python examples/pinn.py [--device auto] [--steps 4000] [--seed 0] [--picture examples/pinn.png]

The network is the unknown function u(x, t), which should obey

    u_t + u u_x = nu u_xx,    u(x, 0) = -sin(pi x),    u(-1, t) = u(1, t) = 0

with nu = 0.01 / pi: a wave that steepens into a shock. No solution is shown to it. The loss is how far the equation is from being
true at random points, so the network's derivatives are a part of the loss, and training differentiates them once more: forward mode
through forward mode, and backward mode through both. The step that does all this is compiled, and becomes one native call.
"""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from training import begin, counted, draw_losses, options_of

import nbgrad
from nbgrad import nn, optim
from nbgrad.func import jvp

NU = 0.01 / np.pi


class Field(nn.Module):
    """A function u of points ``x, t (n, 1)`` that is as it should be at t = 0 and at the walls, whatever its parameters are."""

    def __init__(self, width: int = 32, layers: int = 3):
        super().__init__()
        hidden = [layer for _ in range(layers - 1) for layer in (nn.Linear(width, width), nn.Tanh())]
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), *hidden, nn.Linear(width, 1))

    def forward(self, x: nbgrad.Tensor, t: nbgrad.Tensor) -> nbgrad.Tensor:
        return t * (1 - x * x) * self.net(nbgrad.cat([x, 2 * t - 1], 1)) - nbgrad.sin(np.pi * x)


def residual(u: Field, x: nbgrad.Tensor, t: nbgrad.Tensor) -> nbgrad.Tensor:
    """By how much ``u`` misses the equation at points ``(n, 1)``; less so where it is steep, or the shock would be all that counts.

    A row of the result depends on its own row of ``x`` alone, so that the derivatives of all rows are one product of the Jacobian
    and ones: ``jvp``, which computes them beside the values.
    """
    one = nbgrad.ones_like(x)

    def slope(x: nbgrad.Tensor) -> tuple[nbgrad.Tensor, nbgrad.Tensor]:
        return jvp(lambda x: u(x, t), (x,), (one,))

    (value, u_x), (_, u_xx) = jvp(slope, (x,), (one,))
    _, u_t = jvp(lambda t: u(x, t), (t,), (one,))
    return (u_t + value * u_x - NU * u_xx) / (1 + 0.2 * u_x.detach().abs())


def exact(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Cole's and Hopf's solution, an integral over a normal distribution, by Gauss's and Hermite's rule."""
    nodes, weights = np.polynomial.hermite.hermgauss(100)
    y = x[..., None] - np.sqrt(4 * NU * np.maximum(t, 1e-9))[..., None] * nodes
    exponent = -np.cos(np.pi * y) / (2 * np.pi * NU)
    heights = weights * np.exp(exponent - exponent.max(-1, keepdims=True))
    return -(heights * np.sin(np.pi * y)).sum(-1) / heights.sum(-1)


def main() -> None:
    """Train, compare with the exact solution, draw both."""
    parser = options_of(__doc__, "pinn.png")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--points", type=int, default=400, help="where a step looks at the equation, new ones in each")
    program = begin(parser)
    options, device, console = program.options, program.device, program.console

    u = Field().to(device)
    optimizer = optim.Adam(u.parameters(), lr=1e-2)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=options.steps)

    @program.compiled
    def step() -> nbgrad.Tensor:
        x = 2 * nbgrad.rand(options.points, 1, device=device) - 1
        t = nbgrad.rand(options.points, 1, device=device)
        optimizer.zero_grad()
        loss = residual(u, x, t).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for _ in counted(console, "steps", options.steps):
        losses.append(step())
        scheduler.step()
    losses = nbgrad.stack(losses).tolist()

    x, t = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(0, 1, 101))
    points = [nbgrad.tensor(each.reshape(-1, 1), dtype=nbgrad.float32, device=device) for each in (x, t)]
    found, true = u(*points).detach().cpu().numpy().reshape(x.shape), exact(x, t)
    error = np.linalg.norm(found - true) / np.linalg.norm(true)

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
    figure.colorbar(left.pcolormesh(t, x, found, cmap="RdBu_r", rasterized=True), ax=left, label="u")
    left.set(xlabel="t", ylabel="x", title="what the network found")
    for row, color in zip((0, 25, 50, 100), ("C0", "C1", "C2", "C3"), strict=True):
        middle.plot(x[row], found[row], color, label=f"t = {t[row, 0]:.2f}")
        middle.plot(x[row], true[row], "k:", linewidth=1)
    middle.set(xlabel="x", ylabel="u", title="beside the exact solution (dotted)")
    middle.legend(fontsize=8)
    draw_losses(right, "step", {"mean squared residual": (range(1, len(losses) + 1), losses)}, "loss")
    program.end(figure, f"relative error {error:.4f}")


if __name__ == "__main__":
    main()
