"""Graphs for people and for files: written as Python, read from it, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.late_names import late_names

if TYPE_CHECKING:
    from .text import namespace

__all__ = ["namespace"]

__getattr__, __dir__ = late_names(__name__, {".text": ("namespace",)})
