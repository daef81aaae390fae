"""Settings of torch's that change nothing here: checked, remembered where programs can read them again, and ignored.

Each says why there is nothing to do. They are public where torch has them, in ``nbgrad``, ``nbgrad.graph`` and
``nbgrad.autograd.grad_mode``.

>>> import nbgrad
>>> nbgrad.set_float32_matmul_precision("medium")
>>> nbgrad.get_float32_matmul_precision()
'medium'
>>> nbgrad.set_float32_matmul_precision("highest")
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .errors import ArgumentError, RangeError
from .mode_contexts import ModeContext

__all__ = [
    "_assert",
    "_force_original_view_tracking",
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_view_replay_enabled",
    "is_warn_always_enabled",
    "region_activation_memory_budget",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_override_stale_capture_stream",
    "set_warn_always",
    "set_warn_on_accumulate_grad_stream_mismatch",
    "use_deterministic_algorithms",
]


def _assert(condition: object, message: str) -> None:
    """``assert condition, message``, as a function, which torch's own compilers can follow.

    Raises:
        AssertionError: the condition is false.
    """
    assert condition, message


class Settings:
    """What programs set for torch and may read again; nothing here depends on it, unless it says so."""

    deterministic = warn_only = warns_always = False
    matmul_precision = "highest"  # depended on by kernels/cuda/cublas.py
    warns_of_streams = True  # once; depended on by autograd/stream_walk.py


# Who is told of another precision of products.
when_precision_changes: list[Callable[[], None]] = []


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same in every run: they are anyway, whatever the number of threads.

    >>> nbgrad.use_deterministic_algorithms(True)
    >>> nbgrad.are_deterministic_algorithms_enabled()
    True
    >>> nbgrad.use_deterministic_algorithms(False)
    """
    Settings.deterministic, Settings.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was last given."""
    return Settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The ``warn_only`` that ``use_deterministic_algorithms`` was last given."""
    return Settings.warn_only


# Of set_deterministic_debug_mode: what its numbers and words mean for ``mode`` and ``warn_only``.
DEBUG_MODES = {0: (False, False), 1: (True, True), 2: (True, False)}
DEBUG_WORDS = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by a number or a word: 0, "default"; 1, "warn"; 2, "error".

    Raises:
        RangeError: another one.

    >>> nbgrad.set_deterministic_debug_mode("warn")
    >>> nbgrad.get_deterministic_debug_mode()
    1
    >>> nbgrad.set_deterministic_debug_mode(0)
    """
    number = DEBUG_WORDS.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if number not in DEBUG_MODES:
        raise RangeError(f"set_deterministic_debug_mode: got {debug_mode!r}, expected 'default', 'warn' or 'error'.")
    mode, warn_only = DEBUG_MODES[number]
    use_deterministic_algorithms(mode, warn_only=warn_only)


def get_deterministic_debug_mode() -> int:
    """The number of ``set_deterministic_debug_mode``."""
    return 0 if not Settings.deterministic else 1 if Settings.warn_only else 2


def set_warn_always(b: bool) -> None:
    """Remember it: Python's own filters say which warnings are shown how often."""
    Settings.warns_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What ``set_warn_always`` was last given."""
    return Settings.warns_always


def set_flush_denormal(mode: bool) -> bool:
    """Returns False, as torch does where a processor cannot: subnormal numbers are kept, since kernels promise them."""
    return False


def set_float32_matmul_precision(precision: str) -> None:
    """Say how precise products of float32 are to be on a GPU: with "high" and "medium" cuBLAS may round operands to TensorFloat32,
    of 10 bits behind the point. On the CPU, and without cuBLAS, they stay as precise as they are.

    Raises:
        RangeError: another word than "highest", "high" or "medium".
    """
    if precision not in ("highest", "high", "medium"):
        raise RangeError(f"set_float32_matmul_precision: got {precision!r}, expected 'highest', 'high' or 'medium'.")
    if precision != Settings.matmul_precision:
        Settings.matmul_precision = precision
        for tell in when_precision_changes:
            tell()


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was last given."""
    return Settings.matmul_precision


class ViewReplay(threading.local):
    """Whether this thread asked for the original movements."""

    enabled = False


_view_replay = ViewReplay()


def require_bool(what: str, value: object) -> None:
    """Refuse anything but True and False for a switch."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{what}: expected a bool, got {type(value).__name__}.")


class _force_original_view_tracking(ModeContext):  # torch's name
    """Ask for a view's own movements when its history is rebuilt after a write to its base, at once and until the end of the block.

    nbgrad always replays the movements; the mode is there for programs that set it, and shows in ``is_view_replay_enabled``.
    """

    def __init__(self, mode: bool):
        require_bool("_force_original_view_tracking", mode)
        self.mode, self.before = mode, _view_replay.enabled
        _view_replay.enabled = mode

    def __enter__(self) -> None:
        """The mode was set by the call."""

    def __exit__(self, *error: object) -> None:
        _view_replay.enabled = self.before

    def clone(self):
        """A fresh context of the same meaning."""
        return type(self)(self.mode)


def is_view_replay_enabled() -> bool:
    """What ``_force_original_view_tracking`` set in this thread; False by default."""
    return _view_replay.enabled


@contextmanager
def region_activation_memory_budget(budget: float) -> Iterator[None]:
    """Ask for a share of what a compiled function would save, from 0 to 1: ``compile`` saves a minimum cut whatever is asked.

    Raises:
        RangeError: not from 0 to 1.
    """
    if not 0 <= budget <= 1:
        raise RangeError(f"region_activation_memory_budget: got {budget}, expected a share from 0 to 1. Hint: nbgrad.checkpoint.")
    yield


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn, once, of a gradient from another stream of a GPU than the leaf was first used on.

    Raises:
        ArgumentError: not a bool.
    """
    require_bool("set_warn_on_accumulate_grad_stream_mismatch", enabled)
    Settings.warns_of_streams = enabled


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accepted for torch's sake: a pass that waits for a stream outside of a capture is refused by the capture in any case.

    Raises:
        ArgumentError: not a bool.
    """
    require_bool("set_override_stale_capture_stream", enabled)
