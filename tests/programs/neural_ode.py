"""A network that is a vector field, integrated by Runge and Kutta's method, learns a spiral."""

import numpy as np

import nbgrad as torch
import nbgrad.nn as nn
import nbgrad.optim as optim

rng = np.random.default_rng(6)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def odeint(func, y, times):
    states = [y]
    for t, after in zip(times[:-1], times[1:]):
        h = after - t
        k1 = func(t, y)
        k2 = func(t + h / 2, y + h * k1 / 2)
        k3 = func(t + h / 2, y + h * k2 / 2)
        k4 = func(after, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(y)
    return torch.stack(states)


def train(steps):
    times = torch.linspace(0.0, 2.0, 21, dtype=torch.float64)
    true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], dtype=torch.float64)
    true_y0 = torch.tensor([[2.0, 0.0]], dtype=torch.float64)
    with torch.no_grad():
        true_y = odeint(lambda t, y: torch.mm(y**3, true_A), true_y0, times)
    func = ODEFunc().double()
    with torch.no_grad():
        for p in func.parameters():
            if p.dim() > 1:
                p.copy_(torch.from_numpy(rng.normal(0, 0.1, tuple(p.shape))))
    optimizer = optim.RMSprop(func.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        start = torch.from_numpy(rng.choice(16, 4, replace=False))
        y0, target = true_y[start], torch.stack([true_y[start + i] for i in range(5)], dim=0)
        optimizer.zero_grad()
        loss = torch.mean(torch.abs(odeint(func, y0, times[:5]) - target))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
