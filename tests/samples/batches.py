"""Batches of the samples' calls: the same numbers in other orders, along some dimension; and the loop that is their oracle."""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple

import numpy as np

import nbgrad
from nbgrad.base.calls import CALLS

from .checking import as_tuple, to_tensor
from .row import Case, Row

__all__ = ["SIZE", "Plan", "called", "element", "loop", "plans"]

SIZE = 3


class Plan(NamedTuple):
    """One way to map a call.

    Attributes:
        label: which arguments are mapped.
        arguments: operands and attributes, the mapped ones with one more dimension.
        dims: of the same structure: where that is, or None.
    """

    label: str
    arguments: tuple
    dims: tuple


def stacked(x: Any, dim: int) -> Any:
    """A batch: the array's numbers rolled by 0, 1, ...; also inside of sequences."""
    if isinstance(x, (list, tuple)):
        return type(x)(stacked(each, dim) for each in x)
    return np.stack([np.roll(x.reshape(-1), k).reshape(x.shape) for k in range(SIZE)], dim) if isinstance(x, np.ndarray) else x


def places(x: Any, dim: int) -> Any:
    """The dimension of every array, None of everything else."""
    if isinstance(x, (list, tuple)):
        return type(x)(places(each, dim) for each in x)
    return dim if isinstance(x, np.ndarray) else None


def has_array(x: Any) -> bool:
    """Whether there is something to map."""
    return any(map(has_array, x)) if isinstance(x, (list, tuple)) else isinstance(x, np.ndarray)


def element(x: Any, dims: Any, k: int) -> Any:
    """The k-th element of a batch."""
    if dims is None:
        return x
    return type(x)(element(each, d, k) for each, d in zip(x, dims)) if isinstance(x, (list, tuple)) else x.select(dims, k)


def plans(row: Row, call: Case) -> Iterator[Plan]:
    """Ways to map a call: all operands along the first or last dimension, one of them only, index attributes, everything."""
    dtype = "int64" if getattr(row.op, "policy", "") == "integer" else "float64"
    operands, attributes = tuple(row.arrays(call, dtype)), tuple(call.attributes.values())
    nothing, none = (None,) * len(operands), (None,) * len(attributes)
    chosen: list[tuple[str, tuple, tuple]] = [("all", (0,) * len(operands), none), ("all at the end", (-1,) * len(operands), none)]
    if len(operands) > 1:
        chosen += [("the first", (0, *nothing[1:]), none), ("the last", (*nothing[1:], 0), none)]
    if has_array(attributes):
        chosen += [("attributes", nothing, (0,) * len(attributes)), ("everything", (0,) * len(operands), (0,) * len(attributes))]
    if "begins" in getattr(row.op, "operands", ()):  # where rows of a matrix begin: those of one are no other matrix's
        at = row.op.operands.index("begins")
        chosen = [(label, (*way[:at], None, *way[at + 1 :]), rest) for label, way, rest in chosen]
    for label, *ways in chosen:
        values = [
            tuple(x if dim is None else stacked(x, dim) for x, dim in zip(each, way))
            for each, way in zip((operands, attributes), ways)
        ]
        dims = tuple(
            tuple(None if dim is None else places(x, dim) for x, dim in zip(each, way))
            for each, way in zip((operands, attributes), ways)
        )
        if any(d is not None for d in flat(dims)):
            yield Plan(label, tuple(to_tensor(each) for each in values), dims)


def flat(dims: Any) -> list:
    """The leaves of nested sequences."""
    return [leaf for each in dims for leaf in flat(each)] if isinstance(dims, (list, tuple)) else [dims]


def called(row: Row, call: Case) -> Callable[[Any, Any], tuple]:
    """``f(operands, attributes)``: the tensors that it returns; what writes into its operand returns the clone it got."""

    def function(operands, attributes):
        named = dict(zip(call.attributes, attributes))
        if row.name.endswith("_") or row.name == "setitem":
            first = operands[0].clone()
            CALLS[row.name](first, *operands[1:], **named)
            return (first,)
        return tuple(x for x in as_tuple(CALLS[row.name](*operands, **named)) if isinstance(x, nbgrad.Tensor))

    return function


def loop(function: Callable, plan: Plan) -> list[tuple] | None:
    """The results for every element of the batch; None where the operation does not take one of them."""
    try:
        return [function(*element(plan.arguments, plan.dims, k)) for k in range(SIZE)]
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None
