"""Grad mode: whether a thread records operations; and ``special``, the one list that calls test for all special modes."""

from __future__ import annotations

import threading
from typing import Any

from .errors import GradError

__all__ = ["Kept", "converted_in_modes", "is_grad_enabled", "is_inference_mode_enabled", "mode", "special"]

# Special interpreters that are active anywhere in the process: profiling, anomaly mode, saved-tensor hooks, tracing, ...
# The fast path tests ``if special`` once; a list, because its truth value is the cheapest global test there is.
# Other threads add and remove members at any time: whoever looks for one of this thread walks over a copy, and compares with
# other lists by ``==``, which a member of this thread that is in one only always makes unequal. Two lengths may be of two moments.
special: list = []


def converted_in_modes(op: str, *tensors: Any) -> tuple:
    """Operands as the call of an operation would take them in a mode of mixed precision (modes/autocast.py): for functions that
    compare dtypes, or go by them, before they call it. None is nothing."""
    for active in special[:]:
        convert = getattr(active, "convert", None)
        if convert is not None:
            tensors = convert(op, tensors)
    return tensors


# The levels of forward mode that are open anywhere in the process, outermost first (forward/tangents.py). Other threads open and
# close levels at any time: look at a copy, once, where a level of this thread must not be missed.
dual_levels: list = []

# The captures of graphs that run anywhere in the process, outermost first (jit/capture/capture.py). While there is one, passes
# evaluate formulas by calls, and creation functions tell of what they make.
traces: list = []


def capture_of_thread() -> Any:
    """The innermost capture of this thread; None if it captures nothing, or is beneath a call that is being captured."""
    this = threading.get_ident()
    for trace in traces[::-1]:
        if trace.thread == this:
            return None if trace.depth else trace
    return None


# The modes beneath the gradients that are active anywhere in the process (modes/dispatch_modes.py). While there is one, passes
# evaluate formulas by calls.
dispatch_modes: list = []

# The tracers of calls that run anywhere in the process (forward/programs.py). ``new_full`` tells them of what it has filled.
call_tracers: list = []

# Not empty while a call that is no operation may mean something else than usual: a transform of functions runs in some thread, a
# batch is open, a function mode is active, types that override functions exist. Entry points test it before they look closer.
unusual: list = []


class GradMode(threading.local):
    """The modes of a thread.

    Attributes:
        enabled: operations on tensors that require grad are recorded; never in inference mode.
        inference: the thread is in inference mode; what it makes is marked (modes/inference.py).
        inferring: the thread is beneath an operation of inference mode: its steps are plain, and its results are marked at the end.
        claimed: what ``is_grad_enabled`` says in inference mode.
        transforms: the transforms whose functions run, outermost first: runs of reverse mode (func/transforms.py) and levels.
    """

    def __init__(self) -> None:
        self.enabled, self.inference, self.inferring, self.claimed = True, False, False, False
        self.transforms: list[Any] = []


mode = GradMode()


class Kept:
    """The modes of a thread as they are now, for where Ctrl-C may leave them as they were in the middle of something."""

    __slots__ = ("enabled", "inference", "inferring", "claimed", "transforms")

    def __init__(self) -> None:
        self.enabled, self.inference, self.inferring, self.claimed = mode.enabled, mode.inference, mode.inferring, mode.claimed
        self.transforms = mode.transforms.copy()

    def put_back(self) -> None:
        """Let them be so again."""
        mode.enabled, mode.inference, mode.inferring, mode.claimed = self.enabled, self.inference, self.inferring, self.claimed
        for transform in mode.transforms[len(self.transforms) :]:
            while transform in unusual:
                unusual.remove(transform)
        mode.transforms[:] = self.transforms


class transforming:
    """While a transform of functions (``func.grad``, ``vmap``, ...) runs the user's. A class: a generator takes longer."""

    __slots__ = ("transform",)

    def __init__(self, transform: Any):
        self.transform = transform

    def __enter__(self) -> Any:
        mode.transforms.append(self.transform)
        unusual.append(self.transform)
        return self.transform

    def __exit__(self, *error: object) -> None:
        unusual.remove(self.transform)
        mode.transforms.remove(self.transform)


def refuse_in_transform(op: str, hint: str) -> None:
    """Refuse what belongs to graphs of the user's own inside of a transformed function, whose graphs are the transform's.

    Raises:
        GradError: a transform runs in this thread.
    """
    if mode.transforms:
        raise GradError(f"{op}: called inside of a function that a transform (func.grad, vjp, jvp, vmap, ...) runs. Hint: {hint}.")


def note_leaf(x: Any) -> None:
    """Let a leaf that a transformed function makes belong to the innermost run of reverse mode: NOTE [Transforms]."""
    for transform in reversed(mode.transforms):
        if hasattr(transform, "live"):
            x.__dict__["_run_"] = transform
            return


def is_grad_enabled() -> bool:
    """Whether operations are being recorded in this thread; in inference mode what was last asked for, though nothing is.

    >>> with nbgrad.no_grad():
    ...     nbgrad.is_grad_enabled()
    False
    """
    return mode.claimed if mode.inference else mode.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``.

    >>> with nbgrad.inference_mode():
    ...     nbgrad.is_inference_mode_enabled()
    True
    """
    return mode.inference


def set_recording(enabled: bool) -> bool:
    """Set what ``is_grad_enabled`` says; returns what it said."""
    if mode.inference:
        before, mode.claimed = mode.claimed, enabled
    else:
        before, mode.enabled = mode.enabled, enabled
    return before
