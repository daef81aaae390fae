"""torch.fx.passes: what programs compute from graphs."""

from __future__ import annotations

from ...methods.namespaces import module_below
from . import shape_prop

__all__ = ["shape_prop"]


def __getattr__(name: str) -> object:
    return module_below(__name__, name)
