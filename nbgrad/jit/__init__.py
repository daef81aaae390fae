"""Graphs of programs: capture, differentiation, compilation."""

from __future__ import annotations

from .capture import trace
from .checker import check
from .compile import compile
from .control_flow import associative_scan, cond, map, scan, while_loop
from .equality import difference, same
from .graph import Graph
from .parser import parse

__all__ = [
    "associative_scan",
    "cond",
    "while_loop",
    "Graph",
    "check",
    "compile",
    "difference",
    "map",
    "parse",
    "same",
    "scan",
    "trace",
]
