"""The names of ``torch.autograd``: backward and grad, custom Functions, forward mode, gradcheck."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .entry import backward, grad
from .gradcheck import gradcheck, gradgradcheck
from .old_names import Variable, VariableMeta, variable

__all__ = ["backward", "grad", "gradcheck", "gradgradcheck", "Variable", "VariableMeta", "variable"]


def __getattr__(name: str) -> Any:
    """The names of the package: programs look for ``Function``, ``graph`` and their like here."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(import_module("nbgrad"), name)
    except AttributeError:
        if (below := sys.modules.get(f"{__name__}.{name}")) is None:
            raise
        return below
