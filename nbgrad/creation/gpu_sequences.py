"""Sequences of numbers that are made on a GPU: ``arange``, ``linspace``, ``eye``. They have the bits of the CPU's."""

from __future__ import annotations

from functools import lru_cache

from ..base.bounded import MOST_PLANS
from ..base.dtypes import BOOL, COMPLEX
from ..base.errors import OutOfMemoryError
from ..base.grad_mode import traces
from ..dispatch.device_fills import eye_steps, sequence_steps
from ..dispatch.device_plans import device_plan, device_record
from ..kernels.cuda.steps import Number
from ..native.plans import NUMBER_CODES, Plan
from ..tensors.layout import Layout
from ..tensors.storage import note_made
from ..tensors.tensor import Tensor, native

__all__ = ["eye_on_gpu", "sequence_on_gpu"]


def sequence_on_gpu(op: str, name: str, kind: str, layout: Layout, *numbers: float) -> Tensor | None:
    """``sequence`` of sequences.py on a GPU; None of dtypes, and of numbers, for which there is no kernel.

    Raises:
        OutOfMemoryError: there is no memory.
    """
    if layout.dtype.category in (BOOL, COMPLEX) or kind == "int64" and max(map(abs, numbers)) >= 1 << 62:
        return None
    return made(op, sequence_plan(name, kind, layout, len(numbers)), *numbers)


def eye_on_gpu(layout: Layout) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    return made("eye", eye_plan(layout))


def made(op: str, plan: Plan, *numbers: float) -> Tensor:
    """The result of a plan without tensors."""
    try:
        out: Tensor = native.fresh(plan, *numbers)
    except OutOfMemoryError as error:
        raise OutOfMemoryError(f"{op}: {str(error).partition(': ')[2]}") from None
    if traces:
        note_made(out._storage_)
    return out


@lru_cache(maxsize=MOST_PLANS)
def sequence_plan(name: str, kind: str, layout: Layout, count: int) -> Plan:
    """The launch of a sequence of so many numbers, which come with the call."""
    steps = sequence_steps(name, kind, layout, *map(Number, range(count)))
    return Plan(device_record(steps, (layout,), (NUMBER_CODES[kind],) * count), (layout.template,), (None,) * count)


@lru_cache(maxsize=MOST_PLANS)
def eye_plan(layout: Layout) -> Plan:
    """The launches of a matrix."""
    return device_plan((layout,), (), eye_steps(layout))
