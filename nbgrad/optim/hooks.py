"""Hooks of optimizers: before and after a step, of one optimizer or of all; and around its states.

NOTE [Steps with hooks]: a class may define ``step`` itself, as users' optimizers do. So hooks are called around whatever ``step``
is, by a function that takes its place in every class, from the first hook of a step on: steps of programs without hooks cost
nothing. A ``step`` that calls its superclass's is one step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..base.errors import ArgumentError
from ..graph.edges import RemovableHandle
from ..graph.hooks import Hooks, add_hook
from ..nn.state_hooks import StateHooked

__all__ = ["REGISTERED", "Hooked", "StepHooks", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


class StepHooks:
    """What is called before and after steps."""

    def __init__(self) -> None:
        self.before, self.after = Hooks(), Hooks()


EVERYWHERE = StepHooks()
# How many hooks of steps were ever registered: what captured programs look at.
REGISTERED = {"count": 0}


class Hooked(StateHooked):
    """What an Optimizer is as far as hooks go."""

    _step_hooks_: StepHooks | None = None
    _steps_are_hooked_ = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Hooked._steps_are_hooked_:
            hook_step_of(cls)

    def _own_step_hooks(self) -> StepHooks:
        """The hooks of this optimizer's steps, made on first use."""
        hook_all_steps()
        REGISTERED["count"] += 1
        if self._step_hooks_ is None:
            self._step_hooks_ = StepHooks()
        return self._step_hooks_

    def _calls_hooks(self) -> bool:
        """Whether hooks are called around a step."""
        return any(each.before or each.after for each in (EVERYWHERE, self._step_hooks_) if each is not None)

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step; what it returns, unless None, takes the place of both.

        The first of ``args`` is the optimizer itself, as in torch.

        >>> import nbgrad
        >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("step"))
        >>> optimizer.step()
        step
        """
        return add_hook(self._own_step_hooks().before, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        return add_hook(self._own_step_hooks().after, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict``."""
        return add_hook(self._own_state_hooks().before_saving, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict``; what it returns, unless None, takes the place of the state.

        >>> import nbgrad
        >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "epoch": 3})
        >>> optimizer.state_dict()["epoch"]
        3
        """
        return add_hook(self._own_state_hooks().after_saving, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before ``load_state_dict``, with a shallow copy, which it may change; what it
        returns, unless None, is loaded instead.

        >>> import nbgrad
        >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
        >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: state["optimizer"])
        >>> optimizer.load_state_dict({"optimizer": optimizer.state_dict()})
        """
        return add_hook(self._own_state_hooks().before_loading, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after ``load_state_dict``."""
        return add_hook(self._own_state_hooks().after_loading, hook, prepend)

    # What the base class calls around its states.

    def _before_saving(self) -> None:
        for hook in self._state_hooks_of("before_saving"):
            hook(self)

    def _after_saving(self, state: Any) -> Any:
        for hook in self._state_hooks_of("after_saving"):
            new = hook(self, state)
            state = state if new is None else new
        return state

    def _before_loading(self, state: Any) -> Any:
        hooks = self._state_hooks_of("before_loading")
        state = dict(state) if hooks else state
        for hook in hooks:
            new = hook(self, state)
            state = state if new is None else new
        return state

    def _after_loading(self) -> None:
        for hook in self._state_hooks_of("after_loading"):
            hook(self)


def hook_all_steps() -> None:
    """Let every class of optimizers call hooks around its steps; once."""
    if not Hooked._steps_are_hooked_:
        Hooked._steps_are_hooked_ = True
        waiting = [*Hooked.__subclasses__()]
        while waiting:
            cls = waiting.pop()
            hook_step_of(cls)
            waiting += cls.__subclasses__()


def hook_step_of(cls: type) -> None:
    """Put a function that calls hooks in the place of the ``step`` that a class defines, if it does."""
    own = vars(cls).get("step")
    if not callable(own):
        return

    @functools.wraps(own)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not step or not self._calls_hooks():  # not: a step that a subclass's calls
            return own(self, *args, **kwargs)
        groups = [EVERYWHERE] if self._step_hooks_ is None else [EVERYWHERE, self._step_hooks_]
        args = (self, *args)  # as torch hands them on
        for hook in [hook for each in groups for hook in each.before.values()]:
            args, kwargs = replaced(hook(self, args, kwargs), args, kwargs)
        result = own(*args, **kwargs)
        for hook in [hook for each in reversed(groups) for hook in each.after.values()]:
            hook(self, args, kwargs)
        return result

    cls.step = step  # type: ignore[attr-defined]


def replaced(new: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of a step after a hook that comes before it.

    Raises:
        ArgumentError: it returned neither None nor arguments.
    """
    if new is None:
        return args, kwargs
    if not (isinstance(new, tuple) and len(new) == 2 and isinstance(new[1], dict)):
        raise ArgumentError(f"register_step_pre_hook: the hook returned {new!r}, expected None or (args, kwargs).")
    return new


def everywhere() -> StepHooks:
    """The hooks of all optimizers, which are to be called from now on."""
    hook_all_steps()
    REGISTERED["count"] += 1
    return EVERYWHERE


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of any optimizer, and before that one's own hooks.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> with register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__)):
    ...     optimizer.step()
    SGD
    """
    return add_hook(everywhere().before, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of any optimizer, and after that one's own hooks.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> with register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("stepped")):
    ...     optimizer.step()
    stepped
    """
    return add_hook(everywhere().after, hook)
