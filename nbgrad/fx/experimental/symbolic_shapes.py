"""torch.fx.experimental.symbolic_shapes: questions about sizes, which are numbers here, so that nothing has to be guessed."""

from __future__ import annotations

from typing import Any

__all__ = ["guard_or_false", "guard_or_true", "statically_known_true"]


def guard_or_false(a: Any) -> bool:
    """Whether it is true.

    >>> guard_or_false(2 > 1)
    True
    """
    return bool(a)


guard_or_true = statically_known_true = guard_or_false
