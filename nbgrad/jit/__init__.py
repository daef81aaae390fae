"""Graphs of programs: capture, differentiation, compilation."""

from __future__ import annotations

from .capture import trace
from .compile import compile
from .graph import Graph

__all__ = ["Graph", "compile", "trace"]
