"""The trips of a loop, on plain tensors."""

from __future__ import annotations

from typing import Any, Sequence

from ..base.calls import CALLS
from ..base.errors import GradError
from ..tensors.arrays import values_of
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native
from .bodies import fitted, plain_layout
from .loop_steps import Loop

__all__ = ["owned", "room_for", "run_trips", "slice_of", "store"]


def run_trips(loop: Loop, operands: Sequence[Tensor]) -> list[Tensor]:
    """The results for plain tensors, each on memory of its own."""
    step, body = loop.step, loop.step.body
    layouts = [plain_layout(value) for value in body.block.inputs]
    carries, slices, whole = step.split(operands)
    n, m = step.carries, step.carries + step.slices
    carries = [fitted(x, layout) for x, layout in zip(carries, layouts)]
    whole = [fitted(x, layout) for x, layout in zip(whole, layouts[m:])]
    if loop.test is not None:
        return run_while(loop, carries, whole, operands)
    assert loop.length is not None
    stacked = [fitted(x, layout_of(layout.dtype, (loop.length, *layout.shape))) for x, layout in zip(slices, layouts[n:m])]
    made = body.layouts()
    results = [room_for(each, loop.length) for each in made[n:]]
    stops = {trip: k for k, trip in enumerate(loop.stops or ())}
    kept = [room_for(each, len(stops)) for each in made[:n]] if loop.stops is not None else []
    for trip in range(loop.length):
        k = loop.length - 1 - trip if loop.reverse else trip
        if trip in stops:
            store(kept, made, carries, stops[trip])
        outs = body.run([*carries, *(slice_of(x, layout, k) for x, layout in zip(stacked, layouts[n:m])), *whole])
        store(results, made[n:], outs[n:], k)
        carries = [fitted(x, layout) for x, layout in zip(outs[:n], made)]
    return [*owned(carries, operands), *results, *kept]


def run_while(loop: Loop, carries: list[Tensor], whole: list[Tensor], operands: Sequence[Tensor]) -> list[Tensor]:
    """The same of a loop that a test ends.

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


def room_for(layout: Layout, count: int) -> Tensor:
    """Memory of so many slices."""
    made: Tensor = CALLS["new_full"](layout_of(layout.dtype, (count, *layout.shape)), 0)
    return made


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
