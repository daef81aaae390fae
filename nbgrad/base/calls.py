"""The call of every operation by name, for whatever is written in operations.

Modules that compute with tensors (views, accumulation, batching, linear algebra, ...) ask for a call by its name when they
make it, so they need to know neither who makes calls nor what is beneath them. Whoever defines a call enters it, once.

    >>> from nbgrad.base.calls import CALLS
    >>> CALLS["add"](nbgrad.ones(2), 1)
    tensor([2., 2.])
"""

from __future__ import annotations

from typing import Any

__all__ = ["CALLS"]

# Functions with attributes of their kind: how the call runs without interpreters, its plans.
CALLS: dict[str, Any] = {}
