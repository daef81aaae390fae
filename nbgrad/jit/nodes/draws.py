"""Random numbers in graphs: which calls of its generators a captured program takes, and what is drawn in them.

NOTE [Draws]: the numbers of a call depend on the generator's seed and the number of the call alone (creation/generators.py). In a
graph a node ``reserve`` takes a call from a generator, whenever the graph runs; its results are these words, of which ``draw``
computes the numbers (a GPU's are three: ``Generator.reserve``). So a graph gives the numbers that the program would, and leaves
generators as the program would. A node ``reserve`` is never dropped, merged or moved behind another one of its generator; ``draw``
is as pure as a product.

While a program is captured, generators do not move: the capture counts, so that what the program does is done by the graph alone.
States that were read in between (a checkpoint, ``fork_rng``) are places in that count, and calls that the program takes again are
the same values again. Generators that the program makes itself, and seeds, are constants.

Where only a run knows how many calls are taken (a loop that a test ends, a branch), the loop or branch takes the words of the next
call (a ``reserve`` of none) and gives those of the call behind its own. What the program draws afterwards is drawn by these, and a
node ``advance`` has the generator follow at the end of a run, behind all that could stop it.
"""

from __future__ import annotations

from functools import reduce
from threading import local
from typing import Any, Sequence

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import DTYPES, int64
from ...base.errors import GraphError
from ...creation.generators import WORD, Generator, generator_of, signed
from ...dispatch.launches import need
from ...graph.edges import next_seq
from ...lowering.random import random_plan
from ...modes.batched import Batched, wrap_batched
from ...modes.traced import capture_of_thread
from ...native.plans import Plan
from ...tensors.batch_levels import random_levels, state as batches
from ...tensors.layout import layout_of
from ...tensors.storage import CPU, device as device_of, wrap_array
from ...tensors.tensor import Tensor, native, new_tensor
from ..ir.devices import generator_attributes
from ..ir.ir import Block, Control, Node, Value
from ..ir.steps import Words

__all__ = [
    "ADVANCE",
    "DRAW",
    "RESERVE",
    "Drawn",
    "WordTensors",
    "advance",
    "attributes_of",
    "drawn",
    "of_batch",
    "plan_of_draw",
    "shifted",
    "steps_of_reserve",
    "word_tensors",
    "words_of",
]

WordTensors = tuple[Tensor, ...]  # seed, number of the call, and of a GPU a third word
WORD_LAYOUT = layout_of(int64, (), None, CPU)
BY_NAME = {dtype.name: dtype for dtype in DTYPES}


def word_tensors(words: tuple[int, ...]) -> WordTensors:
    """Words of a generator as tensors."""
    return tuple([new_tensor(wrap_array(np.array([word])), WORD_LAYOUT) for word in words])


def shifted(words: tuple[int, ...], calls: int) -> tuple[int, ...]:
    """The words of so many calls later."""
    seed, call, *rest = words
    return (seed, signed((call + calls) % WORD), *rest)


def word_of(x: Tensor) -> int:
    """The word in a tensor, whatever marks it has, and whether it is computed yet."""
    need((x,))
    return int(x._storage_.array.view(np.int64)[x._offset_ // 8])


class Drawn(GraphError):
    """A step of a loop draws.

    Attributes:
        counts: how many calls it takes, by generator; None where that depends on values.
    """

    counts: dict[Generator, int | None]

    @classmethod
    def calls(cls, counts: dict[Generator, int | None]) -> Drawn:
        """The error."""
        made = cls("random numbers are drawn in a step. Hint: draw outside.")
        made.counts = counts
        return made


def generator_for(generator: Generator | None, device: str) -> Generator:
    """A generator, or the default one of a device."""
    return generator_of(None, device_of(device)) if generator is None else generator


def reserved(
    node: Node, values: dict, generator: Generator | None = None, ahead: int | None = None, count: int = 1, device: str = "cpu"
) -> WordTensors:
    """The words of the next call of a generator.

    Args:
        ahead: do not take it, and give that of a later one.
        count: how many calls are taken.
        device: whose default generator it is, where none is named.
    """
    trace, source = capture_of_thread(), generator_for(generator, device)
    if trace is not None:
        words: WordTensors = trace.draws.words(source, count) if count else trace.draws.next_words(source)
    else:
        words = word_tensors(shifted(source.reserve(count if ahead is None else 0), ahead or 0))
    return tuple(map(of_batch, words))


def of_batch(words: Tensor) -> Tensor:
    """Words for the batches that are open: where these draw other numbers for each element, they are a batch themselves."""
    levels = random_levels() if batches.levels else ()
    if not levels:
        return words
    whole = CALLS["expand_shape"](words, (*[level.size for level in levels], *words.layout.shape))
    return wrap_batched(whole, levels)


def launched(plan: Plan, operands: tuple) -> Tensor:
    """What a launch gives."""
    made: Tensor = native.fresh(plan, *operands)
    return made


def drawn(node: Any, values: Any, *words: Tensor, **attributes: Any) -> tuple[Tensor]:
    """The numbers of a call; of a batch of its words those of all elements, as of one call."""
    trace = capture_of_thread()
    if any(type(x) is Batched for x in words):
        return (drawn_for_batch(words, attributes),)
    operands = *map(word_of, words), attributes["a"], attributes["b"]
    launch = trace.pending.fresh if trace is not None and trace.late else launched
    made = launch(plan_for(**attributes), operands)
    if trace is not None:
        trace.add(DRAW, tuple(map(trace.value, words)), attributes, (made,))
        trace.follow((made,), next_seq())
    return (made,)


def advance(generator: Generator, first: Tensor, last: Tensor) -> None:
    """Take the calls between two: their numbers, of which only a run knows the last one.

    Raises:
        GraphError: the elements of a batch take different numbers of calls.
    """
    if type(first) is Batched or type(last) is Batched:
        raise GraphError("vmap: the elements of a batch take as many random numbers as values say. Hint: draw them outside.")
    trace = capture_of_thread()
    if trace is not None:
        trace.draws.advance(generator, first, last)
    else:
        generator.reserve(word_of(last) - word_of(first))


def advanced(node: Node, values: dict, *calls: Tensor, generator: Generator | None = None, device: str = "cpu") -> tuple:
    """``advance`` as a node of a graph."""
    advance(generator_for(generator, device), *calls)
    return ()


def drawn_for_batch(words: Sequence[Tensor], attributes: dict[str, Any]) -> Tensor:
    """The numbers of a batch."""
    levels = next(x._levels_ for x in words if type(x) is Batched)
    one = [reduce(lambda value, _: CALLS["select"](value, 0, 0), levels, x._value_) if type(x) is Batched else x for x in words]
    shape = (*[level.size for level in levels], *attributes["shape"])
    return wrap_batched(drawn(None, None, *one, **{**attributes, "shape": shape})[0], levels)


RESERVE = Control("reserve", reserved, effect="random")
DRAW = Control("draw", drawn)
ADVANCE = Control("advance", advanced, effect="random")
ADVANCE.last = True


def plan_for(distribution: str, dtype: str, shape: tuple[int, ...], a: Any, b: Any, device: str = "cpu") -> Plan:
    """The launch of a draw."""
    return random_plan(distribution, layout_of(BY_NAME[dtype], shape, None, device_of(device)))


class Reserved:
    """The calls that a graph takes from a generator, as the words of its nodes, in every run.

    Attributes:
        count: how many are taken; ``places``: for each node which is its first.
        last: what the thread has taken last.
    """

    def __init__(self, generator: Generator, nodes: list[Node]):
        self.generator = generator
        calls = [(node.attributes.get("ahead"), node.attributes.get("count", 1)) for node in nodes]
        self.count = sum(count for ahead, count in calls if ahead is None)
        self.places, taken = [], 0
        for ahead, count in calls:
            self.places.append(taken if ahead is None else self.count + ahead)
            taken += count if ahead is None else 0
        self.last = local()

    def __call__(self) -> tuple[int, ...]:
        """The words of each call, in the order of the nodes."""
        words = self.generator.reserve(self.count)
        self.last.call = words[1]
        return tuple([word for place in self.places for word in shifted(words, place)])

    def give_back(self) -> None:
        """The run of this thread has stopped, and nothing was drawn."""
        self.generator.give_back(self.last.call, self.count)


def steps_of_reserve(nodes: Sequence[Node]) -> list[Words]:
    """One step for each generator of which nodes take calls."""
    found: dict[Generator, list[Node]] = {}
    for node in nodes:
        attributes = node.attributes
        found.setdefault(generator_for(attributes.get("generator"), attributes.get("device", "cpu")), []).append(node)
    return [Words(Reserved(generator, each), tuple([x for node in each for x in node.outs])) for generator, each in found.items()]


def plan_of_draw(node: Node) -> tuple[Plan, list[Any]]:
    """The launch of a node, and what it reads."""
    return plan_for(**node.attributes), [*node.ins, node.attributes["a"], node.attributes["b"]]


def words_of(graph: Block) -> list[Value]:
    """The words of all calls that a graph takes: with the same ones it draws the same numbers."""
    return [value for node in graph.nodes if node.op is RESERVE for value in node.outs]


def attributes_of(generator: Generator) -> dict[str, Any]:
    """How nodes name a generator: the default one by its device."""
    default = generator_of(None, generator.device)
    return {"generator": generator} if generator is not default else generator_attributes(generator.device)
