"""What a compiled function has become, for people: ``f.source()``, ``f.backward_source()`` and ``f.explain()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from ...base.dtypes import DType
from ..arguments.leaves import kind_text
from ..execution.costs import Cost, bytes_in, bytes_moved, read_by
from ..ir.devices import is_gpu
from ..ir.ir import Node
from ..ir.literals import type_text
from ..ir.steps import DeviceLaunch, Guard, Host, Launch, Repeat, Step
from ..nodes.draws import RESERVE
from ..nodes.values import GUARD
from ..text.text import Printer, text_of
from .explanations import BackwardExplanation, Explanation, ProgramExplanation, StepExplanation, VariantExplanation

if TYPE_CHECKING:
    from ..compile import Compiled
    from ..execution.program import Program
    from .runs import Run

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
SIMPLE = (int, float, complex, bool, str, bytes, type(None), DType)


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


def programs_of(variant: Run) -> list[Program]:
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


def explained(compiled: Compiled, key: Any, variant: Run) -> VariantExplanation:
    """A variant."""
    graph, names = variant.program.graph, names_of(variant.program)
    _, kinds, sharing, enabled, dtype, device = key
    modes = [f"grad mode {'on' if enabled else 'off'}", f"default dtype {dtype.name}"]
    if is_gpu(device):
        modes.append(f"default device {device}")
    if sharing is not None:
        modes.append("arguments share memory as they did")
    held, count = named(variant)
    guards = [node for node in variant.graph.nodes if node.op is GUARD or node.op.sized_by_values]
    saved = [] if variant.backward is None else variant.program.results[variant.program.count :][len(variant.words) :]
    return VariantExplanation(
        **facts_of(variant.program, variant.cost),
        arguments=dict(zip(variant.paths, [kind_text(kind, "the same") for kind in kinds])),
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
    nodes: Sequence[Node] = [step.node] if isinstance(step, Host) else []
    kind = KINDS.get(type(step), "numbers")
    if isinstance(step, (Launch, DeviceLaunch)):
        nodes = step.nodes
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


def named(variant: Run) -> tuple[dict[str, str], int]:
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


def changes_of(variant: Run) -> tuple[str, ...]:
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
    names = [] if acts.keep is None else acts.keep.names()
    return (*found, *owners, *names, *(["counters"] if acts.after else []))
