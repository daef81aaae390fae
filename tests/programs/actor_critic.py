"""An actor and a critic on a corridor: walk to its end, before the time is over."""

from collections import namedtuple

import numpy as np

import nbgrad as torch
import nbgrad.nn as nn
import nbgrad.nn.functional as F
import nbgrad.optim as optim
from nbgrad.distributions import Categorical

rng = np.random.default_rng(1)
SavedAction = namedtuple("SavedAction", ["log_prob", "value", "entropy"])


class Corridor:
    """Positions from 0 to 5; the wind moves a walker back now and then."""

    def reset(self):
        self.position, self.time = 2, 0
        return self.observe()

    def observe(self):
        state = np.zeros(7)
        state[self.position], state[6] = 1, self.time / 12
        return state

    def step(self, action):
        self.time += 1
        self.position = int(np.clip(self.position + (1 if action == 1 else -1) - (rng.random() < 0.1), 0, 5))
        done = self.position == 5 or self.time == 12
        return self.observe(), 1.0 if self.position == 5 else -0.1, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(7, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def select_action(model, state):
    probs, value = model(torch.from_numpy(state))
    m = Categorical(probs)
    action = torch.tensor(int(rng.random() < m.probs[1].item()))
    model.saved_actions.append(SavedAction(m.log_prob(action), value, m.entropy()))
    return action.item()


def finish_episode(model, optimizer, gamma=0.9):
    returns, total = [], 0.0
    for r in model.rewards[::-1]:
        total = r + gamma * total
        returns.insert(0, total)
    returns = torch.tensor(returns, dtype=torch.float64)
    returns = (returns - returns.mean()) / (returns.std(unbiased=False) + 1e-6)
    policy_losses, value_losses = [], []
    for (log_prob, value, entropy), target in zip(model.saved_actions, returns):
        advantage = target - value.item()
        policy_losses.append(-log_prob * advantage - 0.01 * entropy)
        value_losses.append(F.smooth_l1_loss(value, target.reshape(1)))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:], model.saved_actions[:]
    return loss.item()


def train(steps):
    model, env = Policy().double(), Corridor()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.3, tuple(p.shape))))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        state, done = env.reset(), False
        while not done:
            state, reward, done = env.step(select_action(model, state))
            model.rewards.append(reward)
        losses.append(finish_episode(model, optimizer))
    return losses
