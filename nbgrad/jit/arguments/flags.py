"""Which tensors of a call need gradients, which a program depends on."""

from __future__ import annotations

from typing import Any, Sequence

from ...graph.edges import requires_grad
from ...tensors.tensor import Tensor
from ..ir.ir import Value

__all__ = ["flags_of", "meets", "needs_gradient"]


def meets(inputs: Sequence[Any], constants: Sequence[Value]) -> bool:
    """Whether an argument lies on the memory of a variable of the function, and gradients flow into both: they may be one."""
    learned = {id(x._storage_.array) for x in [value.data for value in constants] if needs_gradient(x)}
    return any(needs_gradient(x) and id(x._storage_.array) in learned for x in inputs)


def needs_gradient(x: Any) -> bool:
    """Whether a thing is a tensor that gradients flow into."""
    return isinstance(x, Tensor) and requires_grad(x)


def flags_of(tensors: Sequence[Any], passes: bool) -> tuple[int, ...]:
    """See ``flags`` of native/sequences.py."""
    return tuple([int(needs_gradient(x)) * (3 if passes else 1) for x in tensors])
