"""The trips of a loop, on plain tensors."""

from __future__ import annotations

from typing import Any, Sequence

from ...base.calls import CALLS
from ...base.errors import GradError
from ...creation.allocation import empty_of
from ...tensors.arrays import values_of
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor, native
from .bodies import fitted
from .loop_steps import Loop
from .repeats import Parts, Repeated, moves_of, repeated

__all__ = ["owned", "room_for", "run_trips", "slice_of", "stacked", "store"]


def run_trips(loop: Loop, operands: Sequence[Tensor]) -> list[Tensor]:
    """The results for plain tensors, each on memory of its own."""
    step, body = loop.base, loop.base.body
    layouts = body.inputs()
    carries, slices, whole = step.split(operands)
    n, m = step.carries, step.carries + step.slices
    carries = [fitted(x, layout) for x, layout in zip(carries, layouts)]
    whole = [fitted(x, layout) for x, layout in zip(whole, layouts[m:])]
    if loop.test is not None:
        return run_while(loop, carries, whole, operands)
    assert loop.length is not None
    stacked = [fitted(x, layout.like(None, (loop.length, *layout.shape))) for x, layout in zip(slices, layouts[n:m])]
    made = body.layouts()
    results = [room_for(each, loop.length) for each in made[n:]]
    history = [room_for(each, loop.length) for each in made[:n]] if loop.history else []
    kept = [room_for(each, len(loop.stops)) for each in made[:n]] if loop.stops is not None else []
    plan = repeated(body) if loop.length else None
    if plan is not None:
        even, odd = ([empty_of(layout) for layout in made[:n]] for _ in range(2))
        parts = Parts(carries, stacked, whole, even, odd, results, history)
        return [*run_repeated(loop, plan, parts, kept), *results, *history, *kept]
    stops = {trip: k for k, trip in enumerate(loop.stops or ())}
    for trip in range(loop.length):
        k = loop.length - 1 - trip if loop.reverse else trip
        store(history, made, carries, k)
        if trip in stops:
            store(kept, made, carries, stops[trip])
        outs = body.run([*carries, *(slice_of(x, layout, k) for x, layout in zip(stacked, layouts[n:m])), *whole])
        store(results, made[n:], outs[n:], k)
        carries = [fitted(x, layout) for x, layout in zip(outs[:n], made)]
    return [*owned(carries, operands), *results, *history, *kept]


def run_repeated(loop: Loop, plan: Repeated, parts: Parts, kept: Sequence[Tensor]) -> Sequence[Tensor]:
    """The last carries; results, history and kept carries are filled in."""
    count, stops, layouts = loop.length, loop.stops or (), loop.base.body.layouts()
    assert count is not None
    store(parts.history, layouts, parts.carries, count - 1 if loop.reverse else 0)
    for k, trip in enumerate(plan.run(moves_of(loop.base, count, loop.reverse, parts), count, stops)):
        if k < len(stops):
            store(kept, layouts, parts.even if trip % 2 else parts.odd, k)
    return parts.even if parts.history or count % 2 else parts.odd


def run_while(loop: Loop, carries: list[Tensor], whole: list[Tensor], operands: Sequence[Tensor]) -> list[Tensor]:
    """Run the trips of a loop that a test ends: the last carries.

    Raises:
        GradError: its history takes too much memory.
    """
    body, count, history = loop.base.body, 0, list[list[Tensor]]()
    assert loop.test is not None
    layouts = body.layouts()
    size = sum(layout.numel * layout.dtype.itemsize for layout in layouts)
    while values_of(loop.test.run([*carries, *whole])[0]):
        if loop.history:
            history.append(carries)
            if loop.memory is not None and size * len(history) > loop.memory:
                raise GradError(
                    f"while_loop: {len(history)} carries of {size} bytes, which reverse mode keeps, are more than the "
                    f"{loop.memory} bytes of memory=. Hint: scan with checkpoint=, more memory, or no_grad()."
                )
        count += 1
        carries = [fitted(x, layout) for x, layout in zip(body.run([*carries, *whole]), layouts)]
    results = [room_for(layout, count) for layout in layouts] if loop.history else []
    for k, kept in enumerate(history):
        store(results, layouts, kept, k)
    return [*owned(carries, operands), *results]


def stacked(layout: Layout, count: int) -> Layout:
    """The layout of so many slices."""
    return layout.like(None, (count, *layout.shape))


def room_for(layout: Layout, count: int) -> Tensor:
    """Memory of so many slices."""
    return empty_of(stacked(layout, count))


def store(stacks: Sequence[Tensor], layouts: Sequence[Layout], slices: Sequence[Tensor], k: int) -> None:
    """Write slices into stacks of them."""
    for x, layout, y in zip(stacks, layouts, slices):
        CALLS["copy_"](slice_of(x, layout, k), y)


def slice_of(x: Tensor, layout: Layout, k: int) -> Tensor:
    """A slice of a row-major tensor."""
    made: Any = native.tensor(layout.template, x._storage_, x._offset_ + k * layout.numel * layout.dtype.itemsize, False, None)
    return made


def owned(results: Sequence[Tensor], others: Sequence[Tensor]) -> list[Tensor]:
    """The results, copied where they share memory with others or with one another."""
    seen, made = {id(x._storage_) for x in others}, []
    for x in results:
        x = CALLS["clone"](x) if id(x._storage_) in seen else x
        seen.add(id(x._storage_))
        made.append(x)
    return made
