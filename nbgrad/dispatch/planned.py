"""Calls of planned operations: plans are kept by layouts and attributes; a call is one look-up and one native launch."""

from __future__ import annotations

from typing import Callable

from ..base.bounded import Plans, keep
from ..base.errors import ArgumentError
from ..base.grad_mode import mode, special
from ..graph.edges import requires_grad
from ..modes.interpreters import is_marked
from ..ops.core import General
from ..ops.kinds import is_strange, odd_lines, refuse_odd, refuse_wrong_kind
from ..ops.spellings import own_arguments
from ..tensors.layout import Layout
from ..tensors.tensor import native
from .arguments import argument_text, attribute_names, bound_arguments, check_tensor, default_values, hashable
from .generated import late_function
from .interception import intercept, intercept_odd
from .lowerings import GeneralPattern, GeneralPlan, complete
from .rules import record_result, record_run, recorder

__all__ = ["planned_call"]

# What equals an int and is none: its plan must not be found.
ODD_DIMS = {bool, float, complex}


class PlannedCall:
    """What the call of a planned operation does where its generated text finds no plan.

    Attributes:
        lower: ``lower(op, layouts, attributes)``, the lowering.
        names: of all arguments, the operands first; ``attributes`` those behind them.
        keepdim, dim: the places of these arguments; 0 where there are none.
        plans: by layouts and attributes.
        runs: by the same, functions of several steps, for which the text does not look.
        patterns: by kind, dimensions and attributes a plan to be copied for other shapes.
    """

    __slots__ = ("op", "lower", "count", "names", "attributes", "keepdim", "dim", "are_flags", "plans", "runs", "patterns")
    runs: dict[tuple, Callable]
    patterns: dict[tuple, GeneralPattern]

    def __init__(self, op: General, lower: Callable):
        self.op, self.lower, self.count = op, lower, len(op.operands)
        parameters = op.signature.parameters
        self.names = list(parameters)
        self.attributes = attribute_names(op)
        self.keepdim, self.dim = (self.names.index(name) if name in parameters else 0 for name in ("keepdim", "dim"))
        self.are_flags = [type(parameters[name].default) is bool for name in self.attributes]
        self.plans, self.runs, self.patterns = Plans(self.plan_of), {}, {}

    def plan_of(self, key: tuple) -> GeneralPlan | None:
        """A plan that the table lacks; None where ``check`` must see the call first, or where it takes several steps."""
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
        plan = self.lowered(key, layouts)
        if not isinstance(plan, GeneralPlan):
            return None
        if count == 1 and first.kind is not None and plan.sized is not None:
            keep(self.patterns, (first.kind, first.ndim, *key[1:]), GeneralPattern(plan))
        return plan

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
            plan = self.lower(op, layouts, attributes)
        except Exception as error:
            refuse_wrong_kind(op, attributes.items(), error)
            raise
        if isinstance(plan, GeneralPlan):
            return complete(plan, op, layouts, attributes)
        return keep(self.runs, key, plan)

    def check(self, *values):
        """A call for which the text has found no plan: interpreters are asked, known steps are run, operands are checked."""
        op, count = self.op, self.count
        tensors, given = values[:count], values[count:]
        if special:
            return intercept_odd(op, tensors, dict(zip(self.attributes, given)))
        try:  # several steps: 8 -> 4 us for the sum of a diagonal
            run = self.runs.get((*[x.layout for x in tensors], *given)) if self.equal_their_like(given) else None
        except (AttributeError, TypeError):
            run = None
        if run is not None:
            return record_run(op, run, tensors, dict(zip(self.attributes, given)))
        if is_marked(tensors):
            return intercept_odd(op, tensors, dict(zip(self.attributes, given)))
        for name, x in zip(op.operands, tensors):
            check_tensor(op, name, x)
        return self.plan_and_launch(*values)

    def plain(self, *args, **kwargs):
        """The call beneath the interpreters, for arguments in any spelling."""
        tensors, attributes = bound_arguments(self.op, args, kwargs)
        for name, x in zip(self.op.operands, tensors):
            check_tensor(self.op, name, x)
        return self.plan_and_launch(*tensors, *attributes.values())

    def plan_and_launch(self, *values):
        """The call of tensors and attributes in their order: its plan is found or made and launched, its steps are run."""
        op, count = self.op, self.count
        tensors = values[:count]
        key = (*(x.layout for x in tensors), *map(hashable, values[count:]))
        if self.keepdim and type(key[self.keepdim]) is not bool:
            self.lowered(key, key[:count])  # which refuses it, in its own words
        if self.dim and type(key[self.dim]) in ODD_DIMS:
            self.lowered(key, key[:count])
            raise ArgumentError(f"{op.public}: dim must be an int, got {key[self.dim]!r}.")
        refuse_odd(op, zip(self.attributes, key[count:]))
        try:
            plan = self.plans.get(key)
        except TypeError as error:  # an attribute without a hash
            refuse_wrong_kind(op, zip(self.attributes, key[count:]), error)
            raise
        if plan is None:
            plan = self.runs.get(key) or self.lowered(key, key[:count])
            if not isinstance(plan, GeneralPlan):
                return record_run(op, plan, tensors, dict(zip(self.attributes, key[count:])))
            keep(self.plans, key, plan)
        out = native.fresh(plan, *tensors)
        if mode.enabled:
            record_result(op, plan, tensors, out[0] if type(out) is tuple else out)
        return out

    def equal_their_like(self, given: tuple) -> bool:
        """Whether what equals these attributes is what they are: True and 1.0 equal 1."""
        for is_flag, value in zip(self.are_flags, given):
            kind = type(value)
            if is_flag:
                if kind is not bool:
                    return False
            elif kind is not int and is_strange(value):
                return False
        return True


def planned_call(op: General, lower: Callable) -> Callable:
    """The function of a planned operation: one look-up, one launch; its text is specialised by the signature."""

    def respelled(values, *given):
        """The call again, with arguments that were given by NumPy's names under ours."""
        named = {n: v for n, v in zip(planned.names, values) if v is not op.signature.parameters[n].default}
        named |= {n: v for n, v in zip(aliases, given) if v is not None}
        return call(**{renamed.get(n, n): v for n, v in own_arguments(op, (), named)[1].items()})

    planned, renamed = PlannedCall(op, lower), op.renamed
    aliases = [other for other, own in (("axis", "dim"), ("keepdims", "keepdim")) if own in planned.names and op.function]
    scope = {
        "plans": planned.plans,
        "check": planned.check,
        "fresh": native.fresh,
        "mode": mode,
        "special": special,
        "op": op,
        "intercept": intercept,
        "record": record_result,
        "recorder": recorder,
        "requires_grad": requires_grad,
        "respelled": respelled,
    }
    call = late_function(
        f"{op.name} call", scope, lambda: planned_text(op, aliases), lambda: {"_defaults": default_values(op)}, renamed
    )
    call.plans, call.renamed, call.plain = planned.plans, renamed, planned.plain
    return call


def planned_text(op: General, aliases: list[str]) -> str:
    """The source of a planned operation's call; ``aliases`` are NumPy's names of arguments."""
    count, names = len(op.operands), list(op.signature.parameters)
    operands, attributes = names[:count], names[count:]
    parameters = argument_text(op, "_defaults", tuple(aliases))
    key = ", ".join([f"{n}.layout" for n in operands] + attributes)
    passed = ", ".join(names)
    needs = " or ".join(f"{n}._needs_grad_" for n in operands)
    lines = [
        f"def call({parameters}):",
        *(
            [f"    if {' or '.join(f'{n} is not None' for n in aliases)}: return respelled(({passed},), {', '.join(aliases)})"]
            if aliases
            else []
        ),
        *odd_lines(op, f"return check({passed})"),
        f"    if special: return intercept(op, ({', '.join(operands)},), {{{', '.join(f'{n!r}: {n}' for n in attributes)}}})",
        f"    try: plan = plans[{key + (',' if ',' not in key else '')}]",
        f"    except (AttributeError, KeyError, TypeError): return check({passed})",
        f"    out = fresh(plan, {', '.join(operands)})",
        f"    if ({needs}) and mode.enabled:",
    ]
    if count == 1 and op.operands[0] in op.vjps:
        # The recorder at once: a sum with grad 1.2 -> 0.8 us (benchmarks/test_overhead.py).
        x = operands[0]
        lines += [
            "        first = out[0] if type(out) is tuple else out",
            f"        if ({x}._needs_grad_ is True or requires_grad({x})) and first.layout.dtype.differentiable:",
            f"            recorder(op, 1)(plan, first, {x})",
        ]
    else:
        lines.append(f"        record(op, plan, ({', '.join(operands)},), out[0] if type(out) is tuple else out)")
    lines.append("    return out")
    return "\n".join(lines) + "\n"
