"""Calls of generators that a captured program takes: NOTE [Draws] of draws.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import uint8
from ...creation.generators import Generator
from ...graph.edges import next_seq
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import CPU, wrap_array
from ...tensors.tensor import Tensor, native
from ..ir.devices import generator_attributes
from ..ir.ir import Node
from .draws import ADVANCE, RESERVE, WordTensors, attributes_of, drawn, shifted, word_tensors

if TYPE_CHECKING:
    from ..capture.capture import Trace

__all__ = ["Draws", "Supply"]


class Stream:
    """The calls that a captured program takes from a generator.

    Attributes:
        start: the words of the generator's next call, when the program began.
        taken: for the place of a call where some are taken, their words, how many they are, and the node.
        seen: places of which the words are known, and nothing is taken, with the nodes.
        place: how many calls lie behind the program; ``end``: how many were ever taken.
    """

    __slots__ = ("start", "taken", "seen", "place", "end")

    def __init__(self, generator: Generator):
        self.start = generator.reserve(0)
        self.taken: dict[int, tuple[WordTensors, int, Node]] = {}
        self.seen: dict[int, tuple[WordTensors, Node]] = {}
        self.place = self.end = 0


class Supply:
    """Calls that were taken outside of a block, or those behind a loop of which only a run knows how many it takes.

    Attributes:
        first: the words of the first.
        place: how many were taken.
        moved: whether it is what comes behind such a loop.
        start: the number of the generator's next call by the stream alone; None in a block that gets its calls from outside.
    """

    __slots__ = ("first", "place", "moved", "start")

    def __init__(self, *words: Tensor, moved: bool = False, start: Tensor | None = None):
        self.first, self.place, self.moved, self.start = words, 0, moved, start

    def words(self, count: int) -> WordTensors:
        """The words of the next calls."""
        seed, call, *rest = self.first
        call = CALLS["add"](call, self.place) if self.place else call
        self.place += count
        return (seed, call, *rest)


class Draws:
    """What a captured program draws.

    Attributes:
        streams: by generator.
        states: states that the program has read: the generators, what gave their calls then, and the places in these.
        made: generators that the program makes.
        supply: by generator, calls that come from no stream.
    """

    def __init__(self, trace: Trace):
        self.trace = trace
        self.supply: dict[Generator, Supply] = {}
        self.streams: dict[Generator, Stream] = {}
        self.states: list[tuple[Tensor, Generator, Supply | None, int, int]] = []
        self.made: WeakKeyDictionary[Generator, None] = WeakKeyDictionary()

    def note_made(self, generator: Generator) -> None:
        """The program makes a generator."""
        self.made[generator] = None

    def is_made(self, generator: Generator) -> bool:
        """Whether the program makes a generator."""
        return generator in self.made

    def stream(self, generator: Generator) -> Stream:
        """What is taken from a generator."""
        found = self.streams.get(generator)
        if found is None:
            found = self.streams[generator] = Stream(generator)
        return found

    def words(self, generator: Generator, count: int = 1) -> WordTensors:
        """The words of the first of the program's next calls.

        Raises:
            GraphError: calls are taken back, and taken again in other portions.
        """
        if generator in self.made:
            return word_tensors(generator.reserve(count))
        if generator in self.supply:
            return self.supply[generator].words(count)
        stream = self.stream(generator)
        if stream.place == stream.end:
            self.reserve(generator, stream, count)
        found = stream.taken.get(stream.place)
        if found is None or found[1] != count:
            self.trace.refuse("random numbers are drawn again in other portions", "seed the generator outside")
        stream.place += count
        return stream.taken[stream.place - count][0]

    def reserve(self, generator: Generator, stream: Stream, count: int) -> WordTensors:
        """Write down that calls are taken; or none, to know the words of the next one."""
        self.trace.depth += 1  # what is made here is no constant
        words = word_tensors(shifted(stream.start, stream.end))
        self.trace.depth -= 1
        attributes = attributes_of(generator)
        node = self.trace.add(RESERVE, (), attributes if count == 1 else {**attributes, "count": count}, words)
        self.trace.follow(words, next_seq())
        if count:
            stream.taken[stream.end] = words, count, node
        else:
            stream.seen[stream.end] = words, node
        stream.end += count
        return words

    def next_words(self, generator: Generator) -> WordTensors:
        """The words of the program's next call, which is not taken.

        Raises:
            GraphError: as ``words``; the program makes the generator.
        """
        if generator in self.supply:
            return self.supply[generator].words(0)
        if generator in self.made:
            hint = "make the generator outside"
            self.trace.refuse("a loop or a branch takes calls from a generator that the program makes", hint)
        stream = self.stream(generator)
        if stream.place in stream.seen:
            return stream.seen[stream.place][0]
        if stream.place == stream.end:
            return self.reserve(generator, stream, 0)
        if stream.place not in stream.taken:
            self.trace.refuse("random numbers are drawn again in other portions", "seed the generator outside")
        return stream.taken[stream.place][0]

    def advance(self, generator: Generator, first: Tensor, last: Tensor) -> None:
        """Go on behind as many calls as there are between two."""
        seed, call, *rest = self.next_words(generator)
        before = self.supply.get(generator)
        behind = last if call is first else CALLS["add"](call, CALLS["sub"](last, first))
        start = call if before is None else before.start
        self.supply[generator] = Supply(seed, behind, *rest, moved=True, start=start)

    def taken(self) -> dict[Generator, int | None]:
        """How many calls the program takes of each generator; None where that depends on values."""
        counts: dict[Generator, int | None] = {generator: each.place for generator, each in self.streams.items() if each.place}
        for generator, each in self.supply.items():
            if each.place or each.moved:
                counts[generator] = None if each.moved else each.place
        return counts

    def numbers(self, distribution: str, layout: Layout, generator: Generator, a: Any, b: Any) -> Tensor:
        """The numbers of the program's next call, in a layout that a kernel can fill."""
        attributes = {"distribution": distribution, "dtype": layout.dtype.name, "shape": layout.shape, "a": a, "b": b}
        attributes |= generator_attributes(layout.device)
        return drawn(None, None, *self.words(generator), **attributes)[0]

    def state(self, generator: Generator) -> Tensor:
        """Something that stands for the state of a generator: ``restore`` knows it, and values it has none."""
        state = native.tensor(layout_of(uint8, (16,), None, CPU).template, wrap_array(np.zeros(16, np.uint8)), 0, False, None)
        supply, stream = self.supply.get(generator), self.stream(generator)
        self.states.append((state, generator, supply, supply.place if supply else 0, stream.place))
        return state

    def restore(self, generator: Generator, state: Tensor) -> bool:
        """Return to a state that the program has read; False of any other one.

        Raises:
            GraphError: another generator's.
        """
        for known, owner, supply, place, behind in self.states:
            if known is state:
                if owner is not generator:
                    self.trace.refuse("set_state: gets the state of another generator", "use that generator")
                self.stream(generator).place = behind
                self.supply.pop(generator, None)
                if supply is not None:
                    self.supply[generator], supply.place = supply, place
                return True
        return False

    def finish(self) -> None:
        """The program has ended: calls that it has taken back are not taken by the graph; those that a run counts are."""
        for stream in self.streams.values():
            for place, (_, count, node) in stream.taken.items():
                if place >= stream.place:
                    node.attributes["ahead"] = place - stream.place
                elif place + count > stream.place:
                    self.trace.refuse("a part of some random numbers is taken back", "seed the generator outside")
            for place, (_, node) in stream.seen.items():
                if place >= stream.place:
                    node.attributes["ahead"] = place - stream.place
        for generator, supply in self.supply.items():
            if supply.start is not None:
                ins = self.trace.value(supply.start), self.trace.value(supply.words(0)[1])
                self.trace.add(ADVANCE, ins, attributes_of(generator), ())
