"""Which values of a graph derivatives may flow through, where the capture records none.

NOTE [Flows]: a graph may be differentiated by an input that required no gradient when it was captured, and then has no history
that would tell where gradients stop. Such a capture (``derivable``) keeps by itself what depends on its inputs: behind ``detach``
neither gradients nor tangents flow, which ``stop`` says; what is computed under ``no_grad`` has tangents and no gradient, which
``unrecorded`` says where it is read by somebody who records. What needs a gradient is known by its history.
"""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from ..ir.histories import STOP, UNRECORDED, WRITTEN, Mark, continued
from ..ir.ir import Node, Value

__all__ = ["Flows"]


class Flows:
    """What depends on the inputs of a graph.

    Attributes:
        tangible: values into which tangents flow; ``open``: into which gradients would flow from inputs that require none.
        silent: values that would be open, had they been recorded.
        stops: of values that were detached, those that this gives.
        marks: what stands for the histories of tensors that have none, by identity of these.
    """

    def __init__(self) -> None:
        self.tangible = set[Value]()
        self.open = set[Value]()
        self.silent = set[Value]()
        self.stops: dict[Value, Value] = {}
        self.marks: dict[int, Mark] = {}

    def mark(self, x: Tensor, detached: bool = False) -> Mark:
        """Tell a tensor from others on its memory, from now on."""
        made = self.marks[id(x)] = Mark(x, detached)
        return made

    def mark_of(self, x: Tensor) -> Mark | None:
        """The mark of a tensor, or of the detached one that it is a part of."""
        if not self.marks:
            return None
        whole = self.marks.get(id(x if x._meta_ is None or x._meta_.base is None else x._meta_.base))
        return self.marks.get(id(x)) or (whole if whole is not None and whole.detached else None)

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
        if not self.tangible.isdisjoint(node.values()):
            self.tangible.update(outs)
        if node.op is UNRECORDED:
            return
        if recorded and not read.isdisjoint(self.open):
            self.open.update(outs)
        elif not (read.isdisjoint(self.open) and read.isdisjoint(self.silent)):
            self.silent.update(outs)

    def kept(self, known: dict[Any, Value], detached: bool, recorded: bool) -> dict[Any, Value]:
        """The values in memory, by their histories, of which a write there leaves the derivatives as they were.

        Args:
            known: of tensors that require no gradient. detached: whether it is a write through what was detached.
        """
        if not detached and recorded:
            return {}
        value = known.get(None) or known.get(WRITTEN)
        through = self.tangible if detached else self.open
        return {None: value} if value is not None and value.requires_grad is False and value in through else {}
