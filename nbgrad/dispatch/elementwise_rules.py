"""Backward of elementwise operations: one rule for every subset of operands that need a gradient.

The declaration has a partial derivative for each operand. A rule puts those of its subset into one *fused* kernel, which reads the
cotangent and the saved values once. Where the derivative is to be differentiated in turn, the same formulas run as operations.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Callable

from ..base import bounded
from ..base.bounded import keep_plan
from ..base.calls import CALLS
from ..base.dtypes import DType, dtype_of
from ..base.errors import ShapeError
from ..base.grad_mode import mode
from ..graph.cotangents import fit
from ..graph.edges import Node
from ..graph.node import NODE_SAVES
from ..graph.saved import free_all, require_history, unpack
from ..native.plans import ElementwisePlan, LateRecord, Plan
from ..ops.core import OPS, Elementwise
from ..ops.expr import guarded, postorder, symbol
from ..tensors.layout import TRACED, Layout, broadcast_shapes, layout_of
from ..tensors.tensor import Tensor, native
from .formulas import Formula
from .generated import late_function
from .nodes import UNKNOWN, SavingRule, node_class, saved_output
from .operands import no_derivative
from .patterns import Patterns
from .plans import elementwise_plan
from .symbolic import apply, as_tensor_like, choose


def may_round(name: str) -> bool:
    """Whether an operation of this name may round its result."""
    return name not in ("symbol", "constant") and (name not in OPS or OPS[name].rounds)


class ElementwiseRule(SavingRule):
    """The rule of an elementwise operation: cotangents are expressions, computed by one kernel.

    Attributes:
        results: their cotangents as expressions of ``g``, operands and ``out``.
        computed: the results that are not ``g`` itself; those need a kernel.
        saved_names: what the computed results mention; ``saved_places``: which operands they are, -1 of the result.
        frees: whether a pass without retain_graph frees the node.
    """

    def __init__(self, op: Elementwise, mask: int, numbers: tuple[bool, ...], is_complex: bool):
        wanted = tuple(name for k, name in enumerate(op.operands) if mask >> k & 1)
        super().__init__(op, wanted, tuple(name for name, can in zip(op.operands, op.differentiable) if can or name in wanted))
        self.mask, self.numbers, self.is_complex = mask, numbers, is_complex
        self.node_name = op.nodes.get(numbers, op.node_name)
        scope = {"apply": apply, "full": as_tensor_like, "choose": choose, "nan": math.nan, "inf": math.inf}
        self.symbolic = late_function(f"{op.name} symbolic {mask:b}", scope, lambda: self.symbolic_text(scope), dict)
        self.results = tuple(op.vjp(name, is_complex) for name in wanted)
        self.computed = tuple(dict.fromkeys(r for r in self.results if r is not symbol("g")))
        mentioned = set().union(*(r.symbols() for r in self.computed)) - {"g"}
        self.saved_names = tuple(name for name in (*op.operands, "out") if name in mentioned)
        self.saved_places = tuple(-1 if name == "out" else op.operands.index(name) for name in self.saved_names)
        # A number is no saved tensor; torch has made one of it only where it stands for an operand that may be a tensor.
        frees = any(name in ("x", "y") or not self.is_number(name) for name in self.saved_names)
        self.frees = free_all if frees and len(self.saved_names) > NODE_SAVES else frees
        self.booleans = booleans = dict(op.params)
        params = (("g", False), *((name, booleans.get(name, False)) for name in self.saved_names))
        self.formula = Formula(f"{op.name}_backward", params, self.computed)
        # Whether steps of a half type would be rounded on the way.
        self.patterns = Patterns(self.new_back_plan, lambda plan: lambda inputs, *parts: new_plan()(*parts), f"{op.name} backward")
        self.rounds = sum(not e.boolean and may_round(e.op) for e in postorder(self.computed)) > 1

    def beside(self, node: Node, name: str) -> Any:
        """None of an operand that is saved only where another one needs a gradient."""
        if name in self.op.shows:
            return self.op.shows[name]
        every = sum(can and 1 << k for k, can in enumerate(self.op.differentiable))
        if self.mask != every and rule_of(self.op, every, (False,) * len(self.numbers), self.is_complex).slot(name) is not None:
            return None
        return UNKNOWN

    def is_number(self, name: str) -> bool:
        """Whether the operand of that name is a Python number."""
        return name != "out" and self.numbers[self.op.operands.index(name)]

    def back_plan(self, node: Node, g: Tensor, saved: tuple) -> Plan:
        """Build and keep the plan of the fused backward kernel for a cotangent of this layout."""
        plan, given = node._plan_, g.layout
        layouts = (given, *[x.layout if isinstance(x, Tensor) else None for x in saved])
        backs = plan.backs[self.mask]
        usual = self.is_usual(plan, layouts)
        key = given if usual else layouts
        if backs is not None and key in backs:
            return backs[key]
        # As forward: a new shape of a known kind costs a copy of what is known.
        kind = (self.mask, cotangent_kind(given, plan.outs[0].layout)) if usual and plan.kinds is not None else None
        record = plan.kinds.get(kind) if kind is not None else None
        if record is None:
            out, operands = plan.outs[0].layout, plan.operands
            made = self.patterns.plan_of((plan.compute, plan.reduced, out, len(operands), *operands, *layouts))
            if kind is not None and kind[1] is not None and len(made.record) == 8 * (8 + len(made.layouts)):
                plan.kinds[kind] = made.record
        else:
            if type(record) is LateRecord and record.packed is not None:
                plan.kinds[kind] = record = record.packed
            made = new_plan()(record, (plan.operands[self.positions[0]].template,) * len(self.computed), layouts)
        if backs is None:
            backs = plan.backs[self.mask] = {}
        # The saved operands' layouts are the plan's own, unless a hook brought back others, or a write in place kept a copy.
        keep_plan(backs, key, made, 64)
        bounded.conceal(backs)
        return made

    def new_back_plan(self, compute: DType, reduced: bool, out: Layout, count: int, *layouts: Layout | None) -> Plan:
        """The plan of the fused backward kernel.

        Args:
            compute, reduced, out: of the call's plan, which has so many operands (``count``).
            layouts: of the operands, of the cotangent, and of the saved values.
        """
        operands, given = layouts[:count], layouts[count:]
        # A hook may have brought back a tensor of another shape than was saved: the kernel must not read beyond its end.
        shapes = [layout.shape for layout in given if layout is not None and layout.shape != out.shape]
        common = broadcast_shapes(f"{self.name} backward", [out.shape, *shapes]) if shapes else out.shape
        if common != out.shape:
            raise ShapeError(f"{self.name} backward: the saved tensors broadcast to {list(common)}, expected {list(out.shape)}.")
        outs = self.layouts_of_computed(compute, reduced, out, operands)
        return elementwise_plan(self.formula, compute, given, outs, exact=self.op.exact)

    def layouts_of_computed(
        self, compute: DType, reduced: bool, out: Layout, operands: tuple[Layout | None, ...]
    ) -> tuple[Layout, ...]:
        """The layouts of what the kernel computes: those of the operands where they are not summed, and agree."""
        outs = []
        for result in self.computed:
            operand = operands[self.positions[index_of(self.results, result)]]
            assert operand is not None
            same = not reduced and operand.shape == out.shape
            strides = operand.strides if same and operand.dense else None
            outs.append(layout_of(compute if reduced else operand.dtype, out.shape, strides, out.device))
        if any(o.strides != outs[0].strides for o in outs):
            outs = [layout_of(o.dtype, o.shape, None, o.device) for o in outs]
        return tuple(outs)

    def is_usual(self, plan: ElementwisePlan, layouts: tuple) -> bool:
        """Whether the saved values, whose layouts stand behind the cotangent's, have those of which the call was planned."""
        operands = plan.operands
        for k, place in enumerate(self.saved_places, 1):
            if layouts[k] is not (plan.outs[0].layout if place < 0 else operands[place]):
                return False
        return True

    def reduce(self, plan: ElementwisePlan, results) -> Any:
        """Sum cotangents over broadcast dimensions and convert them to their operands' dtypes."""
        single = len(self.wanted) == 1
        results = (results,) if single else results
        operands = plan.operands
        done = tuple([fit(g, operands[k].shape, operands[k].dtype) for k, g in zip(self.positions, results)])
        return done[0] if single else done

    def node_backward(self) -> Callable:
        return fused_backward(self)

    def part_of(self, chosen: tuple[bool, ...]) -> Callable:
        """The backward for some operands alone. It finds what it needs in the slots that this rule has saved."""
        mask = sum(1 << k for k, of_interest in zip(self.positions, chosen) if of_interest)
        return fused_backward(rule_of(self.op, mask, self.numbers, self.is_complex), self, chosen)

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
        if g.layout.special is TRACED and not mode.enabled:
            results = self.as_kernels_lay(plan, results)
        return self.reduce(plan, results) if plan.reduced else results

    def as_kernels_lay(self, plan: ElementwisePlan, results: Any) -> Any:
        """What calls computed, in the order in memory in which a kernel leaves it: sums of a captured pass add in that order."""
        layouts = self.layouts_of_computed(plan.compute, bool(plan.reduced), plan.outs[0].layout, plan.operands)
        of_result = {id(result): layout for result, layout in zip(self.computed, layouts)}
        single = len(self.wanted) == 1
        pairs = zip(self.results, (results,) if single else results)
        laid = tuple([laid_like(x, of_result[id(result)]) if id(result) in of_result else x for result, x in pairs])
        return laid[0] if single else laid

    def as_computed(self, name: str, x: Any, compute: DType) -> Any:
        """A saved operand in the dtype in which the kernel computed with it.

        In its own dtype a step of the formula could have another result: ``log`` of a negative real number that was multiplied by a
        complex one, for example.
        """
        if not isinstance(x, Tensor) or x.layout.dtype is compute or self.booleans.get(name) or name in self.op.exact:
            return x
        return CALLS["to_dtype"](x, compute)

    def in_wide_steps(self, compute: DType, g: Tensor, saved: tuple) -> Any:
        """The cotangents of half types, with steps in the dtype in which kernels compute: the results alone are rounded."""
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
        """The source of ``call(g, *saved) -> cotangents``: the expressions, written as calls of operations."""
        lines = [f"def call({', '.join(('g', *self.saved_names))}):"]
        if self.op.backward_node:
            scope["cotangent"], operands = CALLS[self.op.name].cotangent()
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
        whole: dict[str, str] = {}  # a number that several operands have for a partial is one tensor, as the kernels make it
        for name in [names[r] for r in results]:
            if name not in whole and (varies or name in numbers):
                whole[name] = f"whole{len(whole)}"
                lines.append(f"    {whole[name]} = full(g, {name})")
        values = [whole.get(names[r], names[r]) for r in results]
        lines.append(f"    return {', '.join(values)}")
        return "\n".join(lines) + "\n"


@cache
def new_plan() -> Callable[..., Plan]:
    """``build(record, outs, layouts)``: a Plan that the cyclic collector does not see."""
    return native.builder(object.__new__(Plan), ("record", "outs", "layouts"), True)


def laid_like(x: Tensor, layout: Layout) -> Tensor:
    """A tensor with the strides of a layout of its shape; itself where it has them, or is to be summed to another shape."""
    own = x.layout
    if own.strides == layout.strides or own.shape != layout.shape:
        return x
    laid: Tensor = CALLS["clone_like"](x, layout_of(own.dtype, own.shape, layout.strides, own.device))
    return laid


def cotangent_kind(g: Layout, out: Layout) -> Any:
    """What the record of a backward kernel depends on in the layout of the cotangent; ``out`` is the result's, contiguous.

    Returns:
        True for the result's own layout, the dtype for one that shows one element everywhere, None for any other.
    """
    if g is out:
        return True
    return g.dtype if g.expanded and g.shape == out.shape and not g.special and not any(g.strides) else None


def index_of(items: tuple, item) -> int:
    """The index of an object, by identity: ``==`` on expressions builds an expression."""
    return next(k for k, x in enumerate(items) if x is item)


@cache
def rule_of(op: Elementwise, mask: int, numbers: tuple[bool, ...], is_complex: bool) -> ElementwiseRule:
    """The one rule of an operation for a subset of operands."""
    return ElementwiseRule(op, mask, numbers, is_complex)


@cache
def record_functions(op: Elementwise, numbers: tuple[bool, ...], is_complex: bool) -> list | Subsets:
    """What records a call, by the subset of operands (as bits) that need a gradient; each is made when first called."""

    def make(mask):
        return rule_of(op, mask, numbers, is_complex).recorder()

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
    """A table by subsets of operands, for operations with too many operands for a list; entries are made when first needed.

    Args:
        make: ``make(mask)``; without it there is None.
    """

    def __init__(self, make: Callable[[int], Any] | None = None):
        self.make = make

    def __missing__(self, mask: int) -> Any:
        if self.make is None:
            return None
        return self.setdefault(mask, self.make(mask))


def fused_backward(rule: ElementwiseRule, whole: ElementwiseRule | None = None, chosen: tuple[bool, ...] = ()) -> Callable:
    """``backward(node, g, create_graph)``: one fused kernel, or the formulas by calls. See ``Differentiator`` of native/calls.py.

    Args:
        whole, chosen: the node's rule, and which of its edges ``rule`` is for, if not all: the results have None for the others.
    """
    if rule.op.refuses_gradient:
        return refuse_gradient
    whole = whole or rule
    edges = {name: place for place, name in enumerate(whole.wanted)}
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
    return tuple(-1 if r is symbol("g") else index_of(rule.computed, r) for r in rule.results)


def refuse_gradient(node: Node, g, create_graph: bool):
    """The ``backward`` of an operation that has no derivative."""
    raise no_derivative(node._rule_.name)
