"""One call of one operation: find the plan, launch, record.

Every elementwise operation gets a closure specialised by arity. On the fast path it does: one test of the flag behind which
all special modes stand, one dict look-up from the operands' layouts to a plan, one native call that allocates the result and
launches the kernel, and, where a gradient is needed, one native call that makes the node. Whatever misses the plan table takes
``general``: check, promote, broadcast, plan; it leaves a plan behind, so the next call of its kind is fast.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any, Callable, NamedTuple
from weakref import ReferenceType

import numpy as np

from ..base.bounded import MOST_PLANS, keep  # noqa: F401  (how many plans an operation keeps)
from ..base.calls import CALLS
from ..base.dtypes import (
    DType,
    bool_,
    complex128,
    dtype_of,
    float64,
    get_default_dtype,
    iinfo,
    int64,
    of_default_dtype,
    result_dtype,
)
from ..base.errors import ArgumentError, DeviceError, DivisionError, DTypeError, NotSupportedError, NumberError, ShapeError
from ..base.functions import attach
from ..base.grad_mode import mode, special
from ..graph.cotangents import fit
from ..graph.edges import Edge, Node, requires_grad
from ..graph.node import NODE_SAVES, Rule, WideNode, blank_node, saved_slots
from ..graph.saved import EnteredHooks, RawSaved, SavedTensor, alias_with, free_all, require_history, tangents_of, unpack
from ..modes.inference import NEVER, elementwise_caller
from ..modes.interpreters import Call, interpret, is_bystander, is_marked, known_call, quick_call, quick_calls
from ..native.plans import ElementwisePlan, Plan
from ..ops.core import OPS, Elementwise
from ..ops.expr import OPERATIONS, guarded, postorder, symbol
from ..ops.spellings import public_name, target_of
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.tensor import Tensor, native
from ..views import WrittenRegion
from .generated import late_function
from .plans import Formula, elementwise_plan, result_layout

__all__ = ["apply", "call_of", "general", "ElementwisePlan"]

NUMBERS = (bool, int, float, complex, np.generic)


def apply(name: str, operands: tuple) -> Any:
    """The operation ``name`` on tensors and numbers; on numbers alone, the number."""
    for x in operands:
        if isinstance(x, Tensor):
            if name == "where" and not isinstance(operands[0], Tensor):
                return operands[1] if operands[0] else operands[2]
            return CALLS[name](*operands)
    return fold(name, operands)


def choose(dtype: DType, condition: Any, x: Any, y: Any) -> Any:
    """``where`` in a formula whose result is of this dtype: numbers, and operands that are integers, count as such."""
    if not isinstance(condition, Tensor):
        return x if condition else y
    x, y = [
        CALLS["to_dtype"](each, dtype) if isinstance(each, Tensor) and not each.layout.dtype.differentiable else each
        for each in (x, y)
    ]
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = CALLS["new_full"](layout_of(dtype, (), (), condition.layout.device), x)
    return CALLS["where"](condition, x, y)


def fold(name: str, numbers: tuple) -> Any:
    """An operation on Python numbers: what a formula makes of a number operand or an attribute."""
    op = OPS[name]
    if op.of_numbers is not None:
        return op.of_numbers(*numbers)
    as_floats = isinstance(op, Elementwise) and op.policy in ("float", "floating") or float in map(type, numbers)
    with np.errstate(all="ignore"):
        return CALLS[name](native_number(numbers[0], as_floats), *numbers[1:]).item()


def native_number(value, as_float: bool) -> Tensor:
    """A number as a 0-d tensor of the widest dtype of its kind: a default dtype would round what is folded."""
    if isinstance(value, complex):
        return CALLS["tensor"](value, dtype=complex128)
    return CALLS["tensor"](value, dtype=float64 if as_float or isinstance(value, float) else None)


OPERATIONS[Tensor] = CALLS


# ---- planning ------------------------------------------------------------------------------------------------------

USUAL = frozenset((Tensor, float, int))  # operands that need no conversion


def general(op: Elementwise, operands: tuple) -> Tensor:
    """Any elementwise call that the fast path does not know: interpreters are asked, a plan is made if there is none."""
    operands = tuple([x if type(x) in USUAL else unwrap_number(x) for x in operands])
    if op.numbers and isinstance(operands[0], NUMBERS) and isinstance(operands[-1], NUMBERS):
        operands = (CALLS["asarray"](operands[0]), *operands[1:])
    if op.policy == "first" and isinstance(operands[0], Tensor):
        operands = stored_numbers(op, operands)
    if op.complex_form is not None and any_complex(operands):
        return op.complex_form(*operands)
    if special or is_marked(operands):
        out = quick_call(op, operands)
        return interpret(Call(op, operands, {}, lambda *below: launched(op, below))) if out is None else out
    return launched(op, operands)


def any_complex(operands: tuple) -> bool:
    """Whether a tensor among the operands is complex."""
    for x in operands:
        if isinstance(x, Tensor) and x.layout.dtype.is_complex:
            return True
    return False


def launched(op: Elementwise, operands: tuple) -> Tensor:
    """The call beneath all interpreters: plan, launch, record."""
    plan = find_plan(op, operands)
    try:
        out = native.fresh(plan, *operands)
    except OverflowError as error:
        raise misfit(op, operands, error) from None
    if mode.enabled:
        mask = gradient_mask(op, operands)
        if mask:
            plan.records[mask](plan, out, *operands)
    return out


def call_under_hooks(op: Elementwise, operands: tuple, attributes: dict | None) -> Tensor | None:
    """A quick call where saved-tensor hooks are the only mode: they see the node (benchmarks/test_checkpoint.py)."""
    for active in special:
        if type(active) is not EnteredHooks:
            return None
    if attributes is not None or is_marked(operands):
        return None
    out = launched(op, operands)
    if out._edge_ is not None:
        for active in tuple(special):
            active.recorded(out._edge_)
    return out


quick_calls[EnteredHooks] = call_under_hooks


def unwrap_number(operand):
    """A NumPy scalar as the Python number of its value; an array as a tensor on its memory."""
    if isinstance(operand, np.generic):
        return operand.item()
    return CALLS["asarray"](operand) if isinstance(operand, np.ndarray) else operand


def stored_numbers(op: Elementwise, operands: tuple) -> tuple:
    """The operands of an operation that stores numbers as the first operand's dtype, those numbers converted to it.

    Raises:
        DTypeError: complex into real. RangeError: out of range.
    """
    dtype = operands[0].layout.dtype
    if not dtype.differentiable:  # what is stored as integers has no history
        operands = tuple(
            native.alias(x) if isinstance(x, Tensor) and x._needs_grad_ and not x.layout.special else x for x in operands
        )
    last = operands[-1]
    if isinstance(last, Tensor) and last.layout.dtype.is_complex and not dtype.is_complex:
        lose_imaginary(op, dtype)
    return tuple(x if isinstance(x, Tensor) else stored_number(op.name, x, dtype) for x in operands)


def lose_imaginary(op: Elementwise, dtype: DType) -> None:
    """Warn of complex numbers that are copied to real ones; refuse them where no conversion is to be expected.

    Raises:
        DTypeError: ``op`` is no copy.
    """
    if op.name == "masked_fill":
        raise DTypeError(f"masked_fill: a complex value cannot be stored in a {dtype.name} tensor. Hint: value.real.")
    if dtype is not bool_:
        warnings.warn(
            f"{op.name}_: complex numbers are stored in a {dtype.name} tensor and lose their imaginary part. Hint: value.real.",
            UserWarning,
            stacklevel=5,
        )


def stored_number(name: str, value: Any, dtype: DType) -> Any:
    """A Python number as an element of ``dtype``: floats are truncated for integers, what does not fit is refused."""
    if not isinstance(value, (bool, int, float, complex)) or dtype.is_complex:
        return value
    if isinstance(value, complex) and not value.imag:
        value = value.real
    if isinstance(value, complex):
        raise DTypeError(f"{name}: the complex number {value} cannot be stored in a {dtype.name} tensor. Hint: value.real.")
    if dtype is bool_:
        return bool(value)
    if dtype.differentiable:
        return value
    info = iinfo(dtype)
    finite = value == value and abs(float(value)) != float("inf") if isinstance(value, float) else True
    # A negative number wraps in an unsigned dtype, as in torch.
    if not finite or not (info.min or -info.max) <= int(value) <= info.max:
        raise NumberError(f"{name}: {value} cannot be stored in a {dtype.name} tensor; expected {info.min} to {info.max}.")
    return int(value) if int(value) >= info.min else int(value) + info.max + 1


def gradient_mask(op: Elementwise, operands: tuple) -> int:
    """The operands that need a gradient, as bits.

    Raises:
        NotSupportedError: one by which there is no derivative.
    """
    mask = 0
    for k, (x, differentiable) in enumerate(zip(operands, op.differentiable)):
        if isinstance(x, Tensor) and x._needs_grad_ and requires_grad(x):
            if differentiable:
                mask |= 1 << k
            elif op.fixed[k]:
                raise no_derivative_by(op.public, op.operands[k])
    return mask


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


def adopt(plans: dict, kinds: dict, one: Any, other: Any) -> bool:
    """Keep a plan for a call of a known kind; whether there is one now."""
    same = one is other
    pattern = kinds.get(one.kind if same and type(one) is Layout else kind_of(one, other))
    if pattern is None:
        return False
    keep(plans, one if same else (one, other), pattern.resized(one if type(one) is Layout else other))
    return True


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


def require_divisor(op: Elementwise, dtype: DType, operands: tuple) -> None:
    """Refuse to divide integers by 0, which floats may be."""
    if not op.integer_divisor or dtype.differentiable:
        return
    divisor = operands[op.operands.index(op.integer_divisor)]
    # As an element: 256 is 0 in uint8.
    if isinstance(divisor, Tensor):
        zero = (divisor.numpy().astype(dtype.numpy, copy=False) == 0).any()
    else:
        zero = int(divisor) % (1 << 8 * dtype.itemsize) == 0
    if zero:
        raise DivisionError(
            f"{op.public}: {op.integer_divisor} is 0 somewhere, and integers have no infinity. "
            "Hint: convert an operand to a floating dtype, or mask the zeros."
        )


def check_operands(op: Elementwise, operands: tuple) -> None:
    """At least one tensor, all on one device, nothing else but Python numbers."""
    device = None
    for name, x in zip(op.operands, operands):
        if isinstance(x, Tensor):
            if device is not None and x.layout.device is not device and x.layout.ndim:
                raise DeviceError(
                    f"{op.public}: {name} is on {x.layout.device}, another operand on {device}. Hint: move one with x.to(device)."
                )
            device = x.layout.device
        elif not isinstance(x, NUMBERS):
            raise ArgumentError(
                f"{op.public}: {name} must be a Tensor or a number, got {type(x).__name__}. Hint: nbgrad.asarray(x)."
            )
    if device is None:
        raise ArgumentError(f"{op.public}: expected a Tensor among the operands, got only numbers. Hint: nbgrad.tensor(x).")


def compute_dtype(op: Elementwise, operands: tuple) -> DType:
    """The dtype in which ``op`` computes on these operands.

    Raises:
        DTypeError: the operation is not defined for it.
    """
    tensors = [
        (x.layout.dtype, x.layout.ndim)
        for x, name in zip(operands, op.operands)
        if isinstance(x, Tensor) and name not in op.boolean
    ]
    numbers = [x for x, name in zip(operands, op.operands) if not isinstance(x, Tensor) and name not in op.boolean]
    dtype = result_dtype(tensors, numbers)
    if op.policy == "first":
        dtype = operands[0].layout.dtype
    if op.policy == "float" and not dtype.differentiable:
        dtype = get_default_dtype()
    if op.policy == "number" and dtype is bool_:
        dtype = int64
    if op.policy == "integer" and dtype.differentiable:
        raise DTypeError(f"{op.public}: expected integer or bool operands, got {dtype}.")
    if op.policy == "floating" and not (given := result_dtype(tensors, [])).differentiable:
        raise DTypeError(f"{op.public}: expected floating operands, got {given}. Hint: x.to(nbgrad.float32).")
    if op.refuses_bool and dtype is bool_:
        raise DTypeError(f"{op.public}: not defined for bool. Hint: logical_not, logical_xor and their like are.")
    if dtype.is_complex and not op.complex:
        raise DTypeError(f"{op.public}: not defined for {dtype}.")
    for name in op.boolean:
        x = operands[op.operands.index(name)]
        if isinstance(x, Tensor) and x.layout.dtype is not bool_:
            raise DTypeError(f"{op.public}: {name} must be a bool tensor, got {x.layout.dtype}.")
    return dtype


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


# ---- recording and differentiating ---------------------------------------------------------------------------------


def may_round(name: str) -> bool:
    """Whether what stands at the head of an expression may round."""
    return name not in ("symbol", "constant") and (name not in OPS or OPS[name].rounds)


class ElementwiseRule(Rule):
    """Backward of an operation for one subset of operands: generates ``record`` and ``backward``.

    Attributes:
        wanted: positions of the operands that need a gradient.
        results: their cotangents as expressions of ``g``, operands and ``out``.
        computed: the results that are not ``g`` itself; those need a kernel.
        saved_names: what the computed results mention.
        frees: whether a pass without retain_graph frees the node.
    """

    def __init__(self, op: Elementwise, mask: int, numbers: tuple[bool, ...], is_complex: bool):
        self.op, self.mask, self.numbers, self.is_complex = op, mask, numbers, is_complex
        self.name, self.node_name = op.name, op.nodes.get(numbers, op.node_name)
        scope = {"apply": apply, "full": full_like, "choose": choose, "nan": math.nan, "inf": math.inf}
        self.symbolic = late_function(f"{op.name} symbolic {mask:b}", scope, lambda: self.symbolic_text(scope), dict)
        self.wanted = tuple(k for k in range(len(op.operands)) if mask >> k & 1)
        self.results = tuple(op.vjp(op.operands[k], is_complex) for k in self.wanted)
        self.computed = tuple(dict.fromkeys(r for r in self.results if r is not symbol("g")))
        mentioned = set().union(*(r.symbols() for r in self.computed)) - {"g"}
        self.saved_names = tuple(name for name in (*op.operands, "out") if name in mentioned)
        # A number is no saved tensor; torch has made one of it only where it stands for an operand that may be a tensor.
        frees = any(name in ("x", "y") or not self.is_number(name) for name in self.saved_names)
        self.frees = free_all if frees and len(self.saved_names) > NODE_SAVES else frees
        self.booleans = booleans = dict(op.params)
        params = (("g", False), *((name, booleans.get(name, False)) for name in self.saved_names))
        self.formula = Formula(f"{op.name}_backward", params, self.computed)
        # Whether steps of a half type would be rounded on the way.
        self.rounds = sum(not e.boolean and may_round(e.op) for e in postorder(self.computed)) > 1

    def places(self, node: Node) -> tuple[int, tuple[int, ...]] | None:
        """Edges belong to the operands that need a gradient, among those that can have one."""
        able = [k for k, can in enumerate(self.op.differentiable) if can]
        return (len(able), tuple(able.index(k) for k in self.wanted)) if len(able) != len(self.wanted) else None

    def slot(self, name: str) -> int | None:
        """The slot of a saved value, by torch's name of it (``self``, ``other``, ``result``) or by ours."""
        return next((k for k, own in enumerate(self.saved_names) if name in self.op.shown_as(own)), None)

    def saved(self, node: Node, name: str):
        """The saved value; None of an operand that is saved only where another one needs a gradient."""
        slot = self.slot(name)
        if slot is None:
            if name in self.op.shows:
                return self.op.shows[name]
            every = sum(can and 1 << k for k, can in enumerate(self.op.differentiable))
            if self.mask != every and rule_of(self.op, every, (False,) * len(self.numbers), self.is_complex).slot(name) is not None:
                return None
            return super().saved(node, name)
        own = self.saved_names[slot]
        if self.is_number(own):
            value = getattr(node, f"_v{slot}_")
            return CALLS["asarray"](value) if name == "other" else value  # torch has made a tensor of it
        return saved_value(node, slot, own == "out")

    def shown_names(self) -> list[str]:
        """The names of saved values and of constants, torch's first."""
        return [*(self.op.shown_as(own)[0] for own in self.saved_names), *self.op.shows]

    def raw_saved(self, node: Node, name: str):
        """The slot behind a saved value."""
        slot = self.slot(name)
        return super().saved(node, name) if slot is None else RawSaved(node, slot)

    def is_number(self, name: str) -> bool:
        """Whether the operand of that name is a Python number."""
        return name != "out" and self.numbers[self.op.operands.index(name)]

    def back_plan(self, node: Node, g: Tensor, saved: tuple) -> Plan:
        """Build and keep the plan of the fused backward kernel for a cotangent of this layout."""
        plan = node._plan_
        layouts = (g.layout, *[x.layout if isinstance(x, Tensor) else None for x in saved])
        backs = plan.backs[self.mask]
        usual = self._usual(plan, saved)
        key = g.layout if usual else layouts
        if backs is not None and key in backs:
            return backs[key]
        # As forward: a new shape of a known kind costs a copy of what is known (8 -> 3 us).
        kind = (self.mask, cotangent_kind(g.layout, plan.outs[0].layout)) if usual and plan.kinds is not None else None
        record = plan.kinds.get(kind) if kind is not None else None
        if record is None:
            made = self.new_back_plan(plan, layouts)
            if kind is not None and kind[1] is not None and len(made.record) == 8 * (8 + len(made.layouts)):
                plan.kinds[kind] = made.record
        else:
            made = Plan(record, (plan.operands[self.wanted[0]].template,) * len(self.computed), layouts)
        if backs is None:
            backs = plan.backs[self.mask] = {}
        # The saved operands' layouts are the plan's own, unless a hook brought back others, or a write in place kept a copy.
        return keep(backs, key, made, 64)

    def new_back_plan(self, plan: ElementwisePlan, layouts: tuple) -> Plan:
        """The plan of the fused backward kernel for a cotangent, and saved values, of these layouts."""
        out = plan.outs[0].layout
        # A hook may have brought back a tensor of another shape than was saved: the kernel must not read beyond its end.
        shapes = [layout.shape for layout in layouts if layout is not None and layout.shape != out.shape]
        common = broadcast_shapes(f"{self.name} backward", [out.shape, *shapes]) if shapes else out.shape
        if common != out.shape:
            raise ShapeError(f"{self.name} backward: the saved tensors broadcast to {list(common)}, expected {list(out.shape)}.")
        outs = []
        for result in self.computed:
            operand = plan.operands[self.wanted[position(self.results, result)]]
            same = not plan.reduced and operand.shape == out.shape
            strides = operand.strides if same and operand.dense else None
            outs.append(layout_of(plan.compute if plan.reduced else operand.dtype, out.shape, strides, out.device))
        if any(o.strides != outs[0].strides for o in outs):
            outs = [layout_of(o.dtype, o.shape, None, o.device) for o in outs]
        return elementwise_plan(self.formula, plan.compute, layouts, tuple(outs), exact=self.op.exact)

    def _usual(self, plan: ElementwisePlan, saved: tuple) -> bool:
        for name, x in zip(self.saved_names, saved):
            expected = plan.outs[0].layout if name == "out" else plan.operands[self.op.operands.index(name)]
            if (x.layout if isinstance(x, Tensor) else None) is not expected:
                return False
        return True

    def reduce(self, plan: ElementwisePlan, results) -> Any:
        """Sum cotangents over broadcast dimensions and convert them to their operands' dtypes."""
        single = len(self.wanted) == 1
        results = (results,) if single else results
        operands = plan.operands
        done = tuple([fit(g, operands[k].shape, operands[k].dtype) for k, g in zip(self.wanted, results)])
        return done[0] if single else done

    def part(self, chosen: tuple[bool, ...]) -> Callable | None:
        """``backward`` of some of the operands, by the rule for those alone."""
        return part_of(self, chosen) if len(chosen) == len(self.wanted) else None

    def rounds_at(self, compute: DType) -> bool:
        """Whether steps in that dtype would be rounded on the way."""
        return self.rounds and compute.compute != compute.name

    def differentiable(self, node: Node, g: Tensor, *saved: Any) -> Any:
        """The cotangents by operations on tensors, so that they are recorded in turn."""
        names, plan = self.saved_names, node._plan_
        compute = plan.compute
        if names and names[-1] == "out":
            saved = *saved[:-1], saved_output(node, saved[-1])
        if plan.reduced:
            saved = tuple([self.as_computed(name, x, compute) for name, x in zip(names, saved)])
        results = self.in_wide_steps(compute, g, saved) if self.rounds_at(compute) else self.symbolic(g, *saved)
        return self.reduce(plan, results) if plan.reduced else results

    def as_computed(self, name: str, x: Any, compute: DType) -> Any:
        """A saved operand as the kernel read it: a step of the formula on another dtype would have a result of its own (``log`` of
        a negative real number beside a complex one, of an integer beside a double).
        """
        if not isinstance(x, Tensor) or x.layout.dtype is compute or self.booleans.get(name) or name in self.op.exact:
            return x
        return CALLS["to_dtype"](x, compute)

    def in_wide_steps(self, compute: DType, g: Tensor, saved: tuple) -> Any:
        """The cotangents of half types: steps in the dtype that kernels compute in, so that the result alone is rounded."""
        wide = dtype_of(compute.compute)
        exact = self.op.exact
        given = [
            CALLS["to_dtype"](x, wide)
            if isinstance(x, Tensor) and x.layout.dtype is compute
            else x
            if isinstance(x, (Tensor, complex)) or name in exact
            else float(compute.numpy.type(x))
            for name, x in zip(("g", *self.saved_names), (g, *saved))
        ]
        results = self.symbolic(*given)
        if not isinstance(results, tuple):
            return CALLS["to_dtype"](results, compute)
        return tuple([CALLS["to_dtype"](result, compute) for result in results])

    def symbolic_text(self, scope: dict[str, Any]) -> str:
        """The cotangents as a function of tensors, ``(g, *saved) -> results``: the expressions, written as calls of operations."""
        lines = [f"def call({', '.join(('g', *self.saved_names))}):"]
        if self.op.backward_node:
            scope["cotangent"], operands = cotangent_call(self.op)
            return f"{lines[0]}\n    return cotangent({', '.join(('g', *operands))})\n"
        names: dict = {}
        # Python numbers, and what is computed of them alone.
        numbers = {name for name in self.saved_names if self.is_number(name)}
        perhaps: set[str] = set()
        results = [guarded(result) for result in self.results]
        for node in postorder(results):
            if node.op == "symbol":
                names[node] = node.args[0]
            elif node.op == "constant":
                names[node] = repr(node.args[0])
                numbers.add(names[node])
            else:
                names[node] = f"t{len(names)}"
                args = [names[a] for a in node.args]
                if all(a in numbers for a in args):
                    numbers.add(names[node])
                # A choice by a number may come out as one.
                if (node.op == "where" and args[0] in numbers) or all(a in numbers or a in perhaps for a in args):
                    perhaps.add(names[node])
                if names[node] in numbers or (names[node] in perhaps and node.op != "where"):
                    lines.append(f"    {names[node]} = apply({node.op!r}, ({', '.join(args)},))")
                elif node.op == "where":
                    lines.append(f"    {names[node]} = choose(g.layout.dtype, {', '.join(args)})")
                else:
                    scope[f"op_{node.op}"] = CALLS[node.op]
                    lines.append(f"    {names[node]} = op_{node.op}({', '.join(args)})")
        # A partial may come out as a number: 0 where an exponent is 0.
        varies = any(self.is_number(name) for name in self.saved_names)
        values = [f"full(g, {names[r]})" if varies or names[r] in numbers else names[r] for r in results]
        lines.append(f"    return {', '.join(values)}")
        return "\n".join(lines) + "\n"


@cache
def cotangent_call(op: Elementwise) -> tuple[Callable, tuple[str, ...]]:
    """The call of an operation's cotangent that is an operation itself, and the names of its operands behind the first."""
    made, names = op.cotangent_operation(op.operands[0])
    return CALLS.get(made.name) or call_of(made), names


def cotangent_kind(g: Layout, out: Layout) -> Any:
    """What the record of a backward kernel depends on, of the layout of a contiguous result's cotangent.

    Returns:
        True for the result's own layout, the dtype for one that shows one element everywhere, None for any other.
    """
    if g is out:
        return True
    return g.dtype if g.expanded and g.shape == out.shape and not g.special and not any(g.strides) else None


def full_like(g: Tensor, value) -> Tensor:
    """A cotangent that came out as a number, as a tensor; a tensor itself."""
    return value if isinstance(value, Tensor) else CALLS["new_full"](g.layout.like(), value)


def position(items: tuple, item) -> int:
    """The index of an object, by identity: ``==`` on expressions builds an expression."""
    return next(k for k, x in enumerate(items) if x is item)


def saved_value(node: Node, slot: int, is_output: bool):
    """What a slot holds, for introspection."""
    value, version = getattr(node, f"_s{slot}_"), getattr(node, f"_v{slot}_")
    if not isinstance(value, Tensor) or value._storage_.version != version:
        value = unpack(node, slot)
    return saved_output(node, value) if is_output else value


class JointResult(NamedTuple):
    """What the node of a step knows whose result is one of several: NOTE [Joint nodes] in dispatch/joint.py."""

    outer: ReferenceType
    nr: int
    plan: Any

    def values(self) -> dict:
        """The attributes are where they were."""
        return self.plan.facts

    def edge(self, node: Node) -> Node | Edge:
        """Where the result's cotangent goes; to the step itself, if the joint node is gone."""
        outer = self.outer()
        return node if outer is None else outer if outer._outputs_ == 1 else Edge(outer, self.nr)


def came_back(node: Node) -> bool:
    """Whether the result that a node saved comes from hooks, and lies wherever they put it."""
    return type(getattr(node, f"_s{node._rule_.saved_names.index('out')}_")) is SavedTensor


def in_memory_of_its_own(part: Tensor, layout: Layout, geometry: Any) -> Tensor:
    """A tensor of ``layout`` that has the values of ``part`` at its place; nobody looks at the others."""
    enabled, mode.enabled = mode.enabled, False
    try:
        base: Tensor = CALLS["clone_like"](CALLS["new_full"](layout.like(), 0), layout)
        CALLS["copy_"](geometry.of(base), part)
    finally:
        mode.enabled = enabled
    base._needs_grad_ = True
    return base


def saved_output(node: Node, alias: Tensor) -> Tensor:
    """A saved result with its history: a new tensor on the same node; for a write to a view, a view of the written base."""
    if type(node._attrs_) is WrittenRegion:
        geometry: Any
        outer, layout, offset, geometry = node._attrs_
        if came_back(node):
            base = in_memory_of_its_own(alias, layout, geometry)
        else:
            base = native.tensor(layout.template, alias._storage_, offset, True, None)
        base._edge_ = outer()
        out = geometry.of(base)
        out._meta_.tangent = tangents_of(alias)
        return out
    if alias._meta_ is None:  # 0.4 -> 0.2 us
        out = native.tensor(alias.layout.template, alias._storage_, alias._offset_, True, None)
    else:
        out = alias_with(alias, tangents_of(alias))
        out._needs_grad_ = True
    out._edge_ = node._attrs_.edge(node) if type(node._attrs_) is JointResult else node
    return out


@cache
def rule_of(op: Elementwise, mask: int, numbers: tuple[bool, ...], is_complex: bool) -> ElementwiseRule:
    """The one rule of an operation for a subset of operands."""
    return ElementwiseRule(op, mask, numbers, is_complex)


@cache
def record_functions(op: Elementwise, numbers: tuple[bool, ...], is_complex: bool) -> list | Subsets:
    """Per subset of operands the function that records; made when first called."""

    def make(mask):
        return generate(rule_of(op, mask, numbers, is_complex))

    def first_use(mask):
        def record(plan, out, *operands):
            records[mask] = made = make(mask)
            made(plan, out, *operands)

        return record

    if len(op.operands) > FEW:
        return Subsets(make)
    records: list = [None] * (1 << len(op.operands))
    for mask in range(1, len(records)):
        records[mask] = first_use(mask)
    return records


FEW = 8  # operands whose subsets are all in a list


class Subsets(dict):
    """Per subset of many operands what is made of it when first needed: a list would have 2 to the power of their number entries.

    Args:
        make: ``make(mask)``; without it there is None.
    """

    def __init__(self, make: Callable[[int], Any] | None = None):
        self.make = make

    def __missing__(self, mask: int) -> Any:
        if self.make is None:
            return None
        return self.setdefault(mask, self.make(mask))


def node_class(saved: int) -> type[Node]:
    """The class of nodes that keep so many values."""
    return Node if saved <= NODE_SAVES else WideNode


def generate(rule: ElementwiseRule) -> Callable:
    """``record(plan, out, *operands)`` for a rule, with its ``backward``: made once per operation and subset."""
    template = node_template(rule, backward_of(rule), len(rule.saved_names))
    saved = tuple(
        (-1, False) if name == "out" else (rule.op.operands.index(name), rule.is_number(name)) for name in rule.saved_names
    )
    return native.recorder(template, rule.wanted, saved)


@cache
def part_of(rule: ElementwiseRule, chosen: tuple[bool, ...]) -> Callable:
    """The ``backward`` of some of a rule's operands: that of the rule for them, which finds in this one's slots what it needs."""
    mask = sum(1 << k for k, of_interest in zip(rule.wanted, chosen) if of_interest)
    return backward_of(rule_of(rule.op, mask, rule.numbers, rule.is_complex), rule, chosen)


def backward_of(rule: ElementwiseRule, whole: ElementwiseRule | None = None, chosen: tuple[bool, ...] = ()) -> Callable:
    """``backward(node, g, create_graph)``: one fused kernel, or the formulas by calls. See ``Differentiator`` of native/calls.py.

    Args:
        whole, chosen: the node's rule, and which of its edges ``rule`` is for, if not all: the results have None for the others.
    """
    if rule.op.refuses_gradient:
        return refuse_gradient
    whole = whole or rule
    edges = {whole.op.operands[k]: place for place, k in enumerate(whole.wanted)}
    slots = [whole.saved_names.index(name) for name in rule.saved_names]
    kinds = [-1 if name == "out" else 1 + edges.get(name, -1) for name in rule.saved_names]
    places = iter(kernel_places(rule))
    parts = tuple([next(places) if of_interest else -2 for of_interest in chosen or (True,) * len(rule.wanted)])
    return native.differentiator(
        node_class(len(whole.saved_names)),
        rule.mask,
        tuple(zip(slots, map(rule.is_number, rule.saved_names), kinds)),
        parts,
        rule.rounds,
        lambda node, k: unpack(node, slots[k]),
        require_history,
        saved_output,
        spread_out(chosen, rule.symbolic),
        spread_out(chosen, rule.differentiable),
        rule.back_plan,
        whole.reduce,
        listed=len(rule.op.operands) <= FEW,
    )


def spread_out(chosen: tuple[bool, ...], function: Callable) -> Callable:
    """A function that returns the results of the chosen edges, or the only one: with None in the places of the others."""

    def call(*operands: Any) -> tuple:
        results = function(*operands)
        given = iter(results if sum(chosen) > 1 else (results,))
        return tuple([next(given) if of_interest else None for of_interest in chosen])

    return call if chosen else function


def kernel_places(rule: ElementwiseRule) -> tuple[int, ...]:
    """Which result of the backward kernel each cotangent is; -1: the cotangent ``g`` itself."""
    return tuple(-1 if r is symbol("g") else position(rule.computed, r) for r in rule.results)


def node_template(rule, backward: Callable, saved: int, outputs: int = 1) -> Node:
    """A node to copy: all that nodes of one rule share."""
    template = blank_node(node_class(saved), ("_seq_", "_plan_", "_edges_", *saved_slots(saved)))
    template._rule_, template._backward_, template._outputs_ = rule, backward, outputs
    return template


def refuse_gradient(node: Node, g, create_graph: bool):
    """The ``backward`` of an operation that has no derivative."""
    raise no_derivative(node._rule_.name)


def no_derivative(name: str) -> NotSupportedError:
    """What reverse and forward mode say of such an operation."""
    return NotSupportedError(
        f"{name}: it has no derivative. Hint: detach its operands (of a dual tensor: unpack_dual(x).primal), "
        "or see its documentation."
    )


def no_derivative_by(op: str, name: str) -> NotSupportedError:
    """What both modes say of an operand that is a number to the derivatives: it would silently count as a constant."""
    return NotSupportedError(
        f"{op}: {name} requires grad or has a tangent, and there is no derivative by it; expected a number, "
        f"or a tensor that is a constant. Hint: {name}.detach() (if dual: unpack_dual({name}).primal)."
    )


# ---- calls ---------------------------------------------------------------------------------------------------------

PLANS: dict[str, dict] = {}


def call_of(op: Elementwise) -> Callable:
    """The function of an elementwise operation."""
    plans = PLANS[op.name] = of_default_dtype({})
    KINDS[op.name] = of_default_dtype({})
    required = sum(default is op.signature.empty for default in op.defaults)
    usual = required == len(op.operands) and op.policy != "first" and not any(op.fixed)
    build = {1: unary, 2: binary}.get(len(op.operands)) if usual else None
    call = build(op, plans) if build else nary(op)
    call.__name__ = call.__qualname__ = op.name
    CALLS[op.name] = call
    return call


# The native calls that do not look at ``special``, by operation: made when a mode first lets one pass (3.1 -> 0.9 us).
BARE: dict[str, Callable] = {}


def bare_caller(op: Elementwise, plans: dict) -> Callable:
    """A native call for operands that no active mode concerns."""
    made = native.caller(plans, NEVER, lambda *operands: general(op, operands), refusing_recorder(op), mode, bits_of(op))
    return BARE.setdefault(op.name, made)


def bits_of(op: Elementwise) -> tuple[int, ...]:
    """For every operand its bit in the masks of subsets, 0 without a derivative by it, -1 where one is refused: see ``Caller``."""
    return tuple([-1 if fixed else able << k for k, (fixed, able) in enumerate(zip(op.fixed, op.differentiable))])


def refusing_recorder(op: Elementwise) -> Callable:
    """``record(plan, out, *operands)`` where an operand needs a gradient by which there is no derivative."""
    return lambda plan, out, *operands: gradient_mask(op, operands)


def unary(op: Elementwise, plans: dict) -> Callable:
    """The call of a one-operand operation."""

    def slow(x):
        if special:
            out = known_call(op, (x,))
            if out is not None:
                return out
            if is_bystander((x,)):
                return (BARE.get(op.name) or bare_caller(op, plans))(x)
        elif isinstance(x, Tensor) and adopt(plans, kinds, x.layout, x.layout):
            return run(x)
        return infer(x) if mode.inference else general(op, (x,))

    kinds = KINDS[op.name]
    infer = elementwise_caller(plans, lambda operands: general(op, operands))
    run = native.caller(plans, special, slow, refusing_recorder(op), mode, bits_of(op))

    # A Python function, because builtins do not bind as methods.
    def call(input):
        return run(input)

    attach(call, run=run)  # for functions that stand in its place: a frame costs 50 ns
    return call


def binary(op: Elementwise, plans: dict) -> Callable:
    """The call of a two-operand operation."""

    def slow(x, y):
        if special:
            out = known_call(op, (x, y))
            if out is not None:
                return out
            if is_bystander((x, y)):
                return (BARE.get(op.name) or bare_caller(op, plans))(x, y)
        elif adopt(plans, kinds, x.layout if isinstance(x, Tensor) else type(x), y.layout if isinstance(y, Tensor) else type(y)):
            return run(x, y)
        return infer(x, y) if mode.inference else general(op, (x, y))

    kinds = KINDS[op.name]
    infer = elementwise_caller(plans, lambda operands: general(op, operands))
    run = native.caller(plans, special, slow, refusing_recorder(op), mode, bits_of(op))

    # A Python function, because builtins do not bind as methods.
    def call(input, other):
        try:
            return run(input, other)
        except OverflowError as error:  # to try costs nothing
            raise misfit(op, (input, other), error) from None

    attach(call, run=run)
    names = ("input", public_name(op, op.operands[1]), *call.__code__.co_varnames[2:])
    call.__code__ = call.__code__.replace(co_varnames=names)  # x.clamp_min(min=0)
    return call


def misfit(op: Elementwise, operands: tuple, error: OverflowError) -> OverflowError:
    """What to raise where a number is too large for native code: one of the house, unless ``error`` is."""
    large = [x for x in operands if isinstance(x, int) and not -(1 << 63) <= x < 1 << 63]
    if isinstance(error, NumberError) or not large:
        return error
    shown = large[0] if abs(large[0]) < 10**30 else f"an integer of {large[0].bit_length()} bits"
    return NumberError(f"{op.public}: {shown} does not fit int64, nor a floating dtype if it is far larger. Hint: float(number).")


def nary(op: Elementwise) -> Callable:
    """The call of an operation of more operands, with defaults, or of one that stores numbers."""
    defaults, plans = op.defaults, PLANS[op.name]
    empty, count = op.signature.empty, len(op.operands)
    stores = op.policy == "first"
    # Where what is stored must be looked at in every call, nothing is found.
    quick = of_default_dtype({}) if stores else plans

    def slow(*operands):
        if special:
            out = known_call(op, operands)
            return general(op, operands) if out is None else out
        out = general(op, operands)
        if stores and not looks_at_values(operands):
            plan = plans.get(plan_key(operands))
            if plan is not None:
                keep(quick, plan_key(operands), plan)
        return out

    run = native.caller(quick, special, slow, refusing_recorder(op), mode, bits_of(op)) if count <= FEW else slow

    def call(*operands, **named):
        if named or len(operands) != count:
            operands = bind(op, operands, named, defaults, empty)
        try:
            return run(*operands)
        except OverflowError as error:
            raise misfit(op, operands, error) from None

    attach(call, __signature__=op.signature)
    return call


def looks_at_values(operands: tuple) -> bool:
    """Whether ``stored_numbers`` has something to do where these operands, or others of their kind, are stored in the first one."""
    dtype, last = operands[0].layout.dtype, operands[-1]
    if not isinstance(last, Tensor):
        return not dtype.differentiable
    stored = last.layout.dtype
    return stored.is_complex and not dtype.is_complex or stored.differentiable and not dtype.differentiable


def bind(op: Elementwise, operands: tuple, named: dict, defaults: tuple, empty) -> tuple:
    """Complete positional operands with named ones and defaults."""
    if not named and len(operands) < len(defaults) and defaults[len(operands)] is not empty:  # those behind have one too
        return (*operands, *defaults[len(operands) :])
    values = list(operands)
    named = {name if name in op.operands else target_of(op, name) or name: value for name, value in named.items()}
    for name, default in zip(op.operands[len(values) :], defaults[len(values) :]):
        value = named.pop(name, default)
        if value is empty:
            raise ArgumentError(f"{op.public}: missing argument {name!r}; expected {op.name}{op.signature}.")
        values.append(value)
    if named or len(values) > len(op.operands):
        raise ArgumentError(
            f"{op.public}: unexpected arguments {list(named) or values[len(op.operands) :]}; expected {op.name}{op.signature}."
        )
    return tuple(values)
