"""What kernels may find wrong with the elements that they read: a number for each fault, which a kernel writes at ``ERRORS``.

NOTE [Errors on the device] of ``steps.py`` says how; here is what the numbers mean. They are given out as plans are made, and mean
something in this process alone.
"""

from __future__ import annotations

from typing import NamedTuple

from ...base.errors import NbgradError

__all__ = ["Fault", "fault_error", "fault_number"]


class Fault(NamedTuple):
    """What a kernel may find.

    Attributes:
        error: the class of the exception.
        text: of its message; ``{element}`` stands for what was found.
    """

    error: type[NbgradError]
    text: str


_faults: list[Fault] = []
_numbers: dict[Fault, int] = {}


def fault_number(error: type[NbgradError], text: str) -> int:
    """The number of a fault, never 0."""
    fault = Fault(error, text)
    number = _numbers.get(fault)
    if number is None:
        _faults.append(fault)
        number = _numbers[fault] = len(_faults)
    return number


def fault_error(number: int, element: int) -> NbgradError:
    """The exception behind what a kernel has written."""
    fault = _faults[number - 1]
    return fault.error(fault.text.replace("{element}", str(element)))
