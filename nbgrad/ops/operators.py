"""torch's names of what is called beneath the gradients: an operator and one of its overloads, as ``aten.add.Tensor``.

NOTE [Operators]: the operator is what the node of an operation is called after: ``MmBackward0`` belongs to ``aten.mm``. Where
torch has another name, or several overloads, the declaration says so (``aten``): ``"operator.overload"``, of which either part may
be left out, with ``nbgrad::`` before it if need be; by which operands are numbers, as ``nodes`` has it; or a function of operands
and attributes. What torch does not have at all, a step of ours, is in the namespace ``nbgrad``: the names never claim to be torch's
where they are not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from numbers import Number
from typing import Any, NamedTuple

from .core import OPS, Op

__all__ = ["Operator", "calls_of", "operator_of"]


class Operator(NamedTuple):
    """The name of an overload."""

    namespace: str
    name: str
    overload: str


def operator_of(op: Op, operands: tuple, attributes: dict[str, Any], form: str = "") -> Operator:
    """What a call of an operation is called beneath the gradients: NOTE [Operators].

    Args:
        attributes: all of the call.
        form: as of ``modes.interpreters.Call``.

    >>> from nbgrad.ops.core import OPS
    >>> ".".join(operator_of(OPS["tanh"], (None,), {}))
    'aten.tanh.default'
    """
    said = op.aten
    if isinstance(said, dict):
        said = said.get(tuple([isinstance(x, Number) for x in operands]), said[()])
    elif callable(said):
        said = said(operands, attributes)
    namespace, _, said = said.rpartition("::")
    name, _, overload = said.partition(".")
    name = name or (op.name if namespace else name_by_node(op.name, node_name_of(op, attributes)))
    namespace = namespace or ("aten" if said or is_torchs(op) else "nbgrad")
    if form == "_":
        name += "_"
    return Operator(namespace, name, "out" if form == "out" else overload or "default")


def node_name_of(op: Op, attributes: dict[str, Any]) -> str:
    """The name of the operation's node; of one that depends on more than attributes the operation's own."""
    if isinstance(op.node_name, str):
        return op.node_name
    try:
        return op.node_name(attributes)
    except KeyError:
        return op.name


@lru_cache(maxsize=1024)
def name_by_node(own: str, node: str) -> str:
    """The operator that a node is called after: ``AvgPool2DBackward0`` is of ``avg_pool2d``.

    Args:
        own: the operation's name, which tells where words end if the two agree.
    """
    bare = re.sub(r"Backward\d$", "", node)
    if bare.lower() == own.replace("_", ""):
        return own
    bare = re.sub(r"(?<=\d)D", "d", bare)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z0-9])", "_", bare).lower()


def is_torchs(op: Op) -> bool:
    """Whether torch has the operation: it is public, or its node is called after one of torch's."""
    own = "".join(part.capitalize() for part in op.name.split("_")) + "Backward0"
    return op.function or op.node_name != own


def calls_of(namespace: str, name: str) -> list[str]:
    """The operations, by the names of their calls, that an operator may stand for, as far as declarations alone tell."""
    bare = name.removesuffix("_")
    found = [op.name for op in OPS.values() if bare in possible_names(op)]
    return [own + "_" for own in found] if bare != name else found


def possible_names(op: Op) -> set[str]:
    """The operators of an operation's calls."""
    said = op.aten
    texts = said.values() if isinstance(said, dict) else (said,) if isinstance(said, str) else ()
    names = {text.rpartition("::")[2].partition(".")[0] for text in texts} - {""}
    return names or {name_by_node(op.name, op.node_name) if isinstance(op.node_name, str) else op.name}
