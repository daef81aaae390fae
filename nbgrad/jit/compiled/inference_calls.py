"""Compiled functions inside of ``inference_mode``: what was captured runs on plain tensors, and its results are inference tensors.

A result is what the function would return: what lies on new memory is marked, an argument is that argument, and what lies on the
memory of an argument, or of a tensor that the function names, is a tensor like it: NOTE [Inference tensors] of modes/inference.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.grad_mode import mode
from ...base.mode_contexts import inferring
from ...modes.inference import StandIns, finish_inside, plainly, replaced
from .special_modes import active_modes, is_observed

if TYPE_CHECKING:
    from ..compile import Compiled

__all__ = ["beside_inference_alone", "call_in_inference", "in_inference_alone"]


def is_inference_alone() -> bool:
    """Whether inference mode, of some threads, is all that lets calls mean something else than usual."""
    modes = active_modes()
    return len(modes) == 1 and modes[0] is inferring and not is_observed()


def in_inference_alone() -> bool:
    """Whether this thread is one of them."""
    return mode.inference and is_inference_alone()


def beside_inference_alone() -> bool:
    """Whether this thread is none of them: its calls mean what they always do."""
    return not mode.inference and is_inference_alone()


def call_in_inference(compiled: Compiled, args: tuple, kwargs: dict) -> Any:
    """A call of a compiled function in the mode: one that records nothing, of plain tensors."""
    stand_ins = StandIns(False)
    given, named = replaced(args, stand_ins), replaced(kwargs, stand_ins)
    inferring.leave()  # where no other thread is in the mode, calls go their quick way
    try:
        made = plainly(compiled, *given, **named)
    finally:
        inferring.enter()
    variants = compiled.variants
    if not variants:  # it ran as it is, and nothing tells what is new
        return made
    known = {id(x._storage_) for variant in variants for x in variant.program.constants}
    return finish_inside(made, (args, kwargs), stand_ins, known)
