"""The source of a reduction: lines that load, fold, merge and store accumulators. What becomes of them is a template's choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...base.errors import KernelError
from .access import Access, vector_lanes
from .accumulators import Accumulator, Around
from .meetings import in_pairs
from .templates import WARP, WARPS, Template, compile_template

__all__ = ["AHEAD", "MOST_HELD", "STAGES", "Fold", "lanes_for", "several_ahead", "whole_vectors"]

STAGES = ("whole", "partial", "merge", "join")  # NOTE [Reduction stages] of reductions.py
MOST_HELD = 24  # numbers that the accumulators of a thread's lanes may be
MOST_LOADED = 32  # numbers that a thread loads before it folds them
AHEAD = 4  # vectors that a thread loads before it folds them: one load would not keep memory busy


class Fold:
    """The source of one reduction: its parameters, and lines over accumulators named ``{group}_{s}``.

    Args:
        lanes: elements that a thread takes at once; ``vectors``: by one load of each operand, not by single ones.
    """

    def __init__(self, of: Accumulator, inputs: tuple[str, ...], output: str, stage: str, lanes: int = 1, vectors: bool = True):
        if stage not in STAGES:
            raise KernelError(f"reduce: stage {stage!r}. Hint: one of {', '.join(STAGES)}.")
        self.of, self.stage, self.lanes, self.vectors = of, stage, lanes, vectors and lanes > 1
        self.joins, self.parts = stage in ("merge", "join"), stage in ("partial", "join")
        self.inputs = of.state if self.joins else inputs
        self.outputs = of.state if self.parts else (output,)
        self.values = [] if self.parts else [f"value{k}" for k in range(of.values)]
        self.width = range(len(of.state))

    def parameters(self) -> list[str]:
        return [f"out{j}" for j in range(len(self.outputs))] + [f"x{k}" for k in range(len(self.inputs))] + self.values

    def template(self, name: str, source: str, table: int = 0) -> Template:
        """The finished template; it promises the loads of one vector of each input. Inputs of a ``table`` are no parameters."""
        how = f"x{self.lanes}" + ("" if self.vectors or self.lanes == 1 else "s")
        name = f"{name}_{self.of.name}_{self.stage}_{'_'.join(self.inputs)}_to_{self.outputs[0]}_{how}"
        loads = [self._load(dtype, self.lanes if self.vectors else 1) for dtype in self.inputs]
        singles = {self._load(dtype, 1) for dtype in self.inputs}
        accesses = frozenset(loads) | singles | {self._store(dtype) for dtype in self.outputs}
        return Template(
            name,
            compile_template(name, source),
            self.outputs if table else self.outputs + self.inputs,
            len(self.values),
            accesses,
            Counter(loads * (1 if self.vectors else self.lanes)),
            state=self.of.state,
            table=table,
        )

    def start(self, group: str) -> list[str]:
        return [f"{group}_{s} = IDENTITY{s}" for s in self.width]

    def load(self, at: str, names: str = "v") -> list[str]:
        """Load the element at ``at``."""
        return [f"{names}{k} = {self._load(dtype, 1).name}(x{k}, {at})" for k, dtype in enumerate(self.inputs)]

    def load_lanes(self, row: str, i: str, names: str = "v") -> list[str]:
        """Load the ``i``-th ``lanes`` elements from element ``row`` on, which is a multiple of them where they are vectors."""
        if self.lanes == 1:
            return self.load(f"{row} + {i}", names)
        if self.vectors:
            shift = self.lanes.bit_length() - 1
            at = f"({row} >> {shift}) + {i}"
            return [f"{names}{k} = {self._load(d, self.lanes).name}(x{k}, {at})" for k, d in enumerate(self.inputs)]
        places = [f"{row} + {i} * {self.lanes} + {lane}" for lane in range(self.lanes)]
        return [
            f"{names}{k} = ({', '.join(f'{self._load(d, 1).name}(x{k}, {at})' for at in places)})"
            for k, d in enumerate(self.inputs)
        ]

    def absorb(self, group: str, index: str, lane: int | None = None, names: str = "v") -> str:
        """Fold the loaded operands, or one lane of them, into ``group``; ``index`` is the element's."""
        loaded = [f"{names}{k}" if lane is None else f"{names}{k}[{lane}]" for k in range(len(self.inputs))]
        if self.joins:
            return self.merge(group, loaded)
        place = [index] if self.of.indexed else []
        elements = loaded if self.of.pairs else [f"scalar({', '.join(loaded)})"]
        arguments = [*self.names(group), *place, *elements]
        return f"{', '.join(self.names(group))} = absorb({', '.join(arguments)})"

    def absorb_lanes(self, groups: Sequence[str], i: str, names: str = "v") -> list[str]:
        """Fold each lane of what ``load_lanes`` loaded, into groups that take turns."""
        if self.lanes == 1:
            return [self.absorb(groups[0], i, names=names)]
        return [self.absorb(groups[k % len(groups)], f"{i} * {self.lanes} + {k}", k, names) for k in range(self.lanes)]

    def elements(self, names: str) -> list[list[str]]:
        """The operands of each lane of what was loaded under these names."""
        lanes = [""] if self.lanes == 1 else [f"[{k}]" for k in range(self.lanes)]
        return [[f"{names}{x}{lane}" for x in range(len(self.inputs))] for lane in lanes]

    @property
    def groups(self) -> list[str]:
        """Accumulators of a thread: one for each lane, or for all of them (NOTE [Elements at once] of accumulators.py)."""
        return [f"a{k}" for k in range(1 if self.gathers else self.lanes)]

    @property
    def gathers(self) -> bool:
        """Whether what a thread has loaded is folded at once."""
        return not self.joins and (self.of.around is not None or self.of.indexed)

    def at_once(self, group: str, loaded: Sequence[str], i: str, step: int) -> list[str]:
        """Fold the elements that were loaded under these names, a power of two of them, into ``group`` at once.

        Args:
            i: the number of the first vector; ``step``: from each to the next one.
        """
        elements = [given for names in loaded for given in self.elements(names)]
        made = [f"e{k} = scalar({', '.join(given)})" for k, given in enumerate(elements)]
        if self.of.around is None:
            offsets = [u * step * self.lanes + k for u in range(len(loaded)) for k in range(self.lanes)]
            return made + self.first_of(group, offsets, f"{i} * {self.lanes}")
        return made + self.around(group, len(elements), self.of.around)

    def first_of(self, group: str, offsets: list[int], first: str) -> list[str]:
        """Fold elements ``e0`` and so on with their places, which grow: that of two which is chosen is told by 0 and 1."""
        values, places, made = [f"e{k}" for k in range(len(offsets))], [*map(str, offsets)], list[str]()
        while len(values) > 1:
            half = range(len(values) // 2)
            for k in half:
                made.append(f"c{k}, w = combine({values[2 * k]}, 0, {values[2 * k + 1]}, 1)")
                made.append(f"o{k} = where_index(w > 0, {places[2 * k + 1]}, {places[2 * k]})")
            values, places = [f"c{k}" for k in half], [f"o{k}" for k in half]
        names = self.names(group)
        return [*made, f"{', '.join(names)} = absorb({', '.join([*names, f'{first} + {places[0]}', values[0]])})"]

    def around(self, group: str, count: int, around: Around) -> list[str]:
        """Fold elements ``e0`` and so on to a state of their own, which is merged."""
        made = list[str]()
        made += [*in_pairs([f"e{k}" for k in range(count)], "c", "halves_of({}, {})"), "pivot = pivot_of(c0)"]
        terms = [[f"t{k}_{j}" for j in range(around.terms)] for k in range(count)]
        made += [f"{', '.join(names)} = term_of(e{k}, pivot)" for k, names in enumerate(terms)]
        for j in range(around.terms):
            made += in_pairs([names[j] for names in terms], f"s{j}_", "{} + {}")
        sums = [f"s{j}_0" for j in range(around.terms)]
        made.append(f"{', '.join(self.names('t'))} = state_of(c0, pivot, {count}.0, {', '.join(sums)})")
        return [*made, self.merge(group, self.names("t"))]

    def ahead(self, most: int) -> int:
        """How many vectors of each operand are loaded at a time, up to ``most``."""
        fit = max(1, MOST_LOADED // (len(self.inputs) * self.lanes))
        return min(most, 1 << fit.bit_length() - 1)

    def walk(self, row: str, first: str, stop: str, step: int) -> list[str]:
        """Fold every ``step``-th of the row's vectors from ``first`` to ``stop``, several of which a thread loads at a time."""

        def folded(ahead: int) -> list[str]:
            places = [f"(i + {u * step})" if u else "i" for u in range(ahead)]
            made = [line for u, i in enumerate(places) for line in self.load_lanes(row, i, f"v{u}_")]
            if self.gathers:
                return [*made, *self.at_once("a0", [f"v{u}_" for u in range(ahead)], "i", step)]
            return made + [line for u, i in enumerate(places) for line in self.absorb_lanes(self.groups, i, f"v{u}_")]

        ahead = self.ahead(AHEAD if step >= WARP else 2)  # (threads of shorter rows have two or three)
        return [f"i = {first}", f"stop = {stop}", *several_ahead("i", "stop", step, ahead, folded(ahead), folded(1))]

    def merge(self, group: str, later: Sequence[str]) -> str:
        return f"{', '.join(self.names(group))} = merge({', '.join([*self.names(group), *later])})"

    def merge_tree(self, groups: Sequence[str]) -> list[str]:
        """Fold all of ``groups`` into the first, in pairs."""
        if len(groups) == 1:
            return []
        half = len(groups) // 2
        left, right = groups[:half], groups[half:]
        return self.merge_tree(left) + self.merge_tree(right) + [self.merge(left[0], self.names(right[0]))]

    def shuffle(self, group: str, width: int) -> list[str]:
        """Fold ``width`` neighbouring threads into the first by halving distances."""
        distances = [width >> k for k in range(1, width.bit_length())]
        return [
            line
            for d in distances
            for line in [
                *(f"t_{s} = cuda.shfl_down_sync(0xffffffff, {group}_{s}, {d})" for s in self.width),
                self.merge(group, self.names("t")),
            ]
        ]

    def shared(self, size: int) -> list[str]:
        return [f"shared_{s} = cuda.shared.array({size}, STATE{s})" for s in self.width]

    def put(self, at: str, group: str) -> list[str]:
        return [f"shared_{s}[{at}] = {group}_{s}" for s in self.width]

    def get(self, group: str, at: str) -> list[str]:
        return [f"{group}_{s} = shared_{s}[{at}]" for s in self.width]

    def merge_warps(self, group: str) -> list[str]:
        """Fold what threads of the same ``lane`` in the other warps have put, each at its own number."""
        others = range(1, WARPS)
        return [x for w in others for x in [*self.get("t", f"lane + {w * WARP}"), self.merge(group, self.names("t"))]]

    def store(self, group: str, at: str) -> list[str]:
        """Store the accumulators, or finish them and store the result."""
        if self.parts:
            return [f"{self._store(dtype).name}(out{s}, {at}, {group}_{s})" for s, dtype in enumerate(self.outputs)]
        result = f"finish({', '.join([*self.names(group), *self.values])})"
        return [f"{self._store(self.outputs[0]).name}(out0, {at}, {result})"]

    def meet(self, groups: Sequence[str], thread: str = "thread") -> list[str]:
        """Fold the groups of all threads of a block into the first of thread 0; its whole warp takes part in the shuffles.

        Args:
            thread: the name of the thread's number.
        """
        return [
            *self.merge_tree(groups),
            *self.shuffle(groups[0], WARP),
            f"if {thread} % {WARP} == 0:",
            *(f"    {line}" for line in self.put(f"{thread} // {WARP}", groups[0])),
            "cuda.syncthreads()",
            f"if {thread} < {WARP}:",
            *(f"    {line}" for line in self.start(groups[0])),
            f"    if {thread} < {WARPS}:",
            *(f"        {line}" for line in self.get(groups[0], thread)),
            *(f"    {line}" for line in self.shuffle(groups[0], WARPS)),
        ]

    def end(self, groups: Sequence[str], at: str) -> list[str]:
        """Fold the groups of all threads of a block, and store that."""
        return [*self.meet(groups), "    if thread == 0:", *(f"        {line}" for line in self.store(groups[0], at))]

    def names(self, group: str) -> list[str]:
        return [f"{group}_{s}" for s in self.width]

    def _load(self, dtype: str, lanes: int) -> Access:
        return Access("load", dtype, lanes, exact=self.joins)

    def _store(self, dtype: str) -> Access:
        return Access("store", dtype, exact=self.parts)


def several_ahead(i: str, stop: str, step: int, ahead: int, several: Sequence[str], one: Sequence[str]) -> list[str]:
    """Loops over every ``step``-th number from the variable ``i`` to ``stop``: lines for ``ahead`` of them at a time, and for each
    that is left.
    """
    return [
        f"while {i} + {(ahead - 1) * step} < {stop}:",
        *(f"    {line}" for line in [*several, f"{i} += {ahead * step}"]),
        f"while {i} < {stop}:",
        *(f"    {line}" for line in [*one, f"{i} += {step}"]),
    ]


def lanes_for(of: Accumulator, inputs: tuple[str, ...]) -> int:
    """Elements that a thread takes at once: a vector of them, less where a thread could not hold as many accumulators."""
    lanes = vector_lanes(inputs)
    while lanes > 1 and lanes * len(of.state) > MOST_HELD and not of.around:
        lanes //= 2
    return lanes


def whole_vectors(lanes: int) -> str:
    """How many times ``lanes`` elements a row of ``n`` has."""
    return "n" if lanes == 1 else f"n >> {lanes.bit_length() - 1}"
