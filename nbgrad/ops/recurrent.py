"""Recurrent layers: the steps of a sequence, each of which takes what the one before has left.

NOTE [Cells]: a cell is a formula of numbers (``CELLS``): of what a unit's gates get of the input (``p``) and of the last step's
output (``q``, through the weights), and of the unit's states (``s``), the first of which is that output. It is run on symbols, and
its cotangents follow from the derivatives of the operations that it is made of (``Cell.cotangents``). So the kernels of both
directions are generated, and what is kept for the way back are the functions' results that the cotangents mention.

NOTE [Recurrent steps]: ``recurrent`` gives the states after every step, ``(state, time, batch, unit)``, and beside them what is
kept, likewise. That has no history: only the way back that is not differentiated itself takes it (``all_four``); all other
formulas compute it again, of the states (``kept_of``). Sequences of a batch may be of several ``lengths``: behind its end a
sequence keeps its states, so that the last ones are everyone's; ``mirrored`` goes from the end to the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from ..base.calls import CALLS
from .core import OPS, composite, general
from .expr import ZERO, Expr, evaluate, operation, plus, postorder, rebuilt, scalar, symbol

__all__ = ["CELLS", "Cell", "recurrent_in_steps"]


def value_in(values: dict[str, Expr], node: Expr) -> Expr:
    """What stands for a symbol."""
    return values[node.args[0]]


class Cell:
    """What a step makes of the states: NOTE [Cells].

    Attributes:
        name: of the cell.
        gates: how many numbers a unit gets of the input, and of the last step's output.
        states: how many numbers a unit carries on.
        step: ``step(p, q, s)``, of sequences of numbers, gives the new states.
    """

    def __init__(self, name: str, gates: int, states: int, step: Callable[..., tuple]):
        self.name, self.gates, self.states, self.step = name, gates, states, step

    def symbols(self, letter: str, count: int) -> list[Expr]:
        """``p0``, ``p1``, ..."""
        return [symbol(f"{letter}{k}") for k in range(count)]

    @cached_property
    def after(self) -> tuple[Expr, ...]:
        """The states after a step."""
        gates = self.gates
        return tuple(self.step(self.symbols("p", gates), self.symbols("q", gates), self.symbols("s", self.states)))

    @cached_property
    def adjoints(self) -> dict[Expr, Expr]:
        """The cotangents of all that a step computes of, where those of the states are ``d`` from later steps plus ``g``."""
        found = {new: d + g for new, d, g in zip(self.after, self.symbols("d", self.states), self.symbols("g", self.states))}
        for node in reversed(postorder(self.after)):
            if node in found and node.op not in ("symbol", "constant"):
                op: Any = OPS[node.op]
                values = {"g": found[node], "out": node, **dict(zip(op.operands, node.args))}
                for name, operand in zip(op.operands, node.args):
                    term = rebuilt(op.vjp(name), partial(value_in, values))
                    found[operand] = plus([found.get(operand, ZERO), term])
        return found

    @cached_property
    def kept(self) -> tuple[Expr, ...]:
        """What is kept beside the states."""
        known, found, after = set(postorder(self.after)), dict[Expr, None](), set(self.after)
        waiting, seen = [*self.wanted], set[Expr]()
        while waiting:
            node = waiting.pop()
            if node in seen or node in after:
                continue
            seen.add(node)
            if node in known and (node.op == "symbol" and node.args[0][0] == "q" or node.op in OPS and not OPS[node.op].cheap):
                found[node] = None
            elif node.op not in ("symbol", "constant"):
                waiting += reversed(node.args)
        return tuple(found)

    @cached_property
    def shared(self) -> bool:
        """Whether the cotangents of ``p`` and ``q`` are the same."""
        return all(self.adjoints[p] is self.adjoints[q] for p, q in zip(*(self.symbols(letter, self.gates) for letter in "pq")))

    @cached_property
    def wanted(self) -> tuple[Expr, ...]:
        """The cotangents of states, of ``q`` and, unless they are shared, of ``p``, in what a step computes of."""
        letters = [*self.symbols("s", self.states), *self.symbols("q", self.gates)]
        letters += [] if self.shared else self.symbols("p", self.gates)
        return tuple([self.adjoints.get(each, ZERO) for each in letters])

    @cached_property
    def cotangents(self) -> tuple[Expr, ...]:
        """The same in ``d``, ``g``, ``s``, the states after the step, ``n``, and what is kept, ``k``."""
        names = dict(zip(self.kept, self.symbols("k", len(self.kept)))) | dict(zip(self.after, self.symbols("n", self.states)))

        def told(node: Expr) -> Expr:
            if node in names:
                return names[node]
            return node if node.op in ("symbol", "constant") else operation(node.op, *map(told, node.args))

        return tuple(map(told, self.wanted))


def plain_cell(function: str) -> Callable:
    """The step of the oldest cell."""
    return lambda p, q, s: (getattr(scalar, function)(p[0] + q[0]),)


def lstm(p, q, s):
    """Hochreiter and Schmidhuber's, with Gers' gate that forgets; gates in torch's order: input, forget, cell, output."""
    enter, forget, leave = (scalar.sigmoid(p[k] + q[k]) for k in (0, 1, 3))
    inside = forget * s[1] + enter * scalar.tanh(p[2] + q[2])
    return leave * scalar.tanh(inside), inside


def gru(p, q, s):
    """Cho's, with the reset gate behind the weights, as cuDNN and torch have it; gates: reset, update, new."""
    reset, update = (scalar.sigmoid(p[k] + q[k]) for k in (0, 1))
    new = scalar.tanh(p[2] + reset * q[2])
    return (new + update * (s[0] - new),)


CELLS = {
    cell.name: cell
    for cell in (
        Cell("tanh", 1, 1, plain_cell("tanh")),
        Cell("relu", 1, 1, plain_cell("relu")),
        Cell("lstm", 4, 2, lstm),
        Cell("gru", 3, 1, gru),
    )
}


# ---- in other operations -------------------------------------------------------------------------------------------------


def apply(name: str, operands: tuple) -> Any:
    """An operation on tensors and numbers."""
    return getattr(scalar, name)(*operands)


def evaluated(roots: tuple[Expr, ...], values: dict[str, Any]) -> list[Any]:
    """Formulas of a cell, run on tensors."""
    return evaluate(roots, values, apply)


def parts(x: Any, count: int) -> list[Any]:
    """What each gate has of the last dimension."""
    size = x.layout.shape[-1] // count
    return [scalar.slice(x, -1, k * size, (k + 1) * size, 1) for k in range(count)]


def named(letter: str, values: Sequence[Any]) -> dict[str, Any]:
    """Values of symbols."""
    return {f"{letter}{k}": value for k, value in enumerate(values)}


def times_of(steps: int, mirrored: bool) -> list[int]:
    """The steps in their order."""
    return list(range(steps))[:: -1 if mirrored else 1]


def through(x: Any, w: Any, b: Any) -> Any:
    """``x @ w + b``, of the last dimension."""
    return scalar.gemm_bias(x, w, b, False)


def recurrent_in_steps(p, w, b, s, lengths, cell, mirrored, ragged, *, compute=evaluated):
    """``recurrent`` in other operations; of what is a kernel's, the memory that it uses, there is none.

    Args:
        compute: computes formulas of a cell.
    """
    form, inputs = CELLS[cell], scalar.unbind(p, 0)
    states = list(scalar.unbind(s, 0))
    after: dict[int, list] = {}
    for t in times_of(len(inputs), mirrored):
        given = {**named("p", parts(inputs[t], form.gates)), **named("q", parts(through(states[0], w, b), form.gates))}
        new = compute(form.after, {**given, **named("s", states)})
        if ragged:
            active = scalar.unsqueeze(lengths > t, 1)
            new = [scalar.where(active, x, y) for x, y in zip(new, states)]
        after[t] = states = new
    stacks = [CALLS["stack"]([after[t][k] for t in range(len(inputs))], 0) for k in range(form.states)]
    states = CALLS["stack"](stacks, 0)
    return states, kept_of(cell, p, w, b, s, states, mirrored, compute), scalar.slice(b, 0, 0, 0, 1)


def previous_state(first: Any, later: Any, mirrored: bool) -> Any:
    """A state before every step: the first one, and all after steps but the last."""
    steps, first = later.layout.shape[0], scalar.unsqueeze(first, 0)
    if mirrored:
        return CALLS["cat"]([scalar.slice(later, 0, 1, steps, 1), first], 0)
    return CALLS["cat"]([first, scalar.slice(later, 0, 0, steps - 1, 1)], 0)


def kept_of(cell: str, p: Any, w: Any, b: Any, s: Any, states: Any, mirrored: bool, compute: Callable = evaluated) -> Any:
    """What is kept of all steps, by the states after them."""
    form = CELLS[cell]
    earlier = [previous_state(first, later, mirrored) for first, later in zip(scalar.unbind(s, 0), scalar.unbind(states, 0))]
    given = {**named("p", parts(p, form.gates)), **named("q", parts(through(earlier[0], w, b), form.gates))}
    found = compute(form.kept, {**given, **named("s", earlier)}) if form.kept else []
    return CALLS["stack"](found, 0) if found else scalar.slice(states, 0, 0, 0, 1)


def cotangents_in_steps(g, w, s, lengths, states, kept, cell, mirrored, ragged, *, compute=evaluated):
    """``recurrent_cotangents`` in other operations."""
    form, steps = CELLS[cell], states.layout.shape[1]
    after = scalar.unbind(states, 0)
    columns = {
        **named("k", scalar.unbind(kept, 0)),
        **named("s", [previous_state(first, later, mirrored) for first, later in zip(scalar.unbind(s, 0), after)]),
        **named("n", after),
        **named("g", scalar.unbind(g, 0)),
    }
    moments = {name: scalar.unbind(column, 0) for name, column in columns.items()}
    carried = [scalar.fill(each, 0.0) for each in scalar.unbind(s, 0)]
    found: dict[int, list] = {}
    for t in reversed(times_of(steps, mirrored)):
        now = {name: each[t] for name, each in moments.items()}
        made = compute(form.cotangents, {**now, **named("d", carried)})
        made = [x if hasattr(x, "layout") else scalar.fill(carried[0], float(x)) for x in made]
        if ragged:
            active = scalar.unsqueeze(lengths > t, 1)
            idle = [d + now[f"g{k}"] for k, d in enumerate(carried)] + [scalar.fill(x, 0.0) for x in made[form.states :]]
            made = [scalar.where(active, x, y) for x, y in zip(made, idle)]
        products = CALLS["cat"](made[form.states : form.states + form.gates], 1)
        carried = [made[0] + scalar.gemm(products, w, False, False), *made[1 : form.states]]
        found[t] = [products] if form.shared else [products, CALLS["cat"](made[form.states + form.gates :], 1)]
    stacks = [CALLS["stack"]([found[t][k] for t in range(steps)], 0) for k in range(len(found[0]))]
    return (stacks[0], CALLS["stack"](carried, 0), *stacks[1:])


# ---- declarations --------------------------------------------------------------------------------------------------------


def taken_back(g, p, w, b, s, lengths, out, cell, mirrored, ragged):
    """The cotangents of what weights made, of first states, and of ``p`` if they are others."""
    kept = kept_of(cell, p, w, b, s, out, mirrored)
    return scalar.recurrent_cotangents(g, scalar.t(w), s, lengths, out, kept, cell, mirrored, ragged)


def weighed(products, s, out, mirrored):
    """The cotangent of the weights: the outputs before every step against the products' cotangents."""
    steps, _, rows = products.layout.shape
    first, later, earlier = (steps - 1, 0, 1) if mirrored else (0, 1, 0)
    total = scalar.gemm(scalar.select(products, 0, first), scalar.select(s, 0, 0), True, False)
    if steps > 1:
        states = scalar.slice(scalar.select(out, 0, 0), 0, earlier, earlier + steps - 1, 1)
        flat = scalar.reshape(scalar.slice(products, 0, later, later + steps - 1, 1), (-1, rows))
        total = total + scalar.gemm(flat, scalar.reshape(states, (-1, states.layout.shape[2])), True, False)
    return scalar.t(total)


def of_input(g, p, w, b, s, lengths, out, cell, mirrored, ragged):
    """The cotangent of ``p``."""
    products, _, *others = taken_back(g, p, w, b, s, lengths, out, cell, mirrored, ragged)
    return others[0] if others else products


def of_weights(g, p, w, b, s, lengths, out, cell, mirrored, ragged):
    """The cotangent of ``w``."""
    return weighed(taken_back(g, p, w, b, s, lengths, out, cell, mirrored, ragged)[0], s, out, mirrored)


def of_bias(g, p, w, b, s, lengths, out, cell, mirrored, ragged):
    """The cotangent of ``b``."""
    return scalar.sum(taken_back(g, p, w, b, s, lengths, out, cell, mirrored, ragged)[0], (0, 1))


def of_states(g, p, w, b, s, lengths, out, cell, mirrored, ragged):
    """The cotangent of ``s``."""
    return taken_back(g, p, w, b, s, lengths, out, cell, mirrored, ragged)[1]


def all_four(g, w, s, lengths, out, kept, cell, mirrored, ragged):
    """The same in one pass over the steps, by what was kept."""
    products, states, *others = scalar.recurrent_cotangents(g, scalar.t(w), s, lengths, out, kept, cell, mirrored, ragged)
    return others[0] if others else products, weighed(products, s, out, mirrored), scalar.sum(products, (0, 1)), states


HIDDEN: dict = {"method": False, "function": False, "out": False}

general(
    "recurrent",
    lambda p, w, b, s, lengths, cell, mirrored=False, ragged=False: p,
    {"p": of_input, "w": of_weights, "b": of_bias, "s": of_states},
    together={("p", "w", "b", "s"): all_four},
    operands=("p", "w", "b", "s", "lengths"),
    outputs=3,
    second="kept",
    node="RnnBackward0",
    public="rnn",
    doc="The states of a cell after every step of sequences, what is kept for the way back, and memory that steps have used.",
    **HIDDEN,
    aten="nbgrad::recurrent",
)
general(
    "recurrent_cotangents",
    lambda g, w, s, lengths, states, kept, cell, mirrored, ragged: g,
    operands=("g", "w", "s", "lengths", "states", "kept"),
    outputs=None,
    in_steps=cotangents_in_steps,
    public="rnn",
    doc="The cotangents of what goes into the gates, and of the first states.",
    **HIDDEN,
)


def rnn_states(p, w, b, s, lengths, cell, mirrored=False, ragged=False):
    """The states of a cell after every step of sequences, (states, steps, batch, units).

    Args:
        p: what gates get of the input, (steps, batch, gates * units).
        w, b: weights, (gates * units, units), and biases of what they get of the step before.
        s: first states, (states, batch, units).
        lengths: int64, of each sequence; they count with ``ragged``.
        cell: "tanh", "relu", "lstm", "gru".
        mirrored: from the last step to the first.

    Raises:
        ShapeError, DTypeError: operands that do not go together.
    """
    return scalar.recurrent(p, scalar.contiguous_copy(scalar.t(w)), b, s, lengths, cell, mirrored, ragged)[0]


composite("rnn_states", rnn_states, method=False, function=False, public="rnn", doc=rnn_states.__doc__)
