"""What an explanation of a compiled function says, and how it is told: see explain.py, which makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterator

from ..execution.costs import Cost

__all__ = ["BackwardExplanation", "Explanation", "ProgramExplanation", "StepExplanation", "VariantExplanation"]

MOST_NAMES, MOST_STEPS, WIDEST = 6, 60, 400  # that an explanation lists; characters of a step


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


def size(count: int) -> str:
    """Bytes, for people."""
    if count < 10_000:
        return f"{count:,} byte{'s' * (count != 1)}"
    return f"{count / 1e3:,.0f} kB" if count < 10_000_000 else f"{count / 1e6:,.0f} MB"
