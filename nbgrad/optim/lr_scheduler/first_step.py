"""Whether an optimizer has taken a step: asked by schedulers, at no cost to its steps."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ...base.user_stack import warn_user
from ..optimizer import Optimizer

__all__ = ["warn_of_order", "watch"]


class FirstStep:
    """Stands in the place of an optimizer's ``step`` until that is called, notes the call, and takes itself away.

    Rejected: a mark that every step sets, which all programs would pay for, and which steps of the user's own would not set.
    """

    def __init__(self, optimizer: Optimizer, own: Callable[..., Any] | None) -> None:
        self.optimizer, self.own = weakref.ref(optimizer), own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        optimizer: Any = self.optimizer()
        optimizer._opt_called = True  # torch's name, which programs set by hand
        if vars(optimizer).get("step") is self:
            del optimizer.step
            if self.own is not None:
                optimizer.step = self.own
        step = self.own or type(optimizer).step.__get__(optimizer)
        return step(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return FirstStep, (self.optimizer(), self.own)


def versions(optimizer: Optimizer) -> int:
    """A number that any write to a parameter changes."""
    return sum(p._version for group in optimizer.param_groups for p in group["params"])


def watch(optimizer: Optimizer) -> int:
    """Note the first step from now on; what ``warn_of_order`` is to be told later."""
    held = vars(optimizer)
    if not held.get("_opt_called") and not isinstance(held.get("step"), FirstStep):
        held["step"] = FirstStep(optimizer, held.get("step"))
    return versions(optimizer)


def warn_of_order(owner: str, optimizer: Optimizer, before: int) -> None:
    """Warn where the optimizer has taken no step, since the first learning rate would never be used.

    A compiled function that was captured before takes steps that call nothing here: they write to parameters.
    """
    held = vars(optimizer)
    if held.get("_opt_called") or versions(optimizer) != before:
        return
    replaced = not isinstance(held.get("step"), FirstStep)
    found = "cannot tell whether it comes after" if replaced else "comes before"
    warn_user(
        f"{owner}.step {found} the first step of {type(optimizer).__name__}, which uses the first learning rates. "
        "Hint: call optimizer.step(), then scheduler.step()."
    )
