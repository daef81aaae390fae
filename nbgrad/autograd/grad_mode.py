"""``torch.autograd.grad_mode``: the switches of recording, of passes and of accumulation in one module."""

from __future__ import annotations

from typing import Any

from ..accumulate import enforce_grad_layout_policy
from ..base import decorating, grad_mode as state, mode_contexts
from ..base.compat import _force_original_view_tracking, is_view_replay_enabled
from ..graph.task import set_multithreading_enabled

__all__ = ["_force_original_view_tracking", "enforce_grad_layout_policy", "is_view_replay_enabled", "set_multithreading_enabled"]
SWITCHES = state, mode_contexts, decorating
__all__ += [name for module in SWITCHES for name in module.__all__]


def __getattr__(name: str) -> Any:
    """What the modules of base/ have that switch recording."""
    for module in SWITCHES:
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for module in SWITCHES for name in dir(module))})
