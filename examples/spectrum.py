"""Fit the lines of a spectrum by LBFGS, and say how sure their places, widths and heights are.

    python examples/spectrum.py [--device auto] [--lines 6] [--seed 0] [--picture examples/spectrum.png]

A nonlinear fit of few parameters is no case for thousands of small steps: LBFGS learns the curvature from the gradients that it
meets, and its line search asks for the loss as often as it needs, by a closure. At the minimum the inverse of the Hessian
(``func.hessian``) is the covariance of the parameters, on whose diagonal their squared errors stand: the derivative of a
derivative, for one call.
"""

from __future__ import annotations

from matplotlib import pyplot as plt
from training import begin, counted, options_of

import nbgrad
from nbgrad import optim
from nbgrad.func import hessian

NOISE = 0.02


def spectrum(lines: nbgrad.Tensor, x: nbgrad.Tensor) -> nbgrad.Tensor:
    """Lorentz's lines ``(n, 3)``, each with its place and the logarithms of width and height, summed at ``x (m,)``."""
    place, width, height = lines[:, 0:1], lines[:, 1:2].exp(), lines[:, 2:3].exp()
    return (height / (1 + ((x - place) / width).square())).sum(0)


def guessed(x: nbgrad.Tensor, y: nbgrad.Tensor, count: int) -> nbgrad.Tensor:
    """The highest places of a spectrum, one after the other, each as a line that is then taken away."""
    rows, rest = [], y.clone()
    for _ in range(count):
        top = rest.argmax()
        rows.append(nbgrad.stack([x[top], nbgrad.full_like(x[top], -2.5), rest[top].clamp(min=0.05).log()]))
        rest = rest - spectrum(rows[-1].unsqueeze(0), x)
    return nbgrad.stack(rows)


def main() -> None:
    """Draw a spectrum, fit it, compare with what it was made of."""
    parser = options_of(__doc__, "spectrum.png")
    parser.add_argument("--lines", type=int, default=6)
    parser.add_argument("--points", type=int, default=800)
    parser.add_argument("--steps", type=int, default=40, help="of LBFGS, with up to 20 evaluations each")
    program = begin(parser)
    options, device, console = program.options, program.device, program.console

    x = nbgrad.linspace(0, 10, options.points, dtype=nbgrad.float64, device=device)
    drawn = nbgrad.rand(options.lines, 3, dtype=x.dtype, device=device)
    places = 1 + 8 * (nbgrad.arange(options.lines, device=device) + 0.7 * drawn[:, 0]) / options.lines
    true = nbgrad.stack([places, -2.5 + drawn[:, 1], -1 + drawn[:, 2]], 1)
    y = spectrum(true, x) + NOISE * nbgrad.randn_like(x)

    def loss(lines: nbgrad.Tensor) -> nbgrad.Tensor:
        return 0.5 * ((spectrum(lines, x) - y) / NOISE).square().sum()

    lines = guessed(x, y, options.lines).requires_grad_()
    optimizer = optim.LBFGS([lines], line_search_fn="strong_wolfe")
    values = []

    @program.compiled
    def value_and_gradient() -> nbgrad.Tensor:
        optimizer.zero_grad()
        value = loss(lines)
        value.backward()
        return value.detach()

    def closure() -> nbgrad.Tensor:
        values.append(value_and_gradient().item())
        return nbgrad.tensor(values[-1])

    for _ in counted(console, "steps", options.steps):
        before = len(values)
        optimizer.step(closure)
        if values[before] - values[-1] < 1e-6:
            break

    found = lines.detach()[lines[:, 0].argsort()]
    covariance = nbgrad.linalg.inv(hessian(loss)(found).reshape(found.numel(), -1))
    errors = covariance.diagonal().sqrt().reshape(-1, 3)
    for row, error, truth in zip(found.tolist(), errors.tolist(), true.tolist(), strict=True):
        console.print(f"line at {row[0]:.4f} ± {error[0]:.4f} (is at {truth[0]:.4f})")
    off = ((found - true) / errors).square().mean().sqrt().item()

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", width_ratios=(2, 1))
    left.plot(x.cpu(), y.cpu(), "k.", markersize=2, label="measured")
    left.plot(x.cpu(), spectrum(found, x).cpu(), "C1", label="fitted")
    left.legend()
    right.semilogy(range(1, len(values) + 1), values)
    right.set(xlabel="evaluation", title="loss")
    program.end(figure, f"parameters are {off:.2f} of their standard errors off, {len(values)} evaluations")


if __name__ == "__main__":
    main()
