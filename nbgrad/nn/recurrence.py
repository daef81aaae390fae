"""The steps of one layer in one direction, and single steps: NOTE [Cells] of ops/recurrent.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..base.calls import CALLS
from ..ops.recurrent import CELLS
from .packing import Plan

__all__ = ["GATES", "all_layers", "one_step"]

# By torch's names of modes: the cell, and how many gates it has.
NAMES = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "LSTM": "lstm", "GRU": "gru"}
GATES = {mode: CELLS[name].gates for mode, name in NAMES.items()}


def fed(mode: str, x: Tensor, weights: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """What gates get of inputs, and the biases of what they get of states.

    Both biases are added to the latter where they only occur in the sum: their cotangents are then one sum, too.
    """
    weight, of_input, of_states = (weights.get(name) for name in ("weight_ih", "bias_ih", "bias_hh"))
    assert weight is not None
    if of_input is None or of_states is None:
        return x @ weight.t(), nbgrad.zeros(weight.shape[0], dtype=weight.dtype, device=weight.device)
    if mode == "GRU":
        return nbgrad.nn.functional.linear(x, weight, of_input), of_states
    return x @ weight.t(), of_input + of_states


def all_layers(
    mode: str,
    x: Tensor,
    weights: Sequence[Mapping[str, Any]],
    states: Sequence[Tensor],
    plan: Plan | None,
    directions: int,
    dropout: float,
) -> tuple[Tensor, list[Tensor]]:
    """The outputs of the last layer, and the last states of all layers.

    Args:
        x: ``(steps, batch, size)``; of packed sequences their data.
        weights: of every layer and direction, by torch's names without these.
        states: the first ones, ``(layers * directions, batch, size)`` each.
        plan: of packed sequences.
        directions: 1 or 2.
        dropout: with which probability outputs of all layers but the last are zeroed.
    """
    ends: list[tuple[Tensor, ...]] = []
    firsts = list(zip(*[state.unbind(0) for state in states]))
    for at in range(0, len(weights), directions):
        if at and dropout:
            x = nbgrad.dropout(x, dropout, True)
        found = []
        for k in range(at, at + directions):
            out, last = all_steps(mode, x, weights[k], firsts[k], plan, k > at)
            found.append(out)
            ends.append(last)
        x = found[0] if directions == 1 else nbgrad.cat(found, -1)
    return x, [nbgrad.stack(each) for each in zip(*ends)]


def all_steps(
    mode: str, x: Tensor, weights: Mapping[str, Any], states: tuple[Tensor, ...], plan: Plan | None, mirrored: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The outputs of all steps, and the last states.

    Args:
        x: ``(steps, batch, size)``; of packed sequences their data.
        weights: by torch's names, without layer and direction.
        plan: of packed sequences.
        mirrored: from the last step to the first.
    """
    p, b = fed(mode, x, weights)
    planes: tuple[Tensor, ...]
    if plan is None:
        batch = x.shape[1]
        lengths = nbgrad.full((batch,), x.shape[0], dtype=nbgrad.int64, device=x.device)
    else:
        lengths, batch = plan.lengths, plan.lengths.shape[0]
        p = p.index_select(0, plan.rows).reshape((-1, batch, p.shape[-1]))
    if "weight_hr" in weights:
        planes = projected(p, weights, b, states, lengths if plan is not None else None, mirrored)
    else:
        found = CALLS["rnn_states"](
            p, weights["weight_hh"], b, nbgrad.stack(states), lengths, NAMES[mode], mirrored, plan is not None
        )
        planes = found.unbind(0)
    last = tuple([plane.select(0, 0 if mirrored else -1) for plane in planes])
    out = planes[0]
    if plan is not None:
        out = out.reshape((-1, out.shape[-1])).index_select(0, plan.places)
    return out, last


def projected(
    p: Tensor, weights: Mapping[str, Any], b: Tensor, states: tuple[Tensor, ...], lengths: Tensor | None, mirrored: bool
) -> tuple[Tensor, ...]:
    """The states after every step of an LSTM whose output goes through a matrix; step by step."""
    inputs, after = p.unbind(0), list[tuple[Tensor, ...]]()
    w, turned = weights["weight_hh"], weights["weight_hr"].t()
    for t in range(len(inputs))[:: -1 if mirrored else 1]:
        h, c = stepped("LSTM", inputs[t], nbgrad.nn.functional.linear(states[0], w, b), (states[0], states[1]))
        new: tuple[Tensor, ...] = (h @ turned, c)
        if lengths is not None:
            active = (lengths > t).unsqueeze(1)
            new = tuple([nbgrad.where(active, x, y) for x, y in zip(new, states)])
        states = new
        after.append(states)
    return tuple([nbgrad.stack(each) for each in zip(*after[:: -1 if mirrored else 1])])


def stepped(mode: str, p: Tensor, q: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The states after a step, of what gates get of input and of states."""
    gates = GATES[mode]
    found: tuple[Tensor, ...] = CELLS[NAMES[mode]].step(p.chunk(gates, -1), q.chunk(gates, -1), states)
    return found


def one_step(mode: str, x: Tensor, weights: Mapping[str, Any], states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The states after one step of a batch."""
    p, b = fed(mode, x, weights)
    return stepped(mode, p, nbgrad.nn.functional.linear(states[0], weights["weight_hh"], b), states)
