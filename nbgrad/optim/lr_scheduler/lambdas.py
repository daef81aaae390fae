"""Schedulers that ask functions of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ...base.errors import RangeError, ShapeError, require_callable
from ..optimizer import Optimizer
from .base import LRScheduler, options_of

__all__ = ["LambdaLR", "MultiplicativeLR", "load_function", "state_of_function"]

Function = Callable[[int], float]


class ByFunctions(LRScheduler):
    """Asks a function of the epoch, one for all groups or one for each.

    Raises:
        ArgumentError: something that cannot be called. RangeError: another number of functions than groups.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1) -> None:
        count = len(self._required(optimizer).param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(functions) != count:
            raise RangeError(
                f"{self._name}: lr_lambda has {len(functions)} functions, expected one for each of the {count} groups."
            )
        for function in functions:
            require_callable(f"{self._name}: lr_lambda", function)
        self.lr_lambdas = functions
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; None in the place of functions, their attributes in that of other objects."""
        return {**super().state_dict(), "lr_lambdas": [state_of_function(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned, with the functions that there are.

        Raises:
            As every scheduler's. NamingError: no "lr_lambdas"; a KeyError too.
        """
        state = dict(self._checked(state_dict, "lr_lambdas"))
        states = state.pop("lr_lambdas")
        if len(states) != len(self.lr_lambdas):
            raise ShapeError(
                f"{self._name}: load_state_dict: the state is of {len(states)} functions, expected {len(self.lr_lambdas)}."
            )
        super().load_state_dict(state)
        for function, attributes in zip(self.lr_lambdas, states):
            load_function(function, attributes)


class LambdaLR(ByFunctions):
    """The initial learning rate, times a function of the epoch.

    Args:
        lr_lambda: one for all groups, or one for each.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def _rates(self) -> list[Any]:
        return [lr * function(self.last_epoch) for function, lr in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(ByFunctions):
    """The learning rate, times a function of the epoch, from the second epoch on.

    Args:
        lr_lambda: one for all groups, or one for each.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def _rates(self) -> list[Any]:
        rates = options_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [lr * function(self.last_epoch) for function, lr in zip(self.lr_lambdas, rates)]


def state_of_function(function: Any) -> dict[str, Any] | None:
    """What is saved of a function: an object's attributes; None of a function as such."""
    attributes = None if isinstance(function, FunctionType) else getattr(function, "__dict__", None)
    return None if attributes is None else dict(attributes)


def load_function(function: Any, attributes: dict[str, Any] | None) -> None:
    """Give an object the attributes that were saved of it."""
    if attributes:
        vars(function).update(attributes)
