"""Debugging: ``NBGRAD_DEBUG`` shows what runs, ``NBGRAD_CHECK`` checks it, ``explain`` tells an error of a backward pass at length.

The first two are special modes (``special`` in base/grad_mode.py): while one is on, every call takes the general path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import engine
from .anomaly import explain, has_nan
from .base import config
from .base.errors import KernelError
from .base.grad_mode import special, traces
from .dispatch.launches import capture
from .graph.rule import name_of
from .tensors.choices import current, opened
from .tensors.overlap import span
from .tensors.tensor import Tensor

__all__ = ["Tracer", "Checker", "activate", "explain"]


def describe(x: Any) -> str:
    """A tensor by dtype, shape and strides; anything else by its repr."""
    if isinstance(x, Tensor):
        layout = x.layout
        strides = "" if layout.contiguous else f" strides {list(layout.strides)}"
        return f"{layout.dtype.name}{list(layout.shape)}{strides}"
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(describe, x))})"
    return repr(x)


class Tracer:
    """Prints every operation: name, operands, result."""

    looks_on = True  # calls are what they are without it

    def seen(self, op, operands: tuple, out: Any) -> None:
        """Called after each call."""
        print(f"nbgrad: {op.name}({', '.join(map(describe, operands))}) -> {describe(out)}", file=sys.stderr)

    def recorded(self, node) -> None:
        """Called with each new node."""
        print(f"nbgrad:   recorded {name_of(node)} seq {node._seq_}", file=sys.stderr)


class Checker:
    """Verifies every call: operands and results lie inside their storage; no NaN appears on the CPU from operands that have none.

    It waits for GPUs after each call, and after each node of a pass, so that what a kernel finds wrong is raised there.
    """

    looks_on = True

    def seen(self, op, operands: tuple, out: Any) -> None:
        """Called after each call; of a capture that puts the launch off, without a look at elements.

        Raises:
            KernelError: a tensor reaches beyond its memory, a NaN was made, or a GPU failed.
            DimError or whatever the operation raises on the CPU: an element was wrong.
        """
        wait_for_gpus(op.name)
        given = list(flat(operands))
        results = [x for x in flat(out) if isinstance(x, Tensor)]
        for x in (*given, *results):
            if isinstance(x, Tensor) and x.layout.numel:
                low, high = span(x)
                if low < 0 or high > x._storage_.array.nbytes:
                    raise KernelError(
                        f"{op.name}: {describe(x)} reaches bytes {low} to {high} of a storage of {x._storage_.array.nbytes}."
                    )
        found = capture() if traces else None
        if found is not None and found.lazy:
            return  # nothing is in the results yet, and perhaps never
        if not op.tells_by_nan and any(map(holds_nan, results)) and not any(map(may_hold_nan, given)):
            raise KernelError(f"{op.name}: made a NaN of operands that have none: {', '.join(map(describe, operands))}.")

    def recorded(self, node) -> None:
        """Nodes need no check."""

    def watch(self, run: Callable, settle: Callable) -> tuple[Callable, Callable]:
        """What runs nodes in the place of ``run``: see ``watchers`` of engine.py."""

        def checked_run(node: Any, g: Any, create_graph: bool, task: Any) -> Any:
            results = run(node, g, create_graph, task)
            wait_for_gpus(name_of(node))
            return results

        return checked_run, settle


def wait_for_gpus(name: str) -> None:
    """Wait until all GPUs that are in use have nothing to do, unless this thread captures what it does.

    Raises:
        KernelError: one failed; the message names the operation, or the node, ``name``. Errors of elements are the operation's.
    """
    if current.capture is not None:
        return
    try:
        for heap in opened:
            heap.card.finish()
    except KernelError as error:
        raise KernelError(f"{name}: {error}") from None


def flat(x: Any) -> Iterator[Any]:
    """The tensors and numbers in nested tuples and lists."""
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from flat(part)
    else:
        yield x


def holds_nan(x: Any) -> bool:
    """Whether a tensor or a number is a NaN somewhere."""
    return has_nan(x) if isinstance(x, Tensor) else isinstance(x, (float, complex)) and x != x


def may_hold_nan(x: Any) -> bool:
    """The same, of what lies on the CPU; a tensor on a GPU, whose elements are not looked at, may."""
    return isinstance(x, Tensor) and x.is_cuda or holds_nan(x)


def activate() -> None:
    """Switch on what the environment asks for."""
    if config.DEBUG >= 1:
        special.append(Tracer())
    if config.CHECK:
        checker = Checker()
        special.append(checker)
        engine.watchers.append(checker)
