"""What a loop does in one trip, and what other loops do that are derived from it: NOTE [Scans] of loops.py."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ...base.calls import CALLS
from ...batch.vmap import vmap
from ...tensors.tensor import Tensor
from ..ir.ir import Block, Value
from ..passes.eliminate_dead import needed_nodes
from .bodies import Body, active_values, example_from, example_of, first_of, joined, traced_body
from .checkpoints import ALL, Policy
from .derived_bodies import batched, example_like, meant_in, pulled, pushed

__all__ = [
    "Loop",
    "Step",
    "batch_example",
    "batched_step",
    "batched_test",
    "cotangent_step",
    "example_slice",
    "paired",
    "stopping_step",
    "tangent_step",
    "tangent_test",
]


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

    def active(self, flags: Sequence[bool], by: str = "gradients") -> tuple[list[bool], list[bool]]:
        """Which inputs, and which outputs, depend on chosen inputs after any number of trips."""
        found: tuple[list[bool], list[bool]] = self.body.derive(
            ("active", self.carries, tuple(flags), by), lambda: self.reached(flags, by)
        )
        return list(found[0]), list(found[1])

    def reached(self, flags: Sequence[bool], by: str) -> tuple[list[bool], list[bool]]:
        """See ``active``."""
        block, flags = self.body.block, list(flags)
        while True:
            values = active_values(block, flags, by)
            outs = [value in values for value in block.outputs]
            carried = [a or b for a, b in zip(flags[: self.carries], outs)]
            if carried == flags[: self.carries]:
                return flags, [*carried, *outs[self.carries :]]
            flags[: self.carries] = carried

    def with_history(self) -> Step:
        """The step that also gives the carries that it took."""

        def make() -> Step:
            block = self.body.block
            outs = [*block.outputs, *block.inputs[: self.carries]]
            return Step(Body(Block(block.inputs, block.nodes, outs), self.body.bound), self.carries, self.slices)

        return self.body.derive("history", make)

    def carrying(self) -> Step:
        """The step that gives carries alone."""

        def make() -> Step:
            block = self.body.block
            outs = block.outputs[: self.carries]
            nodes, _ = needed_nodes(block.nodes, outs, set(block.nodes))
            return Step(Body(Block(block.inputs, nodes, outs), self.body.bound), self.carries, self.slices)

        made: Step = self.body.derive("carrying", make)
        return made

    def closed(self) -> Step:
        """The step whose body is bound to nothing: what that was bound to are operands behind the others."""
        return Step(self.body.closed(), self.carries, self.slices)

    def derived(self, key: Any, fn: Callable[..., list], examples: Callable[[], list], carries: int, slices: int) -> Step:
        """The step of another loop, traced once."""
        return self.body.derive(key, lambda: Step(traced_body(fn, examples())[0], carries, slices))


class Loop:
    """A loop but for its operands.

    Attributes:
        base: of one trip.
        length: how many trips; None of a loop that a test ends.
        reverse: whether it goes from the last slice to the first.
        history: whether the carries that the trips took are further slices; so does ``step``, which is ``base`` otherwise.
        policy: how carries are kept for reverse mode; with ``stops`` those at these trips are further results.
        test: of carries and whole tensors: whether there is another trip; None of a loop that is counted.
        memory: how many bytes of history there may be.
    """

    __slots__ = ("base", "length", "reverse", "history", "step", "test", "memory", "policy", "stops")

    def __init__(
        self,
        base: Step,
        length: int | None,
        reverse: bool = False,
        history: bool = False,
        test: Body | None = None,
        memory: int | None = None,
        policy: Policy = ALL,
        stops: tuple[int, ...] | None = None,
    ):
        self.base, self.length, self.reverse, self.history, self.test, self.memory = base, length, reverse, history, test, memory
        self.policy, self.stops = policy, stops
        self.step = base.with_history() if history else base

    @property
    def keeps(self) -> bool:
        """Whether reverse mode finds what it needs."""
        return self.history or self.stops is not None

    def kept(self) -> Loop:
        """The loop that also keeps what reverse mode needs, by its policy."""
        if self.policy is None or self.length is None:
            return Loop(self.base, self.length, self.reverse, True, self.test, self.memory)
        stops = tuple(self.policy.stops(0, self.length, None))
        return Loop(self.base, self.length, self.reverse, policy=self.policy, stops=stops)

    def like(self, base: Step, test: Body | None = None) -> Loop:
        """Another loop that goes the same way."""
        return Loop(base, self.length, self.reverse, self.history, test, self.memory, self.policy, self.stops)


# ---- the steps of other loops ------------------------------------------------------------------------------------------


def trip_of(step: Step, operands: Sequence[Tensor]) -> tuple[list, list, list]:
    """What one trip takes of the operands of a loop, as examples."""
    carries, slices, whole = step.split(operands)
    return [example_of(x) for x in carries], [example_slice(x) for x in slices], [example_of(x) for x in whole]


def example_slice(x: Tensor, size: int | None = None) -> Tensor:
    """The first slice as an example; with a size, of a batch of so many stacks."""
    shape = x.layout.shape
    return example_from(first_of(x, 0), shape[1:]) if size is None else example_from(first_of(x, 1), (shape[0], *shape[2:]))


def cotangent_step(step: Step, flags: Sequence[bool], given: Sequence[bool], operands: Sequence[Tensor]) -> Step:
    """The step of the cotangents.

    Args:
        flags: the inputs of which cotangents are wanted. given: the outputs of which they are there.

    Returns:
        Of cotangents of carries, and sums of those of whole tensors; of carries, slices, and cotangents of slices; of the whole
        tensors.
    """
    n, m = step.carries, step.carries + step.slices
    chosen = [k for k, flag in enumerate(flags) if flag]
    wanted = [k for k, flag in enumerate(given) if flag]
    moved, sums = [k for k in chosen if k < n], [k for k in chosen if k >= m]

    def fn(*inputs: Tensor) -> list[Tensor]:
        rest = list(inputs)
        cotangents, totals, primals = take(rest, len(moved)), take(rest, len(sums)), take(rest, m)
        cotangents += take(rest, len(wanted) - len(moved))
        found = pulled(step.body, primals + rest, chosen, wanted, cotangents)
        carried = [found[k] for k in moved] + [x + found[k] for x, k in zip(totals, sums)]
        return carried + [found[k] for k in chosen if n <= k < m]

    def examples() -> list[Tensor]:
        carries, slices, whole = trip_of(step, operands)
        outs = [example_like(step.body.block.outputs[k]) for k in wanted]
        first, rest = outs[: len(moved)], outs[len(moved) :]
        return [*first, *(whole[k - m] for k in sums), *carries, *slices, *rest, *whole]

    key = ("cotangent", tuple(flags), tuple(given))
    return step.derived(key, fn, examples, len(moved) + len(sums), m + len(wanted) - len(moved))


def tangent_step(step: Step, flags: Sequence[bool], outs: Sequence[bool], operands: Sequence[Tensor]) -> Step:
    """The step of values and tangents: of carries and their tangents, of slices and theirs, of whole tensors and theirs."""
    n = step.carries
    parts = step.split(list(range(len(flags))))

    def fn(*inputs: Tensor) -> list[Tensor]:
        rest, primals, tangents = list(inputs), list[Tensor](), dict[int, Tensor]()
        for part in parts:
            primals += take(rest, len(part))
            moved = [k for k in part if flags[k]]
            tangents.update(zip(moved, take(rest, len(moved))))
        made, moves = pushed(step.body, primals, tangents)
        return [*made[:n], *(t for t, out in zip(moves, outs) if out)]

    def examples() -> list[Tensor]:
        found = []
        for part, xs in zip(parts, trip_of(step, operands)):
            found += [*xs, *(x for k, x in zip(part, xs) if flags[k])]
        return found

    moved = n + sum(flags[:n])
    return step.derived(("tangent", tuple(flags)), fn, examples, moved, step.slices + sum(flags[n : n + step.slices]))


def batched_step(
    step: Step, flags: Sequence[bool], outs: Sequence[bool], size: int, operands: Sequence[Tensor], dims: Sequence[int | None]
) -> Step:
    """The step of a batch, which is in front of the inputs of ``flags`` and of the outputs of ``outs``."""

    def examples() -> list[Tensor]:
        carries, slices, whole = step.split([(x, dim is not None, flag) for x, dim, flag in zip(operands, dims, flags)])
        found = [batch_example(x, mapped, flag, size) for x, mapped, flag in carries]
        found += [example_slice(x, size if mapped else None) for x, mapped, _ in slices]
        return [*found, *(example_of(x) for x, _, _ in whole)]

    return step.derived(("batch", tuple(flags), size), batched(step.body, flags, outs), examples, step.carries, step.slices)


def take(rest: list, count: int) -> list:
    """The first members, which are taken away."""
    first = rest[:count]
    del rest[:count]
    return first


# ---- tests of loops that end by values -----------------------------------------------------------------------------------


def tangent_test(step: Step, test: Body, flags: Sequence[bool]) -> Body:
    """The test of a loop of values and tangents: that of the values."""

    def make() -> Body:
        inputs = []
        for part in step.split(list(range(len(flags)))):
            inputs += [test.block.inputs[k] for k in part]
            inputs += [Value(test.block.inputs[k].layout, True) for k in part if flags[k]]
        return Body(Block(inputs, test.block.nodes, test.block.outputs))

    made: Body = test.derive(("tangent", tuple(flags)), make)
    return made


def batched_test(test: Body, flags: Sequence[bool], depends: bool, size: int, examples: Callable[[], list[Tensor]]) -> Body:
    """The test of a batch: whether an element goes on.

    Args:
        flags: which inputs have a batch. depends: whether the test's result has.
    """
    run = batched(test, flags, [depends])

    def fn(*inputs: Tensor) -> list[Tensor]:
        (goes_on,) = run(*inputs)
        return [CALLS["any"](goes_on)] if depends else [goes_on]

    made: Body = test.derive(("batch", tuple(flags), size), lambda: traced_body(fn, examples())[0])
    return made


def stopping_step(step: Step, test: Body, flags: Sequence[bool], size: int, examples: Callable[[], list[Tensor]]) -> Step:
    """The step of a batch, whose elements keep their carries when their test says that they have ended."""

    def element(*inputs: Tensor) -> tuple:
        (goes_on,) = test.replay(inputs)
        outs = step.body.replay([meant_in(goes_on, x) for x in inputs])
        return tuple([CALLS["where"](goes_on, y, x) for x, y in zip(inputs, outs)])

    run = vmap(element, tuple([0 if flag else None for flag in flags]))
    return step.derived(("stopping", tuple(flags), size), lambda *inputs: list(run(*inputs)), examples, step.carries, 0)


def paired(step: Step, test: Body) -> tuple[Step, Body]:
    """A step and a test that were derived from those of one loop, with inputs in common."""

    def make() -> tuple[Body, Body]:
        body, other = joined(step.body, test, len(step.body.block.inputs) - len(step.body.bound))
        body.bound = [*step.body.bound, *test.bound]
        return body, other

    body, other = step.body.derive(("paired", test), make)
    return Step(body, step.carries, step.slices), other


def batch_example(x: Tensor, mapped: bool, flag: bool, size: int) -> Tensor:
    """An operand as an example, with a batch in front where it shall have one."""
    if flag and not mapped:
        return example_from(first_of(x), (size, *x.layout.shape))
    return example_of(x)
