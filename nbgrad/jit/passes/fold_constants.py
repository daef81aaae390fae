"""Calls whose operands are constants, which are called once, and constants that are one number."""

from __future__ import annotations

from typing import Any, Container

import numpy as np

from ...base.dtypes import float32, float64
from ...base.errors import NbgradError
from ...base.mode_contexts import no_grad
from ...ops.core import Elementwise, Movement
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from ..capture.memory import uniform_number, whole_storage
from ..ir.graph import Graph
from ..ir.ir import Node, Value
from ..ir.replay import run_node, tensor_of
from .checked import checked
from .effects import is_pure
from .numbers import fits, number_of
from .rewriting import Rewriting

__all__ = ["fold_constants"]

MOST_KEPT = 1 << 14  # elements of a constant that is no number
MOST = 1 << 22
# Whose kernels take a number as they take a tensor of it.
ARITHMETIC = {"add", "sub", "mul", "div"}


@checked
def fold_constants(graph: Graph, known: Container[int] | None = None) -> bool:
    """Call what has constants for operands, and nothing else; let arithmetic read numbers in the place of constants.

    Args:
        known: identities of tensors that were there before, whose elements may be others in the next run; None: all may be.
    """
    if not any(type(value.data) in (int, float) or is_fixed(value, known) for value in graph.constants):
        return False
    rewriting, nodes, changed = Rewriting(graph), list[Node](), False
    for node in graph.nodes:
        if rewriting.table:
            rewriting.read(node)
        made = folded(node, known)
        if made is not None:
            rewriting.old.add(made)
            if rewriting.put(node.outs[0], made):
                graph.constants.append(made)
                continue
        changed |= spelled_with_numbers(node, rewriting)
        nodes.append(node)
    return rewriting.finish(nodes) or changed


def is_fixed(value: Any, known: Container[int] | None) -> bool:
    """Whether an operand is the same in every run."""
    if not isinstance(value, Value):
        return True
    data = value.data
    return data is not None and (not isinstance(data, Tensor) or known is not None and id(data) not in known)


def folded(node: Node, known: Container[int] | None) -> Value | None:
    """The constant that a call of constants is."""
    values = node.values()
    for value in values:
        if value.data is None:
            return None
    if len(node.outs) != 1 or node.op.kind == "control" or isinstance(node.op, Movement) or node.op.sized_by_values:
        return None
    layout = node.outs[0].layout
    if not values or layout is None or not layout.dense or layout.numel > MOST:
        return None
    for value in values:
        if not is_fixed(value, known) or value.layout is None or value.layout.numel > MOST:
            return None
    if not is_pure(node):
        return None
    quick = of_numbers(node, layout)
    if quick is not None:
        return Value(layout, False, data=quick, line=node.line)
    try:
        with no_grad():
            (x,) = run_node(node, {value: tensor_of(value) for value in values})
    except (NbgradError, ArithmeticError):
        return None  # the program says it when it runs
    if x.layout is not layout:
        return None
    whole = whole_storage(x)
    if whole.layout is not layout:
        return None
    data = uniform_number(whole)
    if isinstance(data, Tensor) and layout.numel > MOST_KEPT:
        return None
    return Value(layout, False, data=data, line=node.line)


def of_numbers(node: Node, layout: Layout) -> float | None:
    """A sum, difference, product or quotient of numbers of the result's floating dtype: every processor rounds it alike."""
    if node.name not in ARITHMETIC or not isinstance(node.op, Elementwise) or layout.dtype not in (float32, float64):
        return None
    kind, numbers = layout.dtype.numpy.type, []
    for x in node.ins:
        if isinstance(x, Value) and (x.layout is None or x.layout.dtype is not layout.dtype or type(x.data) is not float):
            return None
        numbers.append(kind(x.data if isinstance(x, Value) else x))
    with np.errstate(all="ignore"):
        made = node.op.formula(*numbers)
    return float(made) if type(made) is kind and made == made else None


def spelled_with_numbers(node: Node, rewriting: Rewriting) -> bool:
    """Let a sum, difference, product or quotient of floating numbers read a number in the place of a constant that is one."""
    if node.name not in ARITHMETIC or not isinstance(node.op, Elementwise) or len(node.ins) != 2:
        return False
    layout = node.outs[0].layout
    if layout is None or layout.dtype not in (float32, float64):
        return False
    for k, x in enumerate(node.ins):
        other = node.ins[1 - k]
        if not isinstance(x, Value) or not isinstance(other, Value) or x.layout is None or x.layout.dtype is not layout.dtype:
            continue
        c = number_of(x, rewriting)
        if c is None or other.layout is None or other.layout.dtype is not layout.dtype:
            continue
        ins = (c, other) if k == 0 else (other, c)
        if fits(node.op, ins, node):
            node.ins = ins
            return True
    return False
