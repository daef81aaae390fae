"""Loops and branches that draw: words say in each trip by which calls of the generators it draws.

NOTE [Draws of loops]: a function is traced to see how many calls of which generators it takes, and then once more, with words for
each generator. Where every trip of a scan takes the same number, the calls of all trips are taken in front, and each trip gets its
own as a slice: the words of its first call. Where the number depends on values (a test ends the loop, a trip has a branch), words
are a further carry: a trip takes those of the next call and gives those of the call behind its own; so does a branch. The
generator follows behind the loop: ``advance`` of draws.py. So trips draw what the unrolled loop would draw, derivatives and
recomputed trips draw the same numbers again, and generators are left as the unrolled loop leaves them.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence, TypeVar

import numpy as np

from ...base.bounded import keep
from ...base.calls import CALLS
from ...base.dtypes import int64
from ...base.errors import GraphError
from ...creation.generators import Generator
from ...modes.traced import capture_of_thread
from ...tensors.batch_levels import random_levels, state as batches
from ...tensors.layout import layout_of
from ...tensors.storage import CPU, wrap_array
from ...tensors.tensor import Tensor, new_tensor
from ..nodes.draws import Drawn, advance, of_batch, shifted
from ..nodes.streams import Supply
from .traced_functions import Found, traced_function
from .trees import Leaves

__all__ = ["Drawing", "rest_of", "traced_branches", "traced_step", "traced_while"]

Counts = tuple[tuple[Generator, Any], ...]  # calls by generator; None: as many as values say
T = TypeVar("T")
MOST_KNOWN = 256
known: dict[Any, Counts] = {}  # what functions take, by their codes and what they are traced for


class Drawing(NamedTuple):
    """A function that was traced with the words that it draws by.

    Attributes:
        found: takes its carries, ``carried``, its slices, ``sliced``, and what it captures; the structure of what it returns is
            ``((carry, words behind), rest)``, or ``(carry, rest)`` if there are none.
        counts: the generators; ``carried``: the words of their next calls, ``sliced``: those of the first calls of all trips.
        ahead: of each generator, how many calls are taken behind the last trip.
    """

    found: Found
    counts: Counts
    carried: list[Tensor]
    sliced: list[Tensor]
    ahead: tuple[int, ...] = ()

    def results(self, outs: Sequence[Tensor]) -> tuple[Any, Any]:
        """Carry and rest of the results; the generators follow."""
        carry, rest = self.found.result.rebuilt(outs)
        if not self.carried:
            return carry, rest
        carry, words = carry
        for (generator, _), before, after, ahead in zip(self.counts, self.carried, words, self.ahead or [0] * len(words)):
            first, last = CALLS["select"](before, 0, 1), CALLS["select"](after, 0, 1)
            advance(generator, first, CALLS["add"](last, ahead) if ahead else last)
        return carry, rest


def traced_step(
    fn: Callable, key: tuple, run: Callable, examples: Callable[[], list[Tensor]], carries: int, trips: int, reverse: bool = False
) -> Drawing:
    """The step of a scan.

    Args:
        fn, key, examples: as of ``traced_function``.
        run: of tensors like the examples; returns a pair: carry, and rest.
        carries: how many of the examples are carries.
        trips, reverse: of the loop.

    Raises:
        GraphError: it does what a graph cannot hold; what it draws depends on values, and on the element of a batch.
    """

    def trace(counts: Counts) -> Found:
        moves = varies(counts)
        call = supplied(key[0], run, counts, carries if moves else None, moves)
        return traced_function(fn, (*key, counts), call, lambda: with_blanks(examples(), counts, carries if moves else None))

    found, counts = counted(key[0], place_of(key, fn), trace)
    if varies(counts):
        return Drawing(found, counts, [next_words(generator) for generator, _ in counts], [])
    words = [words_of_trips(generator, count, trips, reverse) for generator, count in counts]
    return Drawing(found, counts, [], list(map(of_batch, words)))


def traced_while(
    test: Callable, body: Callable, key: tuple, goes_on: Callable, run: Callable, examples: Callable[[], list[Tensor]], carries: int
) -> tuple[Drawing, Found]:
    """Body and test of a loop that ends by values; the test takes the same number of calls in every trip, and the first ones.

    Args:
        test, body: the functions of the program. goes_on, run: as ``run`` of ``traced_step``.

    Raises:
        GraphError: as ``traced_step``; the test takes as many calls as values say.
    """

    def trace(counts: Counts) -> tuple[Found, Found]:
        def blanks() -> list[Tensor]:
            return with_blanks(examples(), counts, carries)

        if varies(counts):
            raise GraphError("while_loop: cond takes as many random numbers as values say. Hint: draw them in body, as a carry.")
        call = supplied("while_loop", run, counts, carries, True, starts=True)
        found = traced_function(body, ("body", *key, counts), call, blanks)
        return found, traced_function(test, ("test", *key, counts), supplied("while_loop", goes_on, counts, carries, False), blanks)

    (found, tested), counts = counted("while_loop", place_of(key, test, body), trace)
    ahead = tuple([count for _, count in counts])
    return Drawing(found, counts, [next_words(generator) for generator, _ in counts], [], ahead), tested


def traced_branches(
    fns: Sequence[Callable], key: tuple, runs: Sequence[Callable[..., Leaves]], examples: Callable[[], list[Tensor]]
) -> tuple[Drawing, Found]:
    """Two branches, which take words behind their operands and give those behind; what they return is the rest.

    Raises:
        GraphError: as ``traced_step``.
    """

    def trace(counts: Counts) -> list[Found]:
        def called(run: Callable[..., Leaves]) -> Callable[..., Leaves]:
            return supplied("cond", lambda *xs: (None, value_of(run(*xs))), counts, None, True)

        return [
            traced_function(fn, (*key, counts), called(run), lambda: with_blanks(examples(), counts)) for fn, run in zip(fns, runs)
        ]

    (first, second), counts = counted("cond", place_of(key, *fns), trace)
    return Drawing(first, counts, [next_words(generator) for generator, _ in counts], []), second


def value_of(leaves: Leaves) -> Any:
    """The nested value."""
    return leaves.rebuilt(leaves.tensors)


def rest_of(op: str, what: str, result: Leaves) -> Leaves:
    """What a function returned beside carry and words."""
    return Leaves(op, what, value_of(result)[1])


def place_of(key: tuple, *fns: Callable) -> tuple:
    """By what it is known how many calls functions take."""
    return (*[getattr(fn, "__code__", fn) for fn in fns], key)


def counted(op: str, place: tuple, trace: Callable[[Counts], T]) -> tuple[T, Counts]:
    """What functions are with the words that they need, and how many calls they take.

    Raises:
        GraphError: they draw otherwise whenever they are traced.
    """
    counts = known.get(place, ()) if known else ()  # a hash is a tenth of what a call of a loop takes to begin
    for _ in range(4):
        try:
            return trace(counts), counts
        except Drawn as error:
            counts = keep(known, place, tuple(error.counts.items()), MOST_KNOWN)
    raise GraphError(f"{op}: the step draws other numbers of random numbers whenever it is traced. Hint: give them to it.")


def varies(counts: Counts) -> bool:
    """Whether values say how many calls are taken."""
    return any(count is None for _, count in counts)


def with_blanks(examples: list[Tensor], counts: Counts, at: int | None = None) -> list[Tensor]:
    """Examples, and words to trace a function with: behind all of them, or behind so many."""
    blanks = [int64s(np.zeros_like(generator.reserve(0))) for generator, _ in counts]
    return [*examples, *blanks] if at is None else [*examples[:at], *blanks, *examples[at:]]


def int64s(array: np.ndarray) -> Tensor:
    """A tensor of integers."""
    return new_tensor(wrap_array(array.reshape(-1)), layout_of(int64, array.shape, None, CPU))


def supplied(op: str, run: Callable, counts: Counts, at: int | None, moves: bool, starts: bool = False) -> Callable[..., Leaves]:
    """``run`` that takes words too, draws by them, and gives ``(carry, rest)``, or ``((carry, words behind), rest)``.

    Args:
        at: how many inputs stand in front of the words; None: all others.
        moves: whether it gives the words behind its own calls, however many these are.
        starts: whether its calls are those behind ``counts``, which somebody else has taken.

    Raises:
        Drawn: it takes calls of other generators, or, where it does not give words, other numbers of calls.
    """

    def call(*inputs: Tensor) -> Leaves:
        draws = capture_of_thread().draws
        begin = len(inputs) - len(counts) if at is None else at
        end = begin + len(counts)
        for (generator, count), words in zip(counts, inputs[begin:end]):
            draws.supply[generator] = Supply(*CALLS["unbind"](words, 0))
            draws.supply[generator].place = count if starts else 0
        carry, rest = run(*inputs[:begin], *inputs[end:])
        taken = draws.taken()
        if moves:
            others = dict.fromkeys([generator for generator in taken if generator not in dict(counts)], 0 if starts else None)
            if others:
                raise Drawn.calls({**dict(counts), **others})
        elif taken != {generator: count for generator, count in counts if count != 0}:
            raise Drawn.calls({**dict.fromkeys(dict(counts), 0), **taken} if at is not None else taken)
        if moves and counts:
            carry = carry, [CALLS["stack"](draws.next_words(generator)) for generator, _ in counts]
        return Leaves(op, "the result", (carry, rest))

    return call


def next_words(generator: Generator) -> Tensor:
    """The words of a generator's next call, which is not taken.

    Raises:
        GraphError: a batch is open whose elements draw other numbers. BatchingError: or may not draw.
    """
    if batches.levels and random_levels():
        raise GraphError(
            "vmap: random numbers are drawn in a loop or a branch of a batch, as many as values say. Hint: draw them outside."
        )
    trace: Any = capture_of_thread()
    if trace is None:
        return int64s(np.array(generator.reserve(0), np.int64))
    made: Tensor = CALLS["stack"](trace.draws.next_words(generator))
    return made


def words_of_trips(generator: Generator, count: int, trips: int, reverse: bool) -> Tensor:
    """Take the calls of all trips: for each the seed, and the number of its first call."""
    order = range(trips - 1, -1, -1) if reverse else range(trips)
    trace: Any = capture_of_thread()
    if trace is None or not trips:
        words = generator.reserve(count * trips)
        return int64s(np.array([shifted(words, k * count) for k in order], np.int64).reshape(trips, len(words)))
    seed, call, *rest = trace.draws.words(generator, count * trips)
    calls = CALLS["add"](call, int64s(np.array([k * count for k in order])))
    made: Tensor = CALLS["stack"]([calls if x is call else CALLS["expand_shape"](x, (trips,)) for x in (seed, call, *rest)], 1)
    return made
