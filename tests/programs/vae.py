"""A variational autoencoder on small pictures of bars."""

import numpy as np

import nbgrad as torch
from nbgrad import nn, optim
from nbgrad.distributions import Bernoulli, Independent, Normal, kl_divergence

rng = np.random.default_rng(0)


class VAE(nn.Module):
    def __init__(self, pixels=36, hidden=24, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def encode(self, x):
        mean, log_scale = self.encoder(x).chunk(2, dim=-1)
        return Independent(Normal(mean, log_scale.exp()), 1)

    def decode(self, z):
        return Independent(Bernoulli(logits=self.decoder(z)), 1)

    def forward(self, x, eps):
        posterior = self.encode(x)
        z = posterior.mean + posterior.stddev * eps
        prior = Independent(Normal(torch.zeros_like(z), torch.ones_like(z)), 1)
        return self.decode(z), kl_divergence(posterior, prior)


def bars(count):
    images = np.zeros((count, 6, 6))
    for image, place, upright in zip(images, rng.integers(6, size=count), rng.integers(2, size=count)):
        image[(slice(None), place) if upright else place] = 1
    return torch.from_numpy(images.reshape(count, 36))


def train(steps):
    model = VAE().double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.2, tuple(p.shape))))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        x, eps = bars(16), torch.from_numpy(rng.normal(size=(16, 3)))
        optimizer.zero_grad()
        reconstruction, kl = model(x, eps)
        loss = (kl - reconstruction.log_prob(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
