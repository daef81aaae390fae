"""Calls of what has several steps, operations and composites; and the quick runs that are prepared for calls of a known kind.

See NOTE [Prepared runs] in ``lowerings.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterable
from functools import partial
from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.grad_mode import mode, special
from ..graph.edges import requires_grad
from ..graph.saved import Guarded, tensors_in
from ..modes.interpreters import is_marked, known_call
from ..ops.core import General, Op
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .arguments import ABSENT, bound_parameters, check_tensor, respelled
from .calls import OperationCall, intercept_odd
from .lowerings import PREPARED, PreparedPlan, complete
from .rules import record_result, record_run, record_variadic

__all__ = ["run_call", "composite_call", "recording_run"]


class PreparedCall(OperationCall):
    """A call of several steps, which knows a quick run where one was prepared for calls of a kind: NOTE [Prepared runs].

    Attributes:
        make: ``make(op, layouts, attributes)``, what prepares runs; None where nothing does.
        kinds: for the keys of the table, what every argument in it is: ``"one"`` tensor, ``"several"``, or (None) a value.
        plans: by those; None where for such calls there is nothing to prepare.
    """

    __slots__ = ("make", "kinds")
    make: Callable | None
    kinds: tuple[str | None, ...]

    def __init__(self, op: Op):
        super().__init__(op)
        self.plans, self.make = {}, PREPARED.get(op.name, (None,))[0]

    def key_of(self, values: tuple) -> tuple:
        """The key of a call: layouts, and values with their types."""
        return tuple(
            [
                part
                for kind, value in zip(self.kinds, values)
                for part in ((value, type(value)) if kind is None else (layouts_of(value),))
            ]
        )

    def key_text(self, names: list[str], optional: Container[str] = ()) -> str:
        """The same as source; of tensors that may be missing the layout is ``...``."""
        several = "tuple([None if _ is None else _.layout for _ in {0}])"
        parts = {None: "{0}, type({0})", "one": "{0}.layout", "several": several}
        found = [
            f"... if {n} is None else {n}.layout" if n in optional and kind == "one" else parts[kind].format(n)
            for n, kind in zip(names, self.kinds)
        ]
        return ", ".join([*found, ""])

    def prepare(self, values: tuple, names: Iterable[str], may_be_key: Callable[[Any], bool]) -> None:
        """Keep the run of a call that went well, if it is the first of its kind.

        Args:
            values, names: the arguments that are in the key; the operands are first.
            may_be_key: whether a part of a key may be one.
        """
        try:
            key = self.key_of(values)
            if key in self.plans or not all(map(may_be_key, key)):
                return
        except TypeError:  # a list
            return
        parts = [
            layouts_of(value) if isinstance(value, Tensor) or kind == "several" else value
            for kind, value in zip(self.kinds, values)
        ]
        layouts, attributes = tuple(parts[: self.count]), dict(zip(names, parts[self.count :]))
        assert self.make is not None
        run = self.make(self.op, layouts, attributes)
        keep(self.plans, key, run if run is None else self.planned(run, layouts, attributes))

    def planned(self, run: Callable, layouts: tuple, attributes: dict) -> Any:
        """What the table keeps of a run."""
        return run


class SteppedCall(PreparedCall):
    """The call of an operation of several steps: ``run`` computes with recording off, then the result gets its node.

    Attributes:
        run: ``run(op, tensors, attributes)``, the steps.
        operands: that must be tensors, with their places; a first one that is a sequence is ``run``'s to check.
        holders: the attributes that hold tensors.
    """

    __slots__ = ("run", "operands", "holders")
    op: General
    offers = ("plain", "run_prepared", "prepared_for", "recording")

    def __init__(self, op: General, run: Callable):
        super().__init__(op)
        self.run = run
        self.operands = [(k, name) for k, name in enumerate(op.operands) if k or not op.variadic]
        self.holders = PREPARED.get(op.name, (None, ()))[1]
        several = {op.operands[0]} if op.variadic else set()
        self.kinds = tuple(
            "several" if n in several or n == "indices" else "one" if n in op.operands or n in self.holders else None
            for n in self.names
        )

    def require_tensors(self, tensors: tuple) -> None:
        for k, name in self.operands:
            if not isinstance(tensors[k], Tensor):
                check_tensor(self.op, name, tensors[k])

    def beneath(self, tensors: tuple, attributes: dict) -> Any:
        """The steps."""
        return record_run(self.op, self.run, tensors, attributes)

    def long_way(self, values: tuple, more: tuple, named: dict) -> Any:
        """A call for which the text has found no prepared run, in whatever spelling: see ``bound_parameters``."""
        absent = False
        for value in values:
            absent = absent or value is ABSENT
        if absent or more or named:
            tensors, attributes = respelled(self.op, values, more, named)
        else:
            tensors, attributes = values[: self.count], dict(zip(self.attributes, values[self.count :]))
        if special or is_marked((*tensors, *attributes.values())):
            return intercept_odd(self.op, tensors, attributes)
        self.require_tensors(tensors)
        out = self.beneath(tensors, attributes)
        if self.make is not None:
            self.prepare((*tensors, *attributes.values()), attributes, is_plain)
        return out

    def run_prepared(self, tensors: tuple, attributes: dict) -> Any:
        """The call beneath the interpreters, of all arguments, checked: by a prepared run if there is one."""
        if self.make is None:
            return self.beneath(tensors, attributes)
        values = (*tensors, *attributes.values())
        plan = self.found(values)
        if plan is not None:
            out = plan.run(*values)
            if out is not None:
                if mode.enabled and any(map(requires_grad, tensors_in(tensors))):
                    record_prepared(self.op, plan, tensors, out, attributes)
                return out
        out = self.beneath(tensors, attributes)
        self.prepare(values, attributes, is_plain)
        return out

    def found(self, values: tuple) -> PreparedPlan | None:
        """What the table has for a call; None where the call is of no kind that can be in it, too."""
        try:
            return self.plans.get(self.key_of(values))
        except TypeError:  # a list
            return None

    def prepared_for(self, values: tuple) -> Callable | None:
        """The prepared run after a call of these arguments, all of them, that went well."""
        if self.make is None:
            return None
        self.prepare(values, self.attributes, is_plain)
        plan = self.found(values)
        return None if plan is None else plan.run

    def recording(self, *values: Any) -> Callable | None:
        """``run(*arguments)``, which records too: what is prepared for calls of a kind; None where nothing is.

        Args:
            values: of a call of it that went well, a layout for each tensor.
        """
        parts = [(value, type(value)) if kind is None else (value,) for kind, value in zip(self.kinds, values)]
        plan = self.plans.get(tuple([part for each in parts for part in each]))
        if plan is None:
            return None
        op, count, names, prepared_run = self.op, self.count, self.attributes, plan.run

        def run(*given):
            out = prepared_run(*given)
            if out is not None and mode.enabled:
                for x in given[:count]:
                    if x._needs_grad_ and requires_grad(x):
                        record_prepared(op, plan, given[:count], out, dict(zip(names, given[count:])))
                        break
            return out

        return run

    def planned(self, run: Callable, layouts: tuple, attributes: dict) -> PreparedPlan:
        """The run, and what nodes ask of it."""
        plan = complete(PreparedPlan(), self.op, layouts, {} if not attributes.keys().isdisjoint(self.holders) else attributes)
        plan.run = run
        return plan

    def scope(self) -> dict[str, Any]:
        return {
            "found": self.plans.get,
            "long_way": self.long_way,
            "mode": mode,
            "ABSENT": ABSENT,
            "SEQUENCES": (list, tuple),
            "record": partial(record_prepared, self.op),
        }

    def parts(self) -> dict[str, str]:
        names, operands = self.names, self.names[: self.count]
        long_way = f"return long_way(({', '.join(names)},), more, named)"
        sequences = [f" or type({n}) not in SEQUENCES" for n, kind in zip(names, self.kinds) if kind == "several"]
        needs = [
            f"{n}._needs_grad_" if kind == "one" else f"True in [_._needs_grad_ is not False for _ in {n}]"
            for n, kind in zip(operands, self.kinds)
            if kind is not None
        ]
        return {
            "parameters": bound_parameters(self.op),
            "asked": f"special or more or named{''.join(sequences)}",
            "intercept": long_way,
            "plan": f"found(({self.key_text(names)}))",
            "missing": "plan = None",
            "launch": STEPPED_LAUNCH.format(
                names=", ".join(names),
                long_way=long_way,
                needs=" or ".join(needs) or "True",
                operands=", ".join(operands),
                attributes=", ".join(f"{n!r}: {n}" for n in self.attributes),
            ),
        }

    def text(self) -> str:
        """Where nothing is prepared there is nothing to look for."""
        parts = self.parts()
        return super().text() if self.make is not None else f"def call({parts['parameters']}):\n    {parts['intercept']}\n"


STEPPED_LAUNCH = """    if plan is None: {long_way}
    run = plan.run
    out = run({names})
    if out is None: {long_way}
    if mode.enabled and ({needs}): record(plan, ({operands},), out, {{{attributes}}})
    return out
"""


def run_call(op: General, run: Callable) -> Callable:
    """The function of an operation of several steps."""
    return SteppedCall(op, run).function()


def layouts_of(value):
    """The layout of a tensor, those of a sequence; anything else has none."""
    if isinstance(value, (list, tuple)):
        return tuple([getattr(x, "layout", None) for x in value])
    return getattr(value, "layout", ...)


PLAIN = (int, bool, float, str, type(None))  # not a tensor, which may change


class CompositeCall(PreparedCall):
    """The call of a composite with prepared runs, which are for calls without its rare arguments.

    Attributes:
        formula: the composite.
        tensors: the arguments that are tensors, if they are given.
        rare: those that are given by name alone and are None otherwise.
        usual: the others.
    """

    __slots__ = ("formula", "tensors", "rare", "usual")
    offers = ()

    def __init__(self, op: Op, formula: Callable):
        super().__init__(op)
        self.count, self.formula = 1, formula
        self.tensors, parameters = {self.names[0], *PREPARED[op.name][1]}, op.signature.parameters
        self.rare = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY and p.default is None and n not in self.tensors}
        self.usual = [n for n in self.names if n not in self.rare]
        self.kinds = tuple("one" if n in self.tensors else None for n in self.usual)

    def evaluate(self, *args: Any, **named: Any) -> Any:
        """A call of an unknown kind: the formula, and then what is prepared of it."""
        out = self.formula(*args, **named)
        given = {name: value for name, value in zip(self.names, (*args, *named.values())) if name not in self.rare}
        if all(isinstance(value, Tensor) == (name in self.tensors) or value is None for name, value in given.items()):
            self.prepare(tuple(given.values()), self.usual[1:], is_prepared)
        return out

    def scope(self) -> dict[str, Any]:
        return {"found": self.plans.get, "evaluate": self.evaluate, "formula": self.formula, "known_call": known_call}

    def parts(self) -> dict[str, str]:
        """Argument by argument, as the formula takes them; one that looks at no element may be a known call of a mode."""
        parameters, usual = self.op.signature.parameters, ", ".join(self.usual)
        given = "".join(f" or {n} is not None" for n in self.names if n in self.rare)
        optional = [n for n, p in parameters.items() if p.default is not p.empty]
        passed = ", ".join(f"{n}={n}" if p.kind is p.KEYWORD_ONLY else n for n, p in parameters.items())
        return {
            "asked": f"special{given}",
            "intercept": (PURE_INTERCEPT if self.op.pure else "return formula({passed})").format(
                unknown=f"None if {given[4:]} else " if given else "", passed=passed, usual=usual
            ),
            "plan": f"found(({self.key_text(self.usual, optional)}), evaluate)",
            "missing": "plan = None",
            "launch": COMPOSITE_LAUNCH.format(passed=passed, usual=usual),
        }


# The whole of it may be a known call of a mode.
PURE_INTERCEPT = """
        out = {unknown}known_call(op, ({usual},))
        return formula({passed}) if out is None else out"""
COMPOSITE_LAUNCH = """    if plan is evaluate: return evaluate({passed})
    out = None if plan is None else plan({usual})
    return formula({passed}) if out is None else out
"""


def composite_call(op: Op, formula: Callable) -> Callable:
    """The function of a prepared composite."""
    call = CompositeCall(op, formula).function()
    call.__name__, call.__qualname__, call.__module__ = formula.__name__, formula.__qualname__, formula.__module__
    call.__signature__ = inspect.signature(formula)
    return call


def recording_run(name: str, *values: Any) -> Callable | None:
    """See ``SteppedCall.recording``, of the operation of that name."""
    return CALLS[name].recording(*values)


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
