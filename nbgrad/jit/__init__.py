"""Graphs of programs: capture, differentiation, compilation."""

from __future__ import annotations

from .associative import associative_scan
from .capture import trace
from .checker import check
from .compile import compile
from .control_flow import cond, map, scan, while_loop
from .differentiate import Gradient, differentiate, is_differentiable, update_requires_grad
from .equality import difference, same
from .graph import Graph
from .hosts import print
from .linear import jvp, linearize, transpose
from .live import compiled_autograd
from .parser import parse

__all__ = [
    "Gradient",
    "Graph",
    "associative_scan",
    "check",
    "compile",
    "compiled_autograd",
    "cond",
    "difference",
    "differentiate",
    "is_differentiable",
    "jvp",
    "linearize",
    "map",
    "parse",
    "print",
    "same",
    "scan",
    "trace",
    "transpose",
    "update_requires_grad",
    "while_loop",
]
