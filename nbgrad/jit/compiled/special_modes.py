"""Special modes, in which a compiled function runs as it is."""

from __future__ import annotations

from ...anomaly import is_anomaly_enabled
from ...base import config
from ...base.grad_mode import special, unusual
from ...debug import Checker
from ...modes.overrides import OVERRIDING

__all__ = ["active_modes", "in_modes", "is_observed"]


def in_modes() -> bool:
    """Whether calls may mean something else than usual."""
    return is_observed() or bool(active_modes())


def is_observed() -> bool:
    """Whether anomaly mode is on, or a transform or a function mode runs anywhere in the process."""
    return is_anomaly_enabled() or any(each is not OVERRIDING for each in unusual[:])  # which says only that such types exist


def active_modes() -> list:
    """The special modes; the check of ``NBGRAD_CHECK=1`` only looks."""
    return [each for each in special[:] if type(each) is not Checker] if config.CHECK else special
