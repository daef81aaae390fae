"""What must be true of a call's values: on a GPU it is looked at there, and an error is raised when the program next waits."""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import NbgradError
from ..base.grad_mode import traces
from ..kernels.cuda.faults import fault_number
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from .lowerings import GeneralPlan

__all__ = ["is_required", "require"]


def require(condition: Tensor, error: type[NbgradError], text: str) -> None:
    """Raise an error unless a truth value holds; see ``is_required`` of one on a GPU."""
    if not is_required(condition, error, text):
        raise error(text)


def is_required(condition: Tensor, error: type[NbgradError], text: str) -> bool:
    """Whether a truth value holds. One on a GPU is said to, and nobody waits for it: there it is looked at, and the error is noted,
    NOTE [Errors on the device] of steps.py; but for captures, which go on as it says."""
    if traces or condition.layout.memory is None:
        return bool(condition.item())
    native.fresh(noting_plan(condition.layout, fault_number(error, text)), condition)
    return True


@lru_cache(maxsize=64)
def noting_plan(layout: Layout, fault: int) -> GeneralPlan:
    """The launch that notes a fault unless its operand holds. What it is made of is imported where there is a GPU."""
    from ..kernels.cuda.build import Recipe
    from ..kernels.cuda.moves import identity
    from ..kernels.cuda.notes import note_unless
    from ..kernels.cuda.steps import ERRORS, Step, Steps, operand, out
    from .device_plans import device_plan

    step = Step(Recipe(note_unless(), identity, "int64"), (1,), (out(), operand(), ERRORS), (), (fault,))
    return device_plan((layout,), (layout,), Steps((step,)))
