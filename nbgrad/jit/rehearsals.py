"""Where compiled functions run as they are: in special modes, and where what runs is undone."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from threading import local
from typing import Any, Iterator

from ..anomaly import is_anomaly_enabled
from ..base import config
from ..base.grad_mode import special, unusual
from ..debug import Checker
from ..modes.overrides import OVERRIDING

__all__ = ["active_modes", "in_modes", "is_observed", "rehearsal", "rehearsing"]

rehearsals = local()


def in_modes() -> bool:
    """Whether calls may mean something else than usual."""
    return is_observed() or bool(active_modes())


def is_observed() -> bool:
    """Whether anomaly mode is on, or a transform or a function mode runs anywhere in the process."""
    return is_anomaly_enabled() or any(each is not OVERRIDING for each in unusual)  # which says only that such types exist


def active_modes() -> list:
    """The special modes; the check of ``NBGRAD_CHECK=1`` only looks."""
    return [each for each in special if type(each) is not Checker] if config.CHECK else special


def rehearsing() -> bool:
    """Whether what this thread runs is undone afterwards, and seen by nobody."""
    return bool(rehearsals.__dict__)


@contextmanager
def rehearsal() -> Iterator[None]:
    """Inside, this thread warns of nothing, and compiled functions run as they are."""
    show = warnings.showwarning

    def shown(*args: Any, **kwargs: Any) -> None:
        """Of other threads."""
        if not rehearsing():
            show(*args, **kwargs)

    rehearsals.on, warnings.showwarning = True, shown
    try:
        yield
    finally:
        rehearsals.__dict__.clear()
        if warnings.showwarning is shown:
            warnings.showwarning = show
