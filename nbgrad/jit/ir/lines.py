"""The line of the program that the thread is at."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ...base.bounded import Plans

__all__ = ["line_of", "user_level", "user_line"]

PACKAGE = str(Path(__file__).parents[2])
STANDARD = os.path.dirname(os.__file__)
GENERATED = "<nbgrad "  # how files of generated functions are called


def is_own(path: str) -> bool:
    """Whether a file is one of the package or of Python's, or of a function that the package has generated."""
    return path.startswith((PACKAGE, GENERATED)) or path.startswith(STANDARD) and "site-packages" not in path


OWN = Plans(is_own)  # by the paths of files, which a capture asks for a few hundred times


def user_line() -> str:
    """``file:line`` of the innermost frame that is the program's."""
    frame = sys._getframe(1)
    while frame is not None and OWN[frame.f_code.co_filename]:
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def line_of(error: BaseException) -> str:
    """``file:line`` of the innermost frame of the program that an error has come through."""
    found, at = "", error.__traceback__
    while at is not None:
        if not OWN[at.tb_frame.f_code.co_filename]:
            found = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}"
        at = at.tb_next
    return found


def user_level() -> int:
    """How many frames lie between the caller and the program: ``stacklevel`` of a warning."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and OWN[frame.f_code.co_filename]:
        frame, level = frame.f_back, level + 1
    return level
