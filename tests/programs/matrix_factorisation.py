"""Ratings as products of vectors of users and of things, with biases; batches of a loader, a rate that falls."""

import numpy as np

import nbgrad as torch
from nbgrad import nn
from nbgrad.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(9)


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, n_factors=4):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.item_factors = nn.Embedding(n_items, n_factors)
        self.user_biases = nn.Embedding(n_users, 1)
        self.item_biases = nn.Embedding(n_items, 1)

    def forward(self, user, item):
        pred = self.user_biases(user) + self.item_biases(item)
        pred = pred + (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
        return pred.squeeze()


def train(steps):
    users, items = rng.integers(12, size=200), rng.integers(9, size=200)
    tastes = rng.normal(size=(12, 2)), rng.normal(size=(9, 2))
    ratings = (tastes[0][users] * tastes[1][items]).sum(-1) + rng.normal(0, 0.1, 200)
    dataset = TensorDataset(*map(torch.from_numpy, (users, items, ratings)))
    loader = DataLoader(dataset, batch_size=20, shuffle=False)
    model = MatrixFactorization(12, 9).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.3, tuple(p.shape))))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)
    loss_func, losses = nn.MSELoss(), []
    while len(losses) < steps:
        for user, item, rating in loader:
            loss = loss_func(model(user, item), rating)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    return losses[:steps]
