"""The text of quick calls in forward mode: what is asked of operands and tangents, the launch, the tangent of the result.

NOTE [Dual plans] of fast_path.py says what is launched.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from ..base.grad_mode import dual_levels, mode
from ..dispatch.generated import compile_text
from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor, native
from .tangents import DualLevel, dual_meta, sight, tangent_of

__all__ = ["HOLD_TEXT", "KEEP_TEXT", "MANY", "compiled", "hold_new", "launch_text", "sole_tangent", "would_record"]

# What the texts below know of an operand: its layout, its tangent and the layout of that. A loop over operands takes longer.
OPERAND_TEXT = """
    if isinstance({x}, Tensor):
        l_{x}, meta = {x}.layout, {x}._meta_
        if meta is None: t_{x} = k_{x} = None
        else:
            t_{x} = meta.tangent.get(number) if alone and meta.tangent else None
            if t_{x} is None and (meta.base is not None or not alone):
                t_{x} = sole_tangent({x}, level)
                if t_{x} is MANY: return None
            if t_{x} is None: k_{x} = None
            else:
                k_{x} = t_{x}.layout
                if t_{x}._needs_grad_: recorded = True
        if {x}._needs_grad_: recorded = True
    else: {otherwise}
"""
# All calls: what operands and tangents are; without a tangent the ordinary call; what is recorded, elsewhere; the plan by the key
# of layouts, or the program; its launch; the tangent of the result.
CALL_TEXT = """def call({parameters}):
    number, recorded = level.number, False
{given}{operands}{first}
    if {none}: return {without}
{key}
    if {recorded} and would_record(({inputs}, {tangents})): return {long_way}
{find}
{launch}
    return out
"""
# What ``keep`` does with a result's meta, without its frame.
KEEP_TEXT = """
    level.holders.append(ref(meta))
    if len(level.holders) > level.most: level.keep(meta)"""
HOLD_TEXT = """    {out}._meta_ = meta = dual_meta({{number: t}})""" + KEEP_TEXT
FIND_TEXT = """    plan = plans.get(key)
    if plan is None: plan = plans.made(key)
    if not plan: return None"""


def compiled(label: str, names_in_text: dict[str, Any], names: list[str], otherwise: str, **parts: str) -> Any:
    """A function made of ``CALL_TEXT``.

    Args:
        names_in_text: what its parts mention, beside ``NAMES``.
        names: of the operands.
        otherwise: what is done with one that is no tensor.
        parts: of the text, where they are not those of an elementwise call.
    """
    tangents = [f"t_{x}" for x in names]
    usual = {
        "given": "",
        "first": "",
        "none": " and ".join(f"{t} is None" for t in tangents),
        "key": f"    key = ({''.join(f'l_{x}, k_{x}, ' for x in names)})",
        "recorded": "recorded and mode.enabled",
        "inputs": ", ".join(names),
        "tangents": ", ".join(tangents),
        "long_way": "None",
        "find": FIND_TEXT,
    }
    operands = "".join(OPERAND_TEXT.format(x=x, otherwise=otherwise.format(x=x)) for x in names)
    text = CALL_TEXT.format(operands=operands, **usual | parts)
    scope = {**NAMES, **names_in_text}
    exec(compile_text(text, label), scope)
    return scope["call"]


def launch_text(head: str, tangents: list[str]) -> str:
    """Source of a call: ``head``, then those of the ``tangents`` that are not None, of which there is at least one."""
    every = " and ".join(f"{t} is not None" for t in tangents)
    several = f"{head}*[t for t in ({', '.join(tangents)},) if t is not None])"
    one = f"{head}{tangents[0]}) if {tangents[0]} is not None else {head}{tangents[1]})" if len(tangents) == 2 else several
    return f"{head}{tangents[0]})" if len(tangents) == 1 else f"{head}{', '.join(tangents)}) if {every} else {one}"


def hold_new(out: Tensor, tangent: Tensor, level: DualLevel) -> None:
    """Give a new result its tangent."""
    out._meta_ = dual_meta({level.number: tangent})
    level.keep(out._meta_)


MANY: Any = object()


def sole_tangent(x: Tensor, level: DualLevel) -> Any:
    """The tangent of ``x`` at the innermost level.

    Returns:
        ``MANY`` where this thread also sees a tangent at another level, or one that is dual itself.
    """
    meta = x._meta_
    held = meta.tangent
    if meta.base is None and not held:
        return None
    if has_other_tangent(x, level):
        return MANY
    number = level.number
    if number >= sight.below:
        return None
    t = held.get(number) if held else None
    if t is None:  # a view may inherit from its base
        t = None if meta.base is None else tangent_of(x, number)
    if t is not None and (t.layout.special or t._meta_ is not None and has_other_tangent(t, level)):
        return MANY
    return t


def has_other_tangent(x: Tensor, level: DualLevel) -> bool:
    """Whether this thread sees a tangent of ``x`` at another level than ``level``, which was the innermost a moment ago."""
    below = sight.below
    for other in dual_levels[:]:
        if other is not level and other.number < below and tangent_of(x, other.number) is not None:
            return True
    return False


def would_record(tensors: tuple) -> bool:
    """Whether a call of these would be recorded."""
    for x in tensors:
        if isinstance(x, Tensor) and x._needs_grad_ and requires_grad(x):
            return True
    return False


# What every text mentions.
NAMES = {
    "Tensor": Tensor,
    "mode": mode,
    "ref": ref,
    "fresh": native.fresh,
    "dual_meta": dual_meta,
    "MANY": MANY,
    "sole_tangent": sole_tangent,
    "would_record": would_record,
}
