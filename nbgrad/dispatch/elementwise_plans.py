"""The plans of elementwise calls: which kernel runs, on which memory, and what recording needs to know.

A table finds plans by the *kinds* of operands: the layout of a tensor, the type of a number. Where a new call differs from a known
one in its shape alone it gets a copy of that plan (``Pattern``), else a new plan. See NOTE [Two levels] in plans.py.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Callable, cast

from ..base.bounded import Plans
from ..base.dtypes import DType, bool_, of_default_dtype
from ..native.plans import ElementwisePlan, LateRecord
from ..ops.core import Elementwise
from ..ops.expr import symbol
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.tensor import native
from .elementwise_rules import FEW, Subsets, record_functions
from .formulas import Formula
from .operands import check_kinds, dtype_of_kinds, kinds_of, layouts_in, require_divisor
from .patterns import Patterns
from .plans import elementwise_plan, result_layout


class ElementwisePlans(Plans):
    """The plans of an elementwise operation, by the kinds of its operands: a table that makes what it lacks.

    Attributes:
        patterns: by kind, plans to be copied for other shapes: all but a record of numbers is known of those.
        derived: what makes the plans of all other kinds.
    """

    __slots__ = ("op", "patterns", "derived")
    patterns: dict[Any, Pattern]

    def __init__(self, op: Elementwise):
        super().__init__(self.plan_of)
        self.op, self.patterns = op, of_default_dtype({})
        self.derived = Patterns(lambda *kinds: make_plan(op, kinds), copies_of, op.name)
        of_default_dtype(self)

    def plan_of(self, key: Any) -> ElementwisePlan:
        """The plan of a call, copied or made.

        Raises:
            ArgumentError, DTypeError, ShapeError, DeviceError: the operands do not go together.
        """
        plan = self.copied(key)
        if plan is None:
            kinds = kinds_in(key, len(self.op.operands))
            plan = self.derived.plan_of(kinds)
            pattern = pattern_key(kinds[0], kinds[-1]) if len(kinds) <= 2 else None
            if pattern is not None and not plan.reduced and not plan.is_iterated():
                plan.kinds = {}
                self.patterns[pattern] = Pattern(plan)
        return plan

    def copied(self, key: Any) -> ElementwisePlan | None:
        """The plan of a call that differs from a known one in its shape alone; None of any other."""
        if type(key) is Layout:  # as in most calls
            pattern = self.patterns.get(key.kind)
            return None if pattern is None else pattern.resized(key)
        one, other = key if type(key) is tuple and len(key) == 2 else (None, None)
        pattern, layout = self.patterns.get(pattern_key(one, other)), one if type(one) is Layout else other
        return None if pattern is None else pattern.resized(cast(Layout, layout))

    def find(self, operands: tuple) -> ElementwisePlan:
        """The plan for these operands.

        Raises:
            See ``plan_of``. DivisionError: a divisor of integers is 0.
        """
        plan: ElementwisePlan = self[plan_key(kinds_of(operands))]
        if self.op.integer_divisor:
            require_divisor(self.op, plan.compute, operands)
        return plan


def copies_of(plan: ElementwisePlan) -> Callable[[tuple, bytes, tuple, tuple], ElementwisePlan]:
    """What builds plans that differ from one in their sizes alone: see ``Patterns``."""
    shared = object.__new__(ElementwisePlan)
    for slot in ("op", "compute", "records", "reduced"):
        setattr(shared, slot, getattr(plan, slot))
    shared.kinds = None
    build, subsets = native.builder(shared, ("record", "outs", "layouts", "operands", "backs"), True), plan.backs

    def copy(kinds: tuple, record: bytes, outs: tuple, layouts: tuple) -> ElementwisePlan:
        backs = [None] * len(subsets) if type(subsets) is list else Subsets()
        return build(record, outs, layouts, layouts_in(kinds), backs)

    return copy


def plan_key(kinds: tuple) -> Any:
    """The key of a plan: the kinds of all operands, or one kind where there is one operand, or two of the same kind."""
    return kinds[0] if len(kinds) == 1 or len(kinds) == 2 and kinds[0] is kinds[1] else kinds


def kinds_in(key: Any, count: int) -> tuple:
    """The kinds of ``count`` operands, from their ``plan_key``."""
    return key if type(key) is tuple else (key,) * min(2, count)


# By operation.
PLANS: dict[str, ElementwisePlans] = {}


def find_plan(op: Elementwise, operands: tuple) -> ElementwisePlan:
    """The plan of an operation for these operands: ``ElementwisePlans.find``."""
    return PLANS[op.name].find(operands)


def pattern_key(one: Any, other: Any) -> Any:
    """The key of a pattern, for operands with one contiguous layout: one, twice the same, or one and a number. Else None.

    Args:
        one, other: the kinds of the operands; the layout twice where it is the only one.
    """
    if type(one) is Layout:
        return one.kind if other is one else (one.kind, other) if one.kind and (other is float or other is int) else None
    return (one, other.kind) if (one is float or one is int) and type(other) is Layout and other.kind else None


class Pattern:
    """A plan of which copies serve other contiguous shapes.

    Attributes:
        shared: what the copies have in common; ``build(outs, operands, operands, backs)`` makes one.
        late: their record, if its kernel is yet to be found; else None.
        dtype: of the result.
        operands: of the plan: None for a Python number.
        mixed: whether there is one.
        subsets: what ``backs`` of a copy begins as.
    """

    late: LateRecord | None
    __slots__ = ("shared", "build", "late", "dtype", "operands", "mixed", "subsets")

    def __init__(self, plan: ElementwisePlan):
        self.dtype, self.subsets = plan.outs[0].layout.dtype, [None] * len(plan.backs)
        self.operands, self.mixed = plan.operands, None in plan.operands
        self.shared = object.__new__(ElementwisePlan)
        for slot in ("record", "op", "compute", "records", "reduced", "kinds"):
            setattr(self.shared, slot, getattr(plan, slot))
        self.late = plan.record if type(plan.record) is LateRecord else None
        self.build = native.builder(self.shared, ("outs", "layouts", "operands", "backs"), True)

    def resized(self, layout: Layout) -> ElementwisePlan:
        """The plan of the same kind for another contiguous shape."""
        if self.late is not None and self.late.packed is not None:
            self.shared.record, self.late = self.late.packed, None
            self.build = native.builder(self.shared, ("outs", "layouts", "operands", "backs"), True)
        dtype, operands = self.dtype, self.operands
        out = layout if dtype is layout.dtype else layout_of(dtype, layout.shape, None, layout.device)
        operands = tuple([x and layout for x in operands]) if self.mixed else (layout,) * len(operands)
        return self.build((out.template,), operands, operands, self.subsets[:])


@cache
def forward_formula(op: Elementwise, dtype: DType | None = None) -> Formula:
    """The formula of the result; bits of bool operands are truth values, not numbers."""
    if dtype is bool_ and op.policy == "integer":
        params = tuple((name, True) for name in op.operands)
        return Formula(op.name, params, (op.formula(*(symbol(*param) for param in params)),))
    return Formula(op.name, op.params, (op.expression(),))


def result_of(op: Elementwise, kinds: tuple) -> tuple[DType, Layout]:
    """The dtype of computation of a call out of place, and the layout of its result.

    Raises:
        ArgumentError, DTypeError, ShapeError, DeviceError: the operands do not go together.
    """
    check_kinds(op, kinds)
    dtype, tensors = dtype_of_kinds(op, kinds), [layout for layout in layouts_in(kinds) if layout is not None]
    shape = broadcast_shapes(op.public, [layout.shape for layout in tensors])
    result = bool_ if op.predicate else dtype
    return dtype, tensors[0].like(result, shape) if op.row_major else result_layout(result, shape, tensors)


def make_plan(op: Elementwise, kinds: tuple) -> ElementwisePlan:
    """Plan a call out of place."""
    layouts = layouts_in(kinds)
    dtype, out = result_of(op, kinds)
    plan = elementwise_plan(forward_formula(op, dtype), dtype, layouts, (out,), plan_type=ElementwisePlan, exact=op.exact)
    return finish_plan(plan, op, layouts, dtype, out)


def finish_plan(plan: ElementwisePlan, op: Elementwise, layouts: tuple, dtype: DType, out: Layout):
    """Add to a plan what recording needs: the operation, the layouts of operands, what records each subset of them."""
    plan.op, plan.compute, plan.operands = op, dtype, layouts
    plan.reduced = any(
        x is not None and (x.dtype is not dtype or able and x.shape != out.shape)
        for x, able, fixed in zip(layouts, op.differentiable, op.fixed)
        if able or fixed
    )
    plan.records = record_functions(op, tuple(layout is None for layout in layouts), dtype.is_complex)
    plan.backs = [None] * len(plan.records) if len(op.operands) <= FEW else Subsets()
    plan.kinds = None
    return plan
