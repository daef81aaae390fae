"""Calls of what has several steps, operations and composites; and the quick runs that are prepared for calls of a known kind.

See NOTE [Prepared runs] in ``lowerings.py``.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.grad_mode import mode, special
from ..graph.edges import requires_grad
from ..graph.saved import Guarded, tensors_in
from ..modes.interpreters import is_marked, known_call
from ..ops.core import OPS, General, Op
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .arguments import argument_text, attribute_names, bound_arguments, bound_function, check_tensor, default_values
from .generated import late_function
from .interception import intercept_odd
from .lowerings import PREPARED, PreparedPlan, complete
from .rules import record_result, record_run, record_variadic

__all__ = ["run_call", "composite_call", "recording_run"]


# What a table of prepared runs says of a call of an unknown kind.
UNKNOWN: tuple = (None, None)


class SteppedCall:
    """The call of an operation of several steps, where its generated text finds no prepared run.

    Attributes:
        run: ``run(op, tensors, attributes)``, the steps.
        operands: that must be tensors, with their places; a first one that is a sequence is ``run``'s to check.
        make, holders: what prepares runs, and the attributes that hold tensors; None and () where nothing does.
        kinds: of the arguments, for the keys of prepared runs.
        quick: ``{key: (prepared run, what its nodes need of a plan)}``; the run is None where nothing is to be prepared.
    """

    __slots__ = ("op", "run", "operands", "make", "holders", "kinds", "quick")
    quick: dict[tuple, tuple]
    make: Callable | None
    holders: tuple[str, ...]

    def __init__(self, op: General, run: Callable):
        self.op, self.run, self.quick = op, run, {}
        self.operands = [(k, name) for k, name in enumerate(op.operands) if k or not op.variadic]
        self.make, self.holders = PREPARED.get(op.name, (None, ()))
        self.kinds = () if self.make is None else prepared_kinds(op, self.holders)

    def plain(self, *args, **kwargs):
        """The call beneath the interpreters, for arguments in any spelling."""
        tensors, attributes = bound_arguments(self.op, args, kwargs)
        for k, name in self.operands:
            check_tensor(self.op, name, tensors[k])
        return record_run(self.op, self.run, tensors, attributes)

    def check_and_run(self, tensors: tuple, attributes: dict):
        """A call for which the text has found no prepared run: interpreters are asked, operands are checked."""
        op = self.op
        if special or is_marked((*tensors, *attributes.values())):
            return intercept_odd(op, tensors, attributes)
        for k, name in self.operands:
            if not isinstance(tensors[k], Tensor):
                check_tensor(op, name, tensors[k])
        out = record_run(op, self.run, tensors, attributes)
        if self.make is not None:
            self.prepare(tensors, attributes)
        return out

    def run_prepared(self, tensors: tuple, attributes: dict):
        """The call beneath the interpreters, of all arguments, checked: by a prepared run if there is one."""
        if self.make is None:
            return record_run(self.op, self.run, tensors, attributes)
        values = (*tensors, *attributes.values())
        try:
            function, plan = self.quick.get(prepared_key(self.kinds, values), UNKNOWN)
        except TypeError:  # a list
            function = None
        if function is not None:
            out = function(*values)
            if out is not None:
                if mode.enabled and any(map(requires_grad, tensors_in(tensors))):
                    record_prepared(self.op, plan, tensors, out, attributes)
                return out
        out = record_run(self.op, self.run, tensors, attributes)
        self.prepare(tensors, attributes)
        return out

    def prepare(self, tensors: tuple, attributes: dict) -> None:
        """Keep the prepared run of a call that went well; None if there is none for its kind."""
        values = (*tensors, *attributes.values())
        key = prepared_key(self.kinds, values)
        try:
            if key in self.quick or not all(map(is_plain, key)):
                return
        except TypeError:  # a list
            return
        parts = [value if kind is None else layouts_of(value) for kind, value in zip(self.kinds, values)]
        layouts, given = tuple(parts[: len(tensors)]), dict(zip(attributes, parts[len(tensors) :]))
        assert self.make is not None
        function = self.make(self.op, layouts, given)
        holds = not set(self.holders).isdisjoint(attributes)
        plan = None if function is None else complete(PreparedPlan(), self.op, layouts, {} if holds else given)
        keep(self.quick, key, (function, plan))

    def prepared_for(self, values: tuple) -> Callable | None:
        """The prepared run after a call of these arguments, all of them, that went well."""
        if self.make is None:
            return None
        count = len(self.op.operands)
        self.prepare(values[:count], dict(zip(attribute_names(self.op), values[count:])))
        try:
            return self.quick.get(prepared_key(self.kinds, values), UNKNOWN)[0]
        except TypeError:  # a list
            return None


def run_call(op: General, run: Callable) -> Callable:
    """The function of an operation of several steps: ``run`` computes with recording off, then the result gets its node."""
    stepped = SteppedCall(op, run)
    call = bound_function(
        op,
        "call",
        "check_and_run(tensors, attributes)",
        {
            "check_and_run": stepped.check_and_run,
            "special": special,
            "found": stepped.quick.get,
            "mode": mode,
            "UNKNOWN": UNKNOWN,
            "SEQUENCES": (list, tuple),
            "record": partial(record_prepared, op),
        },
        "" if stepped.make is None else prepared_text(op, stepped.kinds),
    )
    call.plain, call.quick = stepped.plain, stepped.quick
    call.run_prepared, call.prepared_for = stepped.run_prepared, stepped.prepared_for
    return call


def prepared_key(kinds: tuple, values: tuple) -> tuple:
    """By which a prepared run is found: layouts, and values with their types."""
    return tuple(
        [part for kind, value in zip(kinds, values) for part in ((value, type(value)) if kind is None else (layouts_of(value),))]
    )


# Until something is strange: then the long way follows, which says what.
PREPARED_TEXT = """    if not (special or more or named{strange}):
        try: quick, plan = found(({key}), UNKNOWN)
        except (AttributeError, TypeError): quick = None
        if quick is not None:
            out = quick({names})
            if out is not None:
                if mode.enabled and ({needs}): record(plan, ({operands},), out, {attributes})
                return out
"""


def prepared_text(op: General, kinds: tuple) -> str:
    """What the call of an operation with prepared runs does first."""
    names, count = list(op.signature.parameters), len(op.operands)
    parts = {None: "{0}, type({0})", "one": "{0}.layout", "several": "tuple([None if _ is None else _.layout for _ in {0}])"}
    sequences = [f" or type({n}) not in SEQUENCES" for n, kind in zip(names, kinds) if kind == "several"]
    needs = [
        f"{n}._needs_grad_" if kind == "one" else f"True in [_._needs_grad_ is not False for _ in {n}]"
        for n, kind in zip(names[:count], kinds)
        if kind is not None
    ]
    return PREPARED_TEXT.format(
        strange="".join(sequences),
        key=", ".join([parts[kind].format(n) for n, kind in zip(names, kinds)] + [""]),
        names=", ".join(names),
        operands=", ".join(names[:count]),
        needs=" or ".join(needs) or "True",
        attributes="{" + ", ".join(f"{n!r}: {n}" for n in names[count:]) + "}",
    )


def prepared_kinds(op: General, holders: tuple[str, ...]) -> tuple:
    """What every argument of an operation is to a prepared run: one tensor, several, or (None) a value."""
    several = {op.operands[0]} if op.variadic else set()
    return tuple(
        "several" if n in several or n == "indices" else "one" if n in op.operands or n in holders else None
        for n in op.signature.parameters
    )


def layouts_of(value):
    """The layout of a tensor, those of a sequence; anything else has none."""
    if isinstance(value, (list, tuple)):
        return tuple([getattr(x, "layout", None) for x in value])
    return getattr(value, "layout", ...)


PLAIN = (int, bool, float, str, type(None))  # not a tensor, which may change

# Argument by argument, as the formula takes them. Of an optional tensor the layout is None where it is not given.
COMPOSITE_TEXT = """def call({parameters}):
    if not (special{given}):
        try: quick = found(({key}), evaluate)
        except (AttributeError, TypeError): quick = None
        if quick is evaluate: return evaluate({passed})
        if quick is not None:
            out = quick({names})
            if out is not None: return out
{pure}    return formula({passed})
"""

# Of a composite whose formula looks at no element.
PURE_TEXT = """    elif not (False{given}):
        out = known_call(op, ({names},))
        if out is not None: return out
"""


def composite_call(op: Op, formula: Callable) -> Callable:
    """The call of a composite with prepared runs, which are for calls without its rare arguments.

    Rare are those that are given by name alone and are None otherwise.
    """
    make, holders = PREPARED[op.name]
    parameters = op.signature.parameters
    names = list(parameters)
    tensors = {names[0], *holders}
    rare = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY and p.default is None and n not in tensors}
    kinds = tuple("one" if name in tensors else None for name in names if name not in rare)

    def evaluate(*args, **named):
        """A call of an unknown kind: the formula, and then what is prepared of it."""
        out = formula(*args, **named)
        given = {name: value for name, value in zip(names, (*args, *named.values())) if name not in rare}
        if all(isinstance(value, Tensor) == (name in tensors) or value is None for name, value in given.items()):
            prepare(given)
        return out

    def prepare(given):
        key = prepared_key(kinds, tuple(given.values()))
        try:
            if key in quick or not all(map(is_prepared, key)):
                return
        except TypeError:  # a list
            return
        first, *rest = [value if kind is None or value is None else value.layout for kind, value in zip(kinds, given.values())]
        keep(quick, key, make(op, (first,), dict(zip(list(given)[1:], rest))))

    quick: dict = {}
    call = late_function(
        f"{op.name} composite",
        {"special": special, "found": quick.get, "evaluate": evaluate, "op": op, "formula": formula, "known_call": known_call},
        lambda: composite_text(op, tensors, rare),
        lambda: {"_defaults": default_values(op)},
    )
    call.__name__, call.__qualname__, call.__module__ = formula.__name__, formula.__qualname__, formula.__module__
    call.__signature__, call.quick = inspect.signature(formula), quick
    return call


def recording_run(name: str, *values) -> Callable | None:
    """``run(*arguments)``, which records too: what is prepared of another operation; None where nothing is.

    Args:
        values: of a call of it that went well, a layout for each tensor.
    """
    op: Any = OPS[name]
    kinds = prepared_kinds(op, PREPARED[name][1])
    key = tuple([part for kind, value in zip(kinds, values) for part in ((value, type(value)) if kind is None else (value,))])
    function, plan = CALLS[name].quick.get(key, UNKNOWN)
    if function is None:
        return None
    count, names = len(op.operands), attribute_names(op)

    def run(*given):
        out = function(*given)
        if out is not None and mode.enabled:
            for x in given[:count]:
                if x._needs_grad_ and requires_grad(x):
                    record_prepared(op, plan, given[:count], out, dict(zip(names, given[count:])))
                    break
        return out

    return run


def composite_text(op: Op, tensors: set[str], rare: set[str]) -> str:
    """The source of a prepared composite's call."""
    parameters, parts = op.signature.parameters, []
    for name, p in parameters.items():
        if name in tensors:
            parts.append(f"{name}.layout" if p.default is p.empty else f"... if {name} is None else {name}.layout")
        elif name not in rare:
            parts.append(f"{name}, type({name})")
    given = "".join(f" or {n} is not None" for n in parameters if n in rare)
    names = ", ".join(n for n in parameters if n not in rare)
    return COMPOSITE_TEXT.format(
        parameters=argument_text(op, "_defaults"),
        given=given,
        key=", ".join([*parts, ""]),
        names=names,
        pure=PURE_TEXT.format(given=given, names=names) if op.pure else "",
        passed=", ".join(f"{n}={n}" if p.kind is p.KEYWORD_ONLY else n for n, p in parameters.items()),
    )


def is_prepared(part) -> bool:
    """Whether a part of a key may be one of a prepared composite: no sequence, whose elements may equal those of another one."""
    return part is ... or type(part) is not tuple and (type(part) is DType or is_plain(part))


def is_plain(part) -> bool:
    """Whether a part of a key may be one of a prepared run: unmarked layouts, and values that equal only their like."""
    if type(part) is Layout:
        return not part.special
    if type(part) is tuple:
        return all(map(is_plain, part))
    return type(part) in PLAIN or isinstance(part, type)


def record_prepared(op: General, plan: PreparedPlan, tensors: tuple, out: Tensor, attributes: dict) -> None:
    """Give the result of a prepared run its node, if an operand needs a gradient."""
    plan.outs = (out.layout.template,)
    holders = PREPARED[op.name][1]
    guarded = Guarded(op.public, attributes, tensors_in([attributes[n] for n in holders if n in attributes])) if holders else None
    if op.variadic:
        record_variadic(op, tensors, attributes, out, plan, guarded)
    else:
        record_result(op, plan, tensors, out, guarded)
