"""Loops as Functions: their derivatives and their batches are loops of other bodies.

NOTE [Scans]: a step takes carries, slices and whole tensors, and gives carries and slices. In reverse it is the step of the
cotangents: their carries are those of the carries, and sums of those of the whole tensors; their slices are the carries that the
loop went through, which it gives as further slices (``history``), the slices and the cotangents of those that it gave. That step
is traced from the first and ``func.vjp``; forward mode from ``func.jvp``; batches from ``vmap``. A loop that a test ends is the
same with a history of as many trips as there were.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ...autograd.function import Function
from ...base.calls import CALLS
from ...base.grad_mode import capture_of_thread, mode
from ...func.transforms import graph_value
from ...graph.edges import requires_grad
from ...modes.inference import newly_made
from ...modes.overrides import handle_function, has_function
from ...tensors.tensor import Tensor
from ..ir.ir import Control, Node, plain_layout
from .bodies import Body, active_values, block_for_node, body_of
from .checkpoints import literal_of, policy_from
from .derived_bodies import widened, zeros_of
from .iterations import run_trips
from .kept_inputs import KeepsInputs
from .loop_steps import (
    Loop,
    Step,
    batch_example,
    batched_step,
    batched_test,
    cotangent_step,
    paired,
    stopping_step,
    tangent_step,
    tangent_test,
)
from .repeats import repeat_steps

__all__ = ["Scan", "WayBack", "While", "loop_function", "looped", "way_back"]


def looped(loop: Loop, operands: Sequence[Tensor]) -> list[Tensor]:
    """The last carries and the stacked slices of a loop; with its history if it says so.

    Args:
        operands: first carries, stacked slices, whole tensors, but for those that the body is bound to.
    """
    operands = [*operands, *loop.base.body.bound]
    recorded = mode.enabled and any(requires_grad(graph_value(x)) for x in operands)
    if loop.keeps or not recorded or loop.test is not None and capture_of_thread() is not None:
        return applied(loop, *operands)  # within a graph only a run tells how many trips a test allows
    return applied(loop.kept(), *operands)[: len(loop.base.body.block.outputs)]


def applied(loop: Loop, *operands: Tensor) -> list[Tensor]:
    """A loop of operands; types and modes that override functions are asked about it as about any function."""
    if has_function(*operands):
        return handle_function(applied, operands, loop, *operands)
    if loop.test is not None:
        kind = "while" if loop.history else "unkept"
    else:
        kind = "scan" if loop.stops is None else "kept"
    return list(FUNCTIONS[kind].apply(loop, *operands))


# By kind of loop: those that a count ends, those that a test ends, those that keep few carries (rewinding.py), those that a test
# ends and that keep none (unwinding.py).
FUNCTIONS: dict[str, type[Function]] = {}


def loop_function(kind: str) -> Callable[[type], type]:
    """Register the decorated Function of a kind of loops."""

    def enter(cls: type) -> type:
        FUNCTIONS[kind] = cls
        return cls

    return enter


class WayBack(NamedTuple):
    """What goes into the loop of the cotangents.

    Attributes:
        step: of the loop itself.
        flags: the operands of which cotangents are wanted. given: the outputs of a trip of which there are cotangents.
        starts: cotangents of the last carries, and zeros to which those of whole tensors are added.
        others: cotangents of slices.
    """

    step: Step
    flags: list[bool]
    given: list[bool]
    starts: list[Tensor]
    others: list[Tensor]

    def in_order(self, found: Sequence[Tensor]) -> tuple:
        """The results of that loop, in the order of the operands."""
        n, m, rest = self.step.carries, self.step.carries + self.step.slices, iter(found)
        flags = self.flags
        first = [next(rest) if flag else None for flag in (*flags[:n], *flags[m:], *flags[n:m])]
        behind = n + len(flags) - m
        return (*first[:n], *first[behind:], *first[n:behind])


def way_back(step: Step, needs: Sequence[bool], operands: Sequence[Tensor], gs: Sequence[Tensor | None]) -> WayBack | None:
    """What goes into the loop of the cotangents; None where there are none."""
    flags, outs = step.active(needs)
    n, m = step.carries, step.carries + step.slices
    given = [*outs[:n], *(g is not None and out for g, out in zip(gs[n:], outs[n:]))]
    if not any(given):
        return None
    starts = [zeros_of(x) if g is None else g for x, g, flag in zip(operands, gs, flags[:n]) if flag]
    sums = [zeros_of(x) for x, flag in zip(operands[m:], flags[m:]) if flag]
    others = [g for g, flag in zip(gs[n:], given[n:]) if flag and g is not None]
    return WayBack(step, flags, given, starts + sums, others)


@loop_function("scan")
class Scan(KeepsInputs):
    """``apply(loop, *operands)``: see NOTE [Scans]."""

    @staticmethod
    def forward(loop: Loop, *operands: Tensor) -> tuple:
        """The trips."""
        return tuple([newly_made(x) for x in run_trips(loop, operands)])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        """Keep what the trips took, and their carries, where the loop does."""
        KeepsInputs.setup_context(ctx, inputs, output)
        loop, *operands = inputs
        if loop.keeps:
            kept = output[len(output) - loop.base.carries :]
            ctx.length = loop.length if loop.test is None else kept[0].layout.shape[0]
            ctx.save_for_backward(*operands, *kept)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> tuple:
        """The scan of the cotangents, the other way round."""
        loop, step = ctx.what, ctx.what.step
        saved = ctx.saved_tensors
        operands, history = saved[: len(saved) - step.carries], saved[len(saved) - step.carries :]
        way = way_back(step, ctx.needs_input_grad[1:], operands, gs)
        if way is None:
            return (None,) * (1 + len(operands))
        _, slices, whole = step.split(operands)
        made = Loop(cotangent_step(step, way.flags, way.given, operands), ctx.length, not loop.reverse, policy=loop.policy)
        found = looped(made, [*way.starts, *history, *slices, *way.others, *whole])
        return (None, *way.in_order(found))

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple:
        """The loop of values and tangents."""
        loop, operands, given = ctx.what, ctx.saved_tensors, tangents[1:]
        step = loop.base
        flags, outs = step.active([t is not None for t in given], "tangents")
        filled = [zeros_of(x) if t is None else t for x, t in zip(operands, given)]
        values, moves = step.split(operands), step.split([t if flag else None for t, flag in zip(filled, flags)])
        pairs = [[*xs, *(t for t in ts if t is not None)] for xs, ts in zip(values, moves)]
        made, test = tangent_step(step, flags, outs, operands), None
        if loop.test is not None:
            made, test = paired(made, tangent_test(step, loop.test, flags))
        found = looped(loop.like(made, test), [x for part in pairs for x in part])
        own = found[step.carries : step.carries + sum(outs)]
        kept = found[len(found) - sum(flags[: step.carries]) :] if loop.history else []
        results = iter([*own, *kept])
        every = [*outs, *flags[: step.carries]] if loop.history else [*outs, *[False] * step.carries] if loop.keeps else outs
        return tuple([next(results) if out else None for out in every])

    @staticmethod
    def vmap(info: Any, in_dims: tuple, loop: Loop, *operands: Tensor) -> tuple:
        """The loop of a batch of steps."""
        size, dims, step = info.batch_size, in_dims[1:], loop.base
        flags, outs = step.active([dim is not None for dim in dims], "values")
        if loop.test is None:
            made, test = batched_step(step, flags, outs, size, operands, dims), None
        else:
            made, test, flags, outs = batched_while(step, loop.test, flags, outs, size, operands, dims)
        carries, slices, whole = step.split(list(zip(operands, flags, dims)))
        starts = [widened(x, size) if flag and dim is None else x for x, flag, dim in carries]
        stacked = [x if dim is None else CALLS["movedim"](x, 0, 1) for x, _, dim in slices]
        found = looped(loop.like(made, test), [*starts, *stacked, *(x for x, _, _ in whole)])
        every = [*outs, *flags[: step.carries]] if loop.keeps else outs
        return tuple(found), tuple([(0 if k < step.carries else 1) if out else None for k, out in enumerate(every)])

    @staticmethod
    def _control_(loop: Loop, *operands: Tensor) -> tuple:
        """The node of a graph that it is."""
        base = loop.base
        attributes = {"carries": base.carries, "slices": base.slices, "length": loop.length, "reverse": loop.reverse}
        attributes |= {"keeps": loop.keeps, "checkpoint": literal_of(loop.policy)}
        return SCAN, attributes, (block_for_node(base.body),), base.body.bound


@loop_function("while")
class While(Scan):
    """A loop that a test ends: the same but for its node."""

    @staticmethod
    def _control_(loop: Loop, *operands: Tensor) -> tuple:
        """The node of a graph that it is."""
        assert loop.test is not None
        blocks = (block_for_node(loop.base.body), block_for_node(loop.test))
        return WHILE, {"carries": loop.base.carries, "memory": loop.memory}, blocks, loop.base.body.bound


def batched_while(
    step: Step, test: Body, flags: list[bool], outs: list[bool], size: int, operands: Sequence[Tensor], dims: Sequence[int | None]
) -> tuple[Step, Body, list[bool], list[bool]]:
    """Step and test of a batch of loops; which inputs and which results have the batch: all, where the test depends on it."""
    depends = test.block.outputs[0] in active_values(test.block, flags, "values")
    if depends:
        flags, outs = [True] * step.carries + flags[step.carries :], [True] * step.carries

    def examples() -> list[Tensor]:
        return [batch_example(x, dim is not None, flag, size) for x, dim, flag in zip(operands, dims, flags)]

    ends = batched_test(test, flags, depends, size, examples)
    made = stopping_step(step, test, flags, size, examples) if depends else batched_step(step, flags, outs, size, operands, dims)
    return *paired(made, ends), flags, outs


# ---- nodes of graphs ---------------------------------------------------------------------------------------------------


def run_scan(node: Node, values: dict, *operands: Tensor, carries: int, slices: int, keeps: bool, **rest: Any) -> tuple:
    """A scan of a graph, by calls."""
    step = Step(body_of(node.blocks[0]), carries, slices)
    loop = Loop(step, rest["length"], rest["reverse"], policy=policy_from(rest["checkpoint"]))
    return tuple(looped(loop.kept() if keeps else loop, operands))


def loop_of(node: Node) -> Loop:
    """A loop of a graph that a test ends."""
    step = Step(body_of(node.blocks[0]), node.attributes["carries"], 0)
    return Loop(step, None, test=body_of(node.blocks[1]), memory=node.attributes["memory"])


def run_while(node: Node, values: dict, *operands: Tensor, **attributes: Any) -> tuple:
    """A loop of a graph that a test ends, by calls."""
    return tuple(looped(loop_of(node), operands))


def check_scan(node: Node) -> Iterator[str]:
    """What is wrong with a scan of a graph."""
    carries, slices, block = node.attributes["carries"], node.attributes["slices"], node.blocks[0]
    if len(node.ins) != len(block.inputs) or len(block.inputs) < carries + slices:
        yield f"it has {len(node.ins)} operands, its block takes {len(block.inputs)}"
    if len(node.outs) != len(block.outputs) + carries * node.attributes["keeps"]:
        yield f"it has {len(node.outs)} results, its block gives {len(block.outputs)}"
    for k, (before, after) in enumerate(zip(block.inputs[:carries], block.outputs)):
        if before.layout is not None and after.layout is not None and plain_layout(before) is not plain_layout(after):
            yield f"carry {k} goes in as {before} and comes out as {after}"


def check_while(node: Node) -> Iterator[str]:
    """What is wrong with a loop of a graph that a test ends."""
    carries, (block, test) = node.attributes["carries"], node.blocks
    for each in (block, test):
        if len(node.ins) != len(each.inputs):
            yield f"it has {len(node.ins)} operands, a block of it takes {len(each.inputs)}"
    if not len(node.outs) == len(block.outputs) == carries:
        yield f"it has {len(node.outs)} results and {carries} carries, its block gives {len(block.outputs)}"
    if len(test.outputs) != 1:
        yield f"its test gives {len(test.outputs)} results, expected one"


SCAN = Control("scan", run_scan, check_scan)
SCAN.steps = repeat_steps
WHILE = Control("while_loop", run_while, check_while)
SCAN.changing = lambda node: node.attributes["carries"] + node.attributes["slices"]
WHILE.plain = lambda node, tensors: run_trips(loop_of(node), tensors)
WHILE.changing = lambda node: node.attributes["carries"]
