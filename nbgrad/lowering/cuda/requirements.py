"""What must be true of a call's values: on a GPU it is looked at there, and an error is raised when the program next waits."""

from __future__ import annotations

from functools import lru_cache

from ...base.errors import NbgradError
from ...dispatch.device_plans import device_plan
from ...dispatch.lowerings import GeneralPlan
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.faults import fault_number
from ...kernels.cuda.moves import identity
from ...kernels.cuda.notes import note_unless
from ...kernels.cuda.steps import ERRORS, Step, Steps, operand, out
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor, native

__all__ = ["require"]


def require(condition: Tensor, error: type[NbgradError], text: str) -> None:
    """Raise an error unless a truth value holds; of one on a GPU it is noted there: NOTE [Errors on the device] of steps.py."""
    if condition.layout.memory is not None:
        native.fresh(noting_plan(condition.layout, fault_number(error, text)), condition)
    elif not condition.item():
        raise error(text)


@lru_cache(maxsize=64)
def noting_plan(layout: Layout, fault: int) -> GeneralPlan:
    """The launch that notes a fault unless its operand holds."""
    step = Step(Recipe(note_unless(), identity, "int64"), (1,), (out(), operand(), ERRORS), (), (fault,))
    return device_plan((layout,), (layout,), Steps((step,)))
