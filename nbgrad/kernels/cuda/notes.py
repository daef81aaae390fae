"""A kernel that notes that a requirement does not hold: NOTE [Errors on the device] of ``steps.py``."""

from __future__ import annotations

from functools import cache

from .access import Access
from .templates import Template, compile_template

__all__ = ["note_unless"]


@cache
def note_unless() -> Template:
    """out = a truth value, of which ``errors`` are told if it does not hold.

    Integer parameters: ``fault``. One block.
    """
    load, store = Access("load", "bool"), Access("store", "bool")
    function = compile_template(
        "note_unless",
        f"""
def NAME(out0, x0, errors, fault):
    if cuda.threadIdx.x == 0:
        holds = {load.name}(x0, 0)
        if not holds:
            note_error(errors, fault, 0)
        {store.name}(out0, 0, holds)
""",
    )
    return Template("note_unless", function, ("bool", "bool", "int64"), 0, frozenset((load, store)))
