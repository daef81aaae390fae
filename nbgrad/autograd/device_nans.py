"""Anomaly mode on GPUs: NaN are looked for on the device, where the results are, and asked for once, when a pass is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..base.calls import CALLS
from ..base.grad_mode import mode
from ..graph.edges import Node
from ..graph.task import state
from ..tensors.batch_levels import whole
from ..tensors.tensor import Tensor, native, values_if_sparse

__all__ = ["DeviceSearch"]


class DeviceSearch:
    """What the nodes of one pass return on GPUs.

    Attributes:
        flags: node, position of the result, and whether that holds a NaN: a number on the GPU.
    """

    def __init__(self) -> None:
        self.flags: list[tuple[Node, int, Tensor]] = []

    @staticmethod
    def begin() -> DeviceSearch:
        """The search of a pass that begins."""
        made = DeviceSearch()
        _searching.passes.append(made)
        return made

    @staticmethod
    def innermost() -> DeviceSearch:
        """That of the pass which this thread runs."""
        return _searching.passes[-1]

    def end(self) -> None:
        """The pass is over."""
        _searching.passes.remove(self)

    def look(self, results: Any) -> None:
        """Begin to look at what a node returned."""
        for position, x in enumerate(results if type(results) in (tuple, list) else (results,)):
            if (
                isinstance(x, Tensor)
                and x.layout.memory is not None
                and not x.is_meta
                and x.layout.dtype.differentiable
                and x.numel()
            ):
                self.flags.append((state.node, position, flag_of(x)))

    def finish(self, refuse: Callable[[Node, int], None]) -> None:
        """Wait for what was found; ``refuse`` the first node that returned NaN."""
        flags, self.flags = self.flags, []
        found: dict[int, bool] = {}
        for device in dict.fromkeys(flag.layout.device for _, _, flag in flags):
            numbers = [k for k, (_, _, flag) in enumerate(flags) if flag.layout.device is device]
            found.update(zip(numbers, CALLS["stack"]([flags[k][2] for k in numbers]).tolist()))
        for k, (node, position, _) in enumerate(flags):
            if found[k]:
                state.node = node
                refuse(node, position)


def flag_of(x: Tensor) -> Tensor:
    """Whether a tensor on a GPU holds a NaN; nothing is recorded, and nobody waits."""
    enabled, mode.enabled = mode.enabled, False
    try:
        flag: Tensor = CALLS["any"](CALLS["isnan"](native.alias(whole(values_if_sparse(x)))))
        return flag
    finally:
        mode.enabled = enabled


class Searching(threading.local):
    """The searches of this thread's passes, the innermost last."""

    def __init__(self) -> None:
        self.passes: list[DeviceSearch] = []


_searching = Searching()
