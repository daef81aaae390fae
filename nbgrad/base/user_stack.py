"""The Python stack without the frames of this package."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from types import FrameType

__all__ = ["frames_below_user", "user_stack", "warn_user"]

# Files whose frames say nothing to the user: the package, its generated text, and what runs context managers.
OWN = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<nbgrad", contextlib.__file__)


def user_stack() -> list[str]:
    """``"file(line): function"`` for the frames outside of the package, innermost first."""
    entries: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OWN):
            entries.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return entries


def frames_below_user() -> list[FrameType]:
    """The frames of this package that run below who asks; the one that the user's code has called comes first."""
    frame, frames = sys._getframe(1), list[FrameType]()
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frames.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return frames[::-1]


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the program that has called this package, however many frames lie between.

    Python shows a warning once for each line: at a line of this package, other places of the program would stay silent.
    """
    warnings.warn(message, category, stacklevel=len(frames_below_user()) + 1)
