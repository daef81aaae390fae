"""Updates of optimizers in a graph: one kernel from a rule of numbers (dispatch/updates.py)."""

from __future__ import annotations

from typing import Any, Callable

from ...base.calls import CALLS
from ...base.dtypes import DType, dtype_of
from ...base.errors import GraphError
from ...dispatch.updates import fused_update, update_plan
from ...native.plans import Plan
from ...tensors.layout import Layout
from ..ir.ir import Control, Node, Value
from ..ir.qualified_names import function_named

__all__ = ["UPDATE", "kinds_of_update", "name_of_rule", "plan_of_update"]


def name_of_rule(rule: Callable) -> str:
    """``module:name``, by which a rule is found again.

    Raises:
        GraphError: it is not found by that.
    """
    name = f"{rule.__module__}:{rule.__qualname__}"
    try:
        found = function_named(name)
    except (ImportError, AttributeError):
        found = None
    if found is not rule:
        raise GraphError(f"fused_update: the rule {rule.__qualname__} is no function of a module: a graph cannot name it.")
    return name


def updated(
    node: Node,
    values: dict[Value, Any],
    *tensors: Any,
    rule: str,
    outputs: int,
    names: tuple,
    numbers: tuple,
    singles: tuple = (),
    compute: str = "",
) -> tuple:
    """The new tensors."""
    made = tuple([CALLS["clone"](x.detach()) for x in tensors[:outputs]])
    scalars = {name: float(x) for name, x in zip(names, numbers)}
    fused_update(function_named(rule), made, [x.detach() for x in tensors[outputs:]], scalars, singles, dtype_or_none(compute))
    return made


def plan_of_update(node: Node, inplace: bool) -> Plan:
    """The launch of an update."""
    layouts: list[Layout] = [value.layout for value in node.ins]
    attributes = node.attributes
    rule = function_named(attributes["rule"])
    plan: Plan = update_plan(rule, attributes["outputs"], tuple(layouts), attributes["names"], inplace, *kinds_of_update(node))
    return plan


def kinds_of_update(node: Node) -> tuple[tuple[str, ...], DType | None]:
    """Names of the scalars that are the last operands, and the dtype of computation: see ``fused_updates``."""
    return node.attributes.get("singles", ()), dtype_or_none(node.attributes.get("compute", ""))


def dtype_or_none(name: str) -> DType | None:
    """A dtype; None of no name."""
    return dtype_of(name) if name else None


UPDATE = Control("update", updated)
