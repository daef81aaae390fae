"""``scan`` as one Function: its derivatives and its batches are scans of other bodies.

NOTE [Scans]: a step takes carries, slices and whole tensors, and gives carries and slices. In reverse it is the step of the
cotangents: their carries are those of the carries, and sums of those of the whole tensors; their slices are the carries that the
loop went through, which it gives as further slices (``history``), the slices and the cotangents of those that it gave. That step
is traced from the first and ``func.vjp``; forward mode from ``func.jvp``; batches from ``vmap``.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ..autograd.function import Function
from ..base.calls import CALLS
from ..base.grad_mode import mode
from ..batch.vmap import vmap
from ..func.forward import jvp
from ..func.reverse import vjp
from ..func.transforms import graph_value
from ..graph.edges import requires_grad
from ..modes.inference import newly_made
from ..modes.overrides import handle_function, has_function
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor, native
from .bodies import (
    Body,
    active_values,
    block_for_node,
    body_of,
    example_from,
    example_of,
    fitted,
    plain_layout,
    traced_body,
    values_in_first,
)
from .ir import Block, Control, Node, Value

__all__ = ["Loop", "Scan", "Step", "scanned"]


class Step:
    """What a scan does in one trip.

    Attributes:
        body: takes carries, slices and whole tensors, gives carries and slices.
        carries, slices: how many of each it takes.
    """

    __slots__ = ("body", "carries", "slices")

    def __init__(self, body: Body, carries: int, slices: int):
        self.body, self.carries, self.slices = body, carries, slices

    def split(self, inputs: Sequence[Any]) -> tuple[list, list, list]:
        """Carries, slices and whole tensors."""
        n, m = self.carries, self.carries + self.slices
        return list(inputs[:n]), list(inputs[n:m]), list(inputs[m:])

    def active(self, flags: Sequence[bool], gradients: bool = True) -> tuple[list[bool], list[bool]]:
        """Which inputs, and which outputs, depend on chosen inputs after any number of trips."""
        block, flags = self.body.block, list(flags)
        while True:
            values = active_values(block, flags, gradients)
            outs = [value in values for value in block.outputs]
            carried = [a or b for a, b in zip(flags[: self.carries], outs)]
            if carried == flags[: self.carries]:
                return flags, [*carried, *outs[self.carries :]]
            flags[: self.carries] = carried

    def with_history(self) -> Step:
        """The same, which also gives the carries that it took."""

        def make() -> Step:
            block = self.body.block
            outs = [*block.outputs, *block.inputs[: self.carries]]
            return Step(Body(Block(block.inputs, block.nodes, outs), self.body.bound), self.carries, self.slices)

        return self.body.derive("history", make)

    def derived(self, key: Any, fn: Callable[..., list], examples: Sequence[Tensor], carries: int, slices: int) -> Step:
        """The step of another loop, traced once."""
        return self.body.derive(key, lambda: Step(traced_body(fn, examples)[0], carries, slices))


class Loop:
    """A scan but for its operands.

    Attributes:
        base: of one trip.
        length: how many trips.
        reverse: whether it goes from the last slice to the first.
        history: whether the carries that the trips took are further slices; so does ``step``, which is ``base`` otherwise.
    """

    __slots__ = ("base", "length", "reverse", "history", "step")

    def __init__(self, base: Step, length: int, reverse: bool, history: bool):
        self.base, self.length, self.reverse, self.history = base, length, reverse, history
        self.step = base.with_history() if history else base


def scanned(step: Step, length: int, reverse: bool, operands: Sequence[Tensor], history: bool = False) -> list[Tensor]:
    """The last carries and the stacked slices of a scan.

    Args:
        operands: first carries, stacked slices, whole tensors, but for those that the body is bound to.
        history: also give the stacked carries that the trips took.
    """
    keeps = history or mode.enabled and any(requires_grad(graph_value(x)) for x in operands)
    outs = applied(Loop(step, length, reverse, keeps), *operands, *step.body.bound)
    return outs if history or not keeps else outs[: len(outs) - step.carries]


def applied(loop: Loop, *operands: Tensor) -> list[Tensor]:
    """A loop of operands; types and modes that override functions are asked about it as about any function."""
    if has_function(*operands):
        return handle_function(applied, operands, loop, *operands)
    return list(Scan.apply(loop, *operands))


class Scan(Function):
    """``apply(loop, *operands)``: see NOTE [Scans]."""

    @staticmethod
    def forward(loop: Loop, *operands: Tensor) -> tuple:
        """The trips."""
        return tuple([newly_made(x) for x in run_trips(loop, operands)])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        """Keep what the trips took."""
        loop, *operands = inputs
        ctx.loop = loop
        ctx.set_materialize_grads(False)
        ctx.save_for_forward(*operands)
        if loop.history:
            ctx.save_for_backward(*operands, *output[len(output) - loop.step.carries :])

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> tuple:
        """The scan of the cotangents, the other way round."""
        loop, step = ctx.loop, ctx.loop.step
        saved = ctx.saved_tensors
        count = len(saved) - step.carries
        operands, history = saved[:count], saved[count:]
        flags, outs = step.active(ctx.needs_input_grad[1:])
        given = [g is not None and out for g, out in zip(gs, outs)]
        given[: step.carries] = outs[: step.carries]
        if not any(given):
            return (None,) * (1 + count)
        made = cotangent_step(step, flags, given, operands)
        carries, slices, whole = step.split(operands)
        starts: list[Any] = [zeros_of(x) if g is None else g for x, g, flag in zip(carries, gs, flags) if flag]
        sums = [zeros_of(x) for x, flag in zip(whole, flags[step.carries + step.slices :]) if flag]
        others: list[Any] = [g for g, flag in zip(gs[step.carries :], given[step.carries :]) if flag]
        found = iter(scanned(made, loop.length, not loop.reverse, [*starts, *sums, *history, *slices, *others, *whole]))
        in_order = [*flags[: step.carries], *flags[step.carries + step.slices :], *flags[step.carries : step.carries + step.slices]]
        first = [next(found) if flag else None for flag in in_order]
        n, m = step.carries, step.carries + len(whole)
        return (None, *first[:n], *first[m:], *first[n:m])

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple:
        """The scan of values and tangents."""
        loop, step, operands, given = ctx.loop, ctx.loop.step, ctx.saved_tensors, tangents[1:]
        flags, outs = step.active([t is not None for t in given])
        made = tangent_step(step, flags, outs, operands)
        filled = [zeros_of(x) if t is None else t for x, t in zip(operands, given)]
        values, moves = step.split(operands), step.split([t if flag else None for t, flag in zip(filled, flags)])
        pairs = [[*xs, *(t for t in ts if t is not None)] for xs, ts in zip(values, moves)]
        found = scanned(made, loop.length, loop.reverse, [x for part in pairs for x in part])
        results = iter(found[step.carries :])
        return tuple([next(results) if out else None for out in outs])

    @staticmethod
    def vmap(info: Any, in_dims: tuple, loop: Loop, *operands: Tensor) -> tuple:
        """The scan of a batch of steps."""
        step = loop.step
        flags, outs = step.active([dim is not None for dim in in_dims[1:]], gradients=False)
        base = loop.base
        made = batched_step(base, flags, outs[: len(base.body.block.outputs)], info.batch_size, operands, in_dims[1:])
        carries, slices, whole = step.split(list(zip(operands, flags, in_dims[1:])))
        starts = [widened(x, info.batch_size) if flag and dim is None else x for x, flag, dim in carries]
        stacked = [x if dim is None else CALLS["movedim"](x, 0, 1) for x, _, dim in slices]
        given = [*starts, *stacked, *(x for x, _, _ in whole)]
        found = scanned(made, loop.length, loop.reverse, given, loop.history)
        dims = [(0 if k < step.carries else 1) if out else None for k, out in enumerate(outs)]
        return tuple(found), tuple(dims)

    @staticmethod
    def _control_(loop: Loop, *operands: Tensor) -> tuple:
        """The node of a graph that it is."""
        base = loop.base
        attributes = {"carries": base.carries, "slices": base.slices, "length": loop.length, "reverse": loop.reverse}
        return SCAN, {**attributes, "history": loop.history}, (block_for_node(base.body),), base.body.bound


def run_node(
    node: Node, values: dict, *operands: Tensor, carries: int, slices: int, length: int, reverse: bool, history: bool
) -> tuple:
    """A scan of a graph, by calls."""
    step = Step(body_of(node.blocks[0]), carries, slices)
    return tuple(scanned(step, length, reverse, operands, history))


def check_node(node: Node) -> Iterator[str]:
    """What is wrong with a scan of a graph."""
    carries, slices = node.attributes["carries"], node.attributes["slices"]
    block = node.blocks[0]
    if len(node.ins) != len(block.inputs) or len(block.inputs) < carries + slices:
        yield f"it has {len(node.ins)} operands, its block takes {len(block.inputs)}"
    if len(node.outs) != len(block.outputs) + carries * node.attributes["history"]:
        yield f"it has {len(node.outs)} results, its block gives {len(block.outputs)}"
    for k, (before, after) in enumerate(zip(block.inputs[:carries], block.outputs)):
        if before.layout is not None and after.layout is not None and plain_layout(before) is not plain_layout(after):
            yield f"carry {k} goes in as {before} and comes out as {after}"


SCAN = Control("scan", run_node, check_node)


def zeros_of(x: Tensor) -> Tensor:
    """Zeros like a tensor."""
    return CALLS["zeros_like"](x.detach())


def widened(x: Tensor, size: int) -> Tensor:
    """A tensor as every element of a batch."""
    return CALLS["broadcast_to"](x, (size, *x.layout.shape))


# ---- the steps of other loops ------------------------------------------------------------------------------------------


def trip_of(step: Step, operands: Sequence[Tensor]) -> tuple[list, list, list]:
    """What one trip takes of the operands of a loop, as examples."""
    carries, slices, whole = step.split(operands)
    return [example_of(x) for x in carries], [example_slice(x) for x in slices], [example_of(x) for x in whole]


def example_slice(x: Tensor, size: int | None = None) -> Tensor:
    """The first slice as an example; with a size, of a batch of so many stacks."""
    array, shape = values_in_first(x), x.layout.shape
    if size is None:
        return example_from(x, array[0] if array.size else array, shape[1:])
    return example_from(x, array[:, 0] if array.size else array, (shape[0], *shape[2:]))


def example_like(value: Value) -> Tensor:
    """Ones as an example of a value."""
    layout = plain_layout(value)
    return example_from(layout.template, np.ones((), layout.dtype.numpy), layout.shape)


def cotangent_step(step: Step, flags: Sequence[bool], given: Sequence[bool], operands: Sequence[Tensor]) -> Step:
    """The step of the cotangents.

    Args:
        flags: the inputs of which cotangents are wanted. given: the outputs of which they are there.

    Returns:
        Of cotangents of carries, and sums of those of whole tensors; of carries, slices, and cotangents of slices; of the whole
        tensors.
    """
    n, count = step.carries, len(step.body.block.inputs)
    chosen = [k for k in range(count) if flags[k]]
    wanted = [k for k, flag in enumerate(given) if flag]
    moved = [k for k in chosen if k < n]
    sums = [k for k in chosen if k >= n + step.slices]

    def fn(*inputs: Tensor) -> list[Tensor]:
        rest = list(inputs)
        cotangents, totals = take(rest, len(moved)), take(rest, len(sums))
        primals = take(rest, n + step.slices)
        cotangents += take(rest, len(wanted) - len(moved))
        primals += rest

        def primal(*active: Tensor) -> tuple:
            values = primals.copy()
            for k, x in zip(chosen, active):
                values[k] = x
            outs = step.body.replay(values)
            return tuple([outs[k] for k in wanted])

        _, pull = vjp(primal, *[primals[k] for k in chosen])
        found = dict(zip(chosen, pull(tuple(cotangents))))
        carried = [found[k] for k in moved] + [x + found[k] for x, k in zip(totals, sums)]
        return carried + [found[k] for k in chosen if n <= k < n + step.slices]

    carries, slices, whole = trip_of(step, operands)
    outs = [example_like(step.body.block.outputs[k]) for k in wanted]
    examples = [*outs[: len(moved)], *(whole[k - n - step.slices] for k in sums), *carries, *slices, *outs[len(moved) :], *whole]
    key = ("cotangent", tuple(flags), tuple(given))
    return step.derived(key, fn, examples, len(moved) + len(sums), n + step.slices + len(wanted) - len(moved))


def tangent_step(step: Step, flags: Sequence[bool], outs: Sequence[bool], operands: Sequence[Tensor]) -> Step:
    """The step of values and tangents: of carries and their tangents, of slices and theirs, of whole tensors and theirs."""
    n = step.carries
    chosen = [k for k, flag in enumerate(flags) if flag]
    parts = step.split(list(range(len(flags))))

    def fn(*inputs: Tensor) -> list[Tensor]:
        rest, primals, tangents = list(inputs), list[Any](), dict[int, Tensor]()
        for part in parts:
            primals += take(rest, len(part))
            moved = [k for k in part if flags[k]]
            tangents.update(zip(moved, take(rest, len(moved))))

        def primal(*active: Tensor) -> tuple:
            values = primals.copy()
            for k, x in zip(chosen, active):
                values[k] = x
            return tuple(step.body.replay(values))

        made, moves = jvp(primal, tuple([primals[k] for k in chosen]), tuple([tangents[k] for k in chosen]))
        return [*made[:n], *(t for t, out in zip(moves, outs) if out)]

    examples = []
    for part, xs in zip(parts, trip_of(step, operands)):
        examples += [*xs, *(x for k, x in zip(part, xs) if flags[k])]
    moved = sum(flags[:n])
    return step.derived(("tangent", tuple(flags)), fn, examples, n + moved, step.slices + sum(flags[n : n + step.slices]))


def batched_step(
    step: Step, flags: Sequence[bool], outs: Sequence[bool], size: int, operands: Sequence[Tensor], dims: Sequence[int | None]
) -> Step:
    """The step of a batch, which is in front of the inputs of ``flags`` and of the outputs of ``outs``."""
    places = tuple([0 if out else None for out in outs])
    run = vmap(lambda *inputs: tuple(step.body.replay(inputs)), tuple([0 if flag else None for flag in flags]), places)
    carries, slices, whole = step.split([(x, dim is not None, flag) for x, dim, flag in zip(operands, dims, flags)])
    examples = []
    for x, mapped, flag in carries:
        wide = flag and not mapped
        examples.append(example_from(x, values_in_first(x), (size, *x.layout.shape)) if wide else example_of(x))
    examples += [example_slice(x, size if mapped else None) for x, mapped, _ in slices]
    examples += [example_of(x) for x, _, _ in whole]
    return step.derived(("batch", tuple(flags), size), lambda *inputs: list(run(*inputs)), examples, step.carries, step.slices)


def take(rest: list, count: int) -> list:
    """The first members, which are taken away."""
    first = rest[:count]
    del rest[:count]
    return first


# ---- the trips ---------------------------------------------------------------------------------------------------------


def run_trips(loop: Loop, operands: Sequence[Tensor]) -> list[Tensor]:
    """The results for plain tensors, each on memory of its own."""
    step, body = loop.step, loop.step.body
    layouts = [plain_layout(value) for value in body.block.inputs]
    carries, slices, whole = step.split(operands)
    n, m = step.carries, step.carries + step.slices
    carries = [fitted(x, layout) for x, layout in zip(carries, layouts)]
    whole = [fitted(x, layout) for x, layout in zip(whole, layouts[m:])]
    stacked = [fitted(x, layout_of(layout.dtype, (loop.length, *layout.shape))) for x, layout in zip(slices, layouts[n:m])]
    made = body.layouts()
    results = [CALLS["new_full"](layout_of(each.dtype, (loop.length, *each.shape)), 0) for each in made[n:]]
    trips = range(loop.length)
    for k in reversed(trips) if loop.reverse else trips:
        outs = body.run([*carries, *(slice_of(x, layout, k) for x, layout in zip(stacked, layouts[n:m])), *whole])
        for x, layout, out in zip(results, made[n:], outs[n:]):
            CALLS["copy_"](slice_of(x, layout, k), out)
        carries = [fitted(x, layout) for x, layout in zip(outs[:n], made)]
    return [*owned(carries, operands), *results]


def slice_of(x: Tensor, layout: Any, k: int) -> Tensor:
    """A slice of a row-major tensor."""
    return native.tensor(layout.template, x._storage_, x._offset_ + k * layout.numel * layout.dtype.itemsize, False, None)


def owned(results: Sequence[Tensor], others: Sequence[Tensor]) -> list[Tensor]:
    """The results, copied where they share memory with others or with one another."""
    seen, made = {id(x._storage_) for x in others}, []
    for x in results:
        x = CALLS["clone"](x) if id(x._storage_) in seen else x
        seen.add(id(x._storage_))
        made.append(x)
    return made
