"""``nbgrad.serialization``, as ``torch.serialization``: saving, loading, and what files may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...tensors.storage import Device
from . import load, save
from .trusted import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

# What ``load`` takes as ``map_location``.
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | Device | str | Mapping[str, str] | None

# Programs give it as ``pickle_protocol`` of ``save``.
DEFAULT_PROTOCOL = 2
