"""Graphs of programs: capture, differentiation, compilation."""

from __future__ import annotations

from .capture import trace
from .equality import difference, same
from .graph import Graph
from .parser import parse

__all__ = ["Graph", "difference", "parse", "same", "trace"]
