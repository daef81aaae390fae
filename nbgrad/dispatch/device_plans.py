"""Plans of launches on a GPU: from ``Steps``, which have no addresses, to the records that native code reads.

A plan is made without its kernels: they are compiled and loaded by the first launch (NOTE [Late records] of native/plans.py).
"""

from __future__ import annotations

import struct
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np

from ..base.dtypes import DType, bool_, dtype_of
from ..base.errors import DeviceError, DTypeError
from ..kernels.cuda.access import compute_dtype, value_dtype
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.driver import card, failure
from ..kernels.cuda.moves import identity
from ..kernels.cuda.steps import Call, Elements, Held, Lacking, Made, Number, Place, Step, Steps, out
from ..kernels.cuda.templates import BLOCK, elementwise, number
from ..kernels.late import Code
from ..native import heaps
from ..native.plans import (
    LATE,
    MOST_IN_TABLES,
    MOST_OPERANDS,
    NEVER,
    NUMBER_CODES,
    ON_DEVICE,
    DeviceRecord,
    LateRecord,
    Plan,
    pack_record,
)
from ..tensors.layout import Layout
from ..tensors.storage import META
from .formulas import Formula
from .lowerings import GeneralPlan

__all__ = ["device_plan", "elementwise_on_device", "number_plan"]

P = TypeVar("P", bound=Plan)
NOTHING = Steps(())


def device_plan(outs: tuple[Layout, ...], layouts: tuple[Layout | None, ...], steps: Steps) -> GeneralPlan:
    """The plan of a call that does ``steps``."""
    record = device_record(steps, outs, tuple([0] * len(layouts)))
    return GeneralPlan(record, tuple([out.template for out in outs]), layouts)


@lru_cache(maxsize=64)
def number_plan(layout: Layout) -> GeneralPlan:
    """The launch that writes its one operand, a number of the layout's dtype, to a single element."""
    dtype = layout.dtype.name
    recipe = Recipe(elementwise((number(dtype),), (dtype,), (), 1), identity, compute_dtype(dtype))
    step = Step(recipe, (1,), (out(),), (Number(0),), (1,))
    record = device_record(Steps((step,)), (layout,), (NUMBER_CODES[dtype],))
    return GeneralPlan(record, (layout.template,), (None,))


def device_record(steps: Steps, outs: tuple[Layout, ...], codes: tuple[int, ...]) -> LateRecord:
    """The record of ``steps``, whose kernels are not loaded yet.

    Args:
        codes: of the operands; see NOTE [Plan record].
    """
    if outs[0].device is META:  # where nothing is done: NOTE [Meta] of tensors/meta.py
        steps = NOTHING
    gpu = outs[0].device.index or 0
    most = MOST_IN_TABLES if any(isinstance(step, Step) and step.table for step in steps.steps) else MOST_OPERANDS
    some = [step for step in steps.steps if isinstance(step, Call) or 0 not in step.grid]  # of no element there is no launch
    words: list[int | Code] = [steps.workspace, len(some)]
    for step in some:
        words += call_words(step, gpu, len(outs)) if isinstance(step, Call) else step_words(step, gpu, len(outs))
    known = [0 if type(word) is Code else word for word in words]
    head = (1, 1, len(outs), codes)
    content = pack_record(0, *head, LATE, struct.pack(f"{len(known)}q", *known), NEVER, most)

    def complete() -> bytes:
        try:
            found = [word.__index__() for word in words]
        except Lacking:
            assert steps.instead is not None
            return device_record(steps.instead, outs, codes).complete()
        return DeviceRecord.by(
            pack_record(0, *head, ON_DEVICE, struct.pack(f"{len(found)}q", *found), most=most), partial(refused, steps, outs, codes)
        )

    return LateRecord.by(content, complete, (0, ON_DEVICE, NEVER), True)


def refused(steps: Steps, outs: tuple[Layout, ...], codes: tuple[int, ...], plan: Plan, code: int) -> None:
    """Give a plan the record of its steps by single elements, or raise what the driver said.

    Raises:
        KernelError: the driver, or a library, refuses the launch.
    """
    if code <= heaps.REFUSED:
        raise next(step for step in steps.steps if isinstance(step, Call)).error_of(heaps.REFUSED - code)
    if code != heaps.MISALIGNED:
        raise failure(steps.steps[-1].name, code)
    record = device_record(by_single(steps), outs, codes).complete()
    assert isinstance(record, DeviceRecord)
    record.replaced, plan.record = plan.record, record


def by_single(steps: Steps) -> Steps:
    """The same for memory that is not aligned."""
    return Steps(tuple([step.single or step for step in steps.steps]), steps.workspace, steps.instead and by_single(steps.instead))


def step_words(step: Step, gpu: int, outs: int) -> list[int | Code]:
    """One step: NOTE [Device records] of native/heaps.py."""
    recipe, grid = step.recipe, (*step.grid, 1, 1, 1)[:3] if step.grid else (0, 1, 1)
    parameters: list[int | Code] = []
    for place in step.pointers:
        parameters += place_words(place, outs)
    for value in step.values:
        parameters += value_words(value, recipe, outs)
    for count in step.counts:
        parameters += count_words(count, outs)
    for word in step.table:
        parameters += count_words(word, outs)
    words = [code_of(recipe, gpu), *grid, BLOCK, 0, step.tile, step.alignment - 1, len(parameters) // 3, *parameters]
    return [len(words) + 1, *words]


def call_words(call: Call, gpu: int, outs: int) -> list[int | Code]:
    """One step that is a library's."""
    parameters: list[int | Code] = []
    for each in call.arguments:
        if isinstance(each, Made):
            parameters += [heaps.WORD, made_word(call, gpu, each.at), 0]
        elif isinstance(each, Place):
            parameters += place_words(each, outs)
        elif isinstance(each, Held):
            parameters += [heaps.HELD, 1 + outs + each.at, 0]
        else:
            parameters += [heaps.WORD, each, 0] if isinstance(each, int) else [heaps.STREAM_OF_CALL, 0, 0]
    head = [heaps.CALL, 1, 1, 0, 0, 0, call.alignment - 1, len(call.arguments)]
    words = [made_word(call, gpu, 0), *head, *parameters]
    return [len(words) + 1, *words]


def made_word(call: Call, gpu: int, at: int) -> Code:
    """A word that the library gives."""
    return Code(lambda: call.make(gpu)[at])


def place_words(place: Place, outs: int) -> tuple[int, int, int]:
    """Memory, as a parameter."""
    if place.kind == "work":
        return heaps.WORK, 0, place.offset
    if place.kind == "errors":
        return heaps.ERROR, 0, 0
    return heaps.TENSOR, 1 + place.at + (outs if place.kind == "operand" else 0), place.offset


def count_words(count: int | Elements | Number | Place, outs: int) -> tuple[int, int, int]:
    """An integer, as a parameter; of a place the address."""
    if isinstance(count, Place):
        return place_words(count, outs)
    if isinstance(count, Number):
        return heaps.NUMBER, 1 + outs + count.at, count.offset
    return (heaps.UNITS, 0, 0) if isinstance(count, Elements) else (heaps.WORD, count, 0)


def value_words(value: float | Number, recipe: Recipe, outs: int) -> tuple[int, int, int]:
    """A number, as a parameter."""
    if isinstance(value, Number):
        return heaps.NUMBER, 1 + outs + value.at, value.offset
    cell = np.zeros(8, np.uint8)
    number = np.asarray([value], dtype_of(value_dtype(recipe.dtype)).numpy)
    cell[: number.nbytes] = number.view(np.uint8)
    return heaps.WORD, int(cell.view(np.int64)[0]), 0


def code_of(recipe: Recipe, gpu: int) -> Code:
    """The handle of a kernel, to be found by the first launch."""
    return Code(lambda: card(gpu).kernel(recipe))


# ---- elementwise ------------------------------------------------------------------------------------------------------


def elementwise_on_device(
    formula: Formula,
    compute: DType,
    operands: tuple[Layout | None, ...],
    outs: tuple[Layout, ...],
    inplace: int,
    plan_type: type[P],
    exact: tuple[str, ...] | None,
) -> P:
    """What ``elementwise_plan`` gives where the first result is on a GPU."""
    from .device_steps import elementwise_steps

    there = outs[0].device
    for x in (*operands, *outs):
        if x is not None and x.device is not there:
            raise DeviceError(
                f"{formula.name}: one operand is on {there}, another on {x.device}; expected one device. "
                "Hint: move one with x.to(device)."
            )
    if compute is not bool_ and any(x is None and boolean for x, (_, boolean) in zip(operands, formula.params)):
        raise DTypeError(f"{formula.name}: expected a bool tensor on {there}, got a number. Hint: nbgrad.tensor(True, device=...).")
    dtype = compute.compute
    steps = NOTHING if there is META else elementwise_steps(formula, compute, operands, outs, inplace, exact)
    codes = tuple([NUMBER_CODES[dtype] if x is None else 0 for x in operands[inplace:]])
    return plan_type(device_record(steps, outs, codes), tuple([x.template for x in outs]), operands[inplace:])
