"""The way back through a loop of which only some carries are kept: NOTE [Kept carries] of checkpoints.py.

NOTE [Rewinding]: as a Function it is the reverse of the loop with all carries, and that is what its own derivatives and batches are
derived from; so second order keeps them all.
"""

from __future__ import annotations

from typing import Any, Sequence

from ...batch.vmap import vmap
from ...creation.allocation import empty_of
from ...forward.tangents import visible_levels
from ...func.reverse import vjp
from ...modes.inference import newly_made
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor
from ..ir.ir import Control, Node
from .bodies import block_for_node, body_of, fitted
from .checkpoints import Binomial, literal_of, policy_from
from .iterations import owned, room_for, slice_of, stacked, store
from .kept_inputs import KeepsInputs
from .loop_steps import Loop, Step, cotangent_step
from .loops import Scan, loop_function, looped, way_back
from .repeats import Repeated, operand_layouts, repeated
from .segments import Ahead, Back, Rooms, depth_of, moves_of_segment, segments

__all__ = ["Kept", "Way", "rewound"]


class Way:
    """A way back but for its operands: cotangents of carries and zeros for those of whole tensors, cotangents of slices, the
    operands of the loop, and the carries that it kept.

    Attributes:
        loop: which goes forward.
        flags: the operands of which cotangents are wanted.
        given: the outputs of a trip of which there are cotangents.
    """

    __slots__ = ("loop", "flags", "given")

    def __init__(self, loop: Loop, flags: Sequence[bool], given: Sequence[bool]):
        self.loop, self.flags, self.given = loop, tuple(flags), tuple(given)

    def split(self, tensors: Sequence[Any]) -> tuple[list, list, list, list]:
        """The parts of the operands."""
        step = self.loop.base
        n, m = step.carries, step.carries + step.slices
        starts = sum(self.flags[:n]) + sum(self.flags[m:])
        others = starts + sum(self.given[n:])
        operands = others + len(self.flags)
        return list(tensors[:starts]), list(tensors[starts:others]), list(tensors[others:operands]), list(tensors[operands:])

    def layouts(self, made: Step) -> tuple[list[Layout], list[Layout], list[Layout], list[Layout]]:
        """Those that the parts have in memory, where ``made`` is the step of the cotangents."""
        loop, step, inputs = self.loop, self.loop.base, made.body.inputs()
        assert loop.length is not None and loop.stops is not None
        behind = made.carries + step.carries + step.slices
        others = [stacked(x, loop.length) for x in inputs[behind : made.carries + made.slices]]
        kept = [stacked(x, len(loop.stops)) for x in step.body.inputs()[: step.carries]]
        return inputs[: made.carries], others, operand_layouts(step, loop.length), kept


def with_all(way: Way, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The results, by a loop that keeps all carries."""
    starts, others, operands, _ = way.split(tensors)
    loop, step = way.loop, way.loop.base
    outs = looped(Loop(step, loop.length, loop.reverse, True), operands[: len(operands) - len(step.body.bound)])
    _, slices, whole = step.split(operands)
    made = Loop(cotangent_step(step, way.flags, way.given, operands), loop.length, not loop.reverse)
    return looped(made, [*starts, *outs[len(outs) - step.carries :], *slices, *others, *whole])


@loop_function("kept")
class Kept(Scan):
    """A scan that keeps some carries: the same but for its way back."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        """Keep what the trips took."""
        Scan.setup_context(ctx, inputs, output)
        ctx.mark_non_differentiable(*output[len(output) - ctx.what.base.carries :])

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> tuple:
        """The way back, with trips again."""
        loop, saved = ctx.what, ctx.saved_tensors
        operands, kept = saved[: len(saved) - loop.base.carries], saved[len(saved) - loop.base.carries :]
        way = way_back(loop.base, ctx.needs_input_grad[1:], operands, gs[: len(gs) - loop.base.carries])
        if way is None:
            return (None,) * (1 + len(operands))
        found = rewound(Way(loop, way.flags, way.given), [*way.starts, *way.others, *operands, *kept])
        return (None, *way.in_order(found))


def rewound(way: Way, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Cotangents of carries, sums of those of whole tensors, cotangents of slices."""
    if visible_levels():
        return with_all(way, tensors)
    return list(Rewind.apply(way, *tensors))


class Rewind(KeepsInputs):
    """``apply(way, *tensors)``: see NOTE [Rewinding]."""

    @staticmethod
    def forward(way: Way, *tensors: Tensor) -> tuple:
        """The trips."""
        return tuple([newly_made(x) for x in run_back(way, tensors)])

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> tuple:
        """The pull-back of the loop that keeps all carries."""
        way, tensors = ctx.what, ctx.saved_tensors
        chosen = [k for k, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
        wanted = [k for k, g in enumerate(gs) if g is not None]

        def run(*active: Tensor) -> tuple:
            values = list(tensors)
            for k, x in zip(chosen, active):
                values[k] = x
            outs = with_all(way, values)
            return tuple([outs[k] for k in wanted])

        found: dict[int, Any] = {}
        if wanted:
            _, pull = vjp(run, *[tensors[k] for k in chosen])
            found = dict(zip(chosen, pull(tuple([gs[k] for k in wanted]))))
        return (None, *(found.get(k) for k in range(len(tensors))))

    @staticmethod
    def vmap(info: Any, in_dims: tuple, way: Way, *tensors: Tensor) -> tuple:
        """The batch of the loop that keeps all carries."""
        outs = vmap(lambda *xs: tuple(with_all(way, xs)), in_dims[1:])(*tensors)
        return outs, (0,) * len(outs)

    @staticmethod
    def _control_(way: Way, *tensors: Tensor) -> tuple:
        """The node of a graph that it is."""
        loop, base = way.loop, way.loop.base
        attributes: dict[str, Any] = {
            "carries": base.carries,
            "slices": base.slices,
            "length": loop.length,
            "reverse": loop.reverse,
        }
        attributes |= {"checkpoint": literal_of(loop.policy), "flags": way.flags, "given": way.given}
        return REWIND, attributes, (block_for_node(base.body),), base.body.bound


def run_rewind(
    node: Node, values: dict, *tensors: Tensor, carries: int, slices: int, flags: tuple, given: tuple, **rest: Any
) -> tuple:
    """A way back of a graph, by calls."""
    step = Step(body_of(node.blocks[0]), carries, slices)
    loop = Loop(step, rest["length"], rest["reverse"], policy=policy_from(rest["checkpoint"]))
    return tuple(rewound(Way(loop.kept(), flags, given), tensors))


REWIND = Control("rewind", run_rewind)


# ---- the trips ---------------------------------------------------------------------------------------------------------


def run_back(way: Way, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The results for plain tensors."""
    loop, step = way.loop, way.loop.base
    starts, others, operands, kept = way.split(tensors)
    made = cotangent_step(step, way.flags, way.given, operands)
    found = list(segments(loop.policy, loop.length, loop.stops)) if loop.length and loop.stops is not None else []
    if sum(each.trips for each in found) > FEWEST_TRIPS * len(found):
        back, ahead = repeated(made.body), repeated(step.carrying().body)
        if back is not None and ahead is not None:
            return run_stretches(way, made, tensors, found, back, ahead)
    layouts = made.body.layouts()
    shapes = made.body.inputs()
    behind = made.carries + step.carries + step.slices
    carried = [fitted(x, layout) for x, layout in zip(starts, shapes)]
    trips = Trips(loop, operands, kept)
    stacked = [fitted(x, layout_of(s.dtype, (trips.length, *s.shape), None, s.device)) for x, s in zip(others, shapes[behind:])]
    results = [room_for(layout, trips.length) for layout in layouts[made.carries :]]
    bound = made.body.bound
    for t in reversed(range(trips.length)):
        carries, at = trips.carries_at(t), trips.place(t)
        cotangents = [slice_of(x, layout, at) for x, layout in zip(stacked, shapes[behind:])]
        outs = made.body.run([*carried, *carries, *trips.slices_at(at), *cotangents, *trips.whole, *bound])
        store(results, layouts[made.carries :], outs[made.carries :], at)
        carried = [fitted(x, layout) for x, layout in zip(outs[: made.carries], layouts)]
    return [*owned(carried, [*tensors, *bound]), *results]


FEWEST_TRIPS = 5  # of a segment: with fewer one call a trip is as fast


def run_stretches(
    way: Way, made: Step, tensors: Sequence[Tensor], found: list[Ahead | Back], back: Repeated, ahead: Repeated
) -> list[Tensor]:
    """The results of the way back for plain tensors, by native code."""
    loop, step = way.loop, way.loop.base
    length, carrying = loop.length or 0, step.carrying()
    starts, others, operands, kept = [
        [fitted(x, layout) for x, layout in zip(part, layouts)] for part, layouts in zip(way.split(tensors), way.layouts(made))
    ]
    carries, slices, whole = step.split(operands)
    n, layouts, results = made.carries, carrying.body.layouts(), made.body.layouts()
    rows = {"first": carries, "kept": kept, "stack": [room_for(x, depth_of(found)) for x in layouts]}
    rows["passing"], *scratch = ([empty_of(x) for x in layouts] for _ in range(3))
    even, odd = ([empty_of(x) for x in results[:n]] for _ in range(2))
    summed = [room_for(x, length) for x in results[n:]]
    rooms = Rooms(rows, slices, whole, made.body.bound, starts, others, even, odd, (scratch[0], scratch[1]), summed, slice_of)
    for each in found:
        plan, own = (back, made) if type(each) is Back else (ahead, carrying)
        for _ in plan.run(moves_of_segment(each, own, length, loop.reverse, rooms), each.trips, ()):
            pass
    return [*(even if length % 2 else odd), *summed]


class Trips:
    """The trips of a loop again, asked for from the last to the first.

    Attributes:
        stack: carries before a trip, and which; the first stays.
    """

    def __init__(self, loop: Loop, operands: Sequence[Tensor], kept: Sequence[Tensor]):
        assert loop.length is not None and loop.policy is not None and loop.stops is not None
        self.policy, self.length, self.reverse = loop.policy, loop.length, loop.reverse
        self.step = loop.base.carrying()
        self.layouts = self.step.body.inputs()
        carries, slices, whole = loop.base.split(operands)
        n, m = self.step.carries, self.step.carries + self.step.slices
        first = [fitted(x, layout) for x, layout in zip(carries, self.layouts)]
        self.whole = [fitted(x, layout) for x, layout in zip(whole, self.layouts[m:])]
        self.shapes = self.layouts[n:m]
        self.slices = [fitted(x, layout_of(s.dtype, (self.length, *s.shape), None, s.device)) for x, s in zip(slices, self.shapes)]
        stored = [fitted(x, layout_of(s.dtype, (len(loop.stops), *s.shape), None, s.device)) for x, s in zip(kept, self.layouts)]
        self.stack = [(0, first)]
        for k, trip in enumerate(loop.stops):
            self.stack.append((trip, [slice_of(x, layout, k) for x, layout in zip(stored, self.layouts)]))

    def place(self, trip: int) -> int:
        """Which slice a trip takes."""
        return self.length - 1 - trip if self.reverse else trip

    def slices_at(self, place: int) -> list[Tensor]:
        """What it takes of the slices."""
        return [slice_of(x, layout, place) for x, layout in zip(self.slices, self.shapes)]

    def carries_at(self, trip: int) -> list[Tensor]:
        """What it takes of the trip before."""
        stack = self.stack
        while stack[-1][0] > trip:
            stack.pop()
        first, carries = stack[-1]
        slots = self.policy.slots - len(stack) + 1 if isinstance(self.policy, Binomial) else 1
        stops = set(self.policy.stops(first, trip + 1 - first, slots))
        for at in range(first, trip):
            outs = self.step.body.run([*carries, *self.slices_at(self.place(at)), *self.whole])
            carries = [fitted(x, layout) for x, layout in zip(outs, self.layouts)]
            if at + 1 in stops:
                stack.append((at + 1, carries))
        return carries
