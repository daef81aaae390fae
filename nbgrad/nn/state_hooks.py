"""Hooks around the states of modules and of optimizers: what is called when one is saved or loaded."""

from __future__ import annotations

from typing import Any

from ..graph.hooks import Hooks

__all__ = ["StateHooked"]


class StateHooks:
    """Who has a say in the state of one object, in the order in which they are called."""

    def __init__(self) -> None:
        self.before_saving, self.after_saving = Hooks(), Hooks()
        self.before_loading, self.after_loading = Hooks(), Hooks()


class StateHooked:
    """What has a state in which hooks have a say; without any the attribute is None."""

    _state_hooks_: StateHooks | None = None

    def _own_state_hooks(self) -> StateHooks:
        """The hooks, made on first use."""
        hooks = self._state_hooks_
        if hooks is None:
            hooks = self.__dict__["_state_hooks_"] = StateHooks()  # past what a class may say of attributes
        return hooks

    def _state_hooks_of(self, kind: str) -> list[Any]:
        """The hooks of a kind, as they are now: one may remove itself."""
        return [] if self._state_hooks_ is None else list(getattr(self._state_hooks_, kind).values())
