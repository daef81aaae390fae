"""What a compiled program does beside computing its results: NOTE [Effects] of effects.py."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ...tensors.overlap import overlapping
from ...tensors.tensor import Tensor, meta_of, native
from ..ir.graph import Graph
from .effects import Effects
from .hooks import has_hooks
from .slots import Keeper
from .sources import GradientOf

__all__ = ["Acts"]


class Acts:
    """The effects of a program.

    Args:
        graph: of the program, its inputs those of a call and those of ``effects.sources``.
        effects: what a capture has seen.
        count: how many leaves the result has; those behind are what names are to hold, then gradients.

    Attributes:
        needed: leaves (see ``Standin.owner``) whose gradient the program reads or adds to, and whether there was one.
        places: which input each target is; -1: none.
        learned: tensors in which passes within the program leave gradients, beside arguments.
        given: the inputs that are written; ``named``: tensors that the program reads beside its inputs.
        targets, times: tensors, or numbers of inputs, that are written, and how often; whether all are ``fixed``, tensors.
        gradients: leaves whose gradient is exchanged, and the number of the leaf of the result, or None for none.
        keep: puts results behind the leaves into names, and sets flags; None where there is nothing to do.
    """

    def __init__(self, graph: Graph, effects: Effects, count: int):
        self.sources, self.after, self.count = effects.sources, effects.after, count
        self.layouts = [value.layout for value in graph.inputs[len(graph.inputs) - len(self.sources) :]]
        self.needed = [(standin.owner, standin.made is not None) for standin in effects.needed.values()]
        found = [graph.inputs.index(target) if target in graph.inputs else target.data for target, _, _ in effects.writes]
        self.targets, self.times = tuple(found), tuple([times for _, _, times in effects.writes])
        self.places = tuple([target if isinstance(target, int) else -1 for target in found])
        self.given = tuple([target for target in found if isinstance(target, int)])
        self.named = tuple([value.data for value in graph.constants if isinstance(value.data, Tensor)])
        self.learned = tuple(effects.learned)
        self.fixed = not any(isinstance(target, int) for target in found)
        first = count + sum(len(each.contents) for each in effects.exchanges)
        places = iter(range(first, first + len(effects.gradients)))
        self.gradients = [(owner, None if value is None else next(places)) for owner, value in effects.gradients]
        kept = effects.exchanges or effects.flags
        self.keep = Keeper(effects.exchanges, count, effects.flags) if kept else None

    def operands(self, inputs: Sequence[Tensor]) -> tuple | None:
        """The inputs of a call, and what else the program reads; None where it does not hold for them."""
        found = [source.find(inputs) for source in self.sources]
        if any(x is None or x.layout is not layout for x, layout in zip(found, self.layouts)):
            return None
        if self.learned and not native.are_bare(self.learned) and any(map(has_hooks, self.learned)):
            return None
        for owner, had in self.needed:
            meta = (inputs[owner] if isinstance(owner, int) else owner)._meta_
            if (meta is not None and meta.grad is not None) is not had:
                return None
        operands = (*inputs, *found)
        if self.targets:
            targets = self.written(operands)
            if not native.may_write(targets, self.places, operands) and not may_write(targets, self.places, operands):
                return None
            written, nowhere = tuple([operands[k] for k in self.given]), (-1,) * len(self.given)
            if written and not native.may_write(written, nowhere, self.named) and not may_write(written, nowhere, self.named):
                return None
        return operands

    def actor(self, program: list, form: int, slow: Callable, missed: Callable) -> Callable:
        """``call(*inputs)``: all of it, natively, where ``program`` says how: see ``Actor``."""
        return native.actor(
            tuple([source.leaf if isinstance(source, GradientOf) else source.find for source in self.sources]),
            tuple(self.layouts),
            self.learned,
            (tuple([owner for owner, _ in self.needed]), tuple([had for _, had in self.needed])),
            (self.targets, self.places, self.times),
            self.named,
            (tuple([owner for owner, _ in self.gradients]), tuple([-1 if part is None else part for _, part in self.gradients])),
            tuple(self.after),
            self.keep,
            self.count,
            form,
            meta_of,
            program,
            slow,
            missed,
        )

    def written(self, operands: tuple) -> tuple[Tensor, ...]:
        """The tensors that are written to."""
        targets: tuple[Any, ...] = self.targets
        return targets if self.fixed else tuple([operands[x] if isinstance(x, int) else x for x in targets])

    def count_writes(self, operands: tuple) -> None:
        """Move the versions of what was written, before views are made of it."""
        if self.targets:
            native.count_writes(self.written(operands), self.times)

    def do(self, operands: tuple, leaves: list) -> list:
        """Exchange gradients; the leaves of the result."""
        for owner, place in self.gradients:
            leaf = operands[owner] if isinstance(owner, int) else owner
            (leaf._meta_ or meta_of(leaf)).grad = None if place is None else leaves[place]
        if self.keep is not None:
            self.keep(leaves, operands)
        for action in self.after:
            action()
        return leaves[: self.count]


def may_write(targets: Sequence[Tensor], places: Sequence[int], operands: Sequence[Tensor]) -> bool:
    """Whether what is written is memory that nothing else is read from: where native code does not see that at once."""
    for target, place in zip(targets, places):
        if target._storage_.writable is not True:
            return False
        if any(k != place and isinstance(x, Tensor) and overlapping(x, target) for k, x in enumerate(operands)):
            return False
    return True
