"""Graphs of programs: capture, differentiation, compilation.

What a program names is imported when it first does, so that a first call waits for nothing that it does not use
(benchmarks/test_startup.py).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..base.late_names import late_names

if TYPE_CHECKING:
    from .associative import associative_scan
    from .capture.tracing import trace
    from .compile import compile
    from .control_flow import cond, map, scan, while_loop
    from .differentiate import Gradient, differentiate, is_differentiable, update_requires_grad
    from .differentiation.linear import jvp, linearize, transpose
    from .ir.checker import check
    from .ir.equality import difference, same
    from .ir.graph import Graph
    from .live import compiled_autograd
    from .loading import load
    from .nodes.hosts import print
    from .saving import save
    from .text.parser import parse

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
    "load",
    "map",
    "parse",
    "print",
    "same",
    "save",
    "scan",
    "trace",
    "transpose",
    "update_requires_grad",
    "while_loop",
]

_NAMES = {
    ".associative": ("associative_scan",),
    ".ir.checker": ("check",),
    ".compile": ("compile",),
    ".control_flow": ("cond", "map", "scan", "while_loop"),
    ".differentiate": ("Gradient", "differentiate", "is_differentiable", "update_requires_grad"),
    ".ir.equality": ("difference", "same"),
    ".ir.graph": ("Graph",),
    ".nodes.hosts": ("print",),
    ".differentiation.linear": ("jvp", "linearize", "transpose"),
    ".live": ("compiled_autograd",),
    ".loading": ("load",),
    ".text.parser": ("parse",),
    ".saving": ("save",),
    ".capture.tracing": ("trace",),
    "..utilities.scripting": (
        *(
            "Attribute",
            "Error",
            "Final",
            "ScriptFunction",
            "ScriptModule",
            "TracerWarning",
            "_overload",
            "_overload_method",
            "_script_if_tracing",
            "annotate",
            "optimized_execution",
            "export",
            "fork",
            "freeze",
            "ignore",
            "interface",
            "is_scripting",
        ),
        *("is_tracing", "isinstance", "optimize_for_inference", "script", "script_if_tracing", "script_method"),
        *("set_fusion_strategy", "strict_fusion", "unused", "wait"),
    ),
}
__getattr__, __dir__ = late_names(__name__, _NAMES)


class _Package(ModuleType):
    """A package that does not take a module of its own for the function of the same name, once that module is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, ModuleType) or not any(name in public for public in _NAMES.values()):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
