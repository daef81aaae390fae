"""Where a program waits for a GPU: ``nbgrad.cuda.set_sync_debug_mode``.

Every such wait is asked for at one place, ``Card.may_stop`` of kernels/cuda/driver.py, which tells of it here.
"""

from __future__ import annotations

import warnings

from ..base.errors import ArgumentError, DeviceError, RangeError
from ..base.user_stack import calls_of_user
from ..kernels.cuda.driver import Card

__all__ = ["get_mode", "set_mode"]

MODES = ("default", "warn", "error")
# Functions that are called by another name than their own.
PUBLIC = {
    "text_of": "print",
    "parameter_text": "print",
    "formatted": "format",
    "to_float": "float",
    "to_int": "int",
    "to_index": "index",
    "to_complex": "complex",
    "norm_of": "norm",
}
# What runs around public functions.
WRAPPERS = frozenset(
    (
        "function",
        "call",
        "method",
        "quick",
        "evaluate",
        "unprepared",
        "execute",
        "record_run",
        "anywhere",
        "run_on_gpu",
        "run_planned",
    )
)


def set_mode(mode: int | str) -> None:
    """See ``nbgrad.cuda.set_sync_debug_mode``."""
    if isinstance(mode, bool) or not isinstance(mode, (int, str)):
        raise ArgumentError(f"set_sync_debug_mode: expected a number or a name, got {type(mode).__name__}. Hint: 'warn'.")
    if mode not in (*MODES, *range(len(MODES))):
        raise RangeError(f"set_sync_debug_mode: got {mode!r}, expected 'default', 'warn' or 'error', or 0, 1 or 2.")
    Card.stopped = (None, warn, refuse)[mode if isinstance(mode, int) else MODES.index(mode)]


def get_mode() -> int:
    """The number of the mode."""
    return (None, warn, refuse).index(Card.stopped)


def name_of(calls: list[str]) -> str:
    """The public function among those that run: the outermost that is no wrapper."""
    named = next((name for name in calls if name not in WRAPPERS), calls[0])
    return PUBLIC.get(named, named)


def warn(gpu: int) -> None:
    """Warn of a stop, where the user's code is."""
    calls = calls_of_user()
    warnings.warn(
        f"{name_of(calls)}: the program waits for cuda:{gpu}. Hint: keep values on the GPU, or read several at once.",
        UserWarning,
        stacklevel=len(calls) + 1,
    )


def refuse(gpu: int) -> None:
    """Refuse a stop, before anything was done.

    Raises:
        DeviceError: always.
    """
    raise DeviceError(
        f"{name_of(calls_of_user())}: the program would wait for cuda:{gpu}, which set_sync_debug_mode('error') refuses. "
        "Hint: keep values on the GPU, or set_sync_debug_mode('default')."
    )
