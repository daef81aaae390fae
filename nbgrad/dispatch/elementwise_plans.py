"""The plans of elementwise calls: found by layouts, copied from one of their kind, or made."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..base.bounded import keep
from ..base.dtypes import DType, bool_
from ..native.plans import ElementwisePlan
from ..ops.core import Elementwise
from ..ops.expr import symbol
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.tensor import Tensor, native
from .elementwise_rules import FEW, Subsets, record_functions
from .operands import check_operands, compute_dtype, require_divisor
from .plans import Formula, elementwise_plan, result_layout

PLANS: dict[str, dict] = {}


def plan_key(operands: tuple):
    """The key of ``op.plans``: layouts, types of Python numbers; one layout alone where two operands share it."""
    if len(operands) == 1:
        return operands[0].layout
    key = tuple([x.layout if isinstance(x, Tensor) else type(x) for x in operands])
    return key[0] if len(key) == 2 and key[0] is key[1] else key


def find_plan(op: Elementwise, operands: tuple) -> ElementwisePlan:
    """The plan for these operands, made if there is none.

    Raises:
        ArgumentError, DTypeError, ShapeError, DeviceError: they do not go together.
    """
    plans = PLANS[op.name]
    if isinstance(operands[0], Tensor) and not op.integer_divisor:
        plan = plans.get(plan_key(operands))
        if plan is not None:  # found by every call in a special mode: 9.7 -> 7.2 us
            return plan
    check_operands(op, operands)
    key = plan_key(operands)
    plan = plans.get(key)
    if op.integer_divisor:
        return checked_plan(op, operands, plans, key, plan)
    if plan is None:
        plan = keep(plans, key, make_plan(op, operands))
        remember_kind(op, operands, plan)
    return plan


# By operation, then by kind: a plan to be copied for other shapes. A new shape of a known kind costs 1 us instead of 20.
KINDS: dict[str, dict] = {}


def kind_of(one: Any, other: Any) -> Any:
    """The key in ``KINDS`` of a call on one contiguous layout, twice the same, or one and a number; None for any other.

    Args:
        one, other: the operands' layouts, types of numbers; the layout twice where it is the only one.
    """
    if type(one) is Layout:
        return one.kind if other is one else (one.kind, other) if other is float or other is int else None
    return (one, other.kind) if (one is float or one is int) and type(other) is Layout else None


def adopt(plans: dict, kinds: dict, key: Any) -> ElementwisePlan | None:
    """Make and keep the plan of a call of a known kind, None of any other; ``key``: see ``plan_key``."""
    if type(key) is tuple:
        one, other = key if len(key) == 2 else (None, None)
        pattern = kinds.get(kind_of(one, other))
        layout = one if type(one) is Layout else other
    else:
        pattern, layout = kinds.get(key.kind) if type(key) is Layout else None, key
    return None if pattern is None else keep(plans, key, pattern.resized(layout))


def remember_kind(op: Elementwise, operands: tuple, plan: ElementwisePlan) -> None:
    """Keep a plan as the pattern of its kind if only shapes would differ for another one."""
    given = [x.layout if isinstance(x, Tensor) else type(x) for x in operands]
    kinds = [x.kind for x in given if type(x) is Layout]
    if len(given) <= 2 and None not in kinds and not plan.reduced and not plan.is_iterated():
        kind = kind_of(given[0], given[-1])
        if kind is not None:
            plan.kinds = {}
            KINDS[op.name][kind] = Pattern(plan)


class Pattern:
    """A plan of which copies serve other contiguous shapes.

    Attributes:
        build: ``build(outs, operands, operands, backs)``, the copy.
        dtype: of the result.
        operands: of the plan: None for a Python number.
        mixed: whether there is one.
        subsets: the length of ``backs``.
    """

    __slots__ = ("build", "dtype", "operands", "mixed", "subsets")

    def __init__(self, plan: ElementwisePlan):
        self.dtype, self.subsets = plan.outs[0].layout.dtype, len(plan.backs)
        self.operands, self.mixed = plan.operands, None in plan.operands
        shared = object.__new__(ElementwisePlan)
        for slot in ("record", "op", "compute", "records", "reduced", "kinds"):
            setattr(shared, slot, getattr(plan, slot))
        self.build = native.builder(shared, ("outs", "layouts", "operands", "backs"))

    def resized(self, layout: Layout) -> ElementwisePlan:
        """The plan of the same kind for another contiguous shape."""
        dtype, operands = self.dtype, self.operands
        out = layout if dtype is layout.dtype else layout_of(dtype, layout.shape, None, layout.device)
        operands = tuple([x and layout for x in operands]) if self.mixed else (layout,) * len(operands)
        return self.build((out.template,), operands, operands, [None] * self.subsets)


CHECKED = "checked"


def checked_plan(op: Elementwise, operands: tuple, plans: dict, key, plan: ElementwisePlan | None) -> ElementwisePlan:
    """The plan of a division. Of integers it is kept where the fast path does not look, since each call must see the divisor.

    Raises:
        DivisionError: a divisor of integers is 0.
    """
    plan = plan or plans.get((CHECKED, key)) or make_plan(op, operands)
    keep(plans, key if plan.compute.differentiable else (CHECKED, key), plan)
    require_divisor(op, plan.compute, operands)
    return plan


@cache
def forward_formula(op: Elementwise, dtype: DType | None = None) -> Formula:
    """The formula of the result; bits of bool operands are truth values, not numbers."""
    if dtype is bool_ and op.policy == "integer":
        params = tuple((name, True) for name in op.operands)
        return Formula(op.name, params, (op.formula(*(symbol(*param) for param in params)),))
    return Formula(op.name, op.params, (op.expression(),))


def make_plan(op: Elementwise, operands: tuple) -> ElementwisePlan:
    """Plan a call out of place."""
    layouts = tuple(x.layout if isinstance(x, Tensor) else None for x in operands)
    dtype = compute_dtype(op, operands)
    tensors = [layout for layout in layouts if layout is not None]
    shape = broadcast_shapes(op.public, [layout.shape for layout in tensors])
    out = result_layout(bool_ if op.predicate else dtype, shape, tensors)
    plan = elementwise_plan(forward_formula(op, dtype), dtype, layouts, (out,), plan_type=ElementwisePlan, exact=op.exact)
    return finish_plan(plan, op, operands, layouts, dtype, out)


def finish_plan(plan: ElementwisePlan, op: Elementwise, operands: tuple, layouts: tuple, dtype: DType, out: Layout):
    """Add what recording needs."""
    plan.op, plan.compute, plan.operands = op, dtype, layouts
    plan.reduced = any(
        x is not None and (x.shape != out.shape or x.dtype is not dtype) for x, d in zip(layouts, op.differentiable) if d
    )
    plan.records = record_functions(op, tuple(layout is None for layout in layouts), dtype.is_complex)
    plan.backs = [None] * len(plan.records) if len(op.operands) <= FEW else Subsets()
    plan.kinds = None
    return plan
