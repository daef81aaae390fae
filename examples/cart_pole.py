"""Learn to balance a pole on a cart, by trying: reinforcement learning with an actor and a critic.

    python examples/cart_pole.py [--device cpu] [--rounds 250] [--seed 0] [--picture examples/cart_pole.png]

The cart is pushed left or right, 50 times a second; whoever keeps the pole upright for 500 pushes has done it. The world is written
below, in tensors, so that many carts run at once. An actor says how likely a push to the right should be; a critic says how many
more pushes it expects to stand. Pushes after which the pole stood longer than the critic had expected become likelier:

    loss = -log p(push) * (what came - what was expected) + (what was expected - what came)^2 - a little entropy

Nothing differentiates the world itself: the gradient is that of the logarithm (Williams's REINFORCE). A round plays ``--horizon``
pushes of all carts without recording them, then learns from all of them in one batch; a turn and a lesson are each one native call.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from matplotlib import pyplot as plt
from training import begin, counted, options_of

import nbgrad
from nbgrad import nn, optim
from nbgrad.distributions import Categorical

LIMIT = 500  # pushes of a game
DISCOUNT, SMOOTHING = 0.99, 0.95


@nbgrad.no_grad()
def push(state: nbgrad.Tensor, right: nbgrad.Tensor) -> nbgrad.Tensor:
    """States ``(carts, 4)``, place and speed of the cart, angle and angular speed of the pole, a fiftieth of a second later.

    Source: Barto, Sutton and Anderson, 1983; a cart of 1 kg, a pole of 0.1 kg and 1 m, forces of 10 N.
    """
    x, v, angle, spin = state.unbind(1)
    force, sine, cosine = 20.0 * right - 10.0, angle.sin(), angle.cos()
    along = (force + 0.05 * spin**2 * sine) / 1.1
    turning = (9.8 * sine - cosine * along) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    driving = along - 0.05 * turning * cosine / 1.1
    return nbgrad.stack([x + 0.02 * v, v + 0.02 * driving, angle + 0.02 * spin, spin + 0.02 * turning], 1)


class Carts:
    """Games that run beside one another; where one ends, the next begins."""

    def __init__(self, count: int, device: nbgrad.device):
        self.state = 0.1 * nbgrad.rand(count, 4, device=device) - 0.05
        self.pushes = nbgrad.zeros(count, device=device)

    def step(self, right: nbgrad.Tensor) -> tuple[nbgrad.Tensor, nbgrad.Tensor]:
        """Push; which poles fell, and which games ended by that or because all pushes were done: ``(carts,)`` of truth values."""
        after, self.pushes = push(self.state, right), self.pushes + 1
        fell = (after[:, 0].abs() > 2.4) | (after[:, 2].abs() > math.radians(12))
        ended = fell | (self.pushes >= LIMIT)
        self.state = nbgrad.where(ended.unsqueeze(1), 0.1 * nbgrad.rand_like(after) - 0.05, after)
        self.pushes = nbgrad.where(ended, 0.0, self.pushes)
        return fell, ended


class Player(nn.Module):
    """For states ``(..., 4)`` a distribution over the pushes, and the rewards that the critic expects."""

    def __init__(self, hidden: int = 64):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.critic = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, state: nbgrad.Tensor) -> tuple[Categorical, nbgrad.Tensor]:
        return Categorical(logits=self.actor(state)), self.critic(state).squeeze(-1)


class Round(NamedTuple):
    """What ``horizon`` pushes of all carts gave, each ``(horizon, carts, ...)``."""

    states: nbgrad.Tensor
    pushes: nbgrad.Tensor
    fell: nbgrad.Tensor
    ended: nbgrad.Tensor


def gains_of(played: Round, expected: nbgrad.Tensor, at_end: nbgrad.Tensor) -> nbgrad.Tensor:
    """By how much each push was better than expected ``(horizon, carts)``: errors of the critic, those that follow counted less.

    A push is worth 1, and what follows it: nothing where the pole fell, and what was expected where all pushes were done.

    Source: generalised advantage estimation, Schulman and others, 2016.
    """
    following = nbgrad.cat([expected[1:], at_end.unsqueeze(0)])
    following = nbgrad.where(played.fell, 0.0, nbgrad.where(played.ended, expected, following))
    errors = 1 + DISCOUNT * following - expected
    gains, gain = [], nbgrad.zeros_like(at_end)
    for error, ended in zip(reversed(errors.unbind(0)), reversed(played.ended.unbind(0)), strict=True):
        gain = error + DISCOUNT * SMOOTHING * nbgrad.where(ended, 0.0, gain)
        gains.append(gain)
    return nbgrad.stack(gains[::-1])


def main() -> None:
    """Play and learn in turn, then draw how long games lasted, and one game."""
    parser = options_of(__doc__, "cart_pole.png")
    parser.add_argument("--rounds", type=int, default=250)
    parser.add_argument("--carts", type=int, default=32, help="games that run beside one another")
    parser.add_argument("--horizon", type=int, default=32, help="pushes of a round")
    program = begin(parser)
    options, device, console = program.options, program.device, program.console

    carts, player = Carts(options.carts, device), Player().to(device)
    optimizer = optim.Adam(player.parameters(), lr=2e-2)

    @program.compiled
    @nbgrad.no_grad()
    def turn():
        state, right = carts.state, player(carts.state)[0].sample()
        return state, right, *carts.step(right)

    @program.compiled
    def learn(states, pushes, fell, ended, at_end):
        optimizer.zero_grad()
        policy, expected = player(states)
        with nbgrad.no_grad():
            gains = gains_of(Round(states, pushes, fell, ended), expected, player(at_end)[1])
            target, gains = expected + gains, gains / (gains.std() + 1e-6)
        loss = -(policy.log_prob(pushes) * gains).mean() + (expected - target).square().mean() - 0.01 * policy.entropy().mean()
        loss.backward()
        optimizer.step()

    survived = []
    for _ in counted(console, "rounds", options.rounds):
        played = Round(*map(nbgrad.stack, zip(*[turn() for _ in range(options.horizon)], strict=True)))
        learn(*played, carts.state)
        survived.append(played.ended.numel() / (1 + played.ended.sum().item()))

    # A last game of 100 new carts, in which nobody draws: the likelier push is taken.
    last, angles, standing = Carts(100, device), [], nbgrad.ones(100, dtype=nbgrad.bool, device=device)
    lasted = nbgrad.zeros(100, device=device)
    with nbgrad.no_grad():
        for _ in range(LIMIT):
            angles.append(last.state[0, 2].item())
            fell, _ = last.step(player(last.state)[0].probs[:, 1] > 0.5)
            standing &= ~fell
            lasted += standing

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    left.semilogy(range(1, options.rounds + 1), survived)
    left.set(xlabel="round", title="pushes, for each game that ended")
    right.plot([0.02 * k for k in range(len(angles))], [math.degrees(angle) for angle in angles])
    right.set(xlabel="seconds", ylim=(-12, 12), title="angle of the pole in the last game, in degrees")
    program.end(figure, f"{lasted.mean().item():.0f} of {LIMIT} pushes in the mean")


if __name__ == "__main__":
    main()
