"""Where a program waits for a GPU: ``nbgrad.cuda.set_sync_debug_mode``.

Every such wait is asked for at one place, ``Card.may_stop`` of kernels/cuda/driver.py, which tells of it here.
"""

from __future__ import annotations

from types import FrameType

from ..base.errors import ArgumentError, DeviceError, RangeError
from ..base.user_stack import frames_below_user, warn_user
from ..kernels.cuda.driver import Card
from ..ops.core import Op

__all__ = ["get_mode", "set_mode"]

MODES = ("default", "warn", "error")
# Functions that Python calls, and under which name users know them.
PUBLIC = {
    "text_of": "print",
    "parameter_text": "print",
    "formatted": "format",
    "to_float": "float",
    "to_int": "int",
    "to_index": "index",
    "to_complex": "complex",
    "reduce_storage": "pickle",
    "__bool__": "bool",
}
OF_CLASSES = ("__init__", "__call__")  # of modules and distributions, which users know by their classes
# What runs around public functions.
WRAPPERS = ("function", "method", "call", "quick", "not_yet_compiled")


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


def name_of(frames: list[FrameType]) -> str:
    """The public function that the program has called: the outermost frame that tells one."""
    return next(filter(None, map(public_name, frames)), frames[0].f_code.co_name)


def public_name(frame: FrameType) -> str | None:
    """What the user knows a frame's function by: the operation that it is a form of, the class whose instance it makes or calls,
    or its own name; of what runs around public functions the ``name`` that it has for them, if any."""
    name, known = frame.f_code.co_name, frame.f_locals
    op = known.get("op", getattr(known.get("self"), "op", None))
    if isinstance(op, Op):
        return op.public
    if name in OF_CLASSES and "self" in known:
        return type(known["self"]).__name__
    return known.get("name") if name in WRAPPERS or name.startswith("<") else PUBLIC.get(name, name)


def warn(gpu: int) -> None:
    """Warn of a stop, where the user's code is."""
    called = name_of(frames_below_user())
    warn_user(f"{called}: the program waits for cuda:{gpu}. Hint: keep values on the GPU, or read several at once.")


def refuse(gpu: int) -> None:
    """Refuse a stop, before anything was done.

    Raises:
        DeviceError: always.
    """
    raise DeviceError(
        f"{name_of(frames_below_user())}: the program would wait for cuda:{gpu}, which set_sync_debug_mode('error') refuses. "
        "Hint: keep values on the GPU, or set_sync_debug_mode('default')."
    )
