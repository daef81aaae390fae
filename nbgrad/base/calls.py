"""The call of every operation by name, for modules that compute with tensors.

Views, accumulation, batching, linear algebra and the like look a call up by its name when they make it, so they need not import
the modules that make calls, which lie above them. The module that defines a call enters it here, once.

    >>> from nbgrad.base.calls import CALLS
    >>> CALLS["add"](nbgrad.ones(2), 1)
    tensor([2., 2.])
"""

from __future__ import annotations

from typing import Any

__all__ = ["CALLS"]

# Functions with attributes of their kind: how the call runs without interpreters, its plans.
CALLS: dict[str, Any] = {}
