"""Losses of paths through the classes of a target: what ``ctc_loss`` is made of.

NOTE [Paths]: ``x`` are logarithms of probabilities, ``(steps, n, classes)``. A path goes through *states*, ``path`` has the class
of each, ``(n, states)``: those of the target, with blanks around each. From step to step it stays, goes to the next state, or past
a blank between two different classes. It begins in one of the first two states, and ends in one of the last two. ``lengths``,
``(2, n)``, says how many steps and how many states each sequence has. A loss is minus the logarithm of the sum of all paths'
probabilities, infinity without one.

The cotangent of ``x`` is minus the share that paths have which are in a state at a step: their sum of the way there, and of the
way back. It keeps nothing of the way there, but goes it again.

Source: Graves et al., "Connectionist Temporal Classification", 2006.
"""

from __future__ import annotations

import math
from typing import Any

from ..base.calls import CALLS
from .core import composite, general
from .expr import scalar

__all__ = ["IMPOSSIBLE", "NEVER", "losses_in_steps"]

# The logarithm of 0 in sums: finite, so that no difference of two of them is NaN; and what a loss exceeds that is made of it.
NEVER, IMPOSSIBLE = -1e30, 1e29


class Ways:
    """What both ways through the states have in common.

    Attributes:
        path, index: of the states; the latter broadcasts to ``(steps, n, states)``.
        scores: of all states at all steps, a list.
        barrier: 0 where a path may go past a blank to a state, else NEVER.
        place: of a state, counted from 0. never: NEVER for each.
        steps, states: how many each sequence has, ``(n, 1)``.
    """

    def __init__(self, x, path, lengths, blank):
        count, samples, _ = x.layout.shape
        states = path.layout.shape[1]
        self.path, self.index = path, scalar.expand_shape(path, (count, samples, states))
        self.scores = scalar.unbind(scalar.gather(x, 2, self.index).clamp(min=NEVER), 0)
        counted = scalar.fill(path, 1)
        self.place = counted.cumsum(1) - 1
        self.never = scalar.fill(scalar.select(x, 2, 0).sum(0).unsqueeze(1).expand(samples, states), NEVER)
        first, later = scalar.slice(path, 1, 0, states - 2, 1), scalar.slice(path, 1, 2, states, 1)
        skips = (later != blank) & (later != first)
        passed = scalar.where(skips, 0.0, scalar.slice(self.never, 1, 2, states, 1))
        self.barrier = CALLS["cat"]([scalar.slice(self.never, 1, 0, 2, 1), passed], 1)
        self.steps, self.states = (scalar.unsqueeze(scalar.select(lengths, 0, k), 1) for k in range(2))

    def there(self) -> list:
        """For each step how all paths that are in a state after it have scored; before the first they are in the first state."""
        own, made = scalar.where(self.place == 0, 0.0, self.never), list[Any]()
        two = scalar.slice(self.never, 1, 0, 1, 1)
        for t, score in enumerate(self.scores):
            padded, count = CALLS["cat"]([two, two, own], 1), self.never.layout.shape[1]
            further = scalar.path_score(
                own, scalar.slice(padded, 1, 1, count + 1, 1), scalar.slice(padded, 1, 0, count, 1), self.barrier, score
            )
            own = scalar.where(self.steps > t, further, own)
            made.append(own)
        return made

    def back(self) -> list:
        """For each step how all that goes on from a state has scored, that step included."""
        ends = scalar.where((self.place < self.states) & (self.place >= self.states - 2), 0.0, self.never)
        own, made, count = self.never, list[Any](), self.never.layout.shape[1]
        two = scalar.slice(self.never, 1, 0, 1, 1)
        later = scalar.slice(CALLS["cat"]([self.barrier, two, two], 1), 1, 2, count + 2, 1)
        for t, score in reversed([*enumerate(self.scores)]):
            padded = CALLS["cat"]([own, two, two], 1)
            further = scalar.path_score(
                own, scalar.slice(padded, 1, 1, count + 1, 1), scalar.slice(padded, 1, 2, count + 2, 1), later, score
            )
            own = scalar.where(self.steps - 1 == t, ends + score, further)
            made.insert(0, own)
        return made

    def loss(self, last):
        """The losses, by what has scored after the last step; more than IMPOSSIBLE where there is no path."""
        at_end = scalar.gather(last, 1, self.states - 1)
        before = scalar.gather(last, 1, (self.states - 2).clamp(min=0))
        before = scalar.where((self.states > 1) & (self.steps > 0), before, NEVER)
        return -scalar.squeeze_dim(scalar.logaddexp(at_end, before), 1)


def losses_in_steps(x, path, lengths, blank):
    """``path_losses`` in other operations; of what is a kernel's, the memory that it uses, there is none."""
    ways = Ways(x, path, lengths, blank)
    made = ways.there()
    losses = ways.loss(made[-1] if made else scalar.where(ways.place == 0, 0.0, ways.never))
    return scalar.where(losses > IMPOSSIBLE, math.inf, losses), scalar.slice(x, 0, 0, 0, 1)


def cotangents_in_steps(g, x, path, lengths, loss, blank):
    """``path_cotangents`` in other operations."""
    if not x.layout.numel or not x.layout.shape[0]:
        return scalar.fill(x, 0.0), scalar.slice(x, 0, 0, 0, 1)
    ways = Ways(x, path, lengths, blank)
    there, back = ways.there(), ways.back()
    loss, shares = scalar.unsqueeze(loss, 1), list[Any]()
    possible = loss < IMPOSSIBLE
    for t, (before, after, score) in enumerate(zip(there, back, ways.scores)):
        counts = possible & (ways.steps > t) & (ways.place < ways.states)
        total = scalar.where(counts, before + after - score + loss, NEVER)
        shares.append(scalar.exp(total) * -scalar.unsqueeze(g, 1))
    made = scalar.gather_backward(CALLS["stack"](shares, 0), x.layout.shape, 2, ways.index)
    return made, scalar.slice(x, 0, 0, 0, 1)


HIDDEN: dict = {"method": False, "function": False, "out": False, "public": "ctc_loss", "batched": "looped"}

general(
    "path_losses",
    lambda x, path, lengths, blank: x,
    {"x": lambda g, x, path, lengths, out, blank: scalar.path_cotangents(g, x, path, lengths, out, blank)[0]},
    operands=("x", "path", "lengths"),
    outputs=2,
    second="memory",
    node="CtcLossBackward0",
    doc="Minus the logarithms of the probabilities of all paths through states: NOTE [Paths] of ops/paths.py; and memory.",
    **HIDDEN,
)
general(
    "path_cotangents",
    lambda g, x, path, lengths, loss, blank: g,
    operands=("g", "x", "path", "lengths", "loss"),
    outputs=2,
    in_steps=cotangents_in_steps,
    doc="The cotangents of the scores of path_losses, by the losses; and memory.",
    **HIDDEN,
)


def path_loss(x, path, lengths, blank):
    """Minus the logarithms of the probabilities of all paths through states.

    Args:
        x: logarithms of probabilities, (steps, n, classes), floating.
        path: the class of each state, int64 (n, states).
        lengths: how many steps, and how many states, each sequence has, int64 (2, n).
        blank: the class that stands for nothing, which paths may go past.

    Raises:
        ShapeError, DTypeError: operands that do not go together.
    """
    return scalar.path_losses(x, path, lengths, blank)[0]


composite("path_loss", path_loss, method=False, function=False, public="ctc_loss", doc=path_loss.__doc__)
