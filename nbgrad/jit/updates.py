"""Updates of optimizers in a graph: one kernel from a rule of numbers (dispatch/updates.py)."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import GraphError
from ..dispatch.updates import fused_update, update_plan
from ..native.plans import Plan
from ..tensors.layout import Layout
from .ir import Control, Node, Value

__all__ = ["UPDATE", "name_of_rule", "plan_of_update", "rule_of"]


def name_of_rule(rule: Callable) -> str:
    """``module:name``, by which a rule is found again.

    Raises:
        GraphError: it is not found by that.
    """
    name = f"{rule.__module__}:{rule.__qualname__}"
    try:
        found = rule_of(name)
    except (ImportError, AttributeError):
        found = None
    if found is not rule:
        raise GraphError(f"fused_update: the rule {rule.__qualname__} is no function of a module: a graph cannot name it.")
    return name


@lru_cache(maxsize=256)
def rule_of(name: str) -> Callable:
    """The rule of a name."""
    module, _, path = name.partition(":")
    rule: Callable = attrgetter(path)(import_module(module))
    return rule


def updated(node: Node, values: dict[Value, Any], *tensors: Any, rule: str, outputs: int, names: tuple, numbers: tuple) -> tuple:
    """The new tensors."""
    made = tuple([CALLS["clone"](x.detach()) for x in tensors[:outputs]])
    scalars = {name: float(x) for name, x in zip(names, numbers)}
    fused_update(rule_of(rule), made, [x.detach() for x in tensors[outputs:]], scalars)
    return made


def plan_of_update(node: Node, inplace: bool) -> Plan:
    """The launch of an update."""
    layouts: list[Layout] = [value.layout for value in node.ins]
    attributes = node.attributes
    plan: Plan = update_plan(rule_of(attributes["rule"]), attributes["outputs"], tuple(layouts), attributes["names"], inplace)
    return plan


UPDATE = Control("update", updated)
