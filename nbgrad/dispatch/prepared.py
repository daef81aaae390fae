"""Calls of operations and composites that take several steps, and the prepared runs that make such calls quick.

``x.gather(0, i)`` checks the indices, chooses a kernel, launches it and wraps the result: decisions that depend on layouts and
attributes alone. After a first call that went well its lowering *prepares* a function with these decisions made, which a table
keeps for all calls of this kind: NOTE [Prepared runs] in lowerings.py. A prepared run may return None. The call then goes the full
way, where errors are raised too.

``SteppedCall`` is for operations, whose results get one node; ``CompositeCall`` for composites, whose steps record themselves. Both
are written as text with the parts of NOTE [The road] in calls.py. What is prepared is the lowerings' to say; nothing here knows a
kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterable
from functools import partial
from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.errors import ArgumentError
from ..base.grad_mode import mode, special
from ..graph.edges import requires_grad
from ..graph.saved import Guarded, tensors_in
from ..modes.interpreters import is_marked, known_call
from ..ops.core import General, Op
from ..ops.kinds import explained, refuse_arguments
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .arguments import (
    ABSENT,
    argument_text,
    bound_parameters,
    called_again,
    check_tensor,
    other_names,
    other_names_lines,
    respelled,
)
from .calls import OperationCall, intercept_odd
from .device_lowerings import are_on_gpu, run_anywhere
from .lowerings import PREPARED, PreparedPlan, complete
from .rules import record_result, record_run, record_variadic

__all__ = ["run_call", "composite_call", "recording_run"]


AT_ONCE = 32  # kinds of calls of an operation that are prepared when they first come


class PreparedCall(OperationCall):
    """The call of what takes several steps, with a table of prepared runs.

    Attributes:
        make: ``make(op, layouts, attributes)`` prepares a run; None where the operation has no prepared runs.
        on_gpu: whether calls on a GPU are prepared as well.
        kinds: what each argument of the key is: ``"one"`` tensor, ``"several"`` tensors, or None for a value.
        plans: prepared runs by key; None for a kind of call for which there is nothing to prepare.
        seen: keys of calls that came once, where many kinds of calls have come.
    """

    __slots__ = ("make", "on_gpu", "kinds", "seen")
    seen: dict[tuple, bool]
    make: Callable | None
    on_gpu: bool
    kinds: tuple[str | None, ...]

    def __init__(self, op: Op):
        super().__init__(op)
        self.make, _, self.on_gpu = PREPARED.get(op.name, (None, (), False))
        self.plans, self.seen = {}, {}

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
        """``key_of`` as source, for the generated text. The layout of an ``optional`` tensor that is None is ``...``."""
        several = "tuple([None if _ is None else _.layout for _ in {0}])"
        parts = {None: "{0}, type({0})", "one": "{0}.layout", "several": several}
        found = [
            f"... if {n} is None else {n}.layout" if n in optional and kind == "one" else parts[kind].format(n)
            for n, kind in zip(names, self.kinds)
        ]
        return ", ".join([*found, ""])

    def prepare(self, values: tuple, names: Iterable[str], may_be_key: Callable[[Any], bool], at_once: bool = False) -> None:
        """Prepare a run after a call that went well, unless its kind has one, and keep it.

        Where many kinds have come (``AT_ONCE``), as of an operation whose operands have another shape in every call, a kind is
        prepared when it comes for the second time, unless it is wanted ``at_once``.

        Args:
            values: the arguments that are in the key; the operands are first.
            names: of the attributes among them.
            may_be_key: ``may_be_key(part)``, whether a part of a key tells enough to be one.
        """
        try:
            key = self.key_of(values)
            if are_on_gpu(key) and not self.on_gpu:  # what is prepared launches kernels of the CPU
                return
            if key in self.plans or not all(map(may_be_key, key)):
                return
            if not at_once and len(self.plans) >= AT_ONCE and key not in self.seen:
                keep(self.seen, key, True)
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
        """What the table keeps for a run."""
        return run


class SteppedCall(PreparedCall):
    """The call of an operation of several steps: they run with recording off, then the result gets its node.

    Attributes:
        run: ``run(op, tensors, attributes)``, the steps: the operation's lowering.
        operands: ``(place, name)`` of those that must be tensors. A first operand that is a sequence is checked by ``run``.
        holders: names of the attributes that hold tensors, as indices do.
    """

    __slots__ = ("run", "operands", "holders")
    op: General
    offers = ("plain", "run_prepared", "prepared_for", "recording")

    def __init__(self, op: General, run: Callable):
        super().__init__(op)
        self.run = run_anywhere(op, run)
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

    def execute(self, tensors: tuple, attributes: dict) -> Any:
        """Run the steps, and record."""
        return record_run(self.op, self.run, tensors, attributes)

    def unprepared(self, values: tuple, more: tuple, named: dict) -> Any:
        """A call for which the generated text has found no prepared run; ``more`` and ``named``: see ``bound_parameters``."""
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
        out = self.execute(tensors, attributes)
        if self.make is not None:
            self.prepare((*tensors, *attributes.values()), attributes, may_be_prepared)
        return out

    def run_prepared(self, tensors: tuple, attributes: dict) -> Any:
        """The call with interpreters asked and all arguments checked: by a prepared run if there is one."""
        if self.make is None:
            return self.execute(tensors, attributes)
        values = (*tensors, *attributes.values())
        plan = self.found(values)
        if plan is not None:
            out = plan.run(*values)
            if out is not None:
                if mode.enabled and any(map(requires_grad, tensors_in(tensors))):
                    record_prepared(self.op, plan, tensors, out, attributes)
                return out
        out = self.execute(tensors, attributes)
        self.prepare(values, attributes, may_be_prepared)
        return out

    def found(self, values: tuple) -> PreparedPlan | None:
        """The prepared run of a call; None also where its arguments cannot be a key."""
        try:
            return self.plans.get(self.key_of(values))
        except TypeError:  # a list
            return None

    def prepared_for(self, values: tuple) -> Callable | None:
        """The prepared run of these arguments, prepared now if need be; a call of them has gone well. None where there is none."""
        if self.make is None:
            return None
        self.prepare(values, self.attributes, may_be_prepared, at_once=True)
        plan = self.found(values)
        return None if plan is None else plan.run

    def recording(self, *values: Any) -> Callable | None:
        """``run(*arguments)``, the prepared run for a kind of call, which records its node too; None where there is none.

        Args:
            values: the arguments of a call of this kind that went well, with a layout in the place of each tensor.
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
        """The run with the facts that nodes ask for."""
        plan = complete(PreparedPlan(), self.op, layouts, {} if not attributes.keys().isdisjoint(self.holders) else attributes)
        plan.run = run
        return plan

    def scope(self) -> dict[str, Any]:
        return {
            "found": self.plans.get,
            "unprepared": self.unprepared,
            "mode": mode,
            "ABSENT": ABSENT,
            "SEQUENCES": (list, tuple),
            "record": partial(record_prepared, self.op),
        }

    def parts(self) -> dict[str, str]:
        names, operands = self.names, self.names[: self.count]
        unprepared = f"return unprepared(({', '.join(names)},), more, named)"
        sequences = [f" or type({n}) not in SEQUENCES" for n, kind in zip(names, self.kinds) if kind == "several"]
        needs = [
            f"{n}._needs_grad_" if kind == "one" else f"True in [_._needs_grad_ is not False for _ in {n}]"
            for n, kind in zip(operands, self.kinds)
            if kind is not None
        ]
        return {
            "parameters": bound_parameters(self.op),
            "asked": f"special or more or named{''.join(sequences)}",
            "intercept": unprepared,
            "plan": f"found(({self.key_text(names)}))",
            "missing": "plan = None",
            "launch": STEPPED_LAUNCH.format(
                names=", ".join(names),
                unprepared=unprepared,
                needs=" or ".join(needs) or "True",
                operands=", ".join(operands),
                attributes=", ".join(f"{n!r}: {n}" for n in self.attributes),
            ),
        }

    def text(self) -> str:
        """The source of the function; without prepared runs it goes the full way at once."""
        parts = self.parts()
        return super().text() if self.make is not None else f"def call({parts['parameters']}):\n    {parts['intercept']}\n"


STEPPED_LAUNCH = """    if plan is None: {unprepared}
    run = plan.run
    out = run({names})
    if out is None: {unprepared}
    if mode.enabled and ({needs}): record(plan, ({operands},), out, {{{attributes}}})
    return out
"""


def run_call(op: General, run: Callable) -> Callable:
    """The function of an operation of several steps."""
    return SteppedCall(op, run).function()


def layouts_of(value):
    """The layout of a tensor, the layouts of a sequence; ``...`` of anything else."""
    if isinstance(value, (list, tuple)):
        return tuple([getattr(x, "layout", None) for x in value])
    return getattr(value, "layout", ...)


PLAIN = (int, bool, float, str, type(None))  # values that may be part of a key; a tensor may change


class CompositeCall(PreparedCall):
    """The call of a composite with prepared runs, which serve calls without its *rare* arguments.

    Attributes:
        formula: the composite's function, which explains errors; ``raw``: it does not.
        tensors: names of the arguments that are tensors, where they are given.
        rare: names of those that can only be given by name and are None by default.
        usual: names of the others.
    """

    __slots__ = ("formula", "raw", "tensors", "rare", "usual")
    offers = ()

    def __init__(self, op: Op, formula: Callable):
        super().__init__(op)
        self.count, self.formula, self.raw = 1, explained(formula, op), formula
        self.tensors, parameters = {self.names[0], *PREPARED[op.name][1]}, op.signature.parameters
        self.rare = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY and p.default is None and n not in self.tensors}
        self.usual = [n for n in self.names if n not in self.rare]
        self.kinds = tuple("one" if n in self.tensors else None for n in self.usual)

    def evaluate(self, *args: Any, **named: Any) -> Any:
        """The first call of a kind: run the formula, then prepare a run for the next."""
        out = self.formula(*args, **named)
        given = {name: value for name, value in zip(self.names, (*args, *named.values())) if name not in self.rare}
        if all(isinstance(value, Tensor) == (name in self.tensors) or value is None for name, value in given.items()):
            self.prepare(tuple(given.values()), self.usual[1:], is_prepared)
        return out

    def scope(self) -> dict[str, Any]:
        return {
            "found": self.plans.get,
            "evaluate": self.evaluate,
            "formula": self.raw,
            "refuse": partial(refuse_arguments, self.op, ()),
            "known_call": known_call,
            "called_again": partial(called_again, self.op),
            "Tensor": Tensor,
            "ArgumentError": ArgumentError,
        }

    def parts(self) -> dict[str, str]:
        """The parts of the text. A composite that looks at no element (``pure``) may be known to a mode as one call."""
        parameters, usual = self.op.signature.parameters, ", ".join(self.usual)
        given = "".join(f" or {n} is not None" for n in self.names if n in self.rare)
        optional = [n for n, p in parameters.items() if p.default is not p.empty]
        passed = ", ".join(f"{n}={n}" if p.kind is p.KEYWORD_ONLY else n for n, p in parameters.items())
        values = "{" + ", ".join(f"{n!r}: {n}" for n in self.names) + "}"
        return {
            "parameters": argument_text(self.op, "_defaults", other_names(self.op)),
            "spelling": "".join(line + "\n" for line in other_names_lines(self.op, self.names)),
            **(either_parts(self.op) if self.op.either else {}),
            "asked": f"special{given}",
            "intercept": (PURE_INTERCEPT if self.op.pure else "return formula({passed})").format(
                unknown=f"None if {given[4:]} else " if given else "", passed=passed, usual=usual
            ),
            "plan": f"found(({self.key_text(self.usual, optional)}), evaluate)",
            "missing": "plan = None",
            "launch": COMPOSITE_LAUNCH.format(passed=passed, usual=usual, values=values),
        }


# While a mode is active: what it knows of the whole call, else the formula.
PURE_INTERCEPT = """
        out = {unknown}known_call(op, ({usual},))
        return formula({passed}) if out is None else out"""
COMPOSITE_LAUNCH = """    if plan is evaluate: return evaluate({passed})
    out = None if plan is None else plan({usual})
    if out is not None: return out
    try: return formula({passed})
    except (AttributeError, TypeError, ValueError) as error:
        refuse({values}, error)
        raise
"""


def either_parts(op: Op) -> dict[str, str]:
    """Parameters and first lines of a call whose second argument, given by its position, is a dimension or another tensor.

    They stand apart from the argument of the name ``dim``, which a function cannot tell from one by position.
    """
    parameters = (
        argument_text(op, "_defaults").replace("dim=", "either=", 1).replace("keepdim=_defaults['keepdim']", "keepdim=None")
    )
    lines = f"""    if either is not None:
        if dim is not None: raise ArgumentError("{op.public}: got dim twice. Hint: leave one out.")
        elif type(either) is int: dim = either
        elif keepdim is None and isinstance(either, Tensor) and {op.either} is None: {op.either} = either
        else: dim = either
    if keepdim is None: keepdim = False
"""
    return {"parameters": parameters.replace("*, ", "*, dim=None, "), "spelling": lines}


def composite_call(op: Op, formula: Callable) -> Callable:
    """The function of a prepared composite."""
    call = CompositeCall(op, formula).function()
    call.__name__, call.__qualname__, call.__module__ = formula.__name__, formula.__qualname__, formula.__module__
    call.__signature__ = inspect.signature(formula)
    return call


def recording_run(name: str, *values: Any) -> Callable | None:
    """``SteppedCall.recording`` of the operation ``name``."""
    return CALLS[name].recording(*values)


def is_prepared(part) -> bool:
    """Whether a composite may have prepared runs for this part of a key; no sequence: ``(1,)`` would find that of ``(True,)``."""
    return part is ... or type(part) is not tuple and (type(part) is DType or may_be_prepared(part))


def may_be_prepared(part) -> bool:
    """Whether an operation may have prepared runs for this part of a key: an unmarked layout, or a value of a plain type."""
    if type(part) is Layout:
        return not part.special
    if type(part) is tuple:
        return all(map(may_be_prepared, part))
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
