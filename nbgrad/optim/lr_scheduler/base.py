"""The base of all schedulers: learning rates in an optimizer's groups, set once an epoch, and the state that is saved of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import nbgrad

from ... import Tensor
from ...base.errors import ArgumentError, NamingError, RangeError, ShapeError
from ...base.grad_mode import traces
from ...base.user_stack import warn_user
from ...modes.traced import refuse_in_graph
from ..optimizer import Optimizer
from .first_step import warn_of_order, watch

__all__ = ["LRScheduler", "copied", "options_of", "set_option", "spread", "warn_of_epoch"]


class LRScheduler:
    """Sets the learning rates of an optimizer's groups, epoch after epoch. A subclass defines ``get_lr``.

    Args:
        optimizer: whose groups they are. Its learning rates are set at once to those of the first epoch.
        last_epoch: the epoch before it; -1 begins, and keeps each group's learning rate in it as "initial_lr". Any other number
            resumes, with groups that have one.

    Attributes:
        base_lrs: the initial learning rate of every group.
        last_epoch: the epoch whose learning rates the groups have.

    Raises:
        ArgumentError: no optimizer. NamingError: a group without "initial_lr" where it resumes; a KeyError too.

    >>> import nbgrad
    >>> class Halved(LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halved(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    # Names of attributes are torch's, since they are the names in a state. A number at class level is no part of one.
    base_lrs: list[Any]
    last_epoch: int
    _last_lr: list[Any]
    _step_count: int
    _is_initial = False
    _get_lr_called_within_step = False
    unsaved: tuple[str, ...] = ("optimizer", "_versions")

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = self._required(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise NamingError(
                    f"{self._name}: last_epoch is {last_epoch}, and param_groups[{number}] has no 'initial_lr' to resume from. "
                    "Hint: load the optimizer's state first, or begin with last_epoch=-1."
                )
        self.base_lrs = options_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._versions = watch(optimizer)
        self._initial_step()

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _required(self, optimizer: Any) -> Optimizer:
        """``optimizer``.

        Raises:
            ArgumentError: it is none.
        """
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{self._name}: optimizer is a {type(optimizer).__name__}, expected an Optimizer.")
        return optimizer

    def _initial_step(self) -> None:
        """Set the learning rates of the first epoch."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch; to be called after the optimizer's steps of this one.

        Args:
            epoch: go to that one, by the closed form where there is one; an old form, with a warning.
        """
        self._be_outside_graphs()
        if self._step_count == 1:
            warn_of_order(self._name, self.optimizer, self._versions)
        self._step_count += 1
        if epoch is not None:
            warn_of_epoch(self._name)
        self._update_lr(epoch)

    def _be_outside_graphs(self) -> None:
        """Refuse to be captured: a graph would hold the learning rates of one epoch.

        Raises:
            GraphError: a graph is captured.
        """
        if traces:
            refuse_in_graph(f"{self._name}.step counts epochs", "step it after the compiled function")

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch, or of ``epoch``."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        if len(rates) != len(self.optimizer.param_groups):
            raise RangeError(
                f"{self._name}.step: there are {len(rates)} learning rates, expected one for each of the "
                f"{len(self.optimizer.param_groups)} groups. Hint: add groups to the optimizer before the scheduler is made."
            )
        for group, lr in zip(self.optimizer.param_groups, rates):
            set_option(group, "lr", lr)
        self._last_lr = options_of(self.optimizer, "lr")

    def get_last_lr(self) -> list[Any]:
        """The learning rate that the last step gave to every group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rate of every group in ``last_epoch``, computed from those before it: what a subclass defines.

        It is for ``step`` to call. Programs ask ``get_last_lr``.
        """
        if not self._get_lr_called_within_step:
            warn_user(f"{self._name}.get_lr: computes the next learning rates. Hint: get_last_lr() has those of the last step.")
        return self._rates()

    def _rates(self) -> list[Any]:
        """The same, of the schedulers that are here."""
        raise NotImplementedError(f"{self._name}: get_lr is not defined. Hint: define it in the subclass.")

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer, whose state is saved beside it. Functions are not saved."""
        return {name: value for name, value in vars(self).items() if name not in self.unsaved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned. The learning rates themselves are in the optimizer's state.

        Raises:
            ArgumentError: no mapping. ShapeError: of another number of groups.
        """
        vars(self).update(self._checked(state_dict))

    def _checked(self, state_dict: Any, *needed: str) -> Mapping[str, Any]:
        """``state_dict``, which fits and has the names ``needed``.

        Raises:
            As ``load_state_dict``. NamingError: a name is missing; a KeyError too.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"{self._name}: load_state_dict: expected a mapping, got {type(state_dict).__name__}.")
        for name in needed:
            if name not in state_dict:
                raise NamingError(
                    f"{self._name}: load_state_dict: the state has no {name!r}, it has {list(state_dict)}. "
                    f"Hint: pass what state_dict() of a {self._name} returned."
                )
        given, own = state_dict.get("base_lrs"), len(self.optimizer.param_groups)
        if given is not None and len(given) != own:
            raise ShapeError(f"{self._name}: load_state_dict: the state is of {len(given)} groups, expected {own}.")
        return state_dict


class _LRScheduler(LRScheduler):
    """The name of ``LRScheduler`` in older programs."""


def copied(value: Any) -> Any:
    """A tensor that nobody else holds; a number as it is."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def options_of(optimizer: Optimizer, name: str) -> list[Any]:
    """An option of every group, copied."""
    return [copied(group[name]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a group; where it is a tensor, what that holds."""
    held = group.get(name)
    if not isinstance(held, Tensor):
        group[name] = value
        return
    with nbgrad.no_grad():
        if isinstance(value, Tensor):
            held.copy_(value.reshape(held.shape))
        else:
            held.fill_(value)


def spread(owner: str, optimizer: Optimizer, name: str, value: Any) -> list[Any]:
    """``value`` for every group, or its members, one for each.

    Raises:
        RangeError: another number of members.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise RangeError(f"{owner}: {name} has {len(value)} values, expected one for each of the {count} groups.")
    return [copied(each) for each in value]


def warn_of_epoch(owner: str) -> None:
    """Warn of the old form of a step."""
    warn_user(f"{owner}.step: epoch is deprecated. Hint: step() goes on by one epoch.")
