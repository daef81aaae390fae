"""Formulas as what GPU kernels take: a scalar function, and what its operands are to a kernel."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ..base.dtypes import dtype_of
from ..kernels.codegen import is_integer, scalar_function
from ..kernels.cuda.access import Function
from ..kernels.cuda.templates import Operand
from ..kernels.texts import ready
from ..ops.expr import postorder
from .formulas import Formula

__all__ = ["Bound", "Operation", "bound"]

DIVIDES = frozenset(("floor_divide", "trunc_divide", "remainder", "fmod", "gcd", "lcm"))


class Operation(NamedTuple):
    """A scalar function and what it is applied to.

    Attributes:
        scalar: before ``instantiate``; see ``codegen.scalar_function``.
        inputs: its operands, in its order.
        outputs: dtypes of its results.
        dtype: in which it computes.
        into: the inputs that the first results overwrite.
        divides: whether it divides integers.
    """

    scalar: Function
    inputs: tuple[Operand, ...]
    outputs: tuple[str, ...]
    dtype: str
    into: tuple[int, ...] = ()
    divides: bool = False


class Bound(NamedTuple):
    """An operation, and which operands of its formula its inputs are: what the source does not read is no parameter."""

    operation: Operation
    places: tuple[int, ...]


@cache
def bound(
    name: str, formula: Formula, dtype: str, operands: tuple[Operand, ...], outputs: tuple[str, ...], overwritten: int = 0
) -> Bound:
    """A formula with operands and results of these kinds.

    Args:
        name: of the scalar function, and so part of the kernel's symbol.
        dtype: in which it computes.
        overwritten: so many results are written over the first operands.
    """
    compute = dtype_of(dtype).compute
    body = scalar_function(name, formula.params, formula.results, compute).source.partition(":")[2]
    read = set(re.findall(r"\w+", body))
    places = tuple([k for k, (param, _) in enumerate(formula.params) if param in read])
    scalar = ready(scalar_function(name, [formula.params[k] for k in places], formula.results, compute))
    scalar.__name__ = name
    into = tuple([places.index(k) for k in range(overwritten) if k in places])
    # Results that overwrite what is not read, or is read as something else (truth values as numbers), have pointers of their own,
    # as all then do.
    if len(into) < overwritten or any(operands[places[k]].dtype != outputs[n] for n, k in enumerate(into)):
        into = ()
    divides = is_integer(compute) and any(node.op in DIVIDES for node in postorder(formula.results))
    return Bound(Operation(scalar, tuple([operands[k] for k in places]), outputs, compute, into, divides), places)
