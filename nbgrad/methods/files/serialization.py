"""``nbgrad.serialization``, as ``torch.serialization``: saving, loading, and what files may name."""

from __future__ import annotations

from . import load, save
from .trusted import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
