"""Learn how much to distrust each pixel: implicit differentiation of an optimum.

    python examples/implicit.py [--device auto] [--steps 40] [--seed 0] [--picture examples/implicit.png]

A linear classifier tells threes from eights. Its weights w are the optimum of a loss with a decay for each of the 64 pixels,

    w(decay) = argmin over w of  loss(w) + 1/2 sum of decay_k w_k^2,

found by Newton's method. How well w does on other images depends on the decays, and they are learnt by the gradient of that.
Nothing goes back through Newton's steps: at the optimum the slope of the loss is zero whatever the decays are, so that its
derivative is zero too, H dw + d(slope) = 0, and the gradient needs one linear system with the Hessian (the implicit function
theorem). A custom ``Function`` is the place to say so; slopes and Hessians are ``nbgrad.func``'s.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from digits import Digits, load, split
from matplotlib import pyplot as plt
from training import HERE, begin, counted, options_of

import nbgrad
from nbgrad import nn, optim
from nbgrad.func import grad, hessian, vjp

Loss = Callable[[nbgrad.Tensor, nbgrad.Tensor], nbgrad.Tensor]


class Optimum(nbgrad.Function):
    """The ``w`` at which ``loss(w, theta)`` is least, as a function of ``theta``; the search begins at ``start``."""

    @staticmethod
    def forward(ctx, loss: Loss, start: nbgrad.Tensor, theta: nbgrad.Tensor) -> nbgrad.Tensor:
        w = start
        for _ in range(20):
            step = nbgrad.linalg.solve(hessian(loss)(w, theta), grad(loss)(w, theta))
            w = w - step
            if step.abs().max() < 1e-9:
                break
        ctx.loss = loss
        ctx.save_for_backward(w, theta)
        return w

    @staticmethod
    def backward(ctx, g: nbgrad.Tensor) -> tuple[None, None, nbgrad.Tensor]:
        w, theta = ctx.saved_tensors
        v = nbgrad.linalg.solve(hessian(ctx.loss)(w, theta), g)
        _, pull = vjp(lambda theta: grad(ctx.loss)(w, theta), theta)
        return None, None, -pull(v)[0]


def error_of(w: nbgrad.Tensor, data: Digits) -> nbgrad.Tensor:
    """The mean logistic loss of weights ``(64,)``; labels are 0 and 1."""
    return nn.functional.binary_cross_entropy_with_logits(data.images @ w, data.labels)


def threes_and_eights(data: Digits, count: int | None = None) -> Digits:
    """They alone, in float64, with labels 0 and 1."""
    chosen = (data.labels == 3) | (data.labels == 8)
    images, labels = data.images[chosen][:count], data.labels[chosen][:count]
    return Digits(images.double() - 0.5, (labels == 8).double())


def main() -> None:
    """Learn the decays on one part of the images, test on another."""
    parser = options_of(__doc__, "implicit.png")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--images", type=int, default=60, help="that the classifier is trained with; as many decide on the decays")
    program = begin(parser)
    options, device, console = program.options, program.device, program.console

    train, test = (part.to(device) for part in split(*load(HERE / "data" / "digits.csv.gz"), options.seed))
    both, test = threes_and_eights(train, 2 * options.images), threes_and_eights(test)
    train, other = (Digits(both.images[part], both.labels[part]) for part in (slice(0, None, 2), slice(1, None, 2)))

    def loss(w: nbgrad.Tensor, logs: nbgrad.Tensor) -> nbgrad.Tensor:
        return error_of(w, train) + 0.5 * (logs.exp() * w * w).sum()

    w = nbgrad.zeros(64, dtype=nbgrad.float64, device=device)
    logs = nbgrad.full_like(w, np.log(1e-2)).requires_grad_()
    optimizer = optim.Adam([logs], lr=0.2)
    history = []
    for _ in counted(console, "steps", options.steps):
        optimizer.zero_grad()
        w = Optimum.apply(loss, w.detach(), logs)
        error = error_of(w, other)
        error.backward()
        optimizer.step()
        history.append((error.item(), error_of(w.detach(), test).item()))

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", width_ratios=(3, 2, 2))
    for errors, label in zip(zip(*history, strict=True), ("images that decide", "test images"), strict=True):
        left.plot(range(options.steps), errors, label=label)
    left.set(xlabel="step", title="logistic loss")
    left.legend()
    for axes, values, title in ((middle, logs, "log of the decay"), (right, w, "weights: eights are dark")):
        shown = axes.imshow(values.detach().cpu().numpy().reshape(8, 8), cmap="viridis" if values is logs else "gray_r")
        figure.colorbar(shown, ax=axes)
        axes.set(title=title)
        axes.set_axis_off()
    program.end(figure, f"test loss {history[-1][1]:.3f}, at first {history[0][1]:.3f}")


if __name__ == "__main__":
    main()
