"""Optimizers that are a rule: what of a parameter is kept, and the numbers of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from .. import Tensor, full_like
from ..base.errors import ArgumentError, NotSupportedError
from ..dispatch.updates import Row, changing, followed, fused_updates, is_exchanged, step_at_end, steps_ahead
from ..modes.traced import Unfit, capture_of_thread
from . import rules
from .adam import as_pairs, counted_there
from .optimizer import Optimizer, refuse_differentiable, require, require_numbers

__all__ = ["Limits", "Ruled", "at_least_0", "below_1"]

# For an option: whether a value is allowed, and what is expected in words.
Limits = Mapping[str, tuple[Callable[[Any], bool], str]]
at_least_0 = (lambda value: value >= 0, "a number that is not negative")
below_1 = (lambda betas: all(0 <= beta < 1 for beta in betas), "numbers from 0 to below 1")
PAIRS = "betas", "etas", "step_sizes"  # options of two numbers


def next_step(take: Callable[[int], Any], states: list[dict[str, Any]], ahead: int) -> Any:
    """``take`` of the step that parameters with these states take next; ``ahead``: how many the program takes before that one.

    Raises:
        Unfit: they have taken different numbers of steps.
    """
    steps = {state["step"] + 1 + ahead for state in states}
    if len(steps) > 1:
        raise Unfit
    return take(steps.pop())


class Ruled(Optimizer):
    """An optimizer whose steps are a rule of ``rules``.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        options: the defaults of a group.

    Attributes:
        limits: what the options may be.
        counted: whether the number of the step is among what the numbers of a step follow from.
        numbers: what is kept of each parameter beside tensors, with its first value.

    Raises:
        ArgumentError, RangeError: an option that is no number, or out of range. NotSupportedError: ``differentiable``;
        ``capturable`` of an optimizer that counts its steps.
    """

    limits: Limits = {}
    counted = True
    numbers: Mapping[str, float] = {}

    def __init__(self, params: Iterable[Any], options: Mapping[str, Any]) -> None:
        refuse_differentiable(self._name, options.get("differentiable", False))
        super().__init__(params, options)

    def check(self, group: dict[str, Any]) -> None:
        """Options are numbers within ``limits``."""
        if self.counted and group.get("capturable"):
            raise NotSupportedError(
                f"{self._name}: capturable: steps are counted on the host. Hint: Adam and AdamW count on a GPU."
            )
        for name in PAIRS:
            pair = group.get(name, (0, 0))
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ArgumentError(f"{self._name}: {name} is {pair!r}, expected two numbers.")
            require_numbers(self._name, {f"{name}[{index}]": value for index, value in enumerate(pair)})
        for name, (allowed, expected) in self.limits.items():
            if name not in PAIRS:
                require_numbers(self._name, {name: group[name]})
            require(bool(allowed(group[name])), self._name, name, group[name], expected)

    # ---- what a subclass says ------------------------------------------------------------------------------------------

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        """The tensors that are kept of a parameter, in the order of the rule, each with its first value."""
        raise NotImplementedError

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        """The formula."""
        raise NotImplementedError

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        """The numbers of the rule in the step of that number, the first is 1, where ``numbers`` were kept."""
        raise NotImplementedError

    def next_numbers(self, group: dict[str, Any], step: int, *numbers: float) -> tuple[float, ...]:
        """What of them is kept for the next step."""
        return numbers

    # ---- steps ---------------------------------------------------------------------------------------------------------

    def is_ready(self, p: Tensor, group: dict[str, Any]) -> bool:
        """Whether everything is kept."""
        return self.state.get(p, {}).keys() >= self.kept(group).keys()

    def freezes(self, group: dict[str, Any]) -> str:
        """The number of the step, where a step depends on it."""
        return "the number of the step" if self.counted else ""

    def prepared(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter, made if it is not there."""
        state = self.state[p]
        if not state:
            state.update(step=0, **self.numbers)
        for name, first in self.kept(group).items():
            if name not in state:
                state[name] = full_like(p, complex(first, first) if p.is_complex() else first)
        if type(state["step"]) is not int:
            counted_there(state)
        for name in self.numbers:
            state[name] = float(state[name])  # a tensor where torch has written the state
        return state

    def update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``."""
        members: dict[tuple, tuple[list[dict[str, Any]], list[Row]]] = {}
        for p in params:
            state = self.prepared(p, group)
            key = (state["step"] + 1 + steps_ahead(state), *(state[name] for name in self.numbers))
            states, rows = members.setdefault(key, ([], []))
            states.append(state)
            rows.append(self.row(p, state, group))
        for (step, *numbers), (states, rows) in members.items():
            if not self.counted:
                scalars = changing(partial(self.scalars, group, step), group)
            elif self.varying is None:  # never captured
                scalars = self.scalars(group, step, *numbers)
            elif is_exchanged(group):
                ahead = steps_ahead(states[0])
                scalars = self.scalars(group, followed(partial(next_step, float, states, ahead)))
            else:
                scalars = changing(partial(next_step, partial(self.scalars, group), states, steps_ahead(states[0])))
            fused_updates(self.rule(group), rows, scalars, group["foreach"])
            if capture_of_thread() is not None:
                step_at_end(states)
                continue
            following = self.next_numbers(group, step, *numbers)
            for state in states:
                state.update(zip(self.numbers, following), step=step)

    def row(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Row:
        """What the rule updates and reads; complex numbers as pairs of real ones."""
        tensors: list[Any] = [p, *(state[name] for name in self.kept(group)), p.grad]
        if p.is_complex():
            tensors = list(map(as_pairs, tensors))
        return tensors[:-1], tensors[-1:]
