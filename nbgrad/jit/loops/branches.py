"""A choice between two bodies as a Function: its derivatives and its batches are choices between others.

NOTE [Choices of a graph]: in eager mode ``cond`` calls one of its functions. Within a graph, which holds for either value of the
predicate, it is a node with both: closed blocks of the same operands, of which a run takes one.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Sequence

from ...base.calls import CALLS
from ...batch.vmap import vmap
from ...modes.inference import newly_made
from ...tensors.arrays import values_of
from ...tensors.tensor import Tensor
from ..ir.ir import Control, Node
from .bodies import Body, active_values, block_for_node, body_of, example_of, fitted, joined, traced_body
from .derived_bodies import batched, example_like, meant_in, pulled, pushed
from .iterations import owned
from .kept_inputs import KeepsInputs

__all__ = ["Choice", "chosen"]


class Choice:
    """Two bodies of the same operands, for true and false."""

    __slots__ = ("bodies",)

    def __init__(self, first: Body, second: Body):
        self.bodies = first, second

    def active(self, flags: Sequence[bool], by: str = "gradients") -> list[bool]:
        """Which outputs depend on chosen inputs, in one of the bodies."""
        found = [False] * len(self.bodies[0].block.outputs)
        for body in self.bodies:
            values = active_values(body.block, flags, by)
            found = [a or value in values for a, value in zip(found, body.block.outputs)]
        return found

    def derived(self, key: Any, make: Callable[[Body], Callable[..., list]], examples: Callable[[], list]) -> Choice:
        """The choice between what is made of the bodies, traced once."""
        first, second = self.bodies

        def build() -> Choice:
            yes, no = (traced_body(make(body), examples())[0] for body in self.bodies)
            one, other = joined(yes, no, len(yes.block.inputs) - len(yes.bound))
            one.bound = [*yes.bound, *no.bound]
            return Choice(one, other)

        found: Choice = first.derive((key, second), build)
        return found


def chosen(choice: Choice, predicate: Tensor, operands: Sequence[Tensor]) -> tuple:
    """The outputs of the body that the predicate names."""
    outs: tuple = Branch.apply(choice, predicate, *operands, *choice.bodies[0].bound)
    return outs


class Branch(KeepsInputs):
    """``apply(choice, predicate, *operands)``: see NOTE [Choices of a graph]."""

    @staticmethod
    def forward(choice: Choice, predicate: Tensor, *operands: Tensor) -> tuple:
        """One of the bodies."""
        return tuple([newly_made(x) for x in run_plain(choice.bodies[0 if values_of(predicate) else 1], operands)])

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> tuple:
        """The choice between the pull-backs."""
        choice, (predicate, *operands), flags = ctx.what, ctx.saved_tensors, ctx.needs_input_grad[2:]
        outs = choice.active(flags)
        wanted = [k for k, g in enumerate(gs) if g is not None and outs[k]]
        inputs = [k for k, flag in enumerate(flags) if flag]
        if not wanted:
            return (None,) * (2 + len(operands))

        def make(body: Body) -> Callable[..., list]:
            return lambda *xs: list(pulled(body, xs[len(wanted) :], inputs, wanted, xs[: len(wanted)]).values())

        def examples() -> list[Tensor]:
            return [*(example_like(choice.bodies[0].block.outputs[k]) for k in wanted), *map(example_of, operands)]

        made = choice.derived(("cotangent", tuple(inputs), tuple(wanted)), make, examples)
        cotangents: list[Any] = [gs[k] for k in wanted]
        found = dict(zip(inputs, chosen(made, predicate, [*cotangents, *operands])))
        return (None, None, *(found.get(k) for k in range(len(operands))))

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple:
        """The choice between the push-forwards."""
        choice, (predicate, *operands), given = ctx.what, ctx.saved_tensors, tangents[2:]
        inputs = [k for k, t in enumerate(given) if t is not None]
        outs = choice.active([t is not None for t in given], "tangents")

        def make(body: Body) -> Callable[..., list]:
            def run(*xs: Tensor) -> list[Tensor]:
                _, moves = pushed(body, xs[len(inputs) :], dict(zip(inputs, xs)))
                return [t for t, out in zip(moves, outs) if out]

            return run

        def examples() -> list[Tensor]:
            return [example_of(x) for x in (*(operands[k] for k in inputs), *operands)]

        made = choice.derived(("tangent", tuple(inputs)), make, examples)
        moved: list[Any] = [given[k] for k in inputs]
        results = iter(chosen(made, predicate, [*moved, *operands]) if any(outs) else ())
        return tuple([next(results) if out else None for out in outs])

    @staticmethod
    def vmap(info: Any, in_dims: tuple, choice: Choice, predicate: Tensor, *operands: Tensor) -> tuple:
        """The choice between batches; both, where the predicate is of a batch."""
        dims = in_dims[1:]
        if dims[0] is not None:

            def both(p: Tensor, *xs: Tensor) -> tuple:
                meant = p, CALLS["logical_not"](p)
                first, second = (body.replay([meant_in(q, x) for x in xs]) for q, body in zip(meant, choice.bodies))
                return tuple([CALLS["where"](p, x, y) for x, y in zip(first, second)])

            return vmap(both, dims)(predicate, *operands), (0,) * len(choice.bodies[0].block.outputs)
        flags = [dim is not None for dim in dims[1:]]
        outs = choice.active(flags, "values")
        key = ("batch", tuple(flags), info.batch_size)
        made = choice.derived(key, lambda body: batched(body, flags, outs), lambda: [example_of(x) for x in operands])
        return chosen(made, predicate, operands), tuple([0 if out else None for out in outs])

    @staticmethod
    def _control_(choice: Choice, predicate: Tensor, *operands: Tensor) -> tuple:
        """The node of a graph that it is."""
        return COND, {}, tuple([block_for_node(body) for body in choice.bodies]), choice.bodies[0].bound


def run_plain(body: Body, operands: Sequence[Tensor]) -> list[Tensor]:
    """The results of a body for plain tensors, each on memory of its own."""
    inputs = [fitted(x, layout) for x, layout in zip(operands, body.inputs())]
    return owned([fitted(x, layout) for x, layout in zip(body.run(inputs), body.layouts())], operands)


def choose_plain(node: Node, tensors: list) -> list[Tensor]:
    """A choice of a graph, of plain tensors."""
    return run_plain(body_of(node.blocks[0 if values_of(tensors[0]) else 1]), tensors[1:])


def run_cond(node: Node, values: dict, predicate: Tensor, *operands: Tensor) -> tuple:
    """A choice of a graph, by calls."""
    first, second = node.blocks
    return chosen(Choice(body_of(first), body_of(second)), predicate, operands)


def check_cond(node: Node) -> Iterator[str]:
    """What is wrong with a choice of a graph."""
    for block in node.blocks:
        if len(node.ins) != len(block.inputs) + 1:
            yield f"it has {len(node.ins)} operands, a block of it takes a predicate and {len(block.inputs)}"
        if len(node.outs) != len(block.outputs):
            yield f"it has {len(node.outs)} results, a block of it gives {len(block.outputs)}"


COND = Control("cond", run_cond, check_cond)
COND.plain = choose_plain
