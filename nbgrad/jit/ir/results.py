"""The layouts of a node's results, by the rules of its operation, without running it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import bool_
from ...base.errors import NbgradError
from ...base.grad_mode import mode
from ...dispatch.elementwise_plans import result_of
from ...dispatch.movements import ViewPlan
from ...ops.core import Elementwise, Movement
from ...tensors.layout import Layout
from .ir import Control, Node, Value, map_values, values_in
from .literals import Type

__all__ = ["layouts_of", "layouts_of_run"]


def layouts_of(node: Node) -> list[Layout] | None:
    """What the results must be; None where no rule tells without running, or a layout is not known.

    Raises:
        NbgradError: the operands do not go together.
    """
    if any(value.layout is None for value in node.values()):
        return None
    op = node.op
    if isinstance(op, Elementwise):
        return elementwise_layouts(op, node.ins)
    if isinstance(op, Movement) and all(isinstance(x, Value) == (not k) for k, x in enumerate(node.ins)):
        bound = op.signature.bind(*node.ins, **node.attributes)
        bound.apply_defaults()
        (x, *attributes) = bound.arguments.values()
        if not list(values_in(attributes)):
            return [out.layout for out in ViewPlan(op, x.layout.plain(), tuple(attributes)).outs]
    return None


def elementwise_layouts(op: Elementwise, ins: tuple) -> list[Layout] | None:
    """See ``layouts_of``."""
    operands = (*ins, *op.defaults[len(ins) :])
    kinds = tuple([x.layout.plain() if isinstance(x, Value) and x.layout is not None else type(x) for x in operands])
    layouts = [x for x in kinds if isinstance(x, Layout)]
    if not layouts and op.numbers or any(x.special or x.dtype.is_complex and op.complex_form is not None for x in layouts):
        return None
    return [result_of(op, kinds)[1]]


def layouts_of_run(node: Node) -> list[Layout] | None:
    """What the results are of tensors of ones; None where they are others of zeros, or may be of other truth values.

    Raises:
        Exception: whatever the operation raises.
    """
    layouts = [value.layout for value in node.values()]
    if isinstance(node.op, Control) or any(layout is None or layout.dtype is bool_ for layout in layouts):
        return None
    wanted = run_filled(node, 1)
    try:
        return wanted if run_filled(node, 0) == wanted else None
    except NbgradError:
        return wanted


def run_filled(node: Node, number: int) -> list[Layout]:
    """What the results are of tensors that are filled with a number."""

    def operand(value: Value) -> Any:
        assert value.layout is not None
        layout = value.layout.plain()
        return Type(layout).value_of_array(np.full(layout.numel, number).astype(layout.dtype.numpy)).data

    ins = [map_values(x, operand) for x in node.ins]
    attributes = {name: map_values(x, operand) for name, x in node.attributes.items()}
    enabled, mode.enabled = mode.enabled, False
    try:
        out = CALLS[node.name](*ins, **attributes)
    finally:
        mode.enabled = enabled
    return [x.layout.plain() for x in (out if isinstance(out, (tuple, list)) else (out,))]
