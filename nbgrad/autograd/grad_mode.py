"""``torch.autograd.grad_mode``: the switches of recording, of passes and of accumulation in one module."""

from __future__ import annotations

from typing import Any

from ..accumulate import enforce_grad_layout_policy
from ..base import grad_mode as switches
from ..base.compat import _force_original_view_tracking, is_view_replay_enabled
from ..graph.task import set_multithreading_enabled

__all__ = ["_force_original_view_tracking", "enforce_grad_layout_policy", "is_view_replay_enabled", "set_multithreading_enabled"]
__all__ += switches.__all__


def __getattr__(name: str) -> Any:
    """What base/grad_mode.py has."""
    return getattr(switches, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(switches)})
