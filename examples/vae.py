"""Learn to write digits by hand: a variational autoencoder of 1,797 small pictures.

    python examples/vae.py [--device auto] [--epochs 80] [--seed 0] [--picture examples/vae.png]

An encoder says for a picture where in a plane it may lie, a decoder says for a place what its picture may look like, both as normal
distributions. What they are trained by is a bound on the likelihood of the pictures,

    log p(x) >= E[log p(x | z)] - KL(q(z | x) || p(z)),

whose expectation takes one sample: ``rsample`` draws it as a function of mean and width, so that gradients go through the draw.
Distributions are those of ``nbgrad.distributions``; the step, draws included, is compiled.
"""

from __future__ import annotations

import numpy as np
from digits import load, split
from matplotlib import pyplot as plt
from training import HERE, begin, counted, options_of

import nbgrad
from nbgrad import nn, optim
from nbgrad.distributions import Independent, Normal, kl_divergence

BATCH = 96


class Autoencoder(nn.Module):
    """Pictures ``(n, 64)`` to distributions over the plane, and places ``(n, 2)`` to distributions over pictures."""

    def __init__(self, pixels: int = 64, hidden: int = 128, latent: int = 2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.SiLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.ink = nn.Sequential(nn.Linear(hidden, pixels), nn.Sigmoid())
        self.log_width = nn.Parameter(nbgrad.tensor(-1.0))  # of the noise of a pixel

    def encode(self, x: nbgrad.Tensor) -> Independent:
        mean, log_width = self.encoder(x).chunk(2, dim=-1)
        return Independent(Normal(mean, log_width.exp()), 1)

    def decode(self, z: nbgrad.Tensor) -> Independent:
        return Independent(Normal(self.ink(self.decoder(z)), self.log_width.exp()), 1)

    def bound(self, x: nbgrad.Tensor) -> nbgrad.Tensor:
        """A bound on log p(x), of each picture ``(n,)``."""
        posterior = self.encode(x)
        z = posterior.rsample()
        prior = Independent(Normal(nbgrad.zeros_like(z), nbgrad.ones_like(z)), 1)
        return self.decode(z).log_prob(x) - kl_divergence(posterior, prior)


def main() -> None:
    """Train, test, and draw what the plane has become."""
    parser = options_of(__doc__, "vae.png")
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--images", type=int, help="how many to train with; all by default")
    program = begin(parser)
    options, device, console = program.options, program.device, program.console

    train, test = (part.to(device) for part in split(*load(HERE / "data" / "digits.csv.gz"), options.seed))
    images = train.images[: len(train.images) // 5][: options.images]  # without those that are shifted
    model = Autoencoder().to(device)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    @program.compiled
    def step(x: nbgrad.Tensor) -> nbgrad.Tensor:
        optimizer.zero_grad()
        bound = model.bound(x).mean()
        (-bound).backward()
        optimizer.step()
        return bound.detach()

    trained, tested = [], []
    for _ in counted(console, "epochs", options.epochs):
        batches = images[nbgrad.randperm(len(images), device=device)].split(BATCH)
        trained.append(nbgrad.stack([step(x) for x in batches]).mean().item())
        with nbgrad.no_grad():
            tested.append(model.bound(test.images).mean().item())

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for bounds, label in ((trained, "training"), (tested, "test")):
        left.plot(range(1, options.epochs + 1), bounds, label=label)
    left.set(xlabel="epoch", title="bound on log p(x), in nats")
    left.legend()
    with nbgrad.no_grad():
        means = model.encode(test.images).mean.cpu().numpy()
        side = Normal(0.0, 1.0).icdf(nbgrad.linspace(0.04, 0.96, 12, device=device))
        places = nbgrad.cartesian_prod(-side, side).flip(1)
        written = model.decode(places).mean.cpu().numpy().reshape(12, 12, 8, 8)
    dots = middle.scatter(*means.T, c=test.labels.cpu().numpy(), cmap="tab10", s=8)
    middle.set(title="where test images lie in the plane", aspect="equal")
    figure.colorbar(dots, ax=middle, ticks=range(10))
    right.imshow(np.block([list(row) for row in written]), cmap="gray_r")
    right.set(title="what is written at places of the plane")
    right.set_axis_off()
    program.end(figure, f"test bound {tested[-1]:.2f} nats a picture")


if __name__ == "__main__":
    main()
