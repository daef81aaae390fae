"""Binomial checkpointing: the gradient of a long loop with few stored states and the fewest steps run again.

NOTE [Revolve]: with ``s`` places for states and at most ``r`` runs of every step before its last, a loop of C(s + r, s) steps can
be walked backwards. The shortest schedule stores where that bound divides the loop (``split``), walks the right part with the
places left, frees them, and walks the left part with all. Here it follows from what backward asks for: ``state_at(k)`` drops the
states beyond ``k``, goes on from the last one before it and stores on the way. Passes ask for the steps in falling order, which
makes that the optimal schedule; asked in another order it is slower and still right.

Source: A. Griewank, A. Walther, Algorithm 799: Revolve, ACM TOMS 26 (2000).
"""

from __future__ import annotations

import contextlib
import threading
from math import comb
from typing import Any, Callable, NamedTuple

from ..base.errors import RangeError
from ..base.grad_mode import mode
from ..base.mode_contexts import no_grad
from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor
from .reruns import Frame, Streams, saved

__all__ = ["checkpoint_loop", "fewest_steps", "split"]


# ---- the schedule --------------------------------------------------------------------------------------------------


def repetitions(steps: int, slots: int) -> int:
    """The least ``r`` with ``steps <= C(slots + r, slots)``."""
    r = 0
    while comb(slots + r, slots) < steps:
        r += 1
    return r


def fewest_steps(steps: int, slots: int) -> int:
    """How many steps a schedule with ``slots`` stored states must run, beside the one run of each that saves for backward.

    >>> fewest_steps(10, 3)
    15
    """
    r = repetitions(steps, slots)
    return r * steps - comb(slots + r, slots + 1)


def split(steps: int, slots: int) -> int:
    """Where to store the next state: how many of ``steps`` > 1 to go, with ``slots`` > 1, one of which holds the first.

    As far as the schedule stays optimal: the left part needs a repetition less than the whole, the right part, with a place less,
    still needs as many.
    """
    r = repetitions(steps, slots)
    return min(comb(slots + r - 1, slots), steps - comb(slots + r - 2, slots - 1))


def stops(first: int, steps: int, slots: int) -> list[int]:
    """The positions at which states are stored on the way from ``first`` to the last of ``steps`` steps."""
    found = []
    while slots > 1 and steps > 1:
        gone = split(steps, slots)
        first, steps, slots = first + gone, steps - gone, slots - 1
        found.append(first)
    return found


# ---- the loop ------------------------------------------------------------------------------------------------------


class Stored(NamedTuple):
    """A state before step ``position``, and the random generators then."""

    position: int
    given_back: Callable[[], list]
    streams: Streams


class CheckpointedLoop:
    """One call of ``checkpoint_loop``: the states stored, by rising position; the first stays.

    Args:
        step: ``step(state, k)``.
        many: whether a state is a tuple.
    """

    def __init__(self, step: Callable, many: bool, slots: int):
        self.step, self.many, self.slots = step, many, slots
        self.stack: list[Stored] = []
        self.lock = threading.RLock()  # two passes may walk one graph

    def store(self, position: int, state: Any) -> None:
        """Keep the state before a step."""
        self.stack.append(Stored(position, saved(state if self.many else (state,)), Streams()))

    def forward(self, state: Any, steps: int) -> Any:
        """The first run: every step under a frame of its own, but the last, which backward asks for first."""
        self.store(0, state)
        stored = set(stops(0, steps, self.slots))
        for k in range(steps):
            if k in stored:
                self.store(k, state)
            with self.frame(k, state).saving() if k < steps - 1 else contextlib.nullcontext():
                state = self.step(state, k)
        return state

    def frame(self, k: int, state: Any) -> Frame:
        """What rebuilds the tensors that step ``k`` saved on this state."""
        needs = tuple(isinstance(x, Tensor) and requires_grad(x) for x in (state if self.many else (state,)))
        return Frame(lambda: self.prepare(k, needs))

    def prepare(self, k: int, needs: tuple[bool, ...]) -> Callable[[], Any]:
        """Go to step ``k``; returns what runs it again, on a state that requires grad where it did in the first run."""
        with self.lock, Streams().kept():
            state, streams = self.state_at(k), Streams()
        members = [
            x.detach().requires_grad_(need) if isinstance(x, Tensor) else x
            for x, need in zip(state if self.many else (state,), needs)
        ]

        def replay() -> None:
            with streams.replayed():
                self.step(tuple(members) if self.many else members[0], k)

        return replay

    def state_at(self, k: int) -> Any:
        """The state before step ``k``: see NOTE [Revolve]."""
        stack = self.stack
        while stack[-1].position > k:
            stack.pop()
        position, given_back, streams = stack[-1]
        streams.restore()
        values = given_back()
        state = tuple(values) if self.many else values[0]
        stored = set(stops(position, k + 1 - position, self.slots - len(stack) + 1))
        for at in range(position, k):
            with no_grad():
                state = self.step(state, at)
            if at + 1 in stored:
                self.store(at + 1, state)
        return state


def checkpoint_loop(step: Callable, state: Any, steps: int, slots: int) -> Any:
    """``for k in range(steps): state = step(state, k)``, differentiable with at most ``slots`` states in memory.

    Beside them there is what one step saves, and the nodes of all steps, which are small. Backward runs ``fewest_steps(steps,
    slots)`` steps again without recording, and each but the last once more with it: the least that is possible.

    Args:
        step: ``step(state, k)`` -> the next state: a tensor, or a tuple of the same length as the first state.
        state: the first state; a tensor, or a tuple of tensors and other values.
        steps: how many steps; 0 returns ``state``.
        slots: how many states may be stored, the first one counted: at least 1.

    Returns:
        The last state. Gradients flow to the first, and to whatever the steps close over; random numbers are drawn again.

    Raises:
        RangeError: ``steps`` is negative, or ``slots`` is less than 1.
        CheckpointError: in backward, if a step saves other tensors when it runs again.

    Source: NOTE [Revolve].

    >>> import nbgrad
    >>> x = nbgrad.tensor(1.0, requires_grad=True)
    >>> y = nbgrad.checkpoint_loop(lambda x, k: x + 0.01 * x.sin(), x, 100, slots=4)
    >>> y.backward()
    """
    if steps < 0 or slots < 1:
        raise RangeError(f"checkpoint_loop: expected steps >= 0 and slots >= 1, got {steps} and {slots}.")
    many = isinstance(state, tuple)
    if not mode.enabled:
        for k in range(steps):
            state = step(state, k)
        return state
    return CheckpointedLoop(step, many, slots).forward(state, steps)
