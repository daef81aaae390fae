"""A kernel that takes as long as it is told, to look whether others wait for it."""

from __future__ import annotations

from functools import cache

from .access import Access
from .templates import Template, compile_template

__all__ = ["spin"]


@cache
def spin() -> Template:
    """out[0] = 2, the end of ``turns`` steps x / 2 + 1, each of which needs the one before. One thread of one block works."""
    store = Access("store", "float32")
    function = compile_template(
        "spin",
        f"""
def NAME(out0, turns):
    if cuda.threadIdx.x == 0:
        x = scalar(1.0)
        for _ in range(turns):
            x = x * 0.5 + 1.0
        {store.name}(out0, 0, x)
""",
    )
    return Template("spin", function, ("float32",), 0, frozenset((store,)))
