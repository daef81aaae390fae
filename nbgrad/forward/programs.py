"""Programs of dual calls: the launches of a call and of its tangent, noted once and repeated by later calls of the same kind.

NOTE [Dual programs]: the tangent of an operation that is not elementwise is computed by formulas of tensors (forward/rules.py).
These are pure (ops/core.py, NOTE [Rules]): which calls they make depends on layouts and attributes alone. So when a call of a kind
comes again it is traced: its launches are noted, those that the results do not need are left out, and the rest becomes a generated
function of the operands and tangents. Nothing in a program is recorded, and no tangent is seen in it.
  steps      An elementwise or planned call becomes the launch of its plan, a movement another layout of the same memory, a prepared
             run a call of that run. Of an operation of several steps the steps are taken; one that may look at elements is called
             again as a whole. Elementwise steps on large operands that follow one another become one kernel.
  constants  A tensor that no call made must be one that ``new_full`` has filled: zeros for a missing tangent, ones for a cotangent.
             What else comes from nowhere was made by a step that nobody saw, from what this call was given.
  refused    There is no program where something is written to on the way, where a result is of unknown origin, or where the program
             would not give the bits of the trace.
  rehearsal  Where an input begins within another one, as in ``cat([x, x])``, or a tangent is its primal, a trace cannot tell which
             of them a step has read. A call of copies is traced instead.
What that saves is measured by benchmarks/test_forward.py ("amax").
"""

from __future__ import annotations

from functools import lru_cache
from threading import get_ident
from typing import Any, Callable, Sequence

from ..base.calls import CALLS
from ..base.grad_mode import call_tracers, special
from ..creation.allocation import new_full
from ..dispatch.arguments import hashable
from ..dispatch.elementwise_plans import find_plan, forward_formula
from ..dispatch.formulas import Formula
from ..dispatch.generated import compile_text
from ..dispatch.plans import elementwise_plan
from ..graph.saved import tensors_in
from ..modes.interpreters import Presence
from ..native.plans import Plan
from ..ops.expr import Expr, constant as constant_of, evaluate, operation, symbol
from ..tensors.tensor import Tensor, native
from .tangents import below_level, lies_alike

__all__ = ["CallTracer", "are_distinct", "program_of"]


class CallTracer(Presence):
    """Notes the calls of one thread that get past all interpreters, and what it fills with one number, while it is active."""

    def __init__(self) -> None:
        self.thread = get_ident()
        self.steps: list[tuple] = []
        self.filled: list[Tensor] = []

    def __enter__(self) -> CallTracer:
        special.append(self)
        call_tracers.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        call_tracers.remove(self)
        special.remove(self)

    def note_filled(self, x: Tensor) -> None:
        """Note a tensor that is filled with one number."""
        if get_ident() == self.thread:
            self.filled.append(x)

    def seen(self, op: Any, operands: tuple, out: Any) -> None:
        """Note a call, and at which versions its tensors are after it."""
        if get_ident() == self.thread:
            self.steps.append((op, operands, out, [x._storage_.version for x in tensors_in((operands, out))]))


class NoProgram(Exception):
    """There is no program for this call."""


class Step:
    """One line of a program.

    Attributes:
        form: its text; ``{0}`` and so on are what it uses, ``{out}`` the name of its result.
        uses: inputs and steps as numbers (``ProgramValue``), and objects that are bound (``Bound``).
        settled: whether layouts say where the result lies, and not elements.
        formula, layouts: of an elementwise call of large operands, which may be part of another one's kernel.
    """

    __slots__ = ("form", "uses", "settled", "formula", "layouts")
    layouts: tuple

    def __init__(self, form: str, uses: list, settled: bool = True, formula: Formula | None = None):
        self.form, self.uses, self.settled, self.formula = form, uses, settled, formula


class ProgramValue:
    """A tensor of a program: a result of a step, one of several if ``part`` says which; without a step an input."""

    __slots__ = ("step", "part")

    def __init__(self, step: Step | None, part: int | None = None):
        self.step, self.part = step, part


class Bound:
    """An object that a program refers to: a plan, a function, an attribute."""

    __slots__ = ("it",)

    def __init__(self, it: Any):
        self.it = it


def are_distinct(inputs: Sequence[Tensor]) -> bool:
    """Whether no input is another one, or could be taken for a view of another one, as a trace tells tensors apart."""
    return not any(x is not y and begins_within(x, y) for x in inputs for y in inputs) and len(set(map(id, inputs))) == len(inputs)


def begins_within(x: Tensor, y: Tensor) -> bool:
    """Whether the first element of ``x`` is one of ``y``'s: what views of ``y`` may begin with."""
    if x._storage_ is not y._storage_ or x._offset_ < y._offset_:
        return False
    layout, itemsize, rest = y.layout, y.layout.dtype.itemsize, x._offset_ - y._offset_
    for stride, size in sorted(((t * itemsize, s) for s, t in zip(layout.shape, layout.strides) if t), reverse=True):
        rest -= min(rest // stride, size - 1) * stride
    return 0 <= rest < itemsize


def same_tensor_key(x: Tensor) -> tuple:
    """A key that is the same for all tensors on the same memory with the same layout."""
    return id(x._storage_), x._offset_, x.layout


class Reader:
    """Makes the steps of a program from the calls that a tracer has noted.

    Attributes:
        known: by identity what a tensor is to the program, and the version at which it is that.
        filled: the tensors that were filled with one number.
        storages, constants: all memory that is known; that which no call made.
        kept: all tensors, so that no identity is used twice.
    """

    def __init__(self, inputs: list[Tensor], filled: Sequence[Tensor]):
        self.filled = {id(x._storage_): x for x in filled}
        self.known: dict[tuple, tuple[ProgramValue | None, int]] = {}
        self.storages: set[int] = set()
        self.constants: set[int] = set()
        self.kept: list[Any] = [inputs]
        for place, x in enumerate(inputs):
            self.note(x, ProgramValue(None, place), x._storage_.version)

    def note(self, x: Tensor, value: ProgramValue | None, version: int) -> None:
        """Remember that ``x`` is this value of the program from here on; None: of unknown origin."""
        self.known[same_tensor_key(x)] = value, version
        self.storages.add(id(x._storage_))

    def read(self, op: Any, operands: tuple, out: Any, versions: list[int]) -> None:
        """Add one noted call to the program."""
        self.kept.append((operands, out))
        several = isinstance(out, (tuple, list))
        outs = tuple(out) if several else (out,)
        if not all(isinstance(x, Tensor) for x in outs):
            return
        count = len(versions) - len(outs)
        after = versions[count:]
        try:
            if op.kind == "function" or op.integer_divisor:
                raise NoProgram
            before = dict(zip(map(id, tensors_in(operands)), versions))
            made = self.step(op, operands, [self.rendered(x, before) for x in operands])
        except NoProgram:
            if any(map(self.is_known, outs, after)):  # the steps within it have made the result
                return
            made = None
        for k, (x, version) in enumerate(zip(outs, after)):
            if any(x is y for y in operands):
                self.note_written(x, version)
            else:
                self.note(x, None if made is None else ProgramValue(made, k if several else None), version)

    def is_known(self, x: Tensor, version: int) -> bool:
        """Whether a program could compute a tensor, at this version."""
        value, known = self.known.get(same_tensor_key(x), (None, -1))
        return value is not None and known == version

    def note_written(self, x: Tensor, version: int) -> None:
        """A call returned its operand: if it wrote to it, what lies in that memory is of unknown origin from now on."""
        if not self.is_known(x, version):
            for place, (_, old) in self.known.items():
                if place[0] == id(x._storage_):
                    self.known[place] = None, old

    def rendered(self, x: Any, versions: dict[int, int]) -> Any:
        """An argument in the form in which steps hold it: a Value, or a Bound object."""
        if isinstance(x, Tensor):
            return self.value(x, versions[id(x)])
        if isinstance(x, (tuple, list)) and tensors_in(x):
            return tuple([self.rendered(each, versions) for each in x])
        return Bound(x)

    def value(self, x: Tensor, version: int) -> ProgramValue:
        """The value of the program that a tensor is.

        Raises:
            NoProgram: nothing that it could compute.
        """
        held = self.known.get(same_tensor_key(x))
        if held is None:
            if id(x._storage_) in self.storages or id(x._storage_) not in self.filled or version:
                raise NoProgram
            made = ProgramValue(constant_maker(x))
            self.note(x, made, version)
            self.kept.append(x)
            self.constants.add(id(x._storage_))
            return made
        if held[0] is None or held[1] != version:
            raise NoProgram
        return held[0]

    def step(self, op: Any, operands: tuple, rendered: list) -> Step:
        """The step of one call.

        Raises:
            NoProgram: there is none.
        """
        if op.kind == "elementwise":
            plan = find_plan(op, operands)
            own = plan.outs[0].layout
            joins = own.numel >= FUSED_FROM and plan.compute is own.dtype and own.dtype.compute == own.dtype.name
            step = render_launch(plan, rendered, forward_formula(op, own.dtype) if joins else None)
            step.layouts = tuple([x.layout if isinstance(x, Tensor) else None for x in operands])
            return step
        if op.kind == "movement":
            return render_view(op, operands, rendered)
        call, count = CALLS[op.name], len(op.operands)
        if not hasattr(op, "vjps") or op.draws or len(operands) != len(op.signature.parameters):
            raise NoProgram
        if hasattr(call, "plans"):
            plan = call.plans.get((*[x.layout for x in operands[:count]], *map(hashable, operands[count:])))
            if plan is not None:
                return render_launch(plan, rendered[:count])
            raise NoProgram
        if not hasattr(call, "run_prepared"):
            raise NoProgram
        quick = call.prepared_for(operands)
        if quick is not None and hasattr(quick, "plan"):
            return render_launch(quick.plan, [*rendered[0]])
        if quick is not None:
            return Step(
                "{out} = {0}(" + place_names(rendered, 1) + ")\n    if {out} is None: return None", [Bound(quick), *rendered]
            )
        names = tuple(op.signature.parameters)[count:]
        given = "{{" + ", ".join(f"{name!r}: {{{k}}}" for k, name in enumerate(names, 1 + count)) + "}}"
        return Step(
            "{out} = below_level(0, {0}, (" + place_names(rendered[:count], 1) + ",), " + given + ")",
            [Bound(call.run_prepared), *rendered],
            False,
        )


def place_names(rendered: list, first: int) -> str:
    """The places of arguments in the text of a step."""
    return ", ".join(f"{{{k}}}" for k in range(first, first + len(rendered)))


def render_launch(plan: Plan, rendered: list, formula: Formula | None = None) -> Step:
    """The step that launches a plan."""
    return Step("{out} = fresh(" + place_names([plan, *rendered], 0) + ")", [Bound(plan), *rendered], True, formula)


# Elements from which one pass over memory less is worth a kernel of its own.
FUSED_FROM = 1 << 15


def fuse(order: list[Step], results: list[ProgramValue]) -> list[Step]:
    """The steps, with elementwise ones put into the only step that reads their result: one kernel, one pass over memory."""
    reads: dict[Step, int] = {}
    for step in order:
        for use in tensors_in(step.uses, ProgramValue):
            if use.step is not None:
                reads[use.step] = reads.get(use.step, 0) + 1
    kept = {value.step for value in results}
    gone = set()
    for step in order:
        while (place := joined_place(step, reads, kept)) is not None:
            gone.add(step.uses[place].step)
            render_joined(step, place)
    return [step for step in order if step not in gone]


MOST_OPERANDS = 8


def joined_place(step: Step, reads: dict[Step, int], kept: set) -> int | None:
    """Which operand of a step is an elementwise result that nobody else reads."""
    if step.formula is None:
        return None
    own = step.uses[0].it.outs[0].layout
    for place, use in enumerate(step.uses):
        before = use.step if isinstance(use, ProgramValue) else None
        if before is not None and before.formula is not None and reads[before] == 1 and before not in kept:
            if before.uses[0].it.outs[0].layout is own and len(step.uses) + len(before.uses) - 3 <= MOST_OPERANDS:
                return place
    return None


def render_joined(step: Step, place: int) -> None:
    """Compute an operand of a step, by its formula, in the step's own kernel."""
    before, formula = step.uses[place].step, step.formula
    assert formula is not None and before.formula is not None
    operands = [*step.uses[1:place], *before.uses[1:], *step.uses[place + 1 :]]
    params = [*formula.params[: place - 1], *before.formula.params, *formula.params[place:]]
    names = [f"x{k}" for k in range(len(params))]
    symbols = [symbol(name, boolean) for name, (_, boolean) in zip(names, params)]
    count = len(before.formula.params)
    inner = renamed(before.formula, symbols[place - 1 : place - 1 + count])
    result = renamed(formula, [*symbols[: place - 1], inner, *symbols[place - 1 + count :]])
    step.formula = Formula("joined", tuple((name, boolean) for name, (_, boolean) in zip(names, params)), (result,))
    own = step.uses[0].it.outs[0].layout
    layouts = (*step.layouts[: place - 1], *before.layouts, *step.layouts[place:])
    plan: Plan = elementwise_plan(step.formula, own.dtype, layouts, (own,))
    step.layouts = layouts
    step.uses = [Bound(plan), *operands]
    step.form = "{out} = fresh(" + place_names(step.uses, 0) + ")"


def renamed(formula: Formula, values: list) -> Expr:
    """The result of a formula of these expressions."""
    names = [name for name, _ in formula.params]
    (result,) = evaluate(formula.results, dict(zip(names, values)), lambda name, args: operation(name, *args))
    return result if isinstance(result, Expr) else constant_of(result)


def render_view(op: Any, operands: tuple, rendered: list) -> Step:
    """The step that makes a view: another layout of the operand's memory."""
    plan = CALLS[op.name].find_plan(*operands)
    one = "view({{{0}}}, {{0}}._storage_, {{0}}._offset_ + {{{1}}}, False, None)"
    if not op.multiple:
        return Step("{out} = " + one.format(1, 2), [rendered[0], Bound(plan.outs[0]), Bound(plan.offset)])
    uses, parts = [rendered[0]], []
    for template, offset in zip(plan.outs, plan.offset):
        parts.append(one.format(len(uses), len(uses) + 1))
        uses += [Bound(template), Bound(offset)]
    return Step("{out} = (" + ", ".join(parts) + ",)", uses)


FEW = 256


def constant_maker(x: Tensor) -> Step:
    """The step that makes a tensor of memory that was filled with one number.

    Raises:
        NoProgram: it shows that memory otherwise than it was filled.
    """
    layout, elements = x.layout, x._storage_.array
    if layout.memory is not None or layout.special or not layout.dense or layout.conj or layout.neg:
        raise NoProgram
    if not elements.size or elements.dtype != layout.descr:
        raise NoProgram
    if layout.numel <= FEW:
        return Step("{out} = {0}", [Bound(x)])
    return Step("{out} = {0}({1}, {2})", [Bound(new_full), Bound(layout), Bound(elements.reshape(-1)[0].item())])


# ---- text ----------------------------------------------------------------------------------------------------------


def program_of(
    tracer: CallTracer, inputs: list[Tensor], result: Any, tangent: Tensor | None, constants: bool = True, fused: bool = False
) -> tuple[Callable, bool] | None:
    """``program(*inputs) -> result, tangent``, and whether the tangent may be taken as it is; None where there is no program.

    A program returns None alone where the call must go the long way after all.

    Args:
        tracer: what was noted while ``result`` and ``tangent`` were computed from ``inputs``.
        constants: whether it may use what no call made.
        fused: whether elementwise calls that follow one another are one kernel.
    """
    reader = Reader(inputs, tracer.filled)
    for step in tracer.steps:
        reader.read(*step)
    if reader.constants and not constants:
        return None
    outs = result if isinstance(result, tuple) else (result,)
    try:
        values = [reader.value(x, x._storage_.version) for x in outs]
        last = None if tangent is None else reader.value(tangent, tangent._storage_.version)
    except NoProgram:
        return None
    given = [id(x._storage_) for x in inputs]
    if any(id(x._storage_) in (*given, *reader.constants) for x in outs):
        return None
    program, settled = program_text(values, isinstance(result, tuple), last, len(inputs), fused)
    if tangent is None or last is None:
        return program, True
    memory = id(tangent._storage_)
    if memory in reader.constants:
        return None
    return program, settled and memory not in (*given, *[id(x._storage_) for x in outs]) and lies_alike(tangent, outs[0])


def program_text(
    outs: list[ProgramValue], several: bool, tangent: ProgramValue | None, count: int, fused: bool
) -> tuple[Callable, bool]:
    """The generated function of the steps that the results need, and whether all of them are settled."""
    order: list[Step] = []
    results = [*outs, *(() if tangent is None else (tangent,))]
    for value in results:
        collect(value, order)
    if fused:
        order = fuse(order, results)
    bound: list[Any] = []
    names: dict[Step, str] = {step: f"v{k}" for k, step in enumerate(order)}

    def text(x: Any) -> str:
        if isinstance(x, tuple):
            return "(" + "".join(text(each) + ", " for each in x) + ")"
        if isinstance(x, Bound):
            bound.append(x.it)
            return f"b{len(bound) - 1}"
        if x.step is None:
            return f"i{x.part}"
        return names[x.step] + ("" if x.part is None else f"[{x.part}]")

    lines = ["    " + step.form.format(*map(text, step.uses), out=names[step]) for step in order]
    made = ", ".join(map(text, outs))
    lines.append(f"    return {f'({made},)' if several else made}, {'None' if tangent is None else text(tangent)}")
    head = f"def program({', '.join(f'i{k}' for k in range(count))}):"
    return maker("\n".join([head, *lines]), len(bound))(*bound), all(step.settled for step in order)


def collect(value: Any, order: list[Step]) -> None:
    """Append the steps that a value needs, each behind those that it uses itself."""
    pending = [value]
    while pending:
        x = pending[-1]
        steps = x if isinstance(x, tuple) else (x.step,) if isinstance(x, ProgramValue) else x.uses if isinstance(x, Step) else ()
        missing = [each for each in steps if each is not None and not isinstance(each, Bound) and not is_done(each, order)]
        if missing:
            pending += missing
        else:
            pending.pop()
            if isinstance(x, Step) and x not in order:
                order.append(x)


def is_done(x: Any, order: list[Step]) -> bool:
    """Whether everything that a use needs is there."""
    if isinstance(x, tuple):
        return all(is_done(each, order) for each in x)
    if isinstance(x, ProgramValue):
        return x.step is None or x.step in order
    return isinstance(x, Bound) or x in order


@lru_cache(maxsize=1024)
def maker(text: str, count: int) -> Callable:
    """``make(*bound)``: the function of a text, which calls that differ in shapes share."""
    lines = [
        f"def make({', '.join(f'b{k}' for k in range(count))}):",
        *("    " + line for line in text.splitlines()),
        "    return program",
    ]
    scope: dict[str, Any] = {"fresh": native.fresh, "view": native.tensor, "below_level": below_level}
    exec(compile_text("\n".join(lines) + "\n", "dual program"), scope)
    made: Callable = scope["make"]
    return made
