"""Coupling layers that carry a normal distribution to two moons."""

import numpy as np

import nbgrad as torch
from nbgrad import distributions, nn

rng = np.random.default_rng(7)


class RealNVP(nn.Module):
    def __init__(self, nets, nett, masks, prior):
        super().__init__()
        self.prior = prior
        self.register_buffer("mask", masks)
        self.t = nn.ModuleList([nett() for _ in range(len(masks))])
        self.s = nn.ModuleList([nets() for _ in range(len(masks))])

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp


def moons(count):
    angle, upper = rng.uniform(0, np.pi, count), rng.integers(2, size=count)
    points = np.where(upper, [np.cos(angle), np.sin(angle)], [1 - np.cos(angle), 0.5 - np.sin(angle)]).T
    return torch.from_numpy(points + rng.normal(0, 0.05, points.shape))


def train(steps):
    nets = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2), nn.Tanh())
    nett = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2))
    masks = torch.from_numpy(np.array([[0.0, 1.0], [1.0, 0.0]] * 2))
    prior = distributions.MultivariateNormal(torch.zeros(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64))
    flow = RealNVP(nets, nett, masks, prior).double()
    with torch.no_grad():
        for p in flow.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.2, tuple(p.shape))))
    optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad], lr=5e-3)
    losses = []
    for _ in range(steps):
        loss = -flow.log_prob(moons(32)).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        losses.append(loss.item())
    return losses
