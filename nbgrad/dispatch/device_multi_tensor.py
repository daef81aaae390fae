"""One formula written over many tensors of a GPU, in as few launches as tables of them take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..base.dtypes import DType
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.multi_tensor import FEW_ROWS, blocks_of, elementwise_rows, most_rows, table_of
from ..kernels.cuda.steps import Place, Step, Steps, operand, out
from ..kernels.cuda.templates import Operand, array, number, single
from ..kernels.cuda.vectors import lanes_for
from ..native.plans import MOST_IN_TABLES, NUMBER_CODES
from ..tensors.layout import Layout
from ..tensors.tensor import native
from .device_copies import with_single
from .device_formulas import Bound, bound
from .device_plans import device_record
from .device_steps import converted_first, number_values, same_order
from .formulas import Formula, is_single
from .lowerings import GeneralPlan

__all__ = ["TableLaunch", "table_launches"]


class TableLaunch(NamedTuple):
    """A launch.

    Attributes:
        write: ``write(*outputs, *numbers, *inputs)``.
        rows: which ones it does.
        plan: of the launch.
    """

    write: Callable
    rows: tuple[int, ...]
    plan: GeneralPlan


class Form(NamedTuple):
    """What rows of one launch have in common.

    Attributes:
        formula: its parameters are a row's outputs, its inputs, and numbers.
        compute: the dtype of computation.
        outputs, inputs: how many a row has; the last ``singles`` inputs are single elements.
    """

    formula: Formula
    compute: DType
    outputs: int
    inputs: int
    singles: int

    @property
    def numbers(self) -> int:
        """How many numbers there are."""
        return len(self.formula.params) - self.outputs - self.inputs


def table_launches(
    formula: Formula, outputs: int, inputs: int, singles: int, compute: DType | None, rows: Sequence[tuple[Layout, ...]]
) -> tuple[list[TableLaunch], list[int]]:
    """The launches that do rows of tensors with these layouts, and the rows that none of them can do.

    Args:
        formula, outputs, inputs, singles: as of ``Form``.
        compute: the dtype of computation; None: that of a row's first tensor.
    """
    alone, groups = list[int](), defaultdict[tuple, list[int]](list)
    for k, row in enumerate(rows):
        computed = compute or row[0].dtype
        if fits(row, outputs + inputs - singles, computed):
            groups[row[0].device, computed, *(x.dtype for x in row)].append(k)
        else:
            alone.append(k)
    launches = list[TableLaunch]()
    for (_, computed, *dtypes), members in groups.items():
        form = Form(formula, computed, outputs, inputs, singles)
        made = bound_of(form, [dtype.name for dtype in dtypes])
        most = min(most_rows(len(pointers_of(form, made)), form.numbers), (MOST_IN_TABLES - 1 - form.numbers) // len(dtypes))
        for first in range(0, len(members), most):
            some = members[first : first + most]
            plan = plan_of(form, made, [rows[k] for k in some], most)
            launches.append(TableLaunch(native.table_writer(plan), tuple(some), plan))
    return launches, sorted(alone)


def fits(row: tuple[Layout, ...], arrays: int, compute: DType) -> bool:
    """Whether a table can have a row: all arrays lie alike, what is loaded is computed with as it is."""
    first = row[0]
    return (
        first.numel > 0
        and all(x.device is first.device and converted_first(x, compute, None, False) is None for x in row)
        and all(x.shape == first.shape and same_order(x, first) for x in row[:arrays])
        and all(is_single(x) for x in row[arrays:])
    )


def bound_of(form: Form, dtypes: list[str]) -> Bound:
    """The formula on operands of these dtypes, and numbers."""
    arrays = len(dtypes) - form.singles
    kinds: list[Operand] = [array(name) if k < arrays else single(name) for k, name in enumerate(dtypes)]
    kinds += [number(form.compute.name)] * form.numbers
    outputs = tuple(dtypes[: form.outputs])
    return bound(form.formula.name, form.formula, form.compute.name, tuple(kinds), outputs, form.outputs)


def plan_of(form: Form, made: Bound, rows: list[tuple[Layout, ...]], most: int) -> GeneralPlan:
    """The launch of rows of the same dtypes; ``most``: rows of the largest table."""
    operation, tensors = made.operation, form.outputs + form.inputs
    size = FEW_ROWS if len(rows) <= FEW_ROWS < most else most
    numbers = [place - tensors for place in made.places if place >= tensors]
    values = tuple([value for at in numbers for value in number_values(at, form.compute)])
    outs = tuple([x for row in rows for x in row[: form.outputs]])
    ins = tuple([x for row in rows for x in row[form.outputs :]])
    arrays = [x.dtype for x in operation.inputs if x.kind == "array"]
    lanes = lanes_for(operation.scalar, operation.dtype, arrays, operation.outputs)

    def step(lanes: int) -> Step:
        first, words = 0, list[tuple[int, int, list[Place]]]()
        for k, row in enumerate(rows):
            words.append((first, row[0].numel, [place_of(form, k, place) for place in pointers_of(form, made)]))
            first += blocks_of(row[0].numel, lanes)
        template = elementwise_rows(operation.inputs, operation.outputs, operation.into, size, lanes)
        recipe = Recipe(template, operation.scalar, operation.dtype)
        return Step(recipe, (first,), (), values, table=table_of(words, size))

    codes = (NUMBER_CODES[form.compute.compute],) * form.numbers + (0,) * len(ins)
    record = device_record(Steps((with_single(step, lanes),)), outs, codes)
    return GeneralPlan(record, tuple([x.template for x in outs]), (*[None] * form.numbers, *ins))


def pointers_of(form: Form, made: Bound) -> list[int]:
    """Which outputs and inputs of a row the kernel has pointers to, in its order: those results first that overwrite nothing."""
    return [*range(len(made.operation.into), form.outputs), *(k for k in made.places if k < form.outputs + form.inputs)]


def place_of(form: Form, row: int, place: int) -> Place:
    """Where an output or input of a row is."""
    if place < form.outputs:
        return out(row * form.outputs + place)
    return operand(form.numbers + row * form.inputs + place - form.outputs)
