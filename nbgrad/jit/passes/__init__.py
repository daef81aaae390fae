"""Rewritings of graphs, which compute the same numbers afterwards, bit for bit: ``simplify.py`` has those that make them smaller.

NOTE [Same numbers]: a pass changes no bit of a result: no sign of a zero, no rounding, no dtype, no stride. Of NaN it is kept that
it is one, and not which: operations do not promise that either. Nor does it change which results share memory, and which of them
are an argument. It may change which of several equal values gradients flow through, and in which order they are added: graphs are
differentiated first, and simplified then.
"""

from __future__ import annotations

from .rewriting import owners, recorded_owners
from .simplify import simplify

__all__ = ["owners", "recorded_owners", "simplify"]
