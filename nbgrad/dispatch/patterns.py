"""Plans for shapes never seen before, by functions of sizes that are derived from what makes plans.

A maker of plans (a lowering, ``elementwise_plan``) decides by layouts, and takes tens of microseconds for it. Where calls of a kind
come with ever other sizes, it is run once more with sizes that are open: NOTE [Open sizes] in base/open_sizes.py. What it computed
and asked becomes a generated function, which takes a few microseconds and gives the same plan, or None where some answer is another
one; then the maker decides, and what it does there becomes a further function.

NOTE [Derived plans]: a function is made when so many shapes of a kind have come (``AFTER``) that their plans have taken about as
long as it takes: whatever comes, no more than twice the least time is spent. It is thrown away unless it gives the very plan that
the maker has made.
tests/dispatch/test_patterns.py compares more: plans of all operations of the table, for sizes that no function was derived from.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Collection
from typing import Any, Callable, Iterable

from ..base import config
from ..base.bounded import keep
from ..base.dtypes import of_default_dtype
from ..base.open_sizes import Derivation, OpenSize, number_of
from ..kernels.late import Code
from ..native.plans import MovementPlan, OpenRecord, Plan, is_on_device, known, pack_record, word_format
from ..tensors.layout import Layout, derived_layout, form_of, open_input
from .generated import compile_text

__all__ = ["Patterns"]

AFTER = 16  # shapes of a kind that are planned by the maker before a function is derived
MOST = 4  # functions of a kind, and of those that are asked before the kind of a call is looked for
INTS = frozenset({int})

# ``function(*inputs)`` -> record (of a view its offset), templates of the results, layouts of the operands; or None.
Function = Callable[..., "tuple[Any, tuple, tuple] | None"]
Build = Callable[[tuple, Any, tuple, tuple], Any]


class Patterns:
    """Functions that plan calls, by the kinds of their inputs.

    An input is a Layout, of which sizes and strides are open, a tuple of several, or anything else that can be a part of a key.

    Attributes:
        make: ``make(*inputs)`` -> Plan; it depends on nothing but the inputs.
        copies: ``copies(plan)`` -> ``build(inputs, record, outs, layouts)``, which makes plans that differ in their sizes alone.
        label: of the sources.
        sizes: the places of inputs that are sizes or places, or tuples of them, which are open, too.
        kinds: by kind, the functions, each with what builds its plans, and how many plans have been made since the last was.
        recent: those of any kind that have been found in ``kinds`` lately. A function asks itself whether inputs are of its kind,
            which takes a tenth of the time that it takes to find the kind (benchmarks/test_overhead.py: a shape never seen before).
    """

    __slots__ = ("make", "copies", "label", "sizes", "kinds", "recent")

    def __init__(self, make: Callable[..., Any], copies: Callable[[Any], Build], label: str, sizes: Collection[int] = ()):
        self.make, self.copies, self.label, self.sizes = make, copies, label, sizes
        self.kinds: dict[tuple, tuple[list[tuple[Function, Build]], list[int]]] = of_default_dtype({})
        self.recent: list[tuple[Function, Build]] = of_default_dtype([])

    def known(self, inputs: tuple) -> Any:
        """The plan by a function that was of use lately; else None."""
        for function, build in self.recent:
            if (parts := function(*inputs)) is not None:
                return build(inputs, *parts)
        return None

    def plan_of(self, inputs: tuple, make: Callable[..., Any] | None = None) -> Any:
        """The plan: by a function, or by the maker.

        Args:
            make: what makes it in the place of ``self.make``, with more care; what is no Plan is only handed on.
        """
        if (plan := self.known(inputs)) is not None:
            return plan
        kind = self.kind_of(inputs)
        functions, since = self.kinds.get(kind) or keep(self.kinds, kind, ([], [0]))
        for found in functions:
            function, build = found
            if (parts := function(*inputs)) is not None:
                self.recent[:] = [found, *self.recent[: MOST - 1]]
                return build(inputs, *parts)
        plan = (make or self.make)(*inputs)
        since[0] += 1
        if since[0] >= AFTER and len(functions) < MOST and isinstance(plan, Plan) and not is_on_device(plan.record):
            since[0] = 0
            functions.append((self.derived(inputs, plan) or never, self.copies(plan)))
        return plan

    def kind_of(self, inputs: tuple) -> tuple:
        """What functions are found by: forms of layouts, numbers of sizes, everything else, and which layouts are the same.

        ``Text.ask_kind`` has a function ask the same.
        """
        sizes = self.sizes
        parts = [
            (x.form or form_of(x)) if type(x) is Layout else open_kind(x) if k in sizes else kind_of_other(x)
            for k, x in enumerate(inputs)
        ]
        layouts = [x for x in inputs if type(x) is Layout]
        return (*parts, *map(layouts.index, layouts)) if len(layouts) > 1 else tuple(parts)

    def derived(self, inputs: tuple, plan: Plan) -> Function | None:
        """The function of a kind, from one call of it; None where the maker needs what is no number.

        Args:
            plan: what the maker has made of the inputs.
        """
        try:
            with Derivation() as derivation:
                opened = tuple([self.opened(derivation, k, inputs.index(x), x) for k, x in enumerate(inputs)])
                text = Text(derivation, opened)
                text.ask_kind(inputs, self.sizes)
                function = text.function(self.make(*opened), self.label)
            parts = function(*inputs)
        except Exception as error:  # whatever it may be, the maker is there
            if config.DEBUG:
                print(f"nbgrad: no function of sizes for {self.label}: {error!r}", file=sys.stderr)
            return None
        same = parts is not None and is_of(plan, *parts)
        if config.DEBUG and not same:
            print(f"nbgrad: a function of sizes is wrong about {self.label}", file=sys.stderr)
        return function if same else None

    def opened(self, derivation: Derivation, k: int, first: int, x: Any) -> Any:
        """An input with its sizes open; the ``first`` that is the same has the names."""
        if type(x) is Layout:
            return open_input(derivation, f"x{first}", x) if x.ndim else x
        if are_layouts(x):
            return tuple([open_input(derivation, f"x{k}[{n}]", each) if each.ndim else each for n, each in enumerate(x)])
        if k in self.sizes and type(x) is tuple and INTS.issuperset(map(type, x)):
            return derivation.opened(f"x{k}", x, None)
        return derivation.opened(f"(x{k}, )", (x,), None)[0] if k in self.sizes and type(x) is int else x


def is_of(plan: Plan, record: Any, outs: tuple, layouts: tuple) -> bool:
    """Whether a plan is made of these parts. Of templates the layouts are compared: ``==`` of tensors asks for their elements."""
    what = plan.offset if isinstance(plan, MovementPlan) else known(plan.record)
    same_results = [x.layout for x in outs] == [x.layout for x in plan.outs]
    return same_results and bool(known(record) == what) and layouts == plan.layouts


def are_layouts(x: Any) -> bool:
    """Whether it is a tuple of layouts."""
    return type(x) is tuple and Layout in map(type, x)


def kind_of_other(x: Any) -> Any:
    """What a function depends on in several layouts, or in what is no size."""
    return tuple(map(form_of, x)) if are_layouts(x) else (x, type(x))


def open_kind(x: Any) -> Any:
    """What a function depends on in a size, or a tuple of them; of numbers that only the maker converts, or refuses, in each."""
    if type(x) is tuple:
        return len(x) if INTS.issuperset(map(type, x)) else (x, *map(type, x))
    return int if type(x) is int else (x, type(x))


def never(*inputs: Any) -> None:
    """In the place of a function that could not be derived: it counts as one of the kind's."""


class Text:
    """The source of a function of sizes, from what a derivation has written down.

    Attributes:
        names: of the layouts that are inputs; ``parameters`` of the function.
        scope: what the text names; ``used``: the numbers that are needed.
        kind: what is asked first.
    """

    def __init__(self, derivation: Derivation, opened: tuple):
        self.derivation = derivation
        self.names = [(f"x{k}", x) for k, x in enumerate(opened) if type(x) is Layout]
        for k, x in enumerate(opened):
            if are_layouts(x):
                self.names += [(f"x{k}[{n}]", each) for n, each in enumerate(x)]
        self.parameters = ", ".join([*(f"x{k}=never" for k in range(len(opened))), "*more"])
        self.scope: dict[str, Any] = {
            "derived_layout": derived_layout,
            "pack_record": pack_record,
            "Layout": Layout,
            "never": never,
            "form_of": form_of,
            "kind_of_other": kind_of_other,
        }
        self.used: set[str] = set()
        self.kind = ["not more"]

    def ask_kind(self, inputs: tuple, sizes: Collection[int]) -> None:
        """Have the function ask first whether its inputs are as many, and of the kind of these: see ``Patterns.kind_of``."""
        ask, same = self.kind.append, dict[Layout, str]()
        for k, x in enumerate(inputs):
            name = f"x{k}"
            if type(x) is Layout:
                ask(f"type({name}) is Layout and ({name}.form or form_of({name})) is {self.constant(form_of(x))}")
                self.kind += [f"{name} {'is' if x is other else 'is not'} {first}" for other, first in same.items()]
                same.setdefault(x, name)
            elif x is None:
                ask(f"{name} is None")
            elif k in sizes and type(x) is tuple:
                ask(f"type({name}) is tuple and tuple(map(type, {name})) == {self.constant(tuple(map(type, x)))}")
                if not INTS.issuperset(map(type, x)):
                    ask(f"{name} == {self.constant(x)}")
            elif k in sizes and type(x) is int:
                ask(f"type({name}) is int")
            elif are_layouts(x):
                ask(f"type({name}) is tuple and kind_of_other({name}) == {self.constant(kind_of_other(x))}")
            else:
                ask(f"type({name}) is {self.constant(type(x))} and {name} == {self.constant(x)}")

    def function(self, plan: Plan, label: str) -> Function:
        """The function, for what the maker has made of the open inputs."""
        record = self.place(plan.offset) if isinstance(plan, MovementPlan) else self.record(plan.record)
        outs = sequence(self.layout(x.layout) + ".template" for x in plan.outs)
        layouts = sequence("None" if x is None else self.layout(x) for x in plan.layouts)
        lines = [*self.lines(), f"return {record}, {outs}, {layouts}"]
        lines = [f"if not ({' and '.join(self.kind)}): return None", *self.unpacked(), *lines]
        text = f"def plan_of({self.parameters}):\n" + "".join(f"    {line}\n" for line in lines)
        exec(compile_text(text, f"{label} of other sizes"), self.scope)
        return self.scope["plan_of"]

    def lines(self) -> list[str]:
        """Numbers that are needed and questions, in the order in which they were asked."""
        steps = self.derivation.steps
        for name, _, names in reversed(steps):
            if not name or name in self.used:
                self.used.update(names)
        lines: list[str] = []
        questions: list[str] = []
        for name, text, _ in steps:
            if not name:
                questions.append(text)
            elif name in self.used:
                if questions:
                    lines.append(f"if not ({' and '.join(questions)}): return None")
                    questions = []
                lines.append(f"{name} = {text}")
        return [*lines, f"if not ({' and '.join(questions)}): return None"] if questions else lines

    def unpacked(self) -> Iterable[str]:
        """The sizes and strides that are needed."""
        for source, numbers in self.derivation.sources.items():
            names = [x.name for x in numbers]
            if not self.used.isdisjoint(names):
                yield f"{sequence(names)} = {source}"

    def number(self, x: Any) -> str:
        """A number, or an address."""
        if type(x) is OpenSize and not x.fixed:
            self.used.add(x.name)
            return x.name
        x = number_of(x)
        return self.constant(x) if type(x) is Code else repr(x)

    def constant(self, x: Any) -> str:
        """The name of what is the same in all plans."""
        name = f"c{len(self.scope)}"
        self.scope[name] = x
        return name

    def layout(self, layout: Layout) -> str:
        """A layout: of an input, one that is made of sizes, or one that depends on none."""
        for name, x in self.names:
            if x is layout:
                return name
        if not any(type(x) is OpenSize for x in (*layout.shape, *layout.strides)):
            return self.constant(layout)
        shape, strides = (sequence(map(self.number, numbers)) for numbers in (layout.shape, layout.strides))
        key = f"({self.constant(layout.dtype)}, {shape}, {strides}, {self.constant(layout.device)}, {layout.conj}, {layout.neg})"
        return f"derived_layout({key}, ({self.number(layout.numel)}, {layout.contiguous}, {layout.dense}, {layout.expanded}))"

    def place(self, offset: Any) -> str:
        """Where a view begins; of several where each does."""
        return sequence(map(self.number, offset)) if type(offset) is tuple else self.number(offset)

    def record(self, record: Any) -> str:
        """The record: the same one, or packed by ``struct`` of a template where no address is missing."""
        if type(record) is not OpenRecord:
            return self.constant(record)
        address, units, grain, outs, codes, flags, words, shared_from = record.given
        late = any(type(x) is Code and x.found is None for x in (address, *words))
        if late:
            numbers = ", ".join(map(self.number, words))
            return (
                f"pack_record({self.constant(address)}, {self.number(units)}, {self.number(grain)}, {outs}, {codes!r}, "
                f"{self.number(flags)}, ({numbers}{',' * bool(words)}), {self.number(shared_from)})"
            )
        given = [address, units, grain, outs, len(codes), flags, shared_from, 0, *codes, *words]
        given = [x.found if type(x) is Code else x for x in given]
        pack = struct.Struct(word_format([number_of(x) for x in given])).pack
        texts = map(self.number, given)
        return f"{self.constant(pack)}({', '.join(texts)})"


def sequence(texts: Iterable[str]) -> str:
    """A tuple of texts."""
    return f"({''.join(text + ', ' for text in texts)})"
