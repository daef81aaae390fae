"""Calls in modes that let them pass, or only look at what they record: saved-tensor hooks, mixed precision.

NOTE [Passing]: these fast paths (see NOTE [Fast path] of modes/interpreters.py) are those of calls whose operands concern nobody.
They do what the interpreters would come to in the end: the operation itself, on the operands as they are, or converted.
"""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.grad_mode import special
from ..graph.edges import next_seq
from ..graph.saved_hooks import EnteredHooks
from ..modes.autocast import OUTSIDE, CastingPresence, casting, conversion_for, may_convert, presence
from ..modes.interpreters import FastPath, announce, fast_paths, is_marked
from ..ops.core import General, Op
from ..ops.precision import PRECISION
from ..tensors.tensor import Tensor
from .elementwise import launched

__all__: list[str] = []

ALONE = [presence]  # what ``special`` is while there is no other mode than mixed precision


def is_plain(op: Op, operands: tuple, attributes: dict | None) -> bool:
    """Whether no operand concerns an interpreter: none is marked, of an overriding type, or read with lazy bits."""
    if is_marked(operands):
        return False
    if attributes is None:
        return True
    if not isinstance(op, General):
        return False
    for x in attributes.values():
        if isinstance(x, (Tensor, tuple, list)) and is_marked((x,)):
            return False
    return op.resolves or not any(isinstance(x, Tensor) and (x.layout.conj or x.layout.neg) for x in operands)


def passed(op: Op, operands: tuple, attributes: dict | None) -> Any:
    """The call itself, for operands that are plain."""
    if attributes is None:
        return launched(op, operands)  # type: ignore[arg-type]
    call = CALLS[op.name].plain.__self__
    call.require_tensors(operands)
    return call.execute(operands, attributes)


# ---- saved-tensor hooks ------------------------------------------------------------------------------------------------


def are_hooks_alone() -> bool:
    """Whether there is no other mode than saved-tensor hooks."""
    for active in special[:]:
        if type(active) is not EnteredHooks:
            return False
    return True


def known_under_hooks(op: Any, operands: tuple) -> Any:
    """An elementwise call, natively: the hooks see the node that it recorded (benchmarks/test_checkpoint.py)."""
    if op.kind != "elementwise" or not are_hooks_alone():
        return None
    mark = next_seq()
    out = CALLS[op.name].caller.natively(operands)
    if out is not None:
        announce(out, mark)
    return out


def call_under_hooks(op: Op, operands: tuple, attributes: dict | None) -> Any:
    """Any other call of plain operands."""
    if not are_hooks_alone() or not is_plain(op, operands, attributes):
        return None
    mark = next_seq()
    out = passed(op, operands, attributes)
    announce(out, mark)
    return out


fast_paths[EnteredHooks] = FastPath(known_under_hooks, call_under_hooks)


# ---- mixed precision ---------------------------------------------------------------------------------------------------


def is_converted(op: Op, operands: tuple) -> bool:
    """Whether the region of this thread may convert operands of a call."""
    if not may_convert(op.name):
        return False
    first = operands[0]
    return not isinstance(first, Tensor) or PRECISION[op.name][first.device.type] != ""


def known_in_region(op: Any, operands: tuple) -> Any:
    """An elementwise call that is not converted, natively."""
    if special != ALONE or op.kind != "elementwise" or is_converted(op, operands):
        return None
    return CALLS[op.name].caller.past_modes(*operands)


def call_in_region(op: Op, operands: tuple, attributes: dict | None) -> Any:
    """Any other call of plain operands: converted if it is of the lists, and done where no region holds."""
    if special != ALONE or not is_plain(op, operands, attributes):
        return None
    if not is_converted(op, operands):
        return passed(op, operands, attributes)
    if any(isinstance(x, (tuple, list)) for x in operands):
        return None
    cast = conversion_for(op.name, [x for x in operands if isinstance(x, Tensor)], attributes)
    if cast is None:
        return passed(op, operands, attributes)
    region = casting.enter(OUTSIDE)  # where no other thread is in one, calls go their quick way again
    try:
        return CALLS[op.name](*map(cast, operands), **(attributes or {}))
    finally:
        casting.enter(region)


fast_paths[CastingPresence] = FastPath(known_in_region, call_in_region)
