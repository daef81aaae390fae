"""Native code: what a compiled program does beside computing its results, which are writes, counts of versions, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from .language import Words, bound, native
from .launches import alias
from .primitives import as_tuple, words_of
from .sequences import are_bare, count_writes, may_write

if TYPE_CHECKING:
    from ..tensors.tensor import Meta, Tensor

__all__ = ["COUNTED", "LISTED", "OBJECT", "SINGLE", "Actor"]

SINGLE, COUNTED, LISTED = range(
    3
)  # what a program returns: one leaf, a tuple of them, or a list for the caller to make something of
OBJECT = 3  # a leaf that is no tensor


@bound
class Actor:
    """``call(*inputs)``: a program that acts, for inputs that are known to fit; what it returns.

    What the leaves are is told by words: how many, then for each three: 0 a result of the steps, 1 an operand, 2 a constant, 3 any
    object; which of them; whether it is a tensor of its own, without history.

    Attributes:
        sources: for each operand behind the inputs ``find(inputs)``, which returns a tensor or None; or the tensor, or the number
            of the input, whose gradient it is.
        layouts: of those operands.
        learned: tensors that must be leaves without hooks.
        needed: leaves, or numbers of inputs; ``had``: whether each must have a gradient.
        targets, places, times: what is written, or number of the operand; which operand that is, -1: none; how often.
        given: which of the operands are written; ``nowhere``: as many times -1; ``named``: what else the program reads.
        owners, parts: leaves, or numbers of inputs, whose gradient is exchanged, and for which leaf; -1: for none.
        after: what is called in the end; before that ``keep(leaves, operands)``, if there is one.
        count, form: how many leaves are the result's, the others being gradients, and what is made of them.
        meta_of: makes a tensor's Meta.
        program: a list of ``run``, see ``Sequence``, or None where only ``slow`` can; the constants; the words of the leaves, and
            the objects among these.
        slow: ``slow(*inputs)``, asked before anything is done where something is not as expected, or cannot be told here.
        missed: ``missed(*inputs)`` where a guard has stopped the steps.
    """

    __slots__ = (
        "sources",
        "layouts",
        "learned",
        "needed",
        "had",
        "targets",
        "places",
        "times",
        "given",
        "nowhere",
        "named",
        "owners",
        "parts",
        "after",
        "keep",
        "count",
        "form",
        "meta_of",
        "program",
        "slow",
        "missed",
    )
    sources: tuple
    layouts: tuple
    learned: tuple
    needed: tuple
    had: tuple
    targets: tuple
    places: tuple
    times: tuple
    given: tuple
    nowhere: tuple
    named: tuple
    owners: tuple
    parts: tuple
    after: tuple
    keep: object
    count: int
    form: int
    meta_of: Callable
    program: list
    slow: Callable
    missed: Callable

    def __init__(
        self, sources, layouts, learned, needed, targets, named, gradients, after, keep, count, form, meta_of, program, slow, missed
    ):
        self.sources, self.layouts, self.learned, self.after, self.count, self.form = sources, layouts, learned, after, count, form
        self.needed, self.had = needed
        self.targets, self.places, self.times = targets
        self.given = tuple([target for target in self.targets if isinstance(target, int)])
        self.nowhere, self.named = (-1,) * len(self.given), named
        self.owners, self.parts = gradients
        self.meta_of, self.program, self.slow, self.missed = meta_of, program, slow, missed
        self.keep = keep

    def __call__(self, *inputs):
        run = self.program[0]
        found = None if run is None else self.operands(tuple([inputs[k] for k in range(len(inputs))]))
        if found is None:
            return self.slow(*inputs)
        operands = cast(tuple, found)
        made = run(*operands)
        if made is None:
            return self.missed(*inputs)
        outs = made if isinstance(made, tuple) else (made,)
        leaves: list = []
        text: bytes = self.program[2]
        code = words_of(text)
        for k in range(code[0]):
            leaves.append(leaf(self.program, code, 1 + 3 * k, outs, operands))
        self.exchange(operands, leaves)
        if self.keep is not None:
            self.keep(leaves, operands)
        for action in self.after:
            action()
        if int(self.form) == 0:
            return leaves[0]
        kept: list = []
        for k in range(int(self.count)):
            kept.append(leaves[k])
        if int(self.form) == 1:
            return as_tuple(kept)
        return kept

    def operands(self, inputs: tuple):
        """The inputs, and what else the program reads; None where something is not as expected, or cannot be told here."""
        found: list = []
        for k in range(len(inputs)):
            found.append(inputs[k])
        for k in range(len(self.sources)):
            source = self.sources[k]
            if isinstance(source, int) or isinstance(source, Tensor):
                x = self.gradient(source, inputs)
            else:
                x = source(inputs)
            if x is None or cast(Tensor, x).layout is not self.layouts[k]:
                return None
            found.append(x)
        if not are_bare(self.learned):
            return None
        for k in range(len(self.needed)):
            if (self.gradient(self.needed[k], inputs) is not None) is not self.had[k]:
                return None
        operands = as_tuple(found)
        if len(self.targets) > 0:
            if not may_write(self.written(operands), self.places, operands):
                return None
            written = tuple([operands[int(self.given[k])] for k in range(len(self.given))])
            if not may_write(written, self.nowhere, self.named):
                return None
        return operands

    @native
    def gradient(self, owner, inputs: tuple):
        """The gradient of a leaf, or of an input by its number; None where there is none."""
        x: Tensor = inputs[int(owner)] if isinstance(owner, int) else owner
        meta: Meta | None = x._meta_
        return None if meta is None else meta.grad

    @native
    def written(self, operands: tuple) -> tuple:
        """The tensors that are written to."""
        if len(self.given) == 0:
            return self.targets
        written: list = []
        for target in self.targets:
            written.append(operands[int(target)] if isinstance(target, int) else target)
        return as_tuple(written)

    @native
    def exchange(self, operands: tuple, leaves: list) -> None:
        """Count writes, and put gradients into their places."""
        if len(self.targets) > 0:
            count_writes(self.written(operands), self.times)
        for k in range(len(self.owners)):
            owner, part = self.owners[k], int(self.parts[k])
            x: Tensor = operands[int(owner)] if isinstance(owner, int) else owner
            meta: Meta | None = x._meta_
            if meta is None:
                self.meta_of(x)
                meta = x._meta_
            if meta is not None:
                meta.grad = None if part < 0 else leaves[part]


@native
def leaf(program: list, code: Words, at: int, outs: tuple, operands: tuple):
    """A leaf of the result, or a gradient."""
    source, which = code[at], code[at + 1]
    if source == 3:
        return cast(tuple, program[3])[which]
    if source == 0:
        x = outs[which]
    elif source == 1:
        x = operands[which]
    else:
        x = cast(tuple, program[1])[which]
    if code[at + 2] != 0:
        return alias(x)
    return x
