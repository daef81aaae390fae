"""What a body means in reverse, in forward mode and for a batch: calls to trace other bodies from."""

from __future__ import annotations

from typing import Callable, Sequence

from ...base.calls import CALLS
from ...batch.vmap import vmap
from ...creation.allocation import new_full
from ...func.forward import jvp
from ...func.reverse import vjp
from ...modes.batched import Batched
from ...tensors.tensor import Tensor
from ..ir.ir import Value, plain_layout
from .bodies import Body, example_from

__all__ = ["batched", "example_like", "meant_in", "pulled", "pushed", "widened", "zeros_of"]


def chosen_inputs(body: Body, primals: Sequence[Tensor], chosen: Sequence[int], wanted: Sequence[int] | None = None) -> Callable:
    """The outputs as a function of some inputs."""

    def run(*active: Tensor) -> tuple:
        values = list(primals)
        for k, x in zip(chosen, active):
            values[k] = x
        outs = body.replay(values)
        return tuple(outs if wanted is None else [outs[k] for k in wanted])

    return run


def pulled(
    body: Body, primals: Sequence[Tensor], chosen: Sequence[int], wanted: Sequence[int], cotangents: Sequence[Tensor]
) -> dict[int, Tensor]:
    """Cotangents of the chosen inputs, of cotangents of the wanted outputs."""
    _, pull = vjp(chosen_inputs(body, primals, chosen, wanted), *[primals[k] for k in chosen])
    return dict(zip(chosen, pull(tuple(cotangents))))


def pushed(body: Body, primals: Sequence[Tensor], tangents: dict[int, Tensor]) -> tuple[tuple, tuple]:
    """The outputs, and their tangents, of tangents of some inputs."""
    chosen = list(tangents)
    found: tuple[tuple, tuple] = jvp(
        chosen_inputs(body, primals, chosen), tuple([primals[k] for k in chosen]), tuple(tangents.values())
    )
    return found


def batched(body: Body, flags: Sequence[bool], outs: Sequence[bool]) -> Callable[..., list[Tensor]]:
    """The outputs of a batch, which is in front of the inputs of ``flags`` and of the outputs of ``outs``."""
    places = tuple([0 if out else None for out in outs])
    run = vmap(lambda *inputs: tuple(body.replay(inputs)), tuple([0 if flag else None for flag in flags]), places)
    return lambda *inputs: list(run(*inputs))


def meant_in(chosen: Tensor, x: Tensor) -> Tensor:
    """An operand of what is computed for all elements of a batch, and meant for those that are chosen.

    Derivatives elsewhere, which may be infinite, would be multiplied by 0: they end here. What all elements share stays shared.
    """
    if type(x) is not Batched or not x.layout.dtype.differentiable:
        return x
    made: Tensor = CALLS["where"](chosen, x, x.detach())
    return made


def example_like(value: Value) -> Tensor:
    """Ones as an example of a value."""
    layout = plain_layout(value)
    return example_from(new_full(layout, 1), layout.shape)


def zeros_of(x: Tensor) -> Tensor:
    """Zeros like a tensor."""
    made: Tensor = CALLS["zeros_like"](x.detach())
    return made


def widened(x: Tensor, size: int) -> Tensor:
    """A tensor as every element of a batch."""
    made: Tensor = CALLS["broadcast_to"](x, (size, *x.layout.shape))
    return made
