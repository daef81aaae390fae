"""The way back through a loop that a test ends, within a graph, where only a run knows how many trips there are.

NOTE [Unwinding]: such a loop keeps nothing. Its way back is one node of what the loop took: a run goes through the loop again, now
with its history, and then back, as eager mode does, so that the gradient is the same to the bit and ``memory`` bounds the history.
What is derived from the node (reverse and forward mode, batches) is such a node again, with one more turn: a way back of a way back
is what ``func.vjp`` of ``func.vjp`` is, when it runs. What a pass of second order sends to the loop and what it sends to its way
back are then added up at the operands, and not carry by carry as in eager mode: equal up to rounding.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ...batch.vmap import vmap
from ...func.forward import jvp
from ...func.reverse import vjp
from ...modes.inference import newly_made
from ...tensors.layout import layout_of
from ...tensors.tensor import Tensor
from ..ir.ir import Control, Node
from .bodies import alone, block_for_node, body_of, fitted
from .iterations import owned
from .kept_inputs import KeepsInputs
from .loop_steps import Loop, Step
from .loops import While, loop_function, looped

__all__ = ["Unkept", "Unwind", "Unwinding"]

Turn = tuple[str, tuple, Any]


class Unwinding(NamedTuple):
    """A loop that a test ends, and what is made of it, turn by turn.

    Attributes:
        loop: of a body that is bound to nothing.
        turns: ``("reverse", inputs, outputs)``: cotangents of some inputs, from those of some outputs, which are further inputs in
            front; ``("forward", inputs, None)``: tangents of all outputs, from those of some inputs, in front as well;
            ``("batch", dims, size)``.
    """

    loop: Loop
    turns: tuple[Turn, ...] = ()

    def turned(self, kind: str, which: Sequence[Any], more: Any) -> Unwinding:
        """The loop with one more turn: a derivative of what there is so far, or a batch of it."""
        return Unwinding(self.loop, (*self.turns, (kind, tuple(which), more)))

    def run(self, inputs: Sequence[Tensor]) -> tuple:
        """The results, by eager loops."""
        if not self.turns:
            return tuple(looped(self.loop, inputs))
        kind, which, more = self.turns[-1]
        before = Unwinding(self.loop, self.turns[:-1])
        if kind == "batch":
            found: tuple = vmap(lambda *xs: before.run(xs), which)(*inputs)
            return found
        count = len(more if kind == "reverse" else which)
        given, primals = tuple(inputs[:count]), inputs[count:]
        active, chosen = before.of_some(primals, which, more), tuple([primals[k] for k in which])
        if kind == "reverse":
            return tuple(vjp(active, *chosen)[1](given))
        return tuple(jvp(active, chosen, given)[1])

    def of_some(self, inputs: Sequence[Tensor], which: Sequence[int], wanted: Sequence[int] | None) -> Callable[..., tuple]:
        """Some results as a function of some inputs."""

        def run(*active: Tensor) -> tuple:
            values = list(inputs)
            for k, x in zip(which, active):
                values[k] = x
            outs = self.run(values)
            return outs if wanted is None else tuple([outs[k] for k in wanted])

        return run


@loop_function("unkept")
class Unkept(While):
    """A loop that a test ends and that keeps nothing: the same but for its way back."""

    setup_context = staticmethod(KeepsInputs.setup_context)  # and no carries

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> tuple:
        """The way back, with the loop again."""
        loop = ctx.what
        closed = Loop(loop.base.closed(), None, test=loop.test, memory=loop.memory)
        return (None, *pulled_back(Unwinding(closed), ctx.needs_input_grad[1:], ctx.saved_tensors, gs))


def pulled_back(what: Unwinding, needs: Sequence[bool], tensors: Sequence[Tensor], gs: Sequence[Tensor | None]) -> tuple:
    """The cotangents of inputs, by one more turn."""
    chosen = [k for k, (needed, x) in enumerate(zip(needs, tensors)) if needed and x.layout.dtype.differentiable]
    wanted = [k for k, g in enumerate(gs) if g is not None]
    if not chosen or not wanted:
        return (None,) * len(tensors)
    cotangents: list[Any] = [gs[k] for k in wanted]
    found = dict(zip(chosen, Unwind.apply(what.turned("reverse", chosen, tuple(wanted)), *cotangents, *tensors)))
    return tuple([found.get(k) for k in range(len(tensors))])


class Unwind(KeepsInputs):
    """``apply(unwinding, *tensors)``: see NOTE [Unwinding]."""

    @staticmethod
    def forward(what: Unwinding, *tensors: Tensor) -> tuple:
        """The loops: of values alone, whose turns see the tangents that they make themselves."""
        values = [x.detach() for x in tensors]
        with alone():
            found = what.run(values)
        outs = [fitted(x, layout_of(x.layout.dtype, x.layout.shape, None, x.layout.device)) for x in found]
        return tuple([newly_made(x) for x in owned(outs, tensors)])

    @staticmethod
    def backward(ctx: Any, *gs: Tensor | None) -> tuple:
        """One more turn."""
        return (None, *pulled_back(ctx.what, ctx.needs_input_grad[1:], ctx.saved_tensors, gs))

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple:
        """One more turn."""
        given = [k for k, t in enumerate(tangents[1:]) if t is not None]
        moved: list[Any] = [tangents[1 + k] for k in given]
        outs: tuple = Unwind.apply(ctx.what.turned("forward", given, None), *moved, *ctx.saved_tensors)
        return outs

    @staticmethod
    def vmap(info: Any, in_dims: tuple, what: Unwinding, *tensors: Tensor) -> tuple:
        """One more turn."""
        outs = Unwind.apply(what.turned("batch", in_dims[1:], info.batch_size), *tensors)
        return outs, (0,) * len(outs)

    @staticmethod
    def _control_(what: Unwinding, *tensors: Tensor) -> tuple:
        """The node of a graph that it is."""
        base, test = what.loop.base, what.loop.test
        assert test is not None
        attributes = {"carries": base.carries, "memory": what.loop.memory, "turns": what.turns}
        return UNWIND, attributes, (block_for_node(base.body), block_for_node(test)), ()


def run_unwind(node: Node, values: dict, *tensors: Tensor, carries: int, memory: int | None, turns: tuple) -> tuple:
    """Such a node of a graph, by calls."""
    step = Step(body_of(node.blocks[0]), carries, 0)
    outs: tuple = Unwind.apply(Unwinding(Loop(step, None, test=body_of(node.blocks[1]), memory=memory), turns), *tensors)
    return outs


def check_unwind(node: Node) -> Iterator[str]:
    """What is wrong with a way back of a graph."""
    count = len(node.blocks[0].inputs)
    for kind, which, more in node.attributes["turns"]:
        if kind == "batch" and len(which) != count:
            yield f"its batch has {len(which)} dimensions for {count} operands"
        count += len(more) if kind == "reverse" else len(which) if kind == "forward" else 0
    if len(node.ins) != count:
        yield f"it has {len(node.ins)} operands, its blocks and turns take {count}"


UNWIND = Control("unwind", run_unwind, check_unwind)
