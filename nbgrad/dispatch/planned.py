"""Calls of planned operations: plans are kept by layouts and attributes; a call is one look-up and one native launch."""
from __future__ import annotations

from typing import Callable

from ..base.bounded import Plans, keep
from ..base.errors import ArgumentError
from ..base.grad_mode import mode, special
from ..graph.edges import requires_grad
from ..modes.interpreters import is_marked
from ..native.plans import Plan
from ..ops.core import General
from ..ops.kinds import is_strange, odd_lines, refuse_odd, refuse_wrong_kind
from ..ops.spellings import own_arguments
from ..tensors.layout import Layout
from ..tensors.tensor import native
from .arguments import argument_text, bound_arguments, check_tensor, default_values, hashable
from .generated import late_function
from .interception import intercept_general, intercept_odd
from .lowerings import GeneralPattern, complete
from .rules import record_result, record_run, recorder

__all__ = ["planned_call"]

# What equals an int and is none: its plan must not be found.
ODD_DIMS = {bool, float, complex}


def planned_call(op: General, plan_for: Callable) -> Callable:
    """One look-up, one launch; the text is specialised by the signature."""
    count = len(op.operands)

    def ordinary(key):
        if key in several:
            return None
        first = key[0]
        pattern = patterns.get((first.kind, first.ndim, *key[1:])) if count == 1 and type(first) is Layout else None
        if pattern is not None:
            record = pattern.sized(first.numel)
            if record is not None:
                layouts = (first,)
                return pattern.build(record, layouts, (layouts, pattern.attributes))
        layouts = key[:count]
        for layout in layouts:
            if type(layout) is not Layout or layout.special:
                return None
        made = new(key, layouts)
        if not isinstance(made, Plan):
            return None
        if count == 1 and first.kind is not None and made.sized is not None:
            keep(patterns, (first.kind, first.ndim, *key[1:]), GeneralPattern(made))
        return made

    def new(key, layouts):
        if keepdim and type(key[keepdim]) is not bool:
            raise ArgumentError(f"{op.public}: keepdim must be a bool, got {key[keepdim]!r}. "
                                "Hint: several dims are a tuple, dim=(0, 1).")
        attributes = dict(zip(attribute_names, map(hashable, key[count:])))
        try:
            made = plan_for(op, layouts, attributes)
        except Exception as error:
            refuse_wrong_kind(op, attributes.items(), error)
            raise
        if isinstance(made, Plan):
            return complete(made, op, layouts, attributes)
        return keep(several, key, made)

    plans = Plans(ordinary)
    several: dict = {}              # functions of several steps, which the call does not look for
    patterns: dict = {}             # by kind, dimensions and attributes a plan to be copied for other shapes

    def plain(*args, **kwargs):
        tensors, attributes = bound_arguments(op, args, kwargs)
        for name, x in zip(op.operands, tensors):
            check_tensor(op, name, x)
        return beneath(*tensors, *attributes.values())

    def respelled(values, *given):
        named = {n: v for n, v in zip(names, values) if v is not op.signature.parameters[n].default}
        named |= {n: v for n, v in zip(aliases, given) if v is not None}
        return scope["call"](**{renamed.get(n, n): v for n, v in own_arguments(op, (), named)[1].items()})

    def miss(*values):
        tensors = values[:count]
        if special:
            return intercept_odd(op, tensors, dict(zip(names[count:], values[count:])))
        try:        # several steps: 8 -> 4 us for the sum of a diagonal
            run = several.get((*[x.layout for x in tensors], *values[count:])) if same_types(values[count:]) else None
        except (AttributeError, TypeError):
            run = None
        if run is not None:
            return record_run(op, run, tensors, dict(zip(names[count:], values[count:])))
        if is_marked(tensors):
            return intercept_odd(op, tensors, dict(zip(names[count:], values[count:])))
        for name, x in zip(op.operands, tensors):
            check_tensor(op, name, x)
        return beneath(*values)

    def beneath(*values):
        tensors = values[:count]
        key = (*(x.layout for x in tensors), *map(hashable, values[count:]))
        if keepdim and type(key[keepdim]) is not bool:
            new(key, key[:count])           # which refuses it, in its own words
        if dim and type(key[dim]) in ODD_DIMS:
            new(key, key[:count])
            raise ArgumentError(f"{op.public}: dim must be an int, got {key[dim]!r}.")
        refuse_odd(op, zip(attribute_names, key[count:]))
        try:
            plan = plans.get(key)
        except TypeError as error:          # an attribute without a hash
            refuse_wrong_kind(op, zip(attribute_names, key[count:]), error)
            raise
        if plan is None:
            plan = several.get(key) or new(key, key[:count])
            if not isinstance(plan, Plan):      # several steps
                return record_run(op, plan, tensors, dict(zip(names[count:], key[count:])))
            keep(plans, key, plan)
        return finish(plan, *tensors)

    def finish(plan, *tensors):
        out = native.fresh(plan, *tensors)
        if mode.enabled:
            record_result(op, plan, tensors, out[0] if type(out) is tuple else out)
        return out

    def same_types(given):      # True and 1.0 equal 1
        for is_flag, value in zip(flags, given):
            kind = type(value)
            if is_flag:
                if kind is not bool:
                    return False
            elif kind is not int and is_strange(value):
                return False
        return True

    names = list(op.signature.parameters)
    keepdim = names.index("keepdim") if "keepdim" in names else 0
    dim = names.index("dim") if "dim" in names else 0
    attribute_names = tuple(names[count:])
    flags = [type(op.signature.parameters[name].default) is bool for name in attribute_names]
    aliases = [other for other, own in (("axis", "dim"), ("keepdims", "keepdim")) if own in names and op.function]
    scope = {"plans": plans, "miss": miss, "fresh": native.fresh, "mode": mode, "special": special, "op": op,
             "intercept": intercept_general, "record": record_result, "recorder": recorder, "requires_grad": requires_grad,
             "respelled": respelled}
    renamed = op.renamed
    call = late_function(f"{op.name} call", scope, lambda: planned_text(op, aliases), lambda: {"_defaults": default_values(op)},
                         renamed)
    call.plans, call.renamed = plans, renamed
    call.plain = plain
    return call


def planned_text(op: General, aliases: list[str]) -> str:
    """The source of a planned operation's call; ``aliases`` are NumPy's names of arguments."""
    count, names = len(op.operands), list(op.signature.parameters)
    operands, attributes = names[:count], names[count:]
    parameters = argument_text(op, "_defaults", tuple(aliases))
    key = ", ".join([f"{n}.layout" for n in operands] + attributes)
    passed = ", ".join(names)
    needs = " or ".join(f"{n}._needs_grad_" for n in operands)
    lines = [f"def call({parameters}):",
             *([f"    if {' or '.join(f'{n} is not None' for n in aliases)}: return respelled(({passed},), {', '.join(aliases)})"]
               if aliases else []),
             *odd_lines(op, f"return miss({passed})"),
             f"    if special: return intercept(op, ({', '.join(operands)},), {{{', '.join(f'{n!r}: {n}' for n in attributes)}}})",
             f"    try: plan = plans[{key + (',' if ',' not in key else '')}]",
             f"    except (AttributeError, KeyError, TypeError): return miss({passed})",
             f"    out = fresh(plan, {', '.join(operands)})",
             f"    if ({needs}) and mode.enabled:"]
    if count == 1 and op.operands[0] in op.vjps:
        # The recorder at once: a sum with grad 1.2 -> 0.8 us (benchmarks/test_overhead.py).
        x = operands[0]
        lines += ["        first = out[0] if type(out) is tuple else out",
                  f"        if ({x}._needs_grad_ is True or requires_grad({x})) and first.layout.dtype.differentiable:",
                  f"            recorder(op, 1)(plan, first, {x})"]
    else:
        lines.append(f"        record(op, plan, ({', '.join(operands)},), out[0] if type(out) is tuple else out)")
    lines.append("    return out")
    return "\n".join(lines) + "\n"
