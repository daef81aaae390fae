"""Loops whose steps draw: the calls of all trips are taken in front, and each trip gets its own as a slice.

NOTE [Draws of loops]: a step is traced to see how many calls of which generators it takes, and then once more, with a slice for
each generator: the words of the trip's first call. So the trips draw what the unrolled loop would draw, derivatives and recomputed
trips draw the same numbers again, and generators are left as the unrolled loop leaves them.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from ...base.bounded import keep
from ...base.calls import CALLS
from ...base.dtypes import int64
from ...base.errors import GraphError
from ...creation.generators import Generator
from ...modes.traced import capture_of_thread
from ...tensors.batch_levels import state as batches
from ...tensors.layout import layout_of
from ...tensors.storage import CPU, wrap_array
from ...tensors.tensor import Tensor, new_tensor
from ..nodes.draws import Drawn, Supply, shifted
from .traced_functions import Found, traced_function

__all__ = ["traced_step"]

Counts = tuple[tuple[Generator, int], ...]
MOST_KNOWN = 256
known: dict[Any, Counts] = {}  # how many calls steps take, by their codes and what they are traced for


def traced_step(
    fn: Callable, key: tuple, run: Callable, examples: Callable[[], Sequence[Tensor]], trips: int, reverse: bool = False
) -> tuple[Found, list[Tensor]]:
    """The body of a step, and the slices that it takes behind its own.

    Args:
        fn, key, run, examples: as of ``traced_function``.
        trips, reverse: of the loop.

    Raises:
        GraphError: it does what a graph cannot hold; it draws, and a batch is open.
    """
    place = (getattr(fn, "__code__", fn), key)
    counts = known.get(place, ())
    for _ in range(3):
        try:
            found = traced_function(fn, (*key, counts), supplied(run, counts), with_blanks(examples, counts))
            break
        except Drawn as error:
            counts = keep(known, place, tuple(error.counts.items()), MOST_KNOWN)
    else:
        raise GraphError(f"{key[0]}: the step draws other numbers of random numbers whenever it is traced. Hint: give them to it.")
    if counts and batches.levels:
        raise GraphError(f"{key[0]}: vmap: random numbers are drawn in a loop of a batch. Hint: draw them outside, as slices.")
    return found, [words_of_trips(generator, count, trips, reverse) for generator, count in counts]


def with_blanks(examples: Callable[[], Sequence[Tensor]], counts: Counts) -> Callable[[], list[Tensor]]:
    """Examples, and words to trace a step with."""
    return lambda: [*examples(), *(int64s(np.zeros_like(generator.reserve(0))) for generator, _ in counts)]


def int64s(array: np.ndarray) -> Tensor:
    """A tensor of integers."""
    return new_tensor(wrap_array(array.reshape(-1)), layout_of(int64, array.shape, None, CPU))


def supplied(run: Callable, counts: Counts) -> Callable:
    """``run`` that takes words behind its arguments, and draws by them.

    Raises:
        Drawn: it takes other calls than these.
    """

    def call(*inputs: Tensor) -> Any:
        draws = capture_of_thread().draws
        own = len(inputs) - len(counts)
        for (generator, _), words in zip(counts, inputs[own:]):
            draws.supply[generator] = Supply(*CALLS["unbind"](words, 0))
        result = run(*inputs[:own])
        taken = {generator: each.place for generator, each in (*draws.supply.items(), *draws.streams.items()) if each.place}
        if taken != dict(counts):
            raise Drawn.calls(taken)
        return result

    return call


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
