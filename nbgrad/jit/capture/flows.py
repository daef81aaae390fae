"""Which values of a graph derivatives may flow through, where the capture records none.

NOTE [Flows]: a graph may be differentiated by an input that required no gradient when it was captured, and then has no history
that would tell where gradients stop. Such a capture (``derivable``) keeps by itself what depends on its inputs: behind ``detach``
neither gradients nor tangents flow, which ``stop`` says; what is computed under ``no_grad`` has tangents and no gradient, which
``unrecorded`` says where it is read by somebody who records. What needs a gradient is known by its history.

NOTE [Lineages]: tensors on one memory that are views of one another share derivatives, too: they are of one lineage. A tensor that
was detached begins another one. A write gives new elements to all lineages of the memory, and derivatives only to that of the
tensor through which it is made: under ``no_grad`` tangents alone. So a memory has as many values as it has lineages.
"""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import NO_GRAD, Tensor
from ..ir.histories import STOP, UNRECORDED, WRITTEN, Mark, continued
from ..ir.ir import Node, Value

__all__ = ["Flows", "is_unrecorded"]


class Flows:
    """What depends on the inputs of a graph.

    Attributes:
        tangible: values into which tangents flow; ``open``: into which gradients would flow from inputs that require none.
        silent: values that would be open, had they been recorded.
        stops: of values that were detached, those that this gives; ``unrecorded``: of values, those without a gradient.
        marks: what stands for the lineages of detached tensors, by identity of these; ``lineages``: those of histories.
    """

    def __init__(self) -> None:
        self.tangible = set[Value]()
        self.open = set[Value]()
        self.silent = set[Value]()
        self.stops: dict[Value, Value] = {}
        self.unrecorded: dict[Value, Value] = {}
        self.marks: dict[int, Mark] = {}
        self.lineages: dict[Any, Mark] = {}

    def mark(self, x: Tensor) -> None:
        """A tensor begins a lineage, from now on."""
        self.marks[id(x)] = Mark(x)

    def lineage(self, x: Tensor) -> Mark | None:
        """The lineage of a tensor; None: that of who made the memory."""
        if not self.marks:
            return None
        whole = x if x._meta_ is None or x._meta_.base is None else x._meta_.base
        return self.marks.get(id(x)) or self.marks.get(id(whole))

    def history(self, x: Tensor) -> Any:
        """What stands for the history of a tensor that has none."""
        lineage = self.lineage(x)
        return ("unrecorded", lineage) if is_unrecorded(x) else lineage

    def note(self, history: Any, x: Tensor) -> None:
        """A tensor has a history, by which its lineage is found."""
        lineage = self.lineage(x)
        if lineage is not None:
            self.lineages[history] = lineage

    def begin(self, value: Value) -> None:
        """An input."""
        if value.layout is not None and value.layout.dtype.differentiable:
            self.tangible.add(value)
            if value.requires_grad is False:
                self.open.add(value)

    def follow(self, node: Node, recorded: bool) -> None:
        """A node was written down.

        Args:
            recorded: whether it was where derivatives are recorded.
        """
        if node.op is STOP:
            return
        read = set(continued(node))
        outs = [value for value in node.outs if value.layout is None or value.layout.dtype.differentiable]
        if not self.tangible.isdisjoint(read if node.attributes.get("detached") else node.values()):
            self.tangible.update(outs)
        if node.op is UNRECORDED:
            return
        if recorded and not read.isdisjoint(self.open):
            self.open.update(outs)
        elif not (read.isdisjoint(self.open) and read.isdisjoint(self.silent)):
            self.silent.update(outs)

    def has_gradient(self, value: Value) -> bool:
        """Whether gradients flow into a value, or would."""
        return value.requires_grad is not False or value in self.open

    def by_lineage(self, known: dict[Any, Value]) -> dict[Mark | None, Value]:
        """The values of a tensor by lineages, of those by histories."""
        found: dict[Mark | None, Value] = {}
        for history, value in known.items():
            if type(history) is tuple and history[0] == "unrecorded":
                continue
            lineage = history if type(history) is Mark else self.lineages.get(history)
            if history is lineage or history is WRITTEN:
                found[lineage] = value
            else:
                found.setdefault(lineage, value)
        return found


def is_unrecorded(x: Tensor) -> bool:
    """Whether a tensor is a view that was made under ``no_grad``: gradients do not flow to its base, tangents are that one's."""
    meta = x._meta_
    return meta is not None and meta.base is not None and meta.creation is NO_GRAD and x._needs_grad_ is not True
