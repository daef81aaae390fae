"""Complex numbers put together from their parts, on a GPU."""

from __future__ import annotations

from ..complex import parts_of
from .join import place_steps
from .registry import lowering

__all__: list[str] = []


@lowering("complex")
def _complex(op, layouts, attributes):
    whole, parts, seen = parts_of(*layouts)
    return (whole,), place_steps(seen, list(enumerate(parts)) if whole.numel else [], zero=False)
