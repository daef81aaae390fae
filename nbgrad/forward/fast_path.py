"""Fast path in forward mode: calls of a known kind compute value and tangent at once.

A *dual* tensor is one with a tangent. The results are those of ``autograd/forward_ad.py``, the interpreter of forward mode, which
takes all other calls: where the tangent of an elementwise call is recorded, where there are tangents of several levels, where
another mode is concerned too.

NOTE [Dual plans]: how calls of a kind are done.
  elementwise   a plan is found by the layouts of the operands and of their tangents. Its kernel is generated from two expressions
                of the declaration, the result and its derivative ``Op.jvp``, and passes over memory once;
  movement      the plan of the operand's view makes that of the tangent too;
  the others    a program, found by the layouts of operands and tangents and by attributes (forward/programs.py), from the third
                call of a kind on. Before that, and where there is none: a linear operation takes its ordinary plan, or its run,
                once for the operands and once for every group of tangents in their places; any other does what forward_ad does
                (``call_then_tangents``).

What that is worth: benchmarks/test_forward.py.
"""

from __future__ import annotations

from typing import Any

from ..base.bounded import Plans
from ..base.grad_mode import dual_levels, mode, special
from ..batch.fast_path import known_batched
from ..modes.batched import Batched
from ..modes.interpreters import FastPath, fast_paths
from .elementwise_calls import elementwise_calls, quick_dual_write
from .long_calls import unseen_call
from .program_calls import dual_composite, dual_general, dual_movement, joining_call
from .tangents import DualLevel, sees_tangent, sight

__all__ = ["fast_dual"]


def fast_dual(op: Any, operands: tuple, attributes: dict | None) -> Any:
    """The result of a call, with its tangent if an operand has one; None where forward_ad must look."""
    if special != dual_levels or type(operands[0]) is Batched or type(operands[-1]) is Batched:  # batch/ knows
        return None
    try:
        level, outermost = dual_levels[-1], dual_levels[0]
    except IndexError:  # another thread has closed its level just now
        return None
    below = sight.below
    alone = outermost is level and level.number < below
    if attributes is None:
        return elementwise_calls[op, len(operands)](op, level, alone, True, *operands)
    if below <= outermost.number:
        out = unseen_call(op, operands, attributes)
        if out is not None:
            return out
    return _calls[op](op, operands, attributes, level, alone)


def dual_call(op: Any) -> Any:
    """``call(op, operands, attributes, level, alone)`` of an operation that is not elementwise."""
    return joining_call if op.variadic else dual_movement(op) if op.kind == "movement" else dual_general(op)


_calls = Plans(dual_call)


def known_dual(op: Any, operands: tuple) -> Any:
    """A call that is known before its operands are looked at; None of any other.

    These are elementwise calls with a plan for the kinds of operands and tangents, elementwise calls without tangents (done as they
    are without a mode), and composites that have a program.
    """
    if special != dual_levels or mode.inference:
        return None
    try:
        level, outermost = dual_levels[-1], dual_levels[0]
    except IndexError:  # another thread has closed its level just now
        return None
    alone = outermost is level and level.number < sight.below
    if op.kind == "composite":
        return dual_composite(op, operands, level) if alone else None
    if type(operands[0]) is Batched or type(operands[-1]) is Batched:
        return known_batched(op, operands)
    return elementwise_calls[op, len(operands)](op, level, alone, False, *operands)


fast_paths[DualLevel] = FastPath(known_dual, fast_dual, quick_dual_write, sees_tangent)
