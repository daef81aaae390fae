"""Values of tensors by their lineages, where derivatives of a graph are followed: NOTE [Lineages] of flows.py."""

from __future__ import annotations

from typing import Any

from ...base.grad_mode import mode
from ...graph.edges import requires_grad
from ...tensors.tensor import Tensor
from ..ir.histories import STOP, UNRECORDED, WRITTEN, Mark, history_of
from ..ir.ir import Node, Value
from .flows import Flows, is_unrecorded
from .memory import Key, Variable, require_inside

__all__ = ["Lineages"]


class Lineages:
    """What variables are where derivatives are followed: the part of ``Variables`` that is asked about them.

    Attributes:
        flows: NOTE [Flows] of flows.py; None where no derivatives are taken of what has no history.
    """

    flows: Flows | None
    append: Any
    overwrite: Any
    part: Any
    seen_first: Any
    stop: Any

    def history(self, x: Tensor) -> Any:
        """What ``history_of`` says; of what has no history the lineage, where derivatives are followed."""
        if self.flows is None:
            return history_of(x)
        found = None if is_unrecorded(x) else history_of(x)
        return self.flows.history(x) if found is None else found

    def followed(self, x: Tensor, variable: Variable, key: Key, flows: Flows) -> Value:
        """The value of a tensor, where derivatives are followed: that of its lineage."""
        history, known = self.history(x), variable.windows.setdefault(key, {})
        found = known.get(history)
        if found is None:
            lineage = flows.lineage(x)
            found = self.of_lineage(variable, key, lineage, flows)
            if not is_unrecorded(x):
                if requires_grad(x):
                    found = found if lineage in known else self.stop(found, history)
                elif lineage is None and found.requires_grad:
                    found = self.unrecorded(found, flows)  # such an alias has no history, and tangents
            known[history] = found
            flows.note(history, x)
        if mode.enabled and (found in flows.silent or is_unrecorded(x)):
            return self.unrecorded(found, flows)
        return found

    def of_lineage(self, variable: Variable, key: Key, lineage: Mark | None, flows: Flows) -> Value:
        """The value that lies at a place for the tensors of a lineage."""
        found = flows.by_lineage(variable.windows.get(key, {})).get(lineage)
        if found is not None:
            return found
        whole = flows.by_lineage(variable.windows.get(variable.root, {})).get(lineage)
        if whole is not None and key != variable.root:
            require_inside(variable, key)
            found = self.part(whole, variable.root, key)
        elif lineage is None:
            found = variable.value if key == variable.root else next(iter(self.seen_first(variable, key).values()))
        else:
            found = self.cut(self.of_lineage(variable, key, None, flows), flows)
        variable.windows.setdefault(key, {})[WRITTEN if lineage is None else lineage] = found
        return found

    def cut(self, value: Value, flows: Flows) -> Value:
        """A value without derivatives."""
        if value not in flows.tangible and value.requires_grad is False:
            return value
        if value not in flows.stops:
            flows.stops[value] = self.append(Node(STOP, (value,), {}, [value.layout], flags=[False]))
        return flows.stops[value]

    def unrecorded(self, value: Value, flows: Flows) -> Value:
        """A value without a gradient."""
        if value not in flows.silent and not flows.has_gradient(value):
            return value
        if value not in flows.unrecorded:
            flows.unrecorded[value] = self.append(Node(UNRECORDED, (value,), {}, [value.layout], flags=[False]))
        return flows.unrecorded[value]

    def written(self, variable: Variable, lineage: Mark | None, before: Value, value: Value, flows: Flows) -> dict[Any, Value]:
        """The values of all lineages behind a write through one of them, that of who made the memory first.

        Args:
            before, value: of that lineage.
        """
        every = flows.by_lineage(variable.windows.get(variable.root, {}))
        if None not in every:
            every[None] = variable.value
        own = value if mode.enabled or not flows.has_gradient(before) else self.overwrite(before, value)
        found = {lineage: own}
        for other, old in every.items():
            if other is not lineage:
                kept = flows.has_gradient(old) or old in flows.tangible
                found[other] = self.overwrite(old, value, True) if kept else self.cut(value, flows)
        main = found.pop(None)
        return {WRITTEN: main, **found}
