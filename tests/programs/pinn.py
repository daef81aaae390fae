"""A network that solves Burgers' equation, by the residual of its derivatives."""

import numpy as np

import nbgrad as torch
import nbgrad.nn as nn
from nbgrad.autograd import grad

rng = np.random.default_rng(5)
nu = 0.01 / np.pi


class PINN(nn.Module):
    def __init__(self, layers=(2, 16, 16, 1)):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layers, layers[1:])])
        self.activation = nn.Tanh()

    def forward(self, x, t):
        a = torch.cat([x, t], dim=1)
        for linear in self.linears[:-1]:
            a = self.activation(linear(a))
        return self.linears[-1](a)


def residual(model, x, t):
    u = model(x, t)
    u_t = grad(u, t, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True)[0]
    u_x = grad(u, x, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True)[0]
    u_xx = grad(u_x, x, grad_outputs=torch.ones_like(u_x), create_graph=True)[0]
    return u_t + u * u_x - nu * u_xx


def column(low, high, count, requires_grad=False):
    return torch.tensor(rng.uniform(low, high, (count, 1)), dtype=torch.float64, requires_grad=requires_grad)


def train(steps):
    model = PINN().double()
    for p in model.parameters():
        p.data = torch.from_numpy(rng.normal(0, 0.4, tuple(p.shape)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
    x, t = column(-1, 1, 40, True), column(0, 1, 40, True)
    x0, tb = column(-1, 1, 20), column(0, 1, 10)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        start = model(x0, torch.zeros_like(x0)) + torch.sin(np.pi * x0)
        edges = [model(torch.full_like(tb, side), tb) for side in (-1.0, 1.0)]
        loss = residual(model, x, t).pow(2).mean() + start.pow(2).mean() + sum(edge.pow(2).mean() for edge in edges)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses
