"""A Gaussian process whose length, scale and noise are learned by the likelihood; its predictions."""

import math

import numpy as np

import nbgrad as torch
from nbgrad import nn
from nbgrad.distributions import MultivariateNormal

rng = np.random.default_rng(8)


class GP(nn.Module):
    def __init__(self):
        super().__init__()
        for name, value in (("raw_length", 0.5), ("raw_scale", 0.0), ("raw_noise", -1.0)):
            self.register_parameter(name, nn.Parameter(torch.tensor(value, dtype=torch.float64)))
        self.mean = nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def kernel(self, a, b):
        length, scale = nn.functional.softplus(self.raw_length), nn.functional.softplus(self.raw_scale)
        return scale * torch.exp(-0.5 * torch.cdist(a / length, b / length).pow(2))

    def covariance(self, x):
        return self.kernel(x, x) + nn.functional.softplus(self.raw_noise) * torch.eye(len(x), dtype=x.dtype)

    def log_likelihood(self, x, y):
        return MultivariateNormal(self.mean.expand(len(x)), self.covariance(x)).log_prob(y)

    @torch.no_grad()
    def predict(self, x, y, at):
        L = torch.linalg.cholesky(self.covariance(x))
        k = self.kernel(x, at)
        mean = self.mean + k.T @ torch.cholesky_solve((y - self.mean).unsqueeze(-1), L).squeeze(-1)
        v = torch.linalg.solve_triangular(L, k, upper=False)
        return mean, self.kernel(at, at).diagonal() - v.pow(2).sum(0)


def train(steps):
    x = torch.from_numpy(np.sort(rng.uniform(0, 1, (20, 1)), axis=0))
    y = torch.sin(2 * math.pi * x[:, 0]) + torch.from_numpy(rng.normal(0, 0.1, 20))
    model = GP()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -model.log_likelihood(x, y) / len(x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    mean, variance = model.predict(x, y, torch.linspace(0, 1, 5, dtype=torch.float64).unsqueeze(-1))
    return losses + mean.tolist() + variance.tolist()
