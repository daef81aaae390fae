"""Calls of planned operations, whose work is one launch: ``sum``, ``softmax``, ``matmul``.

The plan is found by layouts and attributes, or made by the operation's lowering (lowerings.py). A lowering may also return a
function of several steps for layouts that one launch cannot do; the call then runs it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Iterable

from ..base.bounded import Plans, keep, keep_plan
from ..base.errors import ArgumentError
from ..base.grad_mode import dual_levels, mode, special
from ..graph.edges import requires_grad
from ..ops.core import General
from ..ops.kinds import TRUTH, attribute_kind, is_strange, odd_lines, refuse_wrong_kind
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from .arguments import argument_text, called_again, hashable, other_names, other_names_lines, settled_attributes
from .calls import OperationCall
from .device_lowerings import are_on_gpu, lowered_on_gpu
from .launches import fresh
from .lowerings import GeneralPattern, GeneralPlan, complete, copies_of
from .operands import answer_of_other
from .patterns import Patterns
from .rules import record_result, record_run, recorder

__all__ = ["PLANNED", "known_plan", "planned", "planned_call"]

SIZES = ("shape", "size", "start", "end", "index", "length", "classes")  # attributes that are sizes or places, or tuples of them
# What equals an int and is none: its plan must not be found.
ODD_DIMS = {bool, float, complex}


class PlannedCall(OperationCall):
    """The call of an operation with a lowering to one launch, or to several steps.

    Attributes:
        lower: ``lower(op, layouts, attributes)``, the lowering.
        keepdim, dim: the places of these arguments; 0 where there are none.
        runs: by layouts and attributes, functions of several steps, for which the text does not look.
        patterns: by kind, dimensions and attributes a plan to be copied for other shapes.
        derived: what makes the plans of all other kinds.
    """

    __slots__ = ("lower", "keepdim", "dim", "are_flags", "runs", "patterns", "derived")
    op: General
    runs: dict[tuple, Callable]
    patterns: dict[tuple, GeneralPattern]

    def __init__(self, op: General, lower: Callable):
        super().__init__(op)
        self.lower, parameters = lower, op.signature.parameters
        self.keepdim, self.dim = (self.names.index(name) if name in parameters else 0 for name in ("keepdim", "dim"))
        self.are_flags = [type(parameters[name].default) is bool or attribute_kind(op, name) is TRUTH for name in self.attributes]
        self.plans, self.runs, self.patterns = Plans(self.plan_of), {}, {}
        sizes = [k for k, name in enumerate(self.names) if name in SIZES]
        self.derived = Patterns(self.make, copies_of, op.name, sizes)

    def plan_of(self, key: tuple) -> GeneralPlan | None:
        """A plan that the table lacks; None where ``check`` must see the call first, or where it takes several steps."""
        if self.derived.recent and (plan := self.derived.known(key)) is not None:
            return plan
        if key in self.runs:
            return None
        count, first = self.count, key[0]
        if count == 1 and type(first) is Layout:
            pattern = self.patterns.get((first.kind, first.ndim, *key[1:]))
            if pattern is not None and (record := pattern.sized(first.numel)) is not None:
                layouts = (first,)
                return pattern.build(record, layouts, (layouts, pattern.attributes))
        layouts = key[:count]
        for layout in layouts:
            if type(layout) is not Layout or layout.special:
                return None
        for value in key[count:]:
            if isinstance(value, Tensor):  # which may be another number in the next call
                return None
        lowered = lambda *key: self.lowered(key, layouts)
        plan = self.derived.plan_of(key, lowered) if self.may_derive(key) else self.lowered(key, layouts)
        if not isinstance(plan, GeneralPlan):
            return None
        if count == 1 and first.kind is not None and plan.sized is not None:
            keep(self.patterns, (first.kind, first.ndim, *key[1:]), GeneralPattern(plan))
        return plan

    def make(self, *inputs: Any) -> Any:
        """What the lowering makes of layouts and attributes."""
        return self.lower(self.op, inputs[: self.count], dict(zip(self.attributes, inputs[self.count :])))

    def may_derive(self, key: tuple) -> bool:
        """Whether functions of sizes may plan a call, whose arguments are of the kinds that their names promise."""
        if self.keepdim and type(key[self.keepdim]) is not bool:
            return False
        for k in self.derived.sizes:
            if type(key[k]) is tuple and set(map(type, key[k])) - {int}:
                return False
        return True

    def lowered(self, key: tuple, layouts: tuple) -> GeneralPlan | Callable:
        """What the lowering says of a call: its plan, or the function of several steps, which is kept.

        Raises:
            ArgumentError: keepdim is no bool; an attribute of another kind than its name promises.
        """
        op = self.op
        if self.keepdim and type(key[self.keepdim]) is not bool:
            raise ArgumentError(
                f"{op.public}: keepdim must be a bool, got {key[self.keepdim]!r}. Hint: several dims are a tuple, dim=(0, 1)."
            )
        attributes = dict(zip(self.attributes, map(hashable, key[self.count :])))
        try:
            plan = (lowered_on_gpu if are_on_gpu((*layouts, *attributes.values())) else self.lower)(op, layouts, attributes)
        except Exception as error:
            refuse_wrong_kind(op, attributes.items(), error)
            raise
        if isinstance(plan, GeneralPlan):
            return complete(plan, op, layouts, attributes)
        return keep(self.runs, key, plan)

    def check(self, *values: Any) -> Any:
        """A call for which the text has found no plan: known steps are run at once."""
        if self.runs and not special:
            tensors, given = values[: self.count], values[self.count :]
            try:  # benchmarks/test_overhead.py: the sum of a diagonal
                run = self.runs.get((*[x.layout for x in tensors], *given)) if self.equal_their_like(given) else None
            except (AttributeError, TypeError):
                run = None
            if run is not None:
                return record_run(self.op, run, tensors, dict(zip(self.attributes, given)))
        try:
            return super().check(*values)
        except ArgumentError as error:
            return answer_of_other(self.op.name, values, error)

    def execute(self, tensors: tuple, attributes: dict) -> Any:
        """Its plan is found or made and launched, its steps are run."""
        op, count = self.op, self.count
        given = tuple(attributes.values())
        if (made := self.known([x.layout for x in tensors], given)) is not None:
            return self.launched(made, tensors)
        key = (*(x.layout for x in tensors), *map(hashable, given))
        if self.keepdim and type(key[self.keepdim]) is not bool:
            self.lowered(key, key[:count])  # which refuses it, in its own words
        if self.dim and type(key[self.dim]) in ODD_DIMS:
            self.lowered(key, key[:count])
            raise ArgumentError(f"{op.public}: dim must be an int, got {key[self.dim]!r}.")
        if (settled := settled_attributes(op, attributes)) is not attributes:
            key = (*key[:count], *map(hashable, settled.values()))
        try:
            plan = self.plans.get(key)
        except TypeError as error:  # an attribute without a hash
            refuse_wrong_kind(op, zip(self.attributes, key[count:]), error)
            raise
        if plan is None:
            plan = self.runs.get(key) or self.lowered(key, key[:count])
            if not isinstance(plan, GeneralPlan):
                return record_run(op, plan, tensors, dict(zip(self.attributes, key[count:])))
            keep_plan(self.plans, key, plan)
        return self.launched(plan, tensors)

    def launched(self, plan: GeneralPlan, tensors: tuple) -> Any:
        """What a plan says is done, and recorded."""
        out = fresh(plan, *tensors)
        if mode.enabled:
            record_result(self.op, plan, tensors, out)
        return out

    def known(self, layouts: Iterable[Layout], given: tuple) -> GeneralPlan | None:
        """The plan that was made for operands of these layouts before, with attributes of the types that they should be."""
        try:
            plan = dict.get(self.plans, (*layouts, *given)) if self.equal_their_like(given) else None
        except TypeError:  # an attribute without a hash
            return None
        return plan if isinstance(plan, GeneralPlan) else None

    def equal_their_like(self, given: tuple) -> bool:
        """Whether attributes are of the types that they should be: True and 1.0 equal 1, and would find its plan."""
        for is_flag, value in zip(self.are_flags, given):
            kind = type(value)
            if is_flag:
                if kind is not bool:
                    return False
            elif kind is not int and is_strange(value):
                return False
        return True

    def scope(self) -> dict[str, Any]:
        return {
            "plans": self.plans,
            "fresh": native.fresh,
            "mode": mode,
            "record": record_result,
            "recorder": recorder,
            "requires_grad": requires_grad,
            "called_again": partial(called_again, self.op),
            "in_steps": self.op.in_steps,
            "dual_levels": dual_levels,
        }

    def parts(self) -> dict[str, str]:
        op, names = self.op, self.names
        operands, passed = names[: self.count], ", ".join(names)
        lines = other_names_lines(op, names) + odd_lines(op, f"return check({passed})")
        if op.in_steps is not None:
            needs = " or ".join(f"getattr({n}, '_needs_grad_', False)" for n in operands)
            lines.append(f"    if dual_levels or mode.enabled and ({needs}): return in_steps({passed})")
        return {
            "parameters": argument_text(op, "_defaults", other_names(op)),
            "spelling": "".join(line + "\n" for line in lines),
            "plan": f"plans[{''.join(f'{n}.layout, ' for n in operands)}{', '.join(self.attributes)}]",
            "launch": f"    out = fresh(plan, {', '.join(operands)})\n" + self.recording_text(operands) + "    return out\n",
        }

    def recording_text(self, operands: list[str]) -> str:
        """What records, where an operand needs a gradient."""
        lines = [f"    if ({' or '.join(f'{n}._needs_grad_' for n in operands)}) and mode.enabled:"]
        if len(operands) == 1 and self.op.operands[0] in self.op.vjps:
            (x,) = operands  # the recorder at once: benchmarks/test_overhead.py, a sum with grad
            lines += [
                "        first = out[0] if type(out) is tuple else out",
                f"        if ({x}._needs_grad_ is True or requires_grad({x})) and first.layout.dtype.differentiable:",
                f"            recorder(op, 1)(plan, first, {x})",
            ]
        else:
            lines.append(f"        record(op, plan, ({', '.join(operands)},), out)")
        return "\n".join(lines) + "\n"


# By operation.
PLANNED: dict[str, PlannedCall] = {}


def known_plan(op: General, layouts: tuple, attributes: dict[str, Any]) -> GeneralPlan | None:
    """The plan of a call that was made before with these attributes, which are hashable; None if there was none."""
    call = PLANNED.get(op.name)
    if call is None or len(attributes) != len(call.attributes):
        return None
    return call.known(layouts, tuple([attributes.get(name) for name in call.attributes]))


def planned(call: PlannedCall, layouts: tuple, attributes: dict[str, Any]) -> GeneralPlan | None:
    """The plan of a call, made if there is none; None where arguments are odd, or it takes several steps."""
    given = tuple(attributes.values())
    if not call.equal_their_like(given):
        return None
    key = (*layouts, *given)
    try:
        plan = dict.get(call.plans, key)
    except TypeError:  # an attribute without a hash
        return None
    if plan is None and key not in call.runs and not any(isinstance(x, Tensor) for x in given):
        plan = call.lowered(key, layouts)
        if isinstance(plan, GeneralPlan):
            keep_plan(call.plans, key, plan)
    return plan if isinstance(plan, GeneralPlan) else None


def planned_call(op: General, lower: Callable) -> Callable:
    """The function of a planned operation."""
    made = PLANNED[op.name] = PlannedCall(op, lower)
    call = made.function(op.renamed)
    call.renamed = op.renamed
    return call
