"""Optimizers that are a rule: what of a parameter is kept, and the numbers of a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from .. import Tensor, full, full_like, view_as_complex, view_as_real, zeros
from ..base.dtypes import DType, float32, float64
from ..base.errors import ArgumentError, DeviceError
from ..base.grad_mode import traces
from ..dispatch.updates import Row, changing, followed, fused_updates, is_exchanged, is_held, step_at_end, steps_ahead
from ..modes.dispatch_modes import are_asked, may_ask
from ..modes.numbers import function_of
from ..modes.traced import Unfit, capture_of_thread
from ..tensors.choices import captures, current
from . import rules
from .optimizer import Optimizer, refuse_complex, require, require_numbers, together
from .recorded import recorded_updates

__all__ = ["Limits", "Ruled", "at_least_0", "below_1", "in_a_row", "out_of_a_row", "taker", "update_at_places"]

# For an option: whether a value is allowed, and what is expected in words; ``[]`` behind its name: of each of its two numbers.
Limits = Mapping[str, tuple[Callable[[Any], bool], str]]
at_least_0 = (lambda value: value >= 0, "a number that is not negative")
below_1 = (lambda beta: 0 <= beta < 1, "a number from 0 to below 1")
PAIRS = "betas", "etas", "step_sizes"  # options of two numbers


def as_pairs(x: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, on the same memory."""
    return view_as_real(x.resolve_conj())


def in_a_row(x: Tensor) -> Tensor:
    """All elements as a vector, complex numbers as pairs."""
    return (as_pairs(x) if x.is_complex() else x.to_dense()).reshape(-1)


def out_of_a_row(row: Tensor, params: Iterable[Tensor]) -> list[Tensor]:
    """The parts of such a vector of all parameters, in their shapes."""
    parts, first = list[Tensor](), 0
    for p in params:
        last = first + p.numel() * (2 if p.is_complex() else 1)
        part = row[first:last]
        parts.append(view_as_complex(part.reshape(*p.shape, 2).contiguous()) if p.is_complex() else part.reshape(p.shape))
        first = last
    return parts


def counted_there(state: dict[str, Any]) -> int:
    """How many steps were taken, which a GPU has counted, and is waited for once."""
    state["step"] = int(state["step"])
    return state["step"]


def as_float(state: dict[str, Any], name: str) -> float:
    """A number of a state; torch writes tensors."""
    if type(state[name]) is not float:
        state[name] = float(state[name])
    return state[name]


def update_at_places(rule: rules.Rule, row: Row, scalars: dict[str, Any]) -> None:
    """A rule on the elements that a sparse gradient has something for: the others of the parameter and its state stay."""
    written, (gradient,) = row
    g: Any = gradient
    g = g.coalesce()
    at: Any = tuple(g.indices())
    parts = [x[at] for x in written]
    fused_updates(rule, [(parts, [g.values()])], scalars)
    for x, part in zip(written, parts):
        x.index_put_(at, part)


def taker(kept: Iterable[str]) -> Callable[[dict[str, Any]], tuple]:
    """``take(state)``: the tensors of these names."""
    first, *rest = kept
    return itemgetter(first, *rest) if rest else lambda state: (state[first],)


class Numbers:
    """The functions that ``count`` of a rule needs, of floats and of what a capture follows in their place."""

    @staticmethod
    def sqrt(x: Any) -> Any:
        """The square root."""
        return math.sqrt(x) if type(x) is float else function_of("sqrt", x)

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        """One of two."""
        return x if condition else y

    @staticmethod
    def maximum(x: Any, y: Any) -> Any:
        """The greater."""
        return max(x, y)


def compute_of(p: Tensor) -> DType:
    """The dtype in which an update of a parameter is computed."""
    dtype = p.dtype.to_real() if p.dtype.is_complex else p.dtype
    return float64 if dtype is float64 else float32


class Ruled(Optimizer):
    """An optimizer whose steps are a rule of ``rules``.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        options: the defaults of a group.

    Attributes:
        limits: what the options may be.
        counted: whether the number of the step is among what the numbers of a step follow from.
        takes_complex: whether complex parameters are optimised, as pairs of real numbers.
        numbers: what is kept of each parameter beside tensors, with its first value.
        count, follows: how the scalars ``follows`` of the rule follow from the number of a step; see ``rules.nothing``.

    With ``capturable=True`` the number of the step, ``numbers`` and what follows from them are kept and computed on the GPU, so
    that a CUDA graph can hold a step: ``state[p]["step"]`` is a tensor then, and ``lr`` may be one.

    Raises:
        ArgumentError, RangeError: an option that is no number, or out of range. DTypeError: a complex parameter of one that takes
        none. DeviceError: ``capturable`` and a parameter that is not on a GPU, by the step.
    """

    limits: Limits = {}
    counted, takes_complex = True, True
    numbers: Mapping[str, float] = {}
    count: rules.Rule = staticmethod(rules.nothing)
    follows: tuple[str, ...] = ()

    def __init__(self, params: Iterable[Any], options: Mapping[str, Any]) -> None:
        self._kept: dict[Tensor, list[Tensor]] = {}  # on a GPU, by parameter: ``follows`` of its last step
        super().__init__(params, options)

    def check(self, group: dict[str, Any]) -> None:
        """Options are numbers within ``limits``; parameters are of a kind that is taken."""
        for name in PAIRS:
            pair = group.get(name, (0, 0))
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ArgumentError(f"{self._name}: {name} is {pair!r}, expected two numbers.")
            require_numbers(self._name, {f"{name}[{index}]": value for index, value in enumerate(pair)})
        for name, (allowed, expected) in self.limits.items():
            of = name.removesuffix("[]")
            members = {f"{of}[{index}]": value for index, value in enumerate(group[of])} if name != of else {of: group[of]}
            if of not in PAIRS:
                require_numbers(self._name, members)
            for label, value in members.items():
                require(bool(allowed(value)), self._name, label, value, expected)
        if not self.takes_complex:
            refuse_complex(self._name, group["params"])

    # ---- what a subclass says ------------------------------------------------------------------------------------------

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        """The tensors that are kept of a parameter, in the order of the rule, each with its first value."""
        raise NotImplementedError

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        """The formula."""
        raise NotImplementedError

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        """The numbers of the rule that are the same at each step."""
        raise NotImplementedError

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        """The options of ``count``."""
        return {}

    # ---- what follows ----------------------------------------------------------------------------------------------------

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        """The numbers of the rule in the step of that number, the first is 1, where ``numbers`` were kept.

        In float64: in float32, ``1 - beta2`` would lose four digits.
        """
        found = self.count(Numbers, step, *numbers, **self.counting(group))
        return {**dict(zip(self.follows, found[len(numbers) :] if numbers else found)), **self.constants(group)}

    def next_numbers(self, group: dict[str, Any], step: int, *numbers: float) -> tuple[float, ...]:
        """What of them is kept for the next step."""
        if not numbers:
            return ()
        return self.count(Numbers, step, *numbers, **self.counting(group))[: len(numbers)]

    # ---- steps ---------------------------------------------------------------------------------------------------------

    def is_ready(self, p: Tensor, group: dict[str, Any]) -> bool:
        """Whether everything is kept, and on the GPU what it counts."""
        state = self.state.get(p, {})
        counted = not group.get("capturable") or (isinstance(state.get("step"), Tensor) and p in self._kept)
        return counted and state.keys() >= self.kept(group).keys()

    def freezes(self, group: dict[str, Any]) -> str:
        """The number of the step, where a step depends on it and it is not kept on the GPU."""
        return "the number of the step" if self.counted and not group.get("capturable") else ""

    def _be_captured(self) -> None:
        """With what the GPU counts beside the state."""
        super()._be_captured()
        capture = capture_of_thread()
        if capture is not None:
            for p, known in self._kept.items():
                capture.hold([self._kept, p, known], known)

    def prepared(self, p: Tensor, group: dict[str, Any], kept: dict[str, float]) -> dict[str, Any]:
        """The state of a parameter, made if it is not there."""
        state = self.state[p]
        if not state:
            state.update(step=0, **self.numbers)
        for name, first in kept.items():
            if name not in state:
                number = float(first)  # an option may be a tensor
                state[name] = full_like(p, complex(number, number) if p.is_complex() else number)
        return state

    def update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``."""
        if group.get("capturable") and not group.get("differentiable"):
            self._update_on_device(params, group)
        else:
            self._update_by_host(params, group)

    def _update_on_device(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``, whose number, and what follows from it, the GPU computes."""
        counts, rows, kept = list[Row](), list[Row](), self.kept(group)
        take = taker(kept)
        for p in params:
            if p.layout.memory is None:
                raise DeviceError(f"{self._name}: capturable=True, and a parameter is on {p.device}; expected it on a GPU.")
            state = self.prepared(p, group, kept)
            outputs, inputs = self.row(p, state, take)
            numbers, known = self._counted_there(p, state)
            counts.append(((*numbers, *known), ()))
            rows.append((outputs, (*inputs, *known)))
        way, count = together(group), rules.next_of(self.count, len(self.numbers))
        fused_updates(count, counts, changing(lambda: self.counting(group), group), way, compute=float64)
        fused_updates(self.rule(group), rows, changing(lambda: self.constants(group), group), way, self.follows)

    def _counted_there(self, p: Tensor, state: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
        """A parameter's number of the step and ``numbers``, and its ``follows``: tensors on its GPU, made where there are none."""
        for name, dtype in (("step", float32), *[(name, float64) for name in self.numbers]):
            if not isinstance(state[name], Tensor) or state[name].device is not p.device:
                state[name] = full((), float(state[name]), dtype=dtype, device=p.device)
        known, dtype = self._kept.get(p), compute_of(p)
        if known is None or any(x.device is not p.device or x.dtype is not dtype for x in known):
            known = self._kept[p] = [zeros((), dtype=dtype, device=p.device) for _ in self.follows]
        return [state[name] for name in ("step", *self.numbers)], known

    def _update_by_host(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``, which the host counts."""
        members: dict[Any, tuple[list[dict[str, Any]], list[Row]]] = {}
        kept, numbered, state_of = self.kept(group), bool(self.numbers), self.state
        take = taker(kept)
        for p in params:
            state = state_of[p]
            try:
                row = self.row(p, state, take)
            except KeyError:
                row = self.row(p, self.prepared(p, group, kept), take)
            step = state["step"]
            step = (step if type(step) is int else counted_there(state)) + 1 + steps_ahead(state)
            key = (step, *[as_float(state, name) for name in self.numbers]) if numbered else step
            if key not in members:
                members[key] = [], []
            states, rows = members[key]
            states.append(state)
            rows.append(row)
        for key, (states, rows) in members.items():
            step, *numbers = key if self.numbers else (key,)
            self.apply(group, rows, partial(self._numbers_of, group, states, step, numbers))
            if traces and capture_of_thread() is not None:
                step_at_end(states, *([partial(self._count, group)] if self.numbers else []))
                continue
            for state in states:
                state["step"] = step
            for name, following in zip(self.numbers, self.next_numbers(group, step, *numbers)):
                for state in states:
                    state[name] = following

    def apply(self, group: dict[str, Any], rows: list[Row], numbers: Callable[[Callable], dict[str, Any]]) -> None:
        """Write over what the rows update, of which all take the same step; ``numbers(scalars)``: what ``scalars`` are in it."""
        if group.get("differentiable") or may_ask and are_asked(rows):
            recorded_updates(self.rule(group), rows, numbers(self.scalars))
        else:
            fused_updates(self.rule(group), rows, numbers(self.scalars), together(group))

    def _numbers_of(
        self, group: dict[str, Any], states: list[dict[str, Any]], step: int, numbers: list[float], scalars: Callable
    ) -> dict[str, Any]:
        """The numbers of a rule in a step of parameters with these states: see NOTE [Numbers of updates]."""
        if not self.counted:
            return changing(partial(scalars, group, step), group)
        if self.varying is None:  # never captured
            return scalars(group, step, *numbers)
        ahead = steps_ahead(states[0])
        if not is_exchanged(group):
            return changing(partial(self._next_step, partial(scalars, group), states, ahead, group))
        if self.numbers:
            what = f"{self._name}.step: the function has set an option, from which numbers follow that later steps need"
            capture_of_thread().refuse(what, "set options outside")
        return scalars(group, followed(partial(self._next_step, float, states, ahead, group)))

    def _next_step(self, take: Callable[..., Any], states: list[dict[str, Any]], ahead: int, group: dict[str, Any]) -> Any:
        """``take(step, *numbers)`` of the step that parameters with these states take next.

        Args:
            ahead: how many the program takes before that one.

        Raises:
            Unfit: they have taken different numbers of steps. GraphError: in a CUDA graph it would be the same in each replay.
        """
        if captures and current.capture is not None and any(map(is_held, states[0].values())):
            self.refuse_frozen("the number of the step")
        step = states[0]["step"]
        for state in states:
            if state["step"] != step:
                raise Unfit
        if not self.numbers:
            return take(step + 1 + ahead)
        kept = {tuple([as_float(state, name) for name in self.numbers]) for state in states}
        if len(kept) > 1:
            raise Unfit
        numbers = kept.pop()
        for before in range(step + 1, step + 1 + ahead):
            numbers = self.next_numbers(group, before, *numbers)
        return take(step + 1 + ahead, *numbers)

    def _count(self, group: dict[str, Any], states: list[dict[str, Any]]) -> None:
        """A step was taken of the parameters with these states, which keep numbers."""
        for state in states:
            state["step"] += 1
            before = [as_float(state, name) for name in self.numbers]
            state.update(zip(self.numbers, self.next_numbers(group, state["step"], *before)))

    def row(self, p: Tensor, state: dict[str, Any], take: Callable[[dict[str, Any]], tuple]) -> Row:
        """What the rule updates and reads, ``take(state)`` beside the parameter; complex numbers as pairs of real ones."""
        outputs: list[Any] = [p, *take(state)]
        inputs: list[Any] = [p.grad]
        if p.is_complex():
            return [*map(as_pairs, outputs)], [*map(as_pairs, inputs)]
        return outputs, inputs
