"""Values that a captured program asks for: what Python does with them holds while the answers are the same.

NOTE [Values asked for]: a capture runs the program on copies of its arguments, so that whatever Python reads of a tensor (``bool``,
``item``, ``int``, ``tolist``, a mask's positions) is what the call would read. The answer becomes a node ``guard``: a run that
computes other bits stops there, before anything that others see has changed, and the call takes, or captures, another variant.
Of ``bool`` that is one truth value, of ``int`` a whole number; of everything else all bits of a few elements. Operations whose
results have shapes that depend on values (``Op.sized_by_values``) are guarded by the shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import GraphError
from ...modes.traced import capture_of_thread
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from ..ir.devices import elements_there, on_gpu
from ..ir.ir import Block, Control, Node
from ..ir.steps import Guard, Place, Window

if TYPE_CHECKING:
    from ..capture.capture import Trace

__all__ = ["GUARD", "MOST", "Changed", "ask", "elements_of", "guards_of", "numbers_for", "refuse_in_body"]

MOST = 64  # elements that a program may ask for at once


class Changed(GraphError):
    """Values are others than those that the capture went on with."""


def guarded(node: Node, values: dict, x: Tensor, expected: Any) -> tuple:
    """Go on if the elements of a tensor are as expected.

    Raises:
        Changed: they are not.
    """
    trace = capture_of_thread()
    if trace is not None:
        trace.add(GUARD, (trace.value(x),), {"expected": expected}, ())
    elif elements_of(x).tobytes() != expected_bytes(expected, x.layout):
        raise Changed(
            f"guard: the program asked for values at {node.line or 'an unknown line'}, and went on as it does for {expected!r}; "
            f"now there is {elements_of(x).ravel().tolist()!r}. Hint: trace it again."
        )
    return ()


GUARD = Control("guard", guarded, effect="guard")


def elements_of(x: Tensor) -> np.ndarray:
    """The elements as they lie in memory, whatever marks a tensor has; those of a GPU, which is waited for, in a copy."""
    layout = x.layout
    if on_gpu(layout):
        return elements_there(x)
    array = x._storage_.array.view(np.uint8)
    steps = tuple([t * layout.dtype.itemsize for t in layout.strides])
    return np.ndarray(layout.shape, layout.descr, array, x._offset_ if layout.numel else 0, steps)


def expectation(array: np.ndarray) -> Any:
    """Elements in a form that texts spell: numbers in row-major order if these have the same bits, else hexadecimal digits."""
    numbers = tuple(array.ravel().tolist())
    if array.dtype.kind in "biufc" and np.array(numbers, array.dtype).tobytes() == array.tobytes():
        return numbers
    return array.tobytes().hex()


def expected_bytes(expected: Any, layout: Layout) -> bytes:
    """The bytes of what ``expectation`` spelled."""
    return bytes.fromhex(expected) if isinstance(expected, str) else np.array(expected, layout.descr).tobytes()


def numbers_for(x: Any) -> Any:
    """An argument of a movement, which is made of numbers: tensors in it are read."""
    if isinstance(x, Tensor):
        return x.__index__()
    return type(x)(map(numbers_for, x)) if type(x) in (tuple, list) else x


def ask(trace: Trace, op: str, x: Tensor) -> None:
    """Let what follows depend on the elements of a tensor.

    Raises:
        GraphError: these are too many.
    """
    if not x.layout.numel or not trace.variables.is_watched(x):
        return
    value = trace.value(x)
    if value in trace.asked:
        return
    if x.layout.numel > MOST:
        trace.refuse(
            f"{op}: Python reads {x.layout.numel} elements of a tensor",
            f"nbgrad.where chooses by values; up to {MOST} elements may be read",
        )
    trace.asked.add(value)
    trace.add(GUARD, (value,), {"expected": expectation(elements_of(x))}, ())


def refuse_in_body(graph: Block) -> None:
    """Refuse, in a block that runs several times and whose derivatives run it again, what depends on how often it runs.

    Raises:
        GraphError: calls of random generators are taken, or values are asked for.
    """
    for node in graph.nodes:
        effect = node.effect
        if effect == "random":
            what, hint = "random numbers are drawn", "draw outside"
        elif effect == "guard" or getattr(node.op, "sized_by_values", False):
            what, hint = "Python reads values", "nbgrad.where chooses by values"
        else:
            continue
        raise GraphError(f"{what} in the body of a loop or a branch, at {node.line}: a graph cannot hold it. Hint: {hint}.")


def guards_of(node: Node, window: Window) -> list[Guard]:
    """The steps that a guard is, of a value that lies there."""
    layout, size = window.layout, window.layout.dtype.itemsize
    bits = expected_bytes(node.attributes["expected"], layout)
    guards = []
    for k, index in enumerate(np.ndindex(layout.shape)):
        offset = window.place.offset + size * sum(i * t for i, t in zip(index, layout.strides))
        for part in range(0, size, 8):
            word = bits[size * k + part : size * k + min(part + 8, size)]
            expected = int.from_bytes(word, "little", signed=len(word) == 8)
            mask = -1 if len(word) == 8 else (1 << 8 * len(word)) - 1
            guards.append(Guard(Place(window.place.value, offset + part), mask, expected))
    return guards
