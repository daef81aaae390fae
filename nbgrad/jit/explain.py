"""What a compiled function has become, for people: ``f.source()``, ``f.backward_source()`` and ``f.explain()``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from ..base.dtypes import DType
from ..tensors.layout import Layout
from .costs import Cost, bytes_in, bytes_moved, read_by
from .draws import RESERVE
from .ir import Node
from .leaves import NUMBER
from .literals import type_text
from .steps import Guard, Host, Launch, Repeat, Step
from .text import Printer, text_of
from .values import GUARD

if TYPE_CHECKING:
    from .compile import Compiled
    from .program import Program
    from .variants import Variant

__all__ = [
    "Explanation",
    "ProgramExplanation",
    "StepExplanation",
    "VariantExplanation",
    "backward_source_of",
    "explanation_of",
    "source_of",
]

KINDS: dict[type, str] = {Host: "call", Guard: "guard", Repeat: "repeat"}
MOST_NAMES, MOST_STEPS, WIDEST = 6, 60, 400  # that an explanation lists; characters of a step
SIMPLE = (int, float, complex, bool, str, bytes, type(None), DType)


@dataclass(frozen=True)
class StepExplanation:
    """A step of a program.

    Attributes:
        kind: ``launch`` of one call's kernel, ``loop`` that several calls share, ``repeat`` of others, ``call`` in Python,
            ``copy``, ``guard``, ``numbers`` for random draws.
        operations: what it computes; ``values``: the names of the results, of those too that are written nowhere.
        space: of the results: dtype and shape.
        reads, writes: names of values.
        bytes_moved: between it and memory.
        line: ``file:line`` of the first call.
    """

    kind: str
    operations: tuple[str, ...]
    values: tuple[str, ...]
    space: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    bytes_moved: int
    line: str

    def __str__(self) -> str:
        what = " ".join(self.operations)
        if self.kind == "loop":
            what = f"{', '.join(map('='.join, zip(self.values, self.operations)))} over {self.space}"
        parts = [f"{verb} {', '.join(names)}" for verb, names in (("reads", self.reads), ("writes", self.writes)) if names]
        return f"{self.kind:8} {'; '.join([what] * bool(what) + parts)}".rstrip()


@dataclass(frozen=True)
class ProgramExplanation:
    """A list of steps that native code walks.

    Attributes:
        text: of the graph.
        nodes: how many calls there are in it.
        steps: what they have become; ``loops`` are those that several calls share.
        arena_bytes: memory for values that nobody sees outside.
        bytes_moved: by all steps, in one run.
        seconds, objects: what it took to make it: by the clock, and objects of machine code that had to be compiled. Without any it
            was warm: all of them were in the process, or on the disk.
    """

    text: str
    nodes: int
    steps: tuple[StepExplanation, ...]
    arena_bytes: int
    bytes_moved: int
    seconds: float
    objects: int

    @property
    def loops(self) -> tuple[StepExplanation, ...]:
        """The steps that several calls share."""
        return tuple([step for step in self.steps if step.kind == "loop"])

    @property
    def cost(self) -> str:
        """What it took to make it."""
        return f"{Cost(self.seconds, self.objects)!r}{'' if self.objects else ' (warm)'}"

    def __str__(self) -> str:
        return "\n".join(self.listed())

    def listed(self, steps: int | None = None, width: int = 10_000) -> Iterator[str]:
        """Its lines, of so many steps, each of so many characters."""
        count = len(self.steps)
        yield f"{count} step{'s' * (count != 1)}, {size(self.arena_bytes)} of memory in between, {size(self.bytes_moved)} moved"
        for step in self.steps[:steps]:
            text = str(step)
            yield f"  {text if len(text) <= width else text[: width - 3] + '...'}"
        if steps is not None and count > steps:
            yield f"  ... {count - steps} more: source() lists them"


@dataclass(frozen=True)
class BackwardExplanation(ProgramExplanation):
    """The program of a backward pass.

    Attributes:
        recomputed: calls of the function that it runs once more, which was cheaper than to save what they give.
    """

    recomputed: tuple[str, ...] = ()


@dataclass(frozen=True)
class VariantExplanation(ProgramExplanation):
    """A captured program of a function.

    Attributes:
        arguments: what each leaf of the arguments must be: a type, or a value.
        modes: grad mode, default dtype, and arguments that share memory.
        names: names of the program whose values it depends on, each with its value; ``objects_held``: how many more must hold the
            same objects.
        answers: where values were asked for, and what they must be.
        changes: what it changes that was there before.
        draws: how many calls it takes from random generators.
        saved: values that are kept for a backward pass, with their types; ``saved_bytes`` of memory. Arguments are not among them.
        backward: the passes that went through results.
        no_backward: whether results have a history that only goes back call by call.
    """

    arguments: dict[str, str] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    objects_held: int = 0
    answers: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    draws: int = 0
    saved: tuple[str, ...] = ()
    saved_bytes: int = 0
    backward: tuple[BackwardExplanation, ...] = ()
    no_backward: bool = False

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Its lines."""
        yield f"captured in {self.cost}, {self.nodes} call{'s' * (self.nodes != 1)}; holds where"
        if self.arguments:
            yield f"  arguments  {', '.join(f'{name}: {kind}' for name, kind in self.arguments.items())}"
        yield f"  modes      {', '.join(self.modes)}"
        shown = [f"{name} = {value}" for name, value in list(self.names.items())[:MOST_NAMES]]
        rest = self.objects_held + len(self.names) - len(shown)
        if shown or rest:
            others = [f"{rest} {'more ' if shown else ''}name{'s' * (rest != 1)} hold{'s' * (rest == 1)} the same"] if rest else []
            yield f"  names      {', '.join([*shown, *others])}"
        for answer in self.answers:
            yield f"  answer     {answer}"
        if self.changes:
            yield f"changes {', '.join(self.changes)}"
        if self.draws:
            yield f"takes {self.draws} call{'s' * (self.draws != 1)} from random generators"
        yield from self.listed(MOST_STEPS, WIDEST)
        if self.no_backward:
            yield "backward: no program: passes through its results go call by call"
        elif self.saved:
            yield f"saves {', '.join(self.saved)} for backward passes: {size(self.saved_bytes)}"
        for program in self.backward:
            again = f", runs {' '.join(program.recomputed)} once more" if program.recomputed else ""
            yield f"backward pass, made in {program.cost}{again}"
            yield from (f"  {line}" for line in program.listed(MOST_STEPS, WIDEST))


@dataclass(frozen=True)
class Explanation:
    """What a compiled function has become; ``print`` it.

    Attributes:
        name: of the function.
        limit: of the variants.
        variants: what was captured.
        broken: why calls run as they are, with the line where it was found; for each kind of arguments one.
        full: what changed when there were as many variants as the limit allows; empty if that has not happened.
    """

    name: str
    limit: int
    variants: tuple[VariantExplanation, ...]
    broken: tuple[str, ...]
    full: str

    def __str__(self) -> str:
        count = len(self.variants)
        lines = [f"{self.name}: {count} variant{'s' * (count != 1)} of at most {self.limit}"]
        for k, variant in enumerate(self.variants):
            first, *rest = str(variant).splitlines()
            lines += [f"variant {k}: {first}", *(f"  {line}" for line in rest)]
        lines += [f"runs as it is: {why}" for why in self.broken]
        if self.full:
            lines.append(f"runs as it is behind the limit, since this changed: {self.full}")
        return "\n".join(lines)


# ---- texts -------------------------------------------------------------------------------------------------------------


def source_of(compiled: Compiled) -> str:
    """See ``Compiled.source``."""
    parts = [f"# variant {k}\n{listing(variant.program)}" for k, variant in enumerate(compiled.variants)]
    return "\n".join(parts) or "# nothing was captured so far\n"


def backward_source_of(compiled: Compiled) -> str:
    """See ``Compiled.backward_source``."""
    parts = []
    for k, variant in enumerate(compiled.variants):
        programs = programs_of(variant)
        parts += [f"# variant {k}, backward\n{listing(program)}" for program in programs]
        if variant.live and not programs:
            parts.append(f"# variant {k}, backward: no pass went through its results so far\n")
    return "\n".join(parts) or "# no results with a history\n"


def listing(program: Program) -> str:
    """A graph as text, and its steps as comments."""
    explained = ProgramExplanation(**facts_of(program))
    return "\n".join([explained.text, *(f"# {line}" for line in str(explained).splitlines()), ""])


def programs_of(variant: Variant) -> list[Program]:
    """The programs of passes through a variant's results."""
    return [] if variant.backward is None else [program for program in variant.backward.programs.values() if program is not None]


# ---- explanations ------------------------------------------------------------------------------------------------------


def explanation_of(compiled: Compiled) -> Explanation:
    """See ``Compiled.explain``."""
    pairs = [(key, variant) for key, group in compiled._variants_.items() for variant in group]
    return Explanation(
        getattr(compiled.fn, "__name__", type(compiled.fn).__name__),
        compiled.limit,
        tuple([explained(compiled, key, variant) for key, variant in pairs]),
        tuple(dict.fromkeys(compiled._broken_.values())),
        compiled._full_,
    )


def explained(compiled: Compiled, key: Any, variant: Variant) -> VariantExplanation:
    """A variant."""
    graph, names = variant.program.graph, names_of(variant.program)
    _, kinds, sharing, enabled, dtype = key
    modes = [f"grad mode {'on' if enabled else 'off'}", f"default dtype {dtype.name}"]
    if sharing is not None:
        modes.append("arguments share memory as they did")
    held, count = named(variant)
    guards = [node for node in variant.graph.nodes if node.op is GUARD or node.op.sized_by_values]
    saved = [] if variant.backward is None else variant.program.results[variant.program.count :][len(variant.words) :]
    return VariantExplanation(
        **facts_of(variant.program, variant.cost),
        arguments=dict(zip(variant.paths, map(kind_text, kinds))),
        modes=tuple(modes),
        names=held,
        objects_held=count,
        answers=tuple([answer_of(node) for node in guards]),
        changes=changes_of(variant),
        draws=sum(node.op is RESERVE for node in graph.nodes),
        saved=tuple([f"{names.use(value)}: {type_text(value.layout)}" for value in saved]),
        saved_bytes=sum(bytes_in(value.layout) for value in saved),
        backward=tuple([backward_explained(program) for program in programs_of(variant)]),
        no_backward=bool(variant.live) and variant.backward is None,
    )


def backward_explained(program: Program) -> BackwardExplanation:
    """The program of a pass."""
    return BackwardExplanation(**facts_of(program), recomputed=tuple([node.name for node in program.again]))


def facts_of(program: Program, cost: Cost | None = None) -> dict[str, Any]:
    """What is true of every program."""
    graph, cost = program.graph, cost or program.cost
    names, steps = names_of(program), program.schedule.steps
    return {
        "text": text_of(graph, graph.constants, graph.name),
        "nodes": sum(1 for _ in graph.all_nodes()),
        "steps": tuple([step_explained(step, names) for step in steps]),
        "arena_bytes": program.assembled.bytes,
        "bytes_moved": sum(map(bytes_moved, steps)),
        "seconds": cost.seconds,
        "objects": cost.objects,
    }


def names_of(program: Program) -> Printer:
    """What knows the names that values have in the text."""
    graph = program.graph
    printer = Printer(graph, graph.constants)
    list(printer.function(graph, graph.name, "", graph.constants))
    return printer


def step_explained(step: Step, names: Printer) -> StepExplanation:
    """A step."""
    nodes: Sequence[Node] = step.nodes if isinstance(step, Launch) else [step.node] if isinstance(step, Host) else []
    kind = KINDS.get(type(step), "numbers")
    if isinstance(step, Launch):
        kind = "copy" if not nodes else "loop" if len(nodes) > 1 else "launch"
    writes = list(step.writes)
    return StepExplanation(
        kind,
        tuple([node.name for node in nodes]),
        tuple([names.names[x] for node in nodes for x in node.outs if x in names.names]),
        type_text(nodes[0].outs[0].layout) if nodes and nodes[0].outs else "",
        tuple([names.names[x] for x in read_by(step) if x in names.names]),
        tuple([names.names[x] for x in writes if x in names.names]),
        bytes_moved(step),
        nodes[0].line if nodes else "",
    )


def named(variant: Variant) -> tuple[dict[str, str], int]:
    """Names of the program that hold numbers and the like, with what they hold; how many others there are."""
    names, found, others = variant.guards.names, dict[str, str](), 0
    triples = [names[k : k + 3] for k in range(3, len(names), 3)]  # the first is the default dtype
    for holder, key, held in sorted(triples, key=lambda each: not is_of_module(each[0])):
        if isinstance(held, SIMPLE) and isinstance(key, str) and isinstance(holder, dict) and not key.startswith("__"):
            found.setdefault(key, repr(held) if len(repr(held)) < 40 else f"{repr(held)[:37]}...")
        else:
            others += 1
    return found, others + len(variant.guards.cells) // 2


def is_of_module(holder: Any) -> bool:
    """Whether names are a module's."""
    return isinstance(holder, dict) and "__name__" in holder


def answer_of(node: Node) -> str:
    """Where a program asks for values, and what it was told."""
    if node.op is GUARD:
        return f"{kind_of_answer(node.attributes['expected'])} at {node.line or 'unknown line'}"
    shapes = " and ".join([str(list(value.layout.shape)) for value in node.outs if value.layout is not None])
    return f"{node.name} gives shape {shapes} at {node.line or 'unknown line'}"


def kind_of_answer(expected: Any) -> str:
    """What a guard expects."""
    text = repr(expected[0] if isinstance(expected, tuple) and len(expected) == 1 else expected)
    return text if len(text) < 60 else f"{text[:57]}..."


def changes_of(variant: Variant) -> tuple[str, ...]:
    """What a variant changes."""
    acts = variant.acts
    if acts is None:
        return ()
    inputs = [value.name or f"argument {k}" for k, value in enumerate(variant.program.graph.inputs)]
    written = [inputs[x] for x in acts.targets if isinstance(x, int)]
    others = len(acts.targets) - len(written)
    found = [*written, *([f"{others} tensor{'s' * (others != 1)} of the program"] if others else [])]
    owners = [f"the gradient of {inputs[owner]}" for owner, _ in acts.gradients if isinstance(owner, int)]
    rest = len(acts.gradients) - len(owners)
    owners += [f"gradients of {rest} leaves of the program"] if rest else []
    return (*found, *owners, *(["counters"] if acts.after else []))


def kind_text(kind: Any) -> str:
    """What a leaf of the arguments must be."""
    if isinstance(kind, tuple) and kind and isinstance(kind[0], Layout):
        layout, flag, made_by = kind
        text = type_text(layout, flag)
        return text if made_by.__name__ == "Tensor" else f"{text} ({made_by.__name__})"
    if kind == NUMBER:
        return "float"
    return str(kind[1]) if isinstance(kind, tuple) else f"the same {type(kind).__name__}"


def size(count: int) -> str:
    """Bytes, for people."""
    if count < 10_000:
        return f"{count:,} byte{'s' * (count != 1)}"
    return f"{count / 1e3:,.0f} kB" if count < 10_000_000 else f"{count / 1e6:,.0f} MB"
