"""Go on with a curve that was measured in part: a Gaussian process that learns its own kernel.

    python examples/gaussian_process.py [--device auto] [--steps 300] [--seed 0] [--picture examples/gaussian_process.png]

A Gaussian process says how alike the values at two places are, by a kernel; here by one for a slow trend, and one for what comes
back every period. What they are is decided by the likelihood of the measurements y,

    log p(y) = -1/2 y' K^-1 y - 1/2 log det K - n/2 log 2 pi,

of which gradients are taken through the Cholesky factor of K. After that, what is to be expected elsewhere, and how sure that is,
is a triangular system. All is in float64, since K is nearly singular where places are close.
"""

from __future__ import annotations

import math

from matplotlib import pyplot as plt
from training import begin, counted, options_of

import nbgrad
from nbgrad import nn, optim


class Process(nn.Module):
    """A process whose positive quantities are learnt by their logarithms."""

    def __init__(self, **guesses: float):
        super().__init__()
        self.logs = nn.ParameterDict({name: nn.Parameter(nbgrad.tensor(math.log(x)).double()) for name, x in guesses.items()})

    def quantity(self, name: str) -> nbgrad.Tensor:
        return self.logs[name].exp()

    def kernel(self, a: nbgrad.Tensor, b: nbgrad.Tensor) -> nbgrad.Tensor:
        """How alike values at places ``a (n,)`` and ``b (m,)`` are: ``(n, m)``."""
        between = a.unsqueeze(1) - b
        trend = self.quantity("height") * nbgrad.exp(-0.5 * (between / self.quantity("length")).square())
        phase = nbgrad.sin(math.pi * between / self.quantity("period")) / self.quantity("smoothness")
        return trend + self.quantity("swing") * nbgrad.exp(-2 * phase.square())

    def factor(self, x: nbgrad.Tensor) -> nbgrad.Tensor:
        """The Cholesky factor of the covariance of measurements at places ``x``."""
        noise = self.quantity("noise") * nbgrad.eye(len(x), dtype=x.dtype, device=x.device)
        return nbgrad.linalg.cholesky(self.kernel(x, x) + noise)

    def log_likelihood(self, x: nbgrad.Tensor, y: nbgrad.Tensor) -> nbgrad.Tensor:
        factor = self.factor(x)
        white = nbgrad.linalg.solve_triangular(factor, y.unsqueeze(1), upper=False)
        return -0.5 * white.square().sum() - factor.diagonal().log().sum() - 0.5 * len(x) * math.log(2 * math.pi)

    @nbgrad.no_grad()
    def foretell(self, x: nbgrad.Tensor, y: nbgrad.Tensor, at: nbgrad.Tensor) -> tuple[nbgrad.Tensor, nbgrad.Tensor]:
        """Mean and standard deviation of measurements at places ``at``, if they are ``y`` at places ``x``."""
        factor = self.factor(x)
        white = nbgrad.linalg.solve_triangular(factor, nbgrad.cat([y.unsqueeze(1), self.kernel(x, at)], 1), upper=False)
        mean = white[:, 1:].T @ white[:, 0]
        variance = self.quantity("height") + self.quantity("swing") + self.quantity("noise") - white[:, 1:].square().sum(0)
        return mean, variance.sqrt()


def main() -> None:
    """Measure a curve up to 6, learn what kind of curve it is, foretell it up to 10."""
    parser = options_of(__doc__, "gaussian_process.png")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--points", type=int, default=120)
    program = begin(parser)
    options, device, console = program.options, program.device, program.console

    def curve(x: nbgrad.Tensor) -> nbgrad.Tensor:
        return nbgrad.sin(0.6 * x) + 0.5 * nbgrad.sin(2 * math.pi * x / 0.8) + 0.2 * nbgrad.cos(4 * math.pi * x / 0.8)

    x = 6 * nbgrad.rand(options.points, dtype=nbgrad.float64, device=device)
    y = curve(x) + 0.15 * nbgrad.randn_like(x)
    process = Process(height=1.0, length=1.0, swing=1.0, period=0.75, smoothness=1.0, noise=0.1).to(device)
    optimizer = optim.Adam(process.parameters(), lr=0.03)

    @program.compiled
    def step() -> nbgrad.Tensor:
        optimizer.zero_grad()
        likelihood = process.log_likelihood(x, y)
        (-likelihood).backward()
        optimizer.step()
        return likelihood.detach()

    likelihoods = []
    for _ in counted(console, "steps", options.steps):
        likelihoods.append(step())
    for name in process.logs:
        console.print(f"{name:10s} {process.quantity(name).item():.4f}")

    at = nbgrad.linspace(0, 10, 400, dtype=nbgrad.float64, device=device)
    mean, width = (each.cpu() for each in process.foretell(x, y, at))
    error = (mean - curve(at).cpu())[240:].square().mean().sqrt().item()  # where nothing was measured

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=(1, 2))
    left.plot(range(1, options.steps + 1), nbgrad.stack(likelihoods).tolist())
    left.set(xlabel="step", title="log-likelihood of the measurements")
    right.fill_between(at.cpu(), mean - 2 * width, mean + 2 * width, alpha=0.25, label="two standard deviations")
    right.plot(at.cpu(), mean, label="expected")
    right.plot(at.cpu(), curve(at).cpu(), "k:", linewidth=1, label="the curve")
    right.plot(x.cpu(), y.cpu(), "k.", markersize=3, label="measurements")
    right.legend(fontsize=8, loc="lower left")
    program.end(figure, f"period {process.quantity('period').item():.4f} (of the curve: 0.8), error {error:.3f}")


if __name__ == "__main__":
    main()
